"""What TVM saves as JSON reads as the module that TVM prints: samples, chapters of the language, programs of the tests of passes, stages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import relax_explorer as rxe
from relax_explorer.core.syntax.parser import read
from tests.support import mdtest
from tests.support.corpus import refused_by_tvm, stage_name
from tests.support.op_examples import examples
from tests.support.oracle import Oracle
from tests.support.roundtrip import SAMPLES, STAGES, stage_id

TESTS = Path(__file__).resolve().parents[1]
FILES = [*sorted((TESTS / "spec").glob("*.md")), *sorted((TESTS / "oracle/pass_programs").glob("*.md"))]
_OPERAND = re.compile(r"(R\.call_packed\([^()]*, )R\.ExternFunc\((\"[^\"]*\")\)")
LOWERED = ("LegalizeOps", "FuseOps", "FuseTIR", "CallTIRRewrite", "VMShapeLower")
_INT32 = re.compile(r"T\.int32\((-?\d+)\)")


def problem(oracle: Oracle, program: str) -> str | None:
    """The difference between TVM's JSON and TVM's text of a program; None if TVM does not read it, or neither of the two is read."""
    answer = oracle.saved(program)
    if not answer.ok:
        return None
    saved = answer.get()
    text, report = read(saved.text)
    module, problems = read(saved.json)
    if text is None or report.errors:
        return None
    if module is None or problems.errors:
        return str(problems.errors[0].message)
    if rxe.structural_equal(module, text) or rxe.structural_equal(rxe.parse(as_printed(module)), text):
        return ""
    return f"differs\n{module.script()}\n{saved.text}"


def as_printed(module: rxe.IRModule) -> str:
    """The text of a module as TVM prints it: external functions as operands of a call are strings, and numbers of int32 are plain."""
    return _INT32.sub(r"\1", _OPERAND.sub(r"\1\2", module.script()))


@pytest.mark.parametrize("path", SAMPLES, ids=stage_id)
def test_samples(oracle: Oracle, path: Path) -> None:
    assert problem(oracle, path.read_text(encoding="utf-8")) == ""


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_programs_of_the_tests(oracle: Oracle, path: Path) -> None:
    programs = [case.program for case in mdtest.read(path) if case.program]
    found = [problem(oracle, program) for program in programs]
    differing = [text for text in found if text]
    assert not differing, differing[0]
    if len(programs) > 20 and path.stem not in (
        "18_relations",
        "19_shapes",
        "20_contracts",
        "21_match_shape",
    ):
        assert found.count("") > len(found) // 3


@pytest.mark.parametrize("path", [path for path in STAGES if path.stem[3:] in LOWERED], ids=stage_id)
def test_lowered_stages(oracle: Oracle, path: Path) -> None:
    if stage_name(path) in refused_by_tvm():
        oracle.could_not_ask("TVM does not read its own text")
        return
    assert problem(oracle, path.read_text(encoding="utf-8")) == ""


def test_a_call_of_every_operator(oracle: Oracle) -> None:
    """The attributes of all operators, as TVM's classes of attributes have them."""
    asked = {str(example): problem(oracle, example.module()) for example in examples()}
    assert {text: said for text, said in asked.items() if said} == {}
    assert list(asked.values()).count("") > 200
