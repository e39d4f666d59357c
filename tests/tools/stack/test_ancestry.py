"""What contains what, as read once and as git says it."""

from hypothesis import given, settings
from hypothesis import strategies as st

from stack.ancestry import Ancestry
from stack.repository import Repository


@st.composite
def graphs(draw):
    """Parents by number; 0 is main, negative ones are what main holds."""
    count = draw(st.integers(1, 12))
    return [
        draw(st.lists(st.integers(-2, number), min_size=1, max_size=3, unique=True))
        for number in range(count)
    ]


@settings(max_examples=300)
@given(graphs(), st.integers(0, 12))
def test_a_commit_contains_what_its_parents_do(graph, read):
    parents = {str(number): list(map(str, on)) for number, on in enumerate(graph, 1)}
    names = list(parents)
    listed = "\n".join(" ".join([name, *parents[name]]) for name in reversed(names[:read]))
    ancestry = Ancestry("0", listed)
    for name in names[read:]:
        ancestry.add(name, parents[name])
    held = {"0": {"0"}}
    for name in names:
        held[name] = {name}.union(*(held.get(parent, ()) for parent in parents[name]))
    for one, contained in held.items():
        assert ancestry.knows(one)
        for other in held:
            assert ancestry.contains(one, other) == (other in contained)
    assert not ancestry.knows("-1")


@settings(max_examples=300)
@given(graphs(), st.sets(st.integers(-2, 0)))
def test_merge_bases_are_the_common_ancestors_that_no_other_contains(graph, left_out):
    parents = {"-2": [], "-1": ["-2"], "0": ["-1"]}
    parents |= {str(number): list(map(str, on)) for number, on in enumerate(graph, 1)}
    held = {}
    for name, on in parents.items():
        held[name] = {name}.union(*(held[parent] for parent in on))
    beyond = [name for name in parents if int(name) > 0]
    listed = "\n".join(" ".join([name, *parents[name]]) for name in reversed(beyond))
    line = [name for name in ("-2", "-1") if int(name) not in left_out]
    ancestry = Ancestry("0", listed, beyond[::2], [*line, "0"])
    for one in ["0", *beyond]:
        for other in ["0", *beyond]:
            common = held[one] & held[other]
            best = {name for name in common if not any(name in held[c] - {c} for c in common)}
            below = {name for name in (held[one] | held[other]) if int(name) > 0}
            stand_on = {parent for name in below for parent in parents[name] if int(parent) < 0}
            found = ancestry.merge_bases(one, other)
            if stand_on <= {*line}:
                assert set(found) == best
            else:
                assert found is None or set(found) == best


def test_a_repository_answers_the_same_once_it_has_read_them(tmp_path):
    with Repository.create(tmp_path, "main") as repository:

        def commit(*parents):
            return repository.commit_tree(repository.change_tree(None, {}), parents, str(parents))

        old = commit()
        main = commit(old)
        early, late = commit(old), commit(main)
        both = commit(early, late)
        commits = [old, main, early, late, both]

        def answers():
            return [repository.is_ancestor(one, other) for one in commits for other in commits]

        asked = answers()
        repository.read_ancestry(main, [early, both])
        assert answers() == asked
        # One on main's past and one on top of what was read.
        commits += [commit(old), commit(both)]
        known = answers()
    with Repository.open(tmp_path) as repository:
        assert answers() == known


def test_a_side_of_main_is_not_on_its_line(tmp_path):
    """Main merged a side branch, from which one branch starts and which another one merged."""
    with Repository.create(tmp_path, "main") as repository:

        def commit(what, *parents):
            return repository.commit_tree(repository.change_tree(None, {}), parents, what)

        start = commit("start")
        line, side = commit("line", start), commit("side", start)
        main = commit("main", line, side)
        one, other = commit("one", line, side), commit("other", side)
        commits = [main, one, other]
        pairs = [(first, second) for first in commits for second in commits]
        asked = [set(repository.merge_bases(*pair)) for pair in pairs]
        repository.read_ancestry(main, [one, other])
        known = [repository.known_merge_bases(*pair) for pair in pairs]
        assert [set(found or truth) for found, truth in zip(known, asked, strict=True)] == asked
        assert repository.known_merge_bases(one, main) is None
