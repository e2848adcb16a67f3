"""The inputs of a call as the user gave them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

FILES = (".npz", ".npy", ".safetensors")
"""The endings of files of arrays."""
INDEXES = ("tensor-cache.json", "ndarray-cache.json")
"""The names of the index in a folder of MLC weights, the newer one first."""


REST = "*"
"""The name of all parameters that have no source of their own, for a file with their entries."""
WEIGHTS = "*weights"
"""The name of the parameters that are weights of an imported model, for the file that its program names."""


@dataclass(frozen=True)
class CallInputs:
    """What the user gave for a call: the function (empty: the entry), sources of parameters, lengths of shape variables.

    `calls` is a file of calls that are made instead.
    """

    function: str = ""
    sources: Mapping[str, str] = field(default_factory=dict)
    shape: Mapping[str, int] = field(default_factory=dict)
    calls: str = ""

    @property
    def whole(self) -> str:
        """The file that holds the values of all parameters: a single source that names no parameter; empty if there is none."""
        first = self.sources.get("0", "")
        return first if len(self.sources) == 1 and holds_several(first) else ""


def is_file(source: str) -> bool:
    """True if a source of values is a file of arrays, not a maker such as `zeros`."""
    return source.endswith(FILES) or index_in(source) != ""


def holds_several(source: str) -> bool:
    """True if a source is a file that may hold the values of several parameters."""
    return is_file(source) and not source.endswith(".npy")


def index_in(path: str) -> str:
    """The index of a folder of weights, or the path itself if it is one; empty for anything else."""
    if os.path.basename(path) in INDEXES:
        return path
    found = [name for name in INDEXES if os.path.isfile(os.path.join(path, name))]
    return os.path.join(path, found[0]) if found else ""
