"""Lowered programs run at once for lengths that they ran with before, and give what their instructions give one by one."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec import bound_recorder, packed
from relax_explorer.core.exec.bound_plan import Bound
from relax_explorer.core.exec.interrupt import Cancelled, Interrupt
from relax_explorer.core.exec.machine import Machine
from relax_explorer.core.exec.values import Shape
from tests.exec.test_trace import refused, same, stepped

F = np.float32
OPERATORS = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), y: R.Tensor((4,), "float32"), t: R.Tuple(R.Tensor(("n",), "int64"), R.Shape(["n", 4]))):
        with R.dataflow():
            a = R.add(x, y)
            b = R.nn.softmax(a)
            c = R.multiply(b, x)
            d = R.permute_dims(c)
            e = R.reshape(d, R.shape([n * 4]))
            g = R.concat((e, e))
            i = t[0]
            j = R.add(i, i)
            k = R.multiply(j, i)
            R.output(a, g, k, e)
        return (a, g, (k, e))
"""


def given(n: int, seed: int = 0) -> list[Any]:
    random = np.random.default_rng(seed)
    numbers = random.integers(-9, 9, n)
    return [random.random((n, 4)).astype(F), random.random(4).astype(F), (numbers, (n, 4))]


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of instructions of the parts that ran; 0 for one that stopped."""
    found: list[int] = []
    run = Bound.run

    def watched(self: Any, machine: Any, frame: Any) -> bool:
        done = run(self, machine, frame)
        found.append(self.length if done else 0)
        return done

    monkeypatch.setattr(Bound, "run", watched)
    return found


def lowered(text: str = OPERATORS, pipeline: str = "default_build") -> rxe.IRModule:
    return rxe.normalize(rxe.run_pipeline(rxe.parse(text), pipeline))


def runs(module: rxe.IRModule, *args: object) -> Any:
    expected = stepped(module, *args)
    for _ in range(4):
        result = rxe.run(module, "main", args)
        assert same(result, expected)
    return result


def low(body: str, kernels: str = "", params: str = 'x: R.Tensor((4,), "float32")') -> rxe.IRModule:
    """A lowered program."""
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    text = f"""
@I.ir_module
class Module:
    @T.prim_func
    def more(A: T.Buffer((T.int64(4),), "float32"), B: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            B[i] = A[i] + T.float32(1)
{kernels}
    @R.function(pure=False)
    def main({params}):
        cls = Module
{lines}
"""
    return rxe.normalize(rxe.parse(text))


STORAGE = 's{0} = R.vm.alloc_storage(R.shape([{1}]), R.prim_value(0), R.dtype("uint8"))\n'
TENSOR = 'a{0} = R.vm.alloc_tensor(s{1}, R.prim_value({2}), R.shape([4]), R.dtype("float32"))\n'
CALL = "_{2} = cls.{0}({1}, a{2})\n"


def chain(count: int, first: str = "x", storage: int = 0, start: int = 0) -> str:
    """Calls of `more`, each with a tensor of its own in a storage."""
    return "".join(
        [
            TENSOR.format(n, storage, 16 * n) + CALL.format("more", f"a{n - 1}" if n > start else first, n)
            for n in range(start, start + count)
        ]
    )


@pytest.mark.parametrize("pipeline", ["default_build", "zero,default_build"])
def test_a_bound_plan_gives_the_values_of_its_instructions(pipeline: str, parts: list[int]) -> None:
    module = rxe.parse(OPERATORS)
    for name in pipeline.split(","):
        module = rxe.run_pipeline(module, name)
    module = rxe.normalize(module)
    for n in (3, 5, 3, 1, 0):
        runs(module, *given(n))
        runs(module, *given(n, 1))
    assert min(parts) > 20
    assert len(parts) > 20


def test_runs_share_nothing(parts: list[int]) -> None:
    module = lowered()
    results = [rxe.run(module, "main", given(3, seed)) for seed in range(6)]
    assert len(parts) == 5
    expected = [stepped(module, *given(3, seed)) for seed in range(6)]
    assert all(same(one, two) for one, two in zip(results, expected, strict=True))
    for result in results:
        result[1][:] = 7
        result[2][1][:] = 8
    assert same(rxe.run(module, "main", given(3, 4)), expected[4])


def test_other_inputs_of_the_same_lengths_are_taken(parts: list[int]) -> None:
    module, x = lowered(), given(3)
    runs(module, *x)
    wide = np.zeros((3, 8), F)
    wide[:, ::2] = x[0]
    assert same(rxe.run(module, "main", [wide[:, ::2], *x[1:]]), stepped(module, *x)), "with gaps"
    assert same(rxe.run(module, "main", [x[0], x[0][0], x[2]]), stepped(module, x[0], x[0][0], x[2])), (
        "shared"
    )
    for _ in range(2):
        assert refused(module, x[0], np.ones(3, F), x[2])[0] == "RX0501"
        assert refused(module, x[0].astype("float64"), *x[1:])[0] == "RX0501"
    runs(module, *x)


def test_uninitialized_memory_is_clear_in_each_run(parts: list[int]) -> None:
    kernels = """
    @T.prim_func
    def sums(A: T.Buffer((T.int64(4),), "float32"), B: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            B[i] = B[i] + A[i]
"""
    body = STORAGE.format(0, 64) + "".join(
        [
            TENSOR.format(n, 0, 16 * (n % 4)) + CALL.format("sums", f"a{n - 1}" if n else "x", n)
            for n in range(6)
        ]
    )
    module = low(body + "return (a5, a4)", kernels)
    runs(module, np.array([1, 2, 3, 4], F))
    assert parts
    module = low(
        body
        + TENSOR.format(6, 0, 32)
        + "s1 = R.vm.alloc_storage(R.shape([16]), R.prim_value(0), R.dtype('uint8'))\n"
        + TENSOR.format(7, 1, 0)
        + CALL.format("sums", "a5", 7)
        + "return a7",
        kernels,
    )
    runs(module, np.array([1, 2, 3, 4], F))


def test_tensors_that_overlap_run_in_order(parts: list[int]) -> None:
    body = STORAGE.format(0, 128) + chain(5) + TENSOR.format(9, 0, 68) + CALL.format("more", "a4", 9)
    module = low(body + "return (a9, a4)")
    runs(module, np.array([1, 2, 3, 4], F))
    assert max(parts) >= 11
    assert max(parts) < 14, "the last call reads what it overwrites"


def test_a_parameter_that_is_overwritten_is_overwritten_in_each_run(parts: list[int]) -> None:
    module = low(STORAGE.format(0, 64) + chain(4) + "_ = cls.more(a3, x)\nreturn a0")
    x = np.zeros(4, F)
    for n in range(5):
        assert rxe.run(module, "main", [x]).tolist() == [5 * n + 1] * 4
        assert x.tolist() == [5 * n + 5] * 4
    assert parts


def test_parts_go_on_behind_a_function_of_the_user(parts: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """The storage is from before the second part; what the function does to its tensors counts."""
    body = (
        STORAGE.format(0, 160)
        + chain(4)
        + "u = R.call_packed('test.look', a3, s0, sinfo_args=R.Tensor((4,), 'float32'))\n"
    )
    module = low(body + chain(4, "u", start=4) + "z = cls.more(a3, a1)\nreturn (a7, a1, a0)")
    seen: list[float] = []

    def look(array: Any, storage: object) -> Any:
        seen.append(float(array[0]))
        array[:] = array + len(seen)
        return array

    monkeypatch.setitem(packed._REGISTRY, "test.look", look)
    for n in range(1, 6):
        result = rxe.run(module, "main", [np.zeros(4, F)])
        assert [float(part[0]) for part in result] == [8 + n, 5 + n, 1]
    assert seen == [4] * 5
    assert len([length for length in parts if length]) == 8


def test_a_function_of_the_user_replaces_a_builtin_between_runs(
    parts: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = lowered()
    args = given(3)
    runs(module, *args)
    before = len(parts)
    asked: list[int] = []

    def make_shape(heap: Any, count: int, *entries: int) -> Any:
        asked.append(count)
        return Shape(
            [int(heap[n]) if loaded else n for loaded, n in zip(entries[::2], entries[1::2], strict=True)]
        )

    monkeypatch.setitem(packed._REGISTRY, "vm.builtin.make_shape", make_shape)
    rxe.run(module, "main", args)
    assert len(asked) > 4
    assert len(parts) == before


def test_a_kernel_that_stops_is_reported_each_time(parts: list[int]) -> None:
    kernels = """
    @T.prim_func
    def take(A: T.Buffer((T.int64(4),), "float32"), I: T.Buffer((T.int64(4),), "int64"), B: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            B[i] = A[I[i]]
"""
    body = (
        STORAGE.format(0, 128)
        + chain(4)
        + TENSOR.format(4, 0, 64)
        + "_4 = cls.take(a3, i, a4)\n"
        + chain(2, "a4", start=5)
    )
    params = 'x: R.Tensor((4,), "float32"), i: R.Tensor((4,), "int64")'
    module = low(body + "return a6", kernels, params)
    x, fine = np.array([1, 2, 3, 4], F), np.array([3, 2, 1, 0])
    first = refused(module, x, fine + 1)
    assert first[0] == "RX0508"
    runs(module, x, fine)
    assert max(parts) > 14
    for _ in range(3):
        before = len(parts)
        assert refused(module, x, fine + 1) == first
        assert parts[before:] == [0], "and then none"
    runs(module, x, fine)


@pytest.mark.parametrize("engines", [("llvm", "numba", "reference", "llvm"), ("numba", "llvm", "numba")])
def test_engines_follow_each_other(engines: tuple[str, ...], parts: list[int]) -> None:
    module, args = lowered(), given(3)
    expected = stepped(module, *args)
    for name in engines:
        before = len(parts)
        for _ in range(3):
            np.testing.assert_allclose(rxe.run(module, "main", args, engine=name)[1], expected[1], rtol=1e-6)
        assert (len(parts) > before) == (name == "llvm")
    rxe.run(module, "main", args)
    assert same(rxe.run(module, "main", args, fused=False), expected)


def test_another_module_with_this_function_calls_its_own_kernels(parts: list[int]) -> None:
    module = low(STORAGE.format(0, 64) + chain(4) + "return a3")
    x = np.zeros(4, F)
    runs(module, x)
    twice = rxe.parse(
        '@I.ir_module\nclass Module:\n    @T.prim_func\n    def more(A: T.Buffer((T.int64(4),), "float32"), '
        'B: T.Buffer((T.int64(4),), "float32")):\n        for i in range(T.int64(4)):\n            B[i] = A[i] + T.float32(2)\n'
    )
    other = module.having({**module.functions, "more": twice["more"]})
    assert other["main"] is module["main"]
    for _ in range(3):
        assert rxe.run(other, "main", [x]).tolist() == [8] * 4
        assert rxe.run(module, "main", [x]).tolist() == [4] * 4


def test_an_interrupt_stops_a_part(parts: list[int]) -> None:
    module = low(STORAGE.format(0, 64) + chain(4) + "return a3")
    runs(module, np.zeros(4, F))
    interrupt = Interrupt()
    machine = Machine(module, "main", [np.zeros(4, F)], interrupt=interrupt)
    run = Bound.run
    before = len(parts)

    def cancelled(self: Any, machine: Any, frame: Any) -> bool:
        interrupt.cancel()
        return run(self, machine, frame)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Bound, "run", cancelled)
        with pytest.raises(Cancelled):
            machine.run()
    assert parts[before:] == [0]
    assert machine.frame.pc == 0, "nothing else was done"
    runs(module, np.zeros(4, F))


def test_threads_run_one_program(parts: list[int]) -> None:
    module = lowered()
    expected = {n: stepped(module, *given(n, n)) for n in (2, 3)}
    for n in (2, 3, 3):
        rxe.run(module, "main", given(n, n))
    with ThreadPoolExecutor(4) as pool:
        results = list(
            pool.map(lambda n: (n, rxe.run(module, "main", given(n, n))), [2, 3, 3, 3, 2, 3, 3, 2, 2, 3] * 5)
        )
    assert all(same(result, expected[n]) for n, result in results)
    assert parts


def test_lengths_that_change_each_time_are_not_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded: list[object] = []
    part = bound_recorder.Recorder.part
    monkeypatch.setattr(bound_recorder.Recorder, "part", lambda self: (recorded.append(self), part(self))[1])
    module = lowered()
    for n in range(1, 6):
        assert same(rxe.run(module, "main", given(n)), stepped(module, *given(n)))
    assert not recorded
    rxe.run(module, "main", given(5))
    assert recorded


def test_storages_of_another_size_are_recorded_apart(parts: list[int]) -> None:
    module = low(STORAGE.format(0, 64) + chain(4) + "return s0")
    for factor in (1, 1, 1, 2, 2, 2, 1):
        machine = Machine(module, "main", [np.zeros(4, F)], storage_factor=factor)
        assert machine.run().data.nbytes == 64 * factor
    assert len(parts) == 4


def test_bound_plans_end_with_their_module() -> None:
    module = lowered()
    runs(module, *given(3))
    kept = [weakref.ref(fn) for fn in module.functions.values()]
    del module
    gc.collect()
    assert [ref() for ref in kept] == [None] * len(kept)


LOOK = "u = R.call_packed('test.look', {}, sinfo_args=R.Tensor((4,), 'float32'))\n"


def test_arrays_that_begin_to_overlap_run_in_order(parts: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    shifted = TENSOR.format(4, 0, 52) + CALL.format("more", "u", 4)  # one element behind `a3`
    body = STORAGE.format(0, 192) + chain(4) + LOOK.format("a3") + shifted + chain(4, "a4", start=5)
    module, x = low(body + "return (a4, a8)"), np.array([1, 7, 2, 9], F)
    monkeypatch.setitem(packed._REGISTRY, "test.look", lambda array: array.copy())
    runs(module, x)
    assert parts[-2:] == [9, 11], "both parts"
    monkeypatch.setitem(packed._REGISTRY, "test.look", lambda array: array)
    runs(module, x)
    monkeypatch.setitem(packed._REGISTRY, "test.look", lambda array: array.copy())
    runs(module, x)


def test_what_is_overwritten_before_a_stop_is_overwritten_once(
    parts: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels = """
    @T.prim_func
    def sums(A: T.Buffer((T.int64(4),), "float32"), B: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            B[i] = B[i] + A[i]
    @T.prim_func
    def take(A: T.Buffer((T.int64(4),), "float32"), I: T.Buffer((T.int64(4),), "int64"), B: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            B[i] = A[I[i]]
"""
    body = STORAGE.format(0, 256) + TENSOR.format(0, 0, 0) + CALL.format("more", "x", 0) + LOOK.format("a0")
    body += TENSOR.format(1, 0, 0) + "".join([f"w{n} = cls.sums(x, a1)\n" for n in range(5)])
    body += TENSOR.format(2, 0, 64) + "_2 = cls.take(x, i, a2)\n" + chain(4, "a2", start=3)
    params = 'x: R.Tensor((4,), "float32"), i: R.Tensor((4,), "int64")'
    module, x = low(body + "return (a1, a6)", kernels, params), np.ones(4, F)
    seen: list[Any] = []
    monkeypatch.setitem(packed._REGISTRY, "test.look", lambda array: (seen.append(array), array)[1])
    runs(module, x, np.zeros(4, int))
    assert len(parts) > 3
    for _ in range(3):
        refused(module, x, np.full(4, 7))
        assert seen[-1].tolist() == [7] * 4


def test_lengths_that_a_function_of_the_user_decides_are_compared(
    parts: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels = """
    @T.prim_func
    def some(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            B[i] = A[i] + T.float32(1)
"""
    any_length = "sinfo_args=R.Tensor(ndim=1, dtype='float32')"
    body = 'h = R.call_packed("vm.builtin.alloc_shape_heap", R.prim_value(1), sinfo_args=R.Tensor(ndim=1, dtype="int64"))\n'
    body += f"a3 = R.call_packed('test.look', x, {any_length})\n"
    body += 'm = R.call_packed("vm.builtin.match_shape", a3, h, R.prim_value(1), R.prim_value(1), R.prim_value(0), R.str(""), sinfo_args=R.Tuple)\n'
    body += STORAGE.format(0, 512)
    for n in range(4, 9):
        body += f'p{n} = R.call_packed("vm.builtin.make_shape", h, R.prim_value(1), R.prim_value(1), R.prim_value(0), sinfo_args=R.Shape(ndim=1))\n'
        body += f'a{n} = R.vm.alloc_tensor(s0, R.prim_value({64 * (n - 4)}), p{n}, R.dtype("float32"))\n_{n} = cls.some(a{n - 1}, a{n})\n'
    module = low(body + "return a8", kernels)
    for count in (2, 3, 3, 2, 3):
        monkeypatch.setitem(packed._REGISTRY, "test.look", lambda array, count=count: array[:count].copy())
        for _ in range(3):
            assert rxe.run(module, "main", [np.arange(4, dtype=F)]).tolist() == [
                5.0 + n for n in range(count)
            ]
    assert len(parts) > 4


def test_lengths_in_a_heap_are_compared_where_no_tensor_has_them(
    parts: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels = """
    @T.prim_func
    def ones(a: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        for i in range(n):
            A[i] = T.float32(1)
"""
    shape = 'R.call_packed("vm.builtin.make_shape", h, R.prim_value(1), R.prim_value(1), R.prim_value(0), sinfo_args=R.Shape(ndim=1))\n'
    match = 'm = R.call_packed("vm.builtin.match_shape", u, h, R.prim_value(1), R.prim_value(1), R.prim_value(0), R.str(""), sinfo_args=R.Tuple)\n'
    body = 'h = R.call_packed("vm.builtin.alloc_shape_heap", R.prim_value(1), sinfo_args=R.Tensor(ndim=1, dtype="int64"))\n'
    body += STORAGE.format(0, 512) + chain(4) + LOOK.format("x") + match
    body += (
        chain(8, "a3", start=4) + "z = R.call_packed('test.look', a3, sinfo_args=R.Tensor((4,), 'float32'))\n"
    )
    for n in range(12, 17):
        body += f"p{n} = {shape}a{n} = R.vm.alloc_tensor(s0, R.prim_value({16 * n}), p{n}, R.dtype('float32'))\n_{n} = cls.ones(a{n})\n"
    module = low(body + "return (a16, a11)", kernels)
    for count in (2, 3, 3, 2, 3):
        monkeypatch.setitem(packed._REGISTRY, "test.look", lambda array, count=count: array[:count].copy())
        for _ in range(3):
            ones, last = rxe.run(module, "main", [np.arange(4, dtype=F)])
            assert ones.tolist() == [1.0] * count
            assert last.tolist() == [12, 13, 14, 15]
    assert len(parts) > 12


def test_values_of_another_type_from_a_function_of_the_user_are_refused(
    parts: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    body = (
        STORAGE.format(0, 192)
        + "u = R.call_packed('test.look', x, sinfo_args=R.Tensor(ndim=1, dtype='float32'))\n"
        + chain(5, "u")
    )
    module, x = low(body + "return a4"), np.zeros(4, F)
    monkeypatch.setitem(packed._REGISTRY, "test.look", lambda array: array + 1)
    runs(module, x)
    assert parts
    for other in (np.zeros(4, "int32"), np.zeros(5, F), np.zeros((4, 1), F), 4.0):
        monkeypatch.setitem(packed._REGISTRY, "test.look", lambda array, other=other: other)
        with pytest.raises(rxe.Failure):
            rxe.run(module, "main", [x])


def test_parameters_that_begin_to_overlap_run_in_order(parts: list[int]) -> None:
    body = STORAGE.format(0, 192) + chain(4) + "w = cls.more(x, y)\n" + chain(4, "y", start=4)
    module = low(body + "return a7", params='x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")')
    for _ in range(3):
        memory = np.array([1, 7, 2, 9, 3], F)
        rxe.run(module, "main", [memory[:4], memory[:4].copy()])
    memory = np.array([1, 7, 2, 9, 3], F)
    rxe.run(module, "main", [memory[:4], memory[1:]])
    assert memory.tolist() == [1, 2, 3, 4, 5]
    assert parts


def test_a_killed_tensor_is_refused_in_each_run(parts: list[int]) -> None:
    module = low(STORAGE.format(0, 192) + chain(4) + "k = R.vm.kill_object(a3)\nt = (a3, a2)\nreturn t")
    for _ in range(4):
        assert refused(module, np.zeros(4, F))[0] == "RX0517"
    assert parts


def test_reshaped_tensors_share_their_memory(parts: list[int]) -> None:
    square = "w = R.reshape(a3, R.shape([2, 2]))\nv = R.reshape(w, R.shape([4]))\nq = R.reshape(y, R.shape([4, 1]))\n"
    body = STORAGE.format(0, 192) + chain(4) + square + chain(3, "v", start=4) + "_ = cls.more(x, a3)\n"
    module = low(
        body + "return (w, v, a6, q)", params='x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")'
    )
    x, y = np.arange(4, dtype=F), np.ones(4, F)
    for result in (rxe.run(module, "main", [x, y]), runs(module, x, y)):
        assert result[0].tolist() == [[1, 2], [3, 4]], "overwritten later"
        assert np.shares_memory(result[0], result[1])
        assert np.shares_memory(result[3], y)
    assert max(parts) == 20
    wide = np.arange(8, dtype=F)[::2]
    assert np.shares_memory(rxe.run(module, "main", [x, wide])[3], wide)


def test_parts_end_before_their_tensors_take_too_much_memory(
    parts: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bound_recorder, "MOST_MEMORY", 80)
    alone = 'a{0} = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0))\n'
    body = "".join([alone.format(n) + CALL.format("more", f"a{n - 1}" if n else "x", n) for n in range(10)])
    module = low(body + "return a9")
    runs(module, np.zeros(4, F))
    assert parts[-2:] == [10, 10]
