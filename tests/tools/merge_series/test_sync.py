"""A sync on a small fork: whole commit graphs, whole messages, whole outputs."""

from dataclasses import replace

import pytest

from carry.carried import Carrier
from carry.generated import ReadScanner
from merge_series.merger import Merger
from merge_series.operations import Operations
from merge_series.sync import Syncer
from stack.errors import Refusal
from stack.repository import Repository

NAMES_WITH_DOC = """\
from megatron.core import parallel_state


def offset(count, size=None):
    return count // (size or parallel_state.get_group_size())


def label(count):
    return str(offset(count))
"""

OWN_GRAPH = """\
* Pass the size on (offsets)
| * Shout the second (by-hand)
|/
* Record the reads (ratchet)
* Start main (main)"""


def test_a_fresh_series_is_one_commit_a_series_commit(world):
    assert world.graph("main", "ratchet", "offsets", "by-hand") == OWN_GRAPH


def test_a_second_sync_finds_nothing_to_do_and_changes_nothing(world):
    world.run("sync")
    before = world.contents()
    again = world.run("sync")
    assert (again.code, again.out, again.err) == (
        0,
        "",
        (
            "Every branch is up to date; nothing was changed.\n"
            "3 commits stood on the branches before; 3 of them are reachable now.\n"
        ),
    )
    assert world.contents() == before


def test_a_clean_sync_merges_dependencies_first_and_then_main(world):
    old = world.heads()
    world.commit("main", {"README": "new\n"}, "Add a readme")
    done = world.run("sync")
    assert done.code == 0, done.err
    assert (
        world.graph("main", "ratchet", "offsets")
        == """\
*   Merge the list of reads from #1 (offsets)
|\\
| *   Merge main into ratchet (ratchet)
| |\\
| | * Add a readme (main)
* | | Pass the size on
|/ /
* / Record the reads
|/
* Start main"""
    )
    assert (
        world.message("offsets")
        == f"""\
Merge the list of reads from #1

Brings {world.brought()}.

No file conflicted.

The allowlist holds 1 read, 1 before; 0 gone, none added.

Signed-off-by: Ada Test <ada@example.org>"""
    )
    for branch, head in old.items():
        assert world.git("merge-base", branch, head) == head


def test_a_conflict_in_an_edited_file_is_settled_by_the_edits(world):
    world.commit("main", {"megatron/core/names.py": NAMES_WITH_DOC}, "Label with text")
    done = world.run("sync")
    assert done.code == 0, done.err
    assert world.show("offsets", "megatron/core/names.py") == NAMES_WITH_DOC.replace(
        "parallel_state\n\n", "parallel_state\nfrom megatron.core.sizes import own_size\n\n", 1
    ).replace("str(offset(count))", "str(offset(count, size=own_size()))")
    assert (
        world.message("offsets")
        == f"""\
Merge the list of reads from #1

Brings {world.brought()}.

Conflicted, and how each was settled:
- megatron/core/names.py: the edits of #2 applied to main's text

The allowlist holds 1 read, 1 before; 0 gone, none added.

Signed-off-by: Ada Test <ada@example.org>"""
    )


def test_git_alone_would_have_conflicted_there(world):
    world.commit("main", {"megatron/core/names.py": NAMES_WITH_DOC}, "Label with text")
    world.git("switch", "--quiet", "--detach", "offsets")
    merged = world.git("merge", "main", check=False)
    assert "CONFLICT (content): Merge conflict in megatron/core/names.py" in merged


def test_an_edited_file_with_a_commit_by_hand_on_top_goes_to_a_person(world):
    text = world.show("offsets", "megatron/core/names.py")
    world.commit("offsets", {"megatron/core/names.py": text.replace("count)", "number)")}, "Rename")
    world.commit("main", {"megatron/core/names.py": NAMES_WITH_DOC}, "Label with text")
    before = world.heads()
    done = world.run("sync")
    assert done.code == 3
    assert (
        f"megatron/core/names.py: the branch's {world.named('offsets')}, "
        f"{world.named('offsets~')} and main's {world.named('main')} changed lines 9-10; the "
        "branch holds more in this file than its edits applied to main"
    ) in " ".join(done.err.split())
    assert world.heads() == before


def test_a_generated_file_that_merges_cleanly_but_stale_is_made_again(world):
    # Main has no list: the branch's comes out of the merge untouched, without main's new read.
    world.commit(
        "main",
        {
            "megatron/core/names.py": world.names.replace(
                "_size())", "_size(), get_group())"
            ).replace(
                "import parallel_state",
                "import parallel_state\nfrom megatron.core.parallel_state import get_group",
            ),
        },
        "Read the group as well",
    )
    done = world.run("sync")
    assert done.code == 0, done.err
    assert "Added by what was merged:\n- megatron/core/names.py: offset: get_group\n" in (
        world.message("ratchet")
    )
    assert "Merged cleanly, but made again:\n- tools/process_groups/allowlist.txt" in (
        world.message("ratchet")
    )
    listed = [
        line
        for line in world.show("ratchet", world.allowlist).splitlines()
        if not line.startswith("#")
    ]
    assert listed == [
        "megatron/core/names.py offset get_group accessor 1",
        "megatron/core/names.py offset get_group_size accessor 1",
    ]
    assert world.run("verify").code == 0


def test_generated_files_that_conflict_as_text_are_made_again(world):
    # The dependency and the branch both gain a read at the same place of the list.
    reader = (
        "from megatron.core import parallel_state\n\n\n"
        "def {0}():\n    return parallel_state.get_group()\n"
    )
    world.commit("main", {"megatron/core/aa.py": reader.format("a")}, "Add a reader")
    listed = world.show("by-hand", world.allowlist)
    mine = listed.replace(
        "megatron/core/names.py",
        "megatron/core/ab.py b get_group accessor 1\nmegatron/core/names.py",
        1,
    )
    world.commit(
        "by-hand",
        {"megatron/core/ab.py": reader.format("b"), world.allowlist: mine},
        "Accept a reader of our own",
    )
    done = world.run("sync")
    assert done.code == 0, done.err
    assert (
        world.message("by-hand")
        == f"""\
Merge the list of reads from #1

Brings {world.brought()}.

Conflicted, and how each was settled:
- tools/process_groups/allowlist.txt: regenerated from the merged tree

The allowlist holds 3 reads, 2 before; 0 gone. Added by what was merged:
- megatron/core/aa.py: a: get_group

Signed-off-by: Ada Test <ada@example.org>"""
    )
    assert world.run("verify").code == 0


@pytest.mark.parametrize(
    ("of_main", "told"),
    [
        ({"README": "new\n"}, ""),
        (
            {"megatron/core/aa.py": "import megatron.core.parallel_state as p\n\np.get_group()\n"},
            ". Allowed, since what is merged brings them: megatron/core/aa.py: <module>: get_group",
        ),
    ],
    ids=["main reads nothing", "main reads as well"],
)
def test_a_read_that_the_branch_brought_unlisted_is_refused(world, of_main, told):
    reader = "from megatron.core import parallel_state\n\nX = parallel_state.get_group()\n"
    world.commit("by-hand", {"megatron/core/ab.py": reader}, "Read without accepting it")
    world.commit("main", of_main, "Move on")
    before = world.heads()
    done = world.run("sync")
    assert done.code == 1
    assert done.err.endswith(
        "error: by-hand: merging #1 gives reads of the global process groups that neither side "
        "allows: megatron/core/ab.py: <module>: get_group; pass the collection there, or accept "
        "them on the branch (process_groups refresh --accept FILE:SCOPE) and commit, then sync "
        f"again{told}\n"
    )
    assert world.heads() == before


@pytest.mark.parametrize("mode", ["--dry-run"])
def test_a_dry_run_says_the_same_and_leaves_every_byte(world, mode):
    world.commit("main", {"megatron/core/names.py": NAMES_WITH_DOC}, "Label with text")
    before = world.contents()
    dry = world.run("sync", mode)
    assert dry.code == 0, dry.err
    assert world.contents() == before
    real = world.run("sync")
    # Same dates, same trees, same messages: the dry run made the same commits.
    assert dry.err == real.err + "Nothing was changed: this was a dry run.\n"


def test_json_goes_to_stdout_alone(world):
    world.commit("main", {"README": "new\n"}, "Add a readme")
    done = world.run("sync", "--json")
    assert done.code == 0
    assert '"source": "main"' in done.out
    assert done.err.splitlines() == [
        "ratchet: merged main",
        f"offsets: merged #1, with {world.brought()}",
        f"by-hand: merged #1, with {world.brought()}",
        "3 commits stood on the branches before; 3 of them are reachable now.",
    ]


def test_a_bare_repository_works(world):
    world.commit("main", {"README": "new\n"}, "Add a readme")
    bare = world.root / "bare.git"
    world.git("clone", "--quiet", "--bare", str(world.fork), str(bare), where=world.root)
    done = world.run("--repo", str(bare), "sync")
    assert done.code == 0, done.err
    world.run("sync")
    assert world.git("rev-parse", "offsets", where=bare) == world.git("rev-parse", "offsets")


class Forgetful(Merger):
    """A merger with a fault: what it makes is not on top of the branch."""

    def merge(self, planned):
        return replace(super().merge(planned), commit=planned.theirs)


class WithFault(Syncer):
    def _merger(self, main):
        scanner = ReadScanner(self._repository)
        return Forgetful(self._repository, self._carrier, scanner, main)


def test_a_head_that_would_lose_commits_moves_nothing(world):
    world.commit("main", {"README": "new\n"}, "Add a readme")
    before = world.heads()
    with Repository.open(world.fork) as repository:
        operations = Operations(repository)
        carrier = Carrier.open(world.root / "SERIES.md")
        with operations.lock(), pytest.raises(Refusal) as caught:
            WithFault(repository, carrier, operations, lambda _: None).sync("main")
    assert str(caught.value) == (
        "3 commits would no longer be reachable; nothing was moved; this is a fault of "
        "merge_series: report it with what sync --dry-run says"
    )
    assert world.heads() == before


def test_a_file_that_is_no_text_is_settled_by_a_person_once(hand):
    lines = "".join(f"{number}\n" for number in range(9))
    hand.commit("main", {".gitattributes": "*.lock -merge\n", "x.lock": lines}, "Lock")
    hand.declare("#1 one main", "#2 two #1")
    hand.grow("one", "main", {"x.lock": lines.replace("1", "one")})
    hand.grow("two", "one", {"x.lock": lines.replace("1", "one").replace("3", "three")})
    hand.commit("main", {"x.lock": lines.replace("7", "seven")}, "Bump")
    done = hand.run("sync")
    desk = hand.fork / ".git/merge_series/worktree"
    assert done.code == 3, done.err
    assert (desk / "x.lock").read_text() == lines.replace("1", "one")
    hand.git("checkout", "--theirs", "x.lock", where=desk)
    hand.git("add", "x.lock", where=desk)
    done = hand.run("sync", "--continue")
    assert done.code == 3, done.err
    (desk / "x.lock").write_text("both\n")
    hand.git("add", "x.lock", where=desk)
    assert hand.run("sync", "--continue").code == 0
    assert hand.show("one", "x.lock") == lines.replace("7", "seven")
    assert hand.show("two", "x.lock") == "both\n"
    assert hand.run("verify").code == 0
