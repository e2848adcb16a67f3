"""Inputs for a run: assigns values to parameters by name or number, and infers the lengths."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from relax_explorer.core.exec.values import Shape, Value, as_parameter, bytes_of
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.walk import info_vars
from relax_explorer.core.session.arrays import INPUT_LIMIT, Weights, read_as, too_much
from relax_explorer.core.session.call_inputs import REST, CallInputs, is_file
from relax_explorer.core.session.made import DEFAULT_LENGTH, Maker, scalar
from relax_explorer.core.session.made import failure as _failure
from relax_explorer.core.session.naming import (
    FieldNames,
    Naming,
    Path,
    Slot,
    field_names,
    name_entries,
    outline,
    slots_of,
)
from relax_explorer.core.session.weights import open_weights

_Reader = Callable[[Naming, Weights, int], dict[int, Any]]
_DECIMAL = re.compile(r"[0-9]{1,18}")


def free_lengths(
    fn: e.Function, given: Mapping[str, str], shape: Mapping[str, int], names: FieldNames | None = None
) -> list[str]:
    """The shape variables whose lengths neither `shape` nor the given values fix. Raises Failure like `made_inputs`.

    Of files only the headers are read.
    """
    names = field_names(fn) if names is None else names
    known = _known(fn, given, INPUT_LIMIT, names, _outlines)[0]
    dims = _dims(fn, known, shape)
    return list(dict.fromkeys(var.name for var in _variables(fn) if var not in dims))


def made_inputs(
    fn: e.Function,
    given: Mapping[str, str],
    shape: Mapping[str, int] | None = None,
    default: str = "randn:0",
    most: int = INPUT_LIMIT,
    names: FieldNames | None = None,
) -> tuple[list[Any], str]:
    """One value per parameter, and a short note of the invented lengths and sources.

    `given` maps the name or number of a parameter to a source, and `*` all others to a file; else others get `default`. Raises
    Failure for an unknown parameter, an unknown source or an unreadable file. `most` limits the total size of the values in bytes. `names` are those
    of the fields of tuple parameters; by default those that the function tells.
    """
    sources = _sources(fn, given)
    known, most = _known(fn, given, most, field_names(fn) if names is None else names)
    dims = _dims(fn, known, shape or {})
    lengths = [f"{var.name} = {DEFAULT_LENGTH}" for var in _variables(fn) if var not in dims]
    for var in _variables(fn):
        dims.setdefault(var, DEFAULT_LENGTH)
    said = sources.keys() | known.keys()
    unsaid = [param.name for n, param in enumerate(fn.params) if _is_made(param) and n not in said]
    maker = Maker(dims, most)
    values = [
        known[n]
        if n in known
        else maker.make(param.struct_info or s.OBJECT, sources.get(n, default), param, n)
        for n, param in enumerate(fn.params)
    ]
    lengths += [f"{p.AnyDim()} = {DEFAULT_LENGTH}"] if maker.is_unnamed else []
    return values, ", ".join([*lengths, *([f"{' '.join(unsaid)} by {default}"] if unsaid else [])])


def call_values(
    fn: e.Function, call: CallInputs, most: int = INPUT_LIMIT, names: FieldNames | None = None
) -> tuple[list[Any], str]:
    """The values of a call, and a note of what was made up and of how the entries of files were named."""
    remarks = file_remarks(fn, call, names)
    if call.whole:
        return from_file(fn, call.whole, most, names), "; ".join(remarks)
    values, note = made_inputs(fn, call.sources, call.shape, most=most, names=names)
    return values, "; ".join([*([note] if note else []), *remarks])


def _known(
    fn: e.Function, given: Mapping[str, str], most: int, names: FieldNames, read: _Reader | None = None
) -> tuple[dict[int, Any], int]:
    """The given values that fix lengths, by parameter number, and the bytes that are left for others."""
    read = read or _read
    known: dict[int, Any] = {}
    if REST in given:
        with open_weights(given[REST]) as file:
            known = read(_rest(fn, given, file, names), file, most)
        most -= sum(map(bytes_of, known.values()))
    for number, source in _sources(fn, given).items():
        param = fn.params[number]
        if is_file(source):
            known[number] = _from_source(fn, number, source, most, names, read)
            most -= bytes_of(known[number])
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
        if key == REST:
            continue
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


def from_file(
    fn: e.Function, path: str | pathlib.Path, most: int = INPUT_LIMIT, names: FieldNames | None = None
) -> list[Any]:
    """Parameter values from one file, by name or by number.

    `names` are those of the fields of tuple parameters; by default those that the function tells. Entries `out…` that name
    no parameter are ignored, because runs save their results under such names. Raises Failure if the file does not fit.
    """
    numbers = range(len(fn.params))
    with open_weights(str(path)) as file:
        slots = slots_of(fn, numbers, field_names(fn) if names is None else names)
        found = _read(name_entries(fn, slots, file, True), file, most)
    return [found.get(number, ()) for number in numbers]


def file_remarks(fn: e.Function, call: CallInputs, names: FieldNames | None = None) -> tuple[str, ...]:
    """How the entries of files were found for a call: translated names, fields in order. Reads headers alone. Raises Failure."""
    names = field_names(fn) if names is None else names
    if call.whole:
        with open_weights(call.whole) as file:
            return tuple(name_entries(fn, slots_of(fn, range(len(fn.params)), names), file, True).remarks)
    remarks: list[str] = []
    if REST in call.sources:
        with open_weights(call.sources[REST]) as file:
            remarks += _rest(fn, call.sources, file, names).remarks
    for number, source in _sources(fn, call.sources).items():
        if is_file(source):
            with open_weights(source) as file:
                remarks += _named(fn, number, file, names).remarks
    return tuple(remarks)


def named_source(
    fn: e.Function, number: int, source: str, most: int, names: FieldNames
) -> tuple[Value, list[str]]:
    """The value of one parameter from a file, and the remarks on how its entries were found. Raises Failure."""
    with open_weights(source) as file:
        naming = _named(fn, number, file, names)
        return _read(naming, file, most).get(number, ()), naming.remarks


def _from_source(
    fn: e.Function, number: int, source: str, most: int, names: FieldNames, read: _Reader
) -> Value:
    with open_weights(source) as file:
        return read(_named(fn, number, file, names), file, most).get(number, ())


def _rest(fn: e.Function, given: Mapping[str, str], file: Weights, names: FieldNames) -> Naming:
    """The entries for all parameters that no source is given for; lengths follow from others."""
    sources = _sources(fn, given)
    numbers = [n for n, param in enumerate(fn.params) if n not in sources and _is_made(param)]
    return name_entries(fn, slots_of(fn, numbers, names), file, False)


def _named(fn: e.Function, number: int, file: Weights, names: FieldNames) -> Naming:
    """The entries for one parameter. A tensor takes the only entry of a file, whatever its name."""
    slots = slots_of(fn, [number], names)
    if len(file.names) == 1 and len(slots) == 1:
        return Naming(slots, {0: file.names[0]})
    return name_entries(fn, slots, file, False)


def _read(naming: Naming, file: Weights, most: int) -> dict[int, Any]:
    """The values of parameters, by number. Nothing is read if all together take more than `most` bytes."""
    for n, name in naming.entries.items():
        needed = file.entry(name).nbytes
        if needed > most:
            raise too_much(f"{name or naming.slots[n]} in {file.path}", needed, most)
        most -= needed
    return _placed(naming, [_of(file.read(naming.entries[n]), slot) for n, slot in enumerate(naming.slots)])


def _outlines(naming: Naming, file: Weights, most: int) -> dict[int, Any]:
    """Values of the shapes that the headers of a file tell, by the number of the parameter."""
    entries = [file.entry(naming.entries[n]) for n in range(len(naming.slots))]
    return _placed(
        naming, [outline(entry, slot.info) for entry, slot in zip(entries, naming.slots, strict=True)]
    )


def _placed(naming: Naming, values: Sequence[Any]) -> dict[int, Any]:
    """The values of parameters from those of the slots."""
    parts: dict[int, dict[Path, Any]] = {}
    for slot, value in zip(naming.slots, values, strict=True):
        parts.setdefault(slot.number, {})[slot.path] = value
    params = {slot.number: slot.param for slot in naming.slots}
    return {n: _built(params[n].struct_info or s.OBJECT, found) for n, found in parts.items()}


def _built(info: s.StructInfo, parts: Mapping[Path, Any], path: Path = ()) -> Value:
    """The value of nested tuples from its parts."""
    if not isinstance(info, s.TupleStructInfo):
        return parts[path]
    return tuple([_built(field, parts, (*path, number)) for number, field in enumerate(info.fields)])


def _of(array: Value, slot: Slot) -> Value:
    """An array from a file as a value for a slot: files store shapes and scalars, and bytes of other dtypes."""
    info = slot.info
    if isinstance(info, s.ShapeStructInfo) and array.ndim == 1 and array.dtype.kind in "iu":
        return Shape(map(int, array))
    if isinstance(info, s.PrimStructInfo) and array.ndim == 0:
        return as_parameter(array.item(), info, str(slot), slot.param)
    dtype = info.dtype if isinstance(info, s.TensorStructInfo) else None
    return array if dtype is None else read_as(array, dtype.to_numpy())


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
