"""Says what is wrong with an edit file, from what jsonschema found."""

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

OPERATIONS = (
    "add-parameters",
    "call",
    *(
        f"{action}-{anchor}"
        for anchor in ("call", "assign", "return")
        for action in ("before", "after", "replace", "remove")
        if (action, anchor) != ("after", "return")  # nothing behind one ever runs
    ),
    "at-start",
    "add-import",
    "document-args",
)


def explain(  # noqa: C901, PLR0911, PLR0912 - one case a keyword of JSON schema
    error: "ValidationError",
) -> tuple[tuple[str | int, ...], str]:
    """The place of a schema error and what to do about it.

    Args:
        error: What jsonschema found.

    Returns:
        The path of keys and list positions to the place, and a short sentence.
    """
    path = tuple(error.absolute_path)
    found: Any = error.instance
    schema: Any = error.schema
    value: Any = error.validator_value
    match error.validator:
        case "additionalProperties":
            known = schema["properties"]
            unknown = sorted(str(key) for key in found if key not in known)
            return (*path, unknown[0]), f"unknown key{_nearest(unknown[0], known)}"
        case "required":
            missing = sorted(set(value) - set(found))
            return path, f"needs {_listed(missing)} as well"
        case "dependentRequired":
            for key, needed in value.items():
                missing = sorted(set(needed) - set(found))
                if key in found and missing:
                    return (*path, key), f"needs {_listed(missing)} as well"
        case "oneOf" if "pr" in schema["properties"]:
            present = [name for name in OPERATIONS if name in found]
            if present:
                return path, f"one edit does one thing; found {_listed(present)}"
            return path, f"names no operation; wants one of {', '.join(OPERATIONS)}"
        case "oneOf":
            return path, "wants either `from` with `names`, or `import`"
        case "not":
            unwanted = value["required"][0]
            return (*path, unwanted), "this operation takes none"
        case "const":
            return path, f"wants {str(value).lower()}, found {found!r}"
        case "type":
            return path, f"wants {_article(value)}, found {found!r}"
        case "pattern":
            return path, f"{found!r} is no name of the form this key takes"
        case "minItems" | "minProperties" | "minLength":
            return path, "is empty"
        case "minimum":
            return path, f"wants at least {value}, found {found!r}"
        case "uniqueItems":
            return path, "names one thing twice"
    return path, error.message


def _listed(names: Iterable[str]) -> str:
    return " and ".join(f"`{name}`" for name in names)


def _nearest(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean `{close[0]}`?" if close else ""


def _article(kind: object) -> str:
    return {
        "array": "a list",
        "integer": "a whole number",
        "object": "a mapping",
        "string": "text",
    }.get(str(kind), str(kind))
