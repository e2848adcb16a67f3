"""Prints executables of TVM's virtual machine."""

from __future__ import annotations

from collections.abc import Iterator

import click

from relax_explorer.core.syntax.executable import Executable, VMFunction
from relax_explorer.ui.cli import output


def show(executable: Executable, func: str | None, format: str) -> int:
    """Print the instructions of an executable, or of one of its functions."""
    functions = executable.functions
    if func is not None and func not in functions:
        raise click.UsageError(f"the executable has no function {func!r}; it has {', '.join(functions)}")
    chosen = [function for name, function in functions.items() if func in (None, name)]
    if format == "json":
        output.write(output.document("executable", {"functions": [_data(function) for function in chosen]}))
    else:
        output.write("\n\n".join(["\n".join(_lines(function)) for function in chosen]))
    return output.OK


def _lines(function: VMFunction) -> Iterator[str]:
    count, registers = len(function.instructions), function.registers
    inputs = "" if function.inputs is None else f", inputs: {function.inputs}"
    yield f"{function.name}  (instructions: {count}, registers: {registers}{inputs})"
    width = len(str(count - 1))
    for number, item in enumerate(function.instructions):
        yield f"  {number:>{width}}  {item}"


def _data(function: VMFunction) -> dict[str, object]:
    instructions = [
        {
            "kind": item.kind,
            "callee": item.callee or None,
            "args": list(map(str, item.args)),
            "dst": None if item.dst is None else str(item.dst),
            "target": item.target if item.kind in ("if", "goto") else None,
        }
        for item in function.instructions
    ]
    return {
        "name": function.name,
        "inputs": function.inputs,
        "registers": function.registers,
        "instructions": instructions,
    }
