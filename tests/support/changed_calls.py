"""Randomly changed calls of operators: another operand, attribute or type of the result."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random

from relax_explorer.core.ops.kit.decl import Op, Parameter
from tests.support.op_calls import calls, words
from tests.support.op_examples import DTYPES, NUMBER, TENSOR, TYPES, Example, split

_LENGTHS = ("0", "1", "2", "3", "4", "5", "7", "n", "m", "n+1", "n*2", "n*m", "?")
_ATTRIBUTES = {
    "int": ("-1", "0", "1", "2", "3", "5", "-3"),
    "Ints": ("1", "2", "0", "[1]", "[2,1]", "[1,2,3]", "[1,0,1,2]", "[1,1,1]", "[-1]", "[]"),
    "IntList": ("1", "[1]", "[2,1]", "[1,0]", "[0,0]", "[1,1,1]", "[-1]", "[]"),
    "Axes": ("0", "1", "-1", "[0]", "[-1]", "[0,1]", "[1,0]", "[0,0]", "[5]", "[]", "None"),
    "bool": ("True", "False"),
    "float": ("0.0", "0.5", "1.0", "-1.0", "1e-05"),
}  # fmt: skip
_FUNCTIONS = ("{cls.kernel}", "{cls.other}", '{"f"}', '{R.ExternFunc("g")}', "object", "callable", "f32[4]")
_OBJECTS = ("object", "object", "callable", "f32[4]", "shape(?,?)", "(f32[2],i8[3])")
_PLACES = ("", "@llvm:0", "@cuda:0", "@cuda:1", "@R", "@S0", "@S1", "@S0.R", "@R.S1", "@S0.S1")


def changed(call: Example, random: Random) -> Example:
    """A call with one to three parts changed."""
    for _ in range(random.choice((1, 1, 2, 3))):
        stated = [n for n, text in enumerate(call.attributes) if text.startswith(TYPES) and "={" not in text]
        count = len(call.operands)
        attributes = max(1, len(call.op.attributes) // 2) if call.op.attributes else 0
        if not count + attributes + len(stated):
            return call
        place = random.randrange(count + attributes + len(stated))
        if place < count:
            declared = call.op.operands
            kind = declared[min(place, len(declared) - 1)].kind if declared else "Value"
            operand = _changed(call.operands[place], kind, random)
            operands = (*call.operands[:place], operand, *call.operands[place + 1 :])
            call = replace(call, operands=_counted(call.op, operands, random))
        elif place < count + attributes:
            call = replace(call, attributes=_attributes(call, random))
        else:
            call = replace(call, attributes=_types(call, stated[0], random))
    return replace(call, text=words(call), result="")


def _changed(text: str, kind: str, random: Random) -> str:
    """Another operand for a parameter of some kind."""
    if kind == "Function":
        return random.choice(_FUNCTIONS)
    if text in ("object", "callable", "shape(?,?)") or (text in _OBJECTS and random.random() < 0.3):
        return random.choice(_OBJECTS)
    return _operand(text, random)


def _counted(op: type[Op], operands: tuple[str, ...], random: Random) -> tuple[str, ...]:
    """Sometimes one operand less, or one more for operators that take any number."""
    least = sum(operand.required for operand in op.operands)
    which = random.randrange(10)
    if which == 0 and len(operands) > least:
        return operands[:-1]
    return (*operands, operands[-1]) if which == 1 and op.variadic else operands


def _types(call: Example, number: int, random: Random) -> tuple[str, ...]:
    """The attributes with another result type: one field more or less, or another type."""
    name, _, text = call.attributes[number].partition("=")
    if text.startswith("["):
        text = _operand(f"({text[1:-1]},)", random)
        text = f"[{text[1:-1].rstrip(',')}]"
    else:
        text = random.choice(
            (_operand(text, random), _operand(text, random), f"[{text},{text}]", f"[{text}]")
        )
    return (*call.attributes[:number], f"{name}={text}", *call.attributes[number + 1 :])


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
    return _tensor(match[1], match[2], f"@{match[3]}" if match[3] else "", random)


def _tensor(dtype: str, lengths: str | None, place: str, random: Random) -> str:
    """A tensor of another dtype, rank, length or device, a less precise tensor, or no tensor."""
    which = random.randrange(12)
    if place and random.random() < 0.3:
        place = random.choice(_PLACES)
    items = [] if lengths is None else split(lengths)
    if which < 3:
        dtype = random.choice(list(DTYPES))
    elif which == 3:
        items = [*items, random.choice(_LENGTHS[:-1])] if "?" not in items else [*items, "?"]
    elif which == 4 and items:
        items = items[1:]
    elif which == 5:
        return f"{dtype}{place}"
    elif which == 6 and items:
        items = ["?"] * len(items)
    elif which == 7 and random.random() < 0.3:
        return "object"
    elif items:
        items[random.randrange(len(items))] = random.choice(_LENGTHS[:-1])
        items = [item if item != "?" else "3" for item in items]
    return f"{dtype}{place}" if lengths is None else f"{dtype}[{','.join(items)}]{place}"


def _attributes(call: Example, random: Random) -> tuple[str, ...]:
    """The attributes with one added, changed or omitted."""
    parameter = random.choice(call.op.attributes)
    others = tuple(text for text in call.attributes if not text.startswith(f"{parameter.name}="))
    values = _values(parameter, call.op)
    drop = len(others) < len(call.attributes) and not parameter.required and random.random() < 0.2
    return others if drop or not values else (*others, f"{parameter.name}={random.choice(values)}")


def _values(parameter: Parameter, op: type[Op]) -> tuple[str, ...]:
    """Values for an attribute: from its kind, and from other calls of the operator."""
    kind = parameter.kind
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
