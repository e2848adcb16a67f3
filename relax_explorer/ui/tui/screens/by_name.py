"""The screens by name. A module is imported when its screen is first shown."""

from __future__ import annotations

from importlib import import_module

from relax_explorer.ui.tui.screens.screen_frame import Frame


def screen_class(name: str) -> type[Frame]:
    """The class of a screen."""
    module = import_module(f"relax_explorer.ui.tui.screens.{name}_screen")
    found: type[Frame] = getattr(module, f"{name.title()}Screen")
    return found


def new_screen(name: str) -> Frame:
    """A screen."""
    return screen_class(name)()
