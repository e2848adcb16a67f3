"""The public names: each has its home, a page, and an example that runs."""

from __future__ import annotations

import ast
import doctest
import inspect
import os
from pathlib import Path

import numpy as np
import pytest

import relax_explorer as rxe

ROOT = Path(__file__).parents[2]
FUNCTIONS = [name for name in rxe._HOMES if inspect.isfunction(getattr(rxe, name))]


def test_type_checkers_and_python_find_the_same_names() -> None:
    tree = ast.parse(Path(rxe.__file__).read_text())
    (branch,) = [node for node in tree.body if isinstance(node, ast.If)]
    imports = [node for node in branch.body if isinstance(node, ast.ImportFrom)]
    found = {alias.asname: (node.module, alias.name) for node in imports for alias in node.names}
    homes = {name: (f"relax_explorer.{home}", name) for name, home in rxe._HOMES.items()}
    rooms = {
        name: ("relax_explorer." + home.rpartition(".")[0], home.rpartition(".")[2])
        for name, home in rxe._ROOMS.items()
    }
    assert found == homes | rooms


def test_what_stands_nowhere_is_no_name() -> None:
    assert dir(rxe) == sorted(rxe.__all__)
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        getattr(rxe, "no_such_name")  # noqa: B009


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_function_has_an_example_that_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    function = getattr(rxe, name)
    globs = {"rxe": rxe, "np": np, "module": rxe.load("samples/01_tensor_program.py")}
    found = doctest.DocTestFinder(recurse=False).find(function, name, globs=globs)
    examples = [example for one in found for example in one.examples]
    assert examples
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    told: list[str] = []
    for one in found:
        runner.run(one, out=told.append)
    assert runner.failures == 0, "".join(told)
    assert os.getcwd() == str(ROOT)
