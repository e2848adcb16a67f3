"""What decided that two runs are equal, or not."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from relax_explorer.core.session.growth import Growth


class Decider(StrEnum):
    """What decided."""

    BITS = "the same bits"
    GIVEN = "the given bound"
    BOUND = "the bound"
    SHADOW = "float64"
    RANDOM = "random rounding"


@dataclass(frozen=True, slots=True)
class Judgement:
    """Why two runs are equal or not (`is_fault`), and what decided.

    `in_wide` is their greatest distance in float64, `explained` the one that rounding explains, there or in random rounding.
    `flipped` are discrete results that rounding changed, `wrong` those that it does not explain. `off` tells how far each program
    is from its results in float64, `no_shadow` why there is no such run, as a part of a sentence. `grows` are the operations at
    which rounding grows, if the results are out of the fixed bound.
    """

    by: Decider
    is_fault: bool = False
    in_wide: float | None = None
    explained: float | None = None
    flipped: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    off: tuple[float, float] | None = None
    no_shadow: str = ""
    grows: tuple[Growth, ...] = ()

    @property
    def weight(self) -> tuple[bool, bool, int]:
        """Orders judgements: faults are greatest, then what is out of the bound, then what took the most work."""
        return self.is_fault, bool(self.grows or self.flipped), list(Decider).index(self.by)
