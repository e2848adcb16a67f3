"""Reads types and programs in the notation of Relay's note. Nothing in a text is executed."""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from relax_explorer.core.codes import relations as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure, Label
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import dtype
from relax_explorer.core.relations import program as r
from relax_explorer.core.relations.library import RELATIONS
from relax_explorer.core.relations.relay_types import (
    Base,
    FuncType,
    Hole,
    Kind,
    Part,
    Shape,
    TensorType,
    TupleType,
    Type,
    TypeConstraint,
    TypeRelation,
    TypeVar,
    dim_hole,
    number_holes_from_one,
    wrong_kind,
    wrong_kinds,
)
from relax_explorer.core.source import Source
from relax_explorer.core.syntax.notes import NoteReader

_FIRST = re.compile(r"\s*(\(|\w+)")
_KINDS = {str(kind): kind for kind in Kind}
_WRITTEN = {
    Kind.TYPE: "a type, such as Tensor[(2, 3), float32]",
    Kind.SHAPE: "a shape, such as (2, 3)",
    Kind.BASE: "an element type, such as float32",
    Kind.DIM: "a dimension, such as 3",
}
_BOOL = TensorType((), dtype("bool"))


def read_type(text: str) -> Type:
    """The type that a text describes. Free names with a kind (`s : Shape`) are type parameters. Raises Failure."""
    reader = Reader(Source(text, "<type>"))
    with reader.reporting():
        found = reader.type()
        reader.ended()
    return found


def read_relay(text: str, filename: str = "<relay>") -> r.Program:
    """The program that a text describes. Raises Failure with each part of a wrong kind, and the first other mistake."""
    number_holes_from_one()
    reader = Reader(Source(text, filename))
    with reader.reporting():
        found = reader.program()
    return found


class Reader(NoteReader):
    """A recursive reader. `params` has the type parameters, `symbols` the shape variables by name, `wrong` the wrong kinds."""

    def __init__(self, source: Source) -> None:
        self.params: ChainMap[str, TypeVar] = ChainMap()
        self.variables: ChainMap[str, r.Variable] = ChainMap()
        self.symbols: dict[str, p.PrimVar] = {}
        self.wrong: list[Diagnostic] = []
        super().__init__(source)

    @contextmanager
    def reporting(self) -> Iterator[None]:
        """Raise Failure at the end if parts are of wrong kinds, together with the mistake that ends the reading."""
        try:
            yield
        except Failure as failure:
            raise Failure(*self.wrong, *failure.diagnostics) from None
        if self.wrong:
            raise Failure(*self.wrong)

    # -- types -------------------------------------------------------------------------------------------------------

    def type(self) -> Type:
        """A type. Parameters of the wrong kind inside go to `wrong`."""
        start = self.start
        found = self._type()
        for message in wrong_kinds(found):
            self.is_wrong(message, start)
        return found

    def is_wrong(self, message: str, start: int, help: str = "") -> None:
        """Report a part of a wrong kind, which began at `start`. The reader goes on."""
        code = codes.KIND_WRONG
        self.wrong.append(
            Diagnostic(code, message, (Label(self.span(start), "", True),), help=help or code.fix)
        )

    def _type(self) -> Type:
        with self.deeper():
            if self.takes("Tensor"):
                self.expect("[")
                shape = self.shape()
                self.expect(",")
                base = self.base()
                self.expect("]")
                return TensorType(shape, base)
            if self.takes("("):
                return TupleType(tuple(self.several(self._type, ")")))
            if self.takes("fn"):
                return self._function_type()
            if self.takes("?"):
                return Hole()
            return Hole() if self.is_other_kind(Kind.TYPE) else self.parameter("a type")

    def is_other_kind(self, wanted: Kind) -> bool:
        """Read and report a part that is written out, such as `float32` or `(2, 3)`, where another kind stands; False at a name."""
        start = self.start
        found: Part | p.PrimExpr
        if self.token not in self.params and self.element() is not None:
            found = dtype(self.advance())
        elif self.kind == "number":
            found = self.arithmetic()
        elif self.sees("Tensor", "fn") or (self.sees("(") and self._begins_types()):
            found = self.type()
        elif self.takes("("):
            found = tuple(self.several(self.dimension, ")"))
        else:
            return False
        message = wrong_kind(f"`{self.span(start).text}`", found, wanted)
        self.is_wrong(
            message, start, f"Write {_WRITTEN[wanted]}, or the name of a parameter of kind {wanted}."
        )
        return True

    def _function_type(self) -> FuncType:
        self.params = self.params.new_child()
        params = self.type_params()
        self.expect("(")
        args = tuple(self.several(self._type, ")"))
        self.expect("->")
        ret = self._type()
        constraints = self.where(args, ret, {})
        self.params = self.params.parents
        return FuncType(params, args, ret, constraints)

    def type_params(self) -> tuple[TypeVar, ...]:
        """`<s : Shape, t>`, or nothing."""
        found: dict[str, TypeVar] = {}
        if self.takes("<"):
            while not self.takes(">"):
                start, name = self.start, self.word("the name of a type parameter")
                if name in found:
                    self.fail(f"two type parameters are named `{name}`", self.span(start))
                found[name] = TypeVar(name, self.kind_after(Kind.TYPE))
                if not self.sees(">"):
                    self.expect(",")
        self.params.update(found)
        return tuple(found.values())

    def kind_after(self, otherwise: Kind) -> Kind:
        """`: Shape` behind a name."""
        if not self.takes(":"):
            return otherwise
        if self.token not in _KINDS:
            self.fail(f"a kind is expected here, not {self.shown()}: {', '.join(_KINDS)}")
        return _KINDS[self.advance()]

    def parameter(self, what: str) -> TypeVar:
        """The type parameter of a name; `t : Type` outside of functions makes one."""
        start, name = self.start, self.word(what)
        known = self.params.get(name)
        if known is None and self.sees(":"):
            known = self.params.maps[-1][name] = TypeVar(name, self.kind_after(Kind.TYPE))
        if known is None:
            self.fail(f"`{name}` is no type parameter here", self.span(start), codes.UNBOUND)
        return known

    def shape(self) -> Shape:
        """`(n, 3)`, a type parameter, or `?`."""
        if self.takes("?"):
            return Hole(Kind.SHAPE)
        if self.takes("("):
            return tuple(self.several(self.dimension, ")"))
        return Hole(Kind.SHAPE) if self.is_other_kind(Kind.SHAPE) else self.parameter("a shape")

    def base(self) -> Base:
        """An element type, a type parameter, or `?`."""
        if self.takes("?"):
            return Hole(Kind.BASE)
        if self.token not in self.params and self.element() is not None:
            return dtype(self.advance())
        if self.token not in self.params:
            self.refuse_wrong_element()
        return Hole(Kind.BASE) if self.is_other_kind(Kind.BASE) else self.parameter("an element type")

    def dimension(self) -> p.PrimExpr:
        """A dimension, or `?`."""
        return dim_hole() if self.takes("?") else self.length()

    def variable(self) -> p.PrimExpr:
        """A type parameter of kind ShapeVar, or a shape variable, which is any other name."""
        start = self.start
        if self.is_other_kind(Kind.DIM):
            return dim_hole()
        name = self.word("a dimension")
        known = self.params.get(name)
        if known is None and self.sees(":"):
            known = self.params.maps[-1][name] = TypeVar(name, self.kind_after(Kind.DIM))
        if known is None:
            return self.symbols.setdefault(name, p.PrimVar(name))
        if known.kind is not Kind.DIM:
            message = f"`{name}` is of kind {known.kind}, but a dimension stands here, of kind ShapeVar"
            self.is_wrong(message, start)
        return known.dim

    def where(self, args: tuple[Type, ...], ret: Type, names: dict[str, Type]) -> tuple[TypeConstraint, ...]:
        """`where Broadcast, Concat(a, ?)`. A relation without arguments is about all types of the function."""
        found: list[TypeConstraint] = []
        while self.takes("where") if not found else self.takes(","):
            start, name = self.start, self.word("a relation")
            if name not in RELATIONS:
                self.fail(
                    f"there is no relation `{name}`", self.span(start), codes.UNBOUND,
                    help=f"The relations are {', '.join(sorted(RELATIONS))}.",
                )  # fmt: skip
            given: tuple[Type, ...] = (*args, ret)
            if self.takes("("):
                given = tuple(self.several(lambda: self._related(names), ")"))
            found.append(TypeRelation(name, RELATIONS[name], given))
        return tuple(found)

    def _related(self, names: dict[str, Type]) -> Type:
        sign = self.token[:1] if self.token[:1] in ("%",) else ""
        if self.kind == "name" and self.token[len(sign) :] in names:
            return names[self.advance()[len(sign) :]]
        return self._type()

    # -- programs ----------------------------------------------------------------------------------------------------

    def program(self) -> r.Program:
        """Definitions, then an expression if there is one."""
        functions: dict[str, r.Function] = {}
        while self.takes("def"):
            start, name = self.start, self.word("the name of a function", "@")
            if name in functions:
                self.fail(f"two functions are named `@{name}`", self.span(start))
            functions[name] = self.function(name, start)
        main = None if self.kind == "end" else self.sequence()
        self.ended()
        return r.Program(functions, main)

    def function(self, name: str, start: int) -> r.Function:
        """Parameters, types and body of a function, behind its `def @name` or `fn`."""
        self.params = self.params.new_child()
        self.variables = self.variables.new_child()
        params = self.type_params()
        self.expect("(")
        variables = self.several(lambda: self._declared("a parameter"), ")")
        self.variables.update({v.name: v for v in variables})
        ret = self.type() if self.takes("->") else Hole(Kind.TYPE, self.span(start), "the result")
        args = tuple([v.type for v in variables])
        constraints = self.where(args, ret, {v.name: v.type for v in variables})
        header = self.span(start)
        body = self.block()
        self.params = self.params.parents
        self.variables = self.variables.parents
        return r.Function(params, variables, ret, constraints, body, header, name)

    def _declared(self, what: str) -> r.Variable:
        """`%x : type`; without a type, a hole stands for it."""
        start, name = self.start, self.word(what, "%")
        place = self.span(start)
        return r.Variable(name, place, self.type() if self.takes(":") else Hole(Kind.TYPE, place, f"%{name}"))

    def block(self) -> r.Expr:
        """`{ … }`."""
        self.expect("{")
        body = self.sequence()
        self.expect("}")
        return body

    def sequence(self) -> r.Expr:
        """`let`s, then an expression. The bindings are read in a loop, however many there are."""
        lets: list[tuple[int, r.Variable, r.Expr]] = []
        self.variables = self.variables.new_child()
        with self.deeper():
            while self.takes("let"):
                start, var = self.start, self._declared("a variable")
                self.expect("=")
                value = self.expression()
                self.expect(";")
                self.variables[var.name] = var
                lets.append((start, var, value))
            body = self.expression()
        self.variables = self.variables.parents
        for start, var, value in reversed(lets):
            body = r.Let(var, value, body, self.span(start))
        return body

    def expression(self) -> r.Expr:
        """One expression with its projections and calls."""
        start = self.start
        with self.deeper():
            found = self._primary(start)
            while self.sees(".", "(", "<"):
                if not self.takes("."):
                    found = self._call(found, start)
                elif type(found) is r.Global and self.kind == "name":  # of an operator, `nn.relu`
                    found = r.Global(f"{found.name}.{self.word('an operator')}", self.span(start))
                else:
                    found = r.Item(found, self.integer(), self.span(start))
        return found

    def _primary(self, start: int) -> r.Expr:
        if self.takes("if"):
            self.expect("(")
            condition = self.expression()
            self.expect(")")
            then = self.block()
            self.expect("else")
            otherwise = self.block()
            return r.If(condition, then, otherwise, self.span(start))
        if self.takes("fn"):
            return self.function("", start)
        if self.takes("("):
            parts, is_tuple = [], False
            while not self.takes(")"):
                parts.append(self.expression())
                if not self.sees(")"):
                    self.expect(",")
                    is_tuple = True
            return parts[0] if len(parts) == 1 and not is_tuple else r.Tuple(parts, self.span(start))
        if self.takes("Constant"):
            return self._constant(start)
        if self.kind == "number":
            base = dtype("int32" if self.advance().isdigit() else "float32")
            return r.Constant(TensorType((), base), self.span(start))
        if self.sees("True", "False"):
            self.advance()
            return r.Constant(_BOOL, self.span(start))
        return self._name(start)

    def _name(self, start: int) -> r.Expr:
        if not self.token.startswith("%"):
            name = self.word("an expression", "@" if self.token.startswith("@") else "")
            sign = "@" if self.source.text[start] == "@" else ""
            return r.Global(sign + name, self.span(start))
        name = self.word("a variable", "%")
        known = self.variables.get(name)
        if known is None:
            self.fail(f"`%{name}` is not defined here", self.span(start), codes.UNBOUND)
        return r.Variable(name, self.span(start), known.type)  # a problem of a use is told there

    def _constant(self, start: int) -> r.Expr:
        """`Constant(value, shape, element type)`."""
        self.expect("(")
        self.expression()
        self.expect(",")
        shape = self.shape()
        self.expect(",")
        base = self.base()
        self.expect(")")
        return r.Constant(TensorType(shape, base), self.span(start))

    def _call(self, callee: r.Expr, start: int) -> r.Expr:
        type_args = None
        if self.takes("<"):
            type_args = self.several(self._type_argument, ">")
        args, attrs = self.arguments(lambda: [self.expression()], self._literal)
        return r.Call(callee, args, type_args, attrs, self.span(start))

    def _type_argument(self) -> Part | p.PrimExpr:
        """A shape, a dimension, an element type or a type."""
        if self.sees("(") and not self._begins_types():
            self.advance()
            return tuple(self.several(self.dimension, ")"))
        if self.kind == "number":
            return self.arithmetic()
        if self.element() is not None:
            return self.base()
        if self.token not in self.params:
            self.refuse_wrong_element()
        return self._type()

    def _begins_types(self) -> bool:
        """True if a tuple of types stands here, not a shape."""
        found = _FIRST.match(self.source.text, self.end)
        word = found[1] if found is not None else ""
        known = self.params.get(word)
        return word in ("Tensor", "fn", "(") or (known is not None and known.kind is Kind.TYPE)

    def _literal(self) -> object:
        """The value of an attribute: a number, a name of an element type, True, False, None, or a list of these."""
        for end, mark in ((")", "("), ("]", "[")):
            if self.takes(mark):
                return tuple(self.several(self._literal, end))
        if self.sees("True", "False", "None"):
            return {"True": True, "False": False, "None": None}[self.advance()]
        if self.kind == "name":
            return self.word("a value")
        return self.integer()


# -- signatures ------------------------------------------------------------------------------------------------------
# The types of operators in Relay's notation: their parameters, and the relation that ties them to the result.


_TWO = "fn<t1, t2, t3>(t1, t2) -> t3 where "
_ONE = "fn<t1, t2>(t1) -> t2 where "
TEXTS = {
    **dict.fromkeys(("add", "subtract", "multiply", "divide", "power", "maximum", "minimum"), _TWO + "Broadcast"),
    **dict.fromkeys(("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"), _TWO + "BroadcastComp"),
    **dict.fromkeys(("copy", "negative", "abs", "exp", "log", "sqrt", "tanh", "sigmoid", "relu"), _ONE + "Identity"),
    **dict.fromkeys(("sum", "mean", "max", "min", "prod"), _ONE + "Reduce"),
    "nn.relu": _ONE + "Identity",
    **dict.fromkeys(("nn.softmax", "nn.log_softmax"), _ONE + "Softmax"),
    **dict.fromkeys(("flatten", "nn.batch_flatten"), _ONE + "Flatten"),
    "concatenate": _ONE + "Concat",
    "reshape": _ONE + "Reshape",
    "transpose": _ONE + "Transpose",
    "matmul": _TWO + "Matmul",
    "take": _TWO + "Take",
    "shape_of": _ONE + "ShapeOf",
}  # fmt: skip

OURS = frozenset(TEXTS)
"""The operators of this project; a user adds hers to `TEXTS`."""


@cache
def signature(name: str) -> FuncType | None:
    """The type of an operator; None if there is none of this name."""
    text = TEXTS.get(name)
    if text is None:
        return None
    found = read_type(text)
    assert isinstance(found, FuncType)
    return found
