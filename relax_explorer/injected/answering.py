"""Program of a child in the user's Python: answers questions about what our process never imports, such as TVM.

Usage: python answering.py NAME. `NAME.py` stands beside this file and imports nothing of this project either. It has `QUESTIONS`, functions
by name, which get what a question gives and its parts (bytes by name), and return a value of JSON with parts of its own. A message is
8 bytes, the length of its head; the head, JSON with the lengths of the parts; and the parts. Nothing is pickled.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib.util
import io
import json
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import IO, Any, TypeAlias

SIZE = 8
Parts: TypeAlias = "dict[str, bytes]"
Answer: TypeAlias = "tuple[object, Parts]"
Foreign: TypeAlias = Any
"""An object of TVM, ONNX, PyTorch or TFLite, or of the user's code, whose types are not read here."""
_HERE = os.path.dirname(os.path.abspath(__file__))


def send(stream: IO[bytes], head: Mapping[str, object], parts: Mapping[str, bytes]) -> None:
    """Write one message."""
    lengths = [[name, len(data)] for name, data in parts.items()]
    text = json.dumps({**head, "parts": lengths}, default=str).encode()
    for data in (len(text).to_bytes(SIZE, "big"), text, *parts.values()):
        stream.write(data)
    stream.flush()


def received(stream: IO[bytes]) -> tuple[dict[str, Any], Parts]:
    """The next message. Raises EOFError if the stream ends before or inside it, and ValueError for what is no message."""
    head = json.loads(_exactly(stream, int.from_bytes(_exactly(stream, SIZE), "big")))
    return head, {name: _exactly(stream, length) for name, length in head.pop("parts")}


def _exactly(stream: IO[bytes], length: int) -> bytes:
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return data


# -- in the child ----------------------------------------------------------------------------------------------------


class Refused(Exception):
    """A question can't be answered. `kind` is a word for the process that asked, `details` is JSON."""

    def __init__(self, kind: str, text: str, **details: object) -> None:
        super().__init__(text)
        self.kind, self.details = kind, details


def serve(name: str) -> None:
    """Answer until the questions end. What is printed meanwhile goes to standard error, and standard input is empty."""
    answers = io.BufferedWriter(io.FileIO(os.dup(1), "w"))
    questions = io.BufferedReader(io.FileIO(os.dup(0)))
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    faulthandler.enable()  # the stack of a crash goes to standard error
    table: Mapping[str, Callable[..., Answer]] = {}
    try:
        table = vars(_loaded(name))["QUESTIONS"]
        faulthandler.disable()
        faulthandler.enable()  # again, for packages set handlers of their own
        send(answers, {"ok": True}, {})
    except BaseException as error:  # noqa: BLE001  # a package that is broken may raise anything
        send(answers, _problem(error), {})
        return
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            head, parts = received(questions)
            send(answers, *_answer(table, head, parts))


def _loaded(name: str) -> ModuleType:
    """The file beside this one. Its folder is no place to import from."""
    sys.path[:] = [item for item in sys.path if os.path.abspath(item or os.curdir) != _HERE]
    sys.modules["answering"] = sys.modules[__name__]
    spec = importlib.util.spec_from_file_location(name, os.path.join(_HERE, f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _answer(
    table: Mapping[str, Callable[..., Answer]], head: dict[str, Any], parts: Parts
) -> tuple[dict[str, object], Parts]:
    try:
        value, found = table[head.pop("ask")](**head, parts=parts)
        return {"ok": True, "value": value}, found
    except BaseException as error:  # noqa: BLE001  # also SystemExit of a user's code; the process that asked decides what it means
        return _problem(error), {}
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):  # a user's code may have closed it
                stream.flush()


def _problem(error: BaseException) -> dict[str, object]:
    """An error as JSON: its class, its text, the module that an import did not find, and where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    places = [
        [item.filename, item.lineno, item.name] for item in frames if not item.filename.startswith(_HERE)
    ]
    kind = error.kind if isinstance(error, Refused) else type(error).__name__
    return {
        "ok": False, "kind": kind, "error": str(error), "missing": getattr(error, "name", None), "places": places[-20:],
        "details": getattr(error, "details", {}),
    }  # fmt: skip


if __name__ == "__main__":
    serve(sys.argv[1])
