"""Logs that are too long to be held: they are searched on the disk, and each program is read when it is needed."""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.diagnostics import Diagnostic, ParseError
from relax_explorer.core.source import with_line_feeds
from relax_explorer.core.syntax.finder import Found, programs, without_escapes

LONG = 32 << 20
"""Bytes from which on a text is searched in pieces."""

_PERHAPS = re.compile(
    rb"@(?:[\w.]{0,20}ir_module|(?:[\w.]{0,16}(?:R|relax|T|tirx?))\.(?:function|prim_func))\b"
)
_ABOVE = 64 << 10  # bytes before a program in which its heading and declarations stand
_MOST = 64 << 20  # bytes of one program


@dataclass(frozen=True, slots=True)
class InLog:
    """A program in a long log: its bytes, the lines above them, and the digest of its text."""

    path: str
    start: int
    end: int
    above: int
    digest: bytes = b""

    def read(self) -> Found:
        """The program. Raises ParseError if the file has changed since it was found."""
        with Path(self.path).open("rb") as file:
            file.seek(self.start)
            found = next(iter(_found(file.read(self.end - self.start))), None)
        if found is None or _digest(found) != self.digest:
            text = f"{self.path} has changed since it was opened"
            raise ParseError(Diagnostic(codes.UNREADABLE, text, help="open it again"))
        return found


def is_long(path: str) -> bool:
    """True for a text that is searched in pieces. Other formats are recognised by their first bytes."""
    place = Path(path)
    try:
        if not place.is_file() or place.stat().st_size <= LONG:
            return False
        with place.open("rb") as file:
            head = file.read(4096)
    except OSError:
        return False
    return b"\x00" not in head and not head.lstrip().startswith((b"{", b"<", b"PK"))


def programs_in(path: str) -> Iterator[tuple[InLog, Found]]:
    """The programs of a long log, one after the other. Whoever keeps none of them needs the memory of one."""
    with Path(path).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        low = lines = counted = 0
        hit = _PERHAPS.search(data)
        while hit is not None:
            start = max(low, data.rfind(b"\n", 0, max(hit.start() - _ABOVE, 0)) + 1)
            following = _PERHAPS.search(data, hit.end())
            while following is not None and not data[following.start() : following.end()].endswith(b"module"):
                following = _PERHAPS.search(data, following.end())
            stop = len(data) if following is None else data.rfind(b"\n", 0, following.start()) + 1
            stop = min(max(stop, hit.end()), start + _MOST)
            lines, counted = lines + _lines(data, counted, start), start
            low = stop
            for found in _found(data[start:stop])[:1]:
                end = start + _length(data[start:stop], found)
                yield InLog(path, start, end, lines, _digest(found)), found
                low = end
            hit = _PERHAPS.search(data, max(low, hit.end()))


def _found(data: bytes) -> list[Found]:
    return programs(without_escapes(with_line_feeds(data.decode("utf-8", "replace"))))


def _digest(found: Found) -> bytes:
    return blake2b(found.body.encode("utf-8", "replace"), digest_size=16).digest()


def _length(data: bytes, found: Found) -> int:
    """The number of bytes up to the end of a program."""
    at = -1
    for _ in range(found.last):
        at = data.find(b"\n", at + 1)
        if at < 0:
            return len(data)
    return at + 1


def _lines(data: mmap.mmap, start: int, end: int) -> int:
    """The number of line ends between two places."""
    size = 1 << 22
    return sum(data[at : min(at + size, end)].count(b"\n") for at in range(start, end, size))
