"""The values of a frame are those of all its registers, in text order, at each step of each program; later bindings are not looked at."""

from __future__ import annotations

import pytest

from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.values import Value
from relax_explorer.core.ir import expr as e
from relax_explorer.core.session.inputs import generated_inputs
from relax_explorer.core.session.session import Session
from relax_explorer.core.syntax.parser import parse
from tests.support.roundtrip import SAMPLES

BRANCHED = """
@R.function
def main(x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")):
    a = R.exp(x)
    if c:
        with R.dataflow():
            b = R.negative(a)
            d = R.exp(b)
            R.output(d)
        y = d
    else:
        e = R.sqrt(a)
        y = e
    z = R.exp(y)
    a2 = R.exp(z)
    return a2
"""
PROGRAMS = {
    "branched": BRANCHED,
    **{
        path.stem: path.read_text()
        for path in SAMPLES
        if path.stem[:2] in ("02", "05", "06", "07", "08", "10", "12")
    },
}


def everything(frame: Frame) -> dict[str, Value]:
    """All registers with a value whose scope has not ended."""
    names: dict[str, Value] = {}
    for var, slot in frame.plan.slots.items():
        value = frame.registers[slot]
        if value is not None and frame.in_scope(slot):
            names[var.name if var.name not in names else f"{var.name}#{slot}"] = value
    return names


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("pipeline", ["", "default_build"])
def test_no_value_of_a_frame_is_left_out(name: str, pipeline: str) -> None:
    session = Session(parse(PROGRAMS[name]), pipeline)
    stage = len(session.stages) - 1
    fn = session.stages[0].module.functions["main"]
    assert isinstance(fn, e.Function)
    debugger, seen = session.debug("main", generated_inputs(fn, {})[0], stage), 0
    while not debugger.done and debugger.position < 300:
        debugger.step()
        seen += agree(debugger)
    while debugger.position:
        debugger.back()
        agree(debugger)
    assert seen


def agree(debugger: Debugger) -> int:
    """Compare the values of all frames with their registers; how many there are."""
    count = 0
    for frame in debugger.machine.frames:
        found, expected = frame.values, everything(frame)
        assert list(found) == list(expected)
        assert all(a is b for a, b in zip(found.values(), expected.values(), strict=True))
        count += len(found)
    return count
