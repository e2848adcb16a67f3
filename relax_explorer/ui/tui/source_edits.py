"""The file of a program that can't be shown, as a text to edit: whether it may be, what is wrong in it, and how it is written."""

from __future__ import annotations

from pathlib import Path

from relax_explorer.core.diagnostics import Diagnostic, Failure, ParseError
from relax_explorer.core.notations import HOLDS
from relax_explorer.core.phases.module_check import check
from relax_explorer.core.source import Source
from relax_explorer.core.syntax.load import is_notebook, module_in, read_text
from relax_explorer.ui.files import CannotWrite, target
from relax_explorer.viz.visible import visible

MOST_CHECKED = 15_000  # characters of a text that is checked between two keys
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class NotEdited(Exception):
    """A file is not edited or written; the text tells why."""


def text_to_edit(source: Source, opened: str) -> str:
    """The text of the file of a source, if `opened` is that file. Raises NotEdited."""
    name = source.filename
    if opened != name or name.endswith((*HOLDS, ".json")):
        raise NotEdited(f"only a file with TVMScript is edited here: correct {visible(name, 60)}")
    text = text_of(name)
    if is_notebook(text):
        raise NotEdited("a notebook is not edited here: correct it in Jupyter")
    lines = text.split("\n")[source.above :]
    shown = source.text.split("\n")
    margins = [source.margin(number) for number in range(source.above + 1, source.above + 1 + len(shown))]
    if [line[margin:] for line, margin in zip(lines, margins, strict=False)] != shown:
        raise NotEdited(f"{visible(name, 60)} is another text now; :open reads it again")
    return text


def text_of(name: str) -> str:
    """The text of a file. Raises NotEdited if it can't be read."""
    try:
        return read_text(name)
    except ParseError as failure:
        raise NotEdited(visible(failure.diagnostics[0].message, 200)) from None


def problem_in(text: str, name: str) -> Diagnostic | None:
    """Why a text can't be shown; None if it can."""
    try:
        module_in(text, name)
    except Failure as failure:
        return failure.diagnostics[0]
    return None


def remark_in(text: str, name: str) -> Diagnostic | None:
    """The first error of a text that can be read, such as an annotation that its value does not have. Long ones are not looked at."""
    if len(text) > MOST_CHECKED:
        return None
    try:
        return next((item for item in check(module_in(text, name)) if item.is_error), None)
    except Failure:
        return None  # `problem_in` tells it


def write_edited(name: str, old: str, new: str) -> None:
    """Write a text into the file that has the text `old`; its line ends and its mark of the encoding stay. Raises NotEdited."""
    try:
        if read_text(name) != old:
            raise NotEdited("not written: the file changed on the disk meanwhile")
        before = Path(name).read_bytes()
        ends = "\r\n" if b"\r\n" in before else "\n"
        mark = BYTE_ORDER_MARK if before.startswith(BYTE_ORDER_MARK) else b""
        target(name).write(mark + new.replace("\n", ends).encode("utf-8", "backslashreplace"))
    except ParseError as failure:
        raise NotEdited(f"not written: {visible(failure.diagnostics[0].message, 200)}") from None
    except (CannotWrite, OSError) as error:
        raise NotEdited(f"not written: {visible(str(error), 200)}") from None
