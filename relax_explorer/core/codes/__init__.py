"""Every kind of problem, in order of number: syntax, well-formedness, operators, style, passes, run time, internal.

RX00 syntax · RX01 well-formedness and types · RX02 operators and StructInfo · RX03 unused and style · RX04 passes and phases ·
RX05 run time · RX06 type relations and shape contracts · RX09 internal.
"""

from __future__ import annotations

from relax_explorer.core.codes import internal, operators, passes, relations, runtime, style, syntax, tir
from relax_explorer.core.codes import well_formedness as well_formed
from relax_explorer.core.diagnostics import Code

CODES: dict[str, Code] = {
    value.id: value
    for module in (syntax, tir, well_formed, operators, style, passes, runtime, relations, internal)
    for value in vars(module).values()
    if isinstance(value, Code)
}
