"""A manual page from what ``--help`` says: every command, option, example and exit code.

No library is used: click-man 0.6 leaves out what stands below the options (the examples and the
exit codes) and does not escape what roff takes for a command.
"""

import re
import textwrap
from collections.abc import Iterator
from inspect import cleandoc

import click

from stack import VERSION
from stack.command_line import Tool

_LITERAL = "\b\n"
_EXIT_CODES = "Exit codes: "
# What stands for something else in roff, or would be printed as another character.
_SPECIAL = {
    "\\": r"\e",
    "-": r"\-",
    "'": r"\(aq",
    "`": r"\(ga",
    "^": r"\(ha",
    "~": r"\(ti",
    '"': r"\(dq",
}


def man_page(tool: Tool, name: str, *related: str) -> str:
    """The manual page of a command line, section 1, in roff's ``man`` macros.

    Args:
        tool: The command line.
        name: As people type it.
        related: Other pages, such as ``git(1)``.
    """
    with click.Context(tool, info_name=name) as context:
        return "\n".join([*_lines(tool, context, related), ""])


def _lines(tool: Tool, context: click.Context, related: tuple[str, ...]) -> Iterator[str]:
    name = str(context.info_name)
    first, *rest = _paragraphs(tool.help)
    *examples, codes = _paragraphs(tool.epilog)
    # Without a date: one that says when the page was built would change it without need.
    yield f'.TH {_escaped(name.upper())} 1 "" "megatron\\-series {VERSION}" "User Commands"'
    yield ".SH NAME"
    yield from _filled(f"{name} - {first.rstrip('.')}")
    yield ".SH SYNOPSIS"
    yield from _usage(tool, context)
    yield ".SH DESCRIPTION"
    yield from _text([first, *rest])
    yield ".SH OPTIONS"
    yield from _options(tool, context)
    yield ".SH COMMANDS"
    for part, command in tool.all_commands().items():
        with click.Context(command, info_name=part, parent=context) as inner:
            yield f".SS {_escaped(f'{name} {part}')}"
            yield from _usage(command, inner)
            yield ".PP"
            yield from _text(_paragraphs(command.help))
            yield from _options(command, inner)
            yield ".PP"
            yield from _text(_paragraphs(command.epilog))
    yield ".SH EXAMPLES"
    yield from _text([example.replace("\bExamples:", "\b") for example in examples])
    yield ".SH EXIT STATUS"
    yield from _text([codes.removeprefix(_EXIT_CODES)])
    yield ".SH SEE ALSO"
    *others, last = (f".BR {page.replace('(', ' (')}" for page in related)
    yield from (f"{page}," for page in others)
    yield last


def _usage(command: click.Command, context: click.Context) -> Iterator[str]:
    yield f".B {_escaped(context.command_path)}"
    yield from _filled(" ".join(command.collect_usage_pieces(context)))


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if record is not None and isinstance(parameter, click.Option):
            yield ".TP"
            yield f".B {_escaped(record[0])}"
            yield from _filled(record[1])


def _paragraphs(text: str | None) -> list[str]:
    """The paragraphs of a help text; those that keep their lines begin with click's mark."""
    parts = re.split(r"\n\n+", cleandoc(text or "").strip("\n"))
    return [part if part.startswith(_LITERAL) else " ".join(part.split()) for part in parts]


def _text(paragraphs: list[str]) -> Iterator[str]:
    for number, paragraph in enumerate(paragraphs):
        if number:
            yield ".PP"
        if not paragraph.startswith(_LITERAL):
            yield from _filled(paragraph)
            continue
        heading, *lines = paragraph.removeprefix(_LITERAL).splitlines()
        yield _escaped(heading)
        yield ".PP"
        yield ".nf"
        yield ".RS 4"
        yield from (_escaped(line.removeprefix("  ")) for line in lines)
        yield ".RE"
        yield ".fi"


def _filled(text: str) -> Iterator[str]:
    """Running text in lines of a usual length, which roff fills again."""
    lines = textwrap.wrap(" ".join(text.split()), 72, break_on_hyphens=False)
    yield from map(_escaped, lines)


def _escaped(text: str) -> str:
    """Text as roff prints it unchanged."""
    escaped = "".join(_SPECIAL.get(character, character) for character in text)
    return f"\\&{escaped}" if escaped.startswith(".") else escaped
