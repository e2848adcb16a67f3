"""Runs a function of a module from its arguments to its result: `relax_explorer.run`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from relax_explorer.core.check.normalize import normal_form_of
from relax_explorer.core.exec.function_values import returned
from relax_explorer.core.exec.kernels import LLVM
from relax_explorer.core.exec.machine import Machine
from relax_explorer.core.exec.values import Value, to_python
from relax_explorer.core.program.module import IRModule


def run(
    module: IRModule,
    function: str = "main",
    args: Sequence[Value] = (),
    cache: Path | None = None,
    check_annotations: bool = False,
    private: bool = False,
    engine: str = LLVM,
    fused: bool = True,
) -> Value:
    """The result of calling `function` with numpy arrays, tuples (shapes, tuples) and numbers.

    Lists and numbers of Python take the dtype of their parameter: integers and bool must have the number (2.0 is 2, 1.5 is
    refused), floats round to the next one. Returns a numpy array, a tuple, a tuple of int for a shape, or a function that can
    be called. Raises Failure if the program is invalid or traps. `cache` is a directory for compiled kernels.
    `check_annotations` checks every value against the annotation of its binding. Private functions are refused, unless
    `private` is True. `engine` compiles PrimFuncs: `llvm`, `numba`, or `reference` (they run statement by statement instead). Neighbouring
    bindings run together, unless `fused` is False.
    """
    machine = Machine(
        normal_form_of(module),
        function,
        args,
        cache=cache,
        check_annotations=check_annotations,
        private=private,
        engine=engine,
        fused=fused,
    )
    return to_python(returned(machine, function, machine.run()))
