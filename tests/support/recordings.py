"""Recordings that tests make without TVM: a journal of a module that goes through passes, with a helper and its kernels."""

from __future__ import annotations

import hashlib
import io
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from relax_explorer import recorder
from relax_explorer.core.session.containers import pack

PROGRAM = """@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y = R.{op}(x)
        return y
"""
HELPER = PROGRAM.replace("def main", "def helper").format(op="exp")
KERNELS = """@I.ir_module
class Module:
    @T.prim_func
    def k(a: T.Buffer((2,), "float32")):
        for i in range(2):
            a[i] = T.float32(1)
"""
START: dict[str, Any] = {
    "schema": recorder.SCHEMA, "pid": 7, "argv": ["build.py"], "began": "2025-01-01T00:00:00Z",
    "python": "3.11.7", "tvm": "0.27.0", "ffi": "0.1.14",
}  # fmt: skip


class Writer:
    """Writes a journal as the recorder does."""

    def __init__(self, path: Path, start: dict[str, Any] = START) -> None:
        self.journal = recorder.Journal(str(path), start)
        self._last: dict[int, str] = {}

    def line(self, frame: bytes, /, **values: object) -> None:
        """A frame of JSON."""
        self.journal.add(frame, json.dumps(values).encode())

    def text(self, text: str) -> str:
        """A frame with a text; returns its digest."""
        key = hashlib.sha256(text.encode()).hexdigest()
        self.journal.add(recorder.TEXT, bytes.fromhex(key) + zlib.compress(text.encode()))
        return key

    def array(self, array: np.ndarray[Any, Any]) -> str:
        """A frame with an array; returns its digest."""
        file = io.BytesIO()
        np.lib.format.write_array(file, array, allow_pickle=False)
        key = hashlib.sha256(file.getvalue()).hexdigest()
        self.journal.add(recorder.ARRAY, bytes.fromhex(key) + file.getvalue())
        return key

    def lineage(self, number: int, kind: str, of: str = "") -> None:
        """A module that is recorded from here on."""
        self.line(recorder.LINEAGE, lineage=number, kind=kind, of=of, functions=[])

    def stage(self, name: str, text: str, *inside: str, lineage: int = 0, **more: object) -> None:
        """A pass, from its begin to its end."""
        key = self.text(text)
        depth = len(inside)
        if not more.get("input"):
            self.line(recorder.BEGIN, **{"pass": name, "depth": depth})
        values = {
            "pass": name,
            "depth": depth,
            "inside": inside,
            "lineage": lineage,
            "text": key,
            "seconds": 0.25,
        }
        place = {"file": "/models/build.py", "line": 12, "function": "main"}
        is_same = self._last.get(lineage) == key
        self.line(recorder.STAGE, **values, unchanged=is_same, place=place, **more)
        self._last[lineage] = key

    def end(self) -> None:
        """The end of the process."""
        self.line(recorder.END, spent=0.5, failure="")
        self.journal.close()


def journal(path: Path) -> Path:
    """A whole journal: a module with three passes and a helper in a pass manager, then its kernels."""
    made = Writer(path)
    made.lineage(0, "module")
    made.stage("input", PROGRAM.format(op="negative"), input=True)
    made.line(recorder.BEGIN, **{"pass": "Pipeline", "depth": 0})
    made.stage("First", PROGRAM.format(op="negative"), "Pipeline")
    made.line(recorder.BEGIN, **{"pass": "Second", "depth": 1})
    made.lineage(1, "helper", "Second")
    made.stage("input", HELPER, "Pipeline", "Second", lineage=1, input=True)
    made.stage("Inner", HELPER, "Pipeline", "Second", lineage=1)
    made.stage("Second", PROGRAM.format(op="square"), "Pipeline")
    made.stage("Third", PROGRAM.format(op="sqrt"), "Pipeline")
    made.stage("Pipeline", PROGRAM.format(op="sqrt"))
    made.lineage(2, "kernels")
    made.stage("tirx.Lower", KERNELS, lineage=2)
    made.end()
    return path


def archive(path: Path) -> Path:
    """The same as an archive."""
    source = journal(path.with_suffix(".journal"))
    with path.open("wb") as file:
        pack([str(source)], file, {"status": 0})
    return path
