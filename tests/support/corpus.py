"""The corpus: real models, printed by TVM after each of its passes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

CORPUS = Path(__file__).resolve().parent.parent / "data" / "corpus"
REPARSABLE = CORPUS / "reparsable.json"


@dataclass(frozen=True)
class Model:
    """One model of the corpus: its stages, its entry function, and values to run it with."""

    name: str

    @property
    def directory(self) -> Path:
        """The folder of the model's files."""
        return CORPUS / self.name

    @property
    def input(self) -> str:
        """The text of the model before any pass."""
        return (self.directory / "00_input.py").read_text(encoding="utf-8")

    @property
    def stages(self) -> list[Path]:
        """The printed stages, in the order of the passes."""
        return sorted(self.directory.glob("*.py"))

    @cached_property
    def record(self) -> dict[str, Any]:
        """The content of `stages.json`: `entry`, `dims` and `stages`."""
        record: dict[str, Any] = json.loads((self.directory / "stages.json").read_text(encoding="utf-8"))
        return record

    @property
    def entry(self) -> str:
        """The name of the function to run."""
        return str(self.record["entry"])

    def arrays(self, prefix: str) -> list[np.ndarray[Any, Any]]:
        """Return the inputs (`in`) or the outputs (`out`) in the order of their numbers."""
        with np.load(self.directory / "io.npz", allow_pickle=False) as arrays:
            named = [(key.partition("_")[0], arrays[key]) for key in arrays.files if key.startswith(prefix)]
        return [array for _, array in sorted(named, key=lambda item: int(item[0].removeprefix(prefix)))]


MODELS = [Model(name) for name in ("mlp", "llama", "diffusion", "resnet_block", "bert_layer")]
STAGES = [path for model in MODELS for path in model.stages]


def stage_name(path: Path) -> str:
    """Return `model/NN_Pass.py`, the key of a stage in `reparsable.json` and its name in test ids."""
    return path.relative_to(CORPUS).as_posix()


def refused_by_tvm() -> dict[str, str]:
    """Return the stages that TVM does not read back, with TVM's reason."""
    verdicts: dict[str, str] = json.loads(REPARSABLE.read_text(encoding="utf-8"))
    return {name: reason for name, reason in verdicts.items() if reason}
