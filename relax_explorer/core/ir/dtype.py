"""Element types of tensors and scalars; an unknown element type is None."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

_FORM = re.compile(r"(bool|int|uint|float|bfloat|handle)(\d*)(_[a-z0-9]+)?(?:x(\d+))?$")
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
# How DLPack numbers the kinds of element types.
_CODES = {"int": 0, "uint": 1, "float": 2, "handle": 3, "bfloat": 4, "bool": 6}
_SMALL_CODES = {name: 7 + n for n, name in enumerate(_SMALL_FLOATS)}
UNSPECIFIED_FLOAT = (
    "float8"  # TVM has the name, and no format for it: nothing holds or computes such elements
)
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
        """Whether values are floating point, of any width."""
        return self.kind in ("float", "bfloat")

    @property
    def is_int(self) -> bool:
        """Whether values are integers, signed or not, bool excluded."""
        return self.kind in ("int", "uint")

    @property
    def is_bool(self) -> bool:
        """Whether values are truth values."""
        return self.kind == "bool"

    @property
    def code(self) -> int:
        """How DLPack numbers the kind of the elements; elements of 8 bits and less that are floats have a number each."""
        return _SMALL_CODES.get(self.name, _CODES[self.kind])

    def to_numpy(self) -> np.dtype[Any]:
        """The numpy dtype of arrays of this type; raises TypeError for handles and vectors."""
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


def _numpy_dtype(wanted: DType) -> np.dtype[Any]:
    import numpy as np

    if wanted.kind == "handle" or wanted.lanes != 1 or wanted.name == UNSPECIFIED_FLOAT:
        raise TypeError(f"no array holds elements of type {wanted.name}")
    if wanted.kind == "bfloat" or wanted.name in _SMALL_FLOATS:
        import ml_dtypes

        narrow: np.dtype[Any] = np.dtype(getattr(ml_dtypes, wanted.name))
        return narrow
    if wanted.is_int and wanted.bits < 8:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, wanted.name)) if wanted.bits in (2, 4) else np.dtype(np.bool_)
    return np.dtype(wanted.name)


def limits(kind: DType) -> tuple[float, float]:
    """The least and the largest finite number of a numeric element type."""
    if kind.is_int:
        signed = kind.kind == "int"
        return -(1 << (kind.bits - 1)) * signed, (1 << (kind.bits - signed)) - 1
    import ml_dtypes

    most = float(ml_dtypes.finfo(kind.to_numpy()).max)  # type: ignore[no-untyped-call]  # ml_dtypes has no types
    return -most, most


def dtype(name: str) -> DType:
    """The element type called `name`; raises ValueError for a name that is none."""
    hit = _TABLE.get(name)
    return hit if hit is not None else _make(name)


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
        known = base in ("bool", "handle", "handle64")
    elif suffix:
        bits, known = int(digits or 0), base in _SMALL_FLOATS
    else:
        bits = int(digits or 0)
        known = bits in _SIZES[kind]
    if not known:
        raise ValueError(f"{name!r} is not an element type")
    if base == "handle64":
        return dtype("handle")
    if base == "uint1":  # the specification's spelling of bool (errata E-57)
        return _TABLE.setdefault(name, dtype("bool").with_lanes(lanes))
    made = DType(name, kind, bits, lanes)
    return _TABLE.setdefault(name, made)


def element_type(name: str) -> DType | None:
    """The element type that an annotation says; None where it says that it is unknown: empty, `void`, `handle64x0`."""
    return None if name in _UNKNOWN else dtype(name)


def from_numpy(array_dtype: np.dtype[Any]) -> DType:
    """The element type of a numpy dtype; raises ValueError when Relax has none for it."""
    return dtype(array_dtype.name)


BOOL, INT8, INT16, INT32, INT64 = (dtype(n) for n in ("bool", "int8", "int16", "int32", "int64"))
UINT8, UINT16, UINT32, UINT64 = (dtype(n) for n in ("uint8", "uint16", "uint32", "uint64"))
FLOAT16, FLOAT32, FLOAT64, BFLOAT16 = (dtype(n) for n in ("float16", "float32", "float64", "bfloat16"))
HANDLE = dtype("handle")
