"""StructInfo: the kind, shape and dtype of a value, inferred before the run. Interned, so `is` decides equality."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from relax_explorer.core.ir.dtype import INT64, DType, from_numpy
from relax_explorer.core.ir.interned import InternTable, make_interned
from relax_explorer.core.ir.prim import AnyDim, IntImm, PrimExpr, PrimVar
from relax_explorer.core.ir.prim_text import PrimText, quoted

if TYPE_CHECKING:
    import numpy as np

    from relax_explorer.core.ir.expr import Var


# -- struct info text ------------------------------------------------------------------------------------------------
# Writes StructInfo as TVMScript text.
# Each class has its own method `text`. This module has the shared parts.


class Written(Protocol):
    """StructInfo, with a text form of its own and one inside other StructInfo."""

    def text(self, out: StructInfoText) -> str:
        """The text in the dialect of `out`."""

    def part_text(self, out: StructInfoText) -> str:
        """The text inside other StructInfo."""


def _own_name(var: object) -> str:
    return str(getattr(var, "name", var))


class StructInfoText:
    """Writes StructInfo in one dialect.

    `object_name` is `R.Any` or `R.Object`. With `old`, scalars are written `R.Prim("int64")`. In signatures, TVM quotes
    compound dimensions (`quote`), and the older dialect quotes all symbolic ones (`quote_all`). With `for_tvm`, a scalar
    inside other StructInfo is written `R.Prim("int64")`: TVM prints `T.int64` there but can't read it.
    """

    def __init__(
        self,
        prim: PrimText | None = None,
        var_name: Callable[[object], str] | None = None,
        object_name: str = "R.Any",
        old: bool = False,
        quote: bool = False,
        quote_all: bool = False,
        for_tvm: bool = False,
    ) -> None:
        self.prim = prim or PrimText()
        self.var_name = var_name if var_name is not None else _own_name
        self.object_name, self.old, self.quote, self.quote_all = object_name, old, quote, quote_all
        self.for_tvm = for_tvm

    def write(self, info: Written) -> str:
        """`info` as text."""
        return info.text(self)

    def part(self, info: Written) -> str:
        """`info` as text inside other StructInfo."""
        return info.part_text(self)

    def dim(self, expr: PrimExpr) -> str:
        """One dimension."""
        text = self.prim.write(expr)
        if type(expr) is IntImm or type(expr) is AnyDim or (type(expr) is PrimVar and not self.quote_all):
            return text
        return quoted(text) if self.quote or self.quote_all else text

    def dims(self, values: tuple[PrimExpr, ...]) -> str:
        """Dimensions in parentheses, as a Python tuple."""
        inner = ", ".join([self.dim(value) for value in values])
        return f"({inner},)" if len(values) == 1 else f"({inner})"


PLAIN = StructInfoText()


# -- tensor place ----------------------------------------------------------------------------------------------------
# The place of a tensor: a virtual device, or a sharding over a mesh of devices.


@dataclass(frozen=True, slots=True)
class VDevice:
    """A virtual device: its target, its number among the devices of this target, and its memory scope. The last two are optional.

    For a device written as `I.vdevice(…)`, the whole text is its target.
    """

    target: str
    number: str | None = None
    scope: str | None = None

    @classmethod
    def read(cls, text: str) -> VDevice:
        """The device named by `llvm`, `llvm:0` or `llvm:0:global`."""
        if text.startswith("I."):
            return cls(text)
        target, *parts = text.split(":", 2)
        return cls(target, *parts)

    @property
    def index(self) -> int | None:
        """The number of the device: 0 if omitted, None if it is not a number."""
        number = self.number or "0"
        return int(number) if number.isdecimal() else None

    @property
    def is_reference(self) -> bool:
        """True if it refers to a device of the module by name."""
        return not self.target.startswith("I.")

    def __str__(self) -> str:
        return ":".join([part for part in (self.target, self.number, self.scope) if part is not None])


@dataclass(frozen=True, slots=True)
class Sharding:
    """A device mesh, and the placement along each of its axes: `R` (replicated) or `S[n]` (axis n is split)."""

    mesh: str
    placement: str

    @property
    def parts(self) -> list[str]:
        """The placement along each axis of the mesh."""
        return [part.strip() for part in self.placement.split(",")]

    def __str__(self) -> str:
        return f"{self.mesh}; {self.placement}"


TensorPlace = VDevice | Sharding

DEVICE_KINDS = {
    "cpu": 1, "cuda": 2, "opencl": 4, "vulkan": 7, "metal": 8, "vpi": 9, "rocm": 10, "ext_dev": 12, "webgpu": 15, "hexagon": 16,
}  # fmt: skip
"""The numbers of kinds of devices in DLPack, by the names of the functions `R.cpu()`, `R.cuda()`, …"""
TARGET_KINDS = DEVICE_KINDS | {"llvm": 1, "c": 1, "nvptx": 2}
"""The same numbers by the kinds of targets."""
_WRITTEN = re.compile(
    r"R\.(\w+)\(\s*(?:(?:\w+\s*=\s*)?(\w+|'\w+'|\"\w+\")\s*(?:,\s*(?:\w+\s*=\s*)?(\d+)\s*)?)?\)"
)


def device_of(text: str) -> tuple[int, int] | None:
    """The kind and the number of a device written as `R.cuda(0)`, `R.device(2, 0)` or `R.device("cuda")`; None for another text."""
    found = _WRITTEN.fullmatch(text)
    if found is None:
        return None
    name, first, second = found.groups()
    if name == "device":
        kind = DEVICE_KINDS.get(first.strip("'\"")) if first and not first.isdecimal() else int(first or 0)
        return None if not kind else (kind, int(second or 0))
    kind = DEVICE_KINDS.get(name)
    is_number = second is None and (first or "0").isdecimal()
    return (kind, int(first or 0)) if kind is not None and is_number else None


def device_text(device: tuple[int, int]) -> str:
    """A device as TVM prints it."""
    return f"R.device(device_type={device[0]}, index={device[1]})"


def is_same_place(a: TensorPlace | None, b: TensorPlace | None) -> bool:
    """True if two places are the same: `cuda`, `cuda:0` and `cuda:0:global` name one device."""
    if not isinstance(a, VDevice) or not isinstance(b, VDevice):
        return a == b
    return a == b or (
        a.is_reference
        and (a.target, a.index, a.scope or "global") == (b.target, b.index, b.scope or "global")
    )


# -- struct info -----------------------------------------------------------------------------------------------------


_TABLE: InternTable[tuple[Any, ...], Any] = InternTable()


MOST_WRITTEN = 20_000  # limit on terms and fields in the text of a StructInfo
MOST_NESTED = 190  # limit on tuples in tuples: Python reads 200 parentheses in each other, tensors need some


class StructInfo:
    """The kind of a value, with its shape and dtype if known."""

    __slots__ = ("__weakref__",)
    size = 1  # of a tuple: number of nested fields in its text; a shared part counts each time
    depth = 0  # of a tuple: number of tuples in each other

    def text(self, out: StructInfoText) -> str:
        """The TVMScript text in the dialect of `out`."""
        raise TypeError(f"no text form for {type(self).__name__}")

    def part_text(self, out: StructInfoText) -> str:
        """The text inside other StructInfo."""
        return self.text(out)

    def __repr__(self) -> str:
        return self.text(PLAIN)


def _rank(dims: tuple[PrimExpr, ...], declared: int) -> int:
    """The number of dimensions. Raises ValueError if a different rank is also declared."""
    if declared != -1 and declared != len(dims):
        raise ValueError(f"ndim is {declared}, but there are {len(dims)} dimensions")
    return len(dims)


class ObjectStructInfo(StructInfo):
    """Any value at all."""

    __slots__ = ()

    def __new__(cls) -> ObjectStructInfo:
        unique: ObjectStructInfo = _TABLE.find((cls,)) or make_interned(_TABLE, (cls,))
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
        unique: PrimStructInfo = _TABLE.find(key) or make_interned(_TABLE, key, dtype=dtype, value=value)
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
        unique: ShapeStructInfo = _TABLE.find(key) or make_interned(_TABLE, key, values=values, ndim=ndim)
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
        unique: TensorStructInfo = make_interned(
            _TABLE, key, shape=shape, dtype=dtype, ndim=ndim, vdevice=vdevice
        )
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

    __slots__ = ("depth", "fields", "size")
    fields: tuple[StructInfo, ...]

    def __new__(cls, fields: tuple[StructInfo, ...] = ()) -> TupleStructInfo:
        key = (cls, fields)
        cached = _TABLE.find(key)
        if cached is None:
            size, depth = (
                1 + sum([field.size for field in fields]),
                1 + max([field.depth for field in fields], default=0),
            )
            cached = make_interned(_TABLE, key, fields=fields, size=size, depth=depth)
        unique: TupleStructInfo = cached
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
        unique: FuncStructInfo = cached or make_interned(
            _TABLE, key, params=params, ret=ret, pure=pure, derive_func=derive_func
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
    if info.size > MOST_WRITTEN or info.depth > MOST_NESTED:
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


def constant_info(array: np.ndarray[Any, Any]) -> TensorStructInfo:
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
