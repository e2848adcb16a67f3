"""What an editor tells of the name under the mouse: its StructInfo, where its lengths come from, its readers and cost, or the page of an operator."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from relax_explorer.core import ops
from relax_explorer.core.cost.amounts import text as amount_text
from relax_explorer.core.cost.function_work import ModuleWork
from relax_explorer.core.cost.kernel_work import kernel_work
from relax_explorer.core.cost.work import summed
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.facts import facts
from relax_explorer.core.ir.prim_text import tuple_text
from relax_explorer.core.ir.walk import info_vars
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.shapes.origins import paths
from relax_explorer.core.shapes.why import why_at
from relax_explorer.core.tir.stmt import Buffer, PrimFunc
from relax_explorer.ui.editor.document import Position, Range
from relax_explorer.ui.editor.occurrences import KERNEL, LENGTH, MODULE, Occurrence
from relax_explorer.ui.editor.regions import Definition, Region
from relax_explorer.viz.explanations import INFOS, page_of
from relax_explorer.viz.kernel_class import of_function
from relax_explorer.viz.length_text import why_lines
from relax_explorer.viz.short import short_dtype, short_info
from relax_explorer.viz.visible import counted

DOTTED = re.compile(r"\bR(?:\.\w+)+")
_MOST_COUNTED = 2_000  # bindings of a function whose work is counted for one hover
_MOST_READERS, _MOST_STEPS = 4, 12


@dataclass(frozen=True, slots=True)
class Hover:
    """A text in Markdown about a range."""

    text: str
    range: Range


def hover(region: Region, position: Position, values: Mapping[str, str] | None = None) -> Hover | None:
    """What is known of the name at a position. `values` are those of the last run, by function and variable: `main.y`."""
    named = operator_at(region, position)
    if named is not None:
        name, place = named
        return Hover(_page(name), place) if name in INFOS or ops.find(f"relax.{name}") is not None else None
    item = region.names.at(position)
    if item is None or region.module is None:
        return None
    symbol = item.symbol.root
    if symbol.function == "" and symbol.kind != LENGTH:
        text = _of_member(region, region.module, symbol.name, symbol.kind)
    elif symbol.kind == LENGTH:
        text = _of_length(region, item)
    else:
        text = _of_variable(region, item, values or {})
    return Hover(text, item.range) if text else None


def operator_at(region: Region, position: Position) -> tuple[str, Range] | None:
    """The dotted name behind `R.` at a position, without it, and its place."""
    line = region.document.line(position.line)
    for match in DOTTED.finditer(line):
        if match.start() <= position.column <= match.end():
            start, end = Position(position.line, match.start()), Position(position.line, match.end())
            return match[0].removeprefix("R."), Range(start, end)
    return None


def _page(name: str) -> str:
    first, _, rest = page_of(name).partition("\n\n")
    return f"{_code(first)}\n\n{_block(rest)}"


def _code(text: str) -> str:
    return f"```python\n{text}\n```"


def _block(text: str) -> str:
    return f"```text\n{text}\n```"


# -- variables -------------------------------------------------------------------------------------------------------


def definition_at(region: Region, item: Occurrence) -> Definition | None:
    """The variable that an occurrence stands for, as the check saw it."""
    place = region.names.definition(item)
    return None if place is None else region.definitions.get(place.range.start)


def _of_variable(region: Region, item: Occurrence, values: Mapping[str, str]) -> str:
    found = definition_at(region, item)
    if found is None or region.module is None:
        return f"**{item.symbol.name}** · {item.symbol.root.kind}"
    head = [f"**{found.name}** `{short_info(found.info)}`", *_origins(region.module, found)]
    head += [f"read by {_readers(region, item)}"]
    work = _work(region.module, found)
    head += [f"{work} FLOPs"] if work else []
    parts = [" · ".join(head), _code(str(found.info))]
    value = values.get(f"{found.function}.{found.var.name}")
    parts += [f"last run: `{value}`"] if value else []
    steps = _steps(region.module, found)
    parts += [_block("\n".join(steps))] if steps else []
    return "\n\n".join(parts)


def _origins(module: IRModule, found: Definition) -> list[str]:
    """`n ← x.shape[0]` for each shape variable of a variable."""
    if found.info is None:
        return []
    return [_origin(module, found.function, var) for var in dict.fromkeys(info_vars(found.info))]


def _origin(module: IRModule, function: str, var: p.PrimVar) -> str:
    """Where the value of a shape variable comes from: the first place whose length it is."""
    fn = module.relax_functions.get(function)
    if fn is None:
        return var.name
    bound = [(param.name, param.struct_info) for param in fn.params]
    bound += [
        (b.var.name, b.struct_info)
        for b in facts(fn).bindings
        if type(b) is e.MatchCast and b.var is not None
    ]
    for name, info in bound:
        for path, length in paths(info):
            if length is var:
                return f"{var.name} ← {_path(name, info, path)}"
    return var.name


def _path(name: str, info: s.StructInfo | None, path: tuple[int, ...]) -> str:
    if isinstance(info, s.PrimStructInfo):
        return name
    *fields, last = path or (0,)
    shape = "" if isinstance(info, s.ShapeStructInfo) else ".shape"
    return f"{name}{''.join(f'[{field}]' for field in fields)}{shape}[{last}]"


def _readers(region: Region, item: Occurrence) -> str:
    """The names of what reads a variable: `y, z and the result`."""
    names: dict[str, None] = {}
    for other in region.names.of(item):
        if not other.is_definition:
            names[_reader(region, other.range.start.line)] = None
    listed = list(names)
    if len(listed) > _MOST_READERS:
        listed = [*listed[: _MOST_READERS - 1], counted(len(listed) - _MOST_READERS + 1, "other")]
    return ", ".join(listed) or "nothing"


def _reader(region: Region, line: int) -> str:
    text = region.document.line(line).strip()
    if text.startswith("return"):
        return "return"
    if text.startswith("R.output"):
        return "R.output"
    made = region.by_line.get(line)
    return made[0].name if made else f"line {line + 1}"


def _work(module: IRModule, found: Definition) -> str:
    """The FLOPs of a binding, as an expression in the shape variables; empty if nothing is counted."""
    fn = module.relax_functions.get(found.function)
    if fn is None or found.binding is None or len(facts(fn).bindings) > _MOST_COUNTED:
        return ""
    line = found.place.start.line + 1  # normal form made several bindings of a nested call
    rows = ModuleWork(module).of(found.function).rows
    works = [row.work for row in rows if row.binding.span is not None and row.binding.span.line == line]
    total = summed(works)
    return "" if total.unknown or not total.flops else amount_text(total.flops)


def _steps(module: IRModule, found: Definition) -> list[str]:
    """Why the lengths of a variable are what they are, if that takes more than a look at its StructInfo."""
    if found.binding is None or found.info is None or not list(info_vars(found.info)):
        return []
    try:
        lines = [text for text, _ in why_lines(why_at(module, found.function, found.binding))]
    except Failure:
        return []
    return lines if len(lines) <= _MOST_STEPS else [*lines[:_MOST_STEPS], "…"]


def _of_length(region: Region, item: Occurrence) -> str:
    symbol = item.symbol.root
    function = symbol.function.partition(".")[0]
    fn = region.module.relax_functions.get(function) if region.module is not None else None
    found = None if fn is None else next(_lengths(fn, symbol.name), None)
    head = f"**{symbol.name}** · shape variable"
    if found is None or region.module is None:
        return head
    used = counted(len(region.names.of(item)), "place")
    return f"{head} `{found.dtype}` · {_origin(region.module, function, found)} · {used}"


def _lengths(fn: e.Function, name: str) -> Iterator[p.PrimVar]:
    infos = [param.struct_info for param in fn.params]
    infos += [binding.var.struct_info for binding in facts(fn).bindings if binding.var is not None]
    for info in infos:
        yield from (var for var in (info_vars(info) if info is not None else ()) if var.name == name)


# -- members ---------------------------------------------------------------------------------------------------------


def _of_member(region: Region, module: IRModule, name: str, kind: str) -> str:
    fn = module.functions.get(name)
    if kind == MODULE:
        functions = counted(len(module.relax_functions), "function")
        kernels = counted(sum(isinstance(item, PrimFunc) for item in module.functions.values()), "kernel")
        return f"**{name}** · {functions}, {kernels}"
    if isinstance(fn, PrimFunc):
        return _of_kernel(module, name, fn)
    if type(fn) is e.Function:
        return "\n\n".join(
            [f"**{name}** · {counted(len(facts(fn).bindings), 'binding')}", _code(signature(name, fn))]
        )
    return f"**{name}** · {kind if kind != KERNEL else 'kernel'}"


def signature(name: str, fn: e.Function) -> str:
    """A function as one line: `main(x: (n, 4) f32) -> (n,) f32`."""
    params = ", ".join(f"{param.name}: {short_info(param.struct_info)}" for param in fn.params)
    return f"{name}({params}) -> {short_info(fn.ret_struct_info)}"


def kernel_signature(name: str, fn: PrimFunc) -> str:
    """A kernel as one line."""
    params = [f"{param.name}: {_parameter(param)}" for param in fn.params]
    return f"{name}({', '.join(params)})"


def _parameter(param: Buffer | p.PrimVar) -> str:
    element = short_dtype(param.dtype.name)
    return element if isinstance(param, p.PrimVar) else f"{tuple_text(param.shape)} {element}"


def _of_kernel(module: IRModule, name: str, fn: PrimFunc) -> str:
    kind = of_function(name, module)
    work = kernel_work(fn).work
    facts_ = [f"**{name}** · kernel", *([kind.doc] if kind else [])]
    if not work.unknown:
        facts_ += [f"{amount_text(work.flops)} FLOPs", f"{amount_text(work.moved)} bytes moved"]
    return "\n\n".join([" · ".join(facts_), _code(kernel_signature(name, fn))])
