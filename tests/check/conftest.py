"""What several tests of the checks need."""

from __future__ import annotations

import pytest

from relax_explorer.core.check import normalize_function
from relax_explorer.core.check.normalize_function import FunctionNormalizer
from relax_explorer.core.ir import expr as e


@pytest.fixture
def visited(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the callees whose calls take the general path."""
    names: list[str] = []
    general = FunctionNormalizer._call

    def call(self: FunctionNormalizer, expr: e.Call) -> e.Expr:
        names.append(getattr(expr.op, "name", "?").removeprefix("relax."))
        return general(self, expr)

    monkeypatch.setitem(normalize_function._VALUES, e.Call, call)
    return names
