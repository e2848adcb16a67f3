"""Constants of kernels as parameters, so that kernels which are equal but for the numbers in them are compiled once.

Layers of a quantized model differ in their scales, and folded normalizations in their factors. What decides how a kernel is
optimized stays in its text: 0, infinities, powers of 2 (a division by one is a multiplication), integers, and all numbers that are
operands of something else than arithmetic.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from math import frexp, isfinite
from typing import Any

from relax_explorer.core.exec.loop_ir import (
    CHAINED,
    Assign,
    Bits,
    Const,
    Convert,
    Expr,
    Length,
    Op,
    Routine,
    Var,
    parts,
)

MOST = 4  # constants of a kernel: the last terms of a long sum. Rows of calls have few words each
_ARITHMETIC = frozenset("+-*/")
_LEAVES = frozenset({Const, Var, Length})
Names = dict[Convert, Var]


def lifted(routine: Routine) -> tuple[Routine, tuple[int, ...]]:
    """The routine with constants of its arithmetic as parameters behind its others, and their bits as float64.

    The same object if it has none.
    """
    found: dict[Expr, None] = {}
    for node in parts(routine):
        if type(node) is Op and node.symbol in _ARITHMETIC:
            found.update(dict.fromkeys(arg for arg in node.args if _is_lifted(arg)))
    if not found:
        return routine, ()
    literals = [literal for literal in found if isinstance(literal, Convert)][:MOST]
    names = {literal: Var(f"c{number}") for number, literal in enumerate(literals)}
    body = _with(routine.body, names)
    starts = [
        Assign(var.name, Convert(literal.element, Bits("int64", "float64", Var(f"k{number}"))))
        for number, (literal, var) in enumerate(names.items())
    ]
    params = (*routine.params, *[f"k{number}" for number in range(len(names))])
    return Routine(params, (*starts, *body)), tuple([_bits(literal) for literal in names])


def _is_lifted(node: Expr) -> bool:
    if type(node) is not Convert or type(node.value) is not Const or type(node.value.value) is not float:
        return False
    value = node.value.value
    return isfinite(value) and abs(frexp(value)[0]) not in (0, 0.5)


def _bits(literal: Convert) -> int:
    assert isinstance(literal.value, Const)
    bits: int = struct.unpack("<q", struct.pack("<d", literal.value.value))[0]
    return bits


def _with(node: Any, names: Names) -> Any:
    """A statement, an expression or a tuple of them with variables for constants of its arithmetic. The same object without any."""
    if type(node) is tuple:
        items = [_with(item, names) for item in node]
        return node if all(a is b for a, b in zip(items, node, strict=True)) else tuple(items)
    if type(node) is Op and node.symbol in CHAINED:
        return _chain(node, names)
    slots = getattr(node, "__slots__", ())
    if not slots or type(node) in _LEAVES:
        return node
    old = [getattr(node, slot) for slot in slots]
    new = [_with(value, names) for value in old]
    if type(node) is Op and node.symbol in _ARITHMETIC:
        new[1] = _named(new[1], names)
    return node if all(a is b for a, b in zip(old, new, strict=True)) else type(node)(*new)


def _chain(node: Op, names: Names) -> Expr:
    """A sum, which may be deeper on the left than calls may be."""
    sums: list[Op] = []
    first: Expr = node
    while type(first) is Op and first.symbol in CHAINED and len(first.args) == 2:
        sums.append(first)
        first = first.args[0]
    value: Expr = _with(first, names)
    for part in reversed(sums):
        args = _named((value, _with(part.args[1], names)), names)
        value = part if all(a is b for a, b in zip(args, part.args, strict=True)) else Op(part.symbol, args)
    return value


def _named(args: Sequence[Expr], names: Names) -> tuple[Expr, ...]:
    return tuple([names.get(arg, arg) if type(arg) is Convert else arg for arg in args])
