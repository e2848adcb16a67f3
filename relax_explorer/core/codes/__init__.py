"""Every kind of problem, in order of number: syntax, well-formedness, operators, style, passes, run time, other processes, internal.

RX00 syntax · RX01 well-formedness and types · RX02 operators and StructInfo · RX03 unused and style · RX04 passes and phases ·
RX05 run time · RX06 type relations and shape contracts · RX07 processes of others · RX09 internal.
"""

from __future__ import annotations

from relax_explorer.core.diagnostics import Code
from relax_explorer.core.later import later

CODES: dict[str, Code]
__getattr__ = later(__name__, {"CODES": "table"})
