"""Recordings of builds as files: both forms open as one build, what was written before a kill can be read, and hostile files are refused."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import pickle
import random
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from relax_explorer import recorder
from relax_explorer.core.diagnostics import Failure, ParseError
from relax_explorer.core.session import containers
from relax_explorer.core.session.build_files import open_build
from relax_explorer.core.session.builds import Build
from relax_explorer.core.session.containers import Container, open_container
from relax_explorer.core.session.recorded import RecordedSession
from relax_explorer.core.session.stages import Kind
from tests.cli.test_commands import rxe_cli
from tests.support import recordings
from tests.support.recordings import KERNELS, PROGRAM, Writer

Damage = Callable[[dict[str, bytes]], dict[str, bytes]]


@pytest.fixture(params=["journal", "archive"])
def recording(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return getattr(recordings, request.param)(tmp_path / "run.rxs")


def test_a_recording_is_a_build_with_the_lineages_that_the_recorder_saw(recording: Path) -> None:
    build = open_build(recording)
    assert [str(stage) for stage in build.stages] == ["0 input", "1 First", "4 Second", "5 Third"]
    found = [(item.kind, item.numbers, item.of) for item in build.asides]
    assert found == [(Kind.HELPER, "2–3", "Second"), (Kind.MANAGER, "6", ""), (Kind.KERNELS, "7", "")]
    assert (build.remarks, build.is_recorded) == ((), True)
    assert build.stages[2].recorded is not None
    assert build.stages[2].recorded.run_by == "build.py:12 › Pipeline"


def test_lineages_are_those_of_the_recorder_also_where_the_texts_tell_others(tmp_path: Path) -> None:
    """The texts alone would make the module that a script exchanges by hand a helper of the next pass."""
    made = Writer(tmp_path / "run.rxs")
    made.lineage(0, "module")
    made.lineage(1, "module")
    made.stage("input", PROGRAM.format(op="exp"), lineage=0, input=True)
    made.stage("Other", PROGRAM.format(op="log"), lineage=1)
    made.stage("A", PROGRAM.format(op="sqrt"), lineage=0)
    made.end()
    build = open_build(tmp_path / "run.rxs")
    assert [str(stage) for stage in build.stages] == ["0 input", "2 A"]
    assert [(item.kind, item.numbers) for item in build.asides] == [(Kind.OTHER, "1")]


def test_a_session_knows_time_and_place_of_each_pass_and_reads_equal_texts_once(recording: Path) -> None:
    session = RecordedSession(open_build(recording))
    session.run_all()
    assert [(item.seconds, item.changed) for item in session.stages] == [
        (0.25, True), (0.25, False), (0.25, True), (0.25, True)
    ]  # fmt: skip
    assert session.stages[1].module is session.stages[0].module
    assert session.stages[3].run_by == "build.py:12 › Pipeline"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("show", "{}@Second"), "R.square"),
        (("show", "{}@7"), "def k("),
        (("who", "{}", "y"), "4 ? Second"),
        (("diff", "{}", "--between", "1..4"), "square"),
        (("run", "{}", "--stage", "Second", "--input", "x=3"), "[9. 9.]"),
        (("show", "{}@2"), "def helper"),
    ],
)
def test_every_command_takes_a_recording(recording: Path, arguments: tuple[str, ...], expected: str) -> None:
    done = rxe_cli(*[word.format(recording) for word in arguments])
    assert done.exit_code == 0, done.output
    assert expected in done.stdout


def test_a_range_of_stages_is_a_build_with_its_own_lineages(recording: Path) -> None:
    build = open_build(f"{recording}@2..5")
    assert [stage.number for stage in build.stages] == [4, 5]
    assert [item.kind for item in build.asides] == [Kind.HELPER]


def test_stages_go_to_other_processes_as_text(recording: Path) -> None:
    stage = pickle.loads(pickle.dumps(open_build(recording).stages[2]))
    assert (stage.made_by, "R.square" in stage.text) == ("Second", True)


def test_texts_are_read_when_they_are_asked_for(recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    old = Container.text
    monkeypatch.setattr(Container, "text", lambda self, key: (asked.append(key), old(self, key))[1])
    build = open_build(recording)
    assert asked == []
    assert build.stages[0].module.functions
    assert len(set(asked)) == 1


def test_constants_stand_in_arrays_and_come_back_bit_by_bit(tmp_path: Path) -> None:
    """The text names the array and the bytes before it."""
    data = np.arange(4, dtype="<f4")
    head = struct.pack("<QQiiiBBHqq", 0xDD5E40F096B4A13F, 0, 1, 0, 1, 2, 32, 1, 4, 16)
    made = Writer(tmp_path / "run.rxs")
    key = made.array(np.frombuffer(data.tobytes(), np.uint8))
    made.stage(
        "input", f"# rxs:{key}:{base64.b64encode(head).decode()}\n" + PROGRAM.format(op="exp"), input=True
    )
    made.end()
    text = open_build(tmp_path / "run.rxs").stages[0].text
    assert base64.b64decode(text[2:].partition("\n")[0]) == head + data.tobytes()


# -- ended early -----------------------------------------------------------------------------------------------------


def opened(path: Path) -> tuple[Build | None, str]:
    """The build in a file, or the code of the problem with it."""
    try:
        return open_build(path), ""
    except Failure as failure:
        assert failure.diagnostics[0].message  # noqa: PT017  # each problem has a sentence
        return None, failure.diagnostics[0].code.id


def test_a_journal_opens_whatever_its_last_byte_is(tmp_path: Path) -> None:
    """As after kill -9: every whole frame counts, and a stage is there with its text."""
    data = recordings.journal(tmp_path / "whole").read_bytes()
    place, counts = tmp_path / "cut.journal", []
    for end in range(len(recorder.MAGIC), len(data), 7):
        place.write_bytes(data[:end])
        build, code = opened(place)
        if build is None:
            assert code in ("RX0035", "RX0036")
            counts.append(0)
            continue
        assert all(stage.module.functions for stage in build.every)
        assert build.remarks[0].startswith("recording ended early")
        counts.append(len(build.every))
    assert counts == sorted(counts)
    assert set(counts) == {*range(9)}


def test_the_pass_that_ran_is_named(tmp_path: Path) -> None:
    made = Writer(tmp_path / "run.rxs.journal")
    made.lineage(0, "module")
    made.stage("input", PROGRAM.format(op="exp"), input=True)
    made.stage("A", PROGRAM.format(op="log"))
    made.line(recorder.BEGIN, **{"pass": "Pipeline", "depth": 0})
    made.line(recorder.BEGIN, **{"pass": "FuseOps", "depth": 1})
    made.journal.close()
    build = open_build(tmp_path / "run.rxs.journal")
    assert build.remarks == ("recording ended early, while FuseOps ran: it has 1 pass",)
    done = rxe_cli("who", str(tmp_path / "run.rxs.journal"), "y")
    assert "while FuseOps ran" in done.stderr


def test_a_frame_with_a_wrong_checksum_ends_what_is_read(tmp_path: Path) -> None:
    """A flipped bit in a name makes no other pass of it."""
    path = recordings.journal(tmp_path / "run.rxs")
    data = path.read_bytes()
    path.write_bytes(
        data.replace(b'"pass": "Second", "depth": 1, "inside"', b'"pass": "Sacond", "depth": 1, "inside"')
    )
    assert path.read_bytes() != data
    build = open_build(path)
    assert [str(stage) for stage in build.stages] == ["0 input", "1 First"]
    assert build.remarks[0] == "recording ended early, while Second ran: it has 2 passes"
    assert "torn or damaged" in build.remarks[1]


@pytest.mark.parametrize("cut", [0, 5, 40])
def test_behind_a_write_that_failed_frames_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut: int
) -> None:
    """A full disk, or a signal in the middle of a frame: what was written of it goes."""
    path = tmp_path / "run.rxs.journal"
    journal = recorder.Journal(str(path), {"schema": recorder.SCHEMA, "pid": 1})
    journal.add(recorder.BEGIN, b'{"pass": "A"}')
    write, rest = os.write, [cut]

    def torn(file: int, data: memoryview) -> int:
        if not rest[0]:
            raise OSError(28, "No space left on device")
        done = write(file, data[: rest[0]])
        rest[0] = 0
        return done

    monkeypatch.setattr(os, "write", torn)
    with pytest.raises(OSError, match="No space"):
        journal.add(recorder.BEGIN, b'{"pass": "B", "more": "' + 100 * b"x" + b'"}')
    monkeypatch.setattr(os, "write", write)
    journal.add(recorder.END, b'{"failure": "the disk is full"}')
    journal.close()
    opened = open_container(str(path))
    assert opened.torn == 0
    assert (opened.told[0].process["ended"], opened.told[0].process["failure"]) == (True, "the disk is full")


def test_an_array_that_was_not_written_is_not_named_by_a_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = recorder.Recorder(str(tmp_path / "run.rxs"), recorder.Options(), True)
    monkeypatch.setattr(made, "_add", lambda kind, line: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        made._array(np.ones(3))
    frames: list[bytes] = []
    monkeypatch.setattr(made, "_add", lambda kind, line: frames.append(kind))
    made._array(np.ones(3))
    made._array(np.ones(3))
    assert frames == [recorder.ARRAY]  # once, at the first time that it succeeds


@pytest.mark.parametrize("seed", range(40))
def test_a_garbled_recording_is_refused_or_opens_in_part(recording: Path, seed: int) -> None:
    """Nothing but a diagnostic comes out of a file with flipped, missing or doubled bytes."""
    chance = random.Random(seed)
    data = bytearray(recording.read_bytes())
    for _ in range(chance.randrange(1, 5)):
        start = chance.randrange(len(data))
        kind = chance.randrange(3)
        if kind == 0:
            data[start] ^= 1 << chance.randrange(8)
        elif kind == 1:
            del data[start : start + chance.randrange(1, 200)]
        else:
            data[start:start] = data[start : start + chance.randrange(1, 200)]
    recording.write_bytes(data)
    build, code = opened(recording)
    assert (build is None) == (code in ("RX0035", "RX0036", "RX0001"))
    for stage in build.every if build is not None else ():
        with contextlib.suppress(ParseError):
            assert stage.module.functions is not None


# -- hostile archives ------------------------------------------------------------------------------------------------


def rewritten(path: Path, change: Damage) -> Path:
    """The archive with other members, each with the hash that zip files have."""
    with zipfile.ZipFile(recordings.archive(path)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in change(members).items():
            archive.writestr(
                zipfile.ZipInfo(name) if name == "manifest.json" else name, data, zipfile.ZIP_DEFLATED
            )
    return path


def without(name: str) -> Damage:
    return lambda members: {key: data for key, data in members.items() if key != name}


def having(name: str, data: bytes) -> Damage:
    return lambda members: {**members, name: data}


def with_stage(**values: object) -> Damage:
    def change(members: dict[str, bytes]) -> dict[str, bytes]:
        first = json.loads(members["stages.jsonl"].split(b"\n")[0])
        return {**members, "stages.jsonl": json.dumps({**first, **values}).encode() + b"\n"}

    return change


MANY = b"\n".join([b"{}"] * 3)
HOSTILE: dict[str, tuple[Damage, str, str]] = {
    "a path outside": (having("../../etc/passwd", b"x"), "RX0035", "'../../etc/passwd'"),
    "an absolute path": (having("/etc/passwd", b"x"), "RX0035", "'/etc/passwd'"),
    "a strange folder": (having("ir/evil.txt", b"x"), "RX0035", "'ir/evil.txt'"),
    "no manifest": (without("manifest.json"), "RX0035", "lacks manifest.json"),
    "no stages": (without("stages.jsonl"), "RX0035", "lacks stages.jsonl"),
    "no stage": (having("stages.jsonl", b""), "RX0035", "no pass had ended"),
    "a future version": (having("manifest.json", b'{"schema": 99, "processes": []}'), "RX0036", "version 99"),
    "no version": (having("manifest.json", b"{}"), "RX0036", "version None"),
    "processes of a wrong kind": (
        having("manifest.json", b'{"schema": 1, "processes": 7}'),
        "RX0035",
        "processes",
    ),
    "a manifest of another format": (having("manifest.json", b"[" * 100_000), "RX0035", "JSON"),
    "a key twice": (having("manifest.json", b'{"schema": 1, "schema": 1}'), "RX0035", "twice"),
    "lines of another format": (having("stages.jsonl", b"\xff\xfe\n"), "RX0035", "stages.jsonl:1"),
    "a line of no process": (having("stages.jsonl", MANY), "RX0035", "names no process"),
    "a digest that is a path": (with_stage(text="../../x"), "RX0035", "names no pass or no text"),
    "a pass without a name": (with_stage(**{"pass": 7}), "RX0035", "names no pass or no text"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_is_a_diagnostic(name: str, tmp_path: Path) -> None:
    change, code, part = HOSTILE[name]
    done = rxe_cli("show", str(rewritten(tmp_path / "run.rxs", change)))
    assert done.exit_code == 2
    assert code in done.stderr
    assert part in done.stderr
    assert "hint:" in done.stderr
    assert sorted(item.name for item in tmp_path.iterdir()) == ["run.journal", "run.rxs"]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_entries_of_one_name_are_refused(tmp_path: Path) -> None:
    path = recordings.archive(tmp_path / "run.rxs")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("stages.jsonl", b"")
    done = rxe_cli("show", str(path))
    assert (done.exit_code, "several entries of one name" in done.stderr) == (2, True)


def test_a_text_with_a_wrong_hash_is_a_stage_that_cannot_be_read(tmp_path: Path) -> None:
    def change(members: dict[str, bytes]) -> dict[str, bytes]:
        key = hashlib.sha256(PROGRAM.format(op="square").encode()).hexdigest()
        return {**members, f"ir/{key}.txt": b"other"}

    build = open_build(rewritten(tmp_path / "run.rxs", change))
    assert build.stages[0].module.functions
    with pytest.raises(ParseError) as caught:
        _ = build.stages[2].module
    assert "SHA-256" in caught.value.diagnostics[0].message
    session = RecordedSession(build)
    session.run_all()
    assert [bool(item.text) for item in session.stages] == [False, False, True, False]


def test_a_text_that_is_missing_is_a_stage_that_cannot_be_read(tmp_path: Path) -> None:
    key = hashlib.sha256(PROGRAM.format(op="square").encode()).hexdigest()
    build = open_build(rewritten(tmp_path / "run.rxs", without(f"ir/{key}.txt")))
    with pytest.raises(ParseError, match="lacks a text"):
        _ = build.stages[2].module


def bomb(size: int) -> tuple[str, bytes]:
    data = b" " * size
    return hashlib.sha256(data).hexdigest(), data


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    key, data = bomb(40 << 20)
    first = with_stage(text=key)
    path = rewritten(tmp_path / "run.rxs", lambda members: {**first(members), f"ir/{key}.txt": data})
    assert path.stat().st_size < 100_000
    with pytest.raises(ParseError, match="would grow"):
        _ = open_build(path).stages[0].module


def test_a_text_that_names_one_array_very_often_is_not_filled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(containers, "_MOST_ARRAY", 1 << 20)
    path = tmp_path / "bomb.rxs"
    writer = Writer(path)
    key = writer.array(np.zeros(1 << 14, "float32"))
    for count in (16, 17):
        text = writer.text("\n".join([f"# rxs:{key}:AAAA"] * count))
        container = containers.open_container(str(path))
        if count == 16:
            assert len(container.text(text)) > 16 << 16
        else:
            with pytest.raises(Failure, match="constants of more than"):
                container.text(text)


def test_a_bomb_in_a_journal_is_not_unpacked(tmp_path: Path) -> None:
    key, data = bomb(64 << 20)
    made = Writer(tmp_path / "run.rxs")
    made.journal.add(recorder.TEXT, bytes.fromhex(key) + zlib.compress(data, 9))
    made.line(recorder.STAGE, **{"pass": "input", "input": True, "text": key})
    made.end()
    with pytest.raises(ParseError, match="larger than any"):
        _ = open_build(tmp_path / "run.rxs").stages[0].module


def test_an_archive_of_ten_million_entries_is_refused_before_they_are_listed(tmp_path: Path) -> None:
    """A directory of 480 MB, of which a sparse file holds nothing."""
    path, size = tmp_path / "run.rxs", 480_000_000
    head = b"PK\x03\x04" + bytes(26) + b"manifest.json"
    with path.open("wb") as file:
        file.write(head)
        file.truncate(len(head) + size)
        file.seek(0, 2)
        file.write(struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 0xFFFE, 0xFFFE, size, len(head), 0))
    with pytest.raises(ParseError, match="directory has 480,000,000 bytes"):
        open_container(str(path))


@pytest.mark.parametrize(
    "data", [b"", b"PK", b"RXJ", b"RXJ\x01", b"{}", b"PK\x03\x04" + bytes(26) + b"manifest.json"]
)
def test_a_file_that_only_has_the_name_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "run.rxs"
    path.write_bytes(data)
    done = rxe_cli("check", str(path))
    assert (done.exit_code, done.output.count("error[RX003")) == (2, 1)


def test_a_truncated_archive_says_what_to_do(tmp_path: Path) -> None:
    path = recordings.archive(tmp_path / "run.rxs")
    path.write_bytes(path.read_bytes()[:-30])
    done = rxe_cli("show", str(path))
    assert (done.exit_code, "RX0035" in done.stderr, "journal" in done.stderr) == (2, True, True)


def test_kernels_alone_are_a_build(tmp_path: Path) -> None:
    made = Writer(tmp_path / "run.rxs")
    made.lineage(0, "kernels")
    made.stage("input", KERNELS, input=True)
    made.stage("tirx.Lower", KERNELS)
    made.end()
    assert [stage.number for stage in open_build(tmp_path / "run.rxs").stages] == [0, 1]
