"""Where a tensor lies: on a virtual device, or in parts on a mesh of devices."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class VDevice:
    """A virtual device: its target, its number among those of this target, and the kind of memory, as far as they are written.

    A device that is written as `I.vdevice(…)` has all of that as its target.
    """

    target: str
    number: str | None = None
    scope: str | None = None

    @classmethod
    def read(cls, text: str) -> VDevice:
        """The device that `llvm`, `llvm:0` or `llvm:0:global` names."""
        if text.startswith("I."):
            return cls(text)
        target, *rest = text.split(":", 2)
        return cls(target, *rest)

    @property
    def index(self) -> int | None:
        """The number of the device, 0 if none is written; None if that is no number."""
        number = self.number or "0"
        return int(number) if number.isdecimal() else None

    @property
    def is_reference(self) -> bool:
        """Whether it names a device of the module, not one written out."""
        return not self.target.startswith("I.")

    def __str__(self) -> str:
        return ":".join([part for part in (self.target, self.number, self.scope) if part is not None])


@dataclass(frozen=True, slots=True)
class Sharding:
    """A device mesh, and for each of its axes how the tensor is placed there: `R` (copied) or `S[n]` (axis n divided)."""

    mesh: str
    placement: str

    @property
    def parts(self) -> list[str]:
        """The placement along each axis of the mesh."""
        return [part.strip() for part in self.placement.split(",")]

    def __str__(self) -> str:
        return f"{self.mesh}; {self.placement}"


TensorPlace = VDevice | Sharding
