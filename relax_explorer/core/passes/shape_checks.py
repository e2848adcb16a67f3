"""Checks of lengths: dropped (ElideChecks), dropped if they are proved (EliminateShapeChecks), and shorter lengths (SimplifyShapes)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.check.compatible import always_fits
from relax_explorer.core.check.wildcards import map_lengths
from relax_explorer.core.codes import passes as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dataflow import unneeded
from relax_explorer.core.ir.facts import facts, reads, variables
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import (
    WITH_BLOCKS,
    all_dims,
    bindings,
    contents,
    map_block,
    map_operands,
    map_sequences,
    operands,
    sequences,
    with_blocks,
)
from relax_explorer.core.passes.cast_checks import bound_by_casts, is_proven, signature_dims
from relax_explorer.core.passes.contract import Kept, PassSite, check_choice, function_pass, module_pass
from relax_explorer.core.passes.readings import CASTS, CHECKS
from relax_explorer.core.passes.rewrite import Answer as Rewritten
from relax_explorer.core.passes.rewrite import Rewriter, rewrite
from relax_explorer.core.passes.run_time_checks import without_proved
from relax_explorer.core.phases.module_properties import CANONICAL_BINDINGS, NORMAL_FORM, PURITY_ERASED
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.shapes.assumptions import Assumptions
from relax_explorer.core.shapes.conditions import fits_without_lengths
from relax_explorer.core.shapes.decided_lengths import loses, refused, tells_as_much
from relax_explorer.core.shapes.machine_checks import is_lowered
from relax_explorer.core.shapes.origins import tensors
from relax_explorer.core.shapes.residual import (
    ASSERT,
    CAST,
    MACHINE,
    WRITTEN,
    ShapeCheck,
    Visible,
    shape_checks,
    visit_facts,
)
from relax_explorer.core.shapes.value_terms import ValueNames
from relax_explorer.core.shapes.why import shortest


@function_pass(
    "ElideChecks",
    only_with=[CASTS],
    requires=[NORMAL_FORM],
    invalidates=[CANONICAL_BINDINGS],
    changes={Kept.CHECKS: "errors"},
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
    check_choice("errors", errors, ("keep", "drop"))
    needs = _Needs(fn, errors == "drop")

    def rule(walk: Rewriter, binding: e.Binding) -> Rewritten:
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
        self.read: set[e.Expr] = set()
        self.used: set[p.PrimVar] = set()
        self._result(fn)
        known = facts(fn)
        for binding in known.bindings:
            for function in (binding.value,) if type(binding.value) is e.Function else ():
                self._result(function)
            for seq in sequences(binding.value):
                self._leaf(seq.body)

        def stays(binding: e.Binding) -> bool:
            return type(binding) is not e.MatchCast or not self._can_go(binding, drop_errors)

        def note(binding: e.Binding, read: set[e.Expr]) -> None:
            read.update(known.operands[known.number[binding]])
            self._use(binding)

        self.dropped = set(unneeded(reversed(known.bindings), self.read, stays, note))

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


# -- eliminate shape checks ------------------------------------------------------------------------------------------
# EliminateShapeChecks: drop checks of lengths that the program proves.


Proofs = dict[e.Binding, Sequence[ShapeCheck]]  # what each check demands, and the facts that prove it


@module_pass(
    "EliminateShapeChecks",
    only_with=[CHECKS],
    requires=[NORMAL_FORM],
    invalidates=[CANONICAL_BINDINGS, PURITY_ERASED],
)
def eliminate_shape_checks(module: IRModule, at: PassSite) -> IRModule:
    """Drop match_casts and assertions about lengths that always hold: annotations, earlier checks or the branch prove them.

    A note tells the facts that prove each of them. What operators and calls demand proves nothing here, for their kernels may
    not compare lengths. A match_cast stays if it is the only one that tells the lengths of a value, if it binds a shape
    variable, or if without it a length, a type or a proof of the checker would be lost.

    In functions in virtual machine form the checks are calls of builtins. Those that earlier ones prove go, and `match_shape`
    compares no length that is known to be right; it still stores those that are new. A tensor that the function makes has
    the lengths that it was made with.
    """
    for name, proofs in proved_checks(module).items():

        def is_fine(dropped: Collection[e.Binding], name: str = name) -> bool:
            fn = _without(module.relax_functions[name], PassSite(module), dropped)
            return tells_as_much(module.having({**module.functions, name: fn}), module, dropped)

        kept = refused(list(proofs), is_fine)
        dropped = [binding for binding in proofs if binding not in kept]
        if dropped:
            at.editor.replace(name, _without(module.relax_functions[name], at, dropped))
            for binding in dropped:
                _tell(at, binding, proofs[binding])
    for name, checks in _machine_checks(module).items():
        changes = without_proved(checks)
        at.function = name

        def rule(
            _: Rewriter, binding: e.Binding, changes: Mapping[e.Binding, Rewritten] = changes
        ) -> Rewritten:
            return changes.get(binding, binding)

        if changes:
            at.editor.replace(name, rewrite(module.relax_functions[name], at, rule))
            for binding in changes:
                proved = [check for check in checks[binding] if check.answer is Answer.YES]
                _tell(at, binding, proved, is_gone=changes[binding] == ())
    return at.editor.done()


_ASSERT = e.op_ref("relax.assert_op")


def proved_checks(module: IRModule) -> dict[str, Proofs]:
    """The match_casts and assertions of each function that can't fail."""
    at_place: dict[int, list[ShapeCheck]] = {}
    for check in shape_checks(module, trusted=WRITTEN):
        if check.kind in (CAST, ASSERT):
            at_place.setdefault(id(check.place), []).append(check)
    found: dict[str, Proofs] = {}
    for name, fn in module.relax_functions.items():
        if is_lowered(fn):  # a match_cast is a copy there, behind the check of a builtin
            continue
        new = bound_by_casts(fn)
        read = facts(fn).uses
        for binding in bindings(fn):
            checks = at_place.get(id(binding), [])
            if any(check.answer is not Answer.YES for check in checks):
                continue
            if type(binding) is e.MatchCast:
                have = binding.value.struct_info
                is_fitting = have is not None and fits_without_lengths(have, binding.struct_info)
                is_proved = is_fitting and not new[binding]
            else:  # only assertions and match_casts have checks of these kinds
                is_proved = bool(checks) and binding.var not in read
            if is_proved:
                found.setdefault(name, {})[binding] = checks
    return found


def proved_bindings(module: IRModule) -> set[e.Binding]:
    """The bindings whose checks, or some of them, can't fail."""
    machine = [without_proved(checks) for checks in _machine_checks(module).values()]
    return {binding for found in (*proved_checks(module).values(), *machine) for binding in found}


def _machine_checks(module: IRModule) -> dict[str, dict[e.Binding, list[ShapeCheck]]]:
    """The checks that builtins make in functions in virtual machine form, by their bindings."""
    found: dict[str, dict[e.Binding, list[ShapeCheck]]] = {}
    for check in (
        shape_checks(module, trusted=WRITTEN) if any(map(is_lowered, module.relax_functions.values())) else ()
    ):
        if check.kind == MACHINE and isinstance(check.place, e.VarBinding):
            found.setdefault(check.function, {}).setdefault(check.place, []).append(check)
    return found


def _without(fn: e.Function, at: PassSite, dropped: Collection[e.Binding]) -> e.Function:
    """The function without some checks. The variable of a match_cast becomes a copy: of the result of a like check, or of its value.

    Annotations of what follows from it go, for they may tell lengths that follow from the check and not from the value.
    """
    names = ValueNames()
    affected: set[e.Var] = set()

    def rule(walk: Rewriter, binding: e.Binding) -> Rewritten:
        value, new = binding.value, binding
        if binding in dropped:
            if type(binding) is not e.MatchCast or binding.var is None:
                return ()
            source = _alike(walk, binding, names.place(value)) or value
            new = e.VarBinding(binding.var, source, None, binding.span)
            affected.add(binding.var)
        elif binding.var is not None and not affected.isdisjoint(reads(binding)):
            new = replace(binding, annotation=None)
            affected.add(binding.var)
        names.note(binding)
        if binding.var is not None and isinstance(value, (e.Var, e.TupleGetItem)):
            root = names.place(binding.var)
            walk.note(root, (*(walk.lookup(root) or ()), (binding.var, walk.block)))
        return new

    return rewrite(fn, at, rule)


def _alike(walk: Rewriter, cast: e.MatchCast, root: str) -> e.Var | None:
    """An earlier variable with the same value: one whose StructInfo tells what the match_cast does, else the latest.

    Reading the result of an earlier check keeps that check alive.
    """
    visible: list[e.Var] = [
        var for var, block in walk.lookup(root) or () if type(var) is not e.DataflowVar or block is walk.block
    ]
    fitting = [var for var in visible if always_fits(var.struct_info or s.OBJECT, cast.struct_info)]
    if fitting:
        return fitting[0]
    have = cast.value.struct_info
    latest = [var for var in reversed(visible) if not loses(have, var.struct_info)]
    telling = [var for var in latest if not loses(cast.struct_info, var.struct_info)]
    return next(iter(telling or latest), None)


def _tell(at: PassSite, binding: e.Binding, checks: Sequence[ShapeCheck], is_gone: bool = True) -> None:
    """A note: what was checked, and what proves it."""
    name = "_" if binding.var is None else binding.var.name
    what = "a check" if name == "_" else f"the check of {name!r}"
    because = list(dict.fromkeys(str(fact) for check in checks for fact in check.proof))
    demands = " and ".join(check.text for check in checks) or "its type tells it"
    text = f"{what} {'is gone' if is_gone else 'compares less'}, for it can't fail: {demands}" + (
        f", because {' and '.join(because)}" if because else ""
    )
    at.report.say(codes.CHECK_PROVED, text, binding, help=codes.CHECK_PROVED.fix)


# -- simplify shapes -------------------------------------------------------------------------------------------------
# SimplifyShapes: write each length in the shortest form that is equal to it where it stands.


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
            info: s.StructInfo = s.ShapeStructInfo(values)
            return expr if values is expr.values else e.ShapeExpr(values, info, expr.span)
        if type(expr) is e.PrimValue:
            value = self.length(expr.value)
            info = s.PrimStructInfo(value.dtype, value)
            return expr if value is expr.value else e.PrimValue(value, info, expr.span)
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
        if isinstance(info, s.TupleStructInfo):
            return s.TupleStructInfo(tuple(map(self.info, info.fields)))
        if isinstance(info, s.PrimStructInfo) and info.value is not None:
            return s.PrimStructInfo(info.dtype, self.length(info.value))
        return map_lengths(info, self.length)


def _with(module: IRModule, at: PassSite, changes: _Changes, chosen: Collection[Place]) -> IRModule:
    """The module with some of the changes. Annotations of what follows from them go, for they have the old lengths."""
    affected: set[e.Var | None] = set()

    def sequence(seq: e.SeqExpr) -> e.SeqExpr:
        blocks = [map_block(block, binding) for block in seq.blocks]
        return with_blocks(seq, blocks, body=changes.results[seq] if seq in chosen else seq.body)

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
