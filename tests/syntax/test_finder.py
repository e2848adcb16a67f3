"""The programs in texts of any kind: where they stand, what is cut off, what the text around them says, and what is no program."""

from __future__ import annotations

import pytest

from relax_explorer.core.diagnostics import ParseError
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.build_files import build_of_text
from relax_explorer.core.syntax.finder import is_whole, programs
from relax_explorer.core.syntax.parser import parse

HEAD = "# from tvm.script import ir as I\n# from tvm.script import relax as R\n\n"
MODULE = """@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        # a comment
        y = R.add(x, x)

        return y
"""
FUNCTION = """@R.function
def main(x: R.Tensor((3,), "float32")):
    y = R.add(x, x)
    return y
"""
WANTED = parse(MODULE)


def indented(text: str, by: str) -> str:
    return "".join([f"{by}{line}" if line.strip() else line for line in text.splitlines(True)])


def prefixed(text: str, by: str) -> str:
    """Each line behind a prefix, in which `#` stands for the number of the line."""
    return "".join(
        [by.replace("#", str(number)) + line for number, line in enumerate(text.splitlines(True), 8)]
    )


PROMPTS = ">>> " + MODULE.replace("\n", "\n... ").removesuffix("... ")
TEXTS = {
    "alone": MODULE,
    "with its head": HEAD + MODULE,
    "a script": f"import numpy as np\nimport tvm\n\n{MODULE}\nmod = Module\nwith tvm.target.Target('llvm'):\n    ex = tvm.compile(mod)\n",
    "a script without an empty line": f"import os\n{MODULE}ex = tvm.compile(Module)\n",
    "a test function": f"def test_it():\n{indented(MODULE, '    ')}    after = f(Module)\n    assert after\n\n\ntest_it()\n",
    "a method": f"class TestIt:\n    def test_it(self):\n{indented(MODULE, '        ')}\n    def other(self):\n        pass\n",
    "tabs": f"def test_it():\n{indented(MODULE, chr(9))}\tpass\n",
    "a main guard": f"if __name__ == '__main__':\n{indented(MODULE, '  ')}  Module.show()\n",
    "Markdown": f"The module:\n```python\n{MODULE}```\nand it *crashes*.\n",
    "an indented fence": f"1. First\n\n   ```python\n{indented(MODULE, '   ')}   ```\n",
    "an indented paste": indented(HEAD + MODULE, "      "),
    "a docstring": f'"""An example:\n\n{indented(MODULE, "    ")}"""\n',
    "prompts": PROMPTS,
    "a quotation": prefixed(MODULE, "> "),
    "line numbers": prefixed(MODULE, " # "),
    "a log": prefixed(HEAD + MODULE, "[13:00:#] INFO  build.py:#: "),
    "a log of levels": "WARNING:root:before\n" + prefixed(MODULE, "INFO:root:") + "INFO:root:done\n",
    "a log whose first lines are others": f"[13:00:01] /project/src/foo.cc:12: Warning: something\n{HEAD}{MODULE}",
    "a warning inside": MODULE.replace("        y =", "[13:00:01] /project/foo.cc:12: Warning: something\n        y ="),
    "a warning and a comment inside": MODULE.replace("        # a", "2026-01-02 10:00:00 odd\n        # a"),
    "a log behind other lines": "1\n2\n3\n" + prefixed(HEAD + MODULE, "[#] "),
    "colours": MODULE.replace("def", "\x1b[32;01mdef\x1b[39;00m").replace("@", "\x1b[95;03m@"),
    "colours of the whole": f"\x1b[1m{MODULE}\x1b[0m",
    "returns": MODULE.replace("\n", "\r\n"),
    "an address before": f"From: me@example.com\nsee @R.function in the docs, and @tf.function\n\n{MODULE}",
    "a comment of a program before": f"# @I.ir_module\n# class Old:\n#     pass\n{MODULE}",
    "other decorators": MODULE.replace("@I.ir_module", "@tvm.script.ir_module"),
    "an option": MODULE.replace("@I.ir_module", "@I.ir_module(check_well_formed=False)"),
    "a text of several lines inside": MODULE.replace("# a comment", '"""a text\nat the margin\n"""'),
    "no line end": MODULE.removesuffix("\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_one_program_is_found(name: str) -> None:
    build = build_of_text(TEXTS[name].replace("\r\n", "\n"), "file.txt")
    (stage,) = build.stages
    assert stage.made_by == "input"
    assert stage.module.script() == WANTED.script()


@pytest.mark.parametrize("name", TEXTS)
def test_problems_have_the_places_of_the_file(name: str) -> None:
    text = TEXTS[name].replace("R.add(x, x)", "R.add(x, wrong)").replace("\r\n", "\n")
    (stage,) = build_of_text(text, "file.txt").stages
    with pytest.raises(ParseError) as caught:
        _ = stage.module
    (problem,) = caught.value.diagnostics
    shown = [line.replace("\x1b[32;01m", "") for line in text.split("\n")]
    number = next(n for n, line in enumerate(shown, 1) if "wrong" in line)
    assert problem.span is not None
    assert (problem.span.line, problem.span.file_column) == (number, shown[number - 1].index("wrong") + 1)
    assert "wrong" in problem.span.source.line(number)
    assert problem.to_json()["labels"][0]["column"] == problem.span.file_column


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (MODULE + "\n" + MODULE, ["Module", "Module 2"]),
        (MODULE.replace("Module", "Before") + "\n" + MODULE.replace("Module", "After"), ["Before", "After"]),
        (f"## Before\n```\n{MODULE}```\n## After\n```\n{MODULE}```\n", ["Before", "After"]),
        (f"Before:\n{MODULE}\nAfter the pass:\n\n{MODULE}", ["Before", "After the pass"]),
        (f"# after FuseOps\n{MODULE}# -----\n{MODULE}", ["FuseOps", "part 1"]),
        (f"{MODULE}# after FuseOps\n{MODULE}", ["input", "FuseOps"]),
        (FUNCTION + "print(1)\n" + FUNCTION, ["functions", "functions 2"]),
        (f"def test_a():\n{indented(MODULE, '    ')}def test_b():\n{indented(FUNCTION, '    ')}", ["Module", "functions"]),
        (MODULE + FUNCTION, ["Module", "functions"]),
        (f"{FUNCTION}[12:00:00] print_ir.cc:44: PrintIR(here):\n{indented(MODULE, '  ')}", ["input", "here"]),
    ],
)  # fmt: skip
def test_several_programs_are_stages_with_names(text: str, names: list[str]) -> None:
    build = build_of_text(text, "file.txt")
    assert [stage.made_by for stage in build.every] == names
    assert [stage.module.relax_functions.keys() for stage in build.every] == [{"main"}] * len(names)


def test_functions_that_stand_together_are_one_program() -> None:
    other = FUNCTION.replace("main", "other")
    for between in ("", "\n\n", "# a comment\n", "import tvm\n", 'n = TypeVar("n")\n'):
        (found,) = programs(FUNCTION + between + other)
        assert found.body.count("@R.function") == 2


def test_a_text_that_is_one_program_is_left_as_it_is() -> None:
    for text in (MODULE, HEAD + MODULE, f"import tvm\n{MODULE}# the end\n", FUNCTION):
        assert is_whole(text, programs(text))
    for text in (
        f"import numpy\n{MODULE}",
        f"{MODULE}Module.show()\n",
        MODULE + MODULE,
        indented(MODULE, " "),
        "x",
    ):
        assert not is_whole(text, programs(text))


OUTSIDE = """
import config
from sizes import WIDTH as W
N = 4
M, K = 2, N * 3 + 1
dtype = "float32"
shape = (N, -M)
long = (
    1,
    2,
)
Q = size()
n = tir.Var("n", "int64")
m = TypeVar("m")


def other():
    H = G = 1
    G = 2


def build(width, depth=3):
    H = 7
    for step in range(3):
        pass
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor(({}), dtype)):
            return x
    H = 8
"""


@pytest.mark.parametrize(
    ("dims", "shape"),
    [
        ("N", "(4,)"),
        ("M, K", "(2, 13)"),
        ("H", "(7,)"),
        ("m", "(m,)"),
        ("N + H", "(11,)"),
    ],
)
def test_literals_around_a_program_are_read(dims: str, shape: str) -> None:
    assert f'R.Tensor({shape}, dtype="float32")' in _module(OUTSIDE.format(dims + ",")).script().replace(
        "n * 4", "4 * n"
    )


def test_a_name_of_another_function_is_no_length_here() -> None:
    with pytest.raises(ParseError) as failed:
        _module(OUTSIDE.format("G,"))
    assert [item.code.id for item in failed.value.diagnostics] == ["RX0014"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("W", "line 3 imports it"),
        ("Q", "line 12 computes it, and nothing is executed: Q = size()"),
        ("width", "parameter of 'build' in line 22"),
        ("depth", "parameter of 'build'"),
        ("step", "the loop in line 24 sets it"),
    ],
)
def test_what_only_running_the_text_would_tell_is_said_by_name(name: str, said: str) -> None:
    with pytest.raises(ParseError) as caught:
        _module(OUTSIDE.format(f"{name},"))
    (problem,) = caught.value.diagnostics
    assert (problem.code.id, name in problem.message) == ("RX0014", True)
    assert said in problem.help


def test_a_name_that_a_function_binds_hides_the_outer_value() -> None:
    text = "N = 4\nx = 3\n@R.function\ndef main(x: R.Tensor((N,), 'float32')):\n    N = R.add(x, x)\n    return N\n"
    body = _module(text).script().split("def main")[1]
    assert ("N = R.add(x, x)" in body, "return N" in body) == (True, True)


def test_values_have_bounds() -> None:
    for value in (
        "10 ** 10 ** 10",
        "'a' * 10 ** 9",
        "(1,) * 10 ** 9",
        "1 << 10 ** 9",
        "1 / 0",
        "'%099999999d' % 1",
        "2 ** 2000",
    ):
        text = f"N = {value}\n@R.function\ndef main(x: R.Tensor((N,), 'float32')):\n    return x\n"
        with pytest.raises(ParseError) as caught:
            _module(text)
        assert "line 1 computes it" in caught.value.diagnostics[0].help


def _module(text: str) -> IRModule:
    (stage,) = build_of_text(text, "file.txt").stages
    return stage.module


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "RX0002"),
        ("a log\n" * 1000, "RX0002"),
        ("see @R.function in the docs\n", "RX0002"),
        ("x, y = 1, 2\n" * 200_000, "RX0002"),
        ("# @I.ir_module\n# class M:\n#     pass\n", "RX0002"),
        ("def main(x: R.Tensor((3,))):\n    return x\n", "RX0008"),
        ("class Module:\n    @R.function\n    def main(x: R.Tensor((3,))):\n        return x\n", "RX0008"),
        ("@I.irmodule\nclass Module:\n    @R.function\n    def main(x: R.Tensor((3,))):\n        return x\n", "RX0008"),
        ("@I.ir_module\n\n\ndef f():\n    pass\n", "RX0008"),
        ("@R.function\ndef f(", "RX0007"),
        ('{"a": 1}', "RX0008"),
    ],
)  # fmt: skip
def test_a_text_without_a_program_gets_one_sentence(text: str, code: str) -> None:
    (stage,) = build_of_text(text, "file.txt").stages
    with pytest.raises(ParseError) as caught:
        _ = stage.module
    assert [item.code.id for item in caught.value.diagnostics if item.is_error][:1] == [code]


def test_forty_modules_of_a_file_are_forty_stages() -> None:
    text = "".join([f"## Case {number}\n```python\n{MODULE}```\n" for number in range(40)])
    build = build_of_text(text, "cases.md")
    assert [stage.made_by for stage in build.stages] == [f"Case {number}" for number in range(40)]
    assert [stage.origin.lines[0] for stage in build.stages] == [3 + 11 * number for number in range(40)]
    assert len({id(stage.module) for stage in build.stages}) == 1  # equal texts are read once
