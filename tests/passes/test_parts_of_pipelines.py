"""Records, options and names of pipelines: the first mistake is told, and what is handed over is looked at in each part."""

from __future__ import annotations

import re

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core import passes as registry
from relax_explorer.core.ir import expr as e
from relax_explorer.core.passes import pipeline, third_party
from relax_explorer.core.passes.contract import _described
from relax_explorer.core.passes.pass_order import ORDERS
from relax_explorer.core.passes.phase_table import commuting
from relax_explorer.core.passes.record import Record, Rewrite
from relax_explorer.core.phases import phases
from relax_explorer.core.phases.external_code import codegen_of
from tests.passes.test_each_part import main, tensor


def test_what_a_record_keeps() -> None:
    a, b, c, d = (e.VarBinding(e.Var(name, tensor(4)), e.Var(f"of_{name}", tensor(4))) for name in "abcd")
    record = Record()
    record.add(Rewrite("one", (a,), (b,)))
    record.add(Rewrite("more", (a, b), (c,)))
    record.renew({b: d}, "then")
    assert [(found.rule, found.before, found.after) for found in record.rewrites()][:2] == [
        ("one", (a,), (d,)),
        ("more", (a, b), (c,)),
    ]
    by = {d: a}
    record.renew(by, "again")
    assert by == {d: a}
    functions = [
        e.Function((), e.SeqExpr((e.BindingBlock((first, second)),), second.var), None, True)
        for first, second in ((a, b), (c, b))
    ]
    record = Record([("whole", *functions)])
    record.renew({c: d}, "then")
    assert [(found.rule, found.before, found.after) for found in record.rewrites()] == [("whole", (a,), (d,))]


def test_texts_with_several_parts() -> None:
    assert _described('Annotated[int, "a number", "more"]') == ("int", "a number")
    assert _described('Annotated[int, "a number", more]') == ("int", "a number")
    fn = rxe.parse(main({"x": (4,)}, "r = R.exp(x)")).functions["main"]
    assert (
        codegen_of(
            e.Function(fn.params, fn.body, None, True, fn.attrs.having(Composite="tensorrt.conv.bias"))
        )
        == "tensorrt"
    )


def test_passes_with_an_order_do_not_commute() -> None:
    for first, second in ORDERS:
        for one, other in ((first, second), (second, first)):
            assert not commuting(registry.get(one), registry.get(other))


def test_properties_of_ones_own() -> None:
    def violation(module: rxe.IRModule) -> None:
        """The first line.

        The second line.
        """

    for name in ("MINE", "OURS"):
        phases.register_property(name, "it is so", violation)
    phases.unregister_property("MINE")
    assert [q.name for q in phases.REGISTERED] == ["OURS"]
    phases.unregister_property("OURS")
    assert phases.REGISTERED == []
    with pytest.raises(KeyError):
        phases.unregister_property("MINE")
    assert phases._meaning(violation) == "The first line"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("LegalizeOps{skip=['a}", "unmatched"),
        ("LegalizeOps{skip=(['a'", "lacks ']'"),
        ("default{one=1,two=2}", "'one'"),
        ("LegalizeOps{profile='other'}", "profile"),
        ("LegalizeOps{skip=}", "no value"),
        ("RealizeVDevice{profile='other'}", "is 'other'"),
    ],
)
def test_the_mistake_of_a_pipeline_is_told(text: str, told: str) -> None:
    with pytest.raises(rxe.Failure, match=re.escape(told)):
        pipeline.steps(text)


def test_options_that_differ_in_a_field() -> None:
    assert not pipeline._is_equal({"a": 1}, {"a": 2})
    assert pipeline._is_equal({"a": np.ones(2)}, {"a": np.ones(2)})
    (step,) = pipeline.steps(f'LegalizeOps{{skip=["{"relax.add" * 80}"]}}')
    assert step.label.endswith("…)}")


def test_known_properties_may_come_in_a_list() -> None:
    module = rxe.normalize(rxe.parse(main({"x": (4,)}, "r = R.exp(x)")))
    two = pipeline.steps("LegalizeOps,DeadCodeElimination")
    texts = [
        [each.module.script() for each in pipeline.run(module, two, held)] for held in ([], iter(()), set())
    ]
    assert texts[0] == texts[1] == texts[2]


def test_each_profile_has_a_name() -> None:
    for text in (
        "LegalizeOps{profile='other'}",
        "DeadCodeElimination{profile='other'}",
        "LambdaLift{profile='other'}",
    ):
        with pytest.raises(rxe.Failure, match="is 'other'"):
            pipeline.steps(text)


def test_options_in_the_text_and_beside_it() -> None:
    module = rxe.normalize(rxe.parse(main({"x": (4,)}, "r = R.exp(x)")))
    assert pipeline.apply_pass(module, "LegalizeOps{skip=['relax.exp']}", profile="spec") is module
    with pytest.raises(rxe.Failure, match="'profile'"):
        pipeline.apply_pass(
            module, "LegalizeOps{skip=['relax.exp'],profile='spec'}", skip=("relax.add",), profile="spec"
        )
    with pytest.raises(rxe.Failure, match="is a pipeline"):
        pipeline.apply_pass(module, "default{profile='tvm'}")


class _Entry:
    """An entry point of a package."""

    dist = None

    def __init__(self, name: str, value: object) -> None:
        self.name, self.value, self.given = name, name, value

    def load(self) -> object:
        return self.given


def test_passes_of_packages_with_names_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    legalize, fuse = registry.get("LegalizeOps"), registry.get("FuseOps")
    entries = [_Entry("a", legalize), _Entry("b", iter([fuse, legalize])), _Entry("c", map(int, ["x"]))]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: entries)
    found = third_party.installed.__wrapped__(frozenset({"FuseOps"}))
    assert list(found.passes) == ["LegalizeOps"]
    assert [problem.message.rpartition(": ")[2] for problem in found.problems] == [
        "there is a pass or pipeline 'FuseOps' already", "there is a pass or pipeline 'LegalizeOps' already", "'x'",
    ]  # fmt: skip


def test_a_text_that_changes_nothing() -> None:
    text = (
        main({"x": (4,)}, "r = R.exp(x)")
        + "    @R.function\n    def other(x: R.Tensor((4,), 'float32')):\n        return x\n"
    )
    module = rxe.normalize(rxe.parse(text))
    assert pipeline.apply_pass(module, "ReplaceModule", text=module.script()) is module
    swapped = module.script().replace("R.exp", "R.sin")
    assert pipeline.apply_pass(module, "ReplaceModule", text=swapped) is not module


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("DeadCodeElimination", {"entry_functions": ["first", "second"]}, "'first'"),
        ("LiftTransformParams", {"shared_functions": ["first", "second"]}, "'first'"),
    ],
)
def test_the_first_unknown_name_is_told(name: str, options: dict, told: str) -> None:
    module = rxe.normalize(rxe.parse(main({"x": (4,)}, "r = R.exp(x)")))
    with pytest.raises(rxe.Failure, match=told):
        pipeline.apply_pass(module, name, **options)
