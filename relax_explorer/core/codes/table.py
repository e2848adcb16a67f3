"""All kinds of problems by their number."""

from __future__ import annotations

from relax_explorer.core.codes import (
    foreign,
    internal,
    operators,
    passes,
    relations,
    runtime,
    style,
    syntax,
    tir,
)
from relax_explorer.core.codes import well_formedness as well_formed
from relax_explorer.core.diagnostics import Code

CODES: dict[str, Code] = {
    value.id: value
    for module in (syntax, tir, well_formed, operators, style, passes, runtime, relations, foreign, internal)
    for value in vars(module).values()
    if isinstance(value, Code)
}
