"""The cleaning behind rules: copies, common subexpressions and unread bindings go."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import cycle

from relax_explorer.core.check.matching import erase
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.facts import facts
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import WITH_BLOCKS, contents, map_blocks, map_sequences, sequences
from relax_explorer.core.passes import canonicalize_bindings, eliminate_common_subexpr, eliminate_dead_code
from relax_explorer.core.passes.cast_checks import bound_dims
from relax_explorer.core.passes.contract import PassSite
from relax_explorer.core.passes.forgotten_lengths import forget_changed_results, forget_lengths


def cleaned(fn: e.Function, at: PassSite) -> e.Function:
    """The function without copies, common subexpressions and unread bindings.

    In the profile `tvm`, branches and nested functions are cleaned by themselves before, and lengths are forgotten as in TVM.
    """
    if at.as_tvm and not WITH_BLOCKS.isdisjoint(contents(fn).values):
        fn = _Parts(fn, at).cleaned()
    return _cleaned(fn, at)


def _cleaned(fn: e.Function, at: PassSite) -> e.Function:
    """The function after all three passes, as often as they find something.

    Dropping bindings makes no others common, except for functions and Ifs: the next search waits until copies are gone.
    """
    results: dict[
        Callable[..., e.Function], e.Function
    ] = {}  # of each pass: it leaves its own result as it is
    passes = (
        canonicalize_bindings.canonicalize_bindings.run,
        eliminate_common_subexpr.eliminate_common_subexpr.run,
        eliminate_dead_code.drop_unread,
    )
    for number, clean in enumerate(cycle(passes)):
        if results.get(clean) is fn:
            return fn
        given, fn = fn, clean(fn, at)
        if at.as_tvm and clean is not passes[2]:
            fn = forget_changed_results(fn, given, at, had_blocks=clean is passes[1])
        if fn is given and clean is passes[0] and results and not _has_inner(fn):
            return fn
        results[clean] = fn
        if at.as_tvm and number == 0 and fn is not given:
            del results[clean]  # lengths that are merged now are those that it merges next
    raise AssertionError("a cycle of three passes does not end by itself")


def _has_inner(fn: e.Function) -> bool:
    """True if a function contains functions or Ifs, which may have become equal."""
    return any(type(binding.value) in WITH_BLOCKS for binding in facts(fn).bindings)


class _Parts:
    """The branches and nested functions of a function, each cleaned by itself, inner ones first, as TVM does.

    What is cleaned does not know the parameters around it: a nested function forgets its lengths.
    """

    def __init__(self, fn: e.Function, at: PassSite) -> None:
        self.fn, self.at = fn, at
        self.has_merged = False  # lengths, so that the result is what the body tells

    def cleaned(self) -> e.Function:
        new = replace(self.fn, body=map_blocks(self.fn.body, partial(self._binding, self.fn)))
        return replace(new, ret_struct_info=None, struct_info=None) if self.has_merged else new

    def _binding(self, owner: e.Function, binding: e.Binding) -> e.Binding:
        """A binding of the function `owner`."""
        value = binding.value
        new = map_sequences(binding, partial(self._part, value if type(value) is e.Function else owner))
        if type(new.value) is e.Function:
            new = replace(new, value=self._without_captured_lengths(new.value))
        elif type(new.value) is e.If and _results(new.value) != _results(value):
            new = replace(new, value=replace(new.value, struct_info=None))
        if new is not binding:
            self.at.record(binding, new)
        return new

    def _part(self, owner: e.Function, seq: e.SeqExpr) -> e.SeqExpr:
        seq = map_blocks(seq, partial(self._binding, owner))
        if _is_graph(seq):
            return seq
        new = _cleaned(replace(owner, body=seq), self.at)
        self.has_merged |= new.ret_struct_info is not owner.ret_struct_info
        return (new if owner is self.fn else forget_lengths(new, self.at)).body

    def _without_captured_lengths(self, fn: e.Function) -> e.Function:
        """A nested function that does not promise the lengths that its result captures."""
        told = fn.ret_struct_info
        if told is None or told is not fn.body.body.struct_info or _is_graph(fn.body):
            return fn
        vague = erase(told, bound_dims(fn))
        if vague is told:
            return fn
        return replace(fn, ret_struct_info=vague, struct_info=None)


def _is_graph(seq: e.SeqExpr) -> bool:
    return all(type(block) is e.DataflowBlock for block in seq.blocks)


def _results(value: e.Expr) -> list[s.StructInfo | None]:
    """What is known of the results of branches."""
    return [seq.body.struct_info for seq in sequences(value)]
