"""Goldens: expected texts kept in files, rewritten by `--update` and by nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Golden:
    """Compares texts with files; `command` is what a reader runs to accept the new text."""

    directory: Path
    update: bool
    command: str

    def check(self, name: str, text: str) -> None:
        """Fail unless `text` is what the file `name` beside the test holds, or write it under `--update`."""
        path = self.directory / name
        if self.update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
            return
        assert path.exists(), f"there is no {path.name} yet; create it with: {self.command}"
        expected = path.read_text(encoding="utf-8")
        assert text == expected, f"{path.name} differs; if the new text is right: {self.command}"
