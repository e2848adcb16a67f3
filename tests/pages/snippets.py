"""The snippets of a page, in order, and what they do.

* A `sh` block holds command lines. A `text` block right below it shows what they print, standard error among it; a line `…` stands for any
  lines. `rxe` runs in this process, in a folder of the page, which has nothing but what the page wrote.
* A `python` block is executed; a `text` block right below shows what it prints. The names of earlier blocks of the page are known.
* A block with `title="FILE"` is written as that file.
* `<!-- keys FILE: KEYS -> TEXT -->` presses the keys in the explorer with this file; the screen then shows the text. Below each such line stands,
  for the reader, what to press.
* `<!-- needs torch -->` above a block: it is skipped where that module is missing. `<!-- not run: REASON -->`: it is not run.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from click.testing import CliRunner

from relax_explorer.ui.cli.main import group
from relax_explorer.ui.commands import COMMANDS

_BLOCK = re.compile(
    r"^(?P<indent> *)(?P<fence>`{3,})(?P<language>\w+)?(?: title=\"(?P<file>[^\"]+)\")?[^\n]*\n(?P<text>.*?)^(?P=indent)(?P=fence)[ ]*$"
    r"|^<!-- (?P<remark>.*?) -->$",
    re.MULTILINE | re.DOTALL,
)
KEYS = re.compile(r"keys (.+?): (.*) -> (.*)")
_HERE = re.compile(r"(.*) <<'?(\w+)'?$")
SAMPLES = Path(__file__).parents[2] / "samples"
ANY = "…"


@dataclass(frozen=True, slots=True)
class Shown:
    """What a page shows below a snippet: the text, its place in the page, and its margin."""

    text: str
    start: int
    end: int
    margin: str


@dataclass(frozen=True, slots=True)
class Snippet:
    """One block, or one remark: its kind, its text, and what it has to print if the page shows that."""

    kind: str
    text: str
    line: int
    file: str = ""
    shown: Shown | None = None
    needs: str = ""


def snippets(page: str) -> list[Snippet]:
    """The snippets of a page. A remark that keeps a block from being run takes the block with it."""
    found: list[Snippet] = []
    needs, end, skipped = "", 0, False
    for block in _BLOCK.finditer(page):
        line = page.count("\n", 0, block.start()) + 1
        remark, kind = block["remark"], block["language"] or ""
        if remark is not None:
            needs = remark.removeprefix("needs ") if remark.startswith("needs ") else needs
            skipped = skipped or remark.startswith("not run: ")
            found += [Snippet("keys", remark, line)] if remark.startswith("keys ") else []
            continue
        text, is_below = _at_margin(block["text"], block["indent"]), not page[end : block.start()].strip()
        if kind == "text" and is_below and found and found[-1].kind in ("sh", "python") and not block["file"]:
            found[-1] = replace(found[-1], shown=Shown(text, *block.span("text"), block["indent"]))
        elif not skipped and (kind in ("sh", "python") or block["file"]):
            found.append(Snippet(kind, text, line, block["file"] or "", None, needs))
        needs, end, skipped = "", block.end(), False
    return found


def _at_margin(text: str, margin: str) -> str:
    return re.sub(rf"^{margin}", "", text, flags=re.MULTILINE)


def missing(snippet: Snippet) -> bool:
    """True if the snippet needs what is not installed."""
    return bool(snippet.needs) and any(find_spec(name) is None for name in snippet.needs.split())


def printed(snippet: Snippet, names: dict[str, object]) -> str:
    """What a snippet prints in the current folder."""
    if snippet.file:
        Path(snippet.file).write_text(snippet.text, encoding="utf-8")
        return ""
    if snippet.kind == "python":
        with contextlib.redirect_stdout(io.StringIO()) as said:
            exec(compile(snippet.text, f"line {snippet.line} of the page", "exec", dont_inherit=True), names)
        return said.getvalue()
    if snippet.kind == "keys":
        return _screen(snippet.text)
    return "".join(_command(line) for line in _lines(snippet.text))


def fits(shown: str, text: str) -> bool:
    """True if a text is what a page shows of it. `…` inside of a line stands for any rest of a word or number there."""
    parts = [
        re.escape(part).replace(ANY, r"[^\n]*")
        for part in re.split(rf"^[ ]*{ANY}\n", shown, flags=re.MULTILINE)
    ]
    return re.fullmatch(r"(?:.*\n)?".join(parts), text, re.DOTALL) is not None


# -- command lines ----------------------------------------------------------------------------------------------------


def _lines(text: str) -> Iterator[str]:
    """Command lines without comments; one that writes a file has its content behind it."""
    rows = iter(text.splitlines())
    for row in rows:
        here = _HERE.match(row)
        if here:
            content = []
            while (line := next(rows)) != here[2]:
                content.append(line)
            yield "\n".join([here[1], *content, ""])
        elif row.strip() and not row.startswith("#"):
            yield row


def _command(line: str) -> str:
    """What a command line prints. Only those of this program run here, and `cat > FILE`."""
    head, _, content = line.partition("\n")
    words = shlex.split(head, comments=True)
    if words[:2] == ["cat", ">"]:
        Path(words[2]).write_text(content, encoding="utf-8")
        return ""
    if words[0] == "python":
        done = subprocess.run(
            [sys.executable, *words[1:]], capture_output=True, text=True, check=True, timeout=120
        )
        return done.stdout
    assert words[0] in ("rxe", "relax-explorer"), f"a page shows {words[0]}, which its test cannot run"
    if words[1] not in {item.name for item in COMMANDS}:
        return _screen(f"keys {words[1]}: 1 -> {Path(words[1]).name}")  # it opens the explorer
    told = CliRunner().invoke(group, words[1:])
    crashed = told.exception is not None and not isinstance(told.exception, SystemExit)
    assert not crashed, f"{head}: {told.exception!r}"
    assert told.exit_code in (0, 1, 2, 3), f"{head}: {told.output}"
    return told.output.replace(
        f"{SAMPLES}/", "samples/"
    )  # where the samples are installed differs from reader to reader


def _screen(remark: str) -> str:
    """The screen that keys lead to. Fails if it lacks the text."""
    match = KEYS.fullmatch(remark)
    assert match, remark
    path, keys, text = match.groups()
    Path("page.keys").write_text("size 120 40\n" + "\n".join(events(keys)) + "\n", encoding="utf-8")
    done = CliRunner().invoke(group, ["play", "page.keys", *shlex.split(path)])
    assert done.exit_code == 0, done.output
    assert text in done.stdout, f"no {text!r} in\n{done.stdout}"
    return ""


def events(keys: str) -> Iterator[str]:
    """Lines of a recording: `:who lv` types a line, all else are keys."""
    for part in re.split(r" (?=:)|(?<=\.) ", keys):
        if part.startswith(":"):
            yield from ("key :", f"type {part.removeprefix(':').removesuffix('.')}", "key enter")
        else:
            yield f"key {part}"
