"""Machine code of loops (`loop_ir`): by LLVM, and by numba from their text. It is kept in memory, and as files (`kernel_cache`)."""

from __future__ import annotations

import ctypes
import os
import time
import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache as once
from hashlib import blake2b
from pathlib import Path
from threading import local
from typing import Any
from weakref import WeakSet

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from relax_explorer.core.exec import kernel_cache, loop_text
from relax_explorer.core.exec.llvm_expr import (
    ASSERTION,
    BEYOND,
    DIVISION,
    DOUBLE,
    FLOAT_RESULT,
    LIBRARY,
    MEMORY,
    OUTSIDE,
    SIGNED,
    SIGNED_RESULT,
    STOPPED,
    UNSIGNED,
    UNSIGNED_RESULT,
    Unsupported,
)
from relax_explorer.core.exec.llvm_kernel import Param, llvm_module
from relax_explorer.core.exec.loop_expr import element
from relax_explorer.core.exec.loop_ir import Routine
from relax_explorer.core.exec.loop_statements import shape_variables
from relax_explorer.core.exec.values import Value
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import HANDLE
from relax_explorer.core.tir.stmt import Buffer, PrimFunc


@once
def settle() -> None:
    """Turn off two optimizations of LLVM: of loops with branches, and of neighbours that are loaded again.

    LLVM 22 loses the index of a store that stands behind a branch together with a division: where the first iteration does not
    take the branch, it stores at index 0 (tests/tir/test_native.py). Choices without a branch are vectorized as before.

    Where an iteration loads `a[i]` and `a[i + 1]`, LLVM would keep the second one for the next iteration. In vectors that takes twice as
    long as to load it again (tests/perf: depthwise).
    """
    llvm.set_option("", "--enable-if-conversion=false")
    llvm.set_option("", "--enable-load-in-loop-pre=false")


# -- LLVM ------------------------------------------------------------------------------------------------------------
# Machine code of kernels by LLVM: optimized, loaded into this process, and kept as object files.


_DIGEST = 16
_SHARING = 128  # functions of one engine
_MOST_WORKERS = 8
_ERRORS: dict[int, type[Exception]] = {
    OUTSIDE: IndexError,
    DIVISION: ZeroDivisionError,
    STOPPED: InterruptedError,
    MEMORY: MemoryError,
    BEYOND: BufferError,
}
_RESULTS = {SIGNED_RESULT: np.int64, UNSIGNED_RESULT: np.uint64, FLOAT_RESULT: np.float64}
_NUMBERS: dict[str, Any] = {SIGNED: ctypes.c_int64, UNSIGNED: ctypes.c_uint64, DOUBLE: ctypes.c_double}


@once
def processor() -> tuple[str, str]:
    """The name and the features of this processor, after LLVM was made ready for it."""
    settle()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


def target() -> Any:
    """A target for this processor. Whatever loads code takes one of its own."""
    name, features = processor()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=name, features=features, opt=3, jit=True, codemodel="jitdefault"
    )


@once
def versions() -> str:
    """What decides machine code beside the text."""
    return " ".join([llvmlite.__version__, llvm.get_process_triple(), *processor()])


_TARGETS = local()  # LLVM keeps facts in a target while it compiles, so each thread has its own


def _made_for() -> Any:
    if not hasattr(_TARGETS, "target"):
        _TARGETS.target = target()
    return _TARGETS.target


@once
def is_possible() -> bool:
    """True if arrays of numpy lie in memory as the code expects, and the libraries of this process have the functions."""
    array = np.empty((3, 5))
    words = (ctypes.c_size_t * 5).from_address(id(array))
    if os.name != "posix" or not hasattr(llvm, "create_pass_builder"):  # older versions of llvmlite lack it
        return False
    if object.__basicsize__ != 16 or words[2] != array.ctypes.data:
        return False
    library = ctypes.CDLL(None)
    lengths = (ctypes.c_int64 * 2).from_address(words[4])
    return tuple(lengths) == array.shape and all(hasattr(library, name) for name in LIBRARY)


def object_code(routine: Routine, params: Sequence[Param], apart: bool, name: str) -> bytes:
    """The machine code of a kernel as a function of this name, behind a digest of it. Raises Unsupported."""
    return _signed(_assembly(routine, params, apart, name))


def _assembly(routine: Routine, params: Sequence[Param], apart: bool, name: str) -> str:
    if not is_possible():
        raise Unsupported("this process")
    return str(llvm_module(routine, params, apart, name))


def _signed(text: str) -> bytes:
    code = machine_code(text)
    return blake2b(code, digest_size=_DIGEST).digest() + code


def machine_code(text: str) -> bytes:
    """The optimized machine code of LLVM IR, as an object file."""
    made_for = _made_for()
    module = llvm.parse_assembly(text, llvm.create_context())
    module.triple, module.data_layout = made_for.triple, str(made_for.target_data)
    # Level 3 takes up to 1.4 times as long as 2, for kernels that run as fast (tests/perf: real).
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization, options.loop_unrolling = (
        True,
        False,
    )  # unrolling took half of the time, for little
    builder = llvm.create_pass_builder(made_for, options)
    _run(builder.getModulePassManager(), module, builder)
    code: bytes = made_for.emit_object(module)
    return code


def _run(passes: llvm.ModulePassManager, module: llvm.ModuleRef, builder: llvm.PassBuilder) -> None:
    """Run the passes. llvmlite lets one thread at a time into LLVM, which a module in a context of its own does not need."""
    run = getattr(llvm.ffi.lib.LLVMPY_RunNewModulePassManager, "_cfn", None)
    if run is None:
        passes.run(module, builder)
    else:
        run(passes, module, builder)


_COMING: WeakSet[Future[bytes]] = WeakSet()


@once
def _workers() -> ThreadPoolExecutor | None:
    """The threads that compile ahead. None if there is one processor only."""
    if hasattr(os, "register_at_fork"):  # a child has no threads of its parent, but the locks that they held
        os.register_at_fork(before=lambda: wait(list(_COMING)), after_in_child=_workers.cache_clear)
    count = min(os.cpu_count() or 1, _MOST_WORKERS)
    return ThreadPoolExecutor(count, "compile") if count > 1 else None


def is_whole(code: bytes) -> bool:
    """True if machine code is as it was made."""
    return blake2b(code[_DIGEST:], digest_size=_DIGEST).digest() == code[:_DIGEST]


class Function:
    """A function of machine code. It raises what a kernel compiled by numba raises."""

    __slots__ = ("_call", "_engine", "_unsigned", "address", "params")

    def __init__(self, code: bytes, params: Sequence[Param], name: str) -> None:
        self.address, self._engine = placed(code, name)  # the code lives as long as its engine
        self.params = tuple(params)
        types = [ctypes.py_object if param.element else _NUMBERS[param.kind] for param in params]
        self._call = ctypes.CFUNCTYPE(ctypes.c_int64, *types, ctypes.py_object, ctypes.c_int64)(self.address)
        self._unsigned = frozenset([place for place, param in enumerate(params) if param.kind == UNSIGNED])

    def __call__(self, *values: Value) -> Value:
        """Call it with arrays, numbers, the note and the address of the stop flag."""
        if self._unsigned:  # numbers of numpy, for numba
            values = tuple([int(value) if n in self._unsigned else value for n, value in enumerate(values)])
        status = self._call(*values)
        if not status:
            return None
        if status in _RESULTS:
            return values[-2][:1].view(_RESULTS[status])[0]  # it stands in the note
        raise _error(status)


def loaded(code: bytes, params: Sequence[Param], name: str) -> Function:
    """The function of this name of machine code from `object_code`."""
    return Function(code[_DIGEST:], params, name)


def placed(code: bytes, name: str) -> tuple[int, object]:
    """The address of a function of an object file in this process, and the engine that keeps it there."""
    engine = _engine()
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine.get_function_address(name), engine


_ENGINE: list[Any] = []  # the engine for the next functions, as often as it was used


def _engine() -> Any:
    """The engine that loads the next function. To make one takes 2 ms, so many functions share it, and end with it."""
    if len(_ENGINE) == _SHARING:
        _ENGINE.clear()
    _ENGINE.append(_ENGINE[0] if _ENGINE else llvm.create_mcjit_compiler(llvm.parse_assembly(""), target()))
    return _ENGINE[0]


def _error(status: int) -> Exception:
    return AssertionError(status - ASSERTION) if status >= ASSERTION else _ERRORS[status]()


# -- texts -----------------------------------------------------------------------------------------------------------
# The loops of kernels with their machine code. PrimFuncs with equal loops share it, in memory and on disk.
#
# Names, attributes and annotations of a PrimFunc do not enter its loops. So the stages of a build compile most
# kernels once. LLVM compiles them; numba compiles the text of those with rare parts, which takes longer.


KNOWN_TEXTS = 1024  # in memory; the least recently used ones are dropped
NUMBER = Param(SIGNED)  # a parameter that holds an integer
_TEXTS: OrderedDict[int, Text] = OrderedDict()


class NotCompiled(Exception):
    """Numba refused a text, with this reason."""


def compiled_text(
    routine: Routine, cache: Path | None, params: Sequence[Param], apart: bool = False, by_numba: bool = False
) -> Text:
    """The Text of a kernel. Equal kernels have one. The directory `cache`, if given, keeps the machine code.

    With `apart`, no memory that it writes is shared by two arguments. LLVM compiles it, unless it shall be `by_numba`.
    """
    source = loop_text.source(routine)
    key = kernel_cache.text_key(source, repr(params), str(apart), str(by_numba), versions())
    text = _TEXTS.get(key)
    if text is None:
        text = Text(routine, source, key, cache, params, apart, by_numba)
    return _used(text)


def _used(text: Text) -> Text:
    _TEXTS[text.key] = text
    _TEXTS.move_to_end(text.key)
    if len(_TEXTS) > KNOWN_TEXTS:
        _TEXTS.popitem(last=False)
    return text


def kept_text(key: int, cache: Path, params: Sequence[Param], apart: bool) -> Text | None:
    """The Text with this key, if its machine code is at hand: it needs no loops. None if it must be made from them."""
    text = _TEXTS.get(key)
    if text is None:
        text = Text(Routine((), ()), "", key, cache, params, apart, False)
        text.code = kernel_cache.machine_code(cache, key)
        if text.code is None or not is_whole(text.code):
            return None
    return _used(text)


def parameters(fn: PrimFunc) -> list[Param]:
    """What the loops of a PrimFunc take. A handle is a description of a tensor (`kernel_memory`)."""
    params = []
    for param in (*fn.params, *shape_variables(fn)):
        if isinstance(param, Buffer):
            lengths = [dim.value if isinstance(dim, p.IntImm) else None for dim in param.shape]
            params.append(Param("", element(param.dtype), tuple(lengths)))
        elif param.dtype is HANDLE:
            params.append(Param("", "int64", (None,)))
        elif param.dtype.is_float:
            params.append(Param(DOUBLE))
        else:
            params.append(Param(UNSIGNED if param.dtype.name == "uint64" else SIGNED))
    return params


class Text:
    """A text, with the machine code so far. It holds no PrimFunc."""

    def __init__(
        self,
        routine: Routine,
        source: str,
        key: int,
        cache: Path | None,
        params: Sequence[Param],
        apart: bool,
        by_numba: bool,
    ) -> None:
        self.routine = routine
        self.source, self.key, self.cache, self.params, self.apart = source, key, cache, params, apart
        self.code: bytes | None = None  # its machine code, before it is loaded
        self.native: Callable[..., None] | None = None
        self.numba = Numba(source, key, cache) if by_numba else None
        self.compiling = 0.0  # seconds so far
        self.coming: Future[bytes] | None = None  # the machine code that one of these threads makes
        self._workers: ThreadPoolExecutor | None = None

    def begin(self) -> None:
        """Let a thread make the machine code, unless there is some, or LLVM can't."""
        workers = _workers()
        if workers is None or self.coming is not None or self.native is not None or self.numba is not None:
            return
        if self.code is None and self.cache is not None:
            self.code = kernel_cache.machine_code(self.cache, self.key)
        if self.code is not None:
            return
        try:
            text = _assembly(self.routine, self.params, self.apart, self.name)
        except Unsupported:
            return
        self.coming, self._workers = workers.submit(_signed, text), workers
        _COMING.add(self.coming)

    @property
    def name(self) -> str:
        """The name of the function in the machine code."""
        return f"kernel_{self.key:016x}"

    def function(self, values: Sequence[Value]) -> Value:
        """The text compiled for the types of these values."""
        if self.native is not None:
            return self.native
        start = time.perf_counter()
        try:
            if self.numba is None:
                try:
                    self.native = self._by_llvm()
                    return self.native
                except Unsupported:
                    self.numba = Numba(self.source, self.key, self.cache)
            return self.numba.function(values)
        finally:
            self.compiling += time.perf_counter() - start

    def _by_llvm(self) -> Callable[..., None]:
        code, self.code = self.code, None
        if code is None and self.cache is not None:
            code = kernel_cache.machine_code(self.cache, self.key)
        if code is None or not is_whole(code):
            if self.coming is not None and (self.coming.done() or self._workers is _workers()):
                code = self.coming.result()
            else:
                code = object_code(self.routine, self.params, self.apart, self.name)
            if self.cache is not None:
                self.cache = self.cache if kernel_cache.keep(self.cache, self.key, code) else None
        self.coming = None
        return loaded(code, self.params, self.name)


class Numba:
    """A text that numba compiles."""

    def __init__(self, source: str, key: int, cache: Path | None) -> None:
        settle()
        self.source, self.key, self.cache = source, key, cache
        self.kernel = self._load()
        self.compiled: set[tuple[Any, ...]] = set()

    def _load(self) -> Any:
        if self.cache is not None:
            try:
                return kernel_cache.module(
                    self.cache, self.key, self.source.replace("@njit(", "@njit(cache=True, ", 1)
                )
            except (OSError, SyntaxError, ValueError):
                self.cache = None  # the directory can't be written or holds a damaged file: do without
        return kernel_cache.in_memory(self.key, self.source)

    def function(self, values: Sequence[Value]) -> Value:
        """The text compiled for the types of these values. Damaged files on disk are deleted and rebuilt."""
        import numba  # takes 0.3 s to import

        types = tuple([numba.typeof(value) for value in values])
        if types in self.compiled:
            return self.kernel
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                self.kernel.compile(types)
            except Exception as problem:  # noqa: BLE001  # whatever a damaged cache makes numba raise
                if self.cache is None:
                    raise NotCompiled(str(problem).splitlines()[0][:160]) from None
                kernel_cache.purge(self.cache, self.key)
                self.cache = None
                self.kernel = self._load()
                return self.function(values)
        self.compiled.add(types)
        return self.kernel
