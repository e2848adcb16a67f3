"""One recorded step as a computation: the operands before it, the arrays that it made or overwrote, and the elements behind a number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relax_explorer.core.exec.events import Change
from relax_explorer.core.exec.frame import recalled
from relax_explorer.core.exec.kernels import by_symbol
from relax_explorer.core.exec.known_call import kernel_arguments
from relax_explorer.core.exec.values import Shape, Value
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.dtype import from_numpy
from relax_explorer.core.ops import find
from relax_explorer.core.ops.kit.decl import Fusion, Op
from relax_explorer.core.ops.kit.ndarrays import Array
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
    array: Array
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


def _is_float(array: Array) -> bool:
    try:
        return from_numpy(array.dtype).is_float
    except ValueError:
        return False


def kernel_call(module: IRModule, step: Made) -> tuple[PrimFunc, list[Value]] | None:
    """The PrimFunc that a step ran, with its arguments as they were before; None if it ran none."""
    call, args = step.call, step.args
    if type(call.op) is e.GlobalVar:
        return _with_function(module, call.op.name, kernel_arguments(args))
    name = call.op.name if type(call.op) is e.OpRef else ""
    if type(call.op) is e.ExternFunc:
        kernel = by_symbol(module, call.op.name)
        return None if kernel is None else (kernel, list(args))
    if not name.startswith(("relax.call_tir", "relax.vm.call_tir_dyn")) or not args:
        return None
    callee = args[0].name if isinstance(args[0], e.GlobalVar) else ""
    if name == "relax.vm.call_tir_dyn":
        return _with_function(module, callee, kernel_arguments(args[1]))
    value = step.change.event.value
    results = [np.zeros_like(array) for array in (value if type(value) is tuple else (value,))]
    tail = list(args[2]) if len(args) > 2 and isinstance(args[2], tuple) else []
    inputs = kernel_arguments(args[1])
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


# -- stores that were found ------------------------------------------------------------------------------------------
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


# -- the elements behind an element ----------------------------------------------------------------------------------
# The elements of the operands that made one element of a result, for operators where this can be told.
#
# Element-wise operators and broadcasting, operators that only move elements, reductions, softmax, normalizations,
# cumulative sums and matrix products. For other operators there is no answer.


Selection = tuple[int | slice, ...]
"""An index of an array: an element, or along some axes a slice."""
Parts = list[Selection | None]
"""One selection for each operand, tuples flattened; None for an operand without part in the element."""
_ALL = slice(None)


@dataclass(frozen=True, slots=True)
class Place:
    """One element of a value: the path to an array in tuples, and the index in the array."""

    path: tuple[int, ...]
    index: tuple[int, ...]


_OWN_BROADCAST = frozenset({"relax.nn.prelu", "relax.outer", "relax.nn.dropout"})
_MOVED_MOST = 1 << 22  # elements of the operands that are numbered to find a moved one


def parts(
    op: type[Op], attrs: Mapping[str, Any], operands: Sequence[Value], result: Value, place: Place
) -> Parts | None:
    """The parts of the operands that made one element of a result; None if it can't be told."""
    array = part_at(result, place.path)
    special = _SPECIAL.get(op.name)
    if special is not None:
        return special(attrs, operands, array, place.index)
    if op.fusion in (Fusion.ELEMENTWISE, Fusion.BROADCAST) and op.name not in _OWN_BROADCAST:
        found = _broadcast(operands, array, place.index)
        if found is not None:
            return found
    if op.fusion in (Fusion.INJECTIVE, Fusion.BROADCAST):
        return _moved(op, attrs, operands, array, place)
    return _reduced(attrs, operands, array, place.index) if op.fusion is Fusion.REDUCE else None


def part_at(value: Value, path: Sequence[int]) -> Value:
    """The field of a value at a path of tuple indices."""
    for number in path:
        value = value[number]
    return value


def selected(selection: Selection) -> str:
    """A selection as text: `[0, 3, :]`."""
    return f"[{', '.join([_axis(part) for part in selection])}]"


def _axis(part: int | slice) -> str:
    return ":" if part == _ALL else f":{part.stop}" if isinstance(part, slice) else str(part)


def _broadcast(operands: Sequence[Value], result: Array, index: tuple[int, ...]) -> Parts | None:
    arrays = [value for value in operands if isinstance(value, np.ndarray)]
    try:
        shape = np.broadcast_shapes(*[array.shape for array in arrays])
    except ValueError:
        return None
    if not arrays or shape != result.shape:
        return None
    return [aligned(value, index) for value in operands]


def aligned(value: Value, index: tuple[int, ...]) -> Selection | None:
    """The element of an operand that broadcasting brings to `index`; None for a value that is no array."""
    if not isinstance(value, np.ndarray):
        return None
    places = index[len(index) - value.ndim :]
    return tuple([place if length > 1 else 0 for place, length in zip(places, value.shape, strict=True)])


def _moved(
    op: type[Op], attrs: Mapping[str, Any], operands: Sequence[Value], result: Array, place: Place
) -> Parts | None:
    """Evaluate the operator on the numbers of the elements, so that the result tells where each one came from."""
    numbered, count = [], 0
    for value in operands:
        value, count = _numbered(value, count)
        numbered.append(value)
    if not 0 < count <= _MOVED_MOST or op.evaluate is None:
        return None
    missing = [None] * (len(op.operands) - len(operands)) if not op.variadic else []
    try:
        with np.errstate(all="ignore"):
            moved = part_at(op.evaluate(*numbered, *missing, **attrs), place.path)
    except (ValueError, TypeError, IndexError):
        return None
    if not isinstance(moved, np.ndarray) or moved.shape != result.shape:
        return None
    return _owner(flat(operands), float(moved[place.index]), result[place.index])


def flat(operands: Sequence[Value]) -> list[Value]:
    """The operands with the fields of tuples in their place."""
    return [
        item
        for value in operands
        for item in (flat(value) if isinstance(value, tuple) and not isinstance(value, Shape) else (value,))
    ]


def _is_numbered(value: Value) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind not in "biu"


def _numbered(value: Value, count: int) -> tuple[Value, int]:
    """A float array with the numbers of its elements from `count` on; also inside tuples. Other values stay."""
    if type(value) is tuple:
        fields = []
        for item in value:
            item, count = _numbered(item, count)
            fields.append(item)
        return tuple(fields), count
    if not _is_numbered(value):
        return value, count
    return np.arange(count, count + value.size, dtype=np.float64).reshape(value.shape), count + value.size


def _owner(operands: Sequence[Value], number: float, element: object) -> Parts | None:
    """The element with a number. It must equal the element of the result, else the operator did not only move it."""
    found: Parts = []
    start = 0
    for value in operands:
        own: Selection | None = None
        if _is_numbered(value):
            place = number - start
            if 0 <= place < value.size and place == int(place):
                own = tuple(map(int, np.unravel_index(int(place), value.shape)))
                if np.asarray(value[own]).tobytes() != np.asarray(element).tobytes():
                    return None
            start += value.size
        found.append(own)
    return found if any(part is not None for part in found) else None


def _reduced(
    attrs: Mapping[str, Any], operands: Sequence[Value], result: object, index: tuple[int, ...]
) -> Parts | None:
    x = operands[0]
    if not isinstance(x, np.ndarray) or "axis" not in attrs:
        return None
    axes = _axes(attrs["axis"], x.ndim)
    places = iter(index)
    if attrs.get("keepdims"):
        return [tuple([_ALL if axis in axes else index[axis] for axis in range(x.ndim)])]
    return [tuple([_ALL if axis in axes else next(places) for axis in range(x.ndim)])]


def _axes(axis: int | Sequence[int] | None, rank: int) -> set[int]:
    """The axes that an attribute names; all if it is None."""
    named = range(rank) if axis is None else (axis,) if isinstance(axis, int) else axis
    return {int(n) % rank for n in named} if rank else set()


def _along(
    attrs: Mapping[str, Any], operands: Sequence[Value], result: object, index: tuple[int, ...]
) -> Parts | None:
    """The whole row along an axis (softmax)."""
    axes = _axes(attrs.get("axis"), len(index))
    return [tuple([_ALL if axis in axes else place for axis, place in enumerate(index)])]


def _up_to(
    attrs: Mapping[str, Any], operands: Sequence[Value], result: Array, index: tuple[int, ...]
) -> Parts | None:
    """The elements up to this one along an axis (cumulative sums)."""
    if attrs.get("axis") is None:
        flat = int(np.ravel_multi_index(index, result.shape)) if index else 0
        return [(slice(flat + 1),)] if operands[0].ndim == 1 else None
    axes = _axes(attrs["axis"], len(index))
    return [tuple([slice(place + 1) if axis in axes else place for axis, place in enumerate(index)])]


def _normalized(
    attrs: Mapping[str, Any], operands: Sequence[Value], result: object, index: tuple[int, ...]
) -> Parts | None:
    """The row that is normalized, and the element of each factor (layer_norm, rms_norm)."""
    axes = _axes(attrs.get("axes"), len(index))
    row = tuple([_ALL if axis in axes else place for axis, place in enumerate(index)])
    own = tuple([index[axis] for axis in sorted(axes)])
    return [row, *[own if np.ndim(value) == len(own) else None for value in operands[1:]]]


def _product(
    attrs: Mapping[str, Any], operands: Sequence[Value], result: object, index: tuple[int, ...]
) -> Parts | None:
    """A row of the left matrix and a column of the right one."""
    left, right = operands[:2]
    places = list(index)
    column = places.pop() if right.ndim > 1 else None
    row = places.pop() if left.ndim > 1 else None
    own = [_batch(array, tuple(places)) for array in (left, right)]
    return [
        (*own[0], *(() if row is None else (row,)), _ALL),
        (*own[1], _ALL, *(() if column is None else (column,))),
    ]


def _batch(array: Array, places: tuple[int, ...]) -> Selection:
    lengths = array.shape[:-2]
    own = places[len(places) - len(lengths) :]
    return tuple([place if length > 1 else 0 for place, length in zip(own, lengths, strict=True)])


_SPECIAL: dict[str, Callable[[Mapping[str, Any], Sequence[Value], Any, tuple[int, ...]], Parts | None]] = {
    "relax.matmul": _product,
    "relax.nn.softmax": _along,
    "relax.nn.log_softmax": _along,
    "relax.nn.layer_norm": _normalized,
    "relax.nn.rms_norm": _normalized,
    "relax.cumsum": _up_to,
    "relax.cumprod": _up_to,
}
