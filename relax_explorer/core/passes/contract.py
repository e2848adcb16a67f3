"""Declares passes. A pass is a function from Function to Function (or module to module) with a contract.

    @function_pass("DeadCodeElimination", requires=[NORMAL_FORM], establishes=[NO_DEAD_CODE])
    def eliminate_dead_code(fn: Function, at: PassSite) -> Function:
        \"\"\"Drop bindings that nothing reads.\"\"\"

A pass that changes nothing returns the same object. Options are typed keyword arguments of the function.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from operator import itemgetter
from typing import Any, ClassVar, TypedDict, TypeVar, Unpack

from relax_explorer.core.build.module_editor import ModuleEditor
from relax_explorer.core.check.claimed_phase import ATTRIBUTE
from relax_explorer.core.check.compatible import always_fits
from relax_explorer.core.codes import passes as codes
from relax_explorer.core.codes.well_formedness import NARROW_ANNOTATION
from relax_explorer.core.diagnostics import Code, Diagnostic, Failure, Label, Report
from relax_explorer.core.ir.expr import Binding, Function
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import all_dims
from relax_explorer.core.passes.cast_checks import bound_dims
from relax_explorer.core.passes.derived_again import derived_again
from relax_explorer.core.passes.readings import Reading
from relax_explorer.core.passes.rebuilt_functions import rebuilt
from relax_explorer.core.passes.record import Record, Rewrite
from relax_explorer.core.phases.module_properties import Property
from relax_explorer.core.phases.phases import phase
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.syntax.python_tree import python_tree

Result = TypeVar("Result")


class Kept(Enum):
    """What every pass keeps, unless its declaration names it among its changes."""

    EFFECTS = "effects, and with them all else: a user edited the program"
    CHECKS = "checks that may stop a run"
    RESULTS = "the StructInfo of results"
    SIGNATURES = "visible functions and their parameters"


ALWAYS = ""
"""In place of the option that asks for a change: no option need ask for it."""


@dataclass(slots=True)
class PassSite:
    """The context of a running pass: the module, its report, and the record of its rewrites."""

    module: IRModule
    function: str = ""
    report: Report = field(default_factory=Report)
    recorded: Record = field(default_factory=Record)
    editor: ModuleEditor = field(init=False)  # adds functions to the module
    rule: str = ""
    shared: dict[Any, Any] = field(default_factory=dict)  # state of the pass between functions
    changes: frozenset[Kept] = frozenset()  # what the pass may change with its options
    as_tvm: bool = False  # True if the option `profile` asks for TVM's result, losses included
    claims: list[Diagnostic] = field(default_factory=list)  # errors of inference in the result
    is_derived: Callable[[], bool] = lambda: False  # whether all StructInfo of the result is proved to follow
    # Properties that this run does not establish; its report or options tell why.
    waived: set[Property] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.editor = ModuleEditor(self.module)

    def once(self, key: object, make: Callable[[], Result]) -> Result:
        """What stands under a key in the state that functions share. It is made when it is asked for first."""
        if key not in self.shared:
            self.shared[key] = make()
        known: Result = self.shared[key]
        return known

    def record(
        self, before: Binding | tuple[Binding, ...], after: Binding | tuple[Binding, ...] = ()
    ) -> None:
        """Note that bindings `before` became `after`."""
        if not (isinstance(before, tuple) or isinstance(after, tuple)):  # most often
            self.recorded.entries.append((self.rule, before, after))
            return
        old = before if isinstance(before, tuple) else (before,)
        new = after if isinstance(after, tuple) else (after,)
        self.recorded.add(Rewrite(self.rule, old, new))

    def record_in_order(self, before: Function, after: Function) -> None:
        """Note that each binding of `before` became the one at its place in `after`."""
        self.recorded.entries.append((self.rule, before, after))


def bad_option(text: str, help: str, origin: str = "") -> Failure:
    """The failure of a pass with a wrong option."""
    return Failure(Diagnostic(codes.BAD_OPTION, text, help=help, origin=origin))


def failure_at(code: Code, text: str, place: object, remark: str, help: str, origin: str = "") -> Failure:
    """The failure of a pass at a place of the program."""
    return Failure(Diagnostic(code, text, (Label(place, remark, True),), help=help, origin=origin))


def check_choice(option: str, value: str, choices: Sequence[str]) -> None:
    """Raise Failure unless an option has one of some values."""
    if value not in choices:
        written = [f'{option}="{choice}"' for choice in choices]
        raise bad_option(f"{option} is {value!r}", f"write {' or '.join(written)}")


PROFILES = ("spec", "tvm")
_DEEPEST = 8  # nested functions whose results follow from each other's
NO_VALUES: dict[str, Any] = {}  # the default of an option with values by name
KINDS = {
    str: "a text",
    tuple: "one name or a list of names",
    int: "a number",
    bool: "True or False",
    dict: "values by name",
}


def relax_function(module: IRModule, name: str) -> Function:
    """The Relax function that an option names. Raises Failure if there is none."""
    fn = module.relax_functions.get(name)
    if fn is None:
        help = f"the functions are {', '.join(module.relax_functions)}"
        raise bad_option(f"the module has no Relax function {name!r}", help)
    return fn


@dataclass(frozen=True, slots=True)
class Option:
    """A keyword argument of a pass."""

    name: str
    kind: str
    doc: str
    default: Any


def _written(parameter: inspect.Parameter) -> str:
    """The annotation of an option as text. Only files with `from __future__ import annotations` have it as text."""
    given = parameter.annotation
    if given is inspect.Parameter.empty:
        return type(parameter.default).__name__
    if isinstance(given, str):
        return given
    return given.__name__ if type(given) is type else str(given).replace("typing.", "")


def _described(annotation: str) -> tuple[str, str]:
    """The type and the description in the text `Annotated[type, "description"]`; a plain type has no description."""
    tree = python_tree(annotation, "eval").body
    if isinstance(tree, ast.Subscript) and isinstance(tree.slice, ast.Tuple):
        annotated, *descriptions = tree.slice.elts
        if ast.unparse(tree.value) == "Annotated" and isinstance(descriptions[0], ast.Constant):
            return ast.unparse(annotated), str(descriptions[0].value)
    return annotation, ""


# Of every pass with `has_profiles`.
_PROFILE = Option(
    "profile",
    "str",
    '"spec" keeps what the specification asks for, "tvm" gives TVM\'s result with its losses',
    "spec",
)
# Of every pass that `rebuilds`.
_REBUILDING = Option(
    "profile",
    "str",
    f"{_PROFILE.doc}; functions then promise what their bodies have, and annotations no more than their values",
    "spec",
)


@dataclass(frozen=True)
class Pass:
    """A pass: its name is TVM's, its options come from the function's signature, its contract from the declaration."""

    name: str
    run: Callable[..., Any]
    on_module: bool
    requires: tuple[Property, ...] = ()
    establishes: tuple[Property, ...] = ()
    invalidates: tuple[Property, ...] = ()
    # Requirements without which it refuses to run: its result would be wrong.
    needs: tuple[Property, ...] = ()
    reads: tuple[Reading, ...] = ()  # without each of these it finds nothing
    # Functions without all of these it does not visit, if no option is set.
    only_with: tuple[Reading, ...] = ()
    has_profiles: bool = False  # True if TVM's result differs, so that the option `profile` chooses
    rebuilds: bool = False  # True if TVM makes every function with bindings anew (`rebuilt_functions.py`)
    # Of `invalidates`, what stays with an option.
    kept_with: Mapping[str, Property] = field(default_factory=dict)
    # What it need not keep, with the option that asks for that.
    changes: Mapping[Kept, str] = field(default_factory=dict)
    keeps_promises: bool = False  # True if TVM's result keeps what functions promise, unless they have more
    example: str = ""  # a program that it changes; `examples.md` has those of our passes
    has_contract: ClassVar[bool] = True  # without one, what holds behind it is known when it has run

    def breaks(self, options: Mapping[str, Any]) -> set[Property]:
        """The properties that the pass may break if it runs with these options."""
        return {*self.invalidates} - {q for name, q in self.kept_with.items() if options.get(name)}

    @property
    def doc(self) -> str:
        """The docstring of the pass. The first line is one sentence."""
        return inspect.getdoc(self.run) or ""

    @cached_property
    def options(self) -> tuple[Option, ...]:
        """The pass's options in order, each with the description that its annotation gives; `profile` last."""
        parameters = list(inspect.signature(self.run).parameters.values())[2:]
        own = tuple([Option(q.name, *_described(_written(q)), q.default) for q in parameters])
        if not self.has_profiles:
            return own
        return (*own, _REBUILDING if self.rebuilds else _PROFILE)

    def check_options(self, values: dict[str, Any]) -> None:
        """Raise Failure for an unknown option or a value of the wrong type."""
        known = {option.name: option for option in self.options}
        for name, value in values.items():
            option = known.get(name)
            if option is None:
                takes = f"it takes {', '.join(known)}" if known else "it takes none"
                raise bad_option(f"{self.name} has no option {name!r}", takes)
            kind = type(option.default)
            if not isinstance(value, (kind, str) if kind is dict else kind):
                text = f"option {name!r} of {self.name} must be {KINDS[kind]}, not {value!r}"
                raise bad_option(text, f"write {name}={option.default!r}")
            if option in (_PROFILE, _REBUILDING) and value not in PROFILES:
                text = f"option 'profile' of {self.name} is {value!r}"
                raise bad_option(text, 'write profile="spec" or profile="tvm"')
            if type(value) is tuple and not all(isinstance(item, str) for item in value):
                text = f"option {name!r} of {self.name} must be names, not {value!r}"
                raise bad_option(text, f'write {name}="name"')

    def settled_options(self, values: dict[str, Any]) -> dict[str, Any]:
        """Convert options for the pass: lists and single names become tuples. Raises Failure like `check_options`."""
        several = {option.name for option in self.options if type(option.default) is tuple}
        settled = {}
        for name, value in values.items():
            if name in several and isinstance(value, (list, str)):
                value = tuple(value) if isinstance(value, list) else (value,)
            settled[name] = value
        self.check_options(settled)
        return settled

    def apply(self, module: IRModule, options: dict[str, Any] | None = None) -> tuple[IRModule, PassSite]:
        """The module after the pass, and the site with its records."""
        settled = self.settled_options(options or {})
        as_tvm = self.has_profiles and settled.pop("profile", "spec") == "tvm"
        site = PassSite(module, rule=self.name, as_tvm=as_tvm, changes=self._changes(settled, as_tvm))
        needed = () if settled else self.only_with  # options may be wrong
        if self.on_module and all(reading.is_in(module) for reading in needed):
            site.editor.take(self._checked(self.run(module, site, **settled), IRModule))
        for name, fn in () if self.on_module else by_name(module):
            if all(reading.in_function(fn) for reading in needed):
                site.function = name
                site.editor.replace(name, self._checked(self.run(fn, site, **settled), Function))
        new = site.editor.done()
        new = infer_again(_with_results(new, site) if as_tvm and not self.rebuilds else new, site)
        if as_tvm and self.rebuilds:
            site.editor.take(new)
            only = settled.get("func_name")
            visited = {only} if only else {*module.functions}
            new = _rebuilt(new, site, visited, self.keeps_promises)
        return with_phase(new, module), site

    def _changes(self, options: Mapping[str, Any], as_tvm: bool) -> frozenset[Kept]:
        """What the pass may change with these options. TVM's results lose checks, and what functions promise."""
        defaults = {option.name: option.default for option in self.options}
        asked = {
            kept
            for kept, name in self.changes.items()
            if name == ALWAYS or options.get(name, defaults[name]) != defaults[name]
        }
        if as_tvm:
            asked |= {Kept.CHECKS, Kept.RESULTS} if self.rebuilds else {Kept.CHECKS}
        return frozenset(asked)

    def _checked(self, result: object, kind: type[Result]) -> Result:
        """The result of the pass. Raises TypeError if it is no function or module."""
        if not isinstance(result, kind):
            raise TypeError(f"{self.name} returned {type(result).__name__}, not {kind.__name__}")
        return result


def by_name(module: IRModule) -> list[tuple[str, Function]]:
    """The Relax functions in the order of their names. Passes visit them so, as in TVM, and what they add is named in this order."""
    return sorted(module.relax_functions.items(), key=itemgetter(0))


def _with_results(module: IRModule, site: PassSite) -> IRModule:
    """The module where each changed function promises no other result than its body has, as in TVM."""
    for name, fn in module.relax_functions.items():
        promised, have = fn.ret_struct_info, fn.body.body.struct_info
        if fn is site.module.functions.get(name) or promised is None or have is None:
            continue
        if not always_fits(promised, have) and bound_dims(fn).issuperset(all_dims(have)):
            site.editor.replace(name, replace(fn, ret_struct_info=None, struct_info=None))
    return site.editor.done()


def _rebuilt(module: IRModule, site: PassSite, visited: set[str], keeps_promises: bool) -> IRModule:
    """The module with the functions that changed and those that TVM visits made anew as TVM makes them: inner ones first."""
    seen = site.module.functions
    for _ in range(_DEEPEST):
        changed = {}
        for name, fn in module.relax_functions.items():
            before = seen.get(name)
            if fn is not before or name in visited:
                old = before if isinstance(before, Function) else None
                changed[name] = rebuilt(fn, old, keeps_promises)
        if all(new is module.functions[name] for name, new in changed.items()):
            break
        for name, new in changed.items():
            site.editor.replace(name, new)
        module = infer_again(site.editor.done(), site)
        site.editor.take(module)
    return module


def infer_again(module: IRModule, site: PassSite) -> IRModule:
    """The result of a pass, or of a part of it, with all StructInfo that follows."""
    known = site.recorded.derived
    if module is site.module:
        return module
    # The last part of the pass was looked at.
    if known is not None and known.having(module.functions) is known:
        alike = replace(known, attrs=module.attrs, global_infos=module.global_infos)
        if alike is known:
            return known
    new, report, site.is_derived = derived_again(module, site.module, site.recorded, site.rule)
    site.recorded.derived = new
    site.claims = [item for item in report.errors if not item.spec_only or item.code is NARROW_ANNOTATION]
    return new


def with_phase(module: IRModule, before: IRModule) -> IRModule:
    """The module with the phase that it reached, if it claims one."""
    if module is before or ATTRIBUTE not in module.attrs:
        return module
    return replace(module, attrs=module.attrs.having(**{ATTRIBUTE: str(phase(module))}))


class Contract(TypedDict, total=False):
    """What the declaration of a pass may tell; `Pass` says what each means."""

    requires: Sequence[Property]
    needs: Sequence[Property]
    establishes: Sequence[Property]
    invalidates: Sequence[Property]
    kept_with: Mapping[str, Property]
    reads: Sequence[Reading]
    only_with: Sequence[Reading]
    has_profiles: bool
    rebuilds: bool
    keeps_promises: bool
    changes: Mapping[Kept, str]
    example: str


def function_pass(name: str, **contract: Unpack[Contract]) -> Callable[[Callable[..., Function]], Pass]:
    """Declare a pass that changes one Relax function at a time. What it needs, it also requires."""
    return lambda run: _declared(name, run, False, contract)


def module_pass(name: str, **contract: Unpack[Contract]) -> Callable[[Callable[..., IRModule]], Pass]:
    """Declare a pass that changes the module as a whole."""
    return lambda run: _declared(name, run, True, contract)


def _declared(name: str, run: Callable[..., object], on_module: bool, contract: Contract) -> Pass:
    fields: dict[str, Any] = {
        key: tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
        for key, value in contract.items()
    }
    fields["requires"] = (*contract.get("requires", ()), *contract.get("needs", ()))
    fields["has_profiles"] = contract.get("has_profiles", False) or contract.get("rebuilds", False)
    return Pass(name, run, on_module, **fields)
