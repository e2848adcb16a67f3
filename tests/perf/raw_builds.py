"""Benchmarks of raw builds, which TVM makes first: recording, reading all stages beside one parse of each different text, searching long logs."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from functools import cache, partial
from pathlib import Path

from relax_explorer.core.session.bisect import bisect
from relax_explorer.core.session.build_files import open_build
from relax_explorer.core.session.recorded import RecordedSession
from relax_explorer.core.syntax.parser import parse
from tests.perf.benchmark import Benchmark, Seconds, Work
from tests.perf.scratch import empty_folder

ROOT = Path(__file__).parents[2]
LOG = 200_000_000  # bytes of a long log
_NOISE = b"[13:00:01] INFO worker 17 finished step 1234 with loss=0.1234 at user@host\n"


@cache
def _builds() -> Path:
    """The builds of TVM; making them takes 15 s."""
    folder = Path(tempfile.mkdtemp(prefix="rxe-builds-"))
    subprocess.run(
        [sys.executable, "-m", "tests.builds.make", str(folder)], cwd=ROOT, check=True, capture_output=True
    )
    return folder


def _indexed(form: str) -> tuple[str, Work]:
    """All stages of the decoder's module, read and checked, as the explorer reads them."""
    path = _builds() / "decoder" / form

    def work() -> None:
        session = RecordedSession(open_build(path), profile="tvm")
        session.run_all()
        assert len(session.stages) == 17

    return "", work


def _parsed(form: str) -> Work:
    """One parse of each different text of the module."""
    build = open_build(_builds() / "decoder" / form)
    texts = dict.fromkeys([stage.text for stage in build.stages])

    def work() -> None:
        for text in texts:
            parse(text)

    return work


def _first(form: str) -> tuple[str, Work]:
    """From the start of the reading to the first stage."""
    path = _builds() / "decoder" / form
    return "", lambda: RecordedSession(open_build(path), profile="tvm")


def _bisected() -> tuple[str, Work]:
    """All stages of a right model give the results of the first, its kernels compiled anew."""
    path = _builds() / "cnn" / "dumpir"

    def work() -> None:
        assert bisect(open_build(path)).failed is None

    return "", work


def _long_log(is_empty: bool) -> tuple[str, Work]:
    """A log that another program wrote: without a module, or with a build behind it."""
    path = empty_folder() / "a.log"
    with path.open("wb") as file:
        for _ in range(LOG // (1000 * len(_NOISE))):
            file.write(1000 * _NOISE)
        if not is_empty:
            file.write((_builds() / "cnn" / "print_after_all.log").read_bytes())

    def work() -> None:
        assert len(open_build(path).stages) == (1 if is_empty else 17)

    return "", work


_BUILD = """
import contextlib, sys, time
import tvm
from relax_explorer.recorder import record
from tests.builds import models
module = models.decoder(int(sys.argv[1]))[0]
began = time.process_time()
with record(sys.argv[2]) if sys.argv[2:] else contextlib.nullcontext():
    with tvm.target.Target("llvm"), tvm.transform.PassContext(opt_level=3):
        tvm.compile(module, target="llvm")
print(time.process_time() - began)
"""


def _build(layers: int, *target: str) -> Seconds:
    """The seconds of processor time that TVM takes for a model in a process of its own, recorded or not."""
    command = [sys.executable, "-c", _BUILD, str(layers), *target]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return Seconds(done.stdout)


def _recorded(layers: int) -> tuple[str, Work]:
    """A build with the recorder in it."""
    folder = empty_folder()

    def work() -> Seconds:
        (folder / "run.rxs").unlink(missing_ok=True)
        return _build(layers, str(folder / "run.rxs"))

    return "", work


def _indexed_recording() -> tuple[str, Work]:
    """All stages of a recording of twelve layers, read and checked."""
    path = empty_folder() / "run.rxs"
    _build(12, str(path))

    def work() -> None:
        session = RecordedSession(open_build(path), profile="tvm")
        session.run_all()
        assert len(session.stages) > 15

    return "", work


def _opened() -> tuple[str, Work]:
    """From a recording of twelve layers to its first stage."""
    path = empty_folder() / "run.rxs"
    _build(12, str(path))
    return "", lambda: RecordedSession(open_build(path), profile="tvm")


RAW_BUILDS = [
    *[
        Benchmark(
            f"record-{layers}-layers",
            partial(_recorded, layers),
            repeat=3,
            hand=partial(partial, _build, layers),
            most=2.5,
        )
        for layers in (1, 12)
    ],
    Benchmark("first-stage-recording", _opened, repeat=3, limit=0.6),
    Benchmark("index-recording", _indexed_recording, repeat=3, limit=7.0),
    *[
        Benchmark(f"index-{name}", partial(_indexed, form), hand=partial(_parsed, form), most=1.5, limit=2.0)
        for name, form in (("folder", "dumpir"), ("log", "print_after_all.log"))
    ],
    *[
        Benchmark(f"first-stage-{name}", partial(_first, form), limit=0.6)
        for name, form in (("folder", "dumpir"), ("log", "print_after_all.log"))
    ],
    Benchmark("bisect-cnn", _bisected, repeat=3, limit=3.0),
    Benchmark("search-200-mb", partial(_long_log, True), repeat=3, limit=2.0),
    Benchmark("log-of-200-mb", partial(_long_log, False), repeat=3, limit=2.0),
]
