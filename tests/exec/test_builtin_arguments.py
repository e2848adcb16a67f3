"""Builtins of the virtual machine: what each takes, at which place, and the place of the compiler that a failure names."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec.machine import Machine
from relax_explorer.core.exec.vm_builtins import TABLE

PROGRAM = """
@I.ir_module
class M:
    @R.function
    def add(a: R.Tensor((2,), "int64"), b: R.Tensor((2,), "int64")) -> R.Tensor((2,), "int64"):
        return R.add(a, b)
    @R.function(pure=False)
    def main(x: R.Tensor((2, 3), "float32"), i: R.Tensor((2,), "int64"), c: R.Tensor((), "bool"), heap: R.Tensor((2,), "int64")):
        r = {}
        return r
"""
ARGS = (np.ones((2, 3), np.float32), np.array([4, 5]), np.array(False), np.zeros(2, np.int64))


def call(name: str, arguments: str, result: str = "R.Object") -> str:
    prefix = "" if "." in name else "vm.builtin."
    return f'R.call_packed("{prefix}{name}", {arguments}, sinfo_args={result})'


def given(value: str) -> list[object]:
    """The result of a call, and what it stored in the heap."""
    heap = np.zeros(2, np.int64)
    result = rxe.run(rxe.parse(PROGRAM.format(value)), "main", (*ARGS[:3], heap))
    return [np.asarray(result).tolist(), heap.tolist()]


MORE = ', R.str("more")'


@pytest.mark.parametrize(
    ("name", "arguments", "result"),
    [
        ("alloc_shape_heap", "R.prim_value(3)", [0, 0, 0]),
        ("shape_of", "x", [2, 3]),
        ("tensor_to_shape", "i", [4, 5]),
        ("relax.run.shape_to_tensor", "R.shape([4, 5])", [4, 5]),
        ("copy", "i", [4, 5]),
        ("ensure_zero_offset", "i", [4, 5]),
        ("read_if_cond", "c", 0),
        ("check_string_info", 'R.str("a")', []),
        ("check_func_info", "M.add", []),
        ("check_shape_info", "R.shape([4, 5]), R.prim_value(2)", []),
        ("check_shape_info", "R.shape([4, 5]), R.prim_value(-1)", []),
        ("check_tensor_info", 'x, R.prim_value(2), R.dtype("float32")', []),
        ("check_tensor_info", 'x, R.prim_value(-1), R.dtype("float32")', []),
        ("check_tuple_info", "(x, i), R.prim_value(2)", []),
        ("check_prim_value_info", 'R.prim_value(3), R.dtype("int64")', []),
    ],
)  # fmt: skip
def test_builtins_read_each_argument_at_its_place(name: str, arguments: str, result: object) -> None:
    for more in ("", MORE):
        assert given(call(name, arguments + more)) == [result, [0, 0]]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("match_shape", "c, heap, R.prim_value(1), R.prim_value(2), R.prim_value(0)"),
        ("match_shape", "R.prim_value(1), heap, R.prim_value(1), R.prim_value(2), R.prim_value(0)"),
        ("match_shape", "i, heap, R.prim_value(1), R.prim_value(0), R.prim_value(3)"),
        ("match_prim_value", "R.prim_value(2), heap, R.prim_value(0), R.prim_value(3)"),
        ("check_tensor_info", 'R.prim_value(2), R.prim_value(2), R.dtype("float32")'),
        ("check_tensor_info", 'x, R.prim_value(1), R.dtype("float32")'),
        ("check_tensor_info", 'x, R.prim_value(2), R.dtype("int64")'),
        ("check_shape_info", "R.shape([4, 5]), R.prim_value(1)"),
        ("check_prim_value_info", 'x, R.dtype("int64")'),
        ("check_tuple_info", "(x, i), R.prim_value(3)"),
        ("check_func_info", "x"),
        ("check_string_info", "x"),
    ],
)
def test_a_failed_check_names_the_place_of_the_compiler(name: str, arguments: str) -> None:
    with pytest.raises(rxe.Failure) as caught:
        given(call(name, f'{arguments}, R.str("the place")'))
    (item,) = caught.value.diagnostics
    assert item.code.id == "RX0518"
    assert item.message.count("the place") == 1


def test_builtins_refuse_too_few_arguments_before_they_do_anything() -> None:
    machine = Machine(rxe.normalize(rxe.parse(PROGRAM.format("x"))), "main", ARGS)
    at = machine.frames[-1].plan.code[0]
    for name, builtin in TABLE.items():
        if name not in ("vm.builtin.make_tuple", "vm.builtin.null_value"):
            with pytest.raises(rxe.Failure, match="at least"):
                builtin(machine, at, [])


def test_a_closure_is_made_of_a_name_and_what_it_captures() -> None:
    called = 'R.invoke_closure(r, (i,), sinfo_args=R.Tensor((2,), "int64"))'
    program = PROGRAM.replace("return r", f"s = {called}\n        return s")
    for function in ("M.add", 'R.str("add")'):
        text = program.format(call("make_closure", f"{function}, i"))
        assert rxe.run(rxe.parse(text), "main", ARGS).tolist() == [8, 10]


def test_a_tensor_lies_in_an_allocated_storage() -> None:
    placed = call(
        "alloc_tensor", 'r, R.prim_value(4), R.shape([3]), R.dtype("int32")', 'R.Tensor((3,), "int32")'
    )
    program = PROGRAM.replace("return r", f"s = {placed}\n        return s")
    made = 'R.shape([16]), R.prim_value(0), R.dtype("uint8"), R.str("global")'
    assert rxe.run(rxe.parse(program.format(call("alloc_storage", made))), "main", ARGS).shape == (3,)
