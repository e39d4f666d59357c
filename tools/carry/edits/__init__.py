"""Edits: small structural changes to upstream files, named by where they land."""

from carry.edits.applying import (
    Applied,
    EditMismatch,
    apply_layers,
    not_landing,
    probe_layers,
)
from carry.edits.loading import load_edit_file, parse_edit_file
from carry.edits.model import Edit, EditFile, Layer
from carry.edits.planning import EditResult

__all__ = [
    "Applied",
    "Edit",
    "EditFile",
    "EditMismatch",
    "EditResult",
    "Layer",
    "apply_layers",
    "load_edit_file",
    "not_landing",
    "parse_edit_file",
    "probe_layers",
]
