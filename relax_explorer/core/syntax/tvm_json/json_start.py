"""How texts in TVM's JSON begin. Apart from the reader, so that a file can be recognised before a parser is needed."""

from __future__ import annotations

import re

_START = re.compile(
    r'\ufeff?\s*\{\s*"(?:(?:root_index|root|nodes|b64ndarrays)"\s*:|(?:metadata|attrs)"\s*:\s*\{\s*"tvm_version")'
)


def is_tvm_json(text: str) -> bool:
    """True if a text begins as `save_json` writes modules, in the form of this year or of TVM 0.16 to 0.21."""
    return _START.match(text[:200]) is not None
