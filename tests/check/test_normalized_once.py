"""A normalized module is not normalized again while somebody holds it."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import relax_explorer
from relax_explorer import IRModule, ops
from relax_explorer.core.arith.prove import proving
from relax_explorer.core.check.call_graph import mentioned
from relax_explorer.core.check.normalize import normalize_with
from relax_explorer.core.check.normalize_function import FunctionNormalizer, function_info
from relax_explorer.core.ir.expr import Var
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.struct_info import OBJECT
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.ops.machine.call import CallKernel
from tests.support.copies import with_new_body

TEXT = """from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y = R.add(x, R.exp(x))
        return y
"""
CALLS = """
@I.ir_module
class Module:
    @R.function(private=True)
    def other(x: R.Tensor((4,), "float32")):
        y = R.exp(x)
        return y

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        cls = Module
        y = cls.other(x)
        return y
"""
DOUBTFUL = (
    TEXT.replace("R.exp(x)", "x")
    .replace("y = ", 'y: R.Tensor(ndim=1, dtype="float32") = ')
    .replace("return y", 'z: R.Tensor((5,), "float32") = y\n        return z')
)


class Mine(ops.Op, name="test.mine"):
    """The operand."""

    x: "Tensor" = ops.operand("the tensor")  # type: ignore[name-defined]  # noqa: F821, UP037

    @staticmethod
    def infer(at: Any, x: Any) -> Any:
        return x

    @staticmethod
    def evaluate(x: Any) -> Any:
        return x


@pytest.fixture
def rounds(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A list that grows with each function that is normalized."""
    seen: list[str] = []
    run = FunctionNormalizer.run
    monkeypatch.setattr(FunctionNormalizer, "run", lambda self, fn: (seen.append("run"), run(self, fn))[1])
    return seen


def test_running_a_module_again_does_not_normalize_it_again(rounds: list[str]) -> None:
    module = relax_explorer.parse(TEXT)
    x = np.ones(4, "float32")
    first = relax_explorer.run(module, "main", [x])
    assert len(rounds) == 1
    np.testing.assert_array_equal(relax_explorer.run(module, "main", [x]), first)
    relax_explorer.debug(module, "main", [x])
    assert len(rounds) == 1


def test_running_a_module_with_a_warning_again_does_not_normalize_it_again(rounds: list[str]) -> None:
    module, report = normalize_with(relax_explorer.parse(DOUBTFUL))
    assert report.items
    rounds.clear()
    for _ in range(3):
        relax_explorer.run(module, "main", [np.ones(4, "float32")])
    assert len(rounds) == 1
    assert normalize_with(module)[1].items  # the warnings stay


def test_a_run_after_an_operator_was_registered_normalizes_again(rounds: list[str]) -> None:
    module, x = relax_explorer.parse(TEXT), np.ones(4, "float32")
    relax_explorer.run(module, "main", [x])
    ops.register(Mine)
    try:
        relax_explorer.run(module, "main", [x])
    finally:
        ops.unregister("test.mine")
    assert len(rounds) == 2


def test_a_normal_module_is_looked_at_once(rounds: list[str]) -> None:
    module = relax_explorer.normalize(relax_explorer.parse(TEXT))
    rounds.clear()
    assert relax_explorer.normalize(module) is module
    assert relax_explorer.normalize(module) is module
    assert relax_explorer.well_formed(module)
    assert len(rounds) == 1


def test_another_function_prover_or_profile_is_looked_at(rounds: list[str]) -> None:
    module = relax_explorer.normalize(relax_explorer.parse(TEXT))
    relax_explorer.normalize(module)
    rounds.clear()
    relax_explorer.normalize(IRModule({"main": with_new_body(module["main"])}))
    with proving("alpha"):
        normalize_with(module)
    normalize_with(module, assume_pure=True)
    assert len(rounds) == 3


def test_a_function_with_other_attributes_is_not_looked_at(rounds: list[str]) -> None:
    module = relax_explorer.normalize(relax_explorer.parse(CALLS))
    relax_explorer.normalize(module)
    rounds.clear()
    marked = {name: replace(fn, attrs=fn.attrs.having(note=1)) for name, fn in module.relax_functions.items()}
    new = module.having(marked)
    assert relax_explorer.normalize(new) is new
    assert not rounds
    assert mentioned(new["main"]) == ("other",)


@pytest.mark.parametrize(
    "changes", [{"params": (Var("x", OBJECT),)}, {"ret_struct_info": OBJECT}, {"pure": False}]
)
def test_what_else_of_a_function_counts(rounds: list[str], changes: dict[str, Any]) -> None:
    """The body is the same object, but a parameter, the result or the purity is another one."""
    module = relax_explorer.normalize(relax_explorer.parse(TEXT))
    relax_explorer.normalize(module)
    rounds.clear()
    changed = replace(module["main"], **changes)
    normalize_with(IRModule({"main": replace(changed, struct_info=function_info(changed, True))}))
    assert rounds == ([] if "pure" in changes else ["run"])
    new, _ = normalize_with(IRModule({"main": changed}))
    assert new["main"].struct_info is not module["main"].struct_info


def test_functions_that_stay_are_looked_at_once(rounds: list[str]) -> None:
    module = relax_explorer.normalize(relax_explorer.parse(CALLS))
    relax_explorer.normalize(module)
    rounds.clear()
    relax_explorer.normalize(IRModule(dict(module.functions)))
    assert not rounds
    relax_explorer.normalize(module.having({**module.functions, "other": with_new_body(module["other"])}))
    assert len(rounds) == 1


def test_who_calls_a_function_of_another_signature_now_is_looked_at(rounds: list[str]) -> None:
    module = relax_explorer.normalize(relax_explorer.parse(CALLS))
    relax_explorer.normalize(module)
    rounds.clear()
    other = relax_explorer.parse(CALLS.replace("R.exp(x)", "R.sum(x)"))["other"]
    new = relax_explorer.normalize(module.having({**module.functions, "other": other}))
    assert len(rounds) == 2
    assert [str(b.var.struct_info) for b in bindings(new["main"])] == ['R.Tensor((), dtype="float32")']


def test_a_call_of_an_operator_that_is_gone_is_looked_at() -> None:
    text = TEXT.replace("R.add(x, R.exp(x))", 'R.op("my.twice", x)')
    ops.register(type("Twice", (ops.get("exp"),), {"__doc__": "Twice a tensor."}, name="my.twice"))
    try:
        module = relax_explorer.normalize(relax_explorer.parse(text))
        assert not normalize_with(module)[1].items
    finally:
        ops.unregister("my.twice")
    assert [item.code.id for item in normalize_with(module)[1].items] == ["RX0016"]


def test_what_is_wrong_is_said_again() -> None:
    module, first = normalize_with(relax_explorer.parse(DOUBTFUL))
    _, second = normalize_with(module)
    _, third = normalize_with(module)
    assert [str(item) for item in second.sorted()] == [str(item) for item in third.sorted()]
    assert first.errors


def test_nothing_keeps_a_module_alive() -> None:
    module = relax_explorer.parse(TEXT)
    relax_explorer.run(module, "main", [np.ones(4, "float32")])
    normal = relax_explorer.normalize(relax_explorer.normalize(module))
    references = [weakref.ref(module), weakref.ref(normal)]
    del module, normal
    gc.collect()
    assert [reference() for reference in references] == [None, None]


KERNELS = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def kernel(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("B"):
                v = T.axis.spatial(4, i)
                B[v] = A[v]

    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((5,), "float32")):
        cls = Module
        a = R.call_tir(cls.kernel, (GIVEN,), out_ty=R.Tensor((4,), "float32"))
        b = R.call_tir(cls.kernel, (GIVEN,), out_ty=R.Tensor((4,), "float32"))
        return a
"""


def test_equal_calls_of_a_kernel_are_looked_at_once_when_they_are_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rule, calls = CallKernel.infer, []
    counted = staticmethod(lambda at, *infos, **attrs: (calls.append(at), rule(at, *infos, **attrs))[1])
    monkeypatch.setattr(CallKernel, "infer", counted)
    assert not normalize_with(relax_explorer.parse(KERNELS.replace("GIVEN", "x")))[1].errors
    assert len(calls) == 1
    calls.clear()
    assert len(normalize_with(relax_explorer.parse(KERNELS.replace("GIVEN", "y")))[1].errors) == 2
    assert len(calls) == 2
