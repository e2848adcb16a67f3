"""The lengths of the modules; `python -m tests.support.module_sizes` prints the table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "relax_explorer"
AIM, LIMIT = 300, 600

EXCEPTIONS: dict[str, int] = {}
"""Modules over the limit and their length. An entry may only get smaller, and no entry may be added."""


@dataclass(frozen=True)
class ModuleSize:
    """A module's path from the project's top, and its number of lines."""

    path: str
    lines: int

    @property
    def problem(self) -> str:
        """Return the problem with this length, or an empty text."""
        known = EXCEPTIONS.get(self.path)
        if known is None:
            return f"over {LIMIT} lines: split it by noun" if self.lines > LIMIT else ""
        if self.lines <= LIMIT:
            return "no longer an exception: remove its entry"
        if self.lines != known:
            return f"{known} lines on record: " + (
                "lower the record" if self.lines < known else "it may only shrink"
            )
        return ""


def module_sizes() -> list[ModuleSize]:
    """Return every module of the package, the longest first."""
    sizes = [
        ModuleSize(path.relative_to(ROOT).as_posix(), len(path.read_text(encoding="utf-8").splitlines()))
        for path in PACKAGE.rglob("*.py")
    ]
    return sorted(sizes, key=lambda size: (-size.lines, size.path))


def table(sizes: list[ModuleSize]) -> str:
    """Render the modules over the aim, and one line about the others."""
    long = [size for size in sizes if size.lines > AIM]
    rows = [f"{size.lines:5}  {size.path}  {size.problem}".rstrip() for size in long]
    total = sum(size.lines for size in sizes)
    return "\n".join(
        [*rows, f"{len(sizes)} modules, {total} lines; {len(long)} over {AIM}, the limit is {LIMIT}"]
    )


def stale_exceptions(sizes: list[ModuleSize]) -> list[str]:
    """Return the entries of the list whose module no longer exists."""
    return sorted(EXCEPTIONS.keys() - {size.path for size in sizes})


if __name__ == "__main__":
    found = module_sizes()
    print(table(found))  # noqa: T201  # a table for people, in CI and at a terminal
    raise SystemExit(bool(stale_exceptions(found) or any(size.problem for size in found)))
