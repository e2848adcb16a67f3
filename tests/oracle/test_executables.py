"""Every instruction of what TVM builds has the binding of the last Relax stage that it came from."""

from __future__ import annotations

from pathlib import Path

import pytest

import relax_explorer as rxe
from relax_explorer.core.session.compiled import expected, linked
from relax_explorer.core.syntax.beginnings import is_executable
from relax_explorer.core.syntax.executable import read_executable
from tests.support.corpus import MODELS, Model
from tests.support.oracle import Oracle, Program
from tests.support.roundtrip import SAMPLES

BUILT = [path for path in SAMPLES if path.stem in ("05_if", "07_closure", "08_tuple", "12_transformer_layer")]


def check(oracle: Oracle, program: Program) -> None:
    built = oracle.executable(program).get()
    assert is_executable(built.text)
    assert is_executable(built.python)
    executable, module = read_executable(built.text), rxe.parse(built.stage)
    other = read_executable(built.python)
    assert {name: list(map(str, fn.instructions)) for name, fn in executable.functions.items()} == {
        name: list(map(str, fn.instructions)) for name, fn in other.functions.items()
    }
    for name, places in linked(executable, module).places.items():
        assert None not in places, name
        wanted = [call.name for call in expected(module.relax_functions[name], module)]
        given = [item.callee or item.kind for item in executable.functions[name].instructions]
        assert given == wanted


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_models(oracle: Oracle, model: Model) -> None:
    check(oracle, model.input)


@pytest.mark.parametrize("path", BUILT, ids=lambda path: path.stem)
def test_samples(oracle: Oracle, path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    check(oracle, oracle.apply(text, ["LambdaLift"]).get().handle if path.stem == "07_closure" else text)
