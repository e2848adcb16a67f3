"""Every public function and every pass takes a module that was only parsed, and does with it what it does with its normal form."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core import passes

TEXT = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return Module.inner(R.exp(R.negative(x)), (R.multiply(x, x), R.const(1.0, "float32")))

    @R.function(private=True)
    def inner(x: R.Tensor((2,), "float32"), t: R.Tuple(R.Tensor((2,), "float32"), R.Tensor((), "float32"))) -> R.Tensor((2,), "float32"):
        return R.add(R.add(x, t[0]), t[1])
"""
INPUT = np.ones(2, np.float32)
# Functions that are about the module as it stands: its text, its nodes, and the normal form itself.
AS_IT_STANDS = {"to_json", "html", "structural_equal", "structural_hash"}


def _debugged(module: rxe.IRModule) -> list[str]:
    machine = rxe.debug(module, "main", [INPUT]).machine
    events = []
    while not machine.done:
        event = machine.step()
        events.append(f"{event.kind} {event.value}")
    return events


CALLS: dict[str, Callable[[rxe.IRModule], object]] = {
    "normalize": lambda module: rxe.normalize(module).script(),
    "check": lambda module: [item.message for item in rxe.check(module, allow_unknown_ops=True)],
    "well_formed": rxe.well_formed,
    "apply_pass": lambda module: rxe.apply_pass(module, "FuseOps").script(),
    "run_pipeline": lambda module: rxe.run_pipeline(
        module, "zero,default_build", phase_check="warn"
    ).script(),
    "run": lambda module: rxe.run(module, "main", [INPUT]).tolist(),
    "debug": _debugged,
    "graph": lambda module: rxe.graph(module, "main").svg(),
    "compare": lambda module: str(rxe.compare(module, rxe.normalize(rxe.parse(TEXT)))),
    "bisect": lambda module: str(rxe.bisect([module, module])),
    "validate": lambda module: [str(row) for row in rxe.validate([module, module])],
    "cost": lambda module: str(rxe.cost(module).flops),
    "inputs": lambda module: [value.tolist() for value in rxe.inputs(module)[0]],
    "bindings": lambda module: list(map(str, rxe.bindings(module))),
    "find": lambda module: list(map(str, rxe.find(module, "exp(_)"))),
    "diff": lambda module: str(rxe.diff(module, rxe.parse(TEXT.replace("R.exp", "R.abs")))),
    "Session": lambda module: [stage.module.script() for stage in rxe.Session(module).stages],
}


def _takes_modules(name: str) -> bool:
    value = getattr(rxe, name)
    if not callable(value) or name in (
        "IRModule",
        "Failure",
        "ParseError",
        "Diagnostic",
        "Shape",
        "Debugger",
        "Cost",
    ):
        return False
    return any("IRModule" in str(param.annotation) for param in inspect.signature(value).parameters.values())


def test_each_function_that_takes_a_module_is_tried() -> None:
    takers = {name for name in rxe.__all__ if _takes_modules(name)}
    assert {"run", "compare"} < takers
    assert takers <= CALLS.keys() | AS_IT_STANDS


@pytest.mark.parametrize("name", CALLS)
def test_a_function_normalizes_its_module(name: str) -> None:
    module = rxe.parse(TEXT)
    assert rxe.normalize(module) is not module
    assert CALLS[name](module) == CALLS[name](rxe.normalize(module))


def _applied(module: rxe.IRModule, name: str) -> str:
    try:
        return rxe.apply_pass(module, name).script()
    except rxe.Failure as failure:
        return failure.diagnostics[0].code.id


@pytest.mark.parametrize("name", sorted(passes.table()))
def test_a_pass_normalizes_its_module(name: str) -> None:
    module = rxe.parse(TEXT)
    assert _applied(module, name) == _applied(rxe.normalize(module), name)
