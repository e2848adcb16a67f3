"""A child in the user's Python answers, raises, crashes, hangs, prints, or can't be started; the next question is answered again."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from relax_explorer.viz import answering_child
from relax_explorer.viz.answering_child import AnsweringChild, Unanswered

PROGRAM = """
import ctypes, os, sys, time
from answering import Refused

def ask_double(number, parts):
    return number * 2, {name: data + data for name, data in parts.items()}

def ask_raise(parts):
    return {}["no \\x1b[2Jkey"], {}

def ask_refuse(parts):
    raise Refused("unknown-pass", "there is none", near=["FuseOps"])

def ask_crash(parts):
    ctypes.string_at(0)

def ask_leave(parts):
    os._exit(7)

def ask_exit(parts):
    sys.exit(3)

def ask_sleep(parts):
    time.sleep(60)

def ask_print(parts):
    print("to standard output", flush=True)
    os.write(1, b"x" * 1_000_000)
    return sys.stdin.read(), {}

def ask_close(parts):
    sys.stdout.close()
    return 1, {}

def ask_path(parts):
    return sys.path, {}

QUESTIONS = {name[4:]: value for name, value in list(globals().items()) if name.startswith("ask_")}
"""


@pytest.fixture
def child(tmp_path: Path) -> Iterator[AnsweringChild]:
    (tmp_path / "program.py").write_text(PROGRAM)
    found = AnsweringChild(str(tmp_path / "program"))
    yield found
    found.close()


def ask(child: AnsweringChild, question: str, seconds: float = 30, **values: object) -> object:
    return child.ask(question, values, {}, seconds, "my.module:pass")[0]


def refused(child: AnsweringChild, question: str, seconds: float = 30) -> Unanswered:
    with pytest.raises(Unanswered) as caught:
        ask(child, question, seconds)
    return caught.value


def test_values_and_parts_come_back_exactly(child: AnsweringChild) -> None:
    data = {"text": b"a\0b\n", "large": bytes(range(256)) * 8_000, "empty": b""}
    assert child.ask("double", {"number": 21}, data, 30, "doubling") == (
        42,
        {name: item * 2 for name, item in data.items()},
    )


def test_it_stays_for_the_next_question(child: AnsweringChild) -> None:
    assert [ask(child, "double", number=n) for n in (1, 2, 3)] == [2, 4, 6]
    assert child.starts == 1


def test_an_error_is_told_with_its_place_and_the_child_goes_on(child: AnsweringChild) -> None:
    error = refused(child, "raise")
    (diagnostic,) = error.diagnostics
    assert diagnostic.code.id == "RX0705"
    assert diagnostic.message == "my.module:pass raised KeyError: 'no \\x1b[2Jkey'"
    assert any("program.py" in note and "ask_raise" in note for note in diagnostic.notes)
    assert error.kind == "KeyError"
    assert ask(child, "double", number=4) == 8
    assert child.starts == 1


def test_what_the_program_refuses_has_a_word_and_details(child: AnsweringChild) -> None:
    error = refused(child, "refuse")
    assert (error.kind, error.error, error.details) == (
        "unknown-pass",
        "there is none",
        {"near": ["FuseOps"]},
    )


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("crash", "my.module:pass crashed: SIGSEGV"),
        ("leave", "my.module:pass ended the process: exit status 7"),
    ],
)
def test_a_crash_is_told_and_the_next_question_starts_another(
    child: AnsweringChild, question: str, said: str
) -> None:
    error = refused(child, question)
    assert error.kind == "crashed"
    assert error.diagnostics[0].code.id == "RX0703"
    assert error.diagnostics[0].message == said
    if question == "crash":
        assert any("ask_crash" in note for note in error.diagnostics[0].notes)
    assert ask(child, "double", number=5) == 10
    assert child.starts == 2


def test_an_exit_is_an_error_like_others(child: AnsweringChild) -> None:
    assert refused(child, "exit").kind == "SystemExit"
    assert ask(child, "double", number=5) == 10
    assert child.starts == 1


def test_a_time_limit_ends_it(child: AnsweringChild) -> None:
    ask(child, "double", number=1)
    began = time.monotonic()
    error = refused(child, "sleep", 0.5)
    assert time.monotonic() - began < 10
    assert error.kind == "timeout"
    assert error.diagnostics[0].message == "my.module:pass took longer than 0.5 s, and was ended"
    assert ask(child, "double", number=5) == 10


def test_another_thread_cancels_it(child: AnsweringChild) -> None:
    ask(child, "double", number=1)
    threading.Timer(0.3, child.cancel).start()
    assert refused(child, "sleep").kind == "cancelled"
    assert ask(child, "double", number=5) == 10


def test_what_it_prints_and_reads_is_not_ours(child: AnsweringChild) -> None:
    assert ask(child, "print") == ""
    assert ask(child, "close") == 1
    assert ask(child, "double", number=5) == 10


def test_it_imports_nothing_from_our_folder_or_the_current_one(child: AnsweringChild) -> None:
    path = ask(child, "path")
    assert isinstance(path, list)
    assert not [item for item in path if item in ("", ".") or item.endswith("injected")]


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_an_interpreter_that_is_not_there(tmp_path: Path) -> None:
    for name, reason in ((str(tmp_path / "none"), "no such"), (str(tmp_path), "no such")):
        error = refused(AnsweringChild("program", name), "double")
        assert error.kind == "unstartable"
        assert error.diagnostics[0].code.id == "RX0701"
        assert reason in error.diagnostics[0].message


def test_a_program_that_is_no_python(tmp_path: Path) -> None:
    error = refused(AnsweringChild("program", script(tmp_path / "fake", "echo hello >&2; exit 1")), "double")
    assert error.kind == "unstartable"
    assert "hello" in error.diagnostics[0].message


def test_a_package_that_is_missing_broken_or_crashes_at_import(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import tvm\nQUESTIONS = {}\n")
    hidden = "import sys\nsys.modules.pop('tvm', None)\nsys.modules['tvm'] = None\n"
    for text, kind, code, said in (
        (hidden, "missing", "RX0702", "has no tvm"),
        ("raise OSError('libtvm.so: undefined symbol')\n", "broken", "RX0702", "undefined symbol"),
        ("import ctypes\nctypes.string_at(0)\n", "crashed", "RX0703", "importing tvm crashed: SIGSEGV"),
    ):
        place = tmp_path / kind
        place.mkdir()
        (place / ("sitecustomize.py" if kind == "missing" else "tvm.py")).write_text(text)
        python = script(tmp_path / f"python-{kind}", f'PYTHONPATH={place} exec {sys.executable} "$@"')
        error = refused(AnsweringChild(str(tmp_path / "program"), python), "double")
        (diagnostic,) = error.diagnostics
        assert (error.kind, diagnostic.code.id) == (kind, code)
        assert said in diagnostic.message
        assert diagnostic.help
        if kind == "missing":
            assert f"-m pip install {answering_child.INSTALL}" in diagnostic.help
