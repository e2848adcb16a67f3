"""PrimFuncs whose code is the same share it; those that differ in what runs do not."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec.compiled_kernel import compile_prim_func
from relax_explorer.core.exec.kernel_code import Code

PLAIN = """
@T.prim_func(private=True)
def f(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
    T.func_attr({"op_pattern": 0})
    for i in range(6):
        with T.sblock("compute"):
            v = T.axis.spatial(6, i)
            T.reads(A[v])
            T.writes(B[v])
            B[v] = A[v] + 3
"""
SAME = {
    "attributes": ('{"op_pattern": 0}', '{"op_pattern": 8, "tirx.noalias": True, "global_symbol": "g"}'),
    "a name": ("A", "weights"),
    "the name of a block": ('"compute"', '"other"'),
    "what a block reads": ("T.reads(A[v])", "T.reads(A[0:6])"),
    "an annotation of a block": ("T.reads(A[v])", 'T.reads(A[v])\n            T.sblock_attr({"seen": 1})'),
    "an annotation of a loop": ("range(6)", 'T.serial(6, annotations={"seen": 1})'),
}
INT32 = ("int32", "int32")
OTHER: dict[str, tuple[str, str, Callable[[int], int], tuple[str, str]]] = {
    "a dtype": ("int32", "int8", lambda k: k + 3, ("int8", "int8")),
    "the dtype of an operator": ("A[v] + 3", 'T.Cast("int32", T.Cast("int8", A[v]) + T.int8(125))', lambda k: k + 125 - 256 * (k > 2), INT32),
    "a loop bound": ("range(6)", "range(5)", lambda k: (k + 3) * (k < 5), INT32),
    "an operator": ("A[v] + 3", "A[v] * 3", lambda k: k * 3, INT32),
    "a number": ("A[v] + 3", "A[v] + 4", lambda k: k + 4, INT32),
    "an index": ("B[v] = A[v]", "B[v] = A[5 - v]", lambda k: 8 - k, INT32),
}  # fmt: skip


def code_of(text: str, dtypes: tuple[str, str], cache: Path | None = None) -> tuple[Code, list[int]]:
    """The code of a PrimFunc after a call, and the result of the call."""
    kernel = compile_prim_func(rxe.parse(text)["f"], cache)
    result = np.zeros(6, dtypes[1])
    kernel(np.arange(6, dtype=dtypes[0]), result)
    assert kernel.code is not None
    return kernel.code, result.tolist()


@pytest.mark.parametrize("change", SAME)
def test_what_does_not_change_the_code_shares_it(change: str, tmp_path: Path) -> None:
    first, wanted = code_of(PLAIN, ("int32", "int32"), tmp_path)
    before = sorted(tmp_path.rglob("*"))
    second, found = code_of(PLAIN.replace(*SAME[change]), ("int32", "int32"), tmp_path)
    assert found == wanted
    assert second.texts == first.texts
    assert second.compiling == 0
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("change", OTHER)
def test_what_changes_the_code_has_its_own(change: str) -> None:
    old, new, value, dtypes = OTHER[change]
    first, _ = code_of(PLAIN, ("int32", "int32"))
    second, found = code_of(PLAIN.replace(old, new), dtypes)
    assert found == [value(k) for k in range(6)]
    assert second.texts != first.texts
