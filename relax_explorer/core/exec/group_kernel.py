"""Groups of element-wise operators as one compiled loop: each element is read once, and the values between stay in registers.

Only operators whose elements are given by one rule of IEEE arithmetic take part. So the values are those of numpy, bit for bit.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from relax_explorer.core.exec import tir_cache
from relax_explorer.core.exec.values import Value

# The result of each operator, over float32 or float64. A comparison with NaN is false.
_FORMULAS = {
    "relax.add": "{0} + {1}",
    "relax.subtract": "{0} - {1}",
    "relax.multiply": "{0} * {1}",
    "relax.divide": "{0} / {1}",
    "relax.negative": "-{0}",
    "relax.abs": "abs({0})",
    "relax.nn.relu": "{0} if {0} > zero else zero",
    "relax.maximum": "{0} if {0} > {1} else {1}",
    "relax.minimum": "{0} if {0} < {1} else {1}",
}
_HEAD = "from numba import njit\nimport numpy as np\n\n"
RUNS_BEFORE = 1  # compiling takes half a second; a group that runs again and again is worth it
KNOWN = 256  # groups in the cache; the least recently used ones are dropped
_SEEN: OrderedDict[str, int] = OrderedDict()  # how often a text was asked for

Call = tuple[
    str, Sequence[int], int
]  # the operator, the registers of its operands, the register of its result


def source(calls: Sequence[Call], kept: Sequence[int], dtype: np.dtype[Any], scalars: set[int]) -> str:
    """The text of a group, or "" if it has none. Its function takes the results, then the operands from outside.

    `kept` are the registers that something reads later, and `scalars` those outside with one element.
    """
    if dtype.name not in ("float32", "float64") or any(name not in _FORMULAS for name, _, _ in calls):
        return ""
    names: dict[int, str] = {}
    outside: dict[int, str] = {}
    lines = []
    for number, (name, args, target) in enumerate(calls):
        for slot in args:
            if slot not in names:
                outside[slot] = names[slot] = f"s{slot}" if slot in scalars else f"a{slot}[i]"
        lines.append(f"t{number} = {_FORMULAS[name].format(*[names[slot] for slot in args])}")
        names[target] = f"t{number}"
    lines += [f"r{slot}[i] = {names[slot]}" for slot in kept]
    params = [f"r{slot}" for slot in kept] + [text.removesuffix("[i]") for text in outside.values()]
    body = "".join(f"        {line}\n" for line in lines)
    return (
        f'{_HEAD}@njit(nogil=True, error_model="numpy")\ndef kernel({", ".join(params)}):\n'
        f"    zero = np.{dtype.name}(0)\n    for i in range(r{kept[0]}.size):\n{body}"
    )


def operands(calls: Sequence[Call]) -> list[int]:
    """The registers that the function of a group reads, in order."""
    inside: set[int] = set()
    found: dict[int, None] = {}
    for _, args, target in calls:
        found.update(dict.fromkeys([slot for slot in args if slot not in inside]))
        inside.add(target)
    return list(found)


def kernel(text: str, values: Sequence[Value], cache: Path | None) -> Callable[..., None] | None:
    """The compiled function of a text for these results and operands.

    None if the text is empty, was not asked for often enough, or can't be compiled.
    """
    if not text:
        return None
    if _SEEN.get(text, 0) < RUNS_BEFORE:
        _SEEN[text] = _SEEN.pop(text, 0) + 1
        if len(_SEEN) > KNOWN:
            _SEEN.popitem(last=False)
        return None
    from relax_explorer.core.exec.tir_text import NotCompiled, compiled_text  # numba takes 0.3 s

    _SEEN.move_to_end(text)
    try:
        folder = None if cache is not None and tir_cache.refusal(cache) else cache
        function: Callable[..., None] = compiled_text(text, folder).function(values)
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
