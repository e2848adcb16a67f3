"""What the explorer may touch. Keys of a recording may be those of a stranger: they open its program, and write no file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.session.call_inputs import CallInputs, is_file
from relax_explorer.core.session.folders import address
from relax_explorer.ui import directories
from relax_explorer.viz.visible import visible

FLAG = "--allow-writes"
_SHOWN = 200  # characters of a path


@dataclass(slots=True)
class Permit:
    """Everything while the user has the keys. While a recording plays, only the files that the command line names."""

    is_all: bool = True
    named: list[Path] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)  # what was said, each once

    def name(self, paths: Iterable[str]) -> None:
        """Let a recording open some files, and all in these folders."""
        for path in paths:
            if path and (real := _real(path)) is not None:
                self.named.append(real)

    def to_write(self, name: str) -> str:
        """Why a file is not written; empty if it may be."""
        if self.is_all:
            return ""
        return self._refusal(f"not written: {visible(name, _SHOWN)}; a recording writes files with {FLAG}")

    def to_open(self, path: str) -> str:
        """Why a file or a folder is not opened; empty if it may be."""
        if self.is_all or self._is_own(path):
            return ""
        return self._refusal(
            f"not opened: {visible(path, _SHOWN)}; a recording opens other files with {FLAG}"
        )

    def opened(self, path: str) -> str:
        """The path. Raises Failure if it may not be opened."""
        if said := self.to_open(path):
            raise Failure(Diagnostic(codes.UNREADABLE, said))
        return path

    def checked(self, call: CallInputs) -> CallInputs:
        """The inputs of a call. Raises Failure if they are in a file that may not be opened."""
        if self.is_all:  # to ask what is a file looks at the disk
            return call
        for source in call.sources.values():
            if "/" in source or is_file(source):
                self.opened(source)
        if call.calls:
            self.opened(call.calls)
        return call

    def _is_own(self, path: str) -> bool:
        real = [found for name in {path, address(path)[0]} if (found := _real(name)) is not None]
        known = [*self.named, *(item.resolve() for item in directories.samples())]
        return any(item == own or own in item.parents for item in real for own in known)

    def _refusal(self, said: str) -> str:
        if said not in self.refused:
            self.refused.append(said)
        return said


def _real(path: str) -> Path | None:
    """A path without links; None for what no path can be."""
    try:
        return Path(path).expanduser().resolve()
    except (OSError, ValueError, RuntimeError):
        return None


ALL = Permit()
