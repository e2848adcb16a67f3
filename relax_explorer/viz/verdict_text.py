"""Comparisons, bisections and validations as text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, takewhile

from relax_explorer.core.session.bisect import Attempt, Bisection
from relax_explorer.core.session.compare import Comparison, Pairing, Verdict
from relax_explorer.core.session.difference import Delta
from relax_explorer.core.session.validate import Cell, Row
from relax_explorer.core.session.verdict import Decider, Judgement
from relax_explorer.viz.pair_table import (
    deciders_text,
    distance_lines,
    distance_text,
    judgement_text,
    judgement_word,
    pair_names,
    pair_state,
    verdict_word,
)
from relax_explorer.viz.visible import counted, fit, visible

_WIDTH = 80
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def comparison_lines(result: Comparison, everything: bool = False) -> Iterator[str]:
    """A comparison, sample by sample; the pairs of values if `everything` is wanted."""
    yield f"A {visible(result.a, 200)}\nB {visible(result.b, 200)}\nfunction {result.function}"
    for number, verdict in enumerate(result.verdicts):
        yield f"sample {number + 1} of {len(result.verdicts)} ({visible(verdict.sample, 200)}): {verdict_word(verdict)}"
        for name, apart in verdict.results:
            yield f"  {visible(name, 60)}: {_result_text(verdict, apart)}"
        yield from _judgement_line(verdict)
        yield from [_pair_line(pair) for pair in verdict.pairs if everything]
        if verdict is result.first:
            yield from _first_lines(verdict)
        if verdict.unkept:
            yield f"  {verdict.unkept} values were beyond the memory limit and are not compared"
    yield from _bound_lines(result.verdicts)


def _result_text(verdict: Verdict, apart: Delta) -> str:
    """The distance of a result. One that is out of the bound is no difference if rounding explains it."""
    text = distance_text(apart)
    word = judgement_word(verdict.judgement, apart.equal) if verdict.equal else ""
    return text.replace("DIFFERENT", word, 1) if word else text


def _judgement_line(verdict: Verdict) -> Iterator[str]:
    out = [apart for _, apart in verdict.results if not apart.equal]
    text = judgement_text(verdict.judgement, max(out, key=_count, default=None)) if verdict.judgement else ""
    if text and verdict.judgement is not None and verdict.judgement.by is not Decider.GIVEN:
        yield f"  {text}"


def _count(apart: Delta) -> int:
    return apart.count


def _first_lines(verdict: Verdict) -> Iterator[str]:
    """The first binding where the values part, with its operands."""
    for letter, message in zip("AB", verdict.stopped, strict=True):
        if message:
            yield f"  {letter} stops: {visible(message, 300)}"
    first = verdict.first
    if first is None:
        yield "  no binding is known where the values part"
        return
    side = first.b or first.a
    assert side is not None  # a pair has at least one side
    where = f" of {side.function}" if side.function else ""
    call = f", in {visible(verdict.call, 200)}" if verdict.call else ""
    yield f"  first difference: {visible(side.name, 100)}{where}{call}"
    if first.row:
        yield f"    {first.row} is wrong; binding {side.place}{where} wrote it"
    for mark, item in (("A", first.a), ("B", first.b)):
        if item is not None and item.text:
            line = f"{item.line}: " if item.line else ""
            yield f"    {mark} {fit(f'{line}{visible(_shortened(item.text), 400)}', _WIDTH - 6)}"
    yield from [f"    {line}" for line in distance_lines(first)]
    yield from [_pair_line(operand, "    operand ") for operand in verdict.operands]
    if verdict.kernel:
        yield f"    the kernel {visible(side.operation, 100)} differs:"
    yield from [f"      {fit(visible(text, 400), 140)}" for text in verdict.kernel]
    for name in side.stale:
        yield f"    operand {visible(name, 100)} was overwritten before this binding reads it"


_PACKED = re.compile(r"= R\.call_(?:pure_|inplace_)?packed\(\"([\w.]+)\", ")


def _shortened(text: str) -> str:
    """A binding without what hides its operands: the annotation of an object, and the way in which a builtin is called."""
    return _PACKED.sub(
        lambda hit: f"= {hit[1].removeprefix('vm.builtin.')}(", text.replace(": R.Any = ", " = ")
    )


def _pair_line(pair: Pairing, indent: str = "  ") -> str:
    return f"{indent}{pair_names(pair)}: {pair_state(pair)}{f' [{pair.by}]' if pair.by else ''}"


def _bound_lines(verdicts: Sequence[Verdict]) -> Iterator[str]:
    deltas = [apart for verdict in verdicts for _, apart in verdict.results]
    deltas += [verdict.first.delta for verdict in verdicts if verdict.first and verdict.first.delta]
    yield from [f"bound: {bound}" for bound in dict.fromkeys(apart.bound for apart in deltas) if bound]


def bisection_lines(found: Bisection, has_passes: bool = True) -> Iterator[str]:
    """The stages that were tried, the first failing one, the passes to leave out and the wrong binding."""
    notes = _Notes()
    for attempt in found.attempts:
        yield _attempt(attempt, notes)
    yield from notes.lines
    for text, unknown in groupby(found.unknown, lambda attempt: attempt.unknown):
        yield f"{_stages([attempt.number for attempt in unknown])} can't be run here: {visible(text, 200)}"
    failed = found.failed
    if failed is None:
        yield outcome_text(found)
        yield from not_run_lines(found.not_run)
        return
    if len(found.attempts) == 1:
        yield "the test fails on the input already, before any pass"
        return
    verdict = found.comparison.first if found.comparison is not None else None
    where = f", in {visible(verdict.call, 200)}" if verdict is not None and verdict.call else ""
    yield f"first bad pass: {visible(failed.made_by, 100)} (stage {failed.number}){where}{_or_before(found)}"
    yield f"passes to leave out: {_left_out(found, has_passes)}"
    if found.place is not None:
        call = f", in call {found.place.call}" if found.place.call else ""
        yield f"first NaN: {visible(found.place.text or found.place.name, 300)}{call}"
    if found.comparison is not None and verdict is not None:
        yield f"A {visible(found.comparison.a, 200)}\nB {visible(found.comparison.b, 200)}"
        yield from _first_lines(verdict)
        yield from _judgement_line(verdict)
        yield from _bound_lines((verdict,))
    elif found.comparison is not None:
        yield "the stages before and after it agree within the tolerance: the error grew over several passes"


def outcome_text(found: Bisection) -> str:
    """What the test says of all stages, or the first bad pass, in a few words."""
    if found.failed is not None:
        return f"first bad pass: {found.failed.made_by} (stage {found.failed.number})"
    if not found.unknown:
        return "the test holds after every pass"
    known = len(found.attempts) - len(found.unknown)
    if not known:
        return "nothing is known about any stage"
    return f"the test holds for {known} of {counted(len(found.attempts), 'stage')}; nothing is known about the others"


def not_run_lines(names: Sequence[str], how: str = "--func runs one") -> Iterator[str]:
    """That some public functions did not run, and how one does; no line if all did."""
    if names:
        shown = f"{', '.join([visible(name, 60) for name in names[:5]])}{' …' * (len(names) > 5)}"
        yield f"{counted(len(names), 'function')} did not run ({how}): {shown}"


def _or_before(found: Bisection) -> str:
    """That a pass before the first bad one may be to blame, as the stages between could not be judged."""
    before = [item.number for item in takewhile(lambda item: item.unknown, found.attempts[-2::-1])]
    return f", or one before it: {_stages(before[::-1])} can't be judged" if before else ""


def _stages(numbers: Sequence[int]) -> str:
    """`stage 4` or `stages 4 to 9`."""
    return f"stage {numbers[0]}" if len(numbers) == 1 else f"stages {numbers[0]} to {numbers[-1]}"


def attempt_line(attempt: Attempt) -> str:
    """Whether a stage holds."""
    return _attempt(attempt, _Notes())


def _attempt(attempt: Attempt, notes: _Notes) -> str:
    return f"{attempt.number:3} {visible(attempt.made_by, 60)}: {_state(attempt, notes)}"


def _state(attempt: Attempt, notes: _Notes) -> str:
    """Whether a stage holds, with a note if more than the bound was asked."""
    judgement = attempt.judgement
    if attempt.reason:
        return f"FAILS, {visible(attempt.reason, 300)}{_decision(judgement)}"
    if attempt.unknown:
        return "not run here"
    text = "" if judgement is None else judgement_text(judgement, attempt.worst)
    word = judgement_word(judgement, attempt.worst is None)
    return " ".join(part for part in ("holds," if word else "holds", word, notes.mark(text)) if part)


def _decision(judgement: Judgement | None) -> str:
    """What decided that there is a fault: the end of a reason."""
    by_rounding = judgement is not None and judgement.by in (Decider.SHADOW, Decider.RANDOM)
    return f": {judgement_text(judgement)}" if judgement is not None and by_rounding else ""


class _Notes:
    """Notes below a table. Equal ones have one mark."""

    def __init__(self) -> None:
        self._marks: dict[str, str] = {}

    def mark(self, text: str) -> str:
        """The mark of a note; none for an empty one."""
        return self._marks.setdefault(text, str(len(self._marks) + 1).translate(_RAISED)) if text else ""

    @property
    def lines(self) -> list[str]:
        """The notes with their marks."""
        return [f"{mark} {text}" for text, mark in self._marks.items()]


def _left_out(found: Bisection, has_passes: bool) -> str:
    if not has_passes:
        return "unknown, the stages were made before"
    if found.left_out is None:
        return "no set makes the test hold"
    names = ", ".join(f"{visible(name, 100)} ({number + 1})" for number, name in found.left_out.passes)
    size = "the smallest set" if found.left_out.smallest else "none of them can be put back alone"
    return f"{names} ({size})"


def validation_lines(
    rows: Sequence[Row], samples: Sequence[str], not_run: Sequence[str] = ()
) -> Iterator[str]:
    """A table: one row for each stage, one column for each sample, with notes below."""
    for number, sample in enumerate(samples):
        yield f"sample {number + 1}: {visible(sample, 200)}"
    notes = _Notes()
    yield from _table(rows, len(samples), notes)
    for row in rows:
        stage = f"stage {row.number} {visible(row.made_by, 60)}"
        yield from [
            f"{stage} ({visible(cell.sample, 100)}): {cell.reason}{_why(cell)}"
            for cell in row.cells
            if cell.reason
        ]
    for text, unknown in groupby([row for row in rows if row.unknown], lambda row: row.unknown):
        yield f"{_stages([row.number for row in unknown])} can't be run here: {visible(text, 200)}"
    if not rows:
        yield "no pass changes the program"
        return
    if nothing_compared(rows):
        return
    right = [row for row in rows if row.equal and not row.unknown]
    yield f"{len(right)} of {len(rows)} stages give the results of the first"
    yield from not_run_lines(not_run)
    yield from notes.lines
    yield f"decided by: {deciders_text(cell.judgement for row in rows for cell in row.cells)}"
    for bound in dict.fromkeys(bound for row in rows for cell in row.cells for bound in cell.bounds):
        yield f"bound: {bound}"


def nothing_compared(rows: Sequence[Row]) -> bool:
    """True if every run of every stage stopped, as the first one does."""
    return bool(rows) and all(cell.stopped and cell.equal for row in rows for cell in row.cells)


def _table(rows: Sequence[Row], samples: int, notes: _Notes) -> Iterator[str]:
    width = min(max([len(row.made_by) for row in rows], default=0), 30)
    head = "".join(f"{f'sample {number + 1}':>14}" for number in range(samples))
    yield f"    {'stage':<{width}}{head}"
    for row in rows:
        cells = "".join(f"{_cell(cell, notes):>14}" for cell in row.cells)
        yield f"{row.number:3} {fit(visible(row.made_by, 60), 30):<{width}}{cells}"


def _why(cell: Cell) -> str:
    """Why a cell differs: the message of a stop, or what decided."""
    return f": {visible(cell.stopped, 200)}" if cell.stopped else _decision(cell.judgement)


def _cell(cell: Cell, notes: _Notes) -> str:
    """The text of a cell, with the mark of its note."""
    if not cell.equal:
        return "DIFFERENT"
    if cell.stopped:
        return "not run here" if cell.unknown else "both stop"
    word = judgement_word(cell.judgement, cell.worst is None) or f"{cell.max_abs:.2g}"
    text = judgement_text(cell.judgement, cell.worst) if cell.judgement is not None else ""
    return f"{word} {notes.mark(text)}".rstrip()
