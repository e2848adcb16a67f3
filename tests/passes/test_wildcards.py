"""Every pass keeps programs with wildcards right: well formed, as printed, and with the same outcomes of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.check.wildcards import wildcards_in
from relax_explorer.core.codes import passes as codes
from relax_explorer.core.codes import runtime
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.node import replace
from relax_explorer.core.passes.pipeline import run_step, steps
from relax_explorer.core.program.module import IRModule
from tests.support.copies import with_new_body
from tests.support.mdtest import read

CHAPTER = Path(__file__).parent.parent / "spec" / "22_wildcards.md"
PROGRAMS = [case.program for case in read(CHAPTER) if case.program and "error:" not in case.program]
WIDE, ROWS = np.arange(16, dtype="float32").reshape(2, 8), np.ones((2, 3), "float32")
TALL, TRUE = np.ones((8, 4), "float32"), np.array(True)
RUNS: list[tuple[int, str, list[Any]]] = [
    (0, "main", [WIDE, np.ones((8, 16), "float32"), WIDE]),
    (0, "main", [WIDE[:, 1:], np.ones((8, 16), "float32"), WIDE]),
    (1, "copies", [WIDE[0]]),
    (1, "apart", [WIDE[0], WIDE[0, :3]]),
    (1, "calls", [TALL]),
    (1, "calls", [WIDE]),
    (1, "computed", [WIDE[0], WIDE[0, :3]]),
    (2, "main", [ROWS, ROWS[:, 0], TRUE, TALL]),
    (2, "main", [ROWS, ROWS[0], TRUE, TALL]),
    (4, "main", [ROWS, TALL, TRUE]),
    (4, "main", [ROWS, WIDE, TRUE]),
]
CASTS = dict.fromkeys((runtime.WRONG_INPUT.id, runtime.SHAPE_CHECK.id), runtime.CAST_FAILED.id)


def outcome(module: IRModule, name: str, inputs: list[Any]) -> str:
    """The values of a run, or that it stopped: a check may become a match_cast."""
    try:
        return str(rxe.run(module, name, inputs))
    except Failure as failure:
        code = failure.diagnostics[0].code.id
        return CASTS.get(code, code)


@pytest.mark.parametrize("name", rxe.passes.names())
def test_a_pass_keeps_programs_with_wildcards(name: str) -> None:
    refusals: list[Failure] = []
    normal = [rxe.normalize(rxe.parse(text)) for text in PROGRAMS]
    after: list[IRModule] = []
    for module in normal:
        try:
            after.append(rxe.apply_pass(module, name))
        except Failure as failure:
            refusals.append(failure)
            after.append(module)
    assert {refusal.diagnostics[0].code for refusal in refusals} <= {codes.NEEDS_ANOTHER_PASS}
    for module in after:
        assert [str(problem) for problem in rxe.check(module) if problem.is_error] == []
        assert rxe.normalize(module) is module
        assert rxe.structural_equal(rxe.normalize(rxe.parse(module.script())), module)
    for number, function, inputs in RUNS if len(refusals) < len(normal) else ():
        if function in after[number]:
            assert outcome(after[number], function, inputs) == outcome(normal[number], function, inputs)


def test_a_call_that_a_pass_copies_gives_a_length_of_its_own() -> None:
    module = rxe.normalize(
        rxe.parse(
            """@R.function
def main(x: R.Tensor(("n",), "float32")):
    a = R.call_pure_packed("p", x, sinfo_args=(R.Tensor((R.any_dim,), "float32"),))
    return a
""",
            experimental=True,
        )
    )
    fn = module["main"]
    assert isinstance(fn, e.Function)
    block = fn.body.blocks[0]
    (first,) = block.bindings
    copy = e.VarBinding(e.Var("b", first.value.struct_info), first.value)
    body = replace(fn.body, blocks=(replace(block, bindings=(first, copy)),))
    again = rxe.normalize(module.having({"main": replace(fn, body=body)}))["main"]
    assert isinstance(again, e.Function)
    kept, own = (wildcards_in(b.value.struct_info or s.OBJECT) for b in again.body.blocks[0].bindings)
    assert kept == wildcards_in(first.value.struct_info or s.OBJECT)
    assert len(own) == 1
    assert own != kept


@pytest.mark.parametrize("then", ["", ",MergeCompositeFunctions", ",RunCodegen"])
@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_regions_for_code_generators_have_wildcards_of_their_own(
    number: int, marked: bool, then: str
) -> None:
    module = rxe.normalize(rxe.parse(PROGRAMS[number], experimental="any_dim"))
    fuse = f'FuseOpsByPattern{{patterns="my.add: add(_, _)",annotate_codegen={marked}}}'
    result = rxe.run_pipeline(module, f"{fuse}{then}", phase_check="warn")
    copies = {name: with_new_body(fn) for name, fn in result.functions.items()}
    assert rxe.normalize(IRModule(copies, result.attrs)).script() == result.script()


WIDE_INFO = 'R.Tensor((2, R.any_dim), "float32")'
CASTS_EVERYWHERE = f"""
@I.ir_module
class M:
    I.module_attrs({{"wildcard_dims": True}})
    @R.function
    def main(x: {WIDE_INFO}, c: R.Tensor((), "bool")):
        @R.function
        def f(y: {WIDE_INFO}) -> {WIDE_INFO}:
            z = R.call_pure_packed("f", y, sinfo_args=R.Tensor("float32", ndim=2))
            return z
        g = f(x)
        if c:
            t = f(g)
            u = t
        else:
            u = R.exp(x)
        d = R.add(g, u)
        return d
"""


def test_each_cast_comes_from_the_binding_whose_variable_it_keeps() -> None:
    outcome = run_step(steps("LowerWildcards")[0], rxe.normalize(rxe.parse(CASTS_EVERYWHERE)))
    names = [[b.var.name for b in (*item.before, *item.after) if b.var] for item in outcome.rewrites]
    assert [row for row in names if len(row) > 2] == [[n, f"{n}1", n] for n in ("g", "u", "t", "d")]
    assert all(row[0] == row[-1] for row in names)
