"""What only a process of our own may turn, Python's garbage collector and how threads take turns; its memory, colours, and report of a crash."""

from __future__ import annotations

import errno
import gc
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import relax_explorer
from relax_explorer.core import collector, later
from relax_explorer.ui import directories


def own() -> None:
    """Say that this process belongs to us: the command line, or a child that it started. Arrays are loaded when one is needed."""
    collector.use_collector(OwnCollector())
    later.load_at_use("numpy", "ml_dtypes")


def shorten_turns(seconds: float) -> None:
    """Let a thread ask for its turn after some seconds, if the process is ours."""
    if isinstance(collector.collector(), OwnCollector):
        sys.setswitchinterval(seconds)


class OwnCollector(collector.Collector):
    """Rests during work on large programs, which makes many objects and hardly any garbage: it would visit all again and again."""

    few = 5_000  # new objects that the collector may visit
    most = 500_000  # new objects between two full collections, or half as many as there are if that is more

    def __init__(self) -> None:
        self._made_old = 0
        self._alive = 0  # objects after the last full collection
        self._is_aside = False

    def rest(self) -> bool:
        """Pause it; True if it was at work."""
        was_enabled = gc.isenabled()
        gc.disable()
        return was_enabled

    def work(self, is_prompt: bool) -> None:
        """Let it go on. Many new objects count as old ones, for nearly all of them stay; garbage goes at a full collection."""
        new = gc.get_count()[0]
        if new >= self.few and not self._is_aside:
            self._made_old += new
            if self._made_old > max(self.most, self._alive // 2) and not is_prompt:
                self._made_old = 0
                gc.collect()
                self._alive = len(gc.get_objects())
            else:
                gc.freeze()
                gc.unfreeze()  # into the oldest generation
        gc.enable()

    def set_aside(self) -> None:
        """Hide all present objects from it."""
        self._is_aside = True  # to count them takes a walk through all
        gc.freeze()

    def take_back(self) -> bool:
        """Let it see all objects again; True if some were hidden."""
        was_aside, self._is_aside = self._is_aside, False
        gc.unfreeze()
        return was_aside


# -- colors ----------------------------------------------------------------------------------------------------------
# Whether colours are wanted, for the explorer and the command line alike: as it was typed, else as the environment says (https://no-color.org).


_colors = "auto"


def use_colors(choice: str) -> None:
    """Choose colours for this process: `always`, `never`, or `auto`, where the environment and the stream decide."""
    global _colors
    _colors = choice


def no_colors() -> bool:
    """True if colours were turned off; by `auto` with a NO_COLOR that is not empty, and in a dumb terminal."""
    if _colors != "auto":
        return _colors == "never"
    return bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"


def has_colors(stream: TextIO) -> bool:
    """True if what a stream gets may have colours: that of a terminal, or any if they were asked for."""
    return not no_colors() and (_colors == "always" or stream.isatty())


# -- crash -----------------------------------------------------------------------------------------------------------
# Write a report of an internal error, to attach to a bug report.


def write_report(error: BaseException) -> Path:
    """Write traceback and versions to the state directory, or to a temporary one. Returns the path of the file."""
    import platform
    import tempfile
    import time
    import traceback

    text = "".join(traceback.format_exception(error))
    head = f"relax-explorer {relax_explorer.__version__}, Python {platform.python_version()}, {platform.platform()}\narguments: {sys.argv[1:]!r}\n\n"
    name = time.strftime("crash-%Y%m%d-%H%M%S.txt")
    for folder in (directories.state(), Path(tempfile.gettempdir())):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(head + text, encoding="utf-8")
        except OSError:
            continue
        return folder / name
    return Path("(not written)")


# -- want of memory --------------------------------------------------------------------------------------------------
# What happens when the memory that a process may have is too small: one sentence, and an exit status of its own.


NO_MEMORY = 71
LEAST = 192 << 20  # bytes of address space for the smallest program
ROOMY = 16 << 30  # with less, libraries get one thread each: every thread reserves tens of megabytes
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
_SIGNS = (
    "can't start new thread",
    "failed to map segment",
    "cannot allocate memory",
    "unable to allocate",
    "out of memory",
)
_NO_MEMORY_TEXT = b"relax-explorer: there is not enough memory: a limit (ulimit -v) or the machine allows too little for this command\n"


def check_memory() -> None:
    """Refuse a limit in which nothing can run. Numpy and others get few threads in a narrow one; so this comes before them."""
    threading.excepthook = _of_thread
    most = _limit()
    if most is None or most > ROOMY:
        return
    for name in _THREADS:
        os.environ.setdefault(name, "1")
    if most < LEAST:
        text = f"relax-explorer: the limit of memory, {most >> 20} MB (ulimit -v), is too low: it takes {LEAST >> 20} MB at least\n"
        _leave(text.encode())


def leave_for_memory() -> None:
    """End the process with the sentence. It allocates nothing, and no thread delays it."""
    _leave(_NO_MEMORY_TEXT)


def is_want_of_memory(error: BaseException) -> bool:
    """True if an error comes from want of memory."""
    return any(
        isinstance(item, MemoryError)
        or (isinstance(item, OSError) and item.errno == errno.ENOMEM)
        or (
            isinstance(item, (ImportError, OSError, RuntimeError, SystemError))
            and any(sign in str(item).lower() for sign in _SIGNS)
        )
        for item in _chain(error)
    )


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _limit() -> int | None:
    """The bytes of address space that this process may have; None without a limit."""
    try:
        import resource
    except ImportError:  # there is none on Windows
        return None
    soft = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if soft == resource.RLIM_INFINITY else soft


def _of_thread(given: threading.ExceptHookArgs) -> None:
    if given.exc_value is not None and is_want_of_memory(given.exc_value):
        leave_for_memory()
    threading.__excepthook__(given)


def _leave(text: bytes) -> None:
    os.write(2, text)
    os._exit(NO_MEMORY)
