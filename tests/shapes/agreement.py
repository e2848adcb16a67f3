"""`python -m tests.shapes.agreement -n 20000`: random programs on random lengths, also 0 and 1.

Each run ends with numpy's result, or stops at the line that numpy's lengths contradict. So do the program without the checks that
are proved, its specialised and dispatching functions, and the lowered ones. Values have the lengths that were derived, the most
specific variant is called, and no fact is forgotten.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

import relax_explorer as rxe
from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.arith.simplify import number
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.exec.debugger import debug
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.passes.pipeline import run_step, steps
from relax_explorer.core.shapes.residual import shape_checks
from tests.support.length_reference import reference
from tests.support.random_lengths import outcome, program, value

LENGTHS = (0, 1, 2, 4)
_VARIANTS = (
    (("main", ("n=4,m=4", "n=0", "m=1")), ("same", ("b=4", "a=4,b=4"))),
    (("same", ("a=0", "b=1", "a=2,b=2")), ("main", ("k=1", "k=2,n=2"))),
)


def findings(seed: int, counts: Counter[str], runs: int = 4, rich: bool = False) -> Iterator[str]:
    """What disagrees in the program of a seed. `rich` adds a nested function, and conditions on lengths."""
    rng = np.random.default_rng(seed)
    text = program(rng, rich)
    parsed = rxe.parse(text)
    if any(item.is_error for item in rxe.check(parsed)):
        counts["refused"] += 1
        return
    module = rxe.normalize(parsed)
    others = dict(_others(module, seed))
    counts["programs"] += 1
    for told in _forgotten(text, module):
        yield f"seed {seed}: {told}\n{text}"
    for _ in range(runs):
        lengths = {name: int(rng.choice(LENGTHS)) for name in "nmk"}
        if rng.integers(2):  # most runs with lengths that differ stop
            lengths = dict.fromkeys(lengths, lengths["n"])
        flag = bool(rng.integers(2))
        expected = reference(text, lengths, flag)
        counts["stopped" if isinstance(expected, int) else "ended"] += 1
        for name, other in {"the program": module, **others}.items():
            counts["compared"] += 1
            told = _disagreement(expected, outcome(other, lengths, flag), is_lowered="lowering" in name)
            if told:
                yield f"seed {seed}, {lengths}, {flag}: {name}: {told}\n{text}"
        for name, other in (("the program", module), ("SpecializeShapes", others.get("SpecializeShapes"))):
            for told in _wrong_lengths(other, lengths, flag, counts) if other is not None else ():
                yield f"seed {seed}, {lengths}, {flag}: {name}: {told}\n{text}"


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
    for step in steps(
        "LambdaLift,zero,default_build"
    ):  # the runs tell whether it is right; other tests ask for properties
        lowered = run_step(step, lowered, verify=False).module
    yield "lowering", lowered
    yield "EliminateShapeChecks after lowering", rxe.apply_pass(lowered, "EliminateShapeChecks")


def _disagreement(expected: np.ndarray | int, found: Any, is_lowered: bool) -> str:
    """How an outcome differs from numpy's: another value, another line that stops the run, or a fault of ours."""
    if isinstance(found, Diagnostic):
        if found.code.id.startswith("RX09"):
            return str(found)
        if not isinstance(expected, int):
            return f"it stops: {found}"
        lines = [label.span.line for label in found.labels if label.span is not None]
        return "" if is_lowered or expected in lines else f"line {expected} should stop it, not {found}"
    if isinstance(expected, int):
        return f"line {expected} should stop it"
    if expected.shape != found.shape:
        return f"the result is {found.shape}, not {expected.shape}"
    return "" if np.array_equal(expected, found, equal_nan=True) else "the result has other elements"


def _forgotten(text: str, module: rxe.IRModule) -> Iterator[str]:
    """Casts that remain although the same lengths were checked before, of the same value: what was known there was lost."""
    lines = text.splitlines()
    repeated = [
        f"again{number} = {cast[1]}"
        for number, line in enumerate(lines)
        if (cast := re.fullmatch(r" {8}v\d+ = (R\.match_cast\(.*\))", line)) is not None
    ]
    if not repeated:
        return
    longer = [*lines[:-1], *[" " * 8 + line for line in repeated], lines[-1]]
    again = rxe.normalize(rxe.parse("\n".join(longer)))
    for check in shape_checks(again):
        if check.function == "main" and check.kind == "match_cast" and check.answer is Answer.UNKNOWN:
            var = getattr(check.place, "var", None)
            if var is not None and var.name.startswith("again"):
                yield f"{var.name} is checked again: {check.text}"


def _wrong_lengths(
    module: rxe.IRModule, lengths: dict[str, int], flag: bool, counts: Counter[str]
) -> Iterator[str]:
    """Values of a run whose lengths are not those of their StructInfo, and variants that a more specific one should replace."""
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
            if not debugger.done and debugger.frame is not frame:
                yield from _less_specific(module, debugger.frame, counts)
    except Failure:
        return  # the run stops; what it bound before was looked at


def _less_specific(module: rxe.IRModule, frame: Any, counts: Counter[str]) -> Iterator[str]:
    """The variant of a function that was entered, if the lengths of its arguments fit one with more known lengths."""
    entered = frame.name
    base = entered.split("_")[0]
    generic = module.relax_functions.get(f"{base}_generic")
    if generic is None or entered == base:
        return
    counts["variants"] += 1
    lengths = {}
    for param, argument in zip(generic.params, frame.function.params, strict=True):
        shape = frame.value_of(argument).shape
        for dim, length in zip(getattr(param.struct_info, "dims", None) or (), shape, strict=True):
            lengths.setdefault(str(dim), length)
    fitting = [
        name for name in module.relax_functions if name.startswith(f"{base}_") and _fits(name, lengths)
    ]
    best = max(len(_bindings(name)) for name in fitting)
    if len(_bindings(entered)) < best:
        yield f"{entered} is called with {lengths}, which fit {' and '.join(fitting)}"


def _bindings(name: str) -> list[tuple[str, str]]:
    """The lengths in the name of a variant, such as `same_a4_b4`."""
    return re.findall(r"_([a-z])(\d+)", name)


def _fits(name: str, lengths: dict[str, int]) -> bool:
    return all(lengths[dim] == int(length) for dim, length in _bindings(name))


def main() -> int:
    """Run the programs; 1 if something disagrees."""
    parser = argparse.ArgumentParser(prog="python -m tests.shapes.agreement", description=__doc__)
    parser.add_argument("-n", type=int, default=1000, help="programs")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--rich", action="store_true", help="with nested functions and conditions on lengths")
    arguments = parser.parse_args()
    counts: Counter[str] = Counter()
    start, wrong = time.monotonic(), 0
    for seed in range(arguments.seed, arguments.seed + arguments.n):
        for text in findings(seed, counts, rich=arguments.rich):
            wrong += 1
            print(text, flush=True)
        if (seed + 1) % 100 == 0:
            print(dict(counts), f"{time.monotonic() - start:.0f} s", wrong, "findings", flush=True)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
