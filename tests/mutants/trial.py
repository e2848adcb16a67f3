"""Collect the tests once, record the functions that each runs, and try each mutant in a child process.

The parent never runs a test: its caches stay empty, so that no mutant hides behind a cached result.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any
from zlib import crc32

import pytest
from _pytest.runner import runtestprotocol

from tests.mutants.sites import PACKAGE, ROOT, Mutant, tree

SECONDS = 4  # default limit for one test
BUDGET = (
    8  # seconds of the processor for the tests of one mutant, so that it survives no sooner on a busy machine
)
BYTES = 6 << 30
OPTIONS = ("-n0", "-q", "-s", "--no-header", "--timeout=0", "--tb=no", "-p", "no:cacheprovider")

Function = tuple[str, str]  # path below `core`, qualified name


class NotApplied(Exception):
    """A mutant whose code cannot replace an existing function, for example one with another closure."""


class Tests:
    """The collected tests, their seconds, and the core functions that each runs."""

    def __init__(self, items: list[pytest.Item], limit: float = SECONDS) -> None:
        self.limit = limit
        self.items = {item.nodeid: item for item in items}
        self.seconds: dict[str, float] = {}
        self.of: dict[Function, list[str]] = {}
        self._functions = _loaded()

    def learn(self, kept: Path | None = None) -> None:
        """Run every test once in a child, or read the record of an earlier run; slow and failing tests are omitted."""
        rows = json.loads(kept.read_text(encoding="utf-8")) if kept and kept.exists() else []
        # Failed tests may pass now, and edited tests may run other functions.
        rows = [row for row in rows if (row[1] or row[2] >= SECONDS) and row[4:] == [_digest(row[0])]]
        known = {nodeid for nodeid, *_ in rows}
        new = _child(self._profiled([nodeid for nodeid in self.items if nodeid not in known]), 3600)
        rows += [[*row, _digest(row[0])] for row in new]
        if kept is not None:
            kept.write_text(json.dumps(rows), encoding="utf-8")
        for nodeid, passed, seconds, functions, _ in rows:
            if nodeid in self.items and passed and seconds < self.limit / 2:
                self.seconds[nodeid] = seconds
                for path, name in functions:
                    self.of.setdefault((path, name), []).append(nodeid)
        for nodeids in self.of.values():
            nodeids.sort(key=self.seconds.__getitem__)

    def concerned(self, mutant: Mutant) -> list[str]:
        """The tests that run the function of a mutant, quick ones first; for a table, all tests that read the module."""
        if mutant.function:
            return self.of.get((mutant.path, mutant.function), [])
        found = {
            nodeid for (path, _), nodeids in self.of.items() if path == mutant.path for nodeid in nodeids
        }
        return sorted(found, key=self.seconds.__getitem__)

    def failing(self, mutant: Mutant, nodeids: Iterable[str]) -> str:
        """The first of these tests that fails under a mutant, or nothing; a child that dies or hangs counts as a failure.

        Raises NotApplied.
        """
        heard = list(_child(self._mutated(mutant, list(nodeids)), 4 * (BUDGET + self.limit)))
        if not heard:
            raise NotApplied(str(mutant))
        return "" if heard[-1] == "survived" else str(heard[-1])

    def _profiled(self, nodeids: list[str]) -> Iterator[Any]:
        seen: set[CodeType] = set()

        def note(frame: FrameType, event: str, _: object) -> None:
            if event == "call":
                seen.add(frame.f_code)

        for nodeid in nodeids:
            seen.clear()
            start = time.monotonic()
            sys.setprofile(note)
            passed = self._passes(nodeid)
            sys.setprofile(None)
            functions = {_function(code) for code in seen if code.co_filename.startswith(str(PACKAGE))}
            yield nodeid, passed, time.monotonic() - start, sorted(functions)

    def _mutated(self, mutant: Mutant, nodeids: list[str]) -> Iterator[Any]:
        apply(mutant, self._functions)
        yield "the run itself"
        until = time.process_time() + BUDGET
        for nodeid in nodeids:
            yield nodeid  # if the child dies, this test is the reason
            if not self._passes(nodeid):
                return
            if time.process_time() > until:
                break
        yield "survived"

    def _passes(self, nodeid: str) -> bool:
        signal.signal(signal.SIGPROF, _late)  # seconds of the processor: a busy machine makes no test fail
        signal.setitimer(signal.ITIMER_PROF, self.limit)
        item = self.items[nodeid]
        try:
            reports = runtestprotocol(item, log=False, nextitem=None)
        except BaseException:  # noqa: BLE001  # a mutant may raise anything, anywhere
            return False
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        return all(report.passed for report in reports)


@cache
def _digest_of(path: Path) -> int:
    """A checksum of the text of a test, and for chapters of the text of all of them."""
    return crc32(b"".join(part.read_bytes() for part in (path, *sorted(path.parent.glob("*.md")))))


def _digest(nodeid: str) -> int:
    path = ROOT / nodeid.partition("::")[0]
    return _digest_of(path) if path.exists() else 0


def apply(mutant: Mutant, functions: dict[Function, list[FunctionType]]) -> None:
    """Turn this process into one that runs the mutant; raises NotApplied if its source differs from the imported one."""
    changed = tree(mutant)
    if not mutant.function:
        _table(mutant, changed)
        return
    file = str(PACKAGE / mutant.path)
    done = False
    for code in _codes(compile(changed, file, "exec", dont_inherit=True)):
        for function in functions[mutant.path, mutant.function]:
            if _takes_the_place(code, function.__code__):
                function.__code__ = code
                _set_defaults(function, changed)
                done = True
    if not done:
        raise NotApplied(str(mutant))


def _takes_the_place(new: CodeType, old: CodeType) -> bool:
    """True if code can replace that of an existing function, also of one that another function created during import."""
    same = new.co_qualname == old.co_qualname and new.co_firstlineno == old.co_firstlineno
    return same and new.co_freevars == old.co_freevars and new.co_name != "<lambda>"


def _set_defaults(function: FunctionType, changed: ast.Module) -> None:
    """Set the Boolean defaults of a function to those of the changed module; its code object does not hold them."""
    for node in ast.walk(changed):
        if isinstance(node, ast.FunctionDef) and _first_line(node) == function.__code__.co_firstlineno:
            old = function.__defaults__ or ()
            function.__defaults__ = tuple(
                [_truth(new, value) for new, value in zip(node.args.defaults, old, strict=True)]
            )
            named = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            for parameter, new in named:
                if new is not None and function.__kwdefaults__:
                    name = parameter.arg
                    function.__kwdefaults__[name] = _truth(new, function.__kwdefaults__[name])


def _first_line(node: ast.FunctionDef) -> int:
    return min([node.lineno, *[decorator.lineno for decorator in node.decorator_list]])


def _truth(node: ast.expr, value: Any) -> Any:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, bool) else value


def _table(mutant: Mutant, changed: ast.Module) -> None:
    name = _module(mutant.path)
    space = vars(sys.modules[name])
    for statement in changed.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.lineno <= mutant.line <= (
            statement.end_lineno or 0
        ):
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            assert isinstance(target, ast.Name)  # a table has one
            assert statement.value is not None  # as above
            old, new = space[target.id], eval(compile(ast.Expression(statement.value), name, "eval"), space)
            for module in list(sys.modules.values()):
                if getattr(module, "__name__", "").startswith("relax_explorer"):
                    for key, value in list(vars(module).items()):
                        if value is old:
                            setattr(module, key, new)


def _module(path: str) -> str:
    name = "relax_explorer.core." + path.removesuffix(".py").replace("/", ".")
    return name.removesuffix(".__init__")


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _function(code: CodeType) -> Function:
    return Path(code.co_filename).relative_to(PACKAGE).as_posix(), code.co_qualname.partition(".<locals>")[0]


def _loaded() -> dict[Function, list[FunctionType]]:
    import_module("numba")  # imported here: stopping a test during this import would break all others
    for path in sorted(PACKAGE.rglob("*.py")):
        import_module(_module(path.relative_to(PACKAGE).as_posix()))
    found: dict[Function, list[FunctionType]] = {}
    gc.unfreeze()  # what was collected is frozen, and a collector does not tell it
    for item in gc.get_objects():
        if type(item) is FunctionType and item.__code__.co_filename.startswith(str(PACKAGE)):
            found.setdefault(_function(item.__code__), []).append(item)
    return found


def _late(*_: object) -> None:
    raise TimeoutError("a test took too long")


def _child(work: Iterator[Any], seconds: float) -> Iterator[Any]:
    """The results that `work` yields in a child process, as they come; any end of the child ends them."""
    ours, theirs = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.close(ours)
        _work(work, theirs)
    os.close(theirs)
    try:
        yield from _lines(ours, time.monotonic() + seconds)
    finally:
        os.close(ours)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _lines(stream: int, until: float) -> Iterator[Any]:
    rest = b""
    while select.select([stream], [], [], max(0.0, until - time.monotonic()))[0]:
        data = os.read(stream, 1 << 16)
        if not data:
            return
        *lines, rest = (rest + data).split(b"\n")
        yield from (json.loads(line) for line in lines)


def _work(work: Iterator[Any], stream: int) -> None:
    try:
        os.setpgid(0, 0)
        silent = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(silent, number)
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for answer in work:
            os.write(stream, json.dumps(answer).encode() + b"\n")
    finally:
        os._exit(0)


class _Plugin:
    def __init__(self, work: Callable[[Tests], int], limit: float) -> None:
        self.work, self.result, self.limit = work, 2, limit

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        import hypothesis

        hypothesis.settings.register_profile("mutants", derandomize=True, deadline=None, database=None)
        hypothesis.settings.load_profile("mutants")
        items = [item for item in session.items if "oracle" not in getattr(item, "fixturenames", ())]
        tests = Tests(items, self.limit)
        gc.freeze()  # children share the objects that exist now
        self.result = self.work(tests)
        return True


def with_tests(paths: Iterable[str], work: Callable[[Tests], int], limit: float = SECONDS) -> int:
    """Collect the tests of some paths, without running them, and hand them to `work`; each may take `limit` seconds."""
    plugin = _Plugin(work, limit)
    pytest.main([*OPTIONS, *paths], plugins=[plugin])
    return plugin.result
