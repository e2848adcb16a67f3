"""`shapes` on a file with shape contracts: the types, the assertions that remain, the desugared program."""

from __future__ import annotations

import click

from relax_explorer.core.shapes.contract_facts import Analysis, residual_rows
from relax_explorer.core.shapes.contract_text import read_contract
from relax_explorer.core.shapes.desugar import desugared_text
from relax_explorer.core.shapes.lower import lower
from relax_explorer.core.shapes.propagate import analyse
from relax_explorer.core.syntax.load import read_text
from relax_explorer.ui.cli import output

SUFFIX = ".shapes"


def print_contracts(path: str, desugared: bool, relax: bool, keep_branches: bool, format: str) -> int:
    """Print what is known of a program with contracts; 1 if a contract is broken."""
    program, terms = read_contract(read_text(path), path)
    if desugared or relax:
        if format == "json" or (desugared and relax):
            raise click.UsageError("--desugared and --relax print one program, no JSON")
        output.say((desugared_text(program, terms) if desugared else lower(program, terms).text).rstrip())
        return output.OK
    found = analyse(program, terms, keep_branches)
    if format == "json":
        output.say(output.document("contracts", _data(found)))
    else:
        for name, text in found.types.items():
            output.say(f"{name} : {text}{'    is_assertion' if found.asserted.get(name) else ''}")
        for function, condition, origin, line in residual_rows(found):
            output.say(f"  line {line:<4} {condition}    (run-time check of {origin}, in {function})")
    output.report(found.report.sorted())
    count = len(found.residual)
    if found.report.errors:
        return output.FOUND
    output.say(f"accepted with {count} residual check{'s' * (count != 1)}", err=True)
    return output.OK


def _data(found: Analysis) -> dict[str, object]:
    rows = [
        dict(zip(("function", "assertion", "origin", "line"), row, strict=True))
        for row in residual_rows(found)
    ]
    return {
        "types": found.types,
        "asserted": found.asserted,
        "residual": rows,
        "problems": [problem.to_json() for problem in found.report.sorted()],
    }
