"""Rounding is no fault: right models pass whatever rounding does, and planted faults are found however small."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import relax_explorer as rxe
from relax_explorer.core.exec.packed import packed_function
from relax_explorer.core.session import samples
from relax_explorer.core.session.bisect import Bisection, SameOutput, bisect
from relax_explorer.core.session.builds import Build
from relax_explorer.core.session.compare import against
from relax_explorer.core.session.difference import Tolerance
from relax_explorer.core.session.recorded import built
from relax_explorer.core.session.recording import finished
from relax_explorer.core.session.samples import Sample, sample_run
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.shadows import Shadows
from relax_explorer.core.session.stages import Stage
from relax_explorer.core.session.validate import Cell, validate
from relax_explorer.core.session.verdict import Decider
from relax_explorer.ui.cli.main import group
from tests.support.deep_models import decoder

PIPELINE = "zero,default_build"


def build(text: str, passes: str = PIPELINE) -> Build:
    session = Session(rxe.parse(text), passes)
    session.run_all()
    return built(session)


def seeds(count: int, **lengths: int) -> list[Sample]:
    return [Sample(tuple(lengths.items()), seed) for seed in range(count)]


def cells(source: Build, samples: list[Sample], tolerance: Tolerance | None = None) -> list[Cell]:
    rows = validate(source, "main", samples, tolerance or Tolerance())
    return [cell for row in rows for cell in row.cells]


def two(
    right: str, wrong: str, count: int = 1, tolerance: Tolerance | None = None, **lengths: int
) -> Bisection:
    stages = (Stage(0, "right", right), Stage(1, "wrong", wrong))
    test = SameOutput(stages[0], "main", seeds(count, **lengths), tolerance or Tolerance())
    return bisect(Build(stages), test)


def decided(found: Bisection) -> Decider:
    judgement = found.attempts[-1].judgement
    assert judgement is not None
    return judgement.by


def place(found: Bisection) -> str:
    """The first variable that differs."""
    assert found.comparison is not None
    verdict = found.comparison.first
    assert verdict is not None
    assert verdict.first is not None
    side = verdict.first.b or verdict.first.a
    assert side is not None
    return side.name


def main(body: str, params: str, more: str = "") -> str:
    lines = "\n".join(f"            {line}" for line in body.split("\n"))
    result = body.rsplit("\n", 1)[-1].split(" ")[0]
    head = f"@I.ir_module\nclass M:\n{more}\n    @R.function\n    def main({params}):\n        with R.dataflow():\n"
    return f"{head}{lines}\n            R.output({result})\n        return {result}\n"


# -- right models -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_no_stage_of_a_deep_decoder_is_blamed(dtype: str) -> None:
    found = cells(build(decoder(8, dtype=dtype)), seeds(3, s=5))
    assert [cell.reason for cell in found if cell.reason] == []
    out = [cell for cell in found if cell.worst is not None]
    assert out, "the fixed bound must not be enough, or this tests nothing"
    for cell in out:
        assert cell.judgement is not None
        assert cell.judgement.by is Decider.SHADOW
        assert cell.judgement.grows


@pytest.mark.parametrize("layers", [32])
def test_no_stage_of_a_deeper_decoder_is_blamed(layers: int) -> None:
    found = cells(build(decoder(layers)), seeds(1, s=5))
    assert len(found) > 10
    assert [cell.reason for cell in found if cell.reason] == []


RIGHT = {
    "softmax near saturation": (
        'a = R.matmul(x, x)\nb = R.multiply(a, R.const(10.0, "float32"))\nc = R.nn.softmax(b)\ny = R.matmul(c, x)',
        'x: R.Tensor((64, 64), "float32")',
    ),
    "variance near 0": (
        'o = R.ones((16, 63), "float32")\na = R.multiply(x, o)\ny = R.nn.layer_norm(a, g, g, axes=[-1], epsilon=1e-12)',
        'x: R.Tensor((16, 1), "float32"), g: R.Tensor((63,), "float32")',
    ),
    "0 by 0": (
        'o = R.full(R.shape([16, 63]), R.const(0.1, "float32"), dtype="float32")\na = R.multiply(x, o)\n'
        "m = R.mean(a, axis=[-1], keepdims=True)\nd = R.subtract(a, m)\n"
        "v = R.variance(a, axis=[-1], keepdims=True)\ny = R.divide(d, R.sqrt(v))",
        'x: R.Tensor((16, 1), "float32")',
    ),
    "a sum of a million": ("a = R.exp(x)\ny = R.sum(a)", 'x: R.Tensor((1000000,), "float32")'),
    "a sum that stagnates": (
        'o = R.full(R.shape([1000000]), R.const(0.1, "float32"), dtype="float32")\na = R.add(o, x)\ny = R.sum(a)',
        'x: R.Tensor((1,), "float32")',
    ),
    "a sum that cancels": (
        'a = R.add(x, R.const(1000.0, "float32"))\nb = R.mean(R.multiply(a, a), axis=[-1])\nc = R.mean(a, axis=[-1])\n'
        "y = R.subtract(b, R.multiply(c, c))",
        'x: R.Tensor((64, 64), "float32")',
    ),
    "float16 near its end": ("y = R.sum(R.abs(x), axis=[-1])", 'x: R.Tensor((4, 82000), "float16")'),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_programs_at_the_edges(name: str) -> None:
    found = cells(build(main(*RIGHT[name])), seeds(12))
    assert [(cell.sample, cell.reason) for cell in found if cell.reason] == []


FLIPPED = {
    "argmax": "R.argmax(e, axis=-1)",
    "topk": 'R.topk(e, 1, axis=-1, ret_type="indices")',
    "compare": "R.greater(R.max(d, axis=[-1]), R.max(f, axis=[-1]))",
}


@pytest.mark.parametrize("name", FLIPPED)
def test_discrete_results_are_flipped_by_rounding(name: str) -> None:
    body = (
        "a = R.matmul(x, w)\nb = R.sum(a, axis=[-1], keepdims=True)\n"
        'd = R.multiply(b, R.const(1.1, "float32"))\nf = R.add(b, R.multiply(b, R.const(0.1, "float32")))\n'
        f"e = R.concat((d, f), axis=-1)\ny = {FLIPPED[name]}"
    )
    params = 'x: R.Tensor((64, 64), "float32"), w: R.Tensor((64, 2), "float32")'
    found = cells(build(main(body, params)), seeds(4))
    assert [cell.reason for cell in found if cell.reason] == []
    flipped = [cell.judgement.flipped for cell in found if cell.judgement is not None]
    assert ("out0",) in flipped


def test_a_flip_that_is_a_fault() -> None:
    params = 'x: R.Tensor((64, 64), "float32")'
    found = two(main("y = R.argmax(x, axis=-1)", params), main("y = R.argmin(x, axis=-1)", params))
    assert found.attempts[-1].reason
    assert decided(found) is Decider.SHADOW


# -- planted faults ---------------------------------------------------------------------------------------------------


def scaled(layer: int, size: float) -> str:
    """A decoder in which one value is too large by a share."""

    def edit(n: int, text: str) -> str:
        line = f"m{n} = R.multiply(f{n}, u{n})"
        more = f'm{n}_ = R.multiply(f{n}, u{n})\n        m{n} = R.multiply(m{n}_, R.const({1 + size!r}, "float32"))'
        return text.replace(line, more) if n == layer else text

    return decoder(8, edit=edit)


@pytest.mark.parametrize("size", [1e-3, 1e-4, 1e-5, 1e-6])
@pytest.mark.parametrize("layer", [0, 5, 7])
def test_a_scaled_value_is_found(size: float, layer: int) -> None:
    found = two(decoder(8), scaled(layer, size), s=5)
    assert found.attempts[-1].reason.startswith("out0 differs")
    assert decided(found) is Decider.SHADOW
    assert place(found) == f"m{layer}"


@pytest.fixture(scope="module")
def lowered() -> dict[str, str]:
    return {stage.made_by: stage.text for stage in build(decoder(8)).stages}


@pytest.mark.parametrize("size", [1e-3, 1e-6])
@pytest.mark.parametrize("stage", ["LegalizeOps", "FuseTIR", "StaticPlanBlockMemory", "AttachGlobalSymbol"])
def test_a_fault_in_a_kernel_is_found(size: float, stage: str, lowered: dict[str, str]) -> None:
    text, count = re.subn(r"T\.float32\(64\.0\)", f"T.float32({64 * (1 + size)!r})", lowered[stage])
    assert count
    found = two(decoder(8), text, s=5)
    assert found.attempts[-1].reason
    assert place(found) in ("a0", "alloc")
    right = two(decoder(8), lowered[stage], s=5)
    assert right.failed is None


def test_a_fault_in_float16_is_found() -> None:
    text = decoder(4, dtype="float16")
    legal = build(text, "LegalizeOps").stages[-1].text
    wrong = legal.replace("T.float16(64.0)", "T.float16(64.001)").replace(
        "T.float32(64.0)", "T.float32(64.001)"
    )
    assert wrong != legal
    assert two(text, legal, s=5).failed is None
    found = two(text, wrong, s=5)
    assert place(found) == "a0"


def test_a_fault_before_chaos_is_found() -> None:
    chain = ["v0 = R.add(x, x)"]
    for n in range(1, 400):
        chain.append(f"v{n} = R.add(v{n - 1}, v{n - 1})" if n % 3 else f"v{n} = R.sin(v{n - 1})")
    right = main("\n".join(chain), 'x: R.Tensor((4,), "float32")')
    assert two(right, build(right, "LegalizeOps").stages[-1].text).failed is None
    assert place(two(right, right.replace("v200 = R.add(v199, v199)", "v200 = R.add(v199, v198)"))) == "v200"


def test_chaos_that_rounding_explains_is_no_fault() -> None:
    chain = ['v0 = R.divide(R.multiply(R.sin(x), R.const(3.0, "float32")), R.const(3.0, "float32"))']
    for n in range(1, 400):
        chain.append(f"v{n} = R.add(v{n - 1}, v{n - 1})" if n % 3 else f"v{n} = R.sin(v{n - 1})")
    params = 'x: R.Tensor((64,), "float32")'
    other = [chain[0].replace("3.0", "7.0"), *chain[1:]]
    found = two(main("\n".join(chain), params), main("\n".join(other), params), 3)
    assert [attempt.reason for attempt in found.attempts if attempt.reason] == []
    judgement = found.attempts[-1].judgement
    assert judgement is not None
    assert (judgement.in_wide or 0) > 0.1, "the results must be chaotic in float64, too"


def test_an_overflow_of_float16_is_a_fault() -> None:
    params = 'x: R.Tensor((64, 64), "float16")'
    half = 'R.const(0.5, "float16")'
    body = 'a = R.multiply(x, R.const(20000.0, "float16"))\ny = {}'
    right = main(body.format(f"R.add(R.multiply(a, {half}), R.multiply(a, {half}))"), params)
    found = two(right, main(body.format(f"R.multiply(R.add(a, a), {half})"), params))
    assert found.failed is not None
    assert decided(found) is Decider.RANDOM


# -- who decides ------------------------------------------------------------------------------------------------------


def test_equal_bits_decide_at_once() -> None:
    found = two(decoder(2), decoder(2), s=5)
    assert decided(found) is Decider.BITS


def test_a_given_bound_is_the_users_word() -> None:
    assert two(decoder(8), scaled(3, 1e-3), tolerance=Tolerance(rtol=0.5, atol=0.5), s=5).failed is None
    strict = two(
        decoder(8), build(decoder(8), "LegalizeOps").stages[-1].text, tolerance=Tolerance(0.0, 0.0), s=5
    )
    assert decided(strict) is Decider.GIVEN
    assert strict.failed is not None


@pytest.fixture
def mine() -> None:
    """A packed function: nobody knows its form in float64."""

    @packed_function("test.judging.sum")
    def added(x: Any) -> Any:
        return np.cumsum(x, axis=1, dtype=np.float32)[:, -1]  # in another order than ours


CALL = 'a = R.call_pure_packed("test.judging.sum", x, sinfo_args=R.Tensor((64,), "float32"))\n'
WIDE = 'x: R.Tensor((64, 4000), "float32")'


@pytest.mark.usefixtures("mine")
def test_without_a_shadow_the_bound_decides() -> None:
    right = main(f"{CALL}y = R.multiply(a, a)", WIDE)
    other = main(f'{CALL}y = R.power(a, R.const(2.0, "float32"))', WIDE)
    found = two(right, other)
    assert found.failed is None
    assert decided(found) in (Decider.BOUND, Decider.BITS)
    small = two(right, main(f'{CALL}y = R.multiply(a, R.multiply(a, R.const(1.00001, "float32")))', WIDE))
    assert decided(small) is Decider.BOUND
    assert small.attempts[-1].judgement is not None
    assert "test.judging.sum" in small.attempts[-1].judgement.no_shadow


@pytest.mark.usefixtures("mine")
def test_without_a_shadow_random_rounding_decides_beyond_the_bound() -> None:
    outer = 'd = R.multiply(c, R.const(10000.0, "float32"))\ny = R.multiply(d, d)'
    sums = "b = R.sum(x, axis=[1])\n"
    cancels = 'c = R.subtract(R.multiply(a, R.const(3.0, "float32")), R.add(R.add(a, b), b))\n'
    right = main(f"{CALL}{sums}{cancels}{outer}", WIDE)
    other = main(f"{CALL}{sums}c = R.add(R.subtract(a, b), R.subtract(a, b))\n{outer}", WIDE)
    found = two(right, other, 2)
    assert decided(found) is Decider.RANDOM
    assert found.failed is None
    wrong = two(right, right.replace("R.const(3.0", "R.const(3.1"))
    assert decided(wrong) is Decider.RANDOM
    assert wrong.failed is not None


def test_a_shadow_that_does_not_fit_into_memory_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object) -> object:
        raise MemoryError

    monkeypatch.setattr(Shadows, "machine_factory", full)
    found = two(decoder(2), build(decoder(2), "LegalizeOps").stages[-1].text, s=5)
    assert found.failed is None
    judgement = found.attempts[-1].judgement
    assert judgement is not None
    assert judgement.by in (Decider.BOUND, Decider.RANDOM)
    assert "memory" in judgement.no_shadow


SCALED = "y = R.matmul(R.multiply(x, {}), R.permute_dims(x))"
LITERAL = """
    @T.prim_func(private=True)
    def scale(A: T.Buffer((T.int64(64), T.int64(64)), "float32"), B: T.Buffer((T.int64(64), T.int64(64)), "float32")):
        for i, j in T.grid(T.int64(64), T.int64(64)):
            with T.sblock("b"):
                v, w = T.axis.remap("SS", [i, j])
                B[v, w] = A[v, w] * T.float32({})
"""


@pytest.mark.parametrize(("literal", "is_right"), [(0.24743582308292389, True), (0.247436, False)])
def test_a_constant_rounded_to_float32_is_no_fault(literal: float, is_right: bool) -> None:
    square = 'x: R.Tensor((64, 64), "float32")'
    right = main(SCALED.format('R.divide(R.sqrt(R.const(3.0, "float32")), R.const(7.0, "float32"))'), square)
    scaled = 'y = R.call_tir(M.scale, (b,), out_ty=R.Tensor((64, 64), "float32"))'
    folded = main(f"b = R.matmul(x, R.permute_dims(x))\n{scaled}", square, LITERAL.format(repr(literal)))
    found = two(right, folded, 3)
    assert (found.failed is None) is is_right
    if is_right:
        assert decided(found) in (Decider.BOUND, Decider.RANDOM)


def test_other_forms_and_stops_are_no_rounding() -> None:
    square = 'x: R.Tensor((4, 4), "float32")'
    plain = main("y = R.exp(x)", square)
    assert two(plain, main('y = R.astype(R.exp(x), "float16")', square)).failed is not None
    assert two(plain, main("y = R.sum(R.exp(x), axis=[1])", square)).failed is not None
    stops = main('y = R.match_cast(R.exp(x), R.Tensor((5, 4), "float32"))', square)
    assert two(plain, stops).failed is not None


def test_recorded_results_may_be_rounded_otherwise() -> None:
    source = build(decoder(8))
    sample = Sample((("s", 5),), 2)
    values = sample_run(source.stages[0], "main", sample).values
    given = finished(source.stages[-1].module, "main", values).result
    test = SameOutput(source.stages[0], "main", [sample], recorded=(("out0", given),))
    assert [attempt.reason for attempt in bisect(source, test).attempts if attempt.reason] == []
    wrong = given.copy()
    wrong[0, 0] += 0.1
    test = SameOutput(source.stages[0], "main", [sample], recorded=(("out0", wrong),))
    assert test(source.stages[0]).startswith("out0 differs")


def test_one_program_beside_recorded_results() -> None:
    source = build(decoder(8))
    sample = Sample((("s", 5),), 2)
    values = sample_run(source.stages[0], "main", sample).values
    given = finished(source.stages[-1].module, "main", values).result
    found = against(source.stages[0], "main", sample, {"out0": given}, Tolerance())
    assert found.equal
    assert found.verdicts[0].judgement is not None
    assert not against(source.stages[0], "main", sample, {"out0": given}, Tolerance(1e-5, 1e-6)).equal
    assert not against(source.stages[0], "main", sample, {"out0": given + np.float32(0.1)}, Tolerance()).equal
    assert not against(source.stages[0], "main", sample, {"out0": given[:3]}, Tolerance()).equal


# -- work -------------------------------------------------------------------------------------------------------------


def test_equal_programs_run_once_and_inputs_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    runs, made = [], []

    def counted(*args: Any) -> Any:
        runs.append(args[0])
        return finished(*args)

    def noted(*args: Any) -> Any:
        made.append(args[-1])
        return sample_run(*args)

    monkeypatch.setattr(samples, "finished", counted)
    monkeypatch.setattr("relax_explorer.core.session.validate.sample_run", noted)
    text = decoder(1, 8)
    other = (
        text.replace("a0", "renamed")
        + '\n    @R.function\n    def unused(x: R.Tensor((4,), "float32")):\n        return R.exp(x)\n'
    )
    stages = [
        Stage(n, str(n), item) for n, item in enumerate([text, text, other, text.replace("silu", "gelu")])
    ]
    test = SameOutput(stages[0], "main", seeds(2, s=3))
    found = bisect(Build(tuple(stages[:3])), test)
    assert found.failed is None
    assert len(runs) == 2
    assert len(made) == 2
    assert test(stages[3]).startswith("out0 differs")
    assert len(runs) == 3


# -- what is said -----------------------------------------------------------------------------------------------------


def run(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(group, list(words))
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    return done.exit_code, done.stdout


def test_validate_and_bisect_say_rounding(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(decoder(8))
    words = (str(tmp_path / "m.py"), "-p", "LegalizeOps", "--shape", "s=5", "--samples", "3")
    status, text = run("validate", *words)
    assert status == 0
    assert "rounding ¹" in text
    assert re.search(r"¹ [\d,]+ of 320 elements differ by more than the bound .* not in float64", text)
    assert "decided by: float64 (3)" in text
    status, text = run("bisect", *words)
    assert status == 0
    assert "holds, rounding ¹" in text
    status, text = run("compare", *words)
    assert status == 0
    assert "equal except for rounding" in text


def test_json_tells_what_decided(tmp_path: Path) -> None:
    (tmp_path / "00_right.py").write_text(decoder(8))
    (tmp_path / "01_wrong.py").write_text(scaled(3, 1e-5))
    words = (str(tmp_path), "--shape", "s=5", "--format", "json")
    found = json.loads(run("validate", *words)[1])["stages"][0]["cells"][0]["judgement"]
    assert (found["by"], found["is_fault"], found["wrong"]) == ("float64", True, ["out0"])
    assert found["in_wide"] > 1e3 * found["explained"]
    found = json.loads(run("bisect", *words)[1])
    assert found["first_bad"]["judgement"]["by"] == "float64"
    assert found["verdict"]["first"]["b"]["name"] == "m3"
    assert found["verdict"]["first"]["in_wide"]["relative"] == pytest.approx(1e-5, rel=0.1)
    found = json.loads(run("compare", *words)[1])["verdicts"][0]
    assert found["judgement"]["is_fault"]
