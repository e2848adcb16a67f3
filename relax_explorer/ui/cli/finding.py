"""`find`: list the bindings that a pattern matches."""

from __future__ import annotations

from typing import Any

import click

from relax_explorer.core.ir import expr as e
from relax_explorer.core.patterns import read_pattern
from relax_explorer.core.patterns.matches import Occurrence, module_occurrences
from relax_explorer.core.session.debug_places import listing
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.syntax.dialects import NEW
from relax_explorer.core.syntax.printer_expr import Constants, ExprText
from relax_explorer.ui.cli import output


def find_in(stage: Snapshot, filename: str, text: str, function: str | None, style: str) -> int:
    """Print the matches of a pattern in one stage. Like grep, it returns 1 if there is none."""
    pattern = read_pattern(text)
    if function is not None and function not in stage.module.relax_functions:
        names = ", ".join(stage.module.relax_functions)
        raise click.UsageError(f"there is no Relax function {function!r}; there are {names}")
    described = _Described(stage, filename)
    matches = [
        described.row(name, one)
        for name, one in module_occurrences(stage.module, pattern)
        if function in (None, name)
    ]
    if style == "json":
        output.say(output.document("find", {"pattern": text, "stage": stage.label, "matches": matches}))
    for row in matches if style == "text" else ():
        for line in row["bindings"]:
            output.say(f"{row['function']}:{line['line']}: {line['text']}")
        for name, part in (row["parts"] | row["lengths"]).items():
            output.say(f"    {name} = {part}")
    return output.OK if matches else output.FOUND


class _Described:
    """Matches in the words and with the lines of a listing."""

    def __init__(self, stage: Snapshot, filename: str) -> None:
        self.names, self.listing = stage.printed.names, listing(stage, filename)

    def row(self, function: str, one: Occurrence) -> dict[str, Any]:
        """A match as plain data."""
        text = ExprText(self.names[function], NEW, Constants())
        written = {
            name: f"a constant, {operand.struct_info}" if type(operand) is e.Constant else text.write(operand)
            for name, operand in one.match.named.items()
        }
        lines = [self.listing.line_of(binding) for binding in one.bindings]
        return {
            "function": function,
            "variable": text.write(one.binding.var),
            "bindings": [{"line": line, "text": self.listing.lines[line - 1].strip()} for line in lines],
            "parts": written,
            "lengths": {name: text.prim.write(length) for name, length in one.match.lengths.items()},
        }
