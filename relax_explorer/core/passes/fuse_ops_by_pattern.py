"""FuseOpsByPattern: move what patterns match into functions, for a library or code generator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

from relax_explorer.core.codes import passes as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.walk import all_blocks, dataflow_blocks, info_holders, operands
from relax_explorer.core.passes import composites
from relax_explorer.core.passes.contract import PassSite, by_name, module_pass
from relax_explorer.core.passes.function_groups import Group, lift
from relax_explorer.core.passes.readings import DATAFLOW, OPERATORS
from relax_explorer.core.patterns import pattern as q
from relax_explorer.core.patterns.matcher import Match, match
from relax_explorer.core.patterns.matches import binding_index, root_of, roots
from relax_explorer.core.patterns.pattern_text import read_pattern
from relax_explorer.core.phases.external_code import unmarked
from relax_explorer.core.phases.module_properties import (
    BYOC_MARKED,
    NO_NESTED_FUNCTIONS,
    NORMAL_FORM,
    PURITY_ERASED,
    SHAPES_LOWERED,
    SYMBOLS_ATTACHED,
)
from relax_explorer.core.program.module import IRModule


@dataclass(frozen=True, slots=True)
class FusionPattern:
    """A pattern with the name of its functions, such as `dnnl.conv2d_relu`, and a test of its matches."""

    name: str
    pattern: q.Pattern
    check: Callable[[Match], bool] = lambda found: True


@module_pass(
    "FuseOpsByPattern",
    rebuilds=True,
    reads=[DATAFLOW, OPERATORS],
    requires=[NORMAL_FORM],
    invalidates=[BYOC_MARKED, NO_NESTED_FUNCTIONS, PURITY_ERASED, SHAPES_LOWERED, SYMBOLS_ATTACHED],
    kept_with={"annotate_codegen": BYOC_MARKED},
)
def fuse_ops_by_pattern(
    module: IRModule,
    at: PassSite,
    *,
    patterns: Annotated[
        tuple[str, ...], 'names and patterns, "my.dense: relu(matmul(_, _))"; earlier ones come first'
    ] = (),
    bind_constants: Annotated[bool, "constants stay in the functions; else they become operands"] = True,
    annotate_codegen: Annotated[
        bool, "wrap each function for the code generator in front of the point of its name"
    ] = False,
    entry_functions: Annotated[tuple[str, ...], "change only these functions; all by default"] = (),
) -> IRModule:
    """Move the bindings of each match in a dataflow block into a private function with the attribute `Composite`.

    FuseOpsByPattern{patterns="my.dense: relu(matmul(_, w))"} replaces a product and the relu of it by one call. The first match in
    text order counts. A binding belongs to one match. Operands that a pattern only names stay outside. A match that other bindings
    divide is not moved: they read one part of it, and another part reads them. In the profile `tvm` a match takes bindings from an
    earlier one, whose rest is a function by itself, unless they are its end; and it is cut at the ends of its block.
    """
    return fused(
        module, at, [_read(text) for text in patterns], bind_constants, annotate_codegen, entry_functions
    )


def _read(text: str) -> FusionPattern:
    name, colon, pattern = text.partition(":")
    read = read_pattern(pattern.strip()) if colon and name.strip() else None
    if not isinstance(read, q.Pattern):
        problem = f"{text!r} is no name with a pattern"
        raise Failure(
            Diagnostic(codes.BAD_OPTION, problem, help='write patterns="my.dense: relu(matmul(_, _))"')
        )
    return FusionPattern(name.strip(), read)


def fused(
    module: IRModule,
    at: PassSite,
    patterns: Sequence[FusionPattern],
    bind_constants: bool = True,
    annotate_codegen: bool = False,
    entry_functions: Sequence[str] = (),
) -> IRModule:
    """The module with a function for each match; patterns come one after the other."""
    for pattern in patterns:
        for name, fn in by_name(at.editor.done()):
            if _is_open(name, fn, entry_functions):
                found = _SharedMatches(fn, pattern) if at.as_tvm else _Matches(fn, pattern)
                at.editor.replace(name, lift(fn, at, dict(found.grouping), not bind_constants))
    if annotate_codegen:
        composites.wrap(at)
    elif unmarked(at.editor.done()) is not None:
        at.waived.add(BYOC_MARKED)
    return at.editor.done()


def _is_open(name: str, fn: e.Function, entry_functions: Sequence[str]) -> bool:
    """True if matches in a function count: it was not made for a match itself."""
    closed = any(fn.attrs.get(attr) for attr in ("Primitive", "Composite", "Codegen"))
    return not closed and (not entry_functions or name in entry_functions)


class _Matches:
    """The groups of the matches of one pattern in one function."""

    def __init__(self, fn: e.Function, pattern: FusionPattern) -> None:
        self.pattern, self.values = pattern, binding_index(fn).values
        self.grouping: dict[e.Binding, Group] = {}
        wanted = roots(pattern.pattern)
        for block in dataflow_blocks(fn):
            inside: dict[e.Expr | None, int] = {binding.var: n for n, binding in enumerate(block.bindings)}
            for binding in block.bindings:
                if type(binding.value) is e.Call and (wanted is None or root_of(binding.value) in wanted):
                    self._try(binding, block, inside)

    def _try(self, root: e.Binding, block: e.BindingBlock, inside: dict[e.Expr | None, int]) -> None:
        assert type(root) is e.VarBinding  # its value is a call
        found = match(self.pattern.pattern, root.var, self.values)
        if found is None or not self.pattern.check(found):
            return
        numbers = {inside[root.var]}
        for part, operand in found.operands.items():
            while isinstance(part, _DESCRIBED) and operand in inside:
                numbers.add(inside[operand])
                operand = block.bindings[inside[operand]].value  # a copy is part of the match
            if isinstance(part, _DESCRIBED) and isinstance(operand, e.Var):
                return  # it is computed outside of the block
        members = [block.bindings[n] for n in sorted(numbers)]
        if any(member in self.grouping or _has_held_shape(member) for member in members):
            return
        group = Group(Attrs({"Composite": self.pattern.name, "Primitive": True}))
        for member in members:
            assert type(member) is e.VarBinding  # a pattern sees no other values
            group.bindings.append(member)
            self.grouping[member] = group


class _SharedMatches:
    """The groups of the matches of one pattern as TVM finds them: a match takes bindings from earlier ones, and reaches into other blocks.

    The rest of an earlier match is a group by itself, with the name of the pattern; so is what each block has of a match. Only the end
    of an earlier match stays where it is: a match with it does not count.
    """

    def __init__(self, fn: e.Function, pattern: FusionPattern) -> None:
        self.pattern, self.values = pattern, binding_index(fn).values
        self.grouping: dict[e.Binding, Group] = {}
        self.places: dict[e.Expr, tuple[e.BindingBlock, e.Binding]] = {}
        self.ends: set[e.Var] = set()  # the roots of matches of several bindings
        wanted = roots(pattern.pattern)
        for block in all_blocks(fn):
            for binding in block.bindings:
                if binding.var is None:
                    continue
                self.places[binding.var] = block, binding
                if type(binding.value) is e.Call and (wanted is None or root_of(binding.value) in wanted):
                    self._try(binding.var)

    def _try(self, root: e.Var) -> None:
        found = match(self.pattern.pattern, root, self.values)
        if found is None or not self.pattern.check(found):
            return
        members = {root}
        for part, operand in found.operands.items():
            while isinstance(part, _DESCRIBED) and isinstance(operand, e.Var) and operand in self.places:
                members.add(operand)
                operand = self.places[operand][1].value
        if self.ends & members or any(_has_held_shape(self.places[var][1]) for var in members):
            return
        if len(members) > 1:
            self.ends.add(root)
        groups: dict[e.BindingBlock, Group] = {}
        for var in [var for var in self.places if var in members]:
            block, binding = self.places[var]
            if type(block) is e.DataflowBlock and type(binding) is e.VarBinding:
                if binding in self.grouping:
                    self.grouping[binding].bindings.remove(binding)
                attrs = Attrs({"Composite": self.pattern.name, "Primitive": True})
                group = self.grouping[binding] = groups.setdefault(block, Group(attrs))
                group.bindings.append(binding)


def _has_held_shape(binding: e.Binding) -> bool:
    """True if a variable holds the shape of a result or an operand: a function would not know it."""
    known = [binding.var, *operands(binding.value)]
    return any(info_holders(part.struct_info) for part in known if part is not None and part.struct_info)


# Other patterns only name or limit an operand, which stays outside.
_DESCRIBED = (q.CallOf, q.TupleOf, q.ItemOf)
