"""Calls of operators about which TVM is asked, picked by hand (`tests/oracle/op_calls`), and what is known to differ.

A file has the calls of one family, in the notation of the examples and divided by ` | `, and rows of this form for what we do
otherwise on purpose; the pattern is searched in the operands and attributes of a call, `*` stands for all operators:

    stricter: sort|argsort /axis=1/ TVM does not check the axis of a scalar

`stricter` rows are about calls that only we refuse, `laxer` rows about those that only TVM refuses, `crashes` rows about those that
end TVM's process, `differs` rows about types, `weaker` rows about types of which TVM's
say more, `values` rows about what comes out when they run. `instead` rows are `stricter`
ones about operators whose rules look at little: TVM refuses what it is asked instead (`tests/oracle/instead.py`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from relax_explorer.core.ops import table
from relax_explorer.core.ops.kit.decl import Op
from tests.support.op_examples import Example, examples, read

FOLDER = Path(__file__).resolve().parent.parent / "oracle" / "op_calls"
_ROW = re.compile(r"(differs|weaker|stricter|laxer|crashes|instead|values): (\S+) /(.*?)/ (.*)")
_KINDS = ("differs:", "weaker:", "stricter:", "laxer:", "crashes:", "instead:", "values:")


@dataclass(frozen=True)
class Difference:
    """A difference that is meant: its kind, the operators, what their calls look like, why, and in which file it stands."""

    kind: str
    names: str
    form: str
    reason: str
    family: str

    def explains(self, call: Example) -> bool:
        """Whether the row is about a call."""
        named = self.names == "*" or re.fullmatch(self.names, short(call.op)) is not None
        return named and re.search(self.form, words(call)) is not None


def short(op: type[Op]) -> str:
    """The name that people use."""
    return op.name.removeprefix("relax.")


def words(call: Example) -> str:
    """The operands and attributes of a call."""
    return " ".join((*call.operands, *call.attributes))


def families() -> list[str]:
    """The files of calls by name."""
    return sorted(path.stem for path in FOLDER.glob("*.txt"))


@cache
def picked(family: str) -> tuple[Example, ...]:
    """The calls of a file, in order."""
    lines = (FOLDER / f"{family}.txt").read_text().splitlines()
    texts = [
        text for line in lines if line and not line.startswith(("#", *_KINDS)) for text in line.split(" | ")
    ]
    found = []
    for text in texts:
        name, _, rest = text.strip().partition(" ")
        op = table().get(f"relax.{name}")
        assert op is not None, f"{family}.txt: no operator is called {name!r}"
        found.append(read(op, f"{rest} -> "))
    return tuple(found)


@cache
def differences() -> tuple[Difference, ...]:
    """Every row of every file."""
    rows = []
    for family in families():
        for line in (FOLDER / f"{family}.txt").read_text().splitlines():
            if line.startswith(_KINDS):
                match = _ROW.fullmatch(line)
                assert match is not None, f"{family}.txt: {line!r} is not `differs: NAMES /PATTERN/ REASON`"
                rows.append(Difference(match[1], match[2], match[3], match[4], family))
    return tuple(rows)


def calls(op: type[Op]) -> tuple[Example, ...]:
    """The examples of an operator and the calls that were picked for it."""
    return _calls(op.name)


@cache
def _calls(name: str) -> tuple[Example, ...]:
    op = table()[name]
    own = [example for example in examples() if example.op is op]
    return (*own, *[call for family in families() for call in picked(family) if call.op is op])
