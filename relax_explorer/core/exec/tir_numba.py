"""Kernels: generated source compiled by numba, kept in memory by structure and on disk by content."""

from __future__ import annotations

import importlib.util
import sys
import tempfile
import warnings
from collections.abc import Sequence
from functools import cache as once
from pathlib import Path
from typing import Any

import numba
import numpy as np

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure, Label
from relax_explorer.core.exec import tir_packed
from relax_explorer.core.exec.scalars import Undefined, evaluate
from relax_explorer.core.exec.tir_codegen import generate, problem_text, shape_variables
from relax_explorer.core.exec.tir_memory import described
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import HANDLE
from relax_explorer.core.ir.struct_info import PrimStructInfo
from relax_explorer.core.tir.buffer import Buffer
from relax_explorer.core.tir.equal import prim_func_hash
from relax_explorer.core.tir.stmt import PrimFunc

VERSION = 3  # of the generated source and what it calls: an older file on disk is not used
_KERNELS: dict[int, Kernel] = {}


@once
def _scratch() -> Path:
    """A directory for sources that are not kept."""
    return Path(tempfile.mkdtemp(prefix="relax-explorer-"))


def compile_prim_func(fn: PrimFunc, cache: Path | None = None) -> Kernel:
    """The kernel of a PrimFunc; one for each structure in a process, its machine code kept in directory `cache` when given.

    Raises Failure for what has no translation.
    """
    key = prim_func_hash(fn)
    hit = _KERNELS.get(key)
    if hit is None:
        hit = _KERNELS[key] = Kernel(fn, key, cache)
    return hit


class Kernel:
    """A compiled PrimFunc, called with its parameters in order: arrays for buffers, numbers for scalars; it fills outputs."""

    def __init__(self, fn: PrimFunc, key: int, cache: Path | None) -> None:
        self.fn, self.key, self.cache = fn, key, cache
        self.variables = shape_variables(fn)
        self.written = _written(fn)
        self.function = self._load(cache)
        self.compiled: set[Any] = set()

    def _load(self, cache: Path | None) -> Any:
        if cache is not None:
            try:
                cache.mkdir(parents=True, exist_ok=True)
                return _module(cache, self.key, generate(self.fn, True))
            except (OSError, SyntaxError, ValueError):
                pass  # the directory can't be written or holds a damaged file: do without
        return _module(_scratch(), self.key, generate(self.fn, False))

    def __call__(self, *args: Any) -> Any:
        if len(args) != len(self.fn.params):
            raise self._fail(
                codes.INPUT_COUNT, f"the PrimFunc takes {len(self.fn.params)} arguments, {len(args)} given"
            )
        dims = self._dims(args)
        passed = [self._argument(param, arg) for param, arg in zip(self.fn.params, args, strict=True)]
        values = [*passed, *[int(dims[var]) for var in self.variables]]
        self._compile(values)
        try:
            with np.errstate(all="ignore"):
                result = self.function(*values)
        except IndexError as error:
            raise self._fail(codes.OUT_OF_BOUNDS, problem_text(self.fn, error)) from None
        except ValueError:  # only a view's shape can be wrong
            text = "a view reaches beyond the memory that it shows"
            raise self._fail(codes.OUT_OF_BOUNDS, text) from None
        except AssertionError as error:
            raise self._fail(codes.ASSERTION, problem_text(self.fn, error)) from None
        for param, own, given in zip(self.fn.params, passed, args, strict=True):
            if own is not given and param in self.written:
                with np.errstate(
                    all="ignore"
                ):  # what is too large for a narrow float becomes infinite or NaN
                    given[...] = own.astype(given.dtype)
        kind = self.fn.ret_type
        if isinstance(kind, PrimStructInfo) and result is not None:
            return kind.dtype.to_numpy().type(result)
        return None

    def _compile(self, values: Sequence[Any]) -> None:
        """Compile for these types before the first call; what lies damaged on disk is thrown away and made anew."""
        types = tuple([numba.typeof(value) for value in values])
        if types in self.compiled:
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                self.function.compile(types)
            except Exception as problem:  # noqa: BLE001  # whatever a damaged cache makes numba raise
                if self.cache is None:
                    raise self._fail(
                        codes.NO_KERNEL, f"numba can't compile it: {str(problem).splitlines()[0][:160]}"
                    ) from None
                _purge(self.cache, self.key)
                self.cache = None
                self.function = self._load(None)
                self._compile(values)
        self.compiled.add(types)

    def _argument(self, param: Buffer | p.PrimVar, arg: Any) -> Any:
        if param.dtype is HANDLE:
            if not isinstance(arg, np.ndarray):
                text = f"handle {param.name} needs an array, this is a {type(arg).__name__}"
                raise self._fail(codes.WRONG_INPUT, text)
            return described(arg)
        if isinstance(param, p.PrimVar):
            return float(arg) if param.dtype.is_float else int(arg)
        if arg.dtype.kind not in "biuf" or (arg.dtype.itemsize < 4 and arg.dtype.kind == "f"):
            return arg.astype(np.float32, order="C")  # np.ascontiguousarray would give a scalar an axis
        return arg if arg.flags.c_contiguous and arg.flags.aligned else np.ascontiguousarray(arg)

    def _dims(self, args: Sequence[Any]) -> dict[p.PrimVar, int]:
        """Values of the shape variables; every dimension is compared."""
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
        for param, arg in zip(self.fn.params, args, strict=True):
            for dim, length in zip(param.shape, arg.shape, strict=True) if isinstance(param, Buffer) else ():
                try:
                    wanted = evaluate(dim, dims)
                except Undefined as problem:
                    raise self._fail(problem.code, str(problem)) from None
                if wanted != length:
                    text = f"a length of buffer {param.name} is {length}, {dim} = {wanted} is needed"
                    raise self._fail(codes.SHAPE_CHECK, text)
        return dims

    def _check(self, param: Buffer, arg: Any) -> None:
        if not isinstance(arg, np.ndarray):
            raise self._fail(
                codes.WRONG_INPUT, f"buffer {param.name} needs an array, this is a {type(arg).__name__}"
            )
        if arg.dtype.name != param.dtype.name:
            raise self._fail(
                codes.WRONG_INPUT, f"buffer {param.name} is {param.dtype}, the array {arg.dtype.name}"
            )
        if arg.ndim != len(param.shape):
            raise self._fail(
                codes.WRONG_INPUT,
                f"buffer {param.name} has {len(param.shape)} dimensions, the array {arg.ndim}",
            )

    def _fail(self, code: Any, text: str) -> Failure:
        return Failure(Diagnostic(code, text, (Label(self.fn, "", True),), help=code.fix))


def _written(fn: PrimFunc) -> set[Any]:
    from relax_explorer.core.tir.stmt import BufferStore, Evaluate
    from relax_explorer.core.tir.walk import memory, statements

    nodes, views = list(statements(fn.body)), memory(fn.body)
    filled = {buffer for node in nodes if type(node) is Evaluate for buffer in tir_packed.written(node.value)}
    filled |= {node.buffer for node in nodes if type(node) is BufferStore}
    return filled | {views.get(buffer) for buffer in filled}


def _module(folder: Path, key: int, source: str) -> Any:
    """The `kernel` of a source file in `folder`; the file is written when it is missing or differs."""
    name = f"k_{key:016x}_{VERSION}"
    path = folder / f"{name}.py"
    if not path.is_file() or path.read_text(encoding="utf-8", errors="replace") != source:
        scratch = path.with_suffix(".part")
        scratch.write_text(source, encoding="utf-8")
        scratch.replace(path)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise OSError(f"{path} can't be loaded")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # numba's cache looks the module up
    spec.loader.exec_module(module)
    return module.kernel


def _purge(folder: Path, key: int) -> None:
    """Remove what is on disk of a kernel."""
    for path in [*folder.glob(f"k_{key:016x}_*"), *folder.glob(f"__pycache__/k_{key:016x}_*")]:
        path.unlink(missing_ok=True)
