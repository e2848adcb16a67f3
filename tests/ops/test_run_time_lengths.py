"""The run refuses symbolic lengths for the same reasons, and in the same words, as inference refuses literal ones."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice

import pytest

import relax_explorer as rxe
from relax_explorer.core.diagnostics import Diagnostic
from relax_explorer.core.ops import table
from relax_explorer.core.ops.kit.decl import Op
from tests.support.op_examples import Example, examples, read
from tests.support.op_values import apart, as_tuple, setting
from tests.support.own_lengths import Changed, changed

EVALUATED = [
    op
    for op in table().values()
    if op.evaluate is not None and any(q.kind.startswith("Tensor") for q in op.operands)
]


def outcome(call: Example, sizes: dict[str, int]) -> tuple[Diagnostic | None, object]:
    """The problem, or the value if there is none."""
    try:
        at = setting(call, {**dict.fromkeys("abcdefghijklmnopqrstuvwxyz", 3), **sizes})
        return None, rxe.run(at.module, "main", at.inputs())
    except rxe.Failure as failure:
        return failure.diagnostics[0], None


def wrong_with(one: Changed) -> str:
    """The message about a change that differs from the one for literal lengths; empty if none does."""
    written, value = outcome(one.literal, {})
    found, made = outcome(one.symbolic, dict(one.sizes))
    if found is None:
        if written is not None:
            return f"accepted; written out {written}"
        return apart(as_tuple(made), as_tuple(value))
    if found.code.id.startswith("RX02") or (written is not None and found.code is written.code):
        return ""  # refused before the run, or a problem of the elements
    if found.code.id not in ("RX0507", "RX0519"):
        return f"{found.code.id} {found.message}"
    if written is None:
        taken_for_granted = re.search(
            r"but its StructInfo is|in the result the dimension .* is negative", found.message
        )
        return "" if taken_for_granted else f"refused: {found.message}"
    if written.message not in found.message:
        return f"{found.message!r}, written out {written.message!r}"
    labels = [label.text for label in found.labels]
    named = [q.name for q in one.symbolic.op.operands if q.kind.startswith("Tensor")]
    if not any(text.startswith(f"{name} is a tensor") for name in named for text in labels):
        return f"no operand is named: {labels}"
    return (
        ""
        if any(re.match(r"here .*\b[a-z] = \d", note) for note in found.notes)
        else f"no symbol: {found.notes}"
    )


@pytest.mark.parametrize("op", EVALUATED, ids=lambda op: op.name.removeprefix("relax."))
def test_lengths_that_differ_when_it_runs(op: type[Op]) -> None:
    wrong = [
        f"{one}: {text}"
        for example in examples()
        if example.op is op
        for one in islice(changed(example), 0, None, 2)  # neighbours differ in the same way
        if (text := wrong_with(one))
    ]
    assert not wrong, "\n".join(wrong[:20])


def blurred(text: str, ranks: bool) -> str:
    """An operand whose tensors have unknown lengths, and an unknown rank unless `ranks`."""

    def without(found: re.Match[str]) -> str:
        axes = [axis for axis in found[2].split(",") if axis]
        return f"{found[1]}[{','.join('?' * len(axes))}]" if axes and ranks else found[1]

    return re.sub(r"\b([fiu]\d+|bf16|bool)\[([^\]]*)\]", without, text)


def symbols(call: Example) -> list[str]:
    """The values of the shape variables, given by the last parameter of an example's function."""
    return re.findall(r"symbols: (.*)\)", call.module())


@pytest.mark.parametrize("ranks", [True, False], ids=["ranks", "nothing"])
@pytest.mark.parametrize("op", EVALUATED, ids=lambda op: op.name.removeprefix("relax."))
def test_what_is_inferred_of_unknown_lengths_is_true_of_the_value(op: type[Op], ranks: bool) -> None:
    for call in [read(op, text) for text in op.examples]:
        operands = tuple([blurred(text, ranks) for text in call.operands])
        vague = replace(call, operands=operands, text=" ".join((*operands, *call.attributes)), result="")
        if operands == call.operands or symbols(vague) not in ([], symbols(call)):
            continue
        try:
            module = rxe.normalize(rxe.parse(vague.module()))
        except rxe.Failure:  # the rule needs more precise operands
            continue
        inputs = setting(call, dict.fromkeys("abcdefghijklmnopqrstuvwxyz", 3)).inputs()
        rxe.run(module, "main", inputs[: len(module["main"].params)])
