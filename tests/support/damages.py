"""Programs with one node made wrong, in one place: what a comparison of results must notice.

Changes are made in the text, so that they reach every construct: branches, closures, casts, tuples, annotations, attributes,
kernels and functions after the first. A change that leaves the structure as it was is none.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import zip_longest

from relax_explorer.core.program.module import IRModule
from tests.support.judged import is_equal, read

_SWAPS = {
    **{
        "R.exp(": "R.cos(",
        "R.cos(": "R.exp(",
        "R.sin(": "R.cos(",
        "R.tanh(": "R.sin(",
        "R.negative(": "R.abs(",
    },
    **{"R.sqrt(": "R.exp(", "R.nn.relu(": "R.nn.silu(", "R.sigmoid(": "R.tanh(", "R.nn.silu(": "R.nn.relu("},
    **{"R.add(": "R.subtract(", "R.multiply(": "R.add(", "R.subtract(": "R.add(", "R.divide(": "R.multiply("},
    **{"R.zeros(": "R.ones(", "R.ones(": "R.zeros(", "R.maximum(": "R.minimum(", "R.minimum(": "R.maximum("},
    **{"R.sum(": "R.mean(", "R.mean(": "R.sum(", "R.max(": "R.min(", "R.log(": "R.exp(", "R.abs(": "R.exp("},
    **{"=True": "=False", "=False": "=True", "axis=0": "axis=1", "axis=1": "axis=0", "axis=-1": "axis=0"},
    **{
        "[0]": "[1]",
        "[1]": "[0]",
        "True}": "False}",
        '"op_pattern": 0': '"op_pattern": 8',
        "T.exp(": "T.sin(",
    },
}
_SWAP = re.compile("|".join(map(re.escape, _SWAPS)))
_TENSOR = re.compile(r': R\.Tensor\(\((?:[^()]|\([^()]*\))*\), dtype="(\w+)"\) =')
_CAST = re.compile(r"R\.match_cast\(\w+, R\.Tensor\(\((.*)\), ")
_TYPE = re.compile(r": R\..*? =(?= R\.match_cast)")
_NUMBER = re.compile(r"(?<=const\()-?\d+|(?<=prim_value\()-?\d+|(?<=float32\()\d+")
_OPERANDS = re.compile(r"(?<=[(\s])(?P<a>[a-z]\w*), (?P<b>[a-z]\w*)(?=[,)])")
_BOUND = re.compile(r"^ +(?P<name>[a-z_]\w*)(?:: .*)? = (?!T\.|Module$)")
_CALLEE = re.compile(r"\bcls\.(\w+)")


@dataclass(frozen=True)
class Damage:
    """A program with one wrong node. `place` says where that is, for the table."""

    place: str
    line: str
    module: IRModule


def damages(module: IRModule, skipped: Collection[str] = ()) -> Iterator[Damage]:
    """All that can be made wrong in a module, each alone, one of each place after another. Each is read when it is asked for."""
    lines = module.script().splitlines()
    by_place: dict[str, list[tuple[str, str]]] = {}
    for number, line in enumerate(lines):
        for new in dict.fromkeys(_changes(lines, number)):
            is_type = new is not None and new.partition(" = ")[2] == line.partition(" = ")[2] != ""
            place = "annotation" if is_type else _place(lines, number)
            text = "\n".join([*lines[:number], *([] if new is None else [new]), *lines[number + 1 :]]) + "\n"
            by_place.setdefault(place, []).append((f"{line.strip()} -> {(new or '').strip()}", text))
    groups = [_read(module, place, texts) for place, texts in by_place.items() if place not in skipped]
    for round_ in zip_longest(*groups):
        yield from [damage for damage in round_ if damage is not None]


def _read(module: IRModule, place: str, texts: list[tuple[str, str]]) -> Iterator[Damage]:
    """The texts that are read as another module."""
    for line, text in texts:
        damaged = read(text)
        if damaged is not None and not is_equal(damaged, module):
            yield Damage(place, line, damaged)


def _changes(lines: list[str], number: int) -> Iterator[str | None]:
    """The line with one thing changed; None if it goes."""
    line = lines[number]
    if '"root_index"' in line or line.startswith(("#", "@", "class")):
        return
    yield from _words(line)
    yield from _types(line)
    for found in _CALLEE.finditer(line):
        others = [
            name for name in re.findall(r"^    def (\w+)\(", "\n".join(lines), re.M) if name != found[1]
        ]
        yield from [line[: found.start(1)] + other + line[found.end(1) :] for other in others[:1]]
    bound = _BOUND.match(line)
    if bound and not re.search(rf"\b{bound['name']}\b", "\n".join(lines[number + 1 :])):
        yield None
    yield from _reads(lines, number)


def _words(line: str) -> Iterator[str]:
    """Another operator, number, flag or axis, or operands in another order."""
    for found in _SWAP.finditer(line):
        yield line[: found.start()] + _SWAPS[found[0]] + line[found.end() :]
    for found in _NUMBER.finditer(line):
        yield line[: found.start()] + str(int(found[0]) + 1) + line[found.end() :]
    for found in _OPERANDS.finditer(line):
        if found["a"] != found["b"]:
            yield f"{line[: found.start()]}{found['b']}, {found['a']}{line[found.end() :]}"


def _types(line: str) -> Iterator[str]:
    """A wider annotation, or other lengths in a cast."""
    if wide := _TENSOR.search(line):
        yield f'{line[: wide.start()]}: R.Tensor(dtype="{wide[1]}") ={line[wide.end() :]}'
    if cast := _CAST.search(line):
        lengths = ", ".join(["7"] * len([part for part in cast[1].split(",") if part.strip()]))
        yield _TYPE.sub(" =", f"{line[: cast.start(1)]}{lengths},{line[cast.end(1) :]}", count=1)


def _reads(lines: list[str], number: int) -> Iterator[str]:
    """The line with one read of a variable replaced by the variable that was bound before it."""
    line = lines[number]
    start = line.find(" = ") + 3 if " = " in line else line.find("return ") + 7 if "return " in line else 0
    earlier = [match["name"] for text in lines[:number] if (match := _BOUND.match(text))][-6:]
    if not start or not earlier:
        return
    for name in earlier:
        for found in re.finditer(rf"(?<![\w.\"]){name}(?!\w|=|\.)", line[start:]):
            other = next((o for o in reversed(earlier) if o != name), None)
            if other:
                at = start + found.start()
                yield line[:at] + other + line[at + len(name) :]


def _place(lines: list[str], number: int) -> str:
    """Where a line stands: what encloses it most closely, else what it is."""
    line, around, functions = lines[number], "", 0
    indent = len(line) - len(line.lstrip())
    for above, text in reversed([*enumerate(lines[:number])]):
        other, word = len(text) - len(text.lstrip()), text.strip()
        if word and other < indent:
            indent = other
            if word.startswith("def ") and lines[above - 1].strip().startswith("@T."):
                return "kernel"
            if word.startswith(("if ", "else")):
                around = around or "branch"
            elif word.startswith("def ") and other > 4:
                around = around or "closure"
        functions += text.startswith("    def ")
    if around:
        return around
    if "match_cast" in line:
        return "cast"
    if "func_attr" in line:
        return "attribute"
    if re.search(r"= \(|= R\.tuple|\[\d\]", line):
        return "tuple"
    return "second function" if functions > 1 else "binding"
