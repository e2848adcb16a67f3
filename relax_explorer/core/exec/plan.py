"""Compiles a function to a flat register plan: one instruction per binding, jumps for branches.

Constants are put into registers before the function starts, so every operand is a register number. Tuples, shapes and
scalars that depend on shape variables get extra instructions without a binding. The debugger does not step at these.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from relax_explorer.core.codes import syntax as syntax_codes
from relax_explorer.core.diagnostics import Diagnostic, Failure, Label, Severity
from relax_explorer.core.exec.values import Shape, Value
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.facts import free_variables
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.walk import info_holders
from relax_explorer.core.ops import find
from relax_explorer.core.ops.kit.decl import Op
from relax_explorer.core.ops.kit.special import scalar_value


@dataclass(slots=True, eq=False)
class Instruction:
    """One operation. `kind` names it, `args` and `target` are registers, `node` is the expression, `binding` the step."""

    kind: str
    node: Any
    args: tuple[int, ...]
    target: int
    binding: e.Binding | None = None
    jump: int = -1
    dead: tuple[int, ...] = ()  # registers with their last read here
    readers: tuple[Reader, ...] = ()  # what reads a target that may be a view of an operand
    known: Any = None  # what the last call with all checks found (`known_call`)
    own: Any = None  # its own kernel (`own_kernels`)
    trace: Any = None  # the calls from here on that need no checks (`trace`)


Reader = tuple[
    Instruction, int
]  # and the place among its operands; among the fields of the tuple that a kernel gets


@dataclass(slots=True, eq=False)
class Plan:
    """The instructions of a function, the initial registers, and the register of each variable."""

    name: str
    code: list[Instruction] = field(default_factory=list)
    registers: list[Any] = field(default_factory=list)
    slots: dict[e.Var, int] = field(default_factory=dict)
    ends: dict[int, int] = field(
        default_factory=dict
    )  # registers whose scope ends before `result`, and the position of its end
    constants: tuple[tuple[int, e.Constant], ...] = ()  # registers that start with tensors of the program
    params: tuple[int, ...] = ()
    captured: tuple[tuple[e.Var, int], ...] = ()
    result: int = -1
    bound: dict[int, Any] = field(
        default_factory=dict
    )  # parts by their first instruction (`bound_plan`); None: there is none
    bound_for: tuple[Any, ...] | None = (
        None  # lengths, engine and factor of storages of the latest run, which had them
    )
    _places: dict[int, tuple[int, ...]] = field(default_factory=dict)
    _starts: list[int] = field(default_factory=list)
    _written: list[int] = field(default_factory=list)
    _reads: dict[int, int] = field(default_factory=dict)

    def bound_before(self, pc: int) -> int:
        """How many of the variables, in the order of `slots`, may have a value before an instruction: none behind them is bound yet."""
        if not self._starts:
            first: dict[int, int] = {}
            for number, at in enumerate(self.code):
                first.setdefault(at.target, number)
            starts = [first.get(slot, -1) for slot in reversed(self.slots.values())]
            self._starts = list(reversed(list(accumulate(starts, min))))
        return bisect_left(self._starts, pc)

    def written_before(self, pc: int) -> int:
        """How many of the registers, from the first on, may have been written before an instruction."""
        if len(self._written) != len(self.code):
            self._written = list(accumulate([at.target + 1 for at in self.code], max))
        return self._written[pc - 1] if pc else 0

    @property
    def last_reads(self) -> dict[int, int]:
        """The position of the last instruction that reads each register. All jumps go forward, so program order decides."""
        if not self._reads:
            for number, at in enumerate(self.code):
                self._reads.update(dict.fromkeys(at.args, number))
        return self._reads

    @property
    def places(self) -> dict[int, tuple[int, ...]]:
        """The positions of the instructions of each binding, by its identity. They are found at the first request."""
        if not self._places:
            for number, at in enumerate(self.code):
                if at.binding is not None:
                    self._places[id(at.binding)] = (*self._places.get(id(at.binding), ()), number)
        return self._places


_PLANS: PerNode[Plan] = PerNode()
# What nested functions capture. The plan around one asks before the function runs; the others capture nothing.
_CAPTURED: PerNode[tuple[e.Var, ...]] = PerNode()


def captured(fn: e.Function) -> tuple[e.Var, ...]:
    """The variables that a nested function captures, found once."""
    return _CAPTURED.of(fn, lambda fn: tuple(free_variables(fn)))


def plan(fn: e.Function, name: str) -> Plan:
    """The plan of a function in normal form. It is cached."""
    return _PLANS.of(fn, _Planner(name).make)


class _Planner:
    def __init__(self, name: str) -> None:
        self.plan = Plan(name)
        self.constants: dict[int, int] = {}
        self.tensors: list[tuple[int, e.Constant]] = []

    def make(self, fn: e.Function) -> Plan:
        compiled = self.plan
        compiled.params = tuple([self.slot(param) for param in fn.params])
        compiled.captured = tuple([(var, self.slot(var)) for var in _CAPTURED.get(id(fn), ())])
        compiled.result = self.sequence(fn.body)
        self.emit("return", fn.body, (compiled.result,), -1)
        compiled.constants = tuple(self.tensors)
        _mark_dead(compiled)
        _mark_views(compiled)
        return compiled

    def slot(self, var: e.Var | None, value: Value = None) -> int:
        """A new register, assigned to `var` if given."""
        if var is not None and var in self.plan.slots:
            return self.plan.slots[var]
        self.plan.registers.append(value)
        number = len(self.plan.registers) - 1
        if var is not None:
            self.plan.slots[var] = number
        return number

    def constant(self, value: Value) -> int:
        """A register with the initial content `value`."""
        register = self.constants.get(id(value))
        if register is None:
            register = self.constants[id(value)] = self.slot(None, value)
        return register

    def emit(
        self, kind: str, node: object, args: tuple[int, ...], target: int, binding: e.Binding | None = None
    ) -> Instruction:
        """Append an instruction."""
        instruction = Instruction(kind, node, args, target, binding)
        self.plan.code.append(instruction)
        return instruction

    def operand(self, expr: e.Expr) -> int:
        """The register of a leaf."""
        if isinstance(expr, e.Var):
            return self.slot(expr)
        return _OPERANDS[type(expr)](self, expr)

    def sequence(self, seq: e.Expr) -> int:
        """Emit the instructions of a sequence; return the register of its result."""
        if not isinstance(seq, e.SeqExpr):
            return self.operand(seq)
        for block in seq.blocks:
            for binding in block.bindings:
                self.binding(binding)
            if type(block) is e.DataflowBlock:
                self.end(block, e.DataflowVar)
        return self.operand(seq.body)

    def end(self, block: e.BindingBlock, kind: type[e.Var] = e.Var) -> None:
        """End the scope of the variables of a block here."""
        for binding in block.bindings:
            if isinstance(binding.var, kind):
                self.plan.ends.setdefault(self.plan.slots[binding.var], len(self.plan.code))

    def binding(self, binding: e.Binding) -> None:
        """Emit the instructions of one binding. The last one is its step."""
        target = self.slot(binding.var) if binding.var is not None else self.slot(None)
        if type(binding) is e.MatchCast:
            held = [self.slot(var) for var in info_holders(binding.struct_info)]
            self.emit("match_cast", binding, (self.operand(binding.value), *held), target, binding)
            return
        value = binding.value
        rule = _VALUES.get(type(value))
        if rule is None:
            self.emit("move", value, (self.operand(value),), target, binding)
        else:
            rule(self, value, target, binding)

    def _call(self, value: e.Call, target: int, binding: e.Binding) -> None:
        kind = "op"
        head: tuple[int, ...] = ()
        if type(value.op) is e.ExternFunc:
            kind = "packed"
        elif type(value.op) is e.GlobalVar:
            kind = "global"
        elif isinstance(value.op, e.Var):
            kind, head = "closure", (self.slot(value.op),)
        rest = value.args
        if kind == "op" and rest and type(rest[0]) is e.ExternFunc:
            head, rest = (self.constant(rest[0]),), rest[1:]  # the callee, which the operator looks up
        self.emit(kind, value, (*head, *[self.operand(arg) for arg in rest]), target, binding)

    def _tuple(self, value: e.Tuple, target: int, binding: e.Binding) -> None:
        self.emit("tuple", value, tuple([self.operand(field) for field in value.fields]), target, binding)

    def _item(self, value: e.TupleGetItem, target: int, binding: e.Binding) -> None:
        self.emit("item", value, (self.operand(value.tuple),), target, binding)

    def _function(self, value: e.Function, target: int, binding: e.Binding) -> None:
        self.emit("make_closure", value, tuple([self.slot(var) for var in captured(value)]), target, binding)

    def _if(self, value: e.If, target: int, binding: e.Binding) -> None:
        choice = self.emit("branch", value, (self.operand(value.condition),), -1)
        self._branch(value.true_branch, target, binding)
        skip = self.emit("jump", value, (), -1)
        choice.jump = len(self.plan.code)
        self._branch(value.false_branch, target, binding)
        skip.jump = len(self.plan.code)

    def _branch(self, branch: e.Expr, target: int, binding: e.Binding) -> None:
        result = self.sequence(branch)
        for block in branch.blocks if isinstance(branch, e.SeqExpr) else ():
            self.end(block)
        self.emit("move", branch, (result,), target, binding)

    def _tensor(self, expr: e.Constant) -> int:
        """A new register for each use of a constant, because each use is a new tensor (errata E-30)."""
        data = _data(expr)
        if data is expr:
            return self.constant(expr)
        number = self.slot(None, data)
        self.tensors.append((number, expr))
        return number

    def _shape_operand(self, expr: e.ShapeExpr) -> int:
        numbers = [value.value for value in expr.values if isinstance(value, p.IntImm)]
        if len(numbers) == len(expr.values):
            return self.constant(Shape(numbers))
        target = self.slot(None)
        self.emit("shape", expr, (), target)
        return target

    def _prim_operand(self, expr: e.PrimValue) -> int:
        if isinstance(expr.value, (p.IntImm, p.FloatImm)):
            return self.constant(scalar_value(expr.value))
        target = self.slot(None)
        self.emit("scalar", expr, (), target)
        return target

    def _extern_operand(self, expr: e.ExternFunc) -> int:
        target = self.slot(None)
        self.emit("extern", expr, (), target)
        return target

    def _tuple_operand(self, expr: e.Tuple) -> int:
        args = tuple([self.operand(field) for field in expr.fields])
        target = self.slot(None)
        self.emit("tuple", expr, args, target)
        return target


def _mark_dead(compiled: Plan) -> None:
    """Mark at each instruction the registers without later reads."""
    keep = {compiled.result, *compiled.params}
    for register, number in compiled.last_reads.items():
        if register not in keep and compiled.registers[register] is None:
            instruction = compiled.code[number]
            instruction.dead = (*instruction.dead, register)


def _mark_views(compiled: Plan) -> None:
    """Tell the calls whose result may be a view of their operand, as that of a transposed matrix, what reads it.

    That of an operator may be one if only operators that take views read it, that of a kernel if only kernels read it. Which kernels
    take views is asked when they run: a plan does not know the module.
    """
    calls = [at for at in compiled.code if at.kind == "op"]
    able = [at for at in calls if _calls_kernel(at) or _declared(at).view is not None]
    read: dict[int, list[Reader]] = {}
    for at in compiled.code if able else ():
        for place, register in enumerate(at.args):
            read.setdefault(register, []).append((at, place))
    for at in able:
        readers = read.get(at.target, [])
        if not _calls_kernel(at):
            takes = [reader.kind == "op" and _declared(reader).takes_views for reader, _ in readers]
        else:
            takes = [reader.kind == "tuple" for reader, _ in readers]
            fields = [(call, place) for reader, place in readers for call, _ in read.get(reader.target, ())]
            takes += [_calls_kernel(call) for call, _ in fields]
            readers = fields
        at.readers = tuple(readers) if all(takes) else ()


def _calls_kernel(at: Instruction) -> bool:
    return at.kind == "op" and at.node.op.name == "relax.call_tir"


def _declared(at: Instruction) -> type[Op]:
    """The operator of an instruction; one without declarations if none has the name now."""
    return find(at.node.op.name) or Op


def _data(constant: e.Constant) -> Value:
    """The data of a constant. A constant that is not a tensor is its own value."""
    if constant.data is None and isinstance(constant.struct_info, s.TensorStructInfo):
        text = "the function needs the data of a constant, which is not in the text"
        label = Label(constant, "", True)
        raise Failure(
            Diagnostic(
                syntax_codes.MISSING_METADATA,
                text,
                (label,),
                help=syntax_codes.MISSING_METADATA.fix,
                severity=Severity.ERROR,
            )
        )
    return constant if constant.data is None else constant.data


_OPERANDS: dict[type, Callable[[_Planner, Any], int]] = {
    e.Constant: _Planner._tensor,
    e.ShapeExpr: _Planner._shape_operand,
    e.PrimValue: _Planner._prim_operand,
    e.StringImm: lambda q, x: q.constant(x.value),
    e.DataTypeImm: lambda q, x: q.constant(x.value),
    e.GlobalVar: lambda q, x: q.constant(x),
    e.ExternFunc: _Planner._extern_operand,
    e.OpRef: lambda q, x: q.constant(x),
    e.Tuple: _Planner._tuple_operand,
}
_VALUES: dict[type, Callable[[_Planner, Any, int, e.Binding], None]] = {
    e.Call: _Planner._call,
    e.Tuple: _Planner._tuple,
    e.TupleGetItem: _Planner._item,
    e.Function: _Planner._function,
    e.If: _Planner._if,
}
