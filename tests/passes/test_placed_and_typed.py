"""UpdateVDevice moves tensors to another device, and UpdateParamType gives parameters other StructInfo."""

from __future__ import annotations

import re

import pytest

import relax_explorer as rxe
from relax_explorer.core.ir.walk import all_dims
from relax_explorer.core.passes.pipeline import run_step, steps
from relax_explorer.core.phases.module_properties import holding
from tests.support.pass_agreement import programs

DEVICES = """
@I.ir_module
class M:
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("c"), I.vdevice("llvm", 1)]})
    @R.function
    def first(x: R.Tensor((2,), "float32", "llvm:0")) -> R.Tensor((2,), "float32", "llvm:0"):
        return x
    @R.function
    def main(x: R.Tensor((2,), "float32", "llvm:0"), y: R.Tensor((2,), "float32", "llvm:1"), t: R.Tensor((2,), "float32", "c:0"),
             u: R.Tensor("float32", ndim=1), c: R.Tensor((), "bool")):
        z = R.add(x, x)
        if c:
            q = R.to_vdevice(z, "c:0")
        else:
            q = R.to_vdevice(y, "c:0")
        m = R.match_cast(u, R.Tensor((2,), "float32", "llvm:1"))
        @R.function
        def g(k: R.Tensor((2,), "float32", "llvm:0")) -> R.Tensor((2,), "float32", "llvm:0"):
            w = R.exp(k)
            return w
        v = g(x)
        p = R.call_pure_packed("f", x, sinfo_args=R.Tensor((2,), "float32", "llvm:1"))
        return ((z, y), q, t, m, v, p)
"""


def module(text: str) -> rxe.IRModule:
    return rxe.normalize(rxe.parse(text))


def moved(device: str, index: int) -> rxe.IRModule:
    before = module(DEVICES)
    outcome = run_step(
        steps(f"UpdateVDevice{{new_vdevice='{device}',index={index}}}")[0], before, True, holding(before)
    )
    assert not [item for item in outcome.problems if item.is_error]
    assert rxe.structural_equal(rxe.normalize(rxe.parse(outcome.module.script())), outcome.module)
    return outcome.module


# As TVM: a device is numbered among those of its kind.
@pytest.mark.parametrize(
    ("device", "index", "devices", "renamed"),
    [
        ("c:0:global", 0, "I.vdevice('c', 0, 'global'), I.vdevice(\"c\"), I.vdevice(\"llvm\", 1)",
         {"llvm:0": "c:0:global", "llvm:1": "llvm:0", "c:0": "c:1"}),
        ("c", 2, 'I.vdevice("llvm"), I.vdevice("c"), I.vdevice(\'c\')', {"llvm:0": "llvm:0", "llvm:1": "c:1", "c:0": "c:0"}),
        ("cuda:3", 1, "I.vdevice(\"llvm\"), I.vdevice('cuda', 3), I.vdevice(\"llvm\", 1)",
         {"llvm:0": "llvm:0", "llvm:1": "llvm:1", "c:0": "cuda:0"}),
    ],
)  # fmt: skip
def test_tensors_move_with_their_device(
    device: str, index: int, devices: str, renamed: dict[str, str]
) -> None:
    after = moved(device, index)
    assert ", ".join(after.global_infos["vdevice"]).replace('"', "'") == devices.replace('"', "'")
    found, wanted = (
        re.findall(r'(?:vdevice|dst_vdevice)="([^"]+)"', text)
        for text in (after.script(), module(DEVICES).script())
    )
    assert found == [renamed[name] for name in wanted]
    assert len(wanted) > 20


def test_functions_without_the_device_stay() -> None:
    before = module(DEVICES)
    assert rxe.apply_pass(before, "UpdateVDevice") is before
    after = rxe.apply_pass(before, "UpdateVDevice", new_vdevice="cuda", index=1)
    assert after["first"] is before["first"]


@pytest.mark.parametrize(
    "options",
    [
        {"new_vdevice": "cuda", "index": 3},
        {"new_vdevice": "cuda", "index": -1},
        {"new_vdevice": "a b"},
        {"new_vdevice": "cuda:x"},
    ],
)
def test_wrong_devices_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(rxe.Failure) as caught:
        rxe.apply_pass(module(DEVICES), "UpdateVDevice", **options)
    assert caught.value.diagnostics[0].code.id == "RX0404"
    with pytest.raises(rxe.Failure):
        rxe.apply_pass(
            module("@R.function\ndef f(x: R.Object):\n    return x\n"), "UpdateVDevice", new_vdevice="cuda"
        )


TYPED = """
@I.ir_module
class M:
    @R.function
    def other(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        q = R.exp(x)
        return q
    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("n",), "float32"), c: R.Tensor((), "bool")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        same = x
        a: R.Tensor((n,), "float32") = R.add(same, same)
        if c:
            b: R.Tensor((n,), "float32") = R.exp(a)
        else:
            b: R.Tensor((n,), "float32") = R.sin(a)
        t = (b, a)
        with R.dataflow():
            d: R.Tensor((n,), "float32") = t[0]
            R.output(d)
        return d
"""


def result(**types: str) -> rxe.IRModule:
    before = module(TYPED)
    written = {name.replace("__", "."): text for name, text in types.items()}
    outcome = run_step(steps(f"UpdateParamType{{types={written!r}}}")[0], before, True, holding(before))
    assert not outcome.problems
    assert rxe.structural_equal(rxe.normalize(rxe.parse(outcome.module.script())), outcome.module)
    return outcome.module


def test_the_types_of_bindings_and_of_the_result_follow() -> None:
    after = result(main__x='R.Tensor((n, 4), "float16")')
    main = after["main"]
    dims = main.params[0].struct_info.dims
    assert dims[0] is main.params[1].struct_info.dims[0]  # n is the same variable
    assert str(main.ret_struct_info) == 'R.Tensor((n, 4), dtype="float16")'
    assert 'a: R.Tensor((n, 4), dtype="float16")' in after.script()
    assert "float32" not in after.script().split("def main")[1].replace(
        'y: R.Tensor((n,), dtype="float32")', ""
    )


def test_a_name_without_a_function_means_every_parameter_of_this_name() -> None:
    after = result(x='R.Tensor((5,), "float16")')
    assert [str(after[name].ret_struct_info) for name in ("other", "main")] == [
        'R.Tensor((5,), dtype="float16")'
    ] * 2


def test_functions_with_the_same_types_stay() -> None:
    before = module(TYPED)
    after = rxe.apply_pass(before, "UpdateParamType", types={"main.x": 'R.Tensor((5,), "float32")'})
    assert after["other"] is before["other"]
    assert rxe.apply_pass(before, "UpdateParamType", types={"other.x": 'R.Tensor((2,), "float32")'}) is before
    assert rxe.apply_pass(before, "UpdateParamType") is before


@pytest.mark.parametrize(
    ("types", "code"),
    [
        ({"z": "R.Object"}, "RX0404"),
        ({"other.y": "R.Object"}, "RX0404"),
        ({"x": "R.Nothing("}, "RX0404"),
        ({"x": "R.Object):\n    pass\ndef g(x: R.Object"}, "RX0404"),
        ({"x": ""}, "RX0404"),
        ("x", "RX0404"),
        ({"main.x": "R.Shape([1])"}, "RX0201"),
    ],
)
def test_what_does_not_fit_is_refused(types: object, code: str) -> None:
    with pytest.raises(rxe.Failure) as caught:
        rxe.apply_pass(module(TYPED), "UpdateParamType", types=types)
    assert caught.value.diagnostics[0].code.id == code


def test_a_wildcard_is_a_type_where_the_module_allows_it() -> None:
    text = """@R.function
def main(x: R.Tensor((4,), "float32")):
    y = R.exp(x)
    return y
"""
    types = {"x": 'R.Tensor((R.any_dim,), "float32")'}
    found = rxe.apply_pass(rxe.parse(text, experimental=True), "UpdateParamType", types=types)
    assert "R.Tensor((R.any_dim,)" in str(found["main"].ret_struct_info)
    with pytest.raises(rxe.Failure, match="which is no StructInfo"):
        rxe.apply_pass(module(text), "UpdateParamType", types=types)


def test_types_as_they_are_change_no_program() -> None:
    count = 0
    for text in programs().values():
        if len(text) > 20000:
            continue
        try:
            before = module(text)
        except rxe.Failure:
            continue
        params = {
            f"{name}.{q.name}": q.struct_info
            for name, fn in before.relax_functions.items()
            for q in fn.params
        }
        types = {
            name: str(info)
            for name, info in params.items()
            if not (all_dims(info) or "Callable" in str(info) or "any_dim" in str(info))  # each is a new one
            and getattr(info, "value", None) is None  # the text of a scalar's type has no value
        }
        if types:
            assert rxe.apply_pass(before, "UpdateParamType", types=types) is before
            count += 1
    assert count > 20


def test_devices_as_tvm_prints_them_are_moved() -> None:
    text = """
@I.ir_module
class M:
    I.module_global_infos({"vdevice": [I.vdevice({"keys": ["cpu"], "kind": "llvm", "tag": ""}, 0, "global")]})
    @R.function
    def main(x: R.Tensor((2,), "float32", "llvm:0:global")):
        y = R.exp(x)
        return y
"""
    new = rxe.apply_pass(
        rxe.normalize(rxe.parse(text)), "UpdateVDevice", new_vdevice="cuda:0:global", index=0
    )
    assert str(new["main"].params[0].struct_info.vdevice) == "cuda:0:global"
    assert [str(device) for device in new.global_infos["vdevice"]] == ["I.vdevice('cuda', 0, 'global')"]
