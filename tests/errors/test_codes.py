"""Every code has a page whose smallest program has the problem; for any input, parsing raises ParseError only."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import relax_explorer as rxe
from relax_explorer.core.codes import (
    CODES,
    foreign,
    internal,
    operators,
    passes,
    relations,
    runtime,
    style,
    syntax,
    tir,
)
from relax_explorer.core.codes import well_formedness as well_formed
from relax_explorer.core.diagnostics import Code, Diagnostic, Label, ParseError
from relax_explorer.core.source import Source, Span
from relax_explorer.core.syntax.load import read_text
from relax_explorer.core.syntax.parser import read
from relax_explorer.viz.problem import render

WITH_EXAMPLE = sorted(code.id for code in CODES.values() if code.example)


def test_no_number_is_given_twice() -> None:
    rooms = (syntax, tir, well_formed, operators, style, passes, runtime, relations, foreign, internal)
    given = [value.id for room in rooms for value in vars(room).values() if isinstance(value, Code)]
    assert len(given) == len(set(given))


def test_every_code_is_reported_somewhere() -> None:
    package = Path(rxe.__file__).parent
    texts = [
        path.read_text(encoding="utf-8") for path in package.rglob("*.py") if path.parent.name != "codes"
    ]
    words = set(re.findall(r"\w+", "\n".join(texts)))
    rooms = (syntax, tir, well_formed, operators, style, passes, runtime, relations, foreign, internal)
    names = {name for room in rooms for name, value in vars(room).items() if isinstance(value, Code)}
    assert names - words == set()


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_code_says_what_why_and_what_to_do(code: str) -> None:
    page = CODES[code]
    assert page.title
    assert page.why.endswith(".")
    assert page.fix.endswith(".")


@pytest.mark.parametrize("code", WITH_EXAMPLE)
def test_the_example_earns_the_code(code: str) -> None:
    module, report = read(CODES[code].example, "example.py")
    found = {item.code.id for item in report}
    if module is not None and not report.errors:
        found |= {item.code.id for item in rxe.check(module)}
    assert code in found, f"{code} not in {sorted(found)}"


HOSTILE = {
    "empty": "",
    "spaces": "  \n\n",
    "comment": "# only\n",
    "python": "import os\nos.system('true')\n",
    "deep": "x = " + "(" * 20000 + ")" * 20000,
    "minus": "@R.function\ndef f():\n    return " + "-" * 50000 + "1\n",
    "chain": "@R.function\ndef f(x: R.Object):\n    return " + "+".join(["x"] * 20000) + "\n",
    "control": "@R.function\ndef f(\x1b[2Jx: R.Object):\n    return x\n",
    "nul": "a\0b",
    "keyword": "@R.function\ndef f(class: R.Object):\n    return 1\n",
    "truncated": "@I.ir_module\nclass M:\n    @R.function\n    def main(x: R.Tensor((2,",
    "conflict": "<<<<<<< HEAD\nx = 1\n=======\n",
    "fence": "```python\nx\n```\n",
    "surrogate": "@R.function\ndef f(x: R.Object):\n    return R.str('\\ud800')\n",
    "huge int": "@R.function\ndef f():\n    return R.const(" + "9" * 5000 + ")\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_bad_input_is_a_diagnostic(name: str) -> None:
    module, report = read(HOSTILE[name])
    if report.errors:
        assert all(item.span is not None for item in report.errors)
    else:
        assert module is not None
        rxe.check(module)
        module.script()


def test_several_errors_are_reported_at_once() -> None:
    text = (
        '@R.function\ndef f(x: R.Tensor((2,), "float99")):\n    y = R.add(x)\n    z = missing\n    return z\n'
    )
    with pytest.raises(rxe.ParseError) as caught:
        rxe.parse(text)
    assert [item.code.id for item in caught.value.diagnostics] == ["RX0013", "RX0015", "RX0014"]


def test_nothing_is_executed(tmp_path: Path) -> None:
    """Expressions in each place that TVM's own parser evaluates leave no trace."""
    mark = tmp_path / "executed"
    bomb = f"open({str(mark)!r}, 'w').write('x')"
    places = [
        f'@R.function\ndef f(x: R.Tensor(({bomb},), "float32")):\n    return x\n',
        f"@R.function\ndef f(x: R.Object):\n    return R.const({bomb})\n",
        f"@R.function\ndef f(x: R.Object):\n    R.func_attr({{'a': {bomb}}})\n    return x\n",
        f"@T.prim_func\ndef f(A: T.Buffer(({bomb},), 'float32')):\n    A[0] = {bomb}\n",
        f"n = {bomb}\n",
        f"@I.ir_module\nclass M:\n    x = {bomb}\n",
        f"@({bomb})\ndef f():\n    pass\n",
    ]
    for text in places:
        module, report = read(text)
        assert report.errors or module is not None
    assert not mark.exists()


def test_command_line_ends_with_status_and_no_traceback(tmp_path: Path) -> None:
    binary = tmp_path / "model.bin"
    binary.write_bytes(b"\x08\x07\x00\x01" * 40)
    latin = tmp_path / "latin.py"
    latin.write_bytes(b"# caf\xe9\n")
    cases = {
        str(binary): "RX0003",
        str(latin): "RX0004",
        str(tmp_path): "RX0001",
        str(tmp_path / "missing.py"): "RX0001",
    }
    for path, code in cases.items():
        done = subprocess.run(
            [sys.executable, "-m", "relax_explorer", "show", path],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2
        assert code in done.stderr
        assert "Traceback" not in done.stderr


IMPURE_BY_THE_SPECIFICATION = """
@R.function
def main(x: R.Tensor((2,), "float32")):
    with R.dataflow():
        y = R.call_dps_packed("f", (x,), out_ty=R.Tensor((2,), "float32"))
        R.output(y)
    return y
"""


def test_a_rule_that_tvm_has_not_got_says_so() -> None:
    module = rxe.normalize(rxe.parse(IMPURE_BY_THE_SPECIFICATION))
    (problem,) = [item for item in rxe.check(module) if item.is_error]
    assert problem.code.id == "RX0112"
    assert "with the profile tvm it is a warning" in render(problem)
    assert "with the profile tvm it is a warning" in " ".join(problem.to_json()["notes"])
    assert [item for item in rxe.check(module, profile="tvm") if item.is_error] == []


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("m.py", "TVMScript"),
        ("m.relay", "a program in the notation of Relay's types"),
        ("m.shapes", "a program with shape contracts"),
    ],
)
def test_a_binary_file_is_told_what_it_should_hold(tmp_path: Path, name: str, wanted: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"\x00\x01")
    with pytest.raises(ParseError) as caught:
        read_text(path)
    (found,) = caught.value.diagnostics
    assert found.message.endswith(f"is a binary file, not {wanted}")
    assert ("model" in found.help) is (name == "m.py")


@pytest.mark.parametrize(("first", "second"), [(9, 8), (10, 9), (9, 10), (101, 9)])
def test_the_numbers_of_all_lines_stand_in_one_column(first: int, second: int) -> None:
    source = Source("\n".join(["x = y"] * 120), "a.py")
    labels = tuple(
        Label(Span(source, line, 4, line, 5), text, primary=not text)
        for line, text in ((first, ""), (second, "seen here"))
    )
    shown = render(Diagnostic(operators.CONTRADICTED, "text", labels=labels)).split("\n")[1:]
    assert len({line.index("|") for line in shown if "|" in line}) == 1
    assert [line.split("|")[0].strip() for line in shown if "x = y" in line] == [str(first), str(second)]
