"""One stage of a session: the module after a pass, with its problems and derived views."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from relax_explorer.core.diagnostics import Diagnostic
from relax_explorer.core.ir import expr as e
from relax_explorer.core.passes.record import Record, Rewrite
from relax_explorer.core.phases.phases import phase
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.shown import Shown
from relax_explorer.core.syntax.doc import Line, Printed, placed
from relax_explorer.core.syntax.printer import printed_module


@dataclass(eq=False)
class Snapshot(Shown):
    """Stage `number`: its pass (`input` for the first), changes, problems and seconds."""

    number: int
    made_by: str
    module: IRModule
    changed: bool = True
    problems: tuple[Diagnostic, ...] = ()
    record: Record = field(default_factory=Record)
    seconds: float = 0.0
    text: str = ""  # of a recorded stage that can't be read; its module is empty
    recorded_as: int | None = None  # the number that the build gave to a recorded stage
    run_by: str = ""  # what ran the pass of a recorded stage
    as_read: IRModule | None = None  # what a recorded stage was read as, before it was normalized

    def __repr__(self) -> str:
        return f"<stage {self.label} {self.made_by}>"

    @property
    def rewrites(self) -> tuple[Rewrite, ...]:
        """The changes that the pass recorded. They are listed anew at each request, since few are ever asked for."""
        return self.record.rewrites()

    @cached_property
    def printed(self) -> Printed:
        """The printed module, with the IR node of each line. Constant data is omitted."""
        if self.text:
            return Printed([Line(line) for line in self.text.split("\n")])
        return printed_module(self.module, metadata=False)

    @cached_property
    def printed_short(self) -> Printed:
        """Like `printed`, without the StructInfo of bindings, for views that show it elsewhere."""
        if self.text:
            return self.printed
        return printed_module(self.module, metadata=False, annotate=False)

    @cached_property
    def located(self) -> tuple[Diagnostic, ...]:
        """The problems. Generated nodes get places in the text of this stage."""
        if (
            self.text or not self.problems
        ):  # to print a module only for this would take as long as to check it
            return self.problems
        return placed(self.problems, self.printed, f"stage {self.label} {self.made_by}")

    @cached_property
    def phase(self) -> str:
        """The name of the phase of the module."""
        return phase(self.module)

    @property
    def derived_phase(self) -> str:
        """The phase if it was derived already, else an empty text: it visits each binding."""
        return str(vars(self).get("phase", ""))

    @property
    def label(self) -> int:
        """The number that users see: that of the build, which may skip some, else `number`."""
        return self.number if self.recorded_as is None else self.recorded_as

    @property
    def entry(self) -> str:
        """The function to show first: `main`, else the first public Relax function, else the first."""
        functions = self.module.relax_functions
        if "main" in functions:
            return "main"
        public = [name for name, fn in functions.items() if not fn.is_private]
        return (public or list(functions) or list(self.module.functions) or [""])[0]

    def binding(self, function: str, name: str) -> e.Binding | None:
        """The binding of variable `name` in `function`, or None."""
        from relax_explorer.core.ir.walk import bindings

        fn = self.module.functions.get(function)
        if type(fn) is not e.Function:
            return None
        return next((b for b in bindings(fn) if b.var is not None and b.var.name == name), None)
