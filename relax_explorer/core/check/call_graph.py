"""The call graph of a module, and its recursive groups. Callees come first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any
from weakref import WeakValueDictionary

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.walk import operands
from relax_explorer.core.program.module import IRModule

Graph = dict[str, tuple[str, ...]]


def call_graph(module: IRModule) -> Graph:
    """The Relax functions of a module, each with the Relax functions that it mentions, in source order."""
    return graph_of(module.relax_functions)


def graph_of(functions: Mapping[str, e.Function]) -> Graph:
    """These functions, each with those of them that it mentions, in source order."""
    return {
        name: tuple([other for other in mentioned(fn) if other in functions])
        for name, fn in functions.items()
    }


def reached(module: IRModule, name: str) -> list[str]:
    """The Relax functions that a call of `name` may run, itself first."""
    graph = call_graph(module)
    reachable, stack = {name: None}, [name]
    while stack:
        for other in graph.get(stack.pop(), ()):
            if other not in reachable:
                reachable[other] = None
                stack.append(other)
    return list(reachable)


_MENTIONED: PerNode[tuple[str, ...]] = PerNode()
_WITH_BODY: WeakValueDictionary[int, e.Function] = WeakValueDictionary()  # the latest function with a body


def mentioned(fn: e.Function) -> tuple[str, ...]:
    """The names of the global functions that a function mentions, nested functions and branches included."""
    names = _MENTIONED.get(id(fn))
    if names is None:
        twin = _WITH_BODY.get(id(fn.body))  # it may differ in its attributes only
        known = _MENTIONED.get(id(twin)) if twin is not None and twin.body is fn.body else None
        names = _MENTIONED.add(fn, _mentioned(fn) if known is None else known)
        _WITH_BODY[id(fn.body)] = fn
    return names


def _mentioned(fn: e.Function) -> tuple[str, ...]:
    names: dict[str, None] = {}
    stack: list[e.Expr] = [fn.body]
    while stack:
        expr = stack.pop()
        if type(expr) is e.GlobalVar:
            names[expr.name] = None
        else:
            stack.extend(_PARTS.get(type(expr), operands)(expr))
    return tuple(names)


def _of_sequence(seq: e.SeqExpr) -> Iterable[e.Expr]:
    """The expressions of a sequence that may mention functions, in the order of a stack."""
    found: list[e.Expr] = []
    for block in seq.blocks:
        for binding in block.bindings:
            value = binding.value
            if type(value) is e.Call:  # most bindings; without them the stack is short
                if not _is_flat(value):
                    found.append(value)
                    continue
                if type(value.op) is e.GlobalVar:
                    found.append(value.op)
                if e.GlobalVar in map(type, value.args):
                    found += [arg for arg in value.args if type(arg) is e.GlobalVar]
            elif type(value) not in _NAMELESS:
                found.append(value)
    return reversed([*found, seq.body])


def _is_flat(call: e.Call) -> bool:
    """True if a call mentions functions only as its callee or as an argument, not inside of one."""
    if call.settled:  # its operands are leaves
        return True
    if type(call.op) not in _FLAT:
        return False
    others = [arg for arg in call.args if type(arg) not in _FLAT]
    return not others or all(
        isinstance(arg, e.Tuple) and _NAMELESS.issuperset(map(type, arg.fields)) for arg in others
    )


_PARTS: dict[type, Callable[[Any], Iterable[e.Expr]]] = {
    e.SeqExpr: _of_sequence,
    e.If: lambda x: (x.condition, x.true_branch, x.false_branch),
    e.Function: lambda x: (x.body,),
}
_NAMELESS = frozenset(
    {
        e.Var,
        e.DataflowVar,
        e.OpRef,
        e.ExternFunc,
        e.Constant,
        e.ShapeExpr,
        e.PrimValue,
        e.StringImm,
        e.DataTypeImm,
    }
)
_FLAT = _NAMELESS | {e.GlobalVar}


def components(graph: Graph) -> list[tuple[str, ...]]:
    """The groups of functions that reach each other, callees before their callers.

    These are the strongly connected components in the order of Tarjan, Depth-first search and linear graph algorithms
    (1972), found without recursion.
    """
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    waiting: list[str] = []
    inside: set[str] = set()
    groups: list[tuple[str, ...]] = []
    for root in graph:
        if root in index:
            continue
        path = [(root, iter(graph[root]))]
        _enter(root, index, low, waiting, inside)
        while path:
            name, callees = path[-1]
            other = next(callees, None)
            if other is None:
                path.pop()
                if path:
                    caller = path[-1][0]
                    low[caller] = min(low[caller], low[name])
                if low[name] == index[name]:
                    groups.append(_leave(name, waiting, inside))
            elif other not in index:
                _enter(other, index, low, waiting, inside)
                path.append((other, iter(graph[other])))
            elif other in inside:
                low[name] = min(low[name], index[other])
    return groups


def _enter(
    name: str, index: dict[str, int], low: dict[str, int], waiting: list[str], inside: set[str]
) -> None:
    index[name] = low[name] = len(index)
    waiting.append(name)
    inside.add(name)


def _leave(name: str, waiting: list[str], inside: set[str]) -> tuple[str, ...]:
    group: list[str] = []
    while not group or group[-1] != name:
        group.append(waiting.pop())
    inside.difference_update(group)
    return tuple(reversed(group))


def is_recursive(group: tuple[str, ...], graph: Graph) -> bool:
    """True if the functions of a component call themselves, directly or through each other."""
    return len(group) > 1 or any(name in graph[name] for name in group)
