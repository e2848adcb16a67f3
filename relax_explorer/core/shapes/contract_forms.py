"""Other forms of a program with contracts, as text: assertions, Relax, match_shape statements, shape functions apart, copies for sizes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from relax_explorer.core.codes import relations as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.ir import prim as p
from relax_explorer.core.shapes import contract_tree as c
from relax_explorer.core.shapes.contract_tree import calls_of
from relax_explorer.core.shapes.desugar import desugared_text, match_lines, match_text
from relax_explorer.core.shapes.lower import lower
from relax_explorer.core.shapes.propagate import analyse
from relax_explorer.core.shapes.shape_functions import splits
from relax_explorer.core.shapes.specialise import header, monomorphise

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
