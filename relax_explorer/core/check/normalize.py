"""A module in normal form, with StructInfo on every variable.

Callees are normalized before their callers: without a return annotation or a declared purity, a signature follows from the
body. Unchanged functions stay the same objects.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import is_
from weakref import WeakKeyDictionary, WeakValueDictionary

from relax_explorer.core.arith.prove import prover_in_use
from relax_explorer.core.check import wildcards
from relax_explorer.core.check.call_graph import call_graph, components, is_recursive, mentioned
from relax_explorer.core.check.normalize_function import FunctionNormalizer, as_sequence, function_info
from relax_explorer.core.check.purity import stated
from relax_explorer.core.codes import well_formedness as codes
from relax_explorer.core.collector import collector_at_rest
from relax_explorer.core.diagnostics import Failure, Report
from relax_explorer.core.expected import expect
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.ops import edition
from relax_explorer.core.program.module import IRModule, Member
from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.core.tir.traverse import prim_func_info


def normalize(module: IRModule, after: IRModule | None = None) -> IRModule:
    """The module in normal form with StructInfo on every variable. Raises Failure if the rule of an operator is violated.

    `after` is the module in normal form before an edit. Bindings that are still the same objects are inferred again only if
    they depend on a change.

    >>> print(rxe.normalize(module)["main"])  # with StructInfo at each binding
    @R.function
    ...
    """
    expect(module, IRModule, "normalize takes a module", "`parse` and `load` give one")
    new, report = normalize_with(module, after=after)
    broken = [item for item in report.errors if not item.spec_only]
    if broken:
        raise Failure(*[item for item in report.sorted() if not item.tvm_only])
    return new


def normalize_with(
    module: IRModule,
    assume_pure: bool = False,
    after: IRModule | None = None,
) -> tuple[IRModule, Report]:
    """The module in normal form, and the diagnostics of inference. If a rule fails, the StructInfo is Object.

    With `assume_pure`, a function without a declared purity counts as pure, as in TVM. Problems of bindings that also
    stand in `after` are not reported again.
    """
    report = Report()
    key = assume_pure, prover_in_use(), edition()
    if key in _IN_NORMAL_FORM.get(module, ()):
        return module, report
    whole = {name: _with_sequence(fn) for name, fn in module.functions.items()}
    with collector_at_rest():
        new = _ModuleNormalizer(module.having(whole), report, assume_pure, after).run()
    if after is None and new is module and not report.items:
        _IN_NORMAL_FORM.setdefault(module, set()).add(key)
    return new, report


# Modules that normalizing left unchanged without a diagnostic, with the settings of those runs.
_IN_NORMAL_FORM: WeakKeyDictionary[IRModule, set[tuple[bool, str, int]]] = WeakKeyDictionary()
# The normal form of each module, with the settings of that run; None is the module itself.
_NORMAL_FORMS: WeakKeyDictionary[IRModule, tuple[tuple[str, int], IRModule | None]] = WeakKeyDictionary()


def normalize_again(module: IRModule, before: IRModule) -> IRModule:
    """A changed module, normalized. Raises Failure for errors of kinds that it did not have `before`."""
    if module is before:
        return module
    known = {item.code for item in normalize_with(before)[1].errors}
    new, report = normalize_with(module)
    problems = [item for item in report.errors if item.code not in known]
    if problems:
        raise Failure(*problems)
    return new


@dataclass(frozen=True, slots=True)
class _Run:
    """One run of the normalizer on a function: its inputs, and its findings."""

    inputs: tuple[object, ...]
    has_effect: bool
    is_unread: bool


_UNCHANGED: PerNode[_Run] = PerNode()  # the latest run that left a function unchanged without a diagnostic
_WITH_BODY: WeakValueDictionary[int, e.Function] = WeakValueDictionary()  # those functions by their bodies


def normal_form_of(module: IRModule) -> IRModule:
    """`normalize` with a cache: the result lives as long as the module."""
    settings = prover_in_use(), edition()
    known = _NORMAL_FORMS.get(module)
    if known is None or known[0] != settings:
        normal = normalize(module)
        known = _NORMAL_FORMS[module] = settings, None if normal is module else normal
    return module if known[1] is None else known[1]


def normal_form_to_run(module: IRModule) -> IRModule:
    """The module in normal form, also if rules of operators fail: then the StructInfo is Object, and a run checks the values.

    It counts as in normal form from now on, as long as no operator is registered.
    """
    normal, _ = normalize_with(module)
    _IN_NORMAL_FORM.setdefault(normal, set()).add((False, prover_in_use(), edition()))
    return normal


def _with_sequence(fn: Member) -> Member:
    return replace(fn, body=as_sequence(fn.body)) if type(fn) is e.Function else fn


class _ModuleNormalizer:
    """Normalizes the functions of a module, group by group of the call graph."""

    def __init__(
        self,
        module: IRModule,
        report: Report,
        assume_pure: bool,
        after: IRModule | None,
    ) -> None:
        self.module, self.report, self.assume_pure = module, report, assume_pure
        self.settings = assume_pure, prover_in_use(), edition()
        self.after = {} if after is None else after.functions
        self.graph = call_graph(module)
        self.done: dict[str, e.Function] = {}
        self.pure: dict[str, bool] = {}
        self._infos: dict[str, s.StructInfo] = {}
        self.unread = {name for name, fn in module.functions.items() if _is_unread(fn)}

    def run(self) -> IRModule:
        """The normalized module."""
        for group in components(self.graph):
            self._group(group, is_recursive(group, self.graph))
        return self.module.having(
            {name: self.done.get(name, fn) for name, fn in self.module.functions.items()}
        )

    def _group(self, group: tuple[str, ...], recursive: bool) -> None:
        """Normalize functions that call each other. They count as pure until one is found impure; then all are done again."""
        while True:
            report = Report()
            impure = [name for name in group if self._function(name, report) and self.pure.get(name, True)]
            if not impure or not recursive:
                break
            self.pure.update(dict.fromkeys(impure, False))
        self.report.extend(report)
        unannotated = [
            name for name in group if recursive and self._function_of(name).ret_struct_info is None
        ]
        for name in unannotated:
            text = f"{name!r} is recursive and has no return annotation"
            fix = codes.RECURSION_UNANNOTATED.fix
            self.report.say(
                codes.RECURSION_UNANNOTATED, text, self._function_of(name), help=fix, spec_only=True
            )
        if unannotated:  # calls of these functions were inferred before their results were known
            done = {name: self.done[name] for name in group}
            self.module = self.module.having({**self.module.functions, **done})
            for name in group:
                self._function(name, Report())

    def _function_of(self, name: str) -> e.Function:
        fn = self.module.functions[name]
        assert type(fn) is e.Function  # the call graph has no others
        return fn

    def _function(self, name: str, report: Report) -> bool:
        """Normalize one function. True if it is impure without declaring it."""
        fn = self._function_of(name)
        inputs = self._inputs(fn)
        run = _UNCHANGED.get(id(fn)) or self._of_twin(fn)
        if run is None or run.inputs != inputs:
            run = self._normalized(name, fn, report, inputs)
        else:
            self.done[name] = fn
        if run.is_unread:
            self.unread.add(name)
        return run.has_effect and stated(fn) is None and not self.assume_pure

    def _of_twin(self, fn: e.Function) -> _Run | None:
        """The run of a function that differs only in its attributes, if the signature is right for `fn`, too."""
        twin = _WITH_BODY.get(id(fn.body))
        if twin is None or twin.body is not fn.body or twin.ret_struct_info is not fn.ret_struct_info:
            return None
        run = _UNCHANGED.get(id(twin))
        if run is None or len(twin.params) != len(fn.params) or not all(map(is_, twin.params, fn.params)):
            return None
        is_right = fn.struct_info is function_info(fn, self.assume_pure or not run.has_effect)
        return run if is_right else None

    def _inputs(self, fn: e.Function) -> tuple[object, ...]:
        """The inputs of the normal form of a function, beside the function itself."""
        names = mentioned(fn)
        signatures = tuple([(self.signature(name), name in self.unread) for name in names])
        return *self.settings, self.module.global_infos, wildcards.allowed(self.module.attrs), signatures

    def _normalized(self, name: str, fn: e.Function, report: Report, inputs: tuple[object, ...]) -> _Run:
        """Normalize a function without a valid cached run."""
        before, count = self.after.get(name), len(report.items)
        known = tuple(bindings(before)) if type(before) is e.Function else ()
        changed = {other for other in mentioned(fn) if known and not self._is_unchanged(other)}
        normalizer = FunctionNormalizer(
            report, self.signature, self.assume_pure, known=known, changed=changed
        )
        normalizer.infer.places, normalizer.infer.caller = self.module.global_infos, name
        if wildcards.allowed(self.module.attrs):
            normalizer.infer.wildcards = wildcards.Wildcards()
        normalizer.infer.unread = self.unread
        new = self.done[name] = normalizer.run(fn)
        run = _Run(inputs, normalizer.has_effect, normalizer.is_unread)
        if new is fn and len(report.items) == count and not known:
            _UNCHANGED.add(fn, run)
            _WITH_BODY[id(fn.body)] = fn
        return run

    def _is_unchanged(self, name: str) -> bool:
        """True if a function has the same signature as before the edit."""
        before = self.after.get(name)
        if type(before) is not e.Function:
            return before is self.module.functions.get(name)
        return before.struct_info is self.signature(name)

    def signature(self, name: str) -> s.StructInfo | None:
        """The StructInfo of a global function; None if there is no such function."""
        done = self.done.get(name)
        if done is not None and done.struct_info is not None and self.pure.get(name, True):
            return done.struct_info
        fn = self.module.functions.get(name)
        if type(fn) is e.Function:
            return function_info(fn, self.pure.get(name, True))
        info = self._infos.get(name)
        if info is None and fn is not None:
            info = self._infos[name] = _other_info(fn)
        return info


def _other_info(fn: Member) -> s.StructInfo:
    if type(fn) is PrimFunc:
        return prim_func_info(fn)
    return fn.struct_info or s.FuncStructInfo(None, s.OBJECT, _is_unread(fn))


def _is_unread(fn: object) -> bool:
    """True if a member of the module could not be read."""
    return type(fn) is e.OpaqueFunction and fn.attrs.get(e.UNREAD) is True
