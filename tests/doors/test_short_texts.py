"""Keys, scripts, calls and settings are read in one place: odd files are refused with a sentence, and none makes a command wait."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from relax_explorer.core.syntax import notes as reader
from relax_explorer.core.syntax.notes import UnreadableText, short_text
from relax_explorer.ui import directories, history
from relax_explorer.ui.cli.main import group
from tests.support.roundtrip import SAMPLES
from tests.test_structure import trees

PROGRAM = str(SAMPLES[0])
ODD: dict[str, tuple[Callable[[Path], object], str]] = {
    "pipe": (os.mkfifo, "it is a pipe"),
    "folder": (Path.mkdir, "it is a folder"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "it is a device"),
    "binary": (lambda path: path.write_bytes(b"key j\n" + b"\0" * 9), "it is a binary file"),
    "latin": (lambda path: path.write_bytes(b"# \xe9"), "it is not UTF-8 text"),
    "long": (lambda path: path.write_bytes(b"#" * (reader.MOST_BYTES + 1)), "it is larger than 16 MB"),
    "missing": (lambda path: None, "No such file"),
    "circle": (lambda path: path.symlink_to(path), "symbolic link"),
}
READERS = {
    "keys": ("play", "FILE", PROGRAM, "-p", ""),
    "script": ("debug", PROGRAM, "--script", "FILE"),
    "calls": ("run", PROGRAM, "--calls", "FILE"),
    "calls of a graph": ("graph", PROGRAM, "--heat", "time", "--run-calls", "FILE", "--format", "dot"),
    "settings": ("--config", "FILE", "check", PROGRAM),
}


@pytest.mark.parametrize("kind", ODD)
def test_an_odd_file_is_refused(kind: str, tmp_path: Path) -> None:
    make, said = ODD[kind]
    make(tmp_path / "odd")
    with pytest.raises(UnreadableText, match=said):
        short_text(tmp_path / "odd")
    for name, words in READERS.items():
        done = CliRunner().invoke(group, [word.replace("FILE", str(tmp_path / "odd")) for word in words])
        assert (name, done.exit_code, said in done.output) == (name, 2, True), done.output


@pytest.mark.parametrize("kind", ODD)
def test_odd_files_of_our_own_state_are_empty(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(directories, "state", lambda: tmp_path)
    for name in (history._RECENT, history._NAME):
        ODD[kind][0](tmp_path / name)
    assert (history.recent(), history.remembered("key")) == ([], {})


def test_a_name_that_no_file_has_and_a_mark_of_the_byte_order(tmp_path: Path) -> None:
    with pytest.raises(UnreadableText, match="null"):
        short_text("a\0b")
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbfkey j")
    assert short_text(tmp_path / "a") == "key j"


def test_nothing_else_of_the_user_interface_reads_text() -> None:
    """Files of the package itself and samples are ours, and may be read directly."""
    found = {
        path
        for path, tree in trees()
        if path.startswith("relax_explorer/ui/")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("read_text", "read_bytes")
    }
    home, edits = "relax_explorer/ui/tui/screens/home_screen.py", "relax_explorer/ui/tui/source_edits.py"
    schemas = "relax_explorer/ui/cli/schemas.py"
    assert found == {"relax_explorer/ui/cli/token_server.py", schemas, home, edits}, (
        "edits keep the bytes of line ends"
    )
