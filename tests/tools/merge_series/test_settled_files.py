"""Files that the program settles by itself: imports, edited files, and what it leaves alone."""

import json
import re
from dataclasses import replace

import pytest

from carry.carried import Carrier
from carry.generated import ReadScanner
from merge_series.merger import Merger
from merge_series.planned import Planned
from stack.errors import Refusal
from stack.repository import Repository

SIZES = "megatron/core/more.py"
NAMES = "megatron/core/names.py"
MORE = "import os\nfrom x import a\n\n\ndef f():\n    return a, os\n"


def words(text):
    """A text without its line breaks, which fall anywhere in a long line."""
    return " ".join(text.split())


@pytest.mark.parametrize("path", [SIZES, f"{SIZES}i"])
def test_import_statements_are_merged_and_the_message_says_so(world, path):
    text = MORE + "\n\ndef g():\n    pass\n\n\ndef h():\n    pass\n"
    mine, yours = "g():\n    return b\n", "h():\n    return c\n"
    texts = [
        text.replace("import a", f"import a, {used[-2]}").replace(f"{used[0]}():\n    pass\n", used)
        for used in (mine, yours)
    ]
    world.commit("main", {path: text}, "Add a module")
    assert world.run("sync").code == 0
    world.commit("by-hand", {path: texts[0]}, "Import b")
    world.commit("main", {path: texts[1]}, "Import c")
    done = world.run("sync")
    assert done.code == 0, done.err
    assert world.show("by-hand", path) == (
        text.replace("import a", "import a, b, c")
        .replace("g():\n    pass\n", mine)
        .replace("h():\n    pass\n", yours)
    )
    assert f"- {path}: its import statements merged by name\n" in world.message("by-hand")


def test_an_import_that_one_side_adds_and_nothing_uses_is_for_a_person(world):
    world.commit("main", {SIZES: MORE}, "Add a module")
    assert world.run("sync").code == 0
    world.commit("by-hand", {SIZES: MORE.replace("import a", "import a, b")}, "Import b")
    world.commit("main", {SIZES: MORE.replace("import a", "import a, c")}, "Import c")
    done = world.run("sync")
    assert done.code == 3
    assert "not merged: one side alone imports b, which no text uses" in words(done.err)


def test_a_person_sees_only_the_code_and_the_message_says_both(world):
    world.commit("main", {SIZES: MORE}, "Add a module")
    assert world.run("sync").code == 0
    world.commit(
        "by-hand",
        {SIZES: MORE.replace("import a", "import a, b").replace("return a", "return b")},
        "Return b",
    )
    world.commit(
        "main",
        {SIZES: MORE.replace("import a", "import a, c").replace("return a", "return c")},
        "Return c",
    )
    done = world.run("sync")
    assert done.code == 3
    desk = world.fork / ".git/merge_series/worktree"
    assert (
        f"{SIZES}: the branch's {world.named('by-hand')} and main's {world.named('main')} both "
        "changed line 6; its import statements merged by name, and 1 place left The merge waits"
    ) in words(done.err)
    assert (desk / SIZES).read_text() == (
        "import os\nfrom x import a, b, c\n\n\ndef f():\n"
        f"<<<<<<< by-hand (#3), by {world.named('by-hand')}\n    return b, os\n=======\n"
        f"    return c, os\n>>>>>>> ratchet (#1), by main's {world.named('main')}\n"
    )
    stages = world.git("ls-files", "--unmerged", where=desk).splitlines()
    assert [line.split()[2:] for line in stages] == [["1", SIZES], ["2", SIZES], ["3", SIZES]]
    (desk / SIZES).write_text(
        MORE.replace("import a", "import a, b, c").replace("a, os", "b, c, os")
    )
    world.git("add", SIZES, where=desk)
    assert world.run("sync", "--continue").code == 0
    assert f"- {SIZES}: its import statements merged by name, the rest by a person\n" in (
        world.message("by-hand")
    )


@pytest.fixture
def in_part(world):
    """A sync that waits for a person with a file whose import statements are merged."""
    world.commit("main", {SIZES: MORE}, "Add a module")
    assert world.run("sync").code == 0
    for branch, name in (("by-hand", "b"), ("main", "c")):
        text = MORE.replace("import a", f"import a, {name}").replace("return a", f"return {name}")
        world.commit(branch, {SIZES: text}, f"Return {name}")
    assert world.run("sync").code == 3
    world.desk = world.fork / ".git/merge_series/worktree"
    return world


def take_theirs(world):
    world.git("checkout", "--quiet", "--theirs", SIZES, where=world.desk)
    world.git("add", SIZES, where=world.desk)


def how_in_log(world, path):
    """What the last operation's record says of a file."""
    merged = json.loads(world.run("log", "--json").out)[-1]["merged"][-1]
    return [file["how"] for file in merged["settled"] if file["path"] == path]


def test_import_statements_that_a_person_threw_away_are_theirs(in_part):
    take_theirs(in_part)
    done = in_part.run("sync", "--continue")
    assert done.code == 0, done.err
    assert f"- {SIZES}: by a person\n" in in_part.message("by-hand")
    assert how_in_log(in_part, SIZES) == ["by a person"]
    assert f"- `{SIZES}`: by a person\n" in in_part.run("describe", "3").out


def test_a_commit_by_plain_git_has_to_say_so_as_well(in_part):
    take_theirs(in_part)
    in_part.git("commit", "--quiet", "--no-edit", where=in_part.desk)
    before = in_part.heads()
    done = in_part.run("sync", "--continue")
    assert (done.code, done.err) == (
        3,
        (
            f"error: {in_part.desk}: {SIZES} is not as it was offered, and the commit's message "
            f"still says '- {SIZES}: its import statements merged by name, the rest by a person'; "
            f"write '- {SIZES}: by a person' there (git commit --amend), then run "
            f"{in_part.typed('sync --continue')}\n"
        ),
    )
    assert in_part.heads() == before
    said = in_part.git("log", "-1", "--format=%B", where=in_part.desk)
    said = said.replace("its import statements merged by name, the rest ", "")
    in_part.git("commit", "--quiet", "--amend", "-m", said, where=in_part.desk)
    made = in_part.git("rev-parse", "HEAD", where=in_part.desk)
    done = in_part.run("sync", "--continue")
    assert done.code == 0, done.err
    assert in_part.heads()["by-hand"] == made
    assert how_in_log(in_part, SIZES) == ["by a person"]


def test_import_statements_that_still_stand_in_other_lines_are_merged_by_name(in_part):
    (in_part.desk / SIZES).write_text(
        "import os\nfrom x import (\n    c, b, a,\n)\n\n\ndef f():\n    return b or c, os\n"
    )
    in_part.git("commit", "--quiet", "--all", "--no-edit", where=in_part.desk)
    done = in_part.run("sync", "--continue")
    assert done.code == 0, done.err
    assert how_in_log(in_part, SIZES) == [
        "its import statements merged by name, the rest by a person"
    ]


@pytest.mark.parametrize("text", ["from x import *\n", None])
def test_a_text_that_the_rule_does_not_reach_is_a_persons(in_part, text):
    in_part.write({SIZES: text}, in_part.desk)
    in_part.git("add", "--all", where=in_part.desk)
    done = in_part.run("sync", "--continue")
    assert done.code == 0, done.err
    assert how_in_log(in_part, SIZES) == ["by a person"]


@pytest.mark.parametrize("changes", [False, True])
def test_a_settled_file_is_a_persons_once_they_change_it(world, changes):
    """What they settled besides is not used again then: it may go with that change."""
    notes = "megatron/core/notes.txt"
    world.commit("offsets", {notes: "one\nTwo\nthree\n"}, "Raise the second")
    settled = world.names.replace("return offset(count)", "return str(offset(count))")
    world.commit("main", {notes: "one\n2\nthree\n", NAMES: settled}, "Change both")
    assert world.run("sync").code == 3
    desk = world.fork / ".git/merge_series/worktree"
    world.write({notes: "one\nthree\n"}, desk)
    if changes:
        world.write({NAMES: (desk / NAMES).read_text().replace("str(", "repr(")}, desk)
    world.git("add", "--all", where=desk)
    assert world.run("sync", "--continue").code == 3
    world.git("checkout", "--quiet", "--theirs", notes, where=desk)
    world.git("add", notes, where=desk)
    assert world.run("sync", "--continue").code == 0
    how = "by a person" if changes else "the edits of #2 applied to main's text"
    assert f"- {NAMES}: {how}\n- {notes}: by a person\n" in world.message("offsets")
    assert world.run("undo").code == 0
    assert ("offsets: merging #1 needs a person" in world.run("sync", "--dry-run").err) is changes


EDIT_ONE = """\
edits:
- pr: 1
  commit: 1
  in: offset
  at-start: true
  insert: count = int(count)
"""


def with_edits_of_two(world):
    """Let #1 edit the file as well that #2 edits, and build the branches again."""
    edits = world.root / "megatron/core/names.edits.yml"
    edits.write_text(edits.read_text().replace("edits:\n", EDIT_ONE))
    for branch in ("offsets", "by-hand", "ratchet"):
        world.git("branch", "--quiet", "-D", branch)
    built = world.run("build", "--repo", str(world.fork), tool="carry")
    assert built.code == 0, built.err
    world.git("branch", "by-hand", "ratchet")


def test_edits_of_a_dependency_and_of_the_branch_are_applied_together(world):
    with_edits_of_two(world)
    assert "count = int(count)" in world.show("offsets", NAMES)
    text = world.names.replace("return count", "return -count").replace(
        "return offset(count)", "return str(offset(count))"
    )
    world.commit("main", {NAMES: text}, "Change both functions")
    done = world.run("sync")
    assert done.code == 0, done.err
    assert world.show("offsets", NAMES) == text.replace(
        "parallel_state\n\n", "parallel_state\nfrom megatron.core.sizes import own_size\n\n", 1
    ).replace("offset(count))", "offset(count, size=own_size()))").replace(
        "=None):\n", "=None):\n    count = int(count)\n"
    )
    assert f"- {NAMES}: the edits of #1 applied to main's text\n" in world.message("ratchet")
    assert f"- {NAMES}: the edits of #1, #2 applied to main's text\n" in world.message("offsets")


def test_edits_of_which_main_has_some_already_are_applied_for_the_rest(world):
    with_edits_of_two(world)
    # What #1 does landed, and the lines around it changed on main.
    text = world.names.replace("=None):\n", "=None):\n    count = int(count)\n").replace(
        "return offset(count)", "return str(offset(count))"
    )
    world.commit("main", {NAMES: text}, "Take a part")
    done = world.run("sync")
    assert done.code == 0, done.err
    assert world.show("ratchet", NAMES) == text
    assert world.show("offsets", NAMES) == text.replace(
        "parallel_state\n\n", "parallel_state\nfrom megatron.core.sizes import own_size\n\n", 1
    ).replace("offset(count))", "offset(count, size=own_size()))")


@pytest.mark.parametrize("is_absorbed", [True, False])
def test_what_main_took_back_of_a_landed_pr_is_not_edited_in_again(world, is_absorbed):
    with_edits_of_two(world)
    world.git("merge", "--quiet", "--squash", "ratchet")
    world.git("commit", "--quiet", "-m", "List the global reads (#1)")
    if is_absorbed:
        done = world.run("sync")
        assert done.code == 0, done.err
    text = world.names.replace("return offset(count)", "return str(offset(count))")
    world.commit("main", {NAMES: text}, "Count with fractions again, label with text")
    assert world.run("sync").code == 3
    done = world.run("sync", "--drop-reverted", "1")
    assert done.code == 0, done.err
    assert world.show("offsets", NAMES) == text.replace(
        "parallel_state\n\n", "parallel_state\nfrom megatron.core.sizes import own_size\n\n", 1
    ).replace("offset(count))", "offset(count, size=own_size()))")
    assert f"- {NAMES}: the edits of #2 applied to main's text\n" in world.message("offsets")


def test_a_part_of_the_edits_that_main_took_back_is_for_a_person(world):
    has_one = world.names.replace("return offset(count)", "return offset(count, size=own_size())")
    world.commit("main", {NAMES: has_one}, "Take a part")
    assert world.run("sync").code == 0
    text = world.names.replace("import parallel_state", "import parallel_state  # noqa")
    world.commit("main", {NAMES: text}, "Do without it again")
    done = world.run("sync")
    assert done.code == 3
    assert (
        "; main took back a part of the edits, which it had; its import statements are not merged: "
        "a conflicting statement has a noqa comment The merge waits"
    ) in words(done.err)


def test_a_commit_by_hand_on_the_edits_goes_to_a_person(world):
    text = world.show("offsets", NAMES)
    world.commit("offsets", {NAMES: text.replace("size=own", "size=1 + own")}, "Add one")
    changed = world.names.replace("return offset(count)", "return str(offset(count))")
    world.commit("main", {NAMES: changed}, "Label with text")
    done = world.run("sync")
    assert done.code == 3
    assert (
        f"{NAMES}: the branch's {world.named('offsets')}, {world.named('offsets~')} and main's "
        f"{world.named('main')} changed line 10; the branch holds more in this "
        "file than its edits applied to main The merge waits"
    ) in words(done.err)


def test_a_text_of_main_that_does_not_take_the_edits_goes_to_a_person(world):
    changed = world.names.replace("return offset(count)", "return count")
    world.commit("main", {NAMES: changed}, "Label with the count")
    done = world.run("sync")
    assert done.code == 3
    assert (
        f"{NAMES}: the branch's {world.named('offsets')} and main's {world.named('main')} both "
        "changed line 10; main's text does not take the "
        "edits: megatron/core/names.edits.yml:2: add-args to offset in label: found 0, wanted 1 "
        "The merge waits"
    ) in words(done.err)


def test_an_edited_file_that_main_removed_goes_to_a_person(world):
    world.commit("main", {NAMES: None}, "Do without the names")
    done = world.run("sync")
    assert done.code == 3
    mine, main = (world.named(branch) for branch in ("offsets", "main"))
    told = f"  {NAMES}: the branch's {mine} changed it, main's {main} deleted it\nThe merge waits"
    assert told in done.err


def test_a_list_that_one_side_removed_stays_away(world):
    world.commit("by-hand", {world.allowlist: None}, "Do without the list")
    world.commit("main", {"README": "new\n"}, "Add a readme")
    done = world.run("sync")
    assert done.code == 0, done.err
    assert world.git("ls-tree", "-r", "--name-only", "by-hand", world.allowlist) == ""
    assert world.message("by-hand") == (
        f"Merge the list of reads from #1\n\nBrings {world.brought()}.\n\nNo file conflicted.\n\n"
        "Signed-off-by: Ada Test <ada@example.org>"
    )


def test_a_list_that_one_side_removed_and_one_changed_is_for_a_person(world):
    world.commit("by-hand", {world.allowlist: None}, "Do without the list")
    more = world.names.replace("_size())", "_size(), parallel_state.get_group())")
    world.commit("main", {NAMES: more}, "Read the group as well")
    done = world.run("sync")
    assert done.code == 3
    # The merge by which the list was made again.
    assert re.search(
        f"  {world.allowlist}: #1's merge [0-9a-f]{{12}} 'Merge main into ratchet' changed it, "
        f"the branch's {world.named('by-hand')} deleted it\n",
        done.err,
    )


class Careless(Merger):
    """A merger with a fault: it changes a file that it does not name."""

    def _make_again(self, planned, merged, tree):
        again = super()._make_again(planned, merged, tree)
        return replace(again, tree=self._repository.change_files(again.tree, {"README": b"evil\n"}))


def test_a_tree_that_differs_in_files_nobody_named_is_refused(world):
    world.commit("main", {"README": "new\n"}, "Add a readme")
    carrier = Carrier.open(world.root / "SERIES.md")
    with Repository.open(world.fork) as repository:
        main, head = repository.resolve("main"), repository.resolve("ratchet")
        planned = Planned(next(iter(carrier.series)), None, head, main)
        scanner = ReadScanner(repository)
        assert Merger(repository, carrier, scanner, main).merge(planned).settled == ()
        with pytest.raises(Refusal) as caught:
            Careless(repository, carrier, scanner, main).merge(planned)
    assert str(caught.value) == (
        "README: the merged tree has other bytes than git's merge, and nothing says why; this is "
        "a fault of merge_series, and nothing was changed"
    )
