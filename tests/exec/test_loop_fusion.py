"""Stages in common loops: the same values, and loops only where each iteration has its own slice."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec import kernel_code, loop_nests
from relax_explorer.core.exec.compiled_kernel import compile_prim_func, uncompiled
from relax_explorer.core.exec.loop_fusion import forwarded, fused
from relax_explorer.core.exec.loop_statements import translate
from relax_explorer.core.exec.loop_text import source
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ops.kit import ndarrays
from relax_explorer.core.tir.stmt import AllocBuffer, For, PrimFunc
from relax_explorer.core.tir.traverse import statements

HEAD = """
@T.prim_func
def f(A: T.Buffer((6, 70), "float32"), B: T.Buffer((6, 70), "float32")):
    with T.sblock("root"):
        {buffers}
{stages}
"""
STAGE = """
        for i, j in T.grid({loops}):
            with T.sblock("stage"):
                v_i, v_j = T.axis.remap("{kinds}", [i, j])
                {body}
"""


def program(
    *stages: tuple[str, str] | tuple[str, str, str], buffers: str = "T0 = T.alloc_buffer((6, 70))"
) -> PrimFunc:
    """Stages of a body and the kinds of its axes; a third part are the loops."""
    texts = []
    for body, kinds, *loops in stages:
        text = STAGE.replace("{loops}", loops[0] if loops else "6, 70").replace("{kinds}", kinds)
        texts.append(text.replace("{body}", body.replace("; ", "\n                ")))
    found = rxe.parse(
        HEAD.replace("{buffers}", buffers.replace("; ", "\n        ")).replace("{stages}", "".join(texts))
    )["f"]
    assert type(found) is PrimFunc
    return found


def loops(fn: PrimFunc) -> int:
    return sum(type(node) is For for node in statements(fn.body))


def same(fn: PrimFunc, exact: bool = True) -> bool:
    """LLVM, numba and the reference evaluator, which knows no fusion, give the same."""
    values = np.random.default_rng(1).standard_normal((6, 70)).astype(np.float32)
    found = []
    for kernel in (compile_prim_func(fn), compile_prim_func(fn, by_numba=True), uncompiled(fn)):
        result = np.zeros_like(values)
        kernel(np.array(values), result)
        found.append(result)
    assert found[0].tobytes() == found[1].tobytes()
    return found[0].tobytes() == found[2].tobytes() if exact else np.allclose(found[0], found[2], 1e-5, 1e-6)


FIRST = ("T0[v_i, v_j] = A[v_i, v_j] + T.float32(1)", "SS")
LAST = ("B[v_i, v_j] = T0[v_i, v_j] * A[v_i, v_j]", "SS")
ROW = "with T.init():; {4}S[v_i] = T.float32(0); S[v_i] = S[v_i] + A[v_i, v_j]".replace("{4}", "    ")
SUM_OF_COLUMN = "with T.init():; {4}S[v_i] = T.float32(0); S[v_i] = S[v_i] + A[v_j, v_i]".replace(
    "{4}", "    "
)


@pytest.mark.parametrize("how", ["T.alloc_buffer", "T.sblock_alloc_buffer"])
def test_a_chain_is_one_nest_without_memory(how: str) -> None:
    fn = program(FIRST, LAST, buffers=f"T0 = {how}((6, 70))")
    assert loops(fused(fn)) == 2
    assert "allocated" not in source(translate(fused(fn)).routine).split("def kernel")[1]
    assert same(fn)


def test_a_stage_that_two_others_read_is_computed_once() -> None:
    middle = ("T1[v_i, v_j] = T0[v_i, v_j] * T0[v_i, v_j]", "SS")
    last = ("B[v_i, v_j] = T1[v_i, v_j] - T0[v_i, v_j]", "SS")
    fn = program(FIRST, middle, last, buffers="T0 = T.alloc_buffer((6, 70)); T1 = T.alloc_buffer((6, 70))")
    assert loops(fused(fn)) == 2
    assert source(translate(fused(fn)).routine).count("1.0") == 1
    assert same(fn)


def test_rows_share_the_loop_around_them() -> None:
    last = ("B[v_i, v_j] = A[v_i, v_j] / S[v_i]", "SS")
    fn = program((ROW, "SR"), last, buffers="S = T.alloc_buffer((6,))")
    assert loops(fused(fn)) == 3
    assert same(fn, exact=False)  # the sum runs in lanes


def test_a_transposed_buffer_is_sliced_along_another_dimension() -> None:
    first = ("T0[v_j, v_i] = A[v_i, v_j] + T.float32(1)", "SS")
    last = ("B[v_i, v_j] = T0[v_j, v_i] * A[v_i, v_j]", "SS")
    fn = program(first, last, buffers="T0 = T.alloc_buffer((70, 6))")
    assert loops(fused(fn)) == 2
    assert same(fn)


WINDOWS = """
        for i, j, k in T.grid(6, 70, {extent}):
            with T.sblock("windows"):
                v_i, v_j, v_k = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    B[v_i, v_j] = T.float32(0)
                B[v_i, v_j] = B[v_i, v_j] + T.if_then_else(v_i >= v_k, T0[v_i * 1 - v_k, v_j], T.float32(3))
"""


@pytest.mark.parametrize(("extent", "loops_then"), [(1, 4), (2, 5), (0, 5)])
def test_an_axis_of_one_place_moves_no_slice(extent: int, loops_then: int) -> None:
    buffers, first = (
        "T0 = T.alloc_buffer((6, 70))",
        STAGE.replace("{body}", FIRST[0]).replace("{kinds}", "SS"),
    )
    stages = first.replace("{loops}", "6, 70") + WINDOWS.replace("{extent}", str(extent))
    fn = rxe.parse(HEAD.replace("{buffers}", buffers).replace("{stages}", stages))["f"]
    assert type(fn) is PrimFunc
    assert loops(fused(fn)) == loops_then
    assert same(fn)


@pytest.mark.parametrize(("groups", "dims"), [(8, 2), (4, 3), (1, 3)])
def test_a_depthwise_convolution_keeps_the_border_of_one_channel(groups: int, dims: int) -> None:
    weight = f"(8, {8 // groups}, 3, 3)"
    text = f"""@R.function
def main(x: R.Tensor((1, 8, 9, 9), "float32"), w: R.Tensor({weight}, "float32")):
    return R.nn.conv2d(x, w, padding=[1, 1, 1, 1], groups={groups})
"""
    module = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "LegalizeOps")
    fn = next(item for item in module.functions.values() if type(item) is PrimFunc)
    nodes = [node for node in statements(fused(fn).body) if type(node) is AllocBuffer]
    found = [len(node.buffer.shape) for node in nodes] or [
        len(buffer.shape) - 1 for buffer in fused(fn).body.alloc_buffers
    ]
    assert found == [dims]


def test_outputs_may_be_slices_too() -> None:
    fn = program(
        ("B[v_i, v_j] = A[v_i, v_j]", "SS"), ("B[v_i, v_j] = B[v_i, v_j] * A[v_i, v_j]", "SS"), buffers="pass"
    )
    assert loops(fused(fn)) == 2
    assert same(fn)


APART = {
    "a neighbour is read": [FIRST, ("B[v_i, v_j] = T0[T.max(v_i - 1, 0), v_j]", "SS")],
    "the other dimension is read": [
        ("T1[v_i, v_j] = A[v_i, v_j] * T.float32(2)", "SS", "6, 6"), ("B[v_i, v_j] = T1[v_j, v_i]", "SS", "6, 6")
    ],
    "the diagonal is read": [("T1[v_i, v_j] = A[v_i, v_j] * T.float32(2)", "SS", "6, 6"), ("B[v_i, v_j] = T1[v_i, v_i]", "SS", "6, 6")],
    "one element is read": [FIRST, ("B[v_i, v_j] = T0[0, v_j]", "SS")],
    "fewer rows are read": [FIRST, ("B[v_i, v_j] = T0[v_i, v_j]", "SS", "5, 70")],
    "a sum goes along memory": [(SUM_OF_COLUMN, "SR", "70, 6"), ("B[v_j, v_i] = S[v_i]", "SS", "70, 1")],
    "a third stage needs the whole buffer": [FIRST, LAST, ("B[v_i, v_j] = T0[5 - v_i, v_j]", "SS", "3, 70")],
    "what is read is written later": [
        FIRST, ("B[v_i, v_j] = A[v_i, v_j] + B[5 - v_i, v_j]", "SS"), ("B[v_i, v_j] = T0[v_i, v_j]", "SS")
    ],
}  # fmt: skip


@pytest.mark.parametrize("stages", APART.values(), ids=APART)
def test_other_stages_stay_apart(stages: list[tuple[str, str]]) -> None:
    buffers = "T0 = T.alloc_buffer((6, 70)); T1 = T.alloc_buffer((6, 6)); S = T.alloc_buffer((70,))"
    fn = program(*stages, buffers=buffers)
    assert fused(fn) is fn
    assert same(fn)


def test_shared_memory_keeps_the_stages_apart() -> None:
    fn = program(FIRST, ("B[v_i, v_j] = T0[v_i, v_j] * A[v_i, v_j]", "SS"))
    memory = np.random.default_rng(2).standard_normal(6 * 70 + 1).astype(np.float32)
    one, two = memory.copy(), memory.copy()
    compile_prim_func(fn)(one[1:].reshape(6, 70), one[:-1].reshape(6, 70))
    uncompiled(fn)(two[1:].reshape(6, 70), two[:-1].reshape(6, 70))
    assert one.tobytes() == two.tobytes()


def test_a_kernel_that_may_stop_runs_stage_by_stage() -> None:
    """The first stage ends before the second one stops."""
    stages = (("B[v_i, v_j] = A[v_i, v_j]", "SS"), ("B[v_i, v_j] = A[T.Cast('int64', B[v_i, 0]), v_j]", "SS"))
    fn = program(*stages, buffers="pass")
    assert fused(fn) is not fn
    assert not kernel_code.Code(fn, None).outline.is_fused
    values = np.full((6, 70), 9, np.float32)
    answers = []
    for kernel in (compile_prim_func(fn), uncompiled(fn)):
        result = np.zeros_like(values)
        with pytest.raises(rxe.Failure) as problem:
            kernel(values, result)
        answers.append((str(problem.value), result.tobytes()))
    assert answers[0] == answers[1]


def test_symbolic_lengths(monkeypatch: pytest.MonkeyPatch) -> None:
    """The facts of the common loops are asked for each length."""
    text = HEAD.replace("(6, 70)", '("m", "n")').replace(
        "    with T.sblock", "    m, n = T.int64(), T.int64()\n    with T.sblock", 1
    )
    stages = "".join(
        [
            STAGE.replace("{loops}", "m, n").replace("{kinds}", "SS").replace("{body}", body)
            for body, _ in (FIRST, LAST)
        ]
    )
    fn = rxe.parse(text.replace("{buffers}", "T0 = T.alloc_buffer((m, n))").replace("{stages}", stages))["f"]
    assert type(fn) is PrimFunc
    assert loops(fused(fn)) == 2
    kernel = compile_prim_func(fn)
    for shape in ((1, 1), (0, 3), (4, 0), (7, 65)):
        values = np.random.default_rng(3).standard_normal(shape).astype(np.float32)
        found, wanted = np.zeros_like(values), np.zeros_like(values)
        kernel(values, found)
        uncompiled(fn)(values, wanted)
        assert found.tobytes() == wanted.tobytes()
    assert kernel.code is not None
    assert kernel.code.outline.is_fused
    assert list(kernel.code.facts.values()) == [True] * 4


COPY = ("T1[v_j, v_i] = A[v_i, v_j]", "SS")
COPIED = "T1 = T.alloc_buffer((70, 6))"


def test_a_copy_is_left_out() -> None:
    fn = program(COPY, ("B[v_i, v_j] = T1[v_j, v_i] + T1[69 - v_j, v_i]", "SS"), buffers=COPIED)
    assert loops(forwarded(fn)) == 2
    assert same(fn)


def test_a_product_with_a_transposed_copy_takes_the_matrix_itself() -> None:
    product = "with T.init():;     B[v_i, v_j] = T.float32(0); B[v_i, v_j] = B[v_i, v_j] + A[v_i, v_k] * T1[v_k, v_j]"
    text = HEAD.replace("(6, 70)", "(70, 70)").replace("{buffers}", "T1 = T.alloc_buffer((70, 70))")
    nest = STAGE.replace("i, j in T.grid({loops})", "i, j, k in T.grid(70, 70, 70)").replace("{kinds}", "SSR")
    nest = nest.replace("v_i, v_j = ", "v_i, v_j, v_k = ").replace("[i, j]", "[i, j, k]")
    copy = STAGE.replace("{loops}", "70, 70").replace("{kinds}", "SS").replace("{body}", COPY[0])
    product = nest.replace("{body}", product.replace("; ", "\n                "))
    fn = rxe.parse(text.replace("{stages}", copy + product))["f"]
    assert type(fn) is PrimFunc
    kernel = compile_prim_func(fn)
    assert kernel.divided is not None
    assert [type(piece).__name__ for piece in kernel.divided.parts.pieces] == ["Contraction"]
    values = np.random.default_rng(4).standard_normal((70, 70)).astype(np.float32)
    result = np.zeros_like(values)
    kernel(values, result)
    np.testing.assert_allclose(result, values @ values.T, rtol=1e-4, atol=1e-4)


KEPT_COPIES = {
    "of what is written": [
        ("T1[v_j, v_i] = B[v_i, v_j]", "SS"),
        ("B[v_i, v_j] = T1[v_j, v_i] + A[v_i, v_j]", "SS"),
    ],
    "of a part": [("T1[v_j, v_i] = A[v_i, v_j]", "SS", "3, 70"), ("B[v_i, v_j] = T1[v_j, v_i]", "SS")],
    "that is changed": [
        COPY,
        ("T1[v_j, v_i] = T1[v_j, v_i] * A[v_i, v_j]", "SS"),
        ("B[v_i, v_j] = T1[v_j, v_i]", "SS"),
    ],
    "of a smaller array": [("T1[v_j, v_i] = C[v_i, v_j]", "SS"), ("B[v_i, v_j] = T1[v_j, v_i]", "SS")],
    "of one row": [("T1[v_j, v_i] = A[0, v_j]", "SS"), ("B[v_i, v_j] = T1[v_j, v_i]", "SS")],
    "with arithmetic": [("T1[v_j, v_i] = A[v_i, 69 - v_j]", "SS"), ("B[v_i, v_j] = T1[69 - v_j, v_i]", "SS")],
}


@pytest.mark.parametrize("stages", KEPT_COPIES.values(), ids=KEPT_COPIES)
def test_other_copies_stay(stages: list[tuple[str, str]]) -> None:
    small = stages is KEPT_COPIES["of a smaller array"]
    fn = program(*stages, buffers=COPIED + ("; C = T.alloc_buffer((5, 70))" if small else ""))
    if small:  # which would be a parameter
        (other,) = [
            node.buffer
            for node in statements(fn.body)
            if type(node) is AllocBuffer and node.buffer.name == "C"
        ]
        fn = replace(fn, params=(*fn.params, other))
    assert forwarded(fn) is fn
    if stages is not KEPT_COPIES["of a part"] and not small:  # the rest holds NaN; the other stops
        assert same(fn)


def test_threads_share_serial_loops_that_never_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_nests, "WORTHWHILE", 1)
    monkeypatch.setattr(ndarrays, "_SHARED", 1)
    monkeypatch.setattr(ndarrays, "_threads", lambda: 2)
    texts = []
    function = kernel_code.Code.function

    def watched(self: kernel_code.Code, fn: PrimFunc, values: object, name: str) -> object:
        texts.append(name)
        return function(self, fn, values, name)  # type: ignore[arg-type]  # a sequence

    monkeypatch.setattr(kernel_code.Code, "function", watched)
    row = ("B[v_i, v_j] = A[v_i, v_j] / S[v_i]", "SS")
    assert same(program(FIRST, LAST))
    assert same(program((ROW, "SR"), row, buffers="S = T.alloc_buffer((6,))"), exact=False)
    assert kernel_code.PART in texts
    texts.clear()
    stops = ("B[v_i, v_j] = A[T.Cast('int64', T.abs(A[v_i, 0])), v_j]", "SS")
    assert same(program(stops, buffers="pass"))
    assert kernel_code.PART not in texts


def test_loops_that_depend_on_the_outermost_one_stay() -> None:
    """The length of an inner loop, or another axis of the block, is told by the variable of the loop that would be shared."""
    text = HEAD.replace("{buffers}", "T0 = T.alloc_buffer((6, 70))").replace("{stages}", "{0}{1}")
    stage = """
        for i in range(6):
            for j in range({length}):
                with T.sblock("stage"):
                    v_i = T.axis.spatial(6, i)
                    v_j = T.axis.spatial(70, {axis})
                    {body}
"""
    for length, axis in (("i * 10 + 20", "j"), ("60", "i + j")):
        stages = [stage.format(length=length, axis=axis, body=body) for body, _ in (FIRST, LAST)]
        fn = rxe.parse(text.format(*stages))["f"]
        assert type(fn) is PrimFunc
        assert fused(fn) is fn
        assert same(fn)
