"""The walk of a data-flow analysis: its order, what holds in branches and nested functions, and what holds behind them."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.dataflow import Analysis, reachable, solve, unneeded
from relax_explorer.core.ir.facts import variables
from relax_explorer.core.ir.walk import bindings, sequences
from tests.support.roundtrip import function

TEXT = """
a = R.exp(x)
if c:
    b = R.exp(a)
    r = R.sin(b)
else:
    with R.dataflow():
        d = R.cos(a)
        R.output(d)
    r = R.exp(d)

@R.function
def f(y: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
    z = R.exp(y)
    return z

g = f(r)
return g
"""
PARAMS = 'x: R.Tensor((2, 3), "float32"), c: R.Tensor((), "bool")'
Names = frozenset[str]


def _of(text: str) -> e.Function:
    fn = rxe.normalize(rxe.parse(function(text, PARAMS)))["main"]
    assert isinstance(fn, e.Function)
    return fn


def _name(binding: e.Binding) -> str:
    return binding.var.name if binding.var is not None else "_"


def _visited(backward: bool) -> list[str]:
    """What an analysis visits, in order: bindings, kinds of blocks, results and ends of branches."""
    seen: list[str] = []

    def transfer(facts: int, binding: e.Binding) -> int:
        seen.append(_name(binding))
        return facts

    def join(around: int, binding: e.Binding, ends: list[int]) -> int:
        seen.append(f"join {_name(binding)}")
        return around

    def result(facts: int, leaf: e.Expr) -> int:
        seen.append(f"result {leaf.name if isinstance(leaf, e.Var) else '?'}")
        return facts

    def begin(facts: int, block: e.BindingBlock) -> int:
        seen.append("graph" if type(block) is e.DataflowBlock else "block")
        return facts

    solve(Analysis(transfer, join=join, result=result, begin=begin, backward=backward), _of(TEXT).body, 0)
    return seen


def test_bindings_are_visited_in_the_order_of_a_run() -> None:
    assert _visited(backward=False) == [
        "block", "a", "block", "b", "r_then", "result r_then", "graph", "d", "block", "r_else", "result r_else", "join r", "r",
        "block", "z", "result z", "join f", "f", "g", "result g",
    ]  # fmt: skip


def test_backward_is_the_other_way_round_but_for_the_branches() -> None:
    assert _visited(backward=True) == [
        "result g", "block", "g", "f", "result z", "block", "z", "join f", "r",
        "result r_then", "block", "r_then", "b", "result r_else", "block", "r_else", "graph", "d", "join r", "a",
    ]  # fmt: skip


def _defined(join: str) -> dict[str, Names]:
    """The names that are defined in front of each binding. `join` tells what is defined behind an If: in all or in any branch."""
    found: dict[str, Names] = {}

    def transfer(facts: Names, binding: e.Binding) -> Names:
        found.setdefault(_name(binding), facts)
        return facts | {_name(binding)}

    def merged(around: Names, binding: e.Binding, ends: list[Names]) -> Names:
        if type(binding.value) is not e.If:
            return around
        return Names.intersection(*ends) if join == "all" else Names.union(*ends)

    solve(Analysis(transfer, join=merged), _of(TEXT).body, Names({"x"}))
    return found


@pytest.mark.parametrize(("join", "behind"), [("all", "x a r"), ("any", "x a r b d r_then r_else")])
def test_a_join_gets_the_facts_of_every_branch(join: str, behind: str) -> None:
    found = _defined(join)
    assert found["b"] == found["d"] == {"x", "a"}, "one branch knows nothing of the other"
    assert found["f"] == set(behind.split())
    assert found["z"] == found["f"], "a nested function knows what is known around it"
    assert found["g"] == found["f"] | {"f"}, "but its own bindings end with it"


def test_without_a_join_branches_leave_nothing_behind() -> None:
    found: dict[str, Names] = {}

    def transfer(facts: Names, binding: e.Binding) -> Names:
        found.setdefault(_name(binding), facts)
        return facts | {_name(binding)}

    solve(Analysis(transfer), _of(TEXT).body, Names())
    assert found["f"] == {"a", "r"}


def test_what_enters_a_branch_is_up_to_the_analysis() -> None:
    seen: list[tuple[str, str]] = []

    def transfer(side: str, binding: e.Binding) -> str:
        seen.append((_name(binding), side))
        return side

    def enter(side: str, binding: e.Binding) -> list[tuple[e.SeqExpr, str]]:
        if type(binding.value) is e.Function:
            return []
        return list(zip(sequences(binding.value), ("then", "else"), strict=True))

    solve(Analysis(transfer, enter), _of(TEXT).body, "top")
    assert seen == [
        ("a", "top"), ("b", "then"), ("r_then", "then"), ("d", "else"), ("r_else", "else"), ("r", "top"), ("f", "top"),
        ("g", "top"),
    ]  # fmt: skip


def test_branches_may_nest_deeper_than_the_stack() -> None:
    inner = e.SeqExpr((), e.Var("x"))
    for number in range(5_000):
        value = e.If(e.Var("c"), inner, inner if number < 1 else e.SeqExpr((), e.Var("x")))
        inner = e.SeqExpr((e.BindingBlock((e.VarBinding(e.Var(f"v{number}"), value),)),), e.Var("x"))
    count = solve(
        Analysis(lambda facts, _: facts + 1, join=lambda around, _, ends: around + sum(ends)), inner, 0
    )
    assert count == 5_000


def test_unneeded_bindings_are_those_that_nothing_reads_in_the_end() -> None:
    fn = _of("a = R.exp(x)\nb = R.sin(a)\nd = R.cos(x)\nu = R.exp(d)\nz = R.exp(b)\nreturn z")
    rows, read = list(bindings(fn)), set(variables(fn.body.body))
    assert [_name(b) for b in unneeded(reversed(rows), {*read}, lambda b: False)] == ["u", "d"]
    assert unneeded(reversed(rows), {*read}, lambda b: _name(b) == "u") == []
    assert len(unneeded(reversed(rows), set(), lambda b: False)) == 5


def test_reachable_nodes_come_in_the_order_in_which_they_are_found() -> None:
    graph = {"a": ["b", "c"], "b": ["a"], "c": ["d"], "e": ["a"]}
    assert list(reachable(["a"], lambda node: graph.get(node, ()))) == ["a", "b", "c", "d"]
    assert list(reachable(["e", "e"], lambda node: graph.get(node, ()))) == ["e", "a", "b", "c", "d"]
    assert not reachable([], lambda node: [node])
