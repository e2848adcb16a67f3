"""`run` on a file with shape contracts: its values, after the assertions that its analysis left."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click
import numpy as np

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import DType, from_numpy
from relax_explorer.core.shapes import contract_tree as c
from relax_explorer.core.shapes.contract_run import Runner
from relax_explorer.core.shapes.contract_text import read_contract
from relax_explorer.core.shapes.propagate import analyse
from relax_explorer.core.syntax.load import read_text
from relax_explorer.ui.cli import output
from relax_explorer.viz.short import short_value


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
        output.say(output.document("contract-run", {"values": rows, "assertions": runner.checks}))
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
