"""Exported programs run with TVM alone, and tell whether its results are those that are computed here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from click.testing import CliRunner

import relax_explorer as rxe
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec.values import Shape
from relax_explorer.core.passes.pipeline import steps
from relax_explorer.core.session.reproducer import MOST_BYTES, MOST_WRITTEN, Reproducer
from relax_explorer.ui.cli.main import group
from tests.support.oracle import Oracle

HEAD = "from tvm.script import ir as I\nfrom tvm.script import relax as R\n\n@I.ir_module\nclass Module:\n    @R.function\n"
PROGRAMS = {
    "lengths": 'def main(x: R.Tensor(("n", 8), "float32"), w: R.Tensor((8, 4), "float32")):\n        a = R.matmul(x, w)\n'
    "        b = R.nn.softmax(a, axis=-1)\n        return (a, b)",
    "constants": 'def main(x: R.Tensor((4,), "float32")):\n        a = R.add(x, R.const([1.0, 2.0, 3.0, 4.0], "float32"))\n        return a',
    "integers": 'def main(x: R.Tensor((3,), "int64"), y: R.Tensor((3,), "bool")):\n        a = R.where(y, x, R.multiply(x, x))\n        return a',
    "tuples": 'def main(t: R.Tuple(R.Tensor((3,), "float32"), R.Tensor((3,), "float64"))):\n        a = t[0]\n        b = t[1]\n'
    "        c = R.exp(b)\n        return (a, c)",
    "large": 'def main(x: R.Tensor((300, 300), "float32")):\n        a = R.add(x, x)\n        return a',
    "narrow": 'def main(x: R.Tensor((5,), "float16")):\n        a = R.add(x, x)\n        return a',
}  # fmt: skip


def exported(folder: Path, name: str, *words: str) -> Path:
    """The file that `export` writes for a program."""
    (folder / "program.py").write_text(HEAD + "    " + PROGRAMS[name] + "\n")
    file = folder / "reproducer.py"
    done = CliRunner().invoke(group, ["export", str(folder / "program.py"), "-o", str(file), *words])
    assert done.exit_code == 0, done.output
    return file


def told(file: Path) -> tuple[int, list[str]]:
    """The exit status of a file, and what it prints."""
    done = subprocess.run(
        [sys.executable, file.name], cwd=file.parent, capture_output=True, text=True, check=False, timeout=100
    )
    return done.returncode, done.stdout.split("\n")[:-1] or [done.stderr]


@pytest.mark.parametrize("name", PROGRAMS)
def test_tvm_gives_the_results_of_a_program(name: str, tmp_path: Path) -> None:
    if not Oracle.is_installed():
        pytest.skip("TVM is not installed")
    file = exported(tmp_path, name, "-p", "LegalizeOps,AnnotateTIROpPattern,FuseOps,FuseTIR")
    status, lines = told(file)
    assert status == 0, lines
    assert lines[0].startswith("TVM 0.")
    assert any(line.startswith("after the passes: out0: 0 of ") for line in lines)
    is_known = name != "large"  # whose result is too large for the file
    assert any(line.startswith("as it is: out0: 0 of ") for line in lines) == is_known


def test_a_wrong_result_is_told(tmp_path: Path) -> None:
    if not Oracle.is_installed():
        pytest.skip("TVM is not installed")
    file = exported(tmp_path, "constants", "--input", "x=ones")
    text = file.read_text()
    assert "np.array([2.0, 3.0, 4.0, 5.0], 'float32').reshape((4,))" in text
    file.write_text(text.replace("[2.0, 3.0, 4.0, 5.0]", "[2.0, 3.0, 4.5, 5.0]"))
    assert told(file) == (1, [told(file)[1][0], "as it is: out0: 1 of 4 differ; largest difference 0.5"])
    file.write_text(text.replace("'float32').reshape((4,)),\n]", "'float32').reshape((2, 2)),\n]"))
    status, lines = told(file)
    assert (status, lines[1]) == (1, "as it is: out0 is float32 (4,), float32 (2, 2) is expected")


def test_a_pass_that_tvm_does_not_have_ends_the_file(tmp_path: Path) -> None:
    if not Oracle.is_installed():
        pytest.skip("TVM is not installed")
    file = exported(tmp_path, "constants")
    file.write_text(file.read_text().replace("PASSES = []", "PASSES = [('NoSuchPass', {})]"))
    status, lines = told(file)
    assert status == 1
    assert len(lines) == 2  # of the program as it is


def values(*arguments: object) -> list[object]:
    """The arguments that a file makes, without TVM."""
    module = rxe.parse("@R.function\ndef main(x: R.Tensor((2,), 'float32')):\n    return x\n")
    text = Reproducer(module, "main", arguments, (), arguments[0], 'a"""b').script()
    start, end = text.index("def arguments"), text.index("EXPECTED =")
    names: dict[str, object] = {"np": np, "ml_dtypes": ml_dtypes, "base64": __import__("base64")}
    compile(text, "reproducer.py", "exec")  # whole, it is Python
    exec(text[start:end], names)  # our own text
    found = names["arguments"]()  # type: ignore[operator]
    return list(found)


@pytest.mark.parametrize(
    "value",
    [
        np.array([1.5, -2.0], "float32"),
        np.array([[0.1, np.nan], [np.inf, -np.inf]], "float64"),
        np.arange(MOST_WRITTEN + 1, dtype="int32"),
        np.array(3.25, "float32"),
        np.zeros((0, 4), "float32"),
        np.array([True, False]),
        np.array([1, 2], ml_dtypes.bfloat16),
        np.random.default_rng([0, 0]).standard_normal((20, 20)).astype("float32"),
        np.arange(600, dtype="float32").reshape(20, 30)[:, ::2],
        3,
        True,
        2.5,
        np.float32(0.5),
        (np.array([1.0], "float32"), (2, np.array([3], "int64"))),
        (),
    ],
    ids=str,
)
def test_arguments_come_back_bit_by_bit(value: object) -> None:
    (found,) = values(value)

    def same(a: object, b: object) -> bool:
        if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
            return (a.shape, a.dtype, a.tobytes()) == (b.shape, b.dtype, b.tobytes())
        if isinstance(a, tuple) and isinstance(b, tuple):
            return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
        return a == b

    assert same(found, value)


def test_random_arguments_are_written_as_they_are_made() -> None:
    module = rxe.parse("@R.function\ndef main(x: R.Tensor((2,), 'float32')):\n    return x\n")
    made = [np.random.default_rng([0, n]).standard_normal((30, 30)).astype("float32") for n in range(2)]
    text = Reproducer(module, "main", [*made, Shape([3, 4])]).script()
    for n in range(2):
        assert f"np.random.default_rng([0, {n}]).standard_normal((30, 30)).astype('float32')," in text
    assert "tvm.runtime.ShapeTuple([3, 4])," in text
    assert "b64decode" not in text


def test_what_can_not_be_written_is_a_sentence() -> None:
    module = rxe.parse("@R.function\ndef main(x: R.Tensor((2,), 'float32')):\n    return x\n")
    for value, reason in ((np.ones(MOST_BYTES, "float32"), "bytes"), (object(), "is a object")):
        with pytest.raises(Failure, match=reason):
            Reproducer(module, "main", [value]).script()
    passes = [step.in_profile("tvm") for step in steps("FuseOps{fuse_opt_level=1},LegalizeOps")]
    assert any("profile" in step.options for step in passes)
    text = Reproducer(module, "main", [np.ones(2)], tuple(passes)).script()
    assert "('FuseOps', {'fuse_opt_level': 1})," in text
    assert "profile" not in text


def test_the_text_of_an_issue_has_the_file_and_json_too(tmp_path: Path) -> None:
    file = exported(tmp_path, "constants", "--to", "issue", "-p", "FuseOps", "--input", "x=ones")
    text = file.read_text()
    assert text.startswith("# ")
    assert "- out0 as relax-explorer computes it: float32 (4,): 2, 3, 4, 5\n" in text
    inner = text[text.index("```python\n") + 10 : text.rindex("```")]
    compile(inner, "reproducer.py", "exec")
    done = CliRunner().invoke(group, ["export", str(tmp_path / "program.py"), "--format", "json"])
    data = json.loads(done.stdout)
    assert (data["schema"], data["function"], data["passes"]) == ("rxe.export/1", "main", [])
    assert data["text"].startswith('"""')


def test_a_program_that_stops_here_is_exported_without_results(tmp_path: Path) -> None:
    program = (
        HEAD
        + "    "
        + 'def main(x: R.Tensor(("n",), "float32")):\n        y = R.match_cast(x, R.Tensor((5,), "float32"))\n        return y\n'
    )
    (tmp_path / "p.py").write_text(program)
    done = CliRunner().invoke(group, ["export", str(tmp_path / "p.py"), "--shape", "n=3"])
    assert done.exit_code == 0
    assert "EXPECTED = []" in done.stdout
    assert "the program stops here: " in done.stderr


def test_the_stage_that_is_named_is_exported_and_reduced(tmp_path: Path) -> None:
    for number, operator in enumerate(("tanh", "log")):
        program = f'{HEAD}    def main(x: R.Tensor((4,), "float32")):\n        y = R.{operator}(x)\n        return y\n'
        (tmp_path / f"0{number}_Pass.py").write_text(program)
    for stage, operator in (("", "tanh"), ("@0", "tanh"), ("@1", "log")):
        done = CliRunner().invoke(group, ["export", f"{tmp_path}{stage}"])
        assert f"R.{operator}(x)" in done.stdout
        done = CliRunner().invoke(group, ["reduce", f"{tmp_path}{stage}", "--test", "no-nan", "-o", "-"])
        assert done.exit_code == (0 if operator == "log" else 3), done.output
