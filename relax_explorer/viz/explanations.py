"""The pages of codes, operators, passes, StructInfo and the words of the language. They are generated from the declarations."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from relax_explorer.core import ops, passes
from relax_explorer.core.check.other_names import OTHER_NAMES
from relax_explorer.core.codes import CODES
from relax_explorer.core.diagnostics import Code as ProblemCode
from relax_explorer.core.diagnostics import Failure, Severity
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ops.kit import page
from relax_explorer.core.ops.kit.decl import Op, Parameter
from relax_explorer.core.passes import phase_table
from relax_explorer.core.passes.contract import Pass
from relax_explorer.core.passes.examples import changed_text, example
from relax_explorer.core.passes.pass_order import required_passes
from relax_explorer.core.phases.phases import PHASES
from relax_explorer.core.session.command import either
from relax_explorer.viz.page_parts import Code, Columns, Facts, Items, Page, Part, Prose
from relax_explorer.viz.words import BY_NAME, WORDS, Word, folded

NOTATION = "f32[n,4] is a tensor of dtype and lengths, f32[?,?] one of unknown lengths, (n,4) a shape or tuple, 2 a scalar"
INFOS: dict[str, type] = {
    "Tensor": s.TensorStructInfo,
    "Shape": s.ShapeStructInfo,
    "Tuple": s.TupleStructInfo,
    "Callable": s.FuncStructInfo,
    "Prim": s.PrimStructInfo,
    "Object": s.ObjectStructInfo,
    "Any": s.ObjectStructInfo,
}


def page_of(subject: str) -> str:
    """The page of a subject as text. Raises KeyError with similar names, or with what mentions the word, if nothing is called so."""
    return explained(subject).plain()


def explained(subject: str) -> Page:
    """The page of a code, an operator, a pass, a StructInfo, a word, a pipeline, a phase or a property. Raises KeyError as `page_of`."""
    found = _page(subject) or _page(_meant(subject))
    if found is not None:
        return found
    near, mentioning = _near(subject), _mentioning(subject)
    hint = f"; did you mean {either(near)}?" if near else ""
    if mentioning and not near:
        hint = f"; it stands in the pages of {', '.join(mentioning)}"
    raise KeyError(f"nothing is called {subject!r}{hint}")


def subjects(beginning: str) -> list[str]:
    """The names of pages that begin so."""
    return [name for name in dict.fromkeys(name for name, _ in named()) if name.startswith(beginning)]


def named() -> Iterator[tuple[str, str]]:
    """Every name that has a page, with its kind."""
    yield from [(name, "pass") for name in passes.names()]
    yield from [(name.removeprefix("relax."), "operator") for name in ops.names()]
    yield from [(name, "StructInfo") for name in INFOS]
    yield from [(word.name, "word") for word in WORDS]
    yield from [(name, "pipeline") for name in passes.PIPELINES]
    yield from [(str(name), "phase") for name in PHASES]
    yield from [(row.of.name, "property") for row in phase_table.properties()]
    yield from [(name, "code") for name in CODES]


# -- finding ----------------------------------------------------------------------------------------------------------

_ALIKE = 0.8  # of the letters; below it, neighbours are strangers


def _meant(subject: str) -> str:
    """The only name that is `subject` in other letters (`fuseops`), or behind its group (`conv2d`); empty if there is none."""
    asked = folded(subject)
    same = {name for name, _ in named() if asked == folded(name)}
    behind = {name for name in ops.names() if asked and asked == folded(name.rpartition(".")[2])}
    found = same or behind
    return found.pop() if len(found) == 1 else ""


def _near(subject: str) -> list[str]:
    """At most three names that are written alike, the nearest first; or that end alike (`nn.conv1d`, `grad.conv1d`)."""
    asked = folded(subject)
    if asked in OTHER_NAMES:
        return [OTHER_NAMES[asked]]
    rated = []
    for name, _ in named():
        for form in {folded(name), folded(name.rpartition(".")[2])}:
            starts = min(len(form), len(asked)) >= 4 and (form.startswith(asked) or asked.startswith(form))
            alike = SequenceMatcher(None, asked, form).ratio() if asked and form else 0.0
            if starts or alike >= _ALIKE:
                rated.append((-alike, name))
    return list(dict.fromkeys([name for _, name in sorted(rated)]))[:3]


def _mentioning(subject: str) -> list[str]:
    """At most five operators and passes whose sentence has the word."""
    if len(subject) < 4:
        return []
    word = re.compile(rf"\b{re.escape(subject)}", re.IGNORECASE)
    operators = [(name.removeprefix("relax."), page.sentence(op)) for name, op in ops.table().items()]
    told = [(name, of.doc) for name, of in passes.table().items()]
    return [name for name, text in (*operators, *told) if word.search(text)][:5]


def _page(subject: str) -> Page | None:
    code = CODES.get(subject.upper())
    if code is not None:
        return of_code(code)
    name = subject.removeprefix("R.")
    op = ops.find(name) or ops.find(f"relax.{name}")
    if op is not None:
        return of_operator(op)
    if subject in passes.names() or subject in passes.ALIASES:
        return of_pass(passes.get(subject))
    if name in INFOS:
        return Page(f"R.{name}", [Prose(inspect.getdoc(INFOS[name]) or ""), _leading_to("StructInfo")])
    word = BY_NAME.get(folded(subject))
    return _of_order(subject) or (None if word is None else of_word(word))


_MANY = 12  # passes that a list names


# -- pages ------------------------------------------------------------------------------------------------------------


def of_word(word: Word) -> Page:
    """The page of a word of the language."""
    parts: list[Part] = [Prose(word.text)]
    if word.example:
        parts.append(Code("Example", word.example))
    parts += [_leading_to(*word.see)] if word.see else []
    return Page(word.title, parts)


def _leading_to(*names: str) -> Prose:
    return Prose(f"See also: {', '.join(names)}.")


def _of_order(subject: str) -> Page | None:
    """The page of a pipeline, a phase or a property."""
    if subject in passes.PIPELINES:
        steps = passes.PIPELINES[subject]
        rows = [(name, _first_line(passes.get(name))) for name in steps]
        return Page(f"{subject}: a pipeline of {len(steps)} passes", [Columns("Passes, in order", rows)])
    if subject in PHASES:
        needed = PHASES[subject]
        rows = [(q.name, q.meaning) for q in needed]
        text = Prose("Phases follow from the program: a module is in the last one whose properties all hold.")
        return Page(f"{subject}: a phase", [text, *([Columns("Properties", rows)] if rows else [])])
    row = next((row for row in phase_table.properties() if row.of.name == subject), None)
    return None if row is None else _of_property(row)


def _of_property(row: phase_table.PropertyRow) -> Page:
    listed = (
        ("Established by", row.makers),
        ("Needed by", row.needed_by),
        ("Required by", row.required_by),
        ("Invalidated by", row.broken_by),
    )
    parts = [Items(title, [_named(names)]) for title, names in listed if names]
    return Page(f"{row.of.name}: a property of modules", [Prose(row.of.meaning), *parts])


def _named(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= _MANY else "nearly every pass"


def _first_line(of: Pass) -> str:
    return of.doc.splitlines()[0]


def of_code(code: ProblemCode) -> Page:
    """The page of a kind of problem."""
    parts: list[Part] = [Prose(code.why), Prose(f"What to do: {code.fix}")]
    if code.example.strip():
        parts.append(Code("Example", code.example))
    return Page(f"{code.id} ({code.severity}): {code.title}", parts)


def of_operator(op: type[Op]) -> Page:
    """The page of an operator."""
    parts: list[Part] = [Prose("\n\n".join(filter(None, (page.sentence(op), page.details(op)))))]
    if op.operands or op.variadic:
        rows = [_row(q) for q in op.operands]
        if op.variadic:
            rows.append(("*args", "any values", "", "as many more operands as there are"))
        parts.append(Columns("Operands", rows))
    if op.attributes:
        parts.append(Columns("Attributes", [_row(q) for q in op.attributes]))
    if page.inference(op):
        parts.append(Items("Result", [page.inference(op)]))
    if op.examples:
        parts.append(Items("Examples", op.examples, NOTATION))
    found = page.errors(op)
    for title, warned in (("A call may be refused with", False), ("A call may get a warning", True)):
        listed = [f"{q.id}  {q.title}" for q in found if (q.severity is Severity.WARNING) is warned]
        parts += [Items(title, listed)] if listed else []
    return Page(op.signature(), [*parts, Facts(_facts(op))])


def _facts(op: type[Op]) -> list[str]:
    facts = [
        page.evaluation(op),
        page.lowering(op),
        f"fusion, {page.fusion(op)}",
        page.purity(op),
        page.memory(op),
        page.stops(op),
    ]
    facts += [f"defined by {page.source(op)}"] if page.source(op) else []
    return [*facts, f"declared in {page.place(op)}"]


def _row(q: Parameter) -> tuple[str, str, str, str]:
    """One table row of a parameter: name, kind, unit and default, description."""
    default = page.default_words(q)
    parts = [q.unit if q.unit not in ("", "1") else "", f"default {default}" if default else ""]
    return (
        q.name,
        page.kind_words(q),
        ", ".join(filter(None, parts)).replace("default left out", "may be left out"),
        q.doc,
    )


def of_pass(pass_: Pass) -> Page:
    """The page of a pass."""
    parts: list[Part] = [Prose(pass_.doc)]
    if pass_.options:
        parts.append(
            Columns("Options", [(f"{o.name}: {o.kind} = {o.default!r}", o.doc) for o in pass_.options])
        )
    for title, listed in (
        ("Requires", pass_.requires),
        ("Establishes", pass_.establishes),
        ("Invalidates", pass_.invalidates),
    ):
        if listed:
            parts.append(Items(title, [f"{q.name}: {q.meaning}" for q in listed]))
    if pass_.reads:
        parts.append(Items("Reads", [reading.name for reading in pass_.reads]))
    if earlier := required_passes(pass_):
        parts.append(Items("Passes that run before it", [" or ".join(names) for names in earlier]))
    return Page(pass_.name, [*parts, *_example(pass_)])


def _example(pass_: Pass) -> Sequence[Part]:
    """The example of a pass. A third party's may be wrong: then the reason takes its place."""
    shown = example(pass_)
    if shown is None:
        return []
    title = f"Example of {shown.step}" if shown.step.options else "Example"
    try:
        before = shown.before
        after = shown.after(before)
    except Failure as failure:
        return [
            Prose(
                f"{title}: it fails with {failure.diagnostics[0].code.id}, {failure.diagnostics[0].message}"
            )
        ]
    return [
        Code(f"{title}, before", changed_text(before, after).strip()),
        Code("After", changed_text(after, before).strip()),
    ]
