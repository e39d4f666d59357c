"""When a command makes a generated file, from which text, and how often."""

import json
import re
import shlex
import sys

import pytest

from merge_series.made import MOST
from programs import Ran

SETTING = "merge-series.regenerate.{}.{}"
LOCK = "x.lock"
NEEDS = "needs"

# As lock files are: pins that are there stay, what is not needed goes, what is new gets 1.0.
TOOL = """\
import os, re, signal, sys
with open({runs!r}, "a") as runs:
    print(sys.argv[1:], file=runs)
if os.path.exists({killer!r}) and "r" in open("needs").read():
    os.kill(os.getppid(), signal.SIGKILL)
text = open("x.lock").read()
if "<<<<<<<" in text:
    sys.exit("conflict markers")
have = dict(re.findall(r"^(\\w+)==(\\S+)$", text, re.M))
needs = open("needs").read().split()
if "s" in needs:
    sys.exit("there is no s")
for line in re.findall(r"^\\w+ needs (\\w+)$", text, re.M):
    if line not in have:
        sys.exit(f"{{line}} is not locked")
open("x.lock", "w").write("".join(f"{{n}}=={{have.get(n, '1.0')}}\\n" for n in sorted(needs)))
"""


def lock(**pins):
    return "".join(f"{name}=={version}\n" for name, version in sorted(pins.items()))


@pytest.fixture
def locked(hand):
    """A fork with a lock file, whose tool counts its runs in ``runs``."""
    hand.log = hand.root / "runs"
    hand.tool = hand.root / "tool.py"
    hand.killer = hand.root / "killer"
    hand.tool.write_text(TOOL.format(runs=str(hand.log), killer=str(hand.killer)))
    configure(hand, "command", shlex.join([sys.executable, str(hand.tool)]))
    names = [f"p{number}" for number in range(8)]
    files = {NEEDS: "".join(f"{name}\n" for name in names)}
    hand.commit("main", files | {LOCK: lock(**dict.fromkeys(names, "1.0"))}, "Lock")
    return hand


def configure(world, name, value, path=LOCK):
    world.git("config", "--add", SETTING.format(path, name), value)


def runs(world):
    return world.log.read_text().count("\n") if world.log.exists() else 0


def pins(world, revision):
    return dict(line.split("==") for line in world.show(revision, LOCK).split())


def raised(world, revision, **versions):
    """The lock file of a revision with other versions."""
    return lock(**{**pins(world, revision), **versions})


def synced(world, *arguments) -> Ran:
    done = world.run("sync", *arguments)
    assert done.code == 0, done.err
    return done


def test_a_branch_that_never_touched_the_lock_keeps_what_main_raised(locked):
    locked.declare("#1 a main", "#2 b #1")
    locked.grow("a", "main", {"a.py": "A = 1\n"})
    locked.grow("b", "a", {"b.py": "B = 1\n"})
    locked.commit("main", {LOCK: raised(locked, "main", p1="1.6")}, "Raise p1")
    synced(locked)
    for branch in ("a", "b"):
        assert pins(locked, branch) == pins(locked, "main")
        assert "\n\nNo file conflicted.\n\n" in locked.message(branch)


def test_a_branch_that_needs_more_keeps_what_main_raised_and_gets_it(locked):
    locked.declare("#1 a main")
    needs = locked.show("main", NEEDS)
    locked.grow("a", "main", {NEEDS: f"{needs}q\n", LOCK: raised(locked, "main", q="3.0")})
    locked.commit("main", {LOCK: raised(locked, "main", p1="1.6", p6="1.7")}, "Raise two")
    synced(locked)
    assert pins(locked, "a") == pins(locked, "main") | {"q": "3.0"}


def test_both_sides_raise_pins_apart(locked):
    locked.declare("#1 a main")
    locked.grow("a", "main", {LOCK: raised(locked, "main", p1="1.6")})
    locked.commit("main", {LOCK: raised(locked, "main", p6="1.7")}, "Raise p6")
    synced(locked)
    assert pins(locked, "a") == pins(locked, "main") | {"p1": "1.6"}


def test_both_sides_raise_a_pin_and_it_is_said_whose_text_it_was(locked):
    locked.declare("#1 a main", "#2 b #1")
    locked.grow("a", "main", {LOCK: raised(locked, "main", p1="1.5")})
    locked.grow("b", "a", {"b.py": "B = 1\n"})
    locked.commit("main", {LOCK: raised(locked, "main", p1="1.6")}, "Raise p1")
    synced(locked)
    assert pins(locked, "a") == pins(locked, "b") == pins(locked, "main")
    assert locked.message("a").splitlines()[2:4] == [
        "Conflicted, and how each was settled:",
        f"- {LOCK}: made again by `{sys.executable} {locked.tool}` from the text of main; {BOTH}",
    ]
    assert "\n\nNo file conflicted.\n\n" in locked.message("b")


ALONE = "only the branch had changed"
BOTH = "1 line of the branch's where both sides had changed something is not in it: `p1==1.5`"


@pytest.mark.parametrize(
    ("own", "lost"),
    [
        ({"p6": "1.7"}, f"1 line that {ALONE} is not in it: `p6==1.7`; {BOTH}"),
        (
            dict.fromkeys(("p3", "p4", "p5", "p6"), "7"),
            f"4 lines that {ALONE} are not in it: `p3==7`, `p4==7`, `p5==7` and 1 more; {BOTH}",
        ),
        # git makes one conflict of them.
        (
            {"p2": "1.7"},
            BOTH.replace("1 line", "2 lines").replace("is not", "are not") + ", `p2==1.7`",
        ),
        # The very text that main has elsewhere.
        ({"p7": "1.0"}, BOTH),
    ],
)
def test_what_the_text_of_main_loses_of_the_branch_is_said(locked, own, lost):
    locked.declare("#1 a main")
    locked.grow("a", "main", {LOCK: raised(locked, "main", p1="1.5", **own)})
    locked.commit("main", {LOCK: raised(locked, "main", p1="1.6")}, "Raise p1")
    done = synced(locked)
    assert pins(locked, "a") == pins(locked, "main")
    how = f"made again by `{sys.executable} {locked.tool}` from the text of main; {lost}"
    assert f"- {LOCK}: {how}\n" in locked.message("a")
    assert f"conflicted: {how} 1 commit stood on" in " ".join(done.err.split())
    assert done.err.endswith("1 commit stood on the branches before; 1 of them is reachable now.\n")


def test_a_line_is_looked_for_where_it_stood(locked):
    # As in a lock file with a line for the version alone: main has that of another package.
    locked.declare("#1 a main")
    text = "".join(f"[p{number}]\n1.0\n\n" for number in range(8))
    locked.commit("main", {LOCK: text}, "Have a line for each version")
    configure(locked, "command", "true")
    locked.git("branch", "a", "main")

    def versions(**new):
        return "".join(f"[p{number}]\n{new.get(f'p{number}', '1.0')}\n\n" for number in range(8))

    locked.commit("a", {LOCK: versions(p1="1.5", p6="3.6")}, "Raise p1 and p6")
    locked.commit("main", {LOCK: versions(p1="1.6", p3="3.6")}, "Raise p1 and p3")
    synced(locked)
    assert (
        f"- {LOCK}: made again by `true` from the text of main; 1 line that only the branch had "
        "changed is not in it: `3.6`; 1 line of the branch's where both sides had changed "
        "something is not in it: `1.5`\n"
    ) in locked.message("a")


def test_nothing_is_said_of_what_the_command_makes_again(locked):
    locked.declare("#1 a main")
    needs = locked.show("main", NEEDS)
    new = raised(locked, "main", p8="1.0")
    locked.grow("a", "main", {NEEDS: f"{needs}p8\n", LOCK: new})
    fewer = needs.replace("p7\n", "")
    locked.commit("main", {NEEDS: fewer, LOCK: new.replace("p7==1.0\np8==1.0\n", "")}, "Drop p7")
    done = locked.run("sync")
    assert done.code == 3  # git's merge of needs conflicts
    locked.desk = locked.fork / ".git/merge_series/worktree"
    locked.write({NEEDS: f"{fewer}p8\n"}, locked.desk)
    locked.git("add", NEEDS, where=locked.desk)
    assert locked.run("sync", "--continue").code == 0
    how = f"made again by `{sys.executable} {locked.tool}` from the text of main"
    assert f"\n- {LOCK}: {how}\n" in locked.message("a")


def test_main_needs_one_no_more(locked):
    locked.declare("#1 a main")
    locked.grow("a", "main", {NEEDS: f"{locked.show('main', NEEDS)}q\n"})
    fewer = locked.show("main", NEEDS).replace("p2\n", "")
    kept = {name: version for name, version in pins(locked, "main").items() if name != "p2"}
    locked.commit("main", {NEEDS: fewer, LOCK: lock(**kept)}, "Do without p2")
    synced(locked)
    assert pins(locked, "a") == kept | {"q": "1.0"}


def test_where_the_command_cannot_read_gits_merge_it_starts_from_what_is_merged(locked):
    # Line by line both go well together, but p0 needs what main's lock file has no more.
    locked.declare("#1 a main")
    text = locked.show("main", LOCK)
    locked.grow("a", "main", {LOCK: f"p0 needs p7\n{text}"})
    fewer = locked.show("main", NEEDS).replace("p7\n", "")
    locked.commit("main", {NEEDS: fewer, LOCK: text.replace("p7==1.0\n", "")}, "Do without p7")
    done = synced(locked)
    assert locked.show("a", LOCK) == locked.show("main", LOCK)
    how = f"made again by `{sys.executable} {locked.tool}` from the text of main"
    lost = "1 line that only the branch had changed is not in it: `p0 needs p7`"
    assert f"Merged cleanly, but made again:\n- {LOCK}: {how}; {lost}\n" in locked.message("a")
    assert done.err.startswith(f"a: {LOCK} {how} in ")
    before = runs(locked)
    assert before == 2
    locked.run("undo")
    synced(locked)
    assert runs(locked) == before


def test_a_lock_that_fails_from_either_text_is_refused(locked):
    locked.declare("#1 a main")
    locked.grow("a", "main", {"a.py": "A = 1\n", LOCK: f"p0 needs x\n{locked.show('main', LOCK)}"})
    locked.commit("main", {LOCK: f"{locked.show('main', LOCK)}p0 needs y\n"}, "Need y")
    before = locked.heads()
    done = locked.run("sync")
    assert (done.code, done.err) == (
        1,
        (
            f"error: {LOCK}: `{sys.executable} {locked.tool}` failed with status 1; no branch has "
            "moved; correct what it finds, or git config "
            f"{SETTING.format(LOCK, 'command')}:\n  y is not locked\n"
        ),
    )
    assert locked.heads() == before


def test_a_command_that_fails_on_the_text_of_one_side_is_refused(locked):
    # It can read that: to start from main's instead would drop what the branch raised.
    locked.declare("#1 a main")
    locked.grow("a", "main", {LOCK: raised(locked, "main", p1="1.6")})
    locked.commit("main", {NEEDS: "s\n"}, "Need what there is not")
    done = locked.run("sync")
    assert (done.code, runs(locked)) == (1, 1)
    setting = SETTING.format(LOCK, "command")
    assert done.err.endswith(f", or git config {setting}:\n  there is no s\n")


@pytest.mark.parametrize("mover", ["main", "a"])
def test_where_one_side_alone_changed_anything_no_command_runs(locked, mover):
    locked.declare("#1 a main", "#2 b #1")
    locked.grow("a", "main")
    locked.grow("b", "a", {"b.py": "B = 1\n"})
    configure(locked, "input", NEEDS)
    needs = locked.show("main", NEEDS)
    files = {NEEDS: f"{needs}q\n", LOCK: raised(locked, "main", q="3.0")}
    locked.commit(mover, files, "Need q")
    locked.commit("main", {"more.py": "M = 1\n"}, "Add more")
    synced(locked)
    assert runs(locked) == 0
    assert pins(locked, "a") == pins(locked, "b") == pins(locked, mover)
    again = synced(locked)
    assert again.err.startswith("Every branch is up to date")
    for command in ("status", "verify", "log"):
        locked.run(command)
    assert runs(locked) == 0


def test_without_inputs_every_file_may_be_one(locked):
    locked.declare("#1 a main", "#2 b main")
    locked.grow("a", "main", {"a.py": "A = 1\n"})
    locked.grow("b", "main")
    locked.git("commit", "--quiet", "--allow-empty", "-m", "Move on")
    synced(locked)
    assert runs(locked) == 0
    locked.commit("main", {"more.py": "M = 1\n"}, "Add more")
    synced(locked)
    assert runs(locked) == 1  # for a alone: b has nothing of its own


def test_an_input_is_all_that_the_command_finds(locked):
    locked.declare("#1 a main")
    configure(locked, "input", NEEDS)
    configure(locked, "input", ":(glob)**/*.toml")
    locked.tool.write_text(
        "import os\nfound = [(at, sorted(files)) for at, _, files in sorted(os.walk('.'))]\n"
        "open('x.lock', 'w').write(str(found))\n"
    )
    files = {"sub/x.toml": "x\n", "sub/x.py": "x\n", "y.py": "y\n"}
    locked.grow("a", "main", files, {NEEDS: "a\n"})
    locked.commit("main", {"main.toml": "m\n", LOCK: "main\n"}, "Move on")
    synced(locked)
    found = [(".", ["main.toml", "needs", "x.lock"]), ("./sub", ["x.toml"])]
    assert locked.git("show", f"a:{LOCK}") == str(found)


@pytest.mark.parametrize(
    ("pathspec", "told"),
    [
        ("nedes", "no file of the merged tree matches nedes; correct it"),
        (":(nothing)x", "Invalid pathspec magic 'nothing' in ':(nothing)x'; correct it"),
    ],
)
def test_an_input_that_means_nothing_is_refused(locked, pathspec, told):
    locked.declare("#1 a main")
    configure(locked, "input", pathspec)
    locked.grow("a", "main", {"a.py": "A = 1\n"})
    locked.commit("main", {NEEDS: "q\n"}, "Need q")
    done = locked.run("sync")
    assert (done.code, done.err) == (
        1,
        f"error: git config {SETTING.format(LOCK, 'input')}: {told}\n",
    )


def test_an_input_that_nothing_matches_is_told_once(locked):
    locked.declare("#1 a main", "#2 b #1")
    locked.grow("a", "main", {"a.py": "A = 1\n"})
    locked.grow("b", "a", {"b.py": "B = 1\n"})
    for pathspec in (NEEDS, "nedes"):
        configure(locked, "input", pathspec)
    locked.commit("main", {LOCK: raised(locked, "main", p1="1.6")}, "Raise p1")
    told = [line for line in synced(locked).err.splitlines() if "matches" in line]
    setting = f"git config {SETTING.format(LOCK, 'input')}"
    assert told == [f"a: no file matches nedes ({setting})"]


# What was made is kept


@pytest.fixture
def stopped(locked):
    """A sync that made the lock file for a and stopped at b, where notes and lock conflict."""
    locked.declare("#1 a main", "#2 b #1", "#3 c #2")
    needs = locked.show("main", NEEDS)
    locked.grow("a", "main", {NEEDS: f"{needs}q\n"})
    locked.grow("b", "a", {"notes.txt": "B\n", LOCK: raised(locked, "a", p1="1.5")})
    locked.grow("c", "b", {"c.py": "C = 1\n"})
    locked.commit("main", {"notes.txt": "M\n", LOCK: raised(locked, "main", p1="1.6")}, "Move")
    configure(locked, "input", NEEDS)
    done = locked.run("sync")
    assert done.code == 3, done.err
    assert runs(locked) == 1
    locked.said = done.err
    locked.desk = locked.fork / ".git/merge_series/worktree"
    return locked


def settle(world):
    world.write({"notes.txt": "B and M\n"}, world.desk)
    world.git("add", "--all", where=world.desk)
    return world.run("sync", "--continue")


def test_after_a_person_and_further_up_nothing_runs_twice(stopped):
    assert settle(stopped).code == 0
    assert pins(stopped, "c") == pins(stopped, "main") | {"q": "1.0"}
    # b starts from a's text, which is made already, and c is as b.
    made = runs(stopped)
    assert made == 2
    heads = stopped.heads()
    assert stopped.run("undo").code == 0
    synced(stopped)  # the conflict is settled as before
    assert runs(stopped) == made
    assert {b: stopped.git("rev-parse", f"{b}^{{tree}}") for b in heads} == {
        b: stopped.git("rev-parse", f"{sha}^{{tree}}") for b, sha in heads.items()
    }


def test_what_was_made_outlives_a_sync_that_was_dropped(stopped):
    assert stopped.run("sync", "--abort").code == 0
    assert stopped.run("sync").code == 3
    assert runs(stopped) == 1


def test_a_dry_run_takes_what_was_made_and_keeps_nothing(stopped):
    assert stopped.run("sync", "--abort").code == 0
    before = stopped.contents()
    assert stopped.run("sync", "--dry-run").code == 3
    assert runs(stopped) == 1
    (stopped.fork / ".git/merge_series/made.json").unlink()
    assert stopped.run("sync", "--dry-run").code == 3
    assert runs(stopped) == 2
    before.pop(".git/merge_series/made.json")
    assert stopped.contents() == before


def test_what_was_made_outlives_a_kill(locked):
    locked.declare("#1 a main", "#2 b main")
    needs = locked.show("main", NEEDS)
    locked.grow("a", "main", {NEEDS: f"{needs}q\n"})
    locked.grow("b", "main", {NEEDS: f"{needs}r\n"})
    locked.commit("main", {LOCK: raised(locked, "main", p1="1.6")}, "Raise p1")
    locked.killer.touch()
    assert locked.run("sync").code == -9
    assert runs(locked) == 2
    locked.killer.unlink()
    synced(locked)
    assert runs(locked) == 3
    for branch, name in (("a", "q"), ("b", "r")):
        assert pins(locked, branch) == pins(locked, "main") | {name: "1.0"}


def test_what_is_kept_is_bounded(locked):
    locked.declare("#1 a main")
    locked.grow("a", "main", {"a.py": "A = 1\n"})
    file = locked.fork / ".git/merge_series/made.json"
    file.parent.mkdir()
    old = {f"{number}": {"path": "x", "blob": ""} for number in range(MOST)}
    file.write_text(json.dumps(old))
    locked.commit("main", {"x.py": "X = 1\n"}, "Add x")
    synced(locked)
    assert runs(locked) == 1
    *kept, (_, new) = json.loads(file.read_text()).items()
    assert (len(kept), dict(kept), new["path"]) == (
        MOST - 1,
        {key: old[key] for key in list(old)[1:]},
        LOCK,
    )


def torn(file, _):
    file.write_text(file.read_text()[:-20])


def of_another_form(file, _):
    file.write_text('{"a": 1}')


def of_a_blob_that_is_gone(file, stopped):
    (kept,) = json.loads(file.read_text()).values()
    (stopped.fork / ".git/objects" / kept["blob"][:2] / kept["blob"][2:]).unlink()


@pytest.mark.parametrize("harm", [torn, of_another_form, of_a_blob_that_is_gone])
def test_what_is_kept_and_damaged_is_made_again(stopped, harm):
    assert stopped.run("sync", "--abort").code == 0
    harm(stopped.fork / ".git/merge_series/made.json", stopped)
    done = stopped.run("sync")
    assert done.code == 3, done.err
    assert runs(stopped) == 2


def test_another_version_of_the_program_runs_again(stopped):
    assert stopped.run("sync", "--abort").code == 0
    stopped.tool.write_text(stopped.tool.read_text() + "# newer\n")
    assert stopped.run("sync").code == 3
    assert runs(stopped) == 2


def test_forget_lets_the_command_run_again(stopped):
    assert settle(stopped).code == 0
    done = stopped.run("forget", LOCK)
    assert (done.code, done.err) == (0, f"Dropped 2 cached results of {LOCK}.\n")
    made = runs(stopped)
    stopped.run("undo")
    synced(stopped)
    assert runs(stopped) == 2 * made


def test_a_kept_resolution_stands_though_the_lock_was_removed_beside_it(locked):
    locked.declare("#1 a main")
    locked.grow("a", "main", {"notes.txt": "A\n", LOCK: None})
    locked.commit("main", {"notes.txt": "M\n", LOCK: raised(locked, "main", p1="1.6")}, "Move")
    assert locked.run("sync").code == 3
    locked.desk = locked.fork / ".git/merge_series/worktree"
    locked.git("rm", "--quiet", LOCK, where=locked.desk)
    assert settle(locked).code == 0
    assert locked.run("undo").code == 0
    locked.commit("main", {LOCK: raised(locked, "main", p1="1.7")}, "Raise p1 again")
    done = locked.run("sync")
    assert done.code == 3
    assert "  notes.txt: as Ada Test settled it before\n" in done.err
    again, before, mine = (locked.named(commit) for commit in ("main", "main~", "a"))
    assert (
        f"  {LOCK}: main's {again}, {before} changed it, the branch's {mine} deleted it\n"
    ) in done.err


# What a person has there


def test_it_starts_from_what_a_person_staged(stopped):
    stopped.write({LOCK: raised(stopped, "main", p1="1.8")}, stopped.desk)
    assert settle(stopped).code == 0
    assert pins(stopped, "b")["p1"] == "1.8"
    how = f"made again by `{sys.executable} {stopped.tool}` from the text of a person"
    assert f"- {LOCK}: {how}\n" in stopped.message("b")


def test_a_stop_says_that_the_file_is_not_made_yet(stopped):
    assert "\np1==1.6\n" in (stopped.desk / LOCK).read_text()
    how = f"made again by `{sys.executable} {stopped.tool}` from the text of #1"
    said = " ".join(stopped.said.split())
    assert f" Settled already: {LOCK}: will be {how} with --continue " in said
    assert settle(stopped).code == 0
    assert f"- {LOCK}: {how}; {BOTH}\n" in stopped.message("b")


def test_a_link_that_a_person_put_there_is_theirs(stopped):
    (stopped.desk / LOCK).unlink()
    (stopped.desk / LOCK).symlink_to(NEEDS)
    assert settle(stopped).code == 0
    assert stopped.git("ls-tree", "b", LOCK).startswith("120000 ")
    assert f"- {LOCK}: by a person\n" in stopped.message("b")


def test_one_that_a_person_removed_is_theirs(stopped):
    stopped.git("rm", "--quiet", "--force", LOCK, where=stopped.desk)
    assert settle(stopped).code == 0
    assert stopped.git("ls-tree", "b", LOCK) == ""
    assert f"- {LOCK}: by a person\n" in stopped.message("b")


# Other commands


def test_a_branch_on_two_others_is_told_how_long_it_took(locked):
    locked.declare("#1 a main", "#2 b main")
    locked.grow("a", "main", {"a.py": "A = 1\n"})
    locked.grow("b", "main", {"b.py": "B = 1\n"})
    on = ("--on", "a", "--on", "b", "--because", "it needs both")
    made = locked.run("stack", "--pr", "3", "--branch", "c", "--title", "Do c", *on)
    assert made.code == 0, made.err
    how = f"made again by `{sys.executable} {locked.tool}`"
    said = made.err.splitlines()[0]
    assert re.fullmatch(re.escape(f"c: {LOCK} {how} in ") + r"\d+\.\d s", said)


# Several


def test_files_that_are_made_from_each_other(locked):
    locked.declare("#1 a main")
    count = "import os; n = os.stat('{}').st_size; open('{}', 'w').write(str(n) * 3)"
    for path, other in (("one", "two"), ("two", LOCK)):
        configure(
            locked, "command", shlex.join([sys.executable, "-c", count.format(other, path)]), path
        )
    locked.commit("main", {"one": "1", "two": "2"}, "Add both")
    locked.grow("a", "main", {NEEDS: f"{locked.show('main', NEEDS)}q\n"})
    locked.commit("main", {"more.py": "M = 1\n"}, "Add more")
    synced(locked)
    size = len(locked.git("cat-file", "blob", f"a:{LOCK}") + "\n")
    assert locked.git("show", "a:two") == str(size) * 3
    assert locked.git("show", "a:one") == str(3 * len(str(size))) * 3


def test_files_that_never_come_to_rest_are_refused(locked):
    locked.declare("#1 a main")
    locked.git("config", "--remove-section", f"merge-series.regenerate.{LOCK}")
    more = "text = open('{}').read(); open('{}', 'w').write(text + '!')"
    for path, other in (("one", "two"), ("two", "one")):
        configure(
            locked, "command", shlex.join([sys.executable, "-c", more.format(other, path)]), path
        )
    locked.commit("main", {"one": "1", "two": "2"}, "Add both")
    locked.grow("a", "main", {"a.py": "A = 1\n"})
    locked.commit("main", {"more.py": "M = 1\n"}, "Add more")
    before = locked.heads()
    done = locked.run("sync")
    assert done.code == 1
    assert done.err.endswith(
        "error: a: merging main: generated files do not come to rest, since each is made from "
        "another: one, two; say what each is made from (git config --add "
        "merge-series.regenerate.PATH.input PATHSPEC)\n"
    )
    assert locked.heads() == before


def test_one_in_a_folder_that_both_sides_added(locked):
    locked.declare("#1 a main")
    locked.git("config", "--remove-section", f"merge-series.regenerate.{LOCK}")
    path = "sub/y z.lock"
    configure(locked, "command", "true", path)
    locked.grow("a", "main", {path: "a\n"})
    locked.commit("main", {path: "main\n"}, "Add it as well")
    synced(locked)
    assert locked.show("a", path) == "main\n"
