"""The JSON schemas of the documents that `--format json` prints: one file for each kind, in `ui/schemas`."""

from __future__ import annotations

import json
from difflib import get_close_matches
from pathlib import Path

import click

from relax_explorer.ui.cli.output import Exact, Remark, Result, aligned
from relax_explorer.ui.schema_names import SCHEMAS

FOLDER = Path(__file__).parents[1] / "schemas"


def schema(name: str | None) -> Result:
    """The schema called `name`, or the list of all. An unknown name is refused, with similar names as a hint."""
    if name is None:
        rows = [{"name": f"rxe.{key}/1", "printed_by": SCHEMAS[key]} for key in SCHEMAS]
        lines = [
            *aligned([(key, printed) for key, printed in SCHEMAS.items()]),
            Remark("rxe schema NAME prints one of them"),
        ]
        return Result("schemas", {"schemas": rows}, lines)
    known = name.removeprefix("rxe.").removesuffix("/1")
    if known not in SCHEMAS:
        near = get_close_matches(known, SCHEMAS, 1, 0.7)
        hint = f"; did you mean {near[0]}?" if near else "; rxe schema lists them"
        raise click.UsageError(f"no document has the schema {name!r}{hint}")
    text = (FOLDER / f"{known}.json").read_text(encoding="utf-8")
    return Result("schema", {"of": json.loads(text)}, [Exact(text)])
