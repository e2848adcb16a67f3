"""Modules in a form in which differences that rows of `differences.md` allow are gone."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import reduce

import relax_explorer as rxe
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.build.module_editor import ModuleEditor
from relax_explorer.core.check.effects import effects
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.substitute import Substitution
from relax_explorer.core.ir.walk import all_dims, bindings, map_operands
from relax_explorer.core.passes.contract import PassSite
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.tir.mutator import Mutator
from relax_explorer.core.tir.stmt import PrimFunc
from tests.support.annotations import strip_binding_annotations
from tests.support.subject_tests import operands, operator
from tests.support.without_subjects import rewritten, without_blocks, without_return_annotations


def annotated_anew(module: IRModule) -> IRModule:
    """The StructInfo of bindings is what follows from their values."""
    anew: IRModule = rxe.parse(strip_binding_annotations(module.script()))
    return anew


def with_pure_closures(module: IRModule) -> IRModule:
    """Every closure is called as a pure one."""
    new: IRModule = rxe.parse(module.script().replace("R.invoke_closure(", "R.invoke_pure_closure("))
    return new


def without_devices(module: IRModule) -> IRModule:
    """No StructInfo tells a device."""
    new: IRModule = rxe.parse(re.sub(r', vdevice="[^"]*"', "", module.script()))
    return new


def without_hints(module: IRModule) -> IRModule:
    """Values stand where the results of `hint_on_device` are read."""

    def dropped(walk: Rewriter, binding: e.Binding) -> Answer:
        if binding.var is None or operator(binding.value) != "relax.hint_on_device":
            return binding
        walk.rename(binding.var, operands(binding.value)[0])
        return ()

    site = PassSite(module)
    for name, fn in module.relax_functions.items():
        site.function = name
        site.editor.replace(name, rewrite(fn, site, dropped))
    return site.editor.done()


def with_own_lengths(module: IRModule) -> IRModule:
    """Nested functions bind the lengths in their parameters anew, so that these are other ones than those around them."""

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        inner = binding.value
        if type(inner) is not e.Function:
            return binding
        infos = [param.struct_info for param in inner.params if param.struct_info is not None]
        own: dict[p.PrimVar, p.PrimExpr] = {
            dim: p.PrimVar(dim.name, dim.dtype) for info in infos for dim in all_dims(info)
        }
        return replace(binding, value=Substitution({}, own).function(inner))

    return annotated_anew(rewritten(module, lambda fn: rule))


def with_closures_of_objects(module: IRModule) -> IRModule:
    """The builtins that call a closure and make a view give objects."""
    text = re.sub(
        r"(\w+): .*? = (R\.call_builtin_with_ctx\(\"vm\.builtin\.invoke_closure\", .*, ty_args=)\(.*,\)\)",
        r"\1: R.Any = \2(R.Any,))",
        module.script(),
    )
    text = re.sub(
        r"(\w+): .*? = (R\.call_packed\(\"runtime\.TVMTensorCreateView\", .*?)(?:, ty_args=\(.*,\))?\)\n",
        r"\1: R.Any = \2)\n",
        text,
    )
    new: IRModule = rxe.parse(text)
    return new


def without_lengths_of_functions(module: IRModule) -> IRModule:
    """Nested functions promise only the rank of their results."""

    def promising(value: e.Expr) -> e.Expr:
        result = value.ret_struct_info if type(value) is e.Function else None
        if not isinstance(result, s.TensorStructInfo):
            return value
        return replace(
            value, ret_struct_info=s.TensorStructInfo(None, result.dtype, result.ndim), struct_info=None
        )

    return _each_value(module, promising)


def with_bare_casts_of_functions(module: IRModule) -> IRModule:
    """Casts to types of functions tell neither parameters nor results."""
    bare = s.FuncStructInfo(None, s.OBJECT)

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        if type(binding) is not e.MatchCast or not isinstance(binding.struct_info, s.FuncStructInfo):
            return binding
        var = binding.var and e.var_like(binding.var, bare)
        if binding.var is not None and var is not None:
            walk.rename(binding.var, var)
        return replace(binding, var=var, struct_info=bare, annotation=None)

    return without_return_annotations(annotated_anew(rewritten(module, lambda fn: rule)))


def with_names_for_symbols(module: IRModule) -> IRModule:
    """The `global_symbol` of each function is its name."""
    editor = ModuleEditor(module)
    for name, fn in module.functions.items():
        if isinstance(fn, (e.Function, PrimFunc)):
            editor.replace(name, replace(fn, attrs=fn.attrs.having(global_symbol=name)))
    return editor.done()


def with_closures_called_as_annotated(module: IRModule) -> IRModule:
    """Calls of closures promise what their variables are annotated with."""

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        call, info = binding.value, binding.var.struct_info if binding.var is not None else None
        if type(call) is not e.Call or call.op is not e.op_ref("relax.invoke_pure_closure") or info is None:
            return binding
        return replace(binding, value=replace(call, sinfo_args=(info,), struct_info=info))

    return rewritten(module, lambda fn: rule)


def with_names_of_regions(module: IRModule) -> IRModule:
    """Functions for code generators don't end with the name of theirs."""
    text = module.script()
    for name, fn in module.relax_functions.items():
        ending = f"_{fn.attrs.get('Codegen', '')}"
        short = name.removesuffix(ending)
        if ending != "_" and short not in module.functions:
            text = re.sub(rf"\b{name}\b", short, text)
    new: IRModule = rxe.parse(text)
    return new


def with_names_of_symbols(module: IRModule) -> IRModule:
    """Each public function is named by its `global_symbol`."""
    new: IRModule = rxe.apply_pass(module, "NormalizeGlobalVar")
    return new


def without_numbers_of_devices(module: IRModule) -> IRModule:
    """The texts of checks name devices without their numbers."""
    new: IRModule = rxe.parse(re.sub(r'(vdevice=\\"\w+):-?\d+', r"\1", module.script()))
    return new


def _each_value(module: IRModule, change: Callable[[e.Expr], e.Expr]) -> IRModule:
    """The module with another value for each binding."""

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        return replace(binding, value=change(binding.value))

    return rewritten(module, lambda fn: rule)


def with_folded_numbers(module: IRModule) -> IRModule:
    """Scalars among the operands are simplified."""

    def folded(expr: e.Expr) -> e.Expr:
        if type(expr) is not e.PrimValue:
            return map_operands(expr, folded) if type(expr) in (e.Call, e.Tuple) else expr
        value = simplify(expr.value)
        return (
            expr
            if value is expr.value
            else e.PrimValue(value, s.PrimStructInfo(value.dtype, value), expr.span)
        )

    return _each_value(module, folded)


class _Sums(Mutator):
    """Simplifies sums of integers, with the terms in the order of their texts."""

    def expr(self, expr: p.PrimExpr) -> p.PrimExpr:
        new = super().expr(expr)
        if not isinstance(new, p.Add) or new.dtype.kind != "int":
            return new
        return reduce(p.Add, sorted(_terms(simplify(new)), key=str))


def _terms(expr: p.PrimExpr) -> list[p.PrimExpr]:
    return [*_terms(expr.a), *_terms(expr.b)] if isinstance(expr, p.Add) else [expr]


def with_plain_extents(module: IRModule) -> IRModule:
    """Sums in kernels, such as extents of loops, have their terms in one order."""
    editor = ModuleEditor(module)
    for name, fn in module.functions.items():
        if isinstance(fn, PrimFunc):
            editor.replace(name, _Sums().function(fn))
    return editor.done()


def with_made_constants(module: IRModule) -> IRModule:
    """Constants that are bound, and views of constants, are results of operators."""

    def made(value: e.Expr) -> e.Expr:
        if type(value) is e.Call and any(
            type(leaf) is e.Constant for leaf in effects(module).of(value).shares
        ):
            info = value.struct_info
            if isinstance(info, s.TensorStructInfo) and info.dims and info.dtype:
                shape = e.ShapeExpr(info.dims, s.ShapeStructInfo(info.dims))
                return e.Call(
                    e.op_ref("relax.zeros"), (shape,), Attrs({"dtype": info.dtype}), struct_info=info
                )
        if type(value) is not e.Constant or value.data is None:
            return value
        name = "logical_not" if value.data.dtype.kind == "b" else "negative"
        return e.Call(e.op_ref(f"relax.{name}"), (value,), struct_info=value.struct_info)

    return _each_value(module, made)


def with_made_fields(module: IRModule) -> IRModule:
    """Fields of tuples are read by an operator, so that their variables have memory of their own."""

    def made(value: e.Expr) -> e.Expr:
        if type(value) is not e.TupleGetItem:
            return value
        return e.Call(e.op_ref("relax.negative"), (value,), struct_info=value.struct_info)

    new: IRModule = rxe.normalize(_each_value(module, made))
    return new


def with_direct_constants(module: IRModule) -> IRModule:
    """Constants stand where their variables are read, and there are no dataflow blocks."""

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        if type(binding.value) is not e.Constant or binding.var is None:
            return binding
        walk.rename(binding.var, binding.value)
        return ()

    site = PassSite(module)
    for name, fn in module.relax_functions.items():
        site.function = name
        site.editor.replace(name, rewrite(fn, site, rule))
    return without_blocks(rxe.normalize(site.editor.done()))


def with_sorted_lengths(module: IRModule) -> IRModule:
    """The last parameters of a private function that are one length each stand in the order in which it reads the lengths."""
    orders: dict[str, list[int]] = {}
    editor = ModuleEditor(module)
    for name, fn in module.relax_functions.items():
        order = _order(fn)
        if fn.is_private and order != sorted(order):
            orders[name] = order
            params = tuple([fn.params[number] for number in order])
            editor.replace(name, replace(fn, params=params, struct_info=None))
    if not orders:
        return module

    def permuted(value: e.Expr) -> e.Expr:
        if type(value) is not e.Call or not isinstance(value.op, e.GlobalVar) or value.op.name not in orders:
            return value
        return replace(value, args=tuple([value.args[number] for number in orders[value.op.name]]))

    return _each_value(editor.done(), permuted)


def _order(fn: e.Function) -> list[int]:
    """The numbers of the parameters in the new order."""
    read: dict[p.PrimExpr, int] = {}
    infos = [binding.value.struct_info for binding in bindings(fn)]
    for dim in [dim for info in (*infos, fn.ret_struct_info) if info is not None for dim in all_dims(info)]:
        read.setdefault(dim, len(read))

    def place(number: int) -> tuple[int, int]:
        info = fn.params[number].struct_info
        is_length = isinstance(info, s.ShapeStructInfo) and info.values is not None and len(info.values) == 1
        if not is_length:
            return (0, number)
        assert isinstance(info, s.ShapeStructInfo)
        assert info.values is not None
        return (1, read.get(info.values[0], len(read)))

    return sorted(range(len(fn.params)), key=place)


def with_sorted_shapes(module: IRModule) -> IRModule:
    """The lengths that a private function gets as its last parameter stand in the order in which it reads them."""
    orders: dict[str, list[int]] = {}
    editor = ModuleEditor(module)
    for name, fn in module.relax_functions.items():
        info = fn.params[-1].struct_info if fn.params else None
        if not fn.is_private or not isinstance(info, s.ShapeStructInfo) or info.values is None:
            continue
        infos = [*[param.struct_info for param in fn.params[:-1]], fn.ret_struct_info]
        read: list[p.PrimExpr] = list(
            dict.fromkeys(dim for one in infos if one is not None for dim in all_dims(one))
        )
        if not set(info.values) <= set(read):
            continue
        values = info.values
        orders[name] = sorted(range(len(values)), key=lambda number: read.index(values[number]))
        last = e.Var("lengths", s.ShapeStructInfo(tuple([values[number] for number in orders[name]])))
        editor.replace(name, replace(fn, params=(*fn.params[:-1], last), struct_info=None))
    if not orders:
        return module

    def permuted(value: e.Expr) -> e.Expr:
        if type(value) is not e.Call or not isinstance(value.op, e.GlobalVar) or value.op.name not in orders:
            return value
        *args, shape = value.args
        assert isinstance(shape, e.ShapeExpr)
        lengths = tuple([shape.values[number] for number in orders[value.op.name]])
        return replace(value, args=(*args, e.ShapeExpr(lengths, s.ShapeStructInfo(lengths))))

    return _each_value(editor.done(), permuted)


def with_opaque_closures(module: IRModule) -> IRModule:
    """Closures are objects, and each call of a variable is one that no pass knows."""

    def called(value: e.Expr) -> e.Expr:
        if type(value) is not e.Call:
            return value
        args: tuple[e.Expr, ...] = value.args
        if isinstance(value.op, e.Var):
            args = (value.op, e.Tuple(args))
        elif value.op is not e.op_ref("relax.invoke_pure_closure"):
            return value
        callee = e.ExternFunc("test.called")
        info = value.struct_info
        assert info is not None
        return e.Call(
            e.op_ref("relax.call_pure_packed"), (callee, *args), sinfo_args=(info,), struct_info=info
        )

    changed = _each_value(module, called)
    editor = ModuleEditor(changed)
    for name, fn in changed.relax_functions.items():
        if isinstance(fn.ret_struct_info, s.FuncStructInfo):
            editor.replace(name, replace(fn, ret_struct_info=s.OBJECT, struct_info=None))
    return annotated_anew(rxe.normalize(editor.done()))
