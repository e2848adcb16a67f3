"""Kernels: PrimFuncs compiled once per structure, and called in destination-passing style."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache as once
from math import prod
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from relax_explorer.core.check.call_graph import mentioned
from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.exec import kernel_cache
from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.exec.kernel_cache import refusal
from relax_explorer.core.exec.values import MEMORY_LIMIT, MOST_AXES, Lengths, Value, fault, lengths
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.prim import IntImm
from relax_explorer.core.ir.struct_info import StructInfo
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.ops.kit.element_loops import Loop
from relax_explorer.core.ops.kit.ndarrays import dense, empty
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.tir.stmt import PrimFunc

if TYPE_CHECKING:
    from relax_explorer.core.exec.compiled_kernel import Divided, Kernel, Variables
    from relax_explorer.core.exec.kernel_code import Code
    from relax_explorer.core.exec.machine_code import Numba


# -- loops of operators ----------------------------------------------------------------------------------------------
# Compiles the loops of operators (`ops/kit/element_loops`) by numba, for the types of their arguments.


class Loops:
    """What compiles loops for a run, with its `kernels`."""

    def __init__(self, kernels: Kernels) -> None:
        self.kernels = kernels

    def __call__(self, loop: Loop, args: tuple[Any, ...]) -> Callable[..., Any] | None:
        """The loop, compiled for the types of these arguments. None if it can't be compiled."""
        from relax_explorer.core.exec.machine_code import NotCompiled

        try:
            function: Callable[..., Any] = _numba(loop, self.kernels.cache).function(args)
        except (NotCompiled, OSError):  # OSError: the text is not at hand
            return None
        return function


@once
def _numba(loop: Loop, cache: Path | None) -> Numba:
    from relax_explorer.core.exec import machine_code

    folder = None if cache is not None and kernel_cache.refusal(cache) else cache
    return machine_code.Numba(loop.source, kernel_cache.text_key(loop.source), folder)


# -- kernels ---------------------------------------------------------------------------------------------------------


LLVM, NUMBA, REFERENCE = "llvm", "numba", "reference"  # what kernels are run by
_BY_SYMBOL: PerNode[dict[str, PrimFunc]] = PerNode()


def by_symbol(module: IRModule, symbol: str) -> PrimFunc | None:
    """The public PrimFunc of a module with this global symbol, which packed calls may name."""
    return _BY_SYMBOL.of(module, _symbols).get(symbol)


def _symbols(module: IRModule) -> dict[str, PrimFunc]:
    functions = [fn for fn in module.functions.values() if type(fn) is PrimFunc]
    return {str(fn.attrs["global_symbol"]): fn for fn in functions if not fn.is_private}


def called_kernels(module: IRModule) -> int:
    """The number of PrimFuncs that Relax functions mention; of all, if they only call them by symbol.

    Those that only transpose large matrices do not count: mostly they give views, and nobody compiles them.
    """
    functions = module.functions.items()
    kernels = {name for name, fn in functions if type(fn) is PrimFunc and not _gives_views(fn)}
    names = {name for fn in module.relax_functions.values() for name in mentioned(fn)}
    return len(kernels & names) or len(kernels)


_VIEWED = 1 << 12  # elements of a matrix that BLAS most likely multiplies; loops multiply smaller ones


def _gives_views(fn: PrimFunc) -> bool:
    """True for a kernel whose calls most likely give views of their operands."""
    from relax_explorer.core.exec.loop_fusion import transposition

    if transposition(fn) is None:
        return False
    lengths = getattr(fn.params[0], "shape", ())
    return prod([n.value if isinstance(n, IntImm) else _VIEWED for n in lengths]) >= _VIEWED


def _called(module: IRModule) -> Iterator[PrimFunc]:
    """The PrimFuncs that bindings call, in the order of the text, but for those that most likely give views."""
    calls = [binding.value for fn in module.relax_functions.values() for binding in bindings(fn)]
    for call in calls:
        for callee in (call.op, *call.args[:1]) if type(call) is e.Call else ():
            kernel = module.functions.get(callee.name) if isinstance(callee, e.GlobalVar) else None
            if type(kernel) is PrimFunc and not _gives_views(kernel):
                yield kernel


class Kernels:
    """Compiles PrimFuncs on demand. `cache` is a directory that keeps them between processes.

    `interrupt` stops a running kernel. The `engine` REFERENCE compiles no PrimFunc, but runs it statement by statement. `told` hears
    of each kernel before it is compiled: its number and the number of PrimFuncs that `module` calls; and 0, 0 when it is.
    """

    _compiled_by: ClassVar[dict[str, PerNode[tuple[Code | None, Variables, Divided | None]]]] = {
        LLVM: PerNode(),
        NUMBA: PerNode(),
    }

    def __init__(
        self, cache: Path | None = None, interrupt: Interrupt | None = None, engine: str = LLVM
    ) -> None:
        self.cache, self.interrupt, self.engine = cache, interrupt, engine
        self.loops = None if engine == REFERENCE else Loops(self)  # of operators
        self._compiled = self._compiled_by.get(engine, self._compiled_by[LLVM])
        self.remarks: list[Diagnostic] = []  # of the cache
        self._is_trusted = False  # True after it was looked at
        self.owned: dict[int, PrimFunc] = {}  # what computed calls of operators, by the identity of the call
        self.alike: dict[object, Any] = {}  # calls that passed their checks, by what they have in common
        self.told: Callable[[int, int], None] | None = None
        self.module: IRModule | None = None
        self._next: Iterator[PrimFunc] | None = None  # those to compile ahead
        self._new: set[int] = set()  # PrimFuncs whose first call `told` did not hear of
        self._number = 0  # of the last kernel that `told` heard of
        self.compiling = 0.0  # seconds so far
        self.checking = 0.0  # seconds so far in which lengths of operands were compared

    def get(self, fn: PrimFunc) -> Value:
        """The kernel of a PrimFunc."""
        start = time.perf_counter()
        from relax_explorer.core.exec.compiled_kernel import Kernel, uncompiled

        if self.engine == REFERENCE:
            return uncompiled(fn)
        parts = self._compiled.get(id(fn))
        if parts is not None:
            kernel = Kernel(fn, *parts)
        else:
            self._trust_cache()
            kernel = self._add(fn)
            self._begin(kernel)
            self.compiling += time.perf_counter() - start
        return kernel

    def _add(self, fn: PrimFunc) -> Kernel:
        from relax_explorer.core.exec.compiled_kernel import compile_prim_func

        kernel = compile_prim_func(fn, self.cache, self.engine == NUMBA)
        self._compiled.add(fn, (kernel.code, kernel.variables, kernel.divided))
        if self.told is not None:
            self._new.add(id(fn))
        return kernel

    def _begin(self, kernel: Kernel) -> None:
        """Begin to compile a kernel on a thread, and meanwhile those that the module calls next."""
        if self.engine != LLVM or self.module is None:
            return
        if self._next is None:
            self._next = _called(self.module)
        text = kernel.begin()
        while text is not None and text.coming is not None and not text.coming.done():
            fn = next((fn for fn in self._next if id(fn) not in self._compiled), None)
            if fn is None or (self.interrupt is not None and self.interrupt.is_cancelled):
                return
            try:
                self._add(fn).begin()
            except Failure:
                continue  # its call says so

    def compiler(self, fn: PrimFunc) -> str:
        """What runs a PrimFunc: LLVM or numba, whichever compiled it, or REFERENCE."""
        parts = None if self.engine == REFERENCE else self._compiled.get(id(fn))
        if parts is None:
            return self.engine
        return REFERENCE if parts[0] is None else NUMBA if parts[0].is_by_numba else LLVM

    def _tell(self, begins: bool) -> None:
        if self.told is None:
            return
        if not begins:
            self.told(0, 0)
            return
        self._number += 1
        self.told(self._number, max(self._number, 0 if self.module is None else called_kernels(self.module)))

    def _trust_cache(self) -> None:
        """Do without the cache, and say so once, if others could write to it."""
        reason = "" if self.cache is None or self._is_trusted else refusal(self.cache)
        self._is_trusted = True
        if reason:
            self.cache = None
            self.remarks.extend(fault(codes.CACHE_REFUSED, reason).diagnostics)

    def call(self, fn: PrimFunc, args: Sequence[Value]) -> Value:
        """Run a PrimFunc on arrays and scalars, which fills its outputs. Returns its scalar result, or None."""
        kernel = self.get(fn)
        if self._new and id(fn) in self._new:
            self._new.discard(id(fn))
            kernel.told = self._tell
        if kernel.code is None:
            try:
                return kernel(*args, interrupt=self.interrupt)
            finally:
                self.checking += kernel.checking
        from relax_explorer.core.exec.machine_code import NotCompiled

        before = kernel.compiling
        try:
            return kernel(*args, interrupt=self.interrupt)
        except NotCompiled as problem:
            self._doubt(fn, str(problem))
            return self.get(fn)(*args, interrupt=self.interrupt)
        finally:
            self.compiling += kernel.compiling - before
            self.checking += kernel.checking

    def _doubt(self, fn: PrimFunc, reason: str) -> None:
        """Run a PrimFunc statement by statement from now on, and say so once."""
        from relax_explorer.core.exec.compiled_kernel import Variables

        self._compiled.add(fn, (None, Variables.of(fn), None))
        name = fn.attrs.get("global_symbol") or fn.attrs.get("tir.name") or "of this module"
        text = (
            f"{self.engine} can't compile kernel {name}, so it runs statement by statement, slowly: {reason}"
        )
        self.remarks.extend(fault(codes.NOT_COMPILED, text, fn).diagnostics)

    def results(
        self,
        fn: PrimFunc,
        first: int,
        infos: Sequence[s.StructInfo],
        dims: Lengths,
        place: object,
    ) -> list[Value]:
        """Arrays for the outputs of a PrimFunc, from parameter `first` on: zeros where it does not write all elements."""
        from relax_explorer.core.exec.kernel_pieces import filled

        whole = filled(fn) if self.engine == REFERENCE else self.get(fn).filled
        return [allocate(info, dims, place, first + n in whole) for n, info in enumerate(infos)]

    def call_tir(
        self,
        fn: PrimFunc,
        args: Sequence[Value],
        tail: Sequence[Any],
        out: s.StructInfo,
        dims: Lengths,
        place: object,
        axes: Sequence[int] | None = None,
    ) -> Value:
        """The outputs of a PrimFunc. They are allocated from `out`, and passed between the arguments and `tail`.

        With `axes`, the result is a view of the only argument with its axes in this order, as far as BLAS takes it.
        """
        from relax_explorer.core.exec.compiled_kernel import lengths_of

        infos = out.fields if isinstance(out, s.TupleStructInfo) else (out,)
        if axes is not None:
            lengths_of(fn).check([*args, *[allocate(info, dims, place, True) for info in infos]])
            return dense(args[0].transpose(axes))
        results = self.results(fn, len(args), infos, dims, place)
        self.call(fn, [*args, *results, *tail])
        return tuple(results) if isinstance(out, s.TupleStructInfo) else results[0]


def allocate(info: s.StructInfo, dims: Lengths, place: object, any_content: bool = False) -> Value:
    """Allocate an array for a result, of zeros or of any content. Raises Failure if its size is unknown or beyond the limit."""
    if not isinstance(info, s.TensorStructInfo) or info.dims is None or info.dtype is None:
        text, hint = f"a result of {info} can't be allocated", "give its shape and dtype"
        raise fault(codes.SHAPE_CHECK, text, place, hint)
    shape = lengths(info.dims, dims, place)
    text = too_large(shape, info.dtype)
    if text:
        raise fault(codes.TOO_LARGE, text, place)
    dtype = info.dtype.to_numpy()
    return empty(shape, dtype) if any_content else np.zeros(shape, dtype)


def too_large(shape: Sequence[int], dtype: DType) -> str:
    """The message about a result that no array can hold or that is beyond the limit. Empty if the result is fine."""
    if len(shape) > MOST_AXES:
        return f"a result of rank {len(shape)} can't be held; runs support at most {MOST_AXES} axes"
    try:
        size = dtype.to_numpy().itemsize
    except TypeError as problem:
        return f"a result can't be held: {problem}"
    for length in shape:
        size *= length
    if size <= MEMORY_LIMIT:
        return ""
    return f"a result of shape {tuple(shape)} needs {size / 2**30:.1f} GiB, the limit is {MEMORY_LIMIT / 2**30:.0f} GiB"


# -- one kernel ------------------------------------------------------------------------------------------------------
# Runs one kernel for a pass, which folds calls of constants.

SECONDS = 10.0  # a kernel that runs longer is stopped


def kernel_results(
    kernel: PrimFunc, inputs: Sequence[object], out: StructInfo, place: e.Expr
) -> tuple[np.ndarray, ...]:
    """The arrays that a PrimFunc writes, given its input arrays and the StructInfo of its results.

    Raises Failure where the kernel stops, if a result is too large, or after SECONDS.
    """
    interrupt = Interrupt()
    timer = Timer(SECONDS, interrupt.cancel)
    timer.daemon = True
    timer.start()
    try:
        value = Kernels(interrupt=interrupt).call_tir(kernel, inputs, (), out, {}, place)
    finally:
        timer.cancel()
    results: tuple[np.ndarray, ...] = value if isinstance(value, tuple) else (value,)
    return results
