"""Imported models as builds: the text that an importer made, and its weights in a file."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Sequence
from typing import IO, Any

import numpy as np

from relax_explorer import recorder
from relax_explorer.core.session.arrays import Weights
from relax_explorer.core.session.builds import Build
from relax_explorer.core.session.stages import Stage, StageText
from relax_explorer.core.source import Source
from relax_explorer.core.syntax.beginnings import MANIFEST

MADE_BY = "import"
"""The name of the stage that an importer makes."""


class ImportedText(StageText):
    """The text of an imported model. The weights that it names stand in another folder than the model."""

    def __init__(self, text: str, file: str, folder: str) -> None:
        super().__init__(text, file)
        self._folder = folder

    @property
    def _source(self) -> Source:
        return Source(self.text, self.file, folder=self._folder)

    def __reduce__(self) -> tuple[Any, ...]:
        return ImportedText, (self.text, self.file, self._folder)


def build_of_import(text: str, path: str, folder: str, remarks: Sequence[str]) -> Build:
    """The build of a model: one program, whose weights stand in a folder."""
    stage = Stage(0, MADE_BY, ImportedText(text, path, folder), path)
    return Build((stage,), path, remarks=tuple(remarks))


# -- container -------------------------------------------------------------------------------------------------------


def write_container(file: IO[bytes], text: str, weights: Weights | None, more: dict[str, object]) -> None:
    """Write an import as an archive, in the form of a recording of one stage. Raises OSError, and Failure for damaged weights."""
    digest = hashlib.sha256(text.encode()).hexdigest()
    lines: dict[bytes, list[dict[str, object]]] = {kind: [] for kind in recorder.PARTS}
    lines[recorder.STAGE] = [{"pass": MADE_BY, "input": True, "text": digest, "lineage": 0, "process": 0}]
    lines[recorder.LINEAGE] = [{"lineage": 0, "kind": "module", "process": 0}]
    arrays = {} if weights is None else {name: _npy(weights, name) for name in weights.names}
    described = {
        "schema": recorder.SCHEMA, "processes": [{"ended": True}], "weights": {name: key for name, (key, _) in arrays.items()}, **more
    }  # fmt: skip
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(MANIFEST), json.dumps(described, indent=1))
        for kind, name in recorder.PARTS.items():
            archive.writestr(name, "".join([json.dumps(line) + "\n" for line in lines[kind]]))
        archive.writestr(f"ir/{digest}.txt", text.encode(), zipfile.ZIP_DEFLATED)
        for key, data in dict(arrays.values()).items():
            archive.writestr(f"data/{key}.npy", data)


def _npy(weights: Weights, name: str) -> tuple[str, bytes]:
    """The SHA-256 and the bytes of an array as a file of numpy, which knows no bfloat16: it gets the raw bytes."""
    held = io.BytesIO()
    array = np.asarray(weights.read(name))
    np.lib.format.write_array(
        held, array if array.dtype.isbuiltin else array.view(f"V{array.itemsize}"), allow_pickle=False
    )
    return hashlib.sha256(held.getvalue()).hexdigest(), held.getvalue()
