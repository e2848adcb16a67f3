"""PrimFuncs without the numbers of their arithmetic: kernels that are equal but for these are translated and compiled once.

Layers of a quantized model differ in their scales, and folded normalizations in their factors. What decides how a kernel is
optimized stays in its form: 0, infinities, powers of 2 (a division by one is a multiplication), integers, and all numbers that are
operands of something else than arithmetic.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from hashlib import blake2b
from math import frexp, isfinite

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.node import over
from relax_explorer.core.program.prim_func_equal import ARITHMETIC, tokens
from relax_explorer.core.tir.mutator import Mutator
from relax_explorer.core.tir.stmt import PrimFunc

MOST = 4  # numbers of a kernel. Rows of calls have few words each
_LARGEST = 400  # operands of an expression: a larger one nests too deep to be rewritten
_FORMS: PerNode[Form] = PerNode()
_TEMPLATES: PerNode[tuple[PrimFunc, tuple[p.PrimVar, ...]]] = PerNode()


@dataclass(frozen=True, slots=True)
class Form:
    """A digest of a PrimFunc without some of its numbers, and these, by their bits as float64."""

    digest: str
    literals: tuple[p.FloatImm, ...]
    numbers: tuple[int, ...]


class _Numbers:
    """The first numbers that a form leaves out, as it comes to them."""

    def __init__(self) -> None:
        self.found: dict[p.FloatImm, None] = {}
        self.largest = 0

    def __call__(self, operation: p.PrimExpr, operand: p.PrimExpr) -> bool:
        self.largest = max(self.largest, operation.size)
        if type(operand) is not p.FloatImm:
            return False
        if operand in self.found:
            return True
        value = operand.value
        if len(self.found) == MOST or not isfinite(value) or abs(frexp(value)[0]) in (0, 0.5):
            return False
        self.found[operand] = None
        return True


def form(fn: PrimFunc) -> Form:
    """The form of a PrimFunc. Equal ones have equal loops, but for the numbers."""
    return _FORMS.of(fn, _form)


def whole_form(fn: PrimFunc) -> Form:
    """The form of a PrimFunc with all its numbers."""
    return Form(_digest(tokens(fn)), (), ())


def _form(fn: PrimFunc) -> Form:
    numbers = _Numbers()
    text = tokens(fn, numbers)
    if numbers.largest > _LARGEST:
        return whole_form(fn)
    return Form(_digest(text), tuple(numbers.found), tuple([_bits(literal) for literal in numbers.found]))


def _digest(text: list[str]) -> str:
    return blake2b("\x1f".join(text).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _bits(literal: p.FloatImm) -> int:
    bits: int = struct.unpack("<q", struct.pack("<d", literal.value))[0]
    return bits


def template(fn: PrimFunc) -> tuple[PrimFunc, tuple[p.PrimVar, ...]]:
    """A PrimFunc with variables for the numbers that its form leaves out, and these variables. The same one if it leaves out none."""
    literals = form(fn).literals
    if not literals:
        return fn, ()
    return _TEMPLATES.of(fn, lambda fn: _Template(literals).of(fn))


class _Template(Mutator):
    """Puts variables in the place of some literals of arithmetic."""

    def __init__(self, literals: tuple[p.FloatImm, ...]) -> None:
        super().__init__()
        self.names: dict[p.PrimExpr, p.PrimVar] = {
            literal: p.PrimVar(f"k{number}", literal.dtype) for number, literal in enumerate(literals)
        }

    def of(self, fn: PrimFunc) -> tuple[PrimFunc, tuple[p.PrimVar, ...]]:
        return self.function(fn), tuple(self.names.values())

    def expr(self, expr: p.PrimExpr) -> p.PrimExpr:
        """Rewrite an expression."""
        new = super().expr(expr)
        if type(expr) not in ARITHMETIC:
            return new
        return over(new, tuple([self.names.get(operand, operand) for operand in new.children()]))
