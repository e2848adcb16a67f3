"""BundleModelParams: pass the parameters of a model as one tuple."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Annotated

from relax_explorer.core.build.block_builder import BlockBuilder
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import exprs, map_operands, operands, sequences
from relax_explorer.core.passes.contract import ALWAYS, Kept, PassSite, module_pass
from relax_explorer.core.phases.module_properties import CANONICAL_BINDINGS, NORMAL_FORM
from relax_explorer.core.program.module import IRModule


@module_pass(
    "BundleModelParams",
    requires=[NORMAL_FORM],
    invalidates=[CANONICAL_BINDINGS],
    changes={Kept.SIGNATURES: ALWAYS},
)
def bundle_model_params(
    module: IRModule,
    at: PassSite,
    *,
    param_tuple_name: Annotated[str, "the name of the new parameter"] = "model_params",
) -> IRModule:
    """Replace the parameters after the first `num_input` ones, an attribute of the function, by one tuple.

    `f(x, w, b)` with `num_input = 1` becomes `f(x, model_params)`. Each use of `w` reads `model_params[0]` in front of it, as in
    TVM. A function that the module itself calls stays.
    """
    called = {x.name for fn in module.relax_functions.values() for x in exprs(fn) if type(x) is e.GlobalVar}
    for name, fn in module.relax_functions.items():
        count = fn.attrs.get("num_input")
        if isinstance(count, int) and name not in called:
            at.editor.replace(name, _bundled(fn, count, param_tuple_name, at))
    return at.editor.done()


def _bundled(fn: e.Function, count: int, name: str, at: PassSite) -> e.Function:
    """The function with a tuple of all parameters from number `count` on."""
    inputs, weights = fn.params[:count], fn.params[count:]
    build = BlockBuilder(at.editor, within=fn, record=at.record)
    bundle = e.Var(
        build.names(name), s.TupleStructInfo(tuple([w.struct_info or s.OBJECT for w in weights])), fn.span
    )
    body = _Reader(bundle, weights, build, at).sequence(fn.body)
    return replace(fn, params=(*inputs, bundle), body=body, struct_info=None)


class _Reader:
    """Reads a field of the bundle in front of each use of a weight."""

    def __init__(self, bundle: e.Var, weights: tuple[e.Var, ...], build: BlockBuilder, at: PassSite) -> None:
        self.bundle, self.build, self.at = bundle, build, at
        self.fields: dict[e.Expr, int] = {weight: number for number, weight in enumerate(weights)}

    def sequence(self, seq: e.SeqExpr) -> e.SeqExpr:
        """A sequence, its result included."""
        with self.build.apart():
            for block in seq.blocks:
                self.build.start_block(block)
                for binding in block.bindings:
                    self._binding(binding)
            self.build.start_block(e.BindingBlock(()))
            result = self._operand(seq.body)
            return replace(seq, blocks=tuple(self.build.blocks()), body=result)

    def _binding(self, binding: e.Binding) -> None:
        """Emit a binding after the fields that it reads."""
        value = binding.value
        if type(value) is e.Function:
            new = replace(binding, value=replace(value, body=self.sequence(value.body)))
        elif type(value) is e.If:
            true, false = (self.sequence(branch) for branch in sequences(value))
            condition = self._operand(value.condition)
            new = replace(
                binding, value=replace(value, condition=condition, true_branch=true, false_branch=false)
            )
        else:
            with self.build.inherit(binding) if self._reads(value) else nullcontext():
                new = replace(binding, value=self._operand(value))
                self.build.keep(new)
            return
        if new is not binding:
            self.at.record(binding, new)
        self.build.keep(new)

    def _reads(self, expr: e.Expr) -> bool:
        return expr in self.fields or any(map(self._reads, operands(expr)))

    def _operand(self, expr: e.Expr) -> e.Expr:
        number = self.fields.get(expr)
        if number is None:
            return map_operands(expr, self._operand)
        assert isinstance(expr, e.Var)  # a weight
        return self.build.emit(e.TupleGetItem(self.bundle, number), expr.name)
