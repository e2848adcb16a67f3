"""A finished picture: its bytes, the engine that laid it out, and why earlier engines did not."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Picture:
    """An SVG (UTF-8) or PNG file in memory; `notices` are one-line sentences for the user, shown once."""

    data: bytes
    format: str
    engine: str
    notices: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The SVG as text; ValueError for a PNG."""
        if self.format != "svg":
            raise ValueError(f"a {self.format} picture is not text")
        return self.data.decode("utf-8")
