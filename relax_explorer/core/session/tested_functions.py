"""Which functions of a build a test runs: it begins with the first stage that has them, and may leave others aside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from relax_explorer.core.check.call_graph import reached
from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.builds import Build
from relax_explorer.core.session.former_parameters import completed
from relax_explorer.core.session.samples import Sample
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.session.stages import Stage


def first_with(stages: Iterable[Stage | Snapshot], function: str) -> int | None:
    """The place of the first stage that has a Relax function; None if none has it. One that can't be read has none."""
    return next((place for place, stage in enumerate(stages) if function in _functions(stage)), None)


def having(build: Build, function: str) -> tuple[Build, str]:
    """The stages of a build from the first one that has a Relax function, and a remark on those before it.

    Passes make functions: `Gradient` adds those that train, for example. Raises Failure if no stage has it.
    """
    place = first_with(build.stages, function)
    if place == 0:
        return build, ""
    if place is None:
        has = ", ".join(sorted({name for stage in build.stages for name in _functions(stage)})) or "none"
        text = f"no stage of {build.path} has a Relax function {function!r}"
        raise Failure(Diagnostic(codes.UNKNOWN_FUNCTION, text, help=f"they have {has}"))
    first = build.stages[place]
    changing = [stage for stage in build.changing() if stage.number > first.number]
    before = [stage.number for stage in build.stages[:place]]
    where = f"stage {before[0]} has" if len(before) == 1 else f"stages {before[0]} to {before[-1]} have"
    part = replace(build, stages=(first, *changing), snapshots=(), passes=())
    return part, f"{where} no function {function!r}: the first stage is {first}"


def not_run(stages: Sequence[Stage], samples: Sequence[Sample], function: str) -> tuple[str, ...]:
    """The public Relax functions of the stages that no run of the samples calls, in the order in which they come."""
    names = {function}
    for sample in samples:
        names |= set() if sample.calls is None else {call.function for call in sample.calls.calls}
    entries = samples[0].entries if samples else {}
    found: dict[str, bool] = {}
    for module in _modules(stages):
        run = completed(module, entries)
        called = {item for name in names & run.functions.keys() for item in reached(run, name)}
        for name, fn in module.relax_functions.items():
            found[name] = found.get(name, False) or name in called or fn.is_private
    return tuple([name for name, is_called in found.items() if not is_called])


def _functions(stage: Stage | Snapshot) -> Sequence[str]:
    return [name for module in _modules([stage]) for name in module.relax_functions]


def _modules(stages: Iterable[Stage | Snapshot]) -> Iterator[IRModule]:
    for stage in stages:
        with suppress(Failure):  # the test of the stage tells what is wrong with it
            yield stage.module
