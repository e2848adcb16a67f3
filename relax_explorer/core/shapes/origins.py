"""Where lengths come from: each is followed back to parameters, to what a program states, and to the variables in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from relax_explorer.core.arith.form import CANONICAL
from relax_explorer.core.check.arguments import problem
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.walk import bindings, defined_dims
from relax_explorer.core.ops import find
from relax_explorer.core.ops.kit.decl import InferFailure, Op, Site
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.source import Span

# -- operand lengths -------------------------------------------------------------------------------------------------
# Which lengths of its operands an operator makes a length of its result from: inference is asked with a variable for
# each.


Path = tuple[int, ...]  # fields of tuples, then the axis
Source = tuple[e.Var | None, Path]  # None: written at the operand


def paths(info: s.StructInfo | None) -> Iterator[tuple[Path, p.PrimExpr]]:
    """The known lengths of a StructInfo."""
    if isinstance(info, s.TupleStructInfo):
        for number, field in enumerate(info.fields):
            yield from (((number, *path), dim) for path, dim in paths(field))
    elif isinstance(info, s.TensorStructInfo):
        yield from (((axis,), dim) for axis, dim in enumerate(info.lengths or ()))
    elif isinstance(info, s.ShapeStructInfo):
        yield from (((axis,), dim) for axis, dim in enumerate(info.values or ()))
    elif isinstance(info, s.PrimStructInfo) and info.value is not None:
        yield (), info.value


def tensors(name: str, info: s.StructInfo | None) -> Iterator[tuple[str, s.TensorStructInfo]]:
    """The tensors of a value with their names: itself, or those in a tuple."""
    if isinstance(info, s.TensorStructInfo):
        yield name, info
    elif isinstance(info, s.TupleStructInfo):
        for number, field in enumerate(info.fields):
            yield from tensors(f"{name}[{number}]", field)


def length_at(info: s.StructInfo | None, path: Path) -> p.PrimExpr | None:
    """One length of a StructInfo, if it is known."""
    return next((dim for where, dim in paths(info) if where == path), None)


def lengths(operand: e.Expr) -> Iterator[tuple[e.Var | None, Path, p.PrimExpr]]:
    """The lengths of an operand: of which variable, where in it, and how long."""
    if isinstance(operand, e.Tuple):
        for field in operand.fields:
            yield from lengths(field)
        return
    leaf = operand if isinstance(operand, e.Var) else None
    yield from ((leaf, path, dim) for path, dim in paths(operand.struct_info))


def derived(op: type[Op], call: e.Call, path: Path) -> tuple[str, list[Source]] | None:
    """A length of the result in terms of lengths of operands, and these; None if inference does not tell.

    First each length has a variable of its own. Where lengths must agree, equal ones share a variable.
    """
    if problem(op, call.attrs):
        return None
    for is_shared in (False, True):
        variables = _Variables(is_shared)
        infos = [variables.info(arg.struct_info, arg) for arg in call.args]
        try:
            result = op.infer(Site(call, op), *infos, *[None] * (len(op.operands) - len(infos)), **call.attrs)
        except (InferFailure, OverflowError):
            continue
        found = length_at(result, path)
        if found is not None:
            return str(found), [
                source for var in p.free_vars(found) for source in variables.sources.get(var, ())
            ]
    return None


class _Variables:
    """StructInfo with a variable, named like its place, for each length."""

    def __init__(self, is_shared: bool) -> None:
        self.is_shared = is_shared
        self.of: dict[p.PrimExpr, p.PrimVar] = {}
        self.sources: dict[p.PrimVar, list[Source]] = {}

    def info(self, info: s.StructInfo | None, operand: e.Expr, path: Path = ()) -> s.StructInfo | None:
        """The StructInfo of an operand, or of a field of it."""
        if isinstance(info, s.TupleStructInfo):
            fields = [
                self.info(field, operand.fields[n], path)
                if isinstance(operand, e.Tuple)
                else self.info(field, operand, (*path, n))
                for n, field in enumerate(info.fields)
            ]
            return s.TupleStructInfo(tuple([field or s.OBJECT for field in fields]))
        if isinstance(info, s.TensorStructInfo) and info.lengths is not None:
            return s.TensorStructInfo(
                self.dims(info.lengths, operand, path), info.dtype, info.ndim, info.vdevice
            )
        if isinstance(info, s.ShapeStructInfo) and info.values is not None:
            return s.ShapeStructInfo(self.dims(info.values, operand, path))
        if isinstance(info, s.PrimStructInfo) and info.value is not None and info.dtype.is_int:
            return s.PrimStructInfo(info.dtype, self.dims((info.value,), operand, path)[0])
        return info

    def dims(self, dims: tuple[p.PrimExpr, ...], operand: e.Expr, path: Path) -> tuple[p.PrimExpr, ...]:
        """A variable for each length. A 1 stays where lengths are compared, for it broadcasts."""
        return tuple([self._dim(dim, operand, (*path, axis)) for axis, dim in enumerate(dims)])

    def _dim(self, dim: p.PrimExpr, operand: e.Expr, path: Path) -> p.PrimExpr:
        if self.is_shared and isinstance(dim, p.IntImm) and dim.value == 1:
            return dim
        leaf = operand if isinstance(operand, e.Var) else None
        form = CANONICAL.simple(dim)
        var = self.of.get(form) if self.is_shared else None
        if var is None:
            name = str(dim) if leaf is None else leaf.name + "".join([f"[{number}]" for number in path])
            var = self.of[form] = p.PrimVar(name, dim.dtype)
        self.sources.setdefault(var, []).append((leaf, path))
        return var


# -- origins ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """One length: of what, how long, how it is made, where, and the numbers of the steps that it follows from."""

    value: str
    length: str
    how: str
    span: Span | None = None
    sources: tuple[int, ...] = ()
    bound_by: str = ""  # of a variable: the length that binds it

    @property
    def key(self) -> tuple[str, Span | None]:
        """What is equal for one length: a variable is the length that binds it."""
        return self.bound_by or self.value, self.span


@dataclass(frozen=True)
class Explanation:
    """A length with all that it follows from. The first step is the length itself, and no step comes before its readers."""

    steps: tuple[Step, ...]


Names = tuple[str, ...]
_Key = tuple[e.Var, Path] | p.PrimVar
_Reason = tuple[str, object, list[_Key]]  # how a length is made, the place, and what it follows from


class Origins:
    """Explains the lengths of one function of a normalized module."""

    def __init__(self, module: IRModule, name: str) -> None:
        self.module, self.fn = module, module.relax_functions[name]
        self._nested = _NESTED.of(self.fn, _nested)
        self.params: dict[e.Var, e.Function] = {}
        self.made: dict[e.Var, e.Binding] = {}
        self.binders: dict[
            p.PrimVar, tuple[e.Var, Path, object]
        ] = {}  # the value, its length, and what states it
        self._add(self.fn)
        for binding in bindings(self.fn):
            if binding.var is not None:
                self.made[binding.var] = binding
            if isinstance(binding, e.MatchCast):
                self._bind(binding.var or binding.value, binding.struct_info, binding)
            if isinstance(binding.value, e.Function):
                self._add(binding.value)

    def _add(self, fn: e.Function) -> None:
        for param in fn.params:
            self.params[param] = fn
            self._bind(param, param.struct_info or s.OBJECT, param)

    def _bind(self, value: e.Expr, info: s.StructInfo, place: object) -> None:
        new = set(defined_dims(info))
        for path, dim in paths(info):
            if isinstance(value, e.Var) and isinstance(dim, p.PrimVar) and dim in new:
                self.binders.setdefault(dim, (value, path, place))

    def named(self, name: str, within: Names = ()) -> e.Var | None:
        """The last value with a name, else the parameter. A nested function is asked after the one around it."""
        values = [var for var in self._values(within) if var.name == name]
        return min(values, key=lambda var: len(self.path(var)), default=None)

    def names(self, within: Names) -> list[str]:
        """The names of the values of a function."""
        return [var.name for var in reversed(self._values(within))]

    def nested(self, names: list[str]) -> tuple[Names, e.Function]:
        """The nested function that the first names tell, and its names, which are taken from the list."""
        path, fn = Names(), self.fn
        while len(names) > 1:
            var = self.named(names[0], path)
            inner = self.made[var].value if var in self.made else None
            if var is None or not isinstance(inner, e.Function):
                break
            path, fn = (*self.path(var), names.pop(0)), inner
        return path, fn

    def _values(self, within: Names) -> list[e.Var]:
        """The values of a function and of those in it, the last one first, then the parameters."""
        values = (*reversed(self.made), *reversed(self.params))
        return [var for var in values if self.path(var)[: len(within)] == within]

    def path(self, var: e.Var) -> Names:
        """The names of the nested functions that a value is in."""
        return self.around(self.made.get(var) or self.params.get(var))

    def around(self, place: object) -> Names:
        """The names of the nested functions that a binding is in, or of a function with its own."""
        return self._nested.get(id(place), ())

    def explain(self, var: e.Var, path: Path) -> Explanation:
        """A length of a value."""
        return self._explained([(var, path)])

    def explain_length(
        self, length: p.PrimExpr, operands: Sequence[e.Expr], span: Span | None
    ) -> Explanation:
        """A length that a check compares: that of an operand, if one has it, else what its variables are."""
        for operand in operands:
            for leaf, path, dim in lengths(operand):
                if dim is length and leaf is not None:
                    return self._explained([(leaf, path)])
        return self._explained(list(p.free_vars(length)), Step(str(length), str(length), "demanded", span))

    def _explained(self, roots: Sequence[_Key], first: Step | None = None) -> Explanation:
        """The steps from some lengths on, each once."""
        found = [] if first is None else [first]
        numbers: dict[_Key, int] = {}
        waiting: list[_Key] = list(roots)
        reasons: list[tuple[_Key, _Reason]] = []
        for key in waiting:
            if key not in numbers:
                numbers[key] = len(found) + len(reasons)
                reasons.append((key, self._reason(key)))
                waiting.extend(reasons[-1][1][2])
        for key, (how, place, keys) in reasons:
            span = place if isinstance(place, Span) else getattr(place, "span", None)
            found.append(
                Step(
                    *self._text(key),
                    how,
                    span,
                    tuple(dict.fromkeys(numbers[one] for one in keys)),
                    self._bound_by(key),
                )
            )
        if first is not None:
            roots_numbers = tuple(dict.fromkeys(numbers[key] for key in roots))
            found[0] = Step(first.value, first.length, first.how, first.span, roots_numbers)
        return Explanation(tuple(found))

    def _text(self, key: _Key) -> tuple[str, str]:
        """The value and its length in words."""
        if isinstance(key, p.PrimVar):
            return key.name, key.name
        var, path = key
        dim = length_at(var.struct_info, path)
        return _place_name(var, path), "unknown" if dim is None else str(dim)

    def _bound_by(self, key: _Key) -> str:
        """The length that binds a variable."""
        binder = self.binders.get(key) if isinstance(key, p.PrimVar) else None
        return "" if binder is None else _place_name(*binder[:2])

    def _reason(self, key: _Key) -> _Reason:
        """How a length is made, where, and what it follows from."""
        if isinstance(key, p.PrimVar):
            binder = self.binders.get(key)
            if binder is None:
                return "known only at run time", None, []
            var, path, place = binder
            return f"the length of {_place_name(var, path)}, which binds it", place, []
        var, path = key
        if var in self.params:
            return "stated by the parameter", var, self._variables(var, path)
        binding = self.made.get(var)
        if binding is None:
            return "made outside of this function", None, []
        if isinstance(binding, e.MatchCast):
            keys = self._variables(var, path)
            return f"{'checked' if keys else 'stated'} by the {binding.word}", binding, keys
        rule = _RULES.get(type(binding.value))
        how, keys = (_kind(binding.value), []) if rule is None else rule(self, binding.value, path)
        return how, binding, keys or self._variables(var, path)

    def _variables(self, var: e.Var, path: Path) -> list[_Key]:
        """The variables of a length, except one that this value binds itself."""
        dim = length_at(var.struct_info, path)
        names = [] if dim is None else p.free_vars(dim)
        return [one for one in names if self.binders.get(one, (None, None))[:2] != (var, path)]

    def _copy(self, value: e.Var, path: Path) -> tuple[str, list[_Key]]:
        return f"a copy of {value.name}", [(value, path)]

    def _tuple(self, value: e.Tuple, path: Path) -> tuple[str, list[_Key]]:
        field = value.fields[path[0]]
        return f"field {path[0]}", [(field, path[1:])] if isinstance(field, e.Var) else []

    def _item(self, value: e.TupleGetItem, path: Path) -> tuple[str, list[_Key]]:
        whole = value.tuple
        return f"field {value.index}", [(whole, (value.index, *path))] if isinstance(whole, e.Var) else []

    def _if(self, value: e.If, path: Path) -> tuple[str, list[_Key]]:
        ends = [
            branch.body for branch in (value.true_branch, value.false_branch) if isinstance(branch, e.SeqExpr)
        ]
        return "the same in both branches", [(end, path) for end in ends if isinstance(end, e.Var)]

    def _call(self, call: e.Call, path: Path) -> tuple[str, list[_Key]]:
        if isinstance(call.op, e.GlobalVar):
            return self._function(call, call.op.name, path)
        declared = find(call.op.name) if isinstance(call.op, e.OpRef) else None
        if declared is None or declared.takes_sinfo:
            return "stated by the call", []
        name = declared.name.removeprefix("relax.")
        found = derived(declared, call, path)
        if found is None:
            return f"made by {name}", []
        length, sources = found
        return f"{name} makes it: {length}", [(leaf, where) for leaf, where in sources if leaf is not None]

    def _function(self, call: e.Call, name: str, path: Path) -> tuple[str, list[_Key]]:
        """A length that a function of the module returns, in terms of its arguments."""
        callee = self.module.relax_functions.get(name)
        returned = None if callee is None else length_at(callee.ret_struct_info, path)
        if callee is None or returned is None:
            return f"returned by {name}", []
        keys: list[_Key] = []
        for var in p.free_vars(returned):
            for param, arg in zip(callee.params, call.args, strict=False):
                at = next((where for where, dim in paths(param.struct_info or s.OBJECT) if dim is var), None)
                if at is not None and isinstance(arg, e.Var):
                    keys.append((arg, at))
                    break
        return f"{name} returns {returned}", keys


def owner_name(module: IRModule, name: str, place: object) -> str:
    """The function of a place: `main`, or `main.inner` if it is in a nested one."""
    return ".".join((name, *nested_names(module, name, place)))


def nested_names(module: IRModule, name: str, place: object) -> Names:
    """The nested functions that a place of a function of the module is in, the outermost first."""
    return _NESTED.of(module.relax_functions[name], _nested).get(id(place), ())


def _nested(fn: e.Function) -> dict[int, Names]:
    """The nested functions, their parameters, and the bindings in them, with the names of the functions that they are in."""
    found: dict[int, Names] = {}
    for binding in bindings(fn):  # outer ones first
        value = binding.value
        if isinstance(value, e.Function) and binding.var is not None:
            path = (*found.get(id(binding), ()), binding.var.name)
            found |= dict.fromkeys(map(id, (value, *value.params, *bindings(value))), path)
    return found


_NESTED: PerNode[dict[int, Names]] = PerNode()


def _place_name(var: e.Var, path: Path) -> str:
    return var.name + "".join([f"[{number}]" for number in path])


def _kind(value: e.Expr) -> str:
    return "written here" if isinstance(value, (e.ShapeExpr, e.PrimValue)) else "a constant"


_RULES: dict[type, Callable[..., tuple[str, list[_Key]]]] = {
    e.Var: Origins._copy,
    e.DataflowVar: Origins._copy,
    e.Tuple: Origins._tuple,
    e.TupleGetItem: Origins._item,
    e.If: Origins._if,
    e.Call: Origins._call,
}


def parting(a: Explanation, b: Explanation) -> Step | None:
    """The nearest step that two lengths both follow from; None if they have nothing in common."""
    others = {step.key for step in b.steps}
    return next((step for step in a.steps if step.key in others), None)


def lines(explanation: Explanation) -> Iterator[tuple[int, Step]]:
    """The steps for reading, with the depth of each: deeper where several lengths make one. A repeated step has no sources."""
    seen: set[int] = set()
    stack = [(0, 0)]
    while stack:
        number, depth = stack.pop()
        step = explanation.steps[number]
        if number in seen:
            yield depth, Step(step.value, step.length, "as above", step.span)
            continue
        seen.add(number)
        yield depth, step
        inner = depth + (len(step.sources) > 1)
        stack.extend((source, inner) for source in reversed(step.sources))
