"""Texts around programs: each must open as stages that are modules or diagnostics, with the places of the file, in bounded time."""

from __future__ import annotations

import json
import random
import traceback
from collections.abc import Callable

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.session.build_files import build_of_text
from relax_explorer.viz.problem import render
from tests.fuzz.mutations import Mutator, programs
from tests.fuzz.trial import MOST_SECONDS, Finding, TooSlow, limited

_LINES = (
    "", "```", "```python", "# after X", "# -----", "## A title", "After:", ">>> x = 1", "N = 4", "N = f(", "M, K = 1, 2",
    "def f(a, b=3):",
    "    return 3", "class A:", "class B: pass", "import os", "from tvm import relax", "@decorated",
    "@I.ir_module", "@R.function", "    @T.prim_func",
    "12:00:01 INFO a line", "[13:00:01] /a/b.cc:12: Warning: w",
    'After Running Pass: transform.PassInfo(opt_level=0, name="P", required=(), traceable=False)',

    "x.py:3: PrintIR(here):", 'metadata = tvm.ir.load_json("""', '""")', "'''", '"""',
    "\x1b[1mbold\x1b[0m", "\x1b[", "(", ")", "\t", "é名", "n = TypeVar('n')",

    "mod = relax.transform.FuseOps(a=1)(mod)", "seq = Sequential([relax.transform.X(", "%time", "{", '{"nbformat": 4',
    "for i in range(N):", "\ufeff", "@" * 50,
)  # fmt: skip
_PREFIXES = (
    "",
    "",
    "    ",
    "\t",
    "> ",
    ">>> ",
    "... ",
    "# ",
    "[12:00:00] INFO a.py:12: ",
    "INFO:root:",
    " 12 ",
    "+ ",
    "- ",
    "| ",
    '"""',
)


class Doors:
    """Puts damaged programs into texts of other things."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.mutator = Mutator(seed, programs())
        self._kinds: tuple[Callable[[], str], ...] = (self._mixed, self._mixed, self._mixed, self._notebook)

    def trial(self) -> Finding | None:
        """Open one text."""
        text = self.random.choice(self._kinds)()
        if self.random.random() < 0.2:
            text = text[: self.random.randrange(len(text) + 1)]
        return self.opened(text)

    def opened(self, text: str) -> Finding | None:
        """Open a text."""
        try:
            with limited(MOST_SECONDS):
                self._opened(text)
        except TooSlow:
            return Finding(f"over {MOST_SECONDS} s", text, traceback.format_exc())
        except Exception as error:  # noqa: BLE001  # finding those is what this is for
            return Finding(f"{type(error).__name__} at a door", text, traceback.format_exc())
        return None

    def _opened(self, text: str) -> None:
        try:
            build = build_of_text(text, "door.txt")
        except Failure as failure:
            for item in failure.diagnostics:
                render(item)
            return
        assert build.stages
        assert len({stage.number for stage in build.every}) == len(build.every)
        for stage in build.every:
            try:
                _ = stage.module
            except Failure as failure:
                for item in failure.diagnostics:
                    render(item)

    def _mixed(self) -> str:
        choose, parts = self.random, []
        for _ in range(choose.randrange(1, 5)):
            parts += choose.choices(_LINES, k=choose.randrange(4))
            prefix = choose.choice(_PREFIXES)
            program = self.mutator.text()
            parts += [f"{prefix}{line}" for line in program.split("\n")]
        return "\n".join([*parts, *choose.choices(_LINES, k=choose.randrange(4))])

    def _notebook(self) -> str:
        choose = self.random
        cells = [
            {"cell_type": choose.choice(("code", "markdown", 3)), "source": choose.choice((self._mixed(), self._mixed().splitlines(True), 4, None)),
             "outputs": choose.choice(([], [{"text": self._mixed()}], [{"data": {"text/plain": [self._mixed(), 5]}}], 7))}
            for _ in range(choose.randrange(4))
        ]  # fmt: skip
        return json.dumps({"cells": cells, "nbformat": 4})
