"""How many git processes a sync takes: no more for more merges, however branches are stacked."""

import shutil

import pytest

SHAPES = {
    "chain": lambda number: [number - 1] if number > 1 else [],
    "fan": lambda _: [],
    "lattice": lambda number: [number - 2, number - 1] if number > 2 else [],
}
LINES = [f"{line}\n" for line in range(9)]
TEXTS = ["".join(LINES), "".join(["changed\n", *LINES[1:]]), "".join([*LINES[:-1], "moved\n"])]


def git_processes(hand, monkeypatch, shape, count, syncs):
    """Sync a stack of some branches and count the git processes, as git itself tells.

    Every second branch changes a file that main changes as well, the others add one. There
    are so many syncs before, with a commit on every branch after each.
    """
    folder = hand.root / f"told-{count}"
    folder.mkdir()
    first = hand.git("rev-parse", "main")
    old, mine, new = TEXTS
    hand.commit("main", {f"part_{number}.txt": old for number in range(9)}, "Add parts")
    rows = [(number, SHAPES[shape](number)) for number in range(1, count + 1)]
    hand.declare(
        *(f"#{n} b{n} {','.join(f'#{below}' for below in on) or 'main'}" for n, on in rows)
    )
    for number, on in rows:
        files = {f"part_{number}.txt": mine} if number % 2 else {f"own_{number}.txt": "own\n"}
        hand.grow(f"b{number}", f"b{on[0]}" if on else "main", files)
        for below in on[1:]:
            hand.git("switch", "--quiet", f"b{number}")
            hand.git("merge", "--quiet", "--no-edit", f"b{below}")
            hand.git("switch", "--quiet", "main")
    for time in range(syncs):
        hand.commit("main", {"README": f"{time}\n"}, "Add to main")
        assert hand.run("sync").code == 0
        for number, _ in rows:
            hand.commit(f"b{number}", {f"late_{number}.txt": f"{time}\n"}, "Go on")
    hand.commit("main", {f"part_{number}.txt": new for number in range(9)}, "Move main")
    # What the tests' programs are forked from asks git for its version when the first one runs.
    hand.run("log")
    monkeypatch.setenv("GIT_TRACE2_EVENT", str(folder))
    ran = hand.run("sync")
    monkeypatch.delenv("GIT_TRACE2_EVENT")
    assert ran.code == 0, ran.err
    made = [line for line in ran.err.splitlines() if ": merged " in line]
    told = len(list(folder.iterdir()))
    for number, _ in rows:
        if number % 2:
            both = "".join(["changed\n", *LINES[1:-1], "moved"])
            assert hand.git("show", f"b{number}:part_{number}.txt") == both
        hand.git("branch", "-D", f"b{number}")
    hand.git("update-ref", "refs/heads/main", first)
    hand.git("reset", "--quiet", "--hard", first)
    shutil.rmtree(hand.fork / ".git/merge_series")
    return told, made


@pytest.mark.parametrize("syncs", [0, 1])
@pytest.mark.parametrize("shape", SHAPES)
def test_no_more_for_more_merges(hand, monkeypatch, shape, syncs):
    few, made_of_few = git_processes(hand, monkeypatch, shape, 4, syncs)
    many, made_of_many = git_processes(hand, monkeypatch, shape, 8, syncs)
    assert made_of_few == made_of_many[: len(made_of_few)]
    merges = {"chain": (4, 8), "fan": (4, 8), "lattice": (6, 14)}
    assert (len(made_of_few), len(made_of_many)) == merges[shape]
    assert many == few
