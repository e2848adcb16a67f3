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
from relax_explorer.ui.cli.relating import print_position, print_trace
from relax_explorer.viz.contract_steps import ContractSteps

SUFFIX = ".shapes"


def print_contracts(
    path: str, desugared: bool, relax: bool, keep_branches: bool, trace: bool, at: int | None, format: str
) -> int:
    """Print what is known of a program with contracts; 1 if a contract is broken."""
    text = read_text(path)
    if desugared or relax:
        if format == "json" or (desugared and relax):
            raise click.UsageError("--desugared and --relax print one program, no JSON")
        program, terms = read_contract(text, path)
        output.say((desugared_text(program, terms) if desugared else lower(program, terms).text).rstrip())
        return output.OK
    if trace or at is not None or format == "json":
        solving = ContractSteps(text, path, keep_branches)
        _print_steps(solving, trace, at, format)
        found = solving.found
    else:
        found = analyse(*read_contract(text, path), keep_branches)
    if format == "text" and at is None:
        _print(found)
    output.report(found.report.sorted())
    count = len(found.residual)
    if found.report.errors:
        return output.FOUND
    output.say(f"accepted with {count} residual check{'s' * (count != 1)}", err=True)
    return output.OK


def _print_steps(solving: ContractSteps, trace: bool, at: int | None, format: str) -> None:
    if format == "json":
        output.say(output.document(solving.schema, solving.data()))
    elif at is not None:
        print_position(solving, at)
    elif trace:
        print_trace(solving)


def _print(found: Analysis) -> None:
    for name, text in found.types.items():
        output.say(f"{name} : {text}{'    is_assertion' if found.asserted.get(name) else ''}")
    for function, condition, origin, line in residual_rows(found):
        output.say(f"  line {line:<4} {condition}    (run-time check of {origin}, in {function})")
