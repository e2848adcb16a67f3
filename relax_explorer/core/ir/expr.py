"""Expressions, bindings and functions of Relax.

A node is equal only to itself: two equal calls on two lines are two places. The parser leaves `struct_info` at None; the
normalizer and the builder set it.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from relax_explorer.core.ir.attrs import EMPTY, Attrs
from relax_explorer.core.ir.dtype import INT64, DType
from relax_explorer.core.ir.node import node, owner_node, replace
from relax_explorer.core.ir.prim import PrimExpr, as_dim
from relax_explorer.core.ir.struct_info import OBJECT, StructInfo, TupleStructInfo
from relax_explorer.core.shown import Shown
from relax_explorer.core.source import Span


class Expr:
    """Any Relax expression. Each has `struct_info` and `span`."""

    __slots__ = ()
    struct_info: StructInfo | None
    span: Span | None


@node
class Var(Expr):
    """A variable. Only its identity counts; its name is a hint."""

    name: str
    struct_info: StructInfo | None = None
    span: Span | None = None


@node
class DataflowVar(Var):
    """A variable that is visible only inside its dataflow block."""


def var_like(var: Var, info: StructInfo | None, kind: type[Var] | None = None) -> Var:
    """A new variable with the name, span and class of `var`, and other StructInfo. `kind` is another class for it."""
    return (kind or type(var))(var.name, info, var.span)


@node
class GlobalVar(Expr):
    """A reference to a function of the module, by name."""

    name: str
    struct_info: StructInfo | None = None
    span: Span | None = None


@node
class ExternFunc(Expr):
    """A packed function, referred to by its global name."""

    name: str
    struct_info: StructInfo | None = None
    span: Span | None = None


@node
class OpRef(Expr):
    """An operator such as `relax.matmul`. `op_ref` makes it, so that each name has one object."""

    name: str
    struct_info: StructInfo | None = None
    span: Span | None = None


_OP_REFS: dict[str, OpRef] = {}


def op_ref(name: str) -> OpRef:
    """The one reference to operator `name`, such as `relax.matmul`."""
    ref = _OP_REFS.get(name)
    return ref if ref is not None else _OP_REFS.setdefault(name, OpRef(name))


@node
class Constant(Expr):
    """A tensor known when the program is compiled.

    `data` is a read-only numpy array. It is None if the text omits the data ("metadata omitted"); then `key` identifies
    the constant.
    """

    data: Any
    struct_info: StructInfo | None = None
    key: str = ""
    span: Span | None = None

    @property
    def identity(self) -> object:
        """Equal for all mentions of one constant in a text. Each mention is a node of its own, with its own place."""
        return self.key if self.data is None else id(self.data)


@node
class ShapeExpr(Expr):
    """A shape of int64 scalar expressions. Narrower integers are widened; any other dtype raises TypeError."""

    values: tuple[PrimExpr, ...]
    struct_info: StructInfo | None = None
    span: Span | None = None

    def __post_init__(self) -> None:
        for value in self.values:
            if value.dtype is not INT64:
                object.__setattr__(self, "values", tuple([as_dim(value) for value in self.values]))
                return


@node
class PrimValue(Expr):
    """A scalar as a value."""

    value: PrimExpr
    struct_info: StructInfo | None = None
    span: Span | None = None


@node
class StringImm(Expr):
    """A string as a value."""

    value: str
    struct_info: StructInfo | None = None
    span: Span | None = None


@node
class DataTypeImm(Expr):
    """An element type as a value."""

    value: DType
    struct_info: StructInfo | None = None
    span: Span | None = None


@node
class Tuple(Expr):
    """A tuple of values."""

    fields: tuple[Expr, ...]
    struct_info: StructInfo | None = None
    span: Span | None = None


def tuple_of(fields: tuple[Expr, ...]) -> Tuple:
    """A tuple of values whose StructInfo is known."""
    return Tuple(fields, TupleStructInfo(tuple([field.struct_info or OBJECT for field in fields])))


@node
class TupleGetItem(Expr):
    """Field `index` (from 0) of a tuple."""

    tuple: Expr
    index: int
    struct_info: StructInfo | None = None
    span: Span | None = None


@node
class Call(Expr):
    """A call of an operator, a global function, a variable holding a closure, or a packed function."""

    op: Expr
    args: tuple[Expr, ...]
    attrs: Attrs = EMPTY
    sinfo_args: tuple[StructInfo, ...] = ()
    struct_info: StructInfo | None = None
    span: Span | None = None
    settled: object = field(default=None, init=False)  # not part of the program: see `settle`

    def settle(self, settings: object) -> None:
        """Note that, under these settings of the checker, `struct_info` follows from the StructInfo of the operands."""
        object.__setattr__(self, "settled", settings)


@node
class If(Expr):
    """`true_branch` or `false_branch`, chosen by a scalar bool."""

    condition: Expr
    true_branch: Expr
    false_branch: Expr
    struct_info: StructInfo | None = None
    span: Span | None = None


@node
class VarBinding:
    """`var: annotation = value`. The user's annotation is kept apart from the inferred `var.struct_info`."""

    var: Var
    value: Expr
    annotation: StructInfo | None = None
    span: Span | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.var, Var):
            raise TypeError(f"a binding gives a value to a Var, not to a {type(self.var).__name__}")


@node
class MatchCast:
    """`var = R.match_cast(value, struct_info)`: a check at run time that binds new shape variables.

    `var` is None when the result isn't bound. With `lengths_only` it is `R.match_shape(value, lengths)`: the normalizer adds
    the dtype and the place of the value to `struct_info`, or makes it that of a shape.
    """

    var: Var | None
    value: Expr
    struct_info: StructInfo
    annotation: StructInfo | None = None
    span: Span | None = None
    lengths_only: bool = False

    @property
    def word(self) -> str:
        """`match_shape` or `match_cast`, as it was written."""
        return "match_shape" if self.lengths_only else "match_cast"


Binding = VarBinding | MatchCast


def with_value(binding: Binding, value: Expr) -> Binding:
    """The binding with another value. `replace` does the same; most rewrites change just this, in a third of its time."""
    if type(binding) is VarBinding and value is not binding.value:
        return VarBinding(binding.var, value, binding.annotation, binding.span)
    return replace(binding, value=value)


@node
class BindingBlock:
    """Bindings evaluated in order."""

    bindings: tuple[Binding, ...]
    span: Span | None = None


@node
class DataflowBlock(BindingBlock):
    """Bindings without side effects or control flow: a graph."""


@node
class SeqExpr(Expr):
    """Blocks, then the value `body`."""

    blocks: tuple[BindingBlock, ...]
    body: Expr
    struct_info: StructInfo | None = None
    span: Span | None = None


@owner_node
class Function(Expr, Shown):
    """A Relax function.

    `pure` is None when the text does not say. A public function has the attribute `global_symbol`.
    """

    params: tuple[Var, ...]
    body: SeqExpr
    ret_struct_info: StructInfo | None = None
    pure: bool | None = None
    attrs: Attrs = EMPTY
    struct_info: StructInfo | None = None
    span: Span | None = None

    @property
    def is_private(self) -> bool:
        """True if only the module itself can call the function."""
        return "global_symbol" not in self.attrs


@node
class OpaqueFunction(Expr):
    """A member of the module kept as text: a Python function (`@I.pyfunc`), a macro, or an external function."""

    text: str
    decorator: str = ""
    attrs: Attrs = EMPTY
    struct_info: StructInfo | None = None
    span: Span | None = None


UNREAD = "relax_explorer.unread"


def unread(operands: tuple[Expr, ...] = (), span: Span | None = None) -> Call:
    """A placeholder for an unreadable expression, with the variables in it as operands. Its value is unknown.

    Only the module of a ParseError contains placeholders, so that the rest of the module can be checked.
    """
    return Call(op_ref(UNREAD), operands, EMPTY, (), None, span)


def replace_span(expr: Expr, span: Span | None) -> Expr:
    """A copy of `expr` with another span."""
    return replace(expr, span=span)


LEAVES: frozenset[type] = frozenset(
    {Var, DataflowVar, GlobalVar, OpRef, ExternFunc, Constant, ShapeExpr, PrimValue, StringImm, DataTypeImm}
)
