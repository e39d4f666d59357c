from collections.abc import Callable

import pytest

Edited = Callable[[str, str], str]
Refused = Callable[[str, str], list[str]]

DOC = """
    in: f
    document-args: {rank: Rank of the model.}
    """


def function(docstring: str) -> str:
    return f"def f(rank, size):\n    {docstring}\n    return 1\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            (
                '"""Do it.\n\n    Args:\n        a: One,\n            two.\n\n    Returns:\n'
                '        It.\n    """'
            ),
            (
                '"""Do it.\n\n    Args:\n        a: One,\n            two.\n'
                '        rank: Rank of the model.\n\n    Returns:\n        It.\n    """'
            ),
        ),
        (
            '"""Do it.\n\n    Args:\n        a (int): One.\n        **kwargs: The rest.\n    """',
            (
                '"""Do it.\n\n    Args:\n        a (int): One.\n'
                '        rank: Rank of the model.\n        **kwargs: The rest.\n    """'
            ),
        ),
        (
            "'''Do it.\n\n    Args:\n      a: One.'''",
            "'''Do it.\n\n    Args:\n      a: One.\n      rank: Rank of the model.\n    '''",
        ),
        (
            'r"""Do it.\n\n    Returns:\n        It.\n    """',
            (
                'r"""Do it.\n\n    Args:\n        rank: Rank of the model.\n\n    Returns:\n'
                '        It.\n    """'
            ),
        ),
        ('"""Do it."""', '"""Do it.\n\n    Args:\n        rank: Rank of the model.\n    """'),
        (
            '"""\n    Do it.\n    """',
            '"""\n    Do it.\n\n    Args:\n        rank: Rank of the model.\n    """',
        ),
    ],
)
def test_documents_an_argument(edited: Edited, before: str, after: str) -> None:
    assert edited(DOC, function(before)) == function(after)


def test_wraps_at_the_limit(edited: Edited) -> None:
    words = " ".join(["expert-parallel"] * 8)
    edits = f"in: f\ndocument-args:\n  rank: {words}\n  size: Size of it."
    assert edited(edits, function('"""Do it.\n\n    Args:\n        a: One.\n    """')) == function(
        '"""Do it.\n\n    Args:\n        a: One.\n'
        f"        rank: {' '.join(['expert-parallel'] * 5)}\n"
        f"            {' '.join(['expert-parallel'] * 3)}\n"
        '        size: Size of it.\n    """'
    )


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def f():\n    return 1\n", "refused 1/1: line 1: f has no docstring"),
        (
            "def f():\n    'Do it.'\n",
            "refused 1/1: line 1: f has a docstring that is not one triple-quoted string",
        ),
        (
            function('"""Do it.\n\n    Args:\n        rank: Other.\n    """'),
            "refused 1/1: line 2: documents rank already, other than wanted",
        ),
    ],
)
def test_refuses(refused: Refused, source: str, reason: str) -> None:
    assert refused(DOC, source) == [reason]


def test_what_is_no_parameter_is_not_documented(refused: Refused) -> None:
    source = 'def f(a, *, b=1):\n    """Does it."""\n'
    assert refused("in: f\ndocument-args: {c: The third.}", source) == [
        "refused 1/1: line 2: c is no parameter of f"
    ]


@pytest.mark.parametrize(
    "source",
    [
        'def f(a, **kwargs):\n    """Does it."""\n',
        'class f:\n    """Is it."""\n',
        'def f(a, /, *c):\n    """Does it."""\n',
    ],
)
def test_what_may_be_taken_is_documented(edited: Edited, source: str) -> None:
    assert "c: The third." in edited("in: f\ndocument-args: {c: The third.}", source)


def test_a_parameter_of_the_same_commit_is_documented(edited: Edited) -> None:
    edits = "in: f\ndocument-args: {c: The third.}\n\nin: f\nadd-parameters: [c]"
    assert "def f(a, *, c):" in edited(edits, 'def f(a):\n    """Does it."""\n')
