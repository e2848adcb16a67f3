"""Only lines that begin as a heading are matched, and all of these are found."""

from __future__ import annotations

import random
import re

import pytest

from relax_explorer.core.session.dumps import split_stages

_LINE = re.compile(
    r"#+[ -]*(?:IR dump after|after|stage [0-9]{1,9}:?) +([\w.]+(?:\{[^\n]*\})?)[ -]*|((?://|#) ?-----+ *)",
    re.IGNORECASE,
)
_LINES = (
    "# after X",
    "#after Y",
    "  # after Z",
    "x = 1  # after W",
    "x = 2",
    "// -----",
    "# ------",
    "#-- stage 3 Foo --",
    "##-- IR dump after Bar{a=1}",
    "# a comment",
    "# after a comment in prose",
    "-----",
    "",
)


def expected(lines: list[str]) -> list[str]:
    """The passes named by the headings that code follows; "" stands for what comes first and for rules."""
    parts: list[tuple[str, bool]] = [("", False)]
    for line in lines:
        if (hit := _LINE.fullmatch(line)) is not None:
            parts.append((hit[1] or "", line.startswith("//")))  # only `#` makes a comment
        elif line.strip() and not line.lstrip().startswith("#"):
            parts[-1] = (parts[-1][0], True)
    return [name for name, has_code in parts if has_code]


@pytest.mark.parametrize("seed", range(40))
def test_every_heading_begins_a_stage(seed: int) -> None:
    choose = random.Random(seed)
    for _ in range(20):
        lines = choose.choices(_LINES, k=choose.randrange(1, 9))
        names = [stage.made_by for stage in split_stages("\n".join(lines), "dump.py")]
        found = ["" if re.fullmatch(r"part \d+", name) or name == "input" else name for name in names]
        assert found == (expected(lines) or [""]), lines
