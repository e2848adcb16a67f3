"""Every operator says what it is, shows itself in examples, and can be computed and lowered or says why not."""

from __future__ import annotations

import pytest

from relax_explorer.core.ops import FAMILIES, find, get, names, table
from relax_explorer.core.ops.decl import Op

EVERY = pytest.mark.parametrize("op", table().values(), ids=lambda op: op.name)


@EVERY
def test_is_documented(op: type[Op]) -> None:
    assert op.__doc__
    first = op.__doc__.strip().splitlines()[0]
    assert first.endswith((".", ")", ";", ":")) or "\n" in op.__doc__
    assert all(parameter.doc for parameter in op.parameters), f"a parameter of {op.name} is not explained"


@EVERY
def test_has_examples_unless_it_belongs_to_the_machine(op: type[Op]) -> None:
    assert op.examples or op.by_machine or op.takes_sinfo or not op.parameters


@EVERY
def test_evaluates_or_says_why_not(op: type[Op]) -> None:
    assert (op.evaluate is not None) + op.by_machine + bool(op.no_evaluate) == 1


@EVERY
def test_is_lowered_or_says_why_not(op: type[Op]) -> None:
    assert op.is_lowered() or op.no_legalize


@EVERY
def test_optional_operands_come_last(op: type[Op]) -> None:
    required = [operand.required for operand in op.operands]
    assert required == sorted(required, reverse=True)


def test_each_name_has_one_operator() -> None:
    assert len(names()) == len(set(names()))
    assert all(name.startswith("relax.") for name in names())
    assert len(FAMILIES) == len(set(FAMILIES))


def test_near_names_are_offered() -> None:
    assert find("relax.mattmul") is None
    assert get("matmul") is get("relax.matmul")
    with pytest.raises(KeyError, match=r"did you mean relax\.matmul"):
        get("relax.mattmul")
