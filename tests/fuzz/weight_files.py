"""Damaged files of weights: each must give arrays or diagnostics, in bounded time and memory."""

from __future__ import annotations

import json
import random
import traceback
from pathlib import Path

import numpy as np

import relax_explorer as rxe
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.ir.expr import Function
from relax_explorer.core.session.arrays import read_arrays
from relax_explorer.core.session.call_inputs import CallInputs
from relax_explorer.core.session.inputs import call_values
from tests.fuzz.trial import MOST_SECONDS, Finding, TooSlow, limited

MOST = 1 << 24
MOST_TEXT = 4000  # characters of a message
_TEXT = """@R.function
def main(x: R.Tensor(("n",), "float32"), p: R.Tuple(R.Tensor((2, 3), "float32"), R.Tensor(("n",), "bfloat16"), R.Shape(["n"]))):
    a_w = p[0]
    b = p[1]
    return x
"""
_NUMBERS = (0, 1, 7, 8, 255, 1 << 31, (1 << 63) - 1, (1 << 64) - 1)
_WORDS = (
    "-1",
    "1e400",
    "null",
    "[]",
    "{}",
    '"F4"',
    '"../x"',
    "true",
    "9" * 30,
    '"f32-to-bf16"',
    '"a.w"',
    "NaN",
)
KINDS = ("npz", "npy", "safetensors", "mlc")


class WeightFiles:
    """Writes damaged files into a folder."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.random, self.folder = random.Random(seed), folder
        made = rxe.parse(_TEXT)["main"]
        assert isinstance(made, Function)
        self.fn = made
        self._write()
        self.whole = {kind: self._path(kind).read_bytes() for kind in KINDS}

    def trial(self, kind: str) -> Finding | None:
        """Damage a file of one kind, and read it."""
        data = self._damaged(self.whole[kind], kind == "mlc")
        self._path(kind).write_bytes(data)
        path = str(self.folder if kind == "mlc" else self._path(kind))
        try:
            with limited(MOST_SECONDS):
                for call in (
                    CallInputs("", {"0": path}),
                    CallInputs("", {"p": path}),
                    CallInputs("", {"x": path}),
                ):
                    _tried(lambda call=call: call_values(self.fn, call, MOST))  # type: ignore[misc]  # bound now
                if kind in ("npz", "npy"):
                    _tried(lambda: read_arrays(path, MOST))
        except TooSlow:
            return Finding(f"{kind}: over {MOST_SECONDS} s", repr(data), traceback.format_exc())
        except Exception as error:  # noqa: BLE001  # finding those is what this is for
            place = traceback.extract_tb(error.__traceback__)[-1]
            what = f"{kind}: {type(error).__name__} at {place.filename.rpartition('/')[2]}:{place.name}"
            return Finding(what, repr(data), traceback.format_exc())
        return None

    def _damaged(self, data: bytes, is_text: bool) -> bytes:
        changed = bytearray(data)
        for _ in range(self.random.choice((1, 1, 1, 2, 5))):
            at = self.random.randrange(len(changed)) if changed else 0
            kind = self.random.randrange(5)
            if kind == 0:
                changed[at : at + self.random.choice((1, 4, 40))] = b""
            elif kind == 1:
                changed[at : at + 1] = bytes([self.random.randrange(256)])
            elif kind == 2 and not is_text:
                size = self.random.choice((1, 2, 4, 8))
                changed[at : at + size] = (self.random.choice(_NUMBERS) % (1 << 8 * size)).to_bytes(
                    size, "little"
                )
            elif kind == 3:
                changed[at:at] = changed[at : at + self.random.choice((1, 10, 100))]
            else:
                changed = _other_word(self.random, changed)
        return bytes(changed)

    def _path(self, kind: str) -> Path:
        return self.folder / ("tensor-cache.json" if kind == "mlc" else f"w.{kind}")

    def _write(self) -> None:
        arrays = {
            "a.w": np.ones((2, 3), np.float32),
            "b": np.ones(2, np.uint16).view("V2"),
            "p.2": np.array([2]),
            "x": np.ones(2, np.float32),
        }
        np.savez_compressed(self._path("npz"), **arrays)
        np.save(self._path("npy"), arrays["x"])
        data, header, records = b"", {}, []
        for name, array in arrays.items():
            word, long = {"f": ("F32", "float32"), "V": ("BF16", "bfloat16"), "i": ("I64", "int64")}[
                array.dtype.kind
            ]
            shape, start = list(array.shape), len(data)
            data += array.tobytes()
            header[name] = {"dtype": word, "shape": shape, "data_offsets": [start, len(data)]}
            records.append(
                {
                    "name": name,
                    "shape": shape,
                    "dtype": long,
                    "format": "raw",
                    "nbytes": array.nbytes,
                    "byteOffset": start,
                }
            )
        text = json.dumps(header).encode()
        self._path("safetensors").write_bytes(len(text).to_bytes(8, "little") + text + data)
        (self.folder / "params_shard_0.bin").write_bytes(data)
        index = {
            "metadata": {},
            "records": [
                {
                    "dataPath": "params_shard_0.bin",
                    "format": "raw-shard",
                    "nbytes": len(data),
                    "records": records,
                }
            ],
        }
        self._path("mlc").write_text(json.dumps(index))


def _other_word(chance: random.Random, data: bytearray) -> bytearray:
    """Replace a number or a word of JSON or of a header."""
    ends = [n for n, byte in enumerate(data) if byte in b",]}): "]
    if len(ends) < 2:
        return data
    place = chance.randrange(len(ends) - 1)
    return data[: ends[place] + 1] + chance.choice(_WORDS).encode() + data[ends[place + 1] :]


def _tried(work: object) -> None:
    try:
        work()  # type: ignore[operator]  # a function
    except Failure as failure:
        if any(len(item.message) > MOST_TEXT for item in failure.diagnostics):
            raise ValueError("a message is no sentence") from None
