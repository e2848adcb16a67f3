"""What users may rely on, as texts: the Python API, the help of the commands, the forms of their JSON, diagnostics, and keys."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from click.testing import CliRunner

import relax_explorer as rxe
from relax_explorer.core import passes as registry
from relax_explorer.core.codes import CODES
from relax_explorer.ui.cli.main import group
from relax_explorer.ui.commands import COMMANDS
from relax_explorer.ui.tui.keys import KEYS

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
_ROOMS = ("ops", "extensions")
PROGRAMS = {
    "sum": str(SAMPLES / "01_tensor_program.py"),
    "if": str(SAMPLES / "05_if.py"),
    "layer": str(SAMPLES / "12_transformer_layer.py"),
    "build": str(SAMPLES / "broken_build"),
    "relay": str(SAMPLES / "relations/layer.relay"),
    "shapes": str(SAMPLES / "shapes/fast_flatten.shapes"),
    "unknown": str(SAMPLES / "partly_known.py"),
}
JSON_LINES = (
    "show {sum} --format json",
    "show {sum} --format json -p LegalizeOps",
    "check {sum} --output-format json",
    "check {unknown} --output-format json",
    "check {relay} --output-format json",
    "check {sum} --output-format sarif",
    "run {layer} --format json",
    "run {sum} --format json --time-bindings",
    "cost {layer} --format json --by binding",
    "compare {sum} {sum} --format json",
    "compare {sum} {if} --format json",
    "bisect {build} --format json",
    "validate {build} --format json",
    "graph {sum} --format json",
    "who {build} lv --format json",
    "find {sum} _ --format json",
    "passes --format json",
    "passes FuseOps --format json",
    "phases --format json",
    "shapes {unknown} --format json",
    "shapes {shapes} --format json",
    "relations {relay} --format json",
    "ops --format json",
    "show no_such_file --format json",
    "run {sum} --format json --fn nothing",
)
"""Command lines, whose exit code and form of JSON are recorded."""


def api() -> str:
    """The public names with their signatures, and the public members of classes."""
    lines = list(
        _members(
            "relax_explorer", {name: getattr(rxe, name) for name in rxe.__all__ if name != "__version__"}
        )
    )
    for room in _ROOMS:
        module = getattr(rxe, room)
        lines += _members(f"relax_explorer.{room}", {name: getattr(module, name) for name in module.__all__})
    return "\n".join(lines) + "\n"


def _members(home: str, names: dict[str, Any]) -> Iterator[str]:
    for name, value in sorted(names.items()):
        if inspect.ismodule(value):
            continue
        yield f"{home}.{name}{_signature(value)}"
        if inspect.isclass(value):
            for member, inner in sorted(inspect.getmembers(value)):
                if not member.startswith("_") and member not in dir(tuple):
                    yield f"    .{member}{_signature(inner)}"


def _signature(value: Any) -> str:
    if not callable(value):
        return ""
    try:
        text = str(inspect.signature(value))
    except ValueError:
        return "(…)"
    return re.sub(r"0x[0-9a-f]+", "…", text)


def help_texts() -> str:
    """The help of each command."""
    runner = CliRunner()
    texts = [runner.invoke(group, ["--help"], terminal_width=100).output]
    texts += [runner.invoke(group, [item.name, "--help"], terminal_width=100).output for item in COMMANDS]
    return "\n".join(texts)


def diagnostics() -> str:
    """The kinds of problems: number, severity, title."""
    return "".join(
        f"{code.id} {code.severity} {code.title}\n"
        for code in sorted(CODES.values(), key=lambda code: code.id)
    )


def passes() -> str:
    """The passes with their options, and the pipelines."""
    told = [
        f"{name} {' '.join(option.name for option in of.options)}".rstrip()
        for name, of in sorted(registry.own().items())
    ]
    pipelines = [f"{name}: {' '.join(steps)}" for name, steps in sorted(registry.PIPELINES.items())]
    aliases = [f"{name} = {of}" for name, of in sorted(registry.ALIASES.items())]
    return "\n".join([*told, *pipelines, *aliases]) + "\n"


def keys() -> str:
    """The keys of the explorer in alphabetical order: key, action, screens."""
    return "".join(
        sorted(f"{item.key:24} {item.action:32} {' '.join(item.screens)}".rstrip() + "\n" for item in KEYS)
    )


def json_forms() -> str:
    """The exit code and the form of the JSON of each command line."""
    runner, texts = CliRunner(), []
    for line in JSON_LINES:
        done = runner.invoke(group, line.format(**PROGRAMS).split())
        texts.append(f"{line}: exit {done.exit_code}")
        texts += [f"    {row}" for row in sorted(set(_form(_loaded(done.stdout))))]
    return "\n".join(texts) + "\n"


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return "no JSON"


def _form(value: Any, path: str = "") -> Iterator[str]:
    """Each path in a value with the kind of what is there."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _form(inner, f"{path}.{key}")
    elif isinstance(value, list):
        yield f"{path} [{'' if value else 'empty'}]"
        for inner in value:
            yield from _form(inner, f"{path}[]")
    else:
        yield f"{path} {type(value).__name__}"
