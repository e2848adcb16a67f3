"""Machine code of kernels by LLVM: optimized, loaded into this process, and kept as object files."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from functools import cache as once
from hashlib import blake2b
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from relax_explorer.core.exec.llvm_expr import (
    ASSERTION,
    BEYOND,
    DIVISION,
    FLOAT_RESULT,
    LIBRARY,
    MEMORY,
    OUTSIDE,
    SIGNED_RESULT,
    STOPPED,
    UNSIGNED_RESULT,
)
from relax_explorer.core.exec.llvm_kernel import Param, llvm_module
from relax_explorer.core.exec.llvm_settings import settle
from relax_explorer.core.exec.llvm_values import DOUBLE, SIGNED, UNSIGNED, Unsupported
from relax_explorer.core.exec.loop_ir import Routine
from relax_explorer.core.exec.values import Value

_DIGEST = 16
_SHARING = 128  # functions of one engine
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


_made_for = once(target)


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
    if not is_possible():
        raise Unsupported("this process")
    code = machine_code(str(llvm_module(routine, params, apart, name)))
    return blake2b(code, digest_size=_DIGEST).digest() + code


def machine_code(text: str) -> bytes:
    """The optimized machine code of LLVM IR, as an object file."""
    made_for = _made_for()
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = made_for.triple, str(made_for.target_data)
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization, options.loop_unrolling = (
        True,
        False,
    )  # unrolling took half of the time, for little
    passes = llvm.create_pass_builder(made_for, options)
    passes.getModulePassManager().run(module, passes)
    code: bytes = made_for.emit_object(module)
    return code


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
