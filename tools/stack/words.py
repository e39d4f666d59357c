"""Words that several tools say in the same way."""


def counted(number: int, noun: str) -> str:
    """A number of things, as people write it: ``1 commit``, ``2 commits``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
