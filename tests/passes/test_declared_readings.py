"""What a pass declares to read is all that it reads: it finds nothing in functions without it, so that it need not visit them."""

from __future__ import annotations

from functools import cache

import pytest

import relax_explorer as rxe
from relax_explorer.core import passes as registry
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.passes.contract import PassSite, by_name
from tests.support.pass_material import pass_material

DECLARING = [name for name, of in registry.own().items() if of.only_with]
PIPELINES = ("", "LegalizeOps", "ToNonDataflow", "LambdaLift", "default_build")


@cache
def modules() -> list[rxe.IRModule]:
    """Random programs, and what pipelines make of them."""
    found = []
    for seed in range(24):
        module = rxe.normalize(rxe.parse(pass_material(seed)))
        for pipeline in PIPELINES:
            try:
                found.append(rxe.run_pipeline(module, pipeline, verify=False, phase_check="warn"))
            except Failure:
                continue
    return found


@pytest.mark.parametrize("as_tvm", [False, True])
@pytest.mark.parametrize("name", DECLARING)
def test_without_it_the_pass_itself_finds_nothing(name: str, as_tvm: bool) -> None:
    of, count = registry.own()[name], 0
    if as_tvm and not of.has_profiles:
        return
    for module in modules():
        site = PassSite(module, rule=name, as_tvm=as_tvm)
        if of.on_module:
            if not all(reading.is_in(module) for reading in of.only_with):
                count += 1
                assert of.run(module, site) is module
            continue
        for site.function, fn in by_name(module):
            if not all(reading.in_function(fn) for reading in of.only_with):
                count += 1
                assert of.run(fn, site) is fn
        assert not site.recorded.entries
        assert not site.report.items
    assert count > 3


def test_the_passes_that_declare_it_are_these() -> None:
    assert {"ElideChecks", "EliminateShapeChecks", "FuseOps", "LambdaLift", "InlinePrivateFunctions"} <= {
        *DECLARING
    }


@pytest.mark.parametrize("name", DECLARING)
def test_a_pass_is_not_asked_about_functions_without_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    of, asked = registry.own()[name], list[object]()
    assert isinstance(of.options, tuple)  # they are those of the function, which another one replaces now
    monkeypatch.setitem(of.__dict__, "run", lambda given, at: asked.append(given) or given)
    for module in modules():
        asked.clear()
        of.apply(module)
        lacking = [fn for _, fn in by_name(module) if not all(r.in_function(fn) for r in of.only_with)]
        assert not any(fn in asked for fn in lacking)
        if of.on_module:
            assert bool(asked) is all(reading.is_in(module) for reading in of.only_with)
