"""What an editor offers to change at a place: the fix of a problem, written types, normal form, kernels instead of operators."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from relax_explorer.core import ops
from relax_explorer.core.diagnostics import Diagnostic, Edit, Failure
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.facts import facts
from relax_explorer.core.ir.walk import info_holders
from relax_explorer.ui.editor.applied_passes import legalized, normalized_function
from relax_explorer.ui.editor.document import Position, Range, TextEdit, range_of
from relax_explorer.ui.editor.hover_text import operator_at
from relax_explorer.ui.editor.occurrences import FUNCTION
from relax_explorer.ui.editor.overview import is_untyped
from relax_explorer.ui.editor.regions import Definition, Region

QUICK, REWRITE = "quickfix", "refactor.rewrite"


@dataclass(frozen=True, slots=True)
class Action:
    """A change that is offered: its title, its kind, what it changes (asked for when it is chosen), and the problem that it solves."""

    title: str
    kind: str
    edits: Callable[[], list[TextEdit]]
    problem: Diagnostic | None = None


def actions(region: Region, place: Range) -> list[Action]:
    """What is offered at a place of a program."""
    return [*_fixes(region, place), *_annotations(region, place), *_rewrites(region, place)]


def _fixes(region: Region, place: Range) -> Iterator[Action]:
    for problem in region.problems:
        if problem.edits and problem.span is not None and range_of(problem.span).meets(place):
            yield Action(problem.help or f"Fix {problem.code}", QUICK, partial(_fixed, problem), problem)


def _fixed(problem: Diagnostic) -> list[TextEdit]:
    return [TextEdit(range_of(edit.span), _with_margin(edit)) for edit in problem.edits]


def _with_margin(edit: Edit) -> str:
    """The text of an edit, with the margin that was cut off its place in front of each line that it adds."""
    return edit.text.replace("\n", f"\n{' ' * edit.span.source.margin(edit.span.line)}")


def _annotations(region: Region, place: Range) -> Iterator[Action]:
    lines = range(place.start.line, place.end.line + 1)
    here = [item for line in lines for item in region.by_line.get(line, ()) if _may_write(item)]
    for item in here[:1]:
        title = (
            f"Write the StructInfo of {item.name}"
            if len(here) == 1
            else "Write the StructInfo of these bindings"
        )
        yield Action(title, REWRITE, partial(_annotated, here))
    fn = region.names.function_at(place.start.line)
    if fn is not None and not fn.outer and fn.kind == FUNCTION:
        every = [
            item for item in region.definitions.values() if item.function == fn.name and _may_write(item)
        ]
        if len(every) > max(1, len(here)):
            yield Action(
                f"Write the StructInfo of all bindings of {fn.name}", REWRITE, partial(_annotated, every)
            )


def _may_write(item: Definition) -> bool:
    return item.info is not None and is_untyped(item) and not info_holders(item.info)


def _annotated(items: list[Definition]) -> list[TextEdit]:
    return [
        TextEdit(Range(item.place.end, item.place.end), f": {item.info}")
        for item in sorted(items, key=_place)
    ]


def _place(item: Definition) -> Position:
    return item.place.start


def _rewrites(region: Region, place: Range) -> Iterator[Action]:
    """Changes by passes, for a program without errors in a class."""
    if region.module is None or any(item.is_error for item in region.problems) or not region.names.class_name:
        return
    fn = region.names.function_at(place.start.line)
    while fn is not None and fn.outer:
        fn = next((item for item in region.names.functions if item.name == fn.outer.rpartition(".")[2]), None)
    if fn is None or fn.kind != FUNCTION:
        return
    named = operator_at(region, place.start)
    op = ops.find(f"relax.{named[0]}") if named is not None else None
    if named is not None and op is not None and op.is_lowered():
        yield Action(f"Replace R.{named[0]} by kernels", REWRITE, partial(legalized, region, named[0]))
    if place.start.line <= fn.place.start.line and _has_operators(region, fn.name):
        yield Action("Replace all operators by kernels (LegalizeOps)", REWRITE, partial(legalized, region))
    if _adds_bindings(region, fn.name):
        yield Action(f"Write {fn.name} in normal form", REWRITE, partial(normalized_function, region, fn))


def _has_operators(region: Region, name: str) -> bool:
    """True if a function calls an operator that becomes a kernel."""
    fn = region.module.relax_functions.get(name) if region.module is not None else None
    values = [binding.value for binding in facts(fn).bindings] if fn is not None else []
    called = {value.op.name for value in values if type(value) is e.Call and type(value.op) is e.OpRef}
    return any((op := ops.find(name)) is not None and op.is_lowered() for name in called)


def _adds_bindings(region: Region, name: str) -> bool:
    """True if the normal form of a function has bindings that its text has not."""
    fn = region.module.relax_functions.get(name) if region.module is not None else None
    own = sum(item.function == name and item.binding is not None for item in region.definitions.values())
    return fn is not None and len(facts(fn).bindings) > own


def edits_of(action: Action) -> list[TextEdit] | Diagnostic | None:
    """The edits of a chosen action, or why there are none."""
    try:
        return action.edits()
    except Failure as failure:
        return failure.diagnostics[0] if failure.diagnostics else None
