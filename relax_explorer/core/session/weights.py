"""Opens files of named arrays: .npz, .npy, .safetensors, and folders of MLC weights."""

from __future__ import annotations

from relax_explorer.core.session.arrays import numpy_file
from relax_explorer.core.session.call_inputs import index_in
from relax_explorer.core.session.mlc_weights import MlcFolder
from relax_explorer.core.session.safetensors import SafetensorsFile
from relax_explorer.core.session.weight_entries import Weights


def open_weights(path: str) -> Weights:
    """The file of arrays at a path. Raises Failure if it can't be read."""
    index = index_in(path)
    if index:
        return MlcFolder(index)
    return SafetensorsFile(path) if path.endswith(".safetensors") else numpy_file(path)
