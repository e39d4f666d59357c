"""How many git processes a sync takes: one for each merge, however the branches are stacked."""

import shutil

import pytest

SHAPES = {
    "chain": lambda number: f"b{number - 1}" if number > 1 else "main",
    "fan": lambda _: "main",
}


def git_processes(hand, monkeypatch, shape, count, syncs):
    """Sync a stack of some branches and count the git processes, as git itself tells.

    There are so many syncs before, with a commit on every branch after each.
    """
    folder = hand.root / f"told-{count}"
    folder.mkdir()
    first = hand.git("rev-parse", "main")
    on = [SHAPES[shape](number) for number in range(1, count + 1)]
    hand.declare(
        *(f"#{number} b{number} {below.replace('b', '#')}" for number, below in enumerate(on, 1))
    )
    for number, below in enumerate(on, 1):
        hand.grow(f"b{number}", below, {f"own_{number}.txt": "own\n"})
    for time in range(syncs):
        hand.commit("main", {"README": f"{time}\n"}, "Move main")
        assert hand.run("sync").code == 0
        for number in range(1, count + 1):
            hand.commit(f"b{number}", {f"own_{number}.txt": f"{time}\n"}, "Go on")
    hand.commit("main", {"shared.txt": "a\nb\nc\nd\nE\n"}, "Move main")
    monkeypatch.setenv("GIT_TRACE2_EVENT", str(folder))
    ran = hand.run("sync")
    monkeypatch.delenv("GIT_TRACE2_EVENT")
    assert ran.code == 0, ran.err
    made = [line for line in ran.err.splitlines() if ": merged " in line]
    told = len(list(folder.iterdir()))
    for number in range(1, count + 1):
        hand.git("branch", "-D", f"b{number}")
    hand.git("update-ref", "refs/heads/main", first)
    hand.git("reset", "--quiet", "--hard", first)
    shutil.rmtree(hand.fork / ".git/merge_series")
    return told, made


@pytest.mark.parametrize("syncs", [0, 1])
@pytest.mark.parametrize("shape", SHAPES)
def test_one_more_for_each_merge(hand, monkeypatch, shape, syncs):
    few, made_of_few = git_processes(hand, monkeypatch, shape, 2, syncs)
    many, made_of_many = git_processes(hand, monkeypatch, shape, 7, syncs)
    assert made_of_few == made_of_many[:2]
    assert (len(made_of_few), len(made_of_many)) == (2, 7)
    assert many - few == 5
