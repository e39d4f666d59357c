"""Merges that are made at once come to the same as merges made one by one."""

import os
import shutil

import pytest

from carry.carried import Carrier
from merge_series.operations import Operations
from merge_series.sync import Syncer
from stack.repository import Repository

SHARED = "a\nb\nc\nd\ne\n"


@pytest.fixture
def fan(hand):
    """Six branches on main, two more on two of them each, and main moved on."""
    on = dict.fromkeys(range(1, 7), "main") | {7: "b1,b2", 8: "b3,b7"}
    hand.declare(*(f"#{n} b{n} {below.replace('b', '#')}" for n, below in on.items()))
    for n, below in on.items():
        hand.grow(f"b{n}", below, {f"own_{n}.txt": "own\n"})
    hand.commit("main", {"shared.txt": SHARED.replace("e", "E")}, "Move main")
    return hand


def synced(hand, monkeypatch, cores):
    """What a sync with so many cores says, makes and leaves, in a copy of the fork."""
    fork = hand.root / f"fork-{cores}"
    shutil.copytree(hand.fork, fork)
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    told = []
    with Repository.open(fork) as repository:
        operations = Operations(repository)
        syncer = Syncer(repository, Carrier.open(hand.root / "SERIES.md"), operations, told.append)
        with operations.lock():
            result = syncer.sync("main")
    return told, result, hand.git("for-each-ref", "refs/heads", where=fork)


def test_every_branch_is_the_same(fan, monkeypatch):
    one_by_one = synced(fan, monkeypatch, 1)
    assert len(one_by_one[1].merged) == 10
    assert synced(fan, monkeypatch, 2) == one_by_one
    assert synced(fan, monkeypatch, 8) == one_by_one


def test_the_same_merges_stop(fan, monkeypatch):
    fan.commit("b3", {"shared.txt": SHARED.replace("e", "three")}, "Change e")
    fan.commit("b5", {"shared.txt": SHARED.replace("e", "five")}, "Change e")
    one_by_one = synced(fan, monkeypatch, 1)
    told, result, _ = one_by_one
    assert told == [
        "b1: merged main",
        "b2: merged main",
        "b3: merging main needs a person",
        "b4: merged main",
        "b5: merging main needs a person",
        "b6: merged main",
        f"b7: merged #1, with {fan.brought()}",
        "b7: merged #2",
    ]
    assert (len(result.merged), result.pending.branch) == (6, "b3")
    assert ([stop.branch for stop in result.ahead.stops], result.ahead.waits) == (
        ["b5"],
        {"b8": ("b3",)},
    )
    assert synced(fan, monkeypatch, 8) == one_by_one
