"""Our result of a pass beside TVM's, for many programs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import relax_explorer as rxe
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.passes.contract import PROFILES
from relax_explorer.core.tir.stmt import PrimFunc
from tests.support import mdtest
from tests.support.corpus import CORPUS, MODELS
from tests.support.layer_material import layer_material, loss_material
from tests.support.oracle import Applied, Oracle, Pass, Program
from tests.support.pass_material import pass_material
from tests.support.roundtrip import SAMPLES

TESTS = Path(__file__).resolve().parent.parent
IMPORTED = TESTS / "data" / "imported"
HEADER = "# from tvm.script import ir as I, relax as R, tirx as T\n\n"


@dataclass(frozen=True)
class Outcome:
    """The outcome for one program.

    `kind` is `same` (neither changed it), `agree`, `differ`, `refused` (only we refuse), `not asked` (TVM does not read the
    program, or its pass fails), `not ready` (the result would not be well-formed, so we refuse), or `read differently` (the
    StructInfo differs before the pass, on purpose). `details` has both texts or the reason.
    """

    kind: str
    details: str = ""


@cache
def programs() -> dict[str, str]:
    """Texts by name: those written for passes, the chapters of the language, the samples and the first stages of the corpus."""
    found = {}
    folders = [TESTS / "oracle" / "pass_programs", TESTS / "spec"]
    for path in (path for folder in folders for path in sorted(folder.glob("*.md"))):
        found.update({case.name: as_module(case.program) for case in mdtest.read(path) if _is_good(case)})
    found.update({f"samples/{path.stem}": path.read_text(encoding="utf-8") for path in SAMPLES})
    for model in MODELS:
        for path in model.stages:
            found[path.relative_to(CORPUS).as_posix()] = path.read_text(encoding="utf-8")
    return found


@cache
def imported() -> dict[str, str]:
    """Models that TVM's importers made, by name."""
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(IMPORTED.glob("*.py"))}


MATERIALS = {"general": pass_material, "layers": layer_material, "losses": loss_material}


def random_programs(count: int, first: int = 0, of: str = "general") -> Iterator[tuple[str, str]]:
    """Random programs by the names of their seeds."""
    for seed in range(first, first + count):
        yield f"seed {seed}", MATERIALS[of](seed)


def as_module(text: str) -> str:
    """A text as TVM reads it: functions without a module are put into one."""
    if "@I.ir_module" in text:
        return text
    body = "".join(f"    {line}" if line.strip() else line for line in text.splitlines(keepends=True))
    return f"{HEADER}@I.ir_module\nclass Module:\n{body}"


def _is_good(case: mdtest.Case) -> bool:
    """True for a program without errors. Attributes that our passes keep up to date (`rx.phase`, `rx.passes`) are nothing to TVM."""
    is_ours = '"rx.p' in case.program
    return bool(case.program) and not is_ours and not any(item.kind == "error" for item in case.expected)


def compare(
    oracle: Oracle, given: str | Applied, ours: tuple[str, dict[str, Any]], theirs: Pass | None = None
) -> Outcome:
    """Apply a pass here and in TVM (`theirs`, if it is called differently there), and compare the structure of the results.

    `given` is a text, or TVM's module after other passes: TVM prints some of these in forms that it does not read back.
    """
    name, options = ours
    text = given if isinstance(given, str) else given.text
    answer = oracle.apply(asked(given), [theirs or (name, options)])
    if not answer.ok:
        return Outcome("not asked", f"{answer.kind}: {answer.error[-200:]}")
    try:
        before = rxe.normalize(rxe.parse(text))
        after = rxe.apply_pass(before, name, **options)
    except Failure as failure:
        code = failure.diagnostics[0].code.id
        if code.startswith("RX00") and not oracle.parse(text, check_well_formed=False).ok:
            return Outcome("not asked", "TVM does not read its own text")
        return Outcome("not ready" if code == "RX0407" else "refused", str(failure))
    result = answer.get()
    if is_equal(after, result.text):
        return Outcome("same" if after is before else "agree")
    printed = after.script()
    equal = oracle.equal(printed, result.handle)
    if equal.get().mapped if equal.ok else _is_equal_as_text(oracle, after, result.text):
        return Outcome("same" if after is before else "agree")
    read = oracle.script(asked(given))
    if read.ok and not is_equal(with_kernels(before, read.get()), read.get()):
        return Outcome("read differently")
    mismatch = equal.get().mismatch if equal.ok else equal.error[-200:]
    return Outcome("differ", f"{mismatch}\n---- ours\n{printed}\n---- TVM\n{result.text}")


def with_kernels(module: rxe.IRModule, text: str) -> rxe.IRModule:
    """The module whose PrimFuncs are those of TVM's text, which tell what they read and write."""
    try:
        kernels = {name: fn for name, fn in rxe.parse(text).functions.items() if isinstance(fn, PrimFunc)}
    except Failure:
        return module
    return module.having({name: kernels.get(name, fn) for name, fn in module.functions.items()})


def _is_equal_as_text(oracle: Oracle, ours: rxe.IRModule, theirs: str) -> bool:
    """True if the Relax functions are equal in our eyes, and all is in TVM's, for text with a part that TVM does not read."""
    if not is_equal(with_kernels(ours, theirs), theirs):
        return False
    equal = oracle.equal(readable(ours.script()), readable(theirs))
    return equal.ok and equal.get().mapped


def readable(text: str) -> str:
    """A text without a part that TVM prints but does not read: types of `alloc_tensor`, which follow from its operands."""
    return re.sub(r"(R\.builtin\.alloc_tensor\(.*), ty_args=\(R\.Tensor\(.*\),\)\)", r"\1)", text)


def asked(given: str | Applied) -> Program:
    """The program about which TVM is asked."""
    return given if isinstance(given, str) else given.handle


def agreement(oracle: Oracle, text: str, name: str) -> dict[str, bool]:
    """For each profile of a pass that changes a program: is our result TVM's? Empty if neither changes it, or TVM can't be asked."""
    answer = oracle.apply(text, [(name, {})])
    read = oracle.script(text)
    if not answer.ok or not read.ok:
        return {}
    before = rxe.normalize(rxe.parse(text))
    result = answer.get()
    if not is_equal(before, read.get()) or is_equal(before, result.text):
        return {}
    found = {}
    for profile in PROFILES:
        after = rxe.apply_pass(before, name, profile=profile)
        found[profile] = is_equal(after, result.text)
        if not found[profile]:
            equal = oracle.equal(after.script(), result.handle)
            found[profile] = equal.ok and equal.get().mapped
    return found


def is_equal(ours: Any, text: str) -> bool:
    """True if TVM's text is our module, up to names."""
    try:
        theirs = rxe.normalize(rxe.parse(text))
    except Failure:
        return False
    return bool(rxe.structural_equal(ours, theirs, map_free_vars=True))
