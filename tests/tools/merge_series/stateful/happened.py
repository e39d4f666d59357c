"""What happened to the stack: operations on branches, and landings and reverts on main."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Move:
    """An operation that moved branches, and what it takes to go back.

    Attributes:
        old: Heads to go back to; None for a branch that was made.
        new: Heads it left.
        events: What those branches held before and after.
        series: SERIES.md before and after, where it was rewritten.
    """

    old: dict
    new: dict
    events: tuple
    series: tuple

    def stands(self, heads, series) -> bool:
        """Whether nothing has changed since."""
        is_there = all(heads.get(branch) == head for branch, head in self.new.items())
        return is_there and self.series[1] in {None, series}

    def turned(self) -> "Move":
        """The way forth again."""
        return Move(self.new, self.old, self.events[::-1], self.series[::-1])


@dataclass(frozen=True, slots=True)
class Landing:
    """A commit of main that brings a PR, or a part of it.

    Attributes:
        number: The PR.
        commit: The commit.
        brought: The events that main had not before.
    """

    number: int
    commit: str
    brought: frozenset


@dataclass(slots=True)
class Reverted:
    """A commit of main that takes a landing back.

    Attributes:
        number: The PR.
        landing: The commit that brought it.
        undone: The events by which it went.
        keeps: What the person says who is asked: whether the branches keep it.
        is_answered: Whether they were asked.
        ended_by: The commit that brought it again, if any.
    """

    number: int
    landing: str
    undone: frozenset
    keeps: bool
    is_answered: bool = False
    ended_by: str = ""


def moved(known, changes) -> dict:
    """What is known of every branch after some changed; None: the branch is gone."""
    return {branch: what for branch, what in (known | changes).items() if what is not None}
