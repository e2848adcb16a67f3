"""SpecializeShapes: calls with known lengths use the most specific copy, and every run ends or stops as before."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.exec.debugger import debug
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.substitute import Substitution
from relax_explorer.core.passes.bind_values import shape_variables
from relax_explorer.core.passes.pipeline import Outcome, run_step, steps
from relax_explorer.core.phases.module_properties import holding
from relax_explorer.core.shapes.residual import shape_checks
from tests.support.oracle import Oracle
from tests.support.random_lengths import outcome, program

TEXT = """@I.ir_module
class Module:
    @R.function(private=True)
    def layer(x: R.Tensor(("n", "m"), "float32"), y: R.Tensor(("n", "m"), "float32")) -> R.Tensor(("n", "m"), "float32"):
        n, m = T.int64(), T.int64()
        a = R.add(x, y)
        b = R.reshape(a, R.shape([n * m]))
        c = R.reshape(b, R.shape([n, m]))
        return c

    @R.function(private=True)
    def down(x: R.Tensor(("n", "m"), "float32"), c: R.Tensor((), "bool")) -> R.Tensor(("n", "m"), "float32"):
        n, m = T.int64(), T.int64()
        if c:
            h = R.astype(R.astype(c, "int32") * R.const(0, "int32"), "bool")
            r = Module.down(x, h)
        else:
            r = Module.layer(x, x)
        return r

    @R.function
    def main(x: R.Tensor((7, "k"), "float32"), z: R.Tensor(("j", 8), "float32"), w: R.Tensor((7, 8), "float32"),
             u: R.Tensor("float32", ndim=2), f: R.Tensor((), "bool")):
        k, j = T.int64(), T.int64()
        a = Module.layer(x, x)
        b = Module.layer(z, z)
        @R.function
        def local(q: R.Tensor((7, k), "float32")) -> R.Tensor((7, k), "float32"):
            i = Module.layer(q, q)
            return i
        if f:
            c = Module.layer(w, w)
        else:
            c = Module.layer(w, z)  # warning: [RX0218]
        d = Module.layer(u, u)
        e = Module.down(w, f)
        g = local(x)
        return (a, b, c, d, e, g)
"""


def specialized(text: str, name: str = "layer", **options: Any) -> Outcome:
    before = rxe.normalize(rxe.parse(text))
    written = ",".join(f"{key}={value!r}" for key, value in {"func_name": name, **options}.items())
    found = run_step(steps(f"SpecializeShapes{{{written}}}")[0], before, True, holding(before))
    assert not [item for item in found.problems if item.is_error]
    assert rxe.well_formed(found.module)
    assert rxe.structural_equal(rxe.normalize(rxe.parse(found.module.script())), found.module)
    return found


def calls(module: rxe.IRModule) -> list[str]:
    """Which function each line calls: `a layer_n7`."""
    return re.findall(r"(\w+): R\..* = cls\.(\w+)\(", module.script())


def called(module: rxe.IRModule) -> dict[str, str]:
    return dict(calls(module))


def test_calls_use_the_most_specific_variant_that_fits() -> None:
    for variants in (["n=7", "n=7,m=8"], ["n=7,m=8", "n=7"]):
        found = called(specialized(TEXT, bindings=variants).module)
        wanted = {
            "a": "layer_n7",
            "b": "layer",
            "d": "layer",
            "e": "down",
            "i": "layer_n7",
            "c_then": "layer_n7_m8",
        }
        assert {name: found[name] for name in wanted} == wanted
        assert found["c_else"] == "layer_n7_m8", "its second argument is checked by the call, as before"


def test_lengths_follow_inside_of_a_variant() -> None:
    text = specialized(TEXT, bindings="n=7,m=8").module.script()
    assert "b: R.Tensor((56,)" in text
    assert "R.shape([7, 8])" in text
    assert "def layer(x: R.Tensor((n, m)" in text


def test_a_variant_calls_itself_and_other_variants() -> None:
    once = specialized(TEXT, "down", bindings="n=7,m=8").module
    assert calls(once).count(("r_then", "down_n7_m8")) == 1
    twice = specialized(once.script(), "layer", bindings="n=7,m=8").module
    assert ("r_else", "layer_n7_m8") in calls(twice)


def test_a_variant_without_a_call_is_told_and_not_added() -> None:
    found = specialized(TEXT, bindings=["m=9", "n=7"])
    assert [item.code.id for item in found.problems] == ["RX0414"]
    assert "layer_m9" not in found.module.functions
    assert "layer_n7" in found.module.functions


def test_public_variants_can_be_called_from_outside() -> None:
    found = specialized(TEXT, bindings=["m=9"], public=True)
    assert not found.problems
    ones = np.ones((2, 9), "float32")
    np.testing.assert_array_equal(rxe.run(found.module, "layer_m9", [ones, ones]), ones * 2)
    with pytest.raises(Failure):
        rxe.run(found.module, "layer_m9", [np.ones((2, 8), "float32")] * 2)


def test_without_lengths_nothing_changes() -> None:
    before = rxe.normalize(rxe.parse(TEXT))
    assert rxe.apply_pass(before, "SpecializeShapes", func_name="layer") is before


@pytest.mark.parametrize(
    ("name", "bindings", "text"),
    [
        ("layer", "k=3", "no parameter of 'layer' binds a shape variable 'k'"),
        ("layer", "", "no length is given"),
        ("layer", "n=-1", "bindings is 'n=-1'"),
        ("layer", "n=9223372036854775808", "bindings gives 'n' the value 9223372036854775808"),
        ("layer", "n=1,n=2", "bindings is 'n=1,n=2'"),
        ("layer", "n", "bindings is 'n'"),
        ("nothing", "n=1", "the module has no Relax function 'nothing'"),
        ("main", "nothing.n=1", "the module has no Relax function 'nothing'"),
        ("main", "layer.k=1", "no parameter of 'layer' binds a shape variable 'k'"),
        ("main", "n=1", "no parameter of 'main' binds a shape variable 'n'"),
        ("main", "main.local.k=1", "'main.local' is no function of the module, but stands in another one"),
        ("main", "local.k=1", "'local' is no function of the module, but stands in another one"),
        ("main", "main.local.r=1", "the module has no Relax function 'main.local'"),
        ("main", "k=1,layer.n=2", "bindings has lengths of 'main' and 'layer' in 'k=1,layer.n=2'"),
        ("layer", "n=1,layer.n=1", "bindings is 'n=1,layer.n=1'"),
        ("layer", "layer.=1", "no parameter of 'layer' binds a shape variable ''"),
    ],
)
def test_wrong_options_are_told(name: str, bindings: str, text: str) -> None:
    with pytest.raises(Failure) as failure:
        rxe.apply_pass(rxe.parse(TEXT), "SpecializeShapes", func_name=name, bindings=[bindings])
    (problem,) = failure.value.diagnostics
    assert problem.code.id == "RX0404"
    assert problem.message == text
    assert problem.help


def test_a_bare_name_of_another_function_is_told_with_its_whole_name() -> None:
    with pytest.raises(Failure) as failure:
        rxe.apply_pass(rxe.parse(TEXT), "SpecializeShapes", bindings=["m=1"])
    assert failure.value.diagnostics[0].help == "they bind k, j; layer.m is a length, too"


def test_a_length_names_its_function() -> None:
    by_option = specialized(TEXT, bindings=["n=7,m=8", "n=7"]).module
    for name in ("main", "down", "layer"):
        by_name = specialized(TEXT, name, bindings=["layer.n=7,layer.m=8", "layer.n=7"]).module
        assert rxe.structural_equal(by_name, by_option)


def test_variants_of_several_functions_call_each_other() -> None:
    both = specialized(TEXT, bindings=["down.n=7,down.m=8", "n=7,m=8", "n=7"]).module
    again = specialized(TEXT, "down", bindings=["layer.n=7", "layer.n=7,layer.m=8", "n=7,m=8"]).module
    for found in (both, again):
        assert called(found)["e"] == "down_n7_m8"
        assert calls(found).count(("r_then", "down_n7_m8")) == 1, "the copy calls itself"
        assert calls(found).count(("r_else", "layer_n7_m8")) == 1, "and the copy of the other function"
        assert called(found)["a"] == "layer_n7"
    text = TEXT.replace("Module.layer(w, z)  # warning: [RX0218]", "Module.layer(w, w)")
    chosen = specialized(text, bindings=["main.k=8,main.j=3", "n=7,m=8"], dispatch=True).module
    assert {"main_generic", "main_k8_j3", "layer_generic", "layer_n7_m8"} <= chosen.functions.keys()
    copied = specialized(text, bindings=["down.n=7,down.m=8", "n=7,m=8", "main.k=8"]).module
    tensors = [np.ones((rows, 8), "float32") for rows in (7, 3, 7, 2)]
    for flag in (True, False):
        inputs = [*tensors, np.asarray(flag)]
        runs = [rxe.run(one, "main", inputs) for one in (rxe.parse(text), copied, chosen)]
        for old, *new in zip(*runs, strict=True):
            for one in new:
                np.testing.assert_array_equal(one, old)


def test_two_lengths_of_one_name_in_a_function_are_told_apart() -> None:
    layer = rxe.normalize(rxe.parse(TEXT)).relax_functions["layer"]
    var = next(dim for dim in shape_variables(layer) if dim.name == "m")
    module = rxe.normalize(rxe.IRModule({"layer": Substitution({}, {var: p.PrimVar("n")}).function(layer)}))
    found = rxe.apply_pass(module, "SpecializeShapes", bindings=["n_1=8"], func_name="layer", public=True)
    assert "def layer_n_18(x: R.Tensor((n, 8)" in found.script()
    found = rxe.apply_pass(module, "SpecializeShapes", bindings=["n=8"], func_name="layer", public=True)
    assert "def layer_n8(x: R.Tensor((8, n)" in found.script()
    found = rxe.apply_pass(module, "SpecializeShapes", bindings=["n=8"], func_name="layer", dispatch=True)
    assert "R.shape_to_tensor(R.shape([n]))" in found.script()


def test_lengths_that_contradict_the_function_are_refused() -> None:
    text = """@R.function
def main(x: R.Tensor(("n",), "float32"), y: R.Tensor((4,), "float32")):
    n = T.int64()
    z = R.matmul(x, y)  # n must be 4
    return z
"""
    with pytest.raises(Failure):
        rxe.apply_pass(rxe.parse(text), "SpecializeShapes", func_name="main", bindings=["n=5"], public=True)


@pytest.mark.parametrize("seed", range(2))
def test_runs_end_and_stop_as_before(seed: int) -> None:
    rng = np.random.default_rng(seed)
    seen = {"stopped": 0, "ended": 0, "calls": 0}
    for _ in range(50):
        text = program(rng)
        if any(item.is_error for item in rxe.check(rxe.parse(text))):
            continue
        before = rxe.normalize(rxe.parse(text))
        try:
            main = rxe.apply_pass(before, "SpecializeShapes", bindings=["n=4", "n=4,m=4,k=4"], public=True)
            after = rxe.apply_pass(
                main, "SpecializeShapes", func_name="same", bindings=["b=4", "a=4", "a=4,b=4"]
            )
            chosen = rxe.apply_pass(
                before, "SpecializeShapes", bindings=["n=4,m=4", "n=1", "n=4"], dispatch=True
            )
            chosen = rxe.apply_pass(
                chosen, "SpecializeShapes", func_name="same", bindings=["b=4", "a=4,b=4"], dispatch=True
            )
        except Failure:
            continue  # the lengths contradict the program
        seen["calls"] += after.script().count("cls.same_")
        for lengths in ({"n": 4, "m": 4, "k": 4}, {"n": 4, "m": 1, "k": 4}, {"n": 1, "m": 4, "k": 2}):
            flag = bool(rng.integers(2))
            old = outcome(before, lengths, flag)
            agree(old, outcome(after, lengths, flag))
            agree(old, outcome(chosen, lengths, flag))
            seen["stopped" if isinstance(old, Diagnostic) else "ended"] += 1
            if lengths["n"] == 4:
                agree(old, outcome(after, lengths, flag, "main_n4", like="main"))
            if set(lengths.values()) == {4}:
                agree(old, outcome(after, lengths, flag, "main_n4_m4_k4", like="main"))
    assert min(seen.values()) > 3, seen


def agree(old: Any, new: Any) -> None:
    """Both runs end with equal results, or stop in the same line."""
    if isinstance(old, Diagnostic):
        assert isinstance(new, Diagnostic), old
        assert old.span is not None
        assert new.span is not None
        assert old.span.line == new.span.line
    else:
        assert not isinstance(new, Diagnostic), new
        np.testing.assert_array_equal(old, new)


def test_tvm_accepts_and_computes_the_same(oracle: Oracle) -> None:
    text = TEXT.replace("Module.layer(w, z)  # warning: [RX0218]", "Module.layer(w, w)")
    before = rxe.normalize(rxe.parse(text))
    after = specialized(text, bindings=["n=7", "n=7,m=8"]).module
    accepted = oracle.well_formed(after.script())
    assert accepted.ok, accepted
    assert accepted.get().well_formed, accepted
    tensors = [np.arange(rows * 8, dtype="float32").reshape(rows, 8) for rows in (7, 3, 7, 2)]
    inputs = [*tensors, np.asarray(True)]
    chosen = specialized(text, bindings=["n=7", "n=7,m=8", "n=3"], dispatch=True).module
    old, *others = (
        oracle.run(one.script(), "main", inputs, passes=["LambdaLift"]).get()
        for one in (before, after, chosen)
    )
    for new in others:
        for a, b in zip(old, new, strict=True):
            np.testing.assert_array_equal(a, b)


SQUARE = """@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", "m"), "float32"), s: R.Shape(["k"])) -> R.Tuple(R.Tensor(("n * m", "k"), "float32"), R.Shape(["m"])):
        n, m, k = T.int64(), T.int64(), T.int64()
        y = R.reshape(x, R.shape([n * m, 1]))
        z = R.broadcast_to(y, R.shape([n * m, k]))
        return (z, R.shape([m]))
"""


@pytest.mark.parametrize(
    ("shape", "k", "ran"),
    [
        ((7, 8), 2, "main_n7_m8"),
        ((7, 1), 2, "main_n7"),
        ((1, 8), 0, "main_k0"),
        ((2, 8), 2, "main_generic"),
        ((7, 8), 0, "main_n7_m8"),
        ((0, 0), 1, "main_generic"),
    ],
)
def test_the_first_variant_that_fits_runs(shape: tuple[int, int], k: int, ran: str) -> None:
    after = specialized(SQUARE, "main", bindings=["k=0", "n=7", "n=7,m=8"], dispatch=True).module
    x = np.arange(shape[0] * shape[1], dtype="float32").reshape(shape)
    debugger = debug(after, "main", [x, (k,)])
    called = set()
    while not debugger.done:
        called.update(frame.name for frame in debugger.frames)
        debugger.step()
    assert called - {"main"} == {ran}
    before = rxe.run(rxe.parse(SQUARE), "main", [x, (k,)])
    for new, old in zip(rxe.run(after, "main", [x, (k,)]), before, strict=True):
        np.testing.assert_array_equal(new, old)


def test_a_dispatcher_proves_what_its_variants_ask() -> None:
    after = specialized(SQUARE, "main", bindings=["k=3", "n=7", "n=7,m=8"], dispatch=True).module
    remaining = [check for check in shape_checks(after) if check.answer is not Answer.YES]
    assert {check.kind for check in remaining} == {"parameters"}, "they are made at the call from outside"
    assert after.script().count("R.match_cast(") == 3


def test_a_dispatcher_of_an_impure_function_that_calls_itself() -> None:
    text = TEXT.replace("private=True)\n    def down", "private=True, pure=False)\n    def down")
    text = text.replace("@R.function\n    def main", "@R.function(pure=False)\n    def main")
    assert text.count("pure=False") == 2
    after = specialized(text, "down", bindings=["n=7,m=8", "m=8"], dispatch=True).module
    assert calls(after).count(("r_then", "down_n7_m8")) == 1, "the copy calls itself"
    assert calls(after).count(("r_then", "down")) == 2, (
        "the function as it was and the copy for m = 8 ask again"
    )
    tensors = [np.ones((rows, 8), "float32") for rows in (7, 3, 7, 2)]
    old, new = (rxe.run(one, "main", [*tensors, np.asarray(True)]) for one in (rxe.parse(text), after))
    for a, b in zip(old, new, strict=True):
        np.testing.assert_array_equal(a, b)
