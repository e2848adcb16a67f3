"""Calls of PrimFuncs with destinations: what is said of arguments that don't fit, and what is left to the run."""

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
# The rest of the call, the code, what the message says.
WRONG = [
    ('cls.double, (), out_ty=R.Tensor((2, 6), "float32")', "RX0212", "double takes 2 parameters; the call gives 0 and allocates 1"),
    ('cls.double, (x, x), out_ty=R.Tensor((2, 6), "float32")', "RX0212", "the call gives 2 and allocates 1"),
    ('cls.double, (x,), out_ty=[R.Tensor((2, 6), "float32"), R.Tensor((2, 6), "float32")]', "RX0212", "the call gives 1 and allocates 2"),
    ('cls.double, (i,), out_ty=R.Tensor((2, 6), "float32")', "RX0213", 'args[0] is R.Tensor((2, 3), dtype="int32"), parameter 1 of double is'),
    ('cls.double, (o,), out_ty=R.Tensor((2, 6), "float32")', "RX0213", "args[0] is R.Any, parameter 1 of double is"),
    ('cls.double, (x,), out_ty=R.Tensor((2, 6), "float16")', "RX0213", 'out_ty is R.Tensor((2, 6), dtype="float16"), parameter 2 of double'),
    ('cls.double, (x,), out_ty=R.Tensor((12,), "float32")', "RX0213", "out_ty is R.Tensor((12,)"),
    ('cls.double, (x,), out_ty=R.Tensor((2, 5), "float32")', "RX0213", "out_ty, dimension 1 is 5, parameter 2 of double needs m * 2 = 6"),
    ('cls.double, (x,), out_ty=R.Tensor((2, 6), "float32"), tir_vars=R.shape([2])', "RX0212", "the call gives 2 and allocates 1"),
    ('cls.other, (x,), out_ty=R.Tensor((2, 6), "float32")', "RX0214", "func is other, a Relax function; a PrimFunc"),
]  # fmt: skip


def program(call: str) -> str:
    """The program with a call."""
    return HEAD.replace("CALL", call)


def problems(call: str) -> list[Diagnostic]:
    """What is said about the call."""
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
