"""Shadow runs: the stages of a build again with every narrow float carried in float64 (`exec.widening`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from relax_explorer.core.check.normalize import normal_form_of
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.exec.interrupt import Cancelled, Interrupt
from relax_explorer.core.exec.machine import Machine
from relax_explorer.core.exec.values import Value
from relax_explorer.core.exec.widening import NotWidened, Wide, Widening, wide_value
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.call_program import CallProgram
from relax_explorer.core.session.recording import Maker, Recording, finished_on, recorded_on


@dataclass(frozen=True, slots=True)
class NoShadow:
    """Why there is no shadow run, as a part of a sentence."""

    reason: str


class Shadows:
    """Makes shadows of modules, and runs them. What goes wrong is told in the result, as a NoShadow."""

    def __init__(self, cache: Path | None = None, interrupt: Interrupt | None = None) -> None:
        self._cache, self._interrupt = cache, interrupt
        self._widening = Widening()
        self._known: dict[tuple[int, str], tuple[IRModule, Wide | NoShadow]] = {}

    def of(self, module: IRModule, function: str) -> Wide | NoShadow:
        """The shadow of a module."""
        key = id(module), function
        if key not in self._known:
            self._known[key] = module, self._widened(module, function)
        return self._known[key][1]

    def _widened(self, module: IRModule, function: str) -> Wide | NoShadow:
        try:
            return self._widening.module(normal_form_of(module), function)
        except NotWidened as problem:
            return NoShadow(str(problem))
        except Cancelled:
            raise
        except Failure as failure:
            return NoShadow(failure.diagnostics[0].message)
        except MemoryError:
            return NoShadow("its constants do not fit into memory in float64")

    def finished(
        self, module: IRModule, function: str, args: Sequence[Value], program: CallProgram | None = None
    ) -> Recording | NoShadow:
        """The results of a shadow run."""
        return self._run(finished_on, module, function, args, program)

    def recorded(
        self, module: IRModule, function: str, args: Sequence[Value], program: CallProgram | None = None
    ) -> Recording | NoShadow:
        """A recorded shadow run. Its productions name the bindings of the program."""
        return self._run(recorded_on, module, function, args, program)

    def _run(
        self, how: Callable[[Maker, Sequence[Value]], Recording], module: IRModule, function: str, args: Sequence[Value],
        program: CallProgram | None,
    ) -> Recording | NoShadow:  # fmt: skip
        shadow = self.of(module, function)
        if isinstance(shadow, NoShadow):
            return shadow
        try:
            run = how(self.maker(shadow, function, program), wide_value(tuple(args)))
        except NotWidened as problem:
            return NoShadow(str(problem))
        except MemoryError:
            return NoShadow("its values do not fit into memory in float64")
        origins = shadow.origins
        run.productions = [
            replace(item, binding=origins.get(item.binding, item.binding)) for item in run.productions
        ]
        return run if run.failure is None else _stopped(run.failure)

    def maker(self, shadow: Wide, function: str, program: CallProgram | None = None) -> Maker:
        """Makes machines that run a shadow."""

        def make(arguments: tuple[Value, ...]) -> Machine:
            return Machine(
                shadow.module, function, arguments, cache=self._cache, interrupt=self._interrupt, private=True,
                storage_factor=shadow.storage_factor,
            )  # fmt: skip

        return Maker(make, program)


def _stopped(failure: Diagnostic) -> NoShadow:
    return NoShadow(f"its run in float64 stops: {failure.message}")
