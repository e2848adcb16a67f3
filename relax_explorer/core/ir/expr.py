"""Expressions, bindings and functions of Relax.

Nodes are equal only to themselves: two equal calls on two lines are two places. `struct_info` is filled by whoever makes
the node (the builder, the normalizer) and is None on what the parser made and nobody has checked yet.
"""

from __future__ import annotations

from typing import Any

from relax_explorer.core.ir.attrs import EMPTY, Attrs
from relax_explorer.core.ir.dtype import INT64, DType
from relax_explorer.core.ir.node import node, owner_node, replace
from relax_explorer.core.ir.prim import PrimExpr, as_dim
from relax_explorer.core.ir.struct_info import OBJECT, StructInfo, TupleStructInfo
from relax_explorer.core.source import Span


class Expr:
    """Any Relax expression; each has `struct_info` and `span`."""

    __slots__ = ()
    struct_info: StructInfo | None
    span: Span | None


@node
class Var(Expr):
    """A variable is its identity; its name is a hint."""

    name: str
    struct_info: StructInfo | None = None
    span: Span | None = None


@node
class DataflowVar(Var):
    """A variable that only its dataflow block can see."""


def var_like(var: Var, info: StructInfo | None, kind: type[Var] | None = None) -> Var:
    """Another variable of the same name and place; of the same kind unless another is given."""
    return (kind or type(var))(var.name, info, var.span)


@node
class GlobalVar(Expr):
    """The name of a function of the module, used as a value."""

    name: str
    struct_info: StructInfo | None = None
    span: Span | None = None


@node
class ExternFunc(Expr):
    """A packed function, known by its global name only."""

    name: str
    struct_info: StructInfo | None = None
    span: Span | None = None


@node
class OpRef(Expr):
    """An operator such as `relax.matmul`; made by `op_ref`, so that one name is one object."""

    name: str
    struct_info: StructInfo | None = None
    span: Span | None = None


_OP_REFS: dict[str, OpRef] = {}


def op_ref(name: str) -> OpRef:
    """The one reference to operator `name`, which carries its `relax.` prefix."""
    hit = _OP_REFS.get(name)
    return hit if hit is not None else _OP_REFS.setdefault(name, OpRef(name))


@node
class Constant(Expr):
    """A tensor known when the program is compiled.

    `data` is a read-only numpy array, or None when the text left the data out ("metadata omitted"); then `key` says which
    constant it was.
    """

    data: Any
    struct_info: StructInfo | None = None
    key: str = ""
    span: Span | None = None


@node
class ShapeExpr(Expr):
    """A shape built from scalar expressions of int64: narrower integers are widened, anything else raises TypeError."""

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


@node
class If(Expr):
    """`true_branch` or `false_branch`, by a scalar bool."""

    condition: Expr
    true_branch: Expr
    false_branch: Expr
    struct_info: StructInfo | None = None
    span: Span | None = None


@node
class VarBinding:
    """`var: annotation = value`; what the user annotated stays apart from what was derived (`var.struct_info`)."""

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

    `var` is None when the result isn't bound.
    """

    var: Var | None
    value: Expr
    struct_info: StructInfo
    annotation: StructInfo | None = None
    span: Span | None = None


Binding = VarBinding | MatchCast


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
class Function(Expr):
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
        """Whether only the module itself can call the function."""
        return "global_symbol" not in self.attrs


@node
class OpaqueFunction(Expr):
    """A member of the module that is kept as text: a Python function (`@I.pyfunc`), a macro, an external function."""

    text: str
    decorator: str = ""
    attrs: Attrs = EMPTY
    struct_info: StructInfo | None = None
    span: Span | None = None


UNREAD = "relax_explorer.unread"


def unread(operands: tuple[Expr, ...] = (), span: Span | None = None) -> Call:
    """What stands for an expression that could not be read, over the variables it mentions: a value of which nothing is known.

    Only the module that a ParseError carries has such values, so that the rest of it can be checked.
    """
    return Call(op_ref(UNREAD), operands, EMPTY, (), None, span)


def replace_span(expr: Expr, span: Span | None) -> Expr:
    """A copy of `expr` that stands at another place."""
    return replace(expr, span=span)


LEAVES: frozenset[type] = frozenset(
    {Var, DataflowVar, GlobalVar, OpRef, ExternFunc, Constant, ShapeExpr, PrimValue, StringImm, DataTypeImm}
)
