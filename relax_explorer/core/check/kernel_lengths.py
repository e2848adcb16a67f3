"""Warnings about lengths of PrimFuncs that no dimension of a buffer has alone, so that TVM cannot find their values."""

from __future__ import annotations

from collections.abc import Iterator

from relax_explorer.core.arith.multiples import bind_multiples
from relax_explorer.core.codes import tir as codes
from relax_explorer.core.diagnostics import Diagnostic, Label
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.tir.stmt import Buffer, PrimFunc

_TEXTS: PerNode[list[str]] = PerNode()


def violations(module: IRModule) -> Iterator[Diagnostic]:
    """A warning for each such variable of each PrimFunc."""
    for fn in module.functions.values():
        if type(fn) is PrimFunc:
            for text in _TEXTS.of(fn, _texts):
                yield Diagnostic(
                    codes.LENGTH_NOT_ALONE, text, (Label(fn, "", True),), help=codes.LENGTH_NOT_ALONE.fix
                )


def _texts(fn: PrimFunc) -> list[str]:
    dims = [dim for param in fn.params if isinstance(param, Buffer) for dim in param.shape]
    values: dict[p.PrimVar, p.PrimExpr] = {
        dim: dim for dim in (*dims, *fn.params) if isinstance(dim, p.PrimVar)
    }
    alone = set(values)
    told = bind_multiples([(dim, p.PrimVar("length", dim.dtype)) for dim in dims], values)
    by_variable: dict[p.PrimVar, p.PrimExpr] = {}
    for dim, _ in told:
        for var in p.free_vars(dim):
            by_variable.setdefault(var, dim)
    texts = []
    for var in p.free_vars(*dims):
        place = next(dim for dim in dims if var in p.free_vars(dim))
        if var not in values:
            texts.append(f"the dimension {place} does not tell {var.name}, and no other one does")
        elif var not in alone:
            texts.append(
                f"{var.name} is no dimension by itself: {by_variable[var]} tells it here, but TVM compiles no such PrimFunc"
            )
    return texts
