"""PrimFuncs compiled by numba: exact TIR arithmetic, no access outside a buffer, no name of the program in the generated text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec.compiled_kernel import Kernel, Variables, compile_prim_func
from relax_explorer.core.exec.kernel_code import Code
from relax_explorer.core.exec.loop_statements import translate
from relax_explorer.core.exec.loop_text import source
from relax_explorer.core.exec.machine_code import _TEXTS
from relax_explorer.core.program.prim_func_equal import prim_func_equal, prim_func_hash
from tests.support.roundtrip import STAGES, module


def binary(expression: str, kind: str = "int32", size: int = 4) -> Any:
    """A PrimFunc of two vectors: `expression` of a and b, element by element."""
    value = re.sub(r"\b([ab])\b", lambda match: f"{match[1].upper()}[v]", expression)
    text = f"""
@T.prim_func(s_tir=True)
def f(A: T.Buffer(({size},), "{kind}"), B: T.Buffer(({size},), "{kind}"), C: T.Buffer(({size},), "{kind}")):
    for i in range({size}):
        with T.sblock("c"):
            v = T.axis.spatial({size}, i)
            C[v] = {value}
"""
    return rxe.parse(text)["f"]


SEVEN, TWO = np.array([7, -7, 7, -7], np.int32), np.array([2, 2, -2, -2], np.int32)
# What TVM 0.27 computes for llvm on a CPU.
ARITHMETIC = {
    "a // b": [3, -4, -4, 3],
    "a % b": [1, 1, -1, -1],
    "T.Div(a, b)": [3, -3, -3, 3],
    "T.truncmod(a, b)": [1, -1, 1, -1],
    "T.max(a, b)": [7, 2, 7, -2],
    "T.min(a, b)": [2, -7, -2, -7],
}


@pytest.mark.parametrize("expression", ARITHMETIC)
def test_integer_arithmetic(expression: str) -> None:
    out = np.zeros(4, np.int32)
    compile_prim_func(binary(expression))(SEVEN, TWO, out)
    assert out.tolist() == ARITHMETIC[expression]


def test_integers_wrap_at_their_width() -> None:
    out = np.zeros(4, np.int32)
    compile_prim_func(binary("a + b"))(np.full(4, 2**31 - 1, np.int32), np.ones(4, np.int32), out)
    assert out.tolist() == [-(2**31)] * 4
    small = np.zeros(4, np.uint8)
    compile_prim_func(binary("a + b", "uint8"))(np.full(4, 200, np.uint8), np.full(4, 100, np.uint8), small)
    assert small.tolist() == [44] * 4


def test_comparison_with_nan_takes_the_second_operand() -> None:
    out = np.zeros(4, np.float32)
    nan = np.array([np.nan, 1, 0.0, 2], np.float32)
    one = np.array([1, np.nan, -0.0, 1], np.float32)
    compile_prim_func(binary("T.max(a, b)", "float32"))(nan, one, out)
    assert out[0] == 1
    assert np.isnan(out[1])
    assert np.signbit(out[2])


def test_rounding_is_half_to_even() -> None:
    out = np.zeros(4, np.float32)
    compile_prim_func(binary("T.round(a) + b", "float32"))(
        np.array([0.5, 1.5, 2.5, -0.5], np.float32), np.zeros(4, np.float32), out
    )
    assert out.tolist() == [0, 2, 2, 0]


@pytest.mark.parametrize(
    ("expression", "error", "words"),
    [
        ("a // b", rxe.Failure, "a divisor is 0"),
        ("A[b]", rxe.Failure, "an index of buffer A is 9, its axis 0 has length 4"),
        ("A[v - 1]", rxe.Failure, "an index of buffer A is -1, its axis 0 has length 4"),
    ],
)
def test_traps(expression: str, error: type[Exception], words: str) -> None:
    fn = binary(expression)
    with pytest.raises(error, match=words):
        compile_prim_func(fn)(np.zeros(4, np.int32), np.array([0, 9, -5, 0], np.int32), np.zeros(4, np.int32))


def test_arguments_are_checked_before_the_loops_run() -> None:
    kernel = compile_prim_func(binary("a + b"))
    good = np.zeros(4, np.int32)
    for bad, code in (
        (np.zeros(5, np.int32), "RX0507"),
        (np.zeros(4, np.int64), "RX0501"),
        (np.zeros((4, 1), np.int32), "RX0501"),
        (3, "RX0501"),
    ):
        with pytest.raises(rxe.Failure) as caught:
            kernel(good, bad, good.copy())
        assert caught.value.diagnostics[0].code.id == code


def test_no_name_and_no_string_of_the_program_gets_into_the_text() -> None:
    text = binary("a + b")
    made = source(translate(text).routine)
    renamed = rxe.parse(
        "@T.prim_func(s_tir=True)\n"
        'def evil(__import__: T.Buffer((4,), "int32"), exec: T.Buffer((4,), "int32"), os: T.Buffer((4,), "int32")):\n'
        "    for system in range(4):\n"
        '        with T.sblock("\\");import os#"):\n'
        "            shutil = T.axis.spatial(4, system)\n"
        "            os[shutil] = __import__[shutil] + exec[shutil]\n"
    )["evil"]
    assert source(translate(renamed).routine) == made
    assert prim_func_equal(renamed, renamed)


def test_narrow_floats_are_computed_as_float32() -> None:
    import ml_dtypes

    for kind in (np.float16, ml_dtypes.bfloat16):
        name = np.dtype(kind).name
        out = np.zeros(4, kind)
        compile_prim_func(binary("a * b", name))(
            np.array([1.5, 2, 3, 4]).astype(kind), np.full(4, 0.5).astype(kind), out
        )
        assert out.astype(np.float32).tolist() == [0.75, 1, 1.5, 2]


@pytest.mark.parametrize(("by_numba", "suffixes"), [(False, {".o"}), (True, {".nbi", ".nbc"})])
def test_a_damaged_cache_is_made_anew(tmp_path: Path, by_numba: bool, suffixes: set[str]) -> None:
    fn = binary("a * b + a", "float32")
    a, b, out = SEVEN.astype(np.float32), TWO.astype(np.float32), np.zeros(4, np.float32)
    _TEXTS.clear()  # as in a new process
    Kernel(fn, Code(fn, tmp_path, by_numba), Variables.of(fn))(a, b, out)
    files = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.suffix in suffixes}
    assert {path.suffix for path in files} == suffixes, "the machine code is kept on disk"
    _TEXTS.clear()
    Kernel(fn, Code(fn, tmp_path, by_numba), Variables.of(fn))(a, b, out)
    assert all(path.stat().st_mtime_ns == when for path, when in files.items()), "it is read again"
    for path in files:
        path.write_bytes(path.read_bytes()[:-9])
    out[:] = 0
    _TEXTS.clear()
    Kernel(fn, Code(fn, tmp_path, by_numba), Variables.of(fn))(a, b, out)
    assert out.tolist() == [21, -21, -7, 7]


def test_machine_code_that_others_can_write_to_is_not_loaded(tmp_path: Path) -> None:
    fn, out = binary("a * b - a"), np.zeros(4, np.int32)
    _TEXTS.clear()
    Kernel(fn, Code(fn, tmp_path), Variables.of(fn))(SEVEN, TWO, out)
    (kept,) = tmp_path.glob("*.o")
    other = binary("a + b")
    Kernel(other, Code(other, tmp_path), Variables.of(other))(SEVEN, TWO, out)
    (planted,) = set(tmp_path.glob("*.o")) - {kept}
    kept.write_bytes(planted.read_bytes())
    kept.chmod(0o666)
    _TEXTS.clear()
    Kernel(fn, Code(fn, tmp_path), Variables.of(fn))(SEVEN, TWO, out)
    assert out.tolist() == (SEVEN * TWO - SEVEN).tolist()
    assert kept.stat().st_mode & 0o777 == 0o600


POINTERS = {
    "a view of the same shape": "B = T.decl_buffer((2, 3), 'int32', data=A.data)\nB[1, 2] = B[0, 1] + 10",
    "a view of another shape": "B = T.decl_buffer((6,), 'int32', data=A.data)\nB[5] = B[1] + 10",
    "a view of a part": "B = T.decl_buffer((2,), 'int32', data=A.data, elem_offset=4)\nB[1] = A[0, 1] + 10",
    "a view through a pointer": (
        "p: T.let[T.handle('int32', 'global')] = A.data\n"
        "B = T.decl_buffer((3, 2), 'int32', data=p)\nB[2, 1] = B[0, 1] + 10"
    ),
    "a view of a view": (
        "B = T.decl_buffer((6,), 'int32', data=A.data)\n"
        "C = T.decl_buffer((3, 2), 'int32', data=B.data)\nC[2, 1] = C[0, 1] + 10"
    ),
}


def test_several_are_assigned_at_once() -> None:
    fn = rxe.parse(view_program("a, b = A[0, 1] * 2, A[0, 2] * 3\nA[1, 0], A[1, 1] = b, a"))["f"]
    values = np.arange(6, dtype=np.int32).reshape(2, 3)
    compile_prim_func(fn)(values)
    assert values.tolist() == [[0, 1, 2], [6, 2, 5]]


def test_a_scalar_is_assigned_to_again() -> None:
    body = "b: T.int32 = 0\nc = A[0, 1]\nwhile b < 3:\n    A[1, b] = c\n    c = c * 2\n    b += 1"
    values = np.arange(6, dtype=np.int32).reshape(2, 3)
    compile_prim_func(rxe.parse(view_program(body))["f"])(values)
    assert values.tolist() == [[0, 1, 2], [1, 2, 4]]


def test_a_scalar_without_a_value_and_a_vector() -> None:
    body = "b: T.int32\nx: T.int32[2]\nx[1] = 5\nb = x[1]\nA[0, 0] = b"
    values = np.zeros((2, 3), np.int32)
    compile_prim_func(rxe.parse(view_program(body))["f"])(values)
    assert values[0, 0] == 5


@pytest.mark.parametrize(
    "line",
    [
        "v = T.axis.spatial(4, A[0, 0])",
        "T.reads(A[0, 0])",
        "T.where(A[0, 0] > 0)",
        'T.sblock_attr({"unroll": 1})',
        'B = T.match_buffer(A[0:2, 0:3], (2, 3), "int32")\nB[0, 0] = 1',
        'B = T.match_buffer(A, (2, 3), "int32")\nB[0, 0] = 1',
    ],
)
def test_what_is_said_of_a_block_stands_in_one(line: str) -> None:
    with pytest.raises(rxe.Failure, match=r"T\.\S+.* describes a block, but it is not inside one") as caught:
        rxe.parse(view_program(line).replace("@T.prim_func", "@T.prim_func(s_tir=True)"))
    assert len(caught.value.diagnostics) == 1


@pytest.mark.parametrize(
    "value", ["T.Cast('int32x4', A[0, 0])", "T.Cast('int32', T.int32x4(1))", "T.int64x8(T.int32x4(1))"]
)
def test_a_cast_keeps_the_number_of_lanes(value: str) -> None:
    with pytest.raises(rxe.Failure, match="is not an expression of a PrimFunc"):
        rxe.parse(view_program(f"A[0, 0] = {value}"))


@pytest.mark.parametrize(
    "declaration", ["w = T.int64(1)", "w: T.let = T.int64(1)", "w: T.int64 = T.int64(1)"]
)
@pytest.mark.parametrize(
    "use",
    [
        "u = T.axis.spatial(T.int64(4), w)",
        "T.where(w < T.int64(1))",
        "T.reads(A[w, 0])",
        "T.writes(A[0, w])",
        'B = T.sblock_alloc_buffer((w,), "int32")',
        'B = T.match_buffer(A[0:w, 0:1], (1, 1), "int32")',
        "with T.init():\n    A[w, 0] = 0",
        "with T.init():\n    if A[0, 0] > 0:\n        A[0, 0] = T.Cast('int32', w)",
    ],
)
def test_the_head_of_a_block_uses_nothing_of_its_body(declaration: str, use: str) -> None:
    def program(*lines: str) -> str:
        body = "\n".join(lines).replace("\n", "\n    ")
        return view_program(f'with T.sblock("b"):\n    {body}').replace("prim_func", "prim_func(s_tir=True)")

    with pytest.raises(rxe.Failure, match="the head of this block uses 'w', which only its body declares"):
        rxe.parse(program(declaration, use, "A[0, 0] = 1"))
    rxe.parse(program(declaration, "A[w, 0] = 1"))
    before = view_program(f'{declaration}\nwith T.sblock("b"):\n    ' + use.replace("\n", "\n    "))
    rxe.parse(before.replace("prim_func", "prim_func(s_tir=True)") + "        A[0, 0] = 1\n")


def view_program(body: str) -> str:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f'@T.prim_func\ndef f(A: T.Buffer((2, 3), "int32")):\n{lines}'


@pytest.mark.parametrize("body", POINTERS.values(), ids=POINTERS)
def test_a_view_is_the_memory_it_shows(body: str) -> None:
    module = rxe.parse(view_program(body))
    assert rxe.parse(module.script()).script() == module.script()
    values = np.arange(6, dtype=np.int32).reshape(2, 3)
    compile_prim_func(module["f"])(values)
    assert values.tolist() == [[0, 1, 2], [3, 4, 11]]


@pytest.mark.parametrize("offset", ["", "elem_offset=4", "elem_offset=2"])
def test_a_view_of_a_part_counts_from_the_start_of_the_memory(offset: str) -> None:
    text = view_program(
        "P = T.decl_buffer((2,), 'int32', data=A.data, elem_offset=4)\n"
        f"B = T.decl_buffer((2,), 'int32', data=P.data, {offset})\nB[1] = 7"
    )
    fn, values = rxe.parse(text)["f"], np.zeros((2, 3), np.int32)
    if offset != "elem_offset=4":
        with pytest.raises(rxe.Failure, match="has no translation"):
            compile_prim_func(fn)
        return
    compile_prim_func(fn)(values)
    assert values.tolist() == [[0, 0, 0], [0, 0, 7]]


def test_what_is_written_through_a_view_of_a_small_float_is_kept() -> None:
    body = "B = T.decl_buffer((6,), 'float16', data=A.data)\nB[5] = B[1] + T.float16(10)"
    values = np.arange(6, dtype=np.float16).reshape(2, 3)
    compile_prim_func(rxe.parse(view_program(body).replace("int32", "float16"))["f"])(values)
    assert values.tolist() == [[0, 1, 2], [3, 4, 11]]


def test_a_view_beyond_its_memory_is_refused() -> None:
    fn = rxe.parse(view_program("B = T.decl_buffer((7,), 'int32', data=A.data)\nB[6] = 1"))["f"]
    with pytest.raises(rxe.Failure, match="a view reaches beyond its memory"):
        compile_prim_func(fn)(np.zeros((2, 3), np.int32))


@pytest.mark.parametrize("options", ["data=A.data, strides=(2,)", "data=A.data", "data=H"])
def test_a_view_that_has_no_translation_is_refused(options: str) -> None:
    dtype = "float32" if "strides" not in options else "int32"
    text = view_program(f"B = T.decl_buffer((3,), '{dtype}', {options})\nB[0] = T.{dtype}(1)")
    fn = rxe.parse(
        text.replace('"int32"))', '"int32"), H: T.handle)').replace('"int32"):', '"int32"), H: T.handle):')
    )["f"]
    with pytest.raises(rxe.Failure, match="B, a view with strides or of another dtype, has no translation"):
        compile_prim_func(fn)


def test_what_has_no_translation_is_named() -> None:
    fn = rxe.parse(
        '@T.prim_func\ndef f(A: T.Buffer((4,), "int32")):\n    A[0] = T.tvm_struct_get(A.data, 0, 1)\n'
    )["f"]
    with pytest.raises(rxe.Failure, match=r"T\.tvm_struct_get|BufferPtr"):
        compile_prim_func(fn)


def test_every_prim_func_up_to_fusion_compiles() -> None:
    seen: set[int] = set()
    for path in STAGES:
        if int(path.name[:2]) > 12:
            continue
        for fn in module(path).functions.values():
            if type(fn).__name__ == "PrimFunc" and prim_func_hash(fn) not in seen:
                seen.add(prim_func_hash(fn))
                assert "def kernel(" in source(translate(fn).routine)
    assert len(seen) > 150
