"""The simple caches of keys and values. The expected numbers are what TVM's virtual machine gave."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.check.aliases import aliases
from relax_explorer.core.exec.debugger import Debugger

PURE = 'R.call_pure_packed("vm.builtin.attention_kv_cache_{}", {}, ty_args={})'
OBJECT, ROWS = "[R.Any]", '[R.Tensor("float32", ndim=2)]'


def call(name: str, args: str, result: str = OBJECT) -> str:
    return PURE.format(name, args, result)


def program(*bindings: str, result: str = "out", params: str = "") -> rxe.IRModule:
    """A program that makes the cache `c` with the rows 1 and 2, and then has these bindings."""
    create = call("create", "x, R.shape([4, 1]), R.prim_value(-1)")
    lines = ["c = " + create, *bindings, f"return {result}"]
    body = "\n".join("        " + line for line in lines)
    rows = [f'{name}: R.Tensor(("{size}", 1), "float32")' for name, size in (("x", "n"), ("y", "m"))]
    return rxe.parse(
        f"@I.ir_module\nclass M:\n    @R.function(pure=False)\n    def f({', '.join(rows)}{params}):\n{body}\n"
    )


def column(*numbers: float) -> Any:
    return np.array(numbers, np.float32).reshape(-1, 1)


VIEW = "out = " + call("view", "d", ROWS)


def after(name: str, args: str, *y: float) -> list[float]:
    result = rxe.run(program(f"d = {call(name, args)}", VIEW), "f", [column(1, 2), column(*y)])
    return [float(number) for number in result.ravel()]


def test_rows_are_added_and_replaced() -> None:
    assert after("append", "c, y", 3, 4, 5) == [1, 2, 3, 4, 5]
    assert after("append", "c, y") == [1, 2]
    assert after("update", "c, y", 9, 8) == [9, 8]


def test_a_full_window_overwrites_its_oldest_rows() -> None:
    name, limits = "window_override_with_sinks", "R.prim_value(5), R.prim_value(2)"
    module = program(
        "w0 = " + call("create", "x, R.shape([8, 1]), R.prim_value(0)"),
        *[f"w{n + 1} = " + call(name, f"w{n}, y{n}, {limits}") for n in range(4)],
        "out = " + call("view", "w4", ROWS),
        params="".join(f', y{n}: R.Tensor((2, 1), "float32")' for n in range(4)),
    )
    values = [column(10 + n, 20 + n) for n in range(4)]
    result = rxe.run(module, "f", [column(1, 2), column(), *values])
    assert result.ravel().tolist() == [10, 20, 22, 13, 23]


def test_rows_are_dropped_from_several_caches() -> None:
    create = call("create", "y, R.shape([4, 1]), R.prim_value(-1)")
    module = program(
        f"d = {create}",
        'p = R.call_packed("vm.builtin.attention_kv_cache_array_popn", (c, d), R.prim_value(1), ty_args=[R.Tuple])',
        "a = " + call("view", "c", ROWS),
        "b = " + call("view", "d", ROWS),
        'q = R.call_packed("vm.builtin.attention_kv_cache_array_clear", (d,), R.str("more"), ty_args=[R.Tuple])',
        "e = " + call("view", "d", ROWS),
        "out = (a, b, e)",
    )
    a, b, e = rxe.run(module, "f", [column(1, 2), column(3, 4, 5)])
    assert (a.ravel().tolist(), b.ravel().tolist(), e.shape) == ([1], [3, 4], (0, 1))


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (("d = " + call("append", "x, y"), "out = d"), "is not a cache"),
        (("out = " + call("append", "c"),), "takes at least 2"),
        (("out = " + call("update", "c, y"),), "3 rows replace 2"),
        (("out = " + call("append", "c, R.const([[1.0, 2.0]], 'float32')"),), "has no rows of shape (1)"),
        (
            ("out = " + call("append", "c, R.const([[1.0]], 'float16')"),),
            "has no rows of shape (1) of float32",
        ),
        (("out = " + call("append", "c, R.const(1.0, 'float32')"),), "has no rows"),
        (("out = " + call("view", "c, R.shape([4, 1])", ROWS),), "is asked for"),
        (("out = " + call("view", "c, x", ROWS),), "must be a shape"),
        (("out = " + call("array_popn", "(c, c), R.prim_value(3)"),), "can't be dropped"),
        (("out = " + call("array_popn", "(c,), R.prim_value(-1)"),), "at least 0"),
        (("out = " + call("window_override", "c, y, R.prim_value(2)"),), "don't fit"),
        (
            (
                "w = " + call("create", "x, R.shape([2, 1]), R.prim_value(2)"),
                "p = " + call("array_popn", "(w,), R.prim_value(2)", "[R.Tuple]"),
                "out = " + call("window_override", "w, y, R.prim_value(5)"),
            ),
            "is at row 2",
        ),
        (("out = " + call("create", "x, R.shape([4, 2]), R.prim_value(0)"),), "has no rows"),
        (("out = " + call("create", "x, R.shape([]), R.prim_value(0)"),), "no lengths"),
        (("out = " + call("create", "x, R.shape([2, 1]), R.prim_value(9)"),), "room for 2 rows"),
        (("out = " + call("create", "x, R.shape([4611686018427387904, 1]), R.prim_value(0)"),), "GiB"),
    ],
)
def test_wrong_calls_are_diagnostics(lines: tuple[str, ...], words: str) -> None:
    with pytest.raises(rxe.Failure) as problem:
        rxe.run(program(*lines), "f", [column(1, 2), column(3, 4, 5)])
    diagnostic = problem.value.diagnostics[0]
    assert str(diagnostic.code) == "RX0518"
    assert words in diagnostic.message


def test_a_view_keeps_its_rows() -> None:
    module = program(
        "a = " + call("view", "c", ROWS),
        "p = " + call("array_popn", "(c,), R.prim_value(1)", "[R.Tuple]"),
        "d = " + call("append", "c, y"),
        "b = " + call("view", "d", ROWS),
        "out = (a, b)",
    )
    a, b = rxe.run(module, "f", [column(1, 2), column(7)])
    assert (a.ravel().tolist(), b.ravel().tolist()) == ([1, 2], [1, 7])


def test_stepping_back_takes_rows_away_and_forward_brings_them_again() -> None:
    module = program(
        "d = " + call("append", "c, y"),
        "p = " + call("array_popn", "(d,), R.prim_value(2)", "[R.Tuple]"),
        "e = " + call("append", "d, x"),
        "out = " + call("view", "e", ROWS),
    )
    at = Debugger(rxe.normalize(module), "f", [column(1, 2), column(3, 4, 5)])
    seen = []
    while not at.done:
        at.step()
        seen.append(repr(at.machine.log[0].event.value))
    assert [text.split()[3] for text in seen[:4]] == ["2", "5", "3", "5"]
    result = at.result.ravel().tolist()
    assert result == [1, 2, 3, 1, 2]
    for position in range(len(seen) - 1, 0, -1):
        at.goto(position)
        assert repr(at.machine.log[0].event.value) == seen[position - 1]
    at.goto(len(seen))
    assert at.result.ravel().tolist() == result


def test_equal_calls_that_change_a_cache_are_not_merged() -> None:
    module = program("d = " + call("append", "c, y"), "e = " + call("append", "c, y"), "v = " + VIEW[6:].replace("d,", "e,"), "out = v")  # fmt: skip
    create = program("d = " + call("create", "x, R.shape([4, 1]), R.prim_value(-1)"), "g = " + call("append", "c, y"), VIEW)  # fmt: skip
    for case, expected in ((module, [1, 2, 3, 3]), (create, [1, 2])):
        merged = rxe.apply_pass(case, "EliminateCommonSubexpr")
        for version in (case, merged):
            assert rxe.run(version, "f", [column(1, 2), column(3)]).ravel().tolist() == expected


def test_a_cache_counts_as_written() -> None:
    module = rxe.normalize(program("d = " + call("append", "c, y"), VIEW))
    function = module["f"]
    cache = function.body.blocks[0].bindings[0].var
    assert aliases(module, "f", function).written(cache)


def test_a_cache_lives_from_one_run_to_the_next() -> None:
    first = program("out = c")
    cache = rxe.run(first, "f", [column(1, 2), column()])
    assert str(cache) == "<kv cache of 2 rows, 1 float32 each>"
    append = program("d = " + call("append", "k, y"), "out = " + call("view", "d", ROWS), params=", k: R.Any")
    for end in (3, 4, 5):
        result = rxe.run(append, "f", [column(1, 2), column(end), cache])
        assert result.ravel().tolist() == list(range(1, end + 1))
