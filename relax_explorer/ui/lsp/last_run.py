"""Runs a function of a document in a child process, and keeps a summary of each value for the editor."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

from relax_explorer.ui.editor.regions import Checked, Region
from relax_explorer.viz.child import ChildOutputTooLong, ChildTimeout, own_python, run_child

_START = "from relax_explorer.ui.cli.main import main; main()"
_SECONDS = 120.0
_MOST_VALUES = 20_000


@dataclass(frozen=True, slots=True)
class Ran:
    """The end of a run: a sentence, and the values by function and variable."""

    sentence: str
    values: dict[str, str]
    is_done: bool


def run_function(checked: Checked, region: Region, function: str) -> Ran:
    """Run a function of a program with made-up inputs. Programs are interpreted; no Python of the document is executed."""
    hidden = {line for other in checked.regions if other is not region for line in other.lines}
    lines = [
        "" if number in hidden else line for number, line in enumerate(checked.document.plain.split("\n"))
    ]
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.jsonl"
        program = "\n".join(lines).encode("utf-8", "backslashreplace")
        words = ["run", "-", "--private", "--trace", str(trace), "--format", "json"]
        command = own_python(_START, *words, *(["--func", function] if function else []))
        try:
            done = run_child(command, program, _SECONDS, is_python=True)
        except ChildTimeout:
            return Ran(f"{function} did not end in {_SECONDS:.0f} seconds", {}, False)
        except ChildOutputTooLong:
            return Ran(f"{function} has a result that is too long to show", {}, False)
        except OSError as error:
            return Ran(f"{function} can't be run: {error.strerror or error}", {}, False)
        values = _values(trace)
        said = done.errors.decode("utf-8", "replace").replace("<stdin>", checked.document.name).strip()
        if done.status != 0:
            return Ran(said.splitlines()[0] if said else f"{function} stopped", values, False)
        made_up = f"; {said.splitlines()[0]}" if said else ""
        return Ran(
            f"{function} ran: {len(values)} values are shown where the mouse is{made_up}", values, True
        )


def _values(trace: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    if not trace.exists():
        return found
    with trace.open(encoding="utf-8") as lines:
        for line, _ in zip(lines, range(_MOST_VALUES), strict=False):
            step = json.loads(line)
            if step.get("event") == "bind" and "var" in step:
                found[f"{step.get('func', '')}.{step['var']}"] = _summary(step)
    return found


def _summary(step: dict[str, object]) -> str:
    """`(3, 16) · 0.1 … 2.5, mean 0.7 · b = 3`."""
    parts = []
    shape, stats, lengths = step.get("shape"), step.get("stats"), step.get("shape_vars")
    if isinstance(shape, list):
        parts.append(f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})")
    if isinstance(stats, dict) and "min" in stats:
        bad = sum(int(stats.get(name) or 0) for name in ("nan", "inf"))
        parts.append(f"{_number(stats['min'])} … {_number(stats['max'])}, mean {_number(stats.get('mean'))}")
        parts += [f"{bad} not finite"] if bad else []
    if isinstance(lengths, dict) and lengths:
        parts.append(", ".join(f"{name} = {length}" for name, length in lengths.items()))
    return " · ".join(parts) or "a value"


def _number(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, (int, float)) else "?"
