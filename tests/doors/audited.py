"""Runs the command line as an installed program does, under an audit hook in it and in its Python children."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

HOOK = Path(__file__).with_name("audit")
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Done:
    """How a command ended, and what it executed, opened, wrote and started."""

    status: int
    stdout: str
    stderr: str
    events: tuple[tuple[str, str], ...]

    @property
    def output(self) -> str:
        return self.stdout + self.stderr

    def of(self, *kinds: str) -> list[str]:
        return [path for kind, path in self.events if kind in kinds]

    def inside(self, folder: Path, *kinds: str) -> list[tuple[str, str]]:
        """The events of some kinds that are about a folder."""
        return [item for item in self.events if item[0] in kinds and Path(item[1]).is_relative_to(folder)]


def environment(log: Path, home: Path) -> dict[str, str]:
    """The environment of an audited process, whose settings and caches lie in a home of its own."""
    places = {f"XDG_{name}_HOME": str(home / name.lower()) for name in ("CONFIG", "CACHE", "STATE", "DATA")}
    return {
        **os.environ,
        **places,
        "HOME": str(home),
        "TMPDIR": str(log.with_name("tmp")),
        "PYTHONPATH": str(HOOK),
        "RXE_AUDIT": str(log),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def starter(folder: Path, body: str = "from relax_explorer.ui.cli.main import main\nmain()") -> Path:
    """The installed command, as pip writes it: a script outside of the current folder."""
    script = folder / "bin" / "rxe"
    script.parent.mkdir(exist_ok=True)
    script.write_text(f"import sys\nsys.path.insert(1, {str(ROOT)!r})\n{body}\n")
    return script


def audited(
    words: Sequence[str],
    place: Path,
    outside: Path,
    stdin: str | bytes = "",
    more: Mapping[str, str] | None = None,
    program: Path | None = None,
) -> Done:
    """Run a command in the folder `place`; `outside` holds the log, the script and the home. `program` is another script to run."""
    log = outside / "audit.log"
    log.unlink(missing_ok=True)
    (outside / "tmp").mkdir(exist_ok=True)
    run = () if program is None else (f"import runpy\nrunpy.run_path({str(program)!r})",)
    command = [sys.executable, str(starter(outside, *run)), *words]
    data = stdin.encode("utf-8", "surrogateescape") if isinstance(stdin, str) else stdin
    done = subprocess.run(
        command, input=data, capture_output=True, check=False, cwd=place, timeout=120,
        env=environment(log, outside / "home") | dict(more or {}),
    )  # fmt: skip
    said = [text.decode("utf-8", "replace") for text in (done.stdout, done.stderr)]
    return Done(done.returncode, *said, events(log))


def events(log: Path) -> tuple[tuple[str, str], ...]:
    """What was written to a log, with absolute paths."""
    found = []
    for line in log.read_text(encoding="utf-8").splitlines():
        kind, *paths, folder = json.loads(line)
        if kind == "exec" and paths[0].startswith("<"):  # code of no file
            continue
        found += [
            (kind, path if kind in ("start", "words") else os.path.normpath(os.path.join(folder, path)))
            for path in paths
        ]
    return tuple(found)
