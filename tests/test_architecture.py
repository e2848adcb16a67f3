"""`docs/architecture.md` names files and functions that exist, and every room of the package."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
FILES = sorted(set(re.findall(r"`((?:\w+/)*\w+\.py)`", PAGE)))
PLACES = sorted(set(re.findall(r"`((?:\w+/)*\w+\.py)` `([\w.]+)`", PAGE)))


def found(name: str) -> list[Path]:
    """The files with these last parts of their paths."""
    return [
        path
        for path in (*(ROOT / "relax_explorer").rglob("*.py"), *(ROOT / "tests").glob("*.py"))
        if path.as_posix().endswith(f"/{name}")
    ]


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_the_page_is_there(name: str) -> None:
    assert len(found(name)) == 1


@pytest.mark.parametrize(("file", "place"), PLACES)
def test_a_function_of_the_page_is_there(file: str, place: str) -> None:
    level: list[ast.stmt] = ast.parse(found(file)[0].read_text(encoding="utf-8")).body
    for part in place.split("."):
        named = [
            node for node in level if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == part
        ]
        assert named, f"{file} has no {place}"
        level = named[0].body


def test_every_room_is_on_the_page() -> None:
    core = ROOT / "relax_explorer" / "core"
    rooms = {f"core/{path.parent.name}/" for path in core.glob("*/__init__.py")}
    assert {room for room in rooms if f"`{room}`" not in PAGE} == set()
