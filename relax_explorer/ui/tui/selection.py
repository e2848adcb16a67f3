"""The selected place, which all screens share, and how things are shown."""

from __future__ import annotations

from dataclasses import dataclass

from relax_explorer.core.ir import expr as e


@dataclass(frozen=True, slots=True)
class Selection:
    """The selected place, which all screens share. `binding` is None when the selected line has none."""

    stage: int = 0
    function: str = ""
    binding: e.Binding | None = None

    @property
    def variable(self) -> str:
        """The name of the selected variable, empty when there is none."""
        var = self.binding.var if self.binding is not None else None
        return "" if var is None else var.name


@dataclass(frozen=True, slots=True)
class Options:
    """How things are shown.

    `density` is compact, typed or written; `diff` is inline, only or off; `opened` are kernels with all lines; `radius` is that of
    the neighbourhood in the graph, 0 for the whole graph; `lower` is the table below the program in a narrow debug screen.
    """

    density: str = "compact"
    diff: str = "inline"
    opened: frozenset[str] = frozenset()
    shows_unchanged: bool = False
    shows_details: bool = True
    radius: int = 0
    lower: str = "values"
