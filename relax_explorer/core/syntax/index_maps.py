"""Index maps in TVMScript: `T.index_map(lambda i, j: (j, i // 4, i % 4))`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.ir.index_map import IndexMap, place
from relax_explorer.core.ir.prim_text import Name, PrimText
from relax_explorer.core.syntax.names import Names

if TYPE_CHECKING:
    from relax_explorer.core.syntax.parse_dim import DimReader

NAME = "T.index_map"


def read(info: DimReader, node: ast.expr) -> IndexMap:
    """The map given by a lambda, or by a call of T.index_map with a lambda."""
    if isinstance(node, ast.Lambda):
        return _read_lambda(info, node)
    assert isinstance(node, ast.Call)  # the caller checked its name
    arguments: dict[str, ast.expr] = dict(zip(("mapping", "inverse_index_map"), node.args, strict=False))
    for keyword in node.keywords:
        if keyword.arg not in ("mapping", "inverse_index_map", "index_dtype"):
            raise info.ctx.fail(codes.BAD_CALL, f"T.index_map has no argument {keyword.arg!r}", node)
        arguments[keyword.arg] = keyword.value
    forward, back = arguments.get("mapping"), arguments.get("inverse_index_map")
    if not isinstance(forward, ast.Lambda):
        raise info.ctx.fail(
            codes.BAD_CALL, "T.index_map takes a lambda", node, help="write lambda i, j: (j, i)"
        )
    index_map = _read_lambda(info, forward)
    if isinstance(back, ast.Lambda):
        return IndexMap(index_map.names, index_map.results, _read_lambda(info, back))
    return index_map


def _read_lambda(info: DimReader, node: ast.Lambda) -> IndexMap:
    spec = node.args
    if spec.vararg or spec.kwarg or spec.kwonlyargs or spec.defaults:
        raise info.ctx.fail(codes.BAD_CALL, "an index map names each axis", node, help="write lambda i, j: …")
    names = [arg.arg for arg in (*spec.posonlyargs, *spec.args)]
    places = {name: place(number) for number, name in enumerate(names)}
    outer = info.resolve
    info.resolve = lambda name: places[name] if name in places else outer(name)
    try:
        items = node.body.elts if isinstance(node.body, (ast.Tuple, ast.List)) else [node.body]
        return IndexMap(names, [info.prim(item) for item in items])
    finally:
        info.resolve = outer


def write(index_map: IndexMap, name: Name) -> str:
    """A map as TVM prints it. `name` returns the names of shape variables."""
    back = f", inverse_index_map={_lambda(index_map.inverse, name)}" if index_map.inverse is not None else ""
    return f"{NAME}({_lambda(index_map, name)}{back})"


def _lambda(index_map: IndexMap, name: Name) -> str:
    names = Names({name(var) for var in index_map.free})  # a name of these would shadow a shape variable
    for var, hint in zip(index_map.places, index_map.names, strict=True):
        names.assign(var, hint)
    out = PrimText(lambda var: names[var] if var in names else name(var))
    results = out.listed(index_map.results)
    return f"lambda {', '.join(names.values())}: ({results}{',' if len(index_map.results) == 1 else ''})"
