"""Lists of passes and operators."""

from __future__ import annotations

import click

from relax_explorer.core import ops, passes
from relax_explorer.core.ir.module import IRModule
from relax_explorer.core.ops.decl import Op
from relax_explorer.core.passes.decl import Pass
from relax_explorer.core.passes.pipeline import Step, normalized, run_step
from relax_explorer.ui.cli import output


def print_passes(module: IRModule | None, style: str) -> None:
    """Print every pass with its sentence; with a module, only those that would change it."""
    shown = list(passes.table().values())
    if module is not None:
        normal = normalized(module)[0]
        shown = [item for item in shown if run_step(Step(item), normal, False).changed]
    if style == "json":
        click.echo(
            output.document(
                "passes", {"passes": [_pass_row(item) for item in shown], "pipelines": dict(passes.PIPELINES)}
            )
        )
        return
    for item in shown:
        click.echo(f"{item.name:<24} {item.doc.splitlines()[0]}")
    if module is None:
        click.echo("\nPipelines:")
        for name, parts in passes.PIPELINES.items():
            click.echo(f"{name:<24} {','.join(parts)}")


def _pass_row(item: Pass) -> dict[str, object]:
    return {
        "name": item.name,
        "doc": item.doc.splitlines()[0],
        "options": [{"name": o.name, "type": o.kind, "default": o.default} for o in item.options],
        "requires": [q.name for q in item.requires],
        "establishes": [q.name for q in item.establishes],
        "invalidates": [q.name for q in item.invalidates],
    }


def print_ops(style: str) -> None:
    """Print every operator with the parts that it has: inference, evaluation, lowering."""
    if style == "json":
        click.echo(output.document("ops", {"operators": [_op_row(op) for op in ops.table().values()]}))
        return
    for op in ops.table().values():
        parts = f"{'e' if op.evaluate else '-'}{'l' if op.legalize else '-'}{'p' if op.pure else '!'}"
        click.echo(f"{op.name.removeprefix('relax.'):<28} {parts}  {(op.__doc__ or '').splitlines()[0]}")
    click.echo("\ne: evaluates, l: has a lowering, !: has side effects", err=True)


def _op_row(op: type[Op]) -> dict[str, object]:
    return {
        "name": op.name,
        "signature": op.signature(),
        "doc": (op.__doc__ or "").splitlines()[0],
        "evaluate": op.evaluate is not None or op.no_evaluate,
        "legalize": op.is_lowered() or op.no_legalize,
        "pure": op.pure,
        "fusion": op.fusion.name.lower(),
    }
