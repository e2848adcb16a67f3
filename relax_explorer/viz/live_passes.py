"""The bridge to live passes: passes of TVM and of the user, applied by a child with the user's Python.

A program goes there as its text, with large constants beside it, and comes back so. A module that the child gave stays there under a key,
so that the next pass needs no text.
"""

from __future__ import annotations

import io
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from relax_explorer.core.codes import foreign as codes
from relax_explorer.core.codes.passes import BAD_OPTION, UNKNOWN_PASS
from relax_explorer.core.diagnostics import Diagnostic, Failure, ParseError
from relax_explorer.core.expected import expect
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.passes.bridge import Bridge, use_bridge
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.arrays import archive
from relax_explorer.core.source import with_line_feeds
from relax_explorer.core.syntax.parser import parse
from relax_explorer.core.syntax.tensor_text import Beside, beside
from relax_explorer.viz.answering_child import AnsweringChild, Unanswered
from relax_explorer.viz.visible import visible

SECONDS = 120.0
TARGET = "llvm"
_REFERENCE = re.compile(r"rxe:([0-9a-f]{40}):([A-Za-z0-9+/=]+)")


class _Kept(NamedTuple):
    """A module in the child: which child that is, and its key there."""

    start: int
    key: str


class LivePasses(Bridge):
    """Asks a child, which starts with the first question. `seconds` is the time limit of each pass (0 for none), `target` that of TVM."""

    def __init__(self, python: str = "", seconds: float = SECONDS, target: str = TARGET) -> None:
        self.child = AnsweringChild("tvm_passes", python)
        self.seconds, self.target = seconds, target
        self.times: list[float] = []  # of the last pass, in the child: reading, the pass, printing
        self._kept: PerNode[_Kept] = PerNode()
        self._arrays = Beside()  # of the texts that came last
        self._stages: dict[str, tuple[str, ...]] = {}
        self._lock = threading.Lock()

    def stages(self, pipeline: str, options: Mapping[str, Any]) -> tuple[str, ...]:
        """The names of the passes inside of a pipeline of TVM; none of what is no pipeline. Raises Failure."""
        key = f"{pipeline} {options!r}"
        if key not in self._stages:
            with _explained(f"tvm:{pipeline}"):
                found, _ = self.child.ask(
                    "stages",
                    {"name": pipeline, "options": dict(options), "target": self.target},
                    {},
                    self.seconds,
                    f"tvm:{pipeline}",
                )
            self._stages[key] = tuple(map(str, found))
        return self._stages[key]

    def names(self) -> list[tuple[str, str]]:
        """The pipelines and passes of TVM, each with one sentence. Raises Failure."""
        found, _ = self.child.ask("names", {}, {}, self.seconds, "listing the passes of TVM")
        return [(str(name), str(sentence)) for name, sentence in found]

    def page(self, name: str) -> tuple[str, str]:
        """The parameters of a pass of TVM, and its page. Raises Failure."""
        with _explained(name):
            found, _ = self.child.ask("page", {"name": name.removeprefix("tvm:")}, {}, self.seconds, name)
        return str(found["signature"]), str(found["text"])

    def apply(self, name: str, options: Mapping[str, Any], module: IRModule) -> IRModule:
        """The module after a pass, as it was read; the same object if the pass changed nothing. Raises Failure."""
        with self._lock:
            with _explained(name):
                found, parts = self._asked(name, options, module)
            self.times = [float(item) for item in found["seconds"]]
            self._keep(module, str(found["before"]))
            if found["unchanged"]:
                return module
            new = self._read(name, parts)
            self._keep(new, str(found["key"]))
            return new

    def keep(self, before: IRModule, after: IRModule) -> None:
        """Let `after` stand for a module that `apply` gave: it is the same program, in normal form."""
        known = self._kept.get(id(before))
        if known is not None:
            self._kept.add(after, known)

    def _keep(self, module: IRModule, key: str) -> None:
        self._kept.add(module, _Kept(self.child.starts, key))

    def _asked(
        self, name: str, options: Mapping[str, Any], module: IRModule
    ) -> tuple[Any, Mapping[str, bytes]]:
        """Ask for a module after a pass: of the module that is there, else of its text."""
        plain = {
            key: value
            for key, value in options.items()
            if not isinstance(value, dict) or not _are_arrays(value)
        }
        files = {f"option:{key}": archive(options[key]) for key in options.keys() - plain.keys()}
        known = self._kept.get(id(module))
        values = {"name": name, "options": plain, "known": list(self._arrays), "target": self.target}
        if known is not None and known.start == self.child.starts:
            try:
                return self.child.ask("apply", {**values, "key": known.key}, files, self.seconds, name)
            except Unanswered as problem:
                if problem.kind != "unknown-module":
                    raise
        text, arrays = self._written(module)
        parts = {"text": text, **({"arrays": arrays} if arrays else {}), **files}
        return self.child.ask(
            "apply", {**values, "known": list(self._arrays), "key": ""}, parts, self.seconds, name
        )

    def _written(self, module: IRModule) -> tuple[bytes, bytes]:
        """A module as text, and its large constants."""
        arrays = Beside()
        with beside(arrays):
            text = module.script()
        self._arrays = arrays
        data = archive({key: _bytes(array) for key, array in arrays.items()}) if arrays else b""
        return text.encode("utf-8", "surrogatepass"), data

    def _read(self, name: str, parts: Mapping[str, bytes]) -> IRModule:
        """The module of an answer. Raises ParseError if it can't be read."""
        text = with_line_feeds(parts["text"].decode("utf-8", "replace"))
        arrays = Beside(self._arrays)
        heads = {found[1]: found[2] for found in _REFERENCE.finditer(text)}
        for key, data in _unpacked(parts.get("arrays")).items():
            arrays.add(key, heads[key], data)
        self._arrays = Beside({key: arrays[key] for key in heads if key in arrays})
        try:
            with beside(arrays):
                return parse(text, f"after {name}")
        except ParseError as failure:
            first = failure.diagnostics[0]
            note = f"the result of {name} can't be read here"
            raise Failure(
                replace(first, notes=(note, *first.notes), origin=name), *failure.diagnostics[1:]
            ) from None

    def cancel(self) -> None:
        """End the pass that runs, from another thread."""
        self.child.cancel()

    def close(self) -> None:
        """End the child."""
        self.child.close()


def use_python(python: str = "", seconds: float = SECONDS, target: str = TARGET) -> None:
    """Let pipelines name passes of TVM (`tvm:FuseOps`) and of your own (`my_module:my_pass`) in this process.

    `python` runs them in a child: an interpreter, or the folder of its environment; the one that runs this process if it is left out.
    `target` is that of TVM under which they run: its kind, its tag, or JSON.

    >>> rxe.use_python("/opt/tvm/bin/python")  # the one that has TVM
    """
    expect(python, str, "an interpreter is named by its path")
    use_bridge(lambda: LivePasses(python, seconds, target))


def _are_arrays(value: Mapping[str, Any]) -> bool:
    return any(isinstance(item, np.ndarray) for item in value.values())


def _bytes(array: Array) -> Array:
    """The bytes of an array: numpy's files have no name for some dtypes."""
    return np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)


def _unpacked(data: bytes | None) -> dict[str, Array]:
    if not data:
        return {}
    with np.load(io.BytesIO(data), allow_pickle=False) as held:
        return {name: held[name] for name in held.files}


# -- what went wrong -------------------------------------------------------------------------------------------------


@contextmanager
def _explained(name: str) -> Iterator[None]:
    """Raise Failure in the words of passes for what the child refuses. `name` is the pass."""
    try:
        yield
    except Unanswered as problem:
        raise Unanswered(_diagnostic(name, problem), problem.kind, problem.error, problem.details) from None


def _diagnostic(name: str, problem: Unanswered) -> Diagnostic:
    (diagnostic,) = problem.diagnostics
    lines = problem.error.splitlines() or [""]
    if problem.kind == "unknown-pass":
        near = " or ".join([visible(str(item), 100) for item in problem.details.get("near", ())])
        return Diagnostic(
            UNKNOWN_PASS, problem.error, help=f"did you mean {near}?" if near else LIST, origin=name
        )
    if problem.kind == "bad-option":
        takes = ", ".join([visible(str(item), 100) for item in problem.details.get("takes", ())])
        return Diagnostic(
            BAD_OPTION, problem.error, help=f"it takes {takes}" if takes else "it takes none", origin=name
        )
    if problem.kind == "bad-target":
        return Diagnostic(
            BAD_OPTION, problem.error, help='give --target a kind such as llvm or cuda, a tag, or JSON: {"kind": "cuda"}', origin=name
        )  # fmt: skip
    if problem.kind in ("not-a-module", "not-a-pass"):
        text = (
            f"{name} returned {lines[0]}, not a tvm.IRModule" if problem.kind == "not-a-module" else lines[0]
        )
        return Diagnostic(codes.NOT_A_MODULE, text, help=codes.NOT_A_MODULE.fix, origin=name)
    if problem.kind == "not-read":
        text = f"TVM does not read the program before {name}: {lines[-1]}"
        return Diagnostic(
            codes.NOT_READ_BACK, text, tuple(), tuple(lines[:-1][-8:]), codes.NOT_READ_BACK.fix, origin=name
        )
    return replace(diagnostic, origin=name)


LIST = (
    "`relax-explorer passes tvm:` lists the passes of TVM; a module of your own is one that Python finds here"
)
