"""An example for each pass: a program before and after it. `examples.md` has the programs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from relax_explorer.core.passes.contract import Pass
from relax_explorer.core.passes.pipeline import Step, normalized, run_step, steps
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.syntax.parser import parse
from relax_explorer.core.tir.stmt import PrimFunc

_CASE = re.compile(r"^## ([^\n]+)\n\n```relax\n(.*?)```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Example:
    """A program and a step that changes it. The passes `ahead` bring the program into the form that the step needs."""

    text: str
    step: Step
    ahead: tuple[Step, ...] = ()

    @property
    def before(self) -> IRModule:
        """The module that the step is given."""
        module = parse(self.text)
        if self.step.of.name == "Normalize":
            return module
        module = normalized(module)[0]
        for step in self.ahead:
            module = run_step(step, module).module
        return module

    def after(self, before: IRModule) -> IRModule:
        """The result of the step."""
        return run_step(self.step, before).module


def example(of: Pass) -> Example | None:
    """The example of a pass: its own one, or that of `examples.md`."""
    if of.example:
        return Example(of.example, Step(of))
    for heading, text in _cases():
        if of.name in heading:
            *ahead, step = steps(heading)
            if step.of.name == of.name:
                return Example(text, step, tuple(ahead))
    return None


@cache
def _cases() -> tuple[tuple[str, str], ...]:
    """The pipelines and programs of the file."""
    text = files(__package__).joinpath("examples.md").read_text(encoding="utf-8")
    return tuple([(found[1], found[2]) for found in _CASE.finditer(text)])


def changed_text(module: IRModule, other: IRModule) -> str:
    """The functions of a module that `other` has not, or all Relax functions, as text. Bodies of PrimFuncs are cut."""
    new = {name: fn for name, fn in module.functions.items() if other.functions.get(name) is not fn}
    new = new or {**module.relax_functions}
    return "\n".join(_cut(module.having(new).script(), {n for n, fn in new.items() if type(fn) is PrimFunc}))


def _cut(text: str, kernels: set[str]) -> Iterator[str]:
    """The lines of a printed module without imports, metadata and bodies of kernels."""
    lines = text[text.index("@I.ir_module") :].rstrip().splitlines()[2:]
    is_cut = False
    for line in lines:
        line = line.removeprefix("    ")
        if is_cut and line and not line.startswith(" "):
            yield "    ...\n"
            is_cut = False
        if not is_cut or line.startswith("    T.func_attr("):
            yield line
        name = re.match(r"def (\w+)\(", line)
        if name is not None and name[1] in kernels:
            is_cut = True
    if is_cut:
        yield "    ..."
