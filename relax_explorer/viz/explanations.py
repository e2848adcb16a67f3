"""The pages of codes, operators, passes and StructInfo. They are generated from the declarations."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from difflib import get_close_matches

from relax_explorer.core import ops, passes
from relax_explorer.core.codes import CODES
from relax_explorer.core.diagnostics import Code, Failure, Severity
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ops.kit import page
from relax_explorer.core.ops.kit.decl import Op, Parameter
from relax_explorer.core.passes.contract import Pass
from relax_explorer.core.passes.examples import changed_text, example
from relax_explorer.core.passes.pass_order import required_passes

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
    """The page of a code, an operator, a pass or a StructInfo, by name. Raises KeyError with similar names if nothing is called so."""
    text = _page(subject)
    if text is not None:
        return text
    known = [*CODES, *ops.names(), *_short_names(), *passes.names(), *INFOS]
    near = get_close_matches(subject, known, 3, 0.5)
    raise KeyError(f"nothing is called {subject!r}{f'; did you mean {_either(near)}?' if near else ''}")


def subjects(beginning: str) -> list[str]:
    """The names of pages that begin so."""
    return [name for name in (*passes.names(), *_short_names(), *INFOS, *CODES) if name.startswith(beginning)]


def _short_names() -> list[str]:
    return [name.removeprefix("relax.") for name in ops.names()]


def _either(names: Sequence[str]) -> str:
    return " or ".join(names)


def _page(subject: str) -> str | None:
    code = CODES.get(subject.upper())
    if code is not None:
        return _code(code)
    name = subject.removeprefix("R.")
    op = ops.find(name) or ops.find(f"relax.{name}")
    if op is not None:
        return _op(op)
    if subject in passes.names() or subject in passes.ALIASES:
        return _pass(passes.get(subject))
    info = INFOS.get(name)
    return None if info is None else f"R.{name}\n\n{inspect.getdoc(info)}"


def _code(code: Code) -> str:
    parts = [f"{code.id} ({code.severity}): {code.title}", code.why, f"What to do: {code.fix}"]
    if code.example.strip():
        parts.append("Example:\n\n" + "\n".join(f"    {line}" for line in code.example.rstrip().splitlines()))
    return "\n\n".join(parts)


def _op(op: type[Op]) -> str:
    parts = [op.signature(), "\n\n".join(filter(None, (page.sentence(op), page.details(op))))]
    if op.operands or op.variadic:
        rows = [_row(q) for q in op.operands]
        if op.variadic:
            rows.append(("*args", "any values", "", "as many more operands as there are"))
        parts.append(_table("Operands", rows))
    if op.attributes:
        parts.append(_table("Attributes", [_row(q) for q in op.attributes]))
    if page.inference(op):
        parts.append(f"Result:\n  {page.inference(op)}")
    if op.examples:
        parts.append(
            "Examples:\n" + "\n".join(f"  {example}" for example in op.examples) + f"\n\n  {NOTATION}"
        )
    found = page.errors(op)
    for title, warned in (("A call may be refused with", False), ("A call may get a warning", True)):
        listed = [f"  {q.id}  {q.title}" for q in found if (q.severity is Severity.WARNING) is warned]
        parts += [f"{title}:\n" + "\n".join(listed)] if listed else []
    facts = [
        page.evaluation(op),
        page.lowering(op),
        f"fusion, {page.fusion(op)}",
        page.purity(op),
        page.memory(op),
        page.stops(op),
    ]
    facts += [f"defined by {page.source(op)}"] if page.source(op) else []
    facts.append(f"declared in {page.place(op)}")
    return "\n\n".join([*parts, "\n".join(f"* {fact}" for fact in facts)])


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


def _table(title: str, rows: Sequence[tuple[str, ...]]) -> str:
    """Rows in columns. The last column is not padded; empty columns are omitted."""
    kept = [n for n in range(len(rows[0])) if any(row[n] for row in rows)]
    widths = {n: max(len(row[n]) for row in rows) for n in kept}
    lines = ["  ".join(row[n].ljust(widths[n]) for n in kept).rstrip() for row in rows]
    return f"{title}:\n" + "\n".join(f"  {line}" for line in lines)


def _pass(pass_: Pass) -> str:
    parts = [pass_.name, pass_.doc]
    if pass_.options:
        parts.append(
            _table("Options", [(f"{o.name}: {o.kind} = {o.default!r}", o.doc) for o in pass_.options])
        )
    for title, listed in (
        ("Requires", pass_.requires),
        ("Establishes", pass_.establishes),
        ("Invalidates", pass_.invalidates),
    ):
        if listed:
            parts.append(f"{title}:\n" + "\n".join(f"  {q.name}: {q.meaning}" for q in listed))
    if pass_.reads:
        parts.append("Reads:\n" + "\n".join(f"  {reading.name}" for reading in pass_.reads))
    if earlier := required_passes(pass_):
        parts.append(
            "Passes that run before it:\n" + "\n".join(f"  {' or '.join(names)}" for names in earlier)
        )
    parts += _example(pass_)
    return "\n\n".join(parts)


def _example(pass_: Pass) -> list[str]:
    """The example of a pass. A third party's may be wrong: then the reason takes its place."""
    shown = example(pass_)
    if shown is None:
        return []
    title = f"Example of {shown.step}" if shown.step.options else "Example"
    try:
        before = shown.before
        after = shown.after(before)
    except Failure as failure:
        return [f"{title}: it fails with {failure.diagnostics[0].code.id}, {failure.diagnostics[0].message}"]
    return [
        *(f"{title}, before:", _code_lines(changed_text(before, after))),
        *("After:", _code_lines(changed_text(after, before))),
    ]


def _code_lines(text: str) -> str:
    """Lines of a program, indented so that they are not joined to paragraphs."""
    return "\n".join([f"    {line}".rstrip() for line in text.strip().splitlines()])
