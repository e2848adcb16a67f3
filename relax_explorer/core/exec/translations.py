"""What calls need to know of the translations of kernels, kept on disk beside the machine code.

To translate a PrimFunc takes longer than to load its machine code, so a later process translates only what is new. The file has a
line for each PrimFunc and for each of its texts, with a checksum; what is no such line is ignored. It belongs to one version of the
modules that translate: others begin another file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache as once
from hashlib import blake2b
from pathlib import Path

from relax_explorer.core.exec import kernel_cache
from relax_explorer.core.exec.machine_code import versions
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.program.prim_func_equal import tokens
from relax_explorer.core.tir.stmt import PrimFunc

_TRANSLATING = ("arith", "exec", "ir", "program", "tir")  # the packages whose modules decide a translation
_MOST = 2 << 20  # bytes; a larger file begins anew
_DIGESTS: PerNode[str] = PerNode()


@dataclass(frozen=True, slots=True)
class Outline:
    """What a PrimFunc's translation tells, whichever text runs."""

    is_fused: bool
    shares_any: bool  # threads share serial loops, too
    is_serial: bool  # for no lengths threads share a loop
    hoped: tuple[bool, ...]  # the facts that the first text relies on
    ways: tuple[bool, ...]  # the ways of its nests that depend on facts
    filled: tuple[int, ...]  # the parameters that it fills


@dataclass(frozen=True, slots=True)
class KeptText:
    """A text that was compiled: the key of its machine code, the numbers that it takes, and whether it may stop."""

    key: int
    constants: tuple[int, ...]
    may_stop: bool


def digest(fn: PrimFunc) -> str:
    """A digest of the structure of a PrimFunc."""
    return _DIGESTS.of(fn, lambda fn: blake2b(repr(tokens(fn)).encode(), digest_size=16).hexdigest())


class Translations:
    """The outlines and texts of one file. Several threads and processes may add to it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.outlines: dict[str, Outline] = {}
        self.texts: dict[tuple[str, str], KeptText] = {}
        for line in kernel_cache.lines(path, _MOST):
            self._read(line)

    def _read(self, line: bytes) -> None:
        check, _, text = line.partition(b" ")
        if check.decode("ascii", "replace") != _checksum(text):
            return  # a process ended while it wrote, or the file is damaged
        kernel, name, *fields = json.loads(text)
        if name is None:
            is_fused, shares_any, is_serial, *rows = fields
            self.outlines[kernel] = Outline(is_fused, shares_any, is_serial, *map(tuple, rows))
        else:
            key, constants, may_stop = fields
            self.texts[kernel, name] = KeptText(key, tuple(constants), may_stop)

    def outline(self, fn: PrimFunc) -> Outline | None:
        """The outline of a PrimFunc. None if no process translated it."""
        return self.outlines.get(digest(fn))

    def text(self, fn: PrimFunc, name: str) -> KeptText | None:
        """A text of a PrimFunc. None if no process compiled it."""
        return self.texts.get((digest(fn), name))

    def add_outline(self, fn: PrimFunc, outline: Outline) -> None:
        """Keep the outline of a PrimFunc."""
        self.outlines[digest(fn)] = outline
        flags = outline.is_fused, outline.shares_any, outline.is_serial
        self._write(digest(fn), None, *flags, outline.hoped, outline.ways, outline.filled)

    def add_text(self, fn: PrimFunc, name: str, text: KeptText) -> None:
        """Keep a text of a PrimFunc."""
        self.texts[digest(fn), name] = text
        self._write(digest(fn), name, text.key, text.constants, text.may_stop)

    def _write(self, *fields: object) -> None:
        text = json.dumps(fields, separators=(",", ":")).encode()
        kernel_cache.add_line(self.path, _checksum(text).encode() + b" " + text)


def _checksum(text: bytes) -> str:
    return blake2b(text, digest_size=8).hexdigest()


@once
def translations(folder: Path) -> Translations:
    """The translations that a folder of kernels keeps, read once."""
    return Translations(folder / f"translations_{made_by(Path(__file__).parents[1])}.jsonl")


def made_by(core: Path) -> str:
    """A digest of what decides a translation and its machine code: the modules that translate, LLVM and the processor."""
    files = [path for name in _TRANSLATING for path in sorted((core / name).glob("*.py"))]
    stats = [(path.name, stat.st_size, stat.st_mtime_ns) for path in files for stat in [path.stat()]]
    return blake2b(repr((stats, versions())).encode(), digest_size=8).hexdigest()
