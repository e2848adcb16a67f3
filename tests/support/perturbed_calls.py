"""The examples of operators with one part made wrong, next to the right value: a rank, a dtype, a length, a number, an axis."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from relax_explorer.core.ops.kit.decl import Op
from tests.support.bad_calls import Bad
from tests.support.op_examples import DTYPES, NUMBER, TENSOR, Example, read, split

_FAR = "1000000000"
_NUMBER_IN_LIST = re.compile(r"-?\d+")
_LENGTHS = ("0", "1", "7")
_OTHER = {"int": '"a"', "float": '"a"', "bool": "3", "str": "3", "DType": "3"}


def perturbed_calls(op: type[Op]) -> Iterator[Bad]:
    """Every example of an operator with one operand or attribute changed; each changed call once."""
    seen = set()
    for text in op.examples:
        good = read(op, text)
        for bad in (*_operands(good), *_attributes(good)):
            words = str(bad)
            if words not in seen:
                seen.add(words)
                yield bad


def _operands(good: Example) -> Iterator[Bad]:
    op = good.op
    for place, text in enumerate(good.operands):
        name = op.operands[min(place, len(op.operands) - 1)].name if op.operands else ""
        if place == len(good.operands) - 1 and len(op.operands) == len(good.operands):
            yield _with(good, good.operands[:-1], name, -1)  # an operand is missing
        for other in _other(text):
            yield _with(good, (*good.operands[:place], other, *good.operands[place + 1 :]), name, place)


def _with(good: Example, operands: tuple[str, ...], name: str, place: int) -> Bad:
    text = " ".join((*operands, *good.attributes))
    return Bad(replace(good, operands=operands, text=text, result=""), name, place)


def _other(text: str) -> Iterator[str]:
    """Other texts of an operand: of another rank, dtype or length."""
    if TENSOR.match(text) and (len(text) > 1):
        yield from _other_tensor(text)
    elif text.startswith("("):
        fields = split(text[1:-1])
        yield "{R.tuple()}"
        for n, field in enumerate(fields):
            others = _other(field) if TENSOR.match(field) else ("0", "-1", _FAR)
            for other in others:
                yield f"({','.join((*fields[:n], other, *fields[n + 1 :]))},)"
        yield f"({','.join((*fields, *fields[-1:]))},)"
    elif NUMBER.match(text):
        yield from ("0", "-1", _FAR)


def _other_tensor(text: str) -> Iterator[str]:
    kind, _, rest = text.partition("[")
    if kind not in DTYPES:
        yield from ("f32[3]", "(f32[2],f32[3])")
        return
    lengths = [item for item in rest.rstrip("]").split(",") if item]
    yield f"{kind}[{','.join((*lengths, '3'))}]"
    if lengths:
        yield f"{kind}[{','.join(lengths[1:])}]"
    for other in ("i8", "f32", "bool", "u64"):
        if other != kind:
            yield f"{other}[{','.join(lengths)}]" if rest else other
    for n, length in enumerate(lengths):
        for other in _LENGTHS:
            if other != length:
                yield f"{kind}[{','.join((*lengths[:n], other, *lengths[n + 1 :]))}]"


def _attributes(good: Example) -> Iterator[Bad]:
    written = {text.partition("=")[0]: text.partition("=")[2].strip("{}") for text in good.attributes}
    for q in good.op.attributes:
        kind = q.kind
        given = written.get(q.name, "" if q.required else repr(q.default))
        others = tuple(text for text in good.attributes if not text.startswith(f"{q.name}="))
        if q.required:
            yield Bad(replace(good, attributes=others, result=""), q.name)
        for value in _other_values(kind, given):
            yield Bad(replace(good, attributes=(*others, f"{q.name}={{{value}}}"), result=""), q.name)


def _other_values(kind: str, given: str) -> Iterator[str]:
    """Values of an attribute other than the text `given`."""
    yield from ("None", _OTHER.get(kind, '"a"'))
    if kind in ("int", "Axes", "Ints", "int | Ints"):
        yield from ("0", "-1", _FAR, f"-{_FAR}", "True", "1.5")
    if kind == "float":
        yield from ("float('nan')", "float('inf')", "-float('inf')", "-1.0", "0.0")
    if kind in ("Axes", "Ints", "int | Ints"):
        yield from ("[0, 0]", "[]", "[-1, -1]")
        for found in _NUMBER_IN_LIST.finditer(given):
            for other in ("0", "-1", _FAR):
                changed = f"{given[: found.start()]}{other}{given[found.end() :]}"
                if changed != given:
                    yield changed
