"""A result lies where its operands lie."""

from __future__ import annotations

import pytest

import relax_explorer as rxe

TEXT = """from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    I.module_global_infos({{"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0)]}})

    @R.function
    def main(x: R.Tensor((2, 3), "float32", "llvm:0"), y: R.Tensor((2, 3), "float32"), z: R.Tensor((2, 3), "float32", "cuda:0")):
        result = {}
        return result
"""


@pytest.mark.parametrize(
    ("call", "device"),
    [
        ("R.add(x, y)", "llvm:0"),
        ("R.add(y, x)", "llvm:0"),
        ("R.sum(z)", "cuda:0"),
        ("R.concat((y, z), axis=0)", "cuda:0"),
        ("R.add(y, y)", None),
    ],
)
def test_device_of_a_result(call: str, device: str | None) -> None:
    module = rxe.normalize(rxe.parse(TEXT.format(call)))
    assert module["main"].body.blocks[0].bindings[-1].var.struct_info.vdevice == device


def test_operands_on_two_devices_are_refused() -> None:
    with pytest.raises(rxe.Failure, match=r"x1 lies on llvm:0, x2 on cuda:0") as caught:
        rxe.normalize(rxe.parse(TEXT.format("R.add(x, z)")))
    assert caught.value.diagnostics[0].code.id == "RX0201"


def test_all_parts_of_a_tuple_lie_there() -> None:
    module = rxe.normalize(rxe.parse(TEXT.format("R.split(x, 3, axis=1)")))
    fields = module["main"].body.blocks[0].bindings[-1].var.struct_info.fields
    assert [field.vdevice for field in fields] == ["llvm:0"] * 3
