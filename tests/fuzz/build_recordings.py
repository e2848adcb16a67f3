"""Damaged recordings of builds, both as they stand and behind right checksums: each opens as a build, or is refused with a diagnostic."""

from __future__ import annotations

import contextlib
import io
import random
import traceback
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

from relax_explorer import recorder
from relax_explorer.core.diagnostics import Failure, ParseError
from relax_explorer.core.session.build_files import open_build
from relax_explorer.core.session.compiled_values import compiled_runs
from relax_explorer.core.session.containers import frames_of, open_container
from relax_explorer.core.session.recorded import RecordedSession
from relax_explorer.viz.problem import render
from tests.fuzz.trial import MOST_SECONDS, Finding, TooSlow, limited
from tests.session.test_compiled_values import recording
from tests.support import recordings

_WORDS = (
    b"null", b"-1", b"1e999", b"NaN", b"true", b"[]", b"{}", b'"../../x"', b"9" * 400, b'"\\ud800"', b"[" * 2000, b'"' + b"a" * 5000 + b'"', b"0",
    b'"module"', b"\xff",
)  # fmt: skip


class BuildRecordings:
    """Writes damaged recordings into a folder."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.random, self.path = random.Random(seed), folder / "fuzzed.rxs"
        wholes = [
            recordings.journal(folder / "a.journal"),
            recordings.archive(folder / "b.rxs"),
            recording(folder / "c.journal", {}),
        ]
        self.whole = [path.read_bytes() for path in wholes]
        self._kinds: tuple[Callable[[bytes], bytes], ...] = (
            self._bytes,
            self._behind_checks,
            self._behind_checks,
        )

    def trial(self) -> Finding | None:
        """Damage one file, and open it."""
        data = self.random.choice(self._kinds)(self.random.choice(self.whole))
        self.path.write_bytes(data)
        try:
            with limited(MOST_SECONDS):
                self._opened()
        except TooSlow:
            return Finding(f"over {MOST_SECONDS} s", repr(data[:4000]), traceback.format_exc())
        except Exception as error:  # noqa: BLE001  # finding those is what this is for
            return Finding(
                f"{type(error).__name__} in a recording of a build", repr(data[:4000]), traceback.format_exc()
            )
        return None

    def _opened(self) -> None:
        try:
            build = open_build(self.path)
        except Failure as failure:
            _ = [render(item) for item in failure.diagnostics]
            return
        session = RecordedSession(build)
        session.run_all()
        for stage in build.every:
            with contextlib.suppress(ParseError):
                _ = stage.module
        with contextlib.suppress(ParseError):
            _ = list(compiled_runs(open_container(str(self.path)), build.stages[-1].module))

    def _bytes(self, data: bytes) -> bytes:
        """Flipped, missing, doubled and foreign bytes."""
        found = bytearray(data)
        for _ in range(self.random.randrange(1, 4)):
            start = self.random.randrange(len(found) + 1)
            end = min(start + self.random.choice((1, 1, 4, 40, 400)), len(found))
            word = self.random.choice(
                (b"", self.random.randbytes(2), found[start:end] * 2, self.random.choice(_WORDS))
            )
            found[start:end] = word
        return bytes(found)

    def _behind_checks(self, data: bytes) -> bytes:
        """Damage that no checksum tells."""
        out = io.BytesIO()
        if not data.startswith(recorder.MAGIC):
            with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
                chosen = self.random.choice(old.namelist())
                for name in old.namelist():
                    new.writestr(name, self._line(old.read(name)) if name == chosen else old.read(name))
            return out.getvalue()
        self.path.write_bytes(data)
        with self.path.open("rb") as file:
            frames = [(kind, inner) for kind, inner, _ in frames_of(file)]
        chosen = self.random.randrange(len(frames))
        out.write(recorder.MAGIC)
        for number, (kind, inner) in enumerate(frames):
            inner = self._line(inner) if number == chosen else inner
            kind = (
                self.random.choice((b"S", b"L", b"C", b"B", b"T", b"Z"))
                if self.random.random() < 0.03
                else kind
            )
            out.write(recorder.HEAD.pack(len(inner), zlib.crc32(inner, zlib.crc32(kind)), kind) + inner)
        return out.getvalue()

    def _line(self, data: bytes) -> bytes:
        """JSON with another value somewhere, or other bytes."""
        places = [n for n, byte in enumerate(data) if byte in b":,["]
        if not places or self.random.random() < 0.2:
            return self._bytes(data)
        start = self.random.choice(places) + 1
        end = min([n for n in places if n >= start], default=len(data))
        return data[:start] + self.random.choice(_WORDS) + data[end:]
