"""Damaged files of calls: each must run, or end in diagnostics."""

from __future__ import annotations

import random
import traceback

import relax_explorer as rxe
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.session.call_program import call_program, read_calls
from tests.fuzz.trial import MOST_SECONDS, Finding, TooSlow, limited

MOST = 1 << 24
_TEXT = """@I.ir_module
class Module:
    @R.function
    def begin() -> R.Any:
        z = R.zeros(R.shape([4, 2]), "float32")
        c = R.call_pure_packed("vm.builtin.attention_kv_cache_create", z, R.shape([4, 2]), 0, ty_args=(R.Any,))
        return c

    @R.function
    def step(x: R.Tensor((1, 2), "float32"), c: R.Any, s: R.Shape(["n"])):
        y = R.multiply(x, x)
        k = R.call_pure_packed("vm.builtin.attention_kv_cache_append", c, y, ty_args=(R.Any,))
        return (y, k)
"""
_CALLS = """# a cache
c = begin()
y, c = step([[1, 2]], c, shape(1))

y, c = step([[y[0, 0], 2]], c, shape(y.size, c.shape[0]))
vm.builtin.attention_kv_cache_array_popn((c), 1)
y, c = step("randn:1", c, shape(2))
step(y, c, shape(max(y)))
"""
_PIECES = (
    "c", "y", "(", ")", "[", "]", ",", "=", '"ones"', '"w.npz"', "shape(", "begin", "step", ".", "1e99", "-1", "None", "*", "lambda: 0",
    "[" * 200, "y[0]", "c[5]", "'" , "\\", "#", "\n", " ", "vm.builtin.kv_state_clear", "not", "max(c)", "c.pages", "==", "\0", "é",
)  # fmt: skip


class CallFiles:
    """Damages the text of calls."""

    def __init__(self, seed: int) -> None:
        self.random, self.module = random.Random(seed), rxe.parse(_TEXT)

    def trial(self) -> Finding | None:
        """Damage the calls, and make them."""
        text = self._damaged()
        try:
            with limited(MOST_SECONDS):
                self._made(text)
        except TooSlow:
            return Finding(f"calls: over {MOST_SECONDS} s", text, traceback.format_exc())
        except Exception as error:  # noqa: BLE001  # finding those is what this is for
            place = traceback.extract_tb(error.__traceback__)[-1]
            what = f"calls: {type(error).__name__} at {place.filename.rpartition('/')[2]}:{place.name}"
            return Finding(what, text, traceback.format_exc())
        return None

    def _made(self, text: str) -> None:
        try:
            calls = read_calls(text, "calls.txt")
            program = call_program(self.module, calls, "calls.txt", most=MOST)
            debugger = Debugger(program.into(self.module), program.name, program.values)
            while not debugger.done:
                debugger.step()
            assert program.summary
            program.named(debugger.machine.result)
        except Failure as failure:
            if not failure.diagnostics[0].message:
                raise ValueError("a message is empty") from None

    def _damaged(self) -> str:
        text = _CALLS
        for _ in range(self.random.choice((1, 1, 2, 4))):
            at, count = self.random.randrange(len(text) + 1), self.random.choice((0, 1, 1, 3, 12))
            text = text[:at] + self.random.choice((*_PIECES, "", "", "")) + text[at + count :]
        return text
