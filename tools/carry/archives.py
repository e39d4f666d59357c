"""What reading a damaged zip archive raises: one of several errors, by where the damage is."""

import lzma
import zipfile
import zlib

DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    RuntimeError,  # it says that a member is encrypted or compressed in a way nobody knows
)
