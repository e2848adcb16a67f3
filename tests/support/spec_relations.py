"""Names for the chapter about type relations."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

from relax_explorer.core import ops
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.ir.dtype import dtype
from relax_explorer.core.ir.prim import PrimExpr, as_prim
from relax_explorer.core.ir.struct_info import TensorStructInfo
from relax_explorer.core.ops.kit.decl import InferFailure, Site
from relax_explorer.core.relations import adapt, inference, library, relay_types, solver, text

REL = SimpleNamespace(
    **{
        name: value
        for room in (relay_types, library, relay_types, text, solver, inference, adapt)
        for name, value in vars(room).items()
        if not name.startswith("_")
    }
)


def relay(source: str) -> Any:
    """The types of a program as texts; the code of the problem if the text is no program."""
    try:
        typed = inference.infer_relay(source)
    except Failure as failure:
        return failure.diagnostics[0].code.id
    problems = list(typed.report)
    return SimpleNamespace(
        typed=typed,
        types={name: str(part) for name, part in typed.types.items()},
        functions={name: str(part) for name, part in typed.functions.items()},
        main=str(typed.main),
        status=typed.status.value,
        codes=[item.code.id for item in problems],
        messages=[item.message for item in problems],
        spans=[
            (item.span.line, item.span.column, item.span.text) for item in problems if item.span is not None
        ],
    )


def relate(name: str, *parts: str, **attrs: Any) -> Any:
    """The outcome of one relation and its last type after it; the reason if it fails."""
    one = solver.Solver()
    given = tuple([text.read_type(part) for part in parts])
    item = one.add(relay_types.TypeRelation(name, library.RELATIONS[name], given, tuple(attrs.items())))
    one.run()
    if item.outcome is solver.Outcome.FAILS:
        return item.reason
    return item.outcome.value, str(one.resolved(given[-1]))


def rxe_info(dims: tuple[PrimExpr | int, ...], element: str) -> TensorStructInfo:
    """The StructInfo of a tensor with these dimensions."""
    return TensorStructInfo(tuple(map(as_prim, dims)), dtype(element), len(dims))


NAMES = {
    "rel": REL,
    "relay": relay,
    "relate": relate,
    "rxe_info": rxe_info,
    "ops": ops,
    "re": re,
    "Failure": Failure,
    "Site": Site,
    "InferFailure": InferFailure,
}
