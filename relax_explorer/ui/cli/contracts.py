"""`shapes` on a file with shape contracts: the types, the assertions that remain, the desugared program."""

from __future__ import annotations

from dataclasses import dataclass, fields

import click

from relax_explorer.core.shapes.contract_forms import FORMS, copy_of
from relax_explorer.core.shapes.contract_text import read_contract
from relax_explorer.core.shapes.holding import Analysis, residual_rows
from relax_explorer.core.shapes.propagate import analyse
from relax_explorer.core.syntax.load import read_text
from relax_explorer.ui.cli import output
from relax_explorer.ui.cli.relating import print_position, print_trace
from relax_explorer.viz.solver_steps import ContractSteps


@dataclass(frozen=True)
class Wanted:
    """What the command line asks for."""

    desugared: bool = False
    relax: bool = False
    matches: bool = False
    split: bool = False
    copy: str | None = None
    keep_branches: bool = False
    trace: bool = False
    at: int | None = None

    @property
    def forms(self) -> list[str]:
        """The forms in which the program is to be printed."""
        asked = [name for name in FORMS if getattr(self, name)]
        return asked if self.copy is None else [*asked, "copy"]


OPTIONS = ", ".join(f"--{option.name.replace('_', '-')}" for option in fields(Wanted))


def print_contracts(path: str, wanted: Wanted, format: str) -> int:
    """Print what is known of a program with contracts; 1 if a contract is broken."""
    if len(wanted.forms) > 1 or (wanted.forms and format == "json"):
        names = ", ".join(f"--{name}" for name in FORMS)
        raise click.UsageError(f"{names} and --copy each print one program, no JSON")
    text = read_text(path)
    if wanted.forms:
        program, terms = read_contract(text, path)
        copied = None if wanted.copy is None else copy_of(program, terms, wanted.copy)
        output.say("\n".join(copied or FORMS[wanted.forms[0]](program, terms)))
        return output.OK
    return _print_analysis(text, path, wanted, format)


def _print_analysis(text: str, path: str, wanted: Wanted, format: str) -> int:
    keep_branches, trace, at = wanted.keep_branches, wanted.trace, wanted.at
    program, terms = read_contract(text, path)
    if trace or at is not None or format == "json":
        solving = ContractSteps(text, path, keep_branches)
        _print_steps(solving, trace, at, format)
        found = solving.found
    else:
        found = analyse(program, terms, keep_branches)
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
    for call, name in found.chosen:
        line = 0 if call.span is None else call.span.line
        output.say(f"  line {line:<4} @{call.function} is @{name}")
    for function, condition, origin, line in residual_rows(found):
        output.say(f"  line {line:<4} {condition}    (run-time check of {origin}, in {function})")
