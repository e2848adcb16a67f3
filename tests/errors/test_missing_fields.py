"""A field that a tuple does not have is one error, wherever the program goes."""

from __future__ import annotations

from pathlib import Path

import pytest

import relax_explorer as rxe
from relax_explorer.core import passes as registry
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.phases.module_properties import PROPERTIES
from relax_explorer.core.session.session import Session
from tests.cli.test_commands import rxe_cli

PROGRAMS = {
    "of a tuple that is written": "t = (x, x)\n        u = t[2]",
    "of a tuple through a copy": "s = (x, x)\n        t = s\n        u = t[2]",
    "of a nested tuple": "t = (x, (x, x))\n        s = t[1]\n        u = s[2]",
    "of a result": "t = R.split(x, 2)\n        u = t[2]",
    "of a parameter": "u = p[2]",
    "of an allocation": 'a = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0))\n        t = (a, a)\n        u = t[2]',
}


def program(body: str) -> str:
    return f"""@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32"), p: R.Tuple(R.Tensor((4,), "float32"))):
        {body}
        return u
"""


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_property_and_no_pass_stumbles(name: str) -> None:
    module = rxe.parse(program(PROGRAMS[name]))
    for rule in PROPERTIES:
        rule.holds(module)
    for each in registry.own():
        with pytest.raises(Failure) as caught:
            rxe.apply_pass(module, each)
        assert caught.value.diagnostics[0].code.id == "RX0215", each


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_told_with_its_place(name: str, tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(program(PROGRAMS[name]))
    for words in (("check",), ("opt", "--passes", "default"), ("run", "--input", "ones")):
        done = rxe_cli(words[0], str(path), *words[1:])
        assert "error[RX0215]" in done.output, done.output
        assert "internal error" not in done.output
        assert done.exit_code in (1, 2)
    session = Session(rxe.parse(program(PROGRAMS[name])), "", str(path))
    assert [problem.code.id for problem in session.stages[0].problems if problem.is_error] == ["RX0215"]
