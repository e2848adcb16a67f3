"""Laying out graphs of generated modules: as SVG with Graphviz and with our own engine, and in terminal cells."""

from __future__ import annotations

from functools import partial
from typing import Literal

from tests.perf.benchmark import Benchmark, Work
from tests.perf.generate import transformer

Layers = Literal["once", "each"]


def _svg(bindings: int, weights: str, layers: Layers) -> tuple[str, Work]:
    import relax_explorer
    from relax_explorer.viz.ir_graph import graph

    text = transformer(bindings)
    module = relax_explorer.normalize(relax_explorer.parse(text))
    return text, lambda: graph(module, weights=weights, layers=layers).draw("svg")


def _cells(bindings: int, layers: Layers) -> tuple[str, Work]:
    import relax_explorer
    from relax_explorer.viz.cells import cell_picture
    from relax_explorer.viz.ir_graph import graph

    text = transformer(bindings)
    module = relax_explorer.normalize(relax_explorer.parse(text))
    return text, lambda: cell_picture(graph(module, layers=layers))


GRAPHS: list[Benchmark] = [
    Benchmark("svg 500", partial(_svg, 500, "auto", "each"), repeat=3),
    Benchmark("svg 500, weights", partial(_svg, 500, "nodes", "each"), repeat=3),
    Benchmark("svg 2000", partial(_svg, 2_000, "auto", "each"), repeat=3),
    Benchmark("svg 2000, layers once", partial(_svg, 2_000, "auto", "once"), repeat=3),
    Benchmark("cells 2000", partial(_cells, 2_000, "each"), repeat=3),
    Benchmark("cells 10000, layers once", partial(_cells, 10_000, "once"), repeat=3),
]
