"""No text of a program, a file name or a command line steers the terminal: every payload at every place in every output.

`python -m tests.cli.injection` tries the payloads one by one.
"""

from __future__ import annotations

import json
import os
import re
import unicodedata
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import relax_explorer as rxe
from relax_explorer.ui.cli.main import group
from relax_explorer.viz.visible import visible, visible_json, visible_lines
from tests.support.injection import LATER, PAYLOADS, PLACES, SHORT, program, unsafe

SINKS: dict[str, tuple[str, ...]] = {
    "show": ("show", "FILE"),
    "show json": ("show", "FILE", "--format", "json"),
    "opt": ("opt", "FILE", "--print-after-change", "--time-passes"),
    "opt at once": ("opt", "FILE", "-p", "DeadCodeElimination"),
    **{f"check {style}": ("check", "FILE", "--output-format", style) for style in ("text", "concise", "json", "github", "sarif")},
    "run": ("run", "FILE"),
    "run json": ("run", "FILE", "--format", "json"),
    "trace": ("run", "FILE", "--trace", "-"),
    "frame": ("run", "FILE", "--break", "nan"),
    "debug": ("debug", "FILE", "--script", "COMMANDS"),
    "debug json": ("debug", "FILE", "--script", "COMMANDS", "--format", "json"),
    "diff": ("diff", "FILE"),
    "diff json": ("diff", "FILE", "--style", "json"),
    "diff of files": ("diff", "FILE", "OTHER"),
    **{
        f"graph {style}": ("graph", "FILE", "--format", style, "--engine", "builtin")
        for style in ("unicode", "ascii", "dot", "json", "svg")
    },
    "who": ("who", "FILE", "y"),
    "who json": ("who", "FILE", "y", "--format", "json"),
    "passes": ("passes", "--changing", "FILE"),
}  # fmt: skip


def into(sink: str, file: Path, other: Path) -> Result:
    commands = file.with_name("commands.txt")
    commands.write_text("list\nbreak\nc\nwhere\ninfo locals\nc\nc\noutput\nlist\ninfo checks\nC\n")
    names = {"FILE": str(file), "OTHER": str(other), "COMMANDS": str(commands)}
    return CliRunner().invoke(group, [names.get(word, word) for word in SINKS[sink]])


def reached(done: Result) -> str:
    """The payloads that got through, and errors; empty if all is well."""
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        return repr(done.exception)
    return unsafe((done.stdout_bytes + done.stderr_bytes).decode("utf-8", "surrogateescape"))


@pytest.fixture
def other(tmp_path: Path) -> Path:
    path = tmp_path / "other.py"
    path.write_bytes(program("comment", ""))
    return path


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("payload", [SHORT, LATER], ids=["short", "later"])
def test_no_payload_reaches_a_sink(place: str, payload: str, tmp_path: Path, other: Path) -> None:
    file = tmp_path / "p.py"
    file.write_bytes(program(place, payload))
    found = {}
    for sink in SINKS:
        done = into(sink, file, other)
        if reached(done):
            found[sink] = reached(done)
        elif "json" in sink or sink == "check sarif":
            if done.exit_code in (0, 1) and done.stdout:
                for text in done.stdout.splitlines() if "debug" in sink else [done.stdout]:
                    json.loads(text)
        elif sink == "graph svg" and done.exit_code == 0:
            ElementTree.fromstring(done.stdout)
    assert not found


def test_json_holds_the_same_data(tmp_path: Path) -> None:
    for place in ("print format", "operator", "packed function", "module attribute"):
        file = tmp_path / "p.py"
        file.write_bytes(program(place, "".join(PAYLOADS)))
        done = CliRunner().invoke(group, ["show", str(file), "--format", "json"])
        assert json.loads(done.stdout)["text"] == rxe.load(file).script()
    file.write_bytes(program("operator", "".join(PAYLOADS)))
    done = CliRunner().invoke(group, ["graph", str(file), "--format", "json"])
    assert "".join(PAYLOADS) in {node["title"] for node in json.loads(done.stdout)["nodes"]}


ARGUMENTS = [
    ("§",), ("show", "§"), ("show", "FILE", "--func", "§"), ("show", "FILE", "--stage", "§"), ("show", "FILE", "-p", "§"), ("--§",),
    ("show", "FILE", "--§"), ("show", "FILE", "--dialect", "§"), ("opt", "FILE", "-p", "FoldConstant{§=1}"), ("opt", "FILE", "-o", "§/x"),
    ("run", "FILE", "--func", "§"), ("run", "FILE", "--input", "§=1"), ("run", "FILE", "--input", "x=§"), ("run", "FILE", "--shape", "§=1"),
    ("run", "FILE", "--expect", "§"), ("run", "FILE", "--break", "§"), ("run", "FILE", "--input", "§.npz"), ("diff", "FILE", "--between", "§..§"),
    ("graph", "FILE", "--around", "§"), ("graph", "FILE", "--func", "§"), ("who", "FILE", "§"), ("who", "FILE", "x", "--func", "§"),
    ("explain", "§"), ("check", "§"), ("check", "FILE", "--select", "§"), ("--config", "§", "ops"), ("tui", "§"),
]  # fmt: skip


@pytest.mark.parametrize("words", ARGUMENTS, ids=" ".join)
@pytest.mark.parametrize("payload", [SHORT, LATER], ids=["short", "later"])
def test_what_is_typed_comes_back_safe(words: tuple[str, ...], payload: str, other: Path) -> None:
    payload = payload.replace("\ud800", "\udc9b")  # characters allowed on a command line
    arguments = [word.replace("§", payload).replace("FILE", str(other)) for word in words]
    assert not reached(CliRunner().invoke(group, arguments))


@pytest.mark.skipif(os.name != "posix", reason="names that other systems refuse")
@pytest.mark.parametrize("place", ["comment", "operator", "wrong syntax", "print format"])
def test_a_file_name_comes_back_safe(place: str, tmp_path: Path, other: Path) -> None:
    folder = tmp_path / "\x9b\u202e"
    folder.mkdir()
    file = folder / "\x1b]5\x07\x7f\u2028\ufeff\udc9b .py"
    file.write_bytes(program(place, SHORT))
    assert not {sink: found for sink in SINKS if (found := reached(into(sink, file, other)))}
    done = into("check sarif", file, other)
    for result in json.loads(done.stdout)["runs"][0]["results"]:
        uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert re.fullmatch(r"[!-~]+", uri), uri


def test_settings_come_back_safe(tmp_path: Path, other: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    escaped = "".join(f"\\U{ord(c):08x}" for c in SHORT if not 0xD800 <= ord(c) < 0xE000)
    for text in (
        f'"{escaped}" = 1',
        f'["{escaped}"]\na = 1',
        f'[check]\n"{escaped}" = 1',
        f'[check]\nprofile = "{escaped}"',
    ):
        (tmp_path / "relax-explorer.toml").write_text(text)
        done = CliRunner().invoke(group, ["check", str(other)])
        assert done.stderr
        assert not reached(done)


def every_character() -> Iterator[range]:
    """All characters. Of planes 4 to 13, which Unicode leaves without any, the ends and one of 16 between."""
    for plane in range(0, 0x110000, 0x10000):
        if 4 <= plane >> 16 <= 13:
            ends = (range(plane, plane + 0x100), range(plane + 0xFF00, plane + 0x10000))
            yield from (*ends, range(plane + 0x100, plane + 0xFF00, 16))
        else:
            yield from (range(start, start + 0x1000) for start in range(plane, plane + 0x10000, 0x1000))


def test_visible_text_is_safe_for_every_character() -> None:
    unassigned = {unicodedata.category(chr(number)) for number in range(0x40000, 0xE0000)}
    assert unassigned == {"Cn"}, "this Unicode has characters in planes that are tried in part"
    for characters in every_character():
        text = " ".join(map(chr, characters))  # two surrogates side by side are one character of JSON
        assert not unsafe(visible(text, 1 << 20) + visible_lines(text) + visible_json([text]))
        assert json.loads(visible_json([text])) == [text]
    assert visible_lines("a\n\tb é\n") == "a\n\tb é\n"
    assert visible_json({"é": "→\n"}, 1) == json.dumps({"é": "→\n"}, indent=1, ensure_ascii=False)
    flood = "e" + "\u0301" * 5
    assert visible_lines(f"{flood}\n") == "e\u0301\u0301\u0301\u0301\\u0301\n"
