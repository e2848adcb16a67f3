"""Shapes apart from data (note 004, Tests D, G and H): the shape function of a function, and what a call becomes.

A contract tells the shape of the result from the lengths of the arguments, else the rule of a primitive does. If neither does, the
shape function reads the data.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import relations as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure, Label
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.ir.fold import exact
from relax_explorer.core.relations.solver import Mismatch
from relax_explorer.core.shapes import contract_tree as c
from relax_explorer.core.shapes.contract_run import Runner
from relax_explorer.core.shapes.desugar import Wrapper, desugar
from relax_explorer.core.shapes.primitives import IMPLEMENTATIONS, RULES


@dataclass(frozen=True)
class Split(ABC):
    """A function in destination-passing style: `shape` is its shape function as text, `calls` what a call becomes."""

    shape: str
    calls: tuple[str, ...]

    @abstractmethod
    def run(self, *args: Sequence[int]) -> tuple[int, ...]:
        """The shape of the result, from shapes, or from tensors if it reads the data.

        Raises Failure if an assertion of the shape function does not hold.
        """


@dataclass(frozen=True)
class ContractSplit(Split):
    """The contract tells the shape of the result: `dims`, over the lengths `x.dim(0)` of the arguments, which are given as shapes."""

    wrapper: Wrapper
    terms: c.Terms
    dims: tuple[p.PrimExpr, ...]

    def run(self, *args: Sequence[int]) -> tuple[int, ...]:
        """The shape of the result, where all assertions hold."""
        names = [q.name for q in self.wrapper.function.params]
        known: dict[p.PrimVar, p.PrimExpr] = {}
        given = dict(zip(names, map(tuple, args), strict=True))
        for name, shape in given.items():
            known[self.terms.rank(name)] = p.IntImm(len(shape))
            known |= {self.terms.dim(name, axis): p.IntImm(length) for axis, length in enumerate(shape)}
        for guard in self.wrapper.before:
            condition = guard.condition
            if isinstance(condition, c.SameShape):
                if given[condition.left] != given[condition.right]:
                    raise self._wrong(f"{condition} does not hold for", given)
            elif isinstance(condition, p.PrimExpr):
                answer = simplify(p.substitute(condition, known))
                if not isinstance(answer, p.IntImm) or not answer.value:
                    raise self._wrong(f"{condition} does not hold for", given)
        lengths = [exact(simplify(p.substitute(dim, known))) for dim in self.dims]
        for dim, length in zip(self.dims, lengths, strict=True):
            if length is None or not 0 <= length <= p.INT64_MAX:
                raise self._wrong(f"{dim} is no length for", given)
        return tuple([length for length in lengths if length is not None])

    def _wrong(self, text: str, shapes: Mapping[str, tuple[int, ...]]) -> Failure:
        """The failure of a run of the shape function."""
        label = Label(self.wrapper.function.span, "", True)
        text = f"{text} {', '.join(map(str, shapes.values()))}"
        return Failure(Diagnostic(codes.SHAPE_ERROR, text, (label,), help=codes.SHAPE_ERROR.fix))


@dataclass(frozen=True)
class RuleSplit(Split):
    """A rule from outside of the language tells the shape of the result from the shapes of the arguments."""

    name: str
    attrs: Mapping[str, int] = field(default_factory=dict)

    def run(self, *args: Sequence[int]) -> tuple[int, ...]:
        """The shape of the result by the rule."""
        try:
            dims = RULES[self.name]([tuple(map(p.as_prim, shape)) for shape in args], dict(self.attrs)).dims
        except Mismatch as problem:
            raise _no_shape(f"@{self.name}: {problem}") from None
        lengths = [exact(dim) for dim in dims or () if dim is not None]
        told = [length for length in lengths if length is not None]
        if dims is None or len(told) < len(dims):
            shapes = ", ".join(map(str, args))
            raise _no_shape(f"the rule of @{self.name} does not tell the shape for {shapes}")
        return tuple(told)


@dataclass(frozen=True)
class DataSplit(Split):
    """Only the data tell the shape of the result. The arguments are tensors."""

    name: str
    program: c.Program
    terms: c.Terms
    attrs: Mapping[str, int] = field(default_factory=dict)

    def run(self, *args: Sequence[int]) -> tuple[int, ...]:
        """The shape of the result, by computing it."""
        runner = Runner(self.program, self.terms, {})
        found = runner.call(self.name, list(map(np.asarray, args)), self.attrs)
        return found.shape if isinstance(found, np.ndarray) else ()


def _no_shape(text: str) -> Failure:
    return Failure(Diagnostic(codes.SHAPE_ERROR, text, help=codes.SHAPE_ERROR.fix))


def split_dps(function: c.Function, terms: c.Terms, program: c.Program | None = None) -> Split:
    """The shape computation of a function apart from its data. `program` has the functions that its body calls."""
    wrapper, ret = desugar(function, terms), function.ret
    ret = c.TensorType((), ret.dtype) if isinstance(ret, c.Scalar) else ret
    shape = ret.shape if isinstance(ret, c.TensorType) else c.UNKNOWN
    names, rank = [q.name for q in function.params], _rank(ret)
    element = _element(ret, wrapper, names)
    if isinstance(shape, tuple) and all(wrapper.environment.is_bound(dim) for dim in shape):
        dims = tuple([wrapper.environment.value(dim) for dim in shape if isinstance(dim, p.PrimExpr)])
        built = [*_matches(wrapper, terms), f"build_shape_{len(dims)}({', '.join(['out', *map(str, dims)])})"]
        text = _function(function.name, [f"{name} : shape" for name in names], built)
        return ContractSplit(text, _calls(function.name, len(names), rank, element), wrapper, terms, dims)
    if function.body is None and function.name in RULES:
        return split_rule(function.name, len(names), {}, element)
    after = [
        str(guard) for guard in wrapper.after
        if isinstance(guard.condition, c.SameShape) or (isinstance(guard.condition, p.PrimExpr) and guard.axis >= 0)
    ]  # fmt: skip
    lines = [*_matches(wrapper, terms), f"build_shape{_suffix(rank)}(out, ..)  # reads the data", *after]
    text = _function(function.name, [f"{name} : handle" for name in names], lines)
    calls = _calls(function.name, len(names), rank, element, reads_data=True)
    return DataSplit(text, calls, function.name, program or c.Program({function.name: function}), terms)


def split_rule(name: str, inputs: int, attrs: Mapping[str, int], element: str = "") -> Split:
    """The shape computation of a primitive that has a rule, or that only the data tell."""
    has_rule, element = name in RULES, element or ("%0.dtype" if inputs else c.UNKNOWN)
    kind, body = ("shape", f"the rule of @{name}") if has_rule else ("handle", "reads the data")
    given = [f"x{n} : {kind}" for n in range(inputs)]
    more = [f"{key} = {value}" for key, value in attrs.items()]
    text = _function(name, given, [f"build_shape(out, ..)  # {body}"], more)
    calls = _calls(name, inputs, None, element, reads_data=not has_rule)
    if has_rule:
        return RuleSplit(text, calls, name, attrs)
    return DataSplit(text, calls, name, c.Program(), c.Terms(), attrs)


def splits(program: c.Program, terms: c.Terms) -> Iterator[tuple[str, Split]]:
    """Each function of a program, then each primitive that it calls, with its shape function."""
    for name, function in program.functions.items():
        yield f"@{name}(...)", split_dps(function, terms, program)
    bodies = [fn.body for fn in program.functions.values() if fn.body is not None]
    values = [*bodies, *[item.value for item in program.main if isinstance(item, c.Let)]]
    seen = set()
    for call in [call for value in values for call in c.calls_of(value)]:
        key = call.function, len(call.args), tuple(call.attrs.items())
        is_primitive = call.function in RULES or call.function in IMPLEMENTATIONS
        if is_primitive and call.function not in program.functions and key not in seen:
            seen.add(key)
            more = "".join(f", {name}={value}" for name, value in call.attrs.items())
            yield f"@{call.function}(...{more})", split_rule(call.function, len(call.args), call.attrs)


def _function(name: str, params: Sequence[str], lines: Sequence[str], more: Sequence[str] = ()) -> str:
    """A shape function as text."""
    head = f"@{name}_tir_shape = fn({', '.join([*params, 'out : shape', *more])}) {{"
    return "\n".join([head, *[f"  {line}" for line in lines], "}"])


def _matches(wrapper: Wrapper, terms: c.Terms) -> Iterator[str]:
    """The lengths of the arguments, and what is asserted of them."""
    for q in wrapper.function.params:
        rank = _rank(q.type)
        if rank is not None:
            parts = ", ".join(str(terms.dim(q.name, axis)) for axis in range(rank))
            match = f"match_shape_{rank}({q.name})  # asserts rank {rank}"
            yield f"{parts} = {match}" if parts else match
    for guard in wrapper.before:
        if guard.axis >= 0 or isinstance(guard.condition, c.SameShape):
            yield str(guard)


def _calls(
    name: str, inputs: int, rank: int | None, element: str, reads_data: bool = False
) -> tuple[str, ...]:
    """What a call becomes: its shape, memory for it, then its data."""
    lines: list[str] = []
    given, shapes = [f"%{n}" for n in range(inputs)], [f"%{n}" for n in range(inputs)]
    first = inputs
    if not reads_data:
        shapes = [f"%{inputs + n}" for n in range(inputs)]
        lines += [f"{one} = get_shape({arg})" for one, arg in zip(shapes, given, strict=True)]
        first += inputs
    out, buffer, tensor = (f"%{first + n}" for n in (0, 2, 3))
    return (
        *lines,
        f"{out} = alloc_shape{_suffix(rank)}()",
        f"@{name}_tir_shape({', '.join([*shapes, out])})",
        f"{buffer} = alloc_buffer(..)",
        f"{tensor} = alloc_tensor({out}, {element})",
        f"@{name}_tir({', '.join([*given, tensor])})",
    )


def _suffix(rank: int | None) -> str:
    return "" if rank is None else f"_{rank}"


def _element(ret: c.SweetType, wrapper: Wrapper, names: Sequence[str]) -> str:
    """The element type of the result: as written, or that of an argument."""
    element = ret.dtype if isinstance(ret, c.TensorType) else c.UNKNOWN
    if isinstance(element, DType):
        return element.name
    owner = wrapper.environment.dtypes.get(element.name) if isinstance(element, c.DTypeName) else None
    return c.UNKNOWN if owner is None else f"%{names.index(owner)}.dtype"


def _rank(kind: c.SweetType) -> int | None:
    """The rank that a type tells."""
    if isinstance(kind, c.Scalar):
        return 0
    return len(kind.shape) if isinstance(kind, c.TensorType) and isinstance(kind.shape, tuple) else None
