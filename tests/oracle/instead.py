"""Equivalent questions to TVM about calls that only we refuse, because TVM's rule of the operator checks less.

TVM's rules for other operators make the same checks: the operator of which the call is a gradient, or the operator
itself on two of the operands. A row `instead` explains such a call if TVM refuses one of these. An Object stands for any tensor.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import combinations, product

from relax_explorer.core.ops import table
from tests.support.op_calls import words
from tests.support.op_examples import DTYPES, TENSOR, Example, annotation, module, read, split
from tests.support.oracle import Oracle


def is_refused_instead(call: Example, oracle: Oracle) -> bool:
    """True if TVM refuses an equivalent question; False if there is none."""

    def taken(text: str) -> bool:
        answer = oracle.well_formed(text)
        return answer.ok and answer.get().well_formed

    found = (
        any(not taken(text) for text in _QUESTIONS[call.op.name](call))
        if call.op.name in _QUESTIONS
        else False
    )
    return found or (call.op.name in _FILLED and _is_refused_filled(call, taken))


def _is_refused_filled(call: Example, taken: Callable[[str], bool]) -> bool:
    """True if TVM refuses the call with variables in place of the unknown lengths.

    An unknown rank may be 1, 2, or the rank of another operand.
    """
    text = words(call)
    unknown = list(_UNKNOWN.finditer(text))
    if not 0 < len(unknown) <= len(_LETTERS) // 3:
        return False
    usual = {1, 2, *[len(split(match[1])) for match in re.finditer(r"\w\[([^\]]*)\]", text)]}
    ranks = [usual if match[2] is None else {match[2].count("?")} for match in unknown]
    if max(map(max, ranks)) > 3:
        return False
    for chosen in product(*ranks):
        filled = text
        for n, (match, rank) in reversed(list(enumerate(zip(unknown, chosen, strict=True)))):
            lengths = ",".join(_LETTERS[3 * n : 3 * n + rank])
            filled = f"{filled[: match.start()]}{match[1]}[{lengths}]{filled[match.end() :]}"
        if taken(read(call.op, f"{filled} -> ").module()):
            return False
    return True


def _forward(name: str, call: Example) -> Iterator[str]:
    """The operator of a gradient, with its result cast to the gradient's shape."""
    grad, *operands = [re.sub("^object$", "any", text) for text in call.operands]
    given, wanted = TENSOR.match(grad), TENSOR.match(operands[0])
    if given is not None and wanted is not None and {given[1], wanted[1]} <= DTYPES.keys():
        grad = grad.replace(given[1], wanted[1])
    forward = Example(table()[name], "", tuple(operands), call.attributes, grad).function(expect=True)
    cast = f"same = R.match_cast(result, {annotation(grad, inside=True)})\n        return same"
    yield module([forward.replace("return result", cast)])


def _pairs(name: str, call: Example) -> Iterator[str]:
    """An operator on each pair of operands; the second one is repeated if it takes more."""
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


def _slopes(call: Example) -> Iterator[str]:
    """The slopes broadcast to their axis, if its length is known."""
    data, *slopes = _shapes(call.operands)
    axis = next((int(text[5:]) for text in call.attributes if text.startswith("axis=")), 1)
    lengths = split(data[4:-1])
    if slopes and -len(lengths) <= axis < len(lengths) and "?" not in lengths:
        yield Example(table()["relax.broadcast_to"], "", (*slopes, f"({lengths[axis]},)"), (), "").module()


def _places(call: Example) -> Iterator[str]:
    """The sum of each pair among indices and values, which broadcast with each other."""
    _, places, values = call.operands
    for first, second in combinations(_shapes((*split(places[1:-1]), values)), 2):
        yield Example(table()["relax.add"], "", (first, second), (), "").module()


def _matrices(call: Example) -> Iterator[str]:
    """The product without batch axes."""
    lengths = [split(text[4:-1])[-2:] for text in _shapes(call.operands) if "[" in text and "?" not in text]
    if len(lengths) == 2 and all(lengths):
        left, right = [f"f32[{','.join(items)}]" for items in lengths]
        yield Example(call.op, "", (left, right), (), "").module()


def _shapes(operands: Iterable[str]) -> list[str]:
    """The tensors among operands, all with the same dtype and device."""
    found = [match for text in operands if (match := TENSOR.match(text)) and match[1] in DTYPES]
    return ["f32" if match[2] is None else f"f32[{match[2]}]" for match in found]


_UNKNOWN = re.compile(rf"(?<![\w\"])({'|'.join(DTYPES)})(\[\?(?:,\?)*\])?(?![\w\[=\"])")
"""A tensor with unknown lengths, or even an unknown rank."""
_LETTERS = "opqrstuvxyij"
_FILLED = frozenset(
    f"relax.{name}"
    for name in (
        "nn.softmax", "nn.log_softmax", "scatter_elements", "slice_scatter", "gather_nd", "index_put", "dynamic_strided_slice",
    )
)  # fmt: skip
"""Operators whose rules in TVM check some operands only if the others are known as well."""
_QUESTIONS: dict[str, Callable[[Example], Iterator[str]]] = {
    "relax.grad.avg_pool2d_backward": partial(_forward, "relax.nn.avg_pool2d"),
    "relax.grad.max_pool2d_backward": partial(_forward, "relax.nn.max_pool2d"),
    "relax.grad.nll_loss_backward": partial(_forward, "relax.nn.nll_loss"),
    "relax.grad.take_backward": partial(_forward, "relax.take"),
    "relax.where": partial(_pairs, "relax.add"),
    "relax.ewise_fma": partial(_pairs, "relax.ewise_fma"),
    "relax.index_put": _places,
    "relax.matmul": _matrices,
    "relax.nn.prelu": _slopes,
    **{
        f"relax.{name}": _axis
        for name in ["sort", "argsort", "topk", "cumsum", "cumprod", "scatter_elements"]
    },
}
