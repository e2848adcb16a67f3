"""Live comparison with Apache TVM 0.27: the structure of printed programs, the inferred StructInfo, and the results of passes."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.ir.walk import bindings
from tests.oracle.random_programs import compare
from tests.support.corpus import MODELS, Model, refused_by_tvm
from tests.support.oracle import Oracle
from tests.support.roundtrip import SAMPLES, STAGES, module, stage_id

ASKED = STAGES


@pytest.mark.parametrize("path", ASKED, ids=stage_id)
def test_tvm_reads_our_text_as_it_reads_its_own_and_has_the_same_struct_info(
    oracle: Oracle, path: Path
) -> None:
    if f"{path.parent.name}/{path.name}" in refused_by_tvm():
        oracle.could_not_ask("TVM does not read its own text")
        return
    text = path.read_text(encoding="utf-8")  # TVM parses it once for both questions
    ours = module(path).script()
    if without_imports(ours) != without_imports(text):  # else TVM reads the same
        answer = oracle.equal(text, ours).get()
        assert answer.mapped, answer.mismatch
    assert compare(oracle, text) == ("agree", "")


def without_imports(text: str) -> list[str]:
    """The lines of a text. Its imports are comments, and TVM names more modules than it needs."""
    return [line for line in text.splitlines() if not line.startswith("# from ")]


def derived(text: str) -> list[tuple[str, str]]:
    """(variable, StructInfo) of every binding, inferred without the annotations of the bindings."""
    head, body = text.split("with R.dataflow():", 1)
    bare = re.sub(r"(?m)^( +\w+): R\..*? = (?=R\.|\w+(?:\[\d+\])?$)", r"\1 = ", body)
    assert ": R." not in bare
    program = rxe.normalize(rxe.parse(f"{head}with R.dataflow():{bare}"))
    found = [binding.var for fn in program.relax_functions.values() for binding in bindings(fn)]
    return [(var.name, str(var.struct_info)) for var in found if var is not None]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_the_struct_info_of_every_binding_is_tvms(oracle: Oracle, model: Model) -> None:
    theirs = oracle.types(model.input, strip=True).get()
    assert derived(model.input) == [(row.name, _as_relax(row.type)) for row in theirs]


def _as_relax(text: str) -> str:
    """A field of a tuple type in Relax's notation; TVM prints it in TIR's."""
    return re.sub(r"T\.int64\((\d+)\)", r"\1", text).replace("T.Tuple(", "R.Tuple(")


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_our_lowering_is_accepted_and_computes_the_same(oracle: Oracle, model: Model) -> None:
    program = rxe.normalize(rxe.parse(model.input))
    lowered = rxe.run_pipeline(program, ["CanonicalizeBindings", "DeadCodeElimination", "LegalizeOps"])
    text = lowered.script()
    verdict = oracle.well_formed(text).get()
    assert verdict.well_formed, verdict.message
    result = oracle.run(text, model.entry, model.arrays("in")).get()
    np.testing.assert_allclose(result, model.arrays("out")[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("path", SAMPLES, ids=stage_id)
def test_tvm_reads_the_samples_as_we_print_them(oracle: Oracle, path: Path) -> None:
    answer = oracle.parse(rxe.normalize(module(path)).script())
    assert answer.ok, answer.error
