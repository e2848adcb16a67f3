"""CanonicalizeBindings: remove copies of variables, fields of known tuples, and redundant match_casts."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from relax_explorer.core.check.aliases import Aliases, aliases
from relax_explorer.core.check.compatible import always_fits, defined_dims
from relax_explorer.core.check.normalize import normalize_with
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.node import replace
from relax_explorer.core.passes.branch_results import cast_branches
from relax_explorer.core.passes.contract import PassSite, function_pass
from relax_explorer.core.passes.liveness import killed
from relax_explorer.core.passes.outputs import Blocks, settle_outputs
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite, without_plain_annotation
from relax_explorer.core.passes.same_lengths import equal_lengths, merge_lengths
from relax_explorer.core.phases.module_properties import CANONICAL_BINDINGS, NORMAL_FORM


@function_pass(
    "CanonicalizeBindings", rebuilds=True, requires=[NORMAL_FORM], establishes=[CANONICAL_BINDINGS]
)
def canonicalize_bindings(fn: e.Function, at: PassSite) -> e.Function:
    """Propagate copies `y = x` and constants, fold `(a, b)[0]`, and drop match_casts that neither check nor bind anything.

    A shape variable that a match_cast binds to a known length is replaced by that length. A dataflow variable whose reader
    is the output `gv = lv` becomes that output, and an output that only its block reads becomes a dataflow variable. The result
    of a branch is cast to the StructInfo of its If. In the profile `tvm`, a match_cast that compares two known lengths makes
    them one instead.
    """
    return canonicalize(fn, at)


def canonicalize(fn: e.Function, at: PassSite) -> e.Function:
    """The function with canonical bindings, for passes that end or begin with this."""
    given = fn
    merged = equal_lengths(fn, at) if at.as_tvm else merge_lengths(fn, at)
    cast = cast_branches(merged, at)
    fn = cast if merged is fn else _derived(cast, at)
    copies = _Copies(fn, at)
    fn = rewrite(fn, at, copies.rule)
    if copies.promoted:
        fn = rewrite(fn, at, copies.promotion())
    return settle_outputs(fn, at, copies.inlined, given)


def _derived(fn: e.Function, at: PassSite) -> e.Function:
    """The function whose StructInfo tells what follows from merged lengths: casts that compared them may be redundant now.

    An annotation that told what the value tells, as in printed text, hides nothing of it now.
    """
    fn = rewrite(fn, at, without_plain_annotation)
    before = at.editor.done()
    if at.function not in before.functions:
        return fn
    module = before.having({**before.functions, at.function: fn})
    new = normalize_with(module, after=before)[0][at.function]
    if not isinstance(new, e.Function) or new is fn:
        return fn
    at.record_in_order(fn, new)
    return new


class _Copies:
    """The rule of one walk. A tuple, or a field of one, is noted under its variable.

    A copy stays where dropping it would make a dataflow variable visible outside. In the profile `tvm` it is not asked what writes
    and kills.
    """

    def __init__(self, fn: e.Function, at: PassSite) -> None:
        self.fn, self.at = fn, at
        # Readers of a copy do not read the variable itself, which may have ended.
        self.killed = frozenset() if at.as_tvm else killed(fn)
        self.params: set[e.Var] = set(fn.params)
        self.blocks: Blocks | None = None  # created when the first constant is an output
        self.constants: set[e.Expr] = set()  # those that readers of their variables read directly
        self.bound: set[e.Expr] = set()  # those of them that were bound to variables, not written in tuples
        self.inlined: set[e.Var] = set()  # the variables of these constants
        self.home: dict[e.Var, e.BindingBlock | None] = {}  # the blocks of dataflow variables
        self.promoted: dict[
            e.Var, e.Var
        ] = {}  # those that are read outside now, with the outputs that they become

    @cached_property
    def memory(self) -> Aliases:
        """The aliases of the function. Only constants ask for them, and most functions bind none."""
        return aliases(self.at.module, self.at.function, self.fn)

    def rule(self, walk: Rewriter, binding: e.Binding) -> Answer:
        if type(binding.var) is e.DataflowVar:
            self.home[binding.var] = walk.block
        if type(binding) is e.MatchCast:
            return self._match_cast(walk, binding)
        assert type(binding) is e.VarBinding  # the only other type of binding
        value = binding.value
        if type(value) is e.Function:
            self.params.update(value.params)
        if type(value) is e.TupleGetItem:
            return self._get_item(walk, binding, value)
        if type(value) is e.Tuple:
            return self._tuple(walk, binding, value)
        if type(value) in _LITERALS:
            return self._constant(walk, binding, binding.var, value)
        if type(value) is e.PrimValue and isinstance(value.value, p.PrimVar):
            walk.rename(binding.var, value)
            return ()
        return self._copy(walk, binding, value) if isinstance(value, e.Var) else binding

    def _get_item(self, walk: Rewriter, binding: e.VarBinding, value: e.TupleGetItem) -> Answer:
        field = self._field(walk, value)
        walk.note(binding.var, field if type(field) is e.Tuple else value)
        if type(field) is e.Constant:
            return self._constant(walk, binding, binding.var, field)
        if type(field) is e.DataflowVar and self.home.get(field) is not walk.block:
            return self._from_outside(walk, binding, field)
        return self._copy(walk, replace(binding, value=field), field) if isinstance(field, e.Var) else binding

    def _copy(self, walk: Rewriter, binding: e.VarBinding, value: e.Var) -> Answer:
        if not self._replaceable(binding.var, value):
            known = walk.lookup(value)
            if type(known) is e.Tuple:
                walk.note(binding.var, known)
            return binding
        walk.rename(binding.var, value)
        return ()

    def _from_outside(self, walk: Rewriter, binding: e.VarBinding, field: e.Var) -> Answer:
        """Let readers read the dataflow variable of another block, which becomes an output."""
        output = self.promoted.get(field) or e.var_like(binding.var, field.struct_info, e.Var)
        if not self._replaceable(binding.var, output):
            return binding
        self.promoted[field] = output
        walk.rename(binding.var, output)
        return ()

    def promotion(self) -> Callable[[Rewriter, e.Binding], Answer]:
        """The rule of a second walk, which makes dataflow variables outputs, and drops copies of them."""
        outputs = set(self.promoted.values())

        def rule(walk: Rewriter, binding: e.Binding) -> Answer:
            var, value = binding.var, binding.value
            if var is not None and var in self.promoted:
                walk.rename(var, self.promoted[var])
                return replace(binding, var=self.promoted[var])
            if type(binding) is e.VarBinding and type(value) is e.Var and value in outputs:
                return self._copy(walk, binding, value)
            return binding

        return rule

    def _constant(self, walk: Rewriter, binding: e.Binding, var: e.Var, value: e.Expr) -> Answer:
        """Let readers read a constant directly. An output that only its block reads becomes a dataflow variable instead."""
        if type(value) is e.Constant and not self.at.as_tvm and self.memory.written(var):
            return binding
        if binding.value in self.constants or value in self.bound:  # a copy of the variable of this constant
            walk.rename(var, value)
            return ()
        self.blocks = self.blocks or Blocks(self.fn)
        if var in self.blocks.outputs and not self.blocks.is_read_outside(var):
            return binding
        if type(var) is e.DataflowVar and var in self.blocks.renamed:
            return binding  # it becomes the output that renames it
        walk.rename(var, value)
        self.inlined.add(var)
        self.constants.add(value)
        if binding.value is value:
            self.bound.add(value)
        return binding

    def _tuple(self, walk: Rewriter, binding: e.VarBinding, value: e.Tuple) -> Answer:
        whole = _unpacked(walk, value)
        if whole is None:
            walk.note(binding.var, value)
        elif whole in self.params and self._replaceable(binding.var, whole):
            walk.rename(binding.var, whole)
            return ()
        elif type(part := walk.lookup(whole)) is e.TupleGetItem:
            walk.note(binding.var, part)  # in a tuple around it, it stands for this field
        return binding

    def _field(self, walk: Rewriter, value: e.TupleGetItem) -> e.Expr | None:
        """The field of a known tuple, unless a kill ends it."""
        known = value.tuple if type(value.tuple) is e.Tuple else walk.lookup(value.tuple)
        if type(known) is not e.Tuple or value.index >= len(known.fields):
            return None
        field = known.fields[value.index]
        return None if field in self.killed else field

    def _replaceable(self, var: e.Var, leaf: e.Var) -> bool:
        """True if readers of `var` may read `leaf`: its scope is as large, its StructInfo as precise, and no kill ends it."""
        leaks = type(leaf) is e.DataflowVar and type(var) is not e.DataflowVar
        if leaks or leaf in self.killed or var in self.killed:
            return False
        have, want = leaf.struct_info, var.struct_info
        return have is want or (have is not None and want is not None and always_fits(have, want))

    def _match_cast(self, walk: Rewriter, binding: e.MatchCast) -> Answer:
        value, info = binding.value, binding.struct_info
        have = value.struct_info
        if have is None or (info is not have and info is not s.without_values(have)) or _binds(binding):
            return binding
        if type(value) is e.PrimValue and not isinstance(value.value, p.PrimVar):
            return binding
        if binding.var is None:
            return ()
        if type(value) is e.Constant:
            return self._constant(walk, binding, binding.var, value)
        if type(value) is e.PrimValue:
            walk.rename(binding.var, value)
            return ()
        if not isinstance(value, e.Var):
            return binding
        if self._replaceable(binding.var, value):
            walk.rename(binding.var, value)
            return ()
        return e.VarBinding(binding.var, value, binding.annotation, binding.span)


_LITERALS = (e.Constant, e.DataTypeImm)


def _unpacked(walk: Rewriter, value: e.Tuple) -> e.Var | None:
    """The tuple `t` if `value` is `(t[0], t[1], …)` with all of its fields."""
    parts = [walk.lookup(field) if isinstance(field, e.Var) else None for field in value.fields]
    whole = parts[0].tuple if parts and type(parts[0]) is e.TupleGetItem else None
    if not isinstance(whole, e.Var) or whole.struct_info is not value.struct_info:
        return None
    for index, part in enumerate(parts):
        if type(part) is not e.TupleGetItem or part.tuple is not whole or part.index != index:
            return None
    return whole


def _binds(binding: e.MatchCast) -> bool:
    """True if the cast defines a shape variable, which the StructInfo of the value does not mention yet."""
    info = binding.value.struct_info
    known = set(defined_dims(info)) if info is not None else set()
    return any(var not in known for var in defined_dims(binding.struct_info))
