"""Reads a module, or a single function, from TVM's JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.collector import collector_at_rest
from relax_explorer.core.diagnostics import Diagnostic, Label, ParseError, Report
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import EMPTY, Attrs, Verbatim
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ops import find as find_op
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.source import Source
from relax_explorer.core.syntax.dialects import ARGS_KEYWORDS, CONSTANT_KEYS
from relax_explorer.core.syntax.names import function_name
from relax_explorer.core.syntax.parse_forms import CALL_FORMS, NAMED_FORMS
from relax_explorer.core.syntax.tvm_json import json_statements, json_types
from relax_explorer.core.syntax.tvm_json.json_nodes import Damaged, Decoded, Graph, Node, Unknown, loaded
from relax_explorer.core.syntax.tvm_json.json_statements import module_call, prim_call
from relax_explorer.core.syntax.tvm_json.json_types import Device, Dummy, Mesh, call_attrs
from relax_explorer.core.tir.stmt import PrimFunc

# -- json expressions ------------------------------------------------------------------------------------------------
# Expressions, bindings and functions of Relax in TVM's JSON.


_FORMATS = {"relax.print": 0, "relax.assert_op": 1}
"""The places of the format among the operands."""
_CALLS = frozenset({f"relax.{name}" for name in CALL_FORMS})
"""Calls of a function with a tuple of its arguments."""
_SAYS_RESULT = _CALLS - {f"relax.{name}" for name in NAMED_FORMS}
_CALL_TIR_OF_TWO_NAMES = "relax.dist.call_tir"


def _operator(node: Node) -> e.OpRef:
    name = node.text()
    if not all(map(str.isidentifier, name.split("."))):
        raise Damaged(f"{node.described} is no name of an operator: {name[:40]!r}")
    return e.op_ref(name)


def _extern(node: Node) -> e.ExternFunc:
    info = node.optional("ty", s.StructInfo)
    declared = info if isinstance(info, s.FuncStructInfo) and info.params is not None else None
    return e.ExternFunc(node.of("global_symbol", str), declared)


def _constant(node: Node) -> e.Expr:
    value = node.value("value")
    if isinstance(value, DType):
        return e.DataTypeImm(value)
    if not isinstance(value, np.ndarray):
        raise node.wrong("value", "a tensor or a dtype", value)
    info = node.optional("ty", s.StructInfo)
    is_spread = isinstance(info, s.TensorStructInfo) and info.vdevice is not None
    return e.Constant(value, info if is_spread else s.constant_info(value))


def _call(node: Node) -> e.Expr | p.PrimExpr:
    op = node.value("op")
    if isinstance(op, e.OpRef):
        room, _, name = op.name.partition(".")
        if room in ("tirx", "tir", "prim"):
            return prim_call(node, name)
        return _operator_call(node, "relax.call_tir" if op.name == _CALL_TIR_OF_TWO_NAMES else op.name)
    if (
        isinstance(op, e.GlobalVar)
        and isinstance(node.value("ty"), s.PrimStructInfo)
        and _is_of_prim_func(node)
    ):
        return module_call(node, op)
    callee = node.decoded.expr(op)
    if callee is None:
        raise node.wrong("op", "a function", op)
    attrs, infos = node.value("attrs"), _types(node)
    if isinstance(attrs, Attrs) and isinstance(callee, e.ExternFunc):
        attrs, infos = _packed_attrs(attrs, infos)
    return e.Call(callee, node.exprs("args"), attrs if isinstance(attrs, Attrs) else EMPTY, infos)


def _packed_attrs(attrs: Attrs, infos: tuple[s.StructInfo, ...]) -> tuple[Attrs, tuple[s.StructInfo, ...]]:
    """The attributes of a call of a packed function as a text has them. TVM keeps older names of StructInfo arguments as attributes."""
    for name in ARGS_KEYWORDS & attrs.keys():
        value = attrs[name] if isinstance(attrs[name], tuple) else (attrs[name],)
        if not infos and all(isinstance(item, s.StructInfo) for item in value):
            attrs, infos = attrs.without(name), value
    return attrs.having(attrs_type_key="ir.DictAttrs"), infos


def _operator_call(node: Node, name: str) -> e.Call:
    args, fields = node.exprs("args"), node.value("attrs")
    if fields is not None and not isinstance(fields, Mapping):
        raise node.wrong("attrs", "attributes", fields)
    place = _FORMATS.get(name, len(args))
    format = args[place] if place < len(args) else None
    if isinstance(format, e.StringImm):  # a keyword in a text
        fields = {**(fields or {}), "format": format.value}
        args = (*args[:place], *args[place + 1 :])
    _check_arguments(node, name, len(args))
    return e.Call(e.op_ref(name), args, call_attrs(name, fields), _types(node))


def _check_arguments(node: Node, name: str, count: int) -> None:
    """Refuse a call with too few or too many arguments, as the reader of texts does."""
    op = find_op(name)
    least, most = (2, 3) if name in _CALLS else (0, count)
    if op is not None and not op.variadic and name not in _CALLS:
        least, most = sum([q.required for q in op.operands]), len(op.operands)
    if not least <= count <= most:
        raise Damaged(f"{node.described} calls {name} with {count} arguments")


def _is_of_prim_func(node: Node) -> bool:
    """True if every argument is a scalar, so the call may stand in a PrimFunc."""
    return all(isinstance(value, p.PrimExpr) for value in node.of("args", tuple))


def _types(node: Node) -> tuple[s.StructInfo, ...]:
    return () if node.value("ty_args") is None else node.several("ty_args", s.StructInfo)


def _if(node: Node) -> e.If:
    then, other = [node.sole(node.of(name, e.SeqExpr)) for name in ("true_branch", "false_branch")]
    return e.If(node.expr("cond"), then, other)


def _bound(node: Node) -> e.Var:
    """The variable of a binding."""
    var = node.value("var")
    if not isinstance(var, e.Var):
        raise node.wrong("var", "a variable of Relax", var)
    return var


def _binding(node: Node) -> e.VarBinding:
    var, value = _bound(node), node.bound("value")
    scalar = value.value if isinstance(value, e.PrimValue) else node.decoded.scalar(value)
    if isinstance(scalar, p.PrimExpr) and scalar.size <= s.MOST_WRITTEN:
        node.decoded.scalars[var] = scalar
    return e.VarBinding(var, value, var.struct_info)


def _match_cast(node: Node) -> e.MatchCast:
    graph, info = node.decoded.graph, node.of("ty", s.StructInfo)
    claimed = node.decoded.values[graph.field(node.operand("var"), "ty")]
    annotation = claimed if isinstance(claimed, s.StructInfo) else None
    return e.MatchCast(_bound(node), node.expr("value"), info, annotation)


def _block(node: Node) -> e.BindingBlock:
    bindings = node.of("bindings", tuple)
    for binding in bindings:
        if not isinstance(binding, (e.VarBinding, e.MatchCast)):
            raise node.wrong("bindings", "a list of bindings", binding)
        node.sole(binding)
    return (e.DataflowBlock if node.kind == "relax.expr.DataflowBlock" else e.BindingBlock)(bindings)


def _sequence(node: Node) -> e.SeqExpr:
    blocks = tuple(map(node.sole, node.several("blocks", e.BindingBlock)))
    return e.SeqExpr(blocks, node.expr("body"))


def _function(node: Node) -> e.Function:
    params = node.several("params", e.Var)
    ret = node.optional("ret_ty", s.StructInfo)
    found = node.value("body")
    sequence = node.sole(found) if isinstance(found, e.SeqExpr) else e.SeqExpr((), node.expr("body"))
    attrs = node.value("attrs")
    return e.Function(
        params, sequence, ret, node.plain("is_pure", bool), attrs if isinstance(attrs, Attrs) else EMPTY
    )


def note_variables(graph: Graph, decoded: Decoded) -> None:
    """Note which variables are parameters of Relax functions, which are bound, and the pointers of declared buffers."""
    for number, kind in enumerate(graph.kinds):
        if kind == "relax.expr.Function":
            for param in graph.operands(graph.field(number, "params")):
                _once(graph, param, decoded.params)
        elif kind in ("relax.expr.VarBinding", "relax.expr.MatchCast"):
            var = graph.field(number, "var")
            _once(graph, var, decoded.bound)
            if kind == "relax.expr.MatchCast":
                decoded.casts[var] = graph.field(number, "ty")
                graph.more[var] = (decoded.casts[var],)
            elif _says_result(graph, graph.field(number, "value")):
                decoded.unannotated.add(var)
        elif kind == "tirx.DeclBuffer":
            buffer, pointer = graph.field(number, "buffer"), graph.field(number, "data")
            decoded.pointers[buffer] = pointer
            graph.more[buffer] = (pointer,)
        elif kind == "tirx.AllocBuffer":
            buffer, notes = graph.field(number, "buffer"), graph.field(number, "annotations")
            decoded.notes[buffer] = notes
            graph.more[buffer] = (notes,)
    if decoded.params & decoded.bound:
        raise Damaged(
            f"{graph.described(min(decoded.params & decoded.bound))} is a parameter and is bound, too"
        )


def _once(graph: Graph, var: int, bound: set[int]) -> None:
    if var in bound:
        raise Damaged(f"{graph.described(var)} is bound twice")
    bound.add(var)


def _says_result(graph: Graph, value: int) -> bool:
    """True if a value states its StructInfo, so that a text does not repeat it."""
    kind = graph.kinds[value]
    if kind == "ir.Call":
        op = graph.field(value, "op")
        return graph.kinds[op] == "ir.Op" and str(graph.data[op]) in _SAYS_RESULT
    return kind == "relax.expr.Function" or (
        kind == "ir.Tuple" and not graph.items(graph.field(value, "fields"))
    )


READERS: dict[str, Callable[[Node], Any]] = {
    "ir.Op": _operator,
    "ir.Call": _call,
    "ir.Tuple": lambda node: e.Tuple(node.exprs("fields")),
    "ir.TupleGetItem": lambda node: e.TupleGetItem(node.expr("tuple_value"), node.plain("index", int)),
    "ir.GenericConst": _constant,
    "relax.expr.ExternFunc": _extern,
    "relax.expr.ShapeExpr": lambda node: e.ShapeExpr(node.prims("values")),
    "relax.expr.If": _if,
    "relax.expr.VarBinding": _binding,
    "relax.expr.MatchCast": _match_cast,
    "relax.expr.BindingBlock": _block,
    "relax.expr.DataflowBlock": _block,
    "relax.expr.SeqExpr": _sequence,
    "relax.expr.Function": _function,
}


# -- json module -----------------------------------------------------------------------------------------------------


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
    note_variables(graph, decoded)
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
            raise Damaged(f"{node.described} has two functions named {key.name!r}")
        functions[key.name] = _named(node.sole(function), key.name)
    printed = sorted(functions.items(), key=lambda item: (not isinstance(item[1], PrimFunc), item[0]))
    attrs = node.value("attrs")
    infos = {str(key): _places(node, value) for key, value in node.of("global_infos", dict).items()}
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


def _places(node: Node, values: object) -> tuple[Verbatim, ...]:
    """The devices, meshes and dummies of a list of global infos, as text."""
    members, places = values if isinstance(values, tuple) else (values,), []
    for item in members:
        if not isinstance(item, (Device, Mesh, Dummy)):
            raise node.wrong("global_infos", "a map of lists of devices and meshes", item)
        places.append(Verbatim(item.text))
    return tuple(places)


class _Readers:
    """All readers by the class of node; attributes of operators share one."""

    def get(self, kind: str, /) -> Callable[[Node], Any] | None:
        """The reader of a class of nodes."""
        return _BY_CLASS.get(kind) or json_types.attrs_reader(kind)


_BY_CLASS: dict[str, Callable[[Node], Any]] = {
    **json_types.READERS, **json_statements.SCALAR_READERS, **json_types.CONSTANT_READERS, **json_types.PLACE_READERS, **READERS,
    **json_statements.READERS, "ir.IRModule": _ir_module,
}  # fmt: skip
_READERS = _Readers()
