"""LowerWildcards: replace the wildcards of StructInfo by shape variables, which TVM accepts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from relax_explorer.core.check.compatible import YES, fits
from relax_explorer.core.check.emission import FreshNames
from relax_explorer.core.check.matching import holds_function
from relax_explorer.core.check.normalize import normalize_with
from relax_explorer.core.check.wildcards import allowed, map_lengths, wildcards_in
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import WILDCARDS
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.substitute import Substitution
from relax_explorer.core.ir.walk import all_dims, bindings, map_blocks, map_sequences, sequences
from relax_explorer.core.passes.contract import ALWAYS, Kept, PassSite, module_pass
from relax_explorer.core.phases.module_properties import NORMAL_FORM, SHAPES_LOWERED
from relax_explorer.core.program.module import IRModule

Change = Callable[[s.StructInfo], s.StructInfo]


@module_pass(
    "LowerWildcards", requires=[NORMAL_FORM], invalidates=[SHAPES_LOWERED], changes={Kept.SIGNATURES: ALWAYS}
)
def lower_wildcards(module: IRModule, at: PassSite) -> IRModule:
    """Replace each wildcard `R.any_dim` by a new shape variable, and forbid wildcards in the module.

    Parameters and match_casts bind the variables. Results of functions lose their lengths. Where the lengths beside a wildcard
    would be lost, a match_cast behind the value states them; so does one in front of a result that promised them.
    """
    if not allowed(module.attrs):
        return module
    attrs = {name: value for name, value in module.attrs.items() if name != WILDCARDS}
    plain = replace(module, attrs=type(module.attrs)(attrs))
    names = {name: _names(fn) for name, fn in module.relax_functions.items()}
    plain, _ = normalize_with(
        plain.having(
            {
                name: _Plain(names[name]).function(fn) if isinstance(fn, e.Function) else fn
                for name, fn in module.functions.items()
            }
        )
    )
    kept = {
        name: _Kept(fn, names[name]).function(plain.relax_functions[name])
        for name, fn in module.relax_functions.items()
    }
    result, _ = normalize_with(plain.having({**plain.functions, **kept}))
    for name, fn in module.relax_functions.items():
        at.function = name
        for before, after in _pairs(fn.body, result.relax_functions[name].body):
            if after != (before,):
                at.record(before, after)
    return result


def _pairs(before: e.SeqExpr, after: e.SeqExpr) -> Iterator[tuple[e.Binding, tuple[e.Binding, ...]]]:
    """Each binding of a sequence, with what became of it: itself, or itself under a new name and a match_cast of its variable."""
    rest = iter([binding for block in after.blocks for binding in block.bindings])
    for binding in [binding for block in before.blocks for binding in block.bindings]:
        new = next(rest)
        yield binding, (new,) if _name(new) == _name(binding) else (new, next(rest))
        for pair in zip(sequences(binding.value), sequences(new.value), strict=True):
            yield from _pairs(*pair)


def _name(binding: e.Binding) -> str:
    return "" if binding.var is None else binding.var.name


def _names(fn: e.Function) -> FreshNames:
    """Names that no variable of a function has, shape variables included."""
    names = FreshNames.of(fn)
    infos: Iterable[s.StructInfo | None] = [
        *(param.struct_info for param in fn.params),
        *(binding.struct_info for binding in bindings(fn) if isinstance(binding, e.MatchCast)),
    ]
    names.take([dim.name for info in infos if info is not None for dim in all_dims(info)])
    return names


def _bound(names: FreshNames) -> Change:
    """The change of StructInfo that binds: a new shape variable for each wildcard. One for functions inside, too."""

    def change(info: s.StructInfo) -> s.StructInfo:
        if isinstance(info, s.TupleStructInfo):
            return s.TupleStructInfo(tuple(map(change, info.fields)))
        if isinstance(info, s.FuncStructInfo) and info.params is not None:
            return s.FuncStructInfo(tuple(map(change, info.params)), _weak(info.ret), info.pure)
        return map_lengths(info, lambda dim: p.PrimVar(names("any")) if type(dim) is p.AnyDim else dim)

    return change


def _weak(info: s.StructInfo) -> s.StructInfo:
    """StructInfo that binds nothing: tensors and shapes with a wildcard keep only their rank."""
    if isinstance(info, s.TupleStructInfo):
        return s.TupleStructInfo(tuple(map(_weak, info.fields)))
    if not wildcards_in(info):
        return info
    if isinstance(info, s.FuncStructInfo):
        return s.FuncStructInfo(info.params, _weak(info.ret), info.pure, info.derive_func)
    if isinstance(info, s.TensorStructInfo):
        return s.TensorStructInfo(None, info.dtype, info.ndim, info.vdevice)
    return s.ShapeStructInfo(None, info.ndim) if isinstance(info, s.ShapeStructInfo) else info


class _Plain:
    """Writes a function without wildcards. StructInfo of bindings is left to inference."""

    def __init__(self, names: FreshNames) -> None:
        self.bound = _bound(names)

    def function(self, fn: e.Function) -> e.Function:
        """A function with new parameters, a weaker promise, and a body without wildcards."""
        params: dict[e.Var, e.Expr] = {}
        kept = []
        for param in fn.params:
            info = param.struct_info or s.OBJECT
            new = e.var_like(param, self.bound(info)) if wildcards_in(info) else param
            if new is not param:
                params[param] = new
            kept.append(new)
        ret = None if fn.ret_struct_info is None else _weak(fn.ret_struct_info)
        changed = replace(
            fn, params=tuple(kept), ret_struct_info=ret, struct_info=None, body=self.sequence(fn.body)
        )
        return Substitution(params).function(changed) if params else changed

    def sequence(self, seq: e.SeqExpr) -> e.SeqExpr:
        """A sequence without wildcards in what it states."""
        return map_blocks(seq, self.binding)

    def binding(self, binding: e.Binding) -> e.Binding:
        """A binding whose casts and stated results have no wildcards. What an annotation with wildcards said, `_Kept` states."""
        value = binding.value
        if binding.annotation is not None and wildcards_in(binding.annotation):
            binding = replace(binding, annotation=None)
        if isinstance(binding, e.MatchCast):
            return replace(binding, struct_info=self.bound(binding.struct_info))
        if isinstance(value, e.Function):
            return replace(binding, value=self.function(value), annotation=None)
        if isinstance(value, e.Call) and any(map(wildcards_in, value.sinfo_args)):
            binding = replace(binding, value=replace(value, sinfo_args=tuple(map(_weak, value.sinfo_args))))
        return map_sequences(binding, self.sequence)


class _Kept:
    """Adds match_casts to a function without wildcards, so that it knows what it knew with them."""

    def __init__(self, before: e.Function, names: FreshNames) -> None:
        self.names, self.bound = names, _bound(names)
        self.infos = iter([binding for binding in bindings(before)])
        self.promised = [before.ret_struct_info]
        self.known: dict[e.Expr, s.StructInfo] = {}  # of the variables that got a match_cast

    def function(self, fn: e.Function) -> e.Function:
        """The function with match_casts behind its values and in front of its result."""
        promised = self.promised[-1]
        body = map_blocks(fn.body, self.binding)
        have = self._info(body.body)
        if promised is not None and wildcards_in(promised) and self._is_lost(have, promised):
            value, var = e.Var(self.names("gv")), e.Var(self.names("gv"))  # TVM casts variables only
            cast = (e.VarBinding(value, body.body), e.MatchCast(var, value, self.bound(promised)))
            body = replace(body, blocks=(*body.blocks, e.BindingBlock(cast)), body=var, struct_info=None)
        return replace(fn, body=body)

    def _info(self, leaf: e.Expr) -> s.StructInfo:
        """What is known of a result, with the casts."""
        if isinstance(leaf, e.Tuple):
            return s.TupleStructInfo(tuple(map(self._info, leaf.fields)))
        return self.known.get(leaf, leaf.struct_info or s.OBJECT)

    def binding(self, binding: e.Binding) -> e.Binding | tuple[e.Binding, ...]:
        """A binding, and a match_cast if its variable lost lengths."""
        before = next(self.infos)
        if isinstance(binding, e.MatchCast):
            return binding
        if isinstance(binding.value, e.Function) and isinstance(before.value, e.Function):
            self.promised.append(before.value.ret_struct_info)
            new = self.function(binding.value)
            self.promised.pop()
            return binding if new is binding.value else replace(binding, value=new)
        new_binding = map_sequences(binding, lambda seq: map_blocks(seq, self.binding))
        want = None if before.var is None else before.var.struct_info
        have = binding.value.struct_info or s.OBJECT
        given = before.value.struct_info
        # By the annotation alone.
        is_claimed = want is not None and given is not None and fits(given, want) is not YES
        if want is None or is_claimed or not self._is_lost(have, want):
            return new_binding
        target = self.known[binding.var] = self.bound(want)
        weaker = type(binding.var)(self.names(binding.var.name), have, binding.var.span)
        return replace(new_binding, var=weaker, annotation=None), e.MatchCast(
            binding.var, weaker, target, span=binding.span
        )

    @staticmethod
    def _is_lost(have: s.StructInfo, want: s.StructInfo) -> bool:
        """True if a value was known to be `want`, and is only known to be `have`."""
        return not holds_function(want) and fits(have, want) is not YES
