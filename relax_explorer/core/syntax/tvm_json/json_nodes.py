"""The nodes of a graph while they are decoded, operands first: each node becomes a value of the IR, and then its readers ask for that value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import BOOL, DType
from relax_explorer.core.syntax.tvm_json.json_graph import Damaged, Graph
from relax_explorer.core.tir.buffer import Buffer
from relax_explorer.core.tir.prim_expr import BufferPtr
from relax_explorer.core.tir.stmt import PrimFunc

T = TypeVar("T")
MOST_NESTED = 90
"""A text nests at most this deep: Python reads 100 levels of blocks, and twice as many brackets."""
_LONGEST_NAME = 10_000
MOST_UNFOLDED = 5_000_000
_LEAVES = frozenset({"ir.Var", "relax.expr.DataflowVar", "ir.GlobalVar", "ir.Op", "relax.expr.ExternFunc"})
"""References: what they refer to counts once, where it is bound."""
_FLAT = frozenset(
    {
        "ffi.Array",
        "ffi.Map",
        "tirx.SeqStmt",
        "relax.expr.SeqExpr",
        "relax.expr.BindingBlock",
        "ir.Range",
        "tirx.IterVar",
    }
)


_STATEMENTS = (e.SeqExpr, e.Function, e.If, PrimFunc)
_LISTS = frozenset({"ffi.Array", "ffi.Map"})


class Unknown(Damaged):
    """A node of a class that is not known."""


class Readers(Protocol):
    """The readers by the classes of nodes."""

    def get(self, kind: str, /) -> Callable[[Node], Any] | None:
        """The reader of a class."""


class Decoded:
    """The values of the nodes of a graph, and what the readers note about variables."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.values: list[Any] = [None] * len(graph)
        self.scalars: dict[e.Var, p.PrimExpr] = {}  # the values of variables that are bound to scalars
        self.devices: dict[int, str] = {}  # the names of virtual devices and meshes, by their nodes
        self.params: set[int] = set()  # the nodes of variables that are parameters of Relax functions,
        self.bound: set[int] = set()  # or that a binding binds
        self.unannotated: set[int] = set()  # those whose values state their StructInfo
        self.casts: dict[int, int] = {}  # the nodes of the types to which a match_cast casts a variable
        self.pointers: dict[int, int] = {}  # the nodes of pointers to the memory of declared buffers
        self.placed: set[int] = set()  # the identities of parts that stand in their place
        self.notes: dict[int, int] = {}  # the nodes of the annotations of allocated buffers
        self._is_done = bytearray(len(graph))
        self._depth = [0] * len(graph)
        self._size = [1] * len(graph)
        self._size_outside = [1] * len(
            graph
        )  # a type counts once where it is used, for equal types are one object

    def run(self, root: int, readers: Readers) -> object:
        """Decode a node with all that it needs, and return its value."""
        graph = self.graph
        for number, operands in graph.operands_first(root, self._is_done):
            kind = graph.kinds[number]
            reader = readers.get(kind)
            if reader is None:
                raise Unknown(
                    f"{graph.described(number)} is of a class that this reader does not know{_era(kind)}"
                )
            self._measure(number, kind, operands)
            try:
                self.values[number] = reader(Node(self, number, kind))
            except (TypeError, OverflowError, KeyError, ValueError) as error:
                if isinstance(error, Damaged):
                    raise
                raise Damaged(f"{graph.described(number)}: {str(error)[:120]}") from None
        return self.values[root]

    def _measure(self, number: int, kind: str, operands: list[int]) -> None:
        """Refuse what nests too deep, or is too large once shared parts are written out, for functions that walk over trees."""
        if not operands:
            return
        deepest = max([self._depth[operand] for operand in operands])
        is_type = kind.endswith("Type")
        sizes = self._size if is_type or kind in _LISTS else self._size_outside
        size = 1 + sum([sizes[operand] for operand in operands])
        if kind.startswith("prim.") and len(operands) == 3:
            left, right = operands[1:]  # after its type; a long sum nests to the left
            depth = max(self._depth[left], self._depth[right] + 1)
        else:
            in_list = kind in _LISTS and any([self.graph.kinds[operand] in _LISTS for operand in operands])
            depth = deepest + (kind not in _FLAT or in_list)
        if depth > MOST_NESTED:
            raise Damaged(f"{self.graph.described(number)} nests more than {MOST_NESTED} deep")
        if size > MOST_UNFOLDED:
            text = f"has more than {MOST_UNFOLDED:,} parts, if each is counted where it is used"
            raise Damaged(f"{self.graph.described(number)} {text}")
        if kind not in _LEAVES:
            self._depth[number], self._size[number] = depth, size
            self._size_outside[number] = 1 if is_type else size

    def scalar(self, value: object) -> p.PrimExpr | None:
        """A value in the place of a scalar, or None if it is none."""
        if isinstance(value, p.PrimExpr):
            return value
        if isinstance(value, e.Var):
            info = value.struct_info
            known = info.value if isinstance(info, s.PrimStructInfo) else None
            return known if known is not None else self.scalars.get(value)
        if isinstance(value, Buffer):
            return BufferPtr(value, "buffer")
        return None

    def expr(self, value: object) -> e.Expr | None:
        """A value in the place of a Relax expression, or None if it may not stand there."""
        if isinstance(value, e.Expr):
            return None if isinstance(value, _STATEMENTS) else value
        if isinstance(value, p.PrimString):
            return e.StringImm(value.value)
        return e.PrimValue(value) if isinstance(value, p.PrimExpr) else None


def _era(kind: str) -> str:
    """What an unknown class tells of the version that wrote it."""
    is_older = kind.endswith("StructInfo") or kind.startswith("tir.") or kind in ("IntImm", "relax.expr.Call")
    return ": it is of TVM 0.22 to 0.25; load it there and print it as TVMScript" if is_older else ""


class Node:
    """One node: its fields, decoded. A field of another kind than its reader needs raises Damaged."""

    __slots__ = ("_fields", "decoded", "kind", "number")

    def __init__(self, decoded: Decoded, number: int, kind: str) -> None:
        self.decoded, self.number, self.kind = decoded, number, kind
        self._fields: dict[str, Any] | None = None

    @property
    def raw(self) -> object:
        """The content as the JSON has it."""
        return self.decoded.graph.data[self.number]

    @property
    def fields(self) -> dict[str, Any]:
        """The fields as the JSON has them."""
        if self._fields is None:
            self._fields = self.decoded.graph.fields(self.number)
        return self._fields

    def wrong(self, name: str, needed: str, found: object) -> Damaged:
        """The problem of a field of another kind."""
        where = self.decoded.graph.described(self.number)
        kind = "nothing" if found is None else type(found).__name__
        return Damaged(f"{name!r} of {where} must be {needed}, not {kind}")

    def operand(self, name: str) -> int:
        """The number of the node in a field."""
        if name not in self.fields:
            raise self.wrong(name, "there", None)
        return self.decoded.graph.checked(self.fields[name], self.decoded.graph.described(self.number))

    def value(self, name: str) -> Any:
        """The value in a field."""
        return self.decoded.values[self.operand(name)]

    def of(self, name: str, kind: type[T]) -> T:
        """The value in a field, of a given class."""
        value = self.value(name)
        if not isinstance(value, kind):
            raise self.wrong(name, f"a {kind.__name__}", value)
        return value

    def optional(self, name: str, kind: type[T]) -> T | None:
        """The value in a field, of a given class, or None."""
        return None if name not in self.fields or self.value(name) is None else self.of(name, kind)

    def several(self, name: str, kind: type[T]) -> tuple[T, ...]:
        """The values of an array in a field, each of a given class."""
        values = self.of(name, tuple)
        for value in values:
            if not isinstance(value, kind):
                raise self.wrong(name, f"a list of {kind.__name__}", value)
        return values

    def plain(self, name: str, kind: type[T]) -> T:
        """The number, bool or text that stands in a field itself."""
        value = self.fields.get(name)
        if kind is float and type(value) is int:
            value = float(value)
        if type(value) is not kind:
            raise self.wrong(name, f"a {kind.__name__}", value)
        return value

    def prim(self, name: str) -> p.PrimExpr:
        """The scalar in a field."""
        value = self.value(name)
        scalar = self.decoded.scalar(value)
        if scalar is None:
            raise self.wrong(name, "a scalar", value)
        return scalar

    def condition(self, name: str) -> p.PrimExpr:
        """The bool in a field."""
        value = self.prim(name)
        if value.dtype.with_lanes(1) is not BOOL:
            raise self.wrong(name, "a bool", value)
        return value

    def prims(self, name: str) -> tuple[p.PrimExpr, ...]:
        """The scalars of an array in a field."""
        return tuple([self._scalar(name, value) for value in self.of(name, tuple)])

    def integers(self, name: str) -> tuple[p.PrimExpr, ...]:
        """The indices or lengths of an array in a field."""
        found = self.prims(name)
        for value in found:
            if not value.dtype.is_int and value.dtype.with_lanes(1) is not BOOL:
                raise Damaged(
                    f"{name!r} of {self.decoded.graph.described(self.number)} holds a {value.dtype}"
                )
        return found

    def _scalar(self, name: str, value: object) -> p.PrimExpr:
        scalar = self.decoded.scalar(value)
        if scalar is None:
            raise self.wrong(name, "a list of scalars", value)
        return scalar

    def expr(self, name: str) -> e.Expr:
        """The Relax expression in a field."""
        value = self.value(name)
        found = self.decoded.expr(value)
        if found is None:
            raise self.wrong(name, "an expression", value)
        return found

    def bound(self, name: str) -> e.Expr:
        """The value of a binding in a field, which may be a function or a branch."""
        value = self.value(name)
        return self.sole(value) if isinstance(value, (e.Function, e.If)) else self.expr(name)

    def sole(self, value: T) -> T:
        """A part that may stand in one place only, since it binds variables."""
        if id(value) in self.decoded.placed:
            raise Damaged(
                f"{self.decoded.graph.described(self.number)} shares a {type(value).__name__} with another node"
            )
        self.decoded.placed.add(id(value))
        return value

    def text(self) -> str:
        """The content of a node that is a text."""
        if not isinstance(self.raw, str):
            raise Damaged(f"{self.decoded.graph.described(self.number)} is not a text")
        return self.raw

    def name(self, name: str) -> str:
        """The name in a field. A text can't hold every name."""
        value = self.of(name, str)
        if not value.isprintable() or len(value) > _LONGEST_NAME:
            raise Damaged(f"{name!r} of {self.decoded.graph.described(self.number)} is not a name")
        return value

    def exprs(self, name: str) -> tuple[e.Expr, ...]:
        """The Relax expressions of an array in a field."""
        found: list[e.Expr] = []
        for value in self.of(name, tuple):
            item = self.decoded.expr(value)
            if item is None:
                raise self.wrong(name, "a list of expressions", value)
            found.append(item)
        return tuple(found)

    def dtype(self, name: str = "ty") -> DType:
        """The element type of the type in a field."""
        info = self.value(name)
        if not isinstance(info, s.PrimStructInfo):
            raise self.wrong(name, "the type of a scalar", info)
        return info.dtype

    def has_plain(self, name: str) -> bool:
        """True if a field holds a number itself, not that of a node."""
        return type(self.fields.get(name)) is not int or name in self.decoded.graph.inline.get(self.kind, ())
