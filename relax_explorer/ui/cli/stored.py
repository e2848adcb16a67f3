"""Results of a run in a file."""

from __future__ import annotations

import io

import numpy as np

from relax_explorer.core.exec.memory import Stateful
from relax_explorer.core.exec.values import Value
from relax_explorer.ui.cli import output
from relax_explorer.ui.files import Target


def save(results: dict[str, Value], target: Target) -> None:
    """Save results by name in an .npz. Caches are left out, with a warning."""
    stored = {name: _storable(value) for name, value in results.items() if not isinstance(value, Stateful)}
    if len(stored) < len(results):
        output.say("warning: a cache cannot be stored in an .npz; it is left out", err=True)
    held = io.BytesIO()
    np.savez(held, **stored)
    output.save(target, held.getvalue())


def _storable(value: Value) -> Value:
    """A result in a form that .npz can store: raw bytes for dtypes unknown to numpy."""
    own = isinstance(value, np.ndarray) and value.dtype.isbuiltin != 1
    return value.view(np.dtype((np.void, value.dtype.itemsize))) if own else value
