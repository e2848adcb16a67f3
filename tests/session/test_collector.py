"""Python's garbage collector pauses during work on large programs, and only then."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator

import pytest

import relax_explorer
from relax_explorer import IRModule
from relax_explorer.core.collector import collector_at_rest, set_aside, take_back
from relax_explorer.core.passes.pipeline import run_step, steps
from relax_explorer.core.phases.module_properties import holding
from relax_explorer.core.session.align import diff_modules
from relax_explorer.core.shapes.contract_text import read_contract
from relax_explorer.core.shapes.propagate import analyse
from relax_explorer.core.shapes.residual import shape_checks
from relax_explorer.ui.process import OwnCollector
from relax_explorer.viz.child import own_python, run_child
from tests.perf.generate import transformer

TEXT = transformer(60)
CONTRACTS = read_contract(";\n".join(f"let v{n} : Tensor([k{n}, 2], int8) = .." for n in range(60)))
WORK: dict[str, Callable[[IRModule], object]] = {
    "parse": lambda module: relax_explorer.parse(TEXT),
    "normalize": relax_explorer.normalize,
    "check": relax_explorer.check,
    "print": lambda module: module.script(),
    "print old": lambda module: module.script("tvm-0.19"),
    "hash": relax_explorer.structural_hash,
    "equal": lambda module: relax_explorer.structural_equal(module, module),
    "diff": lambda module: diff_modules(module, relax_explorer.parse(TEXT)),
    "pass": lambda module: relax_explorer.apply_pass(module, "LegalizeOps"),
    "pipeline": lambda module: relax_explorer.run_pipeline(module, "LegalizeOps,ToNonDataflow"),
    "step": lambda module: run_step(steps("DeadCodeElimination")[0], module),
    "holding": holding,
    "shape checks": shape_checks,
    "contracts": lambda module: analyse(*CONTRACTS),
}


@pytest.fixture
def collections(own_process: OwnCollector) -> Iterator[list[int]]:
    """The collected generations; the collector runs as often as it can."""
    seen: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            seen.append(info["generation"])

    thresholds = gc.get_threshold()
    gc.callbacks.append(note)
    gc.set_threshold(1, 1, 1)
    try:
        yield seen
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(note)


@pytest.mark.parametrize("work", WORK)
def test_the_collector_rests_in_long_work(work: str, collections: list[int]) -> None:
    module = relax_explorer.parse(TEXT)
    WORK[work](module)  # loads modules
    collections.clear()
    WORK[work](module)
    assert len(collections) < 100
    assert gc.isenabled()


def test_one_rest_within_another_ends_with_the_outer_one(own_process: OwnCollector) -> None:
    with collector_at_rest():
        with collector_at_rest():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_collector_that_is_off_stays_off(own_process: OwnCollector) -> None:
    gc.disable()
    try:
        with collector_at_rest():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_failure_wakes_the_collector(own_process: OwnCollector) -> None:
    with pytest.raises(relax_explorer.ParseError):
        relax_explorer.parse("class")
    assert gc.isenabled()


class Cyclic:
    def __init__(self) -> None:
        self.itself = self


def _rest_with(objects: int) -> list[list[int]]:
    """New objects that stay, made while the collector rests."""
    with collector_at_rest():
        return [[n] for n in range(objects)]


def test_garbage_among_many_new_objects_goes_at_a_full_collection(
    monkeypatch: pytest.MonkeyPatch, own_process: OwnCollector
) -> None:
    monkeypatch.setattr(own_process, "_made_old", 0)
    monkeypatch.setattr(own_process, "_alive", 0)
    monkeypatch.setattr(own_process, "most", 30_000)
    with collector_at_rest():
        garbage = weakref.ref(Cyclic())
        kept = _rest_with(10_000)
    assert garbage() is not None
    assert gc.get_count()[0] < 5_000, "the new objects count as old ones"
    kept += _rest_with(10_000)
    with collector_at_rest(is_prompt=True):
        kept += _rest_with(15_000)
    assert garbage() is not None, "prompt work does not wait for a full collection"
    kept += _rest_with(15_000)
    assert garbage() is None
    assert gc.isenabled()


def test_objects_set_aside_are_not_visited_nor_counted(
    monkeypatch: pytest.MonkeyPatch, collections: list[int], own_process: OwnCollector
) -> None:
    kept = [[n] for n in range(1_000)]
    set_aside()
    try:
        assert gc.get_freeze_count() > 1_000
        with monkeypatch.context() as patched:
            patched.setattr(gc, "get_freeze_count", lambda: pytest.fail("it walks through all objects"))
            kept += _rest_with(6_000)
        collections.clear()
    finally:
        assert take_back()
    assert not gc.get_freeze_count()
    assert not take_back()
    del kept


def test_full_collections_get_rare_as_objects_stay(
    monkeypatch: pytest.MonkeyPatch, collections: list[int], own_process: OwnCollector
) -> None:
    monkeypatch.setattr(own_process, "_made_old", 0)
    monkeypatch.setattr(own_process, "_alive", 0)
    monkeypatch.setattr(own_process, "most", 5_500)
    gc.set_threshold(0)
    collections.clear()
    kept = [_rest_with(6_000) for _ in range(50)]
    assert 1 <= len(collections) < 10
    del kept


HOST = """
import gc, sys, threading
import relax_explorer as rxe
from tests.session.test_collector import TEXT, WORK

gc.freeze()
sys.setswitchinterval(0.003)
before = gc.isenabled(), gc.get_freeze_count(), gc.get_threshold(), sys.getswitchinterval(), sys.getrecursionlimit()
for state in (True, False):
    (gc.enable if state else gc.disable)()
    seen = set()
    turned = {"gc": [name for name in ("enable", "disable", "freeze", "unfreeze", "collect")]}
    originals = {name: getattr(gc, name) for name in turned["gc"]}
    for name in originals:
        setattr(gc, name, lambda *_, name=name: seen.add(name))
    module = rxe.parse(TEXT)
    for work in WORK.values():
        work(module)
    for name, real in originals.items():
        setattr(gc, name, real)
    assert not seen, seen
    assert gc.isenabled() is state
gc.enable()
after = gc.isenabled(), gc.get_freeze_count(), gc.get_threshold(), sys.getswitchinterval(), sys.getrecursionlimit()
assert before[0] == after[0] and before[2:] == after[2:], (before, after)
assert gc.get_freeze_count() >= 10_000, "frozen objects of the host thawed"
assert threading.active_count() == 1
"""


def test_a_host_keeps_its_collector_and_its_turns() -> None:
    done = run_child(own_python(HOST), b"", timeout=120, is_python=True)
    assert done.status == 0, done.errors.decode()
