"""Typed values of kernels in LLVM IR, with the arithmetic of `loop_ir`.

Integers are signed numbers of 64 bits, except uint64. Narrow elements are widened when they are read.
"""

from __future__ import annotations

from dataclasses import dataclass

from llvmlite import ir

SIGNED, UNSIGNED, FLOAT, DOUBLE, TRUTH = "i", "u", "f", "d", "b"
LONG, BYTE, BIT = ir.IntType(64), ir.IntType(8), ir.IntType(1)
TYPES = {SIGNED: LONG, UNSIGNED: LONG, FLOAT: ir.FloatType(), DOUBLE: ir.DoubleType(), TRUTH: BIT}
# The kind and the bits of each element.
ELEMENTS = {
    "float32": (FLOAT, 32), "float64": (DOUBLE, 64), "bool_": (TRUTH, 8), "int8": (SIGNED, 8), "int16": (SIGNED, 16),
    "int32": (SIGNED, 32), "int64": (SIGNED, 64), "uint8": (SIGNED, 8), "uint16": (SIGNED, 16), "uint32": (SIGNED, 32),
    "uint64": (UNSIGNED, 64),
}  # fmt: skip
INTEGERS = frozenset({SIGNED, UNSIGNED})
FLOATS = frozenset({FLOAT, DOUBLE})


class Unsupported(Exception):
    """A part of a kernel that this translation does not know; numba compiles the kernel instead."""


@dataclass(frozen=True, slots=True)
class Typed:
    """A value and its kind."""

    kind: str
    value: ir.Value


@dataclass(frozen=True, slots=True)
class Array:
    """A compact array: the name of its elements, its memory and its lengths."""

    element: str
    data: ir.Value
    lengths: tuple[ir.Value, ...]


def constant(kind: str, number: float) -> Typed:
    """A number of a kind."""
    if kind == SIGNED and not -(1 << 63) <= number < 1 << 64:
        raise Unsupported("a number beyond 64 bits")
    return Typed(kind, ir.Constant(TYPES[kind], number))


def element_type(element: str) -> ir.Type:
    """The type of an element in memory."""
    kind, bits = ELEMENTS[element]
    return TYPES[kind] if kind in FLOATS else ir.IntType(bits)


def poison(element: str, content: float | None) -> Typed:
    """The content of memory that was not written, as an element."""
    kind = ELEMENTS[element][0]
    return constant(kind, float(content or 0) if kind in FLOATS else int(content or 0))


def loaded(builder: ir.IRBuilder, element: str, place: ir.Value) -> Typed:
    """Read an element."""
    value, (kind, bits) = builder.load(place), ELEMENTS[element]
    if kind == TRUTH:
        return Typed(TRUTH, builder.icmp_unsigned("!=", value, BYTE(0)))
    if kind in INTEGERS and bits < 64:
        return Typed(
            kind, builder.zext(value, LONG) if element.startswith("u") else builder.sext(value, LONG)
        )
    return Typed(kind, value)


def stored(builder: ir.IRBuilder, element: str, place: ir.Value, value: Typed) -> None:
    """Write an element."""
    kind, bits = ELEMENTS[element]
    if kind in INTEGERS and value.kind in INTEGERS:
        builder.store(value.value if bits == 64 else builder.trunc(value.value, ir.IntType(bits)), place)
    elif kind == TRUTH and value.kind == TRUTH:
        builder.store(builder.zext(value.value, BYTE), place)
    elif kind in FLOATS and value.kind in FLOATS:
        builder.store(as_float(builder, kind, value).value, place)
    else:
        raise Unsupported("a store of another kind")


def as_float(builder: ir.IRBuilder, kind: str, value: Typed) -> Typed:
    """A number as float32 or float64."""
    type_ = TYPES[kind]
    if value.kind == kind:
        return value
    if value.kind in FLOATS:
        convert = builder.fpext if kind == DOUBLE else builder.fptrunc
    else:
        convert = builder.sitofp if value.kind == SIGNED else builder.uitofp
    return Typed(kind, convert(value.value, type_))


def converted(builder: ir.IRBuilder, element: str, value: Typed) -> Typed:
    """A number converted to the type of an element, as numpy's scalar types do."""
    kind, bits = ELEMENTS[element]
    if kind in FLOATS:
        return as_float(builder, kind, value)
    if kind == TRUTH:
        return value if value.kind == TRUTH else compared(builder, "!=", value, constant(SIGNED, 0))
    if value.kind == TRUTH:
        return Typed(kind, builder.zext(value.value, LONG))
    if value.kind in FLOATS:
        raise Unsupported("a plain conversion of a float to an integer")
    if bits == 64:
        return Typed(kind, value.value)
    narrow = builder.trunc(value.value, ir.IntType(bits))
    widen = builder.zext if element.startswith("u") else builder.sext
    return Typed(kind, widen(narrow, LONG))


def same_kind(builder: ir.IRBuilder, a: Typed, b: Typed) -> tuple[Typed, Typed]:
    """Two operands of one kind. The number 0 is one of every kind."""
    if a.kind in FLOATS and b.kind in FLOATS:
        kind = FLOAT if a.kind == b.kind == FLOAT else DOUBLE
        return as_float(builder, kind, a), as_float(builder, kind, b)
    if a.kind in FLOATS and b.kind == SIGNED and isinstance(b.value, ir.Constant):
        return a, constant(a.kind, float(b.value.constant))
    if a.kind == UNSIGNED and b.kind == SIGNED and isinstance(b.value, ir.Constant) and b.value.constant >= 0:
        return a, Typed(UNSIGNED, b.value)
    if a.kind != b.kind:
        raise Unsupported("operands of two kinds")
    return a, b


def compared(builder: ir.IRBuilder, symbol: str, a: Typed, b: Typed) -> Typed:
    """A comparison. With NaN, only `!=` is true."""
    a, b = same_kind(builder, a, b)
    if a.kind in FLOATS:
        compare = builder.fcmp_unordered if symbol == "!=" else builder.fcmp_ordered
    else:
        compare = builder.icmp_signed if a.kind == SIGNED else builder.icmp_unsigned
    return Typed(TRUTH, compare(symbol, a.value, b.value))


def computed(builder: ir.IRBuilder, symbol: str, a: Typed, b: Typed) -> Typed:
    """An arithmetic operator. The builder has checked that sums and products of signed integers do not overflow."""
    a, b = same_kind(builder, a, b)
    if a.kind in FLOATS:
        names = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}
    elif a.kind == TRUTH:
        names = {"&": "and_", "|": "or_", "^": "xor"}
    else:
        names = {"+": "add", "-": "sub", "*": "mul", "&": "and_", "|": "or_", "^": "xor"}
    if symbol not in names:
        raise Unsupported(f"the operator {symbol}")
    return Typed(a.kind, getattr(builder, names[symbol])(a.value, b.value))


def divided(builder: ir.IRBuilder, name: str, a: Typed, b: Typed) -> Typed:
    """A division of signed integers with a divisor other than 0, as in `tir_support`. The least integer by -1 wraps."""
    x, y = a.value, b.value
    minus = builder.icmp_signed("==", y, LONG(-1))
    safe = builder.select(minus, LONG(1), y)
    result = builder.sdiv(x, safe) if "div" in name else builder.srem(x, safe)
    if name.startswith("floor"):
        left_over = builder.srem(x, safe)
        inexact = builder.icmp_signed("!=", left_over, LONG(0))
        apart = builder.icmp_signed("<", builder.xor(left_over, safe), LONG(0))
        step = builder.select(builder.and_(inexact, apart), safe if "mod" in name else LONG(-1), LONG(0))
        result = builder.add(result, step)
    if "div" in name:
        result = builder.select(minus, builder.neg(result), result)
    return Typed(SIGNED, result)


def whole(builder: ir.IRBuilder, element: str, value: Typed) -> Typed:
    """A float converted to an integer, as in `tir_support`: what does not fit becomes the least integer."""
    if value.kind not in FLOATS:
        raise Unsupported("a conversion of a number that is no float")
    kind, width = ELEMENTS[element]
    bits = 32 if width < 32 or element == "int32" else 64
    target, x, limit = ir.IntType(bits), value.value, float(1 << (bits - 1))
    fits = builder.and_(
        builder.fcmp_ordered(">=", x, x.type(-limit)), builder.fcmp_ordered("<", x, x.type(limit))
    )
    number = builder.fptosi(builder.select(fits, x, x.type(0.0)), target)
    number = builder.select(fits, number, target(-(1 << (bits - 1))))
    if element == "uint64":
        large = builder.and_(
            builder.fcmp_ordered(">=", x, x.type(limit)), builder.fcmp_ordered("<", x, x.type(2 * limit))
        )
        upper = builder.fptoui(builder.select(large, x, x.type(0.0)), target)
        number = builder.select(large, upper, number)
    if bits == 32:
        number = builder.sext(number, LONG)
    return converted(builder, element, Typed(kind, number))


def reinterpreted(builder: ir.IRBuilder, source: str, target: str, value: Typed) -> Typed:
    """The bits of an element of one type as an element of another one."""
    (from_kind, bits), (kind, _) = ELEMENTS[source], ELEMENTS[target]
    value = converted(builder, source, value)
    whole = ir.IntType(bits)
    word = builder.bitcast(value.value, whole) if from_kind in FLOATS else value.value
    if from_kind in INTEGERS and bits < 64:
        word = builder.trunc(word, whole)
    if kind in FLOATS:
        return Typed(kind, builder.bitcast(word, TYPES[kind]))
    if bits < 64:
        word = builder.zext(word, LONG) if target.startswith("u") else builder.sext(word, LONG)
    return Typed(kind, word)


def narrowed(
    builder: ir.IRBuilder, value: Typed, mantissa: int, least: int, most: float, beyond: float
) -> Typed:
    """A float rounded to `mantissa` bits behind the first one, half to even, as in `tir_narrow`."""
    x = as_float(builder, DOUBLE, value).value
    double = TYPES[DOUBLE]

    def function(name: str, *args: ir.Value) -> ir.Value:
        types = [double] * len(args)
        symbol = f"llvm.{name}.f64"
        module = builder.module
        found = module.globals.get(symbol) or ir.Function(module, ir.FunctionType(double, types), symbol)
        return builder.call(found, args)

    power = builder.and_(builder.lshr(builder.bitcast(x, LONG), LONG(52)), LONG(0x7FF))  # biased by 1023
    low = LONG(least + 1023)
    power = builder.select(builder.icmp_signed("<", power, low), low, power)
    is_finite = builder.icmp_signed("<", power, LONG(0x7FF))
    unit = builder.bitcast(builder.shl(builder.sub(power, LONG(mantissa)), LONG(52)), double)
    rounded = builder.fmul(function("rint", builder.fdiv(x, unit)), unit)
    fits = builder.fcmp_ordered("<=", function("fabs", rounded), double(most))
    outside = function("copysign", double(beyond), x)
    result = builder.select(builder.and_(is_finite, fits), rounded, outside)
    result = builder.select(builder.fcmp_unordered("uno", x, x), x, result)
    return as_float(builder, FLOAT, Typed(DOUBLE, result))
