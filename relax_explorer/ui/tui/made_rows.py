"""Rows of a view that are made when they are drawn, and kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from relax_explorer.ui.tui.widgets.line_view import Row


class MadeRows(Sequence[Row]):
    """Many rows, of which few are seen. A class that extends it tells how many there are, and makes one."""

    def __init__(self) -> None:
        self._rows: dict[int, Row] = {}

    @overload
    def __getitem__(self, number: int) -> Row: ...
    @overload
    def __getitem__(self, number: slice) -> list[Row]: ...
    def __getitem__(self, number: int | slice) -> Row | list[Row]:
        if isinstance(number, slice):
            return [self[n] for n in range(*number.indices(len(self)))]
        row = self._rows.get(number)
        if row is None:
            row = self._rows[number] = self._made(number)
        return row

    def _made(self, number: int) -> Row:
        """The row of a number."""
        raise NotImplementedError
