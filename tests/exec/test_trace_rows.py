"""Calls that machine code makes by itself: the values of single calls, in each run, and nothing shared between runs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec import trace_rows
from relax_explorer.core.exec.interrupt import Cancelled, Interrupt
from relax_explorer.core.exec.kernel_traps import NOTE_LENGTH
from relax_explorer.core.exec.machine import Machine
from relax_explorer.core.exec.trace import RUNS_BEFORE
from relax_explorer.core.exec.trace_rows import Rows
from tests.exec.test_trace import KERNEL, VALUES, F, cut_chain, program, refused, runs, same, stepped

OTHERS = np.array([2, 3, 5, -7], F)
ADDING = KERNEL.format(op="+ T.float32(1)")
VECTOR = 'x: R.Tensor((4,), "float32")'
ONE = 'R.Tensor((4,), "float32")'


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of steps of the rows that ran to their end; 0 for those that could not."""
    found: list[int] = []
    play = Rows.run

    def watched(rows: Rows, machine: Any, frame: Any) -> bool:
        done = play(rows, machine, frame)
        found.append(rows.length if done else 0)
        return done

    monkeypatch.setattr(Rows, "run", watched)
    return found


def kernels(count: int, last: str = "return v{}", before: str = ADDING, params: str = VECTOR) -> rxe.IRModule:
    lines = [f"v{n} = R.call_tir(Module.kernel, ({f'v{n - 1}' if n else 'x'},), {ONE})" for n in range(count)]
    return program("\n".join([*lines, last.format(count - 1)]), params, before)


@pytest.mark.parametrize(
    ("body", "steps"),
    [
        ("a = R.add(x, y)\nb = R.multiply(a, y)\nc = R.subtract(b, x)\nd = R.multiply(c, a)\nreturn d", 4),
        ("a = R.add(x, y)\nb = R.add(a, x)\nt = (a, (b, x))\nu = t[1]\nc = R.add(u[0], u[1])\nd = R.add(c, t[0])\nreturn (t, d, u)", 9),
        ("a = R.add(x, y)\nb = a\nc = R.add(b, R.const(2.5))\nd = R.add(c, R.const([1.5]))\ne = R.subtract(R.const(1.0), d)\nreturn (b, e)", 5),
        ("a = R.add(x, y)\nb = R.add(a, y)\ns = R.shape([n])\np = R.prim_value(n)\nc = R.add(b, y)\nd = R.add(c, a)\nreturn (d, s, p, a)", 4),
        ("a = R.add(x, y)\nb = R.add(x, y)\nc = R.add(a, b)\nd = R.add(c, c)\nreturn (a, a, (b, d), d)", 4),
        ("a = R.add(x, y)\nb = R.add(a, y)\nc = R.add(b, y)\nd = R.add(c, y)\nm = R.maximum(d, x)\ne = R.add(m, d)\nreturn (b, e)", 4),
        ("a = R.add(x, y)\nb = R.add(a, y)\nc = R.add(b, y)\nd = R.add(c, y)\nm = R.concat((d, x))\ne = R.add(m, m)\nreturn (b, e)", 4),
    ],
    ids=["chain", "tuples", "scalars", "lengths", "read twice", "another operator", "an operand that is a tuple"],
)  # fmt: skip
def test_rows_give_the_values_of_its_calls(body: str, steps: int, played: list[int]) -> None:
    module = program(body)
    runs(module, VALUES, OTHERS)
    assert max(played) >= steps
    assert 0 not in played
    given = [np.array([5, 6], F), np.array([0, -0.0], F)]
    assert same(rxe.run(module, "main", given), stepped(module, *given)), "for other lengths"


def test_rows_are_as_many_as_the_calls_that_follow_each_other(
    played: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = cut_chain(monkeypatch)
    expected = stepped(module, VALUES, OTHERS)
    for _ in range(10):
        assert same(rxe.run(module, "main", [VALUES, OTHERS]), expected)
    assert played[-2:] == [24, 7], "with the tuple"


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint32", "uint64"])  # fmt: skip
@pytest.mark.parametrize("shape", [(4,), (2, 3), (2, 1, 2), (0,), (1,)])
def test_elements_are_those_of_numpy(dtype: str, shape: tuple[int, ...], played: list[int]) -> None:
    last = "\nz = R.multiply(w, R.const([3], '{}'))"
    params = f'x: R.Tensor({shape}, "{dtype}"), y: R.Tensor({shape}, "{dtype}"), s: R.Tensor((), "{dtype}")'
    body = "a = R.add(x, y)\nb = R.multiply(a, x)\nc = R.subtract(s, b)\nw = R.subtract(c, s)" + last
    module = program(f"{body.format(dtype)}\nreturn (a, b, c, w, z)", params)
    random = np.random.default_rng(0)
    kind = np.dtype(dtype)
    if kind.kind == "f":
        x, y = random.choice([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 3e38, 0.1], (2, *shape)).astype(kind)
    else:
        bounds = np.iinfo(kind)
        x, y = random.integers(bounds.min, bounds.max, (2, *shape), kind, endpoint=True)
    result = runs(module, x, y, np.array(3, kind))
    assert played
    assert all(array.shape == shape for array in result)


def test_results_of_kernels_are_clear_before(played: list[int]) -> None:
    sums = """
    @T.prim_func
    def kernel(A: T.Buffer((T.int64(4),), "float32"), B: T.Buffer((T.int64(4),), "float32"), C: T.Buffer((T.int64(1),), "float32")):
        for i in range(T.int64(4)):
            B[i] = A[i] + C[0]
            C[0] = C[0] + A[i]
"""
    pair = 'out_ty=[R.Tensor((4,), "float32"), R.Tensor((1,), "float32")]'
    lines = [
        f"t{n} = R.call_tir(Module.kernel, ({f'u{n - 1}' if n else 'x'},), {pair})\nu{n} = t{n}[0]"
        for n in range(5)
    ]
    module = program("\n".join([*lines, "return (t4, t2[1], u1)"]), VECTOR, sums)
    runs(module, np.array([1, 2, 3, 4], F))  # the sums start at zero, in results that stay and in others
    assert max(played) >= 14


def test_lengths_are_passed_as_words(played: list[int]) -> None:
    text = """
    @T.prim_func
    def kernel(a: T.handle, b: T.handle, n: T.int64, k: T.int64):
        m = T.int64()
        A = T.match_buffer(a, (m,), "int64")
        B = T.match_buffer(b, (m,), "int64")
        for i in range(m):
            B[i] = A[i] * n + k
"""
    call = "v{} = R.call_tir(Module.kernel, ({},), R.Tensor((n,), 'int64'), tir_vars=R.shape([n + 1, n - 7]))"
    lines = [call.format(n, f"v{n - 1}" if n else "x") for n in range(5)]
    module = program("\n".join([*lines, "return v4"]), 'x: R.Tensor(("n",), "int64")', text)
    for length in (3, 4):
        runs(module, np.arange(length) - 2)
    assert max(played) >= 4


def test_results_of_runs_share_nothing(played: list[int]) -> None:
    module = kernels(6, "return (v2, v5)")
    rows = [np.full(4, n, F) for n in range(RUNS_BEFORE + 5)]
    results = [rxe.run(module, "main", [row]) for row in rows]
    assert played[-2:] == [len(results[0]) and played[-1]] * 2
    for number, result in enumerate(results):
        assert [part.tolist() for part in result] == [[number + 3] * 4, [number + 6] * 4]
    arrays = [part for result in results for part in result]
    assert not any(np.shares_memory(one, two) for one, two in pairwise(sorted(arrays, key=id)))
    arrays[-1][:] = 99
    assert rxe.run(module, "main", [rows[0]])[1].tolist() == [6] * 4


def test_arrays_in_another_order_are_left_to_single_calls(played: list[int]) -> None:
    module = program(
        "\n".join([*[f"v{n} = R.add({f'v{n - 1}' if n else 'x'}, y)" for n in range(6)], "return v5"])
    )
    runs(module, VALUES, OTHERS)
    assert all(played)
    strided = np.arange(8, dtype=F)[::2]
    assert rxe.run(module, "main", [VALUES * 0, strided])[3] == 36
    assert played[-1] == 0


def test_a_kernel_that_stops_says_why(played: list[int]) -> None:
    text = """
    @T.prim_func
    def kernel(A: T.Buffer((T.int64(4),), "float32"), B: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            assert A[i] < T.float32(10), "too large"
            B[i] = A[i] + T.float32(1)
"""
    module = kernels(6, before=text)
    small, large = np.zeros(4, F), np.full(4, 7, F)
    runs(module, small)
    before = len(played)
    first = refused(module, large)
    assert played[before:] == [0]
    with pytest.raises(rxe.Failure) as caught:
        stepped(module, large)
    problem = caught.value.diagnostics[0]
    assert problem.span is not None
    assert first == (problem.code.id, problem.span.line) == refused(module, large)
    assert played[before:] == [0], "the rows are gone"
    assert runs(module, small).tolist() == [6] * 4


def test_calls_before_one_that_stops_get_rows_again(played: list[int]) -> None:
    lines = [f"v{n} = R.add({f'v{n - 1}' if n else 'x'}, x)" for n in range(6)]
    body = "\n".join([*lines, "w = R.floor_divide(v5, y)", "z = R.add(w, w)", "return z"])
    module = program(body, 'x: R.Tensor((4,), "int32"), y: R.Tensor((4,), "int32")')
    one, zero = np.ones(4, "int32"), np.zeros(4, "int32")
    runs(module, one, one)
    before = len(played)
    stopped = [refused(module, one, zero) for _ in range(5)]
    assert len(set(stopped)) == 1
    assert len(played) > before + 2
    assert played[-1] == 6


def test_threads_run_one_program_at_once(played: list[int]) -> None:
    module = kernels(40)
    for _ in range(RUNS_BEFORE + 2):
        rxe.run(module, "main", [np.zeros(4, F)])

    def work(number: int) -> bool:
        given = np.full(4, number, F)
        return all(rxe.run(module, "main", [given]).tolist() == [number + 40.0] * 4 for _ in range(50))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))
    assert len(played) > 150


def test_a_cancelled_run_runs_no_rows(played: list[int]) -> None:
    module = kernels(6)
    runs(module, np.zeros(4, F))
    interrupt = Interrupt()
    machine = Machine(module, "main", [np.zeros(4, F)], interrupt=interrupt)
    interrupt.cancel()
    before = len(played)
    with pytest.raises(Cancelled):
        machine.run()
    assert len(played) == before
    interrupt.is_cancelled = False  # the flag in memory is still set: as if it came between two rows
    interrupt._flag[0] = 1
    Machine(module, "main", [np.zeros(4, F)], interrupt=interrupt).run()
    assert played[before:] == [0]


@pytest.mark.parametrize(
    ("limit", "value"),
    [("LARGEST", 15), ("FEWEST", 7), ("MOST_SCRATCH", -1)],
    ids=["large", "few", "scratch"],
)
def test_what_no_rows_are_worth(
    limit: str, value: int, played: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_rows, limit, value)
    runs(kernels(6), np.zeros(4, F))
    assert played == []


def test_a_row_beside_a_matrix_is_left_to_numpy(played: list[int]) -> None:
    params = 'x: R.Tensor((2, 3), "float32"), y: R.Tensor((3,), "float32")'
    lines = [f"v{n} = R.add({f'v{n - 1}' if n else 'x'}, {'y' if n == 4 else 'x'})" for n in range(9)]
    runs(program("\n".join([*lines, "return v8"]), params), np.arange(6, dtype=F).reshape(2, 3), OTHERS[:3])
    assert set(played) == {4}


def test_one_run_inside_another(played: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """While the rows of one run are played, another run of the same program begins and ends."""
    module = kernels(6)
    runs(module, np.zeros(4, F))
    inner: list[list[float]] = []
    play = trace_rows.player()

    def between(*args: int) -> int:
        monkeypatch.setattr(trace_rows, "player", lambda: play)
        inner.append(rxe.run(module, "main", [np.full(4, 50, F)]).tolist())
        return play(*args)

    monkeypatch.setattr(trace_rows, "player", lambda: between)
    assert rxe.run(module, "main", [np.full(4, 7, F)]).tolist() == [13] * 4
    assert inner == [[56] * 4]
    assert all(played)


def test_registers_end_and_notes_are_long_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    play, left = Rows.run, []

    def watched(rows: Rows, machine: Any, frame: Any) -> bool:
        given = {slot for slot, _ in rows.given}
        done = play(rows, machine, frame)
        left.append([slot for slot in rows.dead if frame.registers[slot] is not None])
        assert given <= set(rows.dead)
        assert rows.reels[0].note.size == NOTE_LENGTH
        return done

    monkeypatch.setattr(Rows, "run", watched)
    runs(kernels(6), np.zeros(4, F))
    assert left
    assert not any(left)


@pytest.mark.parametrize(("before", "lengths"), [(3, set()), (4, {5})])  # with the tuple of operands
def test_a_kernel_of_many_arguments(before: int, lengths: set[int], played: list[int]) -> None:
    names = "ABCDEFGHIJKLM"
    buffers = ", ".join(f'{name}: T.Buffer((T.int64(4),), "float32")' for name in names)
    text = f"""
    @T.prim_func
    def kernel({buffers}):
        for i in range(T.int64(4)):
            M[i] = {" + ".join(f"{name}[i]" for name in names[:-1])}
"""
    arguments = ["x"] * (len(names) - 2)
    lines = [f"a{n} = R.add({f'a{n - 1}' if n else 'x'}, x)" for n in range(before)]
    lines += [
        f"v{n} = R.call_tir(Module.kernel, ({f'v{n - 1}' if n else 'x'}, {', '.join(arguments)}), {ONE})"
        for n in range(6)
    ]
    module = program("\n".join([*lines, f"return (v5, a{before - 1})"]), VECTOR, text)
    assert runs(module, np.ones(4, F))[0].tolist() == [67] * 4
    assert set(played) == lengths


def test_nothing_is_compiled_for_calls_that_are_too_few(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[object] = []
    monkeypatch.setattr(trace_rows, "_function", lambda *of: compiled.append(of))
    few = program(
        "a = R.add(x, y)\nb = R.multiply(a, x)\nc = R.sin(b)\nd = R.add(c, y)\ne = R.cos(d)\nreturn e"
    )
    runs(few, VALUES, OTHERS)
    assert compiled == []
    enough = program("a = R.add(x, y)\nb = R.multiply(a, x)\nc = R.add(b, a)\nd = R.add(c, y)\nreturn d")
    expected = stepped(enough, VALUES, OTHERS)
    for _ in range(4):
        assert same(rxe.run(enough, "main", [VALUES, OTHERS]), expected), "and where LLVM can't compile"
    assert compiled
