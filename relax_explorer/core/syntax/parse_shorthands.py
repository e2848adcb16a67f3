"""Forms of TVM's script that stand for calls of operators: `R.linear(x, w)` is a product, `x.astype("int8")` is a cast."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.syntax.reader import Reader


def _linear(reader: Reader, node: ast.Call) -> ast.expr:
    data, weight, bias, out_dtype = _arguments(reader, node, ("data", "weight"), ("bias", "out_dtype"))
    keywords = [] if out_dtype is None else [ast.keyword("out_dtype", out_dtype)]
    product = _call("R.matmul", [data, _call("R.permute_dims", [weight])], keywords)
    return product if bias is None or _is_none(bias) else _call("R.add", [product, bias])


def _relu6(reader: Reader, node: ast.Call) -> ast.expr:
    (data,) = _arguments(reader, node, ("data",), ())
    return _call("R.clip", [data, ast.Constant(0), ast.Constant(6)])


def _stop_lift_params(reader: Reader, node: ast.Call) -> ast.expr:
    (data,) = _arguments(reader, node, ("data",), ())
    return _call("R.builtin.stop_lift_params", [data])


_SHORTHANDS: dict[str, Callable[[Reader, ast.Call], ast.expr]] = {
    "linear": _linear,
    "nn.relu6": _relu6,
    "stop_lift_params": _stop_lift_params,
}


def is_shorthand(name: str) -> bool:
    """True if an operator's name, without `R.`, stands for calls of others."""
    return name in _SHORTHANDS


def is_method(reader: Reader, func: ast.Attribute) -> bool:
    """True for `astype` of a value, the only method that values have. A function of the module may have this name, too."""
    base = func.value
    is_value = isinstance(reader.names.get(base.id), e.Expr) if type(base) is ast.Name else True
    return func.attr == "astype" and is_value


def read_method(reader: Reader, node: ast.Call, func: ast.Attribute) -> object:
    """A cast that is written as a method of its operand."""
    return _read(reader, node, _call("R.astype", [func.value, *node.args], node.keywords))


def read_shorthand(reader: Reader, node: ast.Call, name: str) -> object:
    """What a shorthand stands for."""
    return _read(reader, node, _SHORTHANDS[name](reader, node))


def _read(reader: Reader, node: ast.Call, written: ast.expr) -> object:
    """The parts that are not written there have the place of the whole, the others their own."""
    for part in ast.walk(written):
        if "lineno" in part._attributes and not hasattr(part, "lineno"):
            ast.copy_location(part, node)
    return reader.read(written)


def _arguments(reader: Reader, node: ast.Call, required: Sequence[str], optional: Sequence[str]) -> list[Any]:
    """The arguments by place or by name, in the order of the names; None for an optional one that is left out."""
    names = [*required, *optional]
    given = dict(zip(names, node.args, strict=False))
    extra = [keyword.arg for keyword in node.keywords if keyword.arg not in names or keyword.arg in given]
    given.update({keyword.arg: keyword.value for keyword in node.keywords if keyword.arg in names})
    if len(node.args) > len(names) or extra or not given.keys() >= set(required):
        shown = ", ".join([*required, *(f"{name}=None" for name in optional)])
        text = f"the arguments of {ast.unparse(node.func)} do not fit"
        raise reader.ctx.fail(codes.BAD_CALL, text, node, help=f"write {ast.unparse(node.func)}({shown})")
    return [given.get(name) for name in names]


def _call(name: str, args: list[ast.expr], keywords: list[ast.keyword] | None = None) -> ast.Call:
    first, *rest = name.split(".")
    func: ast.expr = ast.Name(first, ast.Load())
    for part in rest:
        func = ast.Attribute(func, part, ast.Load())
    return ast.Call(func, args, keywords or [])


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
