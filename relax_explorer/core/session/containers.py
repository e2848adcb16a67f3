"""Recordings of builds as files: an archive, or the journal that grows while a build runs. Nothing in them is trusted.

Both hold the same: lines of JSON for processes, stages, lineages and calls, and texts and arrays under their SHA-256, each stored once. The lines
are read at once, texts and arrays when they are asked for. `recorder.py` writes journals; `pack` makes an archive of them.
"""

from __future__ import annotations

import base64
import io
import os
import re
import threading
import weakref
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np

from relax_explorer import recorder
from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.diagnostics import Code, Diagnostic, Failure, Label, ParseError
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.session.arrays import json_object
from relax_explorer.core.source import Source
from relax_explorer.core.syntax.beginnings import MANIFEST
from relax_explorer.core.syntax.load import MAX_BYTES

Json: TypeAlias = "dict[str, Any]"

_OWN = re.compile(r"ir/([0-9a-f]{64})\.txt|data/([0-9a-f]{64})\.npy|[a-z]+\.jsonl?")
_DIGEST_TEXT = re.compile(r"[0-9a-f]{64}")
_REFERENCE = re.compile(r"rxs:([0-9a-f]{64}):([A-Za-z0-9+/=]+)")
_MOST_DIRECTORY = 8 << 20  # bytes of the directory of an archive
_MOST_LINES = 64 << 20  # bytes of one part
_LARGE, _MOST_GROWTH = 16 << 20, 300  # of a text; printed programs become 50 times smaller at most
_MOST_ARRAY = 2 << 30
_MOST_SECONDS = 1e12


def damaged(
    path: str, text: str, part: str = "", line: int = 1, code: Code = codes.BAD_RECORDING
) -> ParseError:
    """The failure for a recording that can't be read."""
    source = Source("\n" * (line - 1), f"{path}:{part}" if part else path)
    return ParseError(Diagnostic(code, text, (Label(source.span(line, 0), "", True),), help=code.fix))


@dataclass(eq=False)
class Container:
    """An open recording. `read` gives the bytes of a text or an array by its name, and raises KeyError if there is none."""

    path: str
    told: list[Told]
    read: Callable[[str], bytes]
    names: Sequence[str]  # of its texts and arrays
    session: Json | None = None  # of the explorer, if the file holds one
    is_journal: bool = False
    torn: int = 0  # bytes at the end of a journal that are no whole frame
    weights: Json | None = None  # of an imported model: the digests of arrays by name
    _checked: set[str] = field(default_factory=set)

    def text(self, key: str) -> str:
        """The text with a digest, with its constants. Raises ParseError if it is missing or damaged."""
        try:
            text = self._data(f"ir/{key}.txt", key).decode("utf-8")
        except UnicodeDecodeError:
            raise damaged(self.path, "a text is not UTF-8", f"ir/{key}.txt") from None
        left = _MOST_ARRAY

        def constant(found: re.Match[str]) -> str:
            nonlocal left
            head, data = base64.b64decode(found[2]), self.array(found[1]).tobytes()
            left -= len(data)
            if left < 0:
                raise damaged(
                    self.path, f"a text has constants of more than {_MOST_ARRAY:,} bytes", f"ir/{key}.txt"
                )
            return base64.b64encode(head + data).decode()

        return _REFERENCE.sub(constant, text) if "rxs:" in text else text

    def array(self, key: str) -> Array:
        """The array with a digest. Raises ParseError if it is missing or damaged."""
        name = f"data/{key}.npy"
        with _sound(self.path, name):
            array: Array = np.lib.format.read_array(io.BytesIO(self._data(name, key)), allow_pickle=False)
        return array

    def _data(self, name: str, key: str) -> bytes:
        try:
            data = self.read(name)
        except KeyError:
            raise damaged(self.path, "the recording lacks a text or an array that it names", name) from None
        if key not in self._checked and sha256(data).hexdigest() != key:
            raise damaged(self.path, "the content does not have the SHA-256 of its name", name)
        self._checked.add(key)
        return data


def open_container(path: str) -> Container:
    """The recording in a file. Raises ParseError for one that is damaged, hostile, or of a newer version."""
    with _sound(path):
        file = Path(path).open("rb")  # noqa: SIM115  # it stays open as long as texts may be asked for
        try:
            head = file.read(len(recorder.MAGIC))
            if not head:
                raise damaged(path, f"{path} is empty")
            found = _journal(path, file) if head == recorder.MAGIC else _archive(path, file)
        except BaseException:
            file.close()
            raise
    weakref.finalize(found, file.close)
    return found


@contextmanager
def _sound(path: str, part: str = "", line: int = 1) -> Iterator[None]:
    """Turn what goes wrong with foreign bytes into a diagnostic."""
    try:
        yield
    except ParseError:
        raise
    except Failure as failure:
        raise damaged(path, failure.diagnostics[0].message, part, line) from None
    except Exception as error:  # noqa: BLE001  # zipfile, zlib and numpy raise a dozen exception types for damage
        reason = getattr(error, "strerror", None) or str(error)[:120] or type(error).__name__
        raise damaged(path, f"{path} is damaged or cut off, or no recording: {reason}", part, line) from None


# -- lines -----------------------------------------------------------------------------------------------------------


@dataclass
class Told:
    """What a process told: itself, and its lines by their kind."""

    process: Json
    lines: dict[bytes, list[Json]]


def told_by(frames: Iterable[tuple[bytes, bytes]], path: str) -> Told:
    """What the frames of a journal tell. `running` of the process are the passes that had not ended. Raises ParseError."""
    told = Told({}, {kind: [] for kind in recorder.PARTS})
    running: list[str] = []
    ended = False
    for number, (kind, data) in enumerate(frames, 1):
        with _sound(path, f"frame {number}"):
            line = json_object(data, "the frame")
        if kind in told.lines:
            told.lines[kind].append(line)
        if kind == recorder.BEGIN:
            running.append(str(line.get("pass"))[:200])
        elif kind == recorder.STAGE and not line.get("input"):
            del running[whole(line.get("depth")) :]
        if kind in (recorder.MANIFEST, recorder.END):
            told.process |= line
        ended = ended or kind == recorder.END
    told.process |= {"ended": ended, "running": [] if ended else running}
    return told


def whole(value: object) -> int:
    """A number from 0 on that a file tells; 0 for anything else."""
    return value if type(value) is int and 0 <= value < 1 << 31 else 0


def seconds(value: object) -> float:
    """Seconds that a file tells; 0 for anything else."""
    return float(value) if isinstance(value, (int, float)) and 0 <= value < _MOST_SECONDS else 0.0


def _check_version(path: str, schema: object) -> None:
    if schema != recorder.SCHEMA:
        text = f"{path} has the version {str(schema)[:20]}; version {recorder.SCHEMA} is read here"
        raise damaged(path, text, code=codes.NEWER_RECORDING)


# -- journal ---------------------------------------------------------------------------------------------------------


def frames_of(file: IO[bytes]) -> Iterator[tuple[bytes, bytes, int]]:
    """The whole frames behind the magic number of a journal: kind, data, and the place of the data."""
    size = os.fstat(file.fileno()).st_size
    start = len(recorder.MAGIC)
    while start + recorder.HEAD.size <= size:
        file.seek(start)
        length, check, kind = recorder.HEAD.unpack(file.read(recorder.HEAD.size))
        start += recorder.HEAD.size
        data = file.read(length) if length <= size - start else b""
        if len(data) < length or zlib.crc32(data, zlib.crc32(kind)) != check:
            return
        yield kind, data, start
        start += length


_DIGEST = 32  # bytes


def _journal(path: str, file: IO[bytes]) -> Container:
    places: dict[str, tuple[int, int]] = {}
    lines: list[tuple[bytes, bytes]] = []
    end = len(recorder.MAGIC)
    for kind, data, start in frames_of(file):
        end = start + len(data)
        if kind in recorder.CONTENTS:
            places[recorder.CONTENTS[kind].format(data[:_DIGEST].hex())] = (
                start + _DIGEST,
                len(data) - _DIGEST,
            )
        else:
            lines.append((kind, data))
    told = told_by(lines, path)
    _check_version(path, told.process.get("schema"))

    turn = threading.Lock()  # of the place in the file

    def read(name: str) -> bytes:
        start, length = places[name]
        with _sound(path, name), turn:
            file.seek(start)
            data = file.read(length)
            return _unpacked(data) if name.startswith("ir/") else data

    size = os.fstat(file.fileno()).st_size
    return Container(path, [told], read, list(places), None, True, size - end)


def _unpacked(data: bytes) -> bytes:
    """The text in a frame. Raises ValueError if it is longer than any text that is read."""
    inner = zlib.decompressobj()
    text = inner.decompress(data, min(MAX_BYTES, max(_LARGE, _MOST_GROWTH * len(data))))
    if not inner.eof:
        raise ValueError("a text is cut off, or larger than any that is read")
    return text


# -- archive ---------------------------------------------------------------------------------------------------------


class _Bounded(io.BufferedIOBase):
    """A file of which no piece may be larger than `most`: zipfile reads a directory of any length at once."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.most = file, _MOST_DIRECTORY

    def read(self, size: int | None = -1) -> bytes:
        """Up to `size` bytes. Raises ValueError if that is too much."""
        if size is not None and size > self.most:
            raise ValueError(f"its directory has {size:,} bytes; at most {self.most:,} are read")
        return self._file.read(-1 if size is None else size)

    def seek(self, place: int, whence: int = 0) -> int:
        """Go to a place."""
        return self._file.seek(place, whence)

    def tell(self) -> int:
        """The place."""
        return self._file.tell()

    def seekable(self) -> bool:
        """True: it is a file."""
        return True


def _archive(path: str, file: IO[bytes]) -> Container:
    bounded = _Bounded(file)
    archive = zipfile.ZipFile(bounded)
    bounded.most = _MOST_ARRAY
    members = {item.filename: item for item in archive.infolist()}
    if len(members) < len(archive.infolist()):
        raise damaged(path, f"{path} has several entries of one name")
    strange = next((name for name in members if not _OWN.fullmatch(name)), None)
    if strange is not None:
        raise damaged(path, f"{path} has an entry {strange[:80]!r}, which no recording has")

    def read(name: str) -> bytes:
        place = members[name]
        most = _MOST_ARRAY if name.endswith(".npy") else MAX_BYTES
        too_dense = place.file_size > _LARGE and place.file_size > _MOST_GROWTH * place.compress_size
        if place.file_size > most or (too_dense and not name.endswith(".npy")):
            raise damaged(
                path, f"{name} would grow from {place.compress_size:,} to {place.file_size:,} bytes", name
            )
        with _sound(path, name), archive.open(place) as inner:
            return inner.read()

    manifest = _part(path, read, MANIFEST)
    with _sound(path, MANIFEST):
        described = json_object(manifest, MANIFEST)
    _check_version(path, described.get("schema"))
    processes = described.get("processes")
    if not isinstance(processes, list) or not all(isinstance(item, dict) for item in processes):
        raise damaged(path, "the manifest lists no processes", MANIFEST)
    told = [
        Told(item, {kind: [] for kind in recorder.PARTS}) for item in processes[: recorder.MOST_PROCESSES]
    ]
    for kind, name in recorder.PARTS.items():
        _share(path, name, _part(path, read, name), kind, told)
    weights, session = described.get("weights"), described.get("session")
    if weights is not None and not (isinstance(weights, dict) and all(map(_is_digest, weights.values()))):
        raise damaged(path, "the manifest names weights without a SHA-256", MANIFEST)
    names = [name for name in members if "/" in name]
    held = session if isinstance(session, dict) else None
    return Container(path, told, read, names, held, weights=weights)


def _is_digest(value: object) -> bool:
    return isinstance(value, str) and _DIGEST_TEXT.fullmatch(value) is not None


def _part(path: str, read: Callable[[str], bytes], name: str) -> bytes:
    try:
        data = read(name)
    except KeyError:
        raise damaged(path, f"{path} lacks {name}") from None
    if len(data) > _MOST_LINES:
        raise damaged(path, f"{name} has {len(data):,} bytes; at most {_MOST_LINES:,} are read", name)
    return data


def _share(path: str, name: str, data: bytes, kind: bytes, told: list[Told]) -> None:
    """Give each line of a part to its process."""
    for number, text in enumerate(data.splitlines(), 1):
        with _sound(path, name, number):
            line = json_object(text, f"line {number}")
        process = line.get("process")
        if type(process) is not int or not 0 <= process < len(told):
            raise damaged(path, f"line {number} names no process of the manifest", name, number)
        told[process].lines[kind].append(line)


def pack(paths: Sequence[str], file: IO[bytes], more: Json) -> list[Told]:
    """Write the journals of a recording as one archive; returns what they tell. Raises OSError, and ParseError for no journal."""
    opened = [open_container(path) for path in paths]
    opened.sort(key=lambda item: str(item.told[0].process.get("began")))
    told = [item.told[0] for item in opened]
    lines = {
        kind: [{**line, "process": n} for n, item in enumerate(told) for line in item.lines[kind]]
        for kind in recorder.PARTS
    }
    readers = {name: item.read for item in reversed(opened) for name in item.names}
    contents = ((name, read(name)) for name, read in readers.items())
    recorder.write_archive(file, [item.process for item in told], lines, contents, more)
    return told
