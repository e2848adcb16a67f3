"""The one selection that every pane shares: stage, function, binding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class Selection:
    """The selected place. `binding` is None when the selected line has none."""

    stage: int = 0
    function: str = ""
    binding: Any = None

    @property
    def variable(self) -> str:
        """The name of the selected variable, empty when there is none."""
        var = getattr(self.binding, "var", None)
        return "" if var is None else str(var.name)
