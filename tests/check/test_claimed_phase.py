"""A module may claim its phase by the attribute `rx.phase`; checkers and passes hold it to that."""

from __future__ import annotations

import pytest

import relax_explorer as rxe

TEXT = """
@I.ir_module
class Module:
    I.module_attrs({"rx.phase": "PHASE"})

    @R.function
    def main(x: R.Tensor((2,), "float32")):
        with R.dataflow():
            y = R.exp(x)
            R.output(y)
        return y
"""


def claims(phase: str) -> rxe.IRModule:
    return rxe.normalize(rxe.parse(TEXT.replace("PHASE", phase)))


def problems(module: rxe.IRModule) -> list[str]:
    return [item.message for item in rxe.check(module) if item.code.id == "RX0408"]


@pytest.mark.parametrize(
    ("phase", "lacks"),
    [
        ("parsed", []),
        ("high", []),
        ("legalized", ["NO_HIGH_LEVEL_OPS"]),
        ("non-dataflow", ["NO_HIGH_LEVEL_OPS", "NO_DATAFLOW"]),
        ("lowered", ["NO_HIGH_LEVEL_OPS", "NO_DATAFLOW", "PURITY_ERASED"]),
    ],
)
def test_each_missing_property_is_named(phase: str, lacks: list[str]) -> None:
    found = problems(claims(phase))
    assert len(found) == len(lacks)
    assert all(any(f"lacks {name} (" in text for text in found) for name in lacks)


def test_an_unknown_phase_is_refused() -> None:
    (text,) = problems(claims("fast"))
    assert "'fast'" in text


def test_passes_keep_the_claim_true() -> None:
    module, seen = claims("high"), []
    for name in ("LegalizeOps", "ToNonDataflow", "RemovePurityChecking", "CallTIRRewrite"):
        module = rxe.apply_pass(module, name)
        seen.append(module.attrs["rx.phase"])
        assert problems(module) == []
    assert seen == ["legalized", "non-dataflow", "non-dataflow", "lowered"]
    assert 'I.module_attrs({"rx.phase": "lowered"})' in module.script()
    assert problems(rxe.parse(module.script())) == []


def test_a_module_without_a_claim_gets_none() -> None:
    module = rxe.apply_pass(
        rxe.parse(TEXT.replace('    I.module_attrs({"rx.phase": "PHASE"})\n', "")), "LegalizeOps"
    )
    assert "rx.phase" not in module.attrs


def test_a_pass_that_changes_nothing_keeps_the_object() -> None:
    module = claims("high")
    assert rxe.apply_pass(module, "EliminateCommonSubexpr") is module


def test_a_mixture_without_a_claim_shows_both() -> None:
    early, late = "y = R.exp(x)", "a = R.builtin.alloc_tensor(R.shape([2]), R.dtype('int8'), 0)"
    text = (
        f'@R.function\ndef main(x: R.Tensor((2,), "float32")):\n    {early}\n    {late}\n    return (a, y)\n'
    )
    (item,) = [item for item in rxe.check(text) if item.code.id == "RX0408"]
    labels = {label.span.text: label for label in item.labels if label.span is not None}
    assert labels[early].primary > labels[late].primary
    assert "relax.exp " in labels[early].text
    assert "relax.builtin.alloc_tensor " in labels[late].text
