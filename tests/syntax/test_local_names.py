"""Names in scope: variables of a block end with it, and the cost of a block depends on its own bindings only."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import relax_explorer
from relax_explorer.core.ir.expr import Expr, Var
from relax_explorer.core.ir.prim import PrimVar
from relax_explorer.core.syntax import parse_signature, parse_tir_block
from relax_explorer.core.syntax.context import Named, Scope

HEAD = """from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")) -> R.Tensor((4,), "float32"):
"""


def test_a_block_takes_back_what_it_binds() -> None:
    scope = Scope()
    a, b, c = Var("a"), Var("b"), Var("c")
    scope["a"], scope["b"] = a, b
    with scope.block():
        scope["a"], scope["c"] = c, c
        scope["a"] = b
        scope.hide("b")
        assert list(scope) == ["a", "c"]
    assert dict(scope) == {"a": a, "b": b}


def test_what_stays_ends_with_the_block_around() -> None:
    scope = Scope()
    n, x = PrimVar("n"), Var("x")
    with scope.block():
        with scope.block(stays=lambda name, value: isinstance(value, PrimVar)):
            scope["n"], scope["x"] = n, x
        assert dict(scope) == {"n": n}
    assert not scope


def test_a_failure_ends_the_block_too() -> None:
    scope = Scope()

    def fail() -> None:
        with scope.block():
            scope["a"] = Var("a")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert not scope
    scope["b"] = b = Var("b")
    with scope.block():
        pass
    assert dict(scope) == {"b": b}


def _dataflow_blocks(count: int) -> str:
    return "".join(
        f"        with R.dataflow():\n            a{i} = R.exp(x)\n            b{i} = R.exp(a{i})\n            R.output(b{i})\n"
        for i in range(count)
    )


def _closures(count: int) -> str:
    return "".join(
        f'        @R.function\n        def f{i}(p: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):\n'
        f"            q = R.add(p, x)\n            return q\n        b{i} = f{i}(x)\n"
        for i in range(count)
    )


def _branches(count: int) -> str:
    return "".join(
        f"        if c:\n            b{i} = R.exp(x)\n        else:\n            b{i} = R.tanh(x)\n"
        for i in range(count)
    )


class _Counting(Scope):
    """Counts each name visited by a walk over all of them, as copying such a scope does."""

    walked = 0

    def __iter__(self) -> Iterator[str]:
        for name in super().__iter__():
            _Counting.walked += 1
            yield name

    def keys(self) -> list[str]:  # type: ignore[override]  # a list walks at once
        return list(self)

    def items(self) -> list[tuple[str, Named]]:  # type: ignore[override]  # a list walks at once
        return [(name, self[name]) for name in self]

    def __setitem__(self, name: str, value: Expr | PrimVar) -> None:  # type: ignore[override]  # narrower than it takes
        _Counting.walked += 1
        super().__setitem__(name, value)


@pytest.mark.parametrize("statements", [_dataflow_blocks, _closures, _branches])
def test_reading_blocks_walks_over_no_names_outside_of_them(
    statements: Callable[[int], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parse_signature, "Scope", _Counting)
    steps = []
    for count in (20, 40, 80):
        _Counting.walked = 0
        relax_explorer.parse(HEAD + statements(count) + "        return b0\n")
        steps.append(_Counting.walked)
    assert steps[2] - steps[1] == 2 * (steps[1] - steps[0]) > 0


def test_reading_loops_of_kernels_walks_over_no_names_outside_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parse_tir_block, "LocalNames", _Counting)
    steps = []
    for count in (20, 40, 80):
        _Counting.walked = 0
        loops = "".join(
            f"    B{i} = T.alloc_buffer((4,))\n    for i in range(4):\n        B{i}[i] = T.float32(1)\n"
            for i in range(count)
        )
        relax_explorer.parse('@T.prim_func\ndef kernel(A: T.Buffer((4,), "float32")):\n' + loops)
        steps.append(_Counting.walked)
    assert steps[2] - steps[1] == 2 * (steps[1] - steps[0]) > 0
