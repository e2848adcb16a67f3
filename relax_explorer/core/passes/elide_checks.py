"""ElideChecks: drop run-time checks of match_casts."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Annotated

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.facts import facts, variables
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import all_dims, contents, operands, sequences
from relax_explorer.core.passes.cast_checks import bound_by_casts, is_proven, signature_dims
from relax_explorer.core.passes.contract import Kept, PassSite, check_errors, function_pass
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite
from relax_explorer.core.phases.module_properties import CANONICAL_BINDINGS, NORMAL_FORM


@function_pass(
    "ElideChecks", requires=[NORMAL_FORM], invalidates=[CANONICAL_BINDINGS], changes={Kept.CHECKS: "errors"}
)
def elide_checks(
    fn: e.Function,
    at: PassSite,
    *,
    errors: Annotated[str, '"keep" or "drop" checks that may fail'] = "keep",
) -> e.Function:
    """Drop run-time checks that can't fail: the types prove them, or an earlier match_cast of the same value made them.

    With `errors="drop"` other checks go, too, if nothing needs them: the program must be known to be right. A match_cast stays while
    its variable is read, or a shape variable that it binds. If only its shape variables are used, its comparisons go.
    """
    check_errors(errors)
    if e.MatchCast not in contents(fn).bindings:
        return fn
    needs = _Needs(fn, errors == "drop")

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        if type(binding) is not e.MatchCast:
            return binding
        if binding in needs.dropped:
            return ()
        new = needs.new[binding]
        if binding.var is not None and not new:
            earlier = _earlier(walk, binding)
            if earlier is not None:
                return e.VarBinding(binding.var, earlier, binding.annotation, binding.span)
            if is_proven(binding, new):
                return e.VarBinding(binding.var, binding.value, None, binding.span)
        if errors == "drop" and (binding.var is None or binding.var not in needs.read):
            info = _Binding(new).part(binding.struct_info)
            return replace(binding, struct_info=info, var=None, annotation=None, lengths_only=False)
        walk.note(("cast", binding.value), (binding, walk.block))
        return binding

    return rewrite(fn, at, rule)


def _earlier(walk: Rewriter, cast: e.MatchCast) -> e.Var | None:
    """The variable of an equal match_cast that was evaluated before, and that can be read here."""
    found = walk.lookup(("cast", cast.value))
    if found is None or found[0].struct_info is not cast.struct_info:
        return None
    var: e.Var | None = found[0].var
    return None if type(var) is e.DataflowVar and found[1] is not walk.block else var


class _Binding:
    """The part of a StructInfo that binds shape variables; all that it compares is left out."""

    def __init__(self, new: Collection[p.PrimVar]) -> None:
        self.open = set(new)

    def part(self, info: s.StructInfo) -> s.StructInfo:
        """The StructInfo with a new shape variable instead of each length that is compared, and without dtypes."""
        if isinstance(info, s.TensorStructInfo) and info.dims is not None:
            return s.TensorStructInfo(self._lengths(info.dims), None, info.ndim)
        if isinstance(info, s.ShapeStructInfo) and info.values is not None:
            return s.ShapeStructInfo(self._lengths(info.values))
        if isinstance(info, s.PrimStructInfo) and info.value is not None:
            return s.PrimStructInfo(info.dtype, self._lengths((info.value,))[0])
        if isinstance(info, s.TupleStructInfo):
            return s.TupleStructInfo(tuple([self.part(field) for field in info.fields]))
        return s.OBJECT

    def _lengths(self, lengths: tuple[p.PrimExpr, ...]) -> tuple[p.PrimExpr, ...]:
        return tuple([self._length(length) for length in lengths])

    def _length(self, length: p.PrimExpr) -> p.PrimExpr:
        if type(length) is p.PrimVar and length in self.open:
            self.open.remove(length)
            return length
        return p.PrimVar("any", length.dtype)


class _Needs:
    """What a function needs of its match_casts: the variables that are read, and those casts that can go."""

    def __init__(self, fn: e.Function, drop_errors: bool) -> None:
        self.new = bound_by_casts(fn)
        self.read: set[e.Var] = set()
        self.used: set[p.PrimVar] = set()
        self.dropped: set[e.MatchCast] = set()
        self._result(fn)
        known = facts(fn)
        for binding in known.bindings:
            for function in (binding.value,) if type(binding.value) is e.Function else ():
                self._result(function)
            for seq in sequences(binding.value):
                self._leaf(seq.body)
        for binding, read in zip(reversed(known.bindings), reversed(known.operands), strict=True):
            if type(binding) is e.MatchCast and self._can_go(binding, drop_errors):
                self.dropped.add(binding)
                continue
            self.read.update(read)
            self._use(binding)

    def _can_go(self, cast: e.MatchCast, drop_errors: bool) -> bool:
        if cast.var in self.read or not self.used.isdisjoint(self.new[cast]):
            return False
        return drop_errors or is_proven(cast, self.new[cast])

    def _result(self, fn: e.Function) -> None:
        self._leaf(fn.body.body)
        self.used.update(signature_dims(fn), all_dims(fn.ret_struct_info or s.OBJECT))

    def _leaf(self, leaf: e.Expr) -> None:
        self.read.update(variables(leaf))
        self.used.update(_dims(leaf))

    def _use(self, binding: e.Binding) -> None:
        """Note the shape variables that a binding mentions. Those of a match_cast are used only where it does not bind them."""
        infos = [binding.annotation, binding.var.struct_info if binding.var is not None else None]
        if type(binding) is e.MatchCast:
            new = self.new[binding]
            mentioned = all_dims(binding.struct_info)
            self.used.update(dim for dim in mentioned if dim not in new)
            infos = infos if binding.var in self.read else []
        self.used.update(dim for info in infos if info is not None for dim in all_dims(info))
        self.used.update(_dims(binding.value))


def _dims(value: e.Expr) -> Iterator[p.PrimVar]:
    """The shape variables that a value mentions, outside of the sequences in it."""
    stack = [value]
    while stack:
        expr = stack.pop()
        infos = expr.sinfo_args if type(expr) is e.Call else ()
        yield from (dim for info in infos for dim in all_dims(info))
        if type(expr) is e.ShapeExpr:
            yield from p.free_vars(*expr.values)
        elif type(expr) is e.PrimValue:
            yield from p.free_vars(expr.value)
        stack.extend(operands(expr))
