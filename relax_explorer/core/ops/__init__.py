"""The operators, in reading order. FAMILIES lists every module; an operator in another module does not exist.

Users add their own operators with `register`; programs call them by name, `R.op("my.twice", x)`.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from relax_explorer.core.later import later

if TYPE_CHECKING:
    from relax_explorer.core.ops.kit import rules
    from relax_explorer.core.ops.kit.decl import REQUIRED, Fusion, Op, Site, Stops, attr, operand

__all__ = [
    "FAMILIES",
    "REQUIRED",
    "Fusion",
    "Op",
    "Site",
    "Stops",
    "attr",
    "by_phase",
    "find",
    "get",
    "names",
    "operand",
    "register",
    "rules",
    "table",
    "unregister",
]

_DECLARED = ("REQUIRED", "Fusion", "Op", "Site", "Stops", "attr", "operand")
__getattr__ = later(__name__, {"rules": "kit.rules"} | dict.fromkeys(_DECLARED, "kit.decl"))

# The modules of the families, in reading order.
FAMILIES: tuple[str, ...] = (
    "tensor.elementwise",
    "tensor.binary",
    "tensor.ternary",
    "tensor.linalg",
    "tensor.manipulate",
    "tensor.joining",
    "tensor.layout_transform",
    "tensor.index",
    "tensor.gather",
    "tensor.scatter",
    "tensor.sort",
    "tensor.create",
    "tensor.create_pattern",
    "tensor.reduction",
    "tensor.scan",
    "tensor.sampling",
    "vision.roi",
    "vision.box",
    "vision.nms",
    "vision.all_class_nms",
    "tensor.qdq",
    "nn.activation",
    "nn.norm",
    "nn.conv",
    "nn.pool",
    "nn.adaptive_pool",
    "nn.pad",
    "nn.attention",
    "nn.loss",
    "image.resize",
    "image.sample",
    "grad.gradients",
    "machine.call",
    "machine.shape",
    "machine.effect",
    "machine.storages",
    "machine.view",
    "machine.inspect",
    "distributed.ccl",
    "distributed.tensors",
)


@cache
def table() -> dict[str, type[Op]]:
    """All operators by name, in reading order. Registered ones come last."""
    from relax_explorer.core.ops.kit.decl import Op

    operators: dict[str, type[Op]] = {}
    for family in FAMILIES:
        for value in vars(import_module(f"relax_explorer.core.ops.{family}")).values():
            if (
                isinstance(value, type)
                and issubclass(value, Op)
                and value.name
                and value.__module__.endswith(f".{family}")
            ):
                operators[value.name] = value
    return operators


def find(name: str) -> type[Op] | None:
    """The operator called `name` (with its `relax.` prefix), or None."""
    return table().get(name)


def get(name: str) -> type[Op]:
    """The operator called `name`. Raises KeyError with similar names if there is none."""
    op = find(name) or find(f"relax.{name}")
    if op is None:
        from difflib import get_close_matches

        near = get_close_matches(name, table(), 3)
        raise KeyError(f"no operator {name!r}" + (f"; did you mean {' or '.join(near)}?" if near else ""))
    return op


def names() -> list[str]:
    """Names of all operators, in reading order."""
    return list(table())


def by_phase() -> dict[str, list[str]]:
    """The names of all operators, grouped by the first phase whose programs may call them."""
    from relax_explorer.core.ops.kit.decl import CALLING_PHASES

    phases: dict[str, list[str]] = {phase.value: [] for phase in CALLING_PHASES}
    for name, op in table().items():
        phases[op.phase].append(name)
    return phases


_OWN: set[str] = set()  # names that users registered
_CHANGES: list[int] = [0]  # how many times users registered or unregistered an operator
_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


def register(op: type[Op]) -> type[Op]:
    """Add a user's operator: a subclass of Op with a new name.

    A class with a mistake that would show only later (a name in use, an operand of an unknown kind, a rule with the wrong
    parameters) is refused with ValueError. Usable as a decorator.
    """
    from relax_explorer.core.ops.kit.decl import Op
    from relax_explorer.core.ops.kit.page import problems

    if not (isinstance(op, type) and issubclass(op, Op)):
        raise TypeError(f"an operator is a class derived from Op, not {op!r}")
    taken = find(op.name)
    if taken is not None:
        raise ValueError(f"there is an operator {op.name!r} already: {taken.__module__}.{taken.__qualname__}")
    if not _NAME.fullmatch(op.name):
        raise ValueError(
            f"{op.name!r} is not a valid operator name; write class {op.__name__}(Op, name='my.name')"
        )
    found = problems(op)
    if found:
        raise ValueError(f"operator {op.name!r}: {'; '.join(found)}")
    _OWN.add(op.name)
    table()[op.name] = op
    _CHANGES[0] += 1
    return op


def edition() -> int:
    """A number that is another one after operators were added or removed: what was derived before may be wrong then."""
    return _CHANGES[0]


def unregister(name: str) -> None:
    """Remove an operator added by `register`; raises KeyError for any other."""
    if name not in _OWN:
        raise KeyError(f"no operator {name!r} was registered")
    _OWN.remove(name)
    del table()[name]
    _CHANGES[0] += 1
