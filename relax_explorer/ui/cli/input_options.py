"""What `--input` and `--shape` say of the inputs of a run."""

from __future__ import annotations

import re

import click

from relax_explorer.core.session.call_inputs import CallInputs

_LENGTH = re.compile(r"[0-9]{1,18}")


def inputs_given(sources: tuple[str, ...], shape: tuple[str, ...], function: str = "") -> CallInputs:
    """What both options say of a call."""
    call = CallInputs(function, sources_by_name(sources), lengths_given(shape))
    if call.whole and shape:
        raise click.UsageError(
            "--shape has no effect with a file of all inputs: its arrays have fixed lengths"
        )
    return call


def sources_by_name(sources: tuple[str, ...]) -> dict[str, str]:
    """The sources of `--input` by the name or number of their parameter."""
    found: dict[str, str] = {}
    for number, source in enumerate(sources):
        name, equals, value = source.partition("=")
        key = name if equals else str(number)
        if key in found:
            raise click.UsageError(f"--input gives {key!r} twice")
        found[key] = value if equals else source
    return found


def lengths_given(pairs: tuple[str, ...]) -> dict[str, int]:
    """The lengths of `--shape` by shape variable."""
    lengths = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        if not name or not _LENGTH.fullmatch(value):
            several = "; give --shape once for each length" if pair.count("=") > 1 else ""
            raise click.UsageError(
                f"--shape takes n=3, a length of at least 0 and below 10 to the 18th, not {pair[:60]!r}{several}"
            )
        if name in lengths:
            raise click.UsageError(f"--shape gives {name!r} twice")
        lengths[name] = int(value)
    return lengths
