"""Comparisons, bisections and validations as results: text and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import chain
from typing import Any

from relax_explorer.core.session.align import ModuleDiff
from relax_explorer.core.session.bisect import Bisection
from relax_explorer.core.session.compare import Comparison
from relax_explorer.core.session.validate import Row
from relax_explorer.ui.cli import output
from relax_explorer.ui.cli.output import Remark, Result
from relax_explorer.ui.cli.verdict_lines import verdict_lines
from relax_explorer.viz.table_diff import lines, stat_line
from relax_explorer.viz.verdict_text import (
    bisection_lines,
    comparison_lines,
    nothing_compared,
    validation_lines,
)
from relax_explorer.viz.visible import counted, visible

NOTHING_COMPARED = "every run stopped, so nothing was compared"


def compared(result: Comparison, everything: bool, programs: ModuleDiff | None = None) -> Result:
    """A comparison, sample by sample. `programs` is the difference of the two programs, if it is asked for."""
    is_equal = result.equal and not any(verdict.unknown for verdict in result.verdicts)
    equal = output.OK if result.ran and is_equal else output.CANNOT

    def data() -> dict[str, Any]:
        verdicts = [
            {**asdict(verdict), "equal": verdict.equal and not verdict.unknown} for verdict in result.verdicts
        ]
        same = {} if programs is None else {"programs": {"equal": programs.is_empty, "stat": programs.stat}}
        return {**asdict(result), "verdicts": verdicts, "equal": is_equal, **same}

    head = [] if programs is None else _program_lines(programs)
    remark = [Remark(NOTHING_COMPARED)] if result.equal and not result.ran else []
    lines = chain(head, comparison_lines(result, everything), remark)
    return Result("compare", data, verdict_lines(lines), equal if result.equal else output.FOUND)


# -- two programs ----------------------------------------------------------------------------------------------------

_SHOWN = 12  # lines of a difference


def _program_lines(found: ModuleDiff) -> Iterator[str]:
    """`equal: 3 functions with the same names, structurally the same program`, or where the first difference is."""
    if found.is_empty:
        count = len(found.functions)
        yield f"equal: {counted(count, 'function')} with the same names, structurally the same program"
        return
    yield f"the programs differ: {stat_line(found)}"
    shown = list(lines(found))
    yield from [f"  {line.mark} {visible(line.text, 200)}" for line in shown[:_SHOWN]]
    if len(shown) > _SHOWN:
        yield f"  and {counted(len(shown) - _SHOWN, 'more line')}"


def bisected(found: Bisection, name: str, test: str, has_passes: bool, equal: int) -> Result:
    """The first failing stage, the passes to leave out and the wrong binding. `equal` is the status if there is none."""
    return Result(
        "bisect",
        lambda: {"input": name, "test": test, **_bisection_data(found)},
        verdict_lines(
            chain([f"{visible(name, 200)}: test {visible(test, 200)}"], bisection_lines(found, has_passes))
        ),
        output.FOUND if found.failed is not None else output.CANNOT if found.unknown else equal,
    )


def _bisection_data(found: Bisection) -> dict[str, Any]:
    failed = found.failed
    verdict = found.comparison.first if found.comparison is not None else None
    out = found.left_out
    return {
        "holds": failed is None and not found.unknown,
        "first_bad": None if failed is None else asdict(failed),
        "attempts": [asdict(attempt) for attempt in found.attempts],
        "leave_out": None
        if out is None
        else {
            "passes": [{"number": n + 1, "pass": name} for n, name in out.passes],
            "smallest": out.smallest,
        },
        "first_nan": None if found.place is None else asdict(found.place),
        "verdict": None if verdict is None else asdict(verdict),
        "not_run": list(found.not_run),
    }


def validated(
    rows: Sequence[Row], first: str, samples: Sequence[str], not_run: Sequence[str], equal: int
) -> Result:
    """A table: one row for each stage, one column for each sample. `equal` is the status if no stage differs."""
    remark = [Remark(NOTHING_COMPARED)] if nothing_compared(rows) else []
    return Result(
        "validate",
        lambda: {
            "first": first,
            "samples": samples,
            "stages": [{**asdict(row), "equal": row.equal and not row.unknown} for row in rows],
            "not_run": not_run,
        },
        verdict_lines(
            chain([f"against {visible(first, 200)}"], validation_lines(rows, samples, not_run), remark)
        ),
        equal if all(row.equal for row in rows) else output.FOUND,
    )
