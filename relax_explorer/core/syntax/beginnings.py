"""What a text is, by how it begins: known before the reader of such texts is needed."""

from __future__ import annotations

import re

_JSON = re.compile(
    r'\ufeff?\s*\{\s*"(?:(?:root_index|root|nodes|b64ndarrays)"\s*:|(?:metadata|attrs)"\s*:\s*\{\s*"tvm_version")'
)
_EXECUTABLE = re.compile(
    r"(?:\ufeff?\s*)(?:@\S+?:[ \t]*\n[ \t]+(?:call|ret|[Ii]f|[Gg]oto)\b|ib\s*=\s*(?:rx|relax)\.(?:Exec)?Builder\(\))"
)

RECORDING = b"RXJ\x01"
"""The first bytes of the journal of a recording, as `recorder.py` writes them."""
MANIFEST = "manifest.json"
_ARCHIVE = b"PK\x03\x04"
_NAME = 30  # the place of the first name in an archive


def is_recording(head: bytes) -> bool:
    """True for the first bytes of a recorded build: of its journal, or of an archive that begins with its manifest."""
    return head.startswith(RECORDING) or (
        head.startswith(_ARCHIVE) and head[_NAME:].startswith(MANIFEST.encode())
    )


def is_tvm_json(text: str) -> bool:
    """True if a text begins as `save_json` writes modules, in the form of this year or of TVM 0.16 to 0.21."""
    return _JSON.match(text[:200]) is not None


def is_executable(text: str) -> bool:
    """True if a text begins as an executable's `as_text()` or `as_python()`."""
    return _EXECUTABLE.match(text[:2_000]) is not None
