"""Translate the expressions of kernels (`loop_ir`) to LLVM IR, and their values. The types of their leaves are known, so nothing is inferred."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

from llvmlite import ir

from relax_explorer.core.exec import loop_ir as loops
from relax_explorer.core.exec.loop_functions import FUNCTIONS, Function

# -- values ----------------------------------------------------------------------------------------------------------
# Typed values of kernels in LLVM IR, with the arithmetic of `loop_ir`.
#
# Integers are signed numbers of 64 bits, except uint64. Narrow elements are widened when they are read.


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


def frozen(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """The same value, about which LLVM infers nothing from where it comes."""
    made = ir.Instruction(builder.block, value.type, "freeze", [value])  # llvmlite has no name for it
    builder.block.instructions.append(made)
    builder.position_at_end(builder.block)
    return made


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
    """A division of signed integers with a divisor other than 0, as in `loop_runtime`. The least integer by -1 wraps."""
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
    """A float converted to an integer, as in `loop_runtime`: what does not fit becomes the least integer."""
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
    """A float rounded to `mantissa` bits behind the first one, half to even, as in `loop_runtime`."""
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


# -- expressions -----------------------------------------------------------------------------------------------------


OUTSIDE, DIVISION, STOPPED, MEMORY, BEYOND, SIGNED_RESULT, UNSIGNED_RESULT, FLOAT_RESULT, ASSERTION = (
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    16,
)  # what a kernel returns; 0 if it did all its work
_COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})
_ARITHMETIC = frozenset({"+", "-", "*", "/", "&", "|", "^"})
# Only functions that give the same bits as numba's.
_INTRINSICS = {
    "math.exp": "exp", "np.log": "log", "np.sqrt": "sqrt", "math.sin": "sin", "math.cos": "cos", "np.floor": "floor", "np.ceil": "ceil",
    "np.trunc": "trunc", "np.rint": "rint", "abs": "fabs", "np.power": "pow",
}  # fmt: skip
# By their names in the mathematical library.
_LIBRARY = {
    "math.tanh": "tanh", "math.erf": "erf", "np.log2": "log2", "np.log10": "log10", "np.log1p": "log1p", "math.tan": "tan",
    "np.arcsin": "asin", "np.arccos": "acos", "math.atan": "atan", "math.atan2": "atan2", "math.sinh": "sinh", "math.cosh": "cosh",
    "math.asinh": "asinh", "np.arccosh": "acosh", "np.arctanh": "atanh", "np.exp2": "exp2", "np.expm1": "expm1", "np.fmod": "fmod",
}  # fmt: skip
LIBRARY = frozenset(
    {"exp", "malloc", "free", "memset", *_LIBRARY.values()}
)  # functions that a process must have
_WRAPPING = {"add": "add", "sub": "sub", "mul": "mul", "quotient": "udiv", "rest": "urem", "left": "shl", "right": "ashr"}  # fmt: skip
_DIVISIONS = frozenset({"floor_div", "floor_mod", "trunc_div", "trunc_mod"})


_CHEAP = 24  # parts of an expression that is computed without need
_QUICK = frozenset({"larger", "smaller", "quotient", "rest"})


def is_harmless(node: loops.Expr) -> bool:
    """True if an expression may be computed though nobody needs its value: it is cheap, and its indices are known to lie inside."""
    found = list(islice(loops.parts(node), _CHEAP + 1))
    if len(found) > _CHEAP:
        return False
    for part in found:
        if isinstance(part, loops.Element):
            if not all([isinstance(index, loops.Inside | loops.Const) for index in part.indices]):
                return False
        elif isinstance(part, loops.Check | loops.Flat) or (
            isinstance(part, loops.Apply) and part.name not in _QUICK
        ):
            return False
    return True


class Expressions:
    """Emits expressions into one function."""

    def __init__(self, builder: ir.IRBuilder, status: ir.Value, note: ir.Value, stop: ir.Value) -> None:
        self.builder, self.status, self.note, self.stop = builder, status, note, stop
        self.leave = builder.append_basic_block("leave")
        self.arrays: dict[str, Array] = {}
        self.slots: dict[str, tuple[str, ir.Value]] = {}  # the kind and the place of each variable
        self.loaded: dict[loops.Expr, Typed] = {}  # elements whose value is known where they are read
        self.steps: dict[str, Typed] = {}  # what the current function of `loop_functions` computed so far

    def expr(self, node: loops.Expr) -> Typed:
        """Emit an expression."""
        rule = _RULES.get(type(node))
        if rule is None:
            raise Unsupported(type(node).__name__)
        return rule(self, node)

    def _constant(self, node: loops.Const) -> Typed:
        value = node.value
        return constant(TRUTH if type(value) is bool else SIGNED if type(value) is int else DOUBLE, value)

    def _variable(self, node: loops.Var) -> Typed:
        if node.name == "stop":
            return Typed(SIGNED, self.stop)
        if node.name in self.steps:
            return self.steps[node.name]
        if node.name not in self.slots:
            raise Unsupported(node.name)
        kind, place = self.slots[node.name]
        return Typed(kind, self.builder.load(place))

    def _op(self, node: loops.Op) -> Typed:
        symbol = node.symbol
        if symbol in ("and", "or"):
            return self._decided(node)
        if symbol in _COMPARISONS:
            left = self.expr(node.args[0])
            return compared(self.builder, symbol, left, self.expr(node.args[1]))
        return self._unary(node) if symbol in loops.UNARY else self._arithmetic(node)

    def _unary(self, node: loops.Op) -> Typed:
        a, symbol = self.expr(node.args[0]), node.symbol
        if symbol == "not" and a.kind == TRUTH:
            return Typed(TRUTH, self.builder.not_(a.value))
        if symbol == "~" and a.kind in INTEGERS:
            return Typed(a.kind, self.builder.not_(a.value))
        if symbol == "neg" and a.kind in FLOATS:
            return Typed(a.kind, self.builder.fneg(a.value))
        if symbol == "neg" and a.kind == SIGNED:
            return Typed(a.kind, self.builder.neg(a.value))
        raise Unsupported("a unary operator")

    def _arithmetic(self, node: loops.Op) -> Typed:
        terms: list[tuple[str, loops.Expr]] = []
        first: loops.Expr = node
        while type(first) is loops.Op and first.symbol in _ARITHMETIC:  # long sums are nested deeply
            terms.append((first.symbol, first.args[1]))
            first = first.args[0]
        if not terms:
            raise Unsupported(f"the operator {node.symbol}")
        result = self.expr(first)
        for operator, right in reversed(terms):
            result = computed(self.builder, operator, result, self.expr(right))
        return result

    def _decided(self, node: loops.Op) -> Typed:
        """The second operand runs only if it is needed, since the first one may guard its indices; always if it is cheap and can't stop."""
        builder, is_and = self.builder, node.symbol == "and"
        first = self.truth(node.args[0])
        if is_harmless(node.args[1]):
            join = builder.and_ if is_and else builder.or_
            return Typed(TRUTH, join(first, self.truth(node.args[1])))
        before = builder.block
        more, end = builder.append_basic_block(), builder.append_basic_block()
        builder.cbranch(first, *((more, end) if is_and else (end, more)))
        builder.position_at_end(more)
        second = self.truth(node.args[1])
        after = builder.block
        builder.branch(end)
        builder.position_at_end(end)
        joined = builder.phi(BIT)
        joined.add_incoming(BIT(0 if is_and else 1), before)
        joined.add_incoming(second, after)
        return Typed(TRUTH, joined)

    def truth(self, node: loops.Expr) -> ir.Value:
        """Emit a condition."""
        value = self.expr(node)
        if value.kind != TRUTH:
            raise Unsupported("a condition of another kind")
        return value.value

    def _choice(self, node: loops.Choice) -> Typed:
        builder = self.builder
        # Where both values may be computed, a branch would only keep loops from becoming vectors.
        if self.steps or (is_harmless(node.yes) and is_harmless(node.no)):
            test, a, b = self.truth(node.condition), self.expr(node.yes), self.expr(node.no)
            if a.kind != b.kind:
                raise Unsupported("a choice of two kinds")
            return Typed(a.kind, builder.select(test, a.value, b.value))
        yes, no, end = [builder.append_basic_block() for _ in range(3)]
        builder.cbranch(self.truth(node.condition), yes, no)
        builder.position_at_end(yes)
        a, after_yes = self.expr(node.yes), builder.block
        builder.position_at_end(no)
        b, after_no = self.expr(node.no), builder.block
        if a.kind != b.kind:
            raise Unsupported("a choice of two kinds")
        for block in (after_yes, after_no):
            builder.position_at_end(block)
            builder.branch(end)
        builder.position_at_end(end)
        joined = builder.phi(TYPES[a.kind])
        joined.add_incoming(a.value, after_yes)
        joined.add_incoming(b.value, after_no)
        return Typed(a.kind, joined)

    # -- elements -------------------------------------------------------------------------------------------------

    def _load(self, node: loops.Element) -> Typed:
        known = self.loaded.get(node) if self.loaded else None
        if known is not None:
            return known
        array, place = self.place(node)
        return loaded(self.builder, array.element, place)

    def _length(self, node: loops.Length) -> Typed:
        return Typed(SIGNED, self.arrays[node.array].lengths[node.axis])

    def place(self, node: loops.Element) -> tuple[Array, ir.Value]:
        """The array of an element, and its place."""
        array = self.arrays[node.array]
        if len(node.indices) != len(array.lengths):
            raise Unsupported("an element with another number of indices")
        offset: ir.Value = LONG(0)
        for axis, index in enumerate(node.indices):
            value = self.expr(index)
            if value.kind not in INTEGERS:
                raise Unsupported("an index")
            scaled = self.builder.mul(offset, array.lengths[axis], flags=("nsw",)) if axis else offset
            offset = self.builder.add(scaled, value.value, flags=("nsw",)) if axis else value.value
        return array, self.builder.gep(array.data, [offset], inbounds=True)

    # -- calls ----------------------------------------------------------------------------------------------------

    def trap(self, condition: ir.Value, status: int, words: Sequence[ir.Value] = ()) -> None:
        """Leave the kernel if a condition holds, with a status and a note."""
        with self.builder.if_then(condition, likely=False):
            for number, word in enumerate(words):
                self.builder.store(word, self.builder.gep(self.note, [LONG(number)]))
            self.builder.store(LONG(status), self.status)
            self.builder.branch(self.leave)

    def _apply(self, node: loops.Apply) -> Typed:
        args = [self.expr(arg) for arg in node.args]
        if node.name in FUNCTIONS:
            return self._inlined(FUNCTIONS[node.name], args[0])
        if node.name in _INTRINSICS or node.name in _LIBRARY:
            return self._function(node.name, args)
        return self._support(node.name, args)

    def _inlined(self, function: Function, x: Typed) -> Typed:
        outer, self.steps = self.steps, {"x": x}
        for name, value in function.steps:
            self.steps[name] = self.expr(value)
        result = self.expr(function.result)
        self.steps = outer
        return result

    def _function(self, name: str, args: list[Typed]) -> Typed:
        if all(arg.kind in INTEGERS for arg in args) and name != "np.power":
            args = [as_float(self.builder, DOUBLE, arg) for arg in args]
        kind = args[0].kind
        if kind not in FLOATS or any(arg.kind != kind for arg in args):
            raise Unsupported(f"{name} of integers")
        type_ = TYPES[kind]
        if name in _INTRINSICS:
            symbol = f"llvm.{_INTRINSICS[name]}.{'f32' if kind == FLOAT else 'f64'}"
        else:
            symbol = _LIBRARY[name] + ("f" if kind == FLOAT else "")
        return Typed(
            kind,
            self.builder.call(self.external(symbol, type_, [type_] * len(args)), [arg.value for arg in args]),
        )

    def external(self, symbol: str, result: ir.Type, params: Sequence[ir.Type]) -> ir.Function:
        """A function from outside."""
        module = self.builder.module
        found = module.globals.get(symbol)
        return found or ir.Function(module, ir.FunctionType(result, params), symbol)

    def _support(self, name: str, args: list[Typed]) -> Typed:
        builder = self.builder
        if name in ("larger", "smaller") and len(args) == 2:
            a, b = same_kind(builder, *args)
            test = compared(builder, ">" if name == "larger" else "<", a, b)
            return Typed(a.kind, builder.select(test.value, a.value, b.value))
        if name in ("np.isnan", "np.isinf", "np.isfinite") and args[0].kind in FLOATS:
            return self._test(name, args[0])
        if len(args) == 2 and all(arg.kind in INTEGERS for arg in args):
            return self._integers(name, *args)
        if name == "piece" and all(arg.kind == SIGNED for arg in args):
            start, end, size = [arg.value for arg in args]
            left_over = builder.sub(end, start)
            step = builder.select(builder.icmp_unsigned(">", left_over, size), size, left_over)
            return Typed(SIGNED, builder.add(start, step))
        raise Unsupported(name)

    def _integers(self, name: str, a: Typed, b: Typed) -> Typed:
        if name in _DIVISIONS:
            return divided(self.builder, name, a, b)
        kind = UNSIGNED if UNSIGNED in (a.kind, b.kind) else SIGNED
        operation = "lshr" if name == "right_unsigned" else _WRAPPING.get(name)
        if operation is None:
            raise Unsupported(name)
        return Typed(kind, getattr(self.builder, operation)(a.value, b.value))

    def _test(self, name: str, a: Typed) -> Typed:
        if name == "np.isnan":
            return Typed(TRUTH, self.builder.fcmp_unordered("uno", a.value, a.value))
        size = self._function("abs", [a]).value
        symbol = "==" if name == "np.isinf" else "<"
        return Typed(TRUTH, self.builder.fcmp_ordered(symbol, size, size.type(float("inf"))))

    # -- checks ---------------------------------------------------------------------------------------------------

    def _check(self, node: loops.Check) -> Typed:
        value, bound = self.expr(node.value), self.expr(node.bound).value
        if value.kind not in INTEGERS:
            raise Unsupported("a checked number of another kind")
        if node.kind in ("index", "distance"):
            wrong = self.builder.icmp_unsigned(">=", value.value, bound)
        elif node.kind == "divisor":
            wrong = self.builder.icmp_unsigned("==", value.value, bound)
        else:
            wrong = self.builder.icmp_signed("<", value.value, LONG(1))
        around = [self._variable(loops.Var(name)).value for name in node.loops]
        noted = LONG(0) if node.kind == "divisor" else value.value
        status = OUTSIDE if node.kind == "index" else DIVISION
        self.trap(wrong, status, [LONG(node.site), noted, bound, *around])
        return value if node.kind == "divisor" else Typed(SIGNED, value.value)


_RULES: dict[type, Callable[..., Typed]] = {
    loops.Const: Expressions._constant,
    loops.Var: Expressions._variable,
    loops.Length: Expressions._length,
    loops.Element: Expressions._load,
    loops.Op: Expressions._op,
    loops.Apply: Expressions._apply,
    loops.Convert: lambda e, node: converted(e.builder, node.element, e.expr(node.value)),
    loops.Whole: lambda e, node: whole(e.builder, node.element, e.expr(node.value)),
    loops.Narrow: lambda e, node: narrowed(e.builder, e.expr(node.value), *node.form),
    loops.Bits: lambda e, node: reinterpreted(e.builder, node.source, node.target, e.expr(node.value)),
    loops.Choice: Expressions._choice,
    loops.Check: Expressions._check,
    loops.Inside: lambda e, node: e.expr(node.value),
}
