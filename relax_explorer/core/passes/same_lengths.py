"""Shape variables that a match_cast binds to lengths which are known already."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence

from relax_explorer.core.arith.prove import Answer, equal
from relax_explorer.core.arith.simplify import summed
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.fold import FormedDims, substitute
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.substitute import Substitution
from relax_explorer.core.ir.walk import (
    all_dims,
    casts_in,
    contents,
    defined_dims,
    exprs,
    functions_in,
    infos_of,
    operands,
    stated_infos,
)
from relax_explorer.core.passes.cast_checks import bound_by_casts
from relax_explorer.core.passes.contract import PassSite


def merge_lengths(fn: e.Function, at: PassSite) -> e.Function:
    """Replace each shape variable that a match_cast binds to a known length by this length."""
    lengths = known_lengths(fn)
    if not lengths:
        return fn
    new = Substitution({}, FormedDims(lengths, summed)).function(fn)
    at.record_in_order(fn, new)
    return new


def equal_lengths(fn: e.Function, at: PassSite) -> e.Function:
    """Replace each shape variable that a match_cast compares with a known length by this length, as TVM does.

    The first cast of a variable counts, and in it the last place. What stands before it, and behind its branch or nested
    function, keeps the variable. A comparison of two lengths that are known is lost.
    """
    if e.MatchCast not in contents(fn).bindings:
        return fn
    told: dict[p.PrimVar, p.PrimExpr] = {}
    for cast in casts_in(fn):
        for dim, length in _told(cast).items():
            told.setdefault(dim, length)
    scalars = {dim for x in exprs(fn) if type(x) is e.PrimValue for dim in p.free_vars(x.value)}
    new = _Equal(_without_contradictions(fn, told), scalars).function(fn)
    if new is fn:
        return fn
    at.record_in_order(fn, new)
    return replace(new, ret_struct_info=None, struct_info=None)


class _Equal(Substitution):
    """Replaces lengths `among` some from the cast on that tells them, up to the end of its scope.

    Those of `scalars` stay in numbers and casts.
    """

    def __init__(self, among: Container[p.PrimVar], scalars: set[p.PrimVar]) -> None:
        super().__init__()
        self.among, self.scalars = among, scalars

    def expr(self, expr: e.Expr) -> e.Expr:
        """An operand or the value of a binding."""
        return expr if type(expr) is e.PrimValue else super().expr(expr)

    def binding(self, binding: e.Binding) -> e.Binding:
        """One binding, behind which the lengths of a cast are known."""
        if isinstance(binding, e.MatchCast):
            new = {dim: length for dim, length in _told(binding).items() if dim in self.among}
            self.set_dims(FormedDims({**new, **self.dims}, summed))
            if not self.scalars.isdisjoint([dim for dim, length in new.items() if length is not dim]):
                return binding
        return _kept_call(super().binding(binding), binding)

    def sequence(self, seq: e.SeqExpr) -> e.SeqExpr:
        """The blocks and the result of a sequence, which is a scope."""
        outer = self.dims
        new = super().sequence(seq)
        self.set_dims(outer)
        return new


def _kept_call(new: e.Binding, old: e.Binding) -> e.Binding:
    """A binding whose call has the same operands as before: TVM does not ask again what follows from them."""
    value = old.value
    if type(new) is not e.VarBinding or type(value) is not e.Call or type(new.value) is not e.Call:
        return new
    if new.value is value or not _has_same_operands(new.value, value):
        return new
    return replace(new, value=value, annotation=new.annotation or new.var.struct_info)


def _has_same_operands(new: e.Call, old: e.Call) -> bool:
    return new.op is old.op and all(map(_is_same, new.args, old.args)) and new.sinfo_args == old.sinfo_args


def _is_same(new: e.Expr, old: e.Expr) -> bool:
    """True for the same operand, or a tuple of the same ones."""
    if type(new) is e.Tuple and type(old) is e.Tuple:
        return all(map(_is_same, new.fields, old.fields))
    return new is old


def _told(cast: e.MatchCast) -> dict[p.PrimVar, p.PrimExpr]:
    """The shape variables in the StructInfo of a cast, each with the length in that of its value. In it the last place counts."""
    pairs = _pairs(cast.struct_info, cast.value.struct_info)
    return {dim: length for dim, length in pairs if type(dim) is p.PrimVar and length is not None}


def known_lengths(fn: e.Function) -> dict[p.PrimVar, p.PrimExpr]:
    """The known lengths to which match_casts bind shape variables. Branches may bind one variable, if it is to the same length."""
    if e.MatchCast not in contents(fn).bindings:
        return {}
    lengths: dict[p.PrimVar, p.PrimExpr] = {}
    params = [param for each in functions_in(fn) for param in each.params]
    others = {dim for info in infos_of(params) for dim in defined_dims(info)}
    for cast, new in bound_by_casts(fn).items():
        pairs = _pairs(cast.struct_info, cast.value.struct_info)
        here = {dim: length for dim, length in pairs if length is not None}
        for dim in new:
            length = substitute(here[dim], lengths) if dim in here else dim
            if lengths.setdefault(dim, length) is not length:
                others.add(dim)
    found = {dim: length for dim, length in lengths.items() if dim not in others and length is not dim}
    return _without_contradictions(fn, found) if found else found


def _without_contradictions(
    fn: e.Function, lengths: dict[p.PrimVar, p.PrimExpr]
) -> dict[p.PrimVar, p.PrimExpr]:
    """The lengths but for those of which a cast says that they are others. It stops the run, so they keep their names behind it."""
    wrong: set[p.PrimVar] = set()
    for cast in casts_in(fn):
        for dim, length in _pairs(cast.struct_info, cast.value.struct_info):
            if length is None:
                continue
            if equal(substitute(dim, lengths), substitute(length, lengths)) is Answer.NO:
                wrong.update(p.free_vars(dim, length))
    return {dim: length for dim, length in lengths.items() if dim not in wrong} if wrong else lengths


def _pairs(cast: s.StructInfo, value: s.StructInfo | None) -> Iterator[tuple[p.PrimExpr, p.PrimExpr | None]]:
    """The lengths in the StructInfo of a cast, each with the length in that of its value, if it is known."""
    if isinstance(cast, s.TupleStructInfo):
        fields = value.fields if isinstance(value, s.TupleStructInfo) else ()
        for number, field in enumerate(cast.fields):
            yield from _pairs(field, fields[number] if len(fields) == len(cast.fields) else None)
        return
    new, old = _lengths(cast), _lengths(value)
    same = type(cast) is type(value) and old is not None and new is not None and len(old) == len(new)
    for number, dim in enumerate(new or ()):
        length = old[number] if same and old is not None else None
        yield dim, None if type(length) is p.AnyDim else length  # a wildcard has no value


def _lengths(info: s.StructInfo | None) -> tuple[p.PrimExpr, ...] | None:
    if isinstance(info, s.TensorStructInfo):
        return info.dims
    if isinstance(info, s.ShapeStructInfo):
        return info.values
    return (info.value,) if isinstance(info, s.PrimStructInfo) and info.value is not None else None


# -- length binders --------------------------------------------------------------------------------------------------
# Which match_cast binds a shape variable, and which shape variables a binding mentions: passes that move bindings
# obey both.


def length_binders(params: Sequence[e.Var], bindings: Iterable[e.Binding]) -> dict[p.PrimVar, e.MatchCast]:
    """The first match_cast that binds each shape variable, of those that the parameters do not tell."""
    known = {dim for param in params for dim in defined_dims(param.struct_info or s.OBJECT)}
    found: dict[p.PrimVar, e.MatchCast] = {}
    for binding in bindings:
        if type(binding) is e.MatchCast:
            for dim in defined_dims(binding.struct_info):
                if dim not in known:
                    found.setdefault(dim, binding)
    return found


def untold_lengths(params: Iterable[s.StructInfo], inside: Iterable[s.StructInfo]) -> tuple[p.PrimVar, ...]:
    """The shape variables in parameters and inside of a function that no parameter tells: they become one, in the order that TVM gives mostly."""
    infos = [*params]
    told = {dim for info in infos for dim in defined_dims(info)}
    used = dict.fromkeys(dim for info in (*infos, *inside) for dim in all_dims(info))
    return tuple([dim for dim in used if dim not in told])[::-1]


def mentioned_lengths(binding: e.Binding) -> list[p.PrimVar]:
    """The shape variables in the StructInfo of a binding, of its value and of all operands."""
    infos = stated_infos(binding)
    stack = [binding.value]
    while stack:
        value = stack.pop()
        infos.append(value.struct_info or s.OBJECT)
        stack.extend(operands(value))
    return [dim for info in dict.fromkeys(infos) for dim in all_dims(info)]
