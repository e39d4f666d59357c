"""Merges made by entries are git's own, whatever was renamed, moved, replaced or merged before."""

from collections import Counter

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from stack.entry_merger import EntryMerger
from stack.git_answers import Entry, GitFailure
from stack.merging import TreeMerger
from stack.repository import Repository
from stack.three_way import Contents
from stack.trees import TREE, TreeEntry

FILE, SCRIPT, LINK = b"100644", b"100755", b"120000"
PATHS = ("a", "b", "d-x", "d/x", "d/y", "d/z", "d/s/p", "d/s/q", "e/x", "e/y", "e/s/p", "f/x")
FOLDERS = ("d", "d/s", "e", "g", "g/s")

BEGIN = {
    path: (FILE, tuple(f"{path} {number}" for number in range(9)))
    for path in ("a", "d-x", "d/x", "d/y", "d/s/p", "d/s/q", "e/x")
}

MAIN = 4
# Of two branches after MAIN, one on both, main in either, and the first of them in that on both.
LATTICE = ((1, 2), (1, 0), (2, 0), (3, 4))

paths, folders = st.sampled_from(PATHS), st.sampled_from(FOLDERS)
changes = st.one_of(
    st.tuples(st.just("edit"), paths, st.integers(0, 8), st.sampled_from("xy")),
    st.tuples(st.just("edit"), paths, st.integers(0, 8), st.sampled_from("xy")),
    st.tuples(st.just("edit"), paths, st.integers(0, 8), st.sampled_from("xy")),
    st.tuples(st.just("add"), paths, st.integers(0, 1)),
    st.tuples(st.just("remove"), paths),
    st.tuples(st.just("move"), paths, paths),
    st.tuples(st.just("move folder"), folders, folders),
    st.tuples(st.just("remove folder"), folders),
    st.tuples(st.just("file for folder"), folders),
    st.tuples(st.just("mode"), paths, st.sampled_from((FILE, SCRIPT, LINK))),
)


def changed(files, change):
    """A tree's files after a change; as they were where it cannot be made."""
    files = dict(files)
    match change:
        case "edit", path, line, text if path in files:
            mode, lines = files[path]
            files[path] = mode, (*lines[:line], text, *lines[line + 1 :])
        case "add", path, text:
            files.setdefault(path, (FILE, (f"new {text}",)))
        case "remove", path:
            files.pop(path, None)
        case "move", path, other if path in files:
            files[other] = files.pop(path)
        case "move folder", folder, other:
            inside = [path for path in files if path.startswith(f"{folder}/")]
            files |= {other + path[len(folder) :]: files.pop(path) for path in inside}
        case "remove folder", folder:
            files = {
                path: file for path, file in files.items() if not path.startswith(f"{folder}/")
            }
        case "file for folder", folder:
            files = {
                path: file for path, file in files.items() if not path.startswith(f"{folder}/")
            }
            files[folder] = (FILE, (folder,))
        case "mode", path, mode if path in files:
            files[path] = mode, files[path][1]
    return None if clashes(files) else files


def clashes(files):
    """Whether a file stands where a directory does."""
    return any(path.startswith(f"{other}/") for path in files for other in files)


@st.composite
def histories(draw):
    """Parents by number and the changes of each commit; main's newest is MAIN."""
    rows = [((), [])]

    def add(parents, most):
        rows.append((tuple(parents), draw(st.lists(changes, max_size=most))))

    is_line = draw(st.booleans())
    for number in range(1, MAIN + 1):
        below = st.lists(st.integers(max(0, number - 3), number - 1), max_size=2, unique=True)
        add((not is_line and draw(below)) or [number - 1], 2)
    if draw(st.booleans()):
        for _ in range(2):
            add([draw(st.integers(0, MAIN - 1))], 2)
        for parents in LATTICE:
            add([MAIN + parent for parent in parents], 2)
    else:
        for number in range(MAIN + 1, MAIN + draw(st.integers(4, 8))):
            near = st.integers(max(0, number - 5), number - 1)
            add(draw(st.lists(near, min_size=1, max_size=2, unique=True)), 2)
    return rows


class Built:
    """A random history in a repository: its commits, and the files of each."""

    def __init__(self, repository, rows, blobs):
        self.store, self.blobs = repository.tree_store, blobs
        self.commits, self.files = [], []
        for parents, made in rows:
            files = self.files[parents[0]] if parents else BEGIN
            if parents[1:]:
                other = self.files[parents[1]]
                both = {
                    path: side[path]
                    for path in files.keys() | other.keys()
                    for side in [other if files.get(path) == BEGIN.get(path) else files]
                    if path in side
                }
                files = files if clashes(both) else both
            for change in made:
                files = changed(files, change) or files
            self.files.append(files)
        texts = {text for files in self.files for _, text in files.values()} - blobs.keys()
        contents = ["\n".join([*text, ""]).encode() for text in texts]
        oids = repository.write_blobs(contents)
        blobs |= zip(texts, map(bytes.fromhex, oids), strict=True)
        for (parents, _), files in zip(rows, self.files, strict=True):
            tree = self.tree({tuple(path.split("/")): file for path, file in files.items()})
            on = [self.commits[parent] for parent in parents]
            self.commits.append(repository.commit_tree(tree.hex(), on, "Change"))

    def tree(self, files):
        entries, below = {}, {}
        for (name, *rest), file in files.items():
            if rest:
                below.setdefault(name, {})[tuple(rest)] = file
            else:
                entries[name.encode()] = TreeEntry(file[0], self.blobs[file[1]])
        entries |= {n.encode(): TreeEntry(TREE, self.tree(part)) for n, part in below.items()}
        return self.store.store(entries)

    def contents(self, base, ours, theirs):
        """The files that both sides changed and that are in all three."""
        for path in base.keys() & ours.keys() & theirs.keys():
            sides = [side[path] for side in (base, ours, theirs)]
            if len(set(sides)) == len(sides):
                yield Contents.of(*(self.blobs[text] for _, text in sides))


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    path = tmp_path_factory.mktemp("entries")
    with Repository.create(path, "main"):
        return path, {}


told = Counter()


@settings(max_examples=300)
@given(histories(), st.data())
def test_a_merge_by_entries_is_the_merge_of_git(place, rows, data):
    path, blobs = place
    with Repository.open(path) as repository, Repository.open(path) as other:
        with repository.held_objects():
            built = Built(repository, rows, blobs)
        commits = built.commits
        repository.read_ancestry(commits[MAIN], commits)
        last = st.sampled_from([MAIN, *range(len(commits) - 4, len(commits))])
        one, two = data.draw(st.lists(last, min_size=2, max_size=2, unique=True))
        ours, theirs = commits[one], commits[two]
        bases = repository.known_merge_bases(ours, theirs)
        truth = other.merge_bases(ours, theirs)
        assert bases is None or sorted(bases) == sorted(truth)

        try:
            merge = TreeMerger(other).merge(ours, theirs)
        except GitFailure as failure:
            if failure.answer.status >= 0:
                raise
            reject()  # an assertion in git 2.39 itself: there is nothing to compare with
        told["bases known" if bases is not None else "bases unknown", len(truth)] += 1
        tree = EntryMerger(repository.tree_store, repository.known_merge_bases).merge(ours, theirs)
        if tree is not None:
            assert (merge.tree, merge.conflicts) == (tree.hex(), ())
        elif not merge.conflicts:
            told["clean, but by git alone"] += 1
        told["by entries" if tree is not None else "by git"] += 1

        foreseeing = TreeMerger(repository)
        sides = (built.files[commits.index(truth[0])], built.files[one], built.files[two])
        foreseeing.foresee(built.contents(*sides), ())
        assert foreseeing.merge(ours, theirs) == merge


def test_the_random_merges_were_of_every_kind():
    kinds = [("bases known", 1), ("bases known", 2), ("bases unknown", 1)]
    kinds += ["by entries", "by git", "clean, but by git alone"]
    assert not [kind for kind in kinds if not told[kind]], told


@pytest.mark.parametrize("mode", ["040000", "100664"])
def test_trees_of_other_tools_are_left_to_git(tmp_path, mode):
    """They hold modes that git reads and does not write."""
    with Repository.create(tmp_path, "main") as repository:
        blobs = repository.write_blobs([b"1\n", b"2\n", b"3\n"])
        inner = repository.change_tree(None, {"x": Entry("100644", blobs[0])})
        odd = inner if mode == "040000" else blobs[0]

        def commit(one, other, *parents):
            entries = [(mode, "foo", odd), ("100644", "foo.py", one), ("100644", "z", other)]
            raw = b"".join(
                f"{mode} {name}".encode() + b"\0" + bytes.fromhex(oid)
                for mode, name, oid in (entries[1:2] + entries[:1] if odd == inner else entries[:2])
                + entries[2:]
            )
            written = ("hash-object", "-t", "tree", "-w", "--literally", "--stdin")
            return repository.commit_tree(repository.run(*written, stdin=raw).text, parents, "Odd")

        start = commit(blobs[0], blobs[0])
        ours, theirs = commit(blobs[1], blobs[0], start), commit(blobs[0], blobs[2], start)
        plain = TreeMerger(repository).merge(ours, theirs)
        repository.read_ancestry(theirs, [ours])
        assert repository.known_merge_bases(ours, theirs) == (start,)
        assert TreeMerger(repository).merge(ours, theirs) == plain
