"""What TVM is asked instead of a call that only we refuse, where its rule of the operator looks at less than ours.

Its rules for other operators look at the same things: those that gradients are of, or the operator itself for two of its operands.
Such a call is explained, by a row `instead`, where TVM refuses one of these. An Object may be any tensor here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import combinations

from relax_explorer.core.ops import table
from tests.support.op_examples import DTYPES, TENSOR, Example, annotation, module, split
from tests.support.oracle import Oracle


def is_refused_instead(call: Example, oracle: Oracle) -> bool:
    """Whether TVM refuses one of the questions; False where there are none."""
    texts = _QUESTIONS[call.op.name](call) if call.op.name in _QUESTIONS else ()
    return any(not _is_taken(text, oracle) for text in texts)


def _is_taken(text: str, oracle: Oracle) -> bool:
    answer = oracle.well_formed(text)
    return answer.ok and answer.get().well_formed


def _forward(name: str, call: Example) -> Iterator[str]:
    """The operator that a gradient is of, whose result is cast to the gradient's shape."""
    grad, *operands = [re.sub("^object$", "any", text) for text in call.operands]
    given, wanted = TENSOR.match(grad), TENSOR.match(operands[0])
    if given is not None and wanted is not None and {given[1], wanted[1]} <= DTYPES.keys():
        grad = grad.replace(given[1], wanted[1])
    forward = Example(table()[name], "", tuple(operands), call.attributes, grad).function(expect=True)
    cast = f"same = R.match_cast(result, {annotation(grad, inside=True)})\n        return same"
    yield module([forward.replace("return result", cast)])


def _pairs(name: str, call: Example) -> Iterator[str]:
    """An operator on each two of the operands, the second one repeated where it takes more."""
    op = table()[name]
    for first, second in combinations(_shapes(call.operands), 2):
        yield Example(op, "", (first, *[second] * (len(op.operands) - 1)), (), "").module()


def _axis(call: Example) -> Iterator[str]:
    """`flip` of the first operand along the axis."""
    given = [text for text in call.attributes if text.startswith("axis=")]
    default = next(q.default for q in call.op.attributes if q.name == "axis")
    axis = given[-1] if given else f"axis={default}"
    if axis != "axis=None":
        for shape in _shapes(call.operands[:1]):
            yield Example(table()["relax.flip"], "", (shape,), (axis,), "").module()


def _places(call: Example) -> Iterator[str]:
    """A sum of each two of the places and the values, which broadcast with each other."""
    _, places, values = call.operands
    for first, second in combinations(_shapes((*split(places[1:-1]), values)), 2):
        yield Example(table()["relax.add"], "", (first, second), (), "").module()


def _matrices(call: Example) -> Iterator[str]:
    """The product without the batch."""
    lengths = [split(text[4:-1])[-2:] for text in _shapes(call.operands) if "[" in text and "?" not in text]
    if len(lengths) == 2 and all(lengths):
        left, right = [f"f32[{','.join(items)}]" for items in lengths]
        yield Example(call.op, "", (left, right), (), "").module()


def _shapes(operands: Iterable[str]) -> list[str]:
    """The tensors among operands, all of one dtype and place."""
    found = [match for text in operands if (match := TENSOR.match(text)) and match[1] in DTYPES]
    return ["f32" if match[2] is None else f"f32[{match[2]}]" for match in found]


_QUESTIONS: dict[str, Callable[[Example], Iterator[str]]] = {
    "relax.grad.avg_pool2d_backward": partial(_forward, "relax.nn.avg_pool2d"),
    "relax.grad.max_pool2d_backward": partial(_forward, "relax.nn.max_pool2d"),
    "relax.grad.nll_loss_backward": partial(_forward, "relax.nn.nll_loss"),
    "relax.grad.take_backward": partial(_forward, "relax.take"),
    "relax.where": partial(_pairs, "relax.add"),
    "relax.ewise_fma": partial(_pairs, "relax.ewise_fma"),
    "relax.index_put": _places,
    "relax.matmul": _matrices,
    **{f"relax.{name}": _axis for name in ["sort", "argsort", "topk", "cumsum", "cumprod", "scatter_elements"]},
}
