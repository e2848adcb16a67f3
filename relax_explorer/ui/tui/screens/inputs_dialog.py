"""The dialog for the inputs of a run: a source for each parameter, a length for each shape variable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import OverflowMethod
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec.values import Value
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.walk import info_vars
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.call_inputs import REST, CallInputs, holds_several
from relax_explorer.core.session.samples import Start, call_line, start_of
from relax_explorer.ui.files import CannotWrite, target
from relax_explorer.ui.tui.key_recording import Permit
from relax_explorer.ui.tui.screens.moving import Settling
from relax_explorer.ui.tui.widgets.framed import FixedText
from relax_explorer.viz.short import short_info, short_value
from relax_explorer.viz.value_table import inline_value
from relax_explorer.viz.visible import fit, visible

HELP = " Enter runs · Esc cancels · zeros ones arange randn:SEED 0.5 FILE.npy · ctrl+s writes calls"


_MOST_SHOWN = 1 << 28  # bytes of the inputs that the dialog shows


@dataclass(frozen=True, slots=True)
class Field:
    """A line of the dialog: `key` is a parameter or a shape variable."""

    key: str
    kind: str  # parameter, length, all for a file with every input, or calls for a file of calls
    info: str
    value: str
    hint: str


def fields_of(fn: e.Function, given: CallInputs) -> list[Field]:
    """The lines for a function: shape variables first, since the other values follow from them, and last a file with all inputs."""
    variables = dict.fromkeys(
        var.name for param in fn.params for var in info_vars(param.struct_info or s.OBJECT)
    )
    whole = given.whole
    lengths = [Field(name, "length", "length", str(given.shape.get(name, "")), "3") for name in variables]
    sources = [
        Field(
            param.name,
            "parameter",
            short_info(param.struct_info),
            "" if whole else given.sources.get(param.name, given.sources.get(str(n), "")),
            "randn:0",
        )
        for n, param in enumerate(fn.params)
    ]
    return [
        *lengths,
        *sources,
        Field(
            "all inputs", "all", "a file with the others", whole or given.sources.get(REST, ""), "FILE.npz"
        ),
        Field("calls", "calls", "a file of calls, one a line", given.calls, "FILE.txt"),
    ]


def lengths_of(fn: e.Function, values: Sequence[Value]) -> dict[str, int]:
    """The lengths that some values give to shape variables."""
    found: dict[str, int] = {}
    for param, value in zip(fn.params, values, strict=True):
        info = param.struct_info
        dims = (info.dims if isinstance(info, s.TensorStructInfo) else None) or ()
        for dim, length in zip(dims, getattr(value, "shape", ()), strict=False):
            if isinstance(dim, p.PrimVar):
                found.setdefault(dim.name, int(length))
    return found


def call_of(function: str, fields: Sequence[Field], typed: Mapping[int, str]) -> CallInputs:
    """What was typed, as inputs of a call. Raises ValueError for a length that is no number."""
    sources: dict[str, str] = {}
    shape: dict[str, int] = {}
    for number, field in enumerate(fields):
        text = typed.get(number, "").strip()
        if not text:
            continue
        if field.kind == "calls":
            return CallInputs(function, calls=text)
        if field.kind == "all":
            if not holds_several(text):
                raise ValueError(f"{field.key}: {text!r} is no .npz, .safetensors or folder of weights")
            sources, shape = ({REST: text, **sources}, shape) if sources else ({"0": text}, {})
        elif field.kind == "parameter":
            sources[field.key] = text
        elif text.isdecimal() and len(text) < 10:
            shape[field.key] = int(text)
        else:
            raise ValueError(f"{field.key} = {text!r}: a length is a number such as 3")
    return CallInputs(function, sources, shape)


class Inputs(Settling, ModalScreen["CallInputs | None"]):
    """Asks for inputs; what is left empty is made up, and the dialog says how."""

    HORIZONTAL_BREAKPOINTS = [(0, "-tight"), (110, "-roomy")]  # noqa: RUF012  # as Textual declares it

    BINDINGS = [  # noqa: RUF012  # as Textual declares it
        Binding("escape", "close", "Close", show=False, priority=True),
        Binding("ctrl+s", "write", "Write calls", show=False, priority=True),
        # Before the line: a key behind one that moves the focus belongs to the next line.
        Binding("tab", "app.focus_next", show=False, priority=True),
        Binding("shift+tab", "app.focus_previous", show=False, priority=True),
        Binding("down", "app.focus_next", show=False, priority=True),
        Binding("up", "app.focus_previous", show=False, priority=True),
    ]

    def __init__(self, name: str, modules: Sequence[IRModule], given: CallInputs, permit: Permit) -> None:
        """`modules` are the stage that runs, and those before it, the nearest first."""
        super().__init__()
        fn = modules[0].functions[name]
        assert isinstance(fn, e.Function)  # the app chose it
        self.function_name, self.fn, self.modules, self.permit = name, fn, modules, permit
        self.fields = fields_of(fn, given)

    def compose(self) -> ComposeResult:
        """A line for each field, and a line that tells what would be run."""
        width = max([len(field.key) for field in self.fields], default=4)
        with Vertical(id="inputs_frame"):
            with VerticalScroll(id="fields", can_focus=False):
                for number, field in enumerate(self.fields):
                    with Horizontal(classes="field"):
                        yield Static(
                            Text(
                                f" {fit(visible(field.key), 24):<{min(width, 24)}} {fit(visible(field.info), 26):<26} "
                            )
                        )
                        yield Input(field.value, placeholder=field.hint, id=f"field_{number}", compact=True)
                        yield FixedText(id=f"look_{number}")
            yield Static(id="preview", markup=False)
            yield Static(Text(HELP, style="dim", no_wrap=True, overflow="ellipsis"), id="inputs_help")

    def on_mount(self) -> None:
        """Title the frame."""
        if not self.is_filled:
            return
        frame = self.query_one("#inputs_frame")
        frame.border_title = f"Inputs of {visible(self.function_name)}".replace("[", "\\[")
        inputs = self.query(Input)
        if inputs:
            inputs.first().focus()
        self._preview()

    def _typed(self) -> dict[int, str]:
        return {number: line.value for number, line in enumerate(self.query(Input))}

    def _preview(self) -> None:
        """Tell what the inputs would be, or why there are none."""
        try:
            call = self.permit.checked(call_of(self.function_name, self.fields, self._typed()))
            start = start_of(self.modules[0], self.function_name, call, self.modules[1:], _MOST_SHOWN)
        except ValueError as error:
            text = str(error)
        except Failure as failure:
            item = failure.diagnostics[0]
            text = f"{item.message}{'; ' + item.help if item.help else ''}"
        else:
            text = start.note
            if start.program is None:
                self._draw_values(call, start.args)
                text = self._told(start)
        lines = [f" {visible(line, 300)}" for line in text.split("\n")[:2]]
        is_problem = len(lines) == 1  # its last words tell the reason, behind a path that may be long
        overflow: OverflowMethod = "fold" if is_problem else "ellipsis"
        shown_text = Text("\n".join(lines), no_wrap=not is_problem, overflow=overflow)
        self.query_one("#preview", Static).update(shown_text)

    def _told(self, start: Start) -> str:
        """The inputs in two lines: what was made up, and the first values."""
        shown = [
            f"{param.name} {fit(short_value(value, 60), 30)}"
            for param, value in zip(self.fn.params, start.args, strict=True)
        ]
        text = f"made up: {start.note}" if start.note else "all inputs are given"
        return f"{text}\n {', '.join(shown[:4])}{', …' if len(shown) > 4 else ''}"

    def _draw_values(self, call: CallInputs, values: Sequence[Value]) -> None:
        """Show where each value comes from, and what it looks like."""
        by_name = {param.name: value for param, value in zip(self.fn.params, values, strict=True)}
        lengths, whole = lengths_of(self.fn, values), call.whole
        for number, field in enumerate(self.fields):
            hint = f"from {Path(whole).name}" if whole and field.kind == "parameter" else field.hint
            if field.kind == "length":
                hint = str(lengths.get(field.key, hint))
            self.query_one(f"#field_{number}", Input).placeholder = hint
            look = inline_value(by_name[field.key]) if field.kind == "parameter" else ""
            self.query_one(f"#look_{number}", FixedText).show(Text(look, style="dim", no_wrap=True))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Tell what the inputs are now."""
        self._preview()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Run with these inputs, if they can be made."""
        try:
            call = self.permit.checked(call_of(self.function_name, self.fields, self._typed()))
            start_of(self.modules[0], self.function_name, call, self.modules[1:])
        except (ValueError, Failure):
            self._preview()
            self.app.bell()
            return
        self.leave(call)

    def action_write(self) -> None:
        """Write the call with these inputs to the file of calls that was typed. A file that exists stays as it is."""
        number = next(n for n, field in enumerate(self.fields) if field.kind == "calls")
        typed = self._typed()
        path = typed.pop(number, "").strip()
        if refusal := self.permit.to_write(path):
            self._tell(refusal)
            return
        try:
            line = call_line(self.fn, self.function_name, call_of(self.function_name, self.fields, typed))
            self._tell(_written(path, line))
        except (ValueError, OSError, CannotWrite) as problem:
            self._tell(f"{getattr(problem, 'strerror', None) or problem}{f': {path}' if path else ''}")
            self.app.bell()

    def _tell(self, text: str) -> None:
        shown = Text(f" {visible(text, 300)}", no_wrap=True, overflow="ellipsis")
        self.query_one("#preview", Static).update(shown)

    def action_close(self) -> None:
        """Leave the inputs as they were."""
        self.leave(None)


def _written(path: str, line: str) -> str:
    """Write a new file of calls, and tell it. Raises ValueError, OSError or CannotWrite."""
    if not path:
        raise ValueError("type the name of a new file there, then ctrl+s writes this call to it")
    if Path(path).exists():
        raise ValueError("it exists; Enter makes its calls, and your editor changes them")
    target(path).write(line.encode())
    return f"written: {line.strip()}; Enter makes the call, more lines make more"
