"""A recording of a stranger: whatever its keys are, it opens its program only, and writes nothing, unless it is allowed to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from relax_explorer.core.session.debug_commands import DEBUG_COMMANDS
from relax_explorer.ui.tui import keys
from relax_explorer.ui.tui.typed import TYPED
from tests.cli.test_commands import rxe_cli
from tests.doors.audited import Done, audited
from tests.support.roundtrip import SAMPLES

PROGRAM = SAMPLES[0]
CONTRACTS = PROGRAM.parent / "shapes" / "fast_flatten.shapes"
LEAVING = {"exit", "quit", "leave"}


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """A folder of things that a recording would like to read or to overwrite."""
    folder = tmp_path / "canary"
    folder.mkdir()
    (folder / "secret.py").write_text(PROGRAM.read_text())
    (folder / "calls.txt").write_text("main(zeros)\n")
    (folder / "kept.html").write_text("mine")
    np.savez(folder / "w.npz", x=np.ones(3, "float32"))
    np.save(folder / "w.npy", np.ones(3, "float32"))
    return folder


def recording(lines: Sequence[str]) -> str:
    return "size 120 30\n" + "".join(
        f"key escape 2 colon\npaste {json.dumps(line)}\nkey enter\n" for line in lines
    )


def played(tmp_path: Path, keys: str, program: Path, *options: str) -> Done:
    file, place = tmp_path / "a.keys", tmp_path / "here"
    place.mkdir(exist_ok=True)
    file.write_text(keys)
    return audited(["play", str(file), str(program), "-p", "", *options], place, tmp_path)


def driven(tmp_path: Path, program: Path, lines: Sequence[str], presses: Sequence[str] = ()) -> Done:
    """What command lines and keys do in an explorer that a recording drives."""
    place = tmp_path / "here"
    place.mkdir()
    stdin = json.dumps([str(program), lines, presses])
    return audited([], place, tmp_path, stdin, program=Path(__file__).with_name("typed_lines.py"))


def touched(done: Done, tmp_path: Path) -> list[tuple[str, str]]:
    """What was done beyond the program: all that changed, except caches and what is temporary, and what was read of others."""
    own = [tmp_path / "home" / "cache", tmp_path / "tmp", Path("/dev/null")]
    found = [
        (kind, path)
        for kind, path in done.events
        if kind == "write"
        and not (any(Path(path).is_relative_to(place) for place in own) or Path(path) == tmp_path / "home")
    ]
    return (
        found
        + done.inside(tmp_path / "canary", "read", "list")
        + done.inside(tmp_path / "here", "read", "list")
    )


@pytest.mark.parametrize("program", [PROGRAM, CONTRACTS], ids=["program", "contracts"])
def test_no_command_opens_or_writes_a_file_of_others(canary: Path, tmp_path: Path, program: Path) -> None:
    files = ("secret.py", "new.svg", *(("calls.txt", "kept.html", "w.npz") if program is PROGRAM else ()))
    names = [
        name for name in dict.fromkeys(item.name for item in (*TYPED, *DEBUG_COMMANDS)) if name not in LEAVING
    ]
    lines = [f"{name} {canary}/{file}" for name in names for file in files]
    lines += [f"export {style} {canary}/new" for style in ("svg", "html", "json", "text", "mermaid")]
    lines += [
        f"passes BindParams{{params={canary}/w.npz}}",
        f"passes ReplaceModule{{text={canary}/secret.py}}",
    ]
    lines += [
        f"open {canary}/",
        f"open {program}@../canary/secret.py",
        f"open {program.parent}/..{canary}/secret.py",
    ]
    done = driven(tmp_path, program, [*lines, *names])
    assert (done.status, touched(done, tmp_path)) == (0, []), done.output
    assert f"not opened: {canary}/secret.py; a recording opens other files with --allow-writes" in done.output


def test_no_key_and_no_dialog_opens_or_writes_a_file_of_others(canary: Path, tmp_path: Path) -> None:
    pressed = [part for key in keys.KEYS if key.action not in LEAVING for part in key.key.split()]
    done = driven(tmp_path, PROGRAM, [], pressed)
    assert (done.status, touched(done, tmp_path)) == (0, []), done.output
    (tmp_path / "here").rmdir()
    files = ("w.npy", "w.npy", "w.npy", "w.npz", "calls.txt")  # three parameters, all inputs, a file of calls
    fields = "key tab\n".join(f"paste {json.dumps(f'{canary}/{name}')}\n" for name in files)
    new = f"key escape escape 2 I up\npaste {json.dumps(f'{canary}/new.txt')}\nkey ctrl+s\n"
    step = f"key escape escape E a\npaste {json.dumps(f'BindParams{{params={canary}/w.npz}}')}\nkey enter\n"
    done = played(tmp_path, f"key 2 I\n{fields}key enter\n{new}{step}", PROGRAM)
    assert touched(done, tmp_path) == []
    for said in (
        f"not written: {canary}/new.txt",
        f"not opened: {canary}/calls.txt",
        f"not opened: {canary}/w.npz",
    ):
        assert said in done.output


def test_a_recording_that_is_trusted_opens_and_writes(canary: Path, tmp_path: Path) -> None:
    lines = [f"open {canary}/secret.py", f"report {canary}/kept.html"]
    done = played(tmp_path, recording(lines), PROGRAM, "--allow-writes")
    assert (done.status, "not opened" in done.output) == (0, False)
    assert (str(canary / "secret.py") in done.of("read"), (canary / "kept.html").read_text() == "mine") == (
        True,
        False,
    )


def test_files_of_the_command_line_are_its_own(canary: Path, tmp_path: Path) -> None:
    folder = tmp_path / "build"
    folder.mkdir()
    for number in (0, 1):
        (folder / f"{number}_Pass.py").write_text(PROGRAM.read_text())
    done = played(
        tmp_path,
        recording([f"open {folder}/1_Pass.py", f"calls {canary}/calls.txt"]),
        folder,
        "--calls",
        str(canary / "calls.txt"),
    )
    assert (done.status, "not opened" in done.output) == (0, False)


def test_only_the_command_line_allows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.keys").write_text("key colon\ntype export text kept.txt\nkey enter\n")
    (tmp_path / "relax-explorer.toml").write_text("[play]\nallow-writes = true\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RXE_PLAY_ALLOW_WRITES", "1")
    done = rxe_cli("play", "a.keys", str(PROGRAM), "-p", "")
    assert "--allow-writes" in done.output
    assert not (tmp_path / "kept.txt").exists()
