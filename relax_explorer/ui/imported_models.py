"""Models of ONNX, PyTorch and TFLite: TVM's importers read them in a child, and what that gives opens as any program.

The child has limits of time and memory. What it answers is a text, which our parser reads, and files of arrays; nothing is unpickled here.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from relax_explorer.core.codes import foreign as codes
from relax_explorer.core.codes import runtime
from relax_explorer.core.diagnostics import Code, Diagnostic, Failure, Label
from relax_explorer.core.exec.interrupt import Cancelled
from relax_explorer.core.exec.values import Value
from relax_explorer.core.session.arrays import SafetensorsFile, archive
from relax_explorer.core.session.builds import Build
from relax_explorer.core.session.folders import address, model_at
from relax_explorer.core.session.imported import build_of_import
from relax_explorer.core.source import Source
from relax_explorer.core.syntax.load import MAX_BYTES
from relax_explorer.ui import live_settings
from relax_explorer.viz.answering_child import INSTALL, AnsweringChild, Unanswered
from relax_explorer.viz.child import MOST_MEMORY, Limits
from relax_explorer.viz.visible import counted, visible

SECONDS = 600.0
"""How long a child may work on one model."""
MEMORY = 2 * MOST_MEMORY
"""The address space of a child: PyTorch alone reserves several GiB."""
_WEIGHTS = "weights.safetensors"
_NEEDS = {"onnx": f"{INSTALL} onnx", "torch": f"{INSTALL} torch", "tflite": f"{INSTALL} tflite"}
"""What pip is to install for the models of a format."""


@dataclass(frozen=True)
class Importer:
    """How models are imported: the interpreter (empty: the one that runs us), lengths of dimensions, and limits of each child."""

    python: str = ""
    lengths: Mapping[str, int] = field(default_factory=dict)
    seconds: float = SECONDS
    memory: int = MEMORY

    def child(self) -> AnsweringChild:
        """A child that reads models."""
        return AnsweringChild("models", self.python, Limits(memory=self.memory))


@dataclass(frozen=True)
class Imported:
    """A model as TVM reads it: the text, the folder with its weights, and what is told about it. The folder goes when nobody has it."""

    path: str
    text: str
    folder: tempfile.TemporaryDirectory[str]
    told: Mapping[str, Any]

    @property
    def weights(self) -> str:
        """The file with the weights; empty if there are none."""
        return os.path.join(self.folder.name, _WEIGHTS) if self.told.get("weights") else ""

    @property
    def summary(self) -> str:
        """`37 nodes, 12 weights of 1.2 MB, by TVM 0.27.0.post1 and onnx 1.23.2`."""
        versions = " and ".join(
            [f"{key} {value}" for key, value in dict(self.told.get("versions", {})).items()]
        )
        size = self.told.get("bytes", 0)
        shown = f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size:,} bytes"
        weights = f"{counted(self.told.get('weights', 0), 'weight')} of {shown}"
        return f"{counted(self.told.get('nodes', 0), 'node')}, {weights}, by {versions}"

    @property
    def remarks(self) -> list[str]:
        """What was noticed, and what was read."""
        return [self.summary, *map(str, self.told.get("remarks", ()))]


_KNOWN: dict[tuple[object, ...], Imported] = {}
"""The models that this process has imported; their weights stand in a folder that goes with it."""


def build_of_model(path: str) -> Build:
    """The build of the model at a path, or at `PATH@0`. Raises Failure."""
    place = address(path)[0]
    found = imported(place, Importer(live_settings.python()))
    return build_of_import(found.text, place, found.folder.name, found.remarks)


def imported(path: str, importer: Importer, weights: str = _WEIGHTS) -> Imported:
    """A model as TVM reads it. Its text names the file `weights`. One that this process knows is not read again. Raises Failure."""
    status = os.stat(path)
    key = (
        os.path.realpath(path),
        status.st_mtime_ns,
        status.st_size,
        importer.python,
        *sorted(importer.lengths.items()),
        weights,
    )
    if key not in _KNOWN:
        folder = tempfile.TemporaryDirectory(prefix="rxe-import-")
        values = {"weights": weights, "lengths": dict(importer.lengths)}
        told, parts = _asked("import", path, importer, folder.name, values, {})
        text = _text(path, parts.get("text", b""))
        _KNOWN[key] = Imported(path, text, folder, told if isinstance(told, dict) else {})
    return _KNOWN[key]


def _text(path: str, data: bytes) -> str:
    if len(data) > MAX_BYTES:
        raise _failure(
            codes.NOT_IMPORTED, path, f"its program has {len(data):,} bytes; at most {MAX_BYTES:,} are read"
        )
    return data.decode("utf-8", "replace")


# -- values ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Computed:
    """What the framework of a model computes: values by the names of variables and results, or why it stops. `by` names it."""

    by: str
    values: Mapping[str, Value]
    failure: str = ""


def computed(path: str, importer: Importer, samples: Sequence[Sequence[Value]]) -> list[Computed]:
    """What the framework of a model computes on the inputs of each sample. Raises Failure."""
    parts = {
        f"inputs{number}": archive({f"in{n}": value for n, value in enumerate(inputs)})
        for number, inputs in enumerate(samples)
    }
    with tempfile.TemporaryDirectory(prefix="rxe-import-") as folder:
        dtypes = [[np.asarray(value).dtype.name for value in inputs] for inputs in samples]
        told, _ = _asked("run", path, importer, folder, {"samples": dtypes}, parts)
        return [
            Computed(
                str(told.get("by")),
                {} if why else _values(os.path.join(folder, f"values{number}.safetensors")),
                str(why),
            )
            for number, why in enumerate(told.get("failures", ()))
        ]


def _values(path: str) -> dict[str, Value]:
    with SafetensorsFile(path) as file:
        return {name: file.read(name) for name in file.names}


# -- questions -------------------------------------------------------------------------------------------------------


def _asked(
    question: str, path: str, importer: Importer, folder: str, values: Mapping[str, object], parts: Mapping[str, bytes]
) -> tuple[Any, dict[str, bytes]]:  # fmt: skip
    """The answer of a child. Raises Failure, which is Cancelled once `live_settings.cancel` ended the child."""
    given = {"path": os.path.abspath(path), "format": model_at(path), "folder": folder, **values}
    with live_settings.ended_by_cancel(importer.child()) as child:
        try:
            return child.ask(question, given, parts, importer.seconds, f"importing {visible(path, 200)}")
        except Unanswered as problem:
            if problem.kind == "cancelled":
                raise Cancelled from None
            raise _explained(problem, path, importer) from None


_CODES = {
    "unreadable": codes.BAD_MODEL,
    "outside": codes.DATA_OUTSIDE,
    "unsupported": codes.NOT_IMPORTED,
    "cyclic": codes.NOT_IMPORTED,
    "usage": runtime.WRONG_INPUT,
    "missing": codes.NO_PACKAGE,
    "broken": codes.NO_PACKAGE,
    "MemoryError": codes.CRASHED,
}
"""What the refusals of a child are."""


def _explained(problem: Unanswered, path: str, importer: Importer) -> Failure:
    """Why a model can't be imported, and what to do."""
    found = problem.diagnostics[0]
    code = _CODES.get(problem.kind, found.code)
    text = problem.error.strip() if problem.kind in _CODES else found.message
    if problem.kind == "MemoryError":
        text = f"importing it needs more than {importer.memory / 2**30:g} GiB"
    hints = {
        codes.NO_PACKAGE: _install(path, importer),
        codes.NO_INTERPRETER: _install(path, importer),
        codes.TOO_LONG: f"allow more: rxe import {path} --max-seconds N",
        codes.CRASHED: f"allow more memory: rxe import {path} --max-memory N; {codes.CRASHED.fix}",
        runtime.WRONG_INPUT: "give --shape a length that has a name in the model",
    }
    hint = str(problem.details.get("hint") or hints.get(code, code.fix))
    return _failure(
        code, path, text or found.message, hint, found.notes if code is not codes.NO_PACKAGE else ()
    )


def _install(path: str, importer: Importer) -> str:
    """What to install where."""
    pip = f"{visible(importer.python or 'python', 200)} -m pip install {_NEEDS[model_at(path)]}"
    return f"{pip}; or name a Python that has them: rxe import {visible(path, 200)} --python PYTHON"


def _failure(code: Code, path: str, text: str, help: str = "", notes: Sequence[str] = ()) -> Failure:
    place = Label(Source("", path).span(1, 0), "", True)
    return Failure(Diagnostic(code, visible(text, 600), (place,), tuple(notes), help or code.fix))
