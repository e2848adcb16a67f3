"""The stages of a build: modules of a session, a folder of numbered files, or one text with a heading before each stage."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.passes.pipeline import Step
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.folders import nested, numbered_files
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.syntax.load import read_text
from relax_explorer.core.syntax.parser import parse

# One word after the heading, perhaps with options: a comment in prose is none.
_HEADING = re.compile(
    r"^#+[ -]*(?:IR dump after|after|stage [0-9]{1,9}:?) +([\w.]+(?:\{[^\n]*\})?)[ -]*$",
    re.MULTILINE | re.IGNORECASE,
)
_CODE = re.compile(r"^([ \t]*)[^ \t\n#][^\n]*", re.MULTILINE)
_MODULE = re.compile(r"^@(?:\w+\.)*ir_module", re.MULTILINE)
_RULE = re.compile(r"^(?://|#) ?-----+[ ]*$", re.MULTILINE)


class Stage:
    """One stage: its number, the pass that made it, its module, and the file that holds it.

    It is sent to other processes as text, and parsed there when it is needed.
    """

    def __init__(self, number: int, made_by: str, module: IRModule | str, file: str = "") -> None:
        self.number, self.made_by, self.file = number, made_by, file
        self._given = module

    @cached_property
    def module(self) -> IRModule:
        """The module. Raises ParseError if the text is no program."""
        return parse(self._given, self.file or str(self)) if isinstance(self._given, str) else self._given

    @property
    def text(self) -> str:
        """The program as text, with its constants."""
        return self._given if isinstance(self._given, str) else self._given.script()

    @property
    def entry(self) -> str:
        """The function to run if none is named."""
        return Snapshot(self.number, self.made_by, self.module).entry

    def __str__(self) -> str:
        return f"{self.number} {self.made_by}"

    def __reduce__(self) -> tuple[Any, ...]:
        return Stage, (self.number, self.made_by, self.text, self.file)


@dataclass(frozen=True)
class Build:
    """The stages of a build. If a session made them, with its snapshots and passes, so that passes can be left out."""

    stages: tuple[Stage, ...]
    path: str = ""
    snapshots: tuple[Snapshot, ...] = ()
    passes: tuple[Step, ...] = ()

    def changing(self) -> list[Stage]:
        """The stages that differ from the one before, the first included."""
        if not self.snapshots:
            return list(self.stages)
        return [stage for stage, item in zip(self.stages, self.snapshots, strict=True) if item.changed]

    def title(self, stage: Stage) -> str:
        """The name of a stage in messages."""
        return self.path if len(self.stages) == 1 else f"{self.path}@{stage.number} {stage.made_by}"


def built(session: Session) -> Build:
    """The build of a session whose passes have run."""
    if not session.pipeline and len(session.stages) > 1:  # recorded: no pass can be left out
        changed = [item for item in session.stages if item.changed]
        return Build(tuple([stage_of(item, session.filename) for item in changed]), session.filename)
    stages = [stage_of(item, session.filename) for item in session.stages]
    return Build(tuple(stages), session.filename, tuple(session.stages), tuple(session.pipeline))


def stage_of(item: Snapshot, file: str = "") -> Stage:
    """A stage of a session as a stage of a build; one that can't be read as its text."""
    return Stage(item.label, item.made_by, item.text or item.module, file)


def as_build(source: Build | Session | Sequence[Stage | IRModule]) -> Build:
    """A build, the one of a session, or one of modules in order."""
    if isinstance(source, Build):
        return source
    if isinstance(source, Session):
        return built(source)
    return Build(tuple([as_stage(item, number) for number, item in enumerate(source)]))


def as_stage(source: Stage | IRModule, number: int = 0) -> Stage:
    """A stage, or a module as a stage."""
    return source if isinstance(source, Stage) else Stage(number, f"module {number}", source)


def dumped(path: str | Path) -> list[Stage]:
    """The stages in a folder of numbered .py files, or in one file. A file without headings is one stage.

    Raises Failure for a folder without such files, and for a file that cannot be read.
    """
    place = Path(path)
    if not os.path.isdir(place):
        return split_stages(read_text(place), str(path))
    found = numbered_files(place)
    if not found:
        text = f"{path} has no files such as 00_input.py and 01_LegalizeOps.py"
        inner = ", ".join([item.path for item in nested(place)][:5])
        help = (
            f"open one of its folders: {inner}" if inner else "name a folder of numbered stages, or one file"
        )
        raise Failure(Diagnostic(codes.UNREADABLE, text, help=help))
    return [Stage(int(hit[1]), hit[2] or hit[1], read_text(name), str(name)) for hit, name in found]


def split_stages(text: str, file: str) -> list[Stage]:
    """The stages in one text. Headings are lines `# after PASS`, `# stage N PASS`, or rules `# -----`.

    A program begins behind a heading. Other comments, such as those between the lines of a function, are none.
    """
    hits = _headings(text)
    ends = [place for place, _ in hits[1:]] + [len(text)]
    places = [hit for hit, end in zip(hits, ends, strict=False) if _begins(text, hit[0], end)]
    if not places:
        return [Stage(0, "input", text, file)]
    ends = [place for place, _ in places[1:]] + [len(text)]
    parts = [("input", text[: places[0][0]], 0)]
    parts += [
        (name, text[start:end], text.count("\n", 0, start))
        for (start, name), end in zip(places, ends, strict=True)
    ]
    stages: list[Stage] = []
    for name, part, lines in parts:
        if _has_code(part):  # blank lines before it keep the line numbers of the file
            stages.append(Stage(len(stages), name or f"part {len(stages)}", "\n" * lines + part, file))
    return stages or [Stage(0, "input", text, file)]


def _headings(text: str) -> list[tuple[int, str]]:
    """The places of headings in order, each with the pass that it names; rules name none.

    Only lines that begin as one are matched: a search of all lines keeps other threads waiting for a tenth of a second in a text of
    100,000 bindings.
    """
    starts = [0]
    for mark in ("\n#", "\n//"):
        place = text.find(mark)
        while place >= 0:
            starts.append(place + 1)
            place = text.find(mark, place + 1)
    hits: list[tuple[int, str]] = []
    for start in starts:
        if (hit := _HEADING.match(text, start)) is not None:
            hits.append((start, hit[1]))
        elif _RULE.match(text, start) is not None:
            hits.append((start, ""))
    return sorted(hits)


def _begins(text: str, start: int, end: int) -> bool:
    """True if a part of a text is a program: its code is not indented, and it has a module if any part has one."""
    code = _CODE.search(text, start, end)
    if code is None or code[1]:
        return False
    return _MODULE.search(text, start, end) is not None or _MODULE.search(text) is None


def _has_code(text: str) -> bool:
    return any(line.strip() and not line.lstrip().startswith("#") for line in text.split("\n"))


def stage_called(stages: Sequence[Stage], name: str) -> Stage:
    """The stage with this number, counted from the end if negative, or the last one made by this pass. Raises KeyError."""
    if re.fullmatch(r"-[0-9]{1,9}", name) and int(name) >= -len(stages):
        return stages[int(name)]
    for stage in reversed(stages):
        if stage.made_by == name or (name.lstrip("0") or name[:1]) == str(stage.number):
            return stage
    has = ", ".join(map(str, stages[:20]))
    raise KeyError(f"no stage {name!r}; there are {has}{' …' if len(stages) > 20 else ''}")
