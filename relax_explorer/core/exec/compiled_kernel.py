"""Kernels: PrimFuncs with generated, compiled texts (`machine_code`), that check and convert their arguments."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, SupportsInt

import numpy as np

from relax_explorer.core.arith.multiples import bind_multiples
from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Code as Problem
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec import kernel_memory, kernel_traps
from relax_explorer.core.exec.interrupt import Cancelled, Interrupt
from relax_explorer.core.exec.kernel_code import (
    CHECKED,
    IN_ORDER,
    NEVER,
    PART,
    SPREAD,
    TRUSTING,
    Code,
    code_of,
)
from relax_explorer.core.exec.kernel_memory import described
from relax_explorer.core.exec.kernel_pieces import Pieces, filled, pieces
from relax_explorer.core.exec.loop_fusion import forwarded
from relax_explorer.core.exec.loop_nests import (
    ANY,
    PARALLEL,
    shared_iterations,
)
from relax_explorer.core.exec.loop_statements import length_variables, shape_variables, translate
from relax_explorer.core.exec.machine_code import (
    NotCompiled,
    Text,
)
from relax_explorer.core.exec.reference_kernel import run_reference
from relax_explorer.core.exec.scalars import Undefined, evaluate
from relax_explorer.core.exec.shape_origins import Misfit
from relax_explorer.core.exec.simt_kernel import needs_simt, run_simt
from relax_explorer.core.exec.values import Value, fault
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import HANDLE, INT64, has_type, limits
from relax_explorer.core.ir.struct_info import PrimStructInfo
from relax_explorer.core.ops.kit.ndarrays import in_blocks
from relax_explorer.core.tir.independent import Iterations
from relax_explorer.core.tir.matched_views import without_views
from relax_explorer.core.tir.stmt import Buffer, BufferStore, Evaluate, PrimFunc
from relax_explorer.core.tir.traverse import memory, statements

_SMALL = 127  # every integer dtype can hold this
LONGEST = 1 << 26  # operations between two looks at the interrupt; they take 0.05 s or less
_THREADS = (
    Lock()
)  # a process that has neither TBB nor OpenMP ends if two threads begin a parallel loop of numba


def compile_prim_func(fn: PrimFunc, cache: Path | None = None, by_numba: bool = False) -> Kernel:
    """The kernel of a PrimFunc. Equal texts share one. The directory `cache`, if given, keeps the machine code.

    LLVM compiles it, unless it shall be `by_numba`, or its threads work together (`simt_kernel`). Raises Failure if a part has no translation.
    """
    fn = without_views(fn)
    if needs_simt(fn):
        return lengths_of(fn)
    divided = pieces(forwarded(fn), ANY if by_numba else PARALLEL)
    parts = None if divided is None else Divided(divided, cache, by_numba)
    return Kernel(fn, code_of(fn, cache, by_numba), Variables.of(fn), parts)


def uncompiled(fn: PrimFunc) -> Kernel:
    """The kernel of a PrimFunc that the reference evaluator runs. Raises Failure for what has no translation either."""
    if not needs_simt(fn):
        translate(without_views(fn))
    return lengths_of(fn)


def lengths_of(fn: PrimFunc) -> Kernel:
    """A PrimFunc as a kernel that nobody translated, for the checks of its arguments."""
    return Kernel(fn, None, Variables.of(fn))


@dataclass(frozen=True, slots=True)
class Variables:
    """The shape variables of a PrimFunc, the variables that facts depend on, and the buffers that it overwrites."""

    shapes: list[p.PrimVar]
    lengths: list[p.PrimVar]
    written: set[Any]

    @staticmethod
    def of(fn: PrimFunc) -> Variables:
        """The variables of `fn`."""
        return Variables(shape_variables(fn), length_variables(fn), _written(fn))

    def share(self, params: Sequence[Any], values: Sequence[Any]) -> bool:
        """True if an overwritten argument may share memory with another one, so that the order of the loops counts."""
        arrays = [(q, value) for q, value in zip(params, values, strict=False) if isinstance(q, Buffer)]
        return any(
            np.may_share_memory(array, other)
            for q, array in arrays
            if q in self.written
            for r, other in arrays
            if r is not q
        )


class Divided:
    """The pieces of a PrimFunc with large contractions, and the kernels of those between them."""

    def __init__(self, parts: Pieces, cache: Path | None, by_numba: bool) -> None:
        self.parts, self.cache, self.by_numba = parts, cache, by_numba
        self.kernels: dict[PrimFunc, Kernel] = {}

    def run(self, values: Sequence[Any], dims: Mapping[p.PrimVar, int], interrupt: Interrupt) -> bool:
        """Fill the outputs, if that pays for these lengths. False if nothing was done."""
        return self.parts.pays(dims) and self.parts.run(values, dims, interrupt, self._kernel)

    def _kernel(self, fn: PrimFunc) -> Kernel:
        kernel = self.kernels.get(fn)
        if kernel is None:
            kernel = self.kernels[fn] = compile_prim_func(fn, self.cache, self.by_numba)
        return kernel


class Kernel:
    """A PrimFunc that can be called: with arrays for buffers and numbers for scalars, in order. The call fills the outputs.

    Without `code` it is not compiled, but run statement by statement. With `divided`, large contractions are computed by BLAS.
    """

    def __init__(
        self, fn: PrimFunc, code: Code | None, variables: Variables, divided: Divided | None = None
    ) -> None:
        self.fn, self.code, self.variables, self.divided = without_views(fn), code, variables, divided
        self.told: Callable[[bool], None] | None = None  # hears when compiling begins, and when it ends
        self.checking = 0.0  # seconds in which the last call compared lengths with buffers

    def __call__(self, *args: Any, interrupt: Interrupt | None = None) -> Any:
        if len(args) != len(self.fn.params):
            raise self._fail(
                codes.INPUT_COUNT, f"the PrimFunc takes {len(self.fn.params)} arguments, {len(args)} given"
            )
        start = time.perf_counter()
        dims = self._dims(args)
        self.checking = time.perf_counter() - start
        passed = [self._argument(param, arg) for param, arg in zip(self.fn.params, args, strict=True)]
        values = [*passed, *[int(dims[var]) for var in self.variables.shapes]]
        result = self._run(values, dims, interrupt or NEVER)
        for param, converted, original in zip(self.fn.params, passed, args, strict=True):
            if converted is not original and param in self.variables.written:
                with np.errstate(all="ignore"):  # values too large for a narrow float become infinite or NaN
                    original[...] = converted.astype(original.dtype)
        ret_type = self.fn.ret_type
        if isinstance(ret_type, PrimStructInfo) and result is not None:
            return ret_type.dtype.to_numpy().type(result)
        return None

    @property
    def compiling(self) -> float:
        """The seconds that compiling took so far, for this kernel and the pieces of it."""
        inner = self.divided.kernels.values() if self.divided is not None else ()
        return (self.code.compiling if self.code is not None else 0.0) + sum([k.compiling for k in inner])

    def passed(self, args: Sequence[Value]) -> list[Any]:
        """What a text takes for these arguments: arrays and numbers, then the lengths."""
        return self._passed(args, self._dims(args))

    def _passed(self, args: Sequence[Value], dims: Mapping[p.PrimVar, int]) -> list[Any]:
        values = [self._argument(param, arg) for param, arg in zip(self.fn.params, args, strict=True)]
        return [*values, *[int(dims[var]) for var in self.variables.shapes]]

    def prepared(self, args: Sequence[Value], inputs: int) -> tuple[Any, list[Any]] | None:
        """The compiled text and its arguments. None if an array must be converted, or if one of the `inputs` is written."""
        dims = self._dims(args)
        values = self._passed(args, dims)
        arrays = [(arg, value) for arg, value in zip(args, values, strict=False) if type(arg) is np.ndarray]
        written = any(param in self.variables.written for param in self.fn.params[:inputs])
        if self.code is None or written or any(arg is not value for arg, value in arrays):
            return None
        if self.divided is not None and self.divided.parts.pays(dims):
            return None
        if self._shared(dims) is not None or not all([value.flags.c_contiguous for _, value in arrays]):
            return None
        if self.variables.share(self.fn.params, values):
            return None
        name = TRUSTING if self._trusts(self.code, dims) else CHECKED
        values += self.code.numbers(self.fn)
        return self.code.function(self.fn, values, name), values

    def in_pieces(
        self, args: Sequence[Value], inputs: int
    ) -> tuple[Callable[[Sequence[Any], Interrupt], bool], list[Any]] | None:
        """What runs the pieces, and its arguments. None if they don't pay, an array must be converted, or one of the `inputs` is written."""
        dims = self._dims(args)
        if self.divided is None or not self.divided.parts.pays(dims):
            return None
        values = self._passed(args, dims)
        written = any(param in self.variables.written for param in self.fn.params[:inputs])
        converted = any(
            type(arg) is np.ndarray and arg is not value for arg, value in zip(args, values, strict=False)
        )
        if written or converted or self.variables.share(self.fn.params, values):
            return None
        divided = self.divided
        return lambda passed, interrupt: divided.run(passed, dims, interrupt), values

    @property
    def viewed(self) -> frozenset[int]:
        """The numbers of the parameters that products alone read, so that their arrays need not be compact."""
        viewed = self.divided.parts.viewed if self.divided is not None else ()
        return frozenset([number for number, param in enumerate(self.fn.params) if param in viewed])

    def takes_view(self, place: int, shapes: Mapping[int, Sequence[int]]) -> bool:
        """True if the array at a place need not be compact: products alone read it, and one is large for these shapes of arguments."""
        if self.divided is None:
            return False
        dims = {
            dim: length
            for number, shape in shapes.items()
            for dim, length in zip(getattr(self.fn.params[number], "shape", ()), shape, strict=False)
            if type(dim) is p.PrimVar
        }
        return self.divided.parts.takes_view(self.fn.params[place], dims)

    def check(self, args: Sequence[Value]) -> None:
        """Compare the arguments with the buffers. Raises Failure."""
        self._dims(args)

    @property
    def filled(self) -> Collection[int]:
        """The numbers of the parameters of which it stores each element before it reads one."""
        return filled(self.fn) if self.code is None else self.code.outline.filled

    def may_stop(self, function: object) -> bool:
        """True if a compiled text may stop, beside the interrupt."""
        return self.code is None or self.code.stops(function)

    def _trusts(self, code: Code, dims: Mapping[p.PrimVar, int]) -> bool:
        """True if every fact that the text relies on holds for these lengths."""
        lengths = self.variables.lengths
        return not lengths or code.trusts(self.fn, {var: int(dims[var]) for var in lengths})

    def _run(self, values: Sequence[Any], dims: Mapping[p.PrimVar, int], interrupt: Interrupt) -> Any:
        if self.code is None:
            if needs_simt(self.fn):
                return run_simt(self.fn, self.variables.shapes, values, interrupt)
            return run_reference(self.fn, self.variables.shapes, values, interrupt)
        name = TRUSTING if self._trusts(self.code, dims) else CHECKED
        if self.variables.share(self.fn.params, values):
            name = IN_ORDER
        elif self.divided is not None and self.divided.run(values, dims, interrupt):
            return None
        values = [
            np.ascontiguousarray(item) if type(item) is np.ndarray and item.ndim else item for item in values
        ]
        iterations = self._shared(dims) if name == TRUSTING else None
        numbers = self.code.numbers(self.fn)
        if iterations is None:
            values += numbers
            return self._call(self._function(self.code, values, name), values, interrupt)
        if self._by_threads_of_numba(self.code, values, iterations, interrupt):
            return None
        function = self._function(self.code, (*values, 0, 0, *numbers), PART)
        start, count = iterations.start, iterations.end - iterations.start

        def some(first: int, last: int) -> None:
            self._call(function, (*values, start + first, start + last, *numbers), interrupt)

        in_blocks(some, count, count, iterations.operations)
        return None

    def _shared(self, dims: Mapping[p.PrimVar, int]) -> Iterations | None:
        """The iterations of the parallel loop that threads share for these lengths. None if there are none."""
        if self.code is None or self.code.outline.is_serial:
            return None
        points = {var: int(dims[var]) for var in self.variables.lengths}
        return shared_iterations(self.code.loops(self.fn), points, self.code.kinds)

    def _by_threads_of_numba(
        self, code: Code, values: Sequence[Value], iterations: Iterations, interrupt: Interrupt
    ) -> bool:
        """Run the parallel loop piece by piece, each on threads of numba. False if it may stop inside; then nothing was done."""
        count = iterations.end - iterations.start
        if not code.is_spread or iterations.operations > LONGEST * count:
            return False
        try:
            function = self._function(code, (*values, 0, 0), SPREAD)
        except NotCompiled:
            code.is_spread = False
            return False
        size = max(1, LONGEST * count // iterations.operations)
        for first in range(iterations.start, iterations.end, size):
            interrupt.check()
            with _THREADS:
                self._call(function, (*values, first, min(first + size, iterations.end)), interrupt)
        return True

    def _function(self, code: Code, passed: Sequence[Value], name: str) -> Callable[..., Value]:
        """The text compiled for these arguments."""
        if self.told is not None:
            self.told(True)
        function: Callable[..., Value] = code.function(self.fn, passed, name)
        if self.told is not None:
            self.told(False)
        return function

    def begin(self) -> Text | None:
        """Let a thread compile the text that calls will most likely need. None if that can't be told, or there is no text."""
        if self.code is None or (
            self.divided is not None and (self.variables.lengths or self.divided.parts.pays({}))
        ):
            return None
        shared = None if self.variables.lengths else self._shared({})
        text = self.code.text(self.fn, TRUSTING if shared is None else PART)
        text.begin()
        return text

    def _call(self, function: Callable[..., Value], values: Sequence[Value], interrupt: Interrupt) -> Value:
        note = np.zeros(kernel_traps.NOTE_LENGTH, np.int64)
        try:
            with np.errstate(all="ignore"):
                return function(*values, note, interrupt.address)
        except InterruptedError:
            raise Cancelled from None
        except kernel_traps.ERRORS as error:
            raise kernel_traps.failure(self.fn, error, note.tolist()) from None

    def _argument(self, param: Buffer | p.PrimVar, arg: Value) -> Value:
        if param.dtype is HANDLE:
            if not isinstance(arg, np.ndarray):
                text = f"handle {param.name} needs an array, this is a {type(arg).__name__}"
                raise self._fail(codes.WRONG_INPUT, text)
            return described(arg)
        if isinstance(param, p.PrimVar):
            return float(arg) if param.dtype.is_float else self._whole(param, arg)
        if arg.dtype.kind not in "biuf" or (arg.dtype.itemsize < 4 and arg.dtype.kind == "f"):
            return arg.astype(np.float32, order="C")  # np.ascontiguousarray would give a scalar an axis
        if not arg.dtype.isnative:  # of the other byte order
            return arg.astype(arg.dtype.newbyteorder("="), order="C")
        is_fine = arg.flags.c_contiguous or (self.divided is not None and param in self.divided.parts.viewed)
        return arg if is_fine and arg.flags.aligned else np.ascontiguousarray(arg)

    def _whole(self, param: p.PrimVar, arg: SupportsInt) -> int | np.uint64:
        """An integer or bool parameter. It must fit its dtype."""
        value = int(arg)
        low, high = limits(param.dtype) if param.dtype.is_int else (0, 1)
        if not low <= value <= high:
            raise self._fail(codes.WRONG_INPUT, f"{param.name} is {value}, which {param.dtype} can't hold")
        return np.uint64(value) if param.dtype.name == "uint64" else value

    def _dims(self, args: Sequence[Any]) -> dict[p.PrimVar, int]:
        """The values of the shape variables. Every dimension is compared."""
        dims: dict[p.PrimVar, int] = {
            q: int(a)
            for q, a in zip(self.fn.params, args, strict=True)
            if isinstance(q, p.PrimVar) and q.dtype is not HANDLE and not q.dtype.is_float
        }
        for param, arg in zip(self.fn.params, args, strict=True):
            if isinstance(param, Buffer):
                self._check(param, arg)
                for dim, length in zip(param.shape, arg.shape, strict=True):
                    if type(dim) is p.PrimVar:
                        dims.setdefault(dim, length)
        if len(dims) < len(self.variables.lengths):
            self._solve(args, dims)
        for param, arg in zip(self.fn.params, args, strict=True):
            if isinstance(param, Buffer):
                for axis, (dim, length) in enumerate(zip(param.shape, arg.shape, strict=True)):
                    known = dims.get(dim) if type(dim) is p.PrimVar else getattr(dim, "value", None)
                    if known != length or (length > _SMALL and dim.dtype is not INT64):  # else it is right
                        self._compare(param, axis, length, dims)
        return dims

    def _solve(self, args: Sequence[Any], dims: dict[p.PrimVar, int]) -> None:
        """Find the variables that stand in no dimension alone: `m * 4` of length 16 tells that `m` is 4."""
        values: dict[p.PrimVar, p.PrimExpr] = {var: p.IntImm(value, var.dtype) for var, value in dims.items()}
        places = [
            (param, axis, length)
            for param, arg in zip(self.fn.params, args, strict=True)
            if isinstance(param, Buffer)
            for axis, length in enumerate(arg.shape)
        ]
        bind_multiples([(q.shape[n], p.IntImm(length, q.shape[n].dtype)) for q, n, length in places], values)
        for var in self.variables.lengths:
            found = values.get(var)
            if isinstance(found, p.IntImm):
                dims[var] = found.value
                continue
            param, axis, length = next(
                place for place in places if var in p.free_vars(place[0].shape[place[1]])
            )
            dim = param.shape[axis]
            is_one = len(p.free_vars(p.substitute(dim, values))) == 1
            fault = f"{dim} = {length} has no solution" if is_one else f"{dim} does not tell {var.name}"
            text = f"a length of buffer {param.name} is {length}: {fault}"
            raise Misfit(self.fn, param, axis, length, text, dims)

    def _compare(self, param: Buffer, axis: int, length: int, dims: Mapping[p.PrimVar, int]) -> None:
        dim = param.shape[axis]
        try:
            expected = evaluate(dim, dims)
        except Undefined as problem:
            raise self._fail(problem.code, str(problem)) from None
        if expected != length:
            text = f"a length of buffer {param.name} is {length}, {dim} = {expected} is needed"
            raise Misfit(self.fn, param, axis, length, text, dims)
        if type(dim) is p.PrimVar and length > limits(dim.dtype)[1]:
            text = f"a length of buffer {param.name} is {length}, which {dim.dtype} can't hold"
            raise self._fail(codes.OVERFLOW, text)

    def _check(self, param: Buffer, arg: object) -> None:
        if not isinstance(arg, np.ndarray):
            raise self._fail(
                codes.WRONG_INPUT, f"buffer {param.name} needs an array, this is a {type(arg).__name__}"
            )
        if not has_type(arg.dtype, param.dtype):
            raise self._fail(
                codes.WRONG_INPUT, f"buffer {param.name} is {param.dtype}, the array {arg.dtype.name}"
            )
        if arg.ndim != len(param.shape):
            raise self._fail(
                codes.WRONG_INPUT,
                f"buffer {param.name} has {len(param.shape)} dimensions, the array {arg.ndim}",
            )

    def _fail(self, code: Problem, text: str) -> Failure:
        return fault(code, text, self.fn)


def _written(fn: PrimFunc) -> set[Any]:
    nodes, views = list(statements(fn.body)), memory(fn.body)
    filled = {
        buffer for node in nodes if type(node) is Evaluate for buffer in kernel_memory.written(node.value)
    }
    filled |= {node.buffer for node in nodes if type(node) is BufferStore}
    return filled | {views.get(buffer) for buffer in filled}
