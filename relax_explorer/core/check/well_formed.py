"""Well-formedness: scopes, single assignment, shape variables, dataflow blocks, globals.

Every violation is reported at its place. One error does not hide another.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from relax_explorer.core.arith.prove import division_by_zero, is_negative
from relax_explorer.core.check import kernel_loops, memory_hazards, prim_funcs, purity
from relax_explorer.core.check.call_graph import Callees, call_graph, components, is_recursive, mentioned
from relax_explorer.core.check.compatible import bound_below, defined_dims
from relax_explorer.core.check.matching import free_dims
from relax_explorer.core.codes import well_formedness as codes
from relax_explorer.core.codes.syntax import BAD_ANNOTATION
from relax_explorer.core.diagnostics import Code, Diagnostic, Label, Report, Severity
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import HANDLE, DType, dtype
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.pauses import with_pauses
from relax_explorer.core.ir.walk import contents, info_holders, operands, sequences
from relax_explorer.core.ops import find
from relax_explorer.core.ops.kit.decl import Kind
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.program.new_bindings import NewBindings
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.stmt import Buffer, PrimFunc
from relax_explorer.core.tir.traverse import statements

# -- impossible lengths ----------------------------------------------------------------------------------------------
# Lengths that no run can compute or use: negative ones, and divisions by what is always 0. Those of PrimFuncs are
# reported here.


Finding = tuple[Code, str]
_ALWAYS = ", whatever the shape variables are"
_FINDINGS: PerNode[list[tuple[Finding, object]]] = PerNode()


def impossible(dim: p.PrimExpr) -> Finding | None:
    """Why a length can't be: it is negative, or divides by 0; None if it can."""
    if type(dim) is p.PrimVar:
        return None
    if type(dim) is p.IntImm:
        return (codes.NEGATIVE_LENGTH, f"the shape has the dimension {dim.value}") if dim.value < 0 else None
    division = division_by_zero(dim)
    if division is not None:
        whole = "" if division is dim else f" in the dimension {dim}"
        always = "" if type(division.b) is p.IntImm else _ALWAYS
        return codes.ZERO_DIVISION, f"{division}{whole} divides by zero{always}"
    if is_negative(dim):
        return codes.NEGATIVE_LENGTH, f"the dimension {dim} is negative{_ALWAYS}"
    return None


def impossible_lengths(module: IRModule) -> Iterator[Diagnostic]:
    """The impossible lengths and strides of the buffers of each PrimFunc."""
    for fn in module.functions.values():
        if type(fn) is t.PrimFunc:
            for (code, text), place in _FINDINGS.of(fn, _of_kernel):
                # TVM folds a division by the number 0 while it reads, and stops.
                is_ours = code is codes.NEGATIVE_LENGTH or text.endswith(_ALWAYS)
                yield Diagnostic(code, text, (Label(place, "", True),), help=code.fix, spec_only=is_ours)


def _of_kernel(fn: t.PrimFunc) -> list[tuple[Finding, object]]:
    found: list[tuple[Finding, object]] = []
    for buffer, place in _buffers(fn):
        problems = [impossible(dim) for dim in buffer.shape]
        # A stride may be negative.
        problems += [
            one for one in map(impossible, buffer.strides or ()) if one and one[0] is codes.ZERO_DIVISION
        ]
        for problem in dict.fromkeys(problems):
            if problem is not None:
                found.append(((problem[0], f"buffer {buffer.name}: {problem[1]}"), place))
    return found


def _buffers(fn: t.PrimFunc) -> Iterator[tuple[Buffer, object]]:
    """The buffers of a PrimFunc, and where they are declared."""
    for param in fn.params:
        if isinstance(param, Buffer):
            yield param, param if param.span is not None else fn
    for statement in statements(fn.body):
        own: list[Buffer] = []
        if type(statement) is t.AllocBuffer:
            own = [statement.buffer]
        elif type(statement) is t.SBlock:
            own = [*statement.alloc_buffers, *[one.buffer for one in statement.match_buffers]]
        for buffer in own:
            place = buffer if buffer.span is not None else statement
            yield buffer, place if place.span is not None else fn


# -- well formed -----------------------------------------------------------------------------------------------------


def violations(
    module: IRModule, assume_pure: bool = False, effects: bool = True, new: NewBindings | None = None
) -> Iterator[Diagnostic]:
    """Every violation in a module, function by function. `assume_pure` is as in `purity.violations`.

    Without `effects`, the rules about side effects are left out. `new` tells what differs from a module without a violation.
    """
    graph = call_graph(module)
    recursive = {
        name: frozenset(group) for group in components(graph) if is_recursive(group, graph) for name in group
    }
    parameters: dict[e.Var, None] = {}
    has_marks = purity.has_marks(module)
    for name, fn in module.functions.items():
        symbol = fn.attrs.get("global_symbol") if hasattr(fn, "attrs") else None
        if symbol is not None and symbol != name:
            text = f"function {name!r} has the global_symbol {symbol!r}"
            kernel = (
                type(fn) is not e.Function
            )  # a kernel packed for an outside caller may have another symbol
            yield _problem(codes.GLOBAL_SYMBOL, text, fn, spec_only=kernel)
        if type(fn) is e.Function:
            if new is not None and name not in recursive and _is_as_before(module, fn, new, parameters):
                parameters.update(dict.fromkeys(fn.params))
            else:
                yield from _Scopes(module, fn, parameters, recursive.get(name, frozenset())).check()
            if effects:
                found = purity.violations(fn, assume_pure)
                yield from found if has_marks or assume_pure else purity.without_marks(found)
    yield from prim_funcs.direct_calls(module)
    yield from kernel_loops.loop_violations(module)
    yield from prim_funcs.unbound_lengths(module)
    yield from impossible_lengths(module)
    yield from memory_hazards.violations(module, new)
    yield from _outside(module)


def _is_as_before(
    module: IRModule, fn: e.Function, new: NewBindings, parameters: Mapping[e.Var, None]
) -> bool:
    """True if a function has the signature and the body that it had, and all that they name is of the same kind."""
    old = new.old(fn)
    if old is None or old.body is not fn.body or old.ret_struct_info is not fn.ret_struct_info:
        return False
    if old.params != fn.params or not parameters.keys().isdisjoint(fn.params):
        return False
    if e.Function in contents(fn).values:  # its parameters may stand in other functions
        return False
    now, before = module.functions, new.before.functions
    return all(name in now and type(now[name]) is type(before.get(name)) for name in mentioned(fn))


_OUTSIDE = (e.OpaqueFunction, e.ExternFunc)  # members that are always public


def _outside(module: IRModule) -> Iterator[Diagnostic]:
    functions = list(module.functions.values())
    if functions and not any(isinstance(fn, _OUTSIDE) or "global_symbol" in fn.attrs for fn in functions):
        text = "every function of the module is private"
        yield _problem(codes.NO_PUBLIC_FUNCTION, text, functions[0], spec_only=True)


def _problem(code: Code, text: str, place: object, spec_only: bool = False) -> Diagnostic:
    return Diagnostic(code, text, (Label(place, "", True),), help=code.fix, spec_only=spec_only)


def _is_scalar(kind: DType) -> bool:
    return kind.is_int or kind.is_float or kind.is_bool


_LITERALS = frozenset({e.Constant, e.StringImm, e.DataTypeImm})


_EVERYWHERE = sys.maxsize  # the depth limit of a variable that every closure may use
_WIDTHS = frozenset(
    dtype(name)
    for name in (
        "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    )
)  # fmt: skip


_BIND_OUTSIDE = "bind the shape outside the dataflow block"
_HELD = {
    "relax.zeros": 0,
    "relax.ones": 0,
    "relax.full": 0,
    "relax.broadcast_to": 1,
    "relax.collapse_sum_to": 1,
}
"""The operators whose result has the shape that a variable holds, in TVM, with the place of that operand."""


class _Scopes:
    """Checks one function. `vars` and `dims` are the variables and shape variables in scope.

    `vars` maps each variable to the depth of closures down to which it may be used. A closure can't use a dataflow variable of
    the block around it.
    """

    def __init__(
        self, module: IRModule, fn: e.Function, parameters: dict[e.Var, None], group: frozenset[str]
    ) -> None:
        self.module, self.fn, self.parameters, self.group = module, fn, parameters, group
        self.report = Report()
        self.vars: dict[e.Var, int] = {}
        self.depth = 0  # the number of closures around
        # The variables bound so far, each with its entry in `vars` before.
        self._before: list[tuple[e.Var, int | None]] = []
        self.dims: dict[p.PrimVar, None] = {}
        self.bound: set[e.Var] = set()
        self.newer: set[DType] = set()
        self.local: e.Var | None = None  # the variable of the current local function
        self.callees = Callees()
        self.right: set[s.StructInfo] = set()  # the correct StructInfos of this scope
        self.reported = 0
        self.wrong: set[p.PrimExpr] = set()  # lengths that were reported
        self.repeated: frozenset[p.PrimExpr] = frozenset()  # those of the operands, or of the body

    def check(self) -> list[Diagnostic]:
        """The violations of the function."""
        self._function(self.fn)
        return self.report.items

    def _say(
        self, code: Code, text: str, place: object, spec_only: bool = False, labels: tuple[Label, ...] = ()
    ) -> None:
        self.reported += 1
        self.report.say(code, text, place, help=code.fix, spec_only=spec_only, labels=labels)

    def _function(self, fn: e.Function) -> None:
        for param in fn.params:
            if type(param) is e.DataflowVar:
                self._say(codes.DATAFLOW_VAR_PLACE, f"parameter {param.name!r} is a dataflow variable", fn)
            if param in self.parameters and param not in self.bound:
                text = f"{param.name!r} is already a parameter of another function"
                self._say(codes.BOUND_TWICE, text, param if param.span else fn)
            self.parameters[param] = None
            self._define(param, fn)
            self.dims.update(dict.fromkeys(defined_dims(param.struct_info or s.OBJECT)))
        for param in fn.params:
            self._info(param.struct_info, param)
        self.repeated = frozenset(_lengths(fn.body.struct_info))
        self._info(fn.ret_struct_info, fn)
        self.repeated = frozenset()
        self._sequence(fn.body)

    def _define(self, var: e.Var, place: object) -> None:
        if var in self.bound:
            self._say(codes.BOUND_TWICE, f"{var.name!r} is bound twice", place)
        self.bound.add(var)
        self._before.append((var, self.vars.get(var)))
        self.vars[var] = self.depth if type(var) is e.DataflowVar else _EVERYWHERE

    @contextmanager
    def _scope(self) -> Iterator[None]:
        """A scope: variables bound inside end with it."""
        mark, dims = len(self._before), len(self.dims)
        yield
        for var, before in reversed(self._before[mark:]):
            if before is None:
                self.vars.pop(var, None)
            else:
                self.vars[var] = before
        del self._before[mark:]
        while len(self.dims) > dims:
            self.dims.popitem()
        self.right = set()

    def _info(self, info: s.StructInfo | None, place: object) -> None:
        if info is None or info in self.right:
            return
        count, holders = self.reported, info_holders(info)
        self._dims(free_dims(info), place)
        self._element(info, place)
        for var in holders:
            if self.vars.get(var, -1) < self.depth:
                self._use(var, place)
        if self.reported == count and not holders:
            self.right.add(info)

    def _dims(self, variables: Iterable[p.PrimVar], place: object) -> None:
        for var in variables:
            if var not in self.dims:
                below, labels = bound_below(self.fn, var, place)
                text = f"shape variable {var.name!r} has no value here{below}"
                self._say(codes.UNBOUND_SHAPE_VAR, text, place, labels=labels)

    def _element(self, info: s.StructInfo, place: object) -> None:
        """Report impossible lengths, dtypes and scalars, also inside tuples and signatures of functions."""
        if type(info) is s.TensorStructInfo:  # the common case
            self._tensor(info, place)
            return
        parts = [info]
        while parts:
            part = parts.pop()
            if isinstance(part, s.TensorStructInfo):
                self._tensor(part, place)
            elif isinstance(part, s.TupleStructInfo):
                parts.extend(reversed(part.fields))
            elif isinstance(part, s.FuncStructInfo):
                parts.extend((part.ret, *reversed(part.params or ())))
            elif isinstance(part, s.ShapeStructInfo):
                for dim in part.values or ():
                    if dim.children():  # -1 may be meant for R.reshape
                        self._length(dim, place)
            elif isinstance(part, s.PrimStructInfo) and not _is_scalar(part.dtype):
                is_pointer = part.dtype is HANDLE  # which TVM refuses, too
                self._say(codes.BAD_SCALAR_TYPE, f"{part} is not a scalar", place, spec_only=not is_pointer)

    def _holder(self, info: s.StructInfo | None, place: object) -> None:
        """Report a dataflow variable that holds the shape of a tensor: TVM refuses it in StructInfo, but for another name of a variable."""
        if type(place) is e.VarBinding and type(place.value) in (e.Var, e.DataflowVar):
            return
        if isinstance(info, s.TensorStructInfo) and type(info.shape) is e.DataflowVar:
            text = f"the shape is held by the dataflow variable {info.shape.name!r}"
            self.report.say(
                BAD_ANNOTATION, text, place, help=_BIND_OUTSIDE, severity=Severity.NOTE, tvm_only=True
            )

    def _tensor(self, info: s.TensorStructInfo, place: object) -> None:
        self._holder(info, place)
        for dim in info.dims or ():
            self._length(dim, place)
        if info.dtype is not None and (info.dtype.lanes != 1 or info.dtype is HANDLE):
            text = f"a tensor can't have elements of type {info.dtype}"
            self._say(codes.BAD_ELEMENT, text, place, spec_only=info.dtype is not HANDLE)
        elif info.dtype is not None and info.dtype not in _WIDTHS:
            self._width(info.dtype, place)

    def _length(self, dim: p.PrimExpr, place: object) -> None:
        """Report a length that can't be, where it stands first: results that have it from operands repeat it."""
        found = impossible(dim)
        if found is None:
            return
        if dim in self.repeated:
            self.reported += 1  # elsewhere: this StructInfo is not right
            return
        self.wrong.add(dim)
        self._say(*found, place, spec_only=True)

    def _width(self, element: DType, place: object) -> None:
        """Report a width that the specification does not have; newer floats, which are common, once per function."""
        if element in self.newer:
            return
        if element.is_float:
            self.newer.add(element)
            text = f"{element} is newer than the specification"
            self._say(codes.YOUNG_DTYPE, text, place)
        else:
            self._say(codes.BAD_WIDTH, f"the specification has no {element}", place, spec_only=True)

    def _sequence(self, seq: e.SeqExpr) -> None:
        for block in seq.blocks:
            inside = type(block) is e.DataflowBlock
            for binding in with_pauses(block.bindings):
                if not self._is_plain(binding, inside):
                    self._binding(binding, inside)
            if inside:
                for binding in block.bindings:
                    if type(binding.var) is e.DataflowVar:
                        self.vars.pop(binding.var, None)
        self._expr(seq.body, self.fn if seq.body.span is None else seq.body)

    def _is_plain(self, binding: e.Binding, inside: bool) -> bool:
        """Take in a call, a copy or a field of variables in scope, whose StructInfo is known to be right. Most bindings are such."""
        var, value, vars_, depth = binding.var, binding.value, self.vars, self.depth
        if type(binding) is not e.VarBinding or binding.var.struct_info not in self.right:
            return False
        if binding.annotation is not None and binding.annotation is not binding.var.struct_info:
            return False
        if type(var) is e.DataflowVar and not inside:
            return False
        args: Iterable[Any] | None = self._plain_operands(value)
        if args is None:
            return False
        for arg in args if depth else [arg for arg in args if arg not in vars_]:  # a closure may not use all
            if vars_.get(arg, -1) < depth and type(arg) not in _LITERALS and not self._is_literal(arg):
                return False
        if type(value) is not e.Call:
            self.callees.note(binding)
        self._define(binding.var, binding)
        return True

    def _plain_operands(self, value: e.Expr) -> tuple[e.Expr, ...] | None:
        """The operands of a value that is right if they are. None if it needs other rules: calls of functions, values with blocks."""
        if type(value) is e.TupleGetItem:
            return (value.tuple,)
        if type(value) is not e.Call:
            return (value,) if isinstance(value, e.Var) else None
        op, args = value.op, value.args
        if op.name in _HELD if type(op) is e.OpRef else not (type(op) is e.ExternFunc or self._is_kernel(op)):
            return None
        inner = args[1] if len(args) == 2 and self._is_kernel(args[0]) else None
        return inner.fields if type(inner) is e.Tuple else args

    def _is_literal(self, arg: e.Expr) -> bool:
        """True for a literal whose lengths are numbers or shape variables in scope."""
        if type(arg) is e.ShapeExpr:
            return all([type(value) is p.IntImm or value in self.dims for value in arg.values])
        return type(arg) is e.PrimValue and type(arg.value) is p.IntImm

    def _is_kernel(self, callee: e.Expr) -> bool:
        return type(callee) is e.GlobalVar and type(self.module.functions.get(callee.name)) is PrimFunc

    def _binding(self, binding: e.Binding, inside: bool) -> None:
        value = binding.value
        if type(value) is e.Function and binding.var is not None:
            self._define(binding.var, binding)
            self._nested(value, binding.var)
            return
        self._expr(value, binding)
        self.callees.note(binding)
        if inside and (self.group or self.local is not None):
            self._recursion(value, binding)
        if type(value) is e.If:
            if inside:
                self._say(codes.IF_IN_DATAFLOW, "an If stands in a dataflow block", binding)
            self._branches(value)
        if type(binding) is e.MatchCast:
            self.dims.update(dict.fromkeys(defined_dims(binding.struct_info)))
            self._info(binding.struct_info, binding)
        if binding.var is not None:
            if type(binding.var) is e.DataflowVar and not inside:
                self._say(
                    codes.DATAFLOW_VAR_PLACE,
                    f"{binding.var.name!r} is bound outside a dataflow block",
                    binding,
                )
            self._define(binding.var, binding)
            if self.wrong:
                self.repeated = self._of_operands(binding)
            self._info(binding.var.struct_info, binding)
            self.repeated = frozenset()
            if type(binding) is e.VarBinding and binding.annotation is not binding.var.struct_info:
                self._holder(binding.annotation, binding)

    def _of_operands(self, binding: e.Binding) -> frozenset[p.PrimExpr]:
        """The reported lengths that a binding has from its operands."""
        parts = [binding.value, *operands(binding.value)]
        parts += [field for part in parts if isinstance(part, e.Tuple) for field in part.fields]
        infos = [part.struct_info for part in parts if isinstance(part, e.Var)]
        return frozenset(dim for info in infos for dim in _lengths(info) if dim in self.wrong)

    def _recursion(self, value: e.Expr, place: object) -> None:
        if type(value) is not e.Call:
            return
        callee = self.callees.of(value.op)
        name = callee.name if isinstance(callee, (e.GlobalVar, e.Var)) else ""
        is_member = type(callee) is e.GlobalVar and name in self.group
        if is_member or callee is self.local:
            text = f"the call of {name!r} in a dataflow block is recursive"
            self._say(codes.RECURSION_IN_DATAFLOW, text, place, spec_only=True)

    def _branches(self, value: e.If) -> None:
        info = value.condition.struct_info
        element = info.dtype if isinstance(info, s.TensorStructInfo) and info.ndim == 0 else None
        if element is None or not element.is_bool:
            self._say(codes.BAD_CONDITION, f"the condition is {info}", value, spec_only=True)
        for seq in sequences(value):
            with self._scope():
                self._sequence(seq)

    def _nested(self, fn: e.Function, local: e.Var) -> None:
        outer, group, enclosing = self.fn, self.group, self.local
        with self._scope():
            self.depth += 1
            if type(local) is e.DataflowVar:
                self._before.append((local, self.vars[local]))
                self.vars[local] = self.depth
            self.fn, self.group, self.local = fn, frozenset(), local  # the current function is this one
            self._function(fn)
            self.depth -= 1
        self.fn, self.group, self.local = outer, group, enclosing

    def _use(self, var: e.Var, place: object) -> None:
        if var in self.vars:
            self._say(
                codes.CAPTURED_DATAFLOW_VAR, f"the closure captures the dataflow variable {var.name!r}", place
            )
        elif type(var) is e.DataflowVar:
            self._say(codes.UNBOUND_DATAFLOW_VAR, f"{var.name!r} is used outside its dataflow block", place)
        else:
            below, labels = bound_below(self.fn, var, place)
            self._say(codes.UNBOUND_VAR, f"{var.name!r} is not bound here{below}", place, labels=labels)

    def _expr(self, expr: e.Expr, place: object) -> None:
        stack, vars_, depth = [expr], self.vars, self.depth
        while stack:
            part = stack.pop()
            if type(part) is e.Var or type(part) is e.DataflowVar:
                if self.vars.get(part, -1) < self.depth:
                    self._use(part, place)
                continue
            if type(part) is e.Call and type(part.op) is e.OpRef:
                if part.op.name in _HELD:
                    self._held_shape(part, part.op.name, place)
                operands_left = [
                    arg for arg in part.args if not isinstance(arg, e.Var) or vars_.get(arg, -1) < depth
                ]
                if operands_left:
                    self._tensor_operands(part, part.op.name, place)
                    stack.extend(operands_left)
                continue
            rule = _RULES.get(type(part))
            if rule is not None:
                rule(self, part, place)
            stack.extend(operands(part))

    def _global(self, var: e.GlobalVar, place: object) -> None:
        if var.name not in self.module.functions:
            text = f"the module has no function {var.name!r}"
            self._say(codes.UNDEFINED_GLOBAL, text, var if var.span else place)

    def _held_shape(self, call: e.Call, name: str, place: object) -> None:
        """Report a shape that a dataflow variable holds, if TVM puts the variable into the StructInfo of the result."""
        if any(type(arg) is e.DataflowVar for arg in call.args[_HELD[name] :]):
            text = f"TVM takes no shape from a dataflow variable for {name}: it would stand in StructInfo"
            self.report.say(
                BAD_ANNOTATION, text, place, help=_BIND_OUTSIDE, severity=Severity.NOTE, tvm_only=True
            )

    def _tensor_operands(self, call: e.Call, name: str, place: object) -> None:
        """Report a symbolic scalar where the operator takes a tensor (errata E-46)."""
        scalars = [(number, arg.value) for number, arg in enumerate(call.args) if type(arg) is e.PrimValue]
        declared = find(name) if scalars else None
        if declared is None:
            return
        for number, value in scalars:
            kinds = [q.kind for q in declared.operands[number : number + 1]]
            if kinds and kinds[0] in (Kind.TENSOR, Kind.TENSORS) and p.free_vars(value):
                text = f"{value} is a scalar computed from shape variables, but {name} takes a tensor here"
                self._say(codes.SHAPE_VAR_AS_TENSOR, text, place, spec_only=True)

    def _operator(self, op: e.OpRef, place: object) -> None:
        self._say(codes.OP_AS_VALUE, f"operator {op.name!r} is used as a value", place)

    def _shape(self, shape: e.ShapeExpr, place: object) -> None:
        self._dims(p.free_vars(*shape.values), place)

    def _prim(self, value: e.PrimValue, place: object) -> None:
        self._dims(p.free_vars(value.value), place)
        if not isinstance(value.value, (p.IntImm, p.FloatImm)):
            self._say(codes.SYMBOLIC_PRIM_VALUE, f"the scalar value is {value.value}", place, spec_only=True)


def _lengths(info: s.StructInfo | None) -> Iterator[p.PrimExpr]:
    """The lengths in a StructInfo, also inside tuples."""
    parts = [info]
    while parts:
        part = parts.pop()
        if isinstance(part, s.TupleStructInfo):
            parts.extend(part.fields)
        else:
            yield from s.lengths(part) if isinstance(part, (s.TensorStructInfo, s.ShapeStructInfo)) else ()


_RULES: dict[type, Callable[[_Scopes, Any, object], None]] = {
    e.GlobalVar: _Scopes._global,
    e.OpRef: _Scopes._operator,
    e.ShapeExpr: _Scopes._shape,
    e.PrimValue: _Scopes._prim,
}
