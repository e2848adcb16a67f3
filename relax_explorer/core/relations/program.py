"""Programs of Relay as data, as far as the note on types shows them. Each node has the span of its text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from relax_explorer.core.relations.relay_types import FuncType, Hole, Type, TypeConstraint, TypeVar
from relax_explorer.core.source import Span


@dataclass(eq=False)
class Variable:
    """A local variable, `%x`. `type` is what was written, or a hole."""

    name: str
    span: Span | None = None
    type: Type = field(default_factory=Hole)


@dataclass(eq=False)
class Global:
    """A use of a function of the program (`@f`) or of an operator (`add`)."""

    name: str
    span: Span | None = None


@dataclass(eq=False)
class Constant:
    """A literal of a type; its elements do not matter here."""

    type: Type
    span: Span | None = None


@dataclass(eq=False)
class Tuple:
    """`(a, b)`."""

    fields: list[Expr]
    span: Span | None = None


@dataclass(eq=False)
class Item:
    """`a.1`."""

    value: Expr
    index: int
    span: Span | None = None


@dataclass(eq=False)
class Call:
    """`f<type arguments>(arguments, attributes)`."""

    callee: Expr
    args: list[Expr]
    type_args: list[Any] | None
    attrs: dict[str, Any]
    span: Span | None = None


@dataclass(eq=False)
class Let:
    """`let %x = value; body`."""

    var: Variable
    value: Expr
    body: Expr
    span: Span | None = None


@dataclass(eq=False)
class If:
    """`if (condition) { then } else { otherwise }`."""

    condition: Expr
    then: Expr
    otherwise: Expr
    span: Span | None = None


@dataclass(eq=False)
class Function:
    """`fn<s : Shape>(%x : type) -> type where constraints { body }`; `name` is set for a `def`."""

    params: tuple[TypeVar, ...]
    variables: list[Variable]
    ret: Type
    constraints: tuple[TypeConstraint, ...]
    body: Expr
    span: Span | None = None
    name: str = ""

    @property
    def type(self) -> FuncType:
        """The type as written, with holes for what was omitted."""
        return FuncType(self.params, tuple([v.type for v in self.variables]), self.ret, self.constraints)


Expr: TypeAlias = Variable | Global | Constant | Tuple | Item | Call | Let | If | Function


@dataclass(eq=False)
class Program:
    """The functions by name, and the expression after them, if there is one."""

    functions: dict[str, Function]
    main: Expr | None
