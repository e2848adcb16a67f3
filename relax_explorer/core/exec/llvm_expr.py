"""Translate the expressions of a generated text (`tir_expr`) to LLVM IR. Their types are known, so nothing is inferred."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from llvmlite import ir

from relax_explorer.core.exec import llvm_values as v
from relax_explorer.core.exec.llvm_values import Array, Typed, Unsupported

OUTSIDE, DIVISION, STOPPED, MEMORY, ASSERTION = (
    1,
    2,
    3,
    4,
    16,
)  # what a kernel returns; 0 if it did all its work
_SYMBOLS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
# Only functions that give the same bits as numba's.
_INTRINSICS = {
    "math.exp": "exp", "np.log": "log", "np.sqrt": "sqrt", "math.sin": "sin", "math.cos": "cos", "np.floor": "floor", "np.ceil": "ceil",
    "np.trunc": "trunc", "np.rint": "rint", "abs": "fabs", "np.power": "pow",
}  # fmt: skip
_LIBRARY = {"math.tanh": "tanh", "math.erf": "erf"}
_WRAPPING = {"add": "add", "sub": "sub", "mul": "mul", "quotient": "udiv", "rest": "urem", "left": "shl", "right": "ashr"}  # fmt: skip
_DIVISIONS = frozenset({"floor_div", "floor_mod", "trunc_div", "trunc_mod"})
_NUMBERS = {"inf": float("inf"), "nan": float("nan")}


def dotted(node: ast.expr) -> str:
    """A name such as `np.exp`."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


class Expressions:
    """Emits expressions into one function."""

    def __init__(self, builder: ir.IRBuilder, status: ir.Value, note: ir.Value, stop: ir.Value) -> None:
        self.builder, self.status, self.note, self.stop = builder, status, note, stop
        self.leave = builder.append_basic_block("leave")
        self.arrays: dict[str, Array] = {}
        self.slots: dict[str, tuple[str, ir.Value]] = {}  # the kind and the place of each variable

    def expr(self, node: ast.expr) -> Typed:
        """Emit an expression."""
        rule = _RULES.get(type(node))
        if rule is None:
            raise Unsupported(type(node).__name__)
        return rule(self, node)

    def _constant(self, node: ast.Constant) -> Typed:
        if isinstance(node.value, (bool, int)):
            return v.constant(v.TRUTH if isinstance(node.value, bool) else v.SIGNED, node.value)
        if isinstance(node.value, float):
            return v.constant(v.DOUBLE, node.value)
        raise Unsupported("a constant")

    def _name(self, node: ast.Name) -> Typed:
        if node.id == "stop":
            return Typed(v.SIGNED, self.stop)
        if node.id not in self.slots:
            raise Unsupported(node.id)
        kind, place = self.slots[node.id]
        return Typed(kind, self.builder.load(place))

    def _attribute(self, node: ast.Attribute) -> Typed:
        if dotted(node) not in ("np.inf", "np.nan"):
            raise Unsupported(dotted(node))
        return v.constant(v.DOUBLE, _NUMBERS[node.attr])

    def _unary(self, node: ast.UnaryOp) -> Typed:
        a = self.expr(node.operand)
        if isinstance(node.op, ast.Not) and a.kind == v.TRUTH:
            return Typed(v.TRUTH, self.builder.not_(a.value))
        if isinstance(node.op, ast.Invert) and a.kind in v.INTEGERS:
            return Typed(a.kind, self.builder.not_(a.value))
        if not isinstance(node.op, ast.USub):
            raise Unsupported("a unary operator")
        if isinstance(a.value, ir.Constant):
            return v.constant(a.kind, -a.value.constant)
        if a.kind in v.FLOATS:
            return Typed(a.kind, self.builder.fneg(a.value))
        if a.kind == v.SIGNED:
            return Typed(a.kind, self.builder.neg(a.value))
        raise Unsupported("a unary operator")

    def _binary(self, node: ast.BinOp) -> Typed:
        symbol = _SYMBOLS.get(type(node.op), "another operator")
        terms: list[tuple[str, ast.expr]] = [(symbol, node.right)]
        first = node.left
        while isinstance(first, ast.BinOp):  # long sums are nested deeply
            terms.append((_SYMBOLS.get(type(first.op), "another operator"), first.right))
            first = first.left
        result = self.expr(first)
        for operator, right in reversed(terms):
            result = v.computed(self.builder, operator, result, self.expr(right))
        return result

    def _compare(self, node: ast.Compare) -> Typed:
        if len(node.ops) != 1 or type(node.ops[0]) not in _SYMBOLS:
            raise Unsupported("a comparison")
        left = self.expr(node.left)
        return v.compared(self.builder, _SYMBOLS[type(node.ops[0])], left, self.expr(node.comparators[0]))

    def _bool(self, node: ast.BoolOp) -> Typed:
        """Later operands run only if they are needed, since an earlier one may guard their indices."""
        builder, is_and = self.builder, isinstance(node.op, ast.And)
        result = self.truth(node.values[0])
        for part in node.values[1:]:
            before = builder.block
            more, end = builder.append_basic_block(), builder.append_basic_block()
            builder.cbranch(result, *((more, end) if is_and else (end, more)))
            builder.position_at_end(more)
            value = self.truth(part)
            after = builder.block
            builder.branch(end)
            builder.position_at_end(end)
            joined = builder.phi(v.BIT)
            joined.add_incoming(v.BIT(0 if is_and else 1), before)
            joined.add_incoming(value, after)
            result = joined
        return Typed(v.TRUTH, result)

    def truth(self, node: ast.expr) -> ir.Value:
        """Emit a condition."""
        value = self.expr(node)
        if value.kind != v.TRUTH:
            raise Unsupported("a condition of another kind")
        return value.value

    def _choice(self, node: ast.IfExp) -> Typed:
        builder = self.builder
        yes, no, end = [builder.append_basic_block() for _ in range(3)]
        builder.cbranch(self.truth(node.test), yes, no)
        builder.position_at_end(yes)
        a, after_yes = self.expr(node.body), builder.block
        builder.position_at_end(no)
        b, after_no = self.expr(node.orelse), builder.block
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

    def _subscript(self, node: ast.Subscript) -> Typed:
        if isinstance(node.value, ast.Attribute):
            return self._length(node)
        array, place = self.place(node)
        return v.loaded(self.builder, array.element, place)

    def _length(self, node: ast.Subscript) -> Typed:
        shape, axis = node.value, node.slice
        array = self.arrays.get(dotted(shape).removesuffix(".shape"))
        if array is None or not isinstance(axis, ast.Constant) or not isinstance(axis.value, int):
            raise Unsupported("a subscript")
        return Typed(v.SIGNED, array.lengths[axis.value])

    def place(self, node: ast.Subscript) -> tuple[Array, ir.Value]:
        """The array of an element, and its place."""
        array = self.arrays.get(dotted(node.value))
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if array is None or len(indices) != len(array.lengths):
            raise Unsupported("a subscript")
        offset: ir.Value = v.LONG(0)
        for axis, index in enumerate(indices):
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

    def _call(self, node: ast.Call) -> Typed:
        name = dotted(node.func)
        if name in _CHECKS:
            return _CHECKS[name](self, node.args)
        if name == "whole" and isinstance(node.args[0], ast.Call):
            return v.whole(self.builder, element_name(node.args[0].func), self.expr(node.args[1]))
        args = [self.expr(arg) for arg in node.args]
        if name.startswith("np.") and name[3:] in v.ELEMENTS and len(args) == 1:
            return v.converted(self.builder, name[3:], args[0])
        if name in _INTRINSICS or name in _LIBRARY:
            return self._function(name, args)
        return self._support(name, args)

    def _function(self, name: str, args: list[Typed]) -> Typed:
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

    def _words(self, args: Sequence[ast.expr], first: ir.Value, second: ir.Value) -> list[ir.Value]:
        """The words of a note: site, index, length and loop variables."""
        site, *names = [self.expr(arg).value for arg in args]
        return [site, first, second, *names]

    def _at(self, args: list[ast.expr]) -> Typed:
        index, length = self.expr(args[0]).value, self.expr(args[1]).value
        outside = self.builder.icmp_unsigned(">=", index, length)
        self.trap(outside, OUTSIDE, self._words(args[3:], index, length))
        return Typed(v.SIGNED, index)

    def _nonzero(self, args: list[ast.expr]) -> Typed:
        divisor = self.expr(args[0])
        if divisor.kind not in v.INTEGERS:
            raise Unsupported("a divisor")
        is_zero = self.builder.icmp_unsigned("==", divisor.value, v.LONG(0))
        self.trap(is_zero, DIVISION, self._words(args[2:], v.LONG(0), v.LONG(0)))
        return divisor

    def _distance(self, args: list[ast.expr]) -> Typed:
        by, bits = self.expr(args[0]).value, self.expr(args[1]).value
        self.trap(self.builder.icmp_unsigned(">=", by, bits), DIVISION, self._words(args[3:], by, bits))
        return Typed(v.SIGNED, by)

    def _positive(self, args: list[ast.expr]) -> Typed:
        step = self.expr(args[0])
        wrong = self.builder.icmp_signed("<", step.value, v.LONG(1))
        self.trap(wrong, DIVISION, self._words(args[2:], step.value, v.LONG(0)))
        return step

    def _inside(self, args: list[ast.expr]) -> Typed:
        return self.expr(args[0])


def element_name(node: ast.expr) -> str:
    """The element that a name such as `np.float32` stands for."""
    name = dotted(node).removeprefix("np.")
    if name not in v.ELEMENTS:
        raise Unsupported(name)
    return name


_CHECKS: dict[str, Callable[[Expressions, list[ast.expr]], Typed]] = {
    "at": Expressions._at, "nonzero": Expressions._nonzero, "distance": Expressions._distance, "positive": Expressions._positive,
    "inside": Expressions._inside,
}  # fmt: skip
_RULES: dict[type, Callable[..., Typed]] = {
    ast.Constant: Expressions._constant,
    ast.Name: Expressions._name,
    ast.Attribute: Expressions._attribute,
    ast.UnaryOp: Expressions._unary,
    ast.BinOp: Expressions._binary,
    ast.Compare: Expressions._compare,
    ast.BoolOp: Expressions._bool,
    ast.IfExp: Expressions._choice,
    ast.Subscript: Expressions._subscript,
    ast.Call: Expressions._call,
}
