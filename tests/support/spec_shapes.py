"""Names for the chapter about shapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import relax_explorer as rxe
from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.ir import prim as p
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.shapes import assumptions, length_names, residual
from relax_explorer.core.shapes.length_names import LengthNames, Path


class _Names(LengthNames):
    """Makes a shape variable for each new name."""

    def __init__(self) -> None:
        super().__init__(IRModule({}), "main")
        self.made: dict[str, p.PrimVar] = {}

    def find(self, path: Sequence[str]) -> tuple[Path, p.PrimVar]:
        (name,) = path
        return ("main",), self.made.setdefault(name, p.PrimVar(name))


def _conditions(text: str, names: LengthNames) -> list[p.PrimExpr]:
    return [one for some in length_names.read_conditions(text, names).values() for one in some]


def _read(facts: str, assertions: tuple[str, ...]) -> tuple[assumptions.Assumptions, list[p.PrimExpr]]:
    names = _Names()
    known = assumptions.Assumptions()
    for fact in _conditions(facts, names) if facts else ():
        known = known.plus(fact)
    return known, [one for text in assertions for one in _conditions(text, names)]


def remaining(facts: str, *assertions: str) -> list[str]:
    """The assertions that remain under the facts, as text."""
    return [str(one) for one in assumptions.residual(*_read(facts, assertions))]


def decided(facts: str, *assertions: str) -> list[tuple[str, str, list[str]]]:
    """Each assertion with its answer and the facts that decide it."""
    verdicts = assumptions.entail(*_read(facts, assertions))
    return [(str(v.condition), v.answer.value, [str(fact) for fact in v.reasons]) for v in verdicts]


def holds(condition: p.PrimExpr, values: dict[p.PrimVar, int]) -> bool:
    """Whether a condition holds for these lengths."""
    number = simplify(p.substitute(condition, {var: p.as_prim(value) for var, value in values.items()}))
    assert isinstance(number, p.IntImm)
    return bool(number.value)


def about(module: IRModule | None) -> dict[str, Callable[..., Any]]:
    """The checks of the program above, by function."""

    def checks(function: str, text: str, answer: Answer) -> list[residual.ShapeCheck]:
        assert module is not None
        program = rxe.normalize(module)
        names = LengthNames(program, function)
        wanted = length_names.read_conditions(text, names) if text is not None else {}
        return [
            one
            for one in residual.shape_checks(program, wanted)
            if one.function == function and one.kind != residual.PARAMETERS and one.answer is answer
        ]

    def left(function: str, text: Any = None) -> list[str]:
        return [one.text for one in checks(function, text, Answer.UNKNOWN)]

    def failing(function: str, text: Any = None) -> list[str]:
        return [one.text for one in checks(function, text, Answer.NO)]

    def proved(function: str, text: Any = None) -> dict[str, list[str]]:
        return {one.text: [str(fact) for fact in one.proof] for one in checks(function, text, Answer.YES)}

    return {"left": left, "failing": failing, "proved": proved}


NAMES = {
    "entail": remaining,
    "decided": decided,
    "Answer": Answer,
    "shapes": SimpleNamespace(
        Assumptions=assumptions.Assumptions,
        residual=assumptions.residual,
        shape_checks=residual.shape_checks,
        holds=holds,
    ),
}
