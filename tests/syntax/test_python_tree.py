"""One door to Python's parser: threads may read at once."""

from __future__ import annotations

import ast
import gc
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import patch

import pytest

import relax_explorer as rxe
from relax_explorer.core.syntax.python_tree import python_tree

PACKAGE = Path(rxe.__file__).parent


def test_nothing_else_calls_the_parser() -> None:
    found = [
        path.name
        for path in PACKAGE.rglob("*.py")
        if re.search(r"\bast\.parse\(|PyCF_ONLY_AST", path.read_text("utf-8"))
    ]
    assert found == ["python_tree.py"]


class Switches:
    """Garbage whose collection lets another thread run, as finalizers of a host do."""

    def __init__(self) -> None:
        self.own = self

    def __del__(self) -> None:
        sum([number for number in range(50)])


def test_threads_read_at_once() -> None:
    text = "x = " + "(" * 40 + "1" + ")" * 40 + "\n" + "y = f(a, [b, c])\n" * 300
    threshold, interval = gc.get_threshold(), sys.getswitchinterval()
    gc.set_threshold(5)
    sys.setswitchinterval(1e-6)

    def read(_: int) -> int:
        for _number in range(30):
            Switches()
        return len(python_tree(text).body)

    try:
        with ThreadPoolExecutor(6) as pool:
            assert set(pool.map(read, range(60))) == {301}
    finally:
        gc.set_threshold(*threshold)
        sys.setswitchinterval(interval)


def test_a_thread_of_the_host_may_parse_meanwhile() -> None:
    parse = ast.parse
    calls = []

    def disturbed(text: str, mode: str = "exec") -> ast.AST:
        calls.append(text)
        if len(calls) < 3:
            raise SystemError("AST constructor recursion depth mismatch")
        return parse(text, mode=mode)

    with patch("ast.parse", disturbed):
        assert len(python_tree("x = 1").body) == 1
    assert len(calls) == 3


def test_an_error_that_stays_is_raised() -> None:
    with patch("ast.parse", side_effect=SystemError("gone")), pytest.raises(SystemError, match="gone"):
        python_tree("x")
