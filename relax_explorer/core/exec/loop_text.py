"""Print the loops of a kernel (`loop_ir`) as Python: what numba compiles, and what people and tests read."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable

from relax_explorer.core.exec import loop_ir as ir
from relax_explorer.core.exec.loop_functions import FUNCTIONS

HEADER = """import math
import numpy as np
from numba import njit, prange
from relax_explorer.core.exec.loop_runtime import (
    add, allocated, at, distance, floor_div, floor_mod, inside, larger, left, mul, nonzero, piece, poll, positive, power, quotient, rest,
    narrow, right, right_unsigned, smaller, sub, trunc_div, trunc_mod, whole, window,
)


"""
_SORTING = "from relax_explorer.core.exec.loop_runtime import argsort, argsort_valid, sort, top_both, top_indices, top_values\n"
# What numba divides among threads: loops that say so, and nothing else.
_ONLY_LOOPS = {"prange": True} | dict.fromkeys(
    ("comprehension", "reduction", "inplace_binop", "setitem", "numpy", "stencil", "fusion"), False
)
_SMALL = frozenset({"uint8", "uint16", "uint32"})  # numba would compute with them as unsigned numbers


def source(routine: ir.Routine) -> str:
    """The text of a module with the function `kernel`."""
    lines: list[str] = []
    _statements(routine.body, 1, lines)
    text = "\n".join(lines)
    head = f"def kernel({', '.join([*routine.params, 'note', 'stop'])}):"
    nodes = list(ir.nested(routine.body))
    imports = _SORTING if any(type(node) is ir.Packed for node in nodes) else ""
    spread = (
        f", parallel={_ONLY_LOOPS}" if any(type(node) is ir.For and node.parallel for node in nodes) else ""
    )
    called = {part.name for node in routine.body for part in ir.parts(node) if type(part) is ir.Apply}
    defined = "".join([_defined(name) for name in _needed(called)])
    return f'{imports}{HEADER}{defined}@njit(error_model="numpy", nogil=True{spread})\n{head}\n{text}\n'


def _needed(called: Container[str]) -> list[str]:
    """The functions of `loop_functions` that these need, each behind those that it calls."""
    found: dict[str, None] = {}
    for name in [name for name in FUNCTIONS if name in called]:
        values = [*[step for _, step in FUNCTIONS[name].steps], FUNCTIONS[name].result]
        steps = [part for value in values for part in ir.parts(value)]
        found |= dict.fromkeys(
            [part.name for part in steps if type(part) is ir.Apply and part.name in FUNCTIONS]
        )
        found[name] = None
    return list(found)


def _defined(name: str) -> str:
    function = FUNCTIONS[name]
    lines = [f"    {step} = {text(value)}" for step, value in function.steps]
    body = "\n".join([*lines, f"    return {text(function.result)}"])
    return f'@njit(error_model="numpy", nogil=True)\ndef {name}(x):\n{body}\n\n\n'


# -- expressions --------------------------------------------------------------------------------------------------------------


def text(node: ir.Expr) -> str:
    """An expression as text."""
    return _EXPRESSIONS[type(node)](node)


def _const(node: ir.Const) -> str:
    value = node.value
    if isinstance(value, float):
        return (
            repr(value) if math.isfinite(value) else f"{'-' if value < 0 else ''}np.{str(value).strip('-')}"
        )
    return str(value) if isinstance(value, bool) else f"({value})"


def _joined(nodes: Iterable[ir.Expr]) -> str:
    return ", ".join([text(node) for node in nodes])


def _tuple(nodes: tuple[ir.Expr, ...]) -> str:
    return f"({_joined(nodes)}{',' if len(nodes) == 1 else ''})"


def _place(node: ir.Element) -> str:
    return f"{node.array}[{_joined(node.indices) or '()'}]"


def _element(node: ir.Element) -> str:
    return f"np.int64({_place(node)})" if node.element in _SMALL else _place(node)


def _op(node: ir.Op) -> str:
    symbol = "-" if node.symbol == "neg" else node.symbol
    if node.symbol in ir.UNARY:
        return f"({symbol} {text(node.args[0])})"
    terms: list[str] = []
    first: ir.Expr = node
    while type(first) is ir.Op and first.symbol in ir.CHAINED and node.symbol in ir.CHAINED:
        terms.append(f" {first.symbol} {text(first.args[1])}")
        first = first.args[0]
    if terms:
        return f"({text(first)}{''.join(reversed(terms))})"
    return f"({text(node.args[0])} {symbol} {text(node.args[1])})"


def _convert(node: ir.Convert) -> str:
    converted = f"np.{node.element}({text(node.value)})"
    return f"np.int64({converted})" if node.element in _SMALL else converted


def _whole(node: ir.Whole) -> str:
    converted = f"whole(np.{node.element}(0), {text(node.value)})"
    return f"np.int64({converted})" if node.element in _SMALL else converted


def _narrow(node: ir.Narrow) -> str:
    mantissa, least, most, beyond = node.form
    limits = f"{mantissa}, {least}, {most!r}, np.{'inf' if math.isinf(beyond) else 'nan'}"
    return f"narrow(np.float64({text(node.value)}), {limits})"


def _bits(node: ir.Bits) -> str:
    read = f"np.{node.source}({text(node.value)}).view(np.{node.target})"
    return f"np.int64({read})" if node.target in _SMALL else read


def _check(node: ir.Check) -> str:
    name, is_bounded = _CHECKS[node.kind]
    bound = f"{text(node.bound)}, " if is_bounded else ""
    return f"{name}({text(node.value)}, {bound}{', '.join(['note', str(node.site), *node.loops])})"


def _flat(node: ir.Flat) -> str:
    if node.start is None:
        return f"{node.array}.reshape(-1)"
    return f"{node.array}[{text(node.start)}:{'' if node.end is None else text(node.end)}]"


_CHECKS = {
    "index": ("at", True),
    "distance": ("distance", True),
    "divisor": ("nonzero", False),
    "step": ("positive", False),
}
_EXPRESSIONS: dict[type, Callable[..., str]] = {
    ir.Const: _const,
    ir.Var: lambda node: str(node.name),
    ir.Length: lambda node: f"{node.array}.shape[{node.axis}]",
    ir.Element: _element,
    ir.Op: _op,
    ir.Apply: lambda node: f"{node.name}({_joined(node.args)})",
    ir.Convert: _convert,
    ir.Whole: _whole,
    ir.Narrow: _narrow,
    ir.Bits: _bits,
    ir.Choice: lambda node: f"({text(node.yes)} if {text(node.condition)} else {text(node.no)})",
    ir.Check: _check,
    ir.Inside: lambda node: f"inside({text(node.value)})",
    ir.Flat: _flat,
}


# -- statements ---------------------------------------------------------------------------------------------------------------


def _statements(body: tuple[ir.Stmt, ...], depth: int, lines: list[str]) -> None:
    indent = "    " * depth
    if not body:
        lines.append(indent + "pass")
    for node in body:
        if type(node) is ir.For:
            bounds = [node.start, node.end, *([] if node.step is None else [node.step])]
            if node.parallel:  # numba counts with unsigned numbers where it knows that none is negative
                lines.append(f"{indent}for {node.var}_ in prange({_joined(bounds)}):")
                lines.append(f"{indent}    {node.var} = np.int64({node.var}_)")
            else:
                lines.append(f"{indent}for {node.var} in range({_joined(bounds)}):")
            _statements(node.body, depth + 1, lines)
        elif type(node) is ir.If:
            lines.append(f"{indent}if {text(node.condition)}:")
            _statements(node.then, depth + 1, lines)
            if node.otherwise:
                lines.append(indent + "else:")
                _statements(node.otherwise, depth + 1, lines)
        elif type(node) is ir.While:
            inner = indent + "    "
            stop = f"{inner}if not {text(node.condition)}:"
            lines += [indent + "while True:", inner + "poll(stop)", stop, inner + "    break"]
            _statements(node.body, depth + 1, lines)
        else:
            lines.append(indent + _STATEMENTS[type(node)](node))


def _allocate(node: ir.Allocate) -> str:
    kind = f"np.{node.element}"
    content = f"{kind}({text(ir.Const(node.poison or 0))})"
    if not node.shape:
        return f"{node.array} = np.full((), {content})"
    if node.most is None:
        return f"{node.array} = np.empty({_tuple(node.shape)}, {kind})"
    is_filled = node.poison is not None
    return f"{node.array} = allocated({_tuple(node.shape)}, {content}, {node.most}, {is_filled})"


_STATEMENTS: dict[type, Callable[..., str]] = {
    ir.Assign: lambda node: f"{node.name} = {text(node.value)}",
    ir.Store: lambda node: f"{_place(node.place)} = {text(node.value)}",
    ir.Allocate: _allocate,
    ir.Window: lambda node: (
        f"{node.array} = window({text(node.flat)}, {text(node.start)}, {_tuple(node.shape)})"
    ),
    ir.Poll: lambda node: "poll(stop)",
    ir.Fail: lambda node: f"raise AssertionError({node.number})",
    ir.Return: lambda node: f"return {text(node.value)}",
    ir.Packed: lambda node: f"{node.function}({_joined(node.args)})",
}
