"""Functions for scripts and notebooks that join several rooms: inputs of a function, bindings, matches of a pattern, a difference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from relax_explorer.core.check.normalize import normal_form_of, normalize_with
from relax_explorer.core.expected import expect
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import walk
from relax_explorer.core.patterns.matches import Occurrence, module_occurrences
from relax_explorer.core.patterns.pattern_text import read_pattern
from relax_explorer.core.program.equal import structural_equal
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.align import ModuleDiff, diff_modules
from relax_explorer.core.session.samples import function_of, samples_of


def inputs(
    module: IRModule,
    function: str = "main",
    n: int = 1,
    sources: Mapping[str, str] | None = None,
    shape: Mapping[str, int] | None = None,
) -> list[list[Any]]:
    """Values for the parameters of a function, `n` times: each list can be the arguments of `run`.

    Values are random numbers, the same each time. `sources` maps names of parameters to `zeros`, `ones`, `randn:7` or a file with
    values, and `*` all others to a file. `shape` has lengths for shape variables; others are first different primes, then 1, then 0.
    Raises Failure for an unknown function or parameter, or a file that does not fit.

    >>> x, w, b = rxe.inputs(module)[0]
    >>> x.shape
    (2, 3)
    """
    expect(module, IRModule, "inputs takes a module")
    fn = function_of(module, function)
    return [sample.values(fn) for sample in samples_of(module, function, n, sources, shape)]


def bindings(source: IRModule | e.Function, function: str = "") -> list[e.Binding]:
    """The bindings of a function, or those of a module in normal form: of the function with this name, or of all, in text order.

    Those in branches and nested functions stand behind the binding that holds them. Raises Failure for an unknown function.

    >>> for binding in rxe.bindings(module, "main"):
    ...     print(binding)
    product: R.Tensor((2, 4), dtype="float32") = R.matmul(x, w, out_dtype=None)
    shifted: R.Tensor((2, 4), dtype="float32") = R.add(product, b)
    result: R.Tensor((2, 4), dtype="float32") = R.nn.relu(shifted)
    """
    expect(source, (IRModule, e.Function), "bindings takes a module or a function")
    if isinstance(source, e.Function):
        return list(walk.bindings(source))
    normal = normalize_with(source)[0]
    functions = [function_of(normal, function)] if function else normal.relax_functions.values()
    return [binding for fn in functions for binding in walk.bindings(fn)]


def find(module: IRModule, pattern: str, function: str = "") -> list[Occurrence]:
    """What a dataflow pattern matches in the normal form of the function with this name, or of all, in text order.

    Raises Failure for a pattern that can't be read.

    >>> rxe.find(module, "add(matmul(_, _), _)")[0].binding
    <VarBinding shifted: R.Tensor((2, 4), dtype="float32") = R.add(product, b)>
    """
    expect(module, IRModule, "find takes a module")
    expect(pattern, str, "the pattern of find is a text", "`matmul(_, permute_dims(_))` is one")
    wanted = read_pattern(pattern)
    if function:
        function_of(module, function)
    return [one for name, one in module_occurrences(normal_form_of(module), wanted) if function in ("", name)]


def diff(a: IRModule, b: IRModule) -> ModuleDiff:
    """What differs between two programs in normal form; nothing if they have the same structure.

    >>> rxe.diff(module, rxe.apply_pass(module, "LegalizeOps"))
    <ModuleDiff ...>
    """
    for side in (a, b):
        expect(side, IRModule, "diff takes two modules")
    left, right = normalize_with(a)[0], normalize_with(b)[0]
    return diff_modules(left, left if structural_equal(left, right) else right)
