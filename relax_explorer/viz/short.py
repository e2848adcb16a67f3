"""StructInfo and values in a few characters: for edges, gutters and columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.prim_text import tuple_text

if TYPE_CHECKING:
    import numpy as np

_DTYPES = {
    "float16": "f16", "float32": "f32", "float64": "f64", "bfloat16": "bf16", "bool": "bool",
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
}  # fmt: skip


def short_dtype(name: str | None) -> str:
    """`f32` for float32; `?` when unknown."""
    return "?" if name is None else _DTYPES.get(name, name)


def short_info(info: s.StructInfo | None) -> str:
    """A StructInfo in a few characters: `(n, 64) f32`, `shape(2)`, `i64 = n`, `tuple of 3`."""
    if info is None:
        return "?"
    return _WRITERS[type(info)](info)


def _tensor(info: s.TensorStructInfo) -> str:
    element = short_dtype(info.dtype.name if info.dtype else None)
    if info.dims is not None:
        return f"{tuple_text(info.dims)} {element}"
    if info.shape is not None and not isinstance(info.shape, tuple):
        return f"shape {info.shape.name} {element}"
    return f"rank {info.ndim} {element}" if info.ndim >= 0 else f"tensor {element}"


def _shape(info: s.ShapeStructInfo) -> str:
    if info.values is not None:
        return f"shape {tuple_text(info.values)}"
    return f"shape of {info.ndim}" if info.ndim >= 0 else "shape"


def _tuple(info: s.TupleStructInfo) -> str:
    if len(info.fields) > 1 and len(set(info.fields)) == 1:
        return f"{len(info.fields)} × {short_info(info.fields[0])}"
    if len(info.fields) > 3:
        return f"tuple of {len(info.fields)}"
    return f"({', '.join(short_info(field) for field in info.fields)})"


def _func(info: s.FuncStructInfo) -> str:
    count = "?" if info.params is None else str(len(info.params))
    return f"function of {count}"


_WRITERS: dict[type, Callable[[Any], str]] = {
    s.ObjectStructInfo: lambda info: "object",
    s.PrimStructInfo: lambda info: str(info.dtype) if info.value is None else f"{info.dtype} {info.value}",
    s.ShapeStructInfo: _shape,
    s.TensorStructInfo: _tensor,
    s.TupleStructInfo: _tuple,
    s.FuncStructInfo: _func,
}


_DIGITS = 9


def short_value(value: object, limit: int = 60) -> str:
    """A run-time value in one line: small tensors whole, large ones by range."""
    import numpy as np

    from relax_explorer.core.exec.values import Closure, object_text

    if isinstance(value, np.ndarray):
        dims = tuple_text(value.shape)
        element = short_dtype(value.dtype.name)
        if value.size <= 4:
            inner = " ".join(
                f"{float(x):.4g}" if value.dtype.kind not in "biu" else str(x) for x in value.reshape(-1)
            )
            return f"{dims} {element} [{inner}]"[:limit]
        return f"{dims} {element}{_range(value)}"[:limit]
    if isinstance(value, np.generic):
        return f"{short_dtype(value.dtype.name)} {value}"[:limit]
    if type(value) is float and len(repr(value)) > _DIGITS + 3:
        return f"{value:.{_DIGITS}g}"[:limit]  # an element of a float32 array has no more
    captured = value.env if isinstance(value, Closure) else None
    if captured:
        own = [f"{name} = {short_value(item)}" for name, item in captured.items() if item is not value]
        return f"{value!r} of {', '.join(own)}"[:limit] if own else repr(value)[:limit]
    if type(value) is tuple:
        return f"({', '.join([short_value(item, limit) for item in value])})"[:limit]
    return object_text(value)[:limit]


def _range(value: np.ndarray[Any, Any]) -> str:
    import numpy as np

    if value.dtype.kind == "b":
        return f" {int(value.sum())} true of {value.size}"
    with np.errstate(all="ignore"):
        numbers = value.astype(np.float64)
        finite = numbers[np.isfinite(numbers)]
    bad = numbers.size - finite.size
    text = f" {finite.min():.4g} … {finite.max():.4g}, mean {finite.mean():.4g}" if finite.size else ""
    return text + (f", {bad} not finite" if bad else "")
