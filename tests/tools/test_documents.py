"""The documents: their links lead somewhere, and what they name exists."""

import ast
import re
import shlex
from collections import Counter
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

import click
import pytest

from carry.cli import carry
from documents import DOCUMENTS, ROOT, code_lines, tokens
from merge_series.cli import merge_series
from process_groups.cli import make_parser

TOOLS = {"merge_series": merge_series, "carry": carry}


def anchors(text):
    """The anchors that GitHub gives the headings of a text."""
    seen = Counter()
    stream = tokens(text)
    for heading, inline in pairwise(stream):
        if heading.type != "heading_open":
            continue
        said = "".join(x.content for x in inline.children if x.type in {"text", "code_inline"})
        slug = re.sub(r"[^\w\- ]", "", said.lower()).replace(" ", "-")
        yield f"{slug}-{seen[slug]}" if seen[slug] else slug
        seen[slug] += 1


def broken_links(document):
    """The relative links of a document that lead nowhere."""
    text = document.read_text()
    for token in tokens(text):
        link = token.attrGet("href") or token.attrGet("src")
        if link is None or urlsplit(link).scheme:
            continue
        path, _, anchor = unquote(link).partition("#")
        target = document.parent / path if path else document
        if not target.exists() or (
            anchor and (target.suffix != ".md" or anchor not in anchors(target.read_text()))
        ):
            yield link


def sessions():
    """The sessions of the noxfile."""
    for statement in ast.parse((ROOT / "noxfile.py").read_text()).body:
        if isinstance(statement, ast.FunctionDef) and any(
            ast.unparse(decorator).startswith("nox.session")
            for decorator in statement.decorator_list
        ):
            yield statement.name


def unknown_sessions(text):
    """The sessions of nox that a text names and the noxfile lacks."""
    lines = "\n".join(code_lines(text))
    named = [
        name for names in re.findall(r"\bnox -s ((?:\w+ ?)+)", lines) for name in names.split()
    ]
    return [name for name in named if name not in set(sessions())]


def unknown_commands(text):
    """The calls of the tools in a text whose command, or an option of it, does not exist."""
    for line in code_lines(text):
        for call in re.findall(
            r"(?:^|[ (])((?:tools/)?(?:merge_series|carry|process_groups) [^|;&<>]+)", line
        ):
            tool, *words = shlex.split(call, comments=True)
            if words and not is_known(Path(tool).name, words):
                yield call


def is_known(tool, words):
    """Whether a tool has the command and the options among some words; values may be missing."""
    try:
        if tool == "process_groups":
            make_parser().parse_args(words)
            return True
        group = TOOLS[tool]
        _, rest, _ = group.make_parser(click.Context(group)).parse_args(list(words))
    except (click.UsageError, SystemExit):
        return False
    command = group.all_commands().get(rest[0]) if rest else group
    options = {word.partition("=")[0] for word in rest[1:] if word.startswith("--")}
    return command is not None and options <= {"--help"}.union(*(p.opts for p in command.params))


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_link_leads_somewhere(document):
    assert list(broken_links(ROOT / document)) == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_session_and_command_that_is_named_exists(document):
    text = (ROOT / document).read_text()
    assert (unknown_sessions(text), list(unknown_commands(text))) == ([], [])


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 180


@pytest.mark.parametrize("tool", TOOLS)
def test_the_page_of_commands_lists_each(tool):
    page = (ROOT / "docs" / "commands.md").read_text()
    section = page.partition(f"\n## {tool}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*?`) \|", section, re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`([a-z]+)`", row)]
    assert sorted(named) == sorted(TOOLS[tool].all_commands())


def test_what_is_wrong_in_a_document_is_found(tmp_path):
    other = tmp_path / "other.md"
    other.write_text("# One `two`: three\n\n## Again\n\n## Again\n")
    there = "other.md", "other.md#one-two-three", "other.md#again", "other.md#again-1", "#here"
    missing = "gone.md", "other.md#again-2", "other.md#One", "#there"
    document = tmp_path / "document.md"
    links = "".join(f"| [x]({link}) |\n" for link in (*there, *missing, "https://example.org/#x"))
    document.write_text(f"# Here\n\n| links |\n|---|\n{links}\n`[x](code.md)`\n")
    assert list(broken_links(document)) == list(missing)
    assert unknown_sessions("`nox -s lint tset` and nox -s text, `nox -s sync`") == ["tset"]
    calls = (
        "merge_series stauts",
        "merge_series --repo . sync --abrot",
        "merge_series --rep . sync",
        "carry chekc 0.19.2",
        "tools/process_groups chekc",
    )
    fine = "merge_series --repo . sync --abort", "carry apply", "python tools/process_groups check"
    lines = "".join(f"$ {call} 2>&1 | less\n" for call in (*calls, *fine))
    found = unknown_commands(f"```\n{lines}```\n")
    assert [call.removesuffix(" 2") for call in found] == list(calls)
