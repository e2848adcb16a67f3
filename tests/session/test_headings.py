"""Only lines that are headings begin a stage, and all of these are found."""

from __future__ import annotations

import random
import re

import pytest

from relax_explorer.core.session.build_files import build_of_text

FUNCTION = "@R.function\ndef f(x: R.Tensor((2,))):\n    return x"
_LINE = re.compile(
    r"#+[ -]*(?:IR dump after|after|stage [0-9]{1,9}:?) +([\w.]+(?:\{[^\n]*\})?)[ -]*|((?://|#) ?-----+ *)"
    r"|(?:After|Before) Running Pass: .*name=\"(\w+)\".*|.*PrintIR\((\w+)\):",
    re.IGNORECASE,
)
_LINES = (
    "# after X",
    "#after Y",
    "  # after Z",
    "x = 1  # after W",
    FUNCTION,
    "// -----",
    "# ------",
    "#-- stage 3 Foo --",
    "##-- IR dump after Bar{a=1}",
    'After Running Pass: transform.PassInfo(opt_level=0, name="Fuse", required=(), traceable=False)',
    "[12:00:00] /project/print_ir.cc:44: PrintIR(here):",
    "# a comment",
    "# after a comment in prose",
    "-----",
    "",
)


def expected(lines: list[str]) -> list[str]:
    """The passes named by the headings above programs; "" stands for what has none, and for rules.

    Functions that only comments and empty lines separate are one program.
    """
    names: list[str] = []
    heading, goes_on = "", False
    for line in lines:
        if (hit := _LINE.fullmatch(line)) is not None:
            heading, goes_on = next(filter(None, (hit[1], hit[3], hit[4])), ""), False
        elif line == FUNCTION:
            if not goes_on:
                names.append(heading)
            heading, goes_on = "", True
        elif line.strip() and not line.lstrip().startswith("#"):
            goes_on = False
    return names


@pytest.mark.parametrize("seed", range(40))
def test_every_heading_names_the_program_below(seed: int) -> None:
    choose = random.Random(seed)
    for _ in range(20):
        lines = choose.choices((*_LINES, FUNCTION), k=choose.randrange(1, 9))
        names = [stage.made_by for stage in build_of_text("\n".join(lines), "dump.py").every]
        found = ["" if re.fullmatch(r"part \d+|input|functions( \d+)?", name) else name for name in names]
        assert found == (expected(lines) or [""]), lines
