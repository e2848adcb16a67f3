"""Long modules for TVM, built without its parser, which needs hours for 100,000 bindings. Only the oracle's process imports this."""

from __future__ import annotations

from typing import Any

from tvm import relax


def repeated(module: Any, times: int) -> Any:
    """The module with the one dataflow block of `main` so many times in a row, each on the output of the one before."""
    main = module["main"]
    (block,) = main.body.blocks
    first, rest = main.params[0], list(main.params)[1:]
    old = first
    builder = relax.BlockBuilder()
    globals_ = {
        ref.name_hint: builder.add_func(function, ref.name_hint)
        for ref, function in module.functions_items()
        if ref.name_hint != "main"
    }
    with builder.function("main", [first, *rest]):
        with builder.dataflow():
            for _ in range(times):
                new: dict[Any, Any] = {first: old}
                for binding in block.bindings:
                    old = builder.emit(_substituted(binding.value, new, globals_))
                    new[binding.var] = old
            old = builder.emit_output(old)
        builder.emit_func_output(old)
    return builder.finalize()


def _substituted(value: Any, new: dict[Any, Any], globals_: dict[str, Any]) -> Any:
    """A value with variables replaced, as far as the generated modules go."""
    if isinstance(value, relax.Var):
        return new.get(value, value)
    if isinstance(value, relax.GlobalVar):
        return globals_[value.name_hint]
    if isinstance(value, relax.Tuple):
        return relax.Tuple([_substituted(field, new, globals_) for field in value.fields])
    if isinstance(value, relax.TupleGetItem):
        return relax.TupleGetItem(_substituted(value.tuple_value, new, globals_), value.index)
    if isinstance(value, relax.Call):
        args = [_substituted(arg, new, globals_) for arg in value.args]
        return relax.Call(value.op, args, value.attrs, value.ty_args)
    return value
