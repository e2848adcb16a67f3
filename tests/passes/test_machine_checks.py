"""Checks by builtins of the virtual machine: what proves them, what must not, and that every run ends or stops as before."""

from __future__ import annotations

import re

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.diagnostics import Diagnostic
from relax_explorer.core.passes.pipeline import run_step, steps
from relax_explorer.core.phases.module_properties import holding
from relax_explorer.core.shapes.machine_checks import is_lowered
from relax_explorer.core.shapes.residual import MACHINE, shape_checks
from tests.support.corpus import MODELS, Model
from tests.support.random_lengths import outcome, program

HEAD = """@I.ir_module
class Module:
    @T.prim_func
    def shape_func(H: T.Buffer((T.int64(8),), "int64")):
        T.func_attr({"tirx.is_host_func": True})
        H[T.int64(2)] = H[T.int64(0)] * T.int64(2)
        H[T.int64(3)] = H[T.int64(2)] + H[T.int64(1)]

    @T.prim_func
    def other_func(H: T.Buffer((T.int64(8),), "int64")):
        for i in range(T.int64(8)):
            H[i] = T.int64(7)

    @R.function(pure=False)
    def main(x: R.Object, y: R.Object, c: R.Object, t: R.Object) -> R.Object:
        cls = Module
        heap = R.call_builtin_with_ctx("vm.builtin.alloc_shape_heap", (8,), ty_args=(R.Tensor(dtype="int64", ndim=1),))
        R.call_packed("vm.builtin.check_tensor_info", x, 2, R.dtype("float32"), "x", ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.match_shape", x, heap, 2, 1, 0, 1, 1, "x", ty_args=(R.Tuple,))
        cls.shape_func(heap)
"""
CHECK = 'R.call_packed("vm.builtin.{}", {}, "here", ty_args=(R.Tuple,))'


def lowered(*lines: str) -> rxe.IRModule:
    """A function with checks. `match: a, b` and so on are short for calls of builtins."""
    text = []
    for line in lines:
        indent = line[: len(line) - len(line.lstrip())]
        name, separator, args = line.strip().partition(": ")
        text.append(
            indent + CHECK.format(name, args) if separator and name.startswith(("match", "check")) else line
        )
    body = "".join(f"        {line}\n" for line in text)
    return rxe.normalize(rxe.parse(HEAD + body + "        return x\n"))


def last(*lines: str) -> list[str]:
    """What of the last check is proved."""
    checks = [check for check in shape_checks(lowered(*lines)) if check.kind == MACHINE]
    asked = [check for check in checks if check.place is checks[-1].place]
    proved = [check.text for check in asked if check.answer is Answer.YES]
    return [*proved, f"{len(asked) - len(proved)} left"] if len(asked) > len(proved) else proved


Y = "match_shape: y, heap, 2, 3, 0, 0, 8"
ALLOC = (
    's = R.call_packed("vm.builtin.make_shape", heap, 2, {}, ty_args=(R.Shape(ndim=2),))',
    'st = R.vm.alloc_storage(R.shape([64]), 0, R.dtype("uint8"), R.str("global"))',
    'a = R.vm.alloc_tensor(st, 0, s, R.dtype("float32"), 0)',
)


def alloc(entries: str) -> list[str]:
    return [line.format(entries) for line in ALLOC]


@pytest.mark.parametrize(
    ("lines", "proved"),
    [
        ([Y, Y], "the rank of y is 2; y.shape[0] == x.shape[0]; y.shape[1] == 8"),
        ([Y, "z = y", Y.replace("y,", "z,")], "the rank of y is 2; y.shape[0] == x.shape[0]; y.shape[1] == 8"),
        ([Y, "match_shape: y, heap, 2, 1, 5, 1, 6", "match_shape: x, heap, 2, 3, 5, 3, 6"], "the rank of x is 2; x.shape[0] == y.shape[0]; 1 left"),
        (["match_shape: y, heap, 1, 3, 2"], "2 left"),
        (["match_shape: y, heap, 1, 3, 2", "match_shape: y, heap, 1, 3, 2"], "the rank of y is 1; y.shape[0] == x.shape[0] * 2"),
        (["check_tensor_info: x, 2, R.dtype('float32')"], "x is a tensor; the rank of x is 2; x is float32"),
        (["check_tensor_info: x, -1, R.dtype('float32')"], "x is a tensor; x is float32"),
        (["check_tensor_info: x, 2, R.dtype('float16')"], "x is a tensor; the rank of x is 2; 1 left"),
        (["check_tensor_info: x, 3, R.dtype('float32')"], "x is a tensor; x is float32; 1 left"),
        (["check_shape_info: x, 2"], "the rank of x is 2; 1 left"),
        ([Y, "check_tensor_info: y, 2, R.dtype('float32')"], "the rank of y is 2; 2 left"),
        (["check_tuple_info: t, 2", "check_tuple_info: t, 2"], "t is a tuple; t has 2 fields"),
        (["check_func_info: t", "check_func_info: t"], "t is a function"),
        (["check_prim_value_info: t, R.dtype('int64')", "check_prim_value_info: t, R.dtype('int32')"], "t is a scalar; 1 left"),
        ([*alloc("1, 0, 0, 8"), "match_shape: a, heap, 2, 3, 0, 0, 8"], "the rank of a is 2; a.shape[0] == x.shape[0]; a.shape[1] == 8"),
        ([*alloc("1, 3, 0, 8"), "match_shape: a, heap, 2, 3, 3, 0, 8"],
         "the rank of a is 2; a.shape[0] == x.shape[0] * 2 + x.shape[1]; a.shape[1] == 8"),
        ([*alloc("1, 0, 0, 8"), "check_tensor_info: a, 2, R.dtype('float32')"], "a is a tensor; the rank of a is 2; a is float32"),
        ([*alloc("1, 7, 0, 8"), "match_shape: a, heap, 2, 3, 7, 0, 8"], "3 left"),
        ([*alloc("1, 0, 0, 8"), "match_shape: y, heap, 2, 1, 0, 1, 5", "match_shape: a, heap, 2, 3, 0, 0, 8"],
         "the rank of a is 2; a.shape[1] == 8; 1 left"),
        (["R.call_packed('other', heap, ty_args=(R.Tuple,))", *alloc("1, 0, 0, 8"), "match_shape: a, heap, 2, 3, 0, 0, 8"], "3 left"),
        (["match_shape: y, heap, 1, 3, 0", "R.call_packed('other', heap, ty_args=(R.Tuple,))", "match_shape: y, heap, 1, 3, 0"],
         "the rank of y is 1; 1 left"),
        (["if c:", "    match_shape: y, heap, 1, 1, 5", "    r = x", "else:", "    r = x", "match_shape: x, heap, 2, 3, 5, 2, 0"],
         "the rank of x is 2; 1 left"),
        (["cls.other_func(heap)", *alloc("1, 0, 0, 8"), "match_shape: a, heap, 2, 3, 0, 0, 8"], "3 left"),
        (["if c:", "    match_shape: y, heap, 1, 1, 5", "    r = x", "else:", "    match_shape: y, heap, 1, 3, 5", "    r = x"], "2 left"),
        (["if c:", f"    {Y}", "    r = x", "else:", "    r = x", Y], "3 left"),
        (["if c:", "    match_shape: y, heap, 1, 1, 5", "    r = x", "else:", "    r = x", "match_shape: y, heap, 1, 3, 5"], "2 left"),
        (["if c:", "    match_shape: y, heap, 1, 1, 5", "    r = x", "else:", "    match_shape: y, heap, 1, 1, 5", "    r = x",
          "match_shape: y, heap, 1, 3, 5"], "y.shape[0] == y.shape[0]; 1 left"),
        (["match_shape: y, heap, 2, 1, 5, 1, 6", "if c:", "    r = x", "else:", "    match_shape: x, heap, 2, 1, 5, 2, 0", "    r = x",
          "match_shape: y, heap, 2, 3, 5, 3, 6"],
         "the rank of y is 2; y.shape[1] == y.shape[1]; 1 left"),
        (["u = (x, y)", "v = u[0]", "match_shape: v, heap, 2, 3, 0, 3, 1"],
         "the rank of x is 2; x.shape[0] == x.shape[0]; x.shape[1] == x.shape[1]"),
        (["v = R.call_packed('vm.builtin.ensure_aligned', x, 0, ty_args=(R.Object,))", "match_shape: v, heap, 2, 3, 0, 2, 0"],
         "the rank of x is 2; x.shape[0] == x.shape[0]"),
        (["a = R.builtin.alloc_tensor(R.shape([2, 8]), R.dtype('float32'), R.prim_value(0), R.str('global'))", "match_shape: a, heap, 2, 0, 2, 0, 8"],
         "the rank of a is 2; a.shape[0] == 2; a.shape[1] == 8"),
        ([Y, "if c:", f"    {Y}", "    r = x", "else:", "    r = x"], "the rank of y is 2; y.shape[0] == x.shape[0]; y.shape[1] == 8"),
    ],
)  # fmt: skip
def test_what_is_proved(lines: list[str], proved: str) -> None:
    assert "; ".join(last(*lines)) == proved


NULL = """@R.function(pure=False)
def main({}) -> R.Object:
    heap = R.null_value()
    {}
    return {}
"""


def test_a_heap_that_is_nothing() -> None:
    check = CHECK.format("match_shape", "x, heap, 2, 0, 2, 0, 8")
    text = NULL.format("x: R.Object", f"{CHECK.format('check_tensor_info', 'x')}; {check}; {check}", "x")
    checks = [check for check in shape_checks(rxe.normalize(rxe.parse(text))) if check.kind == MACHINE]
    assert [check.answer is Answer.YES for check in checks] == [False] * 4 + [True] * 3
    for reader, lowered_ in (("vm.builtin.other", True), ("other", False)):
        use = f'a = R.call_packed("vm.builtin.first", 1, ty_args=(R.Object,)); b = R.call_packed("{reader}", heap, ty_args=(R.Object,))'
        fn = rxe.normalize(rxe.parse(NULL.format("", use, "b"))).functions["main"]
        assert is_lowered(fn) is lowered_


def eliminated(module: rxe.IRModule) -> rxe.IRModule:
    found = run_step(steps("EliminateShapeChecks")[0], module, True, holding(module))
    assert {item.code.id for item in found.problems} <= {"RX0413"}
    assert (found.module is not module) is bool(found.problems)
    return found.module


def test_a_check_that_compares_less_tells_what_is_proved_alone() -> None:
    module = lowered(Y, "match_shape: y, heap, 2, 3, 0, 3, 1")
    (problem,) = run_step(steps("EliminateShapeChecks")[0], module, True, holding(module)).problems
    assert "y.shape[0]" in problem.message
    assert "y.shape[1]" not in problem.message


def test_what_is_left_of_a_check() -> None:
    module = lowered(
        Y,
        "match_shape: y, heap, 2, 3, 0, 1, 5",
        "match_shape: y, heap, 2, 3, 1, 0, 8",
        Y,
        "match_shape: y, heap, 2, 1, 6, 2, 0",
    )
    found = [
        line.split("builtin.")[1]
        for line in eliminated(module).script().splitlines()
        if "match_shape" in line
    ]
    assert [line.partition(", R.str")[0].split("heap, ")[1] for line in found] == [
        "2, 1, 0, 1, 1", "2, 3, 0, 0, 8", "2, 2, 0, 1, 5", "2, 3, 1, 2, 0", "2, 1, 6, 2, 0",
    ]  # fmt: skip
    again = eliminated(module)
    assert eliminated(again) is again


@pytest.mark.parametrize("seed", range(2))
def test_runs_end_and_stop_as_before(seed: int) -> None:
    rng = np.random.default_rng(seed)
    seen = {"stopped": 0, "ended": 0, "dropped": 0}
    for _ in range(25):
        text = program(rng)
        if any(item.is_error for item in rxe.check(rxe.parse(text))):
            continue
        before = built(rxe.normalize(rxe.parse(text)))
        new = eliminated(before)
        seen["dropped"] += before.script().count("match_shape") - new.script().count("match_shape")
        for lengths in ({"n": 4, "m": 4, "k": 4}, {"n": 4, "m": 1, "k": 4}, {"n": 1, "m": 0, "k": 2}):
            flag = bool(rng.integers(2))
            old, now = outcome(before, lengths, flag), outcome(new, lengths, flag)
            assert isinstance(old, Diagnostic) is isinstance(now, Diagnostic)
            if isinstance(old, Diagnostic):
                assert old.message == now.message
            else:
                np.testing.assert_array_equal(old, now)
            seen["stopped" if isinstance(old, Diagnostic) else "ended"] += 1
    assert min(seen.values()) > 3, seen


def built(module: rxe.IRModule) -> rxe.IRModule:
    for step in steps("LambdaLift,zero,default_build"):
        module = run_step(step, module, True, holding(module)).module
    return module


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_models_compute_the_same(model: Model) -> None:
    (stage,) = model.directory.glob("*_VMShapeLower.py")
    module = rxe.normalize(rxe.load(stage))
    new = eliminated(module)
    dropped = module.script().count("match_shape") - new.script().count("match_shape")
    assert dropped == (0 if model.name in ("diffusion", "resnet_block") else 1), "the check of the result"
    result = rxe.run(new, model.entry, model.arrays("in"))
    first = result[0] if isinstance(result, tuple) else result
    np.testing.assert_allclose(first, model.arrays("out")[0], rtol=1e-4, atol=1e-5)


WEIGHTS = {
    'R.Tensor((4, 4), "int8")': [],
    'R.Tensor(("m", 4), "int8")': ["check_tensor_info", "match_shape"],
    "R.Any": [],
    "R.Tuple(R.Any, R.Any)": ["check_tuple_info"],
    'R.Tuple(R.Tensor((3,), "int8"), R.Tuple(R.Tensor((3,)), R.Shape([2])))': [
        "check_tuple_info", "check_tuple_info", "check_shape_info", "match_shape",
    ],
    "R.Shape([4])": ["check_shape_info", "match_shape"],
    "R.Shape(ndim=2)": ["check_shape_info"],
    "T.int32": ["check_prim_value_info"],
    "R.Callable((R.Any,), R.Any)": ["check_func_info"],
}  # fmt: skip


@pytest.mark.parametrize("weight", WEIGHTS)
def test_only_tensors_behind_the_inputs_are_not_checked(weight: str) -> None:
    text = f"""@R.function(pure=False)
def main(x: R.Tensor((2,), "float32"), a: {weight}):
    R.func_attr({{"relax.force_pure": True, "num_input": 1}})
    b = R.call_packed("f", x, ty_args=R.Any)
    return b
"""
    lowered = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "VMShapeLower")
    checks = [line for line in lowered.script().splitlines() if "param[1]" in line]
    assert re.findall(r"vm\.builtin\.(\w+)", "\n".join(checks)) == WEIGHTS[weight]
