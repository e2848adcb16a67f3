"""Machine code for tapes: it calls the functions that the rows of a tape name, and adds, subtracts and multiplies arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache as once

from llvmlite import ir

from relax_explorer.core.exec import llvm_values as v
from relax_explorer.core.exec.llvm_kernel import DATA, word
from relax_explorer.core.exec.native import is_possible, machine_code, placed

MOST = 12  # arguments of a function
WIDTH = 2 + MOST  # words of a row: the address, the number of arguments, the arguments
FILL = (
    0  # instead of the number of arguments: clear as many bytes (second word) from an address on (first word)
)
_LONGS = v.LONG.as_pointer()
_RULES = {
    ("add", "f"): "fadd", ("subtract", "f"): "fsub", ("multiply", "f"): "fmul",
    ("add", "i"): "add", ("subtract", "i"): "sub", ("multiply", "i"): "mul",
}  # fmt: skip
_TYPES: dict[str, ir.Type] = {
    "f4": ir.FloatType(), "f8": ir.DoubleType(), "i1": ir.IntType(8), "i2": ir.IntType(16), "i4": ir.IntType(32), "i8": v.LONG,
}  # fmt: skip


def player() -> Callable[[int, int, int, int], int]:
    """The function that plays a tape: (address of its rows, their number, note, address of the stop flag) -> rows not played.

    It ends at the first function that gives a status other than 0, and where the stop flag is set.
    """
    return _player()[0]


@once
def _player() -> tuple[Callable[[int, int, int, int], int], object]:
    module = ir.Module()
    fn = ir.Function(module, ir.FunctionType(v.LONG, [_LONGS, v.LONG, v.LONG, v.LONG]), "tape_play")
    rows, count, note, stop = fn.args
    entry, head, body, called, done = (
        fn.append_basic_block(name) for name in ("entry", "head", "body", "called", "done")
    )
    ir.IRBuilder(entry).branch(head)
    builder = ir.IRBuilder(head)
    number = builder.phi(v.LONG)
    number.add_incoming(v.LONG(0), entry)
    left = builder.sub(count, number)
    flag = builder.load(builder.inttoptr(stop, _LONGS))
    ends = builder.or_(builder.icmp_signed("==", left, v.LONG(0)), builder.icmp_signed("!=", flag, v.LONG(0)))
    builder.cbranch(ends, done, body)
    builder.position_at_end(body)
    row = builder.gep(rows, [builder.mul(number, v.LONG(WIDTH))])
    words = [builder.load(builder.gep(row, [v.LONG(place)])) for place in range(WIDTH)]
    choice = builder.switch(words[1], done)
    builder.position_at_end(called)
    status = builder.phi(v.LONG)
    following = builder.add(number, v.LONG(1))
    number.add_incoming(following, called)
    builder.cbranch(builder.icmp_signed("==", status, v.LONG(0)), head, done)
    for arguments in range(MOST + 1):
        block = fn.append_basic_block(f"with{arguments}")
        choice.add_case(v.LONG(arguments), block)
        builder.position_at_end(block)
        result = (
            _called(builder, words[0], [*words[2 : 2 + arguments], note, stop])
            if arguments
            else _filled(builder, words)
        )
        status.add_incoming(result, block)
        builder.branch(called)
    builder.position_at_end(done)
    builder.ret(left)
    address, engine = placed(machine_code(str(module)), "tape_play")
    return ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 4)(address), engine


def _called(builder: ir.IRBuilder, address: ir.Value, arguments: list[ir.Value]) -> ir.Value:
    """The status of the function at an address."""
    kind = ir.FunctionType(v.LONG, [v.LONG] * len(arguments))
    return builder.call(builder.inttoptr(address, kind.as_pointer()), arguments)


def _filled(builder: ir.IRBuilder, words: list[ir.Value]) -> ir.Value:
    """Clear the memory that a row names. The status is 0."""
    memset = builder.module.declare_intrinsic("llvm.memset", [v.BYTE.as_pointer(), v.LONG])
    start = builder.inttoptr(words[2], v.BYTE.as_pointer())
    builder.call(memset, [start, v.BYTE(0), words[3], ir.IntType(1)(0)])
    return v.LONG(0)


def arithmetic(name: str, dtype: str, steps: tuple[int, int]) -> int | None:
    """The address of a function that fills an array by an operation of numpy on two operands, element by element.

    It takes the result, the operands, the number of elements, the note and the stop flag. `dtype` is such as `f4`; an operand with
    step 0 has one element. None for an operation without such a function. Integers wrap, as those of numpy.
    """
    found = _arithmetic(name, dtype.replace("u", "i"), steps)
    return None if found is None else found[1]


@once
def _arithmetic(name: str, dtype: str, steps: tuple[int, int]) -> tuple[object, int] | None:
    rule, type_ = _RULES.get((name, dtype[0])), _TYPES.get(dtype)
    if rule is None or type_ is None or not is_possible():
        return None
    symbol = f"tape_{name}_{dtype}_{steps[0]}{steps[1]}"  # one of its own: an engine has many functions
    module = ir.Module()
    objects = [v.BYTE.as_pointer()] * 3
    fn = ir.Function(module, ir.FunctionType(v.LONG, [*objects, v.LONG, v.LONG, v.LONG]), symbol)
    entry, head, body, done = (fn.append_basic_block(part) for part in ("entry", "head", "body", "done"))
    builder = ir.IRBuilder(entry)
    result, *operands = [builder.load(word(builder, arg, DATA, type_.as_pointer())) for arg in fn.args[:3]]
    builder.branch(head)
    builder.position_at_end(head)
    number = builder.phi(v.LONG)
    number.add_incoming(v.LONG(0), entry)
    builder.cbranch(builder.icmp_signed("<", number, fn.args[3]), body, done)
    builder.position_at_end(body)
    values = [
        builder.load(builder.gep(data, [number if step else v.LONG(0)]))
        for data, step in zip(operands, steps, strict=True)
    ]
    builder.store(getattr(builder, rule)(*values), builder.gep(result, [number]))
    number.add_incoming(builder.add(number, v.LONG(1)), body)
    builder.branch(head)
    builder.position_at_end(done)
    builder.ret(v.LONG(0))
    address, engine = placed(machine_code(str(module)), symbol)
    return engine, address
