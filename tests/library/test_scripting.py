"""Inputs, bindings, matches and differences for scripts."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.node import replace

TEXT = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 3), "float32"), k: R.Tensor((3,), "int64"), c: R.Tensor((), "bool")):
        if c:
            z = R.add(R.exp(x), x)
        else:
            z = x
        return z
    @R.function
    def other(x: R.Tensor((3,), "float32")):
        y = R.exp(x)
        return y
"""


@cache
def module() -> Any:
    return rxe.parse(TEXT)


def names(found: list[e.Binding]) -> list[str]:
    return [binding.var.name if binding.var is not None else "_" for binding in found]


def test_inputs_are_made_up_by_rule() -> None:
    found = rxe.inputs(module(), n=3)
    assert [x.shape for x, _, _ in found] == [(2, 3), (1, 3), (0, 3)]
    assert [values[1].dtype.name for values in found] == ["int64"] * 3
    assert len(rxe.inputs(module())) == 1
    assert rxe.inputs(module(), shape={"n": 5})[0][0].shape == (5, 3)
    assert np.array_equal(rxe.inputs(module())[0][0], rxe.inputs(module())[0][0])
    assert rxe.inputs(module(), "other")[0][0].shape == (3,)
    for values in found:
        assert rxe.run(module(), "main", values).shape == values[0].shape


def test_inputs_come_from_files(tmp_path: Path) -> None:
    x, path = np.arange(12, dtype="float32").reshape(4, 3), tmp_path / "x.npz"
    np.savez(path, x=x)
    values = rxe.inputs(module(), sources={"x": str(path), "k": "ones"})[0]
    assert np.array_equal(values[0], x)
    assert values[1].tolist() == [1, 1, 1]
    with pytest.raises(rxe.Failure):
        rxe.inputs(module(), sources={"nothing": "ones"})


def test_bindings_of_a_module_are_those_of_its_normal_form() -> None:
    found = rxe.bindings(module(), "main")
    assert all(binding.var is not None and binding.var.struct_info is not None for binding in found)
    assert names(found)[0] == "z"
    assert len(found) > len(rxe.bindings(module().relax_functions["main"])) - 1
    assert names(rxe.bindings(module())) == names(found) + names(rxe.bindings(module(), "other"))
    assert [type(binding.value) for binding in rxe.bindings(module(), "other")] == [e.Call]
    kept = module().relax_functions["other"]
    assert rxe.bindings(kept) == list(kept.body.blocks[0].bindings)


def test_a_pattern_is_found_in_one_function_or_in_all() -> None:
    normal = rxe.normalize(module())
    assert len(rxe.find(normal, "exp(_)")) == 2
    assert [one.binding.var.name for one in rxe.find(normal, "exp(_)", "other")] == ["y"]
    assert rxe.find(normal, "add(exp(_), _)", "other") == []
    with pytest.raises(rxe.Failure):
        rxe.find(normal, "exp(")


def test_programs_of_one_structure_do_not_differ() -> None:
    assert rxe.diff(module(), rxe.normalize(rxe.parse(TEXT.replace("y", "w")))).is_empty
    assert not rxe.diff(module(), rxe.parse(TEXT.replace("R.exp(x)", "R.abs(x)"))).is_empty


def test_whatever_the_program_says_a_repr_is_a_text() -> None:
    branch = rxe.bindings(module(), "main")[0].value
    x = e.Var("x")
    assert repr(e.Call(e.op_ref("relax.add"), (branch, x))) == "<Call>"
    assert repr(e.Tuple((e.Tuple((module().relax_functions["other"],)), x))) == "<Tuple>"
    assert repr(branch) == "<If if c: …>"
    named = replace(module().relax_functions["other"], attrs=Attrs({"global_symbol": "my.function"}))
    assert repr(named).startswith("<Function f(x: ")
    assert repr(e.SeqExpr((), x)) == "<SeqExpr empty>"
