"""ConvertLayout: give convolutions the desired layouts, and let what stands between them follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import is_
from typing import Annotated, Any

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import INT64
from relax_explorer.core.ir.index_map import IndexMap, place
from relax_explorer.core.ir.walk import called, map_operands
from relax_explorer.core.passes.contract import NO_VALUES, PassSite, bad_option, module_pass
from relax_explorer.core.passes.layout_rules import (
    CONVOLUTIONS,
    ELEMENTWISE,
    REDUCTIONS,
    RULES,
    Fields,
    Form,
    Layout,
    LayoutCall,
    Plan,
    first,
    order,
    plain,
)
from relax_explorer.core.passes.pattern_rules import call
from relax_explorer.core.passes.readings import DATAFLOW, OPERATORS
from relax_explorer.core.passes.to_mixed_precision import DataflowForms
from relax_explorer.core.phases.module_properties import NO_HIGH_LEVEL_OPS, NORMAL_FORM
from relax_explorer.core.program.module import IRModule

Desired = Mapping[str, Sequence[str]]


@module_pass(
    "ConvertLayout",
    rebuilds=True,
    reads=[DATAFLOW, OPERATORS],
    requires=[NORMAL_FORM],
    invalidates=[NO_HIGH_LEVEL_OPS],
)
def convert_layout(
    module: IRModule,
    at: PassSite,
    *,
    desired_layouts: Annotated[
        dict[str, Any], 'layouts of data and kernel by operators, or a text "nn.conv2d=NHWC OHWI"'
    ] = NO_VALUES,
) -> IRModule:
    """Let convolutions in dataflow blocks compute in the desired layouts: `nn.conv2d` in NHWC and OHWI instead of NCHW and OIHW.

    `permute_dims` brings the operands into these layouts. Pools, norms, reductions and element-wise operators follow, so that the
    layout changes back only where a value leaves the block, or in front of an operator that needs the layout of the program. A
    third layout is that of the result. NCHW4c divides the channels into blocks of 4. Axes in attributes become numbers from 0. In the
    profile `tvm`, a scalar that is reduced from a tensor is permuted, too, by no axes.
    """
    desired = _layouts(desired_layouts)
    if not desired:
        return module
    for name, fn in module.relax_functions.items():
        new = _Converter(fn, at, desired).function()
        if new is not fn:
            at.editor.replace(name, new)
    return at.editor.done()


def _bad(text: str, help: str) -> Failure:
    return bad_option(f"desired_layouts {text}", help)


def _layouts(given: dict[str, Any] | str) -> Desired:
    """The layouts by the full names of operators."""
    written = [] if isinstance(given, dict) else [part for part in given.split(",") if part.strip()]
    pairs = given.items() if isinstance(given, dict) else map(_pair, written)
    found: dict[str, Sequence[str]] = {}
    for operator, layouts in pairs:
        name = operator if operator.startswith("relax.") else f"relax.{operator}"
        letters = CONVOLUTIONS.get(name)
        if letters is None:
            known = ", ".join(n.removeprefix("relax.") for n in CONVOLUTIONS)
            raise _bad(f"names {operator!r}", f"it may name {known}")
        example = f"{name.removeprefix('relax.')}={' '.join(letters)}"
        texts = layouts.split() if isinstance(layouts, str) else list(layouts)
        if len(texts) not in (2, 3):
            raise _bad(f"has {len(texts)} layout{'s' * (len(texts) != 1)} for {operator}", f"write {example}")
        for text, needed in zip(texts, (*letters, letters[0]), strict=False):
            if not isinstance(text, str) or order(needed, text) is None:
                help = f"it must be {needed} in another order, with blocks such as 4c at most: {example}"
                raise _bad(f"has {text!r} for {operator}", help)
        found[name] = texts
    return found


def _pair(part: str) -> tuple[str, str]:
    name, equals, layouts = part.partition("=")
    if not equals:
        raise _bad(f"has {part.strip()!r}", 'write "nn.conv2d=NHWC OHWI"')
    return name.strip(), layouts


class _Converter(DataflowForms):
    """Rewrites one function. The other form of a tensor is that in another layout."""

    def __init__(self, fn: e.Function, at: PassSite, desired: Desired) -> None:
        super().__init__(fn, at)
        self.desired = desired
        self.layouts: dict[e.Var, Form] = {}  # of the variables that hold other forms
        self.plans: dict[tuple[object, ...], Plan | None] = {}
        self.result: Form = None  # the layout of the present value
        # Scalars whose layout is not that of the program; in the profile `tvm` only.
        self.reduced: set[e.Var] = set()

    def value(self, binding: e.Binding) -> e.Expr:
        """The value of a binding. The layout of a dataflow variable is noted."""
        value, var = binding.value, binding.var
        self.result = None if var is None else first(var.struct_info)
        if not self.in_dataflow or type(binding) is not e.VarBinding or var is None:
            return self.restored(value)
        if type(value) in (e.Tuple, e.TupleGetItem):
            read = self.restored if self.reduced and type(var) is not e.DataflowVar else self.current
            return self._formed(var, map_operands(value, read), self._form(value))
        if self.at.as_tvm and self.result == ():
            return self._scalar(var, value)
        plan = self._plan(value)
        if plan is None or type(value) is not e.Call:
            return self.restored(value)
        return self._formed(var, self._planned(value, plan), plan.result)

    def _scalar(self, var: e.Var, value: e.Expr) -> e.Expr:
        """A scalar as TVM computes it: what is reduced, or computed from such a scalar as the last operand, has a layout of its own."""
        name = called(value).removeprefix("relax.")
        if type(value) is not e.Call or name not in (*REDUCTIONS, *ELEMENTWISE):
            return self.restored(value)
        if name in REDUCTIONS:
            plan = self._plan(value)
            new, is_reduced = (value, False) if plan is None else (self._planned(value, plan), True)
        else:
            new, is_reduced = map_operands(value, self.current), value.args[-1] in self.reduced
        if is_reduced and type(var) is e.DataflowVar:
            self.reduced.add(var)
        elif is_reduced:
            return _permuted_by_none(self.build.informed(new))
        return new

    def restored(self, expr: e.Expr) -> e.Expr:
        """An expression whose operands have the layout of the program."""
        if isinstance(expr, e.Var) and expr in self.reduced:
            return _permuted_by_none(self.now.get(expr, expr))
        return super().restored(expr)

    def _binding(self, binding: e.Binding) -> None:
        if not (self.in_dataflow and type(binding) is e.MatchCast and self._cast(binding)):
            super()._binding(binding)

    def _cast(self, binding: e.MatchCast) -> bool:
        """Check a tensor in its present layout. False if the check needs the layout of the program."""
        layout, info, var = self._form(binding.value), binding.struct_info, binding.var
        current = self.now.get(binding.value) if isinstance(binding.value, e.Var) else None
        dims = info.dims if isinstance(info, s.TensorStructInfo) else None
        axes = plain(layout) if isinstance(layout, tuple) else None
        is_held = type(var) is e.DataflowVar and current is not None
        if not is_held or dims is None or axes is None or len(dims) != len(axes):
            return False
        assert isinstance(info, s.TensorStructInfo)  # it has lengths
        permuted = s.TensorStructInfo(tuple([dims[axis] for axis in axes]), info.dtype, -1, info.vdevice)
        assert var is not None  # it is held
        assert current is not None  # likewise
        with self.emitting(binding):
            self.build.emit_match_cast(current, permuted, var.name)
        self.layouts[self.hold(var)] = layout
        return True

    def _bind(self, binding: e.Binding, value: e.Expr) -> None:
        super()._bind(binding, value)
        new = self.now.get(binding.var) if binding.var is not None else None
        if new is not None:
            self.layouts[new] = self.result

    def _formed(self, var: e.Var, value: e.Expr, form: Form) -> e.Expr:
        """The value of a variable in this form. A variable that leaves the block gets its first form."""
        self.result = form
        if type(var) is e.DataflowVar or form == first(var.struct_info):
            return value
        return self._converted(self.build.informed(value), form, first(var.struct_info))

    def first_form(self, current: e.Expr, var: e.Var) -> e.Expr:
        """The value in the layout of the program."""
        return self._converted(current, self._form_of(current), first(var.struct_info))

    def _form_of(self, current: e.Expr) -> Form:
        return self.layouts.get(current) if isinstance(current, e.Var) else None

    def _form(self, expr: e.Expr) -> Form:
        """The present layout of an expression of the program."""
        if isinstance(expr, e.Var):
            current = self.now.get(expr, expr)
            return self.layouts[current] if current in self.layouts else first(expr.struct_info)
        if type(expr) is e.Tuple:
            return Fields(tuple(map(self._form, expr.fields)))
        if type(expr) is e.TupleGetItem:
            form = self._form(expr.tuple)
            return form.fields[expr.index] if isinstance(form, Fields) else first(expr.struct_info)
        return first(expr.struct_info)

    def _plan(self, value: e.Expr) -> Plan | None:
        """How a call computes in the present layouts. Calls that a rule can't tell apart have one plan."""
        rule = RULES.get(called(value))
        if rule is None or type(value) is not e.Call:
            return None
        call = LayoutCall(value, [self._form(arg) for arg in value.args], self.desired)
        if not all(isinstance(arg, e.Var) for arg in value.args):
            return rule(call)
        infos = tuple([arg.struct_info for arg in value.args])
        key = value.op, value.attrs, value.struct_info, infos, tuple(call.forms)
        if key not in self.plans:
            self.plans[key] = rule(call)
        return self.plans[key]

    def _planned(self, value: e.Call, plan: Plan) -> e.Expr:
        """The call as it is planned."""
        args = [self._operand(arg, form) for arg, form in zip(value.args, plan.operands, strict=True)]
        if plan.rest is not None:
            args[1:] = plan.rest
        attrs = value.attrs.having(**plan.attrs) if plan.attrs else value.attrs
        if attrs == value.attrs and all(map(is_, args, value.args)):
            return value
        return e.Call(value.op, tuple(args), attrs, value.sinfo_args, None, value.span)

    def _operand(self, arg: e.Expr, form: Form) -> e.Expr:
        """An operand in a layout. A call is bound here, which takes less time than a nested one."""
        current = self.current(arg)
        new = self._converted(current, self._form(arg), form)
        return new if new is current or type(new) is not e.Call else self.build.emit(new)

    def _converted(self, expr: e.Expr, have: Form, want: Form) -> e.Expr:
        """A value in another layout."""
        if have == want or have is None or want is None:
            return expr
        if isinstance(have, tuple) and isinstance(want, tuple):
            return _rearranged(expr, have, want)
        assert isinstance(have, Fields)  # forms of one value
        assert isinstance(want, Fields)  # likewise
        if type(expr) is e.Tuple:
            fields: Sequence[e.Expr] = expr.fields
        else:
            whole = expr if isinstance(expr, e.Var) else self.build.emit(expr)
            fields = [e.TupleGetItem(whole, number) for number in range(len(have.fields))]
        parts = zip(fields, have.fields, want.fields, strict=True)
        return e.Tuple(tuple([self._converted(*part) for part in parts]))


def _permuted_by_none(scalar: e.Expr) -> e.Call:
    return call("relax.permute_dims", scalar, axes=())


def _rearranged(tensor: e.Expr, have: Layout, want: Layout) -> e.Call:
    """A tensor of one layout in another one."""
    old, new = plain(have), plain(want)
    if old is not None and new is not None:
        return call("relax.permute_dims", tensor, axes=tuple([old.index(axis) for axis in new]))
    sizes = {entry[0]: entry[1] for entry in have if isinstance(entry, tuple)}
    indices: dict[int, p.PrimExpr] = {}  # by axes of the program
    for number, entry in enumerate(have):
        if isinstance(entry, int):
            index: p.PrimExpr = place(number)
            indices[entry] = p.Mul(index, _int(sizes[entry])) if entry in sizes else index
    for number, entry in enumerate(have):
        if isinstance(entry, tuple):
            indices[entry[0]] = p.Add(indices[entry[0]], place(number))
    blocks = {entry[0]: entry[1] for entry in want if isinstance(entry, tuple)}
    results = [
        p.FloorMod(indices[entry[0]], _int(entry[1]))
        if isinstance(entry, tuple)
        else p.FloorDiv(indices[entry], _int(blocks[entry]))
        if entry in blocks
        else indices[entry]
        for entry in want
    ]
    names = [f"i{number}" for number in range(len(have))]
    return call("relax.layout_transform", tensor, index_map=IndexMap(names, results))


def _int(value: int) -> p.IntImm:
    return p.IntImm(value, INT64)
