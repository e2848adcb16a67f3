"""The handlers of all commands by name. Their modules are imported when a command is called."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from relax_explorer.core.collector import collector_at_rest

# Option names that are Python keywords or already used in the modules of handlers.
_OTHER_NAMES = {"output": "output_", "break": "break_"}


def _renamed(handler: Callable[..., int]) -> Callable[..., int]:
    """Adapt a handler: parameters with a reserved option name end with an underscore."""
    return lambda **arguments: handler(
        **{_OTHER_NAMES.get(key, key): value for key, value in arguments.items()}
    )


def _from(module: str, name: str) -> Callable[..., int]:
    """The handler `name` of a module that is imported when it is called: the explorer starts without the rest of the core."""

    def handler(**arguments: object) -> int:
        with collector_at_rest():
            found: Callable[..., int] = getattr(import_module(f"relax_explorer.ui.cli.{module}"), name)
        return found(**arguments)

    return handler


HANDLERS: dict[str, Callable[..., int]] = {
    "tui": _from("exploring", "tui"),
    "play": _renamed(_from("exploring", "play")),
    "serve": _from("serving", "serve"),
    "show": _from("handlers", "show"),
    "check": _from("handlers", "check"),
    "opt": _renamed(_from("handlers", "opt")),
    "run": _renamed(_from("run", "run")),
    "debug": _renamed(_from("debug", "debug")),
    "diff": _from("handlers", "diff"),
    "compare": _renamed(_from("comparing", "compare")),
    "bisect": _renamed(_from("comparing", "bisect")),
    "validate": _renamed(_from("comparing", "validate")),
    "graph": _renamed(_from("handlers", "graph")),
    "report": _renamed(_from("handlers", "report")),
    "who": _from("handlers", "who"),
    "find": _from("handlers", "find"),
    "passes": _from("handlers", "passes"),
    "phases": _renamed(_from("handlers", "phases")),
    "shapes": _renamed(_from("shaping", "shapes")),
    "relations": _from("relating", "relations"),
    "ops": _from("handlers", "ops"),
    "explain": _from("explain", "explain"),
    "completion": _from("completing", "completion"),
}
