"""Tensors as base64 text in TVM's JSON, kept exactly.

The text is a DLTensor: 8 bytes magic 0xDD5E40F096B4A13F, 8 reserved, device (2 x i32), ndim i32, dtype (code u8, bits u8, lanes u16),
shape i64[ndim], byte count i64, data; little endian.
"""

from __future__ import annotations

import base64
import hashlib
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias

import numpy as np

from relax_explorer.core.ir.dtype import DType, dtype, from_numpy

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
MAGIC = 0xDD5E40F096B4A13F
_CODES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 6: "bool"}
_CODE_OF = {name: code for code, name in _CODES.items()}
_FLOAT8 = {
    7: "float8_e3m4", 8: "float8_e4m3", 9: "float8_e4m3b11fnuz", 10: "float8_e4m3fn", 11: "float8_e4m3fnuz", 12: "float8_e5m2",
    13: "float8_e5m2fnuz", 14: "float8_e8m0fnu",
}  # fmt: skip


# -- beside ----------------------------------------------------------------------------------------------------------
# Large arrays that go beside a text: it has `rxe:DIGEST:HEAD` in their place, where HEAD is the beginning of the DLTensor.


LARGE = 1 << 10  # bytes
_MARK = "rxe:"


class Beside(dict[str, Array]):
    """Arrays by the digest of their tensor. A text that is written with them adds its large ones, one that is read takes them."""

    def reference(self, array: Array, head: bytes, data: bytes) -> str:
        """What stands in the text for an array."""
        digest = hashlib.blake2b(head, digest_size=20)
        digest.update(data)
        name = digest.hexdigest()
        self[name] = array
        return f"{_MARK}{name}:{base64.b64encode(head).decode()}"

    def array(self, reference: str) -> Array:
        """The array of a reference, the same one each time. Raises ValueError if it is not here."""
        name = reference.split(":")[1]
        if name not in self:
            raise ValueError("an array beside the text is missing")
        return self[name]

    def add(self, name: str, head: str, data: Array) -> None:
        """Add an array as bytes, with the head of its reference."""
        self[name] = _tensor(base64.b64decode(head) + data.tobytes())


_BESIDE: ContextVar[Beside | None] = ContextVar("beside", default=None)


@contextmanager
def beside(arrays: Beside) -> Iterator[None]:
    """Write and read texts whose large arrays stand beside them."""
    token = _BESIDE.set(arrays)
    try:
        yield
    finally:
        _BESIDE.reset(token)


# -- tensors ---------------------------------------------------------------------------------------------------------


def tensor_from_text(text: str) -> Array:
    """The read-only array in a base64 DLTensor. Raises ValueError or struct.error for damaged text."""
    arrays = _BESIDE.get()
    if arrays is not None and text.startswith(_MARK):
        return arrays.array(text)
    return _tensor(base64.b64decode(text, validate=True))


def _tensor(raw: bytes) -> Array:
    magic, _reserved, _device, _device_id, ndim, code, bits, lanes = struct.unpack_from("<QQiiiBBH", raw)
    if magic != MAGIC:
        raise ValueError("not a tensor")
    if not 0 <= ndim <= 64 or lanes != 1:
        raise ValueError(f"{ndim} dimensions of {lanes} lanes")
    shape = struct.unpack_from(f"<{ndim}q", raw, 32)
    if any(length < 0 for length in shape):
        raise ValueError(f"the shape is {shape}")
    (size,) = struct.unpack_from("<q", raw, 32 + 8 * ndim)
    data = raw[40 + 8 * ndim :]
    if len(data) != size:
        raise ValueError(f"{len(data)} bytes of data, {size} announced")
    array: Array = np.frombuffer(data, dtype=_dtype(code, bits).to_numpy()).reshape(shape)
    array.setflags(write=False)
    return array


def _dtype(code: int, bits: int) -> DType:
    if code in _FLOAT8:
        return dtype(_FLOAT8[code])
    base = _CODES[code]
    return dtype("bool" if base == "bool" or (base == "uint" and bits == 1) else f"{base}{bits}")


def tensor_text(array: Array, old: bool = False) -> str:
    """An array as a base64 DLTensor. In the older form, bool is uint1."""
    element = from_numpy(array.dtype)
    code, bits = _CODE_OF.get(element.kind, 2), element.bits
    if element.is_bool and old:
        code, bits = _CODE_OF["uint"], 1
    if element.name.startswith("float8"):
        code = next(number for number, name in _FLOAT8.items() if name == element.name)
    data = np.ascontiguousarray(array).tobytes()
    head = struct.pack("<QQiiiBBH", MAGIC, 0, 1, 0, array.ndim, code, bits, 1)
    sizes = struct.pack(f"<{array.ndim}q", *array.shape) + struct.pack("<q", len(data))
    arrays = _BESIDE.get()
    if arrays is not None and len(data) >= LARGE:
        return arrays.reference(array, head + sizes, data)
    return base64.b64encode(head + sizes + data).decode("ascii")
