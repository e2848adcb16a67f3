"""Who calls whom: the call graph of a module with its recursive groups, the callee behind a name, and results of opaque functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from inspect import signature
from typing import Any
from weakref import WeakValueDictionary

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dataflow import reachable
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
    return list(reachable([name], lambda name: graph.get(name, ())))


_MENTIONED: PerNode[tuple[tuple[str, ...], tuple[str, ...]]] = PerNode()
_WITH_BODY: WeakValueDictionary[int, e.Function] = WeakValueDictionary()  # the latest function with a body


def mentioned(fn: e.Function) -> tuple[str, ...]:
    """The names of the global functions that a function mentions, nested functions and branches included."""
    return _names(fn)[0]


def mentioned_packed(fn: e.Function) -> tuple[str, ...]:
    """The names of the packed functions that a function mentions, nested functions and branches included."""
    return _names(fn)[1]


def _names(fn: e.Function) -> tuple[tuple[str, ...], tuple[str, ...]]:
    names = _MENTIONED.get(id(fn))
    if names is None:
        twin = _WITH_BODY.get(id(fn.body))  # it may differ in its attributes only
        known = _MENTIONED.get(id(twin)) if twin is not None and twin.body is fn.body else None
        names = _MENTIONED.add(fn, _found(fn) if known is None else known)
        _WITH_BODY[id(fn.body)] = fn
    return names


def mentioned_anywhere(module: IRModule) -> set[str]:
    """The names of the global functions that the functions of a module mention."""
    return {name for fn in module.relax_functions.values() for name in mentioned(fn)}


def _found(fn: e.Function) -> tuple[tuple[str, ...], tuple[str, ...]]:
    found: dict[type, dict[str, None]] = {e.GlobalVar: {}, e.ExternFunc: {}}
    stack: list[e.Expr] = [fn.body]
    while stack:
        expr = stack.pop()
        if type(expr) is e.GlobalVar or type(expr) is e.ExternFunc:
            found[type(expr)][expr.name] = None
        else:
            stack.extend(_PARTS.get(type(expr), operands)(expr))
    return tuple(found[e.GlobalVar]), tuple(found[e.ExternFunc])


def _of_sequence(seq: e.SeqExpr) -> Iterable[e.Expr]:
    """The expressions of a sequence that may mention functions or packed functions, in the order of a stack."""
    found: list[e.Expr] = []
    for block in seq.blocks:
        for binding in block.bindings:
            value = binding.value
            if type(value) is e.Call:  # most bindings; without them the stack is short
                if not _is_flat(value):
                    found.append(value)
                    continue
                if type(value.op) in _NAMED:
                    found.append(value.op)
                if not _NAMED.isdisjoint(map(type, value.args)):
                    found += [arg for arg in value.args if type(arg) in _NAMED]
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
        e.Constant,
        e.ShapeExpr,
        e.PrimValue,
        e.StringImm,
        e.DataTypeImm,
    }
)
_NAMED = frozenset({e.GlobalVar, e.ExternFunc})
_FLAT = _NAMELESS | _NAMED


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


def recursive(module: IRModule) -> dict[str, tuple[str, ...]]:
    """The recursive functions of a module, each with those that it calls itself through."""
    graph = call_graph(module)
    groups = [group for group in components(graph) if is_recursive(group, graph)]
    return {name: group for group in groups for name in group}


# -- callee ----------------------------------------------------------------------------------------------------------
# Resolve callees: a function called by its name, through a copy, or through a field of a tuple.


_HOLDING = frozenset({e.Var, e.DataflowVar, e.GlobalVar, e.Tuple})


class Callees:
    """The values of variables that may hold functions."""

    def __init__(self) -> None:
        self._values: dict[e.Var, e.Expr] = {}
        self._defined: set[e.Expr] = set()

    def note(self, binding: e.Binding) -> None:
        """Record the value of a binding."""
        if binding.var is not None:
            self.hold(binding.var, binding.value)

    def hold(self, var: e.Var, value: e.Expr | None) -> None:
        """Record the value of a variable."""
        if type(value) is e.TupleGetItem:
            fields = self.fields(value.tuple) or ()
            value = fields[value.index] if 0 <= value.index < len(fields) else None
        if value is not None and type(value) in _HOLDING:
            self._values[var] = value

    def define(self, var: e.Var) -> None:
        """Record that a variable names a local function."""
        self._defined.add(var)

    def is_known(self, callee: e.Expr) -> bool:
        """True if a callee resolves to a function of the module or to a local function."""
        function = self.of(callee)
        return type(function) is e.GlobalVar or function in self._defined

    def of(self, callee: e.Expr) -> e.Expr:
        """The function that a callee resolves to; the callee itself if that is not known."""
        if not isinstance(callee, e.Var):
            return callee
        first, value = callee, self._values.get(callee)
        while value is not None and type(value) is not e.Tuple:
            self._values[first] = callee = value  # so that a chain of copies is followed once
            value = self._values.get(callee) if isinstance(callee, e.Var) else None
        return callee

    def fields(self, whole: e.Expr) -> tuple[e.Expr, ...] | None:
        """The fields of a tuple; None if they are not known."""
        value = self.of(whole)
        value = self._values.get(value, value) if isinstance(value, e.Var) else value
        return value.fields if type(value) is e.Tuple else None


# -- derive ----------------------------------------------------------------------------------------------------------
# Derive functions: the result of a call of an opaque function. A FuncStructInfo names its derive function.
#
# Without one (`empty_derive`, as in `R.Callable`) only the annotation describes the result. `default_derive` takes
# the result from the call. Others are registered with `derive_function`.


Derive = Callable[..., s.StructInfo]


@dataclass(frozen=True, slots=True)
class Context:
    """The context of a derive function: the signatures of global functions, and the StructInfo of operands."""

    signature: Callable[[str], s.StructInfo | None]
    info: Callable[[e.Expr], s.StructInfo]


NOWHERE = Context(lambda name: None, lambda expr: expr.struct_info or s.OBJECT)
"""The context of a call outside any module."""


def default_derive(call: e.Call) -> s.StructInfo:
    """The StructInfo that the call itself states: Object if it states none, a tuple if it states several."""
    infos = call.sinfo_args
    if not infos:
        return s.OBJECT
    return infos[0] if len(infos) == 1 else s.TupleStructInfo(infos)


def empty_derive(call: e.Call) -> s.StructInfo:
    """Object for every call."""
    return s.OBJECT


_REGISTRY: dict[str, Derive] = {
    "default_derive": default_derive,
    "empty_derive": empty_derive,
    # TVM's name for it
    "tvm.relax.type.infer_by_ty_args": default_derive,
}


def derive_function(name: str) -> Callable[[Derive], Derive]:
    """Register the decorated function as the derive function `name`. It takes the call, and optionally the Context."""

    def register(function: Derive) -> Derive:
        _REGISTRY[name] = function
        return function

    return register


def derived(callee: s.FuncStructInfo, call: e.Call, context: Context = NOWHERE) -> s.StructInfo:
    """The result of a call of an opaque function; Object if its derive function is not registered."""
    if callee.derive_func is None:
        return callee.ret
    function = _REGISTRY.get(callee.derive_func, empty_derive)
    return function(call, context) if _takes_context(function) else function(call)


@cache
def _takes_context(function: Derive) -> bool:
    """True if a derive function takes a second argument."""
    try:
        signature(function).bind(None, None)
    except TypeError:
        return False
    return True
