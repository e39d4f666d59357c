from collections.abc import Callable

import pytest

Edited = Callable[[str, str], str]
Refused = Callable[[str, str], list[str]]

SOURCE = """\
    def f(a):
        # About g.
        x = g(a)  # why
        self.y: int = 2
        z += 1
        (p, *q) = a
        for i in a:
            h(i)
        return x
    """


def of_source(**changes: str) -> str:
    """The source, without its indentation, with lines changed by their number."""
    lines = [line[4:] for line in SOURCE.rstrip(" ").splitlines()]
    for number, line in changes.items():
        lines[int(number[1:])] = line
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("anchor", "wanted"),
    [
        ("before-call: g", of_source(_1="    new(1)\n    # About g.")),
        ("after-call: g", of_source(_2="    x = g(a)  # why\n    new(1)")),
        ("before-assign: x", of_source(_1="    new(1)\n    # About g.")),
        ("after-assign: self.y", of_source(_3="    self.y: int = 2\n    new(1)")),
        ("before-assign: z", of_source(_4="    new(1)\n    z += 1")),
        ("after-assign: q", of_source(_5="    (p, *q) = a\n    new(1)")),
        ("after-call: h", of_source(_7="        h(i)\n        new(1)")),
        ("before-return: true", of_source(_8="    new(1)\n    return x")),
        ("at-start: true", of_source(_1="    new(1)\n    # About g.")),
    ],
)
def test_inserts(edited: Edited, anchor: str, wanted: str) -> None:
    assert edited(f"in: f\n{anchor}\ninsert: new(1)", SOURCE) == wanted


@pytest.mark.parametrize(
    ("anchor", "wanted"),
    [
        ("replace-assign: self.y", of_source(_3="    new(1)")),
        ("replace-call: h", of_source(_7="        new(1)")),
        ("replace-return: true", of_source(_8="    new(1)")),
    ],
)
def test_replaces_and_keeps_the_comment_on_the_line(
    edited: Edited, anchor: str, wanted: str
) -> None:
    assert edited(f"in: f\n{anchor}\nwith: new(1)", SOURCE) == wanted


def test_replaces_a_statement_by_one_that_assigns_the_same(edited: Edited) -> None:
    assert edited("in: f\nreplace-call: g\nwith: x = new(1)", SOURCE) == of_source(
        _2="    x = new(1)  # why"
    )


def test_removes_next_to_an_edit_that_leaves_a_trace(edited: Edited) -> None:
    edits = "in: f\nremove-assign: z\n\nin: f\nreplace-assign: x\nwith: x = z = 2"
    wanted = of_source(_2="    x = z = 2  # why").replace("    z += 1\n", "")
    assert edited(edits, SOURCE) == wanted


def test_a_removal_alone_cannot_tell_that_it_is_done(refused: Refused) -> None:
    assert refused("in: f\nremove-assign: z", of_source(_4="    pass")) == ["mismatch 0/1: "]


def test_the_statement_of_a_decorated_definition_starts_at_its_decorator(edited: Edited) -> None:
    assert edited(
        "before-call: g\ninsert: new(1)", "import x\n\n\n@h\n@g(1)\ndef f():\n    pass\n"
    ) == ("import x\n\n\nnew(1)\n\n\n@h\n@g(1)\ndef f():\n    pass\n")


def test_insertions_at_one_place_keep_their_order(edited: Edited) -> None:
    edits = """
        after-call: a
        insert: one()

        before-call: b
        insert: two()

        before-call: b
        insert: three()

        after-call: a
        insert: four()
        """
    assert edited(edits, "a()\nb()\n") == "a()\none()\nfour()\ntwo()\nthree()\nb()\n"


def test_text_of_several_statements_is_indented_and_wrapped(edited: Edited) -> None:
    edits = """
        in: f
        before-return: true
        insert: |
          if ep_rank is None:
              # Without a group there is one rank.
              rank, ep_size = read_the_rank_and_size(self.model_chunks[0], fallback=global_grid_no)

          text = '''one
          two'''
        """
    assert edited(
        edits, "class C:\n\tpass\n\n\ndef f():\n\tif x:\n\t\tif y:\n\t\t\treturn 1\n"
    ) == (
        "class C:\n\tpass\n\n\ndef f():\n\tif x:\n\t\tif y:\n"
        "\t\t\tif ep_rank is None:\n"
        "\t\t\t\t# Without a group there is one rank.\n"
        "\t\t\t\trank, ep_size = read_the_rank_and_size(\n"
        "\t\t\t\t\tself.model_chunks[0], fallback=global_grid_no\n"
        "\t\t\t\t)\n"
        "\n"
        "\t\t\ttext = '''one\ntwo'''\n"
        "\t\t\treturn 1\n"
    )


def test_at_start_goes_behind_the_docstring(edited: Edited) -> None:
    edits = "in: C.f\nat-start: true\ninsert: new(1)\n\nin: C\nat-start: true\ninsert: a = 1"
    assert edited(
        edits, 'class C:\n    """Doc."""\n\n    def f(self):\n        """D."""\n        pass\n'
    ) == (
        'class C:\n    """Doc."""\n\n    a = 1\n\n    def f(self):\n        """D."""\n'
        "        new(1)\n        pass\n"
    )


def test_a_definition_gets_blank_lines_around_it(edited: Edited) -> None:
    edits = "after-assign: x\ninsert: |\n  def h():\n      return 1"
    assert edited(edits, "x = 1\ny = 2\n") == ("x = 1\n\n\ndef h():\n    return 1\n\n\ny = 2\n")


def test_the_end_of_the_file_keeps_its_missing_line_ending(edited: Edited) -> None:
    assert edited("after-call: g\ninsert: new(1)", "g()") == "g()\nnew(1)"
    assert edited("before-call: g\ninsert: new(1)", "g()") == "new(1)\ng()"


def test_the_inserted_statement_is_no_candidate(edited: Edited) -> None:
    edits = "before-call: g\ninsert: k = g(0)\n\ncall: g\nadd-args: [ep=ep]"
    assert edited(edits, "g(1)\n") == "k = g(0)\ng(1, ep=ep)\n"


@pytest.mark.parametrize(
    ("edit", "source", "reason"),
    [
        (
            "before-call: g\ninsert: new(1)",
            "if a:\n    pass\nelif g():\n    pass\n",
            "refused 1/1: line 3: it is an elif; nothing can stand before or after it by itself",
        ),
        (
            "before-call: g\ninsert: new(1)",
            "if a: g()\n",
            (
                "refused 1/1: line 1: it shares its line with another statement "
                "(a one-line compound statement or a `;`)"
            ),
        ),
        (
            "after-call: g\ninsert: new(1)",
            "g(); h()\n",
            "refused 1/1: line 1: it shares its line with another statement (a `;`)",
        ),
        (
            "after-call: g\ninsert: new(1)",
            "try:\n    pass\nexcept g():\n    pass\n",
            "refused 1/1: line 1: the call stands in an `except` or `case` line",
        ),
        (
            "replace-call: g\nwith: new(1)",
            "if g():\n    pass\n",
            "refused 1/1: line 1: it is a compound statement; its whole body would go with it",
        ),
        (
            "in: f\nremove-call: g",
            "def f():\n    g()\n",
            "refused 1/1: line 2: it is the only statement of its block",
        ),
        (
            "in: f\nat-start: true\ninsert: new(1)",
            "def f(): pass\n",
            (
                "refused 1/1: line 1: it shares its line with another statement "
                "(a one-line compound statement or a `;`)"
            ),
        ),
        (
            "in: f\nbefore-assign: xs\ninsert: n()",
            "def f():\n    x = 1\n",
            "mismatch 0/1: nearest: x",
        ),
        ("in: f\nbefore-return: true\ninsert: n()", "def f():\n    pass\n", "mismatch 0/1: "),
        (
            "in: C.ff\nbefore-return: true\ninsert: n()",
            "class C:\n    def f():\n        pass\n",
            "mismatch 0/1: no def or class C.ff; nearest: C.f",
        ),
    ],
)
def test_refuses(refused: Refused, edit: str, source: str, reason: str) -> None:
    assert refused(edit, source) == [reason]


def test_overlaps_are_refused(refused: Refused) -> None:
    edits = "replace-call: g\nwith: new(1)\n\ncall: g\nadd-args: [ep=ep]"
    assert refused(edits, "g(1)\n") == [
        "refused 1/1: overlaps with megatron/x.edits.yml:6: add-args to g",
        "refused 1/1: overlaps with megatron/x.edits.yml:2: replace-call g",
    ]


def test_an_edit_that_would_not_find_its_own_work_is_refused(refused: Refused) -> None:
    edits = "replace-call: g\nwith: new(1)\n\nbefore-call: g\ninsert: k()"
    assert refused(edits, "g(1)\n") == [
        "refused 1/1: once applied, it would not be recognised as applied"
    ]
