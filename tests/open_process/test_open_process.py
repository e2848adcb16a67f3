"""Nothing of a text outlives it: not its nodes, not its source, and a process that stays open does not grow."""

from __future__ import annotations

import gc
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Barrier, Thread
from weakref import ref

import pytest

import relax_explorer as rxe
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.interned import InternTable, PerNode
from relax_explorer.core.session.inputs import generated_inputs

SAMPLES = sorted(Path("samples").glob("*.py"))


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no /proc here to measure memory with")
def test_a_process_that_stays_open_does_not_grow() -> None:
    # Tables that are filled once take most of it: 3.8 MB after 500 texts, 4.8 MB after 1,000, 6.1 MB after 2,500.
    command = [sys.executable, "-m", "tests.open_process", "-n", "500", "--limit", "4.3"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_a_dropped_session_leaves_nothing(sample: Path) -> None:
    gone = [ref(item) for item in _used(sample)]
    gc.collect()
    assert [item() for item in gone if item() is not None] == []


def _used(sample: Path) -> list[object]:
    """Functions, modules and the source of a session that ran, was drawn, hashed and compared, and is dropped on return."""
    session = rxe.Session.open(sample)
    first, last = session.stages[0], session.stages[-1]
    session.diff(0, last.number)
    assert all(stage.printed.lines for stage in session.stages)
    assert rxe.structural_equal(first.module, rxe.normalize(rxe.parse(first.module.script())))
    main = first.module[first.entry]
    rxe.graph(first.module, first.entry).terminal(80)
    for stage in (first, last):
        rxe.structural_hash(stage.module)
        debugger = session.debug(first.entry, generated_inputs(main, {})[0], stage.number)
        with suppress(rxe.Failure):  # a stopped run is dropped as well
            while not debugger.done:
                debugger.step()
    span = main.span
    assert span is not None
    functions = [fn for stage in session.stages for fn in stage.module.relax_functions.values()]
    # only kernels of the first stage: LegalizeOps keeps some of its templates, which later stages use
    kernels = first.module.functions.values()
    return [*functions, *kernels, *[stage.module for stage in session.stages], span.source]


def test_equal_values_are_one_object_as_long_as_somebody_uses_them() -> None:
    n = p.PrimVar("n")
    dim = n + 1
    assert dim is n + 1
    assert s.ShapeStructInfo((dim,)) is not s.ShapeStructInfo((n,))
    info = s.ShapeStructInfo((dim,))
    gone = ref(info)
    assert s.ShapeStructInfo((n + 1,)) is info
    del info
    assert gone() is None


def test_long_expressions_go_without_recursion() -> None:
    n = p.PrimVar("n")
    dim: p.PrimExpr = n
    for number in range(100_000):
        dim = dim * 2 if number % 2 else dim + n
    gone = ref(dim)
    del dim
    assert gone() is None


def test_a_key_that_was_taken_again_is_kept() -> None:
    """Removing the entry of a dead value must not remove the entry of its successor."""

    class Value:
        pass

    table: InternTable[str, Value] = InternTable()
    first = table.add("key", Value())
    stale = table["key"]
    second = Value()
    del table["key"]
    assert table.add("key", second) is second
    table._forget(stale)
    assert table.find("key") is second
    assert first is not second


def test_threads_that_make_and_forget_a_value_agree_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """While one thread forgets a dead value, another one makes its successor: that one stays."""

    class Value:
        pass

    table: InternTable[int, Value] = InternTable()
    failures: list[object] = []
    lost: list[int] = []
    monkeypatch.setattr(sys, "unraisablehook", failures.append)
    start = Barrier(4)

    def work() -> None:
        start.wait()
        for turn in range(100_000):
            key = turn % 3
            value = table.find(key)
            if value is None:
                value = table.add(key, Value())
            if table.find(key) is not value:
                lost.append(key)
            del value

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert not failures
    assert not lost


def test_threads_agree_on_the_one_value() -> None:
    """The explorer builds types in workers, and `is` decides their equality there too."""
    n = p.PrimVar("n")
    made: list[list[p.PrimExpr]] = []
    start = Barrier(4)

    def build() -> None:
        start.wait()
        made.append([n + number for number in range(3000)])

    threads = [Thread(target=build) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(a is b for other in made[1:] for a, b in zip(made[0], other, strict=True))


def test_a_fact_goes_with_its_node() -> None:
    facts: PerNode[str] = PerNode()
    node = p.PrimVar("n")
    assert facts.of(node, lambda node: node.name) == "n"
    assert facts.of(node, lambda _: "made again") == "n"
    facts.add(node, "another")
    assert facts[id(node)] == "another"
    del node
    assert not facts
    assert not facts._entries
