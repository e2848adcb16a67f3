"""A scrollbar that is drawn without the detour over a console, which costs Textual as much as the text beside it."""

from __future__ import annotations

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.strip import Strip


class QuickBar(ScrollBar):
    """The vertical scrollbar of lines. It looks as Textual's does."""

    def render_lines(self, crop: Region) -> list[Strip]:
        """One strip for each row of the bar."""
        look = self.render()
        size = self.size  # the layout may be ahead of it
        is_sized = crop.bottom <= size.height and crop.right <= size.width
        if not is_sized or not isinstance(look, ScrollBarRender) or not isinstance(look.style, Style):
            return super().render_lines(crop)
        bar = look.render_bar(
            size=self.size.height,
            virtual_size=look.virtual_size,
            window_size=look.window_size,
            position=look.position,
            thickness=self.size.width,
            vertical=True,
            back_color=look.style.bgcolor or Color.default(),
            bar_color=look.style.color or Color.default(),
        )
        ground, filters, below = self.background_colors[1], self.get_line_filters(), self.rich_style
        drawn: dict[Segment, Strip] = {}  # most rows are equal
        for segment in bar.segments:
            if segment not in drawn:
                cells = list(Segment.apply_style([segment], below))
                for line_filter in filters:
                    cells = line_filter.apply(cells, ground)
                drawn[segment] = Strip(cells, self.size.width)
        strips = [drawn[segment] for segment in bar.segments]
        shown = strips[crop.y : crop.bottom]
        if crop.column_span == (0, self.size.width):
            return shown
        return [strip.crop(*crop.column_span) for strip in shown]
