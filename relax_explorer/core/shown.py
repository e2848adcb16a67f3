"""How notebooks show a value: as the HTML of a front end, if one can draw it.

The core knows no front end. The package's `__init__` names the function that draws (`draw_with`), and it loads `viz` at the
first drawing. Without it, a notebook shows the usual repr.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

Maker = Callable[[object], Mapping[str, str]]
_maker: list[Maker] = []


def draw_with(maker: Maker) -> None:
    """Name the function that draws a value for notebooks: a mapping of MIME types to texts."""
    _maker[:] = [maker]


class Shown:
    """A value that notebooks show as HTML."""

    __slots__ = ()

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """The value for Jupyter: its repr, and what the front end draws."""
        drawn = _maker[0](self) if _maker else {}
        return {"text/plain": repr(self), **drawn}

    def _repr_html_(self) -> str | None:
        """The value for notebooks that take HTML only."""
        return self._repr_mimebundle_().get("text/html")
