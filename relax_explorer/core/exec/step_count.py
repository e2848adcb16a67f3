"""How many steps a run will have, where the program alone decides it: no branch, no closure, no recursion."""

from __future__ import annotations

from relax_explorer.core.exec.plan import Instruction, plan
from relax_explorer.core.ir import expr as e
from relax_explorer.core.program.module import IRModule

_CHOOSES = frozenset({"branch", "jump", "closure"})
_CALLS_VALUES = ("invoke_closure", "invoke_pure_closure")  # their operand is a function that the run makes
_OPEN = -1  # a function that is being counted: it calls itself


def step_count(module: IRModule, name: str) -> int | None:
    """The steps of a call of a function up to its end; None if they depend on values."""
    inner = _steps(module, name, {})
    return None if inner is None else inner + 1  # the return


def _steps(module: IRModule, name: str, known: dict[str, int | None]) -> int | None:
    """The steps of a call without its return. Each function is counted once."""
    fn = module.functions.get(name)
    if type(fn) is not e.Function or known.get(name) == _OPEN:
        return None
    if name not in known:
        known[name] = _OPEN
        total: int | None = 0
        for at in plan(fn, name).code:
            own = _own(module, at, known)
            if own is None:
                total = None
                break
            total = (total or 0) + own
        known[name] = total
    return known[name]


def _own(module: IRModule, at: Instruction, known: dict[str, int | None]) -> int | None:
    """The steps of one instruction: a binding is one; a call of a Relax function is entered, run, and returns to its binding."""
    if at.kind in _CHOOSES or _callee(at).endswith(_CALLS_VALUES):
        return None
    own = int(at.binding is not None)
    if at.kind != "global" or type(module.functions.get(at.node.op.name)) is not e.Function:
        return own
    inner = _steps(module, at.node.op.name, known)
    return None if inner is None else own + inner + 1


def _callee(at: Instruction) -> str:
    """The name of what an instruction calls; empty for others."""
    node = at.node
    return str(getattr(node.op, "name", "")) if isinstance(node, e.Call) else ""
