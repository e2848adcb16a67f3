"""Prints Relax expressions as TVMScript text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import EMPTY, Attrs, Verbatim
from relax_explorer.core.ir.dtype import BOOL, INT64, DType, from_numpy
from relax_explorer.core.ir.index_map import IndexMap
from relax_explorer.core.ir.prim_text import Named, PrimText, float_text, quoted
from relax_explorer.core.ir.struct_info import Sharding, StructInfoText
from relax_explorer.core.ir.walk import operands
from relax_explorer.core.ops import find as find_op
from relax_explorer.core.ops.kit.decl import Kind
from relax_explorer.core.syntax import index_maps
from relax_explorer.core.syntax.dialects import MISSING, Dialect
from relax_explorer.core.syntax.names import Names, function_name
from relax_explorer.core.syntax.parse_forms import CALL_FORMS, PACKED_FORMS

_Writers = dict[type, Callable[[Any], str]]


class Constants:
    """The constants of a module, except scalars. They are printed as entries of the metadata block.

    If some have no data (`lacks`), their numbers refer to a lost block. With `apart`, they get a separate key.
    """

    def __init__(self, apart: bool = False) -> None:
        self.apart, self.lacks = apart, False
        self.arrays: list[Any] = []
        self._index: dict[int, int] = {}

    def index(self, array: object) -> int:
        """The number of an array's entry. The same array object has one entry."""
        number = self._index.get(id(array))
        if number is None:
            number = self._index[id(array)] = len(self.arrays)
            self.arrays.append(array)
        return number


class ExprText:
    """Prints the expressions of one function in one dialect."""

    def __init__(
        self,
        names: Names,
        dialect: Dialect,
        constants: Constants,
        module_alias: str = "cls",
        annotate: bool = True,
    ) -> None:
        self.names, self.dialect, self.constants, self.module_alias = names, dialect, constants, module_alias
        self.annotate = annotate  # True if bindings have StructInfo annotations
        self.mentioned: dict[p.PrimVar, None] = {}  # the shape variables in the written text, in order
        self.scalars: set[p.PrimExpr] = set()  # the values of scalar parameters
        self.prim = PrimText(self._shape_var)
        self.info = StructInfoText(self.prim, names, dialect.object_name, dialect.old, for_tvm=True)
        self.signature = StructInfoText(
            self.prim,
            names,
            dialect.object_name,
            dialect.old,
            quote=True,
            quote_all=dialect.old,
            for_tvm=True,
        )
        self._infos: dict[s.StructInfo, str] = {}
        self._written: dict[int, str] = {}
        plain: _Writers = {node_type: partial(rule, self) for node_type, rule in _WRITERS.items()}
        self._plain = self._writers = plain | dict.fromkeys(_VARS, names.__getitem__)
        # The writers for nested expressions with known texts. They are separate, since most operands are variables.
        self._of_nested = self._plain | {
            node_type: partial(_or_written, self, plain[node_type]) for node_type in _NESTING
        }
        self._attrs: dict[Attrs, str] = {}
        self.heads: dict[e.Expr, str] = {}  # `R.add(` for each operator without a form of its own

    def _shape_var(self, var: Named) -> str:
        if isinstance(var, p.PrimVar):
            self.mentioned[var] = None
        return self.names(var)

    def forget(self) -> None:
        """Clear the caches at the end of a nested function, so that shape variables in StructInfo are recorded again."""
        self._infos.clear()
        self._attrs.clear()

    def info_text(self, info: s.StructInfo) -> str:
        """A StructInfo in the body of the function."""
        text = self._infos.get(info)
        if text is None:
            text = self._infos[info] = self.info.write(info)
        return text

    def write(self, expr: e.Expr) -> str:
        """`expr` as text. Nested expressions are written first, inside out, so that any depth works."""
        if type(expr) is e.Call and expr.op in self.heads and not expr.sinfo_args:
            args = expr.args
            if args and _VARS.issuperset(map(type, args)):  # most lines are such calls
                attrs = expr.attrs
                keywords = "" if attrs is EMPTY else self._attrs.get(attrs) or self.attrs(attrs, expr.op)
                return f"{self.heads[expr.op]}{', '.join(map(self.names.__getitem__, args))}{keywords})"
        if self._writers is self._plain and type(expr) in _NESTING:
            inner = expr.args if type(expr) is e.Call else operands(expr)
            if not _DEEP.isdisjoint(map(type, inner)):
                return self._inside_out(expr)
        return self._writers[type(expr)](expr)

    def _inside_out(self, expr: e.Expr) -> str:
        self._writers = self._of_nested
        for inner in _nested(expr):
            self._written[id(inner)] = self._writers[type(inner)](inner)
        text = self._writers[type(expr)](expr)
        self._writers = self._plain
        self._written.clear()
        return text

    def written(self, expr: e.Expr) -> str | None:
        """The text of a nested expression if it was already written. It is returned only once."""
        return self._written.pop(id(expr), None)

    def listed(self, exprs: tuple[e.Expr, ...]) -> str:
        """Expressions separated by commas."""
        writers = self._writers
        return ", ".join([writers[type(expr)](expr) for expr in exprs])

    def constant(self, value: object) -> str:
        """A compile-time constant of an attribute."""
        writer = _CONSTANTS.get(type(value))
        if writer is not None:
            return writer(self, value)
        if isinstance(value, p.PrimExpr):
            return self.prim.write(value)
        if isinstance(value, s.StructInfo):
            return self.info_text(value)
        raise TypeError(f"no text form for an attribute of type {type(value).__name__}")

    def attrs(self, attrs: Attrs, op: e.Expr) -> str:
        """The attributes of a call of `op` as keyword arguments, with a comma before each."""
        text = self._attrs.get(attrs)
        if text is None:
            left_out, is_dtype = self.dialect.left_out, _dtype_attributes(op)
            is_unnamed = _is_unnamed(op)
            text = "".join(
                [
                    f", {'' if is_unnamed else f'{name}='}{(self.constant if name in is_dtype else partial(_free, self))(value)}"
                    for name, value in attrs.items()
                    if value != () or name not in left_out
                ]
            )
            if not is_unnamed and DType not in map(type, attrs.values()):  # operators write these differently
                self._attrs[attrs] = text
        return text

    def infos(self, infos: tuple[s.StructInfo, ...]) -> str:
        """StructInfo arguments as a Python tuple."""
        # TVM prints a scalar there as `T.int64`, but reads only the longer form.
        texts = [
            self.info.part(info) if type(info) is s.PrimStructInfo else self.info_text(info) for info in infos
        ]
        inner = ", ".join(texts)
        return f"({inner},)" if len(infos) == 1 else f"({inner})"


def _dtype_attributes(op: e.Expr) -> frozenset[str]:
    """The attributes of an operator that read a string as a dtype."""
    declared = find_op(op.name) if type(op) is e.OpRef else None
    names = () if declared is None else [q.name for q in declared.attributes if q.kind is Kind.DTYPE]
    return frozenset(names)


def _is_unnamed(op: e.Expr) -> bool:
    declared = find_op(op.name) if type(op) is e.OpRef else None
    return declared is not None and declared.unnamed


def _tuple(out: ExprText, expr: e.Tuple) -> str:
    if not expr.fields:
        return "R.tuple()"
    inner = out.listed(expr.fields)
    return f"({inner},)" if len(expr.fields) == 1 else f"({inner})"


def _extern(out: ExprText, expr: e.ExternFunc) -> str:
    info = expr.struct_info
    has_signature = isinstance(info, s.FuncStructInfo) and info.params is not None
    return f"R.ExternFunc({quoted(expr.name)}{f', {out.info_text(info)}' if has_signature and info else ''})"


def _constant(out: ExprText, expr: e.Constant) -> str:
    if expr.data is None:
        key, _, index = expr.key.rpartition("[")
        out.constants.lacks = True
        return f"metadata[{quoted(key + MISSING * out.constants.apart)}][{index}" if key else expr.key
    if expr.struct_info is not None and _is_spread(expr.struct_info):
        return f"R.dist.const({_nested_text(expr.data)}, {out.info_text(expr.struct_info)})"
    if expr.data.ndim == 0:
        return f"R.const({scalar_text(expr.data[()])}, {quoted(from_numpy(expr.data.dtype).name)})"
    return f'metadata["{out.dialect.constant_key}"][{out.constants.index(expr.data)}]'


def _nested_text(array: Any) -> str:
    if array.ndim == 0:
        return scalar_text(array[()])
    return f"[{', '.join([_nested_text(row) for row in array])}]"


def scalar_text(value: np.number[Any] | np.bool_) -> str:
    """A numpy scalar as a Python literal that reads back bit for bit."""
    if isinstance(value, np.bool_):
        return str(bool(value))
    if isinstance(value, np.integer) or type(value).__name__ in ("int4", "uint4", "int2", "uint2"):
        return str(int(value))
    return float_text(float(value))


def _prim_value(out: ExprText, expr: e.PrimValue) -> str:
    if isinstance(expr.value, p.FloatImm) and _is_open(expr):
        return repr(expr.value.value)
    return out.prim.write(expr.value) if out.dialect.bare_prims else _spelled_scalar(out, expr)


def _spelled_scalar(out: ExprText, expr: e.PrimValue) -> str:
    """A scalar that is not taken for another value. The name of a scalar parameter is the parameter itself."""
    text = out.prim.write(expr.value)
    return text if expr.value in out.scalars else f"R.prim_value({text})"


def _call(out: ExprText, expr: e.Call) -> str:
    op = expr.op
    if type(op) is e.OpRef:
        name = op.name.removeprefix("relax.")
        if name in _CALL_WRITERS:
            return _CALL_WRITERS[name](out, expr, name)
        arguments = _arguments(out, expr)
        if name == op.name:  # a user's operator, without the prefix
            return f"R.op({quoted(name)}, {arguments})" if arguments else f"R.op({quoted(name)})"
        out.heads[op] = f"R.{name}("
        return f"R.{name}({arguments})"
    if type(op) is e.ExternFunc:
        first = quoted(op.name)
        arguments = _arguments(out, expr)
        return f"R.call_packed({first}, {arguments})" if arguments else f"R.call_packed({first})"
    return f"{out.write(op)}({_arguments(out, expr)})"


def _spells_numbers(expr: e.Call) -> bool:
    """True if a bare number would not read back: it would become a shape, or TVM would reject it."""
    if type(expr.op) is not e.OpRef:
        return type(expr.op) is not e.ExternFunc
    op = find_op(expr.op.name)
    if op is not None and op.takes_numbers:
        return any(
            _takes_another_dtype(arg, other) for arg, other in zip(expr.args, expr.args[::-1], strict=True)
        )
    return op is not None and any(
        type(arg) is e.PrimValue and q.kind is Kind.SHAPE
        for arg, q in zip(expr.args, op.operands, strict=False)
    )


def _takes_another_dtype(arg: e.Expr, other: e.Expr) -> bool:
    """True for an integer that would be read with the dtype of the other operand, if it were written as a number."""
    info = other.struct_info
    kind = info.dtype if isinstance(info, (s.TensorStructInfo, s.PrimStructInfo)) else None
    is_number = type(arg) is e.PrimValue and type(arg.value) is p.IntImm and arg.value.dtype is INT64
    return (
        is_number and not _is_open(arg) and kind not in (None, INT64, BOOL) and type(other) is not e.PrimValue
    )


def _is_open(arg: e.Expr) -> bool:
    """True for a number as the text has it, whose dtype the other operand decides."""
    return type(arg.struct_info) is s.PrimStructInfo and arg.struct_info.value is None


def _spelled(out: ExprText, args: Sequence[e.Expr]) -> str:
    """Arguments with numbers written as `R.prim_value(…)`."""
    return ", ".join(
        [_spelled_scalar(out, arg) if type(arg) is e.PrimValue else out.write(arg) for arg in args]
    )


def _arguments(out: ExprText, expr: e.Call) -> str:
    args = expr.args
    if _VARS.issuperset(map(type, args)):
        text = ", ".join(map(out.names.__getitem__, args))
    elif e.PrimValue in map(type, args) and _spells_numbers(expr):
        text = _spelled(out, args)
    else:
        text = out.listed(args)
    if expr.attrs is not EMPTY:
        text += out.attrs(expr.attrs, expr.op)
    if expr.sinfo_args:
        text += f", {out.dialect.args_keyword}={out.infos(expr.sinfo_args)}"
    return text if args else text.removeprefix(", ")


def _call_form(out: ExprText, expr: e.Call, name: str) -> str:
    func, args, *lengths = expr.args
    if name == "call_tir" and any(map(_is_spread, expr.sinfo_args)):
        name = "dist.call_tir"
    callee = quoted(func.name) if type(func) is e.ExternFunc else out.write(func)
    info = expr.sinfo_args[0] if expr.sinfo_args else s.OBJECT
    if type(info) is s.TupleStructInfo and len(info.fields) != 1:  # a list of one is read as its element
        out_text = f"[{', '.join([out.info_text(field) for field in info.fields])}]"
    else:
        out_text = out.info_text(info)
    text = f"R.{name}({callee}, {out.write(args)}, {out.dialect.out_keyword}={out_text}{out.attrs(expr.attrs, expr.op)}"
    return text + (f", tir_vars={out.write(lengths[0])})" if lengths else ")")


def _is_spread(info: s.StructInfo) -> bool:
    """True if a tensor, or a field of a tuple, is distributed."""
    if isinstance(info, s.TupleStructInfo):
        return any(map(_is_spread, info.fields))
    return isinstance(info, s.TensorStructInfo) and type(info.vdevice) is Sharding


def _packed_form(out: ExprText, expr: e.Call, name: str) -> str:
    func = expr.args[0]
    callee = quoted(func.name) if type(func) is e.ExternFunc else out.write(func)
    arguments = out.listed(expr.args[1:])
    text = f"R.{name}({callee}" + (f", {arguments}" if arguments else "") + out.attrs(expr.attrs, expr.op)
    infos = out.infos(expr.sinfo_args)
    if name == "call_inplace_packed" and s.OBJECT in expr.sinfo_args:  # TVM does not accept a bare name here
        called = [out.info_text(info) + "()" * (info is s.OBJECT) for info in expr.sinfo_args]
        infos = f"[{', '.join(called)}]"
    return text + (f", {out.dialect.args_keyword}={infos})" if expr.sinfo_args else ")")


_CALL_WRITERS: dict[str, Callable[[ExprText, e.Call, str], str]] = {
    **dict.fromkeys(CALL_FORMS, _call_form),
    **dict.fromkeys(PACKED_FORMS, _packed_form),
}

_NESTING = frozenset({e.Call, e.Tuple, e.TupleGetItem})
_DEEP = frozenset({e.Call, e.TupleGetItem})
_VARS = frozenset({e.Var, e.DataflowVar})


def _nested(expr: e.Expr) -> list[e.Expr]:
    """The calls, tuples and fields inside `expr`, innermost first."""
    inside: list[e.Expr] = []
    stack = [inner for inner in operands(expr) if type(inner) in _NESTING]
    while stack:
        inner = stack.pop()
        inside.append(inner)
        stack.extend([deeper for deeper in operands(inner) if type(deeper) in _NESTING])
    return inside[::-1]


def _or_written(out: ExprText, writer: Callable[[Any], str], expr: e.Expr) -> str:
    text = out.written(expr)
    return writer(expr) if text is None else text


_WRITERS: dict[type, Callable[[ExprText, Any], str]] = {
    e.GlobalVar: lambda out, x: f"{out.module_alias}.{function_name(x.name)}",
    e.ExternFunc: _extern,
    e.OpRef: lambda out, x: f"R.{x.name.removeprefix('relax.')}",
    e.Constant: _constant,
    e.ShapeExpr: lambda out, x: f"R.shape([{out.prim.listed(x.values)}])",
    e.PrimValue: _prim_value,
    e.StringImm: lambda out, x: f"R.str({quoted(x.value)})",
    e.DataTypeImm: lambda out, x: f'R.dtype("{x.value}")',
    e.Tuple: _tuple,
    e.TupleGetItem: lambda out, x: f"{out.write(x.tuple)}[{x.index}]",
    e.Call: _call,
}


def _mapping_text(out: ExprText, value: Attrs) -> str:
    return "{" + ", ".join([f"{quoted(key)}: {_free(out, value[key])}" for key in sorted(value)]) + "}"


def _free(out: ExprText, value: object) -> str:
    """A constant that is not declared as a dtype. A dtype is written such that it does not read back as a string."""
    return f'R.dtype("{value}")' if isinstance(value, DType) else out.constant(value)


def _float_constant(out: ExprText, value: float) -> str:
    text = float_text(value)
    return f"float({text})" if text.startswith('"') else text


_CONSTANTS: dict[type, Callable[[ExprText, Any], str]] = {
    type(None): lambda out, value: "None",
    bool: lambda out, value: str(value),
    int: lambda out, value: str(value),
    float: _float_constant,
    str: lambda out, value: quoted(value),
    Verbatim: lambda out, value: str(value),
    tuple: lambda out, value: f"[{', '.join([_free(out, item) for item in value])}]",
    Attrs: _mapping_text,
    IndexMap: lambda out, value: index_maps.write(value, out._shape_var),
    DType: lambda out, value: f'"{value}"',
}
