"""Tokens of the notations that the notes on relations and shapes use, for readers with one token of look-ahead."""

from __future__ import annotations

import os
import re
import stat
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, TypeVar

from relax_explorer.core.arith.prove import division_by_zero, is_negative
from relax_explorer.core.codes import relations as codes
from relax_explorer.core.diagnostics import Code, Diagnostic, Failure, Label
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import MOST_LANES, DType, element_type
from relax_explorer.core.ir.fold import beyond, exact
from relax_explorer.core.ir.prim import INT64_MAX, INT64_MIN
from relax_explorer.core.source import Source, Span

_A = TypeVar("_A")
_V = TypeVar("_V")
_NUMBER = r"\d+(?:\.\d+)?(?:e-?\d+)?"
_PARTS = (
    r"""(?:\s|\#[^\n]*)*(?:(?P<number>NUMBER)|(?P<name>[@%]?[A-Za-z_]\w*)"""
    r"""|(?P<mark>->|==|!=|<=|>=|//|\.\.\.|[-+*%()\[\]{}<>,:;=.?!|&/])|(?P<end>\Z)|(?P<wrong>.))"""
)
_LIKE_ELEMENT = re.compile(r"(?:bool|u?int|b?float|handle)(?:\d\w*|x\d+)$")
_TOKEN = re.compile(_PARTS.replace("NUMBER", _NUMBER), re.DOTALL)
_INDEX = re.compile(_PARTS.replace("NUMBER", r"\d+"), re.DOTALL)  # behind a dot: `%t.1.0` has two fields
COMPARISONS: dict[str, type[p.Comparison]] = {
    "==": p.EQ, "!=": p.NE, "<": p.LT, "<=": p.LE, ">": p.GT, ">=": p.GE,
}  # fmt: skip
DEEPEST = 100  # nested parentheses and blocks


class TokenReader(ABC):
    """A text and its current token. Raises Failure with the place of a mistake."""

    stray = ""  # what is said of a character that begins no token

    def __init__(self, source: Source) -> None:
        self.source = source
        self.at, self.depth = 0, 0
        self.kind, self.token, self.start, self.end, self.last = "", "", 0, 0, 0
        self.advance()

    @property
    @abstractmethod
    def tokens(self) -> re.Pattern[str]:
        """The tokens that may follow the current one: groups by kind, the last one, `wrong`, for anything."""

    @abstractmethod
    def fail(self, message: str) -> NoReturn:
        """Raise Failure for the current token."""

    def advance(self) -> str:
        """Go to the next token, and return the one before."""
        found = self.tokens.match(self.source.text, self.at)
        token, self.last = self.token, self.end
        assert found is not None  # the last alternative matches anything
        self.kind = found.lastgroup or ""
        self.token, self.start, self.end = found[self.kind], found.start(self.kind), found.end(self.kind)
        self.at = found.end()
        if self.kind == "wrong":
            self.fail(f"{self.token!r} {self.stray}")
        return token

    def sees(self, *tokens: str) -> bool:
        """True if the current token is one of these."""
        return self.kind in ("mark", "name") and self.token in tokens

    def takes(self, token: str) -> bool:
        """Skip a token if it is the current one."""
        found = self.sees(token)
        if found:
            self.advance()
        return found


class NoteReader(TokenReader):
    """What every such notation needs."""

    sample = "samples/relations/layer.relay"  # what hints name
    form = ""  # what hints say instead
    stray = "has no meaning here"

    @property
    def tokens(self) -> re.Pattern[str]:
        """Behind a dot, numbers are whole."""
        return _INDEX if self.token == "." else _TOKEN

    def span(self, start: int | None = None) -> Span:
        """The text from `start` to the end of the last token; without `start`, the current token."""
        first, end = (self.start, self.end) if start is None else (start, self.last)
        return self.source.span(*self.source.position(first), *self.source.position(max(end, first + 1)))

    def fail(
        self, message: str, place: Span | None = None, code: Code = codes.NOTATION, help: str = ""
    ) -> NoReturn:
        """Raise Failure for a place, by default the current token."""
        labels = (Label(place or self.span(), "", True),)
        form = self.form or f"Compare it with the samples, such as {self.sample}."
        fix = form if code is codes.NOTATION else code.fix
        raise Failure(Diagnostic(code, message, labels, help=help or fix))

    def expect(self, token: str) -> None:
        """Skip a token, which must be the current one."""
        if not self.takes(token):
            self.fail(f"`{token}` is expected here, not {self.shown()}")

    def shown(self) -> str:
        """The current token as a message names it."""
        return f"`{self.token}`" if self.token else "the end of the text"

    def word(self, what: str, sign: str = "") -> str:
        """A name, which begins with `sign`; it is returned without it."""
        starts = self.token.startswith(sign) if sign else self.token[:1] not in "@%"
        if self.kind != "name" or not starts:
            self.fail(f"{what} is expected here, not {self.shown()}")
        return self.advance()[len(sign) :]

    def integer(self) -> int:
        """A whole number, maybe negative."""
        sign = -1 if self.takes("-") else 1
        if self.kind != "number" or not self.token.isdigit():
            self.fail(f"a whole number is expected here, not {self.shown()}")
        value = sign * int(self.token) if len(self.token) < 100 else INT64_MAX + 1
        if not INT64_MIN <= value <= INT64_MAX:
            self.fail(f"{self.token[:40]} does not fit int64")
        self.advance()
        return value

    def several(self, one: Callable[[], Any], end: str) -> list[Any]:
        """Parts between commas, up to `end`."""
        found = []
        while not self.takes(end):
            found.append(one())
            if not self.sees(end):
                self.expect(",")
        return found

    def arguments(
        self, some: Callable[[], list[_A]], attribute: Callable[[], _V]
    ) -> tuple[list[_A], dict[str, _V]]:
        """The arguments of a call and its attributes `axis=1`, in parentheses. `some` reads one place, which may hold several."""
        args: list[_A] = []
        attrs: dict[str, _V] = {}
        self.expect("(")
        while not self.takes(")"):
            if self._is_attribute():
                start, name = self.start, self.word("an attribute")
                if name in attrs:
                    self.fail(f"`{name}` is given twice", self.span(start))
                self.expect("=")
                attrs[name] = attribute()
            else:
                args += some()
            if not self.sees(")"):
                self.expect(",")
        return args, attrs

    def _is_attribute(self) -> bool:
        """True if the current token is a name in front of `=`."""
        rest = self.source.text[self.end :].lstrip()[:2] if self.token[:1] not in "@%" else ""
        return self.kind == "name" and rest.startswith("=") and rest != "=="

    def ended(self) -> None:
        """Raise Failure unless the text ends here."""
        if self.kind != "end":
            self.fail(f"{self.shown()} is left over")

    def element(self) -> DType | None:
        """The element type that the current token names; None if it names none."""
        return named_element(self.token) if self.kind == "name" else None

    def refuse_wrong_element(self) -> None:
        """Raise Failure if the current token is written like an element type, but is none, such as `float32x0`."""
        if self.kind == "name" and _LIKE_ELEMENT.match(self.token) and self.element() is None:
            self.fail(
                f"`{self.token}` is no element type",
                help=f"Write float32, bool, or int8x4 for elements of 4 lanes; there are 1 to {MOST_LANES}.",
            )  # fmt: skip

    def comparison(self) -> str:
        """The sign of a comparison."""
        if not self.sees(*COMPARISONS):
            self.fail(f"a comparison is expected here, not {self.shown()}")
        return self.advance()

    @contextmanager
    def deeper(self) -> Iterator[None]:
        """One more level of nesting."""
        self.depth += 1
        if self.depth > DEEPEST:
            self.fail(f"the text is nested more than {DEEPEST} times")
        yield
        self.depth -= 1

    def arithmetic(self) -> p.PrimExpr:
        """A dimension: sums of products of numbers and names, which `variable` gives a meaning."""
        start, left = self.start, self._product()
        while self.sees("+", "-"):
            left = (p.Add if self.advance() == "+" else p.Sub)(left, self._product())
        if (value := beyond(left)) is not None:
            self.fail(f"the dimension is {value}, which does not fit int64", self.span(start))
        if (division := division_by_zero(left)) is not None:
            self.fail(f"{division} divides by zero, whatever its variables are", self.span(start))
        return left

    def length(self) -> p.PrimExpr:
        """A dimension of a tensor. A negative number is none."""
        start, found = self.start, self.arithmetic()
        value = exact(found)
        if value is not None and value < 0:
            self.fail(f"a dimension cannot be {value}", self.span(start))
        if value is None and is_negative(found):
            self.fail(f"the dimension {found} is negative, whatever its variables are", self.span(start))
        return found

    def _product(self) -> p.PrimExpr:
        left = self._factor()
        while self.sees("*", "//", "/", "%"):
            start, mark = self.start, self.advance()
            right = self._factor()
            if mark != "*" and type(right) is p.IntImm and right.value == 0:
                self.fail("a dimension is divided by zero", self.span(start))
            left = {"*": p.Mul, "%": p.FloorMod}.get(mark, p.FloorDiv)(left, right)
        return left

    def _factor(self) -> p.PrimExpr:
        if self.takes("("):
            with self.deeper():
                inside = self.arithmetic()
            self.expect(")")
            return inside
        if self.kind == "number" or self.sees("-"):
            start, value = self.start, self.integer()
            if value < 0:
                self.fail(f"a dimension cannot be {value}", self.span(start))
            return p.IntImm(value)
        return self.variable()

    @abstractmethod
    def variable(self) -> p.PrimExpr:
        """The value of a name inside a dimension."""


def named_element(name: str) -> DType | None:
    """The element type of a name; None for any other word."""
    try:
        return element_type(name)
    except ValueError:
        return None


# -- short text ------------------------------------------------------------------------------------------------------
# Reads short texts that are no programs: keys, scripts of commands, calls, settings. A file may be anybody's.


MOST_BYTES = 16 << 20
_SPECIAL = ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"))


class UnreadableText(Exception):
    """A short text that can't be read. The message is the reason, without the name of the file."""


def short_text(path: str | Path) -> str:
    """The text of a regular file with at most 16 MiB of UTF-8. Raises UnreadableText; it never waits for a pipe or a device."""
    try:
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError) as problem:  # ValueError: no file can have such a name
        raise UnreadableText(getattr(problem, "strerror", None) or str(problem)) from None
    if not stat.S_ISREG(os.fstat(number).st_mode):
        _refuse(number)
    with os.fdopen(number, "rb") as file:
        return short_stream(file)


def short_stream(stream: BinaryIO) -> str:
    """The text of a stream, such as standard input. Raises UnreadableText."""
    try:
        data = stream.read(MOST_BYTES + 1)
    except (OSError, ValueError) as problem:
        raise UnreadableText(getattr(problem, "strerror", None) or str(problem)) from None
    if len(data) > MOST_BYTES:
        raise UnreadableText(f"it is larger than {MOST_BYTES >> 20} MB")
    if b"\x00" in data:
        raise UnreadableText("it is a binary file")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnreadableText("it is not UTF-8 text") from None


def _refuse(number: int) -> NoReturn:
    """Close a file and raise UnreadableText."""
    mode = os.fstat(number).st_mode
    os.close(number)
    what = next((name for is_one, name in _SPECIAL if is_one(mode)), "a device")
    raise UnreadableText(f"it is {what}, not a regular file")
