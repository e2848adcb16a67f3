"""Runs pipelines: warns about the order first, records the changes of each pass, and verifies its result if requested; and tries passes."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, NamedTuple, Protocol, runtime_checkable

from relax_explorer.core import passes as registry
from relax_explorer.core.check.claimed_phase import ATTRIBUTE, HISTORY, recorded
from relax_explorer.core.check.normalize import normalize_with
from relax_explorer.core.codes import operators as op_codes
from relax_explorer.core.codes import passes as codes
from relax_explorer.core.codes.syntax import UNKNOWN_OPERATOR
from relax_explorer.core.collector import collector_at_rest
from relax_explorer.core.diagnostics import Diagnostic, Failure, Label, Severity
from relax_explorer.core.expected import expect
from relax_explorer.core.ir.expr import Function, If
from relax_explorer.core.ir.node import replace as with_fields
from relax_explorer.core.ir.walk import all_blocks, sequences
from relax_explorer.core.passes import live
from relax_explorer.core.passes.bridge import bridge
from relax_explorer.core.passes.contract import Kept, Pass, PassSite, bad_option
from relax_explorer.core.passes.kept import Loss, losses, resigned, vaguer
from relax_explorer.core.passes.kept_memory import overwritten
from relax_explorer.core.passes.pass_order import ORDERS, late, refusal, turned
from relax_explorer.core.passes.record import Record, Rewrite
from relax_explorer.core.phases.module_properties import (
    DERIVED,
    NORMALIZED,
    PROPERTIES,
    REGISTERED,
    Property,
)
from relax_explorer.core.phases.module_properties import holding as properties_of
from relax_explorer.core.phases.phases import phase
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.program.new_bindings import NewBindings


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One entry of a pipeline: a pass with its options. Its text is read back as an equal step, unless it has arrays of no file."""

    of: Pass
    options: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self._text(_written)

    @property
    def label(self) -> str:
        """The text with the beginning of long options only."""
        return self._text(
            lambda value: text if len(text := _written(value)) < LONG else f"{text[:SHORT]}…{text[-1]}"
        )

    def in_profile(self, profile: str) -> Step:
        """The step in a profile, if its pass has profiles and its options name none. Raises Failure for an unknown profile."""
        if not self.of.has_profiles or "profile" in self.options:
            return self
        return Step(self.of, self.of.settled_options({**self.options, "profile": profile}))

    def breaks(self) -> set[Property]:
        """The properties that the step may break."""
        return self.of.breaks(self.options)

    def result(self, held: Collection[Property]) -> set[Property]:
        """The properties behind the step, as its contract promises, if `held` are those before it. Without a contract, any may hold."""
        if not self.of.has_contract:
            return {*PROPERTIES}
        return {*held} - self.breaks() | {*self.of.establishes}

    def _text(self, write: Callable[[object], str]) -> str:
        text = ",".join(f"{key}={write(value)}" for key, value in self.options.items())
        return f"{self.of.name}{{{text}}}" if text else self.of.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Step) and self.of == other.of and _is_equal(self.options, other.options)

    def __hash__(self) -> int:
        return hash((self.of.name, *self.options))


class FromFile(dict[str, Any]):
    """Arrays by name, read from a file."""

    def __init__(self, path: str, arrays: Mapping[str, Any]) -> None:
        super().__init__(arrays)
        self.path = path


LONG, SHORT = 200, 30  # characters of an option


@runtime_checkable
class Array(Protocol):
    """An array of numpy, which need not be imported to compare options."""

    @property
    def dtype(self) -> object:
        """The element type."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths."""

    def tobytes(self) -> bytes:
        """The elements."""


def _is_equal(a: object, b: object) -> bool:
    """True if two options are equal. Of arrays, `==` has no truth value."""
    if a is b:
        return True
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_is_equal(a[key], b[key]) for key in a)
    if isinstance(a, Array) and isinstance(b, Array):
        return bool(a.dtype == b.dtype) and a.shape == b.shape and a.tobytes() == b.tobytes()
    return type(a) is type(b) and bool(a == b)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one step: module, rewrites, problems, seconds.

    A failed step keeps its input module; `failure` has the reason.
    """

    step: Step
    module: IRModule
    changed: bool
    record: Record
    problems: tuple[Diagnostic, ...]
    seconds: float
    waived: frozenset[Property] = frozenset()
    failure: Failure | None = None
    broken: frozenset[Property] = frozenset()  # properties that the step should have kept or established

    @property
    def rewrites(self) -> tuple[Rewrite, ...]:
        """The recorded changes."""
        return self.record.rewrites()

    def holding(self, held: Iterable[Property]) -> set[Property]:
        """The properties that hold after the step if `held` are those before it."""
        if self.failure is not None:
            return set(held)
        if not self.step.of.has_contract:
            return properties_of(self.module) if self.changed else set(held)
        after = {*held, *self.step.of.establishes}
        after -= {*self.step.breaks(), *self.waived, *self.broken}
        return (
            after if not self.changed else {q for q in after if q not in REGISTERED or q.holds(self.module)}
        )

    def raise_errors(self) -> None:
        """Raise Failure if the step failed or its result is wrong."""
        if self.failure is not None:
            raise self.failure
        errors = [problem for problem in self.problems if problem.is_error]
        if errors:
            raise Failure(*errors)


def _written(value: object) -> str:
    """The text of an option. Of arrays by name, their file is written, or else only the names."""
    if isinstance(value, FromFile):
        return repr(value.path)
    if isinstance(value, dict) and any(hasattr(item, "dtype") for item in value.values()):
        return f"{{{', '.join(f'{name!r}: …' for name in value)}}}"
    return repr(value)


def steps(pipeline: str | Iterable[str | Step], profile: str = "spec") -> list[Step]:
    """The steps of a text such as `CanonicalizeBindings,LegalizeOps{skip="relax.matmul"}`, a list of names, or a named pipeline.

    With the profile `tvm`, all passes that have the option `profile` get it, unless their options name one. A named pipeline takes
    this option, too: `default{profile="tvm"}`. Raises Failure for an unknown pass or option.
    """
    items = _split(pipeline) if isinstance(pipeline, str) else list(pipeline)
    result: list[Step] = []
    for entry in items:
        if isinstance(entry, Step):
            result.append(entry)
        elif (name := entry.partition("{")[0].strip()) in registry.PIPELINES:
            result.extend(_named(entry))
        elif live.is_live(name):
            result.extend(_live(entry))
        else:
            result.append(_step(entry))
    return result if profile == "spec" else [step.in_profile(profile) for step in result]


def _named(text: str) -> list[Step]:
    """The steps of a named pipeline with its options."""
    name, brace, written = text.partition("{")
    name = name.strip()
    options = _options(written.strip().removesuffix("}"), name) if brace else {}
    unknown = [key for key in options if key != "profile"]
    if unknown:
        text = f"the pipeline {name} has no option {unknown[0]!r}"
        raise bad_option(text, "it takes profile; others are those of its passes")
    return steps(registry.PIPELINES[name], str(options.get("profile", "spec")))


def _live(text: str) -> list[Step]:
    """The steps of a live pass: itself, or those inside of a pipeline of TVM."""
    name, brace, written = text.partition("{")
    of = live.live_pass(name.strip())
    options = _options(written.strip().removesuffix("}"), of.name) if brace else {}
    inner = live.stages(of.name, options)
    return [Step(live.live_pass(stage), options) for stage in inner] or [Step(of, options)]


_PIECE = re.compile(r"""[^,{}()\[\]"';\s]+|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\s+|.""", re.DOTALL)
_OPENING = {"{": "}", "(": ")", "[": "]"}


def _split(text: str, separators: str = ",") -> list[str]:
    """Split at separators outside brackets and quotes. Raises Failure for an unmatched bracket or quote."""
    parts, open_ = [""], list[str]()
    for piece in _PIECE.findall(text):
        if piece in _OPENING:
            open_.append(_OPENING[piece])
        elif piece in _OPENING.values() and (not open_ or open_.pop() != piece):
            raise _bad_option(f"{text[:80]!r} has {piece!r} without its opening bracket")
        elif piece in ("'", '"'):
            raise _bad_option(f"{text[:80]!r} has an unmatched quotation mark")
        if piece in separators and not open_:
            parts.append("")
        else:
            parts[-1] += piece
    if open_:
        raise _bad_option(f"{text[:80]!r} lacks {open_[-1]!r} at its end")
    return [part.strip() for part in parts if part.strip()]


def _step(text: str) -> Step:
    name, brace, options = text.partition("{")
    if live.is_live(name):
        return _live(text)[0]
    try:
        of = registry.get(name.strip())
    except KeyError as error:
        unknown = Diagnostic(codes.UNKNOWN_PASS, str(error.args[0]), help=codes.UNKNOWN_PASS.fix)
        raise Failure(unknown, *registry.problems()) from None
    given = _options(options.strip().removesuffix("}"), of.name) if brace else {}
    return Step(of, of.settled_options(given))


def _options(text: str, of: str) -> dict[str, Any]:
    """Parse options `a=1,b="x"`. A part without a name belongs to the option before it: `skip=add,multiply`."""
    settings: dict[str, list[object]] = {}
    name = ""
    for part in _split(text, ",;"):
        key, equals, value = part.partition("=")
        if equals:
            name = key.strip()
            if name in settings:
                raise _bad_option(f"option {name!r} of {of} is given twice")
            settings[name] = []
        elif not name:
            raise _bad_option(f"{part!r} is no option of {of}; write name=value")
        written = (value if equals else part).strip()
        if not written:
            raise _bad_option(f"option {name!r} of {of} has no value")
        settings[name].append(_value(written))
    return {key: values[0] if len(values) == 1 else values for key, values in settings.items()}


def _value(text: str) -> object:
    """Parse an option value. A name needs no quotation marks."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def _bad_option(text: str) -> Failure:
    return bad_option(text, 'write Pass{name=value,other="text"}')


@collector_at_rest()
def run_step(
    step: Step,
    module: IRModule,
    verify: bool = True,
    held: Iterable[Property] = (),
    phase_check: str = "error",
    broken: Collection[Property] = (),
) -> Outcome:
    """Run one step. With `verify`, check the properties that it establishes, and those in `held` that it keeps.

    Those in `broken` were broken before, so that this pass is not blamed for them. A pass that needs a property which the module
    lacks raises Failure. With `phase_check="warn"` it runs, and problems tell of it and of what it then broke, as warnings.
    """
    refused = refusal(step.of, module)
    if refused is not None and phase_check == "error":
        raise Failure(refused)
    start = perf_counter()
    try:
        new, site = step.of.apply(module, step.options)
    except Exception as error:
        if isinstance(error, Failure) or step.of.name in registry.own():
            raise
        text = f"{step.of.name} failed: {type(error).__name__}: {error}"
        help = codes.FOREIGN_FAILURE.fix
        raise Failure(Diagnostic(codes.FOREIGN_FAILURE, text, help=help, origin=step.of.name)) from error
    seconds = perf_counter() - start
    problems = [] if refused is None else [replace(refused, severity=Severity.WARNING, notes=(_ANYWAY,))]
    problems += site.report
    wrong: dict[Property, Diagnostic] = {}
    if verify and new is not module:
        wrong = _wrong(
            step, module, new, site, {q for q in held if q not in REGISTERED}.difference(broken), broken
        )
        found = [*wrong.values(), *_damage(step, module, new, site)]
        problems += found if refused is None else map(_expected, found)
    changed = new is not module
    told = with_record(new, step.of.name)
    if told is not new and not step.of.has_contract:
        bridge().keep(new, told)
    new = told
    waived = frozenset(site.waived)
    return Outcome(
        step, new, changed, site.recorded, tuple(problems), seconds, waived, broken=frozenset(wrong)
    )


def _wrong(
    step: Step, module: IRModule, new: IRModule, site: PassSite, before: Collection[Property], broken: Collection[Property],
) -> dict[Property, Diagnostic]:  # fmt: skip
    """The properties that a step claims and its result lacks. Those that were there `before` are looked for in what is new."""
    kept = {*before, NORMALIZED}.difference(broken)
    claimed = {*step.of.establishes, *kept} - {*step.breaks(), *site.waived}
    if NORMALIZED in claimed & kept and site.is_derived():
        DERIVED.add(new)
    added = NewBindings(new, module)
    checked = [(q, _broken(step, q, new, added if q in before else None)) for q in PROPERTIES if q in claimed]
    return {q: problem for q, problem in checked if problem is not None}


def _expected(problem: Diagnostic) -> Diagnostic:
    """A problem after a pass that ran where it can't: its contract promises nothing there, so it is no defect, and the run goes on."""
    return replace(problem, severity=Severity.WARNING) if problem.is_error else problem


_ANYWAY = "it runs anyway, as requested; its result may be wrong"


def with_record(module: IRModule, name: str) -> IRModule:
    """The module with a pass added to its history, if it has one (`rx.passes`)."""
    ran = recorded(module)
    if ran is None:
        return module
    return with_fields(module, attrs=module.attrs.having(**{HISTORY: (*ran, name)}))


def recording(module: IRModule) -> IRModule:
    """The normalized module with a history, to which each pass adds its name, and its phase, which transition passes change."""
    module = _ready(module)
    told = {ATTRIBUTE: str(phase(module)), HISTORY: (), **module.attrs}
    return with_fields(module, attrs=module.attrs.having(**told))


def run(
    module: IRModule,
    pipeline: Iterable[Step],
    held: Iterable[Property] = (),
    verify: bool = True,
    phase_check: str = "error",
) -> Iterator[Outcome]:
    """Run a pipeline; each step takes the result of the one before. `held` are the known properties of the module.

    The caller decides when to stop. After a failed step, the next one takes the same module. A property that one step breaks is
    not asked of later ones, until it holds again.
    """
    held = set(held)
    broken = set[Property]()
    past: list[tuple[str, IRModule]] = []  # the steps that changed the module, each with what it was given
    for step in pipeline:
        try:
            outcome = run_step(step, module, verify, held, phase_check, broken)
        except Failure as failure:
            outcome = Outcome(step, module, False, Record(), failure.diagnostics, 0.0, failure=failure)
        if not outcome.changed and outcome.failure is None and past:
            outcome = replace(outcome, problems=(*outcome.problems, *_removed(step, module, past)))
        if outcome.changed:
            past.append((step.of.name, module))
        yield outcome
        module, held = outcome.module, outcome.holding(held)
        broken |= outcome.broken
        if outcome.changed:
            mended = {q for q in broken if q.holds(module)}
            held, broken = held | mended, broken - mended


def _removed(step: Step, module: IRModule, past: Sequence[tuple[str, IRModule]]) -> list[Diagnostic]:
    """The warning that a step found nothing, and the name of the step that removed what it reads: before that, it would have found it."""
    if any(name == step.of.name for name, _ in past):
        return []
    missing = [reading for reading in step.of.reads if not reading.is_in(module)]
    for name, before in reversed(past):
        removed = [reading for reading in missing if reading.is_in(before)]
        is_turned = (step.of.name, name) in ORDERS
        if (removed or is_turned) and _would_change(step, before):
            return [late(step.of, removed[0], name) if removed else turned(step.of, name)]
    return []


def _would_change(step: Step, module: IRModule) -> bool:
    """True if a step would have changed an earlier module."""
    if refusal(step.of, module) is not None:
        return False
    try:
        return step.of.apply(module, step.options)[0] is not module
    except Failure:
        return False


def _broken(step: Step, required: Property, module: IRModule, new: NewBindings | None) -> Diagnostic | None:
    """The problem of a module without a property; `new` is what has to be looked at if the module before had it."""
    violation = required.violation(module) if new is None else required.violation_in(module, new)
    if violation is None:
        return None
    place, sentence = violation
    text = f"after {step.of.name}, {required.name} does not hold: {sentence}"
    return Diagnostic(codes.BROKEN_CONTRACT, text, (Label(place, "here", True),), origin=step.of.name)


def _damage(step: Step, module: IRModule, new: IRModule, site: PassSite) -> Iterator[Diagnostic]:
    """What a step lost or made wrong that no property tells."""
    if site.claims:
        yield from _false_claims(step, module, site.claims)
    if Kept.EFFECTS not in site.changes:
        found = (*losses(module, new, site), *vaguer(module, new, site), *resigned(module, new, site))
        yield from [_lost(step, loss) for loss in (*found, *overwritten(module, new))]


def _false_claims(step: Step, module: IRModule, errors: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """New errors of inference: an annotation that its value does not bear out, or operands that an operator refuses."""
    before = normalize_with(module)[1]
    known = {problem.message for problem in before.errors}
    # What an unknown operator returns is of no known kind; in another function, inference no longer sees why.
    excused = op_codes.WRONG_KIND if any(item.code is UNKNOWN_OPERATOR for item in before) else None
    for error in errors:
        if error.message not in known and error.code is not excused:
            text = f"after {step.of.name}, {error.message}"
            help = "either the pass is wrong, or it found lengths with which the program can't run here"
            yield Diagnostic(codes.BROKEN_CONTRACT, text, error.labels, help=help, origin=step.of.name)


def _lost(step: Step, loss: Loss) -> Diagnostic:
    label = Label(loss.place, "here", True)
    text = f"after {step.of.name}, {loss.text}"
    return Diagnostic(codes.BROKEN_CONTRACT, text, (label,), origin=step.of.name)


@collector_at_rest()
def apply_pass(module: IRModule, name: str, **options: object) -> IRModule:
    """The module after one pass. A module not in normal form is normalized first.

    Options stand in the text, as in a pipeline (`FuseOps{fuse_opt_level=0}`), or are keyword arguments. Raises Failure for an
    unknown pass or option, for an option that is given in both ways, for several passes, for a module with inference errors, or
    for a broken contract of the pass.

    >>> rxe.apply_pass(module, "LegalizeOps")
    <IRModule Module: add, matmul, relu, main>
    """
    expect(module, IRModule, "apply_pass takes a module, then the name of a pass")
    expect(name, str, "a pass is named by a text", "`rxe passes` lists them")
    return _result(module, [_one_step(name, options)], True, False)


def _one_step(text: str, options: dict[str, Any]) -> Step:
    """The step of one pass, with options in its text and others beside it."""
    parts = _split(text)
    name = text.partition("{")[0].strip()
    inner = _live(parts[0]) if len(parts) == 1 and live.is_live(name) else []
    if len(parts) > 1 or len(inner) > 1 or name in registry.PIPELINES:
        problem = f"{text[:80]!r} is {'a pipeline' if len(parts) < 2 else 'more than one pass'}"
        raise Failure(Diagnostic(codes.UNKNOWN_PASS, problem, help="run_pipeline runs several passes"))
    step = _step(parts[0] if parts else text)
    twice = sorted(step.options.keys() & options.keys())
    if twice:
        raise _bad_option(f"option {twice[0]!r} of {step.of.name} is given twice")
    return Step(step.of, {**step.options, **options})


@collector_at_rest()
def run_pipeline(
    module: IRModule,
    pipeline: str | Iterable[str | Step] = "default",
    verify: bool = True,
    record: bool = False,
    phase_check: str = "error",
    profile: str = "spec",
) -> IRModule:
    """The module after a pipeline of passes. Raises Failure like `apply_pass`.

    With `record` the attributes `rx.passes` and `rx.phase` of the result name the passes and its phase. With `phase_check="warn"`,
    passes also run where they would refuse to (RX0407). In the profile `tvm` they give TVM's results, with the checks that these lose.

    >>> rxe.run_pipeline(module, "CanonicalizeBindings,LegalizeOps")
    <IRModule Module: add, matmul, relu, main>
    """
    expect(module, IRModule, "run_pipeline takes a module, then a pipeline")
    expect(
        pipeline, (str, Iterable), "a pipeline is a text or a list of steps", "`zero,default_build` is one"
    )
    given = steps(pipeline, profile)
    return _result(recording(module) if record else module, given, verify, verify, phase_check)


def _result(
    module: IRModule, pipeline: Sequence[Step], verify: bool, keep: bool, phase_check: str = "error"
) -> IRModule:
    """The module after a pipeline. With `keep`, the properties of the input module must still hold."""
    module = _ready(module)
    for outcome in run(module, pipeline, properties_of(module) if keep else (), verify, phase_check):
        outcome.raise_errors()
        module = outcome.module
    return module


def _ready(module: IRModule) -> IRModule:
    """The normalized module. It is unchanged if every value already has StructInfo."""
    if all(map(_is_inferred, module.relax_functions.values())):
        return module
    new, problems = normalized(module)
    errors = [problem for problem in problems if problem.is_error and not problem.spec_only]
    if errors:
        raise Failure(*errors)
    return new


def _is_inferred(fn: Function) -> bool:
    """True if inference has visited all values of a function. It turns the branches of an If into sequences."""
    if fn.body.body.struct_info is None or fn.struct_info is None:
        return False
    for block in all_blocks(fn):
        values = [binding.value for binding in block.bindings]
        if not all([value.struct_info for value in values]):
            return False
        if If in map(type, values) and any(type(v) is If and len(sequences(v)) < 2 for v in values):
            return False
    return True


def normalized(module: IRModule) -> tuple[IRModule, list[Diagnostic]]:
    """The module in normal form, as passes require, and the diagnostics of inference."""
    new, report = normalize_with(module)
    return new, report.sorted()


# -- speculation -----------------------------------------------------------------------------------------------------
# Which passes would change a module: each runs on it, and the result is thrown away.


class Verdict(NamedTuple):
    """The outcome of a pass that was tried: `refusal` tells why it did not run."""

    name: str
    changes: bool
    refusal: str = ""


def verdict(module: IRModule, name: str) -> Verdict:
    """Try a pass on a normalized module."""
    try:
        return Verdict(name, run_step(Step(registry.get(name)), module, False).changed)
    except Failure as failure:
        return Verdict(name, False, failure.diagnostics[0].message)


def verdicts(
    module: IRModule, names: Iterable[str] | None = None, executor: Executor | None = None
) -> Iterator[Verdict]:
    """Try passes (by default all), in the order of `names`. Closing the iterator cancels those that have not begun."""
    chosen = list(registry.names() if names is None else names)
    if executor is None:
        for name in chosen:
            yield verdict(module, name)
        return
    futures = [executor.submit(verdict, module, name) for name in chosen]
    try:
        for future in futures:
            yield future.result()
    finally:
        for future in futures:
            future.cancel()
