"""`shapes`, `relations` and `run` on the other notations: types, the checks that remain, and values."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import click
import numpy as np

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.relations.solver import Status
from relax_explorer.core.shapes import contract_tree as c
from relax_explorer.core.shapes.contract_facts import Analysis, residual_rows
from relax_explorer.core.shapes.contract_forms import FORMS, copy_of
from relax_explorer.core.shapes.contract_run import Runner
from relax_explorer.core.shapes.contract_text import read_contract
from relax_explorer.core.shapes.propagate import analyse
from relax_explorer.core.syntax.load import read_stream, read_text
from relax_explorer.ui.cli import output
from relax_explorer.ui.cli.input_options import register_files
from relax_explorer.ui.cli.output import Remark, Result
from relax_explorer.viz.short import short_value
from relax_explorer.viz.solver_steps import ContractSteps, RelationSteps
from relax_explorer.viz.solving import TABLES, Solving
from relax_explorer.viz.visible import counted


def relations(input: str, packed: tuple[str, ...], trace: bool, at: int | None) -> Result:
    """The types of a program; 1 if a relation fails or a type stays unknown."""
    register_files(packed)
    text = read_stream(sys.stdin.buffer, "<stdin>") if input == "-" else read_text(input)
    solving = RelationSteps(text, "<stdin>" if input == "-" else input)
    lines = _types(solving, trace) if at is None else _position(solving, at)
    status = output.OK if solving.typed.status is Status.SOLVED else output.FOUND
    return Result(solving.schema, solving.data, lines, status, solving.problems)


def _types(solving: RelationSteps, trace: bool) -> Iterator[str]:
    typed = solving.typed
    for run in solving.runs if trace else ():
        yield f"{run.number:>4}. {run}"
    for name, function in typed.functions.items():
        yield f"@{name} : {function}"
    for var in typed.variables:
        yield f"%{var.name} : {typed.solver.resolved(var.type)}"
    if typed.main is not None:
        yield f"result : {typed.main}"
    yield Remark(solving.verdict)


def _position(solving: Solving, position: int) -> Iterator[str]:
    """A step, and all tables but the text as they were after it."""
    if not 0 <= position <= solving.last:
        raise click.UsageError(
            f"--at takes a step from 0 (the start) to {solving.last} (the end), not {position}"
        )
    line = solving.line(position)
    yield f"{position}. {line.mark} {line.text.strip()}"
    for text in solving.about(position):
        yield f"    {text}"
    for name in TABLES[:-1]:
        lines = solving.table(name, position).lines
        yield f"{solving.titles[name]}{'' if len(lines) else ': nothing'}"
        for item in lines:
            yield f"  {item.mark} {item.text}"


# -- contracts -------------------------------------------------------------------------------------------------------
# `shapes` and `run` on files with shape contracts: types, the assertions that remain, other forms, and values.


@dataclass(frozen=True)
class ContractOptions:
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


OPTIONS = ", ".join(f"--{option.name.replace('_', '-')}" for option in fields(ContractOptions))


def contracts(path: str, wanted: ContractOptions) -> Result:
    """What is known of a program with contracts; 1 if a contract is broken."""
    if len(wanted.forms) > 1 or (wanted.forms and output.is_json()):
        names = ", ".join(f"--{name}" for name in FORMS)
        raise click.UsageError(f"{names} and --copy each print one program, no JSON")
    text = read_text(path)
    program, terms = read_contract(text, path)
    if wanted.forms:
        copied = None if wanted.copy is None else copy_of(program, terms, wanted.copy)
        return Result("contracts", {}, copied or FORMS[wanted.forms[0]](program, terms))
    solving = None
    if wanted.trace or wanted.at is not None or output.is_json():
        solving = ContractSteps(text, path, wanted.keep_branches)
    found = analyse(program, terms, wanted.keep_branches) if solving is None else solving.found
    if found.report.errors:
        status, remarks = output.FOUND, []
    else:
        status, remarks = output.OK, [f"accepted with {counted(len(found.residual), 'residual check')}"]
    lines = _analysis(found, solving, wanted.at)
    data = dict[str, Any] if solving is None else solving.data
    return Result(ContractSteps.schema, data, lines, status, found.report.sorted(), remarks)


def _analysis(found: Analysis, solving: ContractSteps | None, at: int | None) -> Iterator[str]:
    """The types and remaining checks, behind the steps of a solver, or one position of it."""
    if solving is not None and at is not None:
        yield from _position(solving, at)
        return
    if solving is not None:
        steps = [(position, solving.line(position)) for position in range(1, solving.last)]
        yield from [f"{position:>4}. {line.mark} {line.text}" for position, line in steps]
    for name, text in found.types.items():
        yield f"{name} : {text}{'    is_assertion' if found.asserted.get(name) else ''}"
    for call, name in found.chosen:
        yield f"  line {0 if call.span is None else call.span.line:<4} @{call.function} is @{name}"
    for function, condition, origin, number in residual_rows(found):
        yield f"  line {number:<4} {condition}    (run-time check of {origin}, in {function})"


# -- contract runs ---------------------------------------------------------------------------------------------------
# `run` on a file with shape contracts: its values, after the assertions that its analysis left.


def run_contracts(
    path: str, unused: Sequence[object], inputs: Callable[[e.Function], Sequence[object]]
) -> Result | int:
    """The values of the main program; 1 if the analysis finds a broken contract.

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
    data = {
        "values": {name: value_data(value) for name, value in values.items()},
        "assertions": runner.checks,
    }
    return Result("contract-run", data, _values(values, runner))


def _values(values: Mapping[str, Any], runner: Runner) -> Iterator[str]:
    for name, value in values.items():
        yield f"{name}: {short_value(value, 100)}"
    for name, one in dict.fromkeys(runner.chosen):
        yield Remark(f"@{name} is @{one}")
    yield Remark(f"{counted(runner.checks, 'assertion')} made")


def function_of_inputs(program: c.Program) -> e.Function:
    """A function that has a parameter for each `let x : Tensor(…) = ..` of the main program, of its type."""
    lets = [one for one in program.main if isinstance(one, c.Let) and isinstance(one.value, c.Opaque)]
    params = tuple([e.Var(let.name, _info(let.type), let.span) for let in lets])
    return e.Function(params, e.SeqExpr((), e.Tuple(())))


def value_data(value: object) -> dict[str, object]:
    """A value for JSON; an array with its shape and dtype."""
    if not isinstance(value, np.ndarray):
        return {"value": value}
    return {"shape": list(value.shape), "dtype": value.dtype.name, "value": value}


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
