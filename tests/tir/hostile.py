"""`python -m tests.tir.hostile --expressions 100000`: random kernels against an interpreter that checks each access.

It runs in a child process, and arrays end at protected memory. A kernel that leaves its buffers dies by a signal or
changes the bytes before them; both are noticed. Values, the kind of trap and its numbers must equal the interpreter's.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import mmap
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

import relax_explorer as rxe
from relax_explorer.core.exec.compiled_kernel import Kernel, Variables, uncompiled
from relax_explorer.core.exec.kernel_code import Code
from relax_explorer.core.ir import prim as p
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.intervals import limits
from relax_explorer.core.tir.stmt import Buffer
from tests.support.direct_interpreter import Interpreter, TooLong, Trap
from tests.support.hostile_kernels import Maker

FUEL = 20_000
SLICE = 50
"""The number of functions per child; the guards of an array stay mapped while a trap of numba holds it."""
CANARY = 0xA5
_LIBC = ctypes.CDLL(None, use_errno=True)


class Guarded:
    """Memory that ends at a protected page; the bytes before it have known values."""

    def __init__(self, size: int) -> None:
        page = mmap.PAGESIZE
        inner = -(-max(size, 1) // page) * page
        self.memory = mmap.mmap(-1, inner + 2 * page)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        for address in (start, start + page + inner):
            if _LIBC.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(page), 0):
                raise OSError(ctypes.get_errno(), "mprotect")
        self.slack = np.frombuffer(self.memory, np.uint8, inner - size, page)
        self.slack[:] = CANARY
        self.bytes = np.frombuffer(self.memory, np.uint8, size, page + inner - size)

    def array(self, shape: tuple[int, ...], kind: Any) -> Any:
        """The memory as an array."""
        return self.bytes.view(kind).reshape(shape)

    def is_whole(self) -> bool:
        """True if the bytes before it are unchanged."""
        return bool((self.slack == CANARY).all())


@dataclass
class Outcome:
    """The result of a run: code and numbers of a trap, and the bytes of every buffer."""

    code: str
    text: str
    arrays: list[bytes]


def inputs(fn: t.PrimFunc, random: Random, n: int) -> tuple[list[Any], dict[Any, Any]]:
    """Arrays and scalars, including extreme values."""
    rng = np.random.default_rng(random.getrandbits(32))
    given: list[Any] = []
    for param in fn.params[:-1]:
        if isinstance(param, Buffer):
            shape = tuple([dim.value if isinstance(dim, p.IntImm) else n for dim in param.shape])
            given.append(_content(rng, shape, param.dtype))
        else:
            low, high = limits(param.dtype)
            value = random.choice((low, high, low + 1)) if random.random() < 0.25 else random.randint(-3, 8)
            given.append(max(value, low))
    return given, {param: value for param, value in zip(fn.params, given, strict=False)}


def _content(rng: Any, shape: tuple[int, ...], kind: Any) -> Any:
    if kind.is_float:
        values = rng.choice([0.0, 1.5, -2.5, 3e9, 1e19, np.inf, np.nan, -1e30, 100.7], shape)
        return values.astype(np.float32)
    low, high = limits(kind)
    small = rng.integers(max(low, -3), 9, shape)
    edges = rng.choice(np.array([low, high, low + 1, high - 1, 0], object), shape)
    return np.where(rng.random(shape) < 0.25, edges, small.astype(object)).astype(kind.to_numpy())


def interpreted(fn: t.PrimFunc, case: int, given: list[Any], n: int) -> Outcome:
    """The interpreter's outcome of a case."""
    arrays = [value.copy() if isinstance(value, np.ndarray) else value for value in given]
    values: dict[Any, Any] = dict(zip(fn.params, [*arrays, case], strict=True))
    for param in fn.params:
        for dim in param.shape if isinstance(param, Buffer) else ():
            values[dim] = n
    assert isinstance(fn.body, t.SeqStmt)
    code = text = ""
    try:
        Interpreter(values, FUEL).run(fn.body.stmts[case])
    except Trap as trap:
        code, text = trap.code, trap.text
    return Outcome(code, text, [value.tobytes() for value in arrays if isinstance(value, np.ndarray)])


def compiled(kernel: Kernel, case: int, given: list[Any]) -> Outcome:
    """The kernel's outcome of a case."""
    guards, passed = [], []
    for value in given:
        if isinstance(value, np.ndarray):
            guards.append(Guarded(value.nbytes))
            passed.append(guards[-1].array(value.shape, value.dtype))
            passed[-1][...] = value
        else:
            passed.append(value)
    code = text = ""
    try:
        kernel(*passed, case)
    except rxe.Failure as failure:
        problem = failure.diagnostics[0]
        code, text = problem.code.id, problem.message
    if not all([guard.is_whole() for guard in guards]):
        code = "memory before a buffer was written"
    return Outcome(code, text, [value.tobytes() for value in passed if isinstance(value, np.ndarray)])


def same(found: Outcome, wanted: Outcome) -> bool:
    """True if both outcomes agree; for a trap the numbers count, not the statement's text."""
    if found.code != wanted.code or found.arrays != wanted.arrays:
        return False
    where = re.search(r"where .*$", wanted.text)
    head = wanted.text if where is None else wanted.text[: where.start()]
    tail = "" if where is None else where[0]
    return found.text.startswith(head) and found.text.endswith(tail) if head else True


def differences(seed: int, cases: int, counts: Counter[str]) -> Iterator[str]:
    """The cases of one function for which the interpreter disagrees with the compiled kernel, or with the reference evaluator."""
    random = Random(seed)
    maker = Maker(random, symbolic=random.random() < 0.2, views=seed % 4 == 0)
    fn = maker.function(cases)
    code = Code(fn, None)
    kernels = {
        "kernel": Kernel(fn, code, Variables.of(fn)),
        "reference": uncompiled(fn),
    }
    counts["functions"] += 1
    counts["expressions"] += maker.expressions
    for n in random.choice(((1, 5), (5, 12), (0, 7), (12, 300))) if len(maker.buffers) > 7 else (5, 5):
        for case in range(cases):
            given, _ = inputs(fn, random, n)
            try:
                wanted = interpreted(fn, case, given, n)
            except TooLong:
                counts["too long"] += 1
                continue
            counts["runs"] += 1
            counts[f"ended with {wanted.code or 'values'}"] += 1
            for name, kernel in kernels.items():
                found = compiled(kernel, case, given)
                if not same(found, wanted):
                    end = f"{found.code} {found.text!r}, wanted {wanted.code} {wanted.text!r}"
                    yield f"seed {seed}, case {case}, n {n}: {name} {end}"
    counts["functions compiled by LLVM"] += any([text.native is not None for text in code.texts.values()])


def child(seed: int, least: int, cases: int) -> int:
    """Run until this many expressions or SLICE functions were tried, and print the outcome; 1 if something differs."""
    counts: Counter[str] = Counter()
    while counts["expressions"] < least and counts["functions"] < SLICE:
        print(f"seed {seed}", file=sys.stderr, flush=True)  # the last line shows where it died
        for text in differences(seed, cases, counts):
            counts["differences"] += 1
            print(text, file=sys.stderr, flush=True)
        seed += 1
    print(json.dumps(counts))
    return int(bool(counts["differences"]))


def main(given: list[str]) -> int:
    """Run children one after another, since traps keep the memory of a child's kernels, and print how each ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--expressions", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=24, help="of one function")
    parser.add_argument("--child", action="store_true", help="run here")
    arguments = parser.parse_args(given)
    seed, left, wrong, start = arguments.seed, arguments.expressions, 0, time.monotonic()
    if arguments.child:
        return child(seed, left, arguments.cases)
    counts: Counter[str] = Counter()
    while left > 0:
        options = ("--child", f"--expressions={left}", f"--seed={seed}", f"--cases={arguments.cases}")
        found = subprocess.run(
            [sys.executable, "-m", "tests.tir.hostile", *options], capture_output=True, text=True, check=False
        )
        lines = [line for line in found.stderr.splitlines() if re.fullmatch(r"seed \d+", line) is None]
        print("".join(f"{line}\n" for line in lines), end="")
        if found.returncode < 0:
            print(f"died by signal {-found.returncode} at {found.stderr.splitlines()[-1:]}")
        wrong |= found.returncode
        if not found.stdout:
            break
        tried = Counter(json.loads(found.stdout))
        counts += tried
        seed, left = seed + tried["functions"], left - tried["expressions"]
        listed = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
        print(f"{listed}; {counts['differences']} differences; {time.monotonic() - start:.0f} s", flush=True)
    return int(wrong != 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
