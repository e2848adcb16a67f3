"""LegalizeOps gives programs that compute what TVM's compute. Other operators that stay have reasons in `differences.md`."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.ops import table
from relax_explorer.core.phases.module_properties import (
    NO_HIGH_LEVEL_OPS,
    PATTERNS_ANNOTATED,
    Property,
    holding,
)
from relax_explorer.core.session.inputs import generated_inputs
from tests.support import op_examples, packed_functions
from tests.support.op_examples import examples
from tests.support.oracle import Applied, Oracle, Pass
from tests.support.pass_agreement import asked, compare, programs

ROWS = (Path(__file__).parent / "differences.md").read_text(encoding="utf-8")
TEXTS = {title: text for title, text in programs().items() if ": " in title}
LOWERED = [op for op in table().values() if op.legalize is not None]
BOOL = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "bool")):
        a = R.sum(x, axis=[1])
        b = R.prod(x)
        return (a, b)
"""
UNKNOWN = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "bool")):
        a = R.max(x, axis=[1])
        b = R.min(x, axis=[0], keepdims=True)
        c = R.mean(x, axis=[1])
        d = R.argmax(x, axis=0)
        e = R.variance(x, axis=[1])
        f = R.sum(x, axis=[0])
        g = R.prod(x, axis=[0])
        return (a, b, c, d, e, f, g)
"""
"""Reductions for which TVM has no kernel, or one that gives zeros."""
SIZE = "`size` in LegalizeOps"
BY_NUMBA = {"median", "vision.non_max_suppression"}
"""Programs with kernels that numba would compile for seconds: they run statement by statement."""
OUTSIDE = {"slice_scatter"}
"""Operators whose example reads beyond a tensor in TVM."""
PRINTED = "`R.print` and `R.assert_op` in LegalizeOps"
SIMPLE = "`multinomial_from_uniform`, `cumsum`"
WEAKER = "LegalizeOps of a value with a weaker annotation"
SHARED = "LegalizeOps of a reshape whose memory"
HELD = "Operators in LegalizeOps whose shape a variable holds"
ROWS_OF = {
    "canonicalize: Effects stay #32": PRINTED,
    "15_operators: A false assertion ends the run (OPS-16) #28": PRINTED,
    "gradients: The operator cumsum #50": SIMPLE,
    "layouts: `R.ewise_fma(Y, o, Y)` #40": SIMPLE,
    "layouts: `R.nn.avg_pool2d(Y, (2, 2), out_layout='NHWC')` #107": SIMPLE,
    "blocks: Blocks that are there already #9": SIMPLE,
    "16_evaluation: Operators return new tensors, unless they are declared to share (EVAL-25) #3": SHARED,
    "01_tensors: An annotation that is wider than the inferred StructInfo stays (SI-67) #3": WEAKER,
    "02_symbolic_shapes: A tensor made in a shape held by a variable has this variable as its shape #8": HELD,
}
"""The rows of programs in which other operators stay than in TVM."""
KEPT = {
    SIMPLE: {
        *("relax.cumsum", "relax.cumprod", "relax.ewise_fma", "relax.nn.avg_pool2d", "relax.nn.conv2d"),
        *("relax.sort", "relax.argsort", "relax.topk", "relax.multinomial_from_uniform", "relax.wrap_param"),
    },
    SIZE: {"relax.shape_of", "relax.call_tir"},
    WEAKER: {"relax.add"},
    PRINTED: {"relax.print", "relax.assert_op"},
    SHARED: {"relax.reshape"},
    HELD: {"relax.full"},
}
"""The operators that one side leaves by a row."""


@pytest.fixture(autouse=True)
def _packed() -> None:
    packed_functions.register()


def both(
    oracle: Oracle, text: str | Applied, name: str = "LegalizeOps", theirs: Pass | None = None
) -> tuple[rxe.IRModule, rxe.IRModule, rxe.IRModule]:
    """A program, our result, and that of TVM."""
    given = rxe.normalize(rxe.parse(text if isinstance(text, str) else text.text))
    result = rxe.normalize(rxe.parse(oracle.apply(asked(text), [theirs or name]).get().text))
    return given, rxe.apply_pass(given, name), result


def run_alike(oracle: Oracle, text: str | Applied, name: str, in_tvm: Pass | None = None) -> bool:
    """True if our result and that of TVM compute what the program computes, and ours has the properties that the pass may not break.

    Kernels do not check all that operators check: where the program stops, both results are compared with each other.
    """
    given, ours, theirs = both(oracle, text, name, in_tvm)
    wanted, mine, other = [values(module, given) for module in (given, ours, theirs)]
    wanted = other if stops(wanted) else wanted
    is_lost = kept(theirs) - kept(ours) - set(rxe.passes.get(name).invalidates)
    return not is_lost and not differ(mine, wanted) and not differ(other, wanted)


def operators(module: rxe.IRModule) -> Counter[str]:
    """How often each operator is called."""
    values = [b.value for fn in module.relax_functions.values() for b in bindings(fn)]
    return Counter(call.op.name for call in values if type(call) is e.Call and type(call.op) is e.OpRef)


def kept(module: rxe.IRModule) -> set[Property]:
    """The properties that LegalizeOps is asked for. TVM notes the patterns of some PrimFuncs."""
    return {item for item in holding(module) if item not in (PATTERNS_ANNOTATED, NO_HIGH_LEVEL_OPS)}


def values(module: rxe.IRModule, given: rxe.IRModule, engine: str = "fused") -> list[Any]:
    """The values that a run returns for inputs of the program, one after the other, or the code of the problem."""
    name = "main" if "main" in given.functions else next(iter(given.relax_functions))
    try:
        return list(_flat(rxe.run(module, name, generated_inputs(given[name], {})[0], engine=engine)))
    except rxe.Failure as failure:
        return [failure.diagnostics[0].code.id]


def _flat(value: Any) -> Any:
    if not isinstance(value, tuple):
        yield value
        return
    for item in value:
        yield from _flat(item)


def stops(found: list[Any]) -> bool:
    """True if a run ended with a problem."""
    return len(found) == 1 and isinstance(found[0], str)


def differ(one: list[Any], other: list[Any]) -> bool:
    """True if two runs give different values."""
    if len(one) != len(other):
        return True
    if stops(one) or stops(other):
        return stops(one) != stops(other)
    for a, b in zip(one, other, strict=True):
        is_array = isinstance(a, np.ndarray) and isinstance(b, np.ndarray)
        near = 1e-2 if is_array and a.dtype.itemsize == 2 else 1e-3
        if not (
            np.allclose(a, b, rtol=near, atol=near / 10, equal_nan=True) if is_array else str(a) == str(b)
        ):
            return True
    return False


def sample() -> dict[str, str]:
    """Programs in which each operator that is lowered occurs: the shortest one that is written, else an example of the operator."""
    shortest: dict[str, str] = {}
    for title, text in sorted(TEXTS.items(), key=lambda item: len(item[1])):
        for name in re.findall(r"R\.([a-z][\w.]*)\(", text):
            shortest.setdefault(name, title)
    some = {"bool": BOOL}
    for op in LOWERED:
        name = op.name.removeprefix("relax.")
        if name in shortest:
            some[shortest[name]] = TEXTS[shortest[name]]
        else:
            some[name] = op_examples.module(
                [next(one for one in examples() if one.op is op).function("main")]
            )
    return some


@pytest.mark.parametrize("part", range(4))
def test_the_results_compute_what_those_of_tvm_compute(oracle: Oracle, part: int) -> None:
    found, kinds = list[str](), Counter[str]()
    for title, text in [*sample().items()][part::4]:
        kind = compare(oracle, text, ("LegalizeOps", {})).kind
        kinds[kind] += 1
        if kind not in ("differ", "refused"):
            continue
        given, ours, theirs = both(oracle, text)
        stay = Counter({name: count for name, count in operators(ours).items() if name not in KEPT[PRINTED]})
        left = (operators(theirs) - stay).keys()
        row = SIZE if title == "size" else SIMPLE
        is_other = stay != operators(theirs) or kept(ours) != kept(theirs)
        if title not in ROWS_OF and is_other and not left <= KEPT[row] | {"relax.call_tir"}:
            found.append(f"{title}: other operators or properties")
        wanted, engine = values(given, given), "reference" if title in BY_NUMBA else "fused"
        if differ(values(ours, given, engine), wanted):
            found.append(f"{title}: other values")
        if title not in OUTSIDE and differ(values(theirs, given, engine), wanted):
            found.append(f"{title}: other values in TVM")
    assert found == []
    assert kinds["differ"] >= 10
    assert kinds["agree"] >= 10
    assert kinds["not asked"] <= 3


@pytest.mark.parametrize("name", ["DispatchSortScan", "DispatchSampling"])
def test_dispatched_operators_compute_what_those_of_tvm_compute(oracle: Oracle, name: str) -> None:
    found, kinds = list[str](), Counter[str]()
    for title, text in TEXTS.items():
        if re.search(r"R\.(sort|argsort|topk|cumsum|cumprod|multinomial_from_uniform)\(", text):
            kind = compare(oracle, text, (name, {})).kind
            kinds[kind] += 1
            if kind in ("differ", "refused") and not run_alike(oracle, text, name):
                found.append(title)
    assert found == []
    assert kinds["differ"] >= (5 if name == "DispatchSortScan" else 0), kinds


@pytest.mark.parametrize("x", [np.eye(2, 3), np.zeros((2, 3)), np.ones((2, 3))], ids=["some", "none", "all"])
def test_reductions_of_bools_compute_what_numpy_does(x: np.ndarray[Any, Any]) -> None:
    x = x.astype("bool")
    ours = rxe.apply_pass(rxe.normalize(rxe.parse(UNKNOWN)), "LegalizeOps")
    assert operators(ours).keys() == {"relax.call_tir"}
    wanted = [x.max(1), x.min(0, keepdims=True), x.any(1), x.argmax(0), x.var(1) != 0, x.any(0), x.all(0)]
    assert not differ(list(rxe.run(ours, "main", [x])), wanted)


def test_the_sample_has_each_operator_that_is_lowered() -> None:
    text = "".join(sample().values())
    missing = [op.name for op in LOWERED if f"R.{op.name.removeprefix('relax.')}(" not in text]
    assert missing == []
    assert f"| {SIZE}" in ROWS


@pytest.mark.parametrize("title", ROWS_OF)
def test_other_operators_stay_for_a_reason(oracle: Oracle, title: str) -> None:
    given, ours, theirs = both(oracle, TEXTS[title])
    mine, other = operators(ours), operators(theirs)
    assert f"| {ROWS_OF[title]}" in ROWS
    left, lowered = (other, mine) if ROWS_OF[title] in (SIMPLE, WEAKER) else (mine, other)
    assert (left - lowered).keys() & KEPT[ROWS_OF[title]]
    assert (left - lowered).keys() <= KEPT[ROWS_OF[title]]
    assert (lowered - left).keys() <= {"relax.call_tir"}
    wanted = values(given, given)
    assert not differ(values(ours, given), wanted)
    assert not differ(values(theirs, given), wanted)
