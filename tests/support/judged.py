"""TVM's result of a pass beside ours: equal as they stand, equal by a row of `differences.md`, or unexplained.

A row is a function from TVM's result to the result that is promised instead (`promises.py`), or, for one program, the lines that
differ (`patches.py`). What it gives must have the structure of ours: nothing is left out of a comparison.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import relax_explorer as rxe
from relax_explorer.core import passes
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.ir.node import replace as replace_node
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.tir.stmt import PrimFunc
from tests.support.freedoms import in_our_order
from tests.support.oracle import Handle, Oracle, Pass
from tests.support.pass_agreement import readable, with_kernels
from tests.support.pass_variants import Variant
from tests.support.patches import difference, patched, patches
from tests.support.promises import promised_by

KINDS = ("same", "equal", "row", "unexplained", "refused", "not asked")
"""`same`: neither side changed the program. `refused`: only we refuse, where TVM changes nothing or a row says why."""

REFUSALS = {"RX0404": "BindParams, Decompose"}
"""The rows of problems with which we refuse options that say nothing about a program, and that TVM passes over."""


KERNELS = {"LegalizeOps", "DispatchSampling", "DispatchSortScan"}
"""Passes that make kernels of operators: names, calls and StructInfo are TVM's, the loops inside are ours."""
UNSTEADY = {"DataflowUseInplaceCalls"}
"""TVM orders the lengths that a kernel takes by the addresses of their variables, so that it is asked again."""


@dataclass(frozen=True)
class Verdict:
    """What became of one program: a kind of `KINDS`, the first words of its rows, and both texts or the reason."""

    kind: str
    rows: tuple[str, ...] = ()
    details: str = ""
    is_program: bool = True
    """False if TVM itself refuses its result, or does not read its print, but those of the program. Only campaigns ask."""


@dataclass(frozen=True)
class Given:
    """A program as TVM holds it, and as it is read here."""

    handle: Handle
    text: str
    module: IRModule | None


@dataclass(frozen=True)
class Results:
    """Both results of a pass for one program, in the profile `tvm`. `ours` may be a failure."""

    oracle: Oracle
    of: Variant
    program: IRModule
    ours: IRModule | Failure
    given: Given
    text: str
    """TVM's print of its result."""
    handle: Handle | None
    """TVM's result itself; None if `text` was changed."""

    @cached_property
    def theirs(self) -> IRModule | None:
        """TVM's result as it is read here; None if that is not possible."""
        return read(self.text)

    @cached_property
    def shown(self) -> IRModule:
        """Our result as it is compared. Bodies of new kernels are compared by running them, so they are TVM's here."""
        assert isinstance(self.ours, IRModule)
        if self.of.name not in KERNELS:
            return self.ours
        shown = dict(self.ours.functions)
        for name, kernel in with_kernels(self.ours, self.text).functions.items():
            mine = shown[name]
            if not isinstance(kernel, PrimFunc) or not isinstance(mine, PrimFunc):
                continue
            if len(kernel.params) == len(mine.params):  # else the operands differ, which has to show
                # A pattern of ours is what AnnotateTIROpPattern would find in TVM's kernel.
                attrs = mine.attrs if "op_pattern" in kernel.attrs else mine.attrs.without("op_pattern")
                shown[name] = replace_node(kernel, attrs=attrs)
        return self.ours.having(shown)

    @cached_property
    def is_unchanged(self) -> bool:
        """True if TVM's pass changed nothing."""
        return self.theirs is not None and is_equal(self.program, self.theirs)

    @property
    def is_program(self) -> bool:
        """False if TVM refuses its own result, or does not read its print, and has nothing against the program."""
        if self.handle is None or _is_taken(self.oracle, self.handle, self.text):
            return True
        return not _is_taken(self.oracle, self.given.handle, self.given.text)

    def is_promised(self, promised: IRModule) -> bool:
        """True if a promised result has the structure of ours."""
        return is_equal(self.shown, promised) or self._is_alike(promised, promised.script(), None)

    @cached_property
    def is_equal(self) -> bool:
        """True if the results are equal as they stand, in the order that TVM leaves open (`freedoms.py`)."""
        if self.theirs is None or self._is_alike(self.theirs, self.text, self.handle):
            return self.theirs is not None
        return (
            self.in_order is not self.theirs and self.in_order is not None and self.is_promised(self.in_order)
        )

    @cached_property
    def in_order(self) -> IRModule | None:
        """TVM's result as it is read here, with what it leaves open in our order; None if it is not read."""
        if self.theirs is None or isinstance(self.ours, Failure):
            return self.theirs
        return in_our_order(self.of.name, self.ours, self.theirs)

    def _is_alike(self, theirs: IRModule, text: str, handle: Handle | None) -> bool:
        """True if a result has the structure of ours: Relax functions in our eyes, PrimFuncs in ours or TVM's."""
        assert isinstance(self.ours, IRModule)
        if is_equal(self.ours, theirs):
            return True
        if self.of.name in KERNELS:
            return is_equal(self.shown, theirs)
        has_kernels = len(theirs.functions) > len(theirs.relax_functions)
        if not has_kernels or not is_equal(with_kernels(self.ours, text), theirs):
            return False
        ours = readable(self.ours.script())
        answer = self.oracle.equal(ours, handle or readable(text))
        if handle is not None and not (answer.ok and answer.get().mapped):
            # There are parts that TVM prints but does not read again, or reads with another dtype, `T.Add(3, 1)`.
            answer = self.oracle.equal(ours, readable(text))
        return answer.ok and answer.get().mapped

    def having(self, ours: IRModule) -> Results:
        """These results with another one of ours."""
        return replace(self, ours=ours)


def _is_taken(oracle: Oracle, handle: Handle | None, text: str) -> bool:
    """True if a module is well-formed by TVM's own check, and its print, too, when TVM reads it."""
    checked = None if handle is None else oracle.well_formed(handle)
    if checked is not None and checked.ok and not checked.get().well_formed:
        return False
    return oracle.parse(readable(text)).ok


def read(text: str) -> IRModule | None:
    """A text as it is read here; None if that is not possible."""
    try:
        module: IRModule = rxe.normalize(rxe.parse(text))
    except Failure:
        return None
    return module


def is_equal(a: IRModule, b: IRModule) -> bool:
    """True if two modules have the same structure."""
    return bool(rxe.structural_equal(a, b, map_free_vars=True))


def in_order_of(ours: IRModule, theirs: IRModule) -> IRModule:
    """A module whose functions stand in the order of another one's; the order says nothing."""
    names = [name for name in ours.functions if name in theirs.functions]
    return theirs.having(
        {name: theirs.functions[name] for name in dict.fromkeys((*names, *theirs.functions))}
    )


def settled(of: Variant, profile: str = "tvm") -> dict[str, object]:
    """The options of a pass here, in a profile if it has any."""
    return {**of.options, "profile": profile} if passes.get(of.name).has_profiles else of.options


@dataclass
class Asker:
    """Asks for the results of passes. Programs that are asked about again are read once."""

    oracle: Oracle
    known: dict[tuple[str, tuple[str, ...]], Given | Verdict] = field(default_factory=dict)

    def verdict(self, text: str, of: Variant, title: str = "", asks_back: bool = False) -> Verdict:
        """The verdict about the results of a pass for a program. A pass of TVM that orders by addresses is asked again.

        With `asks_back`, TVM is asked what it says of its own result.
        """
        for _ in range(8 if of.name in UNSTEADY else 1):
            results = self.ask(text, of)
            found = judge(results, title) if isinstance(results, Results) else results
            if found.kind != "unexplained":
                break
        if asks_back and isinstance(results, Results) and found.kind in ("equal", "row", "unexplained"):
            return replace(found, is_program=results.is_program)
        return found

    def leaves(self, text: str, of: Variant) -> bool:
        """True if our pass leaves a program as it is; TVM is not asked about it."""
        given = self.given(text, of.before)
        if isinstance(given, Verdict) or given.module is None:
            return False
        try:
            return rxe.apply_pass(given.module, of.name, **settled(of)) is given.module
        except Failure:
            return False

    def given(self, text: str, before: tuple[Pass, ...] = ()) -> Given | Verdict:
        """A text after passes of TVM; a verdict if TVM does not read it, or a pass fails.

        Where TVM reads a text differently on purpose, both sides start from what it read.
        """
        key = text, tuple([str(step) for step in before])
        found = self.known.get(key)
        if found is None or (isinstance(found, Given) and not self.oracle.keeps(found.handle)):
            found = self.known[key] = self._given(text, before)
        return found

    def _given(self, text: str, before: tuple[Pass, ...]) -> Given | Verdict:
        answer = self.oracle.apply(text, list(before))
        if not answer.ok:
            return Verdict("not asked", details=f"{answer.kind}: {answer.error[-200:]}")
        handle, its_own = answer.get().handle, answer.get().text
        module = read(text) if not before else None
        as_read = read(its_own)
        if module is not None and as_read is None and not _is_taken(self.oracle, handle, its_own):
            return Verdict("not asked", details="what TVM read is not a program")
        if module is None or (as_read is not None and not is_equal(with_kernels(module, its_own), as_read)):
            module = as_read
        return Given(handle, its_own, module)

    def ask(self, text: str, of: Variant) -> Results | Verdict:
        """Both results for a program; a verdict if TVM cannot be asked."""
        given = self.given(text, of.before)
        if isinstance(given, Verdict):
            return given
        if given.module is None:
            return Verdict("not asked", details="not read here")
        answer = self.oracle.apply(given.handle, [of.in_tvm])
        if not answer.ok:
            return Verdict("not asked", details=f"{answer.kind}: {answer.error[-200:]}")
        result = answer.get()
        try:
            ours: IRModule | Failure = rxe.apply_pass(given.module, of.name, **settled(of))
        except Failure as failure:
            ours = failure
        return Results(self.oracle, of, given.module, ours, given, result.text, result.handle)


def judge(results: Results, title: str = "", explains: bool = True) -> Verdict:
    """Judge two results. `title` names the program, for its differences of its own; random programs have none.

    Without `explains` the details of what is unexplained are left out, which takes most of the time.
    """
    patch = patches(results.of.name).get((results.of.title, title))
    if isinstance(results.ours, Failure):
        code = results.ours.diagnostics[0].code.id
        if code in REFUSALS and results.is_unchanged:
            return Verdict("refused", (REFUSALS[code],))
        if patch is not None and patch.refused == code:
            return Verdict("row" if not results.is_unchanged else "refused", (patch.row,))
        return Verdict("unexplained", details=f"refused {code}\n\n{results.ours}")
    if results.is_equal:
        is_same = results.ours is results.program or is_equal(results.ours, results.program)
        return Verdict("same" if is_same else "equal")
    if patch is not None:
        text = patched(_theirs(results), patch.change)
        promised = None if text is None else read(text)
        # A result that nobody reads, such as one that names a function that is gone, is compared as text.
        is_same_text = text is not None and text.splitlines() == results.shown.script().splitlines()
        if is_same_text or (promised is not None and results.is_promised(promised)):
            return Verdict("row", (patch.row,))
    row = promised_by(results) if results.theirs is not None else ()
    if row:
        return Verdict("row", row)
    if not title and results.theirs is None and not _is_taken(results.oracle, results.handle, results.text):
        return Verdict("not asked", details="neither TVM nor we take TVM's own result")
    return Verdict("unexplained", details=_difference(results) if explains else "")


def _theirs(results: Results) -> str:
    """TVM's result as we print it, its functions in our order. What is not read here has the whole of ours as its patch."""
    assert isinstance(results.ours, IRModule)
    return "" if results.in_order is None else in_order_of(results.ours, results.in_order).script()


def _difference(results: Results) -> str:
    return difference(_theirs(results), results.shown.script())
