"""A length that does not fit a buffer of a PrimFunc is explained back to the inputs."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe

HEAD = """
@I.ir_module
class M:
    @T.prim_func
    def add(a: T.handle, b: T.handle, c: T.handle):
        T.func_attr({"global_symbol": "add"})
        n = T.int64()
        A = T.match_buffer(a, (n, 2), "float32")
        B = T.match_buffer(b, (n * 2, 2), "float32")
        C = T.match_buffer(c, (n, 2), "float32")
        for i, j in T.grid(n, 2):
            C[i, j] = A[i, j] + B[i * 2, j]

    @T.prim_func
    def first(a: T.handle, k: T.int64, c: T.handle):
        T.func_attr({"global_symbol": "first"})
        n = T.int64()
        A = T.match_buffer(a, (n, 2), "float32")
        C = T.match_buffer(c, (k, 2), "float32")
        for i, j in T.grid(k, 2):
            C[i, j] = A[i, j]

    @R.function
    def main(x: R.Tensor(("n", 2), "float32"), y: R.Tensor(("m", 2), "float32")):
        cls = M
        z = cls.inner(y, x)
        return z

    @R.function(pure=False)
    def inner(p: R.Tensor(("k", 2), "float32"), q: R.Tensor(("l", 2), "float32")):
        k = T.int64()
        l = T.int64()
        cls = M
"""
CALLS = {
    "call_tir": ["z = R.call_tir(cls.add, (q, p), out_sinfo=R.Tensor((l, 2), 'float32'))"],
    "a call": ["z = R.zeros(R.shape([l, 2]), 'float32')", "u = cls.add(q, p, z)"],
    "a packed call": [
        "z = R.zeros(R.shape([l, 2]), 'float32')",
        "u = R.call_packed('add', q, p, z, sinfo_args=[R.Tuple()])",
    ],
}


def said(lines: list[str], n: int = 3, m: int = 4) -> tuple[str, ...]:
    text = HEAD + "".join(f"        {line}\n" for line in [*lines, "return z"])
    with pytest.raises(rxe.Failure) as caught:
        rxe.run(rxe.parse(text), "main", [np.zeros((n, 2), np.float32), np.zeros((m, 2), np.float32)])
    return caught.value.diagnostics[0].notes


@pytest.mark.parametrize("lines", CALLS.values(), ids=CALLS.keys())
def test_the_chain_goes_back_to_both_inputs(lines: list[str]) -> None:
    assert said(lines)[:-2] == (
        "B.shape[0] of add must be n * 2 = 6, is 4",
        "n = 3 ← A.shape[0] in add",
        "A is q of inner",
        "q.shape[0] is l = 3 in inner",
        "l = 3 ← q.shape[0] in inner",
        "x.shape[0] is n = 3 in main",
        "n = 3 ← x.shape[0] in main",
        "B is p of inner",
        "p.shape[0] is k = 4 in inner",
        "k = 4 ← p.shape[0] in inner",
        "y.shape[0] is m = 4 in main",
        "m = 4 ← y.shape[0] in main",
    )


def test_a_length_that_was_passed_as_a_number() -> None:
    notes = said(
        [
            "z = R.zeros(R.shape([l, 2]), 'float32')",
            "u = cls.first(q, k, z)".replace("k,", "R.prim_value(k),"),
        ]
    )
    assert notes[:2] == ("C.shape[0] of first must be k = 4, is 3", "k = 4 ← k in first")
    assert "C is z of inner" in notes
    assert "y.shape[0] is m = 4 in main" in notes


def test_an_output_of_another_length() -> None:
    notes = said(["z = R.call_tir(cls.add, (q, p), out_sinfo=R.Tensor((k, 2), 'float32'))"], n=3, m=6)
    assert notes[0] == "C.shape[0] of add must be n = 3, is 6"
    assert "C is the result of inner" in notes
    assert "the result.shape[0] is k = 6 in inner" in notes


def test_a_step_of_the_debugger_into_it_says_the_same() -> None:
    text = HEAD + "".join(f"        {line}\n" for line in [*CALLS["call_tir"], "return z"])
    debugger = rxe.debug(
        rxe.parse(text), "main", [np.zeros((3, 2), np.float32), np.zeros((4, 2), np.float32)]
    )
    debugger.step()
    with pytest.raises(rxe.Failure) as caught:
        debugger.enter()
    assert caught.value.diagnostics[0].message.endswith("a length of buffer B is 4, n * 2 = 6 is needed")
    assert debugger.inside is None
