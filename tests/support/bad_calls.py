"""Wrong calls of operators: each operand of another kind, rank or dtype, each attribute out of range."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from relax_explorer.core.ops.kit.decl import Op, Parameter
from tests.support.op_examples import TENSOR, Example, read

_KINDS = (
    "object",
    "{R.prim_value(2)}",
    "{R.shape([2,3])}",
    "{R.str('a')}",
    "{R.dtype('int8')}",
    "{R.tuple()}",
    "(f32[2],f32[3])",
)
_TENSORS = (
    "f32",
    "any",
    "f32[]",
    "f32[0]",
    "f32[3]",
    "f32[2,3]",
    "f32[2,3,4,5,6]",
    "f32[n,m]",
    "i64[2]",
    "u8[2,3]",
    "bool[2,3]",
    "f8[2,3]",
    "bf16[2]",
)
_SHAPES = ("()", "(0,)", "(-1,)", "(-1,-1)", "(n,)", "(2,3,4,5,6)", "(9223372036854775807,)")
_SCALARS = ("0", "-1", "7", "99999", "-9223372036854775808", "1.5")
_VALUES = {
    "int": ("-1", "0", "7", "65000", "99999999999", '"foo"', "None", "1.5", "[1]"),
    "Ints": ("-1", "0", "65000", "[]", "[0]", "[-1]", "[1,2,3,4,5,6,7,8,9]", '"foo"', "None", "[1.5]", "[[1]]"),
    "Axes": ("9", "-9", "65000", "[]", "[0,0]", "[0,-1]", "[9]", "[-9,-9]", '"foo"', "1.5", "[None]"),
    "bool": ("2", '"foo"', "None", "[]"),
    "str": ('"foo"', '""', "3", "None", "[]"),
    "float": ('"foo"', "-1.0", "0.0", "1e308", "None", "[]", "float('nan')"),
    "DType": ('"foo"', '"handle"', '"bool"', '"float32x4"', '"int64"', "3", "None"),
    "IntList": ("0", "-1", "[]", "[0,0]", "[9]", "[-9,-9]", "[1,2,3,4,5,6,7,8,9]", '"foo"', "None", "[1.5]", "[[1]]"),
    "int | Ints": ("0", "-1", "[]", "[-1]", '"foo"', "None", "6500", "[3,2]"),
    "Any": ('"foo"', "3", "None", "[]"),
}  # fmt: skip


@dataclass(frozen=True)
class Bad:
    """A call that is probably wrong, and its changed parameter; `place` is its number among the operands."""

    call: Example
    changed: str
    place: int = -1

    def __str__(self) -> str:
        return f"{self.call.op.name.removeprefix('relax.')} {' '.join((*self.call.operands, *self.call.attributes))}"

    def where(self) -> tuple[int, range]:
        """The line of the changed argument in the text of the module, and its columns, counted from 0."""
        text = self.call.module()
        line = next(n for n, line in enumerate(text.splitlines(), 1) if line.lstrip().startswith("result = "))
        try:
            call = ast.parse(text.splitlines()[line - 1].strip()).body[0].value  # type: ignore[attr-defined]  # it is an assignment
        except SyntaxError:  # the argument can't be parsed
            return line, range(1000)
        shift = len(text.splitlines()[line - 1]) - len(text.splitlines()[line - 1].lstrip())
        found = [item.value for item in call.keywords if item.arg == self.changed]
        at = found[0] if found else call.args[min(self.place, len(call.args) - 1)]
        return line, range(at.col_offset + shift, at.end_col_offset + shift)


def bad_calls(op: type[Op]) -> Iterator[Bad]:
    """The first example of an operator, each time with one operand or attribute changed."""
    if not op.examples:
        return
    good = read(op, op.examples[0])
    for place, text in enumerate(good.operands):
        name = op.operands[min(place, len(op.operands) - 1)].name
        for other in (*_KINDS, *_other_operands(text)):
            operands = (*good.operands[:place], other, *good.operands[place + 1 :])
            yield Bad(replace(good, operands=operands, text=" ".join(operands), result=""), name, place)
    for q in op.attributes:
        others = tuple(text for text in good.attributes if not text.startswith(f"{q.name}="))
        for value in _values(q):
            yield Bad(replace(good, attributes=(*others, f"{q.name}={{{value}}}"), result=""), q.name)


def _values(q: Parameter) -> tuple[str, ...]:
    return _VALUES.get(q.kind, ('"foo"', "-1"))


def _other_operands(text: str) -> tuple[str, ...]:
    if TENSOR.match(text):
        return _TENSORS
    if text.startswith("(") and "[" not in text:
        return (*_SHAPES, *_TENSORS[:3])
    return (
        ("()", "(f32[2],)", "(f32[2,3],i32[2,3])", "(f32,f32)", *_TENSORS[:3])
        if text.startswith("(")
        else _SCALARS
    )
