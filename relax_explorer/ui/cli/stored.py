"""Results of a run in a file."""

from __future__ import annotations

import io
from collections.abc import Iterator

import numpy as np

from relax_explorer.core.exec.memory import Stateful
from relax_explorer.core.exec.values import Value
from relax_explorer.ui.cli import output
from relax_explorer.ui.files import Target


def save(results: dict[str, Value], target: Target) -> None:
    """Save results by name in an .npz. Caches are left out, with a warning."""
    parts = [part for name, value in results.items() for part in _parts(name, value)]
    stored = {name: _storable(value) for name, value in parts if not isinstance(value, Stateful)}
    if len(stored) < len(parts):
        output.say("warning: a cache cannot be stored in an .npz; it is left out", err=True)
    held = io.BytesIO()
    np.savez(held, **stored)
    output.save(target, held.getvalue())


def _parts(name: str, value: Value) -> Iterator[tuple[str, Value]]:
    """A result; the fields of a tuple that holds other values than lengths by themselves, under numbered names."""
    if type(value) is not tuple or all(type(item) is int for item in value):
        yield name, value
        return
    for number, item in enumerate(value):
        yield from _parts(f"{name}_{number}", item)


def _storable(value: Value) -> Value:
    """A result in a form that .npz can store: raw bytes for dtypes unknown to numpy."""
    own = isinstance(value, np.ndarray) and value.dtype.isbuiltin != 1
    return value.view(np.dtype((np.void, value.dtype.itemsize))) if own else value
