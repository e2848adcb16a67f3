"""Reads models of ONNX for TVM, and runs them by `onnx.reference`."""

from __future__ import annotations

import heapq
import os
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from relax_explorer.injected.answering import Foreign, Refused
    from relax_explorer.injected.model_parts import (
        WORD,
        Found,
        Namer,
        Names,
        Tensors,
        check_lengths,
        front_end,
        is_value,
        package,
    )
else:
    from answering import Refused
    from model_parts import WORD, Found, Namer, Names, Tensors, check_lengths, front_end, is_value, package


_DEFAULT = ("", "ai.onnx")  # the names of the usual domain
_MOST_FILE = (1 << 31) - 1  # bytes that protobuf reads


def program(path: str, lengths: Mapping[str, int]) -> Found:
    """What TVM makes of an ONNX model."""
    onnx = package("onnx")
    model, remarks = read_onnx(onnx, path)
    _fix_lengths(model.graph, lengths)
    front = front_end("onnx.onnx_frontend")
    known: Mapping[str, object] = getattr(front, "_get_convert_map", dict)()
    missing = _missing_operators(onnx, model, known)
    if missing:
        raise Refused("unsupported", f"TVM's importer has no {'; no '.join(missing)}")
    names = onnx_names(model.graph)
    importer = _named_importer(front, names, model.graph)
    opset = next(item.version for item in model.opset_import if item.domain in _DEFAULT)
    try:
        module = importer.from_onnx(model.graph, opset)
    except Exception as error:  # noqa: BLE001  # converters of TVM raise anything
        raise _not_taken(model.graph, importer.current, error) from None
    found = Found(module, _variables_of(importer._nodes, names), len(model.graph.node))
    found.constants = [
        (value, item.name)
        for item in model.graph.initializer
        if (value := importer._nodes.get(item.name)) is not None
    ]
    if len(model.graph.output) == 1:
        found.names["gv"] = names.get(model.graph.output[0].name, model.graph.output[0].name)
    found.remarks = remarks
    return found


def _variables_of(nodes: Mapping[str, Foreign], names: Names) -> Names:
    """The names that variables should have, by those that they have. Of several values in one variable, the first is meant."""
    found: Names = {}
    for key, value in nodes.items():
        if key in names and is_value(value):
            found.setdefault(value.name, names[key])
    return found


def _named_importer(front: Foreign, names: Names, graph: Foreign) -> Foreign:
    """TVM's importer; it binds the value of each node to a variable with its name."""
    alone = {item.name for item in graph.output} if len(graph.output) == 1 else set()
    alone -= {name for node in graph.node for name in node.input}

    class Importer(front.ONNXGraphImporter):
        def __init__(self) -> None:
            super().__init__(None, None)
            self.current: Foreign = None  # the node that is read
            self._turn = iter([node for node in graph.node if node.op_type != "If"])
            self._depth = 0

        def _convert_subgraph(self, *args: Foreign, **more: Foreign) -> Foreign:
            self._depth += 1
            try:
                return super()._convert_subgraph(*args, **more)
            finally:
                self._depth -= 1

        def _convert_operator(self, *args: Foreign, **more: Foreign) -> Foreign:
            if self._depth:
                return super()._convert_operator(*args, **more)
            self.current = node = next(self._turn)
            value = super()._convert_operator(*args, **more)
            is_call = type(value).__name__ == "Call" and type(value.ty).__name__ == "TensorType"
            if not is_call or not node.output or node.output[0] in alone:
                return value
            return self.bb.emit(value, names[node.output[0]])

    return Importer()


def _not_taken(graph: Foreign, node: Foreign, error: Exception) -> Refused:
    """Why TVM's importer stops at a model."""
    where = f"at the node {node_text(node)}" if node is not None else "before the first node"
    unranked = [item.name for item in graph.input if not item.type.tensor_type.HasField("shape")]
    text = (str(error).strip().splitlines() or [""])[-1][:300]
    reason = f"; the number of dimensions of {', '.join(unranked[:4])} is unknown" if unranked else ""
    return Refused(
        "unsupported", f"TVM's importer stops {where}: {type(error).__name__}: {text}{reason}",
        hint="give the inputs a shape, and export the model again" if unranked else "",
    )  # fmt: skip


def node_text(node: Foreign) -> str:
    """A node in a sentence: `/fc1/MatMul (MatMul)`."""
    label = node.name or (node.output[0] if node.output else "")
    return f"{label[:80]} ({node.op_type[:40]})"


def onnx_names(graph: Foreign) -> Names:
    """The variable for the value of each node."""
    lengths = {dim.dim_param for item in graph.input for dim in item.type.tensor_type.shape.dim}
    namer = Namer([*lengths, *[WORD.sub("_", item.name) for item in (*graph.input, *graph.initializer)]])
    return {name: namer.name(name) for node in graph.node for name in node.output if name}


def read_onnx(onnx: Foreign, path: str) -> tuple[Foreign, list[str]]:
    """The model in a file, with nodes in order, and remarks. Raises Refused for one that is damaged, or that names data elsewhere."""
    size = os.path.getsize(path)
    if size > _MOST_FILE:
        text = f"{path} has {size:,} bytes; a protobuf file of more than {_MOST_FILE:,} can't be read"
        raise Refused(
            "unreadable", text, hint="save it with its weights beside it: save_as_external_data=True"
        )
    try:
        model = onnx.load(path, load_external_data=False)
    except Exception as error:  # noqa: BLE001  # protobuf has a class of its own
        raise Refused("unreadable", f"{path} is no ONNX model, or damaged: {error}") from None
    if not model.graph.node and not model.graph.output:
        raise Refused("unreadable", f"{path} is no ONNX model, or damaged: it has no graph")
    if model.functions:
        model = onnx.inliner.inline_local_functions(model)
    _check_data(onnx, model, os.path.dirname(os.path.abspath(path)))
    onnx.external_data_helper.load_external_data_for_model(model, os.path.dirname(os.path.abspath(path)))
    _check_opset(onnx, model)
    return model, _put_in_order(model.graph)


def _graphs(graph: Foreign) -> Iterator[Foreign]:
    """A graph and those inside its nodes."""
    todo = [graph]
    while todo:
        graph = todo.pop()
        yield graph
        for node in graph.node:
            for item in node.attribute:
                todo += [*item.graphs, *([item.g] if item.HasField("g") else [])]


def _tensors(graph: Foreign) -> Iterator[Foreign]:
    for inner in _graphs(graph):
        yield from inner.initializer
        for node in inner.node:
            for item in node.attribute:
                yield from item.tensors
                if item.HasField("t"):
                    yield item.t


def _check_data(onnx: Foreign, model: Foreign, folder: str) -> None:
    """Refuse tensors whose data is missing, or lies outside of the folder of the model."""
    for tensor in _tensors(model.graph):
        count = 1
        for length in tensor.dims:
            count *= length
        if min(tensor.dims, default=0) < 0:
            raise Refused("unreadable", f"the tensor {tensor.name[:80]!r} has a negative length")
        needed = count * _bits(onnx, tensor) // 8
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            _check_external(tensor, folder, needed)
        elif tensor.HasField("raw_data") and len(tensor.raw_data) < needed:
            text = (
                f"the tensor {tensor.name[:80]!r} claims {needed:,} bytes, and has {len(tensor.raw_data):,}"
            )
            raise Refused("unreadable", text)
        elif not tensor.HasField("raw_data") and count > (1 << 20) > _written(tensor):
            raise Refused("unreadable", f"the tensor {tensor.name[:80]!r} claims {count:,} elements")


def _bits(onnx: Foreign, tensor: Foreign) -> int:
    """The bits of one element; 0 for one without a fixed size."""
    try:
        kind = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
    except (KeyError, ValueError, TypeError):
        raise Refused(
            "unreadable", f"the tensor {tensor.name[:80]!r} has the unknown type {tensor.data_type}"
        ) from None
    return 0 if kind.kind == "O" else 4 if "int4" in kind.name or "float4" in kind.name else 8 * kind.itemsize


def _written(tensor: Foreign) -> int:
    return max(len(getattr(tensor, name)) for name in _DATA)


_DATA = ("float_data", "int32_data", "int64_data", "double_data", "uint64_data", "string_data")


def _check_external(tensor: Foreign, folder: str, needed: int) -> None:
    entries = {item.key: item.value for item in tensor.external_data}
    location = entries.get("location", "")
    place = os.path.realpath(os.path.join(folder, location))
    inside = place.startswith(os.path.realpath(folder) + os.sep)
    if (
        not location
        or os.path.isabs(location)
        or "\\" in location
        or ".." in location.split("/")
        or not inside
    ):
        text = f"the tensor {tensor.name[:80]!r} has its data in {location[:200]!r}, outside of the folder of the model"
        raise Refused("outside", text)  # fmt: skip
    if not os.path.isfile(place):
        raise Refused("unreadable", f"{location[:200]!r}, the data of {tensor.name[:80]!r}, is not there")
    try:
        start, length = [int(entries.get(key, "0") or 0) for key in ("offset", "length")]
    except ValueError:
        raise Refused("unreadable", f"the data of {tensor.name[:80]!r} has no whole place") from None
    end = start + (length or needed)
    if start < 0 or length < 0 or end > os.path.getsize(place) or (length and length < needed):
        text = f"the tensor {tensor.name[:80]!r} needs {needed:,} bytes from {start:,} on"
        raise Refused("unreadable", f"{text}; {location[:200]!r} has {os.path.getsize(place):,}")


def _check_opset(onnx: Foreign, model: Foreign) -> None:
    """Refuse a model that is written in a version of the operators which its package does not know."""
    found = [item.version for item in model.opset_import if item.domain in _DEFAULT]
    newest = onnx.defs.onnx_opset_version()
    if not found:
        raise Refused("unsupported", "the model does not tell its opset", hint="export it again")
    if not 1 <= found[0] <= newest:
        text = f"the model has the opset {found[0]}; onnx {onnx.__version__} knows 1 to {newest}"
        raise Refused(
            "unsupported", text, hint="install a newer onnx, or export the model for an older opset"
        )


def _put_in_order(graph: Foreign) -> list[str]:
    """Put nodes behind those that they read. Returns a remark if they were not. Raises Refused for a cycle, and for a name that nothing makes."""
    given = {item.name for item in (*graph.input, *graph.initializer)} | {""}
    given |= {item.values.name for item in graph.sparse_initializer}
    makers = {name: n for n, node in enumerate(graph.node) for name in node.output if name not in given}
    waiting = {
        n: {makers[name] for name in _read(node) if name in makers} for n, node in enumerate(graph.node)
    }
    for node in graph.node:
        unknown = next((name for name in node.input if name not in makers and name not in given), None)
        if unknown is not None:
            raise Refused(
                "unreadable", f"the node {node_text(node)} reads {unknown[:80]!r}, which nothing makes"
            )
    order = _order({n: set(needed) for n, needed in waiting.items()})
    if len(order) < len(graph.node):
        node = graph.node[_in_cycle(waiting, set(order))]
        raise Refused("cyclic", f"the graph is cyclic: the node {node_text(node)} needs its own result")
    if order == sorted(order):
        return []
    nodes = [graph.node[n] for n in order]
    del graph.node[:]
    graph.node.extend(nodes)
    return ["its nodes were not in order, and have been sorted"]


def _order(waiting: dict[int, set[int]]) -> list[int]:
    """The nodes in an order in which each stands behind those that it needs, the first ones first; none of a cycle."""
    readers: dict[int, list[int]] = {}
    for n, needed in waiting.items():
        for maker in needed:
            readers.setdefault(maker, []).append(n)
    ready, order = [n for n in waiting if not waiting[n]], []
    while ready:
        order.append(n := heapq.heappop(ready))
        for reader in readers.get(n, ()):
            waiting[reader].discard(n)
            if not waiting[reader]:
                heapq.heappush(ready, reader)
    return order


def _in_cycle(waiting: Mapping[int, set[int]], done: set[int]) -> int:
    """A node that needs its own result."""
    seen: list[int] = []
    at = next(n for n in waiting if n not in done)
    while at not in seen:
        seen.append(at)
        at = min(waiting[at] - done)
    return at


def _read(node: Foreign) -> set[str]:
    """The names that a node reads, its branches included."""
    inner = [item.g for item in node.attribute if item.HasField("g")]
    names = set(node.input)
    for graph in inner:
        for part in _graphs(graph):
            names |= {name for item in part.node for name in item.input} | {item.name for item in part.output}
    return names


def _fix_lengths(graph: Foreign, lengths: Mapping[str, int]) -> None:
    """Give lengths of inputs that have names these values. Raises Refused for a name that no length has."""
    dims = [dim for item in graph.input for dim in item.type.tensor_type.shape.dim]
    names = {dim.dim_param for dim in dims if dim.dim_param}
    check_lengths(lengths, names)
    for dim in dims:
        if dim.dim_param in lengths:
            dim.dim_value = lengths[dim.dim_param]
    if lengths:  # they hold for the inputs; what follows from them is inferred again
        del graph.value_info[:]


def _missing_operators(onnx: Foreign, model: Foreign, known: Mapping[str, object]) -> list[str]:
    """The operators that TVM's importer lacks, each with a node that uses it."""
    found: dict[str, str] = {}
    for graph in _graphs(model.graph):
        for node in graph.node:
            is_known = node.op_type in known or node.op_type in ("If", "Constant")
            if node.domain not in (*_DEFAULT, "com.microsoft") or (known and not is_known):
                label = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
                found.setdefault(label[:80], node_text(node))
    return [f"{label}, as in the node {node}" for label, node in found.items()][:8]


def runner(path: str) -> Callable[[list[Foreign]], Tensors]:
    """What runs a model: all values of its nodes, and its results as `out0`, `out1` and so on."""
    onnx = package("onnx")
    from onnx.reference import ReferenceEvaluator

    model, _ = read_onnx(onnx, path)
    names = onnx_names(model.graph)
    results = [item.name for item in model.graph.output]
    weights = {item.name for item in model.graph.initializer}
    inputs = [item.name for item in model.graph.input if item.name not in weights]
    for name in names:
        if name not in results:
            model.graph.output.append(onnx.ValueInfoProto(name=name))
    evaluator = ReferenceEvaluator(model)

    def run(values: list[Foreign]) -> Tensors:
        found = dict(
            zip(
                [item.name for item in model.graph.output],
                evaluator.run(None, dict(zip(inputs, values, strict=True))),
                strict=True,
            )
        )
        arrays = {names[name]: value for name, value in found.items() if name in names}
        arrays |= {f"out{n}": found[name] for n, name in enumerate(results)}
        return {
            name: np.asarray(value)
            for name, value in arrays.items()
            if isinstance(value, (np.ndarray, np.generic))
        }

    return run
