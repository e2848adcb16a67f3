"""Element types of tensors and scalars. An unknown element type is None."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

_FORM = re.compile(r"(bool|int|uint|float|bfloat|handle)(\d*)(_[a-z0-9]+?)?(?:x(\d+))?$")
_SIZES = {
    "int": (1, 2, 4, 8, 16, 32, 64),
    "uint": (1, 2, 4, 8, 16, 32, 64),
    "float": (8, 16, 32, 64),
    "bfloat": (16,),
}
_SMALL_FLOATS = (
    "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2",
    "float8_e5m2fnuz", "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn",
)  # fmt: skip
# DLPack's numbers for the kinds of element types.
_CODES = {"int": 0, "uint": 1, "float": 2, "handle": 3, "bfloat": 4, "bool": 6}
_SMALL_CODES = {name: 7 + n for n, name in enumerate(_SMALL_FLOATS)}
UNSPECIFIED_FLOAT = "float8"  # TVM has this name without a format: no array has such elements
MOST_LANES = 65535  # DLPack counts them in 16 bits
_UNKNOWN = frozenset({"", "void", "handle64x0"})
_TABLE: dict[str, DType] = {}


class DType:
    """An interned element type: `name` as TVM prints it, `kind`, width in `bits`, vector `lanes`."""

    __slots__ = ("_numpy", "bits", "kind", "lanes", "name")
    name: str
    kind: str
    bits: int
    lanes: int

    def __init__(self, name: str, kind: str, bits: int, lanes: int) -> None:
        self.name, self.kind, self.bits, self.lanes = name, kind, bits, lanes
        self._numpy: Any = None

    @property
    def is_float(self) -> bool:
        """True for floating point of any width."""
        return self.kind in ("float", "bfloat")

    @property
    def is_int(self) -> bool:
        """True for signed and unsigned integers, but not for bool."""
        return self.kind in ("int", "uint")

    @property
    def is_bool(self) -> bool:
        """True for bool."""
        return self.kind == "bool"

    @property
    def code(self) -> int:
        """DLPack's number for the kind of the elements. Each float type of 8 bits or fewer has its own number."""
        return _SMALL_CODES.get(self.name, _CODES[self.kind])

    def to_numpy(self) -> np.dtype[Any]:
        """The numpy dtype of arrays of this type. Raises TypeError for handles and vectors."""
        if self._numpy is None:
            self._numpy = _numpy_dtype(self)
        known: np.dtype[Any] = self._numpy
        return known

    def with_lanes(self, lanes: int) -> DType:
        """The vector type of this element type."""
        base = self.name.split("x")[0] if self.lanes > 1 else self.name
        return dtype(base if lanes == 1 else f"{base}x{lanes}")

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return dtype, (self.name,)


def _numpy_dtype(element: DType) -> np.dtype[Any]:
    import numpy as np

    if element.kind == "handle" or element.lanes != 1 or element.name == UNSPECIFIED_FLOAT:
        raise TypeError(f"no array holds elements of type {element.name}")
    if element.kind == "bfloat" or element.name in _SMALL_FLOATS:
        import ml_dtypes

        narrow: np.dtype[Any] = np.dtype(getattr(ml_dtypes, element.name))
        return narrow
    if element.is_int and element.bits < 8:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, element.name)) if element.bits in (2, 4) else np.dtype(np.bool_)
    return np.dtype(element.name)


def limits(element: DType) -> tuple[float, float]:
    """The least and the largest finite number of a numeric element type."""
    if element.is_int:
        signed = element.kind == "int"
        return -(1 << (element.bits - 1)) * signed, (1 << (element.bits - signed)) - 1
    import ml_dtypes

    most = float(ml_dtypes.finfo(element.to_numpy()).max)
    return -most, most


def dtype(name: str) -> DType:
    """The element type called `name`. Raises ValueError if there is none."""
    cached = _TABLE.get(name)
    return cached if cached is not None else _make(name)


def _make(name: str) -> DType:
    match = _FORM.match(name)
    if match is None:
        raise ValueError(f"{name!r} is not an element type")
    kind, digits, suffix, lanes_text = match.groups()
    lanes = int(lanes_text or 1)
    if not 1 <= lanes <= MOST_LANES:
        raise ValueError(f"{name!r} is not an element type")
    base = f"{kind}{digits}{suffix or ''}"
    if kind in ("bool", "handle"):
        bits = 64 if kind == "handle" else 8
        exists = base in ("bool", "handle", "handle64")
    elif suffix:
        bits, exists = int(digits or 0), base in _SMALL_FLOATS
    else:
        bits = int(digits or 0)
        exists = bits in _SIZES[kind]
    if not exists:
        raise ValueError(f"{name!r} is not an element type")
    if base == "handle64":
        return dtype("handle")
    if lanes_text is not None and lanes == 1:
        return _TABLE.setdefault(name, dtype(base))
    if base == "uint1":  # the specification's spelling of bool (errata E-57)
        return _TABLE.setdefault(name, dtype("bool").with_lanes(lanes))
    new_dtype = DType(name, kind, bits, lanes)
    return _TABLE.setdefault(name, new_dtype)


def element_type(name: str) -> DType | None:
    """The element type of an annotation. None for an unknown one: empty, `void` or `handle64x0`."""
    return None if name in _UNKNOWN else dtype(name)


_OF_NUMPY: dict[np.dtype[Any], DType] = {}  # the name of a numpy dtype is slow


def from_numpy(array_dtype: np.dtype[Any]) -> DType:
    """The element type of a numpy dtype. Raises ValueError if Relax has no such type."""
    known = _OF_NUMPY.get(array_dtype)
    if known is None:
        known = dtype(array_dtype.name)
        if array_dtype == known.to_numpy():  # not of another byte order
            _OF_NUMPY[array_dtype] = known
    return known


def has_type(array_dtype: np.dtype[Any], element: DType) -> bool:
    """True if a numpy dtype, in any byte order, has the elements of this type."""
    known = _OF_NUMPY.get(array_dtype)
    return known is element or (known is None and bool(array_dtype.name == element.name))


BOOL, INT8, INT16, INT32, INT64 = (dtype(n) for n in ("bool", "int8", "int16", "int32", "int64"))
UINT8, UINT16, UINT32, UINT64 = (dtype(n) for n in ("uint8", "uint16", "uint32", "uint64"))
FLOAT16, FLOAT32, FLOAT64, BFLOAT16 = (dtype(n) for n in ("float16", "float32", "float64", "bfloat16"))
HANDLE = dtype("handle")
