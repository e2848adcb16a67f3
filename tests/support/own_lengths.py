"""Examples of operators with lengths known only at run time: each axis has a symbol of its own, and one axis is changed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from string import ascii_lowercase

from tests.support.op_examples import TENSOR, Example, read, split

_TENSOR = re.compile(r"\b([a-z]+\d*)\[([^\]]*)\]")
USUAL = 3
"""The length of an axis that is a symbol in an example."""


@dataclass(frozen=True)
class Changed:
    """An example with one axis of a wrong length: `symbolic` with symbols and their values, and `literal`."""

    axis: str
    symbolic: Example
    sizes: tuple[tuple[str, int], ...]
    literal: Example

    def __str__(self) -> str:
        return f"{self.symbolic.op.name.removeprefix('relax.')} {self.symbolic.text} with {self.axis}"


def changed(example: Example) -> Iterator[Changed]:
    """Each axis of each operand one longer, and of length 1, with a symbol for every axis or for the changed axis only."""
    texts, lengths = _marked(example)
    letters = list(lengths)
    for letter in letters:
        for other in {lengths[letter] + 1, 1} - {lengths[letter]}:
            sizes = {**lengths, letter: other}
            literal = _call(example, texts, {name: str(size) for name, size in sizes.items()})
            for kept in (letters, [letter]):
                names = {name: name if name in kept else str(lengths[name]) for name in letters}
                call = _call(example, texts, names)
                yield Changed(f"{letter} = {other}", call, tuple(sizes.items()), literal)


def _marked(example: Example) -> tuple[list[str], dict[str, int]]:
    """The operands with a letter in braces for each length, and the lengths."""
    lengths: dict[str, int] = {}
    free = iter(ascii_lowercase)

    def mark(item: str) -> str:
        letter = next(free)
        lengths[letter] = int(eval(item, {}, dict.fromkeys(ascii_lowercase, USUAL)))  # `n + 1` of an example
        return f"<{letter}>"

    def tensor(match: re.Match[str]) -> str:
        if "?" in match[2]:
            return match[0]
        return f"{match[1]}[{','.join(map(mark, split(match[2])))}]"

    texts = []
    for n, text in enumerate(example.operands):
        kind = example.op.operands[min(n, len(example.op.operands) - 1)].kind if example.op.operands else ""
        if text.startswith("(") and kind.startswith("Shape"):
            items = split(text[1:-1])
            texts.append(
                f"({','.join(item if '-' in item else mark(item) for item in items)}{',' * (len(items) == 1)})"
            )
        else:
            texts.append(text if text.startswith("{") else _TENSOR.sub(tensor, text))
    return texts, lengths


def _call(example: Example, texts: list[str], names: dict[str, str]) -> Example:
    operands = [re.sub(r"<([a-z])>", lambda match: names[match[1]], text) for text in texts]
    assert all(TENSOR.match(text) or not text[0].isalpha() or "[" not in text for text in operands)
    return read(example.op, " ".join((*operands, *example.attributes)) + " -> ")
