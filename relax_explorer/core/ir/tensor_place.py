"""The place of a tensor: a virtual device, or a sharding over a mesh of devices."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class VDevice:
    """A virtual device: its target, its number among the devices of this target, and its memory scope. The last two are optional.

    For a device written as `I.vdevice(…)`, the whole text is its target.
    """

    target: str
    number: str | None = None
    scope: str | None = None

    @classmethod
    def read(cls, text: str) -> VDevice:
        """The device named by `llvm`, `llvm:0` or `llvm:0:global`."""
        if text.startswith("I."):
            return cls(text)
        target, *parts = text.split(":", 2)
        return cls(target, *parts)

    @property
    def index(self) -> int | None:
        """The number of the device: 0 if omitted, None if it is not a number."""
        number = self.number or "0"
        return int(number) if number.isdecimal() else None

    @property
    def is_reference(self) -> bool:
        """True if it refers to a device of the module by name."""
        return not self.target.startswith("I.")

    def __str__(self) -> str:
        return ":".join([part for part in (self.target, self.number, self.scope) if part is not None])


@dataclass(frozen=True, slots=True)
class Sharding:
    """A device mesh, and the placement along each of its axes: `R` (replicated) or `S[n]` (axis n is split)."""

    mesh: str
    placement: str

    @property
    def parts(self) -> list[str]:
        """The placement along each axis of the mesh."""
        return [part.strip() for part in self.placement.split(",")]

    def __str__(self) -> str:
        return f"{self.mesh}; {self.placement}"


TensorPlace = VDevice | Sharding

DEVICE_KINDS = {
    "cpu": 1, "cuda": 2, "opencl": 4, "vulkan": 7, "metal": 8, "vpi": 9, "rocm": 10, "ext_dev": 12, "webgpu": 15, "hexagon": 16,
}  # fmt: skip
"""The numbers of kinds of devices in DLPack, by the names of the functions `R.cpu()`, `R.cuda()`, …"""
TARGET_KINDS = DEVICE_KINDS | {"llvm": 1, "c": 1, "nvptx": 2}
"""The same numbers by the kinds of targets."""
_WRITTEN = re.compile(
    r"R\.(\w+)\(\s*(?:(?:\w+\s*=\s*)?(\w+|'\w+'|\"\w+\")\s*(?:,\s*(?:\w+\s*=\s*)?(\d+)\s*)?)?\)"
)


def device_of(text: str) -> tuple[int, int] | None:
    """The kind and the number of a device written as `R.cuda(0)`, `R.device(2, 0)` or `R.device("cuda")`; None for another text."""
    found = _WRITTEN.fullmatch(text)
    if found is None:
        return None
    name, first, second = found.groups()
    if name == "device":
        kind = DEVICE_KINDS.get(first.strip("'\"")) if first and not first.isdecimal() else int(first or 0)
        return None if not kind else (kind, int(second or 0))
    kind = DEVICE_KINDS.get(name)
    is_number = second is None and (first or "0").isdecimal()
    return (kind, int(first or 0)) if kind is not None and is_number else None


def device_text(device: tuple[int, int]) -> str:
    """A device as TVM prints it."""
    return f"R.device(device_type={device[0]}, index={device[1]})"


def is_same_place(a: TensorPlace | None, b: TensorPlace | None) -> bool:
    """True if two places are the same: `cuda`, `cuda:0` and `cuda:0:global` name one device."""
    if not isinstance(a, VDevice) or not isinstance(b, VDevice):
        return a == b
    return a == b or (
        a.is_reference
        and (a.target, a.index, a.scope or "global") == (b.target, b.index, b.scope or "global")
    )
