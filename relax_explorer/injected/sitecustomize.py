"""Loaded by each Python process of a build that is recorded: it waits for TVM, and loads the `sitecustomize` that it stands before.

It runs in any Python, so it imports nothing of this project. The recorder is loaded when TVM has been imported.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

_OWN = "sitecustomize"
_HERE = os.path.dirname(os.path.abspath(__file__))
_SETTINGS = os.environ.get("RELAX_EXPLORER_RECORDING", "")  # noqa: TID251  # of the build
_NOTES = os.environ.get("RELAX_EXPLORER_NOTES", "")  # noqa: TID251  # of the build


def _note(name: str, text: str = "") -> None:
    """Leave a note for the command that started the build, if it is still there."""
    with contextlib.suppress(OSError), open(os.path.join(_NOTES, name), "w", encoding="utf-8") as file:
        file.write(text)


class _Finder:
    """Finds TVM as the other finders do, and lets its loader begin the recording."""

    is_asking = False

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The place of TVM; None for all other modules."""
        if name != "tvm" or self.is_asking:
            return None
        self.is_asking = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.is_asking = False
        if spec is None:
            _note("no-tvm", sys.executable)
        elif spec.loader is not None:
            vars(spec)["loader"] = _Loader(spec.loader)
        return spec


class _Loader:
    """The loader of TVM, behind which the recording begins."""

    def __init__(self, inner: object) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    def exec_module(self, module: ModuleType) -> None:
        """Run the module as its own loader does, then begin."""
        vars(module)["__loader__"] = vars(module.__spec__)["loader"] = self._inner
        getattr(self._inner, "exec_module")(module)  # noqa: B009  # loaders have it, their class does not say so
        sys.meta_path[:] = [item for item in sys.meta_path if not isinstance(item, _Finder)]
        _begin()


def _begin() -> None:
    path = os.path.join(os.path.dirname(_HERE), "recorder.py")
    spec = importlib.util.spec_from_file_location("_relax_explorer_recorder", path)
    try:
        assert spec is not None
        assert spec.loader is not None
        recorder = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = recorder  # its dataclasses look for it there
        spec.loader.exec_module(recorder)
        recorder.begin(_SETTINGS)
        _note("tvm")
    except Exception as error:  # noqa: BLE001  # the build goes on without a recording
        _note("failed", f"{type(error).__name__}: {error}")


def _enter() -> None:
    """Let the process be as it would be without this file."""
    sys.path[:] = [item for item in sys.path if not item or os.path.abspath(item) != _HERE]
    if _SETTINGS:
        _note("started")
        sys.meta_path.insert(0, _Finder())
    own = sys.modules.pop(_OWN)
    try:
        importlib.import_module(_OWN)  # the one that stands behind this
    except ImportError as error:
        if error.name != _OWN:
            raise
    finally:
        sys.modules.setdefault(_OWN, own)


if __name__ == _OWN:
    _enter()
