"""How Python and notebooks show a value: `repr` on one line, `print` as text, notebooks as the HTML of a front end.

Nodes know no printer and the core no front end. The package's `__init__` names the functions that write (`write_with`) and draw
(`draw_with`), and they load the printer and `viz` at their first call. Without them, there is the class alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

Maker = Callable[[object], Mapping[str, str]]
Writer = Callable[[object, bool], str]
_LONGEST = 160  # characters of a line
_maker: list[Maker] = []
_writer: list[Writer] = []


def write_with(writer: Writer) -> None:
    """Name the function that writes a value: on one line if its second argument is true, else whole."""
    _writer[:] = [writer]


def written(value: object) -> str:
    """A value as text, for `print`."""
    return (_writer[0](value, False) if _writer else "") or repr(value)


def on_one_line(value: object) -> str:
    """A value for `repr`."""
    text = _writer[0](value, True) if _writer else ""
    text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return f"<{type(value).__name__}{' ' * bool(text)}{text}>"


def draw_with(maker: Maker) -> None:
    """Name the function that draws a value for notebooks: a mapping of MIME types to texts."""
    _maker[:] = [maker]


class Readable:
    """A value with a `repr` of one line, and its text for `print`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return on_one_line(self)

    def __str__(self) -> str:
        return written(self)


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
