"""Inference, inference again after an edit, and lowering of generated transformer modules."""

from __future__ import annotations

import re
from functools import partial

from tests.perf.benchmark import Benchmark, Work
from tests.perf.generate import transformer

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
    main = old["main"]
    (block,) = main.body.blocks
    place = next(n for n, binding in enumerate(block.bindings) if type(binding.value.op) is e.OpRef)
    edited = block.bindings[place]
    value = e.Call(e.op_ref("relax.matmul"), edited.value.args, edited.value.attrs)
    made = (*block.bindings[:place], replace(edited, value=value), *block.bindings[place + 1 :])
    body = replace(main.body, blocks=(replace(block, bindings=made),))
    new = old.having({**old.functions, "main": replace(main, body=body)})
    return text, lambda: relax_explorer.normalize(new, old)


def _legalize(bindings: int) -> tuple[str, Work]:
    import relax_explorer
    from relax_explorer.core.ops.kit import legalize

    text = transformer(bindings)
    module = relax_explorer.normalize(relax_explorer.parse(text))

    def work() -> object:
        legalize._TEMPLATES.clear()  # TVM keeps no templates either
        return relax_explorer.apply_pass(module, "LegalizeOps")

    return text, work


PASSES = [
    # Milliseconds for a thousand bindings are microseconds for each; at most 20 are wanted.
    Benchmark("infer-1000", partial(_infer, 1_000)),
    Benchmark("infer-10000", partial(_infer, 10_000), repeat=3),
    Benchmark("edit-10000", partial(_edit, 10_000)),
    Benchmark("legalize-1000", partial(_legalize, 1_000), tvm="LegalizeOps", goal=5),
]
