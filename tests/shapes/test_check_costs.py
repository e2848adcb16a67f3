"""What checks cost in a run: each belongs to the place that demands it, with its seconds and bytes, and the call around it."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec.debugger import Debugger, debug
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.session.run_log import Costs, check_costs
from relax_explorer.core.shapes.residual import shape_checks
from relax_explorer.viz.marked_graph import call_text, share_text, site_rows, spent_text

PROGRAM = """
@I.ir_module
class Module:
    @T.prim_func
    def twice(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32")):
        n = T.int64()
        for i in range(n):
            with T.sblock("b"):
                vi = T.axis.spatial(n, i)
                B[vi] = A[vi] + A[vi]

    @R.function(private=True)
    def helper(y: R.Tensor(("n",), "float32"), w: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        z = R.add(y, w)
        return z

    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32"), k: R.Tensor(ndim=1, dtype="float32")):
        n, m = T.int64(), T.int64()
        cls = Module
        a = cls.helper(x, y)
        b = cls.helper(y, x)
        d = R.match_cast(k, R.Tensor((n,), "float32"))
        e = R.call_tir(cls.twice, (k,), out_sinfo=R.Tensor((n,), "float32"))
        g = R.add(e, k)
        return (a, b, d, e, g)
"""
EMBEDDED = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")):
        n, m = T.int64(), T.int64()

        @R.function
        def inner(v: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
            w = R.add(v, v)
            return w

        a = inner(x)
        R.assert_op(n == m, format="the lengths differ")
        b = inner(y)
        return (a, b)
"""
COUNTDOWN = """
@I.ir_module
class Module:
    @R.function
    def down(i: R.Tensor((), "int32"), x: R.Tensor(ndim=1, dtype="float32")) -> R.Tensor(ndim=1, dtype="float32"):
        n = T.int64()
        c = R.less(i, R.const(1, "int32"))
        if c:
            r = R.nn.relu(x)
        else:
            j = R.subtract(i, R.const(1, "int32"))
            v = R.match_cast(x, R.Tensor((n,), "float32"))
            r = Module.down(j, v)
        return r
"""


def ran(text: str, *args: np.ndarray, function: str = "main") -> Debugger:
    debugger = debug(rxe.parse(text), function, args)
    debugger.continue_()
    return debugger


def ones(*lengths: int) -> list[np.ndarray]:
    return [np.ones(length, np.float32) for length in lengths]


def told(debugger: Debugger, costs: Costs) -> dict[str, tuple[int, int]]:
    """The checks that the run made: how often, and their bytes."""
    checks = shape_checks(debugger.machine.module)
    found = [(check, costs.of(check)) for check in checks]
    return {
        f"{check.kind} {check.text}": (spent.times, spent.size) for check, spent in found if spent is not None
    }


def test_a_check_belongs_to_its_place_and_its_call() -> None:
    debugger = ran(PROGRAM, *ones(8, 8, 8))
    costs = check_costs(debugger.machine)
    assert told(debugger, costs) == {
        "parameters x is a float32 tensor of rank 1": (1, 96),
        "parameters y is a float32 tensor of rank 1": (1, 96),
        "parameters k is a float32 tensor of rank 1": (1, 96),
        "arguments m == n": (1, 64),
        "match_cast k.shape[0] == n": (1, 32),
        "operator the operands of add fit": (1, 32),
        # the operands of the second call, and of the kernel, are compared although the program proves that they fit
        "arguments n == m": (1, 64),
        "kernel n == k.shape[0]": (1, 32),
    }  # fmt: skip
    sites = costs.sites(shape_checks(debugger.machine.module))
    places = {row[4] for row in site_rows(sites)}
    assert places == {
        "main: each call from outside", "main: a, arguments, line 22", "main: d, match_cast, line 24", "main: g, operator, line 26",
    }  # fmt: skip
    assert [site.spent.seconds for site in sites] == sorted(
        [site.spent.seconds for site in sites], reverse=True
    )
    assert 0 < costs.checking < costs.seconds
    call = next(site for site in sites if site.checks[0].kind == "arguments")
    assert call.call is not None
    assert (call.call.times, call.call.size) == (1, 32)
    assert call.call.seconds > call.spent.seconds, "the call holds its check, and the body of the callee"
    assert costs.checking == pytest.approx(
        sum(
            [
                change.checking + sum([check.seconds for check in change.checks])
                for change in debugger.machine.log
            ]
        )
        + debugger.machine.entry.seconds  # type: ignore[union-attr]  # it is recorded
    )


def test_the_calls_of_a_nested_function_check_its_parameters() -> None:
    debugger = ran(EMBEDDED, *ones(4, 4))
    costs = check_costs(debugger.machine)
    found = told(debugger, costs)
    assert found["assert n == m"] == (1, 0)
    assert found["parameters v is a float32 tensor of rank 1"] == (2, 32), "once for each of its calls"


def test_a_recursive_call_counts_its_seconds_once() -> None:
    debugger = ran(COUNTDOWN, np.int32(6).reshape(()), *ones(5), function="down")
    costs = check_costs(debugger.machine)
    found = told(debugger, costs)
    assert found["parameters i is an int32 tensor of rank 0"] == (1, 24), (
        "the inner calls are no calls from outside"
    )
    inner = next(
        b for b in bindings(debugger.machine.module.relax_functions["down"]) if b.var and b.var.name == "v"
    )
    assert costs.by_binding[id(inner)].times == 6
    recursive = [spent for spent in costs.by_binding.values() if spent.times == 6 and spent.size == 6 * 20]
    assert recursive
    assert max(spent.seconds for spent in recursive) <= costs.seconds


def test_costs_of_a_run_that_is_in_the_middle() -> None:
    debugger = debug(rxe.parse(PROGRAM), "main", ones(8, 8, 8))
    debugger.step()
    costs = check_costs(debugger.machine)
    assert told(debugger, costs)["arguments m == n"] == (1, 64)
    assert "arguments n == m" not in told(debugger, costs)
    assert any(spent.times == 1 and spent.size == 0 for spent in costs.by_binding.values()), (
        "the call has no result yet"
    )
    debugger.continue_()
    at_the_end = check_costs(debugger.machine)
    while debugger.machine.undo() is not None:
        pass
    assert told(debugger, check_costs(debugger.machine)).keys() == {
        f"parameters {name} is a float32 tensor of rank 1" for name in "xyk"
    }, "a step back takes its costs back"
    debugger.continue_()
    assert check_costs(debugger.machine) == at_the_end, "steps that are done again cost nothing"


def test_checks_of_virtual_machine_form() -> None:
    module = rxe.run_pipeline(
        rxe.parse(PROGRAM.replace("k: R.Tensor(ndim=1, ", 'k: R.Tensor(("n",), ')), "zero,default_build"
    )
    debugger = debug(module, "main", ones(8, 8, 8))
    debugger.continue_()
    costs = check_costs(debugger.machine)
    checks = [check for check in shape_checks(module) if check.kind == "machine"]
    assert checks
    assert all(
        (spent := costs.of(check)) is not None and spent.times >= 1
        for check in checks
        if check.function == "main"
    )


def test_the_words_of_costs() -> None:
    debugger = ran(PROGRAM, *ones(1024, 1024, 1024))
    costs = check_costs(debugger.machine)
    checks = {
        check.kind: check for check in shape_checks(debugger.machine.module) if check.answer.name == "UNKNOWN"
    }
    spent = costs.of(checks["match_cast"])
    assert spent is not None
    spent.seconds, spent.times = 1.25e-3, 3
    assert spent_text(spent) == "3 times, 1.25 ms, 4 KiB"
    assert call_text(checks["match_cast"], costs) == "", "a match_cast is no call"
    assert call_text(checks["arguments"], costs).startswith("the call: 1 time, ")
    costs.seconds, costs.checking = 2e-3, 5e-4
    assert share_text(costs) == "checks took 500 µs of 2 ms (25 %)"
    assert share_text(Costs()) == "checks took 0 µs of 0 µs"
