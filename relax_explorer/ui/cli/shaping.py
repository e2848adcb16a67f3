"""`shapes`: the checks of shapes in a program, where lengths come from, and what a condition makes of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import click

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.notations import CONTRACTS, HOLDS, RELATIONS, is_contract
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.run_log import Costs, Site, Spent, check_costs
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.shapes.length_names import LengthNames, read_conditions
from relax_explorer.core.shapes.origins import nested_names
from relax_explorer.core.shapes.residual import PARAMETERS, ShapeCheck, shape_checks
from relax_explorer.core.shapes.why import what_if, why
from relax_explorer.ui.cli import output
from relax_explorer.ui.cli.input_options import register_files
from relax_explorer.ui.cli.opening import typed
from relax_explorer.ui.cli.other_notations import OPTIONS, ContractOptions, contracts
from relax_explorer.ui.cli.output import Remark, Result, aligned
from relax_explorer.ui.cli.programs import stage_at
from relax_explorer.ui.cli.run import Choice
from relax_explorer.viz.length_text import what_if_data, what_if_lines, why_data, why_lines
from relax_explorer.viz.marked_graph import HEADS, call_text, share_text, site_rows, spent_text
from relax_explorer.viz.visible import counted, fields_of

_ANSWERS = {Answer.YES: "proved", Answer.NO: "always fails", Answer.UNKNOWN: "remains"}


def shapes(
    input: str, func: str | None, passes: str | None, stage: str | None, proved: bool, given: str | None, why: str | None, what_if: str | None,
    run: bool, input_: tuple[str, ...], shape: tuple[str, ...], max_input: float, packed: tuple[str, ...],
    desugared: bool, relax: bool, matches: bool, split: bool,
    copy: str | None, keep_branches: bool,
    trace: bool, at: int | None, calls: str | None,
) -> Result:  # fmt: skip
    """The checks of a stage; for a file with contracts, what is known of its values."""
    wanted = ContractOptions(desugared, relax, matches, split, copy, keep_branches, trace, at)
    if is_contract(input):
        _refuse(func, typed(passes), stage, proved, given, why, what_if, run, input_, shape, calls)
        register_files(packed)
        return contracts(input, wanted)
    _require_a_module(input, wanted)
    if (input_ or shape or packed or calls) and not run:
        raise click.UsageError("--input, --shape, --packed and --calls need --run")
    register_files(packed)
    if sum((why is not None, what_if is not None, run or proved or given is not None)) > 1:
        raise click.UsageError("--why and --what-if stand alone")
    session, snapshot = stage_at(input, passes, stage)
    module = snapshot.module
    if func is not None and func not in module.relax_functions:
        names = ", ".join(module.relax_functions) or "none"
        raise click.UsageError(f"there is no Relax function {func!r}; there are {names}")
    entry = func or snapshot.entry
    if why is not None or what_if is not None:
        return _asked(module, snapshot.label, entry, why, what_if)
    conditions, told = _assumed(module, entry, given)
    checks = [check for check in shape_checks(module, conditions) if func in (None, check.function)]
    choice = func, input_, shape, max_input
    costs, failed = _costs(session, snapshot, choice, calls) if run else (None, None)
    functions = [*module.relax_functions] if func is None else [func]
    lines = _lines(told, functions, checks, proved, costs)
    fails = any(check.answer is Answer.NO for check in checks)
    result = Result("shapes", lambda: _all_data(snapshot, told, checks, costs), lines, fails * output.FOUND)
    if failed is None:
        return result
    return replace(result, status=output.status(failed), problems=failed.diagnostics)


def _refuse(*given: object) -> None:
    """Raise UsageError if an option is given that a file with contracts does not take."""
    if any(given):
        raise click.UsageError(f"a file with contracts takes {OPTIONS}, --packed and --format only")


def _require_a_module(input: str, wanted: ContractOptions) -> None:
    """Raise UsageError for a program of Relay, and for options that only files with contracts take."""
    if input.endswith(RELATIONS):
        raise click.UsageError(f"{input} is {HOLDS[RELATIONS]}; `relax-explorer relations` solves its types")
    if wanted != ContractOptions():
        raise click.UsageError(f"{OPTIONS} are for files with contracts, *{CONTRACTS}")


def _asked(module: IRModule, label: int, entry: str, value: str | None, condition: str | None) -> Result:
    """Where the lengths of a value come from; or what lengths become under a condition, and which checks it decides."""
    if value is not None:
        origins = why(module, entry, value)
        lines = (text for text, _ in why_lines(origins))
        return Result("why", lambda: {"stage": label, **why_data(origins)}, lines)
    condition = condition or ""
    found = what_if(module, entry, condition)
    fails = any(check.answer is Answer.NO for check in found.decided)
    return Result(
        "what-if",
        lambda: {"stage": label, "condition": condition, **what_if_data(found)},
        (text for text, _ in what_if_lines(found, condition)),
        output.FOUND if fails or any(one.impossible for one in found.values) else output.OK,
    )


def _assumed(
    module: IRModule, function: str, text: str | None
) -> tuple[dict[str, list[p.PrimExpr]], dict[str, str]]:
    """The conditions that are given, by function, and as the answer tells them."""
    if text is None:
        return {}, {}
    names = LengthNames(module, function)
    conditions = read_conditions(text, names)
    return conditions, {"given": names.text_of(one for some in conditions.values() for one in some)}


def _costs(
    session: Session, stage: Snapshot, choice: Choice, calls: str | None
) -> tuple[Costs, Failure | None]:
    """Run a function or the calls of a file, and add up the checks of each place. Also why the run stopped, if it did."""
    from relax_explorer.core.exec.debugger import debug
    from relax_explorer.ui.cli.run import check_alone, started

    check_alone(calls, choice[:3])
    start = started(session, calls, choice, True, stage)
    debugger = debug(start.module, start.name, start.args, private=True)
    failed = None
    try:
        debugger.continue_()
    except Failure as failure:
        failed = failure
    return check_costs(debugger.machine, start.name if start.program is not None else ""), failed


def _lines(
    told: dict[str, str],
    functions: Iterable[str],
    checks: Sequence[ShapeCheck],
    is_all: bool,
    costs: Costs | None,
) -> Iterator[str]:
    yield from [f"{word} {text}" for word, text in told.items()]
    for name in functions:
        rows = [check for check in checks if check.function == name]
        entry = [check for check in rows if check.kind == PARAMETERS]
        yield f"{name}: {_summary(rows)}"
        if entry and not is_all:
            lengths = sum(check.condition is not None for check in entry)
            counts = ((len(entry) - lengths, "kind"), (lengths, "length"))
            parts = ", ".join([counted(number, noun) for number, noun in counts if number])
            yield f"  at each call from outside: {parts}{_spent(entry[0], costs)}"
        for check in rows:
            if is_all or _is_listed(check):
                yield from _check_lines(check, costs)
    if costs is not None:
        yield from _site_lines(costs, costs.sites(checks))
    remaining = sum(check.answer is Answer.UNKNOWN for check in checks)
    failing = sum(check.answer is Answer.NO for check in checks)
    verdict = f"{counted(failing, 'check')} always fail{'s' * (failing == 1)}" if failing else "accepted"
    yield Remark(f"{verdict}, {counted(remaining, 'check')} left to the run")


def _check_lines(check: ShapeCheck, costs: Costs | None) -> Iterator[str]:
    line, indent = _line(check), " " * 12
    where = f"line {line}" if line else "       "
    yield f"  {where:<9} {_ANSWERS[check.answer]:<12} {check.text}    ({check.word}: {check.subject})"
    if check.proof:
        yield f"{indent}because {'; '.join(map(str, check.proof))}"
    if check.why:
        yield f"{indent}why: {check.why}"
    if check.remedy:
        yield f"{indent}to remove it: {check.remedy}"
    if spent := _spent(check, costs):
        yield f"{indent}{spent.removeprefix('; ')}"


def _spent(check: ShapeCheck, costs: Costs | None) -> str:
    """How often all checks of the place were made, and how long that took; "" if they were not."""
    spent = None if costs is None else costs.of(check)
    if spent is None or costs is None:
        return ""
    call = call_text(check, costs)
    return f"; in this run {spent_text(spent)}{'; ' + call if call else ''}"


def _site_lines(costs: Costs, sites: Sequence[Site]) -> Iterator[str]:
    """Where checks that the program does not prove took time, the longest first."""
    yield f"in this run {share_text(costs)}; those left to it, by place:"
    rows = aligned([HEADS, *site_rows(sites)], 4) if sites else ["none was made"]
    yield from [f"  {row}" for row in rows]


def _is_listed(check: ShapeCheck) -> bool:
    """True for a check that stands in the short list: not proved, and not of an entry."""
    return check.answer is Answer.NO or (check.answer is Answer.UNKNOWN and check.kind != PARAMETERS)


def _summary(rows: Sequence[ShapeCheck]) -> str:
    counts = {answer: sum(check.answer is answer for check in rows) for answer in _ANSWERS}
    words = {Answer.YES: "proved", Answer.UNKNOWN: "left to the run", Answer.NO: "failing in every run"}
    told = [f"{counts[answer]} {text}" for answer, text in words.items() if counts[answer]]
    return "checks: " + ", ".join(told) if told else "nothing to check"


def _line(check: ShapeCheck) -> int | None:
    span = getattr(check.place, "span", None)
    return None if span is None else int(span.line)


def _all_data(
    stage: Snapshot, told: dict[str, str], checks: Sequence[ShapeCheck], costs: Costs | None
) -> dict[str, Any]:
    rows = [_data(stage.module, check, costs) for check in checks]
    ran = {} if costs is None else {"run": _run_data(costs, checks)}
    return {"stage": stage.label, **told, "checks": rows, **ran}


def _data(module: IRModule, check: ShapeCheck, costs: Costs | None) -> dict[str, Any]:
    row = {
        "function": check.function,
        "within": list(nested_names(module, check.function, check.place)),
        **fields_of(check, "line=place.span.line kind subject condition=text"),
        "answer": _ANSWERS[check.answer],
        "because": [str(fact) for fact in check.proof],
        **fields_of(check, "why remedy"),
    }
    if isinstance(check.place, e.Binding) and check.place.var is not None:
        row["binding"] = check.place.var.name
    if costs is not None:
        spent = costs.of(check) or Spent()
        row |= fields_of(spent, "times seconds bytes=size")
    return row


def _run_data(costs: Costs, checks: Sequence[ShapeCheck]) -> dict[str, Any]:
    """The seconds of a run and of its checks, and the places whose checks are left to it, the longest first."""
    return {
        "seconds": costs.seconds,
        "checking": costs.checking,
        "places": [_site_data(site) for site in costs.sites(checks)],
    }


def _site_data(site: Site) -> dict[str, Any]:
    first, call = site.checks[0], site.call
    var = getattr(first.place, "var", None) if first.kind != PARAMETERS else None
    return {
        **fields_of(first, "function line=place.span.line kind"),
        "binding": None if var is None else var.name,
        "conditions": [check.text for check in site.checks],
        **fields_of(site.spent, "times checking=seconds bytes=size"),
        "call": None if call is None else fields_of(call, "times seconds bytes=size"),
    }
