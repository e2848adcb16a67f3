"""Calls of operators about which TVM is asked: picked by hand (`tests/oracle/op_calls`), and examples changed at random.

A file has the calls of one family, in the notation of the examples and divided by ` | `, and rows of this form for what we do
otherwise on purpose; the pattern is searched in the operands and attributes of a call, `*` stands for all operators:

    stricter: sort|argsort /axis=1/ TVM does not check the axis of a scalar

`stricter` rows are about calls that only we refuse, `laxer` rows about those that only TVM refuses, `differs` rows about types,
`values` rows about what comes out when they run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random

from relax_explorer.core.ops import table
from relax_explorer.core.ops.decl import Op, Parameter
from tests.support.op_examples import DTYPES, NUMBER, TENSOR, Example, examples, read, split

FOLDER = Path(__file__).resolve().parent.parent / "oracle" / "op_calls"
_ROW = re.compile(r"(differs|stricter|laxer|values): (\S+) /(.*?)/ (.*)")
_KINDS = ("differs:", "stricter:", "laxer:", "values:")
_LENGTHS = ("0", "1", "2", "3", "4", "5", "7", "n", "m", "n+1", "n*2", "n*m", "?")
_ATTRIBUTES = {
    "int": ("-1", "0", "1", "2", "3", "5", "-3"),
    "Ints": ("1", "2", "0", "[1]", "[2,1]", "[1,2,3]", "[1,0,1,2]", "[1,1,1]", "[-1]", "[]"),
    "Axes": ("0", "1", "-1", "[0]", "[-1]", "[0,1]", "[1,0]", "[0,0]", "[5]", "[]", "None"),
    "bool": ("True", "False"),
    "float": ("0.0", "0.5", "1.0", "-1.0", "1e-05"),
}  # fmt: skip


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


def changed(call: Example, random: Random) -> Example:
    """A call with one to three of its operands and attributes changed."""
    for _ in range(random.choice((1, 1, 2, 3))):
        count = len(call.operands)
        place = random.randrange(count + max(1, len(call.op.attributes) // 2)) if call.op.attributes else 0
        if place < count:
            operand = _operand(call.operands[place], random)
            call = replace(call, operands=(*call.operands[:place], operand, *call.operands[place + 1 :]))
        elif call.op.attributes:
            call = replace(call, attributes=_attributes(call, random))
    return replace(call, text=words(call), result="")


def _operand(text: str, random: Random) -> str:
    """Another operand of nearly the same kind."""
    if NUMBER.match(text):
        return random.choice(("0", "1", "-1", "3", "7", "1.5"))
    if text.startswith("("):
        items = split(text[1:-1].rstrip(","))
        which = random.randrange(4)
        if which == 0 and items:
            items = items[:-1]
        elif which == 1 and items:
            items = [*items, random.choice(items)]
        elif items:
            n = random.randrange(len(items))
            item = items[n]
            symbolic = re.fullmatch(r"[-\w+*]+", item) is not None and TENSOR.match(item) is None
            symbolic |= bool(re.fullmatch(r"[a-z]", item))
            items[n] = (
                random.choice(("0", "1", "-1", "2", "n", "m+1")) if symbolic else _operand(item, random)
            )
        return f"({','.join(items)},)" if items else "()"
    match = TENSOR.match(text)
    if match is None or match[1] not in DTYPES:
        return text
    return _tensor(match[1], match[2], random)


def _tensor(dtype: str, lengths: str | None, random: Random) -> str:
    """A tensor of another dtype, rank or length, or with less known, or no tensor."""
    which = random.randrange(12)
    items = [] if lengths is None else split(lengths)
    if which < 3:
        dtype = random.choice(list(DTYPES))
    elif which == 3:
        items = [*items, random.choice(_LENGTHS[:-1])] if "?" not in items else [*items, "?"]
    elif which == 4 and items:
        items = items[1:]
    elif which == 5:
        return dtype
    elif which == 6 and items:
        items = ["?"] * len(items)
    elif which == 7 and random.random() < 0.3:
        return "object"
    elif items:
        items[random.randrange(len(items))] = random.choice(_LENGTHS[:-1])
        items = [item if item != "?" else "3" for item in items]
    return dtype if lengths is None else f"{dtype}[{','.join(items)}]"


def _attributes(call: Example, random: Random) -> tuple[str, ...]:
    """The attributes with one added, changed or left out."""
    parameter = random.choice(call.op.attributes)
    others = tuple(text for text in call.attributes if not text.startswith(f"{parameter.name}="))
    values = _values(parameter, call.op)
    drop = len(others) < len(call.attributes) and not parameter.required and random.random() < 0.2
    return others if drop or not values else (*others, f"{parameter.name}={random.choice(values)}")


def _values(parameter: Parameter, op: type[Op]) -> tuple[str, ...]:
    """What an attribute may be given: by its kind, and what the other calls of the operator give it."""
    kind = parameter.kind.removesuffix(" | None")
    given = [
        text.split("=", 1)[1]
        for call in calls(op)
        for text in call.attributes
        if text.startswith(f"{parameter.name}=")
    ]
    if kind == "DType":
        given += [f'"{name}"' for name in DTYPES.values() if name]
    elif kind == "str":
        given += ['"foo"']
    return tuple(dict.fromkeys((*given, *_ATTRIBUTES.get(kind, ()))))
