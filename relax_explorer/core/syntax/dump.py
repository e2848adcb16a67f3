"""Converts a module to JSON and back. All nodes are in one list, each after its parts, so sharing and identity are kept.

A reference is `{"#": index}`, a constant array is a base64 DLTensor, an element type is its name. Spans are omitted.
"""

from __future__ import annotations

import inspect
import json
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.diagnostics import ParseError, Report
from relax_explorer.core.expected import expect
from relax_explorer.core.ir import expr, prim, prim_atoms, prim_binary, struct_info
from relax_explorer.core.ir.attrs import Attrs, Verbatim
from relax_explorer.core.ir.dtype import DType, dtype
from relax_explorer.core.ir.index_map import IndexMap, index_map
from relax_explorer.core.ir.struct_info import Sharding, VDevice
from relax_explorer.core.program import module as modules
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.source import Source
from relax_explorer.core.syntax.tensor_text import tensor_from_text, tensor_text
from relax_explorer.core.tir import prim_expr as tir_expr
from relax_explorer.core.tir import stmt

FORMAT = "relax-explorer 1"
_ROOMS = (expr, prim, prim_atoms, prim_binary, struct_info, modules, stmt, stmt, tir_expr)
_CLASSES: dict[str, type] = {
    name: node_class
    for room in _ROOMS
    for name, node_class in vars(room).items()
    if isinstance(node_class, type) and node_class.__module__ == room.__name__
}
_PLACES = frozenset({"span"})  # where a node was written
_PLAIN = (bool, int, type(None))


def _fields(node_class: type) -> tuple[str, ...]:
    """The fields of a node class that are written."""
    field_names = _FIELDS.get(node_class)
    if field_names is None:
        names = inspect.signature(node_class).parameters
        left_out = _PLACES | {"source", "refused"} if node_class is modules.IRModule else _PLACES
        field_names = _FIELDS[node_class] = tuple([name for name in names if name not in left_out])
    return field_names


_FIELDS: dict[type, tuple[str, ...]] = {}


def to_json(module: IRModule) -> str:
    """The module as JSON text for `from_json`.

    >>> text = rxe.to_json(module)
    """
    expect(module, IRModule, "to_json takes a module")
    writer = _Writer()
    root = writer.number(module)
    return json.dumps({"format": FORMAT, "root": root, "nodes": writer.nodes}, allow_nan=False)


class _Writer:
    """Numbers nodes without recursion. The parts of a node come before it."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = []
        self._numbers: dict[int, int] = {}

    def number(self, root: object) -> int:
        """The index of a node. Its parts are numbered first."""
        stack = [root]
        while stack:
            node = stack[-1]
            if id(node) in self._numbers:
                stack.pop()
                continue
            values = {name: getattr(node, name) for name in _fields(type(node))}
            missing = [
                part for value in values.values() for part in _parts(value) if id(part) not in self._numbers
            ]
            if missing:
                stack.extend(reversed(missing))
                continue
            encoded = {name: self._value(value) for name, value in values.items() if value is not None}
            self._numbers[id(node)] = len(self.nodes)
            self.nodes.append({"node": type(node).__name__, **encoded})
            stack.pop()
        return self._numbers[id(root)]

    def _value(self, value: object) -> Any:
        if type(value) in _PLAIN or type(value) is str:
            return value
        writer = _VALUES.get(type(value))
        return writer(self, value) if writer is not None else {"#": self._numbers[id(value)]}


def _parts(value: object) -> list[Any]:
    """The nodes in the value of a field."""
    if isinstance(value, (tuple, list)):
        return [part for item in value for part in _parts(item)]
    if isinstance(value, (dict, Attrs)):
        return [part for item in value.values() for part in _parts(item)]
    if isinstance(value, IndexMap):
        return [part for part in (*value.places, *value.results, *_parts(value.inverse))]
    simple = type(value) in _PLAIN or type(value) is str or type(value) in _VALUES
    return [] if simple else [value]


_VALUES: dict[type, Callable[[_Writer, Any], Any]] = {
    float: lambda out, value: {"float": value.hex()},
    Verbatim: lambda out, value: {"verbatim": str(value)},
    DType: lambda out, value: {"dtype": value.name},
    np.ndarray: lambda out, value: {"tensor": tensor_text(value)},
    tuple: lambda out, value: [out._value(item) for item in value],
    dict: lambda out, value: {"dict": [[name, out._value(item)] for name, item in value.items()]},
    IndexMap: lambda out, value: {
        "index_map": [
            list(value.names),
            out._value(value.places),
            out._value(value.results),
            out._value(value.inverse),
        ]
    },
    VDevice: lambda out, value: {"vdevice": str(value)},
    Sharding: lambda out, value: {"sharding": [value.mesh, value.placement]},
    Attrs: lambda out, value: {"attrs": [[name, out._value(item)] for name, item in value.items()]},
}


def from_json(text: str) -> IRModule:
    """The module in a text from `to_json`. Raises ParseError for any other text.

    >>> rxe.structural_equal(rxe.from_json(rxe.to_json(module)), module)
    True
    """
    expect(text, str, "from_json takes a text")
    try:
        document = json.loads(text)
        if document["format"] != FORMAT:
            raise ValueError(f"the format is {document['format']!r}, not {FORMAT!r}")
        reader = _Reader()
        for entry in document["nodes"]:
            reader.nodes.append(reader.node(entry))
        root = reader.nodes[document["root"]]
        if not isinstance(root, IRModule):
            raise ValueError("its root is not a module")
        return root
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, struct.error) as error:
        report = Report()
        source = Source(text[:80].split("\n")[0], "<json>")
        report.say(
            codes.BAD_DUMP,
            f"this is not a dump of a module: {str(error)[:80]}",
            source.span(1, 0),
            help=codes.BAD_DUMP.fix,
        )
        raise ParseError(*report.items) from None


class _Reader:
    """Builds the nodes in order."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []

    def node(self, entry: dict[str, Any]) -> Any:
        """One node."""
        node_class = _CLASSES[entry["node"]]
        return node_class(**{name: self.value(entry.get(name)) for name in _fields(node_class)})

    def value(self, encoded: object) -> Any:
        """The value of a field."""
        if isinstance(encoded, list):
            return tuple([self.value(item) for item in encoded])
        if not isinstance(encoded, dict):
            return encoded
        ((tag, inner),) = encoded.items()
        return _READERS[tag](self, inner)


_READERS: dict[str, Callable[[_Reader, Any], Any]] = {
    "#": lambda reader, inner: reader.nodes[inner],
    "float": lambda reader, inner: float.fromhex(inner),
    "verbatim": lambda reader, inner: Verbatim(inner),
    "dtype": lambda reader, inner: dtype(inner),
    "tensor": lambda reader, inner: tensor_from_text(inner),
    "dict": lambda reader, inner: {name: reader.value(item) for name, item in inner},
    "index_map": lambda reader, inner: index_map(*[reader.value(part) for part in inner]),
    "vdevice": lambda reader, inner: VDevice.read(inner),
    "sharding": lambda reader, inner: Sharding(*map(str, inner)),
    "attrs": lambda reader, inner: Attrs([(name, reader.value(item)) for name, item in inner]),
}
