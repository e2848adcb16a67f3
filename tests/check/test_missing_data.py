"""Text printed without show_meta=True: one diagnostic, trusted annotations, and real errors are still found."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

import relax_explorer as rxe
from relax_explorer.core.syntax.printer import printed_module
from relax_explorer.ui.cli.main import group
from tests.support.roundtrip import STAGES, module, stage_id

WITH_DATA = [path for path in STAGES if 'metadata["' in path.read_text()]


def codes(text: str) -> Counter[str]:
    return Counter(item.code.id for item in rxe.check(rxe.parse(text)))


@pytest.mark.parametrize("path", WITH_DATA, ids=stage_id)
def test_the_corpus_without_its_data_has_one_problem_more(path: Path) -> None:
    whole = module(path)
    text = "\n".join(line.text for line in printed_module(whole, metadata=False).lines)
    expected = Counter(item.code.id for item in rxe.check(whole))
    assert codes(text) == expected + Counter({"RX0024": 1})


HEAD = '@R.function\ndef main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 4), "float32"):\n'
DATA = 'metadata["ir.GenericConst"][0]'


@pytest.mark.parametrize(
    "body",
    [
        f'y: R.Tensor((2, 4), "float32") = R.matmul(x, {DATA})\nreturn y',
        f"y = R.matmul(x, {DATA})\nreturn y",
        f"w = {DATA}\ny = R.matmul(x, w)\nz = R.nn.softmax(y)\nreturn z",
        f't: R.Tuple(R.Tensor((2, 4), "float32"), R.Tensor((1,), "int8")) = ({DATA}, {DATA})\nreturn t[0]',
    ],
)
def test_what_rests_on_missing_data_is_trusted(body: str) -> None:
    text = HEAD + "".join(f"    {line}\n" for line in body.split("\n"))
    assert codes(text) == {"RX0024": 1}


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (f'y: R.Tensor((2, 4), "float32") = R.matmul(x, {DATA})\nz = R.add(y, x)\nreturn y', "RX0204"),
        (f'y: R.Tensor((3, 2), "float32") = R.add(x, x)\nz = {DATA}\nreturn R.matmul(x, z)', "RX0109"),
        (
            f'y: R.Tensor((2, 4), "float32") = {DATA}\nz: R.Tensor((2, 5), "float32") = R.add(y, y)\nreturn y',
            "RX0109",
        ),
    ],
)
def test_other_errors_are_still_found(body: str, code: str) -> None:
    text = HEAD + "".join(f"    {line}\n" for line in body.split("\n"))
    assert code in codes(text)


def test_a_run_says_what_it_lacks(tmp_path: Path) -> None:
    path = tmp_path / "p.py"
    path.write_text(HEAD + f"    return R.matmul(x, {DATA})\n")
    done = CliRunner().invoke(group, ["run", str(path)])
    assert done.exit_code == 2, done.exception
    assert "RX0024" in done.stderr
    assert "show_meta=True" in done.stderr
    assert "RX0901" not in done.stderr


def test_constants_without_data_are_told_from_those_with_data() -> None:
    """A pass that folds constants gives the text a metadata block, and its numbers are those of the new constants."""
    text = (
        HEAD.replace("(2, 4)", "(2, 3)")
        + f"    a = R.add(R.zeros((2, 3), 'float32'), R.ones((2, 3), 'float32'))\n    b = R.add(x, {DATA})\n    return R.add(a, b)\n"
    )
    folded = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "FoldConstant", everywhere=True)
    printed = folded.script()
    assert 'metadata["ir.GenericConst"][0]' in printed
    assert 'metadata["ir.GenericConst without data"][0]' in printed
    again = rxe.parse(printed)
    assert again.script() == printed
    assert rxe.structural_equal(again, folded)
    assert [item.code.id for item in rxe.check(again)].count("RX0024") == 1
