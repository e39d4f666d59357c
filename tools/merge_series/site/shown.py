"""Text of a repository as a page shows it: nothing in it is hidden, and nothing in it acts.

HTML's own characters are escaped by the templates. Here is what escaping leaves: bytes that are no
text, control characters, and those that turn the direction of writing, behind which code can look
like other code.
"""

_CONTROL_PICTURES = 0x2400  # where Unicode has a picture of each control character
_DELETE = 0x7F
_TURNING = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))

_SHOWN: dict[int, str] = {
    **{code: chr(_CONTROL_PICTURES + code) for code in range(0x20) if chr(code) not in "\n\t"},
    **dict.fromkeys((*range(_DELETE + 1, 0xA0), *range(0xD800, 0xE000)), "\ufffd"),
    _DELETE: "\u2421",
    **{code: f"[U+{code:04X}]" for code in _TURNING},
}


def shown(text: str) -> str:
    """Text as a page shows it."""
    return text.translate(_SHOWN)
