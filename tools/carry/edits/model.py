"""What an edit file declares: edits, each with one operation."""

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

Action = Literal["before", "after", "replace", "remove"]
Anchor = Literal["call", "assign", "return"]
Layer = tuple[int, int]


@dataclass(frozen=True, slots=True)
class AddParameters:
    """Adds keyword-only parameters to a definition.

    Attributes:
        parameters: One ``name: annotation = default`` each.
    """

    parameters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AddArguments:
    """Adds keyword arguments to a call.

    Attributes:
        call: Dotted name of the callee, or its last part.
        arguments: One ``name=value`` each.
    """

    call: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EditStatement:
    """Inserts before or after a statement, replaces it or removes it.

    Attributes:
        action: What happens at the statement.
        anchor: What the statement is found by.
        name: Callee or assigned name; empty for ``return``.
        text: Statements from column 0; empty for ``remove``.
    """

    action: Action
    anchor: Anchor
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class InsertAtStart:
    """Inserts at the start of a body, after its docstring.

    Attributes:
        text: Statements from column 0.
    """

    text: str


@dataclass(frozen=True, slots=True)
class AddImport:
    """Imports names from a module, or a module.

    Attributes:
        module: Dotted name; leading dots make it relative.
        names: Imported names; empty for ``import module``.
    """

    module: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DocumentArguments:
    """Adds entries to the ``Args:`` section of a Google-style docstring.

    Attributes:
        entries: Pairs of name and text.
    """

    entries: tuple[tuple[str, str], ...]


Operation = (
    AddParameters | AddArguments | EditStatement | InsertAtStart | AddImport | DocumentArguments
)


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit.

    Attributes:
        pr: Number of the PR it belongs to.
        commit: Number of that PR's commit, from 1.
        scope: Qualified name of the definition it lies in; empty for the module level.
        count: How often it must match.
        operation: What it does.
        place: For people: the edit file, the line and what the edit does.
    """

    pr: int
    commit: int
    scope: str
    count: int
    operation: Operation
    place: str

    @property
    def layer(self) -> Layer:
        """The series commit this edit belongs to."""
        return self.pr, self.commit


@dataclass(frozen=True, slots=True)
class EditFile:
    """The edits to one upstream file.

    Attributes:
        path: The upstream file, relative to the root of its tree.
        source: The edit file itself, relative to the same root, for messages.
        absent_with: Folder that may be missing together with the upstream file, if one is declared.
        absent_means: What it means for whom where it is missing; empty if it may not be.
        edits: The edits in the order of the file.
    """

    path: PurePosixPath
    source: PurePosixPath
    absent_with: PurePosixPath | None
    absent_means: str
    edits: tuple[Edit, ...]

    @property
    def layers(self) -> frozenset[Layer]:
        """The series commits that edit the file."""
        return frozenset(edit.layer for edit in self.edits)


def describe(operation: Operation) -> str:
    """What an operation does, in the words of the edit file."""
    match operation:
        case AddParameters():
            return "add-parameters"
        case AddArguments(call=call):
            return f"add-args to {call}"
        case EditStatement(action=action, anchor=anchor, name=name):
            return f"{action}-{anchor} {name}".rstrip()
        case InsertAtStart():
            return "at-start"
        case AddImport(module=module):
            return f"add-import {module}"
        case DocumentArguments():
            return "document-args"
