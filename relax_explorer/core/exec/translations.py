"""What calls need to know of the translations of kernels, kept on disk beside the machine code.

To translate a PrimFunc takes longer than to load its machine code, so a later process translates only what is new. The file has a
line for each form of kernels (`kernel_form.py`) and for each of its texts, with a checksum; what is no such line is ignored. It
belongs to one version of the modules that translate: others begin another file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache as once
from hashlib import blake2b
from pathlib import Path

from relax_explorer.core.exec import kernel_cache
from relax_explorer.core.exec.machine_code import versions

_TRANSLATING = ("arith", "exec", "ir", "program", "tir")  # the packages whose modules decide a translation
_MOST = 2 << 20  # bytes; a larger file begins anew


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
    """A text that was compiled: the key of its machine code, and whether it may stop."""

    key: int
    may_stop: bool


class Translations:
    """The outlines and texts of one file. Several threads and processes may add to it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.outlines: dict[str, Outline] = {}  # by the forms of kernels
        self.texts: dict[tuple[str, str], KeptText] = {}  # by these and their names
        for line in kernel_cache.lines(path, _MOST):
            self._read(line)

    def _read(self, line: bytes) -> None:
        check, _, text = line.partition(b" ")
        if check.decode("ascii", "replace") != _checksum(text):
            return  # a process ended while it wrote, or the file is damaged
        form, name, *fields = json.loads(text)
        if name is None:
            is_fused, shares_any, is_serial, *rows = fields
            self.outlines[form] = Outline(is_fused, shares_any, is_serial, *map(tuple, rows))
        else:
            self.texts[form, name] = KeptText(*fields)

    def add_outline(self, form: str, outline: Outline) -> None:
        """Keep the outline of kernels by the digest of their form."""
        self.outlines[form] = outline
        flags = outline.is_fused, outline.shares_any, outline.is_serial
        self._write(form, None, *flags, outline.hoped, outline.ways, outline.filled)

    def add_text(self, form: str, name: str, text: KeptText) -> None:
        """Keep a text of kernels by the digest of their form."""
        self.texts[form, name] = text
        self._write(form, name, text.key, text.may_stop)

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
