"""`shapes`, `relations` and `run` on the other notations: types, the checks that remain, and values."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import click
import numpy as np

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import DType, from_numpy
from relax_explorer.core.relations.solver import Status
from relax_explorer.core.shapes import contract_tree as c
from relax_explorer.core.shapes.contract_forms import FORMS, copy_of
from relax_explorer.core.shapes.contract_run import Runner
from relax_explorer.core.shapes.contract_text import read_contract
from relax_explorer.core.shapes.holding import Analysis, residual_rows
from relax_explorer.core.shapes.propagate import analyse
from relax_explorer.core.syntax.load import read_stream, read_text
from relax_explorer.ui.cli import output
from relax_explorer.ui.cli.input_options import register_files
from relax_explorer.viz.short import short_value
from relax_explorer.viz.solver_steps import ContractSteps, RelationSteps
from relax_explorer.viz.solving import TABLES, Solving


def relations(input: str, packed: tuple[str, ...], trace: bool, at: int | None, format: str) -> int:
    """Print the types of a program; 1 if a relation fails or a type stays unknown."""
    register_files(packed)
    text = read_stream(sys.stdin.buffer, "<stdin>") if input == "-" else read_text(input)
    solving = RelationSteps(text, "<stdin>" if input == "-" else input)
    if format == "json":
        output.tell(solving.schema, solving.data())
    elif at is not None:
        print_position(solving, at)
    else:
        _print_types(solving, trace)
    output.report(solving.problems)
    return output.OK if solving.typed.status is Status.SOLVED else output.FOUND


def _print_types(solving: RelationSteps, trace: bool) -> None:
    typed = solving.typed
    for run in solving.runs if trace else ():
        output.say(f"{run.number:>4}. {run}")
    for name, function in typed.functions.items():
        output.say(f"@{name} : {function}")
    for var in typed.variables:
        output.say(f"%{var.name} : {typed.solver.resolved(var.type)}")
    if typed.main is not None:
        output.say(f"result : {typed.main}")
    output.say(solving.verdict, err=True)


def print_trace(solving: Solving) -> None:
    """Print each step in a line."""
    for position in range(1, solving.last):
        line = solving.line(position)
        output.say(f"{position:>4}. {line.gutter} {line.text}")


def print_position(solving: Solving, position: int) -> None:
    """Print a step, and all tables but the text as they were after it."""
    if not 0 <= position <= solving.last:
        raise click.UsageError(
            f"--at takes a step from 0 (the start) to {solving.last} (the end), not {position}"
        )
    line = solving.line(position)
    output.say(f"{position}. {line.gutter} {line.text.strip()}")
    for text in solving.about(position):
        output.say(f"    {text}")
    for name in TABLES[:-1]:
        lines = solving.table(name, position).lines
        output.say(f"{solving.titles[name]}{'' if len(lines) else ': nothing'}")
        for item in lines:
            output.say(f"  {item.gutter} {item.text}")


# -- contracts -------------------------------------------------------------------------------------------------------
# `shapes` and `run` on files with shape contracts: types, the assertions that remain, other forms, and values.


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
        output.tell(solving.schema, solving.data())
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


# -- contract runs ---------------------------------------------------------------------------------------------------
# `run` on a file with shape contracts: its values, after the assertions that its analysis left.


def run_contracts(
    path: str, unused: Sequence[object], inputs: Callable[[e.Function], Sequence[object]], format: str
) -> int:
    """Run the main program and print its values; 1 if the analysis finds a broken contract.

    `inputs` makes the values of parameters: each `let x : Tensor(…) = ..` is one. `unused` are the options that do not apply.
    """
    if any(unused):
        raise click.UsageError(
            "a file with contracts takes --input, --shape, --max-input, --packed and --format only"
        )
    program, terms = read_contract(read_text(path), path)
    analysis = analyse(program, terms)
    output.report(analysis.report.sorted())
    if analysis.report.errors:
        return output.FOUND
    fn = function_of_inputs(program)
    runner = Runner(program, terms, dict(zip([q.name for q in fn.params], inputs(fn), strict=True)), analysis)
    values = runner.run()
    checks = f"{runner.checks} assertion{'s' * (runner.checks != 1)} made"
    if format == "json":
        rows = {name: _row(value) for name, value in values.items()}
        output.tell("contract-run", {"values": rows, "assertions": runner.checks})
        return output.OK
    for name, value in values.items():
        output.say(f"{name}: {short_value(value, 100)}")
    for name, one in dict.fromkeys(runner.chosen):
        output.say(f"@{name} is @{one}", err=True)
    output.say(checks, err=True)
    return output.OK


def function_of_inputs(program: c.Program) -> e.Function:
    """A function that has a parameter for each `let x : Tensor(…) = ..` of the main program, of its type."""
    lets = [one for one in program.main if isinstance(one, c.Let) and isinstance(one.value, c.Opaque)]
    params = tuple([e.Var(let.name, _info(let.type), let.span) for let in lets])
    return e.Function(params, e.SeqExpr((), e.Tuple(())))


def _row(value: object) -> dict[str, object]:
    if not isinstance(value, np.ndarray):
        return {"value": value}
    return {"shape": list(value.shape), "dtype": from_numpy(value.dtype).name, "value": value}


def _info(kind: c.SweetType | None) -> s.StructInfo:
    """The StructInfo of an input; Object for a type that tells nothing."""
    if not isinstance(kind, c.TensorType):
        return s.OBJECT
    element = kind.dtype if isinstance(kind.dtype, DType) else None
    if not isinstance(kind.shape, tuple):
        return s.TensorStructInfo(None, element)
    if not all(isinstance(dim, p.PrimExpr) for dim in kind.shape):
        return s.TensorStructInfo(None, element, len(kind.shape))
    return s.TensorStructInfo(tuple([dim for dim in kind.shape if isinstance(dim, p.PrimExpr)]), element)
