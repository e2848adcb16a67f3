"""What the random programs of `random_lengths` compute on given lengths, by numpy alone: the result, or the line that stops them."""

from __future__ import annotations

import re

import numpy as np

from tests.support.random_lengths import INNER, TEST, array, value

_PARAMETER = re.compile(r"(\w+): R\.Tensor\(\('([^']+)', '([^']+)'\), 'float32'\)")
_STATEMENT = re.compile(r"^( +)(\w+) = (.*)$")
_CAST = re.compile(r"R\.match_cast\((\w+), R\.Tensor\(\((.*), (.*)\), 'float32'\)\)")
_CONCAT = re.compile(r"R\.concat\(\((.*)\), axis=(\d)\)")
_OF_TWO = re.compile(r"(R\.add|R\.matmul|Module\.same)\((\w+), (\w+)\)")


class _Stop(Exception):
    """The lengths do not fit."""


def reference(text: str, lengths: dict[str, int], flag: bool) -> np.ndarray | int:
    """The result of `main`, or the number of the line that stops the run."""
    values: dict[str, np.ndarray] = {}
    lines = text.splitlines()
    start = next(number for number, line in enumerate(lines) if "def main" in line)
    for name, *dims in _PARAMETER.findall(lines[start]):
        values[name] = array([value(dim, lengths) for dim in dims])
    taken, branch = True, 0
    first = start + 2 + (len(INNER.splitlines()) if INNER in text else 0)
    for number, line in enumerate(lines[first:], first + 1):
        words = line.strip()
        if words == "else:":
            taken = not taken
            continue
        if words.startswith("if "):
            taken, branch = (flag if words == "if flag:" else lengths["n"] == 2), 12
            continue
        found = _STATEMENT.match(line)
        if found is None:
            return values[words.removeprefix("return ")]
        if len(found[1]) < branch:
            taken, branch = True, 0
        if not taken or found[3] == TEST:
            continue
        try:
            values[found[2]] = _computed(found[3], values, lengths)
        except _Stop:
            return number
    raise AssertionError("the program has no result")


def _computed(text: str, values: dict[str, np.ndarray], lengths: dict[str, int]) -> np.ndarray:
    """The value of one right side."""
    cast = _CAST.fullmatch(text)
    if cast is not None:
        expected = tuple([value(dim, lengths) for dim in cast.groups()[1:]])
        return _if(values[cast[1]].shape == expected, values[cast[1]])
    joined = _CONCAT.fullmatch(text)
    if joined is not None:
        parts, axis = [values[name] for name in joined[1].split(", ")], int(joined[2])
        _if(len({part.shape[1 - axis] for part in parts}) == 1, parts[0])
        return np.asarray(np.concatenate(parts, axis))
    if text.startswith("inner("):
        squared = values[text.removeprefix("inner(").removesuffix(")")]
        return np.asarray(_if(squared.shape == (lengths["n"], lengths["m"]), squared) ** 2)
    pair = _OF_TWO.fullmatch(text)
    if pair is None:
        return values[text]
    a, b = values[pair[2]], values[pair[3]]
    if pair[1] == "R.add":
        return np.asarray(
            _if(all(m == n or 1 in (m, n) for m, n in zip(a.shape, b.shape, strict=True)), a) + b
        )
    if pair[1] == "R.matmul":
        return np.asarray(_if(a.shape[1] == b.shape[0], a) @ b)
    return np.asarray(_if(a.shape == b.shape, a) * b)


def _if(fits: bool, result: np.ndarray) -> np.ndarray:
    if not fits:
        raise _Stop
    return result
