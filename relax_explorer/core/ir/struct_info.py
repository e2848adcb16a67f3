"""StructInfo: the kind, shape and dtype of a value, inferred before the run. Interned, so `is` decides equality."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from relax_explorer.core.ir.dtype import INT64, DType, from_numpy
from relax_explorer.core.ir.interned import InternTable
from relax_explorer.core.ir.prim import IntImm, PrimExpr
from relax_explorer.core.ir.prim_text import quoted
from relax_explorer.core.ir.struct_info_text import PLAIN, StructInfoText
from relax_explorer.core.ir.tensor_place import Sharding, TensorPlace, VDevice

if TYPE_CHECKING:
    from relax_explorer.core.ir.expr import Var

_TABLE: InternTable[tuple[Any, ...], Any] = InternTable()


MOST_WRITTEN = 20_000  # limit on terms and fields in the text of a StructInfo


class StructInfo:
    """The kind of a value, with its shape and dtype if known."""

    __slots__ = ("__weakref__",)
    size = 1  # of a tuple: number of nested fields in its text; a shared part counts each time

    def text(self, out: StructInfoText) -> str:
        """The TVMScript text in the dialect of `out`."""
        raise TypeError(f"no text form for {type(self).__name__}")

    def part_text(self, out: StructInfoText) -> str:
        """The text inside other StructInfo."""
        return self.text(out)

    def __repr__(self) -> str:
        return self.text(PLAIN)


def _interned(key: tuple[Any, ...], **fields: Any) -> Any:
    new = object.__new__(key[0])
    for name, value in fields.items():
        setattr(new, name, value)
    return _TABLE.add(key, new)


def _rank(dims: tuple[PrimExpr, ...], declared: int) -> int:
    """The number of dimensions. Raises ValueError if a different rank is also declared."""
    if declared != -1 and declared != len(dims):
        raise ValueError(f"ndim is {declared}, but there are {len(dims)} dimensions")
    return len(dims)


class ObjectStructInfo(StructInfo):
    """Any value at all."""

    __slots__ = ()

    def __new__(cls) -> ObjectStructInfo:
        unique: ObjectStructInfo = _TABLE.find((cls,)) or _interned((cls,))
        return unique

    def text(self, out: StructInfoText) -> str:
        """`R.Any` or `R.Object`."""
        return out.object_name


class PrimStructInfo(StructInfo):
    """A scalar of element type `dtype`, with its `value` if known."""

    __slots__ = ("dtype", "value")
    dtype: DType
    value: PrimExpr | None

    def __new__(cls, dtype: DType, value: PrimExpr | None = None) -> PrimStructInfo:
        key = (cls, dtype, value)
        unique: PrimStructInfo = _TABLE.find(key) or _interned(key, dtype=dtype, value=value)
        return unique

    def text(self, out: StructInfoText) -> str:
        """`T.int64`, or `R.Prim("int64")` in the older dialect."""
        if not out.old:
            return f"T.{self.dtype}"
        if self.value is None:
            return f'R.Prim("{self.dtype}")'
        dtype = "" if self.dtype is INT64 else f'"{self.dtype}", '  # the dtype of all lengths in that dialect
        return f"R.Prim({dtype}value={quoted(out.prim.write(self.value))})"

    def part_text(self, out: StructInfoText) -> str:
        """`R.Prim("int64")` if TVM must read it."""
        return f'R.Prim("{self.dtype}")' if out.for_tvm and not out.old else self.text(out)


class ShapeStructInfo(StructInfo):
    """A shape with its dimensions `values` (or None) and its rank `ndim` (-1 if unknown)."""

    __slots__ = ("ndim", "values")
    values: tuple[PrimExpr, ...] | None
    ndim: int

    def __new__(cls, values: tuple[PrimExpr, ...] | None = None, ndim: int = -1) -> ShapeStructInfo:
        if values is not None:
            ndim = _rank(values, ndim)
        key = (cls, values, ndim)
        unique: ShapeStructInfo = _TABLE.find(key) or _interned(key, values=values, ndim=ndim)
        return unique

    def text(self, out: StructInfoText) -> str:
        """`R.Shape([n, 2])`."""
        if self.values is not None:
            return f"R.Shape([{', '.join([out.dim(value) for value in self.values])}])"
        return f"R.Shape(ndim={self.ndim})" if self.ndim >= 0 else "R.Shape"


class TensorStructInfo(StructInfo):
    """A tensor.

    `shape` has the dimensions, or is a variable that holds a shape, or None. An unknown `dtype` is None, an unknown `ndim`
    is -1. `vdevice` is a virtual device, or the sharding of a distributed tensor.
    """

    __slots__ = ("dtype", "ndim", "shape", "vdevice")
    shape: tuple[PrimExpr, ...] | Var | None
    dtype: DType | None
    ndim: int
    vdevice: TensorPlace | None

    def __new__(
        cls,
        shape: tuple[PrimExpr, ...] | Var | None = None,
        dtype: DType | None = None,
        ndim: int = -1,
        vdevice: TensorPlace | None = None,
    ) -> TensorStructInfo:
        if type(shape) is tuple:
            ndim = _rank(shape, ndim)
        elif shape is not None and ndim == -1:
            ndim = getattr(getattr(shape, "struct_info", None), "ndim", -1)
        key = (cls, shape, dtype, ndim, vdevice)
        entry = _TABLE.get(key)
        cached: TensorStructInfo | None = None if entry is None else entry()
        if cached is not None:
            return cached
        if shape is not None and type(shape) is not tuple and not hasattr(shape, "name"):
            raise TypeError(f"a shape is a tuple of dimensions or a variable, not a {type(shape).__name__}")
        if vdevice is not None and not isinstance(vdevice, (VDevice, Sharding)):
            raise TypeError(f"a tensor lies on a VDevice or in a Sharding, not in a {type(vdevice).__name__}")
        unique: TensorStructInfo = _interned(key, shape=shape, dtype=dtype, ndim=ndim, vdevice=vdevice)
        return unique

    @property
    def dims(self) -> tuple[PrimExpr, ...] | None:
        """The dimensions if they are written as expressions, else None."""
        return self.shape if type(self.shape) is tuple else None

    @property
    def lengths(self) -> tuple[PrimExpr, ...] | None:
        """The dimensions, also if a variable holds the shape and they are known. Else None."""
        shape = self.shape
        if shape is None or isinstance(shape, tuple):
            return shape
        shape_info = shape.struct_info
        return shape_info.values if isinstance(shape_info, ShapeStructInfo) else None

    def text(self, out: StructInfoText) -> str:
        """`R.Tensor((n, 2), dtype="float32")`."""
        parts = []
        if type(self.shape) is tuple:
            parts.append(out.dims(self.shape))
        elif self.shape is not None:
            parts.append(out.var_name(self.shape))
        if self.dtype is not None:
            parts.append(f'dtype="{self.dtype}"')
        if self.shape is None and self.ndim >= 0:
            parts.append(f"ndim={self.ndim}")
        if type(self.vdevice) is Sharding:
            mesh = self.vdevice.mesh
            where = mesh if mesh.endswith(")") else quoted(mesh)
            parts += [f"device_mesh={where}", f"placement={quoted(self.vdevice.placement)}"]
            return f"R.DTensor({', '.join(parts)})"
        if self.vdevice is not None:
            parts.append(f"vdevice={quoted(str(self.vdevice))}")
        return f"R.Tensor({', '.join(parts)})" if parts else "R.Tensor"


class TupleStructInfo(StructInfo):
    """A tuple of values."""

    __slots__ = ("fields", "size")
    fields: tuple[StructInfo, ...]

    def __new__(cls, fields: tuple[StructInfo, ...] = ()) -> TupleStructInfo:
        key = (cls, fields)
        cached = _TABLE.find(key)
        unique: TupleStructInfo = cached or _interned(
            key, fields=fields, size=1 + sum([field.size for field in fields])
        )
        return unique

    def text(self, out: StructInfoText) -> str:
        """`R.Tuple(…)`."""
        if not self.fields:
            return "R.Tuple"
        return f"R.Tuple({', '.join([out.part(field) for field in self.fields])})"


class FuncStructInfo(StructInfo):
    """A function: parameters (None for a packed function), result, purity."""

    __slots__ = ("derive_func", "params", "pure", "ret")
    params: tuple[StructInfo, ...] | None
    ret: StructInfo
    pure: bool
    derive_func: str | None

    def __new__(
        cls,
        params: tuple[StructInfo, ...] | None,
        ret: StructInfo,
        pure: bool = True,
        derive_func: str | None = None,
    ) -> FuncStructInfo:
        key = (cls, params, ret, pure, derive_func)
        cached = _TABLE.find(key)
        if cached is None and params is not None and derive_func is not None:
            raise ValueError("a function has parameters or a derive function, not both")
        unique: FuncStructInfo = cached or _interned(
            key, params=params, ret=ret, pure=pure, derive_func=derive_func
        )
        return unique

    def text(self, out: StructInfoText) -> str:
        """`R.Callable((…), …, True)`."""
        if self.params is None:
            plain = self.ret is OBJECT and not self.pure and self.derive_func is None
            parts = [] if plain else [f"ret={out.part(self.ret)}", f"purity={self.pure}"]
            parts += [f'derive_func="{self.derive_func}"'] if self.derive_func else []
            return f"R.Callable({', '.join(parts)})" if parts else "R.Callable"
        params = ", ".join([out.part(param) for param in self.params])
        comma = "," if len(self.params) == 1 else ""
        return f"R.Callable(({params}{comma}), {out.part(self.ret)}, {self.pure})"


def is_too_large(info: StructInfo) -> bool:
    """True if the text of a StructInfo would be too large. A tuple that doubles with each binding soon gets there."""
    if info.size > MOST_WRITTEN:
        return True
    dims: tuple[PrimExpr, ...] | None = None
    if type(info) is TensorStructInfo:
        dims = info.dims
    elif type(info) is ShapeStructInfo:
        dims = info.values
    elif type(info) is TupleStructInfo:
        return any(map(is_too_large, info.fields))
    elif type(info) is PrimStructInfo and info.value is not None:
        return info.value.size > MOST_WRITTEN
    return dims is not None and any([dim.size > MOST_WRITTEN for dim in dims])


def lengths(info: StructInfo | None) -> tuple[PrimExpr, ...]:
    """The lengths of a tensor or a shape. Empty if they are unknown, and for other values."""
    if isinstance(info, TensorStructInfo):
        return info.lengths or ()
    return info.values or () if isinstance(info, ShapeStructInfo) else ()


def constant_info(array: Any) -> TensorStructInfo:
    """The StructInfo of a constant with the data of a numpy array."""
    return TensorStructInfo(tuple([IntImm(int(n), INT64) for n in array.shape]), from_numpy(array.dtype))


OBJECT = ObjectStructInfo()
VOID = TupleStructInfo(())


def with_lengths(info: StructInfo | None, dims: tuple[PrimExpr, ...]) -> StructInfo:
    """The StructInfo with other lengths: of a shape, or of a tensor with its dtype and place; of a tensor for other values."""
    if isinstance(info, ShapeStructInfo):
        return ShapeStructInfo(dims)
    if isinstance(info, TensorStructInfo):
        return TensorStructInfo(dims, info.dtype, -1, info.vdevice)
    return TensorStructInfo(dims)


def without_values(info: StructInfo) -> StructInfo:
    """`info` without the values of its scalars, which TVM's types of scalars do not have. The same object if it has none."""
    if isinstance(info, TupleStructInfo):
        return TupleStructInfo(tuple(map(without_values, info.fields)))
    return PrimStructInfo(info.dtype) if isinstance(info, PrimStructInfo) else info
