"""Translate the loops of a kernel (`loop_ir`) to LLVM IR, without numba: their types are known, so a kernel takes milliseconds.

The function takes the addresses of numpy arrays as objects, numbers, a note and the address of the stop flag. It returns a
status. Calls of packed functions have no translation here, nor have powers of integers and floor divisions of floats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod

from llvmlite import ir

from relax_explorer.core.exec import llvm_expr as v
from relax_explorer.core.exec import loop_ir as loops
from relax_explorer.core.exec.llvm_expr import (
    ASSERTION,
    BEYOND,
    FLOAT_RESULT,
    MEMORY,
    SIGNED_RESULT,
    STOPPED,
    UNSIGNED_RESULT,
    Array,
    Expressions,
    Typed,
    Unsupported,
)

ON_STACK = 64  # elements of an array that needs no memory of its own
_STACK = 1 << 16  # bytes for larger arrays: rows between stages would need memory in each iteration
DATA, _LENGTHS = 2, 4  # the words of a numpy array that hold its memory and its lengths
_POINTER = v.BYTE.as_pointer()


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter of a kernel: an array with its lengths as far as they are known, or a number of this kind."""

    kind: str
    element: str = ""
    lengths: tuple[int | None, ...] = ()


def llvm_module(routine: loops.Routine, params: Sequence[Param], apart: bool, name: str) -> ir.Module:
    """The module of a kernel, with a function of this name. Raises Unsupported.

    With `apart`, no array that it writes shares memory with another one. Then loops need no checks of it.
    """
    module = ir.Module()
    flat = [type_ for param in params for type_ in _flat(param)]
    inner = ir.Function(module, ir.FunctionType(v.LONG, [*flat, v.LONG.as_pointer(), v.LONG]), "text")
    inner.linkage = "internal"
    for arg in inner.args:
        if apart and isinstance(arg.type, ir.PointerType):
            arg.add_attribute("noalias")
    _Statements(inner, routine.params, params).finish(routine.body)
    _unpack(inner, params, name)
    return module


def _flat(param: Param) -> list[ir.Type]:
    """The parameters of the inner function for one of the kernel: memory and unknown lengths, or a number."""
    if not param.element:
        return [v.TYPES[param.kind]]
    return [
        v.element_type(param.element).as_pointer(),
        *[v.LONG for length in param.lengths if length is None],
    ]


def _unpack(inner: ir.Function, params: Sequence[Param], name: str) -> None:
    """The outer function: it reads the memory and the lengths of arrays from the objects of numpy."""
    types = [_POINTER if param.element else v.TYPES[param.kind] for param in params]
    fn = ir.Function(inner.module, ir.FunctionType(v.LONG, [*types, _POINTER, v.LONG]), name)
    builder = ir.IRBuilder(fn.append_basic_block())
    *given, note, stop = fn.args
    passed: list[ir.Value] = []
    for param, arg in zip(params, given, strict=True):
        if not param.element:
            passed.append(arg)
            continue
        passed.append(builder.load(word(builder, arg, DATA, v.element_type(param.element).as_pointer())))
        found = builder.load(word(builder, arg, _LENGTHS, v.LONG.as_pointer()))
        for axis, length in enumerate(param.lengths):
            if length is None:
                passed.append(builder.load(builder.gep(found, [v.LONG(axis)])))
    note = builder.load(word(builder, note, DATA, v.LONG.as_pointer()))
    builder.ret(builder.call(inner, [*passed, note, stop]))


class _Statements(Expressions):
    """Emits the statements of one kernel."""

    def __init__(self, fn: ir.Function, names: Sequence[str], params: Sequence[Param]) -> None:
        self.entry = fn.append_basic_block("entry")
        self.start = ir.IRBuilder(self.entry)  # for the places of variables
        builder = ir.IRBuilder(fn.append_basic_block("start"))
        *given, note, stop = fn.args
        status = self.start.alloca(v.LONG)
        self.start.store(v.LONG(0), status)
        super().__init__(builder, status, note, stop)
        self.memory: list[ir.Value] = []  # the places that hold allocated memory
        self.room = _STACK
        self.depth = 0  # the number of open loops
        args = iter(given)
        for name, param in zip(names, params, strict=False):
            if param.element:
                data = next(args)
                lengths = [next(args) if length is None else v.LONG(length) for length in param.lengths]
                self.arrays[name] = Array(param.element, data, tuple(lengths))
            else:
                self.assign(name, Typed(param.kind, next(args)))

    def finish(self, body: Sequence[loops.Stmt]) -> None:
        """Emit all statements, and the end."""
        first = self.builder.block
        self.statements(body)
        if not self.builder.block.is_terminated:
            self.builder.branch(self.leave)
        self.builder.position_at_end(self.leave)
        for place in self.memory:
            self._free(place)
        self.builder.ret(self.builder.load(self.status))
        self.start.branch(first)

    def statements(self, body: Sequence[loops.Stmt]) -> None:
        """Emit statements, up to one that leaves."""
        for node in body:
            if self.builder.block.is_terminated:
                return
            rule = _STATEMENTS.get(type(node))
            if rule is None:
                raise Unsupported(type(node).__name__)
            rule(self, node)

    # -- variables and memory ------------------------------------------------------------------------------------

    def assign(self, name: str, value: Typed) -> None:
        """Set a variable. At the top of the kernel, its kind may change."""
        slot = self.slots.get(name)
        if slot is None or (slot[0] != value.kind and not self.depth and self.builder.block.name == "start"):
            slot = self.slots[name] = value.kind, self.start.alloca(v.TYPES[value.kind])
        if slot[0] != value.kind:
            raise Unsupported("a variable of two kinds")
        self.builder.store(value.value, slot[1])

    def _set(self, node: loops.Assign) -> None:
        is_array = isinstance(node.value, loops.Var) and node.value.name in self.arrays
        if is_array or isinstance(node.value, loops.Flat):
            self.arrays[node.name] = self._flat(node.value)
        else:
            self.assign(node.name, self.expr(node.value))

    def _flat(self, node: loops.Expr) -> Array:
        """Memory as an array of one axis: of an array, or a part of one."""
        if isinstance(node, loops.Var) and node.name in self.arrays:
            return self.arrays[node.name]
        if not isinstance(node, loops.Flat):
            raise Unsupported("a pointer")
        array, builder = self.arrays[node.array], self.builder
        if node.start is None:
            return Array(array.element, array.data, (self._product(array.lengths),))
        start = self.expr(node.start).value
        end = array.lengths[0] if node.end is None else self.expr(node.end).value
        return Array(array.element, builder.gep(array.data, [start]), (builder.sub(end, start),))

    def _window(self, node: loops.Window) -> None:
        builder, flat = self.builder, self._flat(node.flat)
        start = self.expr(node.start).value
        lengths = tuple([self.expr(dim).value for dim in node.shape])
        size = self._room(list(lengths), flat.lengths[0], BEYOND)
        left = builder.sub(flat.lengths[0], size)
        self.trap(builder.icmp_unsigned(">", start, left), BEYOND)
        self.arrays[node.array] = Array(flat.element, builder.gep(flat.data, [start]), lengths)

    def _store(self, node: loops.Store) -> None:
        value, old = node.value, node.place
        if isinstance(value, loops.Choice | loops.Apply) and old in _chosen(value):
            # The element is there: loaded in a branch, it would not stay in a register. LLVM makes a masked store, which is slow, of a
            # choice between a load and another value; it does not look behind `freeze`. (A checked place has a number of its own.)
            loaded = self.expr(old)
            self.loaded = {old: v.Typed(loaded.kind, v.frozen(self.builder, loaded.value))}
        result = self.expr(value)
        self.loaded = {}
        array, place = self.place(old)
        v.stored(self.builder, array.element, place, result)

    def _memory(self, node: loops.Allocate) -> None:
        builder, element, poison = self.builder, node.element, node.poison
        lengths = [self.expr(dim).value for dim in node.shape]
        if not lengths:
            place = self.start.alloca(v.element_type(element))
            self.arrays[node.array] = Array(element, place, ())
            v.stored(builder, element, place, v.poison(element, poison))
            return
        known = [length.constant for length in lengths if isinstance(length, ir.Constant)]
        if len(known) == len(lengths) and self._is_on_stack(prod(known), element):
            size: ir.Value = v.LONG(prod(known))
            place = self.start.alloca(v.element_type(element), size)
            place.align = 32  # as vectors like it
            array = self.arrays[node.array] = Array(element, place, tuple(lengths))
        else:
            size = self._product(lengths) if node.most is None else self._room(lengths, v.LONG(node.most))
            array = self.arrays[node.array] = self._allocate(element, tuple(lengths), size)
        if poison is not None:
            with self._counted(size) as number:
                v.stored(builder, element, builder.gep(array.data, [number]), v.poison(element, poison))

    def _is_on_stack(self, count: int, element: str) -> bool:
        """Whether an array lies on the stack; a larger one takes a part of the room there."""
        if not ON_STACK < count <= self.room * 8 // v.ELEMENTS[element][1]:
            return 0 <= count <= ON_STACK
        self.room -= count * v.ELEMENTS[element][1] // 8
        return True

    def _product(self, lengths: Sequence[ir.Value]) -> ir.Value:
        size: ir.Value = v.LONG(1)
        for length in lengths:
            size = self.builder.mul(size, length)
        return size

    def _room(self, lengths: list[ir.Value], most: ir.Value, status: int = MEMORY) -> ir.Value:
        """The number of elements of a shape. Leaves if a length is negative, or if there are more than `most`."""
        builder, is_empty = self.builder, v.BIT(0)
        for length in lengths:
            self.trap(builder.icmp_signed("<", length, v.LONG(0)), status)
            is_empty = builder.or_(is_empty, builder.icmp_signed("==", length, v.LONG(0)))
        size: ir.Value = v.LONG(1)
        for length in lengths:
            counted = builder.select(is_empty, v.LONG(1), length)
            self.trap(builder.icmp_unsigned(">", counted, builder.udiv(most, size)), status)
            size = builder.mul(size, counted)
        return builder.select(is_empty, v.LONG(0), size)

    def _allocate(self, element: str, lengths: tuple[ir.Value, ...], size: ir.Value) -> Array:
        builder, type_ = self.builder, v.element_type(element)
        place = self.start.alloca(_POINTER)
        self.start.store(ir.Constant(_POINTER, None), place)
        self._free(place)  # of the last iteration
        room = builder.add(builder.mul(size, v.LONG(v.ELEMENTS[element][1] // 8)), v.LONG(64))
        malloc = self.external("malloc", _POINTER, [v.LONG])
        malloc.return_value.add_attribute("noalias")
        memory = builder.call(malloc, [room])
        builder.store(memory, place)
        self.memory.append(place)
        self.trap(builder.icmp_unsigned("==", builder.ptrtoint(memory, v.LONG), v.LONG(0)), MEMORY)
        return Array(element, builder.bitcast(memory, type_.as_pointer()), lengths)

    def _free(self, place: ir.Value) -> None:
        free = self.external("free", ir.VoidType(), [_POINTER])
        self.builder.call(free, [self.builder.load(place)])

    # -- control --------------------------------------------------------------------------------------------------

    def _for(self, node: loops.For) -> None:
        bounds = [self.expr(bound) for bound in (node.start, node.end)]
        step = None if node.step is None else self.expr(node.step)
        if any(bound.kind != v.SIGNED for bound in bounds):
            raise Unsupported("a loop")
        builder, one = self.builder, v.LONG(1)
        first, last = [bound.value for bound in bounds]
        count = builder.sub(last, first)
        if step is not None:
            count = builder.add(builder.udiv(builder.sub(count, one), step.value), one)
        count = builder.select(builder.icmp_signed("<", first, last), count, v.LONG(0))
        with self._counted(count) as number:
            offset = number if step is None else builder.mul(number, step.value)
            self.assign(node.var, Typed(v.SIGNED, builder.add(first, offset)))
            self.statements(node.body)

    @contextmanager
    def _counted(self, count: ir.Value) -> Iterator[ir.Value]:
        """A loop of `count` iterations; inside, the number of the iteration."""
        builder = self.builder
        before = builder.block
        head, body, end = [builder.append_basic_block(name) for name in ("head", "body", "end")]
        builder.branch(head)
        builder.position_at_end(head)
        number = builder.phi(v.LONG)
        number.add_incoming(v.LONG(0), before)
        builder.cbranch(builder.icmp_unsigned("<", number, count), body, end)
        builder.position_at_end(body)
        self.depth += 1
        yield number
        self.depth -= 1
        if not builder.block.is_terminated:
            number.add_incoming(builder.add(number, v.LONG(1), flags=("nuw",)), builder.block)
            builder.branch(head)
        builder.position_at_end(end)

    def _while(self, node: loops.While) -> None:
        builder = self.builder
        head, body, end = [builder.append_basic_block(name) for name in ("head", "body", "end")]
        builder.branch(head)
        builder.position_at_end(head)
        self.depth += 1
        self._poll()
        builder.cbranch(self.truth(node.condition), body, end)
        builder.position_at_end(body)
        self.statements(node.body)
        self.depth -= 1
        if not builder.block.is_terminated:
            builder.branch(head)
        builder.position_at_end(end)

    def _if(self, node: loops.If) -> None:
        builder = self.builder
        yes, no, end = [builder.append_basic_block(name) for name in ("yes", "no", "end")]
        builder.cbranch(self.truth(node.condition), yes, no)
        for block, body in ((yes, node.then), (no, node.otherwise)):
            builder.position_at_end(block)
            self.statements(body)
            if not builder.block.is_terminated:
                builder.branch(end)
        builder.position_at_end(end)

    def _fail(self, node: loops.Fail) -> None:
        self.builder.store(v.LONG(node.number + ASSERTION), self.status)
        self.builder.branch(self.leave)

    def _return(self, node: loops.Return) -> None:
        result, builder = self.expr(node.value), self.builder
        word, status = result.value, UNSIGNED_RESULT if result.kind == v.UNSIGNED else SIGNED_RESULT
        if result.kind in v.FLOATS:
            word = builder.bitcast(v.as_float(builder, v.DOUBLE, result).value, v.LONG)
            status = FLOAT_RESULT
        elif result.kind == v.TRUTH:
            word = builder.zext(word, v.LONG)
        builder.store(word, self.note)
        builder.store(v.LONG(status), self.status)
        builder.branch(self.leave)

    def _poll(self, node: loops.Poll | None = None) -> None:
        place = self.builder.inttoptr(self.stop, v.LONG.as_pointer())
        flag = self.builder.load_atomic(place, "monotonic", 8)
        self.trap(self.builder.icmp_unsigned("!=", flag, v.LONG(0)), STOPPED)


def word(builder: ir.IRBuilder, pointer: ir.Value, number: int, type_: ir.Type) -> ir.Value:
    """The place of a word of an object."""
    return builder.gep(builder.bitcast(pointer, type_.as_pointer()), [v.LONG(number)])


def _chosen(node: loops.Choice | loops.Apply) -> tuple[loops.Expr, ...]:
    """The values between which a choice, or the larger or smaller of two, decides."""
    if isinstance(node, loops.Choice):
        return node.yes, node.no
    return node.args if node.name in ("larger", "smaller") else ()


_STATEMENTS: dict[type, Callable[..., None]] = {
    loops.Assign: _Statements._set,
    loops.Store: _Statements._store,
    loops.Allocate: _Statements._memory,
    loops.For: _Statements._for,
    loops.While: _Statements._while,
    loops.If: _Statements._if,
    loops.Fail: _Statements._fail,
    loops.Return: _Statements._return,
    loops.Window: _Statements._window,
    loops.Poll: _Statements._poll,
}
