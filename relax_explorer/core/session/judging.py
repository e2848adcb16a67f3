"""Tells rounding from faults: whether two runs that differ compute the same function.

The cheapest answer that holds decides, and the judgement names it:

1. **the same bits**: nothing to judge.
2. **the given bound**, if the user gave `--rtol` or `--atol`: it alone decides.
3. **float64**: both programs run again with every narrow float in float64 (`shadows`). There a right pair agrees up to the rounding of
   float64. That is estimated from what rounding did to the narrow runs, 2^-29 times as much and a large allowance, so that sums that cancel,
   however much, are no fault, while a fault of 10^-6 stands out by many orders of magnitude. A fixed bound cannot do this: it is too strict
   where terms cancel, and it hides faults smaller than itself. So it is not asked first. If the shadows part, the first values that part
   are computed again with their operands moved by as much as they are apart: a program so unstable that this explains it is no fault.
4. **the bound**, where float64 does not tell: a run has no shadow, or the shadows part where a constant of one program is rounded to a narrow
   float, as when a pass computes with constants.
5. **random rounding** (`random_rounding`), where the bound does not hold either, and for numbers that leave the range of a narrow float.

Integers and truth values that differ in narrow floats only are flipped by rounding: an argmax of nearly equal elements. Equal bits are not
asked further, so a fault that changes no bit of any result is none here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from relax_explorer.core.check.normalize import normal_form_of
from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.exec.values import Value, kind_of
from relax_explorer.core.exec.widening import called, narrow_floats, narrow_floats_in, wide_value
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.walk import any_expr, exprs
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.program.hash import data_digest
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.call_program import CallProgram
from relax_explorer.core.session.counterparts import Match, Origins, counterparts
from relax_explorer.core.session.difference import Delta, Tolerance, distance, is_float, leaves_of
from relax_explorer.core.session.recording import (
    Production,
    Recording,
    differing,
    is_same,
    machine_factory,
    recorded,
)
from relax_explorer.core.session.samples import SampleRun
from relax_explorer.core.session.shadows import (
    ALLOWANCE,
    Moment,
    NoShadow,
    Results,
    Shadows,
    moved,
    rounded_runs,
    rounded_value,
    spread,
)
from relax_explorer.core.session.verdict import (
    OTHER_LINES,
    Decider,
    Growth,
    Judgement,
    Report,
    growth,
    outcome,
    relative,
)
from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.core.tir.traverse import expressions, statements, subexpressions

# -- rounded constants -----------------------------------------------------------------------------------------------
# Constants of a program that may be rounded: a pass that computes with constants stores the result in a narrow
# float.


_SHORT = 12  # bits of a number that people write, such as 0.125 or 1024


def rounded_constants(a: IRModule, b: IRModule, function: str) -> bool:
    """True if one of two programs has a constant that the other lacks, and that looks rounded to a narrow float."""
    left, right = (set(_constants(normal_form_of(module), function)) for module in (a, b))
    return bool(left ^ right)


def _constants(module: IRModule, function: str) -> Iterator[object]:
    """The constants that may be rounded: arrays of narrow floats, and literals with all the bits of their dtype."""
    for name in called(module, function):
        fn = module.functions[name]
        if type(fn) is PrimFunc:
            for part in subexpressions(*[expr for node in statements(fn.body) for expr in expressions(node)]):
                if type(part) is p.FloatImm and _looks_rounded(part.value, part.dtype.to_numpy()):
                    yield part.value
        elif type(fn) is e.Function:
            for expr in exprs(fn):
                if type(expr) is e.Constant and expr.data is not None and is_float(expr.data.dtype):
                    yield from _of_array(expr.data)


def _of_array(array: Array) -> Iterator[object]:
    if array.size == 1:
        value = float(array.reshape(-1)[0])
        if _looks_rounded(value, array.dtype):
            yield value
    else:
        yield array.dtype.name, array.shape, data_digest(array)


def _looks_rounded(value: float, dtype: np.dtype[np.generic]) -> bool:
    """True for a number that needs many of the bits of its dtype, but not more."""
    if not np.isfinite(value) or dtype.itemsize > 4:
        return False
    mantissa = int(abs(np.frexp(value)[0]) * 2.0**53)
    short = mantissa == 0 or 53 - (mantissa & -mantissa).bit_length() + 1 <= _SHORT
    return not short and float(np.asarray(value).astype(dtype)) == value


# -- compared results ------------------------------------------------------------------------------------------------
# The results of two runs beside those of their shadows, and beside runs with random rounding.


_SHARE = 2.0**-17
"""Of what rounding did in narrow floats: the part that may be left in float64. It is 4,096 times what float32 lets expect."""
_FEW = 2.0**-46  # a hundred units of float64


def results_of(run: Recording) -> list[Value]:
    """The parts of the result of a run, then its arguments afterwards."""
    return [*leaves_of(run.result), *run.inputs]


def name_of_result(number: int, run: Recording) -> str:
    """The name of one of `results_of`."""
    place = number - len(list(leaves_of(run.result)))
    if place < 0:
        return run.labels[number]
    return f"{run.names[place] if place < len(run.names) else f'input {place}'} (overwritten)"


def is_float_value(value: Value) -> bool:
    """True for floats, and for arrays of floats."""
    return isinstance(value, float) or (isinstance(value, (np.ndarray, np.generic)) and is_float(value.dtype))


def with_shadows(
    a: Recording, b: Recording, wide_a: Recording, wide_b: Recording
) -> Iterator[tuple[str, list[Value]]]:
    """Each result with its name: of both programs, then of their shadows."""
    parts = [results_of(run) for run in (a, b, wide_a, wide_b)]
    for n, values in enumerate(zip(*parts, strict=False)):
        yield name_of_result(n, a), list(values)


class Compared:
    """The results of two programs and their shadows.

    `wrong` are those that differ in float64 by more than rounding leaves there. `leaves_range` if an element is finite in one narrow run only.
    """

    def __init__(self, results: Iterable[tuple[str, list[Value]]]) -> None:
        self.results = list(results)
        self.leaves_range = False
        self.apart = self.explained = 0.0
        self.off = [0.0, 0.0]
        self.wrong: list[str] = []
        self.flipped: list[str] = []
        for name, values in self.results:
            if values[0] is values[1] and is_same(*values[2:]):  # nobody overwrote it
                continue
            parts = zip(*[leaves_of(value) for value in values], strict=False)
            if not all([self._holds(name, list(part)) for part in parts]):
                self.wrong.append(name)

    def _holds(self, name: str, values: list[Value]) -> bool:
        a, b, wide_a, wide_b = values
        if not is_float_value(wide_a) or np.shape(wide_a) != np.shape(wide_b):
            good = is_same(wide_a, wide_b)
            if good and not is_same(a, b):
                self.flipped.append(name)
            return good
        numbers = [np.asarray(value).astype(np.float64) for value in values]
        if any(item.shape != numbers[2].shape for item in numbers):
            self.flipped.append(name)  # rounding decided how many there are
            return bool((distance(numbers[2], numbers[3]) <= _left(numbers[2:] * 2)).all())
        finite = [np.isfinite(item) for item in numbers[:2]]
        self.leaves_range |= bool(((finite[0] != finite[1]) & np.isfinite(numbers[2])).any())
        apart, allowed = distance(numbers[2], numbers[3]), _left(numbers)
        for n in (0, 1):
            off = distance(numbers[n], numbers[n + 2])
            self.off[n] = max(self.off[n], float(off[np.isfinite(off)].max(initial=0.0)))
        self.apart = max(self.apart, float(apart.max(initial=0.0)))
        self.explained = max(self.explained, float(allowed.max(initial=0.0)))
        return not bool((apart > allowed).any())

    def is_within(self, runs: Sequence[Results]) -> bool:
        """True if the shadows are not further apart than runs of the first one with random rounding."""
        for n, (_, values) in enumerate(self.results):
            a, b = values[2:]
            if not is_same(a, b) and not explained_by(a, b, [results[n] for results in runs])[0]:
                return False
        return True


def has_form(a: Value, b: Value) -> bool:
    """True if two values have parts of the same shapes."""
    left, right = list(leaves_of(a)), list(leaves_of(b))
    return len(left) == len(right) and all(
        np.shape(x) == np.shape(y) for x, y in zip(left, right, strict=True)
    )


def _left(numbers: Sequence[Array]) -> Array:
    """The distance in float64 that rounding explains, from what it did in narrow floats."""
    a, b, wide_a, wide_b = numbers
    done = np.maximum(distance(a, wide_a), distance(b, wide_b))
    most = float(done[np.isfinite(done)].max(initial=0.0))
    magnitudes = np.abs(wide_a)
    finite = magnitudes[np.isfinite(magnitudes)]
    scale = float(np.median(finite)) if finite.size else 0.0
    return _SHARE * most + _FEW * (np.where(np.isfinite(magnitudes), magnitudes, 0.0) + scale)


def explained_by(a: Value, b: Value, others: Sequence[Value]) -> tuple[bool, float]:
    """Whether random rounding explains the distance of two values, and how far it lets them be apart."""
    if type(a) is tuple:
        parts = [
            explained_by(x, y, [list(leaves_of(other))[n] for other in others])
            for n, (x, y) in enumerate(zip(leaves_of(a), leaves_of(b), strict=True))
        ]
        return all(good for good, _ in parts), max([most for _, most in parts], default=0.0)
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return is_same(a, b) or any(not is_same(a, other) for other in others), 0.0
    if any(other.shape != a.shape for other in others):
        return True, 0.0  # rounding decides how many there are
    if a.shape != b.shape:
        return False, 0.0
    if not is_float(a.dtype):
        return not bool(((a != b) & ~moved(a, others)).any()), 0.0
    left, right = a.astype(np.float64), b.astype(np.float64)
    allowed = ALLOWANCE * spread(left, [other.astype(np.float64) for other in others])
    finite = np.isfinite(left)
    lost = np.any([np.isfinite(other.astype(np.float64)) != finite for other in others], axis=0)
    lost |= (
        finite & ~np.isfinite(right) & (allowed >= np.abs(left))
    )  # without one certain digit, it may be 0 / 0 as well
    wrong = (distance(left, right) > allowed) & ~lost
    return not bool(wrong.any()), float(allowed.max(initial=0.0))


def as_far_from(base: Value, x: Value, y: Value) -> Value:
    """A value as far from another one as `y` is from `x`."""
    if not is_float_value(x) or np.shape(x) != np.shape(y):
        return base if is_same(x, y) else y
    base, x, y = [np.asarray(value).astype(np.float64) for value in (base, x, y)]
    with np.errstate(all="ignore"):
        return np.where(x == y, base, base + (y - x))


# -- judging ---------------------------------------------------------------------------------------------------------


_WIDE = 2.0**-53  # the unit of float64
_UNITS = {"float32": 2.0**-24, "bfloat16": 2.0**-8, "float16": 2.0**-11}
_CONSTANT = 4.0  # units by which a rounded constant moves the first value computed from it
_SIDES = 4.0  # times that the second program must be further off to be the one that is explained
_SHARES = (1.0, 1e-3, 1e-5)  # of the bound of float64, with which the first values that part are searched
_NARROW_INSIDE = ("image.", "hamming_window", "quantize", "dequantize", "vision.")


@dataclass(frozen=True, slots=True, eq=False)
class Ran:
    """A run of a function: the module, the arguments before the run, and what it gave. With `program` it made the calls of a file."""

    module: IRModule
    function: str
    values: Sequence[Value]
    run: Recording
    program: CallProgram | None = None


def ran_of(given: SampleRun, module: IRModule, run: Recording) -> Ran:
    """A run of a sample on a stage, for the judge. A stage without a normal form ran nothing."""
    made = module if run.failure is not None else given.module(module)
    return Ran(made, given.function, given.values, run, given.program)


@dataclass(frozen=True, slots=True, eq=False)
class Traced:
    """Recorded runs in float64 of both programs, the matches of their values, and the bound of these matches."""

    a: Recording
    b: Recording
    matches: Sequence[Match]
    tolerance: Tolerance
    interrupt: Interrupt | None = None

    @property
    def report(self) -> Report:
        """The pairs of values in float64."""
        return Report(self.a, self.b, self.matches, self.tolerance, interrupt=self.interrupt)

    @property
    def parted(self) -> tuple[Production, Production] | None:
        """The first values that differ."""
        found = self.report.parted()
        if found is None or found[0].a is None or found[0].b is None:
            return None
        return self.a.productions[found[0].a], self.b.productions[found[0].b]

    def apart_before(self, item: Production) -> float:
        """How far the operands of a value of A are from those of B, relative to them."""
        partners = {match.a: match.b for match in self.matches if match.a is not None and match.b is not None}
        found = [
            relative(self.a.productions[read].value, self.b.productions[partners[read]].value)
            for read in item.reads
            if read in partners
        ]
        return max([apart for apart in found if apart is not None], default=0.0)


class Judge:
    """Judges runs, and keeps the shadow run of the first program. With `records`, shadow runs are recorded at once."""

    def __init__(
        self, cache: Path | None, interrupt: Interrupt | None, shadows: Shadows, records: bool = False
    ) -> None:
        self._cache, self._interrupt, self._records = cache, interrupt, records
        self.shadows = shadows
        self._first: tuple[Sequence[Value], IRModule, Recording | NoShadow] | None = None
        self._rounded: tuple[Sequence[Value], IRModule, float, list[Results]] | None = None
        self._grown: tuple[Sequence[Value], Recording, tuple[Growth, ...]] | None = None

    def judge(
        self, a: Ran, b: Ran, tolerance: Tolerance, is_within: bool, links: Origins | None = None
    ) -> tuple[Judgement, Traced | None]:
        """Judge two runs that ended with results of the same form. `is_within` tells if the fixed bound holds.

        Recorded shadow runs are returned, too, if there are any and float64 decided.
        """
        if tolerance.is_given:
            return Judgement(Decider.GIVEN, not is_within), None
        if all(is_same(x, y) for x, y in zip(results_of(a.run), results_of(b.run), strict=True)):
            return Judgement(Decider.BITS), None
        one = self._shadow_of_first(a)
        two = one if isinstance(one, NoShadow) else self._shadow(b)
        if isinstance(one, NoShadow) or isinstance(two, NoShadow):
            reason = next(item.reason for item in (one, two) if isinstance(item, NoShadow))
            if is_within:
                return Judgement(Decider.BOUND, no_shadow=reason), None
            return replace(self._by_random(a, b, is_within), no_shadow=reason), None
        return self._by_shadow(a, b, (one, two), links or {}, is_within)

    def _shadow(self, ran: Ran) -> Recording | NoShadow:
        run = self.shadows.recorded if self._records else self.shadows.finished
        return run(ran.module, ran.function, ran.values, ran.program)

    def _shadow_of_first(self, a: Ran) -> Recording | NoShadow:
        known = self._first
        if known is None or known[0] is not a.values or known[1] is not a.module:
            known = self._first = a.values, a.module, self._shadow(a)
        return known[2]

    def _by_shadow(
        self, a: Ran, b: Ran, shadows: tuple[Recording, Recording], links: Origins, is_within: bool
    ) -> tuple[Judgement, Traced | None]:
        """Judge by the results in float64."""
        found = Compared(with_shadows(a.run, b.run, *shadows))
        plain = Judgement(
            Decider.SHADOW,
            False,
            found.apart,
            found.explained,
            tuple(found.flipped),
            off=(found.off[0], found.off[1]),
        )
        if not found.wrong:
            if not found.leaves_range and (is_within or not self._hides_overlaps(a, b)):
                return plain, self._trace(*shadows, links) if self._records else None
            return replace(self._by_random(a, b, is_within), in_wide=found.apart), None
        traced = self._traced(a, b, shadows, links)
        if self._is_unstable(a, traced, found):
            return plain, None
        if traced is None or not self._may_be_constant(a, b, traced):
            return replace(plain, is_fault=True, wrong=tuple(found.wrong)), traced
        if is_within:
            return Judgement(Decider.BOUND, in_wide=found.apart), None
        by_random = replace(self._by_random(a, b, is_within), in_wide=found.apart)
        return by_random, traced if by_random.is_fault else None

    def _hides_overlaps(self, *sides: Ran) -> bool:
        """True if floats of two widths share storages: their tensors lie further apart in float64, so that they may overlap no more."""
        widths = [
            narrow_floats_in(normal_form_of(ran.module), ran.function) for ran in sides if _has_storages(ran)
        ]
        return any(len({_UNITS[name] for name in names}) > 1 for names in widths)

    def _is_unstable(self, a: Ran, traced: Traced | None, found: Compared) -> bool:
        """True if rounding in float64 alone moves the values as far as they are apart there.

        The first values that part tell. If they cannot, the results do.
        """
        shadow = self.shadows.of(a.module, a.function)
        if isinstance(shadow, NoShadow):
            return False
        make, values = (
            self.shadows.machine_factory(shadow, a.function, a.program),
            wide_value(tuple(a.values)),
        )
        first = None if traced is None else traced.parted
        if traced is not None and first is not None:
            item, other = first
            times = sum(
                1 for earlier in traced.a.productions[: item.number] if earlier.binding is item.binding
            )
            moment = Moment(item.binding, times, shadow.origins)
            runs = rounded_value(make, values, max(_WIDE, traced.apart_before(item)), moment)
            if runs and all(has_form(item.value, value) for value in runs):  # else it wrote into a cache
                return explained_by(item.value, other.value, runs)[0]
        results = rounded_runs(make, values, _WIDE, 2)
        return bool(results) and found.is_within(results)

    def _traced(self, a: Ran, b: Ran, shadows: tuple[Recording, Recording], links: Origins) -> Traced | None:
        """The recorded shadow runs, matched with the first bound that shows a difference."""
        if self._records:
            return self._trace(*shadows, links, parted=True)
        one = self.shadows.recorded(a.module, a.function, a.values, a.program)
        two = self.shadows.recorded(b.module, b.function, b.values, b.program)
        if isinstance(one, NoShadow) or isinstance(two, NoShadow):
            return None
        return self._trace(one, two, links, parted=True)

    def _trace(self, a: Recording, b: Recording, links: Origins, parted: bool = False) -> Traced:
        for share in _SHARES if parted else _SHARES[:1]:
            tolerance = Tolerance(share=share)
            matches = counterparts(a.productions, b.productions, links, tolerance, self._interrupt)
            traced = Traced(a, b, matches, tolerance, self._interrupt)
            if parted and traced.parted is not None:
                break
        return traced

    def _may_be_constant(self, a: Ran, b: Ran, traced: Traced) -> bool:
        """True if the runs part where a constant is rounded, or at an operator that computes in float32 by definition."""
        if traced.parted is None:
            return False
        left, right = traced.parted
        if any(name in item.operation for name in _NARROW_INSIDE for item in (left, right)):
            return True
        apart = relative(left.value, right.value)
        unit = max(_unit_of(item) for item in (left, right))
        is_small = apart is not None and apart <= _CONSTANT * unit
        return is_small and rounded_constants(a.module, b.module, a.function)

    def _by_random(self, a: Ran, b: Ran, is_within: bool) -> Judgement:
        """Judge by the spread of the results of the first program under random rounding."""
        results = zip(results_of(a.run), results_of(b.run), strict=True)
        items = [(n, name_of_result(n, a.run), x, y) for n, (x, y) in enumerate(results)]
        return self._by_spread(a, max(_narrowest(a), _narrowest(b)), items, is_within)

    def recorded(self, a: Ran, given: Sequence[tuple[int, Value, Value]]) -> Judgement:
        """Judge results beside recorded ones: the number of each, and both values.

        The spread is that of the first program, which moves from one value to the other.
        """
        results = results_of(a.run)
        if any(np.shape(results[n]) != np.shape(x) for n, x, _ in given):
            return Judgement(Decider.BOUND, True)
        items = [(n, a.run.labels[n], results[n], as_far_from(results[n], x, y)) for n, x, y in given]
        return self._by_spread(a, _narrowest(a), items, False)

    def _by_spread(
        self, a: Ran, unit: float, items: Sequence[tuple[int, str, Value, Value]], is_within: bool
    ) -> Judgement:
        runs = self._rounded_runs(a, unit)
        if not runs:
            return Judgement(Decider.BOUND, not is_within)
        wrong, explained, flipped = [], 0.0, []
        for n, name, x, y in items:
            good, most = explained_by(x, y, [results[n] for results in runs])
            explained = max(explained, most)
            if not good:
                wrong.append(name)
            elif not is_float_value(x) and not is_same(x, y):
                flipped.append(name)
        return Judgement(Decider.RANDOM, bool(wrong), None, explained, tuple(flipped), tuple(wrong))

    def _rounded_runs(self, a: Ran, unit: float) -> list[Results]:
        known = self._rounded
        if known is None or known[0] is not a.values or known[1] is not a.module or known[2] != unit:
            make = machine_factory(a.module, a.function, self._cache, self._interrupt, a.program)
            known = self._rounded = a.values, a.module, unit, rounded_runs(make, a.values, unit)
        return known[3]

    def grown(self, ran: Ran, shadow: Recording | None = None) -> tuple[Growth, ...]:
        """Where rounding grows in a program: found once for the latest one. Its recorded shadow run is made if it is not given."""
        known = self._grown
        if known is None or known[0] is not ran.values or known[1] is not ran.run:
            known = self._grown = ran.values, ran.run, self._growth(ran, shadow)
        return known[2]

    def _growth(self, ran: Ran, shadow: Recording | None) -> tuple[Growth, ...]:
        wide = shadow or self.shadows.recorded(ran.module, ran.function, ran.values, ran.program)
        if isinstance(wide, NoShadow):
            return ()
        run = ran.run
        if not run.productions:
            run = recorded(
                ran.module, ran.function, ran.values, self._cache, self._interrupt, program=ran.program
            )
        return growth(run, wide)


@dataclass(frozen=True, slots=True, eq=False)
class Weighed:
    """The comparison of two runs: why they differ (empty if they do not), the distances of their results, and what decided.

    Without a judgement, no rounding can explain the reason. `traced` are the recorded runs in float64, if there are any.
    """

    reason: str
    results: tuple[tuple[str, Delta], ...]
    judgement: Judgement | None = None
    traced: Traced | None = None

    @property
    def worst(self) -> Delta | None:
        """The distance of the result with the most elements out of the bound; None if all are within."""
        out = [apart for _, apart in self.results if not apart.equal]
        return max(out, key=lambda apart: apart.count, default=None)


def weigh(judge: Judge, a: Ran, b: Ran, tolerance: Tolerance, links: Origins | None = None) -> Weighed:
    """Compare the results of two runs, the inputs that they overwrote, and what they printed. Two runs that both stop are equal."""
    reason, results = outcome(a.run, b.run, tolerance)
    if not _has_same_form(a.run, b.run):
        return Weighed(reason, results)
    is_within = all(apart.equal for _, apart in results)
    judgement, traced = judge.judge(a, b, tolerance, is_within, links)
    if judgement.is_fault:
        return Weighed(_reason(judgement, is_within) or reason, results, judgement, traced)
    if not is_within and judgement.by is Decider.SHADOW and judgement.off is not None:
        side = a if _SIDES * judgement.off[0] >= judgement.off[1] else b
        shadow = None if traced is None else (traced.a if side is a else traced.b)
        judgement = replace(judgement, grows=judge.grown(side, shadow))
    return Weighed("" if a.run.output == b.run.output else OTHER_LINES, results, judgement, traced)


def _reason(judgement: Judgement, is_within: bool) -> str:
    if not judgement.wrong:
        return ""
    names = differing(judgement.wrong)
    return f"{names} by less than the bound" if is_within else names


def _has_same_form(a: Recording, b: Recording) -> bool:
    """True if both runs ended, with results of the same kinds and dtypes."""
    if a.failure is not None or b.failure is not None:
        return False
    sides = [[*leaves_of(run.result), *leaves_of(tuple(run.inputs))] for run in (a, b)]
    return len(sides[0]) == len(sides[1]) and all(
        kind_of(x) == kind_of(y) and getattr(x, "dtype", None) == getattr(y, "dtype", None)
        for x, y in zip(*sides, strict=True)
    )


def _unit_of(item: Production) -> float:
    """The unit of the floats of a value in its program."""
    info = item.binding.var.struct_info if item.binding.var is not None else None
    return max([_UNITS[name] for name in narrow_floats(info)], default=_UNITS["float32"])


def _has_storages(ran: Ran) -> bool:
    """True if a program allocates storages that tensors share."""
    functions = normal_form_of(ran.module).relax_functions.values()
    return any(
        any_expr(fn, lambda expr: getattr(expr, "name", "").endswith("alloc_storage")) for fn in functions
    )


def _narrowest(ran: Ran) -> float:
    names = narrow_floats_in(normal_form_of(ran.module), ran.function)
    return max([_UNITS[name] for name in names], default=_WIDE)
