"""No check that can fail is called proved, and no run is called impossible that ends: random programs on random lengths."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.shapes.residual import ShapeCheck, shape_checks
from tests.support.random_lengths import program, stop


@pytest.mark.parametrize("seed", range(6))
def test_what_is_proved_never_stops_a_run(seed: int) -> None:
    rng = np.random.default_rng(seed)
    seen: dict[str, int] = {"proved": 0, "stopped": 0, "ended": 0}
    for _ in range(40):
        module = rxe.parse(program(rng))
        if any(item.is_error for item in rxe.check(module)):
            continue
        module = rxe.normalize(module)
        checks = shape_checks(module)
        seen["proved"] += sum(one.answer is Answer.YES for one in checks)
        for _ in range(4):
            lengths = {name: int(rng.choice([1, 2, 4], p=[0.5, 0.2, 0.3])) for name in "nmk"}
            stopped = stop(module, lengths, bool(rng.integers(2)))
            seen["stopped" if stopped is not None else "ended"] += 1
            if stopped is not None:
                assert any(_may_stop(one, stopped) for one in checks), (module.script(), lengths, stopped)
            else:
                certain = [one for one in checks if one.answer is Answer.NO and not _in_branch(module, one)]
                assert not certain, (module.script(), lengths)
    assert min(seen.values()) > 5, seen


def _may_stop(check: ShapeCheck, stopped: object) -> bool:
    """True if a check that was not proved stands in a line that the problem names."""
    lines = {label.span.line for label in stopped.labels if label.span is not None}  # type: ignore[attr-defined]
    span = getattr(check.place, "span", None)
    return check.answer is not Answer.YES and span is not None and span.line in lines


def _in_branch(module: rxe.IRModule, check: ShapeCheck) -> bool:
    """True if the place of a check may not be reached."""
    main = module.relax_functions["main"]
    outside = [binding for block in main.body.blocks for binding in block.bindings]
    return check.function != "main" or not any(binding is check.place for binding in outside)
