"""`python -m tests.shapes.agreement -n 20000`: random programs on random lengths, also 0 and 1.

Values have the lengths that were derived; no pass drops a check that can fail; specialised, dispatching and generic functions
agree, and so do lowered ones with and without the checks that are proved.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

import relax_explorer as rxe
from relax_explorer.core.arith.witness import number
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.exec.debugger import debug
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.passes.pipeline import run_step, steps
from relax_explorer.core.passes.properties import holding
from tests.support.random_lengths import outcome, program, value

LENGTHS = (0, 1, 2, 4)
_VARIANTS = (
    (("main", ("n=4,m=4", "n=0", "m=1")), ("same", ("b=4", "a=4,b=4"))),
    (("same", ("a=0", "b=1", "a=2,b=2")), ("main", ("k=1", "k=2,n=2"))),
)


def findings(seed: int, counts: Counter[str], runs: int = 4) -> Iterator[str]:
    """What disagrees in the program of a seed."""
    rng = np.random.default_rng(seed)
    text = program(rng)
    if any(item.is_error for item in rxe.check(rxe.parse(text))):
        counts["refused"] += 1
        return
    module = rxe.normalize(rxe.parse(text))
    others = dict(_others(module, seed))
    counts["programs"] += 1
    for _ in range(runs):
        lengths = {name: int(rng.choice(LENGTHS)) for name in "nmk"}
        if rng.integers(2):  # most runs with lengths that differ stop
            lengths = dict.fromkeys(lengths, lengths["n"])
        flag = bool(rng.integers(2))
        old = outcome(module, lengths, flag)
        counts["stopped" if isinstance(old, Diagnostic) else "ended"] += 1
        for name, other in others.items():
            counts["compared"] += 1
            if not _agree(old, outcome(other, lengths, flag)):
                yield f"seed {seed}, {lengths}, {flag}: {name} differs\n{text}"
        for told in _wrong_lengths(module, lengths, flag, counts):
            yield f"seed {seed}, {lengths}, {flag}: {told}\n{text}"


def _others(module: rxe.IRModule, seed: int) -> Iterator[tuple[str, rxe.IRModule]]:
    """Modules that compute the same."""
    yield "EliminateShapeChecks", rxe.apply_pass(module, "EliminateShapeChecks")
    new, is_dispatched = module, bool(seed % 3)
    try:
        for name, variants in _VARIANTS[seed % 2]:
            options: dict[str, Any] = {"dispatch": True} if is_dispatched else {"public": True}
            new = rxe.apply_pass(new, "SpecializeShapes", func_name=name, bindings=list(variants), **options)
        yield "SpecializeShapes", new
    except Failure:
        new = module  # lengths contradict the program
    lowered = new
    for step in steps("LambdaLift,zero,default_build"):
        lowered = run_step(step, lowered, True, holding(lowered)).module
    yield "lowering", lowered
    yield "EliminateShapeChecks after lowering", rxe.apply_pass(lowered, "EliminateShapeChecks")


def _agree(old: Any, new: Any) -> bool:
    if isinstance(old, Diagnostic) or isinstance(new, Diagnostic):
        return isinstance(old, Diagnostic) and isinstance(new, Diagnostic)
    return old.shape == new.shape and bool(np.array_equal(old, new, equal_nan=True))


def _wrong_lengths(
    module: rxe.IRModule, lengths: dict[str, int], flag: bool, counts: Counter[str]
) -> Iterator[str]:
    """Values of a run whose lengths are not those of their StructInfo."""
    shapes = [param.struct_info.dims or () for param in module.relax_functions["main"].params[:-1]]
    arrays = [np.ones([value(str(dim), lengths) for dim in dims], "float32") for dims in shapes]
    try:
        debugger = debug(module, "main", [*arrays, np.asarray(flag)])
        while not debugger.done:
            frame, event = debugger.frame, debugger.step()
            var = None if event.binding is None or event.kind != "bind" else event.binding.var
            info = None if var is None else var.struct_info
            if isinstance(info, s.TensorStructInfo) and info.dims is not None:
                derived = tuple([number(dim, frame.dims) for dim in info.dims])
                counts["derived"] += 1
                if derived != event.value.shape:
                    yield f"{event} is {event.value.shape}, and {info} says {derived}"
    except Failure:
        return  # the run stops; what it bound before was looked at


def main() -> int:
    """Run the programs; 1 if something disagrees."""
    parser = argparse.ArgumentParser(prog="python -m tests.shapes.agreement", description=__doc__)
    parser.add_argument("-n", type=int, default=1000, help="programs")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    arguments = parser.parse_args()
    counts: Counter[str] = Counter()
    start, wrong = time.monotonic(), 0
    for seed in range(arguments.seed, arguments.seed + arguments.n):
        for text in findings(seed, counts):
            wrong += 1
            print(text, flush=True)
        if (seed + 1) % 100 == 0:
            print(dict(counts), f"{time.monotonic() - start:.0f} s", wrong, "findings", flush=True)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
