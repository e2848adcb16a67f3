"""Groups of element-wise operators as one compiled loop: each element is read once, and the values between stay in registers.

Only operators whose elements are given by one rule of IEEE arithmetic take part. So the values are those of numpy, bit for bit.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from relax_explorer.core.exec import loop_ir as ir
from relax_explorer.core.exec import tir_cache
from relax_explorer.core.exec.values import Value

# The result of each operator, over float32 or float64. A comparison with NaN is false.
_OPERATORS = {
    "relax.add": "+",
    "relax.subtract": "-",
    "relax.multiply": "*",
    "relax.divide": "/",
    "relax.negative": "neg",
}
_FUNCTIONS = {
    "relax.abs": "abs",
    "relax.nn.relu": "larger",
    "relax.maximum": "larger",
    "relax.minimum": "smaller",
}
RUNS_BEFORE = 1  # compiling takes as long as some runs; a group that runs again and again is worth it
KNOWN = 256  # groups in the cache; the least recently used ones are dropped
_SEEN: OrderedDict[Loop, int] = OrderedDict()  # how often a loop was asked for

Call = tuple[
    str, Sequence[int], int
]  # the operator, the registers of its operands, the register of its result


@dataclass(frozen=True, slots=True)
class Loop:
    """The loop of a group, the type of its elements, and which parameters are single elements: results and operands from outside."""

    routine: ir.Routine
    dtype: str
    are_single: tuple[bool, ...]


def loop(calls: Sequence[Call], kept: Sequence[int], dtype: np.dtype[Any], scalars: set[int]) -> Loop | None:
    """The loop of a group, or None if it has none.

    `kept` are the registers that something reads later, and `scalars` those outside with one element.
    """
    known = _OPERATORS.keys() | _FUNCTIONS.keys()
    if dtype.name not in ("float32", "float64") or any(name not in known for name, _, _ in calls):
        return None
    kind, number = dtype.name, (ir.Var("i"),)
    values: dict[int, ir.Expr] = {
        slot: ir.Convert(kind, ir.Var(f"s{slot}"))
        if slot in scalars
        else ir.Element(f"a{slot}", kind, number)
        for slot in operands(calls)
    }
    params = {f"r{slot}": False for slot in kept}
    params |= {f"{'s' if slot in scalars else 'a'}{slot}": slot in scalars for slot in values}
    body: list[ir.Stmt] = []
    for place, (name, args, target) in enumerate(calls):
        body.append(ir.Assign(f"t{place}", _formula(name, kind, [values[slot] for slot in args])))
        values[target] = ir.Var(f"t{place}")
    body += [ir.Store(ir.Element(f"r{slot}", kind, number), values[slot]) for slot in kept]
    whole = ir.For("i", ir.Const(0), ir.Length(f"r{kept[0]}", 0), tuple(body))
    return Loop(ir.Routine(tuple(params), (whole,)), kind, tuple(params.values()))


def _formula(name: str, kind: str, args: list[ir.Expr]) -> ir.Expr:
    """The result of an operator. A comparison with NaN is false."""
    if name in _OPERATORS:
        return ir.Op(_OPERATORS[name], tuple(args))
    zero = [ir.Convert(kind, ir.Const(0))] if name == "relax.nn.relu" else []
    return ir.Apply(_FUNCTIONS[name], (*args, *zero))


def operands(calls: Sequence[Call]) -> list[int]:
    """The registers that the function of a group reads, in order."""
    inside: set[int] = set()
    found: dict[int, None] = {}
    for _, args, target in calls:
        found.update(dict.fromkeys([slot for slot in args if slot not in inside]))
        inside.add(target)
    return list(found)


def kernel(made: Loop | None, values: Sequence[Value], cache: Path | None) -> Callable[..., None] | None:
    """The compiled function of a loop for these results and operands, a note and the address of the stop flag.

    None if there is no loop, if it was not asked for often enough, or if it can't be compiled.
    """
    if made is None:
        return None
    if _SEEN.get(made, 0) < RUNS_BEFORE:
        _SEEN[made] = _SEEN.pop(made, 0) + 1
        if len(_SEEN) > KNOWN:
            _SEEN.popitem(last=False)
        return None
    from relax_explorer.core.exec.llvm_kernel import Param  # llvmlite takes a while to load
    from relax_explorer.core.exec.llvm_values import DOUBLE
    from relax_explorer.core.exec.tir_text import NotCompiled, compiled_text

    _SEEN.move_to_end(made)
    try:
        folder = None if cache is not None and tir_cache.refusal(cache) else cache
        params = [Param(DOUBLE) if single else Param("", made.dtype, (None,)) for single in made.are_single]
        function: Callable[..., None] = compiled_text(made.routine, folder, params, True).function(values)
    except NotCompiled:
        return None  # the operators run one by one
    return function


def flat(value: Value, shape: tuple[int, ...]) -> Value:
    """An operand for the function: an array of the group's shape as one dimension, or a number. None for another one."""
    if type(value) is np.ndarray and value.shape == shape:
        return value.reshape(-1) if value.flags.c_contiguous and value.flags.aligned else None
    if type(value) is np.ndarray and value.ndim == 0:
        return value[()]
    return None
