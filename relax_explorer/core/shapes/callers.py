"""What a program says of lengths outside of StructInfo: calls of private functions, and conditions that it computes with tensors."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import INT64
from relax_explorer.core.ir.walk import exprs
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.shapes.assumptions import Assumptions, Fact
from relax_explorer.core.shapes.value_terms import OperandTerms, condition_text, rare_elements


@dataclass(frozen=True, slots=True)
class CallSite:
    """A call of a function of the module: the lengths that its parameters bind, what its arguments are, and what is known there."""

    callee: str
    caller: str
    place: object
    lengths: Mapping[p.PrimVar, p.PrimExpr]
    operands: OperandTerms
    facts: Assumptions
    is_reached: bool

    def value(self, var: p.PrimVar) -> p.PrimExpr | None:
        """What a variable of the callee is there."""
        return self.lengths.get(var) or self.operands(var)


@dataclass(frozen=True, slots=True)
class Judged:
    """What the calls of a private function tell of a condition in it.

    `proof` has what each call gives, and the facts that prove the condition there. It is empty if one call does not prove it:
    `call` has the words of the first such call. `refuting` has the calls under which the condition never holds. The answer is NO if
    these are all.
    """

    answer: Answer
    proof: tuple[Fact, ...]
    call: str
    refuting: tuple[CallSite, ...]


class Callers:
    """The calls of those private functions of which every use is a call that is looked at.

    Functions that call themselves, or are used as values, are left out.
    """

    def __init__(self, module: IRModule, functions: Collection[str], sites: Sequence[CallSite]) -> None:
        self.sites: dict[str, list[CallSite]] = {}
        private = {name for name in functions if module.relax_functions[name].is_private}
        if not private:
            return
        mentions = Counter(
            part.name
            for fn in module.relax_functions.values()
            for part in exprs(fn)
            if isinstance(part, e.GlobalVar)
        )
        for site in sites:
            if site.callee in private:
                self.sites.setdefault(site.callee, []).append(site)
        for name, found in list(self.sites.items()):
            is_seen = mentions[name] == len(found) and all(site.caller != name for site in found)
            if not is_seen:
                del self.sites[name]

    def judged(self, function: str, condition: p.PrimExpr) -> Judged:
        """What the calls of a function tell of a condition in it."""
        facts: list[Fact] = []
        refuting: list[CallSite] = []
        answers: set[Answer] = set()
        against: str | None = None
        for site in self.sites.get(function, ()):
            if not site.is_reached:
                continue
            found = {var: site.value(var) for var in p.free_vars(condition) if var not in rare_elements()}
            values = {var: value for var, value in found.items() if value is not None}
            if len(values) < len(found):
                answers.add(Answer.UNKNOWN)
                against = "" if against is None else against
                continue
            there = p.substitute(condition, values)
            answer = site.facts.prove(there)
            answers.add(answer)
            call = _in_words(site, values)
            if answer is Answer.NO:
                refuting.append(site)
                call = f"{call}, where it always fails"
            if answer is not Answer.YES:
                against = call if against is None else against
                continue
            facts.append(Fact(condition, call, site.place))
            facts += site.facts.reasons(there)
        answer = answers.pop() if len(answers) == 1 else Answer.UNKNOWN
        return Judged(answer, tuple(facts) if against is None else (), against or "", tuple(refuting))


def _in_words(site: CallSite, values: Mapping[p.PrimVar, p.PrimExpr]) -> str:
    """A call, and what it gives."""
    given = ", ".join(
        [condition_text(p.EQ(var, value)).replace(" == ", " = ") for var, value in values.items()]
    )
    line = getattr(getattr(site.place, "span", None), "line", None)
    return f"{site.caller} calls it with {given}{f' in line {line}' if line else ''}"


# -- length tests ----------------------------------------------------------------------------------------------------
# Conditions over lengths that a program computes with tensors: `R.equal(R.shape_to_tensor(R.shape([n])),
# R.const([7]))`.
#
# The specification has no other conditions over lengths: the condition of an If is a tensor.


_MOST = 16  # elements; a shape has no more
_COMPARISONS: dict[str, type[p.Binary]] = {
    "relax.equal": p.EQ,
    "relax.not_equal": p.NE,
    "relax.less": p.LT,
    "relax.less_equal": p.LE,
    "relax.greater": p.GT,
    "relax.greater_equal": p.GE,
    "relax.logical_and": p.And,
    "relax.logical_or": p.Or,
}
_REDUCTIONS: dict[str, type[p.Binary]] = {"relax.min": p.And, "relax.max": p.Or}
_OPERATORS = frozenset(
    {*_COMPARISONS, *_REDUCTIONS, "relax.astype", "relax.logical_not", "relax.shape_to_tensor"}
)
Elements = tuple[p.PrimExpr, ...]


class LengthTests:
    """The elements of small vectors and scalars that are computed from lengths, by their variables."""

    def __init__(self) -> None:
        self._elements: dict[e.Var, Elements] = {}

    def note(self, var: e.Var, value: e.Expr) -> None:
        """Look at a binding. Truth values stay conditions in any dtype; other conversions are not followed."""
        known = isinstance(value, e.Var) or (
            isinstance(value, e.Call) and getattr(value.op, "name", "") in _OPERATORS
        )
        found = self._of(value) if known or isinstance(value, e.Constant) else None
        if found is not None:
            self._elements[var] = found

    @property
    def has_any(self) -> bool:
        """True if the elements of a value are known."""
        return bool(self._elements)

    def forget(self) -> None:
        """Forget all elements: memory was overwritten."""
        self._elements.clear()

    def condition(self, value: e.Expr) -> p.PrimExpr | None:
        """What it means that a value is true; None if it is not computed from lengths alone."""
        info = value.struct_info
        if isinstance(info, s.PrimStructInfo):
            return info.value if info.value is not None and info.value.dtype.is_bool else None
        found = self._of(value) or ()
        return found[0] if len(found) == 1 and found[0].dtype.is_bool else None

    def _of(self, value: e.Expr) -> Elements | None:
        if isinstance(value, e.Var):
            return self._elements.get(value)
        if isinstance(value, e.Constant):
            return _of_constant(value)
        return self._of_call(value) if isinstance(value, e.Call) and isinstance(value.op, e.OpRef) else None

    def _of_call(self, call: e.Call) -> Elements | None:
        name = call.op.name if isinstance(call.op, e.OpRef) else ""
        if name == "relax.shape_to_tensor":
            info = call.args[0].struct_info
            return info.values if isinstance(info, s.ShapeStructInfo) else None
        operands = [self._of(arg) for arg in call.args]
        if not operands or None in operands:
            return None
        first, *others = [one for one in operands if one is not None]
        if name in _COMPARISONS and len(others) == 1:
            return _paired(_COMPARISONS[name], first, others[0])
        if not all(one.dtype.is_bool for one in first):
            return None
        if name == "relax.logical_not":
            return tuple([p.Not(one) for one in first])
        if name in _REDUCTIONS:
            is_whole = first and call.attrs.get("axis") != ()
            return (functools.reduce(_REDUCTIONS[name], first),) if is_whole else None
        return first if name == "relax.astype" else None


def _of_constant(value: e.Constant) -> Elements | None:
    data = value.data
    if data is None or data.ndim > 1 or data.size > _MOST or data.dtype.kind not in "ib":
        return None
    if data.dtype.kind == "i" and data.dtype.itemsize < 8:
        return None  # a comparison with lengths of another dtype is refused anyway
    return tuple(
        [
            p.as_prim(bool(one)) if data.dtype.kind == "b" else p.IntImm(int(one), INT64)
            for one in data.reshape(-1)
        ]
    )


def _paired(kind: type[p.Binary], a: Elements, b: Elements) -> Elements | None:
    """An operation element by element; a single element meets all."""
    if len(a) != len(b) and 1 not in (len(a), len(b)):
        return None
    length = max(len(a), len(b)) if a and b else 0
    pairs = [(a[n % len(a)], b[n % len(b)]) for n in range(length)]
    wants_truth = kind in (p.And, p.Or)
    if any(x.dtype.is_bool is not wants_truth or y.dtype.is_bool is not wants_truth for x, y in pairs):
        return None
    return tuple([kind(x, y) for x, y in pairs])
