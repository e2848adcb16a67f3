"""Using what is known of shapes (note 004): the most specific implementation, copies for given sizes, shapes apart from data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import relations as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure, Label
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.shapes import contract_tree as c
from relax_explorer.core.shapes.contract_facts import Analysis
from relax_explorer.core.shapes.desugar import Wrapper, desugar


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
    new = f"{name}_{'_'.join(str(sizes[one]) for one in by_name if one in sizes)}"
    params = [c.Parameter(q.name, _at_sizes(q.type, values), q.span) for q in function.params]
    copy = c.Function(new, params, _at_sizes(function.ret, values), function.body, function.span)
    same = set()
    if found is not None:
        wanted = {one: p.as_prim(size) for one, size in sizes.items()}
        same = {
            key
            for key, (called, at) in found.sizes.items()
            if called == name and wanted.items() <= at.items()
        }
    main = [_redirected(item, same, new) for item in program.main]
    return c.Program(program.functions | {new: copy}, main, program.implementations)


def _at_sizes(kind: c.SweetType, values: Mapping[p.PrimVar, p.PrimExpr]) -> c.SweetType:
    if not isinstance(kind, c.TensorType) or not isinstance(kind.shape, tuple):
        return kind
    dims = [simplify(p.substitute(d, dict(values))) if isinstance(d, p.PrimExpr) else d for d in kind.shape]
    return replace(kind, shape=tuple(dims))


def _redirected(item: c.Let | c.Assert, same: set[int], name: str) -> c.Let | c.Assert:
    """A statement whose value is a call with the given sizes calls the copy."""
    if isinstance(item, c.Let) and isinstance(item.value, c.Call) and id(item.value) in same:
        call = c.Call(name, item.value.args, item.value.attrs, item.value.span)
        return c.Let(item.name, item.type, item.is_assertion, call, item.span)
    return item


def header(function: c.Function) -> str:
    """A function with its type, as text."""
    kind = c.FunctionType(tuple([q.type for q in function.params]), function.ret)
    return f"@{function.name} : {kind}"


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
        for name, shape in zip(names, shapes, strict=True):
            known[self.terms.rank(name)] = p.IntImm(len(shape))
            known |= {self.terms.dim(name, axis): p.IntImm(length) for axis, length in enumerate(shape)}
        for guard in self.wrapper.before:
            if isinstance(guard.condition, p.PrimExpr):
                answer = simplify(p.substitute(guard.condition, known))
                if not isinstance(answer, p.IntImm) or not answer.value:
                    label = Label(self.wrapper.function.span, "", True)
                    text = (
                        f"{guard.condition} does not hold for {', '.join(str(tuple(one)) for one in shapes)}"
                    )
                    raise Failure(Diagnostic(codes.SHAPE_ERROR, text, (label,), help=codes.SHAPE_ERROR.fix))
        lengths = [simplify(p.substitute(dim, known)) for dim in self.dims]
        return tuple([dim.value for dim in lengths if isinstance(dim, p.IntImm)])


def split_dps(function: c.Function, terms: c.Terms) -> Split:
    """The shape computation of a function apart from its data. Raises Failure if the contract does not tell the result's shape."""
    wrapper, ret = desugar(function, terms), function.ret
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
        parts = ", ".join(str(terms.dim(q.name, axis)) for axis in range(rank))
        lines.append(f"  {parts} = match_shape_{rank}({q.name})  # asserts rank {rank}")
    lines += [
        f"  {guard}"
        for guard in wrapper.before
        if isinstance(guard.condition, p.PrimExpr) and guard.axis >= 0
    ]
    lines += [f"  build_shape_{len(dims)}(out, {', '.join(map(str, dims))})", "}"]
    count = len(ranks)
    gets = [f"%{count + n} = get_shape(%{n})" for n in range(count)]
    shapes = ", ".join(f"%{count + n}" for n in range(count))
    out, buffer, tensor = (f"%{2 * count + n}" for n in (0, 2, 3))
    element = ret.dtype.name if isinstance(ret, c.TensorType) and isinstance(ret.dtype, DType) else "?"
    calls = (
        *gets,
        f"{out} = alloc_shape_{len(dims)}()",
        f"@{name}_tir_shape({shapes}, {out})",
        f"{buffer} = alloc_buffer(..)",
        f"{tensor} = alloc_tensor({out}, {element})",
        f"@{name}_tir({', '.join(f'%{n}' for n in range(count))}, {tensor})",
    )
    return Split(wrapper, terms, dims, "\n".join(lines), calls)


def _rank(kind: c.SweetType) -> int:
    return len(kind.shape) if isinstance(kind, c.TensorType) and isinstance(kind.shape, tuple) else 0
