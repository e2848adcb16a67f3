"""Goldens: expected texts kept in files; only `--update` rewrites them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Golden:
    """Compares texts with files; `command` is the command that accepts the new text."""

    directory: Path
    update: bool
    command: str

    def check(self, name: str, text: str) -> None:
        """Fail unless `text` equals the file `name` beside the test, or write the file under `--update`."""
        path = self.directory / name
        if self.update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
            return
        assert path.exists(), f"there is no {path.name} yet; create it with: {self.command}"
        expected = path.read_text(encoding="utf-8")
        assert text == expected, f"{path.name} differs; if the new text is right: {self.command}"
