"""The purity of operators, and the places where impure calls are allowed, in the profile `tvm` as in TVM."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core.ops import table
from tests.support.oracle import Oracle

VALUE = 'R.Tensor((4,), "float32")'
STORAGE = 'R.memory.alloc_storage(R.shape([16]), R.prim_value(0), R.str("global"), R.dtype("float32"))'
TENSOR = 'R.memory.alloc_tensor(s, R.prim_value(0), R.shape([4]), R.dtype("float32"))'
VM_STORAGE = 'R.vm.alloc_storage(R.shape([16]), R.prim_value(0), R.dtype("uint8"), R.str("global"))'
VM_TENSOR = 'R.vm.alloc_tensor(s, R.prim_value(0), R.shape([4]), R.dtype("float32"))'
LINES = {
    "view": "y = R.memory.view(x, R.shape([2, 2]))",
    "ensure_zero_offset": "y = R.memory.ensure_zero_offset(x)",
    "builtin.alloc_tensor": 'y = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0), R.str("global"))',
    "alloc": f"s = {STORAGE}\ny = {TENSOR}",
    "kill_storage": f"s = {STORAGE}\ny = R.memory.kill_storage(s)",
    "kill_tensor": "y = R.memory.kill_tensor(x)",
    "vm.alloc": f"s = {VM_STORAGE}\ny = {VM_TENSOR}",
    "vm.kill_object": "y = R.vm.kill_object(x)",
    "print": 'y = R.print(x, format="")',
    "packed": 'y = R.call_packed("f", x)',
    "pure packed": f'y = R.call_pure_packed("f", x, ty_args={VALUE})',
}


def test_every_operator_is_as_pure_as_in_tvm(oracle: Oracle) -> None:
    theirs = oracle.purities(list(table())).get()
    assert {name: op.pure for name, op in table().items()} == theirs


@pytest.mark.parametrize("place", ["dataflow", "pure", "impure"])
@pytest.mark.parametrize("name", LINES)
def test_an_effect_is_refused_where_tvm_refuses_it(oracle: Oracle, name: str, place: str) -> None:
    lines = LINES[name].split("\n")
    if place == "dataflow":
        lines = ["with R.dataflow():", *(f"    {line}" for line in lines), "    R.output(y)"]
    head = "@R.function(pure=False)" if place == "impure" else "@R.function"
    text = f"{head}\ndef main(x: {VALUE}):\n" + "".join(f"    {line}\n" for line in [*lines, "return y"])
    module = rxe.parse(text)
    ours = [item for item in rxe.check(module, profile="tvm") if item.is_error]
    theirs = oracle.well_formed(text).get()
    assert theirs.well_formed == (not ours), (ours, theirs.message)
