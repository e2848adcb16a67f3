"""Neighbouring element-wise operators run together on blocks of rows, with the values that they give one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec import known_call, trace_blocks
from relax_explorer.core.exec.interrupt import Cancelled, Interrupt
from relax_explorer.core.exec.machine import Machine
from relax_explorer.core.exec.machine_code import NotCompiled, Text
from relax_explorer.core.exec.trace_blocks import Blocks
from relax_explorer.core.ops.kit import ndarrays

N, M = 70, 30
HEAD = "@R.function\ndef main({params}):\n{body}\n"
PARAMS = 'x: R.Tensor(("n", 30), "{dtype}"), y: R.Tensor(("n", 30), "{dtype}"), b: R.Tensor((30,), "{dtype}"), c: R.Tensor((1, 30), "{dtype}")'


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays of 1,000 elements are large, blocks have 200, and threads share them."""
    monkeypatch.setattr(known_call, "LARGE", 1_000)
    monkeypatch.setattr(ndarrays, "_ELEMENTS", 200)
    monkeypatch.setattr(ndarrays, "_SHARED", 500)


@pytest.fixture
def grouped(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of calls in the groups that ran."""
    sizes: list[int] = []

    run = Blocks.run

    def watched(part: Blocks, machine: Any, frame: Any) -> bool:
        done = run(part, machine, frame)
        sizes.extend([part.length] if done else [])
        return done

    monkeypatch.setattr(Blocks, "run", watched)
    return sizes


def program(lines: str, dtype: str = "float32") -> rxe.IRModule:
    body = "\n".join(f"    {line}" for line in lines.strip().splitlines())
    return rxe.normalize(rxe.parse(HEAD.format(params=PARAMS.format(dtype=dtype), body=body)))


def arrays(dtype: str) -> list[Any]:
    random = np.random.default_rng(1)
    shapes = [(N, M), (N, M), (M,), (1, M)]
    return [(random.standard_normal(shape) * 5 + 6).astype(dtype) for shape in shapes]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "uint8", "int64"])
@pytest.mark.parametrize(
    ("lines", "calls"),
    [
        ("p = R.add(x, y)\nq = R.multiply(p, x)\nr = R.abs(q)\nreturn r", 3),
        ("p = R.add(x, b)\nq = R.maximum(c, p)\nreturn (p, q, x)", 2),
        ("p = R.add(x, y)\nq = R.subtract(p, p)\ns = R.sum(q, axis=0)\nreturn (q, s)", 2),
        ("p = R.negative(x)\nq = R.less(p, y)\nr = R.where(q, p, y)\nreturn (r, q)", 2),
        ("p = R.clip(x, 1, 5)\nq = R.add(p, R.const(1, '{dtype}'))\nr = R.astype(q, 'float32')\nreturn r", 3),
    ],
)
def test_a_group_gives_the_values_of_its_calls(
    lines: str, calls: int, dtype: str, grouped: list[int]
) -> None:
    module, given = program(lines.replace("{dtype}", dtype), dtype), arrays(dtype)
    first = rxe.run(module, "main", given)
    assert not grouped
    second = rxe.run(module, "main", given)
    assert grouped[0] >= calls
    for one, two in zip(_all(first), _all(second), strict=True):
        assert one.dtype == two.dtype
        assert np.array_equal(one, two)
    assert not any(np.shares_memory(one, two) for one in _all(second)[:1] for two in given)


ONE_LOOP = """p = R.add(x, y)
q = R.multiply(R.subtract(p, s), y)
r = R.nn.relu(R.negative(q))
u = R.maximum(r, R.minimum(x, q))
v = R.divide(R.abs(u), y)
return (v, p)"""
SPECIAL = [0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e-45, 3e38, -7.5]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_group_becomes_one_loop_with_the_same_bits(
    dtype: str, grouped: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    module, given = program(ONE_LOOP.replace("s)", f"R.const(2, '{dtype}'))"), dtype), arrays(dtype)
    pairs = np.array([(a, b) for a in SPECIAL for b in SPECIAL], dtype)
    given[0].flat[: len(pairs)], given[1].flat[: len(pairs)] = pairs[:, 0], pairs[:, 1]
    monkeypatch.setattr(trace_blocks, "_AT_ONCE", 300)
    blocks: list[int] = []
    by_calls = Blocks._by_calls
    monkeypatch.setattr(Blocks, "_by_calls", lambda *given: (blocks.append(1), by_calls(*given))[1])
    machine = [rxe.run(module, "main", given) for _ in range(6)]
    assert grouped == [9] * 5
    assert len(blocks) == trace_blocks.RUNS_BEFORE
    for result in machine[1:]:
        for one, two in zip(machine[0], result, strict=True):
            assert one.dtype == two.dtype
            assert np.array_equal(np.isnan(one), np.isnan(two))
            bits = f"i{one.itemsize}"
            assert np.array_equal(np.nan_to_num(one).view(bits), np.nan_to_num(two).view(bits))


@pytest.mark.parametrize(
    "lines",
    [
        "p = R.add(x, y)\nq = R.exp(p)\nreturn q",  # numpy rounds it in its own way
        "p = R.add(x, b)\nq = R.abs(p)\nreturn q",  # an operand is broadcast
        "p = R.add(x, y)\nq = R.astype(p, 'float64')\nreturn q",
    ],
)
def test_other_groups_run_by_blocks(lines: str, grouped: list[int]) -> None:
    module, given = program(lines), arrays("float32")
    loops = trace_blocks.compiled.cache_info().misses
    results = [rxe.run(module, "main", given) for _ in range(5)]
    assert grouped == [2] * 4
    assert trace_blocks.compiled.cache_info().misses == loops
    assert np.array_equal(results[0], results[-1])


def test_strided_and_read_only_operands_are_right(grouped: list[int]) -> None:
    module, given = program("p = R.add(x, y)\nq = R.abs(p)\nreturn q"), arrays("float32")
    for _ in range(5):
        rxe.run(module, "main", given)
    wide = np.asfortranarray(given[0])
    fixed = given[1].copy()
    fixed.flags.writeable = False
    for x, y in ((wide, given[1]), (given[0], fixed), (given[0][::-1], fixed)):
        for _ in range(5):
            assert np.array_equal(rxe.run(module, "main", [x, y, *given[2:]]), np.abs(x + y))


def test_a_group_that_numba_refuses_runs_by_blocks(
    grouped: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(self: Text, values: Any) -> Any:
        raise NotCompiled

    monkeypatch.setattr(Text, "function", refused)
    module, given = program("p = R.add(x, y)\nq = R.minimum(p, x)\nreturn q"), arrays("float32")
    for _ in range(5):
        assert np.array_equal(rxe.run(module, "main", given), np.minimum(given[0] + given[1], given[0]))
    assert grouped == [2] * 4


def test_a_cancelled_run_stops_inside_a_loop(grouped: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    module, given = program("p = R.add(x, y)\nq = R.abs(p)\nreturn q"), arrays("float32")
    for _ in range(4):
        rxe.run(module, "main", given)
    monkeypatch.setattr(trace_blocks, "_AT_ONCE", 100)
    interrupt = Interrupt()
    machine = Machine(module, "main", given, interrupt=interrupt)
    flat = trace_blocks.flat
    monkeypatch.setattr(trace_blocks, "flat", lambda *args: (interrupt.cancel(), flat(*args))[1])
    with pytest.raises(Cancelled):
        machine.run()


def _all(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple) else [value]


def test_other_lengths_run_one_by_one_and_are_right(grouped: list[int]) -> None:
    module, given = program("p = R.add(x, y)\nq = R.abs(p)\nreturn q"), arrays("float32")
    rxe.run(module, "main", given)
    rows = [given[0][:50], given[1][:50], *given[2:]]
    assert np.array_equal(rxe.run(module, "main", rows), np.abs(rows[0] + rows[1]))
    assert not grouped
    rxe.run(module, "main", rows)
    assert grouped == [2]


def test_a_failing_element_is_reported_at_its_call(grouped: list[int]) -> None:
    module, given = (
        program("p = R.add(x, y)\nq = R.floor_divide(p, x)\nr = R.abs(q)\nreturn r", "int32"),
        arrays("int32"),
    )
    given[0][:] = np.abs(given[0]) + 1
    rxe.run(module, "main", given)
    given[0][N - 1, 3] = 0
    with pytest.raises(rxe.Failure) as caught:
        rxe.run(module, "main", given)
    problem = caught.value.diagnostics[0]
    assert problem.code.id == "RX0509"
    assert problem.message.startswith("q: ")
    assert grouped == []


def test_rows_that_are_not_divided_stay_whole(grouped: list[int]) -> None:
    """The slope of prelu belongs to an axis, so it is no operand by element."""
    lines = "p = R.add(x, y)\nq = R.negative(p)\nr = R.nn.prelu(q, b, axis=1)\nreturn r"
    module, given = program(lines), arrays("float32")
    first, second = (rxe.run(module, "main", given) for _ in range(2))
    assert grouped == [2]
    assert np.array_equal(first, second)


def test_programs_that_overwrite_arrays_run_one_by_one(grouped: list[int]) -> None:
    text = program("p = R.add(x, y)\nq = R.abs(p)\nreturn q").script()
    text = text.replace(
        "return q", 'u = R.call_packed("test.blocks.none", p, sinfo_args=R.Tuple())\n        return q'
    )
    module = rxe.normalize(rxe.parse(text.replace("@R.function\n", "@R.function(pure=False)\n")))
    rxe.packed_function("test.blocks.none")(lambda x: None)
    for _ in range(3):
        rxe.run(module, "main", arrays("float32"))
    assert not grouped
