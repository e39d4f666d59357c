from collections.abc import Callable

import pytest

Edited = Callable[[str, str], str]
Refused = Callable[[str, str], list[str]]

ADD = """
    in: f
    add-parameters: ["ep: int | None = None"]
    """
LONG = """
    in: f
    add-parameters: ["expert_rank: int | None = None", "expert_size: int | None = None"]
    """


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f()", "f(*, ep: int | None = None)"),
        ("f(a)", "f(a, *, ep: int | None = None)"),
        ("f(a, /)", "f(a, /, *, ep: int | None = None)"),
        ("f(a, /, b=2)", "f(a, /, b=2, *, ep: int | None = None)"),
        ("f(a, *, b)", "f(a, *, b, ep: int | None = None)"),
        ("f(*args)", "f(*args, ep: int | None = None)"),
        ("f(**kwargs)", "f(*, ep: int | None = None, **kwargs)"),
        ("f(*args, **kwargs)", "f(*args, ep: int | None = None, **kwargs)"),
        ("f(a, *, b=1, **k)", "f(a, *, b=1, ep: int | None = None, **k)"),
        ("f(a=lambda x, y: (x, y))", "f(a=lambda x, y: (x, y), *, ep: int | None = None)"),
        ("f[T](a: T)", "f[T](a: T, *, ep: int | None = None)"),
        ("f(a) -> list[int]", "f(a, *, ep: int | None = None) -> list[int]"),
    ],
)
@pytest.mark.parametrize("keyword", ["def", "async def"])
def test_goes_behind_the_parameters_and_before_kwargs(
    edited: Edited, keyword: str, before: str, after: str
) -> None:
    body = "\n    return 1\n"
    assert edited(ADD, f"{keyword} {before}:{body}") == f"{keyword} {after}:{body}"


def test_a_signature_that_gets_too_long_moves_to_the_next_line(edited: Edited) -> None:
    assert edited(LONG, "def f(state_dict, num_experts: int | None = None):\n    pass\n") == (
        "def f(\n"
        "    state_dict,\n"
        "    num_experts: int | None = None,\n"
        "    *,\n"
        "    expert_rank: int | None = None,\n"
        "    expert_size: int | None = None,\n"
        "):\n"
        "    pass\n"
    )
    assert edited(LONG, "def f(state_dict) -> dict[str, object]:\n    pass\n") == (
        "def f(\n"
        "    state_dict, *, expert_rank: int | None = None, expert_size: int | None = None\n"
        ") -> dict[str, object]:\n"
        "    pass\n"
    )


def test_a_signature_on_several_lines_gets_more_lines_and_keeps_its_comments(
    edited: Edited,
) -> None:
    source = """\
        class C:
            def f(
                self,
                state_dict: dict[str, object],  # as it comes from the model
                # of the whole model
                num_experts: int | None = None,
                **kwargs,
            ) -> dict[str, object]:
                return state_dict
        """
    assert edited(ADD.replace("in: f", "in: C.f"), source) == (
        "class C:\n"
        "    def f(\n"
        "        self,\n"
        "        state_dict: dict[str, object],  # as it comes from the model\n"
        "        # of the whole model\n"
        "        num_experts: int | None = None,\n"
        "        *,\n"
        "        ep: int | None = None,\n"
        "        **kwargs,\n"
        "    ) -> dict[str, object]:\n"
        "        return state_dict\n"
    )


def test_the_last_line_of_an_exploded_signature_gets_its_comma(edited: Edited) -> None:
    assert edited(ADD, "def f(\n    a,\n    b  # why\n):\n    pass\n") == (
        "def f(\n    a,\n    b,  # why\n    *,\n    ep: int | None = None,\n):\n    pass\n"
    )


def test_decorators_stay(edited: Edited) -> None:
    assert edited(ADD, "@g(1)\n@h\ndef f(a):\n    pass\n") == (
        "@g(1)\n@h\ndef f(a, *, ep: int | None = None):\n    pass\n"
    )


def test_hand_made_layout_is_left_alone(edited: Edited) -> None:
    assert edited(ADD, "def f( a,b ):\n    pass\n") == (
        "def f( a,b, *, ep: int | None = None ):\n    pass\n"
    )


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def f(a): pass\n", "refused 1/1: line 1: its body stands on the same line"),
        (
            "def f(ep: int):\n    pass\n",
            "refused 1/1: line 1: has a parameter ep already, other than wanted",
        ),
        (
            "def f(ep: int | None = None):\n    pass\n",
            "refused 1/1: line 1: has a parameter ep already, other than wanted",
        ),
        ("class f:\n    pass\n", "refused 1/1: line 1: f is a class"),
        ("def ff():\n    pass\n", "mismatch 0/1: no def or class f; nearest: ff"),
        (
            "if x:\n    def f():\n        pass\nelse:\n    def f():\n        pass\n",
            "mismatch 2/1: at lines 2, 5",
        ),
    ],
)
def test_refuses(refused: Refused, source: str, reason: str) -> None:
    assert refused(ADD, source) == [reason]


def test_count_says_how_many_definitions(edited: Edited) -> None:
    source = "if x:\n    def f():\n        pass\nelse:\n    def f(a):\n        pass\n"
    assert edited(ADD + "count: 2", source) == (
        "if x:\n    def f(*, ep: int | None = None):\n        pass\n"
        "else:\n    def f(a, *, ep: int | None = None):\n        pass\n"
    )


PROPERTY = "line 3: it is a property, to which nothing is passed"


@pytest.mark.parametrize(
    ("scope", "source", "reason"),
    [
        ("C.f", "class C:\n    @property\n    def f(self):\n        return 1\n", PROPERTY),
        (
            "C.f",
            "class C:\n    @functools.cached_property\n    def f(self):\n        return 1\n",
            PROPERTY,
        ),
        ("C.f", "class C:\n    @f.setter\n    def f(self, x):\n        self.x = x\n", PROPERTY),
        (
            "f",
            "try:\n    from m import f\nexcept ImportError:\n    def f():\n        pass\n",
            "line 4: on another path f is what line 2 binds",
        ),
        (
            "f",
            "if x:\n    def f():\n        pass\nelse:\n    f = None\n",
            "line 2: on another path f is what line 5 binds",
        ),
        (
            "k.f",
            "def k():\n    if x:\n        def f():\n            pass\n    else:\n        f = g\n",
            "line 3: on another path f is what line 6 binds",
        ),
    ],
)
def test_a_parameter_that_callers_cannot_count_on_is_refused(
    refused: Refused, scope: str, source: str, reason: str
) -> None:
    assert refused(f"in: {scope}\nadd-parameters: [a]", source) == [f"refused 1/1: {reason}"]


@pytest.mark.parametrize(
    ("scope", "source"),
    [
        ("f", "if x:\n    def f():\n        pass\n"),
        ("f", "def f():\n    pass\nf = jit(f)\n"),
        ("C.f", "if x:\n    class C:\n        def f():\n            pass\nelse:\n    C = None\n"),
        ("f", "if x:\n    def f():\n        pass\nelse:\n    def g():\n        f = 1\n"),
        ("f", "if x:\n    def f():\n        pass\nelse:\n    raise E\nf = jit(f)\n"),
    ],
)
def test_a_definition_without_another_gets_a_parameter(
    edited: Edited, scope: str, source: str
) -> None:
    wanted = source.replace("def f()", "def f(*, a)")
    assert edited(f"in: {scope}\nadd-parameters: [a]", source) == wanted


def test_both_definitions_of_two_paths_get_it(edited: Edited) -> None:
    source = "if x:\n    def f():\n        pass\nelse:\n    def f():\n        k()\n"
    edit = "in: f\ncount: 2\nadd-parameters: [a]"
    assert edited(edit, source) == source.replace("def f()", "def f(*, a)")
