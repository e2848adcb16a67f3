"""Reads StructInfo annotations."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any, TypeVar

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.codes import well_formedness as well_formed
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir import types as t
from relax_explorer.core.ir.expr import Var
from relax_explorer.core.ir.struct_info import Sharding, VDevice
from relax_explorer.core.ir.types import wrap_type
from relax_explorer.core.syntax.context import Skip
from relax_explorer.core.syntax.dialects import OBJECT_NAMES
from relax_explorer.core.syntax.parse_dim import ANY_DIM, DimReader
from relax_explorer.core.syntax.python_tree import dotted, dtype_of_prefix, elements, verbatim

# -- parse types -----------------------------------------------------------------------------------------------------
# Reads types in the form of the first specification of Relax: `DynTensorType(2, "float32")`, with or without `R.`.


def read(reader: DimReader, node: ast.Call, name: str) -> s.StructInfo | None:
    """The StructInfo of a type. None if `name` is not a type."""
    return None if name.removeprefix("R.") not in _FORMS else wrap_type(_type(reader, node))


def _type(reader: DimReader, node: ast.expr) -> t.Type:
    name = ast.unparse(node.func).removeprefix("R.") if isinstance(node, ast.Call) else ""
    form = _FORMS.get(name)
    if form is None or not isinstance(node, ast.Call):
        text = f"{ast.unparse(node)[:60]!r} is not a type"
        raise reader.ctx.fail(codes.BAD_ANNOTATION, text, node, help=f"types are {', '.join(_FORMS)}")
    names, make = form
    arguments = dict(zip(names, node.args, strict=False))
    arguments.update({keyword.arg or "**": keyword.value for keyword in node.keywords})
    if len(node.args) > len(names) or set(arguments) - set(names):
        text = f"{name} takes {', '.join(names) or 'nothing'}"
        raise reader.ctx.fail(codes.BAD_CALL, text, node, help="omit unknown parts")
    return make(reader, arguments, node)


def _rank(reader: DimReader, arguments: dict[str, ast.expr], node: ast.Call) -> int:
    return reader.rank(arguments, None, node)


def _tensor(reader: DimReader, arguments: dict[str, ast.expr], node: ast.Call) -> t.Type:
    return t.DynTensorType(
        _rank(reader, arguments, node), reader.dtype(arguments["dtype"]) if "dtype" in arguments else None
    )


def _scalar(reader: DimReader, arguments: dict[str, ast.expr], node: ast.Call) -> t.Type:
    element = reader.dtype(arguments["dtype"]) if "dtype" in arguments else None
    if element is None:
        text = f"{ast.unparse(node)[:60]} is not a scalar type"
        raise reader.ctx.fail_with_fix(codes.BAD_DTYPE, text, node)
    return t.PrimType(element)


def _several(reader: DimReader, node: ast.expr | None, call: ast.Call) -> tuple[t.Type, ...]:
    if not isinstance(node, (ast.Tuple, ast.List)):
        text = f"{ast.unparse(call)[:60]!r} needs a list of types"
        raise reader.ctx.fail(codes.BAD_CALL, text, call, help="write [ObjectType(), …]")
    return tuple([_type(reader, item) for item in node.elts])


def _function(reader: DimReader, arguments: dict[str, ast.expr], node: ast.Call) -> t.Type:
    params = _several(reader, arguments.get("arg_types"), node)
    ret = _type(reader, arguments["ret_type"]) if "ret_type" in arguments else t.OBJECT_TYPE
    pure = arguments.get("pure")
    return t.FuncType(params, ret, bool(pure.value) if isinstance(pure, ast.Constant) else True)


_FORMS: dict[str, tuple[tuple[str, ...], Callable[[Any, dict[str, ast.expr], ast.Call], t.Type]]] = {
    "ObjectType": ((), lambda reader, arguments, node: t.OBJECT_TYPE),
    "PrimType": (("dtype",), _scalar),
    "ShapeType": (("ndim",), lambda reader, arguments, node: t.ShapeType(_rank(reader, arguments, node))),
    "DynTensorType": (("ndim", "dtype"), _tensor),
    "TupleType": (
        ("fields",),
        lambda reader, arguments, node: t.TupleType(_several(reader, arguments.get("fields"), node)),
    ),
    "FuncType": (("arg_types", "ret_type", "pure"), _function),
    "PackedFuncType": ((), lambda reader, arguments, node: t.PACKED_FUNC_TYPE),
}


# -- parse info ------------------------------------------------------------------------------------------------------


_C = TypeVar("_C")


class InfoReader(DimReader):
    """Reads annotations in one function."""

    def read(self, node: ast.expr) -> s.StructInfo:
        """The StructInfo of an annotation. Reports anything else and raises Skip."""
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
            f"{ast.unparse(node)[:60]!r} is not a StructInfo",
            node,
            help=codes.BAD_ANNOTATION.why,
        )

    def _of(self, node: ast.expr) -> s.StructInfo:
        """`x.ty` or `x.struct_info`: the annotation of a variable."""
        value = node.value if isinstance(node, ast.Attribute) else node
        var = self.resolve(value.id) if isinstance(value, ast.Name) else None
        if isinstance(var, p.PrimExpr):
            return s.PrimStructInfo(var.dtype)  # the text of a scalar type has no value
        if not isinstance(var, Var):
            raise self._bad(node)
        if var.struct_info is None:
            text = f"{var.name!r} has no annotation to copy"
            raise self.ctx.fail(
                codes.BAD_ANNOTATION, text, node, help="annotate it, or write its StructInfo here"
            )
        return var.struct_info

    def _bare(self, node: ast.expr, name: str) -> s.StructInfo:
        if name.startswith("R."):
            short_name = name[2:]
            if short_name in OBJECT_NAMES:
                return s.OBJECT
            if short_name in _BARE:
                if short_name == "Prim":
                    self._differs(node, "TVM's R.Prim needs a dtype", 'write R.Prim("int64")')
                return _BARE[short_name]
        element = dtype_of_prefix(name)
        if element is not None:
            return s.PrimStructInfo(element)
        raise self._bad(node)

    def _call(self, node: ast.Call, name: str) -> s.StructInfo:
        reader = _CALLS.get(name)
        if reader is not None:
            return reader(self, node)
        element = dtype_of_prefix(name)
        if element is not None and not node.args:
            self._differs(node, f"TVM reads {name}() as a value", f"write {name}")
            return s.PrimStructInfo(element)
        info = read(self, node, name)
        if info is None:
            raise self._bad(node)
        return info

    def _differs(self, node: ast.expr, text: str, help: str) -> None:
        """Note an annotation that TVM 0.27 does not read."""
        self.ctx.refuse(codes.BAD_ANNOTATION, text, node, help=help)

    def _arguments(self, node: ast.Call, *allowed: str, places: int = 1) -> dict[str, ast.expr]:
        """The arguments of a call by name. Those without a name are the first `places` of the allowed ones."""
        arguments = {keyword.arg or "**": keyword.value for keyword in node.keywords}
        for name in arguments:
            if name not in allowed:
                text, help = f"{dotted(node.func)} has no argument {name!r}", f"it takes {', '.join(allowed)}"
                raise self.ctx.fail(codes.BAD_CALL, text, node, help=help)
        return {**dict(zip(allowed[:places], node.args, strict=False)), **arguments}

    def _tensor(self, node: ast.Call) -> s.StructInfo:
        arguments = self._arguments(node, "shape", "dtype", "ndim", "vdevice", places=0)
        args = list(node.args)
        if args and isinstance(args[0], ast.Constant) and isinstance(args[0].value, str):
            arguments.setdefault("dtype", args.pop(0))
        for name, arg in zip(("shape", "dtype", "vdevice", "ndim"), args, strict=False):
            arguments.setdefault(name, arg)
        if len(args) > 4:
            raise self.ctx.fail(
                codes.BAD_CALL, "R.Tensor takes at most a shape, a dtype, a vdevice and ndim", node
            )
        shape: Any = self.shape_argument(arguments["shape"]) if "shape" in arguments else None
        element = self.dtype(arguments["dtype"]) if "dtype" in arguments else None
        ndim = self.rank(arguments, shape, node)
        vdevice = arguments.get("vdevice")
        target = vdevice.value if isinstance(vdevice, ast.Constant) else None
        device = VDevice.read(target) if isinstance(target, str) else None
        if vdevice is not None and not isinstance(vdevice, ast.Constant):
            text = f"{ast.unparse(vdevice)[:40]!r} is not the name of a device"
            raise self.ctx.fail(codes.BAD_ANNOTATION, text, vdevice, help='write it in quotes: "cuda:0"')
        if vdevice is not None and not (device is not None and self.ctx.has_places):
            text = "TVM knows the devices of the module only, and this one has none"
            self._differs(vdevice, text, "name it in I.module_global_infos")
        if shape is not None and "ndim" in arguments and not _is_open(arguments["ndim"]):
            self._differs(node, "TVM takes a shape or ndim, not both", "leave ndim out")
        return s.TensorStructInfo(shape, element, ndim, device)

    def _distributed(self, node: ast.Call) -> s.StructInfo:
        """`R.DTensor(shape, dtype, device_mesh, placement)`: a tensor distributed over a device mesh."""
        arguments = self._arguments(node, "shape", "dtype", "device_mesh", "placement", "ndim", places=4)
        mesh, placement = (
            str(at.value) if isinstance(at, ast.Constant) else verbatim(at)
            for at in (arguments.get(name, ast.Constant("")) for name in ("device_mesh", "placement"))
        )
        shape = self.shape_argument(arguments["shape"]) if "shape" in arguments else None
        element = self.dtype(arguments["dtype"]) if "dtype" in arguments else None
        ndim = self.rank(arguments, shape, node)
        if not self.ctx.has_places:
            self._differs(node, "TVM needs the mesh in the module", "name it in I.module_global_infos")
        info = s.TensorStructInfo(shape, element, ndim, Sharding(mesh, placement))
        for axis in re.findall(r"S\[(\d+)\]", placement):
            if int(axis) >= info.ndim:
                rank = f"of rank {info.ndim}" if info.ndim >= 0 else "of unknown rank"
                text = f"placement divides axis {axis} of a tensor {rank}"
                fix = "state the rank with ndim=" if info.ndim < 0 else "use R, or an existing axis"
                raise self.ctx.fail(codes.BAD_ANNOTATION, text, node, help=fix)
        return info

    def shape_argument(self, node: ast.expr) -> tuple[p.PrimExpr, ...] | Var | None:
        """A shape: a list of dimensions, a single dimension, or a variable that holds a shape. None for an unknown shape."""
        if isinstance(node, (ast.Tuple, ast.List)):
            return tuple([p.as_dim(self.length(item)) for item in node.elts])
        if isinstance(node, ast.Constant) and node.value is None:
            return None
        if isinstance(node, ast.Name):
            var = self.resolve(node.id)
            if isinstance(var, Var):
                if isinstance(var.struct_info, s.ObjectStructInfo):
                    self._differs(
                        node, f"TVM needs a shape, and {node.id} may be anything", "annotate it with R.Shape"
                    )
                return var
        if dotted(getattr(node, "func", node)) == "R.shape" and isinstance(node, ast.Call) and node.args:
            return self.shape_argument(node.args[0])
        raise self._no_shape(node)

    def _no_shape(self, node: ast.expr) -> Skip:
        """The problem of a single length in place of a shape: without a comma, parentheses make no tuple."""
        shown = ast.unparse(node)[:40]
        text = f"{shown!r} is no shape: a shape is a tuple of lengths"
        return self.ctx.fail(codes.BAD_ANNOTATION, text, node, help=f"write ({shown},)")

    def length(self, node: ast.expr) -> p.PrimExpr:
        """A dimension in a StructInfo: an expression, or the wildcard `R.any_dim`."""
        if isinstance(node, ast.Attribute) and dotted(node) == ANY_DIM and self.ctx.experimental:
            return p.AnyDim()
        return self.dim(node)

    def _shape(self, node: ast.Call) -> s.StructInfo:
        arguments = self._arguments(node, "values", "ndim")
        values = arguments.get("values")
        if isinstance(values, (ast.Tuple, ast.List)):
            dims = tuple([p.as_dim(self.length(item)) for item in values.elts])
            self.rank(arguments, dims, node)
            if "ndim" in arguments and not _is_open(arguments["ndim"]):
                self._differs(node, "TVM takes lengths or ndim, not both", "leave ndim out")
            return s.ShapeStructInfo(dims)
        if isinstance(values, ast.Constant) and values.value is not None:
            raise self._no_shape(values)
        if isinstance(values, ast.Name):
            self._differs(
                node, "TVM's R.Shape takes a list of lengths", "write R.Shape([…]) or R.Shape(ndim=…)"
            )
        return s.ShapeStructInfo(None, self.rank(arguments, None, node))

    def _tuple(self, node: ast.Call) -> s.StructInfo:
        items = node.args
        for keyword in node.keywords:
            self._differs(keyword.value, f"TVM's R.Tuple has no argument {keyword.arg!r}", "leave it out")
        if len(items) == 1 and isinstance(items[0], (ast.Tuple, ast.List)):
            items = items[0].elts
        return s.TupleStructInfo(tuple([self.read(item) for item in items]))

    def _callable(self, node: ast.Call) -> s.StructInfo:
        arguments = self._arguments(node, "params", "ret", "purity", "derive_func", places=4)
        params, infos = arguments.get("params"), None
        if params is not None and not (isinstance(params, ast.Constant) and params.value is None):
            infos = tuple([self.read(item) for item in elements(params)])
        ret = self.read(arguments["ret"]) if "ret" in arguments else s.OBJECT
        if infos is not None and "ret" not in arguments:
            self._differs(node, "TVM's R.Callable needs the result, too", "write R.Callable((…), R.Object)")
        pure = self._literal_of(arguments.get("purity"), bool, "purity is True or False")
        derive = self._literal_of(arguments.get("derive_func"), str, "derive_func is the name of a function")
        if infos is not None and derive:
            text = "a function has parameters or a derive function, not both"
            raise self.ctx.fail(codes.BAD_ANNOTATION, text, node, help="leave one of them out")
        return s.FuncStructInfo(infos, ret, infos is not None if pure is None else pure, derive or None)

    def _literal_of(self, node: ast.expr | None, literal_type: type[_C], rule: str) -> _C | None:
        """The value of a literal of a type. None if `node` is omitted or the literal None."""
        value = node.value if isinstance(node, ast.Constant) else node
        if value is None or isinstance(value, literal_type):
            return value
        assert node is not None  # otherwise the value is None
        raise self.ctx.fail(codes.BAD_ANNOTATION, f"{ast.unparse(node)[:60]!r} is not allowed: {rule}", node)

    def _prim(self, node: ast.Call) -> s.StructInfo:
        arguments = self._arguments(node, "dtype", "value")
        element = self.dtype(arguments["dtype"]) if "dtype" in arguments else None
        if "value" in arguments:
            text = "TVM 0.27 has no R.Prim of a value"
            self.ctx.refuse(codes.BAD_ANNOTATION, text, node, help='write R.Prim("int64")')
            name = arguments["value"].value if isinstance(arguments["value"], ast.Constant) else None
            if element is not None and self.in_signature and isinstance(name, str) and name.isidentifier():
                self.resolve(name) or self.define(name, element)
            value = self._scalar(arguments["value"])
            return s.PrimStructInfo(value.dtype, value)
        if element is None:
            fix = well_formed.BAD_SCALAR_TYPE.fix
            self.ctx.say(
                well_formed.BAD_SCALAR_TYPE, f"{ast.unparse(node)[:60]} is not a scalar type", node, help=fix
            )
            return s.OBJECT
        return s.PrimStructInfo(element)

    def _object(self, node: ast.Call) -> s.StructInfo:
        if node.args or node.keywords:
            self._differs(node, "TVM's R.Object takes no arguments", "write R.Object")
        return s.OBJECT


def _is_open(node: ast.expr) -> bool:
    """True for an ndim of -1, which means any rank."""
    return isinstance(node, ast.UnaryOp) or (isinstance(node, ast.Constant) and node.value is None)


_BARE: dict[str, s.StructInfo] = {
    "Tensor": s.TensorStructInfo(),
    "DTensor": s.TensorStructInfo(None, None, -1, Sharding("", "")),
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
