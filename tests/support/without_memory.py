"""Programs without what rows of `differences.md` say of memory: kills, and constants that are overwritten."""

from __future__ import annotations

from collections.abc import Callable

from relax_explorer.core.check.aliases import aliases
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import sequences
from relax_explorer.core.passes.liveness import KILLS
from relax_explorer.core.passes.properties import PURITY_ERASED
from relax_explorer.core.passes.rewrite import Answer, Rewriter
from relax_explorer.core.program.module import IRModule
from tests.support.without_subjects import rewritten, unknown

KILL_OPS = frozenset(map(e.op_ref, KILLS))


def without_written_constants(module: IRModule) -> IRModule:
    """Constants whose memory may be written, also as fields of a tuple, are results of unknown calls."""

    def rule(fn: e.Function) -> Callable[[Rewriter, e.Binding], Answer]:
        name = next(name for name, other in module.functions.items() if other is fn)
        memory, is_erased = aliases(module, name, fn), PURITY_ERASED.holds(module)

        def opaque(walk: Rewriter, binding: e.Binding) -> Answer:
            value = binding.value
            if binding.var is None or not memory.written(binding.var):
                return binding
            if type(value) is e.Constant:
                return unknown(binding, (), is_erased)
            if type(value) is not e.Tuple or e.Constant not in map(type, value.fields):
                return binding
            made = {
                field: unknown(e.VarBinding(e.Var("made", field.struct_info), field), (), is_erased)
                for field in value.fields
                if type(field) is e.Constant
            }
            fields = tuple([made[field].var if field in made else field for field in value.fields])
            return (*made.values(), replace(binding, value=replace(value, fields=fields)))

        return opaque

    return rewritten(module, rule)


def without_late_kills(module: IRModule) -> IRModule:
    """Nothing is killed behind an If or a nested function of the same sequence."""

    def rule(fn: e.Function) -> Callable[[Rewriter, e.Binding], Answer]:
        late, todo = set[e.Binding](), [fn.body]
        while todo:
            is_behind = False
            for binding in (binding for block in todo.pop().blocks for binding in block.bindings):
                call, inner = binding.value, sequences(binding.value)
                if is_behind and isinstance(call, e.Call) and call.op in KILL_OPS:
                    late.add(binding)
                is_behind = is_behind or bool(inner)
                todo.extend(inner)
        return lambda walk, binding: () if binding in late else binding

    return rewritten(module, rule)


def without_kills(module: IRModule) -> IRModule:
    """Nothing is killed."""

    def kept(walk: Rewriter, binding: e.Binding) -> Answer:
        return () if type(binding.value) is e.Call and binding.value.op in KILL_OPS else binding

    return rewritten(module, lambda fn: kept)
