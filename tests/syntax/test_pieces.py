"""A long text is parsed in pieces; only the memory shows it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import relax_explorer as rxe
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.syntax import python_tree
from relax_explorer.core.syntax.parser import read
from tests.perf.generate import transformer
from tests.support.corpus import CORPUS

STAGES = sorted(CORPUS.glob("*/*.py"))[::9]
BODY = "\n".join(f"    v{i + 1} = R.add(v{i}, v{i})" for i in range(40))
PROGRAM = f'@R.function\ndef f(v0: R.Tensor((2,), "float32")):\n{BODY}\n    return v40\n'


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small pieces of everything."""
    monkeypatch.setattr(python_tree, "LARGE", 0)
    monkeypatch.setattr(python_tree, "_SHORTEST", 2)
    monkeypatch.setattr(python_tree, "_PIECE", 7)


def whole(text: str) -> str:
    """The result of parsing a text: the program with its spans, and the problems."""
    module, report = read(text, "x.py")
    problems = [(str(item), [label.text for label in item.labels]) for item in report.sorted()]
    if module is None:
        return str(problems)
    places = [
        (str(b.span), str(b.value.span), b.var.span.end_column if b.var and b.var.span else 0)
        for fn in module.relax_functions.values()
        for b in bindings(fn)
    ]
    return f"{module.script()}\n{places}\n{problems}"


def in_pieces(text: str, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """The results of parsing a text as a whole, and in pieces."""
    with monkeypatch.context() as patch:
        patch.setattr(python_tree, "LARGE", 10**9)
        one = whole(text)
    return one, whole(text)


@pytest.mark.parametrize("path", STAGES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_model_reads_alike(path: Path, small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    one, many = in_pieces(path.read_text(encoding="utf-8"), monkeypatch)
    assert one == many


TRICKY = {
    "plain": PROGRAM,
    "unknown name": PROGRAM.replace("R.add(v7, v7)", "R.add(v7, nobody)"),
    "two errors": PROGRAM.replace("R.add(v7, v7)", "R.add(v7)").replace("R.add(v30, v30)", "R.add(oops)"),
    "broken line": PROGRAM.replace("R.add(v7, v7)", "R.add(v7, v7))"),
    "string closes nothing": PROGRAM.replace("R.add(v7, v7)", 'R.str("(")'),
    "string hides a bracket": PROGRAM.replace("R.add(v7, v7)", 'R.add(R.str(")"'),
    "comment": PROGRAM.replace("R.add(v7, v7)", "R.add(v7, v7)  # v8 = R.add(x)"),
    "continued": PROGRAM.replace("R.add(v7, v7)", "\\\n        R.add(v7, v7)"),
    "two statements": PROGRAM.replace("R.add(v7, v7)", "R.add(v7, v7); w = v7"),
    "inside a call": PROGRAM.replace("    v8 =", "    foo(\n    v8 =").replace(
        "    v11 =", "    )\n    v11 ="
    ),
    "inside a string": 'x = """\n' + BODY + '\n"""\n' + PROGRAM,
    "other letters": PROGRAM.replace("v9", "é9"),
    "tabs": PROGRAM.replace("    ", "\t"),
    "dataflow": '@R.function\ndef f(v0: R.Tensor((2,), "float32")):\n    with R.dataflow():\n'
    + BODY.replace("    v", "        v")
    + "\n        R.output(v3, v40)\n    return v40\n",
    "branches": '@R.function\ndef f(v0: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")):\n    if c:\n'
    + "        a = R.exp(v0)\n        b = R.sin(a)\n        z = R.cos(b)\n    else:\n"
    + "        a = R.exp(v0)\n        b = R.sin(a)\n        z = R.cos(b)\n    return z\n",
}


@pytest.mark.parametrize("name", TRICKY)
def test_tricky_text_reads_alike(name: str, small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    one, many = in_pieces(TRICKY[name], monkeypatch)
    assert one == many


def test_runs_are_cut_out_of_a_long_text() -> None:
    text = transformer(4000)
    skeleton, runs = python_tree.cut(text)
    assert len(skeleton) < len(text) / 4
    assert sum(len(run.lines) for run in runs.values()) > 3000
    assert len(list(bindings(rxe.parse(text)["main"]))) >= 4000


MEASURE = """
import resource, sys
import relax_explorer as rxe
rxe.parse("@R.function\\ndef f():\\n    return R.tuple()\\n")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
module = rxe.load(sys.argv[1])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no resource module")
def test_memory_of_a_long_text_is_bounded(tmp_path: Path) -> None:
    """Reading 30,000 bindings takes at most 4 KB for each."""
    path = tmp_path / "long.py"
    path.write_text(transformer(30_000), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, check=True
    )
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(done.stdout) * unit < 4096 * 30_000
