"""The phase that a module claims (`rx.phase`) and the passes that it records (`rx.passes`): seed 001, about the order of phases."""

from __future__ import annotations

from relax_explorer.core.ops.kit.decl import PHASE_ORDER
from relax_explorer.core.program.module import IRModule

ATTRIBUTE = "rx.phase"
HISTORY = "rx.passes"


def recorded(module: IRModule) -> tuple[str, ...] | None:
    """The names of the passes that made the module; None if it records none."""
    names = module.attrs.get(HISTORY)
    return None if names is None else (names,) if isinstance(names, str) else tuple(names)


def claims_lowered(module: IRModule) -> bool:
    """True if the module claims phase `lowered` or a later one."""
    claim = module.attrs.get(ATTRIBUTE)
    return claim in PHASE_ORDER and PHASE_ORDER.index(claim) >= PHASE_ORDER.index("lowered")
