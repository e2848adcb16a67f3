"""Inference, inference after an edit, and lowering of generated transformer modules."""

from __future__ import annotations

import re
from functools import partial

from tests.perf.benchmark import Benchmark, Work
from tests.perf.generate import transformer
from tests.support.copies import with_new_body

_ANNOTATION = re.compile(r"^(            \w+): .*? = ", re.MULTILINE)


def _infer(bindings: int) -> tuple[str, Work]:
    import relax_explorer

    text = _ANNOTATION.sub(r"\1 = ", transformer(bindings))
    module = relax_explorer.parse(text)
    return text, lambda: relax_explorer.normalize(module)


def _edit(bindings: int) -> tuple[str, Work]:
    import relax_explorer
    from relax_explorer.core.ir import expr as e
    from relax_explorer.core.ir.node import replace

    text = transformer(bindings)
    old = relax_explorer.normalize(relax_explorer.parse(text))
    main = old.relax_functions["main"]
    (block,) = main.body.blocks
    calls = [(n, one.value) for n, one in enumerate(block.bindings) if type(one.value) is e.Call]
    place, call = next((n, call) for n, call in calls if type(call.op) is e.OpRef)
    value = e.Call(e.op_ref("relax.matmul"), call.args, call.attrs)
    edited = replace(block.bindings[place], value=value)
    made = (*block.bindings[:place], edited, *block.bindings[place + 1 :])
    body = replace(main.body, blocks=(replace(block, bindings=made),))
    new = old.having({**old.functions, "main": replace(main, body=body)})
    return text, lambda: relax_explorer.normalize(new, old)


def _legalize(bindings: int) -> tuple[str, Work]:
    import relax_explorer
    from relax_explorer.core.ops.kit import legalize

    text = transformer(bindings)
    module = relax_explorer.normalize(relax_explorer.parse(text))

    def work() -> object:
        legalize._TEMPLATES.clear()  # TVM caches no templates either
        return relax_explorer.apply_pass(module, "LegalizeOps")

    return text, work


def _pass(name: str, bindings: int, before: str = "") -> tuple[str, Work]:
    """A pass over a module in normal form; TVM's pass works on the text that `before` leaves."""
    import relax_explorer

    text = transformer(bindings)
    module = relax_explorer.normalize(relax_explorer.parse(text))
    if before:
        module = relax_explorer.apply_pass(module, before)
        text = module.script()
    return text, lambda: relax_explorer.apply_pass(module, name)


def _pipeline(name: str, bindings: int, before: str = "") -> tuple[str, Work]:
    """A pipeline without checks between its passes; TVM's works on the text that pipeline `before` leaves."""
    import relax_explorer

    text = transformer(bindings)
    module = relax_explorer.normalize(relax_explorer.parse(text))
    if before:
        module = relax_explorer.run_pipeline(module, before, verify=False)
        text = module.script()
    return text, lambda: relax_explorer.run_pipeline(module, name, verify=False)


def _dead_code() -> tuple[str, Work]:
    """Dead code among 100,000 bindings. TVM gets four layers, 137 bindings, and repeats them: its parser would need hours."""
    _, work = _pass("DeadCodeElimination", 100_000)
    return transformer(137), work


def _normal(bindings: int, fresh: bool) -> tuple[str, Work]:
    import relax_explorer

    text = transformer(bindings)
    module = relax_explorer.normalize(relax_explorer.parse(text))
    # Facts are cached with their module, so every measured round gets a new module.
    # Functions cache facts, too: `fresh` copies them, so that every round visits all bindings.

    def work() -> object:
        functions = {name: with_new_body(fn) if fresh else fn for name, fn in module.functions.items()}
        return relax_explorer.normalize(relax_explorer.IRModule(functions))

    return text, work


PASSES = [
    # Milliseconds for a thousand bindings are microseconds per binding; the goal is at most 20.
    Benchmark("infer-1000", partial(_infer, 1_000)),
    Benchmark("infer-10000", partial(_infer, 10_000), repeat=3),
    Benchmark("edit-10000", partial(_edit, 10_000)),
    Benchmark("legalize-1000", partial(_legalize, 1_000), tvm="LegalizeOps", goal=12),
    Benchmark("normal-10000", partial(_normal, 10_000, True), tvm="Normalize", goal=1),
    Benchmark("normal-again-10000", partial(_normal, 10_000, False), tvm="Normalize", goal=1),
    Benchmark("non-dataflow-10000", partial(_pass, "ToNonDataflow", 10_000), tvm="ToNonDataflow", goal=1),
    Benchmark(
        "to-dataflow-10000",
        partial(_pass, "ConvertToDataflow", 10_000, "ToNonDataflow"),
        tvm="ConvertToDataflow",
        goal=1,
    ),
    # Passes that are no lowering may take five times as long as TVM's C++.
    Benchmark(
        "canonical-10000",
        partial(_pass, "CanonicalizeBindings", 10_000),
        tvm="CanonicalizeBindings",
        goal=0.2,
    ),
    Benchmark(
        "common-10000",
        partial(_pass, "EliminateCommonSubexpr", 10_000),
        tvm="EliminateCommonSubexpr",
        goal=0.2,
    ),
    Benchmark("fold-1000", partial(_pass, "FoldConstant", 1_000), tvm="FoldConstant", goal=5),
    Benchmark("zero-1000", partial(_pipeline, "zero", 1_000), tvm="pipeline:zero", goal=0.2),
    Benchmark(
        "default-build-1000",
        partial(_pipeline, "default_build", 1_000, "zero"),
        tvm="pipeline:default_build",
        goal=0.2,
    ),
    Benchmark("dead-code-10000", partial(_pass, "DeadCodeElimination", 10_000), tvm="DeadCodeElimination"),
    Benchmark(
        "dead-code-100000", _dead_code, tvm="DeadCodeElimination", goal=50, repeat=3, tvm_repeat=1, rounds=730
    ),
]
