"""Runs of a sample: one call with its inputs, or all calls of a file, on any stage of a build."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec.interrupt import Cancelled, Interrupt
from relax_explorer.core.exec.values import Value
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.call_program import CallProgram, call_program
from relax_explorer.core.session.recording import Recording, content, finished, recorded
from relax_explorer.core.session.samples import Sample, function_of
from relax_explorer.core.session.stages import Stage

_PROGRAMS: PerNode[dict[Sample, CallProgram]] = PerNode()  # of the module whose functions told the inputs


@dataclass(frozen=True, slots=True)
class SampleRun:
    """A sample ready to run: a function and its arguments. With `program` the function makes the calls of a file.

    Each stage makes its own caches: nothing that a call returns is shared between stages.
    """

    function: str
    values: tuple[Value, ...]
    program: CallProgram | None = None

    @property
    def entries(self) -> tuple[str, ...]:
        """The functions of a stage that it calls."""
        if self.program is None:
            return (self.function,)
        return tuple(
            dict.fromkeys([call.function for call in self.program.calls if "." not in call.function])
        )

    def module(self, stage: IRModule) -> IRModule:
        """A stage with the function."""
        return stage if self.program is None else self.program.into(stage)

    def finished(
        self, stage: IRModule, cache: Path | None = None, interrupt: Interrupt | None = None
    ) -> Recording:
        """The results on a stage, without the values on the way."""
        made = self._made(stage)
        if isinstance(made, Recording):
            return made
        return finished(made, self.function, self.values, cache, interrupt, self.program)

    def recorded(
        self, stage: IRModule, cache: Path | None = None, interrupt: Interrupt | None = None
    ) -> Recording:
        """The results on a stage, and all values on the way."""
        made = self._made(stage)
        if isinstance(made, Recording):
            return made
        return recorded(made, self.function, self.values, cache, interrupt, program=self.program)

    def _made(self, stage: IRModule) -> IRModule | Recording:
        """The stage with the function, or the failure of a stage that has no normal form: it runs nothing."""
        try:
            return self.module(stage)
        except Cancelled:
            raise
        except Failure as failure:
            return Recording(failure=failure.diagnostics[0], inputs=content(self.values))


def sample_run(first: Stage, function: str, sample: Sample) -> SampleRun:
    """A sample ready to run on the stages of a build. The first stage tells its parameters. Raises Failure."""
    if sample.calls is None:
        return SampleRun(function, tuple(sample.values(function_of(first.module, function))))
    program = program_of(first.module, sample)
    return SampleRun(program.name, program.values, program)


def program_of(module: IRModule, sample: Sample) -> CallProgram:
    """The program of a sample of calls. It is made once for each module."""
    file, known = sample.calls, _PROGRAMS.of(module, lambda _: {})
    assert file is not None  # a sample of calls
    if sample not in known:
        known[sample] = call_program(module, file.calls, file.path, file.folder, sample.most, file.names)
    return known[sample]
