"""Wrong arguments of public functions: a TypeError that says what was expected."""

from __future__ import annotations


def expect(value: object, kinds: type | tuple[type, ...], wanted: str, hint: str = "") -> None:
    """Raise TypeError unless `value` is of one of these types: `parse takes a text, not int`, with a hint of what to write instead."""
    if isinstance(value, kinds):
        return
    advice = f". {hint}" if hint else ""
    raise TypeError(f"{wanted}, not {type(value).__name__}{advice}")
