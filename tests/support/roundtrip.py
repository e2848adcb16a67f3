"""The corpus as modules, and programs from a few lines, for several tests."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import relax_explorer as rxe

DATA = Path(__file__).parent.parent / "data" / "corpus"
SAMPLES = sorted((Path(__file__).parent.parent.parent / "samples").glob("[0-9]*.py"))
STAGES = sorted(DATA.glob("*/*.py"))


def stage_id(path: Path) -> str:
    """`llama/00_input`."""
    return f"{path.parent.name}/{path.stem}"


@cache
def module(path: Path) -> Any:
    """The module in a file, read once."""
    return rxe.load(path)


def function(body: str, params: str = 'x: R.Tensor((2, 3), "float32")', head: str = "") -> str:
    """A module with one function `main`."""
    lines = "\n".join(f"        {line}" for line in body.strip().splitlines())
    return f"{head}\n@I.ir_module\nclass Module:\n    @R.function\n    def main({params}):\n{lines}\n"
