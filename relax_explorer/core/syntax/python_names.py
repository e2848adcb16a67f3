"""Translates names of TVM's Python API, such as `relax.op.add(x, y)` or `relax.const(1.0)`, into names of TVMScript."""

from __future__ import annotations

import ast
import re

_USED = re.compile(r"(?<![\w.\"'])(?:tvm\.)?relax\.[A-Za-z_]")
_MEANT = {
    "ShapeExpr": "shape", "PrimValue": "prim_value", "StringImm": "str", "DataTypeImm": "dtype",
    **{
        f"{kind}{end}": name
        for end in ("StructInfo", "Type")
        for kind, name in {
            "Tensor": "Tensor", "Shape": "Shape", "Tuple": "Tuple", "Func": "Callable", "Prim": "Prim", "Object": "Object", "Any": "Any",
        }.items()
        if f"{kind}{end}" not in ("ShapeType", "TupleType", "FuncType", "PrimType", "ObjectType")
    },
}  # fmt: skip
# Types of the first specification keep their names, with or without `R.`.


def are_used(text: str) -> bool:
    """True if a text may contain names with `relax.`, outside of strings."""
    return "relax." in text and _USED.search(text) is not None  # the search alone takes long


def translated(tree: ast.Module) -> ast.Module:
    """The tree with translated names at the same places. A local variable `relax` keeps its meaning."""
    stored = (
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )
    return tree if "relax" in stored else _Translation().visit(tree)


class _Translation(ast.NodeTransformer):
    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """`relax.op.nn.relu` is `R.nn.relu`."""
        names = []
        inner: ast.expr = node
        while isinstance(inner, ast.Attribute):
            names.append(inner.attr)
            inner = inner.value
        if not isinstance(inner, ast.Name):
            self.generic_visit(node)
            return node
        path = [inner.id, *reversed(names)]
        if path[:2] == ["tvm", "relax"]:
            path = path[1:]
        if path[0] != "relax" or len(path) == 1:
            return node
        members = path[2:] if path[1] in ("op", "expr") and len(path) > 2 else path[1:]
        translated_node: ast.expr = ast.copy_location(ast.Name("R", ast.Load()), inner)
        for name in (_MEANT.get(members[0], members[0]), *members[1:]):
            translated_node = ast.copy_location(ast.Attribute(translated_node, name, ast.Load()), node)
        return translated_node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """`relax.Tuple([a, b])` is `(a, b)` and `relax.TupleGetItem(t, 0)` is `t[0]`. Other calls are only renamed."""
        called = ast.unparse(node.func) if isinstance(node.func, ast.Attribute) else ""
        self.generic_visit(node)
        plain = called in ("relax.Tuple", "relax.expr.Tuple") and len(node.args) == 1 and not node.keywords
        if plain and isinstance(node.args[0], (ast.List, ast.Tuple)):
            return ast.copy_location(ast.Tuple(node.args[0].elts, ast.Load()), node)
        if called in ("relax.TupleGetItem", "relax.expr.TupleGetItem") and len(node.args) == 2:
            return ast.copy_location(ast.Subscript(node.args[0], node.args[1], ast.Load()), node)
        return node
