"""SimplifyShapes: write each length in the shortest form that is equal to it where it stands."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.facts import reads
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import WITH_BLOCKS, contents, map_block, map_operands, map_sequences
from relax_explorer.core.passes.contract import PassSite, module_pass
from relax_explorer.core.phases.module_properties import NORMAL_FORM
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.shapes.assumptions import Assumptions
from relax_explorer.core.shapes.machine_checks import is_lowered
from relax_explorer.core.shapes.origins import tensors
from relax_explorer.core.shapes.residual import Visible, visit_facts
from relax_explorer.core.shapes.settled import refused, tells_as_much
from relax_explorer.core.shapes.why import shortest

Place = e.Binding | e.SeqExpr  # a sequence stands for its result


@dataclass
class _Changes:
    """The bindings and results with lengths that have a shorter form."""

    bindings: dict[e.Binding, e.Binding] = field(default_factory=dict)
    results: dict[e.SeqExpr, e.Expr] = field(default_factory=dict)


@module_pass("SimplifyShapes", requires=[NORMAL_FORM])
def simplify_shapes(module: IRModule, at: PassSite) -> IRModule:
    """Write each length as the shortest expression that is equal to it: annotations, earlier checks and the branch tell that.

    Behind `R.match_cast(y, R.Tensor((n,)))`, for y of length k, `R.shape([k * 2 - n])` becomes `R.shape([n])`. Parameters and
    results of functions, conditions, and divisions that may stop a run stay as they are. Each check and each shape variable
    that a match_cast binds stays, too. StructInfo is derived again. A length stays if the program would tell less without it.
    """
    if _are_all_shortest(module):
        return module
    changes = _changes(module)
    places: list[Place] = [*changes.bindings, *changes.results]
    if not places:
        return module

    def is_fine(chosen: Collection[Place]) -> bool:
        return tells_as_much(_with(module, PassSite(module), changes, chosen), module, ())

    kept: set[Place] = refused(places, is_fine)
    return _with(module, at, changes, [place for place in places if place not in kept])


def _changes(module: IRModule) -> _Changes:
    """The changes of all functions."""
    found = _Changes()

    def visit(place: Place, known: Assumptions, visible: Visible) -> None:
        lengths = _Lengths(known, visible)
        if isinstance(place, e.SeqExpr):
            result = lengths.expr(place.body)
            if result is not place.body:
                found.results[place] = result
            return
        new = replace(place, value=lengths.expr(place.value))
        if isinstance(new, e.MatchCast):  # a shape variable that it binds has no value yet, so it stays
            new = replace(new, struct_info=lengths.info(new.struct_info))
        if new is not place:
            found.bindings[place] = new

    visit_facts(module, visit)
    return found


def _are_all_shortest(module: IRModule) -> bool:
    """True if each length is in its shortest form, and nothing in the module tells more of one: one walk finds that out."""
    lengths = _Lengths(Assumptions(), Visible(set(), frozenset()))
    for fn in module.relax_functions.values():
        found = contents(fn)
        if not found.bindings <= {e.VarBinding} or not WITH_BLOCKS.isdisjoint(found.values):
            return False
        if _ASSERT in found.operators or is_lowered(fn) or any(map(_tells_lengths, fn.params)):
            return False
        if not all([lengths.expr(part) is part for part in _unlike_variables(fn)]):
            return False
    return True


_ASSERT = e.op_ref("relax.assert_op")


def _tells_lengths(param: e.Var) -> bool:
    """True if that a parameter exists tells something of lengths: one of `n - 4` can't be negative."""
    return any(
        dim.children() for _, info in tensors(param.name, param.struct_info) for dim in info.lengths or ()
    )


def _unlike_variables(fn: e.Function) -> list[e.Expr]:
    """The expressions of a function without branches in which lengths may stand, among them operands, each once."""
    found = {fn.body.body}
    for block in fn.body.blocks:
        values = [binding.value for binding in block.bindings]
        for value in values:
            if type(value) is e.Call and not value.sinfo_args:
                found.update(value.args)
            else:
                found.add(value)
    return [expr for expr in found if type(expr) not in _WITHOUT_LENGTHS]


_WITHOUT_LENGTHS = e.LEAVES - {e.ShapeExpr, e.PrimValue}


class _Lengths:
    """Rewrites the lengths of one place."""

    def __init__(self, known: Assumptions, visible: Visible) -> None:
        self.known, self.visible = known, visible

    def expr(self, expr: e.Expr) -> e.Expr:
        """An operand or the value of a binding. Nested sequences are places of their own."""
        if type(expr) is e.ShapeExpr:
            values = self.dims(expr.values)
            return (
                expr if values is expr.values else e.ShapeExpr(values, s.ShapeStructInfo(values), expr.span)
            )
        if type(expr) is e.PrimValue:
            value = self.length(expr.value)
            return (
                expr
                if value is expr.value
                else e.PrimValue(value, s.PrimStructInfo(value.dtype, value), expr.span)
            )
        new = map_operands(expr, self.expr)
        if isinstance(new, e.Call):
            infos = tuple(map(self.info, new.sinfo_args))
            if any(a is not b for a, b in zip(infos, new.sinfo_args, strict=True)):
                new = replace(new, sinfo_args=infos)
        return new if new is expr else replace(new, struct_info=None)

    def length(self, length: p.PrimExpr) -> p.PrimExpr:
        """One length."""
        return shortest(length, self.known, self.visible)

    def dims(self, dims: tuple[p.PrimExpr, ...]) -> tuple[p.PrimExpr, ...]:
        """Several lengths."""
        new = tuple(map(self.length, dims))
        return dims if all(a is b for a, b in zip(new, dims, strict=True)) else new

    def info(self, info: s.StructInfo) -> s.StructInfo:
        """The lengths of a StructInfo; a function binds its own."""
        if isinstance(info, s.TensorStructInfo) and type(info.shape) is tuple:
            dims = self.dims(info.shape)
            return (
                info if dims is info.shape else s.TensorStructInfo(dims, info.dtype, info.ndim, info.vdevice)
            )
        if isinstance(info, s.ShapeStructInfo) and info.values is not None:
            return s.ShapeStructInfo(self.dims(info.values))
        if isinstance(info, s.TupleStructInfo):
            return s.TupleStructInfo(tuple(map(self.info, info.fields)))
        if isinstance(info, s.PrimStructInfo) and info.value is not None:
            return s.PrimStructInfo(info.dtype, self.length(info.value))
        return info


def _with(module: IRModule, at: PassSite, changes: _Changes, chosen: Collection[Place]) -> IRModule:
    """The module with some of the changes. Annotations of what follows from them go, for they have the old lengths."""
    affected: set[e.Var | None] = set()

    def sequence(seq: e.SeqExpr) -> e.SeqExpr:
        blocks = tuple([map_block(block, binding) for block in seq.blocks])
        same = all(a is b for a, b in zip(blocks, seq.blocks, strict=True))
        new = changes.results[seq] if seq in chosen else seq.body
        return replace(seq, blocks=seq.blocks if same else blocks, body=new)

    def binding(old: e.Binding) -> e.Binding:
        new = map_sequences(changes.bindings[old] if old in chosen else old, sequence)
        if new is not old or not affected.isdisjoint(reads(old)):
            affected.add(old.var)
            new = replace(new, annotation=None)
            at.record(old, new)
        return new

    for name, fn in module.relax_functions.items():
        at.editor.replace(name, replace(fn, body=sequence(fn.body)))
    return at.editor.done()
