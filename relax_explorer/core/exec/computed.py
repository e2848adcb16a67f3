"""One recorded step as a computation: the operands before it, the arrays that it made or overwrote, and the elements behind a number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relax_explorer.core.exec.events import Change
from relax_explorer.core.exec.frame import recalled
from relax_explorer.core.exec.kernels import by_symbol
from relax_explorer.core.exec.values import Shape, Value
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.dtype import from_numpy
from relax_explorer.core.ops import find
from relax_explorer.core.ops.kit.decl import Op
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.prim_expr import BufferLoad
from relax_explorer.core.tir.stmt import BufferStore, PrimFunc
from relax_explorer.core.tir.traverse import statements


@dataclass(frozen=True, slots=True)
class Named:
    """A value with the text that names it in the program."""

    name: str
    value: Value


@dataclass(frozen=True, slots=True)
class Result:
    """An array made by a step: as the field at `path` of its value, or by overwriting an operand of the name."""

    name: str
    path: tuple[int, ...]
    array: Any
    operand: int = -1  # the number of the overwritten operand

    @property
    def is_overwritten(self) -> bool:
        """True if the array was an operand."""
        return self.operand >= 0


@dataclass(frozen=True, slots=True)
class Made:
    """One step that called something. `args` are the arguments with the contents that they had before."""

    change: Change
    call: e.Call
    args: tuple[Value, ...]
    operands: tuple[Named, ...]  # the arguments by name, tuples flattened
    originals: tuple[Value, ...]  # the operands themselves, whose contents may have changed
    results: tuple[Result, ...]

    @property
    def op(self) -> type[Op] | None:
        """The operator; None for other calls."""
        return find(self.call.op.name) if type(self.call.op) is e.OpRef else None


def made(change: Change) -> Made | None:
    """The computation of the step that a run did last; None for a step that calls nothing."""
    binding = change.event.binding
    if change.event.kind != "bind" or binding is None or type(binding.value) is not e.Call:
        return None
    at = change.frame.plan.code[change.after - 1]
    if at.binding is not binding:
        return None
    call, before = binding.value, {id(array): old for array, old, _ in change.memory}
    head = len(at.args) - len(call.args)
    given = [recalled(change.frame.registers[slot]) for slot in at.args[head:]]
    operands = [item for expr, value in zip(call.args, given, strict=True) for item in _named(expr, value)]
    name = binding.var.name if binding.var is not None else "_"
    declared = find(call.op.name) if type(call.op) is e.OpRef else None
    value = () if declared is not None and declared.allocates else change.event.value  # of no numbers yet
    results = [Result(name, path, array) for path, array in floats(value)]
    after = {id(array): new for array, _, new in change.memory}
    results += [
        Result(item.name, path, after[id(array)], number)
        for number, item in enumerate(operands)
        for path, array in floats(item.value)
        if id(array) in after
    ]
    return Made(
        change,
        call,
        tuple([_before(value, before) for value in given]),
        tuple([Named(item.name, _before(item.value, before)) for item in operands]),
        tuple([item.value for item in operands]),
        tuple(results),
    )


def _before(value: Value, contents: Mapping[int, Any]) -> Value:
    if type(value) is tuple:
        return tuple([_before(item, contents) for item in value])
    return contents.get(id(value), value)


def _named(expr: e.Expr, value: Value) -> Iterator[Named]:
    """A value, or the fields of a tuple, each with its name."""
    if type(value) is tuple:
        for number, item in enumerate(value):
            if type(expr) is e.Tuple:
                yield from _named(expr.fields[number], item)
            else:
                yield from _named_field(f"{written(expr)}[{number}]", item)
    else:
        yield Named(written(expr), value)


def _named_field(name: str, value: Value) -> Iterator[Named]:
    if type(value) is tuple:
        for number, item in enumerate(value):
            yield from _named_field(f"{name}[{number}]", item)
    else:
        yield Named(name, value)


def written(expr: e.Expr) -> str:
    """An operand in a few words: the name of a variable, or what it is."""
    if isinstance(expr, (e.Var, e.GlobalVar, e.ExternFunc, e.OpRef)):
        return expr.name
    if isinstance(expr, e.PrimValue):
        return str(expr.value)[:40]
    if isinstance(expr, e.ShapeExpr):
        return f"shape({', '.join(map(str, expr.values))})"[:40]
    return "a constant" if type(expr) is e.Constant else f"a {type(expr).__name__}"


def call_text(binding: e.Binding) -> str:
    """A binding of a call in one line: `z = R.log(y)`."""
    value, name = binding.value, binding.var.name if binding.var is not None else "_"
    if type(value) is not e.Call:
        return f"{name} = {type(value).__name__}"
    parts = [part for arg in value.args for part in (arg.fields if type(arg) is e.Tuple else (arg,))]
    callee = written(value.op)
    callee = f"R.{callee.removeprefix('relax.')}" if type(value.op) is e.OpRef else callee
    return f"{name} = {callee}({', '.join(map(written, parts))})"


def floats(value: Value) -> Iterator[tuple[tuple[int, ...], Any]]:
    """The float arrays and float scalars in a value, each with its path in tuples."""
    stack: list[tuple[tuple[int, ...], Value]] = [((), value)]
    while stack:
        path, item = stack.pop()
        if type(item) is tuple:
            stack += [((*path, number), field) for number, field in reversed(list(enumerate(item)))]
        elif isinstance(item, (float, np.floating)) or (
            isinstance(item, np.ndarray) and item.size and _is_float(item)
        ):
            yield path, item


def _is_float(array: Any) -> bool:
    try:
        return from_numpy(array.dtype).is_float
    except ValueError:
        return False


def kernel_call(module: IRModule, step: Made) -> tuple[PrimFunc, list[Value]] | None:
    """The PrimFunc that a step ran, with its arguments as they were before; None if it ran none."""
    call, args = step.call, step.args
    if type(call.op) is e.GlobalVar:
        return _with_function(module, call.op.name, _lengths(args))
    name = call.op.name if type(call.op) is e.OpRef else ""
    if type(call.op) is e.ExternFunc:
        kernel = by_symbol(module, call.op.name)
        return None if kernel is None else (kernel, list(args))
    if not name.startswith(("relax.call_tir", "relax.vm.call_tir_dyn")) or not args:
        return None
    callee = args[0].name if isinstance(args[0], e.GlobalVar) else ""
    if name == "relax.vm.call_tir_dyn":
        return _with_function(module, callee, _lengths(args[1]))
    value = step.change.event.value
    results = [np.zeros_like(array) for array in (value if type(value) is tuple else (value,))]
    tail = list(args[2]) if len(args) > 2 and isinstance(args[2], tuple) else []
    inputs = _lengths(args[1])
    if name == "relax.call_tir_inplace":
        places = call.attrs.get("inplace_indices", ())
        fresh = [array for array, place in zip(results, places, strict=False) if place < 0]
        return _with_function(module, callee, [*inputs, *fresh])
    fn = module.functions.get(callee)
    count = len(fn.params) if type(fn) is PrimFunc else 0
    between = isinstance(fn, PrimFunc) and count and not hasattr(fn.params[-1], "shape")
    return _with_function(
        module, callee, [*inputs, *results, *tail] if between else [*inputs, *tail, *results]
    )


def filled(module: IRModule, step: Made) -> list[int]:
    """The numbers of the operands that the PrimFunc of a step stores into."""
    kernel = kernel_call(module, step)
    if kernel is None or type(step.call.op) is e.OpRef:
        return []
    fn, args = kernel
    stored = {node.buffer for node in statements(fn.body) if type(node) is BufferStore}
    arrays = [id(arg) for param, arg in zip(fn.params, args, strict=False) if param in stored]
    return [number for number, item in enumerate(step.operands) if id(item.value) in arrays]


def _with_function(module: IRModule, name: str, args: list[Value]) -> tuple[PrimFunc, list[Value]] | None:
    fn = module.functions.get(name)
    return (fn, args) if type(fn) is PrimFunc else None


def _lengths(args: Sequence[Value]) -> list[Value]:
    """Arguments of a kernel. A shape is replaced by its lengths."""
    return [item for arg in args for item in (arg if isinstance(arg, Shape) else (arg,))]


# -- found store -----------------------------------------------------------------------------------------------------
# A store of a PrimFunc, as it ran.


@dataclass(frozen=True, slots=True)
class Store:
    """A store, when it ran: its PrimFunc and statement, the loop variables, the element and the elements it was made
    of, each with its place."""

    function: t.PrimFunc
    statement: t.BufferStore
    loops: tuple[tuple[str, int], ...]
    index: tuple[int, ...]
    value: float
    loads: tuple[tuple[BufferLoad, tuple[int, ...], float], ...]
