"""The corpus: each case's reads, and how many cases two naive scanners get wrong."""

import ast
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

Files = dict[str, str]
ReadsIn = Callable[[Files], list[str]]

CORPUS = {
    item["case"]: item
    for item in yaml.safe_load(Path(__file__).with_name("corpus.yml").read_text("utf-8"))
}

ACCESSORS = {"tp_group", "tp_rank", "_TP_GROUP", "_TP_RANKS", "_ALL_GROUPS"}
SHIM = "use_mpu_process_groups"


@pytest.mark.parametrize("case", CORPUS)
def test_finds_the_reads(case: str, reads_in: ReadsIn) -> None:
    assert reads_in(CORPUS[case]["files"]) == CORPUS[case]["reads"]


def test_the_corpus_is_large_and_says_each_thing_once() -> None:
    assert len(CORPUS) == 315
    assert len({str(sorted(item["files"].items())) for item in CORPUS.values()}) == 315


# Two scanners that somebody might write in an hour.


def by_text(files: Files) -> list[str]:
    """Every word that is an accessor's name, outside of comments and imports."""
    found = Counter(
        f"{path} <module> {word} accessor"
        for path, text in files.items()
        for line in text.splitlines()
        if "import" not in line
        for word in re.findall(r"\w+", line.partition("#")[0])
        if word in ACCESSORS
    )
    return rendered(found)


def by_calls(files: Files) -> list[str]:
    """Every call of an accessor's name, or of one as an attribute of ``parallel_state``."""
    found: Counter[str] = Counter()

    def visit(path: str, node: ast.AST, scope: str) -> None:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            scope = f"{scope}.{node.name}" if scope else node.name
        if isinstance(node, ast.Call):
            chain = ast.unparse(node.func).split(".")
            if chain[-1] in ACCESSORS and chain[:-1] in ([], ["parallel_state"], ["mpu"], ["ps"]):
                found[f"{path} {scope or '<module>'} {chain[-1]} accessor"] += 1
            if chain[-1] == SHIM:
                found[f"{path} {scope or '<module>'} ProcessGroupCollection.{SHIM} shim"] += 1
        for child in ast.iter_child_nodes(node):
            visit(path, child, scope)

    for path, text in files.items():
        visit(path, ast.parse(text.removeprefix("\ufeff")), "")
    return rendered(found)


def rendered(found: Counter[str]) -> list[str]:
    return [line + (f" x{count}" if count > 1 else "") for line, count in sorted(found.items())]


def wrong(scanner: Callable[[Files], list[str]]) -> set[str]:
    return {case for case, item in CORPUS.items() if scanner(item["files"]) != item["reads"]}


def test_naive_scanners_get_most_of_it_wrong() -> None:
    text, calls = wrong(by_text), wrong(by_calls)
    # The other 40 cases are controls: plain reads, and what looks like a read to neither.
    assert (len(text), len(calls), len(text | calls)) == (260, 190, 275)
