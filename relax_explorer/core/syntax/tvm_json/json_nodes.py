"""The nodes of a graph while they are decoded, operands first: each node becomes a value of the IR, and then its readers ask for that value."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import BOOL, DType
from relax_explorer.core.tir.prim_expr import BufferPtr
from relax_explorer.core.tir.stmt import Buffer, PrimFunc

# -- json graph ------------------------------------------------------------------------------------------------------
# TVM's JSON as a graph: `{"root_index": 7, "nodes": [{"type": "ir.Var", "data": {"name": 3, …}}, …]}`.
# A node refers to others by their numbers. Fields of plain numbers hold the number itself; only the class of a node
# tells which ones, so `INLINE` lists them. Numbers out of range, cycles and wrong shapes of the JSON raise Damaged.


MOST_NODES = 2_000_000
_MOST_COMMAS = 10 * MOST_NODES


class Damaged(ValueError):
    """The text is not what `save_json` writes."""


INLINE: dict[str, frozenset[str]] = {
    kind: frozenset(names.split())
    for kind, names in {
        "ir.FloatImm": "value", "ir.TupleGetItem": "index", "relax.ShapeType": "ndim", "relax.TensorType": "ndim",
        "relax.VDevice": "vdevice_id", "relax.attrs.AllGatherAttrs": "num_workers", "relax.attrs.ArgsortAttrs": "axis",
        "relax.attrs.BatchNormAttrs": "axis epsilon momentum", "relax.attrs.Conv1DAttrs": "groups", "relax.attrs.Conv1DTransposeAttrs": "groups",
        "relax.attrs.Conv2DAttrs": "groups", "relax.attrs.Conv2DTransposeAttrs": "groups", "relax.attrs.Conv3DAttrs": "groups",
        "relax.attrs.Conv3DTransposeAttrs": "groups", "relax.attrs.DropoutAttrs": "rate", "relax.attrs.FlipAttrs": "axis",
        "relax.attrs.GatherElementsAttrs": "axis", "relax.attrs.GatherNDAttrs": "batch_dims",
        "relax.attrs.GetValidCountsAttrs": "score_threshold id_index score_index",
        "relax.attrs.GroupNormAttrs": "num_groups channel_axis epsilon", "relax.attrs.HintOnDeviceAttrs": "device_type index",
        "relax.attrs.InstanceNormAttrs": "channel_axis epsilon", "relax.attrs.LayerNormAttrs": "epsilon", "relax.attrs.LeakyReluAttrs": "alpha",
        "relax.attrs.MultiboxTransformLocAttrs": "threshold", "relax.attrs.NLLLossAttrs": "ignore_index",
        "relax.attrs.NonMaximumSuppressionAttrs":
        "max_output_size iou_threshold top_k coord_start score_index id_index soft_nms_sigma score_threshold",
        "relax.attrs.OneHotAttrs": "depth axis", "relax.attrs.PReluAttrs": "axis", "relax.attrs.PadAttrs": "pad_value",
        "relax.attrs.PixelShuffleAttrs": "upscale_factor", "relax.attrs.QuantizeAttrs": "axis", "relax.attrs.RMSNormAttrs": "epsilon",
        "relax.attrs.ROIAlignAttrs": "spatial_scale sample_ratio", "relax.attrs.ROIPoolAttrs": "spatial_scale", "relax.attrs.RepeatAttrs": "repeats",
        "relax.attrs.Resize2DAttrs": "cubic_alpha cubic_exclude extrapolation_value",
        "relax.attrs.Resize3DAttrs": "cubic_alpha cubic_exclude extrapolation_value",
        "relax.attrs.ReverseSequenceAttrs": "seq_axis batch_axis", "relax.attrs.ScatterCollectiveAttrs": "num_workers axis",
        "relax.attrs.ScatterElementsAttrs": "axis", "relax.attrs.SliceScatterAttrs": "axis", "relax.attrs.SoftmaxAttrs": "axis",
        "relax.attrs.SoftplusAttrs": "beta threshold", "relax.attrs.SortAttrs": "axis", "relax.attrs.SplitAttrs": "axis",
        "relax.attrs.TopKAttrs": "k axis", "relax.attrs.TriluAttrs": "k", "relax.distributed.PlacementSpec": "axis kind",
        "relax.distributed.Sharding": "axis kind", "tirx.BufferType": "data_alignment offset_factor",
        "tirx.ComposeLayout": "per_element swizzle_len atom_len inner_mask outer_mask", "tirx.For": "kind", "tirx.IterVar": "iter_type",
    }.items()
}  # fmt: skip
"""The fields of plain numbers, by the class of a node (from the reflection of TVM 0.27; a float may be written as an integer)."""
_NOT_READ = frozenset({"span", "source_map", "global_var_map_"})
_INTEGERS = frozenset({"int", "ffi.BigInt"})
_PLAIN: frozenset[str] = frozenset({"int", "float", "bool", "None", "ffi.String", "DataType", "ffi.BigInt"})


class Graph:
    """The nodes of one text. `kinds` and `data` have the class and the content of each."""

    def __init__(self, document: object) -> None:
        if not isinstance(document, dict):
            raise Damaged("it is no object")
        if "root" in document and "root_index" not in document:
            raise Damaged(
                "it is JSON of TVM 0.21 or older, whose nodes have a `type_key`; load it with that TVM and print it as TVMScript"
            )
        nodes = document.get("nodes")
        if not isinstance(nodes, list):
            raise Damaged("it has no list of nodes")
        if len(nodes) > MOST_NODES:
            raise Damaged(f"it has {len(nodes):,} nodes; the most are {MOST_NODES:,}")
        self.kinds: list[str] = []
        self.data: list[Any] = []
        for number, node in enumerate(nodes):
            kind = node.get("type") if isinstance(node, dict) else None
            if not isinstance(kind, str):
                raise Damaged(f"node {number} has no type")
            self.kinds.append(kind)
            self.data.append(node.get("data"))
        self.root = self.checked(document.get("root_index"), "root_index")
        self.inline = INLINE if self._integers_are_nodes() else INLINE | {"ir.IntImm": frozenset({"value"})}
        self.more: dict[int, tuple[int, ...]] = {}  # further operands of nodes, which the reader adds

    def _integers_are_nodes(self) -> bool:
        """True if the value of an IntImm is a node, since it may be large. Older versions write the number itself."""
        for kind, data in zip(self.kinds, self.data, strict=True):
            value = data.get("value") if kind == "ir.IntImm" and isinstance(data, dict) else 0
            if kind == "ir.IntImm" and (
                type(value) is not int
                or not 0 <= value < len(self.kinds)
                or self.kinds[value] not in _INTEGERS
            ):
                return False
        return True

    def __len__(self) -> int:
        return len(self.kinds)

    def checked(self, number: object, what: str) -> int:
        """The number of a node. Raises Damaged if there is no such node."""
        if type(number) is not int or not 0 <= number < len(self.kinds):
            text = str(number)[:20]
            raise Damaged(f"{what} names node {text}, but there are {len(self.kinds)} nodes")
        return number

    def described(self, number: int) -> str:
        """The number and the class of a node, for messages."""
        return f"node {number} ({self.kinds[number][:60]})"

    def fields(self, number: int) -> dict[str, Any]:
        """The fields of a node that is an object."""
        data = self.data[number]
        if not isinstance(data, dict):
            raise Damaged(f"{self.described(number)} has no fields")
        return data

    def field(self, number: int, name: str) -> int:
        """The number of the node in a field of an object."""
        return self.checked(self.fields(number).get(name), f"{name!r} of {self.described(number)}")

    def items(self, number: int) -> list[int]:
        """The numbers in an array, or the keys and values of a map in turn."""
        data = self.data[number]
        if not isinstance(data, list):
            raise Damaged(f"{self.described(number)} has no list of items")
        return data

    def operands(self, number: int) -> list[int]:
        """The numbers of the nodes that a node refers to, in order."""
        kind, data = self.kinds[number], self.data[number]
        if isinstance(data, dict):
            inline = self.inline.get(kind, frozenset())
            found = [
                value
                for name, value in data.items()
                if type(value) is int and name not in inline and name not in _NOT_READ
            ]
        elif isinstance(data, list) and kind not in _PLAIN and kind != "ffi.Shape":
            found = list(data)
        else:
            return []
        for other in found:
            if type(other) is not int or not 0 <= other < len(self.kinds):
                self.checked(other, self.described(number))
        found.extend(self.more.get(number, ()))
        return found

    def operands_first(self, root: int, is_done: bytearray) -> Iterator[tuple[int, list[int]]]:
        """The nodes that a node needs, and itself: each with its operands and after them, without those that are done.

        Marks them as done. Raises Damaged if one refers to itself.
        """
        if is_done[root]:
            return
        is_open = bytearray(len(self.kinds))
        needed = self.operands(root)
        stack = [(root, needed, iter(needed))]
        is_open[root] = 1
        while stack:
            number, operands, remaining = stack[-1]
            for operand in remaining:
                if is_done[operand]:
                    continue
                if is_open[operand]:
                    raise Damaged(f"{self.described(operand)} refers to itself")
                is_open[operand] = 1
                needed = self.operands(operand)
                stack.append((operand, needed, iter(needed)))
                break
            else:
                stack.pop()
                is_done[number] = 1
                yield number, operands


def loaded(text: str) -> object:
    """What a JSON text holds. Raises Damaged for a text that is no JSON, or is too large or too deep to be loaded."""
    if text.count("{") > MOST_NODES * 3 or text.count(",") > _MOST_COMMAS:
        raise Damaged(f"it is too large; the most are {MOST_NODES:,} nodes")
    try:
        return json.loads(text)
    except RecursionError:
        raise Damaged("the JSON nests too deeply") from None
    except ValueError as error:
        raise Damaged(f"it is not JSON: {str(error)[:80]}") from None


# -- json nodes ------------------------------------------------------------------------------------------------------


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

    @property
    def described(self) -> str:
        """The number and the class, for messages."""
        return self.decoded.graph.described(self.number)

    def wrong(self, name: str, needed: str, found: object) -> Damaged:
        """The problem of a field of another kind."""
        kind = "nothing" if found is None else type(found).__name__
        return Damaged(f"{name!r} of {self.described} must be {needed}, not {kind}")

    def _as(self, read: Callable[[object], T | None], name: str, value: object, needed: str) -> T:
        """A value of a field as `read` takes it."""
        found = read(value)
        if found is None:
            raise self.wrong(name, needed, value)
        return found

    def operand(self, name: str) -> int:
        """The number of the node in a field."""
        if name not in self.fields:
            raise self.wrong(name, "there", None)
        return self.decoded.graph.checked(self.fields[name], self.described)

    def value(self, name: str) -> object:
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
        return self._as(self.decoded.scalar, name, self.value(name), "a scalar")

    def condition(self, name: str) -> p.PrimExpr:
        """The bool in a field."""
        value = self.prim(name)
        if value.dtype.with_lanes(1) is not BOOL:
            raise self.wrong(name, "a bool", value)
        return value

    def prims(self, name: str) -> tuple[p.PrimExpr, ...]:
        """The scalars of an array in a field."""
        read = self.decoded.scalar
        return tuple([self._as(read, name, value, "a list of scalars") for value in self.of(name, tuple)])

    def integers(self, name: str) -> tuple[p.PrimExpr, ...]:
        """The indices or lengths of an array in a field."""
        found = self.prims(name)
        for value in found:
            if not value.dtype.is_int and value.dtype.with_lanes(1) is not BOOL:
                raise Damaged(f"{name!r} of {self.described} holds a {value.dtype}")
        return found

    def expr(self, name: str) -> e.Expr:
        """The Relax expression in a field."""
        return self._as(self.decoded.expr, name, self.value(name), "an expression")

    def bound(self, name: str) -> e.Expr:
        """The value of a binding in a field, which may be a function or a branch."""
        value = self.value(name)
        return self.sole(value) if isinstance(value, (e.Function, e.If)) else self.expr(name)

    def sole(self, value: T) -> T:
        """A part that may stand in one place only, since it binds variables."""
        if id(value) in self.decoded.placed:
            raise Damaged(f"{self.described} shares a {type(value).__name__} with another node")
        self.decoded.placed.add(id(value))
        return value

    def text(self) -> str:
        """The content of a node that is a text."""
        if not isinstance(self.raw, str):
            raise Damaged(f"{self.described} is not a text")
        return self.raw

    def name(self, name: str) -> str:
        """The name in a field. A text can't hold every name."""
        value = self.of(name, str)
        if not value.isprintable() or len(value) > _LONGEST_NAME:
            raise Damaged(f"{name!r} of {self.described} is not a name")
        return value

    def exprs(self, name: str) -> tuple[e.Expr, ...]:
        """The Relax expressions of an array in a field."""
        read = self.decoded.expr
        return tuple([self._as(read, name, value, "a list of expressions") for value in self.of(name, tuple)])

    def dtype(self, name: str = "ty") -> DType:
        """The element type of the type in a field."""
        info = self.value(name)
        if not isinstance(info, s.PrimStructInfo):
            raise self.wrong(name, "the type of a scalar", info)
        return info.dtype

    def has_plain(self, name: str) -> bool:
        """True if a field holds a number itself, not that of a node."""
        return type(self.fields.get(name)) is not int or name in self.decoded.graph.inline.get(self.kind, ())
