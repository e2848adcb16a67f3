"""Other forms of a program with contracts, as text: assertions, Relax, match_shape statements, shape functions apart, copies for sizes."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count, islice

from relax_explorer.core.arith.prove import division_by_zero
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import relations as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure, Label
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.fold import beyond, exact
from relax_explorer.core.shapes import contract_tree as c
from relax_explorer.core.shapes.contract_facts import Analysis
from relax_explorer.core.shapes.contract_run import splits
from relax_explorer.core.shapes.contract_tree import (
    calls_of,
    desugar,
    desugared_text,
    match_lines,
    match_text,
)
from relax_explorer.core.shapes.lower import lower
from relax_explorer.core.shapes.propagate import analyse

# -- specialise ------------------------------------------------------------------------------------------------------
# Using what is known of shapes (note 004): copies of functions for given sizes.


def monomorphise(
    program: c.Program, terms: c.Terms, name: str, sizes: Mapping[str, int], found: Analysis | None = None
) -> c.Program:
    """The program with a copy of a function for given sizes, to which the calls with these sizes go.

    `found` is the analysis of the program, which knows the sizes of each call. Raises Failure for an unknown variable.
    """
    function = program.functions[name]
    wrapper = desugar(function, terms)
    by_name = {var.name: var for var in wrapper.environment.sizes}
    unknown = [one for one in sizes if one not in by_name]
    if unknown:
        text = f"@{name} has no size variable {unknown[0]}; it has {', '.join(by_name) or 'none'}"
        raise Failure(
            Diagnostic(codes.UNBOUND, text, (Label(function.span, "", True),), help=codes.UNBOUND.fix)
        )
    values = {by_name[one]: p.as_prim(size) for one, size in sizes.items()}
    new = _unused(f"{name}_{'_'.join(str(sizes[one]) for one in by_name if one in sizes)}", program.functions)
    params = [c.Parameter(q.name, _at_sizes(q.type, values), q.span) for q in function.params]
    copy = _Rewriting(values=values).function(
        c.Function(new, params, _at_sizes(function.ret, values), function.body, function.span)
    )
    same = set()
    if found is not None:
        wanted = {one: p.as_prim(size) for one, size in sizes.items()}
        same = {
            key
            for key, (called, at) in found.sizes.items()
            if called == name and wanted.items() <= at.items()
        }
    for kind in (*[q.type for q in function.params], function.ret):
        _require_lengths(kind, values, function)
    redirected = _Rewriting(same, new)
    functions = {one: redirected.function(fn) for one, fn in program.functions.items()}
    main = [redirected.statement(item) for item in program.main]
    return c.Program(functions | {new: copy}, main, program.implementations)


def _unused(name: str, names: Collection[str]) -> str:
    """A name that no function has: the wanted one, or one with a number."""
    numbered = (f"{name}_{number}" for number in count(2))
    return next(one for one in (name, *islice(numbered, len(names))) if one not in names)


def _require_lengths(kind: c.SweetType, values: Mapping[p.PrimVar, p.PrimExpr], function: c.Function) -> None:
    """Raise Failure if a copy for these sizes has a length that no tensor has."""
    for dim in _dims(kind):
        length = p.substitute(dim, dict(values))
        most, value = beyond(length), exact(simplify(length))
        wrong = (
            "divides by zero" if division_by_zero(length) is not None
            else f"is {most}, which does not fit int64" if most is not None
            else f"is {value}" if value is not None and value < 0
            else ""
        )  # fmt: skip
        if wrong:
            given = ", ".join(f"{var} = {size}" for var, size in values.items())
            text = f"@{function.name} has no copy for {given}: the length {dim} of {kind} {wrong}"
            label = Label(function.span, "", True)
            raise Failure(Diagnostic(codes.NO_SOLUTION, text, (label,), help="Choose other sizes."))


def _dims(kind: c.SweetType) -> list[p.PrimExpr]:
    """The lengths of a type, as far as it tells them."""
    return [dim for dim in c.stated_dims(kind) or () if isinstance(dim, p.PrimExpr)]


def _at_sizes(kind: c.SweetType, values: Mapping[p.PrimVar, p.PrimExpr]) -> c.SweetType:
    if not isinstance(kind, c.TensorType) or not isinstance(kind.shape, tuple):
        return kind
    dims = [simplify(p.substitute(d, dict(values))) if isinstance(d, p.PrimExpr) else d for d in kind.shape]
    return replace(kind, shape=tuple(dims))


@dataclass(frozen=True)
class _Rewriting:
    """A program with other calls and annotations: those of `same` call `name`, and size variables have `values`."""

    same: Collection[int] = ()
    name: str = ""
    values: Mapping[p.PrimVar, p.PrimExpr] = field(default_factory=dict)

    def statement(self, item: c.Let | c.Assert) -> c.Let | c.Assert:
        """The statement; the same object if nothing changes, as below."""
        if isinstance(item, c.Assert):
            return item
        value, kind = self.expr(item.value), item.type
        if kind is not None and self.values:
            kind = _at_sizes(kind, self.values)
        return item if value is item.value and kind == item.type else replace(item, value=value, type=kind)

    def expr(self, expr: c.Expr) -> c.Expr:
        """An expression."""
        if isinstance(expr, c.Call):
            args = [self.expr(arg) for arg in expr.args]
            is_same = id(expr) in self.same
            if is_same or any(map(operator.is_not, args, expr.args)):
                return replace(expr, function=self.name if is_same else expr.function, args=args)
        elif isinstance(expr, c.Block):
            return self.block(expr)
        elif isinstance(expr, c.If):
            parts = expr.left, expr.right, expr.then, expr.otherwise
            left, right, then, otherwise = map(self.expr, parts)
            if any(map(operator.is_not, (left, right, then, otherwise), parts)):
                assert isinstance(then, c.Block)
                assert isinstance(otherwise, c.Block)
                return replace(expr, left=left, right=right, then=then, otherwise=otherwise)
        return expr

    def block(self, block: c.Block) -> c.Block:
        """A block."""
        statements, value = [self.statement(item) for item in block.statements], self.expr(block.value)
        is_same = value is block.value and all(map(operator.is_, statements, block.statements))
        return block if is_same else c.Block(statements, value)

    def function(self, function: c.Function) -> c.Function:
        """A function with another body."""
        body = None if function.body is None else self.block(function.body)
        return function if body is function.body else replace(function, body=body)


def header(function: c.Function) -> str:
    """A function with its type, as text."""
    kind = c.FunctionType(tuple([q.type for q in function.params]), function.ret)
    return f"@{function.name} : {kind}"


# -- contract forms --------------------------------------------------------------------------------------------------


_SIZES = re.compile(r"@?(\w+)\s*:\s*(\w+\s*=\s*\d+(?:\s*,\s*\w+\s*=\s*\d+)*)")


def matches_of(program: c.Program, terms: c.Terms) -> Iterator[str]:
    """Each function with its contract as match_shape statements (note 004, Test I), then those of the main program."""
    for function in program.functions.values():
        params = ", ".join(f"{q.name} : DynTensor" for q in function.params)
        yield f"@{function.name} = fn({params}) : DynTensor {{"
        yield from (f"  {line};" for line in match_text(function, terms))
        yield "}"
    lets = [item for item in program.main if isinstance(item, c.Let)]
    typed = [(let, let.type) for let in lets if let.type is not None]
    lines = match_lines([(let.name, kind, let.span) for let, kind in typed], terms)
    for (let, _), found in zip(typed, lines, strict=True):
        if let.is_assertion or not isinstance(let.value, c.Opaque):  # else its type is believed
            yield from [f"{line};" for line in found]


def splits_of(program: c.Program, terms: c.Terms) -> Iterator[str]:
    """The shape function of each function and primitive, and what a call of it becomes (note 004, Tests D, G and H)."""
    for call, split in splits(program, terms):
        yield from split.shape.splitlines()
        yield f"{call}  ==>"
        yield from (f"  {line}" for line in split.calls)


def copy_of(program: c.Program, terms: c.Terms, request: str) -> Iterator[str]:
    """The copy of a function for sizes such as `ff: n=8, m=4`, and the calls that use it. Raises Failure for another text."""
    found = _SIZES.fullmatch(request.strip())
    if found is None or found[1] not in program.functions:
        names = ", ".join(program.functions) or "none"
        raise _no_sizes(f"{request!r} gives no sizes of a function; there are {names}")
    new = monomorphise(program, terms, found[1], _sizes(found[2]), analyse(program, terms))
    (name,) = new.functions.keys() - program.functions.keys()
    yield header(new.functions[name])
    for item in new.main:
        yield from _uses(item, name, "")
    for fn in new.functions.values():
        if fn.name != name and fn.body is not None:
            for item in (*fn.body.statements, c.Let("the result", None, False, fn.body.value)):
                yield from _uses(item, name, f" of @{fn.name}")


def _sizes(text: str) -> dict[str, int]:
    """Sizes by name. Raises Failure for one that is given twice or does not fit."""
    sizes: dict[str, int] = {}
    for part in text.split(","):
        name, size = map(str.strip, part.split("="))
        if name in sizes:
            raise _no_sizes(f"{name} has two sizes: {text}")
        if len(size) > 20 or int(size) > p.INT64_MAX:
            raise _no_sizes(f"{size[:40]} does not fit int64")
        sizes[name] = int(size)
    return sizes


def _uses(item: c.Let | c.Assert, name: str, owner: str) -> Iterator[str]:
    """The calls of a function in a statement, as lines."""
    if isinstance(item, c.Let):
        where = item.name + owner
        for call in calls_of(item.value):
            if call.function == name:
                line = f"line {call.span.line:<4} " if call.span is not None else ""
                is_whole = call is item.value
                yield f"  {line}{where} = @{name}(...)" if is_whole else f"  {line}@{name}(...) in {where}"


def _no_sizes(text: str) -> Failure:
    return Failure(Diagnostic(codes.NOTATION, text, help="write a function and sizes: ff: n=8, m=4"))


FORMS: dict[str, Callable[[c.Program, c.Terms], Iterable[str]]] = {
    "desugared": lambda program, terms: desugared_text(program, terms).splitlines(),
    "relax": lambda program, terms: lower(program, terms).text.splitlines(),
    "matches": matches_of,
    "split": splits_of,
}
"""The forms that need no sizes, by the names of their options. Each raises Failure for what it cannot express."""
