"""Run calls of operators three times: `python -m tests.oracle.operator_values [NAME …] [--dtypes f16,i8,…]`.

For random operands the following must agree: the result of `evaluate`; our lowering, compiled here by numba and by TVM
for its virtual machine; and TVM's own lowering. Each example of an operator runs in every dtype that fits.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import relax_explorer as rxe
from relax_explorer.core.ops import table
from relax_explorer.core.ops.kit.decl import Op
from tests.support.op_calls import differences, short, words
from tests.support.op_examples import DTYPES as KINDS
from tests.support.op_examples import Example, examples, module
from tests.support.op_values import AT_EDGES, EDGED, Setting, apart, as_tuple, compiled, setting
from tests.support.oracle import Answer, Oracle

AGREE, DIFFER, NO_TVM, REFUSED, UNEXPLAINED = (
    "agree",
    "differ",
    "TVM can't run",
    "no such dtype",
    "unexplained",
)
OUTCOMES = (AGREE, DIFFER, NO_TVM, REFUSED, UNEXPLAINED)
DTYPES = ("f16", "f32", "f64", "bf16", "f8", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool")
EDGE_SEEDS = 3
SIZES = dict.fromkeys("abcdhkmnstw", 3)
_LEAVES = ("object", "any")
_FAULT = "fault"
Run = tuple[Example, Setting, Any]
"""A call with values and the machine's result; None if it is refused."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of one call; `text` describes the difference."""

    call: Example
    kind: str
    text: str = ""

    def __str__(self) -> str:
        return f"{short(self.call.op)} {words(self.call)}: {self.text}"


def in_dtype(example: Example, dtype: str) -> Example | None:
    """The example with the dtype of its first tensor, after conditions, replaced everywhere; None if it has no tensor."""
    kinds = [m[1] for text in example.operands for m in re.finditer(r"\b([a-z]+\d*)\[", text)]
    found = next((kind for kind in kinds if kind != "bool"), kinds[0] if kinds else None)
    if found is None or found in _LEAVES:
        return _with_dtype(example, dtype)
    operands = tuple(re.sub(rf"\b{found}\[", f"{dtype}[", text) for text in example.operands)
    changed = replace(example, operands=operands, result="")
    return replace(changed, text=words(changed))


def _with_dtype(example: Example, dtype: str) -> Example | None:
    """An example without tensors, with another `dtype=`. Without this attribute it is the example itself for f32, else None."""
    if not any(text.startswith("dtype=") for text in example.attributes):
        return example if dtype == "f32" else None
    attributes = tuple(
        f'dtype="{KINDS[dtype]}"' if text.startswith("dtype=") else text for text in example.attributes
    )
    changed = replace(example, attributes=attributes, result="")
    return replace(changed, text=words(changed))


def outcomes(op: type[Op], dtype: str, oracle: Oracle, *, numba: bool = True) -> Iterator[Outcome]:
    """One outcome for each example of an operator in a dtype; without `numba` the lowering runs on TVM only."""
    own = [example for example in examples() if example.op is op]
    yield from _compared_calls([call for item in own if (call := in_dtype(item, dtype))], oracle, numba)


def as_written(calls: Sequence[Example], oracle: Oracle) -> Iterator[Outcome]:
    """One outcome for each call in its own dtypes, on TVM only."""
    yield from _compared_calls(calls, oracle, False)


def _compared_calls(calls: Sequence[Example], oracle: Oracle, numba: bool) -> Iterator[Outcome]:
    runs: list[Run] = []
    for call, seed in [(one, seed) for one in calls for seed in range(1 + EDGE_SEEDS * _has_edges(one))]:
        at = accepted(call, seed)
        if at is None:
            if not seed:
                yield Outcome(call, REFUSED)
            continue
        try:
            made, ours, stops = _twice(at, numba)
        except Exception as fault:  # noqa: BLE001  # a fault is an answer too
            yield Outcome(call, UNEXPLAINED, f"fault: {' '.join(repr(fault).split())[:300]}")
            continue
        if made is None and ours is not None:
            yield explained(call, f"numba: {as_tuple(ours)[0].ravel()[:6]}, evaluate refuses it")
            continue
        if made is not None and stops:
            yield explained(call, f"numba refuses it: {stops}")
            continue
        if ours is not None and (text := apart(ours, made)):
            yield explained(call, f"numba and evaluate: {text}")
            continue
        runs.append((call, at, made))
    yield from _on_tvm(runs, oracle)


def _twice(at: Setting, numba: bool) -> tuple[Any, Any, str]:
    """The results of the call and of its lowering, each None if it stops or is missing, and the reason why the lowering stops."""
    made = ours = None
    try:
        made = run(at)
    except rxe.Failure as stop:  # then TVM must not compute a value either
        if stop.diagnostics[0].code.id.startswith("RX09"):
            raise  # RX09 is a fault of this project, not a refusal
    try:
        if numba:
            ours = _with_numba(at)
    except (rxe.Failure, ZeroDivisionError) as stop:
        return made, None, " ".join(str(stop).split())[:300]
    return made, ours, ""


def _has_edges(call: Example) -> bool:
    """True if the operator is defined on every number, so that extreme values are worth trying."""
    family = call.op.__module__.rsplit(".", 1)[-1]
    return family in EDGED and any(q.name in AT_EDGES for q in call.op.operands)


def accepted(call: Example, seed: int) -> Setting | None:
    """The call with values, including extreme ones unless the seed is 0; None if its types are refused."""
    try:
        at = setting(call, SIZES, seed, edges=seed > 0)
    except rxe.Failure:
        return None
    return None if any(problem.is_error for problem in rxe.check(at.module, profile="tvm")) else at


def run(at: Setting) -> Any:
    """The machine's result of the call."""
    return rxe.run(at.module, "main", at.inputs())


def _with_numba(at: Setting) -> Any:
    """The result of the lowering of the call, computed here; None if it has none."""
    op = table()[at.call.op.name]
    if op.unfold is None:
        return None if op.legalize is None else compiled(at)
    lowered = rxe.apply_pass(rxe.normalize(at.module), "LegalizeOps")
    return rxe.run(lowered, "main", at.inputs())


def _on_tvm(runs: Sequence[Run], oracle: Oracle) -> Iterator[Outcome]:
    if not runs:
        return
    ours, theirs = _answers(runs, oracle, _lowered), _answers(runs, oracle, lambda text: text)
    for (call, at, made), *found in zip(runs, ours, theirs, strict=True):
        if found[0].kind == _FAULT:
            yield Outcome(call, UNEXPLAINED, f"fault in the lowering: {found[0].error}")
            continue
        texts = [_compared("our lowering", found[0], made), _compared("TVM's own", found[1], made)]
        wrong = "; ".join(text for text in texts if text)
        wrong += " (at the edges of the dtype)" if wrong and at.edges else ""
        if wrong and not texts[0] and _breaks_its_type(found[1], made):
            yield Outcome(call, DIFFER, "TVM's value is not of the type that TVM derives")
        elif wrong:
            yield explained(call, wrong)
        else:
            refused = [
                f"{name}: {' '.join(answer.error.split())[:300]}"
                for name, answer in zip(("our lowering", "TVM's own"), found, strict=True)
                if not answer.ok
            ]
            yield Outcome(call, NO_TVM if refused else AGREE, "; ".join(refused))


def _lowered(text: str) -> str:
    return rxe.apply_pass(rxe.normalize(rxe.parse(text)), "LegalizeOps").script()


def _answers(runs: Sequence[Run], oracle: Oracle, program: Callable[[str], str]) -> list[Answer[Any]]:
    """TVM's result of each run, all in one program; if it has no answer, the calls, and then the runs of one, are asked separately."""
    names = {id(call): f"example{n}" for n, (call, _, _) in enumerate(runs)}
    text = module(
        [call.function(names[id(call)]) for call in {id(call): call for call, _, _ in runs}.values()]
    )
    answer: Answer[list[Answer[Any]]]
    try:
        answer = oracle.run_each(program(text), [(names[id(call)], at.inputs()) for call, at, _ in runs])
    except Exception as fault:  # noqa: BLE001  # as above
        answer = Answer(error=" ".join(repr(fault).split())[:300], kind=_FAULT)
    if answer.ok:
        return answer.get()
    parts = [[run for run in runs if id(run[0]) == key] for key in names]
    if len(parts) == 1 and answer.kind in ("crashed", "timeout"):
        parts = [[run] for run in runs]
    if len(parts) == 1:  # other values do not help a failed compilation
        return [Answer(error=answer.error, kind=answer.kind)] * len(runs)
    return [found for part in parts for found in _answers(part, oracle, program)]


def _compared(name: str, answer: Answer[Any], made: Any) -> str:
    if not answer.ok:
        return ""
    theirs = tuple(_array(item, number, made) for number, item in enumerate(as_tuple(answer.get())))
    text = (
        apart(theirs, made, added_up=True)
        if made is not None
        else f"{theirs[0].ravel()[:6]}, here it is refused"
    )
    return f"{name} on TVM: {text}" if text else ""


def _array(item: Any, number: int, made: Any) -> Any:
    """A result of TVM; a scalar comes as a Python number without a dtype."""
    ours = as_tuple(made)[number : number + 1]
    is_scalar = isinstance(item, (int, float)) and ours and isinstance(ours[0], np.generic)
    return np.asarray(item, ours[0].dtype if is_scalar else None)


def _breaks_its_type(answer: Answer[Any], made: Any) -> bool:
    """True if TVM's value has another dtype or shape than TVM's type; our value has it, and the types were compared."""
    theirs = as_tuple(answer.get())
    if made is None or len(theirs) != len(as_tuple(made)):
        return made is not None
    pairs = zip(theirs, as_tuple(made), strict=True)
    return any((np.shape(x), np.asarray(x).dtype) != (y.shape, y.dtype) for x, y in pairs)


def explained(call: Example, text: str) -> Outcome:
    row = next((row for row in differences() if row.kind == "values" and row.explains(call)), None)
    return Outcome(call, UNEXPLAINED if row is None else DIFFER, text)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.operator_values", description=__doc__)
    parser.add_argument("names", nargs="*", help="operators; all when none is named")
    parser.add_argument("--dtypes", default=",".join(DTYPES))
    parser.add_argument("-v", action="store_true", help="say why TVM can't run a call")
    parser.add_argument("--tvm-only", action="store_true", help="leave out what numba compiles")
    arguments = parser.parse_args()
    chosen = [table()[f"relax.{name}"] for name in arguments.names] or list(table().values())
    oracle, total = Oracle(), Counter[str]()
    print(f"{'operator':<40}" + "".join(f"{kind:>15}" for kind in OUTCOMES))
    for op in chosen:
        if op.evaluate is None:
            continue
        found = [
            item
            for dtype in arguments.dtypes.split(",")
            for item in outcomes(op, dtype, oracle, numba=not arguments.tvm_only)
        ]
        counts = Counter(item.kind for item in found)
        total += counts
        print(f"{short(op):<40}" + "".join(f"{counts[kind]:>15}" for kind in OUTCOMES), flush=True)
        told = [item for item in found if item.kind == UNEXPLAINED or (arguments.v and item.kind == NO_TVM)]
        for text in dict.fromkeys(map(str, told)):
            print(f"    {text}", flush=True)
    oracle.close()
    print(f"{len(chosen):<40}" + "".join(f"{total[kind]:>15}" for kind in OUTCOMES))
    return int(bool(total[UNEXPLAINED]))


if __name__ == "__main__":
    raise SystemExit(main())
