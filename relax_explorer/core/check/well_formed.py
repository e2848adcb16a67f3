"""Well-formedness: scopes, single assignment, shape variables, dataflow blocks, globals."""

from __future__ import annotations

from collections.abc import Iterator

from relax_explorer.core.check import purity
from relax_explorer.core.check.compatible import defined_dims
from relax_explorer.core.codes import well_formed as codes
from relax_explorer.core.diagnostics import Code, Diagnostic, Label, Report
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.module import IRModule
from relax_explorer.core.ir.walk import info_vars, operands, sequences


def violations(module: IRModule) -> Iterator[Diagnostic]:
    """Every violation in a module, function by function."""
    for name, fn in module.functions.items():
        symbol = fn.attrs.get("global_symbol") if hasattr(fn, "attrs") else None
        if symbol is not None and symbol != name:
            text = f"function {name!r} has the global_symbol {symbol!r}"
            yield Diagnostic(codes.GLOBAL_SYMBOL, text, (Label(fn, "", True),), help=codes.GLOBAL_SYMBOL.fix)
        if type(fn) is e.Function:
            yield from _Scopes(module, fn).check()
            yield from purity.violations(fn)


class _Scopes:
    """Checks one function; `vars` and `dims` are what is in scope, kept as dictionaries so that leaving a scope is cheap."""

    def __init__(self, module: IRModule, fn: e.Function) -> None:
        self.module, self.fn = module, fn
        self.report = Report()
        self.vars: dict[e.Var, None] = {}
        self.dims: dict[p.PrimVar, None] = {}
        self.bound: set[e.Var] = set()

    def check(self) -> list[Diagnostic]:
        """The violations of the function."""
        self._function(self.fn)
        return self.report.items

    def _say(self, code: Code, text: str, place: object, label: str = "") -> None:
        self.report.say(code, text, place, label, help=code.fix)

    def _function(self, fn: e.Function) -> None:
        for param in fn.params:
            self._define(param, fn)
            self.dims.update(dict.fromkeys(defined_dims(param.struct_info or s.OBJECT)))
        for param in fn.params:
            self._info(param.struct_info, param)
        self._info(fn.ret_struct_info, fn)
        self._sequence(fn.body)

    def _define(self, var: e.Var, place: object) -> None:
        if var in self.bound:
            self._say(codes.BOUND_TWICE, f"{var.name!r} is bound a second time", place)
        self.bound.add(var)
        self.vars[var] = None

    def _info(self, info: s.StructInfo | None, place: object) -> None:
        if info is None:
            return
        for var in info_vars(info):
            if var not in self.dims:
                self._say(codes.UNBOUND_SHAPE_VAR, f"shape variable {var.name!r} has no value here", place)
        shape = info.shape if isinstance(info, s.TensorStructInfo) else None
        if isinstance(shape, e.Var):
            self._use(shape, place)

    def _sequence(self, seq: e.SeqExpr) -> None:
        for block in seq.blocks:
            inside = type(block) is e.DataflowBlock
            for binding in block.bindings:
                self._binding(binding, inside)
            if inside:
                for binding in block.bindings:
                    if type(binding.var) is e.DataflowVar:
                        self.vars.pop(binding.var, None)
        self._expr(seq.body, self.fn if seq.body.span is None else seq.body)

    def _binding(self, binding: e.Binding, inside: bool) -> None:
        value = binding.value
        if type(value) is e.Function and binding.var is not None:
            self._define(binding.var, binding)
            self._nested(value)
            return
        self._expr(value, binding)
        if type(value) is e.If:
            if inside:
                self._say(codes.IF_IN_DATAFLOW, "an If stands in a dataflow block", binding)
            self._branches(value)
        if type(binding) is e.MatchCast:
            self.dims.update(dict.fromkeys(defined_dims(binding.struct_info)))
            self._info(binding.struct_info, binding)
        if binding.var is not None:
            if type(binding.var) is e.DataflowVar and not inside:
                self._say(
                    codes.DATAFLOW_VAR_PLACE,
                    f"{binding.var.name!r} is bound outside a dataflow block",
                    binding,
                )
            self._define(binding.var, binding)
            self._info(binding.var.struct_info, binding)

    def _branches(self, value: e.If) -> None:
        info = value.condition.struct_info
        tensor = isinstance(info, s.TensorStructInfo) and (
            info.ndim not in (0, -1) or (info.dtype is not None and not info.dtype.is_bool)
        )
        if tensor or (
            info is not None
            and not isinstance(info, (s.TensorStructInfo, s.PrimStructInfo, s.ObjectStructInfo))
        ):
            self._say(codes.BAD_CONDITION, f"the condition is {info}", value)
        for seq in sequences(value):
            saved, dims = dict(self.vars), dict(self.dims)
            self._sequence(seq)
            self.vars, self.dims = saved, dims

    def _nested(self, fn: e.Function) -> None:
        saved, dims, outer = dict(self.vars), dict(self.dims), self.fn
        self.fn = fn
        self._function(fn)
        self.vars, self.dims, self.fn = saved, dims, outer

    def _use(self, var: e.Var, place: object) -> None:
        if var in self.vars:
            return
        if type(var) is e.DataflowVar:
            self._say(codes.UNBOUND_DATAFLOW_VAR, f"{var.name!r} is used outside its dataflow block", place)
        else:
            self._say(codes.UNBOUND_VAR, f"{var.name!r} is not bound here", place)

    def _expr(self, expr: e.Expr, place: object) -> None:
        stack = [expr]
        while stack:
            item = stack.pop()
            kind = type(item)
            if kind is e.Var or kind is e.DataflowVar:
                self._use(item, place)  # type: ignore[arg-type]  # a Var, as `kind` says
            elif kind is e.GlobalVar and item.name not in self.module.functions:  # type: ignore[attr-defined]
                self._say(
                    codes.UNDEFINED_GLOBAL,
                    f"the module has no function {item.name!r}",  # type: ignore[attr-defined]  # narrowed by type() above
                    item if item.span else place,
                )
            elif kind is e.ShapeExpr or kind is e.PrimValue:
                values = item.values if kind is e.ShapeExpr else (item.value,)  # type: ignore[attr-defined]
                for var in p.free_vars(*values):
                    if var not in self.dims:
                        self._say(
                            codes.UNBOUND_SHAPE_VAR, f"shape variable {var.name!r} has no value here", place
                        )
            stack.extend(operands(item))
