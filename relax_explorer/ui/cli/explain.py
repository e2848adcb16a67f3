"""`explain`: the page of a code, an operator, a pass, or a StructInfo, made from its declaration."""

from __future__ import annotations

import inspect
from difflib import get_close_matches

import click

from relax_explorer.core import ops, passes
from relax_explorer.core.codes import CODES
from relax_explorer.core.diagnostics import Code
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ops.decl import Op
from relax_explorer.core.passes.decl import Pass
from relax_explorer.ui.cli import output

_INFOS: dict[str, type] = {
    "Tensor": s.TensorStructInfo,
    "Shape": s.ShapeStructInfo,
    "Tuple": s.TupleStructInfo,
    "Callable": s.FuncStructInfo,
    "Prim": s.PrimStructInfo,
    "Object": s.ObjectStructInfo,
    "Any": s.ObjectStructInfo,
}


def explain(subject: str) -> int:
    """Print the page of `subject`; near names when there is none."""
    page = _page(subject)
    if page is None:
        known = [
            *CODES,
            *ops.names(),
            *[name.removeprefix("relax.") for name in ops.names()],
            *passes.names(),
            *_INFOS,
        ]
        near = get_close_matches(subject, known, 3, 0.5)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise click.UsageError(f"nothing is called {subject!r}{hint}")
    click.echo(page)
    return output.OK


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
    info = _INFOS.get(name)
    return None if info is None else f"R.{name}\n\n{inspect.getdoc(info)}"


def _code(code: Code) -> str:
    parts = [f"{code.id} ({code.severity}): {code.title}", code.why, f"What to do: {code.fix}"]
    if code.example.strip():
        parts.append("Example:\n\n" + "\n".join(f"    {line}" for line in code.example.rstrip().splitlines()))
    return "\n\n".join(parts)


def _op(op: type[Op]) -> str:
    parts = [op.signature(), inspect.getdoc(op) or ""]
    for title, parameters in (("Operands", op.operands), ("Attributes", op.attributes)):
        if parameters:
            rows = [
                f"  {q.name}: {q.kind}{'' if q.required else f' = {q.default!r}'}{f' [{q.unit}]' if q.unit else ''} — {q.doc}"
                for q in parameters
            ]
            parts.append(f"{title}:\n" + "\n".join(rows))
    if op.examples:
        parts.append("Examples:\n" + "\n".join(f"  {example}" for example in op.examples))
    facts = ["pure" if op.pure else "has side effects", f"fusion: {op.fusion.name.lower().replace('_', '-')}"]
    facts.append(
        "evaluates here"
        if op.evaluate is not None
        else f"no evaluation of its own: {op.no_evaluate or 'run by the machine'}"
    )
    facts.append(
        "has a lowering"
        if op.is_lowered()
        else f"no lowering: {op.no_legalize or 'not an operator on tensors'}"
    )
    return "\n\n".join([*parts, "; ".join(facts)])


def _pass(item: Pass) -> str:
    parts = [item.name, item.doc]
    if item.options:
        parts.append("Options:\n" + "\n".join(f"  {o.name}: {o.kind} = {o.default!r}" for o in item.options))
    for title, listed in (
        ("Requires", item.requires),
        ("Establishes", item.establishes),
        ("Invalidates", item.invalidates),
    ):
        if listed:
            parts.append(f"{title}:\n" + "\n".join(f"  {q.name}: {q.meaning}" for q in listed))
    return "\n\n".join(parts)
