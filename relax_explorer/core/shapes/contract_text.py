"""Reads programs with shape contracts in the notation of note 004. Nothing in a text is executed."""

from __future__ import annotations

import re
from collections import ChainMap
from dataclasses import replace
from math import prod

import numpy as np

from relax_explorer.core.codes import relations as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import limits
from relax_explorer.core.shapes import contract_tree as c
from relax_explorer.core.shapes.value_terms import numbered
from relax_explorer.core.source import Source, Span
from relax_explorer.core.syntax.notes import COMPARISONS, NoteReader, named_element

_LITERAL = re.compile(r"<literal\s+(?P<shape>[(\[][^>]*[)\]])\s*(?P<dtype>\w+)?\s*>")
_MOST_AXES, _MOST_ELEMENTS = 32, 1 << 24  # of a literal: analysis may compute with it
_SORTS = ("DType", "Size", "Shape")


def read_contract(text: str, filename: str = "<shapes>") -> tuple[c.Program, c.Terms]:
    """The program of a text, and the terms that its assertions use. Raises Failure with the place of the first mistake."""
    reader = _Reader(Source(text, filename))
    return reader.program(), reader.terms


def read_sweet_type(text: str) -> c.SweetType:
    """The type that a text describes. Raises Failure."""
    reader = _Reader(Source(text, "<type>"))
    found = reader.type()
    reader.ended()
    return found


class _Reader(NoteReader):
    sample = "samples/shapes/fast_flatten.shapes"

    def __init__(self, source: Source) -> None:
        self.terms = c.Terms()
        self.sizes: dict[str, p.PrimVar] = {}
        self.values: ChainMap[str, str] = ChainMap()  # variables by the names of the text
        self.bound: dict[str, int] = {}  # how often the function binds a name
        super().__init__(source)

    # -- types -------------------------------------------------------------------------------------------------------

    def type(self) -> c.SweetType:
        """A sweet type."""
        with self.deeper():
            if self.takes("Tensor"):
                return self._tensor()
            if self.takes("fn"):
                self.expect("(")
                params = tuple(self.several(self.type, ")"))
                self.expect(":")
                return c.FunctionType(params, self.type())
            self.refuse_wrong_element()
            start, name = self.start, self.word("a type")
            if name in _SORTS:
                return c.Sort(name)
            element = named_element(name)
            if element is None:
                self.fail(f"`{name}` is no type", self.span(start))
            return c.Scalar(element)

    def _tensor(self) -> c.TensorType:
        if not self.takes("("):
            return c.TensorType(is_plain=True)
        shape: c.Dims
        if self.takes("?"):
            shape = c.UNKNOWN
        elif self.takes("["):
            shape = tuple(self.several(self._dim, "]"))
        else:
            shape = c.ShapeName(self.word("a shape"))
        self.expect(",")
        element: c.Element = c.UNKNOWN
        if not self.takes("?"):
            self.refuse_wrong_element()
            name = self.word("an element type")
            element = named_element(name) or c.DTypeName(name)
        self.expect(")")
        return c.TensorType(shape, element)

    def _dim(self) -> c.Dim:
        if self.sees("..."):
            self.fail("a rank is fixed or unknown; write Tensor(?, dtype) for any rank")
        return c.UNKNOWN if self.takes("?") else self.length()

    def variable(self) -> p.PrimExpr:
        """A size variable; in an assertion `x.rank` or `x.dim(0)`."""
        start, name = self.start, self.word("a dimension")
        if self.takes("."):
            return self._term(name, start)
        return self.sizes.setdefault(name, p.PrimVar(name))

    def bind(self, name: str) -> str:
        """A new variable. What is known goes by names, so a second `x` of a function is `x'`, a third `x''`, a fourth `x'3`."""
        earlier = self.bound.get(name, 0)
        self.bound[name] = earlier + 1
        found = self.values[name] = numbered(name, earlier)
        return found

    def _term(self, text: str, start: int) -> p.PrimExpr:
        name = self.values.get(text)
        if name is None:
            self.fail(f"`{text}` is no variable here", self.span(start), codes.UNBOUND)
        what = self.word("rank or dim(axis)")
        if what == "rank":
            return self.terms.rank(name)
        if what != "dim":
            self.fail(f"a tensor has .rank, .dim(axis) and .dtype, no .{what}", self.span(start))
        self.expect("(")
        if self.kind != "number":
            self.fail("dim takes a literal axis, not a variable")
        axis = self.integer()
        self.expect(")")
        return self.terms.dim(name, axis)

    # -- programs ----------------------------------------------------------------------------------------------------

    def program(self) -> c.Program:
        """Functions and statements, in any order."""
        found = c.Program()
        lists: dict[str, Span] = {}
        while self.kind != "end":
            if self.token.startswith("@"):
                start, name = self.start, self.word("a function", "@")
                self.expect("=")
                if self.takes("["):
                    found.implementations[name] = tuple(
                        self.several(lambda: self.word("a function", "@"), "]")
                    )
                    lists[name] = self.span(start)
                    self.takes(";")
                    continue
                function = self._function(name, start)
                if function.name in found.functions:
                    self.fail(f"two functions are named `@{function.name}`", function.span)
                found.functions[function.name] = function
            else:
                found.main.append(self._statement())
                if self.kind != "end" and not self.token.startswith("@") and not self.sees("let", "assert"):
                    self.expect(";")
                self.takes(";")
        for name, place in lists.items():
            self._listed(found, name, place)
        return found

    def _listed(self, found: c.Program, name: str, place: Span) -> None:
        """A list of implementations. A name without a contract of its own has that of the last one."""
        names = found.implementations[name]
        for one in names or ("",):
            if one not in found.functions:
                what = f"`@{one}` is not defined" if one else f"the list of @{name} is empty"
                self.fail(what, place, codes.UNBOUND)
        counts = {len(found.functions[one].params) for one in (*names, *found.functions.keys() & {name})}
        if len(counts) > 1:
            self.fail(f"the implementations of @{name} differ in their number of parameters", place)
        if name not in found.functions:
            found.functions[name] = replace(found.functions[names[-1]], name=name)

    def _function(self, name: str, start: int) -> c.Function:
        """A function, behind its `@name =`."""
        self.expect("fn")
        outside, self.sizes, self.bound = (self.sizes, self.bound), {}, {"out": 1}  # the result is `out`
        self.values = self.values.new_child()
        self.expect("(")
        params = self.several(self._parameter, ")")
        self.expect(":")
        ret = self.type()
        header = self.span(start)
        body = self._block() if self.sees("{") else None
        self.values = self.values.parents
        self.takes(";")
        self.sizes, self.bound = outside
        return c.Function(name, params, ret, body, header)

    def _parameter(self) -> c.Parameter:
        start, name = self.start, self.word("a parameter")
        self.expect(":")
        kind = self.type()
        kind = self._sort(name, kind)
        if isinstance(kind, c.FunctionType) and any(_has_shape(part) for part in (*kind.params, kind.ret)):
            self.fail("contracts on arguments that are functions are not supported", self.span(start))
        if name in self.values.maps[0]:
            self.fail(f"two parameters are named `{name}`", self.span(start))
        found = c.Parameter(self.bind(name), kind, self.span(start))
        self._note_size(found.name, kind)
        return found

    def _sort(self, name: str, kind: c.SweetType) -> c.SweetType:
        """The type of a variable; one of sizes gives types the size variable of its name."""
        if kind == c.Sort("Size"):
            return c.Sort("Size", self.sizes.setdefault(name, p.PrimVar(name)))
        return kind

    def _note_size(self, name: str, kind: c.SweetType | None) -> None:
        if isinstance(kind, c.Sort) and kind.name == "Size":
            self.terms.sizes.add(name)

    def _block(self) -> c.Block:
        self.expect("{")
        self.values = self.values.new_child()
        statements: list[c.Let | c.Assert] = []
        with self.deeper():
            while self.sees("let", "assert"):
                statements.append(self._statement())
                self.takes(";")
            value = self._expression()
            self.expect("}")
        self.values = self.values.parents
        return c.Block(statements, value)

    def _statement(self) -> c.Let | c.Assert:
        start = self.start
        if self.takes("assert"):
            condition = self._condition()
            return c.Assert(condition, self.span(start))
        self.expect("let")
        name = self.word("a variable")
        kind, is_assertion = None, self.sees("!")
        if self.takes("!") or self.takes(":"):
            kind = self._sort(name, self.type())
        self.expect("=")
        value = self._expression()
        found = c.Let(self.bind(name), kind, is_assertion, value, self.span(start))
        self._note_size(found.name, kind)
        return found

    def _condition(self) -> c.Condition:
        """A comparison of lengths, or of element types."""
        if self.token.startswith("@"):
            self.fail("rank, dim and dtype apply to variables; bind the call by a let first")
        rest = self.source.text[self.start :]
        found = re.match(r"(\w+)\.dtype\s*==\s*(?:(\w+)\.dtype|(\w+))", rest)
        if found is not None:
            end = self.start + found.end()
            for name in filter(None, (found[1], found[2])):
                if self.values.get(name) is None:
                    self.fail(f"`{name}` is no variable here", None, codes.UNBOUND)
            right = named_element(found[3]) if found[3] else self.values.get(found[2])
            if right is None:
                self.fail(f"`{found[3]}` is no element type")
            while self.start < end and self.kind != "end":
                self.advance()
            return c.SameDType(self.values.get(found[1]) or found[1], right)
        left = self.arithmetic()
        if self.sees("("):
            self.fail("rank, dim and dtype apply to variables; bind the call by a let first")
        compare = COMPARISONS[self.comparison()]
        return compare(left, self.arithmetic())

    def _expression(self) -> c.Expr:
        start = self.start
        with self.deeper():
            found = self._primary(start)
        if self.sees("+", "-", "*", "/", "//", "%"):
            self._leak(start)
        return found

    def _primary(self, start: int) -> c.Expr:
        if self.takes("if"):
            return self._if(start)
        if self.token.startswith("@"):
            return self._call(start)
        if self.kind == "number" or self.sees("-"):
            return c.Literal(self.integer(), self.span(start))
        begin = {"{": self._block, "<": self._literal, "[": self._shape, "(": self._parenthesis}
        if self.kind == "mark" and self.token in begin:
            return begin[self.token]()
        if self.takes("...") or (self.takes(".") and self.takes(".")):
            return c.Opaque(self.span(start))
        return self._named(start)

    def _shape(self) -> c.Expr:
        start = self.start
        self.advance()
        return c.Literal(tuple(self.several(self.integer, "]")), self.span(start))

    def _parenthesis(self) -> c.Expr:
        if re.match(r"\(\s*\w+\s*:", self.source.text[self.start :]):
            self.fail(
                "a type stands only at let, parameters and results", help="Bind the value by a let first."
            )
        self.advance()
        inside = self._expression()
        self.expect(")")
        return inside

    def _named(self, start: int) -> c.Expr:
        """A variable or an element type."""
        name = self.word("an expression")
        variable = self.values.get(name)
        if variable is not None:
            return c.Name(variable, self.span(start))
        if name in self.sizes:
            self._leak(start)
        element = named_element(name)
        if element is None:
            help = f"to call a function, write @{name}(…)" if self.sees("(") else ""
            self.fail(f"`{name}` is not defined here", self.span(start), codes.UNBOUND, help)
        return c.Literal(element, self.span(start))

    def _leak(self, start: int) -> None:
        """Fail: arithmetic over size variables is for types only."""
        while self.sees("+", "-", "*", "/", "//", "%") or (
            self.kind in ("name", "number") and not self.sees("let")
        ):
            self.advance()
        self.fail("shape variables cannot be used in expressions", self.span(start), codes.SIZE_IN_EXPRESSION)

    def _if(self, start: int) -> c.Expr:
        self.expect("(")
        if re.match(r"\w+\s*\.\s*(rank|dim|dtype)\b", self.source.text[self.start :]):
            test = self._condition()
            then, otherwise = self._branches()
            return c.If("", c.Literal(0), c.Literal(0), then, otherwise, self.span(start), test)
        left = self._expression()
        compare = self.comparison()
        right = self._expression()
        then, otherwise = self._branches()
        return c.If(compare, left, right, then, otherwise, self.span(start))

    def _branches(self) -> tuple[c.Block, c.Block]:
        """Both branches, behind the condition. What one knows of its variables the other does not."""
        self.expect(")")
        before = dict(self.bound)
        then = self._block()
        self.expect("else")
        inside, self.bound = self.bound, before
        otherwise = self._block()
        self.bound = {
            name: max(count, self.bound.get(name, 0)) for name, count in (self.bound | inside).items()
        }
        return then, otherwise

    def _literal(self) -> c.Expr:
        """`<literal (2, 3) int8>`, `<literal [1, 0, 2]>`; `<body>` stands for a value that only the run knows."""
        start = self.start
        text = self.source.text[self.start :]
        found = _LITERAL.match(text)
        whole = found or re.match(r"<body\d*>", text)
        if whole is None:
            self.fail("a literal is written <literal (2, 3) int8> or <literal [1, 0, 2]>")
        end = self.start + whole.end()
        while self.start < end and self.kind != "end":
            self.advance()
        place = self.span(start)
        if found is None:
            return c.Opaque(place)
        numbers = [int(one) for one in re.findall(r"-?\d{1,30}", found["shape"])]
        is_small = found["shape"].startswith("[") and all(-128 <= number < 128 for number in numbers)
        name = found["dtype"] or ("int8" if is_small else "int64")
        element = named_element(name)
        if element is None or element.lanes != 1 or element.kind == "handle":
            self.fail(f"a literal has no elements of `{name}`", place)
        if not found["shape"].startswith("("):
            low, high = (
                limits(element) if element.is_int else (0, 1) if element.is_bool else (-(1 << 16), 1 << 16)
            )
            if not all(low <= number <= high for number in numbers):
                self.fail(f"a number is beyond {name}", place)
            return c.Literal(np.asarray(numbers, element.to_numpy()), place)
        if len(numbers) > _MOST_AXES or min(numbers, default=0) < 0 or prod(numbers) > _MOST_ELEMENTS:
            self.fail(f"a literal has at most {_MOST_ELEMENTS:,} elements, and no negative length", place)
        return c.Literal(np.zeros(numbers, element.to_numpy()), place)

    def _call(self, start: int) -> c.Expr:
        name = self.word("a function", "@")
        args, attrs = self.arguments(self._argument, self.integer)
        return c.Call(name, args, attrs, self.span(start))

    def _argument(self) -> list[c.Expr]:
        """An argument, or several in brackets; numbers in brackets are one shape."""
        if self.token == "[" and re.match(r"\[\s*(-?\d|\])", self.source.text[self.start :]):
            return [self._expression()]
        return self.several(self._expression, "]") if self.takes("[") else [self._expression()]


def _has_shape(kind: c.SweetType) -> bool:
    return isinstance(kind, c.TensorType) and not kind.is_plain
