"""The handlers of commands on one program. Each takes arguments, prints text or data, and returns the exit status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import click

from relax_explorer.core.codes import CODES
from relax_explorer.core.codes import passes as pass_codes
from relax_explorer.core.diagnostics import Diagnostic, Failure, Severity
from relax_explorer.core.ir.expr import MatchCast
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.passes.pipeline import Outcome
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.builds import Build, RecordedSession, pipeline_of
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.syntax.dialects import OWN
from relax_explorer.core.syntax.executable import is_executable, read_executable
from relax_explorer.ui import directories
from relax_explorer.ui.cli import output
from relax_explorer.ui.cli.opening import build_at, chosen, first_program, passes_from, program_at
from relax_explorer.ui.files import STANDARD_OUTPUT, Target
from relax_explorer.ui.pass_files import with_files

if TYPE_CHECKING:
    from relax_explorer.viz.dot import Engine


def open_session(path: str, passes: str | None, usual: str = "") -> Session:
    """Open a session on a file and run its pipeline, or on a folder of stages. Errors in a program are reported and raised."""
    return session_of(build_at(path), passes, usual)


def session_of(build: Build, passes: str | None, usual: str = "") -> Session:
    """A session on a build: on its stages, or on a program after a pipeline."""
    passes = passes_from(build, passes)
    if build.is_recorded and passes is None:
        session: Session = RecordedSession(build, directories.kernel_cache())
    else:
        pipeline = with_files(pipeline_of(build, passes or usual))
        session = Session(build.stages[0].module, pipeline, build.path, directories.kernel_cache())
    session.run_all()
    said = output.of_passes(session)
    if any(item.code is pass_codes.BAD_OPTION for item in said):
        raise Failure(*said)
    output.report(said)
    return session


def show(
    input: str,
    passes: str | None,
    stage: str | None,
    func: str | None,
    dialect: str,
    strict: bool,
    format: str,
) -> int:
    """Print a module, or an executable's instructions."""
    build = build_at(input)
    passes = passes_from(build, passes)
    if not build.is_recorded and stage is None and is_executable(text := build.stages[0].text):
        return _show_executable(text, build.path, passes, func, format)
    if passes is None and not build.is_recorded and stage is None:
        module = build.stages[0].module
    else:
        shown = chosen(session_of(build, passes), stage)
        module = shown.module
        if not module.functions and any(item.is_error for item in shown.problems):
            return output.status(Failure(*shown.problems))  # nothing of it could be read, which was told
    if func is not None:
        if func not in module:
            raise click.UsageError(
                f"the module has no function {func!r}; it has {', '.join(module.functions)}"
            )
        module = module.having({func: module[func]})
    if not _may_print(module, dialect, strict):
        return output.FOUND
    printed = (module if dialect == OWN.name else _with_kinds(module)).script(dialect)
    if format == "json":
        output.write(
            output.document(
                "show", {"functions": list(module.functions), "dialect": dialect, "text": printed}
            )
        )
    else:
        output.write(printed, is_code=True)
    return output.OK


def _show_executable(text: str, path: str, passes: str | None, func: str | None, format: str) -> int:
    from relax_explorer.ui.cli.program_output import print_executable

    if passes:  # perhaps those of the settings
        output.say("note: passes don't change an executable", err=True)
    return print_executable(read_executable(text, path), func, format)


def _may_print(module: IRModule, dialect: str, strict: bool) -> bool:
    """Report what the dialect cannot say of a module. False if that refuses the text."""
    from relax_explorer.core.syntax.losses import losses

    found = losses(module, dialect)
    output.report(found)
    return not (found and strict)


def _with_kinds(module: IRModule) -> IRModule:
    """A module; in normal form if it has a `match_shape`, which TVM reads as a match_cast to a dtype that inference finds."""
    from relax_explorer.core.check.normalize import normalize_with

    found = (b for fn in module.relax_functions.values() for b in bindings(fn))
    return (
        normalize_with(module)[0]
        if any(isinstance(b, MatchCast) and b.lengths_only for b in found)
        else module
    )


def check(
    inputs: tuple[str, ...],
    profile: str,
    dialect: str,
    prover: str,
    select: str | None,
    ignore: str | None,
    fail_on: str,
    allow_unknown_ops: bool,
    output_format: str,
) -> int:
    """Report problems of several files, or of the stages of folders."""
    from relax_explorer.ui.cli.checking import check_path, print_problems

    selected_codes, ignored_codes = _codes("--select", select), _codes("--ignore", ignore) or ()
    texts = [
        text
        for path in inputs
        for text in check_path(
            path, profile, prover, None if dialect == "auto" else dialect, allow_unknown_ops
        )
    ]
    selected = [
        (text.stage, problem)
        for text in texts
        for problem in text.problems
        if _selected(problem, selected_codes, ignored_codes)
    ]
    print_problems(selected, output_format, len(texts), len(inputs) == 1 and texts[0].stage is not None)
    if not all(text.is_readable for text in texts):
        return output.USAGE
    least = Severity[fail_on.upper()]
    return output.FOUND if any(problem.level >= least for _, problem in selected) else output.OK


def _selected(problem: Diagnostic, codes: tuple[str, ...] | None, unwanted: tuple[str, ...]) -> bool:
    return (codes is None or problem.code.id.startswith(codes)) and not problem.code.id.startswith(unwanted)


def _codes(option: str, text: str | None) -> tuple[str, ...] | None:
    """The code prefixes in an option, or None when the option is absent. A prefix without any code is refused."""
    if text is None:
        return None
    starts = tuple([part.strip().upper() for part in text.split(",") if part.strip()])
    for start in starts:
        if not any(code.startswith(start) for code in CODES):
            raise click.UsageError(f"{option}: no code starts with {start!r}; write RX02 or RX0105")
    return starts


def opt(
    input: str,
    passes: str | None,
    output_: Target | None,
    dialect: str,
    strict: bool,
    print_after_change: bool,
    no_verify_each: bool,
    phase_check: str,
    record: bool,
    profile: str,
    time_passes: bool,
) -> int:
    """Apply passes."""
    from relax_explorer.core.check.claimed_phase import recorded
    from relax_explorer.core.passes.pass_order import explain as explain_order
    from relax_explorer.core.passes.pipeline import normalized, recording, run
    from relax_explorer.core.phases.module_properties import holding

    build = build_at(input)
    pipeline = with_files(pipeline_of(build, passes or "default"), profile)
    module, problems = normalized(first_program(build))
    held = holding(module)
    errors = [item for item in problems if item.is_error and (profile == "spec" or not item.spec_only)]
    output.report([*errors, *explain_order(pipeline, held, recorded(module) or ())])
    if errors:
        return output.FOUND
    module = recording(module) if record else module
    for outcome in run(module, pipeline, held, not no_verify_each, phase_check):
        if outcome.failure is not None:
            raise outcome.failure
        step, module = outcome.step, outcome.module
        _report_outcome(outcome)
        if any(problem.is_error for problem in outcome.problems):
            return output.FOUND
        if time_passes:
            _say_time(outcome)
        if print_after_change and outcome.changed:
            output.say(f"# after {step}\n{module.script(dialect)}")
    is_shown = print_after_change and not output_
    return output.OK if is_shown else _write(module, dialect, strict, output_ or STANDARD_OUTPUT)


def _write(module: IRModule, dialect: str, strict: bool, target: Target) -> int:
    """Write the text of a module, unless `strict` refuses it."""
    if not _may_print(module, dialect, strict):
        return output.FOUND
    output.write(module.script(dialect), target, is_code=True)
    return output.OK


def _say_time(outcome: Outcome) -> None:
    remark = "" if outcome.changed else "  (no change)"
    output.say(f"{outcome.seconds:9.4f} s  {outcome.step}{remark}", err=True)


def _report_outcome(outcome: Outcome) -> None:
    """Report the problems of one step, with places in the text of its result."""
    from relax_explorer.core.syntax.doc import placed
    from relax_explorer.core.syntax.printer import printed_module

    if outcome.problems:
        text = printed_module(outcome.module, metadata=False)
        output.report(placed(outcome.problems, text, f"after {outcome.step}"))


def diff(a: str, b: str | None, passes: str | None, between: str | None, style: str, exit_code: bool) -> int:
    """Compare modules or stages."""
    from relax_explorer.core.check.normalize import normalize_with
    from relax_explorer.core.session.align import diff_modules, with_groups
    from relax_explorer.ui.cli.program_output import EXECUTABLE, print_compiled, print_diff

    if b is not None:
        left, right = normalize_with(program_at(a))[0], normalize_with(program_at(b))[0]
        difference = with_groups(diff_modules(left, right), left, right)
        names = (a, b)
    else:
        session = open_session(a, passes, "default")
        if between is not None and between.endswith(f"..{EXECUTABLE}"):
            return print_compiled(session.compiled(), session.stages[-1], style)
        first, last = _two_stages(session, between or "")
        difference = session.between(first, last)
        names = (f"{a}@{first.made_by}", f"{a}@{last.made_by}")
    print_diff(difference, names, style)
    return output.FOUND if exit_code and not difference.is_empty else output.OK


def _two_stages(session: Session, between: str) -> tuple[Snapshot, Snapshot]:
    """The stages of `I..J`: by default the first and the last one."""
    first, _, second = between.partition("..")
    return chosen(session, first) if first else session.stages[0], chosen(session, second or None)


def graph(
    input: str, func: str | None, passes: str | None, stage: str | None, output_: Target | None, format: str | None, engine: Engine,
    around: str | None, radius: int, max_nodes: int, weights: str, expand: bool, between: str | None, heat: Literal["time", "bytes"] | None,
    input_: tuple[str, ...], shape: tuple[str, ...], max_input: float, inside: str | None, calls: bool, block: int | None, run_calls: str | None,
) -> int:  # fmt: skip
    """Draw a graph."""
    from relax_explorer.ui.cli import graphing
    from relax_explorer.ui.cli.graphing import check, draw
    from relax_explorer.viz.call_structure import call_structure

    check(output_ or STANDARD_OUTPUT, format)
    graphing.check_options(
        between,
        (stage, heat, inside),
        heat,
        (input_, shape, run_calls),
        calls and bool(func or inside or heat or between),
        block is not None and bool(calls or inside or between),
    )
    session = open_session(input, passes)
    if between is not None:
        drawing = graphing.between_stages(session, *_two_stages(session, between), func, weights)
    elif calls:
        drawing = call_structure(chosen(session, stage).module)
    else:
        snapshot = chosen(session, stage)
        layers = "each" if expand or around is not None or block is not None else "once"
        drawing = graphing.of_stage(snapshot, func, block, weights, layers, inside)
        if heat is not None:
            drawing = graphing.with_heat(
                session, snapshot, drawing, heat, (None, input_, shape, max_input), run_calls
            )
    if around is not None:
        centre = next((node.id for node in drawing.nodes if around in (node.title, *node.lines)), None)
        if centre is None:
            raise click.UsageError(f"the graph has no {'function' if calls else 'variable'} {around!r}")
        drawing = drawing.neighbourhood(centre, radius, max_nodes)
    return draw(drawing.scoped(max_nodes), output_ or STANDARD_OUTPUT, format, engine)


def find(
    input: str, pattern: str, passes: str | None, stage: str | None, func: str | None, format: str
) -> int:
    """Print the bindings that a pattern matches."""
    from relax_explorer.ui.cli.program_output import find_in

    return find_in(chosen(open_session(input, passes), stage), input, pattern, func, format)


def who(input: str, var: str, passes: str | None, func: str | None, format: str) -> int:
    """Print the history of a variable."""
    from relax_explorer.core.session.builds import has_kernel, kernel_history
    from relax_explorer.ui.cli.program_output import print_history, print_kernel_history

    session = open_session(input, passes, "default")
    try:
        found = None if var.startswith("@") else session.who(var, func or "")
    except KeyError as error:
        found = None
        if not has_kernel(session, var):
            raise click.UsageError(str(error.args[0])) from None
    if found is not None:
        print_history(found, format, session.compiled())
    elif has_kernel(session, name := var.removeprefix("@")):
        print_kernel_history(list(kernel_history(session, name)), format)
    else:
        raise click.UsageError(f"no stage has a kernel {name!r}")
    return output.OK
