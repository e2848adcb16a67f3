"""Inputs for a run: `zeros`, `ones`, `randn:seed`, `arange`, a number, or a .npy or .npz file, for parameters by name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure, Label
from relax_explorer.core.exec.scalars import Undefined, evaluate
from relax_explorer.core.exec.values import Shape
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.walk import info_vars

DEFAULT_LENGTH = 3  # of a shape variable that nobody gave a value


def make_inputs(
    fn: e.Function, given: Mapping[str, str], shape: Mapping[str, int] | None = None, default: str = "randn:0"
) -> list[Any]:
    """One value for each parameter. `given` maps a parameter's name, or its number, to a source; others get `default`.

    Raises Failure for a name that is no parameter, an unknown source or an unreadable file.
    """
    return made_inputs(fn, given, shape, default)[0]


def made_inputs(
    fn: e.Function, given: Mapping[str, str], shape: Mapping[str, int] | None = None, default: str = "randn:0"
) -> tuple[list[Any], str]:
    """The values of `make_inputs`, and what nobody gave and was made up: lengths and sources in a few words."""
    names = {param.name: number for number, param in enumerate(fn.params)}
    unknown = [key for key in given if key not in names and not key.isdigit()]
    if unknown:
        raise _failure(f"{unknown[0]!r} is no parameter", f"the parameters are {', '.join(names)}", fn)
    loaded: dict[int, Any] = {}
    for number, param in enumerate(fn.params):
        source = given.get(param.name, given.get(str(number)))
        if source is not None and source.endswith((".npy", ".npz")):
            loaded[number] = _load(source, param)
    dims = _dims(fn, loaded, shape or {})
    lengths = [f"{var.name} = {DEFAULT_LENGTH}" for var in _variables(fn) if var not in dims]
    for var in _variables(fn):
        dims.setdefault(var, DEFAULT_LENGTH)
    unsaid = [
        q.name for n, q in enumerate(fn.params) if _is_made(q) and q.name not in given and str(n) not in given
    ]
    made_up = ", ".join([*lengths, *([f"{' '.join(unsaid)} by {default}"] if unsaid else [])])
    values = []
    for number, param in enumerate(fn.params):
        source = given.get(param.name, given.get(str(number), default))
        values.append(
            loaded[number]
            if number in loaded
            else _make(param.struct_info or s.OBJECT, source, dims, param, number)
        )
    return values, made_up


def _is_made(param: e.Var) -> bool:
    """Whether numbers are needed for a parameter: a shape, and a scalar that is a length, follow from the lengths."""
    info = param.struct_info
    return not isinstance(info, s.ShapeStructInfo) and not (
        isinstance(info, s.PrimStructInfo) and info.value is not None
    )


def _variables(fn: e.Function) -> list[p.PrimVar]:
    """The shape variables of the parameters, in order."""
    return list(dict.fromkeys(var for param in fn.params for var in info_vars(param.struct_info or s.OBJECT)))


def from_npz(fn: e.Function, path: str | Path) -> list[Any]:
    """Values of the parameters from one .npz file: by name, or in the file's order (entries named `out…` are left out)."""
    entries = read_arrays(str(path))
    inputs = {key: value for key, value in entries.items() if not key.startswith("out")}
    names = [param.name for param in fn.params]
    if all(name in inputs for name in names):
        return [inputs[name] for name in names]
    if len(inputs) != len(names):
        raise _failure(
            f"{path} has {len(inputs)} inputs, the function {len(names)} parameters",
            f"the parameters are {', '.join(names)}",
            fn,
        )
    return list(inputs.values())


def read_arrays(path: str) -> dict[str, Any]:
    """The arrays of a .npz file by name, or the one of a .npy file under ""; raises Failure when it can't be read."""
    try:
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return {"": loaded}
        with loaded:
            return {key: loaded[key] for key in loaded.files}
    except (OSError, ValueError, EOFError, KeyError, MemoryError) as error:
        raise Failure(
            Diagnostic(codes.BAD_INPUT_FILE, f"{path}: {str(error)[:120]}", help=codes.BAD_INPUT_FILE.fix)
        ) from None
    except Exception as error:  # noqa: BLE001  # zipfile and zlib raise a dozen kinds for a damaged archive
        raise Failure(
            Diagnostic(
                codes.BAD_INPUT_FILE,
                f"{path} is damaged: {type(error).__name__}",
                help=codes.BAD_INPUT_FILE.fix,
            )
        ) from None


def _load(source: str, param: e.Var) -> Any:
    entries = read_arrays(source)
    if len(entries) == 1:
        return next(iter(entries.values()))
    if param.name in entries:
        return entries[param.name]
    raise _failure(f"{source} has no entry {param.name!r}", f"it has {', '.join(entries)}", param)


def _dims(fn: e.Function, loaded: Mapping[int, Any], shape: Mapping[str, int]) -> dict[p.PrimVar, int]:
    """The lengths that were given, or follow from arrays."""
    from relax_explorer.core.exec.match import Mismatch, match

    variables = _variables(fn)
    known = {var.name for var in variables}
    for name in shape:
        if name not in known:
            raise _failure(
                f"{name!r} is no shape variable", f"there are {', '.join(sorted(known)) or 'none'}", fn
            )
    dims: dict[p.PrimVar, int] = {var: shape[var.name] for var in variables if var.name in shape}
    for number, value in loaded.items():
        try:
            match(value, fn.params[number].struct_info or s.OBJECT, dims)
        except Mismatch:
            continue  # the run itself reports it, with the parameter
    return dims


def _make(info: s.StructInfo, source: str, dims: dict[p.PrimVar, int], param: e.Var, number: int) -> Any:
    if isinstance(info, s.TupleStructInfo):
        return tuple([_make(field, source, dims, param, number + i) for i, field in enumerate(info.fields)])
    if isinstance(info, s.ShapeStructInfo):
        return Shape(_length(dim, dims, param) for dim in info.values or ())
    if isinstance(info, s.PrimStructInfo):
        known = _known(info.value, dims)
        return known if known is not None else _number(source, param)
    if isinstance(info, s.TensorStructInfo):
        lengths = (
            tuple([_length(dim, dims, param) for dim in info.dims])
            if info.dims is not None
            else (DEFAULT_LENGTH,) * max(info.ndim, 0)
        )
        return _tensor(
            source, lengths, info.dtype.to_numpy() if info.dtype else np.dtype(np.float32), param, number
        )
    raise _failure(f"parameter {param.name!r} is {info}: no value can be made for it", "give a file", param)


def _known(value: p.PrimExpr | None, dims: dict[p.PrimVar, int]) -> Any:
    try:
        return None if value is None else evaluate(value, dims)
    except Undefined:
        return None


def _length(dim: p.PrimExpr, dims: dict[p.PrimVar, int], param: e.Var) -> int:
    try:
        value = evaluate(dim, dims)
    except Undefined as problem:
        raise _failure(f"{problem} in {param.name!r}", "give other lengths with --shape", param) from None
    if value is None or value < 0:
        raise _failure(f"the dimension {dim} of {param.name!r} has no value", "give it with --shape", param)
    return int(value)


def _number(source: str, param: e.Var) -> Any:
    try:
        return int(source)
    except ValueError:
        try:
            return float(source)
        except ValueError:
            return DEFAULT_LENGTH


def _tensor(source: str, lengths: tuple[int, ...], dtype: Any, param: e.Var, number: int) -> Any:
    kind, _, argument = source.partition(":")
    size = int(np.prod(lengths, dtype=np.int64))
    if kind == "zeros":
        return np.zeros(lengths, dtype)
    if kind == "ones":
        return np.ones(lengths, dtype)
    if kind == "arange":
        return np.arange(size).reshape(lengths).astype(dtype)
    if kind == "randn":
        generator = np.random.default_rng([int(argument or 0), number])
        if dtype.kind == "f" or dtype.name.startswith(("bfloat", "float")):
            return generator.standard_normal(lengths).astype(dtype)
        return generator.integers(0, 2 if dtype.kind == "b" else 4, lengths).astype(dtype)
    try:
        return np.full(lengths, float(source)).astype(dtype)
    except ValueError:
        raise _failure(
            f"{source!r} is no source of values",
            "use zeros, ones, randn:SEED, arange, a number, or a .npy or .npz file",
            param,
        ) from None


def _failure(text: str, hint: str, place: object) -> Failure:
    return Failure(Diagnostic(codes.WRONG_INPUT, text, (Label(place, "", True),), help=hint))
