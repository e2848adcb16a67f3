"""Other forms of a program with contracts, as text: assertions, Relax, match_shape statements, shape functions apart, copies for sizes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from relax_explorer.core.codes import relations as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.shapes import contract_tree as c
from relax_explorer.core.shapes.desugar import desugared_text, match_lines, match_text
from relax_explorer.core.shapes.lower import lower
from relax_explorer.core.shapes.propagate import analyse
from relax_explorer.core.shapes.specialise import header, monomorphise, split_dps

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
    """The shape function of each function, and what a call of it becomes (note 004, Test D). If there is none, the reason."""
    for function in program.functions.values():
        try:
            split = split_dps(function, terms)
        except Failure as failure:
            yield f"# @{function.name}: {failure.diagnostics[0].message}"
            continue
        yield from split.shape.splitlines()
        yield f"@{function.name}(...)  ==>"
        yield from (f"  {line}" for line in split.calls)


def copy_of(program: c.Program, terms: c.Terms, request: str) -> Iterator[str]:
    """The copy of a function for sizes such as `ff: n=8, m=4`, and the calls that use it. Raises Failure for another text."""
    found = _SIZES.fullmatch(request.strip())
    if found is None or found[1] not in program.functions:
        names = ", ".join(program.functions) or "none"
        text = f"{request!r} gives no sizes of a function; there are {names}"
        raise Failure(Diagnostic(codes.NOTATION, text, help="write a function and sizes: ff: n=8, m=4"))
    sizes = {name.strip(): int(size) for name, size in (part.split("=") for part in found[2].split(","))}
    new = monomorphise(program, terms, found[1], sizes, analyse(program, terms))
    yield header(list(new.functions.values())[-1])
    for before, after in zip(program.main, new.main, strict=True):
        if before is not after and isinstance(after, c.Let) and isinstance(after.value, c.Call):
            line = f"line {after.span.line:<4} " if after.span is not None else ""
            yield f"  {line}{after.name} = @{after.value.function}(...)"


FORMS: dict[str, Callable[[c.Program, c.Terms], Iterable[str]]] = {
    "desugared": lambda program, terms: desugared_text(program, terms).splitlines(),
    "relax": lambda program, terms: lower(program, terms).text.splitlines(),
    "matches": matches_of,
    "split": splits_of,
}
"""The forms that need no sizes, by the names of their options. Each raises Failure for what it cannot express."""
