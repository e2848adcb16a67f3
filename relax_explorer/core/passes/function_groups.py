"""Moves groups of bindings of dataflow blocks into private functions, which the block calls instead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from relax_explorer.core.check.call_graph import components
from relax_explorer.core.check.wildcards import simplified
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.facts import Facts, facts
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.substitute import Substitution, fresh_dims
from relax_explorer.core.ir.walk import all_dims, map_operands, map_sequences
from relax_explorer.core.passes.contract import PassSite
from relax_explorer.core.passes.same_lengths import length_binders, mentioned_lengths, untold_lengths
from relax_explorer.core.phases import machine_calls as m


@dataclass(eq=False, slots=True)
class Group:
    """Bindings of one dataflow block that become one function with these attributes, in text order."""

    attrs: Attrs
    bindings: list[e.VarBinding] = field(default_factory=list)
    base: str = ""  # the start of the function's name, if that doesn't follow from the operators

    @property
    def name(self) -> str:
        """`fused_relax_matmul_relax_nn_relu` for a product and a relu."""
        return self.base or "_".join(["fused", *filter(None, map(_called, self.bindings))])


def _called(binding: e.VarBinding) -> str:
    """The name of what a binding calls, for the name of the function; empty if it calls nothing."""
    value = binding.value
    if type(value) is not e.Call or not isinstance(value.op, (e.OpRef, e.GlobalVar, e.ExternFunc)):
        return ""
    kernel = value.args[0] if value.args else None
    if type(kernel) is e.GlobalVar:
        return kernel.name
    return value.op.name.replace(".", "_")


Grouping = Mapping[e.Binding, Group]
Unit = Group | e.Binding


def lift(
    fn: e.Function,
    at: PassSite,
    grouping: Grouping,
    lift_constants: bool = False,
    moves_copies: bool = False,
) -> e.Function:
    """The function with calls in place of groups. With `lift_constants`, constants become operands of the calls.

    A block is sorted so that a group comes when its operands are there; a group that reads its own results through other bindings
    stays. With `moves_copies`, copies stand behind their value, and those of a value from outside in front of what reads it.
    """
    if not grouping and not moves_copies:
        return fn
    return replace(fn, body=_Lifter(fn, at, grouping, lift_constants, moves_copies).sequence(fn.body))


class _Lifter:
    """Replaces the groups of one function."""

    def __init__(
        self, fn: e.Function, at: PassSite, grouping: Grouping, lift_constants: bool, moves_copies: bool
    ) -> None:
        self.facts, self.at, self.grouping, self.lift_constants = facts(fn), at, grouping, lift_constants
        self.moves_copies = moves_copies
        self.binders = length_binders(fn.params, self.facts.bindings)

    def sequence(self, seq: e.SeqExpr) -> e.SeqExpr:
        """A sequence, its branches included."""
        return replace(seq, blocks=tuple([self._block(block) for block in seq.blocks]))

    def _block(self, block: e.BindingBlock) -> e.BindingBlock:
        is_dataflow = type(block) is e.DataflowBlock
        given: list[Unit] = [*block.bindings]
        units = self._sorted(block) if is_dataflow else given
        if units == given or not (self.moves_copies or any(isinstance(unit, Group) for unit in units)):
            return replace(block, bindings=tuple([self._nested(binding) for binding in block.bindings]))
        outputs = self._outputs(units)
        lifted = [
            self._lifted(unit, outputs) if isinstance(unit, Group) else [self._nested(unit)] for unit in units
        ]
        return replace(block, bindings=tuple([binding for part in lifted for binding in part]))

    def _sorted(self, block: e.BindingBlock) -> list[Unit]:
        """The bindings and groups of a block, each after those that it reads. Groups in a cycle are dissolved."""
        copies = _copied(block) if self.moves_copies else {}
        units: dict[Unit, list[e.Binding]] = {}
        for binding in block.bindings:
            units.setdefault(self.grouping.get(binding) or copies.get(binding, binding), []).append(binding)
        if not copies and not any(isinstance(unit, Group) for unit in units):
            return list(units)
        copied = {copy.value: copy for copy, unit in copies.items() if unit is copy}  # from outside
        needed = _needed(units, self.facts, self.binders, copied)
        numbers = {unit: str(n) for n, unit in enumerate(units)}
        names = {number: unit for unit, number in numbers.items()}
        graph = {
            numbers[unit]: tuple([numbers[other] for other in others]) for unit, others in needed.items()
        }
        order: list[Unit] = []
        for circle in components(graph):  # what is read comes before its readers
            parts = [names[number] for number in circle]
            if len(parts) == 1:
                order += parts if isinstance(parts[0], Group) else units[parts[0]]
            else:
                inside = {binding for unit in parts for binding in units[unit]}
                order += [binding for binding in block.bindings if binding in inside]
        return order

    def _nested(self, binding: e.Binding) -> e.Binding:
        return map_sequences(binding, self.sequence)

    def _lifted(self, group: Group, results: Mapping[Group, Iterable[e.Var]]) -> list[e.Binding]:
        """The call of the function of a group, and the fields of its result if it has several. A group that nobody reads goes."""
        outputs = list(results[group])
        if not outputs:
            self.at.record(tuple(group.bindings))
            return []
        made = _FunctionOfGroup(group, outputs, self.lift_constants)
        kernel, lengths = self.at.once(
            made.key(), lambda: (self.at.editor.add(group.name, made.function()), made.lengths)
        )
        args = (*made.args, m.shape(lengths)) if lengths else tuple(made.args)
        infos = tuple([simplified(var.struct_info or s.OBJECT) for var in outputs])
        annotations = [
            None if info is var.struct_info else var.struct_info
            for var, info in zip(outputs, infos, strict=True)
        ]
        span = group.bindings[-1].span
        if len(outputs) == 1:
            call = e.Call(kernel, args, struct_info=infos[0], span=span)
            new: list[e.Binding] = [e.VarBinding(outputs[0], call, annotations[0], span)]
        else:
            info = s.TupleStructInfo(infos)
            whole = e.DataflowVar("lv", info, span)
            call = e.Call(kernel, args, struct_info=info, span=span)
            new = [e.VarBinding(whole, call, None, span)]
            for binding in group.bindings:
                if binding.var in results[group]:
                    place = outputs.index(binding.var)
                    field = e.TupleGetItem(whole, place, infos[place], span)
                    new.append(
                        e.VarBinding(
                            outputs[place], field, annotations[place] or binding.annotation, binding.span
                        )
                    )
        self.at.record(tuple(group.bindings), tuple(new))
        return new

    def _outputs(self, units: Sequence[Unit]) -> dict[Group, dict[e.Var, None]]:
        """The results of each group, in the order in which the sorted block first reads them."""
        order = [b for unit in units for b in (unit.bindings if isinstance(unit, Group) else (unit,))]
        makers = {binding.var: self.grouping[binding] for binding in order if binding in self.grouping}
        outputs: dict[Group, dict[e.Var, None]] = {group: {} for group in makers.values()}
        for binding in order:
            own = self.grouping.get(binding)
            read = [binding.var] if own and type(binding.var) is e.Var else []
            read += [
                var
                for var in self.facts.operands[self.facts.number[binding]]
                if makers.get(var) not in (None, own)
            ]
            for var in read:
                outputs[makers[var]][var] = None
        return outputs


class _FunctionOfGroup:
    """The function of a group, and the operands of its call. Both functions have shape variables of their own.

    Groups with equal keys have equal functions, so that the function is made once.
    """

    def __init__(self, group: Group, outputs: Sequence[e.Var], lift_constants: bool) -> None:
        self.group, self.outputs, self.lift_constants = group, outputs, lift_constants
        self.args: list[e.Expr] = []
        self.lengths: tuple[p.PrimVar, ...] = ()  # the last operand, if there are any
        # Numbers of the results of the group and of what comes from outside.
        self._slots: dict[object, int] = {}
        self._parts: list[object] = []
        for binding in group.bindings:
            self._note(binding)

    def key(self) -> tuple[object, ...]:
        """Equal for groups of one module with equal functions."""
        outputs = tuple([self._slots[var] for var in self.outputs])
        infos = tuple([arg.struct_info for arg in self.args])
        return "group", self.group.name, self.group.attrs, outputs, infos, *self._parts

    def _note(self, binding: e.VarBinding) -> None:
        """Note what the function of the group has of a binding, and number what it reads."""
        value, var = binding.value, binding.var
        parts: tuple[object, ...] = (value,)
        if type(value) is e.Call:
            parts = self._slot(value.op), value.attrs, value.sinfo_args, *map(self._slot, value.args)
        elif type(value) is e.Tuple:
            parts = tuple(map(self._slot, value.fields))
        elif type(value) is e.TupleGetItem:
            parts = value.index, self._slot(value.tuple)
        elif isinstance(value, e.Var):
            parts = (self._slot(value),)
        infos = value.struct_info, var.struct_info, binding.annotation
        self._parts.append((type(value), infos, parts))
        self._slots[var] = len(self._slots)

    def _slot(self, operand: e.Expr) -> object:
        """What stands for an operand in the key: a number for what the function defines, else a constant."""
        kind = type(operand)
        if isinstance(operand, e.Tuple):
            return tuple(map(self._slot, operand.fields))
        key = _key(operand)
        if key in self._slots:
            return self._slots[key]
        if self._is_param(operand):
            self._slots[key] = len(self._slots)
            self.args.append(operand)
            return self._slots[key]
        return (kind, getattr(operand, _WORTH[kind])) if kind in _WORTH else operand

    def function(self) -> e.Function:
        """The private function with a dataflow block."""
        params = self._params()
        bindings = tuple(
            [replace(binding, value=_inside(binding.value, params)) for binding in self.group.bindings]
        )
        results: dict[e.Var, e.Expr] = {var: e.Var("gv", var.struct_info, var.span) for var in self.outputs}
        fields = tuple(results.values())
        result = fields[0] if len(fields) == 1 else e.tuple_of(fields)
        infos = [param.struct_info or s.OBJECT for param in params.values()]
        inner = [info for binding in bindings for info in _infos(binding)]
        dims = dict.fromkeys(dim for info in (*infos, *inner) for dim in all_dims(info))
        self.lengths = untold_lengths(infos, inner)
        whole = list(params.values())
        if self.lengths:  # no other parameter tells them
            whole.append(e.Var("tir_vars", s.ShapeStructInfo(self.lengths)))
            infos.append(s.ShapeStructInfo(self.lengths))
        named = tuple([replace(b, var=results.get(b.var, b.var)) for b in bindings])
        info = result.struct_info or s.OBJECT
        body = e.SeqExpr((e.DataflowBlock(named),), result, info)
        signature = s.FuncStructInfo(tuple(infos), info)
        fn = e.Function(tuple(whole), body, info, None, self.group.attrs, signature)
        return Substitution(results, fresh_dims(dims)).function(fn)

    def _params(self) -> dict[object, e.Var]:
        """The parameter for each operand."""
        params: dict[object, e.Var] = {}
        count = 0  # of parameters that no variable names
        for arg in self.args:
            name = arg.name if isinstance(arg, e.Var) else f"param_{count}"
            count += not isinstance(arg, e.Var)
            params[_key(arg)] = e.Var(name, arg.struct_info, arg.span)
        return params

    def _is_param(self, operand: e.Expr) -> bool:
        """True if an operand comes from outside."""
        if type(operand) is e.ShapeExpr:
            return bool(p.free_vars(*operand.values))
        if type(operand) is e.PrimValue:
            return bool(p.free_vars(operand.value))
        return isinstance(operand, e.Var) or (type(operand) is e.Constant and self.lift_constants)


def _key(operand: e.Expr) -> object:
    """Equal for operands that are one: a constant that a text mentions again is the same."""
    return (operand.identity, operand.struct_info) if type(operand) is e.Constant else operand


def _inside(value: e.Expr, params: Mapping[object, e.Var]) -> e.Expr:
    """A value inside the function: what comes from outside is a parameter."""

    def operand(leaf: e.Expr) -> e.Expr:
        return map_operands(leaf, operand) if type(leaf) is e.Tuple else params.get(_key(leaf), leaf)

    return operand(value) if isinstance(value, e.Var) else map_operands(value, operand)


def _infos(binding: e.VarBinding) -> Iterator[s.StructInfo]:
    """The StructInfos in a binding."""
    yield binding.var.struct_info or s.OBJECT
    if type(binding.value) is e.Call:
        yield from binding.value.sinfo_args


def _copied(block: e.BindingBlock) -> dict[e.Binding, e.Binding]:
    """The binding of what each copy is a copy of. The first copy stands for a value from outside of the block."""
    maker = {binding.var: binding for binding in block.bindings if binding.var is not None}
    found: dict[e.Binding, e.Binding] = {}
    for binding in block.bindings:
        if type(binding) is e.VarBinding and isinstance(binding.value, e.Var):
            first = maker.setdefault(binding.value, binding)
            found[binding] = found.get(first, first)
    return found


def _needed(
    units: Mapping[Unit, Sequence[e.Binding]],
    derived: Facts,
    binders: Mapping[p.PrimVar, e.MatchCast],
    copied: Mapping[e.Expr, e.Binding],
) -> dict[Unit, list[Unit]]:
    """The units that each unit reads, or that bind its lengths. The binding that has `copied` a value stands for it."""
    maker: dict[e.Expr, Unit] = {
        binding.var: unit for unit, bindings in units.items() for binding in bindings if binding.var
    }
    maker |= copied
    needed: dict[Unit, list[Unit]] = {}
    for unit, bindings in units.items():
        read = (var for binding in bindings for var in derived.operands[derived.number[binding]])
        others = dict.fromkeys(maker[var] for var in read if var in maker)
        if binders:
            casts = (binders[dim] for b in bindings for dim in mentioned_lengths(b) if dim in binders)
            others.update(dict.fromkeys(cast for cast in casts if cast in units))
        needed[unit] = [other for other in others if other is not unit]
    return needed


# Other operands are equal only to themselves.
_WORTH = {
    e.GlobalVar: "name",
    e.ExternFunc: "name",
    e.ShapeExpr: "values",
    e.PrimValue: "value",
    e.StringImm: "value",
}
