"""`shapes --why` and `shapes --what-if`: where a length comes from, and what a condition would make of all of them."""

from __future__ import annotations

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.shapes.why import what_if, why
from relax_explorer.ui.cli import output
from relax_explorer.viz.length_text import what_if_data, what_if_lines, why_data, why_lines


def print_why(module: IRModule, stage: int, entry: str, place: str, format: str) -> int:
    """Print where the lengths of a value come from."""
    found = why(module, entry, place)
    if format == "json":
        output.say(output.document("why", {"stage": stage, **why_data(found)}))
    else:
        _print([text for text, _ in why_lines(found)])
    return output.OK


def print_what_if(module: IRModule, stage: int, function: str, condition: str, format: str) -> int:
    """Print what lengths become, and which checks are decided."""
    found = what_if(module, function, condition)
    if format == "json":
        output.say(
            output.document("what-if", {"stage": stage, "condition": condition, **what_if_data(found)})
        )
    else:
        _print([text for text, _ in what_if_lines(found, condition)])
    fails = any(check.answer is Answer.NO for check in found.decided)
    return output.FOUND if fails or any(one.impossible for one in found.values) else output.OK


def _print(lines: list[str]) -> None:
    for line in lines:
        output.say(line)
