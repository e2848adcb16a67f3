"""Moves groups of bindings of dataflow blocks into private functions, which the block calls instead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from relax_explorer.core.check.call_graph import components
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.facts import Facts, facts
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.substitute import Substitution
from relax_explorer.core.ir.walk import all_dims, defined_dims, map_operands, map_sequences
from relax_explorer.core.passes.contract import PassSite


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


def lift(fn: e.Function, at: PassSite, grouping: Grouping, lift_constants: bool = False) -> e.Function:
    """The function with calls in place of groups. With `lift_constants`, constants become operands of the calls.

    A block is sorted so that a group comes when its operands are there; a group that reads its own results through other bindings
    stays.
    """
    return replace(fn, body=_Lifter(fn, at, grouping, lift_constants).sequence(fn.body)) if grouping else fn


class _Lifter:
    """Replaces the groups of one function."""

    def __init__(self, fn: e.Function, at: PassSite, grouping: Grouping, lift_constants: bool) -> None:
        self.facts, self.at, self.grouping, self.lift_constants = facts(fn), at, grouping, lift_constants

    def sequence(self, seq: e.SeqExpr) -> e.SeqExpr:
        """A sequence, its branches included."""
        return replace(seq, blocks=tuple([self._block(block) for block in seq.blocks]))

    def _block(self, block: e.BindingBlock) -> e.BindingBlock:
        if type(block) is not e.DataflowBlock:
            return replace(block, bindings=tuple([self._nested(binding) for binding in block.bindings]))
        units = _sorted(block, self.facts, self.grouping)
        if not any(isinstance(unit, Group) for unit in units):
            return block
        outputs = self._outputs(block)
        lifted = [self._lifted(unit, outputs) if isinstance(unit, Group) else [unit] for unit in units]
        return replace(block, bindings=tuple([binding for part in lifted for binding in part]))

    def _nested(self, binding: e.Binding) -> e.Binding:
        return map_sequences(binding, self.sequence)

    def _lifted(self, group: Group, results: Mapping[Group, Iterable[e.Var]]) -> list[e.Binding]:
        """The call of the function of a group, and the fields of its result if it has several. A group that nobody reads goes."""
        outputs = list(results[group])
        if not outputs:
            self.at.record(tuple(group.bindings))
            return []
        made = _FunctionOfGroup(group, outputs, self.lift_constants)
        kernel = self.at.editor.add(group.name, made.function())
        infos = tuple([var.struct_info or s.OBJECT for var in outputs])
        span = group.bindings[-1].span
        if len(outputs) == 1:
            call = e.Call(kernel, tuple(made.args), struct_info=infos[0], span=span)
            new: list[e.Binding] = [e.VarBinding(outputs[0], call, None, span)]
        else:
            info = s.TupleStructInfo(infos)
            whole = e.DataflowVar("lv", info, span)
            call = e.Call(kernel, tuple(made.args), struct_info=info, span=span)
            new = [e.VarBinding(whole, call, None, span)]
            for binding in group.bindings:
                if binding.var in results[group]:
                    place = outputs.index(binding.var)
                    new.append(replace(binding, value=e.TupleGetItem(whole, place, infos[place], span)))
        self.at.record(tuple(group.bindings), tuple(new))
        return new

    def _outputs(self, block: e.BindingBlock) -> dict[Group, dict[e.Var, None]]:
        """The results of each group, in the order in which the block first reads them."""
        makers = {
            binding.var: self.grouping[binding] for binding in block.bindings if binding in self.grouping
        }
        outputs: dict[Group, dict[e.Var, None]] = {group: {} for group in makers.values()}
        for binding in block.bindings:
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
    """The function of a group, and the operands of its call. Both functions have shape variables of their own."""

    def __init__(self, group: Group, outputs: Sequence[e.Var], lift_constants: bool) -> None:
        self.group, self.outputs, self.lift_constants = group, outputs, lift_constants
        self.args: list[e.Expr] = []
        self._params: dict[e.Expr, e.Var] = {}
        self._own: set[e.Expr] = {binding.var for binding in group.bindings}

    def function(self) -> e.Function:
        """The private function with a dataflow block."""
        bindings = tuple(
            [
                replace(binding, value=map_operands(binding.value, self._operand))
                for binding in self.group.bindings
            ]
        )
        results: dict[e.Var, e.Expr] = {var: e.Var("gv", var.struct_info, var.span) for var in self.outputs}
        fields = tuple(results.values())
        result = fields[0] if len(fields) == 1 else e.tuple_of(fields)
        dims = dict.fromkeys(
            dim for binding in bindings for info in _infos(binding) for dim in all_dims(info)
        )
        dims.update(dict.fromkeys(dim for info in self._infos() for dim in all_dims(info)))
        self._add_lengths(dims)
        copied: dict[p.PrimVar, p.PrimExpr] = {dim: p.PrimVar(dim.name, dim.dtype) for dim in dims}
        named = tuple([replace(b, var=results.get(b.var, b.var)) for b in bindings])
        info = result.struct_info or s.OBJECT
        body = e.SeqExpr((e.DataflowBlock(named),), result, info)
        signature = s.FuncStructInfo(self._infos(), info)
        params = tuple(self._params.values())
        fn = e.Function(params, body, info, None, self.group.attrs, signature)
        return Substitution(results, copied).function(fn)

    def _infos(self) -> tuple[s.StructInfo, ...]:
        return tuple([param.struct_info or s.OBJECT for param in self._params.values()])

    def _add_lengths(self, dims: Mapping[p.PrimVar, None]) -> None:
        """Add a parameter for the lengths that no other parameter tells."""
        known = {dim for info in self._infos() for dim in defined_dims(info)}
        unknown = tuple([dim for dim in dims if dim not in known])
        if unknown:
            shape = e.ShapeExpr(unknown, s.ShapeStructInfo(unknown))
            self._add(shape, "tir_vars")

    def _operand(self, operand: e.Expr) -> e.Expr:
        """An operand inside the function: what comes from outside is a parameter."""
        if type(operand) is e.Tuple:
            return map_operands(operand, self._operand)
        if operand in self._own or not self._is_param(operand):
            return operand
        if operand not in self._params:
            count = sum(not isinstance(arg, e.Var) for arg in self.args)
            self._add(operand, operand.name if isinstance(operand, e.Var) else f"param_{count}")
        return self._params[operand]

    def _add(self, operand: e.Expr, name: str) -> None:
        self._params[operand] = e.Var(name, operand.struct_info, operand.span)
        self.args.append(operand)

    def _is_param(self, operand: e.Expr) -> bool:
        if type(operand) is e.ShapeExpr:
            return bool(p.free_vars(*operand.values))
        if type(operand) is e.PrimValue:
            return bool(p.free_vars(operand.value))
        return isinstance(operand, e.Var) or (type(operand) is e.Constant and self.lift_constants)


def _infos(binding: e.VarBinding) -> Iterator[s.StructInfo]:
    """The StructInfos in a binding."""
    yield binding.var.struct_info or s.OBJECT
    if type(binding.value) is e.Call:
        yield from binding.value.sinfo_args


def _sorted(block: e.BindingBlock, derived: Facts, grouping: Grouping) -> list[Unit]:
    """The bindings and groups of a block, each after those that it reads. Groups in a cycle are dissolved."""
    units: dict[Unit, list[e.Binding]] = {}
    for binding in block.bindings:
        units.setdefault(grouping.get(binding, binding), []).append(binding)
    if not any(isinstance(unit, Group) for unit in units):
        return list(units)
    needed = _needed(units, derived)
    numbers = {unit: str(n) for n, unit in enumerate(units)}
    names = {number: unit for unit, number in numbers.items()}
    graph = {numbers[unit]: tuple([numbers[other] for other in others]) for unit, others in needed.items()}
    order: list[Unit] = []
    for circle in components(graph):  # what is read comes before its readers
        parts = [names[number] for number in circle]
        if len(parts) == 1:
            order += parts
        else:
            inside = {binding for unit in parts for binding in units[unit]}
            order += [binding for binding in block.bindings if binding in inside]
    return order


def _needed(units: Mapping[Unit, Sequence[e.Binding]], derived: Facts) -> dict[Unit, list[Unit]]:
    """The units that each unit reads."""
    maker = {binding.var: unit for unit, bindings in units.items() for binding in bindings if binding.var}
    needed: dict[Unit, list[Unit]] = {}
    for unit, bindings in units.items():
        read = (var for binding in bindings for var in derived.operands[derived.number[binding]])
        others = dict.fromkeys(maker[var] for var in read if var in maker)
        needed[unit] = [other for other in others if other is not unit]
    return needed
