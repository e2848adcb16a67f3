"""The base of random programs as text: chances from a seed, and lines."""

from __future__ import annotations

from random import Random


class RandomText:
    """Lines of a program that a seed decides."""

    def __init__(self, seed: int | str) -> None:
        self.random = Random(seed)
        self.count = 0
        self.lines: list[str] = []

    def _chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def _say(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)
