"""Workers: processes that do tasks side by side, as an executor.

Tasks and results are pickled, as `multiprocessing` does it, and pass only between a process and its own child.
"""

from __future__ import annotations

import io
import os
import pickle
import queue
import sys
import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from typing import IO, Any

from relax_explorer.viz.child import Child, Limits, conversation, own_errors, own_python

_START = "from relax_explorer.viz.workers import work; work()"
_SIZE = 8  # bytes of the length before a message


class Workers(Executor):
    """At most `count` processes, each started by its first task. `first` is called in each before its tasks."""

    def __init__(self, count: int, first: Callable[..., object], *arguments: object) -> None:
        self._first = pickle.dumps((first, arguments, {}))
        self._tasks: queue.SimpleQueue[tuple[Future[Any], bytes] | None] = queue.SimpleQueue()
        self._children: list[Child] = []
        self._lock, self._is_over = threading.Lock(), False
        # Daemons, since a task that never ends must not keep the process alive after ctrl+c.
        self._threads = [threading.Thread(target=self._serve, daemon=True) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def submit(self, fn: Callable[..., Any], /, *args: object, **kwargs: object) -> Future[Any]:
        """Do `fn(*args, **kwargs)` in one of the processes."""
        if self._is_over:
            raise RuntimeError("the workers have ended")
        future: Future[Any] = Future()
        self._tasks.put((future, pickle.dumps((fn, args, kwargs))))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes: after their tasks, or at once if the tasks are cancelled."""
        self._is_over = True
        for _ in self._threads:
            self._tasks.put(None)
        if cancel_futures:
            with self._lock:
                for child in self._children:
                    child.kill()
        if wait:
            for thread in self._threads:
                thread.join()

    def __exit__(self, kind: object, *_: object) -> None:
        self.shutdown(cancel_futures=kind is not None)

    def _serve(self) -> None:
        """Do tasks in a child of this thread, and in a new one if that died."""
        child: Child | None = None
        while (task := self._tasks.get()) is not None:
            future, question = task
            if not future.set_running_or_notify_cancel():
                continue
            try:
                child = child or self._started()
                _settle(future, *_asked(child, question))
            except (OSError, EOFError, pickle.UnpicklingError) as problem:
                text = f"a worker process ended before its work did ({problem or 'it was killed'})"
                future.set_exception(BrokenExecutor(f"{text}; fewer --workers need less memory"))
                self._drop(child)
                child = None
        self._drop(child)

    def _started(self) -> Child:
        child = conversation(own_python(_START), Limits(), own_errors())
        with self._lock:
            self._children.append(child)
        is_done, result = _asked(child, self._first)
        if not is_done:
            raise EOFError(str(result))
        return child

    def _drop(self, child: Child | None) -> None:
        if child is not None:
            with self._lock:
                self._children = [item for item in self._children if item is not child]
            child.close()


def _settle(future: Future[Any], is_done: bool, result: object) -> None:
    if is_done:
        future.set_result(result)
    else:
        future.set_exception(result if isinstance(result, Exception) else EOFError(str(result)))


def _asked(child: Child, question: bytes) -> tuple[bool, Any]:
    """True and the result of a task, or False and its error. Raises EOFError or OSError if the child dies."""
    _send(child.input, question)
    is_done, result = pickle.loads(_received(child.output))
    return is_done, result


def _send(stream: IO[bytes], data: bytes) -> None:
    stream.write(len(data).to_bytes(_SIZE, "big"))
    stream.write(data)
    stream.flush()


def _received(stream: IO[bytes]) -> bytes:
    """The next message. Raises EOFError if the stream ends before or inside it."""
    head = stream.read(_SIZE)
    data = stream.read(int.from_bytes(head, "big")) if len(head) == _SIZE else b""
    if len(head) < _SIZE or len(data) < int.from_bytes(head, "big"):
        raise EOFError
    return data


# -- in the child -----------------------------------------------------------------------------------------------------


def work() -> None:
    """Do the tasks of standard input until it ends. What they print goes to standard error."""
    answers = io.BufferedWriter(io.FileIO(os.dup(1), "w"))
    os.dup2(2, 1)
    questions = sys.stdin.buffer
    while True:
        try:
            question = _received(questions)
        except EOFError:
            return
        _send(answers, _answer(question))


def _answer(question: bytes) -> bytes:
    try:
        function, arguments, named = pickle.loads(question)
        return pickle.dumps((True, function(*arguments, **named)))
    except Exception as problem:  # noqa: BLE001  # the process that asked raises it again
        try:
            return pickle.dumps((False, problem))
        except Exception:  # noqa: BLE001  # some errors cannot be pickled
            return pickle.dumps((False, RuntimeError(f"{type(problem).__name__}: {problem}")))
