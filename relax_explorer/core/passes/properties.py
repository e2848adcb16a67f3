"""The properties of `core/phases`, under the name by which passes of users import them."""

from __future__ import annotations

from relax_explorer.core.phases import module_properties


def __getattr__(name: str) -> object:
    return getattr(module_properties, name)
