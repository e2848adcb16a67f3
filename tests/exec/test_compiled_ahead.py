"""Kernels that a program calls later are compiled by threads while the first ones are."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec import machine_code
from relax_explorer.core.exec.interrupt import Cancelled, Interrupt
from relax_explorer.core.exec.machine import Machine
from relax_explorer.core.exec.machine_code import Text

F = np.float32
NUMBERS = iter(range(1000))  # no kernel of a test was compiled before
KERNEL = """
    @T.prim_func
    def k{n}(A: T.Buffer((T.int64(4),), "float32"), B: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            B[i] = T.max(A[i] * T.float32({n}) + T.float32({factor}), T.float32(-{factor}{n}))
"""  # a limit is no operand of arithmetic, so each kernel is compiled
CALL = 'v{n} = R.call_tir(Module.k{n}, ({x},), R.Tensor((4,), "float32"))'


def program(count: int, more: str = "", calls: str = "") -> rxe.IRModule:
    factor = 10_000 + next(NUMBERS)
    kernels = "".join([KERNEL.format(n=n, factor=factor) for n in range(count)])
    lines = [CALL.format(n=n, x=f"v{n - 1}" if n else "x") for n in range(count)]
    body = "".join([f"        {line}\n" for line in [*lines, *calls.splitlines()]])
    text = f"@I.ir_module\nclass Module:{kernels}{more}\n    @R.function\n    def main(x: R.Tensor((4,), 'float32')):\n{body}"
    return rxe.normalize(rxe.parse(text + f"        return v{count - 1}\n"))


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[Text]:
    """The texts that threads compile."""
    if machine_code._workers() is None:
        pytest.skip("one processor")
    found: list[Text] = []
    begin = Text.begin

    def watched(text: Text) -> None:
        before = text.coming
        begin(text)
        found.extend([text] if text.coming is not before else [])

    monkeypatch.setattr(Text, "begin", watched)
    return found


def test_later_kernels_are_begun_while_the_first_is_compiled(
    begun: list[Text], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = program(6)
    first = Waiting(monkeypatch)
    expected = rxe.run(module, "main", [np.ones(4, F)], engine="reference")
    assert not begun
    np.testing.assert_array_equal(rxe.run(module, "main", [np.ones(4, F)]), expected)
    assert len(begun) == 6
    assert first.asked > 5
    assert all(text.native is not None and text.coming is None for text in begun), "all were needed"


class Waiting:
    """Lets `done` of the first text say no until all kernels were translated."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, times: int = 6) -> None:
        self.asked = 0
        done = Future.done

        def later(future: Future[Any]) -> bool:
            self.asked += 1
            return self.asked > times and done(future)

        monkeypatch.setattr(Future, "done", later)


def test_the_code_is_the_same(begun: list[Text]) -> None:
    module = program(1)
    rxe.run(module, "main", [np.ones(4, F)])
    (text,) = begun
    ahead = machine_code._signed(machine_code._assembly(text.routine, text.params, text.apart, text.name))
    assert ahead == machine_code.object_code(text.routine, text.params, text.apart, text.name)


def test_a_kernel_without_a_translation_stops_only_its_call(
    begun: list[Text], monkeypatch: pytest.MonkeyPatch
) -> None:
    more = """
    @T.prim_func
    def odd(A: T.Buffer((T.int64(4),), "float32"), B: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            B[i] = T.call_extern("float32", "nobody", A[i])
"""
    calls = 'w = R.call_tir(Module.odd, (v3,), R.Tensor((4,), "float32"))'
    module = program(4, more, calls)
    Waiting(monkeypatch)
    machine = Machine(module, "main", [np.ones(4, F)], record=True)
    for _ in range(4):
        assert machine.step().kind == "bind"
    assert len(begun) == 4
    with pytest.raises(rxe.Failure) as caught:
        machine.step()
    for _ in range(2):
        with pytest.raises(rxe.Failure) as again:
            rxe.run(module, "main", [np.ones(4, F)])
        assert again.value.diagnostics[0].message == caught.value.diagnostics[0].message


def test_each_kernel_is_told_at_its_first_call(begun: list[Text], monkeypatch: pytest.MonkeyPatch) -> None:
    module = program(4, calls=CALL.format(n=0, x="v3").replace("v0", "w"))
    Waiting(monkeypatch)
    machine = Machine(module, "main", [np.ones(4, F)], record=True)
    told: list[tuple[int, int]] = []
    machine.kernels.told = lambda *numbers: told.append(numbers)
    for n in range(4):
        machine.step()
        assert told == [pair for k in range(1, n + 2) for pair in ((k, 4), (0, 0))]
    machine.step()
    assert len(told) == 8, "not again"
    assert len(begun) == 4


def test_nothing_is_begun_after_an_interrupt(begun: list[Text], monkeypatch: pytest.MonkeyPatch) -> None:
    module, interrupt = program(6), Interrupt()
    Waiting(monkeypatch)
    machine = Machine(module, "main", [np.ones(4, F)], interrupt=interrupt)
    begin = Text.begin
    monkeypatch.setattr(Text, "begin", lambda text: (begin(text), interrupt.cancel())[0])
    with pytest.raises(Cancelled):
        machine.run()
    assert len(begun) == 1


def test_what_the_cache_has_is_not_compiled(begun: list[Text], tmp_path: Path) -> None:
    module = program(3)
    rxe.run(module, "main", [np.ones(4, F)], cache=tmp_path / "cache")
    count = len(begun)
    assert count >= 1
    machine_code._TEXTS.clear()
    again = rxe.normalize(rxe.parse(module.script()))
    rxe.run(again, "main", [np.ones(4, F)], cache=tmp_path / "cache")
    assert len(begun) == count


def test_one_processor_compiles_each_kernel_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_code, "_workers", lambda: None)
    module = program(3)
    expected = rxe.run(module, "main", [np.ones(4, F)], engine="reference")
    np.testing.assert_array_equal(rxe.run(module, "main", [np.ones(4, F)]), expected)


def _in_a_child(module: rxe.IRModule, answers: Any) -> None:
    answers.put(rxe.run(module, "main", [np.ones(4, F)]).tolist())


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork")
def test_a_child_compiles_by_threads_of_its_own(begun: list[Text]) -> None:
    rxe.run(program(3), "main", [np.ones(4, F)])
    module = program(3)
    machine = Machine(module, "main", [np.ones(4, F)], record=True)
    machine.step()  # the others are on their way, perhaps
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    child = context.Process(target=_in_a_child, args=(module, answers))
    child.start()
    child.join(20)
    child.kill()  # if it waits for ever
    assert child.exitcode == 0
    assert answers.get() == rxe.run(module, "main", [np.ones(4, F)]).tolist()
