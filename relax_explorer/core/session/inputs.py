"""Inputs for a run: assigns values to parameters by name or number, and infers the lengths."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from relax_explorer.core.exec.values import Shape
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.walk import info_vars
from relax_explorer.core.session.arrays import INPUT_LIMIT, read_arrays, read_as
from relax_explorer.core.session.call_inputs import CallInputs
from relax_explorer.core.session.made import DEFAULT_LENGTH, Maker, scalar
from relax_explorer.core.session.made import failure as _failure

_DECIMAL = re.compile(r"[0-9]{1,18}")
_NUMBERED = re.compile(
    r"(?:arr_|in)([0-9]{1,9})(?:_.*)?", re.DOTALL
)  # numpy.savez names unnamed arrays arr_0


def make_inputs(
    fn: e.Function, given: Mapping[str, str], shape: Mapping[str, int] | None = None, default: str = "randn:0"
) -> list[Any]:
    """The values of `made_inputs`, without its note."""
    return made_inputs(fn, given, shape, default)[0]


def free_lengths(fn: e.Function, given: Mapping[str, str], shape: Mapping[str, int]) -> list[str]:
    """The shape variables whose lengths neither `shape` nor the given values fix. Raises Failure like `made_inputs`."""
    known = _known(fn, _sources(fn, given), INPUT_LIMIT)[0]
    dims = _dims(fn, known, shape)
    return list(dict.fromkeys(var.name for var in _variables(fn) if var not in dims))


def made_inputs(
    fn: e.Function,
    given: Mapping[str, str],
    shape: Mapping[str, int] | None = None,
    default: str = "randn:0",
    most: int = INPUT_LIMIT,
) -> tuple[list[Any], str]:
    """One value per parameter, and a short note of the invented lengths and sources.

    `given` maps the name or number of a parameter to a source; others get `default`. Raises Failure for an unknown
    parameter, an unknown source or an unreadable file. `most` limits the total size of the values in bytes.
    """
    sources = _sources(fn, given)
    known, most = _known(fn, sources, most)
    dims = _dims(fn, known, shape or {})
    lengths = [f"{var.name} = {DEFAULT_LENGTH}" for var in _variables(fn) if var not in dims]
    for var in _variables(fn):
        dims.setdefault(var, DEFAULT_LENGTH)
    unsaid = [param.name for n, param in enumerate(fn.params) if _is_made(param) and n not in sources]
    maker = Maker(dims, most)
    values = [
        known[n]
        if n in known
        else maker.make(param.struct_info or s.OBJECT, sources.get(n, default), param, n)
        for n, param in enumerate(fn.params)
    ]
    lengths += [f"{p.AnyDim()} = {DEFAULT_LENGTH}"] if maker.is_unnamed else []
    return values, ", ".join([*lengths, *([f"{' '.join(unsaid)} by {default}"] if unsaid else [])])


def call_values(fn: e.Function, call: CallInputs, most: int = INPUT_LIMIT) -> tuple[list[Any], str]:
    """The values of a call, and a note of what was made up. A single source that is an .npz without a name holds all."""
    first = call.sources.get("0", "")
    if len(call.sources) == 1 and first.endswith(".npz"):
        return from_npz(fn, first, most), ""
    return made_inputs(fn, call.sources, call.shape, most=most)


def _known(fn: e.Function, sources: Mapping[int, str], most: int) -> tuple[dict[int, Any], int]:
    """The given values that fix lengths, by parameter number, and the bytes that are left for others."""
    known: dict[int, Any] = {}
    for number, source in sources.items():
        param = fn.params[number]
        if source.endswith((".npy", ".npz")):
            known[number] = _load(source, param, most)
            most -= getattr(known[number], "nbytes", 0)
        elif isinstance(param.struct_info, s.PrimStructInfo):
            if source.startswith(("arange", "randn")):
                raise _failure(
                    f"{source[:40]!r} is for tensors, {param.name!r} is a scalar", "give a number", param
                )
            known[number] = scalar(source, param.struct_info, param)
        elif isinstance(param.struct_info, s.ShapeStructInfo):
            known[number] = _shape(source, param)
    return known, most


def _sources(fn: e.Function, given: Mapping[str, str]) -> dict[int, str]:
    """The given sources by parameter number."""
    numbers = {param.name: number for number, param in enumerate(fn.params)}
    sources: dict[int, str] = {}
    for key, source in given.items():
        number = numbers.get(key, -1)
        if number < 0 and _DECIMAL.fullmatch(key):
            number = int(key)
        if not 0 <= number < len(fn.params):
            has = f"the parameters are {', '.join(numbers)}" if numbers else "the function has none"
            raise _failure(f"{key!r} is no parameter", has, fn)
        if number in sources:
            raise _failure(f"{fn.params[number].name!r} is given twice", "give it once", fn.params[number])
        sources[number] = source
    return sources


def _is_made(param: e.Var) -> bool:
    """True if a parameter needs made-up numbers. Shapes and scalars that are lengths follow from the lengths."""
    info = param.struct_info
    return not isinstance(info, s.ShapeStructInfo) and not (
        isinstance(info, s.PrimStructInfo) and info.value is not None
    )


def _variables(fn: e.Function) -> list[p.PrimVar]:
    """The shape variables of the parameters, in order."""
    return list(dict.fromkeys(var for param in fn.params for var in info_vars(param.struct_info or s.OBJECT)))


def from_npz(fn: e.Function, path: str | Path, most: int = INPUT_LIMIT) -> list[Any]:
    """Parameter values from one file: by name, or by number if all entries are called like arr_0, in1 or in2_x.

    Entries `out…` that name no parameter are ignored, because runs save their results under such names.
    """
    names = [param.name for param in fn.params]
    entries = {
        key: value
        for key, value in read_arrays(str(path), most).items()
        if key in names or not key.startswith("out")
    }
    takes = f"the parameters are {', '.join(names)}" if names else "the function has no parameters"
    if set(entries) == set(names):
        return [_of(entries[param.name], param) for param in fn.params]
    places = [int(hit[1]) for key in entries if (hit := _NUMBERED.fullmatch(key or "arr_0"))]
    if sorted(places) != list(range(len(entries))):
        missing = [name for name in names if name not in entries]
        extra = [name for name in entries if name not in names]
        text = f"{path} has no entry {', '.join(missing)}" if missing else f"{path} has too many entries"
        has = f"it has {', '.join(extra)}" if extra else "it has no other entries"
        raise _failure(text, f"{has}; {takes}", fn)
    if len(entries) != len(names):
        text = f"{path} has {len(entries)} inputs, the function {len(names)} parameters"
        raise _failure(text, takes, fn)
    by_place = dict(zip(places, entries.values(), strict=True))
    return [_of(by_place[place], param) for place, param in enumerate(fn.params)]


def _of(array: Any, param: e.Var) -> Any:
    """An array from a file, viewed as the dtype of the parameter if the file cannot store it."""
    info = param.struct_info
    dtype = info.dtype if isinstance(info, s.TensorStructInfo) else None
    return array if dtype is None else read_as(array, dtype.to_numpy())


def _load(source: str, param: e.Var, most: int) -> Any:
    entries = read_arrays(source, most)
    if len(entries) == 1:
        return _of(next(iter(entries.values())), param)
    if param.name in entries:
        return _of(entries[param.name], param)
    has = f"it has {', '.join(entries)}" if entries else "it is empty"
    raise _failure(f"{source} has no entry {param.name!r}", has, param)


def _shape(source: str, param: e.Var) -> Shape:
    """Parse a shape given by its lengths."""
    parts = [part.strip() for part in source.split(",") if part.strip()]
    if not all(map(_DECIMAL.fullmatch, parts)):
        raise _failure(f"{source!r} is no shape", "write its lengths: 2,3", param)
    return Shape(map(int, parts))


def _dims(fn: e.Function, known: Mapping[int, Any], shape: Mapping[str, int]) -> dict[p.PrimVar, int]:
    """The given lengths, and those inferred from known values."""
    from relax_explorer.core.exec.match import Mismatch, match

    variables = _variables(fn)
    names = {var.name for var in variables}
    for name in shape:
        if name not in names:
            raise _failure(
                f"{name!r} is no shape variable", f"there are {', '.join(sorted(names)) or 'none'}", fn
            )
    dims: dict[p.PrimVar, int] = {var: shape[var.name] for var in variables if var.name in shape}
    for number, value in known.items():
        try:
            match(value, fn.params[number].struct_info or s.OBJECT, dims)
        except Mismatch:
            continue  # the run itself reports it, with the parameter
    return dims
