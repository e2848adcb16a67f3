"""A recording as a build: each pass is a stage, with the lineage and the nesting that the recorder saw."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from relax_explorer import recorder
from relax_explorer.core.diagnostics import ParseError
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.containers import Container, Json, Told, damaged, seconds, whole
from relax_explorer.core.session.stages import BuildTexts, Kind, RecordedPass, Stage, StageText, is_manager

_DIGEST = re.compile(r"[0-9a-f]{64}")
_MOST_STAGES = 100_000
_MOST_NAME = 200
_MOST_INSIDE = 100
_KINDS = {"module": Kind.MAIN, "helper": Kind.HELPER, "kernels": Kind.KERNELS}


class KeptText(StageText):
    """A text of a recording. It is read again each time, so that only its module stays in memory."""

    def __init__(self, container: Container, digest: str, file: str) -> None:
        super().__init__("", file)
        self._container, self._digest = container, digest

    @property
    def text(self) -> str:
        """The text; empty if it is damaged, which `module` tells."""
        try:
            return self._container.text(self._digest)
        except ParseError:
            return ""

    @property
    def key(self) -> object:
        """Its digest."""
        return self._digest

    @cached_property
    def module(self) -> IRModule:
        """The module. Raises ParseError if the text is damaged, or no program."""
        self._container.text(self._digest)
        return self.parsed()

    def __reduce__(self) -> tuple[Any, ...]:
        """Other processes get the text."""
        return StageText, (self.text, self.file)


def stages_of(container: Container) -> list[Stage]:
    """The stages of a recording in the order in which their passes ended, process by process. Raises ParseError."""
    known, stages = BuildTexts(), list[Stage]()
    for process, told in enumerate(container.told):
        lineages = {whole(line.get("lineage")): line for line in told.lines[recorder.LINEAGE]}
        for line in told.lines[recorder.STAGE]:
            if line.get("failed"):
                continue
            number = len(stages)
            digest, name = line.get("text"), line.get("pass")
            if not isinstance(digest, str) or not _DIGEST.fullmatch(digest) or not isinstance(name, str):
                raise damaged(container.path, f"stage {number} names no pass or no text")
            if number >= _MOST_STAGES:
                raise damaged(container.path, f"it has more than {_MOST_STAGES:,} stages")
            file = f"{container.path}@{number}"
            text = KeptText(container, digest, file).shared(known)
            stages.append(Stage(number, name[:_MOST_NAME], text, file, _recorded(line, process, lineages)))
    if not stages:
        raise damaged(container.path, "no pass had ended when the recording did")
    return stages


def _recorded(line: Json, process: int, lineages: dict[int, Json]) -> RecordedPass:
    number, inside = whole(line.get("lineage")), line.get("inside")
    lineage = lineages.get(number, {})
    names = [str(name)[:_MOST_NAME] for name in inside[:_MOST_INSIDE]] if isinstance(inside, list) else []
    return RecordedPass(
        (process, number),
        _KINDS.get(str(lineage.get("kind")), Kind.OTHER),
        str(lineage.get("of", ""))[:_MOST_NAME],
        tuple(names),
        line.get("input") is True,
        line.get("unchanged") is True,
        seconds(line.get("seconds")),
        _place(line.get("place")),
    )


def _place(value: object) -> str:
    """`build.py:12`; empty if the recording tells none."""
    if not isinstance(value, dict) or not isinstance(value.get("file"), str):
        return ""
    return f"{os.path.basename(value['file'])[:_MOST_NAME]}:{whole(value.get('line'))}"


# -- lineages --------------------------------------------------------------------------------------------------------


def kinds_as_recorded(stages: Sequence[Stage], told: Sequence[RecordedPass]) -> list[Kind]:
    """The lineage of each stage, as the recorder told it.

    The module that went through most passes is the main one. Its kernels and helpers are those that begin after it, and before the next.
    """
    counts = Counter(item.lineage for item in told if item.kind is Kind.MAIN)
    if not counts:
        return [Kind.MAIN if item.lineage == told[0].lineage else item.kind for item in told]
    main = counts.most_common(1)[0][0]
    following = min([item for item in counts if main < item], default=(math.inf, 0))
    found = []
    for number, item in enumerate(told):
        if item.lineage == main:
            found.append(Kind.MANAGER if _is_manager(stages, told, number) else Kind.MAIN)
        else:
            is_near = (
                item.kind is not Kind.MAIN and main < item.lineage < following and item.lineage[0] == main[0]
            )
            found.append(item.kind if is_near else Kind.OTHER)
    return found


def _is_manager(stages: Sequence[Stage], told: Sequence[RecordedPass], number: int) -> bool:
    """True for a pass that changed nothing itself, and is a manager by its name or as it ran several passes."""
    item = told[number]
    if not item.is_unchanged or item.is_input:
        return False
    inner = 0
    for before in reversed(told[:number]):
        if len(before.inside) <= len(item.inside):
            break
        inner += before.lineage == item.lineage and len(before.inside) == len(item.inside) + 1
    return bool(inner) and (inner > 1 or is_manager(stages[number].made_by))


# -- remarks ---------------------------------------------------------------------------------------------------------


def remarks_on(container: Container) -> Iterator[str]:
    """What a recording lacks: its end, or the end of a pass."""
    for told in container.told:
        passes = sum(not line.get("input") and not line.get("failed") for line in told.lines[recorder.STAGE])
        running = told.process.get("running")
        if not told.process.get("ended") and (running or container.is_journal):
            during = (
                f", while {str(running[-1])[:_MOST_NAME]} ran"
                if isinstance(running, list) and running
                else ""
            )
            yield f"recording ended early{during}: it has {passes} pass{'es' * (passes != 1)}"
        if told.process.get("failure"):
            yield f"recording ended: {str(told.process['failure'])[:300]}"
        yield from _failures(told)
    if container.torn:
        yield f"the last {container.torn:,} bytes are torn or damaged, and were left out"


def _failures(told: Told) -> Iterator[str]:
    """The passes that raised an error, the innermost of each."""
    before = -1
    for line in told.lines[recorder.STAGE]:
        depth = whole(line.get("depth"))
        if line.get("failed") and not depth < before:
            place = _place(line.get("place"))
            at = f" ({place})" if place else ""
            yield f"{str(line.get('pass'))[:_MOST_NAME]} failed{at}: {str(line['failed'])[:300]}"
        before = depth if line.get("failed") else -1
