"""Shapes apart from data (note 004, Test D): the shape function of a function, and what a call becomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import relations as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure, Label
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.ir.overflow import exact
from relax_explorer.core.shapes import contract_tree as c
from relax_explorer.core.shapes.desugar import Wrapper, desugar


@dataclass(frozen=True)
class Split:
    """A function in destination-passing style: `shape` computes the shape of the result from those of the arguments.

    `calls` is what a call becomes. `dims` are the dimensions of the result over the lengths `x.dim(0)` of the arguments.
    """

    wrapper: Wrapper
    terms: c.Terms
    dims: tuple[p.PrimExpr, ...]
    shape: str
    calls: tuple[str, ...]

    def run(self, *shapes: Sequence[int]) -> tuple[int, ...]:
        """The shape of the result. Raises Failure if an assertion of the shape function does not hold."""
        names = [q.name for q in self.wrapper.function.params]
        known: dict[p.PrimVar, p.PrimExpr] = {}
        given = dict(zip(names, map(tuple, shapes), strict=True))
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


def split_dps(function: c.Function, terms: c.Terms) -> Split:
    """The shape computation of a function apart from its data. Raises Failure if the contract does not tell the result's shape."""
    wrapper, ret = desugar(function, terms), function.ret
    ret = c.TensorType((), ret.dtype) if isinstance(ret, c.Scalar) else ret
    shape = ret.shape if isinstance(ret, c.TensorType) else c.UNKNOWN
    if not isinstance(shape, tuple) or not all(wrapper.environment.is_bound(dim) for dim in shape):
        text = f"the contract of @{function.name} does not tell the shape of the result: {ret}"
        raise Failure(
            Diagnostic(codes.NO_SOLUTION, text, (Label(function.span, "", True),), help=codes.NO_SOLUTION.fix)
        )
    dims = tuple([wrapper.environment.value(dim) for dim in shape if isinstance(dim, p.PrimExpr)])
    name, ranks = function.name, [_rank(q.type) for q in function.params]
    params = ", ".join(f"{q.name} : shape" for q in function.params)
    lines = [f"@{name}_tir_shape = fn({params}, out : shape) {{"]
    for q, rank in zip(function.params, ranks, strict=True):
        if rank is not None:
            parts = ", ".join(str(terms.dim(q.name, axis)) for axis in range(rank))
            match = f"match_shape_{rank}({q.name})  # asserts rank {rank}"
            lines.append(f"  {parts} = {match}" if parts else f"  {match}")
    lines += [
        f"  {guard}"
        for guard in wrapper.before
        if guard.axis >= 0 or isinstance(guard.condition, c.SameShape)
    ]
    lines += [f"  build_shape_{len(dims)}({', '.join(['out', *map(str, dims)])})", "}"]
    inputs = len(ranks)
    gets = [f"%{inputs + n} = get_shape(%{n})" for n in range(inputs)]
    shapes = ", ".join(f"%{inputs + n}" for n in range(inputs))
    out, buffer, tensor = (f"%{2 * inputs + n}" for n in (0, 2, 3))
    element = ret.dtype.name if isinstance(ret, c.TensorType) and isinstance(ret.dtype, DType) else "?"
    calls = (
        *gets,
        f"{out} = alloc_shape_{len(dims)}()",
        f"@{name}_tir_shape({shapes}, {out})",
        f"{buffer} = alloc_buffer(..)",
        f"{tensor} = alloc_tensor({out}, {element})",
        f"@{name}_tir({', '.join(f'%{n}' for n in range(inputs))}, {tensor})",
    )
    return Split(wrapper, terms, dims, "\n".join(lines), calls)


def _rank(kind: c.SweetType) -> int | None:
    """The rank that a type tells."""
    if isinstance(kind, c.Scalar):
        return 0
    return len(kind.shape) if isinstance(kind, c.TensorType) and isinstance(kind.shape, tuple) else None
