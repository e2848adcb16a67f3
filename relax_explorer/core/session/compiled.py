"""The executable of a build, behind its last Relax stage: its instructions, each with the binding that it came from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from relax_explorer.core.ir import expr as e
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.executable_links import Links, linked
from relax_explorer.core.syntax.executable import Executable, Instruction, is_executable, read_executable
from relax_explorer.core.syntax.load import read_text

NAMES = ("executable.txt", "executable.py")
_HEAD = 4096  # characters that tell what a file is


@dataclass(frozen=True, slots=True)
class Compiled:
    """An executable, and which instruction came from which binding of the last Relax stage."""

    path: str
    executable: Executable
    links: Links

    def of(self, bindings: Iterable[e.Binding]) -> list[tuple[str, int]]:
        """The instructions of bindings: the name of their function, and their numbers."""
        return [place for binding in bindings for place in self.links.of(binding)]

    def found(self, text: str) -> list[tuple[str, int]]:
        """The instructions whose text contains `text`."""
        return [(name, n) for name, n, item in self._all() if text in str(item)]

    def unlinked(self) -> list[tuple[str, int]]:
        """The instructions that no binding asks for."""
        return [(name, n) for name, n, _ in self._all() if self.links.place(name, n) is None]

    def text(self, place: tuple[str, int]) -> str:
        """An instruction with its number: `#12 conv2d(%0, %1, %14)`."""
        name, number = place
        return f"#{number} {self.executable.functions[name].instructions[number]}"

    def _all(self) -> Iterator[tuple[str, int, Instruction]]:
        for name, function in self.executable.functions.items():
            yield from [(name, n, item) for n, item in enumerate(function.instructions)]


def executable_beside(folder: str) -> str:
    """The path of the executable in a folder of stages, or beside it; empty if there is none."""
    place = Path(folder)
    for path in [parent / name for parent in (place, place.absolute().parent) for name in NAMES]:
        try:
            with path.open(encoding="utf-8", errors="replace") as file:
                if is_executable(file.read(_HEAD)):
                    return str(path)
        except OSError:
            continue
    return ""


def compiled(path: str, module: IRModule) -> Compiled:
    """The executable in a file, linked to the last Relax stage of its build. Raises ParseError."""
    executable = read_executable(read_text(path), path)
    return Compiled(path, executable, linked(executable, module))
