"""Calls of PrimFuncs with destinations: the problems of wrong arguments, and the checks left to run time."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.diagnostics import Diagnostic
from tests.support.corpus import CORPUS

HEAD = """from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def double(a: T.handle, b: T.handle):
        n = T.int64()
        m = T.int64()
        A = T.match_buffer(a, (n, m), "float32")
        B = T.match_buffer(b, (n, m * T.int64(2)), "float32")
        for i, j in T.grid(n, m * T.int64(2)):
            with T.sblock("b"):
                v, w = T.axis.remap("SS", [i, j])
                B[v, w] = A[v, w // T.int64(2)]

    @T.prim_func(private=True)
    def nothing():
        T.evaluate(0)

    @R.function
    def other(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        return x

    @R.function
    def main(x: R.Tensor((2, 3), "float32"), i: R.Tensor((2, 3), "int32"), o: R.Object, z: R.Tensor(("p", "q"), "float32")):
        p = T.int64()
        q = T.int64()
        cls = Module
        r = R.call_tir(CALL)
        return r
"""
# The arguments of the call, the code, the message.
WRONG = [
    ('cls.double, (), out_ty=R.Tensor((2, 6), "float32")', "RX0212", "double takes 2 parameters; the call passes 0 and allocates 1"),
    ('cls.double, (x, x), out_ty=R.Tensor((2, 6), "float32")', "RX0212", "the call passes 2 and allocates 1"),
    ('cls.double, (x,), out_ty=[R.Tensor((2, 6), "float32"), R.Tensor((2, 6), "float32")]', "RX0212", "the call passes 1 and allocates 2"),
    ('cls.double, (i,), out_ty=R.Tensor((2, 6), "float32")', "RX0213", 'args[0] is R.Tensor((2, 3), dtype="int32"), parameter 1 of double is'),
    ('cls.double, (o,), out_ty=R.Tensor((2, 6), "float32")', "RX0213", "args[0] is R.Any, parameter 1 of double is"),
    ('cls.double, (x,), out_ty=R.Tensor((2, 6), "float16")', "RX0213", 'out_ty is R.Tensor((2, 6), dtype="float16"), parameter 2 of double'),
    ('cls.double, (x,), out_ty=R.Tensor((12,), "float32")', "RX0213", "out_ty is R.Tensor((12,)"),
    ('cls.double, (x,), out_ty=R.Tensor((2, 5), "float32")', "RX0213", "out_ty, dimension 1 is 5, parameter 2 of double needs m * 2 = 6"),
    ('cls.double, (x,), out_ty=R.Tensor((2, 6), "float32"), tir_vars=R.shape([2])', "RX0212", "the call passes 2 and allocates 1"),
    ('cls.double, (x, x), out_ty=R.Tensor((2, 6), "float32"), tir_vars=R.shape([])', "RX0212", "the call passes 2 and allocates 1"),
    ('cls.nothing, (x,), out_ty=R.Tensor((2, 6), "float32")', "RX0212", "nothing takes 0 parameters; the call passes 1 and allocates 1"),
    ('cls.other, (x,), out_ty=R.Tensor((2, 6), "float32")', "RX0214", "func is other, a Relax function; a PrimFunc"),
]  # fmt: skip


def program(call: str) -> str:
    """The program with a call."""
    return HEAD.replace("CALL", call)


def problems(call: str) -> list[Diagnostic]:
    """The problems of the call."""
    return [item for item in rxe.check(rxe.parse(program(call))) if item.code.id.startswith("RX02")]


@pytest.mark.parametrize(("call", "code", "words"), WRONG, ids=[row[2][:40] for row in WRONG])
def test_what_does_not_fit_is_named(call: str, code: str, words: str) -> None:
    (said,) = problems(call)
    assert said.code.id == code
    assert said.is_error
    assert words in said.message
    assert said.message.startswith("relax.call_tir: ")
    assert said.help
    assert said.labels


@pytest.mark.parametrize(("name", "words"), [("n", "n of double = n of main"), ("p", "needs n = p")])
def test_lengths_of_one_name_are_told_apart(name: str, words: str) -> None:
    text = program(f'cls.double, (z,), out_ty=R.Tensor(({name} + 1, q * 2), "float32")')
    head, main = text.split("    def main(")
    main = main.replace('"p"', f'"{name}"').replace("p = T.", f"{name} = T.")
    found = [item for item in rxe.check(rxe.parse(f"{head}    def main({main}")) if item.code.id == "RX0213"]
    assert [item.message.endswith(words) for item in found] == [True]


@pytest.mark.parametrize("out", ["(2, 6)", "(p, 6)", "(p, q)"])
def test_what_may_fit_is_no_error(out: str) -> None:
    arg = "x" if out == "(2, 6)" else "z"
    said = problems(f'cls.double, ({arg},), out_ty=R.Tensor({out}, "float32")')
    assert not any(item.is_error for item in said)
    assert [item.code.id for item in said] == ([] if out == "(2, 6)" else ["RX0218"])


def test_what_may_fit_has_a_result() -> None:
    text = program('cls.double, (z,), out_ty=R.Tensor((p, q), "float32")')
    text = text.replace("return r", "s = R.add(r, i)\n        return s")
    assert [item.code.id for item in rxe.check(rxe.parse(text)) if item.is_error] == ["RX0202"]


SCALAR = """
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def copy(a: T.handle, b: T.handle, n: T.int64):
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            with T.sblock("b"):
                v = T.axis.spatial(n, i)
                B[v] = A[v]
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        r = R.call_tir(Module.copy, (x,), out_ty=R.Tensor((4,), "float32"), tir_vars=R.shape([SAID]))
        return r
"""


def test_a_scalar_is_compared_with_the_length_that_it_is() -> None:
    assert rxe.check(SCALAR.replace("SAID", "4")) == []
    (said,) = [item for item in rxe.check(SCALAR.replace("SAID", "5")) if item.is_error]
    assert said.message.endswith("tir_vars[0] is 5, parameter 3 of copy needs n = 4")


def test_lengths_that_agree_by_arithmetic_are_proven() -> None:
    assert problems('cls.double, (z,), out_ty=R.Tensor((p, q + q), "float32")') == []


def test_what_follows_from_a_wrong_value_is_not_said_again() -> None:
    call = 'cls.double, (w,), out_ty=R.Tensor((2, 6), "float32")'
    text = program(call).replace("        r = ", "        w = R.add(x, i)\n        r = ")
    found = [item.code.id for item in rxe.check(rxe.parse(text)) if item.is_error]
    assert found == ["RX0202"]


def test_what_follows_from_a_wrong_call_is_not_said_again() -> None:
    text = program('cls.double, (i,), out_ty=R.Tensor((2, 6), "float32")')
    text = text.replace("return r", "s = R.add(r, x)\n        return s")
    assert [item.code.id for item in rxe.check(rxe.parse(text)) if item.is_error] == ["RX0213"]


def test_what_is_not_proven_is_checked_when_it_runs() -> None:
    text = program('cls.double, (z,), out_ty=R.Tensor((p, 6), "float32")')
    x, i = np.ones((2, 3), np.float32), np.ones((2, 3), np.int32)
    assert rxe.run(rxe.parse(text), "main", [x, i, x, x]).shape == (2, 6)
    with pytest.raises(rxe.Failure) as caught:
        rxe.run(rxe.parse(text), "main", [x, i, x, np.ones((2, 4), np.float32)])
    said = caught.value.diagnostics[0]
    assert said.code.id == "RX0507"
    assert "a length of buffer B is 6, m * 2 = 8 is needed" in said.message
    assert said.labels[-1].text == "in this PrimFunc"


SCALARS = """
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def first(a: T.handle, k: T.int64, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "int64")
        B = T.match_buffer(b, (n,), "int64")
        B[0] = A[0] + k
    @T.prim_func(private=True, s_tir=True)
    def last(a: T.handle, b: T.handle, k: T.int64):
        A = T.match_buffer(a, (k,), "int64")
        B = T.match_buffer(b, (k,), "int64")
        B[0] = A[0]
    @T.prim_func(private=True, s_tir=True)
    def length(a: T.handle, k: T.int64, b: T.handle):
        A = T.match_buffer(a, (2,), "int64")
        B = T.match_buffer(b, (k,), "int64")
        B[0] = A[0]
    @T.prim_func(private=True, s_tir=True)
    def inc(a: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "int64")
        A[0] = A[0] + T.int64(1)
    @T.prim_func(private=True, s_tir=True)
    def fill(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "int64")
        B = T.match_buffer(b, (n,), "int64")
        A[0] = B[0]
    @R.function
    def main(x: R.Tensor((2,), "int64"), i: R.Prim("int64"), j: R.Prim("int32"), f: R.Prim("float32"), o: R.Object,
             s: R.Shape(["m"]), t: R.Shape(ndim=1), u: R.Shape(ndim=2), w: R.Shape):
        m = T.int64()
        cls = Module
        r = R.call_tir(CALL)
        return r
"""
TWO = 'out_ty=R.Tensor((2,), "int64")'
THREE = 'out_ty=R.Tensor((3,), "int64")'
FITS = {
    "a number": f"cls.first, (x, R.prim_value(3)), {TWO}",
    "a scalar": f"cls.first, (x, i), {TWO}",
    "a number apart": f"cls.first, (x,), {TWO}, tir_vars=R.shape([3])",
    "a length apart": f"cls.first, (x,), {TWO}, tir_vars=s",
    "an unknown number apart": f"cls.first, (x,), {TWO}, tir_vars=t",
    "unknown numbers apart": f"cls.first, (x,), {TWO}, tir_vars=w",
    "the length of a buffer": f"cls.last, (x,), {TWO}, tir_vars=R.shape([2])",
    "a length that may be that of a buffer": f"cls.last, (x,), {TWO}, tir_vars=R.shape([m])",
    "a number that may be that of a buffer": f"cls.length, (x, R.prim_value(2)), {TWO}",
    "in place": f"cls.inc, (x,), inplace_indices=[0], {TWO}",
    "the last in place": f"cls.first, (x, R.prim_value(3), x), inplace_indices=[2], {TWO}",
    "none but one in place": f"cls.first, (x, R.prim_value(3)), inplace_indices=[0, -1], out_ty=[{TWO[7:]}, {TWO[7:]}]",
}
# For each: the code and its level in the profile `tvm`, the message, the help, the labels.
DIFFERS = {
    "a float": (
        f"cls.first, (x, f), {TWO}",
        "RX0213",
        "error",
        "args[1] is T.float32, parameter 2 of first is T.int64",
        "pass T.int64",
        ["this is T.float32"],
    ),
    "a narrower number": (
        f"cls.first, (x, j), {TWO}",
        "RX0213",
        "error",
        "args[1] is T.int32, parameter 2",
        "pass T.int64",
        ["this is T.int32"],
    ),
    "a tensor for a number": (
        f"cls.first, (x, x), {TWO}",
        "RX0213",
        "error",
        "parameter 2 of first is T.int64",
        "pass T.int64",
        ['this is R.Tensor((2,), dtype="int64")'],
    ),
    "a number for a tensor": (
        f"cls.first, (i, i), {TWO}",
        "RX0213",
        "error",
        "args[0] is T.int64, parameter 1 of first is",
        "pass R.Tensor",
        ["this is T.int64"],
    ),
    "anything for a number": (
        f"cls.first, (x, o), {TWO}",
        "RX0213",
        "error",
        "args[1] is R.Any, parameter 2",
        "R.match_cast(…, T.int64)",
        ["this is R.Any"],
    ),
    "too many numbers apart": (
        f"cls.first, (x,), {TWO}, tir_vars=u",
        "RX0212",
        "error",
        "passes 3 and allocates 1",
        "in their order",
        ["3 passed here"],
    ),
    "another length apart": (
        f"cls.last, (x,), {TWO}, tir_vars=R.shape([3])",
        "RX0219",
        "warning",
        "tir_vars[0] is 3, parameter 3 of last needs k = 2",
        "pass 2, a T.int64",
        ["this is T.int64"],
    ),
    "an output of another length": (
        f"cls.last, (x,), {THREE}, tir_vars=R.shape([2])",
        "RX0213",
        "error",
        "out_ty, dimension 0 is 3, parameter 2 of last needs k = 2",
        "declare in out_ty",
        [],
    ),
    "an output of another length than a number": (
        f"cls.length, (x, R.prim_value(3)), {TWO}",
        "RX0219",
        "warning",
        "dimension 0 is 2, parameter 3 of length needs k = 3",
        "declare in out_ty",
        [],
    ),
    "outputs of different lengths": (
        f"cls.fill, (), out_ty=[{TWO[7:]}, {THREE[7:]}]",
        "RX0219",
        "warning",
        "out_ty[1], dimension 0 is 3, parameter 2 of fill needs n = 2",
        "declare in out_ty",
        [],
    ),
    "a scalar as output": (
        f"cls.last, (x,), out_ty=[{TWO[7:]}, R.Prim('int64')]",
        "RX0213",
        "error",
        "out_ty has T.int64",
        "R.Tensor((…), dtype)",
        [],
    ),
    "one too many in place": (
        f"cls.inc, (x,), inplace_indices=[0, -1], out_ty=[{TWO[7:]}, {TWO[7:]}]",
        "RX0212",
        "error",
        "passes 1 and allocates 1",
        "in their order",
        ["1 passed here"],
    ),
    "another one in place": (
        f"cls.first, (x, i), inplace_indices=[-1, 0], out_ty=[{THREE[7:]}, {TWO[7:]}]",
        "RX0213",
        "error",
        "out_ty[0], dimension 0 is 3",
        "declare in out_ty",
        [],
    ),
}


def said(call: str, profile: str = "spec") -> list[Diagnostic]:
    text = SCALARS.replace("CALL", call)
    text = text.replace("R.call_tir(", "R.call_tir_inplace(") if "inplace" in call else text
    return rxe.check(text, profile)


@pytest.mark.parametrize("call", FITS.values(), ids=FITS)
def test_scalars_and_outputs_in_place_that_fit(call: str) -> None:
    assert said(call) == []


@pytest.mark.parametrize("row", DIFFERS.values(), ids=DIFFERS)
def test_scalars_and_outputs_in_place_that_do_not(row: tuple[str, str, str, str, str, list[str]]) -> None:
    call, code, lenient, words, help, labels = row
    (found,) = said(call)
    assert (found.code.id, str(found.level)) == (code, "error")
    assert [str(item.level) for item in said(call, "tvm")] == [lenient]
    assert words in found.message
    assert help in found.help
    assert [label.text for label in found.labels if not label.primary] == labels


def test_every_call_of_the_corpus_fits() -> None:
    calls = 0
    for path in sorted(CORPUS.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "R.call_tir(" not in text:
            continue
        calls += text.count("R.call_tir(")
        found = rxe.check(rxe.parse(text), profile="tvm")
        wrong = [
            str(item) for item in found if item.code.id in {"RX0212", "RX0213", "RX0214", "RX0218", "RX0219"}
        ]
        assert wrong == [], path
    assert calls > 900
