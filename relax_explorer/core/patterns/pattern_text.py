"""Reads the text form of patterns, which `README.md` beside this file describes. Nothing in it is executed."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import NoReturn, TypeAlias

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure, Label
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.dtype import DType, dtype
from relax_explorer.core.ops import get
from relax_explorer.core.ops import table as operators
from relax_explorer.core.patterns import pattern as q
from relax_explorer.core.source import Source
from relax_explorer.core.syntax.notes import TokenReader

_TOKEN = re.compile(
    r"""\s*(?:(?P<number>-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)|(?P<text>"[^"\\]*"|'[^'\\]*')"""
    r"""|(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)|(?P<mark>\.\.\.|>>|[-()\[\],:=|&~^@$])|(?P<end>$)|(?P<wrong>.))""",
    re.DOTALL,
)
_SHORT_DTYPE = re.compile(r"(f|i|u|bf)(\d+)")
_KINDS = {"f": "float", "i": "int", "u": "uint", "bf": "bfloat"}
Literal: TypeAlias = "str | float | bool | tuple[Literal, ...] | None"
_LITERALS: dict[str, Literal] = {"True": True, "False": False, "None": None}
_DEEPEST = 50


def read_pattern(text: str) -> q.Pattern | q.Chain:
    """The pattern that a text describes. Raises Failure with the place of a mistake."""
    return _Reader(text).whole()


class _Reader(TokenReader):
    """A recursive reader with one token of look-ahead."""

    tokens = _TOKEN
    stray = "is not part of a pattern"

    def __init__(self, text: str) -> None:
        self.named: dict[str, q.Pattern] = {}
        super().__init__(Source(text, "<pattern>"))

    def fail(self, message: str, place: tuple[int, int] | None = None) -> NoReturn:
        """Raise Failure for a stretch of the text, by default the current token."""
        start, end = place or (self.start, self.end)
        line, column = self.source.position(start)
        span = self.source.span(line, column, line, column + max(end - start, 1))
        raise Failure(
            Diagnostic(codes.BAD_PATTERN, message, (Label(span, "", True),), help=codes.BAD_PATTERN.fix)
        )

    def expect(self, mark: str) -> None:
        """Skip a mark, which must be the current token."""
        if not self.takes(mark):
            self.fail(f"{mark!r} is expected here" + (f", not {self.token!r}" if self.token else ""))

    def whole(self) -> q.Pattern | q.Chain:
        """`a >> b ^ c`, up to the end of the text."""
        chain: q.Pattern | q.Chain = self.pattern()
        while self.kind == "mark" and self.token in (">>", "^"):
            only = self.advance() == ">>"
            following = self.pattern()
            chain = chain.only_used_by(following) if only else chain.used_by(following)
        if self.kind != "end":
            self.fail(f"{self.token!r} is left over")
        return chain

    def pattern(self) -> q.Pattern:
        """`a | b`."""
        self.depth += 1
        if self.depth > _DEEPEST:
            self.fail(f"the pattern is nested more than {_DEEPEST} times")
        pattern = self.both()
        while self.takes("|"):
            pattern = pattern | self.both()
        self.depth -= 1
        return pattern

    def both(self) -> q.Pattern:
        """`a & b`."""
        pattern = self.one()
        while self.takes("&"):
            pattern = pattern & self.one()
        return pattern

    def one(self) -> q.Pattern:
        """`~a`, or a value with its fields and its type."""
        negations = 0
        while self.takes("~"):
            negations += 1
        pattern = self.value()
        while self.takes("["):
            index = None if self.token == "_" else self.integer()
            if index is None:
                self.advance()
            self.expect("]")
            pattern = q.ItemOf(pattern, index)
        while self.takes(":"):
            pattern = self.typed(pattern)
        return ~pattern if negations % 2 else pattern

    def value(self) -> q.Pattern:
        """A value without its fields and type."""
        if self.takes("("):
            return self.parenthesis()
        if self.takes("@"):
            return self.called(q.FunctionRef(self.word("_")))
        if self.takes("$"):
            return q.Variable(self.word("_"))
        if self.kind == "text":
            return self.called(q.FunctionRef(self.advance()[1:-1], e.ExternFunc))
        if self.kind != "name":
            self.fail(f"a pattern is expected, not {self.token!r}" if self.token else "a pattern is expected")
        place = self.start, self.end
        name = self.advance()
        if self.takes("="):
            if "." in name or name in ("_", "const", "shape"):
                self.fail(f"{name!r} is no name for a value", place)
            return self.name_for(name, self.one())
        if self.kind == "mark" and self.token == "(":
            return self.called(self.operator(name, place))
        if name == "shape" and self.takes("["):
            return q.ShapeOf(self.lengths())
        return self.bare(name, place)

    def bare(self, name: str, place: tuple[int, int]) -> q.Pattern:
        """`_`, `const`, or a named value."""
        if name == "_":
            return q.Anything()
        if name == "const":
            return q.ConstantValue()
        if "." in name:
            self.fail(f"{name} needs its operands: {name}(_)", place)
        return self.named.get(name) or self.name_for(name, q.Anything())

    def name_for(self, name: str, pattern: q.Pattern) -> q.Pattern:
        """A pattern with a name."""
        named = replace(pattern, name=name)
        self.named.setdefault(name, named)
        return named

    def parenthesis(self) -> q.Pattern:
        """`(a)`, or a tuple `()`, `(a,)`, `(a, b)`."""
        fields: list[q.Pattern] = []
        comma = False
        while not self.takes(")"):
            fields.append(self.pattern())
            comma = self.takes(",")
            if not comma:
                self.expect(")")
                break
        return fields[0] if len(fields) == 1 and not comma else q.TupleOf(tuple(fields))

    def operator(self, name: str, place: tuple[int, int]) -> q.Pattern:
        """The operator of a name: whole, without `relax.`, or its last part if only one operator has it."""
        full = [other for other in (name, f"relax.{name}") if other in operators()]
        found = full or [other for other in operators() if other.rpartition(".")[2] == name]
        if len(found) == 1:
            return q.Exactly(e.op_ref(found[0]))
        if found:
            self.fail(f"{name} may be {' or '.join(found[:4])}", place)
        try:
            return q.Exactly(e.op_ref(get(name).name))
        except KeyError as error:
            self.fail(str(error.args[0]), place)

    def called(self, op: q.Pattern) -> q.Pattern:
        """A call with operands and attributes; a function alone if no parenthesis follows."""
        if not self.takes("("):
            return op
        args: list[q.Pattern] = []
        attrs: dict[str, Literal] = {}
        is_open = False
        while not self.takes(")"):
            if self.takes("..."):
                is_open = True
            else:
                self.argument(args, attrs)
            if not self.takes(","):
                self.expect(")")
                break
        if isinstance(op, q.Exactly) and isinstance(op.value, e.OpRef):
            # Perhaps with scalars.
            is_open = is_open or (op.value.name == "relax.call_tir" and len(args) == 2)
        call = q.CallOf(op, tuple(args), is_open)
        return call.has_attr(attrs) if attrs else call

    def argument(self, args: list[q.Pattern], attrs: dict[str, Literal]) -> None:
        """An operand, or an attribute `name=literal`."""
        named = re.compile(r"\s*=\s*(?:[-\d\"'\[]|True\b|False\b|None\b)").match(self.source.text, self.at)
        if self.kind == "name" and named:
            name = self.advance()
            self.advance()
            attrs[name] = self.literal()
        else:
            args.append(self.pattern())

    def literal(self) -> Literal:
        """A number, text, truth value, None or list."""
        if self.takes("["):
            items: list[Literal] = []
            while not self.takes("]"):
                items.append(self.literal())
                if not self.takes(","):
                    self.expect("]")
                    break
            return tuple(items)
        if self.kind in ("number", "text"):
            number: Literal = ast.literal_eval(self.advance())
            return number
        if self.token not in _LITERALS:
            self.fail(f"a literal is expected, not {self.token!r}")
        return _LITERALS[self.advance()]

    def typed(self, pattern: q.Pattern) -> q.Pattern:
        """`x: f32`, `x: f32[_, 64]`, `x: [n]` or `x: like y`."""
        if self.kind == "name":
            if self.token == "like":
                self.advance()
                return self.like(pattern)
            if self.token != "_":
                pattern = q.WithDType(pattern, self.dtype())
            self.advance()
        elif self.token != "[":
            self.fail("a dtype or a list of lengths is expected")
        return q.WithShape(pattern, self.lengths()) if self.takes("[") else pattern

    def like(self, pattern: q.Pattern) -> q.Pattern:
        """A tensor with the lengths of a named value."""
        other = self.named.get(self.token)
        if other is None:
            self.fail(f"{self.token!r} names no value before this place")
        self.advance()
        return q.ShapedLike(pattern, other)

    def dtype(self) -> DType:
        """`f32` or `float32`."""
        short = _SHORT_DTYPE.fullmatch(self.token)
        try:
            return dtype(_KINDS[short[1]] + short[2] if short else self.token)
        except ValueError:
            self.fail(f"{self.token!r} is no dtype")

    def lengths(self) -> tuple[q.Length, ...]:
        """Lengths up to the closing bracket: numbers, `_`, names, and `...` in front."""
        lengths: list[q.Length | int] = []
        while not self.takes("]"):
            if not lengths and self.takes("..."):
                lengths.append(q.ANY_NUMBER)
            elif self.kind == "name":
                name = self.advance()
                lengths.append(None if name == "_" else name)
            else:
                lengths.append(self.integer())
            if not self.takes(","):
                self.expect("]")
                break
        return q.as_lengths(lengths)

    def integer(self) -> int:
        """A number without a point."""
        if self.kind != "number" or not self.token.isdecimal() or len(self.token) > 18:
            self.fail(f"a number is expected, not {self.token!r}")
        return int(self.advance())

    def word(self, any_: str) -> str:
        """A name; empty for `any_`."""
        if self.kind != "name":
            self.fail("a name is expected, or _")
        name = self.advance()
        return "" if name == any_ else name
