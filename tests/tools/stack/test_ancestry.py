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
