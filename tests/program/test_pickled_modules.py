"""Modules can be pickled and copied, as process pools and notebooks do."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest

import relax_explorer as rxe
from tests.support.roundtrip import SAMPLES


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
@pytest.mark.parametrize("passes", ["", "LegalizeOps", "LegalizeOps,LambdaLift,default_build"])
def test_a_pickled_module_is_the_same_program(path: Path, passes: str) -> None:
    module = rxe.normalize(rxe.parse(path.read_text(encoding="utf-8")))
    if passes:
        module = rxe.run_pipeline(module, passes)
    for again in (pickle.loads(pickle.dumps(module)), copy.deepcopy(module)):
        assert rxe.structural_equal(again, module)
        assert again.script() == module.script()
        assert (again.name, again.dialect) == (module.name, module.dialect)


def test_kept_places() -> None:
    """Diagnostics of a pickled module point at its text."""
    module = rxe.parse(
        '@R.function\ndef main(x: R.Tensor((2, 3), "float32")):\n    y = R.matmul(x, x)\n    return y\n'
    )
    again = pickle.loads(pickle.dumps(module))
    (mine,), (theirs,) = rxe.check(module), rxe.check(again)
    assert (mine.code, mine.message) == (theirs.code, theirs.message)
