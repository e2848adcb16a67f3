"""Find the bindings that may stop a run, by an error or an endless computation.

Outside a dataflow block a pass must not drop or move such a binding (specification, "Optimizations").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from itertools import chain
from types import MappingProxyType
from typing import Any

import numpy as np

from relax_explorer.core.arith.prove import Answer, at_least
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.check.call_graph import components, graph_of, is_recursive
from relax_explorer.core.check.compatible import always_fits
from relax_explorer.core.check.matching import match_dims
from relax_explorer.core.check.wildcards import wildcards_in
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import INT64, DType
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.walk import bindings, defined_dims, info_vars, sequences, substitute_info
from relax_explorer.core.ops import find
from relax_explorer.core.ops.kit.decl import FLOATS, InferFailure, Op, Site, Stops
from relax_explorer.core.ops.machine.call import CallTir
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.prim_expr import BufferLoad
from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.core.tir.traverse import expressions, prim_func_info, subexpressions

# -- kernel stops ----------------------------------------------------------------------------------------------------
# Prove that a call of a PrimFunc does not stop the run: no index outside its buffer, no integer division by 0, no
# endless loop.
#
# The proof holds for all lengths, with bounds over shape variables. (A length that overflows int64 stops the run
# before the kernel starts.) Without a proof the kernel may stop.


Interval = tuple[p.PrimExpr, p.PrimExpr]
Domains = dict[p.PrimVar, Interval]
_KERNEL_DIVISIONS = (p.Div, p.Mod, p.FloorDiv, p.FloorMod)
_RETURNING = frozenset(
    {
        "if_then_else", "likely", "exp", "exp2", "exp10", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "tanh", "sigmoid", "erf",
        "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "fabs", "abs", "floor", "ceil",
        "round", "trunc", "nearbyint", "pow", "isnan", "isinf", "isfinite", "copysign", "hypot", "atan2",
    }
)  # fmt: skip
_MAY_STOP: PerNode[bool] = PerNode()


def kernel_may_stop(fn: t.PrimFunc) -> bool:
    """True if a call with fitting arguments may stop the run."""
    return _MAY_STOP.of(fn, lambda fn: not _returns(fn.body, {}))


def _returns(node: t.Stmt, domains: Domains) -> bool:
    """True if a statement always ends without an error. Loop variables and axes lie in their `domains`."""
    rule = _STATEMENTS.get(type(node))
    return rule is not None and _computes(expressions(node), domains) and rule(node, domains)


def _for(node: t.For, domains: Domains) -> bool:
    first = interval(node.start, domains)
    extent = interval(node.extent, domains)
    if node.step is not None or first is None or extent is None:
        return False
    domains[node.var] = first[0], p.Sub(p.Add(first[1], extent[1]), p.IntImm(1))
    return _returns(node.body, domains)


def _block(node: t.SBlock, domains: Domains) -> bool:
    if node.match_buffers:
        return False
    for axis, value in zip(node.iter_vars, node.iter_values, strict=True):
        bounds = interval(value, domains)
        if bounds is None:
            return False
        domains[axis.var] = bounds
    return (node.init is None or _returns(node.init, domains)) and _returns(node.body, domains)


def _choice(node: t.IfThenElse, domains: Domains) -> bool:
    other = node.else_case
    return _returns(node.then_case, domains) and (other is None or _returns(other, domains))


def _store(node: t.BufferStore, domains: Domains) -> bool:
    return _all_inside(node.indices, node.buffer.shape, domains)


_STATEMENTS: dict[type, Callable[[Any, Domains], bool]] = {
    t.SeqStmt: lambda x, d: all(_returns(item, d) for item in x.stmts),
    t.For: _for,
    t.SBlock: _block,
    t.IfThenElse: _choice,
    t.BufferStore: _store,
    t.AllocBuffer: lambda x, d: x.buffer.data is None,
}


def _computes(exprs: list[p.PrimExpr], domains: Domains) -> bool:
    """True if expressions have a value for any loaded elements."""
    for expr in subexpressions(*exprs):
        if isinstance(expr, BufferLoad):
            if not _all_inside(expr.indices, expr.buffer.shape, domains):
                return False
        elif isinstance(expr, p.PrimCall):
            if expr.op not in _RETURNING:
                return False
        elif isinstance(expr, _KERNEL_DIVISIONS) and not expr.dtype.is_float:
            divisor = interval(expr.b, domains)
            if divisor is None or at_least(simplify(divisor[0]), 1) is not Answer.YES:
                return False
        elif type(expr) not in _TOTAL and not isinstance(expr, _KERNEL_DIVISIONS):
            return False
    return True


_TOTAL = frozenset(
    {
        p.IntImm, p.FloatImm, p.PrimVar, p.Add, p.Sub, p.Mul, p.Min, p.Max, p.EQ, p.NE, p.LT, p.LE, p.GT, p.GE, p.And, p.Or,
        p.Not, p.Select, p.Cast,
    }
)  # fmt: skip


def _all_inside(indices: tuple[p.PrimExpr, ...], shape: tuple[p.PrimExpr, ...], domains: Domains) -> bool:
    return len(indices) == len(shape) and all(
        _inside(index, length, domains) for index, length in zip(indices, shape, strict=True)
    )


def _inside(index: p.PrimExpr, length: p.PrimExpr, domains: Domains) -> bool:
    """True if `0 <= index < length` for all lengths."""
    bounds = interval(index, domains)
    if bounds is None:
        return False
    room = simplify(p.Sub(p.Sub(p.as_dim(length), p.IntImm(1)), bounds[1]))
    return at_least(simplify(bounds[0]), 0) is Answer.YES and at_least(room, 0) is Answer.YES


def interval(expr: p.PrimExpr, domains: Domains) -> Interval | None:
    """The bounds of an integer expression over shape variables; None if they are unknown or the value may wrap."""
    if isinstance(expr, p.IntImm):
        same = p.IntImm(expr.value, INT64)
        return same, same
    if isinstance(expr, p.PrimVar):
        return domains.get(expr, (expr, expr)) if expr.dtype is INT64 or expr in domains else None
    rule = _KERNEL_RULES.get(type(expr))
    if rule is None or expr.dtype is not INT64:  # narrower integers wrap
        return None
    parts = [interval(child, domains) for child in expr.children()]
    return None if any(part is None for part in parts) else rule(*parts)


def _mul(a: Interval, b: Interval) -> Interval | None:
    if at_least(a[0], 0) is Answer.YES and at_least(b[0], 0) is Answer.YES:
        return p.Mul(a[0], b[0]), p.Mul(a[1], b[1])
    return None


def _floor_div(a: Interval, b: Interval) -> Interval | None:
    divisor, last = b
    if divisor is last and at_least(divisor, 1) is Answer.YES:
        return p.FloorDiv(a[0], divisor), p.FloorDiv(a[1], divisor)
    return None


def _floor_mod(a: Interval, b: Interval) -> Interval | None:
    divisor, last = b
    if divisor is not last or at_least(divisor, 1) is not Answer.YES:
        return None
    return p.IntImm(0), p.Sub(divisor, p.IntImm(1))


_KERNEL_RULES: dict[type, Callable[..., Interval | None]] = {
    p.Add: lambda a, b: (p.Add(a[0], b[0]), p.Add(a[1], b[1])),
    p.Sub: lambda a, b: (p.Sub(a[0], b[1]), p.Sub(a[1], b[0])),
    p.Mul: _mul,
    p.FloorDiv: _floor_div,
    p.FloorMod: _floor_mod,
}


# -- stopping --------------------------------------------------------------------------------------------------------


_STOPPING: PerNode[Stopping] = PerNode()
_DIVISIONS = (p.FloorDiv, p.FloorMod, p.Div, p.Mod)


def stopping(module: IRModule) -> Stopping:
    """The analysis of a module, done once."""
    return _STOPPING.of(module, Stopping)


class Stopping:
    """The bindings of one module that may stop a run. Callees are analysed first; recursive functions may never end."""

    def __init__(self, module: IRModule) -> None:
        self._functions = module.relax_functions
        self._kernels = {name: fn for name, fn in module.functions.items() if type(fn) is PrimFunc}
        self._is_analysed = False
        self._safe: set[str] = set()
        self._memo: dict[Any, bool] = {}
        self._closures: dict[e.Var, e.Function] = {}
        self._own_dims: dict[e.Function, frozenset[p.PrimVar]] = {}
        self._returns: dict[e.Var, bool] = {}

    def _always_returns(self, name: str) -> bool:
        """True if a call of a function with fitting arguments always returns."""
        self._analyse()
        return name in self._safe

    def _closure(self, var: e.Var) -> e.Function | None:
        """The nested function of this name, if a call with fitting arguments always returns."""
        self._analyse()
        fn = self._closures.get(var)
        if fn is not None and var not in self._returns:
            self._returns[var] = False  # while its body is analysed: it may call itself
            self._returns[var] = not self._body(fn)
        return fn if self._returns.get(var) else None

    def _analyse(self) -> None:
        """Find out once which functions always return: callees first, and the nested functions of each before itself."""
        if self._is_analysed:
            return
        self._is_analysed = True
        graph = graph_of(self._functions)
        for group in components(graph):
            inner = [b for name in group for b in bindings(self._functions[name])]
            closures = {b.var: b.value for b in inner if type(b.value) is e.Function and b.var is not None}
            self._closures.update(closures)
            if closures:
                self._own_dims.update(own for name in group for own in _own_dims(self._functions[name]))
            for var in closures:  # in text order, so that recursion goes only as deep as functions are nested
                self._closure(var)
            if not is_recursive(group, graph):  # so it is one function
                self._safe.update(name for name in group if not self._body(self._functions[name]))

    def binding(self, binding: e.Binding) -> bool:
        """True if a binding may stop the run. Bindings of branches count, bindings of a nested function don't."""
        if type(binding) is e.MatchCast:
            have = binding.value.struct_info
            return have is None or not always_fits(have, binding.struct_info)
        return self.value(binding.value)

    def value(self, value: e.Expr) -> bool:
        """True if evaluating the value of a binding may stop the run."""
        rule = _RULES.get(type(value))
        return rule is None or rule(self, value)

    def _body(self, fn: e.Function) -> bool:
        """True if a call with fitting arguments may stop the run."""
        derived, declared = fn.body.struct_info, fn.ret_struct_info
        unproven = derived is None or declared is None or not always_fits(derived, declared)
        return unproven or any(self.binding(b) for block in fn.body.blocks for b in block.bindings)

    def _if(self, value: e.If) -> bool:
        info = value.condition.struct_info
        one = isinstance(info, s.PrimStructInfo) or (isinstance(info, s.TensorStructInfo) and info.ndim == 0)
        inner = (b for seq in sequences(value) for block in seq.blocks for b in block.bindings)
        return not one or any(map(self.binding, inner))

    def _call(self, call: e.Call) -> bool:
        op = call.op
        if any(map(_may_be_undefined, call.args)):
            return True
        if type(op) is e.GlobalVar:
            return not self._always_returns(op.name) or not _takes(self._functions[op.name], call)
        if isinstance(op, e.Var):
            fn = self._closure(op)
            return fn is None or not _takes(fn, call, self._own_dims[fn])
        declared = find(op.name) if type(op) is e.OpRef else None
        if declared is CallTir:
            return self._kernel(call)
        if declared is None:
            return True
        return declared.stops is not Stops.NEVER and self._operator(declared, call)

    def _kernel(self, call: e.Call) -> bool:
        """True if a call_tir may stop: its buffers may not fit, or its kernel may stop."""
        callee, arguments = call.args[:2]
        fn = self._kernels.get(callee.name) if type(callee) is e.GlobalVar else None
        outs = call.sinfo_args[0] if len(call.sinfo_args) == 1 else None
        if (
            fn is None
            or outs is None
            or len(call.args) > 2
            or not isinstance(arguments.struct_info, s.TupleStructInfo)
        ):
            return True
        fields = outs.fields if isinstance(outs, s.TupleStructInfo) else (outs,)
        have = (*arguments.struct_info.fields, *fields)
        want = prim_func_info(fn).params or ()
        if len(have) != len(want) or not all(map(_has_lengths, have)) or not _all_fit(want, have):
            return True
        return kernel_may_stop(fn)

    def _operator(self, op: type[Op], call: e.Call) -> bool:
        if op.stops is Stops.VALUES:
            return True
        infos = tuple([arg.struct_info for arg in call.args])
        if op.broadcasts and len(call.args) > 1:
            return _operator_may_stop(op, call, infos)  # depends on the operands themselves
        key = (op, call.attrs, infos, call.struct_info)
        cached = self._memo.get(key)
        if cached is None:
            cached = self._memo[key] = _operator_may_stop(op, call, infos)
        return cached


def _takes(fn: e.Function, call: e.Call, own: Set[p.PrimVar] | None = None) -> bool:
    """True if the arguments of a call always fit the parameters of the function.

    A nested function binds its `own` shape variables only. The others have values already, which the arguments must have, too.
    """
    want = tuple([param.struct_info or s.OBJECT for param in fn.params])
    outer = [] if own is None else [dim for info in want for dim in info_vars(info) if dim not in own]
    return _all_fit(
        want, tuple([arg.struct_info or s.OBJECT for arg in call.args]), dict(zip(outer, outer, strict=True))
    )


def _own_dims(
    fn: e.Function, around: Set[p.PrimVar] = frozenset()
) -> Iterator[tuple[e.Function, frozenset[p.PrimVar]]]:
    """The shape variables that a function and the ones nested in it bind by parameters, without those of functions around them."""
    params = {dim for param in fn.params for dim in defined_dims(param.struct_info or s.OBJECT)}
    yield fn, frozenset(params - around)
    blocks = list(fn.body.blocks)
    for block in blocks:  # it grows
        ifs = [binding.value for binding in block.bindings if type(binding.value) is e.If]
        blocks += [inner for value in ifs for seq in sequences(value) for inner in seq.blocks]
    inner = [binding for block in blocks for binding in block.bindings]
    casts = [defined_dims(binding.struct_info) for binding in inner if type(binding) is e.MatchCast]
    scope = around | params | set(chain(*casts))
    for binding in inner:
        if type(binding.value) is e.Function:
            yield from _own_dims(binding.value, scope)


def _operator_may_stop(op: type[Op], call: e.Call, infos: Sequence[s.StructInfo | None]) -> bool:
    level = _level(op, call, infos)
    if level in (Stops.DTYPES, Stops.RANKS):
        ranks = level is Stops.RANKS
        return not all(_has_dtype(info, ranks) for info in infos)
    every = (*infos, call.struct_info)
    if level is Stops.VALUES or not all(map(_is_known, every)) or not _has_all_lengths(call):
        return True
    if not any(info_vars(info) or wildcards_in(info) for info in every if info is not None):
        return False  # nothing is symbolic, so inference has checked everything
    if level is Stops.LENGTHS:
        return True
    return lengths_to_check(op, call, infos) != []


def _level(op: type[Op], call: e.Call, infos: Sequence[s.StructInfo | None]) -> Stops:
    """The errors that are left to the run for operands of these dtypes."""
    level = op.stops_with(call.attrs)
    if op.defined_for:
        dtypes = {dtype for info in infos for dtype in _dtypes(info)}
        defined = all(dtype.kind in op.defined_for for dtype in dtypes)
        divides = op.broadcasts and op.defined_for == FLOATS and all(dtype.is_int for dtype in dtypes)
        if not defined and not (divides and _is_never_zero(call.args[-1])):
            return Stops.VALUES
    return Stops.DTYPES if op.broadcasts and _is_one_shape(call.args) else level


def _is_never_zero(divisor: e.Expr) -> bool:
    """True for a constant without a 0."""
    if type(divisor) is e.Constant:
        return bool(np.all(divisor.data))
    return type(divisor) is e.PrimValue and isinstance(divisor.value, p.IntImm) and divisor.value.value != 0


def _is_one_shape(operands: Sequence[e.Expr]) -> bool:
    """True if all operands are scalars, or the same tensor: these always broadcast."""
    return len({leaf for leaf in operands if not _is_scalar(leaf.struct_info)}) <= 1


def _is_scalar(info: s.StructInfo | None) -> bool:
    return isinstance(info, s.PrimStructInfo) or (isinstance(info, s.TensorStructInfo) and info.ndim == 0)


def lengths_to_check(
    op: type[Op], call: e.Call, infos: Sequence[s.StructInfo | None]
) -> list[tuple[p.PrimExpr, p.PrimExpr]] | None:
    """The pairs of lengths that inference could not compare. None if the rule of the operator refuses the call."""
    site = Site(call, op)
    try:
        op.infer(site, *infos, *[None] * (len(op.operands) - len(infos)), **call.attrs)
    except (InferFailure, OverflowError):  # a number of elements may exceed int64
        return None
    return site.obligations


def _is_known(info: s.StructInfo | None) -> bool:
    """True if kind, dtype and lengths of a value are known."""
    if isinstance(info, s.TensorStructInfo):
        return info.dims is not None and info.dtype is not None
    if isinstance(info, s.ShapeStructInfo):
        return info.values is not None
    if isinstance(info, s.TupleStructInfo):
        return all(map(_is_known, info.fields))
    return isinstance(info, s.PrimStructInfo)


def _has_lengths(info: s.StructInfo | None) -> bool:
    """True if no length of a value can be negative or undefined."""
    return all(map(_is_length, _dims(info)))


def _is_length(dim: p.PrimExpr) -> bool:
    return at_least(dim, 0) is Answer.YES and not _divides(dim)


def _has_all_lengths(call: e.Call) -> bool:
    """True if no length of the call can be negative or undefined. A variable has a value, so its lengths exist."""
    given = [arg for arg in call.args if type(arg) not in (e.Var, e.DataflowVar)]
    if not all(_has_lengths(arg.struct_info) for arg in given):
        return False
    bound = {dim for arg in call.args for dim in _dims(arg.struct_info)}
    return all(dim in bound or _is_length(dim) for dim in _dims(call.struct_info))


def _has_dtype(info: s.StructInfo | None, with_rank: bool) -> bool:
    """True if kind and dtype of a value are known, and the rank of a tensor if it counts."""
    if isinstance(info, s.TensorStructInfo):
        return info.dtype is not None and (info.ndim >= 0 or not with_rank)
    return isinstance(info, s.PrimStructInfo)


def _dtypes(info: s.StructInfo | None) -> Iterator[DType]:
    """The known dtypes of an operand."""
    if isinstance(info, (s.TensorStructInfo, s.PrimStructInfo)) and info.dtype is not None:
        yield info.dtype


def _dims(info: s.StructInfo | None) -> Iterator[p.PrimExpr]:
    """All lengths of a value."""
    if isinstance(info, s.TupleStructInfo):
        for field in info.fields:
            yield from _dims(field)
    elif isinstance(info, s.TensorStructInfo):
        yield from info.dims or ()
    elif isinstance(info, s.ShapeStructInfo):
        yield from info.values or ()


def _all_fit(
    want: tuple[s.StructInfo, ...],
    have: tuple[s.StructInfo, ...],
    outer: Mapping[p.PrimVar, p.PrimExpr] = MappingProxyType({}),
) -> bool:
    """True if values of `have` fit parameters of `want` for all lengths, with the values of `outer` shape variables."""
    if len(want) != len(have):
        return False
    mapping = dict(outer)
    for parameter, argument in zip(want, have, strict=True):
        match_dims(parameter, argument, mapping)
    return all(always_fits(a, substitute_info(w, mapping)) for w, a in zip(want, have, strict=True))


def _may_be_undefined(leaf: e.Expr) -> bool:
    """True if an operand is computed from lengths by a division whose divisor may be 0."""
    if type(leaf) is e.ShapeExpr:
        return any(map(_divides, leaf.values))
    if type(leaf) is e.PrimValue:
        return _divides(leaf.value)
    return type(leaf) is e.Tuple and any(map(_may_be_undefined, leaf.fields))


def _divides(expr: p.PrimExpr) -> bool:
    """True if an expression has a divisor that may be 0."""
    stack = [expr]
    while stack:
        part = stack.pop()
        if isinstance(part, _DIVISIONS) and at_least(part.b, 1) is not Answer.YES:
            return True
        stack.extend(part.children())
    return False


def _item(_: Stopping, value: e.TupleGetItem) -> bool:
    info = value.tuple.struct_info
    return not isinstance(info, s.TupleStructInfo) or not 0 <= value.index < len(info.fields)


_RULES: dict[type, Callable[[Stopping, Any], bool]] = {
    e.Var: lambda _, x: False,
    e.DataflowVar: lambda _, x: False,
    e.Constant: lambda _, x: False,
    e.GlobalVar: lambda _, x: False,
    e.StringImm: lambda _, x: False,
    e.DataTypeImm: lambda _, x: False,
    e.Function: lambda _, x: False,
    e.ShapeExpr: lambda _, x: _may_be_undefined(x),
    e.PrimValue: lambda _, x: _may_be_undefined(x),
    e.Tuple: lambda _, x: _may_be_undefined(x),
    e.TupleGetItem: _item,
    e.If: Stopping._if,
    e.Call: Stopping._call,
}
