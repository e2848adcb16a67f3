"""Records a build of TVM: the module after each pass, how passes are nested, and what the compiled program computes.

This file imports nothing of this project, and TVM only where a build has it. So it can be copied beside a script, which then says
`from recorder import record` and `with record("run.rxs") as recording: tvm.compile(…)`.

Each pass is appended to a journal, `run.rxs.journal`, of which the archive `run.rxs` is made at the end. What goes wrong here ends
the recording with a note; it never reaches the build.
"""

from __future__ import annotations

import atexit
import base64
import contextlib
import fnmatch
import functools
import hashlib
import io
import json
import os
import re
import struct
import sys
import threading
import time
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from types import FrameType
from typing import IO, TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import tvm

SCHEMA, MAGIC = 1, b"RXJ\x01"
HEAD = struct.Struct("<IIc")
"""Before the data of a frame: its length, the crc32 of kind and data, and its kind. Texts and arrays begin with their SHA-256."""
MANIFEST, TEXT, ARRAY, LINEAGE, BEGIN, STAGE, CALL, END = b"M", b"T", b"A", b"L", b"B", b"S", b"C", b"E"
PARTS = {STAGE: "stages.jsonl", LINEAGE: "lineages.jsonl", CALL: "calls.jsonl"}  # of an archive, by kind
CONTENTS = {TEXT: "ir/{}.txt", ARRAY: "data/{}.npy"}  # by their SHA-256
MOST_PROCESSES = 1_000
_TENSOR = re.compile(r"P6G0lvBAXt0A[A-Za-z0-9+/=\\]{400,}(?<!\\)")
"""A constant in the text of a module: a DLTensor in base64, with its magic number first and backslashes before slashes."""
_LOWERED = re.compile(r"R\.(?:builtin\.alloc_tensor|memory\.|vm\.)|vm\.builtin\.alloc_")
_MOST_STORED, _MOST_BYTES = 40_000, 2 << 30  # of texts and recorded values

Json: TypeAlias = "dict[str, Any]"
Method: TypeAlias = "Callable[..., object]"
Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


class Journal:
    """The file that grows while a build runs: frames. What a killed process wrote can be read; a torn frame is the last one."""

    def __init__(self, path: str, manifest: Json) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)
        self._file, self._size = os.open(path, flags, 0o666), 0  # the size of whole frames
        self._write(MAGIC)
        self.add(MANIFEST, _bytes(manifest))

    def add(self, kind: bytes, data: bytes) -> None:
        """Append a frame with one write, so that it is there as a whole or at the torn end."""
        self._write(HEAD.pack(len(data), zlib.crc32(data, zlib.crc32(kind)), kind) + data)

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except BaseException:  # a full disk, or a signal: behind a torn frame, no other could be read
            os.ftruncate(self._file, self._size)
            raise
        self._size += len(data)

    def close(self) -> None:
        """Close the file; what is in it is on the disk."""
        with contextlib.suppress(OSError):  # a full disk was told when it was written
            os.fsync(self._file)
        os.close(self._file)


def journal_name(path: str, number: int = 1) -> str:
    """The journal of a process, the first, second, … that records into a file."""
    return f"{path}.journal" if number == 1 else f"{path}.{number}.journal"


def write_archive(
    file: IO[bytes], processes: Sequence[Json], lines: dict[bytes, list[Json]], entries: Iterable[tuple[str, bytes]], more: Json
) -> None:  # fmt: skip
    """Write a recording as an archive. The manifest comes first, not compressed, so that the first bytes of the file tell what it is."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        described = {"schema": SCHEMA, "processes": processes, **more}
        archive.writestr(zipfile.ZipInfo("manifest.json"), json.dumps(described, indent=1))
        for kind, name in PARTS.items():
            archive.writestr(name, "".join([json.dumps(line) + "\n" for line in lines[kind]]))
        for name, data in entries:
            archive.writestr(name, data)


def _frames(path: str) -> Iterator[tuple[bytes, bytes]]:
    with open(path, "rb") as file:
        file.seek(len(MAGIC))
        while head := file.read(HEAD.size):
            length, _, kind = HEAD.unpack(head)
            yield kind, file.read(length)


def _pack(journal: str, path: str) -> None:
    """Make an archive of the whole journal of one process, in its place."""
    process: Json = {"ended": True, "running": []}
    lines: dict[bytes, list[Json]] = {kind: [] for kind in PARTS}
    for kind, data in _frames(journal):
        if kind in PARTS:
            lines[kind].append({**json.loads(data), "process": 0})
        elif kind in (MANIFEST, END):
            process |= json.loads(data)
    contents = (
        (CONTENTS[kind].format(data[:32].hex()), zlib.decompress(data[32:]) if kind == TEXT else data[32:])
        for kind, data in _frames(journal)
        if kind in CONTENTS
    )
    try:
        with open(f"{path}.part", "wb") as file:
            write_archive(file, [process], lines, contents, {})
            file.flush()
            os.fsync(file.fileno())
        os.replace(file.name, path)
    except BaseException:
        os.unlink(f"{path}.part")
        raise
    os.unlink(journal)


def _bytes(value: object) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return text.encode("utf-8", "replace")


@dataclass(frozen=True)
class Options:
    """What to record: passes by patterns of their names, `values` of calls with such names (none: no values)."""

    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    host: bool = True
    values: Sequence[str] = ()
    most: int = 0  # stages; 0 for all

    def wants(self, name: str) -> bool:
        """True for a pass that is recorded."""
        return (not self.include or _matches(name, self.include)) and not _matches(name, self.exclude)


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, item) for item in patterns)


@dataclass(frozen=True)
class _Seen:
    """A module that was printed: the digest of its text, its Relax functions, and whether it allocates memory."""

    key: str
    relax: frozenset[str]
    is_lowered: bool


@dataclass
class _Lineage:
    """A module on its way through passes: its number, kind, structural hash, and what was printed of it first and last."""

    number: int
    kind: str
    state: int
    first: _Seen
    last: _Seen


@dataclass
class _Running:
    """A pass that runs: its lineage, the module that it has reached, and when it began."""

    name: str
    lineage: _Lineage
    address: int
    state: int
    place: Json | None
    began: float
    spent: float


class _Thread(threading.local):
    """What a thread does: its running passes, the seconds that recording took, and the modules that it builds."""

    def __init__(self) -> None:
        self.running: list[_Running] = []
        self.spent = 0.0
        self.module: _Lineage | None = None
        self.kernels: _Lineage | None = None
        self.is_muted = False


class Recorder:
    """The recording of one process. Its journal begins with the first pass."""

    def __init__(self, path: str, options: Options, is_alone: bool) -> None:
        self.path, self.options, self._is_alone = os.path.abspath(path), options, is_alone
        self.failure, self.is_over = "", False
        self._begin()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._in_child)

    def _begin(self) -> None:
        self.lock, self.thread, self.spent = threading.RLock(), _Thread(), 0.0
        self.journal: Journal | None = None
        self.has_begun = False
        self._texts: dict[int, _Seen] = {}  # by structural hash
        self._lineages: list[_Lineage] = []
        self._stored: set[str] = set()
        self._bytes = self._passes = 0
        self._pid = os.getpid()

    def _in_child(self) -> None:
        """A process that was forked has a journal of its own."""
        if self.journal is not None:
            self.journal.close()
        self._is_alone = False
        self._begin()

    @contextlib.contextmanager
    def guarded(self) -> Iterator[None]:
        """What goes wrong inside ends the recording, and the build goes on. The seconds inside are counted."""
        began = time.perf_counter()
        with self.lock:
            try:
                yield
            except Exception as error:  # noqa: BLE001  # nothing reaches the build
                self.give_up(f"{type(error).__name__}: {error}")
            elapsed = time.perf_counter() - began
            self.thread.spent += elapsed
            self.spent += elapsed

    def give_up(self, reason: str) -> None:
        """End the recording with a note; what was recorded so far stays."""
        if self.is_over:
            return
        self.failure = reason[:300]
        with contextlib.suppress(OSError, ValueError, AttributeError):  # there may be no standard error
            sys.stderr.write(f"recording ended: {self.failure}; the build goes on\n")
        self.finish()

    def finish(self) -> None:
        """Close the journal of this process."""
        journal, self.journal, self.is_over = self.journal, None, True
        if journal is not None and self._pid == os.getpid():
            with contextlib.suppress(OSError):  # the disk is full: the frames before stay
                journal.add(END, _bytes({"spent": round(self.spent, 3), "failure": self.failure}))
            journal.close()

    def _add(self, kind: bytes, line: Json | bytes) -> None:
        if self.journal is None:
            self.journal, self.has_begun = self._opened(), True
        self.journal.add(kind, line if isinstance(line, bytes) else _bytes(line))

    def _opened(self) -> Journal:
        tvm, ffi = [str(getattr(sys.modules.get(name), "__version__", "")) for name in ("tvm", "tvm_ffi")]
        manifest: Json = {
            "schema": SCHEMA, "pid": self._pid, "argv": list(sys.argv), "began": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "python": sys.version.split()[0], "executable": sys.executable, "folder": os.getcwd(),
            "tvm": tvm, "ffi": ffi, "options": asdict(self.options),
        }  # fmt: skip
        for number in range(1, 2 if self._is_alone else MOST_PROCESSES + 1):
            with contextlib.suppress(FileExistsError):
                return Journal(journal_name(self.path, number), manifest)
        problem = "another recording writes there, or was left there"
        raise FileExistsError(17, problem, journal_name(self.path))

    def before(self, module: tvm.IRModule, info: tvm.transform.PassInfo) -> None:
        """A pass begins on a module."""
        began = time.perf_counter()
        with self.guarded():
            if self.is_over:
                return
            thread, name = self.thread, str(info.name)
            outer = thread.running[-1] if thread.running else None
            address = int(module.__chandle__())
            lineage, state = self._lineage(module, address, outer)
            thread.is_muted |= not self.options.host and name.endswith("MakePackedAPI")
            if self.options.wants(name) and not thread.is_muted:
                self._add(BEGIN, {"pass": name, "depth": len(thread.running)})
            place = _place() if outer is None else outer.place
            thread.running.append(_Running(name, lineage, address, state, place, began, thread.spent))

    def after(self, module: tvm.IRModule, info: tvm.transform.PassInfo) -> None:
        """A pass has ended with a module."""
        ended = time.perf_counter()
        with self.guarded():
            thread, name = self.thread, str(info.name)
            while thread.running and thread.running[-1].name != name:
                thread.running.pop()  # it was left by an error that the build caught
            if self.is_over or not thread.running:
                return
            ran, state = thread.running.pop(), 0
            if self.options.wants(name) and not thread.is_muted:
                state = int(sys.modules["tvm_ffi"].structural_hash(module))
                self._stage(ran, module, state, ended - ran.began - (thread.spent - ran.spent), info)
            outer = thread.running[-1] if thread.running else None
            if outer is not None and outer.lineage is ran.lineage:
                outer.address, outer.state = int(module.__chandle__()), state

    def _stage(self, ran: _Running, module: tvm.IRModule, state: int, seconds: float, info: Any) -> None:
        lineage, seen = ran.lineage, self._seen(module, state)
        told: Json = {"unchanged": seen is lineage.last, "seconds": round(max(seconds, 0.0), 6)}
        told["options"] = {"opt_level": int(info.opt_level), "required": list(map(str, info.required))}
        lineage.state, lineage.last = state, seen
        self._tell(ran.name, lineage, ran.place, told)
        self._passes += 1
        if self._passes == self.options.most:
            self.give_up(f"{self._passes} passes are recorded, as --max-stages says")

    def failed(self, error: BaseException, depth: int) -> None:
        """A pass raised an error: those that ran inside of the call at `depth` have ended."""
        with self.guarded():
            running = self.thread.running
            if len(running) <= depth:
                return
            ran = running[-1]
            del running[depth:]
            if not self.is_over:
                text = f"{type(error).__name__}: {error}".strip().split("\n")[-1][:500]
                line: Json = {"pass": ran.name, "depth": depth, "lineage": ran.lineage.number}
                self._add(STAGE, {**line, "place": ran.place, "failed": text})

    def _lineage(self, module: tvm.IRModule, address: int, outer: _Running | None) -> tuple[_Lineage, int]:
        """The lineage of a module on which a pass begins, and its structural hash (0 if nobody asked for it)."""
        if outer is not None and address == outer.address:
            return outer.lineage, outer.state
        state = int(sys.modules["tvm_ffi"].structural_hash(module))
        if outer is None:
            known = [item for item in self._lineages if item.state == state and item.kind != "helper"]
            return known[-1] if known else self._of_root(module, state), state
        names = outer.lineage.last.relax
        is_same = state == outer.state or (names and names <= _relax_functions(module))
        return outer.lineage if is_same else self._new("helper", module, state, outer.name), state

    def _of_root(self, module: tvm.IRModule, state: int) -> _Lineage:
        """The lineage of a module on which the build itself runs a pass, if no pass made it."""
        thread, before = self.thread, self.thread.module
        if not (self._texts[state].relax if state in self._texts else _relax_functions(module)):
            thread.kernels = thread.kernels or self._new("kernels", module, state, "")
            return thread.kernels
        thread.kernels, thread.is_muted = None, False
        seen = self._seen(module, state)
        # the module of a lineage, changed by hand: it shares functions with it, and does not begin another build
        goes_on = before is not None and bool(before.last.relax & seen.relax) and seen is not before.first
        if before is None or not goes_on or before.last.is_lowered > seen.is_lowered:
            thread.module = self._new("module", module, state, "")
            return thread.module
        before.state, before.last = state, seen
        self._input(before, "script")
        return before

    def _new(self, kind: str, module: tvm.IRModule, state: int, of: str) -> _Lineage:
        seen = self._seen(module, state)
        made = _Lineage(len(self._lineages), kind, state, seen, seen)
        self._lineages.append(made)
        self._add(LINEAGE, {"lineage": made.number, "kind": kind, "of": of, "functions": sorted(seen.relax)})
        if kind != "kernels" or self.thread.module is None:
            self._input(made, "input")
        return made

    def _input(self, lineage: _Lineage, name: str) -> None:
        """The stage of a module that no pass made."""
        self._tell(name, lineage, _place(), {"input": True})

    def _tell(self, name: str, lineage: _Lineage, place: Json | None, more: Json) -> None:
        inside = [item.name for item in self.thread.running]
        line: Json = {"pass": name, "depth": len(inside), "inside": inside, "lineage": lineage.number}
        line |= {"text": lineage.last.key, "hash": f"{lineage.state & (1 << 64) - 1:016x}", "place": place}
        self._add(STAGE, line | more)

    def _seen(self, module: tvm.IRModule, state: int) -> _Seen:
        """What is known of a module. It is printed if no equal one was."""
        if state not in self._texts:
            text = _TENSOR.sub(self._kept, module.script(show_meta=True))
            data = text.encode("utf-8", "backslashreplace")
            key = hashlib.sha256(data).hexdigest()
            if key not in self._stored:
                self._add(TEXT, bytes.fromhex(key) + zlib.compress(data, 1))
            self._stored.add(key)
            self._texts[state] = _Seen(key, _relax_functions(module), _LOWERED.search(text) is not None)
        return self._texts[state]

    def _kept(self, found: re.Match[str]) -> str:
        """A constant of a text as a reference to its array: `rxs:DIGEST:HEAD`, where HEAD is what stood before its data."""
        raw = base64.b64decode(found[0].replace("\\", ""))
        start = 40 + 8 * struct.unpack_from("<i", raw, 24)[0]
        digest = self._array(np.frombuffer(raw, np.uint8, offset=start))
        return f"rxs:{digest}:{base64.b64encode(raw[:start]).decode()}" if digest else found[0]

    def _array(self, array: Array) -> str:
        """The digest of an array that is stored as .npy; empty if there are too many."""
        file = io.BytesIO()
        np.lib.format.write_array(file, array, allow_pickle=False)
        digest = hashlib.sha256(file.getbuffer()).hexdigest()
        if digest not in self._stored:
            self._bytes += file.tell()
            if len(self._stored) == _MOST_STORED or self._bytes > _MOST_BYTES:
                return ""
            self._add(ARRAY, bytes.fromhex(digest) + file.getbuffer())
            self._stored.add(digest)  # behind the array: no text may name one that is not there
        return digest

    def called(self, name: str, seconds: float, result: object, operands: Sequence[object]) -> None:
        """The virtual machine has called a function. Results stand behind the operands where a kernel fills them."""
        with self.guarded():
            if not self.is_over and _matches(name, self.options.values or ("*",)):
                line: Json = {"name": name, "seconds": round(seconds, 6)}
                values = [self._value(item) for item in operands]
                self._add(CALL, {**line, "operands": values, "result": self._value(result)})

    def _value(self, value: object) -> object:
        """A value as JSON: numbers as they are, tensors by the digest of their array, everything else by its type."""
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, Sequence):  # shapes, too
            return [self._value(item) for item in value]
        if not isinstance(value, sys.modules["tvm"].runtime.Tensor):
            return repr(value) if isinstance(value, float) else {"type": type(value).__name__}
        array: Array = value.numpy()
        plain = array if array.dtype.isbuiltin == 1 else array.view(f"V{array.dtype.itemsize}")
        return {"array": self._array(plain), "dtype": str(array.dtype)}


def _relax_functions(module: tvm.IRModule) -> frozenset[str]:
    found = module.functions.items()
    return frozenset([str(name.name_hint) for name, fn in found if type(fn).__name__ == "Function"])


def _place() -> Json | None:
    """Where the user's code runs a pass: the innermost call that is neither TVM's nor ours."""
    own = tuple([os.path.dirname(str(sys.modules[name].__file__)) + os.sep for name in ("tvm", "tvm_ffi")])
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if code.co_filename != __file__ and not code.co_filename.startswith(own):
            return {"file": code.co_filename, "line": frame.f_lineno, "function": code.co_name}
        frame = frame.f_back
    return None


class Joined:
    """The changed methods of TVM's classes, and how to put the old ones back: each context gets an instrument besides those of the user.

    A context without any, as each thread has one, gets it when a pass begins.
    """

    def __init__(self, recorder: Recorder) -> None:
        from tvm.ir import instrument, op, transform
        from tvm.runtime import vm

        hooks = {
            "run_before_pass": lambda of, module, info: recorder.before(module, info),
            "run_after_pass": lambda of, module, info: recorder.after(module, info),
        }
        self.recorder, self.instrument = recorder, type("Instrument", (instrument.PassInstrument,), hooks)()
        self._old: list[tuple[type, str, Method]] = []
        self._replace(transform.PassContext, "__init__", self._context)
        self._replace(transform.PassContext, "override_instruments", self._override)
        self._replace(transform.Pass, "__call__", self._pass)
        if recorder.options.values:
            self._replace(vm.VirtualMachine, "__init__", self._machine)
            self._replace(vm.VirtualMachine, "set_instrument", self._listened)
        _name_all(op)

    def _replace(self, owner: type, name: str, made: Callable[[Method], Method]) -> None:
        self._old.append((owner, name, old := getattr(owner, name)))
        setattr(owner, name, functools.wraps(old)(made(old)))

    def leave(self) -> None:
        """Put TVM's own methods back."""
        for item in self._old:
            setattr(*item)

    def _with(self, instruments: Any) -> list[object]:
        return [*(instruments or ()), self.instrument]

    def _override(self, old: Method) -> Method:
        return lambda of, given: old(of, self._with(given))

    def _listened(self, old: Method) -> Method:
        return lambda of, given: old(of, listener(self.recorder, given))

    def _context(self, old: Method) -> Method:
        def __init__(context: object, *given: object, **more: object) -> None:
            names = ("opt_level", "required_pass", "disabled_pass", "instruments", "config")
            values: Json = {**dict(zip(names, given, strict=False)), **more}
            old(context, **{**values, "instruments": self._with(values.get("instruments"))})

        return __init__

    def _pass(self, old: Method) -> Method:
        def __call__(of: object, module: object) -> object:
            recorder, depth = self.recorder, len(self.recorder.thread.running)
            if not depth:
                with recorder.guarded():
                    self._join()
            try:
                return old(of, module)
            except BaseException as error:
                recorder.failed(error, depth)
                raise

        return __call__

    def _join(self) -> None:
        """Give the context of this thread the instrument, unless it has it."""
        context = sys.modules["tvm"].transform.PassContext.current()
        found = list(context.instruments or ())
        if not any(self.instrument.same_as(item) for item in found):
            context.override_instruments(found)

    def _machine(self, old: Method) -> Method:
        def __init__(machine: tvm.relax.VirtualMachine, *given: object, **more: object) -> None:
            old(machine, *given, **more)
            with self.recorder.guarded():
                machine.set_instrument(None)

        return __init__


def _name_all(op: Any) -> None:
    """Each operator of TIR has the name that TVM prints. Where it has none TVM prints its own, with a warning for each call in each text."""
    for name in op.Op.list_op_names():
        if name.startswith("tirx.") and op.Op.get(name).get_attr("TScriptPrinterName") is None:
            op.register_op_attr(name, "TScriptPrinterName", name)


def listener(recorder: Recorder, inner: Method | None) -> Method:
    """An instrument of a virtual machine that records its calls, after one of the user."""
    began: list[float] = []

    def listen(fn: object, name: str, before: bool, result: object, *operands: object) -> object:
        now = time.perf_counter()
        if before:
            began.append(now)
        else:
            recorder.called(str(name), now - (began.pop() if began else now), result, operands)
        return 0 if inner is None else inner(fn, name, before, result, *operands)

    return listen


class record:
    """Record the passes that run in a block: `with record("run.rxs") as recording: tvm.compile(…)`.

    `include` and `exclude` are patterns of names of passes. Without `host`, the lowering of the host's code is left out. With
    `values`, each virtual machine that is made in the block is recorded; `attach` records one. Nothing is raised, but what the block raises.
    """

    def __init__(
        self, path: str | os.PathLike[str], include: Sequence[str] = (), exclude: Sequence[str] = (), host: bool = True,
        values: bool = False, max_stages: int = 0,
    ) -> None:  # fmt: skip
        options = Options(tuple(include), tuple(exclude), host, ("*",) * values, max_stages)
        self._recorder, self._joined = Recorder(os.fspath(path), options, True), list[Joined]()

    def __enter__(self) -> record:
        with self._recorder.guarded():
            self._joined.append(Joined(self._recorder))
        return self

    def attach(self, machine: tvm.relax.VirtualMachine) -> None:
        """Record the calls that a virtual machine makes from now on."""
        with self._recorder.guarded():
            machine.module["set_instrument"](listener(self._recorder, None))

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        for item in self._joined:
            item.leave()
        self._recorder.finish()
        path, journal = self._recorder.path, journal_name(self._recorder.path)
        with self._recorder.guarded():
            if self._recorder.has_begun and error is None and not self._recorder.failure:
                _pack(journal, path)
                return
        if self._recorder.has_begun:  # it ended early: the journal is the recording
            with contextlib.suppress(OSError):
                os.replace(journal, path)


def begin(settings: str) -> None:
    """Record this process, as the command `record` says in JSON. TVM has just been imported."""
    given = json.loads(settings)
    recorder = Recorder(given["path"], Options(**given["options"]), False)
    with recorder.guarded():
        Joined(recorder)
        atexit.register(recorder.finish)
