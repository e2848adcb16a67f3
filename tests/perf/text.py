"""Parsing, checking, printing, hashing and comparing of generated modules."""

from __future__ import annotations

from functools import partial

from tests.perf.benchmark import Benchmark, Work
from tests.perf.generate import branches, closures, dataflow_blocks, dimension, renamed, transformer


def _parse(bindings: int) -> tuple[str, Work]:
    import relax_explorer

    text = transformer(bindings)
    return text, lambda: relax_explorer.parse(text)


def _print(bindings: int) -> tuple[str, Work]:
    import relax_explorer

    text = transformer(bindings)
    # A module may cache its printed text, so every measured print gets a new module.
    fresh = iter([relax_explorer.parse(text) for _ in range(PRINTS + 1)])
    return text, lambda: next(fresh).script()


def _check(bindings: int) -> tuple[str, Work]:
    import relax_explorer

    text = transformer(bindings)
    module = relax_explorer.parse(text)
    return text, lambda: relax_explorer.check(module)


def _print_used(bindings: int) -> tuple[str, Work]:
    """Printing in a process that has worked on a larger module and still holds it."""
    import relax_explorer

    large = relax_explorer.normalize(relax_explorer.parse(transformer(20_000)))
    held = [large, relax_explorer.apply_pass(large, "ToNonDataflow"), large.script()]
    text, work = _print(bindings)
    return text, lambda: (work(), held)


def _well_formed(bindings: int) -> tuple[str, Work]:
    import relax_explorer

    text = transformer(bindings)
    module = relax_explorer.normalize(relax_explorer.parse(text))
    return text, lambda: relax_explorer.well_formed(module)


def _hash(bindings: int) -> tuple[str, Work]:
    import relax_explorer

    text = transformer(bindings)
    module = relax_explorer.normalize(relax_explorer.parse(text))
    return text, lambda: relax_explorer.structural_hash(module)


def _parse_and_check(text: str) -> tuple[str, Work]:
    import relax_explorer

    return text, lambda: relax_explorer.check(relax_explorer.parse(text))


def _dimension(terms: int) -> tuple[str, Work]:
    import relax_explorer

    text = dimension(terms)

    def work() -> object:
        module = relax_explorer.apply_pass(relax_explorer.parse(text), "LegalizeOps")
        return module.script(), relax_explorer.structural_hash(module)

    return text, work


def _diff(bindings: int) -> tuple[str, Work]:
    import relax_explorer
    from relax_explorer.core.session.align import diff_modules

    text = transformer(bindings)
    old, new = [relax_explorer.normalize(relax_explorer.parse(side)) for side in (text, renamed(text))]
    return text, lambda: diff_modules(old, new)


PRINTS = 5

TEXT = [
    Benchmark("parse-1000", partial(_parse, 1_000), tvm="parse", goal=15),
    Benchmark("parse-10000", partial(_parse, 10_000), tvm="parse", goal=40, repeat=3, tvm_repeat=1),
    # TVM would need minutes; ours should take ten times as long as parse-10000.
    Benchmark("parse-100000", partial(_parse, 100_000), repeat=1),
    # Inference from scratch, every rule, and unused values; TVM's checks stop at the first problem without its place.
    Benchmark("check-10000", partial(_check, 10_000), repeat=3),
    Benchmark("well-formed-10000", partial(_well_formed, 10_000), tvm="well_formed", goal=1),
    Benchmark("print-1000", partial(_print, 1_000), tvm="script", goal=3, repeat=PRINTS),
    Benchmark("print-used-1000", partial(_print_used, 1_000), tvm="script", goal=3, repeat=PRINTS),
    Benchmark("hash-10000", partial(_hash, 10_000), tvm="structural_hash", goal=1),
    Benchmark("diff-renamed-10000", partial(_diff, 10_000)),
    # Each row should take twice the time of the row before.
    *[
        Benchmark(f"blocks-{n}", partial(_parse_and_check, dataflow_blocks(n)), repeat=1)
        for n in (8_000, 16_000)
    ],
    *[Benchmark(f"branches-{n}", partial(_parse_and_check, branches(n)), repeat=1) for n in (4_000, 8_000)],
    *[Benchmark(f"closures-{n}", partial(_parse_and_check, closures(n)), repeat=1) for n in (4_000, 8_000)],
    Benchmark("dimension-2000", partial(_dimension, 2_000), repeat=1),
]
