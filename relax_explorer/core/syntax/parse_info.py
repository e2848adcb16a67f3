"""Reads annotations (StructInfo) and dimensions."""

from __future__ import annotations

import ast
import contextlib
import functools
import re
from collections.abc import Callable
from typing import Any, TypeVar

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.codes import well_formedness as well_formed
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import INT64, DType, dtype, element_type
from relax_explorer.core.ir.expr import Var
from relax_explorer.core.ir.fold import combine
from relax_explorer.core.syntax import parse_types
from relax_explorer.core.syntax.context import UNREADABLE, Context, Skip
from relax_explorer.core.syntax.dialects import OBJECT_NAMES
from relax_explorer.core.syntax.python_text import expression_tree

_C = TypeVar("_C")
PRIM_OPERATORS: dict[type, type[p.Binary]] = {
    ast.Add: p.Add, ast.Sub: p.Sub, ast.Mult: p.Mul, ast.Div: p.Div, ast.FloorDiv: p.FloorDiv, ast.Mod: p.FloorMod,
    ast.Eq: p.EQ, ast.NotEq: p.NE, ast.Lt: p.LT, ast.LtE: p.LE, ast.Gt: p.GT, ast.GtE: p.GE, ast.And: p.And, ast.Or: p.Or,
}  # fmt: skip
PRIM_FUNCTIONS: dict[str, type[p.Binary]] = {
    "max": p.Max, "min": p.Min, "floordiv": p.FloorDiv, "FloorDiv": p.FloorDiv, "floormod": p.FloorMod, "FloorMod": p.FloorMod,
    "truncdiv": p.Div, "Div": p.Div, "truncmod": p.Mod, "Mod": p.Mod, "Add": p.Add, "Sub": p.Sub, "Mul": p.Mul, "Max": p.Max, "Min": p.Min,
    "EQ": p.EQ, "NE": p.NE, "LT": p.LT, "LE": p.LE, "GT": p.GT, "GE": p.GE, "And": p.And, "Or": p.Or,
}  # fmt: skip
OF_ONE_DTYPE = frozenset(
    ("T.bitwise_and", "T.bitwise_or", "T.bitwise_xor", "T.pow", "T.shift_left", "T.shift_right")
)
"""Calls that convert their two operands as operators do."""


def function_of(name: str, a: p.PrimExpr, b: p.PrimExpr) -> p.PrimExpr:
    """What `T.max(a, b)` says; a name of a node, such as `T.Add`, makes just that node, and folds nothing."""
    kind = PRIM_FUNCTIONS[name]
    return kind(a, b) if name[0].isupper() else combine(kind, a, b)


def negated(value: p.PrimExpr) -> p.PrimExpr:
    """What `-value` says, as TVM reads it."""
    signed = value.dtype.is_float or value.dtype.kind == "int"
    return (
        combine(p.Mul, value, p.as_prim(-1, value.dtype))
        if signed
        else p.Sub(p.as_prim(0, value.dtype), value)
    )


def dotted(node: ast.AST) -> str:
    """`a.b.c` as text; empty for anything else."""
    if type(node) is ast.Attribute and type(node.value) is ast.Name:
        return f"{node.value.id}.{node.attr}"
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    parts.append(node.id)
    return ".".join(reversed(parts))


def dtype_of_prefix(name: str) -> DType | None:
    """The dtype in `T.int64`, None for another name."""
    if not name.startswith("T."):
        return None
    try:
        return dtype(name[2:])
    except ValueError:
        return None


def odd_float(node: ast.expr) -> float | None:
    """`float("inf")`, `float("-inf")` or `float("nan")`, which have no literal; None for anything else."""
    if not isinstance(node, ast.Call) or dotted(node.func) != "float" or len(node.args) != 1 or node.keywords:
        return None
    value = node.args[0].value if isinstance(node.args[0], ast.Constant) else None
    return float(value) if value in ("inf", "-inf", "nan") else None


def verbatim(node: ast.expr) -> str:
    """The text of what is kept as it is written; the range of a device mesh is written so that TVM reads it back."""
    return re.sub(r"\b[RT]\.Range\(", "I.Range(", ast.unparse(node))


class InfoReader:
    """Reads annotations in one function.

    `resolve(name)` gives the variable in scope (a Relax Var, a PrimVar, or None); in a signature an unknown name in a
    quoted dimension, or a module-level TypeVar, makes a new shape variable (`define`).
    """

    def __init__(
        self, ctx: Context, resolve: Callable[[str], Any], define: Callable[[str, DType], p.PrimVar]
    ) -> None:
        self.ctx, self.resolve, self.define = ctx, resolve, define
        self.in_signature = False

    def read(self, node: ast.expr) -> s.StructInfo:
        """The StructInfo that an annotation says; raises Skip after reporting what is none."""
        name = dotted(node)
        if name:
            return self._bare(node, name) if not name.endswith((".ty", ".struct_info")) else self._of(node)
        if isinstance(node, ast.Call):
            return self._call(node, dotted(node.func))
        if isinstance(node, ast.Constant) and node.value is None:
            return s.VOID
        raise self._bad(node)

    def _bad(self, node: ast.expr) -> Skip:
        return self.ctx.fail(
            codes.BAD_ANNOTATION,
            f"{ast.unparse(node)[:60]!r} is no StructInfo",
            node,
            help=codes.BAD_ANNOTATION.why,
        )

    def _of(self, node: ast.expr) -> s.StructInfo:
        """`x.ty`, `x.struct_info`: what a variable is annotated with."""
        value = node.value if isinstance(node, ast.Attribute) else node
        found = self.resolve(value.id) if isinstance(value, ast.Name) else None
        if isinstance(found, p.PrimExpr):
            return s.PrimStructInfo(found.dtype, found)
        if not isinstance(found, Var):
            raise self._bad(node)
        if found.struct_info is None:
            text = f"{found.name!r} has no annotation to take over"
            raise self.ctx.fail(codes.BAD_ANNOTATION, text, node, help="annotate it, or write out what it is")
        return found.struct_info

    def _bare(self, node: ast.expr, name: str) -> s.StructInfo:
        if name.startswith("R."):
            kind = name[2:]
            if kind in OBJECT_NAMES:
                return s.OBJECT
            if kind in _BARE:
                return _BARE[kind]
        found = dtype_of_prefix(name)
        if found is not None:
            return s.PrimStructInfo(found)
        raise self._bad(node)

    def _call(self, node: ast.Call, name: str) -> s.StructInfo:
        reader = _CALLS.get(name)
        if reader is not None:
            return reader(self, node)
        found = dtype_of_prefix(name)
        if found is not None and not node.args:
            return s.PrimStructInfo(found)
        written = parse_types.read(self, node, name)
        if written is None:
            raise self._bad(node)
        return written

    def _keywords(self, node: ast.Call, *allowed: str) -> dict[str, ast.expr]:
        found = {keyword.arg or "**": keyword.value for keyword in node.keywords}
        for name in found:
            if name not in allowed:
                raise self.ctx.fail(
                    codes.BAD_CALL,
                    f"{dotted(node.func)} has no argument {name!r}",
                    node,
                    help=f"it takes {', '.join(allowed)}",
                )
        return found

    def dtype(self, node: ast.expr) -> DType | None:
        """A dtype given as a string; None is unknown, as are the names that say so."""
        if not isinstance(node, ast.Constant) or not isinstance(node.value, (str, type(None))):
            text = f"{ast.unparse(node)[:40]!r} is no dtype"
            raise self.ctx.fail(codes.BAD_DTYPE, text, node, help=codes.BAD_DTYPE.fix)
        try:
            return None if node.value is None else element_type(node.value)
        except ValueError as error:
            raise self.ctx.fail(codes.BAD_DTYPE, str(error)[:80], node, help=codes.BAD_DTYPE.fix) from None

    def _integer(self, node: ast.expr) -> int:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self._integer(node.operand)
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return node.value
        raise self.ctx.fail(codes.BAD_EXPRESSION, "an integer literal is needed here", node)

    def rank(self, given: dict[str, ast.expr], shape: Any, node: ast.Call) -> int:
        """The rank that `ndim=` says, -1 when it says none; it is the number of the dimensions, where they are given."""
        said = self._integer(given["ndim"]) if "ndim" in given else -1
        if said < -1 or (type(shape) is tuple and said not in (-1, len(shape))):
            raise self.ctx.fail(
                codes.BAD_ANNOTATION,
                f"a rank of {said} can't be" if said < -1 else f"the rank is {len(shape)}, not {said}",
                node,
                help="leave ndim out where the dimensions are given",
            )
        return said

    def _tensor(self, node: ast.Call) -> s.StructInfo:
        given = self._keywords(node, "shape", "dtype", "ndim", "vdevice")
        args = list(node.args)
        if args and isinstance(args[0], ast.Constant) and isinstance(args[0].value, str):
            given.setdefault("dtype", args.pop(0))
        for name, arg in zip(("shape", "dtype", "vdevice", "ndim"), args, strict=False):
            given.setdefault(name, arg)
        if len(args) > 4:
            raise self.ctx.fail(
                codes.BAD_CALL, "R.Tensor takes at most a shape, a dtype, a vdevice and ndim", node
            )
        shape: Any = self.shape_argument(given["shape"]) if "shape" in given else None
        found = self.dtype(given["dtype"]) if "dtype" in given else None
        ndim = self.rank(given, shape, node)
        vdevice = given.get("vdevice")
        where = vdevice.value if isinstance(vdevice, ast.Constant) else None
        return s.TensorStructInfo(shape, found, ndim, where)  # type: ignore[arg-type]  # narrowed by type() above

    def _distributed(self, node: ast.Call) -> s.StructInfo:
        """`R.DTensor(shape, dtype, device_mesh, placement)`: a tensor spread over a device mesh."""
        given = self._keywords(node, "shape", "dtype", "device_mesh", "placement", "ndim")
        for name, arg in zip(("shape", "dtype", "device_mesh", "placement"), node.args, strict=False):
            given.setdefault(name, arg)
        where = [
            str(at.value) if isinstance(at, ast.Constant) else verbatim(at)
            for at in (given.get(name, ast.Constant("")) for name in ("device_mesh", "placement"))
        ]
        shape = self.shape_argument(given["shape"]) if "shape" in given else None
        found = self.dtype(given["dtype"]) if "dtype" in given else None
        ndim = self.rank(given, shape, node)
        info = s.TensorStructInfo(shape, found, ndim, s.MESH_MARK.join(where))
        for axis in re.findall(r"S\[(\d+)\]", where[1]):
            if int(axis) >= info.ndim:
                rank = f"of rank {info.ndim}" if info.ndim >= 0 else "of unknown rank"
                text = f"placement divides axis {axis} of a tensor {rank}"
                fix = "say the rank, with ndim=" if info.ndim < 0 else "use R, or an axis that there is"
                raise self.ctx.fail(codes.BAD_ANNOTATION, text, node, help=fix)
        return info

    def shape_argument(self, node: ast.expr) -> tuple[p.PrimExpr, ...] | Var | None:
        """A shape: a list of dimensions, one of them, or a variable that holds a shape; None says nothing."""
        if isinstance(node, (ast.Tuple, ast.List)):
            return tuple([p.as_dim(self.dim(item)) for item in node.elts])
        if isinstance(node, ast.Constant) and node.value is None:
            return None
        if isinstance(node, ast.Name):
            found = self.resolve(node.id)
            if isinstance(found, Var):
                return found
        if dotted(getattr(node, "func", node)) == "R.shape" and isinstance(node, ast.Call) and node.args:
            return self.shape_argument(node.args[0])
        return (p.as_dim(self.dim(node)),)

    def _shape(self, node: ast.Call) -> s.StructInfo:
        given = self._keywords(node, "values", "ndim")
        if node.args:
            given.setdefault("values", node.args[0])
        values = given.get("values")
        if isinstance(values, (ast.Tuple, ast.List)):
            dims = tuple([p.as_dim(self.dim(item)) for item in values.elts])
            self.rank(given, dims, node)
            return s.ShapeStructInfo(dims)
        return s.ShapeStructInfo(None, self.rank(given, None, node))

    def _tuple(self, node: ast.Call) -> s.StructInfo:
        items = node.args
        if len(items) == 1 and isinstance(items[0], (ast.Tuple, ast.List)):
            items = items[0].elts
        return s.TupleStructInfo(tuple([self.read(item) for item in items]))

    def _callable(self, node: ast.Call) -> s.StructInfo:
        given = self._keywords(node, "params", "ret", "purity", "derive_func")
        for name, arg in zip(("params", "ret", "purity", "derive_func"), node.args, strict=False):
            given.setdefault(name, arg)
        params, infos = given.get("params"), None
        if params is not None and not (isinstance(params, ast.Constant) and params.value is None):
            several = isinstance(params, (ast.Tuple, ast.List))
            infos = tuple([self.read(item) for item in (params.elts if several else [params])])  # type: ignore[attr-defined]  # as `several` says
        ret = self.read(given["ret"]) if "ret" in given else s.OBJECT
        pure = self._literal_of(given.get("purity"), bool, "purity is True or False")
        derive = self._literal_of(given.get("derive_func"), str, "derive_func is the name of a function")
        if infos is not None and derive:
            text = "a function has parameters or a derive function, not both"
            raise self.ctx.fail(codes.BAD_ANNOTATION, text, node, help="leave one of them out")
        return s.FuncStructInfo(infos, ret, infos is not None if pure is None else pure, derive or None)

    def _literal_of(self, node: ast.expr | None, kind: type[_C], rule: str) -> _C | None:
        """A literal of a kind; None where nothing is given, or None."""
        value = node.value if isinstance(node, ast.Constant) else node
        if value is None or isinstance(value, kind):
            return value
        assert node is not None  # else the value was
        raise self.ctx.fail(codes.BAD_ANNOTATION, f"{ast.unparse(node)[:60]!r} can't be: {rule}", node)

    def _prim(self, node: ast.Call) -> s.StructInfo:
        given = self._keywords(node, "dtype", "value")
        if node.args:
            given.setdefault("dtype", node.args[0])
        found = self.dtype(given["dtype"]) if "dtype" in given else None
        if "value" in given:
            name = given["value"].value if isinstance(given["value"], ast.Constant) else None
            if found is not None and self.in_signature and isinstance(name, str) and name.isidentifier():
                self.resolve(name) or self.define(name, found)
            value = self._scalar(given["value"])
            return s.PrimStructInfo(value.dtype, value)
        if found is None:
            fix = well_formed.BAD_SCALAR_TYPE.fix
            self.ctx.say(
                well_formed.BAD_SCALAR_TYPE, f"{ast.unparse(node)[:60]} names no scalar", node, help=fix
            )
            return s.OBJECT
        return s.PrimStructInfo(found)

    def _object(self, node: ast.Call) -> s.StructInfo:
        return s.OBJECT

    def dim(self, node: ast.expr) -> p.PrimExpr:
        """A dimension: an expression over shape variables, perhaps in quotes."""
        if isinstance(node, ast.Constant):
            if type(node.value) is int:
                return self._literal(node.value, node)
            if isinstance(node.value, str):
                return self._quoted(node)
        if isinstance(node, ast.Attribute) and dotted(node) == "R.any_dim":
            return self._any_dim(node)
        value = self.prim(node)
        if not value.dtype.is_int:
            raise self.ctx.fail(
                codes.BAD_EXPRESSION, f"a dimension is an integer, this is {value.dtype}", node
            )
        return value

    def _any_dim(self, node: ast.expr) -> p.PrimExpr:
        if not self.ctx.experimental:
            fix = codes.EXPERIMENTAL.fix
            raise self.ctx.fail(codes.EXPERIMENTAL, "R.any_dim is reserved for experiments", node, help=fix)
        return p.AnyDim()

    def _literal(self, value: int, node: ast.expr) -> p.PrimExpr:
        if self.ctx.numbers and str(value) in self.ctx.numbers:
            return self._name(ast.copy_location(ast.Name(str(value)), node))
        try:
            return p.IntImm(value, INT64)
        except OverflowError:
            raise self.ctx.fail(
                codes.BAD_LITERAL,
                f"{str(value)[:40]} does not fit int64",
                node,
                help="a dimension is an int64",
            ) from None

    def _quoted(self, node: ast.Constant) -> p.PrimExpr:
        return self._inside(node, self.dim)

    def _inside(self, node: ast.Constant, read: Callable[[ast.expr], p.PrimExpr]) -> p.PrimExpr:
        """What stands in quotes, read by `read`; places inside the quotes are reported at the quotes."""
        try:
            inner = expression_tree(str(node.value))
        except ValueError:
            raise self.ctx.fail(
                codes.BAD_EXPRESSION, f"{str(node.value)[:40]!r} is no dimension", node
            ) from None
        for child in ast.walk(inner):
            ast.copy_location(child, node)
        was, self.in_signature = self.in_signature, True
        try:
            return read(inner)
        finally:
            self.in_signature = was

    def _scalar(self, node: ast.expr) -> p.PrimExpr:
        """The value of a scalar, perhaps in quotes."""
        quoted = isinstance(node, ast.Constant) and isinstance(node.value, str)
        return self._inside(node, self.prim) if quoted else self.prim(node)  # type: ignore[arg-type]  # a Constant, as `quoted` says

    def prim(self, node: ast.expr) -> p.PrimExpr:
        """A scalar expression; integer literals are int64."""
        reader = _PRIMS.get(type(node))
        if reader is None:
            raise self.ctx.fail(
                codes.BAD_EXPRESSION,
                f"{ast.unparse(node)[:60]!r} is no scalar expression",
                node,
                help="write a number, a shape variable, or arithmetic with them",
            )
        return reader(self, node)

    def _name(self, node: ast.Name) -> p.PrimExpr:
        found = self.resolve(node.id)
        if isinstance(found, p.PrimExpr):
            return found
        if isinstance(found, Var):
            info = found.struct_info
            if isinstance(info, s.PrimStructInfo) and info.value is not None:
                return info.value
            raise self.ctx.fail(codes.BAD_EXPRESSION, f"{node.id!r} is not a shape variable", node)
        if node.id == UNREADABLE:
            raise Skip
        declared = self.ctx.type_var_dtype(node.id)
        if declared is not None or self.in_signature:
            return self.define(node.id, declared or INT64)
        raise self.ctx.fail(
            codes.UNDEFINED,
            f"shape variable {node.id!r} is not defined",
            node,
            help=f"declare it: {node.id} = T.int64()",
        )

    def _constant(self, node: ast.Constant) -> p.PrimExpr:
        if type(node.value) is int:
            return self._literal(node.value, node)
        if isinstance(node.value, (bool, float)):
            return p.as_prim(node.value)
        raise self.ctx.fail(codes.BAD_EXPRESSION, f"{str(node.value)[:40]!r} is no scalar", node)

    def _binary(self, node: ast.BinOp) -> p.PrimExpr:
        kind = PRIM_OPERATORS.get(type(node.op))
        if kind is None:
            raise self.ctx.fail(codes.BAD_EXPRESSION, "this operator is not defined on dimensions", node)
        return combine(kind, *align(self.prim(node.left), self.prim(node.right)))

    def _compare(self, node: ast.Compare) -> p.PrimExpr:
        kind = PRIM_OPERATORS.get(type(node.ops[0]))
        if kind is None or len(node.ops) != 1:
            raise self.ctx.fail(codes.BAD_EXPRESSION, "one comparison at a time", node)
        return combine(kind, *align(self.prim(node.left), self.prim(node.comparators[0])))

    def _bool(self, node: ast.BoolOp) -> p.PrimExpr:
        kind = PRIM_OPERATORS[type(node.op)]
        first, *rest = [truth(self.ctx, self.prim(value), value) for value in node.values]
        return functools.reduce(kind, rest, first)

    def _unary(self, node: ast.UnaryOp) -> p.PrimExpr:
        if isinstance(node.op, ast.Not):
            return p.Not(truth(self.ctx, self.prim(node.operand), node.operand))
        if isinstance(node.op, ast.USub):
            inner = node.operand
            if isinstance(inner, ast.Constant) and type(inner.value) is int:
                return self._literal(-inner.value, node)
            if isinstance(inner, ast.Constant) and isinstance(inner.value, (bool, float)):
                return p.as_prim(-inner.value)
            return negated(self.prim(inner))
        raise self.ctx.fail(codes.BAD_EXPRESSION, "this operator is not defined on dimensions", node)

    def _prim_call(self, node: ast.Call) -> p.PrimExpr:
        name = dotted(node.func)
        found = dtype_of_prefix(name)
        if found is not None and len(node.args) == 1:
            return self.literal_of(found, node.args[0])
        if found is not None and not node.args:
            raise self.ctx.fail(
                codes.BAD_EXPRESSION,
                f"{name}() declares a shape variable and is no value",
                node,
                help=f"declare it on a line of its own: n = {name}()",
            )
        if name == "T.Cast" and len(node.args) == 2:
            return p.Cast(self.dtype(node.args[0]) or INT64, self.prim(node.args[1]))
        args = [self.prim(arg) for arg in node.args]
        if name.startswith("T.") and name[2:] in PRIM_FUNCTIONS and len(args) == 2:
            if name in ("T.And", "T.Or"):
                args = [truth(self.ctx, arg, part) for arg, part in zip(args, node.args, strict=True)]
            return function_of(name[2:], *align(args[0], args[1]))
        if name in ("T.Select", "T.if_then_else") and len(args) == 3:
            truth(self.ctx, args[0], node.args[0])
            one, two = align(args[1], args[2])
            if name == "T.Select":
                return p.Select(args[0], one, two)
            return p.PrimCall("if_then_else", (args[0], one, two), one.dtype)
        if name in OF_ONE_DTYPE and len(args) == 2:
            args = list(align(args[0], args[1]))
        if name.startswith("T."):
            return p.PrimCall(name[2:], tuple(args), args[0].dtype if args else INT64)
        text = f"{ast.unparse(node)[:60]!r} is no scalar expression"
        help = "write a number, a shape variable, or arithmetic with them"
        raise self.ctx.fail(codes.BAD_EXPRESSION, text, node, help=help)

    def literal_of(self, wanted: DType, node: ast.expr) -> p.PrimExpr:
        """The scalar in `T.float32(1.5)`: a literal of that dtype, or a conversion to it."""
        value = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else node
        if isinstance(value, ast.Constant) and isinstance(value.value, (int, float, str)):
            try:
                number = float(value.value) if wanted.is_float else int(value.value)
                return p.as_prim(-number if value is not node else number, wanted)
            except (OverflowError, ValueError):
                raise self.ctx.fail(
                    codes.BAD_LITERAL, f"{str(value.value)[:40]} does not fit {wanted}", node
                ) from None
        return p.Cast(wanted, self.prim(node))


def align(a: p.PrimExpr, b: p.PrimExpr, bare: DType = INT64) -> tuple[p.PrimExpr, p.PrimExpr]:
    """Two operands of one dtype, as TVM converts them: a literal of dtype `bare` takes that of the other, else the wider wins."""
    if a.dtype is b.dtype:
        return a, b
    if isinstance(b, p.IntImm) and b.dtype is bare and (a.dtype.is_int or a.dtype.is_float):
        return a, _converted(b, a.dtype)
    if isinstance(a, p.IntImm) and a.dtype is bare and (b.dtype.is_int or b.dtype.is_float):
        return _converted(a, b.dtype), b
    wide = _wider(a.dtype, b.dtype)
    return (a, b) if wide is None else (_converted(a, wide), _converted(b, wide))


def _converted(value: p.PrimExpr, wanted: DType) -> p.PrimExpr:
    if value.dtype is wanted:
        return value
    if isinstance(value, (p.IntImm, p.FloatImm)):
        with contextlib.suppress(OverflowError):
            return p.as_prim(value.value, wanted)
    return p.Cast(wanted, value)


def truth(ctx: Context, value: p.PrimExpr, node: ast.expr) -> p.PrimExpr:
    """A condition, which is a truth value and no number; raises Skip."""
    if value.dtype.kind == "bool":
        return value
    text = f"a condition is a truth value, this is {value.dtype}"
    raise ctx.fail(codes.BAD_EXPRESSION, text, node, help="compare it, as in n != 0")


def _wider(a: DType, b: DType) -> DType | None:
    """The dtype that both operands are converted to: a float before an integer before a bool, then the one of more bits."""
    left, right = _rank(a), _rank(b)
    if left != right:
        return None if min(left, right) < 0 else a if left > right else b
    if left < 0 or (left == 2 and a.bits == b.bits):
        return None  # such as float16 and bfloat16, which TVM refuses
    return a if a.bits >= b.bits else b


def _rank(dtype: DType) -> int:
    return 2 if dtype.is_float else 1 if dtype.is_int else 0 if dtype.is_bool else -1


_BARE: dict[str, s.StructInfo] = {
    "Tensor": s.TensorStructInfo(),
    "DTensor": s.TensorStructInfo(None, None, -1, s.MESH_MARK),
    "Shape": s.ShapeStructInfo(),
    "Tuple": s.VOID,
    "Callable": s.FuncStructInfo(None, s.OBJECT, False),
    "Prim": s.OBJECT,
}
_CALLS: dict[str, Callable[[InfoReader, ast.Call], s.StructInfo]] = {
    "R.Tensor": InfoReader._tensor,
    "R.DTensor": InfoReader._distributed,
    "R.Shape": InfoReader._shape,
    "R.Tuple": InfoReader._tuple,
    "R.Callable": InfoReader._callable,
    "R.Prim": InfoReader._prim,
    "R.Any": InfoReader._object,
    "R.Object": InfoReader._object,
    "I.StringType": InfoReader._object,
}
_PRIMS: dict[type, Callable[[InfoReader, Any], p.PrimExpr]] = {
    ast.Name: InfoReader._name,
    ast.Constant: InfoReader._constant,
    ast.BinOp: InfoReader._binary,
    ast.Compare: InfoReader._compare,
    ast.BoolOp: InfoReader._bool,
    ast.UnaryOp: InfoReader._unary,
    ast.Call: InfoReader._prim_call,
}
