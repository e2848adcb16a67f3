"""Hand-picked calls of operators to compare with TVM (`tests/oracle/op_calls`), and the intended differences.

A file has the calls of one family, in the notation of the examples, separated by ` | `. It also has rows for intended
differences. The pattern is searched in the operands and attributes of a call, `*` stands for all operators:

    stricter: sort|argsort /axis=1/ TVM does not check the axis of a scalar

`stricter`: only we refuse the call. `laxer`: only TVM refuses it. `crashes`: it ends TVM's process. `differs`: the
types differ. `weaker`: TVM's type is more precise. `values`: the computed values differ. `instead`: a `stricter` row
for an operator whose rule in TVM checks little; TVM refuses an equivalent call (`tests/oracle/instead.py`).
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
    """An intended difference: its kind, the operators, a pattern of their calls, the reason, and the file of the row."""

    kind: str
    names: str
    form: str
    reason: str
    family: str

    def explains(self, call: Example) -> bool:
        """True if the row applies to the call."""
        named = self.names == "*" or re.fullmatch(self.names, short(call.op)) is not None
        return named and re.search(self.form, words(call)) is not None


def short(op: type[Op]) -> str:
    """The short name of the operator."""
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
    """All rows of all files."""
    rows = []
    for family in families():
        for line in (FOLDER / f"{family}.txt").read_text().splitlines():
            if line.startswith(_KINDS):
                match = _ROW.fullmatch(line)
                assert match is not None, f"{family}.txt: {line!r} is not `differs: NAMES /PATTERN/ REASON`"
                rows.append(Difference(match[1], match[2], match[3], match[4], family))
    return tuple(rows)


def calls(op: type[Op]) -> tuple[Example, ...]:
    """The examples of an operator and its hand-picked calls."""
    return _calls(op.name)


@cache
def _calls(name: str) -> tuple[Example, ...]:
    op = table()[name]
    own = [example for example in examples() if example.op is op]
    return (*own, *[call for family in families() for call in picked(family) if call.op is op])
