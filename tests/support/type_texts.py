"""Types as texts, ours and TVM's: one spelling of both, and the kind of difference between them."""

from __future__ import annotations

import re
from random import Random
from typing import Any

from tests.support.op_examples import MESHES

OTHER = "another StructInfo"
NEGATIVE = "TVM has a negative length"
SHARPER = "more precise"
EQUAL = "agree, written otherwise"
KINDS = (OTHER, NEGATIVE, SHARPER, EQUAL)
"""The kinds of differences, the worst first."""


def spelled(text: str) -> str:
    """TVM's text of a type in our spelling: literals, fields of tuples, the empty tuple, scalars, strings."""
    text = re.sub(r"T\.int64\((-?\d+)\)", r"\1", text).replace("T.Tuple(", "R.Tuple(")
    text = re.sub(r"\bNone\b", "R.Tuple", text).replace("(ndim=-1)", "").replace("R.Object", "R.Any")
    text = re.sub(r"(?:\w+\.)*StringType(?:\([^()]*\))?", "R.Any", text)
    text = re.sub(r'vdevice="([\w-]+)"', r'vdevice="\1:0"', text)
    text = re.sub(r'vdevice="([\w-]+:\d+):\w+"', r'vdevice="\1"', text)
    text = re.sub(r"""vdevice="I.vdevice\('([\w-]+)', (\d+), '\w+'\)\"""", r'vdevice="\1:\2"', text)
    if "DTensor" in text:  # TVM spells I.Range differently, and prints meshes of the module in full
        text = re.sub(r'"mesh\[(\d)\]"', lambda match: MESHES[int(match[1])], text)
        text = re.sub(r"[RT]\.Range", "I.Range", text)
        for name in ("device_mesh=", "placement=", "dtype="):
            text = text.replace(name, "")
        text = re.sub(r'(ndim=\d+), (R.device_mesh\([^"]*, "[^"]*")', r"\2, \1", text)
    return f"T.{text}" if re.fullmatch(r"(?:u?int|float)\d+|bool", text) else text


def difference(mine: str, theirs: str) -> str:
    """The kind of difference between two texts, judged by several values of the shape variables."""
    pairs = [(_value(mine, seed), _value(theirs, seed)) for seed in range(20)]
    if all(a == b for a, b in pairs):
        return EQUAL
    if all(_sharper(a, b) for a, b in pairs):
        return SHARPER
    return NEGATIVE if all(a == b or (not isinstance(b, str) and "-" in str(b)) for a, b in pairs) else OTHER


def _sharper(mine: Any, theirs: Any) -> bool:
    """True if our type is at least as precise: theirs may be Object, or lack shape, rank or dtype of a tensor; so in tuples."""
    if mine == theirs or theirs == "any":
        return True
    head, sizes, known = theirs if isinstance(theirs, tuple) and theirs else (theirs, (), [])
    if not isinstance(mine, tuple) or mine[0] != head:
        return False
    if head == "tuple":
        return len(mine[1]) == len(sizes) and all(map(_sharper, mine[1], sizes))
    if head not in ("tensor", "shape") or (sizes and sizes != mine[1]):
        return False
    ours, said = dict(mine[2]), dict(known)
    shape = mine[1][0] if mine[1] else None
    named = isinstance(shape, int)  # a variable holds the shape: this text does not tell its rank
    ours.setdefault("ndim", said.get("ndim") if named else -1 if shape is None else len(shape))
    return all(ours.get(name) == value for name, value in said.items())


class _Say:
    """`R` and `T` for StructInfo with numbers as dimensions; calls return their arguments."""

    Any, Tensor, Shape, Tuple = "any", "tensor", "shape", "tuple"

    def __getattr__(self, name: str) -> object:
        return {"min": min, "max": max}.get(name) or (
            lambda *args, **more: (name, args, sorted(more.items()))
        )


def _value(text: str, seed: int) -> object:
    """A StructInfo with numbers for its shape variables; the text itself if it holds anything else."""
    names = set(re.findall(r"\b[a-z]\w*\b", re.sub(r"[RT]\.\w+|\w+=|\"\w+\"", " ", text)))
    numbers = {name: Random(f"{seed} {name}").choice([0, 1, 2, 3, 7, 100]) for name in names}
    lowered = re.sub(r"R\.(Tensor|Shape|Tuple)\(", lambda m: m[0].lower().replace("r.", "R."), text)
    try:
        return eval(lowered, {"R": _Say(), "T": _Say(), **numbers})
    except ZeroDivisionError:
        return "there is no such length"
    except (AttributeError, NameError, SyntaxError, TypeError):
        return text
