"""RealizeVDevice: hints of devices become places of parameters and copies."""

from __future__ import annotations

import re

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer import IRModule
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.ir import expr as e
from relax_explorer.core.passes.pipeline import run_step, steps
from tests.support.oracle import Oracle
from tests.support.pass_agreement import compare

PROGRAM = """
@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [%s]})
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32"), z: R.Tensor((2, 3), "float32")):
        with R.dataflow():
%s
            R.output(%s)
        return (%s,)
"""
TWO = 'I.vdevice("llvm"), I.vdevice("cuda", 0)'
SCOPES = 'I.vdevice("llvm"), I.vdevice("llvm", 0, "global.texture")'
BODIES = {
    "of a parameter": "a = R.hint_on_device(x, R.cuda(0)); c = R.add(a, y)",
    "of a result": "a = R.add(x, y); c = R.hint_on_device(a, R.cuda(0))",
    "between": "a = R.add(x, y); b = R.hint_on_device(a, R.cuda(0)); c = R.add(b, z)",
    "by number": "a = R.hint_on_device(x, R.device(2, 0)); c = R.add(a, y)",
    "by name": 'a = R.hint_on_device(x, R.device("cuda", 0)); c = R.add(a, y)',
    "by name without a number": "a = R.hint_on_device(x, R.device('cpu')); c = R.add(a, y)",
    "as TVM prints it": 'a = R.hint_on_device(x, R.device(device_type=2, index=0), "global"); c = R.add(a, y)',
    "without a number": "a = R.hint_on_device(x, R.cpu()); c = R.add(a, y)",
    "a value read before": "a = R.add(x, y); b = R.hint_on_device(a, R.cuda(0)); c = R.exp(a)",
    "from device to device": "a = R.hint_on_device(x, R.cpu(0)); b = R.hint_on_device(a, R.cuda(0)); c = R.exp(b)",
    "twice": "a = R.hint_on_device(x, R.cuda(0)); b = R.hint_on_device(x, R.cpu(0)); c = (R.exp(a), R.exp(b))",
    "an explicit copy": 'a = R.to_vdevice(x, "cuda:0:global"); c = R.add(a, y)',
    "a tuple": "p = (x, y); q = p[0]; c = R.hint_on_device(q, R.cuda(0))",
    "the other field": "a = R.hint_on_device(x, R.cuda(0)); p = (a, y); q = p[1]; c = R.add(q, z)",
    "fields on two devices": "a = R.hint_on_device(x, R.cuda(0)); b = R.hint_on_device(y, R.cpu(0)); p = (a, b); q = p[1]; c = R.exp(q)",
    "a value without a place": 'k = R.ones(R.shape([2, 3]), "float32"); a = R.hint_on_device(x, R.cuda(0)); c = R.add(a, k)',
    "a value that needs a copy": 'k = R.ones(R.shape([2, 3]), "float32"); c = R.hint_on_device(k, R.cuda(0))',
    "behind a match_cast": 'm = R.match_cast(x, R.Tensor((2, 3), "float32")); c = R.hint_on_device(m, R.cuda(0))',
    "far away": "a = R.exp(x); b = R.exp(a); d = R.hint_on_device(b, R.cuda(0)); c = R.exp(d)",
    "no hint": "c = R.add(x, y)",
}
SCOPED = {
    "the first of a kind": "a = R.exp(x); c = R.hint_on_device(a, R.cpu(0))",
    "by its memory scope": 'a = R.exp(x); c = R.hint_on_device(a, R.cpu(0), "global.texture")',
}
FUNCTIONS = """
@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0)]})
    @R.function(private=True)
    def f(p: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        q = R.exp(p)
        return q

    @R.function
    def main(x: R.Tensor((2, 3), "float32"), u: R.Tensor((), "bool"), w: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        cls = Module
        a = R.hint_on_device(x, R.cuda(0))
        if u:
            r0 = R.exp(a)
            r = r0
        else:
            r1 = R.add(w, w)
            r = r1
        v = cls.f(r)
        return v
"""
NESTED = """
@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0)]})
    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        a: R.Tensor((2, 3), "float32") = R.exp(x)
        @R.function
        def g(k: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
            w = R.add(k, a)
            h = R.hint_on_device(w, R.cuda(0))
            return h
        c = g(a)
        return c
"""


RECURSIVE = """
@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0)]})
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), u: R.Tensor((), "bool")) -> R.Tensor((2, 3), "float32"):
        cls = Module
        if u:
            c = R.hint_on_device(x, R.cuda(0))
            r = cls.%s(c, u)
        else:
            r = x
        return r

    @R.function(private=True)
    def other(x: R.Tensor((2, 3), "float32"), u: R.Tensor((), "bool")) -> R.Tensor((2, 3), "float32"):
        cls = Module
        if u:
            r = cls.main(x, u)
        else:
            r = x
        return r
"""


def program(body: str, devices: str = TWO) -> str:
    lines = "\n".join(f"            {line.strip()}" for line in body.split(";"))
    return PROGRAM % (devices, lines, "c", "c")


TEXTS = {
    **{name: program(body) for name, body in BODIES.items()},
    **{name: program(body, SCOPES) for name, body in SCOPED.items()},
    "a branch and a call": FUNCTIONS,
    "a nested function": NESTED,
}


def realized(text: str) -> IRModule:
    return rxe.apply_pass(rxe.normalize(rxe.parse(text)), "RealizeVDevice")


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if re.search(r" = |def |return ", line)]


def test_nested_functions_are_placed_as_by_tvm(oracle: Oracle) -> None:
    """TVM cannot read the text of its own result, so the lines are compared."""
    theirs = oracle.apply(NESTED, [("RealizeVDevice", {})]).get()
    assert lines(realized(NESTED).script()) == lines(theirs.text)


@pytest.mark.parametrize("name", [name for name in TEXTS if name != "a nested function"])
def test_places_are_those_of_tvm(oracle: Oracle, name: str) -> None:
    outcome = compare(oracle, TEXTS[name], ("RealizeVDevice", {}))
    assert outcome.kind == ("same" if name == "no hint" else "agree"), outcome.details


@pytest.mark.parametrize("name", TEXTS)
def test_no_hint_is_left_and_values_stay(name: str) -> None:
    old, new = rxe.normalize(rxe.parse(TEXTS[name])), realized(TEXTS[name])
    assert "hint_on_device" not in new.script()
    assert not [problem for problem in rxe.check(new) if problem.is_error]
    assert rxe.apply_pass(new, "RealizeVDevice") is new or name != "no hint"
    count = len(old["main"].params)
    x = np.arange(6, dtype="float32").reshape(2, 3) / 10
    values = [np.array(True) if name == "a branch and a call" and n == 1 else x for n in range(count)]
    assert_equal(rxe.run(old, "main", values), rxe.run(new, "main", values))


def assert_equal(a: object, b: object) -> None:
    if isinstance(a, tuple):
        for left, right in zip(a, b, strict=True):  # type: ignore[call-overload]  # both are tuples
            assert_equal(left, right)
    else:
        assert np.array_equal(np.asarray(a), np.asarray(b))


def test_only_what_lies_elsewhere_is_copied() -> None:
    text = realized(TEXTS["from device to device"]).script()
    assert re.findall(r"(\w+): .* = R\.to_vdevice\((\w+), dst_vdevice=\"(\S+)\"\)", text) == [
        ("b", "a", "cuda:0:global")
    ]
    assert "R.to_vdevice" not in realized(TEXTS["between"]).script()


def test_an_annotation_that_names_a_device_stays() -> None:
    body = 'k: R.Tensor((2, 3), "float32", "cuda:0") = R.exp(x); a = R.hint_on_device(k, R.cuda(0)); c = R.add(a, y)'
    module = realized(program(body))
    places = [getattr(param.struct_info, "vdevice", None) for param in module["main"].params]
    assert [str(place) for place in places] == ["cuda:0", "cuda:0", "None"]


@pytest.mark.parametrize("name", TEXTS)
def test_inferred_devices_that_were_written_are_inferred_again(name: str) -> None:
    """A printed program has an annotation for each value. The hints move it nevertheless."""
    module = rxe.normalize(rxe.parse(TEXTS[name]))
    printed = rxe.apply_pass(rxe.normalize(rxe.parse(module.script())), "RealizeVDevice")
    assert rxe.structural_equal(printed, rxe.apply_pass(module, "RealizeVDevice"))


def test_an_annotation_of_a_result_gives_way_to_a_hint(oracle: Oracle) -> None:
    body = 'k: R.Tensor((2, 3), "float32", "llvm:0") = R.to_vdevice(x, "llvm:0"); a = R.hint_on_device(k, R.cuda(0)); '
    text = program(body + 'c: R.Tensor((2, 3), "float32") = R.exp(a)')
    text = text.replace(
        'z: R.Tensor((2, 3), "float32"))',
        'z: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32", "llvm:0")',
    )
    text = text.replace("return (c,)", "return c")
    assert compare(oracle, text, ("RealizeVDevice", {})).kind == "agree"
    assert str(realized(text)["main"].ret_struct_info.vdevice) == "cuda:0:global"


@pytest.mark.parametrize("is_annotated", [True, False])
def test_an_annotation_stays_if_only_it_names_a_device(is_annotated: bool) -> None:
    typed = 'R.Tensor((2, 3), "float32", "cuda:0")'
    claim = f": {typed}" if is_annotated else ""
    packed = 'R.call_pure_packed("f", y, ty_args=(R.Tensor((2, 3), "float32"),))'
    text = program(f"a = R.hint_on_device(x, R.cpu(0)); c{claim} = {packed}")
    text = text.replace('z: R.Tensor((2, 3), "float32"))', f'z: R.Tensor((2, 3), "float32")) -> {typed}')
    main = realized(text.replace("return (c,)", "return c"))["main"]
    assert isinstance(main, e.Function)
    places = [str(info.vdevice) for info in (main.body.body.struct_info, main.ret_struct_info)]
    assert places == ["cuda:0" if is_annotated else "None", "cuda:0"]


@pytest.mark.parametrize("callee", ["main", "other"])
def test_a_recursive_function_keeps_its_return_annotation(oracle: Oracle, callee: str) -> None:
    text = RECURSIVE % callee
    outcome = compare(oracle, text, ("RealizeVDevice", {}))
    assert outcome.kind == "agree", outcome.details
    assert str(realized(text)["main"].ret_struct_info) == 'R.Tensor((2, 3), dtype="float32")'


@pytest.mark.parametrize("name", TEXTS)
def test_every_promise_of_the_contract_holds(name: str) -> None:
    """A copy to a device is a builtin that was not there before."""
    rxe.run_pipeline(rxe.normalize(rxe.parse(TEXTS[name])), "RealizeVDevice")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "c = R.hint_on_device(x, R.vulkan(0))",
            "no device R.device(device_type=7, index=0) with the memory scope global",
        ),
        (
            "c = R.hint_on_device(x, R.cuda(1))",
            "no device R.device(device_type=2, index=1) with the memory scope global",
        ),
        ('c = R.hint_on_device(x, R.cuda(0), "shared")', "with the memory scope shared"),
    ],
)
def test_a_device_that_is_not_declared_is_refused(body: str, message: str) -> None:
    with pytest.raises(Failure, match=re.escape(message)):
        realized(program(body))


def test_operands_on_two_devices_are_refused() -> None:
    body = "a = R.hint_on_device(x, R.cuda(0)); b = R.hint_on_device(y, R.cpu(0)); c = R.add(a, b)"
    with pytest.raises(Failure, match="x1 lies on cuda:0:global, x2 on llvm:0:global"):
        realized(program(body))


def test_bindings_are_followed() -> None:
    (step,) = steps("RealizeVDevice")
    module = rxe.normalize(rxe.parse(TEXTS["between"]))
    found = run_step(step, module).rewrites
    assert [
        (old.var.name, new.var.name) for (old,), (new,) in [(item.before, item.after) for item in found]
    ] == [
        ("a", "a"),
        ("b", "b"),
        ("c", "c"),
    ]


HERE = 'R.Tensor((2,), "float32", vdevice="cuda:0:global")'
NOWHERE = 'R.Tensor((2,), "float32")'
ONE_DEVICE = {  # functions in which one StructInfo names a device
    "of a parameter": (
        f"x: {HERE}, y: {NOWHERE}",
        NOWHERE,
        f'c = R.call_pure_packed("f", x, y, sinfo_args=({NOWHERE},))',
        "y",
    ),
    "of a value": (
        f"x: {NOWHERE}",
        NOWHERE,
        f'a = R.call_pure_packed("f", x, sinfo_args=({HERE},))\n        c = x',
        "x",
    ),
    "of a result": (f"x: {NOWHERE}", HERE, f'c = R.call_pure_packed("f", x, sinfo_args=({NOWHERE},))', "x"),
}


@pytest.mark.parametrize("case", ONE_DEVICE)
def test_one_device_is_enough(case: str) -> None:
    params, result, lines, name = ONE_DEVICE[case]
    text = f"""
@I.ir_module
class Module:
    I.module_global_infos({{"vdevice": [{TWO}]}})
    @R.function
    def main({params}) -> {result}:
        {lines}
        return c
"""
    module = rxe.normalize(rxe.parse(text))
    changed, _ = steps("RealizeVDevice")[0].of.apply(module)
    placed = {param.name: param.struct_info for param in changed["main"].params}
    assert "cuda" in str(placed[name])
