"""What people have opens in every command: notebooks, Markdown, standard input, scripts with passes, long logs, damaged parts."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from relax_explorer.core.diagnostics import ParseError
from relax_explorer.core.session import stages
from relax_explorer.core.session.build_files import open_build
from tests.cli.test_commands import rxe_cli
from tests.syntax.test_finder import MODULE

AFTER = MODULE.replace("R.add", "R.multiply")
MARKDOWN = f"# A report\n\n## Before\n```python\n{MODULE}```\n## After\n```python\n{AFTER}```\n"
SCRIPT = f"""import tvm
from tvm import relax
from tvm.relax.transform import FuseTIR

{MODULE}
# mod = relax.transform.ToNonDataflow()(Module)
with tvm.target.Target("llvm"):
    seq = tvm.transform.Sequential([
        relax.transform.LegalizeOps(), relax.transform.AnnotateTIROpPattern(),
        relax.transform.FuseOps(fuse_opt_level=2),
        relax.transform.MyPass(),
    ])
    mod = FuseTIR()(seq(Module))
    mod = relax.transform.SpecializeShapes(func_name=name)(mod)
"""


def notebook(*sources: str, output: str = "") -> str:
    outputs = [{"output_type": "stream", "name": "stdout", "text": output.splitlines(True)}] if output else []
    cells = [{"cell_type": "markdown", "metadata": {}, "source": ["# A title\n"]}]
    cells += [
        {"cell_type": "code", "metadata": {}, "outputs": outputs, "source": text.splitlines(True)}
        for text in sources
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def written(tmp_path: Path, name: str, text: str) -> str:
    path = tmp_path / name
    path.write_text(text)
    return str(path)


def test_a_notebook_has_the_programs_of_its_cells(tmp_path: Path) -> None:
    text = MODULE.replace("(3,)", "(N,)")
    path = written(
        tmp_path, "a.ipynb", notebook("N = 3", f"import tvm\n%time\n{text}", AFTER, output=MODULE + "done\n")
    )
    build = open_build(path)
    places = [(stage.file.removeprefix(path), stage.origin.lines) for stage in build.stages]
    assert places == [
        (":cell 2, output", (1, 8)), (":cell 3", (3, 10)), (":cell 3, output", (1, 8)), (":cell 4", (1, 8)), (":cell 4, output", (1, 8)),
    ]  # fmt: skip
    assert rxe_cli("run", f"{path}@1", "--input", "x=ones").stdout.startswith("out0: (3,)")
    wrong = written(tmp_path, "b.ipynb", notebook("N = 3", text.replace("x, x", "x, z")))
    assert (
        f"{wrong}:cell 3:6:22: error[RX0014]" in rxe_cli("check", wrong, "--output-format", "concise").stdout
    )


@pytest.mark.parametrize(
    "text",
    [notebook(MODULE)[:-200], notebook(MODULE)[:90], '{"cells": 3, "nbformat": 4}', '{"nbformat": 4}', "[" * 10**5 + '"nbformat"',
     notebook("print(1)"), '{"cells": [3, {"source": 4}, {"outputs": 5}, {"outputs": [6, {"data": 7}]}], "nbformat": 4}'],
)  # fmt: skip
def test_a_damaged_or_empty_notebook_gets_one_sentence(text: str, tmp_path: Path) -> None:
    done = rxe_cli("check", written(tmp_path, "a.ipynb", text), "--output-format", "concise")
    assert done.exit_code in (1, 2)
    (line,) = done.stdout.splitlines()
    assert re.search(r"a\.ipynb:\d+:\d+: error\[RX000[1-8]\]", line)


def test_programs_of_one_text_are_a_choice_everywhere(tmp_path: Path) -> None:
    path = written(tmp_path, "report.md", MARKDOWN)
    check = rxe_cli("check", path)
    assert (check.exit_code, "2 modules: Before (lines 5–12), After (16–23)" in check.stderr) == (0, True)
    assert "R.add" in rxe_cli("show", f"{path}@Before").stdout
    assert "R.multiply" in rxe_cli("show", path).stdout
    assert "R.call_tir(cls.multiply" in rxe_cli("opt", f"{path}@After", "-p", "LegalizeOps").stdout
    first = rxe_cli("opt", path, "-p", "LegalizeOps")
    assert ("cls.add" in first.stdout, f"stage 0 Before of {path}" in first.stderr) == (True, True)
    assert rxe_cli("run", f"{path}@0", "--input", "x=ones").stdout.splitlines()[1] == "[2. 2. 2.]"
    differ = rxe_cli("compare", f"{path}@Before", f"{path}@After")
    assert (differ.exit_code, "first difference" in differ.stdout or "add" in differ.stdout) == (1, True)
    assert "~" in rxe_cli("diff", f"{path}@Before", f"{path}@After").stdout
    assert rxe_cli("bisect", path).exit_code == 1


@pytest.mark.parametrize(
    "command", ["check", "show", "run", "bisect", "validate", "diff", "who", "find", "graph"]
)
def test_standard_input_is_searched_as_files_are(command: str) -> None:
    more = {"run": ("--input", "x=ones"), "who": ("y",), "find": ("add",), "graph": ("--format", "dot")}
    text = MARKDOWN.replace("R.multiply", "R.add")
    done = rxe_cli(command, "-", *more.get(command, ()), stdin=text)
    assert done.exit_code == 0, done.output
    assert "<stdin>: 2 modules: Before" in done.stderr


def test_the_passes_of_a_script_are_a_pipeline(tmp_path: Path) -> None:
    path = written(tmp_path, "build.py", SCRIPT)
    pipeline = "LegalizeOps,AnnotateTIROpPattern,FuseOps{fuse_opt_level=2},FuseTIR,SpecializeShapes"
    build = open_build(path)
    assert build.written == pipeline
    assert [remark.partition(":")[0] for remark in build.remarks] == ["line 19", "line 22"]
    assert "MyPass is no pass here" in build.remarks[0]
    assert "func_name=name is known only when the script runs" in build.remarks[1]
    said = rxe_cli("check", path).stderr
    assert f"passes read: {pipeline} (-p file)" in said
    named = rxe_cli("opt", written(tmp_path, "b.py", SCRIPT.rpartition("    mod")[0]), "-p", "file")
    assert (named.exit_code, "T.prim_func" in named.stdout) == (0, True)
    none = rxe_cli("opt", written(tmp_path, "c.py", MODULE), "-p", "file")
    assert (none.exit_code, "calls no pass" in none.output) == (2, True)


TWO = """@I.ir_module
class Module:
    @R.function
    def bad(c: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        with R.dataflow():
            o = {}
            R.output(o)
        return o

    @R.function
    def good(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        y = R.add(x, x)
        return y

    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        y = cls.good(x)
        return y

    @R.function(pure=False)
    def caller(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        y = cls.bad(x)
        return y
"""
FAULTS = {
    "impure": 'R.call_packed("k", c, sinfo_args=(R.Tensor((3,), "float32"),))',
    "undefined": "R.add(c, nothing)",
    "syntax": "R.add(c, 3 +)",
    "ill-typed": "R.matmul(c, R.zeros((4, 4), 'float32'))",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_run_minds_only_what_it_calls(fault: str, tmp_path: Path) -> None:
    path = written(tmp_path, "two.py", TWO.format(FAULTS[fault]))
    for options in ((), ("--func", "main"), ("--func", "good")):
        done = rxe_cli("run", path, "--input", "x=ones", *options)
        assert (done.exit_code, "[2. 2. 2.]" in done.stdout) == (0, True), done.output
    assert rxe_cli("debug", path, "--func", "main", stdin="continue\n").exit_code == 0
    for function in ("bad", "caller"):
        assert rxe_cli("run", path, "--func", function).exit_code != 0
    assert rxe_cli("check", path).exit_code == 1


def test_a_run_judges_the_program_after_the_passes(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "two.py",
        TWO.format(FAULTS["impure"]).replace("def bad", "def bad2").replace("cls.bad", "cls.bad2"),
    )
    done = rxe_cli("run", path, "-p", "ToNonDataflow,LegalizeOps", "--input", "x=ones")
    assert (done.exit_code, "[2. 2. 2.]" in done.stdout) == (0, True), done.output
    wrong = written(tmp_path, "wrong.py", TWO.format(FAULTS["ill-typed"]))
    assert rxe_cli("run", wrong, "--func", "bad", "-p", "ToNonDataflow").exit_code == 2


def test_stages_with_a_damaged_function_are_compared_by_the_others(tmp_path: Path) -> None:
    folder = tmp_path / "dumps"
    folder.mkdir()
    whole = TWO.format("R.add(c, c)")
    for number, text in enumerate(
        (whole, TWO.format(FAULTS["undefined"]), whole.replace("R.add(x, x)", "R.add(x, 3 +)"), whole)
    ):
        (folder / f"{number}_Pass{number}.py").write_text(text)
    for command in ("bisect", "validate"):
        done = rxe_cli(command, str(folder), "--func", "main")
        assert done.exit_code == 3, done.output
        assert "\nskipped: stage 2 Pass2 can't be read: RX0005" in f"\n{done.stderr}"
    (folder / "2_Pass2.py").unlink()
    assert rxe_cli("bisect", str(folder), "--func", "main").exit_code == 0
    (folder / "3_Pass3.py").write_text(whole.replace("R.add(x, x)", "R.multiply(x, x)"))
    done = rxe_cli("bisect", str(folder), "--func", "main", "--format", "json")
    assert (done.exit_code, json.loads(done.stdout)["first_bad"]["number"]) == (1, 3)


def test_a_long_log_is_searched_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heading = (
        'After Running Pass: transform.PassInfo(opt_level=0, name="{}", required=(), traceable=False)\n{}'
    )
    noise = "12:00:01 a line of another program, for me@example.com\n" * 500
    logged = [
        ("A", MODULE),
        ("B", MODULE),
        ("C", AFTER),
        ("tirx.D", MODULE.replace("R.add(x, x)", "R.add(x, z)")),
    ]
    text = noise + noise.join([heading.format(*stage) for stage in logged]) + noise
    path = written(tmp_path, "a.log", text)
    whole = open_build(path)
    monkeypatch.setattr(stages, "LONG", 1000)
    monkeypatch.setattr(stages, "_ABOVE", 3000)
    build = open_build(path)
    assert [(stage.made_by, stage.origin.lines) for stage in build.every] == [
        (stage.made_by, stage.origin.lines) for stage in whole.every
    ]
    assert build.stages[0].module is build.stages[1].module
    wrong = next(n for n, line in enumerate(text.split("\n"), 1) if ", z)" in line)
    assert f"a.log:{wrong}:22: error[RX0014]" in rxe_cli("check", path, "--output-format", "concise").stdout
    Path(path).write_text(text.replace("R.multiply", "R.subtract"))
    with pytest.raises(ParseError, match="has changed since it was opened"):
        _ = build.stages[2].module


def test_a_file_whose_own_name_has_an_at_sign_is_a_path(tmp_path: Path) -> None:
    file = tmp_path / "model@2.py"
    file.write_text(MODULE)
    assert "def main(" in rxe_cli("show", str(file)).stdout
    assert "def main(" in rxe_cli("show", f"{file}@0").stdout  # its stage 0
    missing = rxe_cli("show", str(tmp_path / "model@3.py"))
    assert (missing.exit_code, "No such file" in missing.stderr) == (2, True)
