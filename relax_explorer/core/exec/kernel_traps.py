"""Explains the error of a kernel: the statement, its line, the index, and the values of the loop variables."""

from __future__ import annotations

from collections.abc import Sequence

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Code, Failure
from relax_explorer.core.exec.loop_expr import DEEPEST, NOTE, Site
from relax_explorer.core.exec.loop_statements import translate
from relax_explorer.core.exec.values import fault
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.prim_expr import BufferLoad

NOTE_LENGTH = NOTE + DEEPEST
TEXT_LIMIT = 80
ERRORS = (IndexError, ZeroDivisionError, AssertionError, BufferError, MemoryError, ValueError)
_PLAIN: dict[type[Exception], tuple[Code, str]] = {
    BufferError: (codes.OUT_OF_BOUNDS, "a view reaches beyond its memory"),
    MemoryError: (
        codes.TOO_LARGE,
        "an allocated buffer has a negative length, or needs too much memory",
    ),
    ValueError: (codes.SHAPE_CHECK, "the buffers of a packed function don't have the same lengths"),
}


def failure(fn: t.PrimFunc, error: Exception, note: Sequence[int]) -> Failure:
    """The failure of a program after a kernel raised an error and left a note."""
    if isinstance(error, AssertionError):
        return failed(fn, AssertionError(translate(fn).messages[error.args[0]]))
    if isinstance(error, tuple(_PLAIN)):
        return failed(fn, error)
    site = translate(fn).sites[note[0]]
    return stopped(fn, site, note[1], note[2], note[NOTE:])


def failed(fn: t.PrimFunc, error: Exception) -> Failure:
    """The failure for an error without a place: an assertion with its message, or memory."""
    if isinstance(error, AssertionError):
        return _failed(fn, codes.ASSERTION, str(error), None)
    code, text = next(plain for kind, plain in _PLAIN.items() if isinstance(error, kind))
    return _failed(fn, code, text, None)


def stopped(fn: t.PrimFunc, site: Site, value: int, bound: int, loops: Sequence[int]) -> Failure:
    """The failure for a check that failed at a place, with a value, its bound and the values of the loop variables."""
    code = codes.OUT_OF_BOUNDS if site.kind == "index" else codes.BAD_ARITHMETIC
    where = ", ".join(f"{var.name} = {number}" for var, number in zip(site.loops, loops, strict=False))
    text = f"{_wrong(site, value, bound)}{_place(site)}{', where ' + where if where else ''}"
    return _failed(fn, code, text, site.statement)


def _wrong(site: Site, index: int, length: int) -> str:
    if site.kind == "index" and site.buffer is not None:
        return f"an index of buffer {site.buffer.name} is {index}, its axis {site.axis} has length {length}"
    if site.kind == "shift":
        return f"an integer of {length} bits is shifted by {index}"
    return f"the step of a loop is {index}" if site.kind == "step" else "a divisor is 0"


def _place(site: Site) -> str:
    node = site.statement
    if node is None:
        return ""
    line = f", line {node.span.line}" if node.span is not None else ""
    if type(node) is not t.BufferStore:
        return f" ({line[2:]})" if line else ""
    text = f"{BufferLoad(node.buffer, node.indices)} = {node.value}"
    text = text if len(text) <= TEXT_LIMIT else f"{text[:TEXT_LIMIT]}…"
    return f" in {text}{line}"


def _failed(fn: t.PrimFunc, code: Code, text: str, place: t.Stmt | None) -> Failure:
    name = fn.attrs.get("global_symbol")
    message = f"kernel {name}: {text}" if name else text
    return fault(code, message, fn if place is None or place.span is None else place)
