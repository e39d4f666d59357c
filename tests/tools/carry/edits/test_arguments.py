from collections.abc import Callable

import pytest

Edited = Callable[[str, str], str]
Refused = Callable[[str, str], list[str]]

ADD = """
    call: g
    add-args: [ep=ep]
    """


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("g()", "g(ep=ep)"),
        ("g(a)", "g(a, ep=ep)"),
        ("g(a, b=1,)", "g(a, b=1, ep=ep,)"),
        ("x = g(*a)", "x = g(*a, ep=ep)"),
        ("g(a, **k)", "g(a, ep=ep, **k)"),
        ("g(**k, b=1)", "g(ep=ep, **k, b=1)"),
        ("m.n.g(a)", "m.n.g(a, ep=ep)"),
        ("h().g(a)", "h().g(a, ep=ep)"),
        ("g((x for x in y))", "g((x for x in y), ep=ep)"),
        ("g([x for x in y])", "g([x for x in y], ep=ep)"),
        ("g(lambda a, b: (a, b))", "g(lambda a, b: (a, b), ep=ep)"),
        ("z = h(1, g(f'{a},('), 2)", "z = h(1, g(f'{a},(', ep=ep), 2)"),
        ("g('é', b)", "g('é', b, ep=ep)"),
        ("x = {'ключ': g(a)}; y", None),
        ("(g)(a)", "(g)(a, ep=ep)"),
        ("if g(a):\n    pass\nelif h:\n    pass", "if g(a, ep=ep):\n    pass\nelif h:\n    pass"),
        ("if h:\n    pass\nelif g(a):\n    pass", "if h:\n    pass\nelif g(a, ep=ep):\n    pass"),
        ("with g(a) as b:\n    pass", "with g(a, ep=ep) as b:\n    pass"),
        ("@g(a)\ndef f():\n    pass", "@g(a, ep=ep)\ndef f():\n    pass"),
        (
            "try:\n    pass\nexcept g(a):\n    pass",
            "try:\n    pass\nexcept g(a, ep=ep):\n    pass",
        ),
        (
            "match g(a):\n    case 1:\n        pass",
            "match g(a, ep=ep):\n    case 1:\n        pass",
        ),
    ],
)
def test_goes_behind_the_arguments_and_before_kwargs(
    edited: Edited, refused: Refused, before: str, after: str | None
) -> None:
    if after is None:
        assert refused(ADD, f"{before}\n") == [
            "refused 1/1: line 1: it shares its line with another statement (a `;`)"
        ]
    else:
        assert edited(ADD, f"{before}\n") == f"{after}\n"


LONG = """
    call: handle_experts_in_state_dict
    add-args: [expert_rank=expert_rank, expert_size=expert_size]
    """


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "name_to_parameter = handle_experts_in_state_dict(name_to_parameter, experts)\n",
            (
                "name_to_parameter = handle_experts_in_state_dict(\n"
                "    name_to_parameter, experts, expert_rank=expert_rank, expert_size=expert_size\n"
                ")\n"
            ),
        ),
        (
            (
                "handle_experts_in_state_dict(\n"
                "    name_to_parameter, number_of_experts, another_argument=another\n"
                ")\n"
            ),
            (
                "handle_experts_in_state_dict(\n"
                "    name_to_parameter,\n"
                "    number_of_experts,\n"
                "    another_argument=another,\n"
                "    expert_rank=expert_rank,\n"
                "    expert_size=expert_size,\n"
                ")\n"
            ),
        ),
        (
            "assert rename(handle_experts_in_state_dict(names, count)) == expected_names\n",
            (
                "assert (\n"
                "    rename(\n"
                "        handle_experts_in_state_dict("
                "names, count, expert_rank=expert_rank, expert_size=expert_size)\n"
                "    )\n"
                "    == expected_names\n"
                ")\n"
            ),
        ),
        (
            (
                "handle_experts_in_state_dict(\n    names,\n    # of this rank\n"
                "    count,  # local\n)\n"
            ),
            (
                "handle_experts_in_state_dict(\n    names,\n    # of this rank\n"
                "    count,  # local\n"
                "    expert_rank=expert_rank,\n    expert_size=expert_size,\n)\n"
            ),
        ),
        (
            (
                "names = {k: handle_experts_in_state_dict(v, count, strict=False) "
                "for k, v in x.items()}\n"
            ),
            (
                "names = {\n"
                "    k: handle_experts_in_state_dict(\n"
                "        v, count, strict=False, expert_rank=expert_rank, expert_size=expert_size\n"
                "    )\n"
                "    for k, v in x.items()\n"
                "}\n"
            ),
        ),
    ],
)
def test_a_line_that_gets_too_long_is_wrapped_as_black_would(
    edited: Edited, before: str, after: str
) -> None:
    assert edited(LONG, before) == after


def test_hand_made_layout_around_the_call_is_left_alone(edited: Edited) -> None:
    source = "x = [ h (1,2),\n      g(a,b) ] # two\n"
    assert edited(ADD, source) == "x = [ h (1,2),\n      g(a,b, ep=ep) ] # two\n"


def test_two_edits_to_one_call_and_calls_inside_it(edited: Edited) -> None:
    edits = ADD + "\n\n    call: g\n    add-args: [size=size]\n\n    call: h\n    add-args: [r=r]"
    assert edited(edits, "g(h(1), 2)\n") == "g(h(1, r=r), 2, ep=ep, size=size)\n"


def test_scope_holds_nested_definitions_and_can_be_narrowed(edited: Edited) -> None:
    source = "def f():\n    def inner():\n        g(1)\n\n    def other():\n        h(1)\n"
    wanted = source.replace("g(1)", "g(1, ep=ep)")
    assert edited(ADD + "in: f", source) == wanted
    assert edited(ADD + "in: f.inner", source) == wanted


def test_module_level_means_outside_every_definition(edited: Edited, refused: Refused) -> None:
    source = "def f():\n    g(1)\n\n\nif f:\n    g(2)\n"
    assert edited(ADD, source) == "def f():\n    g(1)\n\n\nif f:\n    g(2, ep=ep)\n"
    assert refused(ADD, "def f():\n    g(1)\n") == ["mismatch 0/1: "]


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (
            "g(x for x in y)\n",
            "refused 1/1: line 1: its one argument is a bare generator expression",
        ),
        ("g(ep=1)\n", "refused 1/1: line 1: passes ep already, other than wanted"),
        (
            "if x: g(1)\n",
            (
                "refused 1/1: line 1: it shares its line with another statement "
                "(a one-line compound statement or a `;`)"
            ),
        ),
        ("if g(1): x\n", "refused 1/1: line 1: it stands in a one-line compound statement"),
        (
            "if x: \\\n    g(1)\n",
            "refused 1/1: line 2: it goes on a line that a backslash continues",
        ),
        ("x = f'{g(1)}'\n", "refused 1/1: line 1: it stands in an f-string"),
        ("g(1)\ng(2)\n", "mismatch 2/1: at lines 1, 2"),
        (
            "g(1)\ng(2, ep=ep)\n",
            "mismatch 2/1: at lines 1; stands at 1 places already",
        ),
        ("gg(1)\nh(1)\n", "mismatch 0/1: nearest: gg"),
    ],
)
def test_refuses(refused: Refused, source: str, reason: str) -> None:
    assert refused(ADD, source) == [reason]


def test_half_applied_is_refused(refused: Refused) -> None:
    assert refused(ADD + "count: 2", "g(1)\ng(2, ep=ep)\n") == [
        "mismatch 2/2: stands at 1 of 2 places already"
    ]
