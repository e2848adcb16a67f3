"""Programs after TVM's whole pipeline run here: memory, views, `kill` operators, builtins of the virtual machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.session.inputs import from_file
from tests.support.roundtrip import DATA, STAGES, module, stage_id

LATE = [path for path in STAGES if int(path.name[:2]) > 12]
LAST = [path for path in STAGES if path.name == "33_AttachGlobalSymbol.py"]


def inputs(program: Any, model: str) -> tuple[str, list[Any], Any]:
    name = str(json.loads((DATA / model / "stages.json").read_text())["entry"])
    return name, from_file(program[name], DATA / model / "io.npz"), np.load(DATA / model / "io.npz")["out0"]


@pytest.mark.parametrize("path", LATE, ids=stage_id)
def test_every_stage_after_fusion_computes_what_tvm_computed(path: Path) -> None:
    program = module(path)
    name, values, expected = inputs(program, path.parent.name)
    np.testing.assert_allclose(rxe.run(program, name, values), expected, rtol=1e-4, atol=1e-5)


def snapshot(values: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value.copy() if isinstance(value, np.ndarray) else repr(value) for name, value in values.items()
    }


def same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)


def test_going_back_finds_the_memory_as_it_was() -> None:
    program = rxe.normalize(module(next(path for path in LAST if path.parent.name == "mlp")))
    name, values, expected = inputs(program, "mlp")
    debugger = rxe.debug(program, name, values)
    seen = [snapshot(debugger.frame.values)]
    while not debugger.done and len(seen) < 40:
        debugger.step()
        if not debugger.done:
            seen.append(snapshot(debugger.frame.values))
    assert any("<ended>" in map(str, values.values()) for values in seen)
    for position in range(len(seen) - 2, -1, -1):
        debugger.back()
        if debugger.position <= position:
            assert same(snapshot(debugger.frame.values), seen[debugger.position]), (
                f"at step {debugger.position}"
            )
    while not debugger.done:
        debugger.step()
    np.testing.assert_allclose(debugger.result, expected, rtol=1e-4, atol=1e-5)


KERNEL = """
    @T.prim_func(private=True)
    def fill(n: T.int64, m: T.int64, out: T.Buffer((T.int64(2),), "int64")):
        out[0] = n
        out[1] = m
"""


def run(body: str, *args: Any, params: str = "x: R.Tensor(dtype='float32', ndim=1)", kernel: str = "") -> Any:
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    text = f"@I.ir_module\nclass Module:\n{kernel}\n    @R.function(pure=False)\n    def main({params}):\n        cls = Module\n{lines}\n"
    return rxe.run(rxe.parse(text), "main", list(args))


X = np.arange(4, dtype=np.float32)


def code(body: str, *args: Any, **more: Any) -> tuple[str, str]:
    with pytest.raises(rxe.Failure) as caught:
        run(body, *args, **more)
    problem = caught.value.diagnostics[0]
    assert problem.help, "a hint is missing"
    return problem.code.id, problem.message


def test_tensors_of_one_storage_share_its_bytes() -> None:
    body = """s = R.memory.alloc_storage(R.shape([16]), 0, "global", "uint8")
a = R.memory.alloc_tensor(s, 0, R.shape([4]), "float32")
b = R.memory.alloc_tensor(s, 8, R.shape([2]), "int32", 0)
R.call_packed("test.lowered.fill", a)
return b"""

    @rxe.packed_function("test.lowered.fill")
    def fill(array: np.ndarray) -> None:
        array[:] = 1

    np.testing.assert_array_equal(run(body, X), np.full(2, np.float32(1).view(np.int32)))


def test_a_view_is_of_the_same_bytes() -> None:
    body = 'y = R.memory.view(x, R.shape([2, 2]), "int16", 4)\nreturn y'
    np.testing.assert_array_equal(run(body, X), X.view(np.int16)[2:6].reshape(2, 2))
    body = "y = R.memory.view(x, R.shape([2]), R.null_value(), R.prim_value(8))\nz = R.memory.ensure_zero_offset(y)\nreturn z"
    np.testing.assert_array_equal(run(body, X), X[2:])


def test_where_a_view_starts_is_seen() -> None:
    body = 'y = R.memory.view(x, R.shape([2]), "float32", 8)\nz = R.memory.ensure_zero_offset(y)\n'
    for name, unit in (("byte", 1), ("elem", 4)):
        found = run(
            f"{body}a = R.inspect.tensor_{name}_offset(y)\nb = R.inspect.tensor_{name}_offset(z)\nreturn (a, b)",
            X,
        )
        assert found == (8 // unit, 0)


def test_a_kernel_called_with_the_lengths_of_a_shape() -> None:
    body = """y = R.builtin.alloc_tensor(R.shape([2]), "int64", 0)
R.vm.call_tir_dyn(cls.fill, (R.shape([5, 7]), y))
return y"""
    np.testing.assert_array_equal(run(body, X, kernel=KERNEL), [5, 7])


def test_what_was_killed_is_not_used() -> None:
    body = 's = R.vm.alloc_storage(R.shape([16]), 0, "uint8")\n{}a = R.vm.alloc_tensor(s, 0, R.shape([4]), "float32")\nreturn a'
    assert run(body.format(""), X).shape == (4,)
    found = code(body.format("R.vm.kill_object(s)\n"), X)
    assert found == ("RX0517", "a: s is used after it was killed")


@pytest.mark.parametrize(
    ("offset", "shape", "words"),
    [
        (0, "[5]", "ends at byte 20, the storage at 16"),
        (4, "[4]", "ends at byte 20"),
        (17, "[0]", "at byte 17"),
    ],
)
def test_a_tensor_beyond_its_storage(offset: int, shape: str, words: str) -> None:
    body = f's = R.vm.alloc_storage(R.shape([16]), 0, "uint8")\na = R.vm.alloc_tensor(s, {offset}, R.shape({shape}), "float32")\nreturn a'
    number, text = code(body, X)
    assert number == "RX0507"
    assert words in text


def test_too_much_memory_is_refused() -> None:
    assert code('s = R.vm.alloc_storage(R.shape([99999999999]), 0, "uint8")\nreturn s', X)[0] == "RX0511"
    assert code('s = R.builtin.alloc_tensor(R.shape([65536, 65536]), "int64", 0)\nreturn s', X)[0] == "RX0511"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ('R.call_packed("vm.builtin.check_tensor_info", x, 2, R.dtype("float32"), "here")', "has rank 1, 2 is needed (here)"),
        ('R.call_packed("vm.builtin.check_tensor_info", x, 1, R.dtype("int8"), "here")', "is not of int8 (here)"),
        ('R.call_packed("vm.builtin.check_shape_info", x, 1, "here")', "is not a shape of 1 lengths"),
        ('R.call_packed("vm.builtin.check_tuple_info", x, 1, "here")', "is not a tuple of 1"),
        ('R.call_packed("vm.builtin.check_func_info", x, "here")', "is not a function"),
        ('R.call_packed("vm.builtin.check_prim_value_info", x, R.dtype("int64"), "here")', "is not a scalar of int64"),
        ('R.call_packed("vm.builtin.match_shape", x, x, 1, 0, 5, "here")', "length 0 of a tensor (4,) of float32 is 4, 5 is"),
        ('R.call_packed("vm.builtin.match_shape", x, x, 2, 0, 5, 0, 5, "here")', "has 1 lengths, 2 are needed"),
        ('R.call_packed("vm.builtin.reshape", x, R.shape([5]))', "can't be reshaped to the shape (5)"),
        ('R.call_packed("vm.builtin.tuple_getitem", (x, x), 2)', "has no field 2"),
        ('R.call_packed("vm.builtin.make_shape", x, 2, 0, 1)', "takes 4 numbers for 2 lengths, 2 given"),
        ('R.call_packed("vm.builtin.check_tensor_info", x)', "takes at least 3 arguments, 1 given"),
    ],
)  # fmt: skip
def test_what_a_builtin_refuses(call: str, words: str) -> None:
    number, text = code(f"y = {call}\nreturn x", X)
    assert number == "RX0518"
    assert words in text


def test_builtins_of_shapes_tuples_and_closures() -> None:
    body = """heap = R.call_builtin_with_ctx("vm.builtin.alloc_shape_heap", (2,), ty_args=(R.Tensor(dtype="int64", ndim=1),))
R.call_packed("vm.builtin.match_shape", x, heap, 1, 1, 0, "x")
s = R.call_packed("vm.builtin.make_shape", heap, 2, 1, 0, 0, 1, ty_args=(R.Shape(ndim=2),))
y = R.call_packed("vm.builtin.reshape", x, s, ty_args=(R.Tensor(dtype="float32", ndim=2),))
t = R.call_packed("vm.builtin.make_tuple", y, s)
n = R.call_packed("vm.builtin.make_prim_value", heap, 1, 0, ty_args=(R.Prim("int64"),))
c = R.make_closure(cls.twice, ())
z = R.call_builtin_with_ctx("vm.builtin.invoke_closure", (c, x), ty_args=(R.Tensor(dtype="float32", ndim=1),))
return (y, t, n, z)"""
    twice = '    @R.function\n    def twice(x: R.Tensor(dtype="float32", ndim=1)):\n        y = R.add(x, x)\n        return y\n'
    y, (again, shape), n, z = run(body, X, kernel=twice)
    assert y.shape == shape == (4, 1)
    assert again is y
    assert n == 4
    np.testing.assert_array_equal(z, 2 * X)


def test_a_python_function_is_one_that_was_registered() -> None:
    @rxe.packed_function("test.lowered.twice")
    def twice(x: np.ndarray) -> np.ndarray:
        return x * 2

    call = 'y = R.call_py_func("{}", (x,), out_ty=R.Tensor((4,), dtype="float32"))\nreturn y'
    np.testing.assert_array_equal(run(call.format("test.lowered.twice"), X), 2 * X)
    assert code(call.format("test.lowered.missing"), X)[0] == "RX0505"


@pytest.mark.parametrize("dtype", ["uint8", "float32", "float64", "float16"])
@pytest.mark.parametrize("name", ["memory", "vm"])
def test_the_size_of_a_planned_storage_is_in_bytes(name: str, dtype: str) -> None:
    """LowerRuntimeBuiltin makes uint8 of the dtype of `memory.alloc_storage`; that of `vm.alloc_storage` counts."""
    element = np.dtype(dtype).itemsize if name == "vm" else 1
    scope = '"global", ' if name == "memory" else ""
    body = f's = R.{name}.alloc_storage(R.shape([16]), 0, {scope}"{dtype}")\na = R.{name}.alloc_tensor(s, 0, R.shape([{{}}]), "uint8")\nreturn a'
    assert run(body.format(16 * element), X).nbytes == 16 * element
    assert code(body.format(16 * element + 1), X)[0] == "RX0507"
