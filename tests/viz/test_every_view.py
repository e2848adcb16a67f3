"""No ordinary program breaks a view: corpus files, samples, and programs with several results called `_`."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import relax_explorer as rxe
from relax_explorer.ui.cli.main import group
from relax_explorer.viz.ir_graph import graph
from tests.support.roundtrip import SAMPLES, STAGES, stage_id
from tests.viz.every_view import show

HEAD = '@I.ir_module\nclass M:\n    @R.function(pure=False)\n    def main(x: R.Tensor(("n",), "float32"), c: R.Tensor((), "bool")):\n'
UNNAMED = {
    "two prints": "R.print(x)\nR.print(x)\nreturn x",
    "print and match_cast": 'R.print(x)\n_ = R.match_cast(x, R.Tensor((2,), "float32"))\n_ = R.add(x, x)\nreturn x',
    "in branches": "if c:\n    R.print(x)\n    R.print(c)\n    y = x\nelse:\n    R.print(x)\n    y = R.add(x, x)\nR.print(y)\nreturn y",
    "in a function": "@R.function(pure=False)\ndef g(z: R.Object):\n    R.print(z)\n    R.print(z)\n    return z\nR.print(x)\n"
    "R.print(x)\nreturn g(x)",
    "variables called so": "_2 = R.add(x, x)\nR.print(x)\nR.print(x)\nR.print(_2)\nreturn _2",
    "a void that is read": "y = R.print(x)\nz = R.print(x)\nreturn (y, z)",
}


@pytest.mark.parametrize("path", [*STAGES[::3], *SAMPLES], ids=stage_id)
def test_views_of_the_corpus(path: Path) -> None:
    assert show(path)


@pytest.fixture(params=UNNAMED)
def program(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    body = "".join(f"        {line}\n" for line in UNNAMED[request.param].split("\n"))
    path = tmp_path / "p.py"
    path.write_text(HEAD + body)
    assert not [item for item in rxe.check(rxe.load(path)) if item.is_error]
    return path


def test_views_of_results_that_are_thrown_away(program: Path) -> None:
    assert show(program)


@pytest.mark.parametrize(
    "command",
    [("graph",), ("graph", "--format", "json"), ("graph", "--format", "svg", "--engine", "builtin"),
     ("diff", "-p", "default"), ("diff", "-p", "LegalizeOps", "--style", "json"), ("who", "_"), ("who", "_", "--format", "json")],
    ids=" ".join,
)  # fmt: skip
def test_commands_on_results_that_are_thrown_away(program: Path, command: tuple[str, ...]) -> None:
    done = CliRunner().invoke(group, [command[0], str(program), *command[1:]])
    has_no_unnamed = command[0] == "who" and "y = R.print" in program.read_text()
    assert done.exit_code == (2 if has_no_unnamed else 0), (done.output, done.exception)


def test_each_result_that_is_thrown_away_is_a_node_of_its_own() -> None:
    module = rxe.parse(
        HEAD + "        _2 = R.add(x, x)\n        R.print(x)\n        R.print(_2)\n        return _2\n"
    )
    made = graph(module, "main")
    assert [node.title for node in made.nodes].count("print") == 2
    assert {(edge.source, edge.target) for edge in made.edges} == {
        ("x", "_2"), ("x", "_"), ("_2", "_2'"), ("_2", "return"),
    }  # fmt: skip
