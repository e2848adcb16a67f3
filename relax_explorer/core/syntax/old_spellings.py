"""Translates what only texts of 2022 wrote, before StructInfo, into the spellings of later texts, at the same places.

Each row of `_ROWS` is one spelling. A spelling that is not worth reading is reported once, with the era and the new spelling.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any, TypeVar

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.codes.well_formedness import IMPURE_IN_PURE
from relax_explorer.core.diagnostics import Report, Severity
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import exprs
from relax_explorer.core.ops import find
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.syntax.context import UNREADABLE, Context
from relax_explorer.core.syntax.dialects import EARLY
from relax_explorer.core.syntax.python_tree import dotted

_Node = TypeVar("_Node", bound=ast.AST)
_TYPES = frozenset({"Tensor", "DynTensor", "Shape", "Object", "Tuple", "Callable", "Prim"})
_INFOS = frozenset({"R.Tensor", "R.Tuple", "R.Shape", "R.Callable"})
_LISTS = (ast.Tuple, ast.List)


class Names:
    """The names that a text binds, and the shapes among their values."""

    def __init__(self, nodes: list[ast.AST]) -> None:
        stored = [name for node in nodes for name in _stored(node)]
        self.own = set(stored)
        self._shapes = {
            name: node.value
            for node in nodes
            if isinstance(node, ast.AnnAssign) and isinstance(node.value, _LISTS)
            for name in _stored(node.target)
            if stored.count(name) == 1
        }

    def shape(self, node: ast.expr) -> ast.expr:
        """The lengths of a shape that a name holds, or the node itself."""
        held = self._shapes.get(node.id) if isinstance(node, ast.Name) else None
        return node if held is None else ast.copy_location(ast.Tuple(deepcopy(held.elts), ast.Load()), node)


def translated(tree: ast.Module, ctx: Context) -> ast.Module:
    """The tree with the spellings of later texts."""
    if ctx.dialect is not EARLY:
        return tree
    nodes = list(ast.walk(tree))
    names = Names(nodes)
    for node in reversed(nodes):  # operands first
        for name, value in ast.iter_fields(node):
            if isinstance(value, list):
                value[:] = [
                    _changed(item, ctx, names) if isinstance(item, ast.AST) else item for item in value
                ]
            elif isinstance(value, ast.AST):
                setattr(node, name, _changed(value, ctx, names))
        _signature(node)
        _outputs(node)
    return tree


def _stored(node: ast.AST) -> Iterable[str]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return (node.id,)
    return (node.name,) if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else ()


def _changed(node: ast.AST, ctx: Context, names: Names) -> ast.AST:
    for row in _ROWS.get(type(node), ()):
        node = row(node, ctx, names)
    return node


def _placed(new: _Node, old: ast.AST) -> _Node:
    """A new node, and those of its parts that have no place, at the place of an old one."""
    for part in ast.walk(new):
        if "lineno" in part._attributes and not hasattr(part, "lineno"):
            ast.copy_location(part, old)
    return new


def _named(name: str) -> ast.expr:
    head, _, rest = name.partition(".")
    return ast.Attribute(ast.Name(head, ast.Load()), rest, ast.Load()) if rest else ast.Name(head, ast.Load())


def _refused(node: ast.AST, ctx: Context, written: str, new: str) -> ast.expr:
    """Report a spelling that is not read, and return a placeholder, which causes no further problems."""
    ctx.say(codes.OLD_SPELLING, f"{written} is {EARLY.title}: write {new}", node, help=f"write {new}")
    placeholder: ast.expr = ast.copy_location(ast.Name(UNREADABLE, ast.Load()), node)
    return placeholder


# -- expressions ------------------------------------------------------------------------------------------------------


def _bare_type(node: ast.Name, ctx: Context, names: Names) -> ast.expr:
    """`Tensor` is `R.Tensor`."""
    if node.id not in _TYPES or node.id in names.own or not isinstance(node.ctx, ast.Load):
        return node
    name = f"R.{node.id.removeprefix('Dyn')}"
    ctx.refuse(codes.UNDEFINED, f"{node.id!r} is not defined in TVM 0.27", node, help=f"write {name}")
    result: ast.expr = _placed(_named(name), node)
    return result


def _subscripted(node: ast.Subscript, ctx: Context, names: Names) -> ast.expr:
    """`T.Buffer[(3, 5), "float32"]` and `R.Tensor[(n, k), "float32"]` are calls."""
    name = dotted(node.value)
    if name not in ("T.Buffer", "T.buffer_decl") and name not in _INFOS:
        return node
    items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    text, help = f"{name} takes its parts in parentheses in TVM 0.27", f"write {name}(…)"
    ctx.refuse(codes.BAD_ANNOTATION, text, node, help=help)
    is_shape = name == "R.Shape" or (
        name != "R.Tuple" and name != "R.Callable" and not any(map(_is_apart, items))
    )
    if is_shape and isinstance(node.slice, ast.Tuple):
        items = [node.slice]  # `X[(2, 3)]` and `X[2, 3]` are one tree
    call: ast.expr = _placed(ast.Call(_named(name), list(items), []), node)
    return _typed(call, ctx, names) if isinstance(call, ast.Call) else call


def _is_apart(node: ast.expr) -> bool:
    """True for an argument beside others: a shape in parentheses, or a dtype."""
    return isinstance(node, _LISTS) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _typed(node: ast.Call, ctx: Context, names: Names) -> ast.Call:
    """A shape with an unknown length, `_`, says its rank alone; the shape `_` says nothing."""
    if dotted(node.func) != "R.Tensor" or not node.args:
        return node
    shape = node.args[0]
    unknown = _is_hole(shape)
    if unknown or (isinstance(shape, _LISTS) and any(map(_is_hole, shape.elts))):
        del node.args[0]
        node.keywords[:0] = [ast.keyword("dtype", value) for value in node.args]
        node.args.clear()
        if isinstance(shape, _LISTS) and not any(keyword.arg == "ndim" for keyword in node.keywords):
            node.keywords.append(ast.keyword("ndim", ast.Constant(len(shape.elts))))
        _placed(node, node)
    return node


def _is_hole(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "_"


_RENAMED = {"T.buffer_decl": "T.Buffer", "R.dot": "R.matmul", "R.shape_of_tensor": "R.shape_of"}


def _call(node: ast.Call, ctx: Context, names: Names) -> ast.expr:
    name = dotted(node.func)
    if name in _RENAMED:
        node.func = _placed(_named(_RENAMED[name]), node.func)
    if name == "T.var":
        return _variable(node, ctx)
    if name == "R.call_tir":
        return _call_tir(node, ctx, names)
    return _typed(node, ctx, names)


def _variable(node: ast.Call, ctx: Context) -> ast.expr:
    """`T.var("int64")` is `T.int64()`."""
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    if len(given) != 1 or not isinstance(given[0], ast.Constant) or not isinstance(given[0].value, str):
        return _refused(node, ctx, "this form of T.var", "n = T.int64()")
    result: ast.expr = _placed(ast.Call(_named(f"T.{given[0].value}"), [], []), node)
    return result


def _call_tir(node: ast.Call, ctx: Context, names: Names) -> ast.expr:
    """`R.call_tir(f, x, (n, 4), dtype="float32")` states shape and dtype of its result, or several of each."""
    arguments = {keyword.arg: keyword.value for keyword in node.keywords}
    dtype = arguments.get("dtype")
    if dtype is None:
        return node
    shape = node.args[2] if len(node.args) > 2 else arguments.get("output_shape", arguments.get("shape"))
    if shape is None or len(node.args) > 3:
        return _refused(
            node, ctx, "this form of R.call_tir", 'R.call_tir(f, (x,), out_ty=R.Tensor((n,), "float32"))'
        )
    shape = names.shape(shape)
    shapes = shape.elts if isinstance(dtype, _LISTS) and isinstance(shape, _LISTS) else [shape]
    dtypes = dtype.elts if isinstance(dtype, _LISTS) else [dtype]
    if len(shapes) != len(dtypes):
        return _refused(
            node, ctx, "R.call_tir with as many dtypes as shapes", "one R.Tensor for each result in out_ty"
        )
    infos: list[ast.expr] = [
        ast.Call(_named("R.Tensor"), [one], [ast.keyword("dtype", kind)])
        for one, kind in zip(shapes, dtypes, strict=True)
    ]
    out = ast.List(infos, ast.Load()) if isinstance(dtype, _LISTS) else infos[0]
    kept = [keyword for keyword in node.keywords if keyword.arg not in ("dtype", "output_shape", "shape")]
    result: ast.expr = _placed(
        ast.Call(node.func, node.args[:2], [ast.keyword("out_sinfo", out), *kept]), node
    )
    return result


# -- statements -------------------------------------------------------------------------------------------------------


def _shape_value(node: ast.AnnAssign, ctx: Context, names: Names) -> ast.stmt:
    """`s: R.Shape = (n, 4)` binds a shape."""
    is_shape = dotted(node.annotation) == "R.Shape"
    if is_shape and isinstance(node.value, _LISTS):
        node.value = _placed(
            ast.Call(_named("R.shape"), [ast.List(node.value.elts, ast.Load())], []), node.value
        )
    return node


_LOOPS = frozenset({"T.grid", "T.serial", "T.parallel", "T.vectorized", "T.unroll"})


def _loop(node: ast.With, ctx: Context, names: Names) -> ast.stmt:
    """`with T.grid(n) as i:` is a loop; blocks whose head lists their axes are not read."""
    item = node.items[0]
    call = item.context_expr
    name = dotted(call.func) if isinstance(call, ast.Call) else ""
    if (
        isinstance(call, ast.Call)
        and name in _LOOPS
        and len(node.items) == 1
        and item.optional_vars is not None
    ):
        target = item.optional_vars
        loop: ast.stmt = _placed(ast.For(target, call, node.body, [], None), node)
        return loop
    if isinstance(call, ast.Call) and name in ("T.block", "tir.block") and item.optional_vars is not None:
        new = 'with T.sblock("name"): and vi = T.axis.spatial(n, i)'
        _refused(call, ctx, "a block whose head lists its axes", new)
        empty: ast.stmt = ast.copy_location(ast.Pass(), node)
        return empty
    return node


def _signature(node: ast.AST) -> None:
    """Names in the types of parameters declare lengths: they are quoted in later texts."""
    if not isinstance(node, ast.FunctionDef) or not any(
        dotted(_callee(item)) == "R.function" for item in node.decorator_list
    ):
        return
    scalars = {arg.arg for arg in node.args.args}
    for annotation in [*(arg.annotation for arg in node.args.args), node.returns]:
        for part in ast.walk(annotation) if annotation is not None else ():
            if isinstance(part, ast.Call) and dotted(part.func) in ("R.Tensor", "R.Shape"):
                for shape in part.args[:1]:
                    if isinstance(shape, _LISTS):
                        shape.elts = [_quoted(item, scalars) for item in shape.elts]


def _callee(node: ast.expr) -> ast.expr:
    return node.func if isinstance(node, ast.Call) else node


def _quoted(node: ast.expr, scalars: set[str]) -> ast.expr:
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)} - {"T", "tir"}
    if not names or names & scalars or UNREADABLE in names:
        return node
    return ast.copy_location(ast.Constant(ast.unparse(node)), node)


def _outputs(node: ast.AST) -> None:
    """A dataflow block without R.output: what is read after it are its outputs."""
    body = getattr(node, "body", None)
    if not isinstance(body, list):
        return
    for number, statement in enumerate(body):
        if (
            not isinstance(statement, ast.With)
            or dotted(_callee(statement.items[0].context_expr)) != "R.dataflow"
        ):
            continue
        if any(
            isinstance(part, ast.Attribute) and dotted(part) == "R.output" for part in ast.walk(statement)
        ):
            continue
        bound = [name for inner in statement.body for part in ast.walk(inner) for name in _stored(part)]
        read = {
            part.id for after in body[number + 1 :] for part in ast.walk(after) if isinstance(part, ast.Name)
        }
        kept: list[ast.expr] = [ast.Name(name, ast.Load()) for name in dict.fromkeys(bound) if name in read]
        if kept:
            output = ast.Expr(ast.Call(_named("R.output"), kept, []))
            statement.body.append(_placed(output, statement.body[-1]))


_ROWS: dict[type, tuple[Callable[[Any, Context, Names], Any], ...]] = {
    ast.Name: (_bare_type,),
    ast.Subscript: (_subscripted,),
    ast.Call: (_call,),
    ast.AnnAssign: (_shape_value,),
    ast.With: (_loop,),
}


# -- python names ----------------------------------------------------------------------------------------------------
# Translates names of TVM's Python API, such as `relax.op.add(x, y)` or `relax.const(1.0)`, into names of TVMScript.


# What stands before the name is looked at behind it: a search for a pattern that begins with a word takes a fortieth of the time.
_USED = re.compile(r"relax\.(?:(?<![\w.\"']relax\.)|(?<=tvm\.relax\.)(?<![\w.\"']tvm\.relax\.))[A-Za-z_]")
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
    return _USED.search(text) is not None


def with_short_names(tree: ast.Module) -> ast.Module:
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


# -- unmarked --------------------------------------------------------------------------------------------------------
# Marks the functions of texts from before functions had a purity: those whose calls may have effects are not pure.
# So later dialects print the marks that they need.


_FORCED = ("relax.force_pure", "force_pure", "pure")


def marked(module: IRModule, report: Report) -> IRModule:
    """The module with `pure=False` on each function that says nothing, and may have an effect, itself or by what it calls.

    TVM 0.27 takes such a function as pure, and refuses it; `report` gets a note of each.
    """
    callers: dict[str, list[str]] = {}
    impure: list[str] = []
    for name, fn in module.relax_functions.items():
        for expr in exprs(fn):
            if isinstance(expr, e.GlobalVar):
                callers.setdefault(expr.name, []).append(name)
        if _says_nothing(fn) and any(map(_has_effect, exprs(fn))):
            impure.append(name)
    found = set(impure)
    while impure:
        for caller in callers.get(impure.pop(), ()):
            if caller not in found and _says_nothing(module.relax_functions[caller]):
                found.add(caller)
                impure.append(caller)
    for name in found:
        text, place = (
            f"TVM 0.27 takes {name!r} as pure, but it may have a side effect",
            module.functions[name],
        )
        fix = IMPURE_IN_PURE.fix
        report.say(IMPURE_IN_PURE, text, place, help=fix, severity=Severity.NOTE, tvm_only=True)
    changed = {name: replace(fn, pure=False) for name, fn in module.relax_functions.items() if name in found}
    return module.having({**module.functions, **changed})


def _says_nothing(fn: e.Function) -> bool:
    return fn.pure is None and not any(name in fn.attrs for name in _FORCED)


def _has_effect(expr: e.Expr) -> bool:
    if not isinstance(expr, e.Call):
        return False
    if isinstance(expr.op, e.OpRef):
        op = find(expr.op.name)
        return op is not None and not op.pure
    return isinstance(expr.op, e.ExternFunc) and expr.attrs.get("pure") is not True
