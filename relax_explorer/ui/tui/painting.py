"""What a screen draws again after a change: only the rows that changed, and only widgets that no other one hides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import cast

from textual._compositor import Compositor
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

_Cells = dict[int, Strip | None]  # what a row shows from a column on, up to the next column


class Painter(Compositor):
    """A compositor of Textual that asks widgets for fewer rows.

    Textual asks each widget near a change for all of its rows, also containers below it, of which nothing is seen.
    Most of the time between a key and its picture was spent there.
    """

    def update_widgets(self, widgets: set[Widget]) -> None:
        """Draw some widgets in the next picture, and with them all that wait to tell that they changed: one picture, not two."""
        super().update_widgets(
            widgets | {widget for widget in self.visible_widgets if widget._repaint_regions}
        )

    def _render_chops(
        self, crop: Region, is_rendered_line: Callable[[int], bool]
    ) -> Sequence[Mapping[int, Strip]]:
        cuts = self.cuts
        screen: list[_Cells] = [dict.fromkeys(row[:-1]) for row in cuts]
        rows = [y for y in crop.line_range if is_rendered_line(y)]
        for widget, (region, clip) in self.visible_widgets.items():  # those in front come first
            area = region.intersection(clip)
            if not area.overlaps(crop):
                continue
            left, right = area.column_span
            gaps: list[tuple[int, list[tuple[int, int]]]] = []  # rows in which the widget is seen, and where
            for y in rows:
                if area.y <= y < area.bottom:
                    row = screen[y]
                    ends = [x for x in cuts[y] if left <= x <= right]
                    seen = [cell for cell in pairwise(ends) if row[cell[0]] is None]
                    if seen:
                        gaps.append((y, seen))
            if gaps:
                top, bottom = gaps[0][0], gaps[-1][0] + 1
                strips = widget.render_lines(
                    Region(left - region.x, top - region.y, area.width, bottom - top)
                )
                for y, seen in gaps:
                    row, strip = screen[y], strips[y - top]
                    for start, end in seen:
                        is_whole = (start, end) == (left, right)
                        row[start] = strip if is_whole else strip.crop(start - left, end - left)
        return cast("Sequence[Mapping[int, Strip]]", screen)
