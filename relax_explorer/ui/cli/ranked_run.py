"""`run --ranks N`: one program on several ranks side by side, beside the program that is not divided."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from relax_explorer.core.session.rank_inputs import Division
from relax_explorer.core.session.ranked import MOST_RANKS, Ranked, ranked
from relax_explorer.ui.cli import output
from relax_explorer.ui.cli.interruptible import interruptible
from relax_explorer.ui.cli.output import Remark, Result
from relax_explorer.viz.rank_table import RankTable, data, outputs, verdict


def on_ranks(asked: Division, cache: Path | None, private: bool) -> Result:
    """Run a function once for each rank. The status is FOUND if a value parts from that of the program that is not divided."""
    found = interruptible(lambda interrupt: ranked(asked, cache, interrupt, private))
    is_wrong = bool(found.problems) or found.apart is not None
    status = output.FOUND if is_wrong else output.OK
    return Result("ranks", data(found), _lines(found), status, found.problems)


def count_of(ranks: int | None) -> int:
    """The number of ranks. Raises click.UsageError."""
    if ranks is None or not 1 <= ranks <= MOST_RANKS:
        raise click.UsageError(f"--ranks takes a number from 1 to {MOST_RANKS}")
    return ranks


def _lines(found: Ranked) -> Iterator[str]:
    """A row for each binding, with the values of the ranks beside each other."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    table = RankTable(len(found.ranks), found.whole is not None, width)
    yield Remark(table.columns.heading)
    yield from map(table.row, found.rows)
    yield from verdict(found)
    yield from map(Remark, outputs(found))
