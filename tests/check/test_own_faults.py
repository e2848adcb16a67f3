"""A failing rule of this project is reported as its own fault, not the program's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import relax_explorer as rxe
from relax_explorer.core import ops
from relax_explorer.core.codes import internal
from relax_explorer.core.ops.kit.decl import REQUIRED, Op, attr, operand


class Faulty(Op, name="test.faulty"):
    """Raises the given exception."""

    x: Tensor = operand("any tensor")  # type: ignore[name-defined]  # noqa: F821  # a word of declarations
    kind: str = attr(REQUIRED, "what to raise")

    @staticmethod
    def infer(at: Any, x: Any, kind: str) -> Any:
        """Raise it."""
        raise {error.__name__: error for error in ERRORS}[kind]("of our own")


ERRORS = (TypeError, ValueError, AttributeError, IndexError, KeyError, ZeroDivisionError, AssertionError)
TEXT = '@R.function\ndef main(x: R.Tensor((2,), "float32")):\n    y = R.op("test.faulty", x, kind={!r})\n    z = R.add(y, x)\n    return z\n'


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    ops.register(Faulty)
    yield
    ops.unregister(Faulty.name)


@pytest.mark.parametrize("error", ERRORS)
def test_the_fault_of_a_rule_is_ours(error: type[Exception]) -> None:
    found = [item for item in rxe.check(rxe.parse(TEXT.format(error.__name__))) if item.is_error]
    assert [item.code for item in found] == [internal.OWN_FAULT]
    assert "test.faulty" in found[0].message
    assert error.__name__ in found[0].message
    assert "report" in found[0].help


def test_a_wrong_attribute_is_the_programs_and_found_before_the_rule() -> None:
    found = [item.code.id for item in rxe.check(rxe.parse(TEXT.format(3))) if item.is_error]
    assert found == ["RX0211"]
