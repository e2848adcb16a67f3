"""Damage programs: delete, double, swap and replace tokens and lines, and corrupt characters."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.support import mdtest

ROOT = Path(__file__).resolve().parents[2]
MOST_CHARACTERS = 12_000
"""Longer programs cost time and find nothing more than short ones."""

_TOKEN = re.compile(r"\w+|\n[ ]*|[ ]+|[^\w\s]")
_ODD = [
    "0", "1", "-1", "2147483648", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "1e400", "0.0",
    "nan", "inf", '"inf"', '"nan"', "float('nan')", "1j", "0x10", "1_000", "True", "False", "None", "...", "b'x'", "''", '""',
    "(", ")", "[", "]", "{", "}", ",", ":", "=", "*", "**", "/", "//", "%", "@", "->", ":=", ".", "lambda: 0", "f'{x}'",
    "[i for i in x]", "x if x else y", "not", "and", "or", "is", "in", "await x", "yield", "*x", "**x", "_", "__", "é", "名",
    "\U0001f600", "\t", "\r", "\x0c", "\x00", "\x85", "\u2028", "\ufeff", "\ud800", "\\", "#", "'''", '"""', ";", "~", "<<", ">>", "!",
    "def", "class", "return", "if", "else", "elif", "with", "for", "while", "try", "import", "del", "global", "pass", "async",
    "R", "T", "I", "cls", "self", "metadata", "Module", "x", "n", "main", "R.Tensor", "R.Tensor((n,))", "R.Tuple", "R.Shape",
    "R.Object", "R.Callable", "R.Prim('int64')", "T.int64", "T.int64()", "T.handle", "R.const(1)", "R.tuple()", "R.shape([n])",
    "R.str('a')", "R.dtype('int8')", "R.prim_value(n)", "R.match_cast", "R.output", "R.dataflow()", "R.call_tir", "R.call_packed",
    "R.ExternFunc('f')", "R.func_attr({})", "R.emit", "metadata['ir.GenericConst'][0]", "TypeVar('n')", '"float8_e4m3fn"', '"int4"',
    '"bool"', '"uint1"', '"void"', '"handle"', '"float32x4"', '"n + 1"', '"n"', '"("', "x[0]", "x[-1]", "n + 0", "n // 0", "n % 0",
    "T.max(n, 1)", "T.Cast('int32', n)", "T.float32(1.5)", "T.int32('x')", "T.if_then_else(n > 1, n, 2)",
]  # fmt: skip


def programs() -> list[str]:
    """The initial programs: samples, recorded modules (long ones function by function), chapters of the language."""
    paths = [*sorted((ROOT / "samples").glob("*.py")), *sorted((ROOT / "tests/data").glob("**/*.py"))]
    texts = [path.read_text(encoding="utf-8") for path in paths]
    for chapter in sorted((ROOT / "tests/spec").glob("*.md")):
        texts += [case.program for case in mdtest.read(chapter) if case.program]
    parts = [
        part for text in texts for part in ([text] if len(text) <= MOST_CHARACTERS else _functions(text))
    ]
    return [part for part in dict.fromkeys(parts) if len(part) <= MOST_CHARACTERS]


def _functions(text: str) -> list[str]:
    """Each function of a module as a separate program."""
    return [textwrap.dedent(part).strip() + "\n" for part in re.split(r"\n(?=    @)", text)[1:]]


class Mutator:
    """Creates damaged programs; the same seed creates the same ones."""

    def __init__(self, seed: int, texts: list[str]) -> None:
        self.random = Random(seed)
        self.tokens = [_TOKEN.findall(text) for text in texts]
        self.all_tokens = sorted({token for tokens in self.tokens for token in tokens})

    def text(self) -> str:
        """The next damaged program."""
        choice = self.random
        tokens = list(choice.choice(self.tokens))
        for _ in range(choice.choice((1, 1, 1, 2, 3, 6))):
            choice.choices(_DAMAGES, _WEIGHTS)[0](self, tokens)
        text = "".join(tokens)
        return self._corrupted(text) if choice.random() < 0.1 else text

    def _at(self, tokens: list[str]) -> int:
        return self.random.randrange(len(tokens)) if tokens else 0

    def delete(self, tokens: list[str]) -> None:
        """Leave out a few tokens."""
        at = self._at(tokens)
        del tokens[at : at + self.random.choice((1, 1, 1, 2, 8))]

    def double(self, tokens: list[str]) -> None:
        """Write a few tokens twice."""
        at, count = self._at(tokens), self.random.choice((1, 1, 2, 8))
        tokens[at:at] = tokens[at : at + count]

    def swap(self, tokens: list[str]) -> None:
        """Exchange two tokens, or two words."""
        words = [n for n, token in enumerate(tokens) if token[0].isalnum()]
        if len(words) > 1:
            one, two = (
                self.random.sample(words, 2)
                if self.random.random() < 0.7
                else (self._at(tokens), self._at(tokens))
            )
            tokens[one], tokens[two] = tokens[two], tokens[one]

    def rename(self, tokens: list[str]) -> None:
        """Replace a word by another one of the same program."""
        words = [n for n, token in enumerate(tokens) if token[0].isalnum()]
        if words:
            tokens[self.random.choice(words)] = tokens[self.random.choice(words)]

    def replace(self, tokens: list[str]) -> None:
        """Replace a token by one of any program."""
        if tokens:
            tokens[self._at(tokens)] = self.random.choice(self.all_tokens)

    def odd(self, tokens: list[str]) -> None:
        """Write unusual text in place of a token or before it."""
        at = self._at(tokens)
        tokens[at : at + self.random.randrange(2)] = [self.random.choice(_ODD)]

    def lines(self, tokens: list[str]) -> None:
        """Delete, double, move or reindent a line."""
        lines = "".join(tokens).split("\n")
        at, other = self._at(lines), self._at(lines)
        how = self.random.randrange(5)
        if how == 0:
            del lines[at]
        elif how == 1:
            lines.insert(other, lines[at])
        elif how == 2:
            lines[at], lines[other] = lines[other], lines[at]
        elif how == 3:
            lines[at] = "    " + lines[at]
        else:
            lines[at] = lines[at].removeprefix("    ")
        tokens[:] = _TOKEN.findall("\n".join(lines))

    def splice(self, tokens: list[str]) -> None:
        """Continue with the end of another program."""
        other = self.random.choice(self.tokens)
        start = self._at(other)
        tokens[self._at(tokens) :] = other[start : start + 400]

    def _corrupted(self, text: str) -> str:
        """The text with one byte changed, decoded as far as it is still UTF-8."""
        data = bytearray(text.encode("utf-8", "surrogatepass"))
        if data:
            data[self.random.randrange(len(data))] = self.random.randrange(256)
        return data.decode("utf-8", "replace")


_DAMAGES: list[Callable[[Mutator, list[str]], None]] = [
    Mutator.delete, Mutator.double, Mutator.swap, Mutator.rename, Mutator.replace, Mutator.odd, Mutator.lines, Mutator.splice,
]  # fmt: skip
_WEIGHTS = (4, 3, 4, 6, 4, 4, 3, 1)
