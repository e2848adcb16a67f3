"""TVM's JSON as a graph: `{"root_index": 7, "nodes": [{"type": "ir.Var", "data": {"name": 3, …}}, …]}`.

A node refers to others by their numbers. Fields of plain numbers hold the number itself; only the class of a node tells which
ones, so `INLINE` lists them. Numbers out of range, cycles and wrong shapes of the JSON raise Damaged.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

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
