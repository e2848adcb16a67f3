"""Reads files. The first bytes identify files that are not text. Nothing in a file is executed."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.diagnostics import Code, Diagnostic, Label, ParseError
from relax_explorer.core.notations import HOLDS
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.source import Source, with_line_feeds
from relax_explorer.core.syntax.beginnings import is_tvm_json
from relax_explorer.core.syntax.finder import Found, is_whole, programs, without_escapes

# -- notebooks -------------------------------------------------------------------------------------------------------
# The texts in a Jupyter notebook (https://nbformat.readthedocs.io): its cells, and what they printed. Nothing is
# executed.


_MARK = '"nbformat"'
_BETWEEN = "\n%\n"  # no program goes on behind such a line


@dataclass(frozen=True, slots=True)
class Cell:
    """One text of a notebook, and where it stands: `cell 7`, or `cell 7, output`."""

    place: str
    text: str


def is_notebook(text: str) -> bool:
    """True if a text may be a notebook, perhaps one that was cut off."""
    return text.lstrip()[:1] == "{" and (
        _MARK in text[:4096] or _MARK in text[-4096:] or '"cell_type"' in text[:4096]
    )


def cells(text: str, name: str) -> list[Cell]:
    """The texts of a notebook in order. Raises ParseError if it is damaged."""
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise _damaged(name, "the notebook is damaged, or was cut off", line) from None
    found = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(found, list):
        raise _damaged(name, "the notebook has no list of cells (its format is older than 4)", 1)
    return [
        cell
        for number, item in enumerate(found, 1)
        if isinstance(item, dict)
        for cell in _texts(item, number)
    ]


def found_in(texts: list[Cell]) -> list[tuple[Cell, Found]]:
    """The programs in the cells of a notebook. Definitions of earlier cells hold in later ones."""
    joined = _BETWEEN.join([cell.text for cell in texts])
    starts, line = [], 1
    for cell in texts:
        starts.append(line)
        line += cell.text.count("\n") + _BETWEEN.count("\n")
    found = []
    for item in programs(joined):
        place = max(n for n, start in enumerate(starts) if start <= item.first)
        above = starts[place] - 1
        found.append((texts[place], replace(item, first=item.first - above, last=item.last - above)))
    return found


def _texts(cell: dict[str, Any], number: int) -> Iterator[Cell]:
    yield Cell(f"cell {number}", _joined(cell.get("source")))
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        if isinstance(output, dict):
            data = output.get("data")
            text = _joined(output.get("text")) or _joined(
                data.get("text/plain") if isinstance(data, dict) else None
            )
            if text:
                yield Cell(f"cell {number}, output", text)


def _joined(value: object) -> str:
    """A text that a notebook holds as one string, or as a list of lines."""
    if isinstance(value, list):
        value = "".join([item for item in value if isinstance(item, str)])
    return without_escapes(value).replace("\r\n", "\n").replace("\r", "\n") if isinstance(value, str) else ""


def _damaged(name: str, text: str, line: int) -> ParseError:
    source = Source("\n" * (line - 1), name)
    help = "save it again in Jupyter, or copy the module into a text file"
    return ParseError(Diagnostic(codes.UNREADABLE, text, (Label(source.span(line, 0), "", True),), help=help))


# -- load ------------------------------------------------------------------------------------------------------------


MAX_BYTES = 256 << 20
# First bytes of files that are opened by mistake, with a description and advice.
_KNOWN: tuple[tuple[bytes, str, str], ...] = (
    (b"version https://git-lfs", "a Git LFS pointer", "run `git lfs pull`"),
    (b"PK\x03\x04", "a zip archive (a PyTorch file, or .npz)", "print the module as TVMScript first"),
    (b"\x1f\x8b", "a gzip archive", "unpack it first"),
    (b"\x7fELF", "a compiled library", "open the TVMScript text it was built from"),
    (b"\x93NUMPY", "a numpy array", "give arrays with --input"),
    (b"\x89PNG", "a PNG picture", "name a TVMScript file"),
    (b"\x80\x04", "a Python pickle", "pickles are never opened; print the module as TVMScript"),
    (b"\x80\x02", "a Python pickle", "pickles are never opened; print the module as TVMScript"),
    (b"\xff\xfe", "UTF-16 text", "save it as UTF-8"),
    (b"\xfe\xff", "UTF-16 text", "save it as UTF-8"),
    (b"<!DOCTYPE", "an HTML page", "download the raw file"),
    (b"<html", "an HTML page", "download the raw file"),
    (
        b"{",
        "JSON of another program",
        "write it with tvm.ir.save_json, or print the module as TVMScript text",
    ),
)


def load(path: str | Path) -> IRModule:
    """The module in a file; of several modules in a text of any kind, the first. Raises ParseError if there is none to read."""
    return module_in(read_text(path), str(path))


def module_in(text: str, name: str) -> IRModule:
    """The module in a text of a file; of several, the first. Raises ParseError if there is none to read."""
    from relax_explorer.core.syntax.parser import parse  # here: a text is shown before the parser is needed

    if is_notebook(text):
        inside = found_in(cells(text, name))
        return parse(inside[0][1].source(f"{name}:{inside[0][0].place}") if inside else "", name)
    text = without_escapes(text)
    found = programs(text)
    return parse(text if not found or is_whole(text, found) else found[0].source(name), name)


def read_text(path: str | Path) -> str:
    """The text of a file. Raises ParseError if it is not a regular file with UTF-8 text."""
    location = Path(path)
    name = _visible(str(path))
    try:
        mode = location.stat().st_mode
        if not stat.S_ISREG(mode):
            described = "a directory" if stat.S_ISDIR(mode) else "not a regular file"
            raise _error(codes.UNREADABLE, f"{name} is {described}", name)
        if location.stat().st_size > MAX_BYTES:
            raise _error(
                codes.UNREADABLE, f"{name} is larger than {MAX_BYTES >> 20} MB", name, help="split the module"
            )
        data = location.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise _error(codes.UNREADABLE, f"{name}: {reason}", name) from None
    return decode(data, name)


def read_stream(stream: BinaryIO, name: str) -> str:
    """The text of a stream, up to the maximum size of a file. Raises ParseError like `read_text`."""
    try:
        data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise _error(codes.UNREADABLE, f"{name}: {error.strerror or error}", name) from None
    if len(data) > MAX_BYTES:
        raise _error(
            codes.UNREADABLE, f"{name} is larger than {MAX_BYTES >> 20} MB", name, help="split the module"
        )
    return decode(data, name)


def decode(data: bytes, name: str) -> str:
    """Bytes as text. If they are not UTF-8 text, raises ParseError with a description of the file."""
    for start, description, advice in _KNOWN:
        if data.startswith(start) and not (start == b"{" and _is_known_json(data)):
            raise _error(codes.NOT_TEXT, f"{name} is {description}, not {_wanted(name)}", name, help=advice)
    if b"\x00" in data[:4096]:
        binary = "an ONNX model or another binary file" if name.endswith(".onnx") else "a binary file"
        is_model = _wanted(name) == "TVMScript"
        advice = codes.NOT_TEXT.fix if is_model else "Open a text file in this notation."
        raise _error(codes.NOT_TEXT, f"{name} is {binary}, not {_wanted(name)}", name, help=advice)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _error(
            codes.NOT_UTF8,
            f"byte {error.start} (0x{data[error.start]:02X}, line {line}) is not UTF-8",
            name,
            line,
        ) from None
    return with_line_feeds(text)


def _is_known_json(data: bytes) -> bool:
    """True for JSON that is read: modules of TVM, and notebooks."""
    head, tail = [part.decode("utf-8", "replace") for part in (data[:4096], data[-4096:])]
    return is_tvm_json(head) or is_notebook(f"{head}\n{tail}")


def _wanted(name: str) -> str:
    """What a file of this name should hold."""
    return HOLDS.get(Path(name).suffix, "TVMScript")


def _error(code: Code, text: str, name: str, line: int = 1, help: str = "") -> ParseError:
    source = Source("\n" * (line - 1), name)
    return ParseError(Diagnostic(code, text, (Label(source.span(line, 0), "", True),), help=help or code.fix))


def _visible(name: str) -> str:
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in name)
