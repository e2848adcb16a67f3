"""Translate the expressions of kernels (`loop_ir`) to LLVM IR. The types of their leaves are known, so nothing is inferred."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir

from relax_explorer.core.exec import llvm_values as v
from relax_explorer.core.exec import loop_ir as loops
from relax_explorer.core.exec.llvm_values import Array, Typed, Unsupported

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


class Expressions:
    """Emits expressions into one function."""

    def __init__(self, builder: ir.IRBuilder, status: ir.Value, note: ir.Value, stop: ir.Value) -> None:
        self.builder, self.status, self.note, self.stop = builder, status, note, stop
        self.leave = builder.append_basic_block("leave")
        self.arrays: dict[str, Array] = {}
        self.slots: dict[str, tuple[str, ir.Value]] = {}  # the kind and the place of each variable

    def expr(self, node: loops.Expr) -> Typed:
        """Emit an expression."""
        rule = _RULES.get(type(node))
        if rule is None:
            raise Unsupported(type(node).__name__)
        return rule(self, node)

    def _constant(self, node: loops.Const) -> Typed:
        value = node.value
        return v.constant(
            v.TRUTH if type(value) is bool else v.SIGNED if type(value) is int else v.DOUBLE, value
        )

    def _variable(self, node: loops.Var) -> Typed:
        if node.name == "stop":
            return Typed(v.SIGNED, self.stop)
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
            return v.compared(self.builder, symbol, left, self.expr(node.args[1]))
        return self._unary(node) if symbol in loops.UNARY else self._arithmetic(node)

    def _unary(self, node: loops.Op) -> Typed:
        a, symbol = self.expr(node.args[0]), node.symbol
        if symbol == "not" and a.kind == v.TRUTH:
            return Typed(v.TRUTH, self.builder.not_(a.value))
        if symbol == "~" and a.kind in v.INTEGERS:
            return Typed(a.kind, self.builder.not_(a.value))
        if symbol == "neg" and a.kind in v.FLOATS:
            return Typed(a.kind, self.builder.fneg(a.value))
        if symbol == "neg" and a.kind == v.SIGNED:
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
            result = v.computed(self.builder, operator, result, self.expr(right))
        return result

    def _decided(self, node: loops.Op) -> Typed:
        """The second operand runs only if it is needed, since the first one may guard its indices."""
        builder, is_and = self.builder, node.symbol == "and"
        first = self.truth(node.args[0])
        before = builder.block
        more, end = builder.append_basic_block(), builder.append_basic_block()
        builder.cbranch(first, *((more, end) if is_and else (end, more)))
        builder.position_at_end(more)
        second = self.truth(node.args[1])
        after = builder.block
        builder.branch(end)
        builder.position_at_end(end)
        joined = builder.phi(v.BIT)
        joined.add_incoming(v.BIT(0 if is_and else 1), before)
        joined.add_incoming(second, after)
        return Typed(v.TRUTH, joined)

    def truth(self, node: loops.Expr) -> ir.Value:
        """Emit a condition."""
        value = self.expr(node)
        if value.kind != v.TRUTH:
            raise Unsupported("a condition of another kind")
        return value.value

    def _choice(self, node: loops.Choice) -> Typed:
        builder = self.builder
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
        joined = builder.phi(v.TYPES[a.kind])
        joined.add_incoming(a.value, after_yes)
        joined.add_incoming(b.value, after_no)
        return Typed(a.kind, joined)

    # -- elements -------------------------------------------------------------------------------------------------

    def _load(self, node: loops.Element) -> Typed:
        array, place = self.place(node)
        return v.loaded(self.builder, array.element, place)

    def _length(self, node: loops.Length) -> Typed:
        return Typed(v.SIGNED, self.arrays[node.array].lengths[node.axis])

    def place(self, node: loops.Element) -> tuple[Array, ir.Value]:
        """The array of an element, and its place."""
        array = self.arrays[node.array]
        if len(node.indices) != len(array.lengths):
            raise Unsupported("an element with another number of indices")
        offset: ir.Value = v.LONG(0)
        for axis, index in enumerate(node.indices):
            value = self.expr(index)
            if value.kind not in v.INTEGERS:
                raise Unsupported("an index")
            scaled = self.builder.mul(offset, array.lengths[axis], flags=("nsw",)) if axis else offset
            offset = self.builder.add(scaled, value.value, flags=("nsw",)) if axis else value.value
        return array, self.builder.gep(array.data, [offset], inbounds=True)

    # -- calls ----------------------------------------------------------------------------------------------------

    def trap(self, condition: ir.Value, status: int, words: Sequence[ir.Value] = ()) -> None:
        """Leave the kernel if a condition holds, with a status and a note."""
        with self.builder.if_then(condition, likely=False):
            for number, word in enumerate(words):
                self.builder.store(word, self.builder.gep(self.note, [v.LONG(number)]))
            self.builder.store(v.LONG(status), self.status)
            self.builder.branch(self.leave)

    def _apply(self, node: loops.Apply) -> Typed:
        args = [self.expr(arg) for arg in node.args]
        if node.name in _INTRINSICS or node.name in _LIBRARY:
            return self._function(node.name, args)
        return self._support(node.name, args)

    def _function(self, name: str, args: list[Typed]) -> Typed:
        if all(arg.kind in v.INTEGERS for arg in args) and name != "np.power":
            args = [v.as_float(self.builder, v.DOUBLE, arg) for arg in args]
        kind = args[0].kind
        if kind not in v.FLOATS or any(arg.kind != kind for arg in args):
            raise Unsupported(f"{name} of integers")
        type_ = v.TYPES[kind]
        if name in _INTRINSICS:
            symbol = f"llvm.{_INTRINSICS[name]}.{'f32' if kind == v.FLOAT else 'f64'}"
        else:
            symbol = _LIBRARY[name] + ("f" if kind == v.FLOAT else "")
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
            a, b = v.same_kind(builder, *args)
            test = v.compared(builder, ">" if name == "larger" else "<", a, b)
            return Typed(a.kind, builder.select(test.value, a.value, b.value))
        if name in ("np.isnan", "np.isinf", "np.isfinite") and args[0].kind in v.FLOATS:
            return self._test(name, args[0])
        if len(args) == 2 and all(arg.kind in v.INTEGERS for arg in args):
            return self._integers(name, *args)
        if name == "piece" and all(arg.kind == v.SIGNED for arg in args):
            start, end, size = [arg.value for arg in args]
            left_over = builder.sub(end, start)
            step = builder.select(builder.icmp_unsigned(">", left_over, size), size, left_over)
            return Typed(v.SIGNED, builder.add(start, step))
        raise Unsupported(name)

    def _integers(self, name: str, a: Typed, b: Typed) -> Typed:
        if name in _DIVISIONS:
            return v.divided(self.builder, name, a, b)
        kind = v.UNSIGNED if v.UNSIGNED in (a.kind, b.kind) else v.SIGNED
        operation = "lshr" if name == "right_unsigned" else _WRAPPING.get(name)
        if operation is None:
            raise Unsupported(name)
        return Typed(kind, getattr(self.builder, operation)(a.value, b.value))

    def _test(self, name: str, a: Typed) -> Typed:
        if name == "np.isnan":
            return Typed(v.TRUTH, self.builder.fcmp_unordered("uno", a.value, a.value))
        size = self._function("abs", [a]).value
        symbol = "==" if name == "np.isinf" else "<"
        return Typed(v.TRUTH, self.builder.fcmp_ordered(symbol, size, size.type(float("inf"))))

    # -- checks ---------------------------------------------------------------------------------------------------

    def _check(self, node: loops.Check) -> Typed:
        value, bound = self.expr(node.value), self.expr(node.bound).value
        if value.kind not in v.INTEGERS:
            raise Unsupported("a checked number of another kind")
        if node.kind in ("index", "distance"):
            wrong = self.builder.icmp_unsigned(">=", value.value, bound)
        elif node.kind == "divisor":
            wrong = self.builder.icmp_unsigned("==", value.value, bound)
        else:
            wrong = self.builder.icmp_signed("<", value.value, v.LONG(1))
        around = [self._variable(loops.Var(name)).value for name in node.loops]
        noted = v.LONG(0) if node.kind == "divisor" else value.value
        status = OUTSIDE if node.kind == "index" else DIVISION
        self.trap(wrong, status, [v.LONG(node.site), noted, bound, *around])
        return value if node.kind == "divisor" else Typed(v.SIGNED, value.value)


_RULES: dict[type, Callable[..., Typed]] = {
    loops.Const: Expressions._constant,
    loops.Var: Expressions._variable,
    loops.Length: Expressions._length,
    loops.Element: Expressions._load,
    loops.Op: Expressions._op,
    loops.Apply: Expressions._apply,
    loops.Convert: lambda e, node: v.converted(e.builder, node.element, e.expr(node.value)),
    loops.Whole: lambda e, node: v.whole(e.builder, node.element, e.expr(node.value)),
    loops.Narrow: lambda e, node: v.narrowed(e.builder, e.expr(node.value), *node.form),
    loops.Bits: lambda e, node: v.reinterpreted(e.builder, node.source, node.target, e.expr(node.value)),
    loops.Choice: Expressions._choice,
    loops.Check: Expressions._check,
    loops.Inside: lambda e, node: e.expr(node.value),
}
