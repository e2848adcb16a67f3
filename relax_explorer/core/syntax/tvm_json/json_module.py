"""Reads a module, or a single function, from TVM's JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.collector import collector_at_rest
from relax_explorer.core.diagnostics import Diagnostic, Label, ParseError, Report
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.attrs import EMPTY, Attrs, Verbatim
from relax_explorer.core.ir.node import replace
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.source import Source
from relax_explorer.core.syntax.dialects import CONSTANT_KEYS
from relax_explorer.core.syntax.names import function_name
from relax_explorer.core.syntax.tvm_json import json_constants, json_expressions, json_statements, json_types
from relax_explorer.core.syntax.tvm_json.json_nodes import Damaged, Decoded, Graph, Node, Unknown, loaded
from relax_explorer.core.syntax.tvm_json.json_types import Device, Mesh
from relax_explorer.core.tir.stmt import PrimFunc

Member = e.Function | PrimFunc | e.ExternFunc


@collector_at_rest()
def read_json(text: str, name: str = "<text>") -> IRModule:
    """The module in TVM's JSON. Raises ParseError."""
    try:
        graph = Graph(loaded(text))
        return _module(_decoded(graph).run(graph.root, _READERS))
    except Damaged as error:
        place = Label(Source(text[:200], name).span(1, 0), "", True)
        message = f"{name} can't be read as TVM's JSON: {error}"
        raise ParseError(Diagnostic(codes.BAD_JSON, message, (place,), help=codes.BAD_JSON.fix)) from None


def read_json_with_report(text: str, name: str) -> tuple[IRModule | None, Report]:
    """The module in TVM's JSON, or None, and the problems: as `parser.read` returns them."""
    report = Report()
    try:
        return read_json(text, name), report
    except ParseError as error:
        report.items.extend(error.diagnostics)
        return None, report


def parts(document: object) -> list[tuple[str, list[Any]]]:
    """The keys of a map of lists, each with the values in its list: the form of metadata blocks.

    A value of a class that is not known is its JSON. Raises Damaged.
    """
    graph = Graph(document)
    decoded = _decoded(graph)
    items, entries = graph.items(graph.root), []
    for key, listed in zip(items[::2], items[1::2], strict=False):
        values: list[Any] = []
        for number in graph.items(graph.checked(listed, "the metadata")):
            entry = _tensor_of(graph, graph.checked(number, "the metadata"))
            try:
                values.append(decoded.run(entry, _READERS))
            except Unknown:
                values.append(graph.data[number])
        entries.append((str(graph.data[graph.checked(key, "the metadata")]), values))
    return entries


def _tensor_of(graph: Graph, number: int) -> int:
    """The tensor of a constant, whose StructInfo it tells itself; any other node as it is."""
    if graph.kinds[number] not in CONSTANT_KEYS:
        return number
    fields = graph.fields(number)
    return graph.field(number, "value" if "value" in fields else "data")


def _decoded(graph: Graph) -> Decoded:
    decoded = Decoded(graph)
    decoded.devices = json_types.place_names(graph)
    json_expressions.note_variables(graph, decoded)
    return decoded


def _module(value: object) -> IRModule:
    if isinstance(value, IRModule):
        return value
    if isinstance(value, (e.Function, PrimFunc)):
        name = function_name(str(value.attrs.get("global_symbol", "main")))
        functions: dict[str, Any] = {name: _named(value, name)}
        return IRModule(functions)
    raise Damaged(f"it holds a {type(value).__name__}, not a module or a function")


def _ir_module(node: Node) -> IRModule:
    """The module, with its functions in the order in which TVM prints them."""
    functions: dict[str, Any] = {}
    for key, function in node.of("functions", dict).items():
        if not isinstance(key, e.GlobalVar) or not isinstance(function, (e.Function, PrimFunc, e.ExternFunc)):
            raise node.wrong("functions", "a map of functions", function)
        if key.name in functions:
            raise Damaged(f"{node.decoded.graph.described(node.number)} has two functions named {key.name!r}")
        functions[key.name] = _named(node.sole(function), key.name)
    printed = sorted(functions.items(), key=lambda item: (not isinstance(item[1], PrimFunc), item[0]))
    attrs = node.value("attrs")
    infos = {str(key): _listed(value) for key, value in node.of("global_infos", dict).items()}
    return IRModule(
        dict(printed), attrs if isinstance(attrs, Attrs) else EMPTY, Attrs(infos) if infos else EMPTY
    )


def _named(function: Member, name: str) -> Member:
    """A function whose symbol is its name in the module, if that was made an identifier."""
    symbol = None if isinstance(function, e.ExternFunc) else function.attrs.get("global_symbol")
    if (
        isinstance(function, e.ExternFunc)
        or not isinstance(symbol, str)
        or symbol == name
        or function_name(symbol) != name
    ):
        return function
    return replace(function, attrs=function.attrs.having(global_symbol=name))


def _listed(values: tuple[object, ...]) -> tuple[Any, ...]:
    return tuple(
        [
            Verbatim(item.text) if isinstance(item, (Device, Mesh)) else json_constants.constant(item)
            for item in values
        ]
    )


class _Readers:
    """All readers by the class of node; attributes of operators share one."""

    def get(self, kind: str, /) -> Callable[[Node], Any] | None:
        """The reader of a class of nodes."""
        return _BY_CLASS.get(kind) or json_constants.attrs_reader(kind)


_BY_CLASS: dict[str, Callable[[Node], Any]] = {
    **json_types.READERS, **json_statements.SCALAR_READERS, **json_constants.READERS, **json_types.PLACE_READERS, **json_expressions.READERS,
    **json_statements.READERS, "ir.IRModule": _ir_module,
}  # fmt: skip
_READERS = _Readers()
