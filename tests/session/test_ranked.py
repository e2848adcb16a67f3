"""Ranks run one program side by side: what collectives give, what keeps ranks apart, and how their values make the whole ones."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec import packed
from relax_explorer.core.exec.interrupt import Cancelled, Interrupt
from relax_explorer.core.ir.expr import Function
from relax_explorer.core.session.rank_inputs import divided
from relax_explorer.core.session.ranked import (
    APART,
    EQUAL,
    PARTS,
    SUMS,
    RankRun,
    relation,
    rows,
    run_ranks,
)

F = np.float32


def module(body: str, params: str, more: str = "", pure: str = "") -> rxe.IRModule:
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    text = f"@I.ir_module\nclass Module:{more}\n    @R.function{pure}\n    def main({params}):\n        cls = Module\n{lines}\n"
    return rxe.normalize(rxe.parse(text))


def run(program: rxe.IRModule, *arguments: Any) -> list[RankRun]:
    return run_ranks(program, "main", [args if isinstance(args, tuple) else (args,) for args in arguments])


def results(program: rxe.IRModule, *arguments: Any) -> list[Any]:
    """The results of the ranks, none of which may fail."""
    runs = run(program, *arguments)
    assert [item.failure for item in runs] == [None] * len(arguments)
    return [item.result for item in runs]


def values(count: int, dtype: str = "float32", shape: tuple[int, ...] = (4, 6)) -> list[Any]:
    generator = np.random.default_rng(count)
    return [generator.integers(-9, 9, shape).astype(dtype) for _ in range(count)]


WANTED = {
    "sum": lambda all_: sum(all_[1:], all_[0]),
    "prod": lambda all_: np.prod(all_, axis=0),
    "min": lambda all_: np.min(all_, axis=0),
    "max": lambda all_: np.max(all_, axis=0),
    "avg": lambda all_: (
        np.trunc(np.mean(np.asarray(all_, "float64"), axis=0))
        if all_[0].dtype.kind == "i"
        else np.mean(all_, axis=0)
    ),
}


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("kind", WANTED)
@pytest.mark.parametrize("dtype", ["float32", "int32", "float16"])
def test_allreduce(count: int, kind: str, dtype: str) -> None:
    given = values(count, dtype)
    program = module(f"y = R.ccl.allreduce(x, '{kind}')\nreturn y", f'x: R.Tensor((4, 6), "{dtype}")')
    number = list(WANTED).index(kind)
    call = f'R.call_dps_packed("runtime.disco.allreduce", (x, R.shape([{number}]), 1), out_ty=R.Tensor((4, 6), "{dtype}"))'
    lowered = module(f"y = {call}\nreturn y", f'x: R.Tensor((4, 6), "{dtype}")')
    for found in (results(program, *given), results(lowered, *given)):
        for result in found:
            assert result.dtype == dtype
            np.testing.assert_allclose(result, WANTED[kind](given), rtol=2e-3 if dtype == "float16" else 1e-6)
        assert len({id(result) for result in found}) == count


def test_the_order_of_the_ranks_is_the_order_of_the_sum() -> None:
    program = module("y = R.ccl.allreduce(x, 'sum')\nreturn y", 'x: R.Tensor((), "float32")')
    given = [np.asarray(value, F) for value in (1e8, 1, -1e8)]
    assert {float(result) for result in results(program, *given)} == {0.0}  # 1e8 + 1 is 1e8
    given = [np.asarray(value, F) for value in (1e8, -1e8, 1)]
    assert {float(result) for result in results(program, *given)} == {1.0}


@pytest.mark.parametrize("count", [1, 2, 3])
def test_allgather_broadcast_and_scatter(count: int) -> None:
    given = values(count)
    body = (
        f"a = R.ccl.allgather(x, {count})\nb = R.ccl.broadcast_from_worker0(x)\n"
        f"c = R.ccl.scatter_from_worker0(x, {count}, 1)\nreturn (a, b, c)"
    )
    found = results(module(body, 'x: R.Tensor((4, 6), "float32")'), *given)
    for rank, (a, b, c) in enumerate(found):
        assert a.tolist() == np.concatenate(given).tolist()
        assert b.tolist() == given[0].tolist()
        assert c.tolist() == np.split(given[0], count, 1)[rank].tolist()


def test_collectives_as_tvm_lowers_them() -> None:
    """A scatter along axis 1 first brings the axis of the ranks to the front (LegalizeOps of TVM 0.27)."""
    given = values(2)
    body = """a = R.call_dps_packed("runtime.disco.allgather", (x, 1), out_ty=R.Tensor((8, 6), dtype="float32"))
b = R.call_dps_packed("runtime.disco.broadcast_from_worker0", (x, 0), out_ty=R.Tensor((4, 6), dtype="float32"))
gv = R.reshape(x, (4, 2, 3))
gv1 = R.permute_dims(gv, [1, 0, 2])
c = R.call_dps_packed("runtime.disco.scatter_from_worker0", (gv1, 0), out_ty=R.Tensor((4, 3), dtype="float32"))
return (a, b, c)"""
    for rank, (a, b, c) in enumerate(results(module(body, 'x: R.Tensor((4, 6), "float32")'), *given)):
        assert a.tolist() == np.concatenate(given).tolist()
        assert b.tolist() == given[0].tolist()
        assert c.tolist() == np.split(given[0], 2, 1)[rank].tolist()


CALLED = """
    @R.function
    def total(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y = R.ccl.allreduce(x, "sum")
        return y
"""


def test_collectives_in_functions_and_branches_again_and_again() -> None:
    body = """c = R.const(True, "bool")
if c:
    y = cls.total(x)
    r = cls.total(y)
else:
    r = x
z = R.multiply(r, x)
return z"""
    program = module(body, 'x: R.Tensor((2,), "float32")', CALLED)
    for _ in range(3):
        given = [np.array([1, 2], F), np.array([10, 20], F)]
        assert [item.tolist() for item in results(program, *given)] == [[22, 88], [220, 880]]


@packed.packed_function("test.ranked.inc")
def _increase(x: Any) -> None:
    x += 1


def test_ranks_share_no_memory() -> None:
    body = 'y = R.ccl.allreduce(x, "sum")\n_ = R.call_packed("test.ranked.inc", y, sinfo_args=R.Tuple([]))\nreturn y'
    given = [np.ones(2, F), np.ones(2, F)]
    program = module(body, 'x: R.Tensor((2,), "float32")', pure="(pure=False)")
    assert [item.tolist() for item in results(program, *given)] == [[3, 3], [3, 3]]
    assert [item.tolist() for item in given] == [[1, 1], [1, 1]]


def test_ranks_may_have_arrays_in_common() -> None:
    body = '_ = R.call_packed("test.ranked.inc", x, sinfo_args=R.Tuple([]))\ny = R.ccl.allreduce(x, "sum")\nreturn y'
    program, given = module(body, 'x: R.Tensor((2,), "float32")', pure="(pure=False)"), np.ones(2, F)
    assert [item.tolist() for item in results(program, given, given)] == [[4, 4], [4, 4]]
    assert given.tolist() == [1, 1]


def test_only_bindings_of_the_function_itself_are_kept() -> None:
    program = module("z = cls.total(x)\nreturn z", 'x: R.Tensor((2,), "float32")', CALLED)
    assert [[*one.values] for one in run(program, np.ones(2, F), np.ones(2, F))] == [["z"], ["z"]]


def test_a_rank_that_ended_before_others_arrive_is_told() -> None:
    @packed.packed_function("test.ranked.late")
    def _late(x: Any) -> Any:
        time.sleep(0.3)
        return x

    body = """if c:
    w = R.call_packed("test.ranked.late", x, sinfo_args=R.Tensor((2,), "float32"))
    y = R.ccl.allreduce(w, "sum")
    r = y
else:
    r = x
return r"""
    program = module(body, 'x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")', pure="(pure=False)")
    found = run(program, *[(np.ones(2, F), np.array(rank == 0)) for rank in range(2)])
    assert found[0].failure is not None
    assert "but rank 1 ended" in found[0].failure.diagnostics[0].message


# -- apart -----------------------------------------------------------------------------------------------------------


BRANCH = """if c:
    y = R.ccl.allreduce(x, "sum")
    r = y
else:
    {other}
    r = z
return r"""


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ("z = R.negative(x)", ["rank 0 waits at allreduce(op_type=sum), but rank 1 ended", ""]),
        ("z = R.ccl.allreduce(x, 'max')", ["rank 0 is at allreduce(op_type=sum), rank 1 at allreduce(op_type=max)"] * 2),
        ("z = R.ccl.broadcast_from_worker0(x)", ["rank 0 is at allreduce(op_type=sum), rank 1 at broadcast_from_worker0()"] * 2),
        ("z = R.take(x, i, axis=0)", ["rank 0 waits at allreduce(op_type=sum), but rank 1 stopped", "7"]),
    ],
)  # fmt: skip
def test_ranks_that_do_not_meet(other: str, told: list[str]) -> None:
    params = 'x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool"), i: R.Tensor((2,), "int64")'
    program = module(BRANCH.format(other=other), params)
    for _ in range(3):
        found = run(
            program, *[(np.ones(2, F), np.array(is_first), np.array([0, 7])) for is_first in (True, False)]
        )
        for one, text in zip(found, told, strict=True):
            message = one.failure.diagnostics[0].message if one.failure is not None else ""
            assert text in message
            assert bool(text) == bool(message)
        assert found[0].failure is not None
        assert found[0].failure.diagnostics[0].code.id == "RX0531"


def test_a_rank_of_three_that_ends_is_named() -> None:
    program = module(BRANCH.format(other="z = x"), 'x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")')
    found = run(program, *[(np.ones(2, F), np.array(rank != 1)) for rank in range(3)])
    texts = [one.failure.diagnostics[0].message if one.failure is not None else "" for one in found]
    assert texts[1] == ""
    assert all("but rank 1 ended" in texts[rank] for rank in (0, 2))


@pytest.mark.parametrize(
    ("body", "params", "shapes", "text"),
    [
        ("y = R.ccl.allreduce(x)\nreturn y", 'x: R.Tensor(("n",), "float32")', [2, 3], "rank 0 has float32 of shape (2,) and rank 1 has"),
        ("y = R.ccl.allgather(x, 4)\nreturn y", 'x: R.Tensor(("n",), "float32")', [2, 2], "num_workers=4, but 2 ranks run"),
        ("y = R.ccl.scatter_from_worker0(x, 3)\nreturn y", 'x: R.Tensor((6,), "float32")', [6, 6], "num_workers=3, but 2 ranks run"),
        ("y = R.ccl.scatter_from_worker0(x, 2)\nreturn y", 'x: R.Tensor(("n",), "float32")', [3, 3], "2 ranks can't share shape (3,) along axis 0"),
    ],
)  # fmt: skip
def test_tensors_that_do_not_fit(body: str, params: str, shapes: list[int], text: str) -> None:
    found = run(module(body, params), *[np.ones(shape, F) for shape in shapes])
    assert all(one.failure is not None and text in one.failure.diagnostics[0].message for one in found)


def test_a_lowered_collective_with_a_wrong_output_is_told() -> None:
    body = (
        'y = R.call_dps_packed("runtime.disco.allgather", (x, 1), out_ty=R.Tensor((5,), "float32"))\nreturn y'
    )
    found = run(module(body, 'x: R.Tensor((2,), "float32")'), np.ones(2, F), np.ones(2, F))
    assert found[0].failure is not None
    assert (
        "gives float32 of shape (4,), but its output is float32 of shape (5,)"
        in found[0].failure.diagnostics[0].message
    )


def test_waiting_ranks_are_cancelled() -> None:
    interrupt = Interrupt()
    started = threading.Event()

    @packed.packed_function("test.ranked.wait")
    def _wait(x: Any) -> Any:
        started.set()
        while not interrupt.is_cancelled:
            time.sleep(0.01)
        return x

    body = """if c:
    y = R.ccl.allreduce(x, "sum")
    r = y
else:
    z = R.call_packed("test.ranked.wait", x, sinfo_args=R.Tensor((2,), "float32"))
    r = z
return r"""
    program = module(body, 'x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")', pure="(pure=False)")
    threading.Thread(target=lambda: (started.wait(30), interrupt.cancel()), daemon=True).start()
    arguments = [(np.ones(2, F), np.array(rank == 0)) for rank in range(2)]
    with pytest.raises(Cancelled):
        run_ranks(program, "main", arguments, interrupt=interrupt)


def test_one_machine_alone_says_how_to_run_it() -> None:
    program = module("y = R.ccl.allreduce(x)\nreturn y", 'x: R.Tensor((2,), "float32")')
    lowered = module(
        'y = R.call_dps_packed("runtime.disco.allgather", (x, 1), out_ty=R.Tensor((4,), "float32"))\nreturn y',
        'x: R.Tensor((2,), "float32")',
    )
    for one, code in ((program, "RX0504"), (lowered, "RX0504")):
        with pytest.raises(rxe.Failure) as caught:
            rxe.run(one, "main", [np.ones(2, F)])
        assert caught.value.diagnostics[0].code.id == code
        assert "--ranks N" in caught.value.diagnostics[0].message + caught.value.diagnostics[0].help


# -- relations -------------------------------------------------------------------------------------------------------

X = np.arange(24, dtype=F).reshape(4, 6)


def test_relations() -> None:
    assert relation(X, [X, X]).kind == EQUAL
    for axis in (0, 1):
        found = relation(X, np.split(X, 2, axis))
        assert (found.kind, found.axis) == (PARTS, axis)
    assert relation(X, [X - 3, np.full_like(X, 3)]).kind == SUMS
    square = np.arange(16, dtype=F).reshape(4, 4)
    assert relation(square, [square]).kind == EQUAL
    assert relation(X, [X[:1], X[1:]]) is None
    assert relation(X, [X.astype("float64")] * 2) is None
    assert relation(X, [X.reshape(-1)] * 2) is None


@pytest.mark.parametrize("rank", [0, 1, 2])
@pytest.mark.parametrize("axis", [None, 1])
def test_the_first_wrong_rank_is_named(rank: int, axis: int | None) -> None:
    parts = [X.copy() for _ in range(3)] if axis is None else [part.copy() for part in np.split(X, 3, axis)]
    parts[rank][2, 1] += 1
    found = relation(X, parts)
    assert (found.kind, found.rank, found.delta.index, found.delta.count) == (APART, rank, (2, 1), 1)
    assert found.axis == (axis or 0)


WHOLE = """h = R.matmul(x, w)
a = R.nn.relu(h)
y = R.matmul(a, v)
z = R.add(y, b)
return z"""
SHARDED = """h = R.matmul(x, w)
a = R.nn.relu(h)
y = R.matmul(a, v)
s = R.ccl.allreduce(y, "sum")
z = R.add(s, b)
return z"""
PARAMS = 'x: R.Tensor(("n", 8), "float32"), w: R.Tensor((8, {0}), "float32"), v: R.Tensor(({0}, 8), "float32"), b: R.Tensor((8,), "float32")'


@pytest.mark.parametrize("count", [1, 2, 4])
def test_a_divided_layer(count: int) -> None:
    whole, program = module(WHOLE, PARAMS.format(16)), module(SHARDED, PARAMS.format(16 // count))
    generator = np.random.default_rng(0)
    given = {
        name: generator.standard_normal(shape).astype(F)
        for name, shape in {"x": (3, 8), "w": (8, 16), "v": (16, 8), "b": (8,)}.items()
    }
    main = program["main"]
    assert isinstance(main, Function)
    arguments = divided(main.params, given, count)
    assert [[value.shape for value in own] for own in arguments] == [
        [(3, 8), (8, 16 // count), (16 // count, 8), (8,)]
    ] * count
    alone = run_ranks(whole, "main", [list(given.values())])[0]
    found = {row.name: row.relation for row in rows(run_ranks(program, "main", arguments), alone)}
    kinds = {name: item.kind for name, item in found.items() if item is not None}
    part = PARTS if count > 1 else EQUAL
    assert kinds == {"h": part, "a": part, "y": SUMS if count > 1 else EQUAL, "z": EQUAL, "out0": EQUAL}
    assert found["s"] is None
    arguments[-1][1] = arguments[-1][1] + 1  # a wrong part of `w`
    wrong = [row for row in rows(run_ranks(program, "main", arguments), alone) if row.relation is not None]
    first = next(row for row in wrong if row.relation is not None and row.relation.kind == APART)
    assert first.relation is not None
    assert (first.name, first.relation.rank) == ("h", count - 1)


@pytest.mark.parametrize(
    ("name", "shape", "text"),
    [
        ("w", (8, 15), "w is R.Tensor((8, 8), dtype=\"float32\"), which is no part of shape (8, 15) for 2 ranks"),
        ("w", (16, 16), "which is no part of shape (16, 16)"),
        ("w", (16,), "which is no part of shape (16,)"),
        ("v", (8, 8, 8), "which is no part of shape (8, 8, 8)"),
        ("u", (8, 16), "has no parameter w; it has x, v, b, u"),
    ],
)  # fmt: skip
def test_values_that_are_no_whole_of_parts(name: str, shape: tuple[int, ...], text: str) -> None:
    main = module(SHARDED, PARAMS.format(8))["main"]
    assert isinstance(main, Function)
    given = {"x": np.ones((3, 8), F), "w": np.ones((8, 16), F), "v": np.ones((16, 8), F), "b": np.ones(8, F)}
    if name == "u":
        del given["w"]
    given[name] = np.ones(shape, F)
    with pytest.raises(rxe.Failure) as caught:
        divided(main.params, given, 2)
    assert text in caught.value.diagnostics[0].message


def test_fields_of_tuples_are_divided() -> None:
    program = module(
        "w = p[0]\nk = p[1]\ny = R.matmul(x, w)\nz = R.add(y, k)\nreturn z",
        'x: R.Tensor((2, 4), "float32"), p: R.Tuple(R.Tensor((4, 3), "float32"), R.Tensor((3,), "float32"))',
    )
    main = program["main"]
    assert isinstance(main, Function)
    w, k = np.arange(24, dtype=F).reshape(4, 6), np.arange(6, dtype=F)
    arguments = divided(main.params, {"x": np.ones((2, 4), F), "p": (w, k)}, 2)
    assert [own[1][0].tolist() for own in arguments] == [part.tolist() for part in np.split(w, 2, 1)]
    assert [own[1][1].tolist() for own in arguments] == [[0, 1, 2], [3, 4, 5]]
    made = [item.result for item in run_ranks(program, "main", arguments)]
    assert np.concatenate(made, axis=1).tolist() == (np.ones((2, 4), F) @ w + k).tolist()
