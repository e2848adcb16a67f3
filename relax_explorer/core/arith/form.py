"""How an expression becomes a polynomial.

There are two forms: DISPLAY keeps operands in source order and the operators that the user wrote; CANONICAL orders operands,
expresses remainders by quotients and looks through widening casts, so that more expressions become the same polynomial.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import Any

from relax_explorer.core.arith.polynomial import (
    DEGREE_LIMIT,
    LEAVES,
    SIZE_LIMIT,
    TERM_LIMIT,
    Monomial,
    Polynomial,
    accumulate,
    combine,
    constant,
    divide_exactly,
    multiply,
    order,
    rebuild,
    size,
    split,
)  # fmt: skip
from relax_explorer.core.ir.dtype import BOOL
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.prim import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Binary,
    Cast,
    Comparison,
    Div,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    PrimCall,
    PrimExpr,
    PrimVar,
    Select,
    Sub,
)  # fmt: skip

CONDITION_LIMIT = 200  # nodes; a larger condition is not simplified


class Form:
    """A way of reading expressions as polynomials, with its caches."""

    def __init__(self, canonical: bool) -> None:
        self.canonical = canonical
        self._known: PerNode[Polynomial | None] = PerNode()  # None: the expression is an atom
        self._conditions: PerNode[PrimExpr | None] = PerNode()  # None: the condition is unchanged

    def polynomial(self, expr: PrimExpr) -> Polynomial:
        """The polynomial of an integer expression; its terms are in order of first appearance."""
        if id(expr) in self._known:
            return self.known(expr)
        if size(expr) > SIZE_LIMIT:
            return {(expr,): 1}
        stack = [expr]  # no recursion along chains of operators
        while stack:
            node = stack[-1]
            missing = False
            for _, part in _parts(node):
                if id(part) not in self._known:
                    if type(part) in LEAVES:
                        self._keep(part, self._read(part))
                    else:
                        stack.append(part)
                        missing = True
            if not missing:
                stack.pop()
                self._keep(node, self._read(node))
        return self.known(expr)

    def known(self, expr: PrimExpr) -> Polynomial:
        """The cached polynomial of an expression."""
        polynomial = self._known[id(expr)]
        return {(expr,): 1} if polynomial is None else polynomial

    def _keep(self, expr: PrimExpr, poly: Polynomial) -> None:
        self._known.add(expr, None if poly.get((expr,)) == 1 == len(poly) else poly)

    def _read(self, expr: PrimExpr) -> Polynomial:
        if type(expr) is IntImm:
            return {(): expr.value} if expr.value else {}
        if type(expr) is PrimVar:
            return {(expr,): 1}
        rule = _RULES.get(type(expr)) if expr.dtype.kind == "int" else None
        if rule is None:
            return {(expr,): 1}
        poly = rule(self, expr)
        largest = (1 << (expr.dtype.bits - 1)) - 1
        for coefficient in poly.values():
            if not -largest <= coefficient <= largest:
                return {(expr,): 1}  # the coefficient does not fit the dtype
        for monomial in poly:
            for atom in monomial:
                if type(atom) not in LEAVES and size(atom) > SIZE_LIMIT:
                    return {(expr,): 1}
        return poly

    def sum(self, expr: PrimExpr) -> Polynomial:
        """A chain of additions and subtractions."""
        out: Polynomial = {}
        for sign, part in _parts(expr):
            accumulate(out, self.known(part), sign)
        return out

    def product(self, expr: Mul) -> Polynomial:
        """The product, unless it grows too large."""
        a, b = self.known(expr.a), self.known(expr.b)
        degree = max(map(len, a), default=0) + max(map(len, b), default=0)
        if len(a) * len(b) > TERM_LIMIT or degree > DEGREE_LIMIT:
            return {(Mul(self.simple(expr.a), self.simple(expr.b)),): 1}
        return multiply(a, b)

    def simple(self, expr: PrimExpr) -> PrimExpr:
        """`expr` simplified by way of its polynomial, for use inside an atom."""
        if type(expr) in (PrimVar, IntImm):
            return expr
        poly = self.polynomial(expr)
        return rebuild(self.ordered(poly), expr.dtype, None if self.canonical else expr)

    def ordered(self, poly: Polynomial) -> Polynomial:
        """The terms in canonical order, if this form has one."""
        if not self.canonical or len(poly) < 2:
            return poly
        return dict(sorted(poly.items(), key=lambda term: [order(atom) for atom in term[0]]))

    def floor_div(self, expr: FloorDiv) -> Polynomial:
        """`a // b`: multiples of a literal divisor are split off, and a common factor is cancelled."""
        numerator, denominator = self.known(expr.a), self.known(expr.b)
        divisor = constant(denominator)
        if divisor is None or divisor <= 0:
            return self._exact_or_atom(expr, numerator, denominator)
        quotient, remainder = split(numerator, divisor)
        if not set(remainder) - {()}:  # the remainder is a constant in [0, divisor): it vanishes
            return quotient
        common = gcd(divisor, *[c for monomial, c in remainder.items() if monomial]) if self.canonical else 1
        remainder = {monomial: c // common for monomial, c in remainder.items() if c // common}
        inner = rebuild(self.ordered(remainder), expr.dtype, None if self.canonical else expr.a)
        if divisor == common:
            return combine(quotient, remainder)
        atom: Monomial = (FloorDiv(inner, IntImm(divisor // common, expr.dtype)),)
        return combine(quotient, {atom: 1})

    def floor_mod(self, expr: FloorMod) -> Polynomial:
        """`a % b`: multiples of a literal divisor vanish."""
        divisor = constant(self.known(expr.b))
        if self.canonical and divisor != 0:
            return self._remainder(expr, FloorDiv(expr.a, expr.b))
        if divisor is None or divisor <= 0:
            return {(FloorMod(self.simple(expr.a), self.simple(expr.b)),): 1}
        remainder = split(self.known(expr.a), divisor)[1]
        if not set(remainder) - {()}:
            return remainder
        inner = rebuild(remainder, expr.dtype, expr.a)
        return {(FloorMod(inner, IntImm(divisor, expr.dtype)),): 1}

    def div(self, expr: Div) -> Polynomial:
        """`truncdiv(a, b)`: only exact quotients are folded, because rounding depends on the sign."""
        numerator, denominator = self.known(expr.a), self.known(expr.b)
        divisor, value = constant(denominator), constant(numerator)
        if divisor and value is not None:
            quotient = abs(value) // abs(divisor) * (1 if (value < 0) == (divisor < 0) else -1)
            return {(): quotient} if quotient else {}
        return self._exact_or_atom(expr, numerator, denominator)

    def mod(self, expr: Mod) -> Polynomial:
        """`truncmod(a, b)`: 0 if the quotient is exact."""
        if self.canonical and constant(self.known(expr.b)) != 0:
            return self._remainder(expr, Div(expr.a, expr.b))
        exact = self.div(Div(expr.a, expr.b))
        value, divisor = constant(self.known(expr.a)), constant(self.known(expr.b))
        if value is not None and divisor:
            return combine(self.known(expr.a), exact, -divisor)
        if divide_exactly(self.known(expr.a), self.known(expr.b)) is not None:
            return {}
        return {(Mod(self.simple(expr.a), self.simple(expr.b)),): 1}

    def _exact_or_atom(self, expr: Binary, numerator: Polynomial, denominator: Polynomial) -> Polynomial:
        exact = divide_exactly(numerator, denominator)
        if exact is not None:
            return exact
        return {(type(expr)(self.simple(expr.a), self.simple(expr.b)),): 1}

    def _remainder(self, expr: Binary, quotient: FloorDiv | Div) -> Polynomial:
        """`a - b * quotient`."""
        divided = self.floor_div(quotient) if isinstance(quotient, FloorDiv) else self.div(quotient)
        if len(divided) * len(self.known(expr.b)) > TERM_LIMIT:
            return {(expr,): 1}
        return combine(self.known(expr.a), multiply(self.known(expr.b), divided), -1)

    def extreme(self, expr: Binary) -> Polynomial:
        """Min and Max: decided if the operands differ by a literal."""
        difference = constant(combine(self.known(expr.a), self.known(expr.b), -1))
        if difference is not None:
            take_a = difference >= 0 if type(expr) is Max else difference <= 0
            return self.known(expr.a if take_a else expr.b)
        a, b = self.simple(expr.a), self.simple(expr.b)
        if self.canonical and order(a) > order(b):
            a, b = b, a
        atom: Monomial = (type(expr)(a, b),)
        return {atom: 1}

    def choice(self, expr: Select | PrimCall) -> Polynomial:
        """Select and `T.if_then_else`: decided if the condition is, or if both values are the same.

        Both evaluate only the value that is taken, so what the other one divides by does not matter. Other intrinsics are atoms.
        """
        if type(expr) is PrimCall and not _is_choice(expr):
            return {(expr,): 1}
        tested, yes, no = expr.children()
        condition = self.condition(tested)
        if isinstance(condition, IntImm):
            return self.known(yes if condition.value else no)
        if self.known(yes) == self.known(no):
            return self.known(yes)
        parts = (condition, self.simple(yes), self.simple(no))
        same = type(expr) is Select or self.canonical
        return {(Select(*parts) if same else PrimCall("if_then_else", parts, expr.dtype),): 1}

    def cast(self, expr: Cast) -> Polynomial:
        """Cast: folded for the same dtype and for literals. Widening keeps the value."""
        inner = expr.value
        poly = self.known(inner)
        if inner.dtype.kind != "int" or expr.dtype.bits < inner.dtype.bits:
            return {(expr,): 1}
        if self.canonical or inner.dtype is expr.dtype or constant(poly) is not None:
            return poly
        return {(Cast(expr.dtype, self.simple(inner)),): 1}

    def condition(self, expr: PrimExpr) -> PrimExpr:
        """A condition with its decided parts folded. Recursion is as deep as the nesting."""
        if id(expr) not in self._conditions:
            if size(expr) > CONDITION_LIMIT:
                return expr
            folded = self._condition(expr)
            self._conditions.add(expr, None if folded is expr else folded)
        return self._conditions[id(expr)] or expr

    def _condition(self, expr: PrimExpr) -> PrimExpr:
        if isinstance(expr, (And, Or)):
            return self._junction(expr)
        if type(expr) is Not:
            inner = self.condition(expr.a)
            return IntImm(not inner.value, BOOL) if isinstance(inner, IntImm) else Not(inner)
        if not isinstance(expr, Comparison) or not expr.a.dtype.kind == expr.b.dtype.kind == "int":
            return expr
        difference = constant(combine(self.polynomial(expr.a), self.polynomial(expr.b), -1))
        if difference is not None:
            return IntImm(_HOLDS[type(expr)](difference), BOOL)
        return type(expr)(self.simple(expr.a), self.simple(expr.b))

    def _junction(self, expr: Binary) -> PrimExpr:
        absorbing = int(type(expr) is Or)
        a, b = self.condition(expr.a), self.condition(expr.b)
        if isinstance(a, IntImm):
            return a if a.value == absorbing else b
        return a if a is b or (isinstance(b, IntImm) and b.value != absorbing) else type(expr)(a, b)


_HOLDS: dict[type, Callable[[int], bool]] = {
    EQ: lambda d: d == 0,
    NE: lambda d: d != 0,
    LT: lambda d: d < 0,
    LE: lambda d: d <= 0,
    GT: lambda d: d > 0,
    GE: lambda d: d >= 0,
}  # fmt: skip
_RULES: dict[type, Callable[[Form, Any], Polynomial]] = {
    Add: Form.sum,
    Sub: Form.sum,
    Mul: Form.product,
    FloorDiv: Form.floor_div,
    FloorMod: Form.floor_mod,
    Div: Form.div,
    Mod: Form.mod,
    Min: Form.extreme,
    Max: Form.extreme,
    Select: Form.choice,
    PrimCall: Form.choice,
    Cast: Form.cast,
}


_NOTHING: list[tuple[int, PrimExpr]] = []


def _is_choice(expr: PrimCall) -> bool:
    return expr.op == "if_then_else" and len(expr.args) == 3


def _parts(expr: PrimExpr) -> list[tuple[int, PrimExpr]]:
    """The signed terms of a chain of additions; for any other expression, its operands."""
    if type(expr) not in (Add, Sub):
        if type(expr) is Select or (type(expr) is PrimCall and _is_choice(expr)):
            return [(1, value) for value in expr.children()[1:]]
        if type(expr) is PrimCall:
            return _NOTHING
        return [(1, child) for child in expr.children()] if type(expr) in _RULES else _NOTHING
    terms: list[tuple[int, PrimExpr]] = []
    stack = [(1, expr)]
    while stack:
        sign, node = stack.pop()
        if isinstance(node, (Add, Sub)) and node.dtype is expr.dtype:
            stack.append((sign if type(node) is Add else -sign, node.b))
            stack.append((sign, node.a))
        else:
            terms.append((sign, node))
    return terms


DISPLAY, CANONICAL = Form(canonical=False), Form(canonical=True)
