"""The results of all passes are TVM's, in the profile `tvm`: as they stand, or by a row of `differences.md` that says exactly how not.

`python -m tests.oracle.pass_results --update` asks about all programs and writes `tests/data/differences`; here a share is asked
again, and every program that has a difference of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import pytest

from relax_explorer.core import passes
from relax_explorer.core.program.module import IRModule
from tests.oracle.pass_results import written
from tests.support.damages import damages
from tests.support.judged import KERNELS, Asker, Results, Verdict, judge
from tests.support.oracle import Oracle
from tests.support.pass_agreement import random_programs
from tests.support.pass_variants import Variant, variants
from tests.support.patches import UNKNOWN, Record, patches, records, shares_of
from tests.support.promises import ROWS

DOCUMENTED = (Path(__file__).parent / "differences.md").read_text(encoding="utf-8")
ALL = [(of.title, of) for name in passes.names() for of in variants(name)]
ASKED = 4
"""Programs with equal results of which each run asks about every variant."""
SEEDS = 1
FIRST = [(title, of) for title, of in ALL if of.number < 2]
"""The first variant of each pass; a campaign asks about all."""


@pytest.fixture(scope="module")
def asker(oracle: Oracle) -> Asker:
    return Asker(oracle)


@pytest.fixture
def texts() -> dict[str, str]:
    return written()


@pytest.mark.parametrize(("title", "of"), ALL, ids=[title for title, _ in ALL])
def test_results_are_tvms_or_as_promised(
    title: str,
    of: Variant,
    asker: Asker,
    texts: dict[str, str],
    pass_counts: Counter[str],
    verdict_counts: Counter[str],
) -> None:
    record = records().get(title, Record())
    kinds, wrong = record.kinds, []
    for program in (*_spread(record.equal, ASKED), *_spread((*record.row, *record.refused), ASKED)):
        verdict = asker.verdict(texts[program], of, program)
        _count(of, verdict, pass_counts, verdict_counts)
        if verdict.kind != kinds[program]:
            wrong.append(f"{program}: {verdict.kind}, not {kinds[program]}: {verdict.details[:300]}")
    for program in _spread(record.no_program, 1):
        if asker.verdict(texts[program], of, program, asks_back=True).is_program:
            wrong.append(f"{program}: TVM takes its result")
    assert wrong == []


@pytest.mark.parametrize("name", passes.names())
def test_nearly_all_results_are_tvms_as_they_stand(name: str, pass_counts: Counter[str]) -> None:
    shares = shares_of(name)
    pass_counts.update(shares.cells(name))
    assert shares.is_enough, f"{name}: {shares}"


def _count(of: Variant, verdict: Verdict, passes_: Counter[str], verdicts: Counter[str]) -> None:
    """Count a verdict of this run. Only what is unexplained is news for the table of the pass."""
    verdicts[verdict.kind] += 1
    if verdict.kind == "unexplained":
        passes_[f"{of.name}|unexplained"] += 1


@pytest.mark.parametrize(("title", "of"), FIRST, ids=[title for title, _ in FIRST])
def test_results_of_random_programs_are_explained(
    title: str, of: Variant, asker: Asker, pass_counts: Counter[str], verdict_counts: Counter[str]
) -> None:
    for program, text in (*random_programs(SEEDS, 4100), *random_programs(SEEDS, 8100, "layers")):
        verdict = asker.verdict(text, of)
        _count(of, verdict, pass_counts, verdict_counts)
        assert verdict.kind != "unexplained", f"{title}, {program}: {verdict.details}"


DAMAGES = 14
"""Damaged results of each variant that must be noticed."""
CONSTRUCTS = """
@I.ir_module
class Module:
    I.module_attrs({"a": 1})
    @R.function(private=True)
    def helper(p: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        R.func_attr({"b": True})
        q = R.exp(p)
        return q
    @R.function
    def main(x: R.Tensor((4,), "float32"), o: R.Tensor("float32", ndim=1), c: R.Tensor((), "bool")):
        R.func_attr({"relax.force_pure": True})
        n = T.int64()
        cls = Module
        a = cls.helper(x)
        b = R.call_packed("f", a, x, ty_args=R.Tensor((4,), "float32"))
        m = R.match_cast(o, R.Tensor((n,), "float32"))
        if c:
            s = R.add(a, x)
            t = R.sin(s)
        else:
            s = R.multiply(a, x)
            t = R.cos(s)
        @R.function
        def inner(z: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            w = R.tanh(z)
            v = R.subtract(w, z)
            return v
        d = inner(t)
        e = (d, m, b)
        f = e[0]
        g = R.sum(f, axis=0)
        return (g, e)
"""


@pytest.mark.parametrize(("title", "of"), FIRST, ids=[title for title, _ in FIRST])
def test_a_damage_of_one_node_is_noticed(
    title: str, of: Variant, asker: Asker, texts: dict[str, str]
) -> None:
    equal = records().get(title, Record()).equal
    asked = [texts[program] for program in _spread(equal, 1)]
    unnoticed, tried = [], Counter[str]()
    for number, text in enumerate([CONSTRUCTS, *asked]):
        results = asker.ask(text, of)
        if not isinstance(results, Results) or judge(results).kind not in ("equal", "same"):
            assert number == 0, "an equal result is no longer equal"
            continue
        assert isinstance(results.ours, IRModule)
        found = damages(results.ours, ("kernel",) if of.name in KERNELS else ())
        for damage in islice(found, DAMAGES if number == 0 else DAMAGES // 2):
            tried[damage.place] += 1
            verdict = judge(results.having(damage.module), explains=False)
            if verdict.kind != "unexplained":
                unnoticed.append(f"{damage.place}: {damage.line}: {verdict.kind} {verdict.rows}")
    assert unnoticed == []
    assert tried or not equal


@pytest.mark.parametrize(("title", "of"), FIRST, ids=[title for title, _ in FIRST])
def test_a_damage_beside_a_documented_difference_is_noticed(
    title: str, of: Variant, asker: Asker, texts: dict[str, str]
) -> None:
    shown = [
        program
        for (options, program), patch in patches(of.name).items()
        if options == title and not patch.refused and program in texts
    ]
    for program in shown[:1]:
        results = asker.ask(texts[program], of)
        assert isinstance(results, Results)
        assert isinstance(results.ours, IRModule)
        assert judge(results, program).kind == "row"
        for damage in islice(damages(results.ours, ("kernel",)), DAMAGES // 2):
            verdict = judge(results.having(damage.module), program, explains=False)
            assert verdict.kind == "unexplained", f"{damage.place}: {damage.line}"


def _spread(titles: Sequence[str], count: int) -> Sequence[str]:
    """As many titles as are wanted, from the whole list."""
    return titles[:: max(1, len(titles) // count)][:count]


@pytest.mark.parametrize("name", passes.names())
def test_each_difference_has_a_row(name: str) -> None:
    rows = {patch.row for patch in patches(name).values()} | {row.row for row in ROWS if name in row.passes}
    assert UNKNOWN not in rows, "name the reason of the new differences"
    kinds = {
        (of.title, title): kind
        for of in variants(name)
        for title, kind in records().get(of.title, Record()).kinds.items()
    }
    assert [key for key in patches(name) if kinds.get(key) not in ("row", "refused")] == []
    assert [row for row in sorted(rows) if f"| {row}" not in DOCUMENTED] == []
