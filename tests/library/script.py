# ruff: noqa: T201
"""A script as users write it: type checkers know all of it, and it runs."""

from collections import Counter

import numpy as np

import relax_explorer as rxe

TEXT = """
@R.function
def main(x: R.Tensor(("n", 3), "float32"), w: R.Tensor((3, 4), "float32")):
    with R.dataflow():
        h = R.matmul(x, w)
        y = R.nn.relu(h)
        R.output(y)
    return y
"""


def operators(module: rxe.IRModule) -> Counter[str]:
    """How often each operator is called."""
    found: Counter[str] = Counter()
    for binding in rxe.bindings(module):
        found[str(binding).partition(" = ")[2].partition("(")[0]] += 1
    return found


def lowered(module: rxe.IRModule, passes: str) -> rxe.IRModule:
    """A module after passes."""
    problems: list[rxe.Diagnostic] = [problem for problem in rxe.check(module) if problem.is_error]
    for problem in problems:
        print(problem.code.id, problem.message, problem.span)
    return rxe.run_pipeline(module, passes)


def first_wrong(module: rxe.IRModule, passes: str) -> str:
    """The pass that made a result wrong; empty if none did."""
    session = rxe.Session(module, passes)
    session.run_all()
    found: rxe.Bisection = rxe.bisect(session)
    return "" if found.failed is None else found.failed.made_by


def steps(module: rxe.IRModule, values: list[np.ndarray]) -> list[str]:
    """The names that a run binds, in order."""
    debugger: rxe.Debugger = rxe.debug(module, "main", values)
    names = []
    while not debugger.done:
        event = debugger.step()
        if event.binding is not None and event.binding.var is not None:
            names.append(event.binding.var.name)
    return names


def main() -> None:
    """Everything, once."""
    module = rxe.normalize(rxe.parse(TEXT))
    new = lowered(module, "LegalizeOps,FuseOps,FuseTIR")
    values = rxe.inputs(module, shape={"n": 2})[0]
    result = rxe.run(module, "main", values)
    np.testing.assert_allclose(result, np.maximum(values[0] @ values[1], 0), rtol=1e-5)
    comparison: rxe.Comparison = rxe.compare(module, new)
    matches = [one.binding.var.name for one in rxe.find(module, "nn.relu(matmul(_, _))")]
    function = module["main"]
    is_relax = isinstance(function, rxe.Function)
    print(
        operators(module),
        comparison.equal,
        first_wrong(module, "LegalizeOps"),
        steps(module, values),
        matches,
        is_relax,
    )
    print(rxe.diff(module, new), "<svg" in rxe.graph(module).svg(), len(rxe.html(module)) > 0)


if __name__ == "__main__":
    main()
