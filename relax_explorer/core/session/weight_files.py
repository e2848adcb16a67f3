"""Files of weights: what one is, by its name, and the weights that an imported model holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from relax_explorer.core.exec.values import Value
from relax_explorer.core.session.arrays import Entry, MlcFolder, SafetensorsFile, Weights, damaged, numpy_file
from relax_explorer.core.session.call_inputs import index_in
from relax_explorer.core.session.folders import is_container

if TYPE_CHECKING:
    from relax_explorer.core.session.containers import Container


class ContainerWeights(Weights):
    """The weights in the container of an imported model."""

    def __init__(self, path: str) -> None:
        from relax_explorer.core.session.containers import open_container  # few weights stand in one

        super().__init__(path)
        self._container: Container = open_container(path)
        self._digests: dict[str, str] = self._container.weights or {}
        self.names = tuple(self._digests)
        self._known: dict[str, Value] = {}

    def entry(self, name: str) -> Entry:
        """What an array tells. It is read for that, and kept: whoever asks for its shape wants its values, too."""
        array = self.read(name)
        return Entry(name, array.shape, array.dtype)

    def read(self, name: str) -> Value:
        """The array of an entry."""
        if name not in self._digests:
            raise damaged(f"{self.path} has no weight {name[:80]!r}")
        if name not in self._known:
            self._known[name] = np.asarray(self._container.array(self._digests[name]))
        return self._known[name]

    def close(self) -> None:
        """Forget the arrays; the container closes its file when nothing refers to it."""
        self._known.clear()


def open_weights(path: str) -> Weights:
    """The file of arrays at a path. Raises Failure if it can't be read."""
    index = index_in(path)
    if index:
        return MlcFolder(index)
    if path.endswith(".safetensors"):
        return SafetensorsFile(path)
    return ContainerWeights(path) if is_container(path) else numpy_file(path)
