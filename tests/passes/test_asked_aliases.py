"""Passes ask what shares memory only where the answer matters: it takes longer than their walk."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core.check.aliases import Aliases, aliases
from relax_explorer.core.ir import expr as e
from relax_explorer.core.passes import canonicalize_bindings, pattern_rules, reshapes
from relax_explorer.core.passes.contract import PassSite
from relax_explorer.core.patterns import read_pattern
from relax_explorer.core.patterns.pattern import Pattern
from relax_explorer.core.program.module import IRModule

HEAD = "@R.function\ndef main(x: R.Tensor((2, 2), 'float32')):\n"
_TWICE = read_pattern("reshape(reshape(_, _), _)")
assert isinstance(_TWICE, Pattern)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[e.Function]:
    """The functions whose aliases were asked for."""
    found = list[e.Function]()

    def counted(module: IRModule, name: str, fn: e.Function) -> Aliases:
        found.append(fn)
        return aliases(module, name, fn)

    for place in (canonicalize_bindings, pattern_rules, reshapes):
        monkeypatch.setattr(place, "aliases", counted)
    return found


@pytest.mark.parametrize("profile", ["spec", "tvm"])
@pytest.mark.parametrize(
    ("value", "count"),
    [("x", 0), ("R.exp(x)", 0), ("(x, x)[0]", 0), ("R.const(1.0)", 1), ("(x, R.const(1.0))[1]", 1)],
)
def test_bound_constants_ask_once(value: str, count: int, profile: str, asked: list[e.Function]) -> None:
    module = rxe.normalize(rxe.parse(f"{HEAD}    y = {value}\n    z = {value}\n    return (y, z)"))
    rxe.apply_pass(module, "CanonicalizeBindings", profile=profile)
    assert len(asked) == (count if profile == "spec" else 0)


@pytest.mark.parametrize(
    ("value", "count"),
    [
        ("R.exp(x)", 0),
        ("R.reshape(x, R.shape([4]))", 0),
        ("R.reshape(R.reshape(x, R.shape([4])), R.shape([1, 4]))", 1),
    ],
)
def test_matches_of_rules_ask_once(value: str, count: int, asked: list[e.Function]) -> None:
    lines = f"    with R.dataflow():\n        y = {value}\n        z = R.negative({value})\n        R.output(y, z)\n"
    module = rxe.normalize(rxe.parse(f"{HEAD}{lines}    return (y, z)"))
    never = pattern_rules.Rule("never", _TWICE, lambda found: None)
    fn = module["main"]
    assert isinstance(fn, e.Function)
    assert pattern_rules.apply_rules(fn, PassSite(module, "main"), [never]) is fn
    assert len(asked) == count


@pytest.mark.parametrize(
    ("value", "outputs", "count"),
    [
        ("R.exp(x)", "z", 0),
        ("R.reshape(x, R.shape([4]))", "z", 1),
        ("R.reshape(x, R.shape([4]))", "y, z", 0),  # an output stays a copy
        ("R.reshape(R.reshape(x, R.shape([4])), R.shape([1, 4]))", "z", 1),
    ],
)
def test_kernels_that_reshape_ask_once(value: str, outputs: str, count: int, asked: list[e.Function]) -> None:
    lines = f"    with R.dataflow():\n        y = {value}\n        z = R.negative(y)\n        R.output({outputs})\n"
    module = rxe.normalize(rxe.parse(f"{HEAD}{lines}    return z"))
    rxe.apply_pass(rxe.apply_pass(module, "LegalizeOps"), "RewriteDataflowReshape")
    assert len(asked) == count
