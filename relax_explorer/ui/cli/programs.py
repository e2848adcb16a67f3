"""`show`, `opt`, `diff`, `find` and `who`: a program, its passes, what they changed, and what became of a value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.expr import MatchCast
from relax_explorer.core.ir.layer_names import layer_of
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.passes.pipeline import Outcome
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.align import FunctionDiff, ModuleDiff, Trace, Unit
from relax_explorer.core.session.build_passes import with_files
from relax_explorer.core.session.builds import Build, pipeline_of
from relax_explorer.core.session.compiled import Compiled
from relax_explorer.core.session.recorded import KernelTrace, RecordedSession, alone
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.syntax.beginnings import is_executable
from relax_explorer.core.syntax.dialects import NEW, OWN
from relax_explorer.core.syntax.doc import Line
from relax_explorer.core.syntax.executable import Executable, VMFunction, read_executable
from relax_explorer.core.syntax.node_text import binding_text
from relax_explorer.core.syntax.printer_expr import Constants, ExprText
from relax_explorer.ui import directories
from relax_explorer.ui.cli import output
from relax_explorer.ui.cli.opening import build_at, chosen, first_program, passes_from, program_at, stage_of
from relax_explorer.ui.cli.output import Exact, Program, Result, Styled
from relax_explorer.ui.files import STANDARD_OUTPUT, Target
from relax_explorer.viz.plain_text import trace_text
from relax_explorer.viz.stage_line import KERNEL_MARKS, TRACE_MARKS, change_counts, history_line
from relax_explorer.viz.stage_sentence import clauses, joined, stage_sentence
from relax_explorer.viz.table_diff import lines, stat_line
from relax_explorer.viz.visible import columns, fit, visible

if TYPE_CHECKING:
    from relax_explorer.core.patterns.matches import Occurrence


def open_session(path: str, passes: str | None, usual: str = "", profile: str = "spec") -> Session:
    """Open a session on a file and run its pipeline, or on a folder of stages. Errors in a program are reported and raised."""
    return session_of(build_at(path), passes, usual, profile)


def stage_at(path: str, passes: str | None, stage: str | None) -> tuple[Session, Snapshot]:
    """A stage with its session, by default the last one. Of a recorded build, a stage that is named is read alone."""
    return _stage_of(build_at(path), passes, stage)


def _stage_of(build: Build, passes: str | None, name: str | None) -> tuple[Session, Snapshot]:
    if name is None or not build.is_recorded or passes_from(build, passes) is not None:
        session = session_of(build, passes)
        return session, chosen(session, name)
    session = alone(build, stage_of(build, name), directories.kernel_cache())
    shown = session.stages[-1]
    output.report([item for item in shown.problems if item.is_error])
    return session, shown


def begun_session(build: Build, passes: str | None, usual: str = "", profile: str = "spec") -> Session:
    """A session on a build, which has its first stage: the stages of the build, or a program and a pipeline.

    Of the profile `auto`, the stages of a build follow TVM.
    """
    passes = passes_from(build, passes)
    cache, rules = directories.kernel_cache(), "spec" if profile == "auto" else profile
    if build.is_recorded and passes is None:
        return RecordedSession(build, cache, build.rules(profile))
    pipeline = with_files(pipeline_of(build, passes or usual), rules)
    return Session(build.stages[0].module, pipeline, build.path, cache, rules)


def session_of(build: Build, passes: str | None, usual: str = "", profile: str = "spec") -> Session:
    """A session on a build whose stages are all there. Errors in a program are reported."""
    session = begun_session(build, passes, usual, profile)
    session.run_all()
    found = output.of_passes(session)
    if output.is_misnamed(found):
        raise Failure(*found)
    output.report(found)
    return session


def show(
    input: str, passes: str | None, stage: str | None, func: str | None, dialect: str, strict: bool
) -> Result | int:
    """A module, or an executable's instructions."""
    build = build_at(input)
    passes = passes_from(build, passes)
    if not build.is_recorded and stage is None and is_executable(text := build.stages[0].text):
        return _show_executable(text, build.path, passes, func)
    told: dict[str, Any] = {}
    if passes is None and not build.is_recorded and stage is None:
        module = build.stages[0].module
    else:
        session, shown = _stage_of(build, passes, stage)
        module, told = shown.module, {"stage": _stage_data(session, shown)}
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
    data = {"functions": list(module.functions), "dialect": dialect, "text": printed, **told}
    return Result("show", data, [Program(printed)], remarks=_remarks(told))


def _stage_data(session: Session, stage: Snapshot) -> dict[str, Any]:
    """The stage of a program, and what its pass did; null if the stage before it was not read."""
    return {"number": stage.label, "pass": stage.made_by, "sentence": stage_sentence(session, stage) or None}


def _remarks(told: dict[str, Any]) -> list[str]:
    """`5 LegalizeOps: 21 operators became calls of 17 new kernels.`, if it is told."""
    stage = told.get("stage", {})
    return [f"{stage['number']} {stage['pass']}: {stage['sentence']}"] if stage.get("sentence") else []


def _show_executable(text: str, path: str, passes: str | None, func: str | None) -> Result:
    if passes:  # perhaps those of the settings
        output.say("note: passes don't change an executable", err=True)
    return _executable(read_executable(text, path), func)


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


def opt(
    input: str, passes: str | None, output_: Target | None, dialect: str, strict: bool, print_after_change: bool, no_verify_each: bool,
    phase_check: str, record: bool, profile: str, time_passes: bool,
) -> Result | int:  # fmt: skip
    """Apply passes."""
    from relax_explorer.core.check.claimed_phase import recorded
    from relax_explorer.core.passes.live import reproduced
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
            ran = pipeline[: pipeline.index(outcome.step) + 1]
            raise Failure(*reproduced(outcome.problems, ran, build.path))
        step, module = outcome.step, outcome.module
        _report_outcome(outcome)
        if any(problem.is_error for problem in outcome.problems):
            return output.FOUND
        if time_passes:
            _say_time(outcome)
        if print_after_change and outcome.changed:
            output.say(f"# after {step}\n{module.script(dialect)}")
    if print_after_change and not output_:
        return output.OK
    if not _may_print(module, dialect, strict):
        return output.FOUND
    return Result("opt", {}, [Program(module.script(dialect))], file=output_ or STANDARD_OUTPUT)


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


def diff(a: str, b: str | None, passes: str | None, between: str | None, exit_code: bool) -> Result:
    """What differs between modules or stages."""
    from relax_explorer.core.check.normalize import normalize_with
    from relax_explorer.core.session.align import diff_modules, with_groups

    if b is not None:
        left, right = normalize_with(program_at(a))[0], normalize_with(program_at(b))[0]
        difference = with_groups(diff_modules(left, right), left, right)
        sides, names = (left, right), (a, b)
    else:
        session = open_session(a, passes, "default")
        if between is not None and between.endswith(f"..{EXECUTABLE}"):
            return _compiled(session.compiled(), session.stages[-1])
        first, last = two_stages(session, between or "")
        difference = session.between(first, last)
        sides = (first.module, last.module)
        names = (f"{a}@{first.made_by}", f"{a}@{last.made_by}")
    told = joined(clauses(*sides, difference)) if not difference.is_empty else ""
    return Result(
        "diff",
        lambda: {
            "a": names[0],
            "b": names[1],
            "stat": difference.stat,
            "sentence": told,
            "changes": _changes(difference),
        },
        _diff_lines(difference, names, told, output.style() == "inline"),
        output.FOUND if exit_code and not difference.is_empty else output.OK,
    )


def two_stages(session: Session, between: str) -> tuple[Snapshot, Snapshot]:
    """The stages of `I..J`: by default the first and the last one."""
    first, _, second = between.partition("..")
    return chosen(session, first) if first else session.stages[0], chosen(session, second or None)


def who(input: str, var: str, passes: str | None, func: str | None, layer: bool) -> Result:
    """The history of a variable, or of a kernel. With `layer`, the layer of the model stands behind each value."""
    from relax_explorer.core.session.recorded import has_kernel, kernel_history

    session = open_session(input, passes, "default")
    try:
        found = None if var.startswith("@") else session.who(var, func or "")
    except KeyError as error:
        found = None
        if not has_kernel(session, var):
            raise click.UsageError(str(error.args[0])) from None
    if found is not None:
        layers = [_layer(session, trace) for trace in found]
        return _history(found, layers, layer, session.compiled(), _there(session, input, found))
    if not has_kernel(session, name := var.removeprefix("@")):
        raise click.UsageError(f"no stage has a kernel {name!r}")
    return _kernel_history(list(kernel_history(session, name)))


# -- differences -------------------------------------------------------------------------------------------------------


# Plain blue has a contrast of 2:1 on black; bright blue has 4:1 on black and on white.
_COLORS = {"+": "bright_blue", "-": "yellow", "~": "magenta", "t": "green", ">": "cyan"}


def _diff_lines(diff: ModuleDiff, names: tuple[str, str], told: str, has_text: bool) -> Iterator[str]:
    """The counts of a diff, what they mean, and its lines."""
    yield f"{visible(names[0])} → {visible(names[1])}: {stat_line(diff)}"
    if told:
        yield told
    for line in lines(diff) if has_text else ():
        note = f"  # {visible(line.note, 300)}" if line.note else ""
        glyph = click.style(line.mark, fg=_COLORS.get(line.mark)) if output.colors() else line.mark
        yield Styled(f"{glyph} {output.code(visible(line.text, 2000) + note)}")


def _changes(diff: ModuleDiff) -> list[dict[str, Any]]:
    changes = []
    for fn in diff.functions:
        if fn.status in ("added", "removed") and not fn.pairs:
            changes.append({"kind": fn.status, "function": fn.name})
        for pair in fn.pairs:
            if pair.kind != "same":
                sides: dict[str, Any] = {"a": _side(fn.old, pair.a), "b": _side(fn.new, pair.b)}
                changes.append(
                    {
                        "kind": pair.kind,
                        "function": fn.name,
                        **sides,
                        "confidence": "exact" if pair.exact else "likely",
                        **_group(fn, pair.b),
                    }
                )
    return changes


def _group(fn: FunctionDiff, number: int | None) -> dict[str, Any]:
    """What was merged into a value, or what it was split into, if anything was."""
    group = fn.groups.get(number) if number is not None else None
    if group is None:
        return {}
    side, numbers = (fn.old, group.old) if group.kind == "merged" else (fn.new, group.new)
    return {
        f"{group.kind}": {
            "bindings": [_side(side, n) for n in numbers],
            "confidence": "exact" if group.exact else "likely",
        }
    }


def _side(items: Sequence[Unit], index: int | None) -> dict[str, Any] | None:
    if index is None:
        return None
    item = items[index]
    if isinstance(item, Line):
        return {"statement": item.text.strip(), "index": index}
    var = item.var
    return {
        "var": var.name if var is not None else "",
        "index": index,
        "struct_info": str(var.struct_info) if var is not None else "",
    }


def _there(session: Session, input: str, traces: Sequence[Trace]) -> list[dict[str, object]]:
    """What the compiled program of a recording made of a value."""
    from relax_explorer.ui.cli.compiled_run import compiled_in, made_there

    known = compiled_in(session, input) if isinstance(session, RecordedSession) and traces else None
    return [] if known is None else made_there(known, traces[-1].bindings)


def _layer(session: Session, trace: Trace) -> str:
    """The layer of the model that a value belongs to in a stage, as names of weights tell it; empty if they don't."""
    functions = session.stages[trace.stage].module.relax_functions.values()
    return next(filter(None, (layer_of(fn, binding) for binding in trace.bindings for fn in functions)), "")


def _history(
    traces: Sequence[Trace],
    layers: Sequence[str],
    shows_layers: bool,
    made: Compiled | None,
    there: Sequence[dict[str, object]],
) -> Result:
    """The history of a value, the instructions of the executable that was made of it, and what the compiled program made of it."""
    places = made.of(traces[-1].bindings) if made is not None and traces else []
    rows = [
        {"stage": t.label, "pass": t.made_by, "mark": t.mark, "bindings": list(map(binding_text, t.bindings))}
        | ({"layer": layer} if layer else {})
        for t, layer in zip(traces, layers, strict=True)
    ]
    steps = [_instruction(made, place) for place in places] if made is not None else []
    data = {
        "history": rows,
        **({"executable": steps} if steps else {}),
        **({"compiled": there} if there else {}),
    }
    instructions = "; ".join([str(step["text"]) for step in steps])
    shown = layers if shows_layers else [""] * len(traces)
    return Result("who", data, [*_history_lines(traces, shown, made, instructions), *_there_lines(there)])


def _there_lines(there: Sequence[dict[str, object]]) -> Iterator[str]:
    from relax_explorer.ui.cli.compiled_run import made_text

    for row in there:
        mark = " " if "equal" not in row else "=" if row["equal"] else "≠"
        yield history_line("run", mark, f"run {row['run']} there", made_text(row), 5)


def _instruction(made: Compiled, place: tuple[str, int]) -> dict[str, object]:
    return {"function": place[0], "instruction": place[1], "text": made.text(place)}


def _history_lines(
    traces: Sequence[Trace], layers: Sequence[str], made: Compiled | None, instructions: str
) -> Iterator[str]:
    """A line per stage, but one for all stages in a row that left the value as it was. In a terminal each fits its width."""
    width = output.width()
    told = {trace.stage: layer for trace, layer in zip(traces, layers, strict=True)}
    alike = groupby(traces, lambda trace: (trace_text(trace), trace.mark, told[trace.stage]))
    for (text, mark, layer), stages in alike:
        first, *rest = stages
        head, tail = (
            history_line(first.label, mark, first.made_by, "", 5),
            f"  [{visible(layer, 80)}]" * bool(layer),
        )
        room = 200 if width is None else max(_LEAST_TEXT, width - columns(head + tail))
        yield Styled(f"{head}{output.code(fit(visible(text, 200), room))}{tail}")
        if rest:
            labels, passes = _labels([trace.label for trace in rest]), ", ".join(t.made_by for t in rest)
            line = f"{labels:>5} {mark} unchanged by {passes}"
            yield line if width is None else "\n".join(wrap(line, width, subsequent_indent=" " * 8))
    if made is not None and instructions:
        yield history_line("vm", "≈", Path(made.path).name, visible(instructions, 200), 5)
    for mark in dict.fromkeys(trace.mark for trace in traces):
        if mark in TRACE_MARKS:
            yield f"{mark} {TRACE_MARKS[mark]}"


_LEAST_TEXT = 20  # cells of a value that the history of a narrow terminal shows
EXECUTABLE = "executable"


def _compiled(made: Compiled | None, last: Snapshot) -> Result:
    """The bindings of the last stage, each with the instructions that were made of it. Others have none, or no binding."""
    if made is None:
        raise click.UsageError("no executable.txt or executable.py is in the folder of stages, or beside it")
    rows = [
        (name, binding_text(binding), [made.text(place) for place in made.links.of(binding)])
        for name, fn in last.module.relax_functions.items()
        for binding in bindings(fn)
    ]
    alone = [{"function": name, "instruction": made.text((name, n))} for name, n in made.unlinked()]
    content = [{"function": name, "binding": binding, "instructions": steps} for name, binding, steps in rows]
    count = len([steps for _, _, steps in rows if steps])
    lines = [
        f"{last.label} {last.made_by} → {visible(made.path, 200)}: {count} of {len(rows)} bindings have instructions"
    ]
    if output.style() == "inline":
        lines += [
            f"{visible(name, 40)}  {visible(text, 90)}\n    {visible('; '.join(steps) or 'no instruction', 200)}"
            for name, text, steps in rows
        ]
        lines += [
            f"{visible(row['function'], 40)}  without a binding: {visible(row['instruction'], 200)}"
            for row in alone
        ]
    data = {"a": str(last.label), "b": made.path, "bindings": content, "alone": alone}
    return Result("diff", data, lines)


def _kernel_history(traces: Sequence[KernelTrace]) -> Result:
    """The history of a kernel."""
    rows = [
        {"stage": item.stage.label, "pass": item.stage.made_by, "change": item.change or "none"}
        | ({} if item.diff is None else {"stat": ModuleDiff((item.diff,)).stat})
        for item in traces
    ]
    return Result("who", {"kernel": rows}, _kernel_lines(traces))


def _kernel_lines(traces: Sequence[KernelTrace]) -> Iterator[str]:
    """A line for each stage that made, changed or removed a kernel, and one for all others in a row."""
    for change, group in groupby(traces, lambda item: item.change if item.change in KERNEL_MARKS else ""):
        items = list(group)
        for item in items if change else ():
            counts = "" if item.diff is None else f": {change_counts(ModuleDiff((item.diff,)))}"
            yield history_line(
                item.stage.label, KERNEL_MARKS[change], item.stage.made_by, f"{change}{counts}", 5
            )
        if not change and items[0].change:
            yield f"{_labels([item.stage.label for item in items]):>5}   unchanged"


def _labels(labels: Sequence[int]) -> str:
    return str(labels[0]) if len(labels) == 1 else f"{labels[0]}-{labels[-1]}"


# -- finding ---------------------------------------------------------------------------------------------------------
# `find`: list the bindings that a pattern matches.


def find(input: str, pattern: str, passes: str | None, stage: str | None, func: str | None) -> Result:
    """The bindings of one stage that a pattern matches. Like grep, the status is 1 if there is none."""
    from relax_explorer.core.patterns.matches import module_occurrences
    from relax_explorer.core.patterns.pattern_text import read_pattern

    _, shown = stage_at(input, passes, stage)
    wanted = read_pattern(pattern)
    if func is not None and func not in shown.module.relax_functions:
        names = ", ".join(shown.module.relax_functions)
        raise click.UsageError(f"there is no Relax function {func!r}; there are {names}")
    described = _Described(shown, input)
    matches = [
        described.row(name, one)
        for name, one in module_occurrences(shown.module, wanted)
        if func in (None, name)
    ]
    data = {"pattern": pattern, "stage": shown.label, "matches": matches}
    return Result("find", data, _match_lines(matches), output.OK if matches else output.FOUND)


def _match_lines(matches: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for row in matches:
        for line in row["bindings"]:
            yield f"{row['function']}:{line['line']}: {line['text']}"
        for name, part in (row["parts"] | row["lengths"]).items():
            yield f"    {name} = {part}"


class _Described:
    """Matches in the words and with the lines of a listing."""

    def __init__(self, stage: Snapshot, filename: str) -> None:
        from relax_explorer.core.session.debug_places import listing

        self.names, self.listing = stage.printed.names, listing(stage, filename)

    def row(self, function: str, one: Occurrence) -> dict[str, Any]:
        """A match as plain data."""
        text = ExprText(self.names[function], NEW, Constants())
        written = {
            name: f"a constant, {operand.struct_info}" if type(operand) is e.Constant else text.write(operand)
            for name, operand in one.match.named.items()
        }
        lines = [self.listing.line_of(binding) for binding in one.bindings]
        return {
            "function": function,
            "variable": text.write(one.binding.var),
            "bindings": [{"line": line, "text": self.listing.lines[line - 1].strip()} for line in lines],
            "parts": written,
            "lengths": {name: text.prim.write(length) for name, length in one.match.lengths.items()},
        }


# -- executables -----------------------------------------------------------------------------------------------------
# Prints executables of TVM's virtual machine.


def _executable(executable: Executable, func: str | None) -> Result:
    """The instructions of an executable, or of one of its functions."""
    functions = executable.functions
    if func is not None and func not in functions:
        raise click.UsageError(f"the executable has no function {func!r}; it has {', '.join(functions)}")
    chosen = [function for name, function in functions.items() if func in (None, name)]
    text = "\n\n".join(["\n".join(_lines(function)) for function in chosen])
    return Result("executable", {"functions": [_data(function) for function in chosen]}, [Exact(text)])


def _lines(function: VMFunction) -> Iterator[str]:
    count, registers = len(function.instructions), function.registers
    inputs = "" if function.inputs is None else f", inputs: {function.inputs}"
    yield f"{function.name}  (instructions: {count}, registers: {registers}{inputs})"
    width = len(str(count - 1))
    for number, item in enumerate(function.instructions):
        yield f"  {number:>{width}}  {item}"


def _data(function: VMFunction) -> dict[str, object]:
    instructions = [
        {
            "kind": item.kind,
            "callee": item.callee or None,
            "args": list(map(str, item.args)),
            "dst": None if item.dst is None else str(item.dst),
            "target": item.target if item.kind in ("if", "goto") else None,
        }
        for item in function.instructions
    ]
    return {
        "name": function.name,
        "inputs": function.inputs,
        "registers": function.registers,
        "instructions": instructions,
    }
