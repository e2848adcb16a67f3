"""Transcripts of debugging sessions, compared exactly. `pytest tests/debug --update` writes what is printed now.

A chapter is Markdown. A `relax` block is the program of the `session` blocks below it. After the word `session` stand options
of `rxe debug`. A session block holds the commands behind `(rxe)`, and all that is printed. A `lockstep` block is a session of
`rxe compare --step`, with the program and the `relax beside` block behind it, or with `--passes`. A `calls` block is the file
of calls of the sessions below it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from relax_explorer.core.session.command import Command
from relax_explorer.core.session.debug_commands import DEBUG_COMMANDS
from relax_explorer.core.session.debug_session import Answer, found_command
from relax_explorer.core.session.lockstep import LOCKSTEP_COMMANDS
from relax_explorer.ui.cli.main import group
from tests.support.packed_functions import register

HERE = Path(__file__).parent
PROMPT = "(rxe) "
_BLOCK = re.compile(r"^```(relax|session|lockstep|calls)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ (.*)", re.MULTILINE)


@dataclass(frozen=True)
class Transcript:
    """One session: its chapter and heading, its command, the programs, the options of the command, and the expected text."""

    path: Path
    name: str
    word: str
    program: str
    beside: str
    options: tuple[str, ...]
    text: str
    calls: str = ""

    @property
    def commands(self) -> list[str]:
        return [
            line.removeprefix(PROMPT.rstrip()).strip()
            for line in self.text.splitlines()
            if line.startswith(PROMPT.rstrip())
        ]


def transcripts(path: Path) -> list[Transcript]:
    text = path.read_text(encoding="utf-8")
    found, program, beside, calls = [], "", "", ""
    for block in _BLOCK.finditer(text):
        if block[1] == "relax" and block[2] == " beside":
            beside = block[3]
            continue
        if block[1] == "relax":
            program, beside, calls = block[3], "", ""
            continue
        if block[1] == "calls":
            calls = block[3]
            continue
        heading = [item[1] for item in _HEADING.finditer(text[: block.start()])][-1]
        name = f"{path.stem}: {heading} #{len(found)}"
        found.append(
            Transcript(path, name, block[1], program, beside, tuple(block[2].split()), block[3], calls)
        )
    return found


ALL = [item for path in sorted(HERE.glob("*.md")) for item in transcripts(path)]


def session(transcript: Transcript, directory: Path) -> str:
    """What `rxe debug` or `rxe compare --step` prints, standard error last."""
    register()
    program, script, beside = [directory / name for name in ("program.py", "commands.txt", "beside.py")]
    program.write_text(transcript.program, encoding="utf-8")
    beside.write_text(transcript.beside, encoding="utf-8")
    script.write_text("\n".join(transcript.commands), encoding="utf-8")
    programs = [str(program), *([str(beside)] if transcript.beside else [])]
    words = ["compare", *programs, "--step"] if transcript.word == "lockstep" else ["debug", str(program)]
    if transcript.calls:
        (directory / "calls.txt").write_text(transcript.calls, encoding="utf-8")
        words += ["--calls", str(directory / "calls.txt")]
    done = CliRunner().invoke(group, [*words, "--script", str(script), *transcript.options])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    shown = done.stdout + ("" if done.stdout.endswith("\n") else "\n") + done.stderr
    return shown.replace(f"{directory}/", "")


@pytest.mark.parametrize("transcript", ALL, ids=lambda item: item.name)
def test_a_session_prints_its_transcript(transcript: Transcript, tmp_path: Path, update: bool) -> None:
    assert transcript.commands, "a session has commands"
    shown = session(transcript, tmp_path)
    if update:
        chapter = transcript.path.read_text(encoding="utf-8")
        fence = f"```{transcript.word}{''.join(f' {item}' for item in transcript.options)}\n"
        transcript.path.write_text(
            chapter.replace(f"{fence}{transcript.text}```", f"{fence}{shown}```", 1), encoding="utf-8"
        )
    else:
        assert shown == transcript.text


@pytest.mark.parametrize(("word", "table"), [("session", DEBUG_COMMANDS), ("lockstep", LOCKSTEP_COMMANDS)])
def test_every_command_has_a_transcript(word: str, table: tuple[Command[Answer], ...]) -> None:
    words = {command.split()[0] for item in ALL if item.word == word for command in item.commands}
    known = {name for command in table for name in (command.name, *command.short)}
    used = {found_command(table, name).name for name in words & known}
    assert {command.name for command in table} - used == set()
