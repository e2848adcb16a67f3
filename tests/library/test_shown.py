"""Each value has a `repr` of one line, and `print` shows all of it; modules and values can be sent to other processes."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import exprs
from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.core.tir.traverse import statements

TEXT = """
@R.function
def main(x: R.Tensor(("n", 3), "float32"), w: R.Tensor((3, 4), "float32"), c: R.Tensor((), "bool")):
    with R.dataflow():
        h = R.matmul(x, w)
        y = R.nn.relu(h)
        R.output(y)
    if c:
        z = R.add(y, y)
    else:
        z = R.multiply(y, R.const(2, "float32"))
    return z
"""


@cache
def module() -> Any:
    return rxe.normalize(rxe.parse(TEXT))


@cache
def lowered() -> Any:
    return rxe.apply_pass(module(), "LegalizeOps")


def binding(number: int) -> Any:
    return rxe.bindings(module(), "main")[number]


def debugger() -> Any:
    return rxe.debug(module(), "main", rxe.inputs(module(), shape={"n": 2})[0])


def session() -> Any:
    found = rxe.Session(module(), "LegalizeOps")
    found.run_all()
    return found


SHOWN: dict[str, tuple[Callable[[], Any], str, str]] = {
    "binding": (lambda: binding(0), '<VarBinding h: R.Tensor((n, 4), dtype="float32") = R.matmul(x, w, out_dtype=None)>',
                r"^h: R.Tensor\(.*\) = R.matmul\(x, w, out_dtype=None\)$"),
    "if": (lambda: binding(2), "<VarBinding if c: …>", r"if c:\n    z_then: .* = R.add\(y, y\)\n(.*\n)+else:\n"),
    "call": (lambda: binding(1).value, "<Call R.nn.relu(h)>", "R.nn.relu\\(h\\)"),
    "variable": (lambda: binding(1).var, '<Var y: R.Tensor((n, 4), dtype="float32")>', "y"),
    "block": (lambda: module()["main"].body.blocks[0], "<DataflowBlock 2 bindings: h, y>", "with R.dataflow\\(\\):\n    h.*\n    y"),
    "sequence": (lambda: module()["main"].body, "<SeqExpr 3 bindings: h, y, z>", "with R.dataflow\\(\\):\n(.*\n)+z$"),
    "function": (lambda: module()["main"], '<Function main(x: R.Tensor((n, 3)', '@R.function\ndef main\\('),
    "kernel": (lambda: lowered()["matmul"], "<PrimFunc f(", "@T.prim_func\\(private=True, s_tir=True\\)\ndef f\\("),
    "statement": (lambda: lowered()["matmul"].body, "<For for ", "^for .*:\n    with T.sblock"),
    "scalar": (lambda: module()["main"].params[0].struct_info.dims[0], "n", "n"),
    "type": (lambda: module()["main"].params[1].struct_info, 'R.Tensor((3, 4), dtype="float32")', "R.Tensor"),
    "module": (lambda: module(), "<IRModule Module: main>", "# from"),
    "problem": (lambda: rxe.check("@R.function\ndef f(x: R.Object): return y")[0], "<Diagnostic <text>:", "<text>:.*error"),
    "debugger": (debugger, "<Debugger of main: step 0>", "<Debugger"),
    "frame": (lambda: debugger().frame, "<Frame of main: n = 2>", "<Frame"),
    "comparison": (lambda: rxe.compare(module(), lowered()), "<Comparison main of 0 module 0 with 1 module 1: 3 of 3 samples equal>",
                   "A 0 module 0\nB 1 module 1\nfunction main\nsample 1 of 3"),
    "verdict": (lambda: rxe.compare(module(), lowered()).verdicts[0], "<Verdict n = 2, seed 0: equal>", "n = 2"),
    "bisection": (lambda: rxe.bisect([module(), lowered()]), "<Bisection the test holds after every pass>", "  0 module 0: holds"),
    "attempt": (lambda: rxe.bisect([module(), lowered()]).attempts[1], "<Attempt   1 module 1: holds", "  1 module 1: holds"),
    "row": (lambda: rxe.validate([module(), lowered()])[0], "<Row 1 module 1: equal>", "sample 1: n = 2"),
    "difference": (lambda: rxe.diff(module(), lowered()), "<ModuleDiff of ", "(?m)^\\+ |^- "),
    "history": (lambda: session().who("h")[0], "<Trace 0 input = h: R.Tensor", "0 input"),
    "cost": (lambda: rxe.cost(module()), "<Cost of main: 32·n FLOPs, ", "^<Cost of main"),
    "amount": (lambda: rxe.cost(module()).flops, "<Amount ", "n"),
    "match": (lambda: rxe.find(module(), "nn.relu(_)")[0], "<Occurrence y: R.Tensor", "y: R.Tensor"),
}  # fmt: skip


@pytest.mark.parametrize("name", SHOWN)
def test_a_value_shows_itself_on_one_line_and_whole(name: str) -> None:
    make, brief, whole = SHOWN[name]
    value = make()
    assert repr(value).startswith(brief), repr(value)
    assert "\n" not in repr(value)
    assert re.search(whole, str(value)), str(value)


def test_every_part_of_a_program_shows_itself() -> None:
    for program in (module(), lowered(), rxe.load("samples/12_transformer_layer.py")):
        for fn in program.functions.values():
            nodes = list(statements(fn.body)) if type(fn) is PrimFunc else [*exprs(fn), *rxe.bindings(fn)]
            for node in nodes:
                text = repr(node)
                assert "object at 0x" not in text, text
                assert "\n" not in text
                assert "object at 0x" not in str(node)
                assert len(text) < 200


def ran(program: Any, values: Any) -> Any:
    """What a process of a pool does."""
    return rxe.structural_hash(program), rxe.run(program, "main", values)


def test_modules_and_values_go_to_other_processes() -> None:
    values = rxe.inputs(module(), shape={"n": 2})[0]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        code, result = pool.submit(ran, module(), values).result()
    assert code == rxe.structural_hash(module())
    assert result.tobytes() == rxe.run(module(), "main", values).tobytes()
    assert rxe.structural_equal(pickle.loads(pickle.dumps(lowered())), lowered())
    shape = rxe.Shape([2, 3])
    assert type(pickle.loads(pickle.dumps(shape))) is rxe.Shape
    for value in (module(), copy.copy(module())):
        assert copy.deepcopy(value) is value
    assert np.array_equal(copy.deepcopy(values)[0], values[0])


@pytest.mark.parametrize(
    "part", [lambda: module()["main"], lambda: binding(0), lambda: binding(0).value, lambda: binding(0).var]
)
def test_a_part_of_a_module_is_not_pickled_alone(part: Callable[[], Any]) -> None:
    with pytest.raises(TypeError, match="can't be pickled alone: pickle its module"):
        pickle.dumps(part())


def test_a_module_is_a_collection_of_functions() -> None:
    assert list(lowered()) == list(lowered().functions)
    assert len(lowered()) == len(lowered().functions)
    assert "main" in lowered()
    assert rxe.IRModule({})
    assert isinstance(module()["main"], e.Function)
