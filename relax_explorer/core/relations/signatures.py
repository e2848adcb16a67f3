"""The types of operators in Relay's notation: their parameters, and the relation that ties them to the result."""

from __future__ import annotations

from functools import cache

from relax_explorer.core.relations.relay_types import FuncType
from relax_explorer.core.relations.text import read_type

_TWO = "fn<t1, t2, t3>(t1, t2) -> t3 where "
_ONE = "fn<t1, t2>(t1) -> t2 where "
TEXTS = {
    **dict.fromkeys(("add", "subtract", "multiply", "divide", "power", "maximum", "minimum"), _TWO + "Broadcast"),
    **dict.fromkeys(("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"), _TWO + "BroadcastComp"),
    **dict.fromkeys(("copy", "negative", "abs", "exp", "log", "sqrt", "tanh", "sigmoid", "relu"), _ONE + "Identity"),
    **dict.fromkeys(("sum", "mean", "max", "min", "prod"), _ONE + "Reduce"),
    "nn.relu": _ONE + "Identity",
    **dict.fromkeys(("nn.softmax", "nn.log_softmax"), _ONE + "Softmax"),
    **dict.fromkeys(("flatten", "nn.batch_flatten"), _ONE + "Flatten"),
    "concatenate": _ONE + "Concat",
    "reshape": _ONE + "Reshape",
    "transpose": _ONE + "Transpose",
    "matmul": _TWO + "Matmul",
    "take": _TWO + "Take",
    "shape_of": _ONE + "ShapeOf",
}  # fmt: skip

OURS = frozenset(TEXTS)
"""The operators of this project; a user adds hers to `TEXTS`."""


@cache
def signature(name: str) -> FuncType | None:
    """The type of an operator; None if there is none of this name."""
    text = TEXTS.get(name)
    if text is None:
        return None
    found = read_type(text)
    assert isinstance(found, FuncType)
    return found
