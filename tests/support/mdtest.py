"""Literate tests: Markdown whose `relax` blocks state in comments the inferred StructInfo and the problems.

    # revealed: R.Tensor((n, 8), dtype="float32")    the StructInfo of the variable bound in this line
    # error: [RX0203] "text"                         a problem in this line; its message contains the text
    # warning: [RX0110]                              likewise

A block without `def` is the body of a function; its parameters are in the last `params:` line above it. A `python`
block holds assertions about the `relax` block before it under the same heading, or stands alone; it sees the names of
`tests/support/spec_names.py`. A heading names the test. Identifiers of the specification in it (such as `SI-67`) mark
the requirements that it covers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

_EXPECT = re.compile(
    r"#\s*(revealed|error|warning|note):\s*(?:\[(\w+)\])?\s*(.*?)\s*(?=# (?:error|warning|note|revealed):|$)"
)


@dataclass(frozen=True)
class Expectation:
    """An expectation of one line: `kind`, the code of a problem, the text."""

    line: int
    kind: str
    code: str
    text: str


@dataclass(frozen=True)
class Case:
    """One program with its expectations; `program` is empty for `assertions` alone."""

    name: str
    program: str
    expected: tuple[Expectation, ...] = ()
    assertions: str = ""


def read(path: Path) -> list[Case]:
    """The cases of a chapter, in order; assertions keep their line numbers, for tracebacks."""
    heading, params = "", ""
    cases: list[Case] = []
    fence, block, below = "", [""], False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if fence and line.startswith("```"):
            if fence == "relax":
                cases.append(_program(f"{path.stem}: {heading} #{len(cases)}", block, params))
            elif below:
                cases[-1] = replace(cases[-1], assertions="\n".join(block))
            else:
                cases.append(Case(f"{path.stem}: {heading} #{len(cases)}", "", assertions="\n".join(block)))
            fence, below = "", fence == "relax"
        elif fence:
            block.append(line)
        elif line.startswith(("```relax", "```python")):
            fence = line.removeprefix("```").strip()
            block = [""] * number if fence == "python" else []
        elif line.startswith("#"):
            heading, below = line.lstrip("# "), False
        elif line.startswith("params:"):
            params = line.removeprefix("params:").strip().strip("`")
    return cases


def _program(name: str, lines: list[str], params: str) -> Case:
    if not any("def " in line for line in lines):
        body = [f"    {line}" for line in lines]
        if not any(line.strip().startswith("return") for line in lines):
            body.append("    return R.tuple()")
        lines = ["@R.function(pure=False)", f"def main({params}):", *body]
    expected = []
    for number, line in enumerate(lines, 1):
        for match in _EXPECT.finditer(line):
            expected.append(Expectation(number, match[1], match[2] or "", match[3].strip().strip('"')))
    return Case(name, "\n".join(lines) + "\n", tuple(expected))
