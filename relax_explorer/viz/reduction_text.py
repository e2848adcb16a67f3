"""What a reduction found, as text and as data, and the commands that show the fault again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from relax_explorer.core.session import smaller
from relax_explorer.core.session.call_inputs import REST
from relax_explorer.core.session.smallest import SAME_OUTPUT, WELL_FORMED, Reduction
from relax_explorer.viz.visible import counted, visible

MARK = "# Reduced by relax-explorer from "
"""How each written program begins."""


@dataclass(frozen=True)
class Reduced:
    """A reduction with where its program comes from and goes to; `test` or `command` told whether it fails."""

    found: Reduction
    input: str
    name: str | None  # of the file; None for standard output
    values_file: str  # beside it; empty if there is none
    test: str
    profile: str = "spec"
    command: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The test as the user gave it."""
        return " ".join(self.command or (self.test,))

    def program(self) -> str:
        """The text of the file."""
        head = [
            f"{MARK}{visible(self.input, 200)}",
            *[f"# {line}" for line in self.facts()],
            f"# {self.shown()}",
        ]
        return "\n".join([*head, self.found.case.module.script(), ""])

    def facts(self) -> Iterator[str]:
        """What was found, without times."""
        found, case = self.found, self.found.case
        sizes = [str(size) for size in found.sizes]
        shown = sizes if len(sizes) <= 12 else [*sizes[:6], "…", *sizes[-5:]]
        yield (
            f"{shown[0]} bindings"
            + "".join([f" → {size}" for size in shown[1:]])
            + f"   ({found.tries} tries)"
        )
        kernels = smaller.kernels_of(case)
        parts = [
            f"{counted(case.size, 'binding')} in {counted(len(case.module.relax_functions), 'function')}"
        ]
        parts += [counted(kernels, "kernel")] if kernels else []
        needed = [", ".join(found.operators)] if found.operators else []
        needed += [f"{name} ≥ {length}" for name, length in found.least]
        yield ", ".join(parts) + (f"; needed: {', '.join(needed)}" if needed else "")
        if case.passes:
            yield f"passes: {','.join(map(str, case.passes))}"
        yield f"fault: {found.kind}"
        if found.values:
            where = (
                f"in {visible(self.values_file, 200)}"
                if self.values_file
                else "which only a file can have beside it"
            )
            yield f"it shows with values of the whole program: {', '.join(found.values)}, {where}"
        for name in found.remaining:
            yield f"TVM looks this name up, so it stays: {visible(name, 200)}"
        if not found.is_whole:
            yield "the time was over before nothing more could be left out"

    def lines(self) -> Iterator[str]:
        """What is told once the files are written."""
        first, *rest = self.facts()
        yield f"{first.removesuffix(')')}, {self.found.seconds:.0f} s)"
        yield from rest
        yield f"written: {visible(self.name or '-', 200)}"
        yield f"show it: {self.shown()}"
        words = [
            "export",
            self.name or "-",
            *self._passes(),
            *self._inputs(),
            *self._lengths(),
            *self._profile(),
        ]
        yield f"for TVM: {shlex.join(['relax-explorer', *words, '-o', 'reproducer.py'])}"

    def shown(self) -> str:
        """The command that shows the fault in the smaller program."""
        case, path = self.found.case, self.name or "-"
        if not case.passes and not self.command:
            words = ["check", path] if self.test == WELL_FORMED else ["run", path, "--stop-on", "nan"]
        else:
            words = ["bisect", path, *self._passes()]
            words += ["--test", self.test] if self.test != SAME_OUTPUT and not self.command else []
        words += self._profile()
        if not self.command and self.test != WELL_FORMED:
            words += ["--func", case.entry] if len(case.module.relax_functions) > 1 else []
            words += [*self._inputs(), *self._lengths()]
        return shlex.join(["relax-explorer", *words, *(["--", *self.command] if self.command else [])])

    def data(self) -> dict[str, object]:
        """The same for JSON."""
        found, case = self.found, self.found.case
        return {
            "input": self.input,
            "test": self.words,
            "fault": found.kind,
            "sizes": list(found.sizes),
            "tries": found.tries,
            "seconds": round(found.seconds, 3),
            "function": case.entry,
            "bindings": case.size,
            "operators": found.operators,
            "passes": [str(step) for step in case.passes],
            "lengths": dict(found.least),
            "is_smallest": found.is_whole,
            "written": self.name,
            "values": self.values_file,
            "remaining_names": list(found.remaining),
            "command": self.shown(),
        }

    def _passes(self) -> list[str]:
        passes = self.found.case.passes
        return ["-p", ",".join(map(str, passes))] if passes else []

    def _inputs(self) -> list[str]:
        """The options that give the values of parameters: one for all, if all have values."""
        names = {param.name for param in self.found.case.function.params}
        held = [REST] if names <= self.found.values.keys() else list(self.found.values)
        return [
            word for name in held if self.values_file for word in ("--input", f"{name}={self.values_file}")
        ]

    def _lengths(self) -> list[str]:
        """The options that give the lengths of shape variables."""
        free = smaller.free_names(self.found.case)
        return [
            word for name, n in self.found.case.lengths if name in free for word in ("--shape", f"{name}={n}")
        ]

    def _profile(self) -> list[str]:
        return ["--profile", self.profile] if self.profile != "spec" else []
