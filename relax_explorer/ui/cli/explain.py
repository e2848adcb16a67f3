"""`explain`: print the page of a code, an operator, a pass, or a StructInfo."""

from __future__ import annotations

import click

from relax_explorer.ui.cli import output
from relax_explorer.viz.explanations import page_of


def explain(subject: str) -> int:
    """Print the page of `subject`. An unknown subject is refused, with similar names as a hint."""
    try:
        output.say(page_of(subject))
    except KeyError as error:
        raise click.UsageError(str(error.args[0])) from None
    return output.OK
