"""A result lies on the device of its operands."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core.check.order import NO, YES, more_specific
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import FLOAT32
from relax_explorer.core.ir.struct_info import Sharding, VDevice
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.ops.kit.devices import declared_devices

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
    assert module["main"].body.blocks[0].bindings[-1].var.struct_info.vdevice == (
        device and VDevice.read(device)
    )


def test_operands_on_two_devices_are_refused() -> None:
    with pytest.raises(rxe.Failure, match=r"x1 lies on llvm:0, x2 on cuda:0") as caught:
        rxe.normalize(rxe.parse(TEXT.format("R.add(x, z)")))
    assert caught.value.diagnostics[0].code.id == "RX0201"


def test_all_parts_of_a_tuple_lie_there() -> None:
    module = rxe.normalize(rxe.parse(TEXT.format("R.split(x, 3, axis=1)")))
    fields = module["main"].body.blocks[0].bindings[-1].var.struct_info.fields
    assert [field.vdevice for field in fields] == [VDevice("llvm", "0")] * 3


@pytest.mark.parametrize(
    ("written", "device", "index"),
    [
        ("llvm", VDevice("llvm"), 0),
        ("llvm:1", VDevice("llvm", "1"), 1),
        ("cuda:2:shared", VDevice("cuda", "2", "shared"), 2),
        ("cuda:", VDevice("cuda", ""), 0),
        ("cuda:x", VDevice("cuda", "x"), None),
        ("cuda:²", VDevice("cuda", "²"), None),
        ("I.vdevice('llvm', 0, 'global')", VDevice("I.vdevice('llvm', 0, 'global')"), 0),
    ],
)
def test_a_device_is_read_and_written_alike(written: str, device: VDevice, index: int | None) -> None:
    assert VDevice.read(written) == device
    assert (str(device), device.index) == (written, index)
    assert device.is_reference is not written.startswith("I.")
    info = s.TensorStructInfo(vdevice=device)
    assert info is s.TensorStructInfo(vdevice=VDevice.read(written))
    parsed = rxe.parse(f'@R.function\ndef main(x: R.Tensor(vdevice="{written}")):\n    return x\n')
    assert parsed["main"].params[0].struct_info is info
    assert str(info) == f'R.Tensor(vdevice="{written}")'


@pytest.mark.parametrize("place", ["3", "None", "(1, 2)", "True", 'R.Tensor((2,), "float32")'])
@pytest.mark.parametrize(
    "call",
    [
        "R.to_vdevice(x, dst_vdevice={})",
        "R.hint_on_device(x, dst_vdevice={})",
        'R.dist.annotate_sharding(x, device_mesh={}, placement="R")',
    ],
)
def test_a_place_is_a_name(call: str, place: str) -> None:
    (problem,) = [item for item in rxe.check(TEXT.format(call.format(place))) if item.is_error]
    assert problem.code.id == "RX0211"


@pytest.mark.parametrize("placement", ["S[0], R", "S[0],R", "R", ""])
@pytest.mark.parametrize("mesh", ["mesh[0]", "a; b"])
def test_a_sharding_is_read_and_written_alike(mesh: str, placement: str) -> None:
    text = f'R.DTensor((2, 3), dtype="float32", device_mesh="{mesh}", placement="{placement}")'
    info = rxe.parse(f"@R.function\ndef main(x: {text}):\n    return x\n")["main"].params[0].struct_info
    assert info.vdevice == Sharding(mesh, placement)
    assert info.vdevice.parts == [part.strip() for part in placement.split(",")]
    assert str(info) == text


def test_a_device_is_no_sharding_whatever_it_is_called() -> None:
    """A semicolon in the name of a device once made it a mesh."""
    text = 'R.Tensor((2,), dtype="float32", vdevice="a; b")'
    parsed = rxe.parse(f"@R.function\ndef main(x: {text}):\n    return x\n")
    assert str(parsed["main"].params[0].struct_info) == text


PLACES = """
@I.ir_module
class M:
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0)], "mesh": [R.device_mesh((2,), I.Range(0, 2))]})
    @R.function
    def main(x: R.Tensor((2, 4), "float32", "llvm:0"), z: R.DTensor((4, 4), "float32", "mesh[0]", "S[0]")):
        y = R.to_vdevice(x, dst_vdevice="cuda:0:global")
        w = R.add(z, z)
        return (y, w)
"""


def test_places_survive_text_and_json_and_count_for_equality() -> None:
    module = rxe.normalize(rxe.parse(PLACES))
    for again in (rxe.parse(module.script()), rxe.from_json(rxe.to_json(module))):
        normal = rxe.normalize(again)
        assert rxe.structural_equal(normal, module)
        assert rxe.structural_hash(normal) == rxe.structural_hash(module)
        assert normal.script() == module.script()
    for old, new in (('"llvm:0"', '"cuda:0"'), ('"S[0]"', '"S[1]"'), ('"llvm:0"', '"llvm:0:global"')):
        other = rxe.normalize(rxe.parse(PLACES.replace(old, new)))
        assert not rxe.structural_equal(other, module)
        assert rxe.structural_hash(other) != rxe.structural_hash(module)


def test_a_text_is_no_place() -> None:
    with pytest.raises(TypeError, match="lies on a VDevice or in a Sharding, not in a str"):
        s.TensorStructInfo(ndim=77, vdevice="llvm:0")  # type: ignore[arg-type]
    dump = rxe.to_json(rxe.normalize(rxe.parse(PLACES)))
    with pytest.raises(rxe.ParseError):
        rxe.from_json(dump.replace('{"vdevice": "llvm:0"}', '"llvm:0"'))


SPELLED = """from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    I.module_global_infos({{"vdevice": [I.vdevice("llvm"), I.vdevice("llvm", 0, "texture")]}})

    @R.function
    def main(x: R.Tensor((2, 3), "float32", "{first}"), y: R.Tensor((2, 3), "float32", "{second}"), c: R.Tensor((), "bool")):
        a = R.add(x, y)
        b = R.concat((x, y), axis=0)
        if c:
            r = R.exp(x)
        else:
            r = R.exp(y)
        d: R.Tensor((2, 3), "float32", "{second}") = R.exp(x)
        return (a, b, r, d)
"""


@pytest.mark.parametrize(
    ("first", "second"), [("llvm", "llvm:0"), ("llvm:0", "llvm:0:global"), ("llvm:0:global", "llvm")]
)
def test_one_device_has_several_names(first: str, second: str) -> None:
    """`llvm`, `llvm:0` and `llvm:0:global` are one device. The first name stays."""
    module = rxe.normalize(rxe.parse(SPELLED.format(first=first, second=second)))
    assert [problem.message for problem in rxe.check(module)] == []
    infos = {binding.var.name: binding.var.struct_info for binding in bindings(module["main"])}
    assert {name: str(infos[name].vdevice) for name in ("a", "b", "r")} == dict.fromkeys(
        ("a", "b", "r"), first
    )


@pytest.mark.parametrize(("first", "second"), [("llvm:0", "llvm:1"), ("llvm:0", "llvm:0:texture")])
def test_other_numbers_and_scopes_are_other_devices(first: str, second: str) -> None:
    with pytest.raises(rxe.Failure, match=f"x1 lies on {first}, x2 on {second}"):
        rxe.normalize(rxe.parse(SPELLED.format(first=first, second=second)))


def test_the_order_knows_the_names_of_a_device() -> None:
    placed = [
        s.TensorStructInfo(None, FLOAT32, 2, VDevice.read(text))
        for text in ("llvm", "llvm:0:global", "llvm:1")
    ]
    assert more_specific(placed[0], placed[1]) is YES
    assert more_specific(placed[1], placed[0]) is YES
    assert more_specific(placed[0], placed[2]) is NO


@pytest.mark.parametrize(
    ("text", "declared"),
    [
        ('I.vdevice("llvm")', ("llvm", 0, "global")),
        ("I.vdevice('cuda', 1)", ("cuda", 1, "global")),
        ('I.vdevice("llvm", 0, "global.texture")', ("llvm", 0, "global.texture")),
        ('I.vdevice("llvm -mcpu=skylake", 2)', ("llvm", 2, "global")),
        (
            'I.vdevice({"arch": "sm_50", "kind": "cuda", "max_num_threads": 1024}, 1, "shared")',
            ("cuda", 1, "shared"),
        ),
        ("I.dummy_global_info()", None),
    ],
)
def test_how_devices_are_declared(text: str, declared: tuple[str, int, str] | None) -> None:
    assert declared_devices([text]) == ([] if declared is None else [declared])
