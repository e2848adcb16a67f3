"""Inputs of a function: from options and files, and made up where nothing is given."""

from __future__ import annotations

import math
import pathlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure, Label
from relax_explorer.core.exec.scalars import Undefined, evaluate
from relax_explorer.core.exec.values import MOST_AXES, Shape, Value, as_parameter, bytes_of
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import FLOAT32, INT64, DType, limits
from relax_explorer.core.ir.walk import info_vars
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.session.arrays import INPUT_LIMIT, Weights, read_as, too_much
from relax_explorer.core.session.call_inputs import REST, WEIGHTS, CallInputs, is_file
from relax_explorer.core.session.model_weights import weight_numbers
from relax_explorer.core.session.naming import (
    FieldNames,
    Naming,
    Path,
    Slot,
    field_names,
    name_entries,
    one_name,
    outline,
    slots_of,
)
from relax_explorer.core.session.weight_files import open_weights

# -- generated values ------------------------------------------------------------------------------------------------------------
# Makes values for parameters: `zeros`, `ones`, `arange`, `randn:SEED` or a number, within a memory limit.


DEFAULT_LENGTH = 3  # of a shape variable without a given value
_SOURCES = "use zeros, ones, randn:SEED, arange, a number, or a .npy or .npz file"
_MADE = re.compile(r"(zeros|ones|arange|randn)|randn:([0-9]{1,18})?")
_WHOLE = re.compile(r"[+-]?[0-9]{1,40}")


@dataclass(slots=True)
class Generator:
    """Makes values of known lengths. `most` is the remaining number of bytes, `hint` tells how to give a length."""

    dims: dict[p.PrimVar, int]
    most: int
    hint: str = "give it with --shape"
    is_unnamed: bool = False  # True once a length without a name (`R.any_dim`) was made up

    def make(self, info: s.StructInfo, source: str, param: e.Var, number: int) -> Value:
        """A value of this StructInfo. `number` gives each parameter its own random values."""
        if isinstance(info, s.TupleStructInfo):
            return tuple([self.make(field, source, param, number + i) for i, field in enumerate(info.fields)])
        if isinstance(info, s.ShapeStructInfo):
            if info.values is None:
                return Shape([DEFAULT_LENGTH] * max(info.ndim, 0))
            return Shape(self._length(dim, param) for dim in info.values)
        if isinstance(info, s.PrimStructInfo):
            known = self._evaluated(info.value)
            return known if known is not None else scalar(source, info, param)
        if isinstance(info, s.TensorStructInfo):
            return self._tensor(info, source, param, number)
        raise failure(
            f"parameter {param.name!r} is {info}: no value can be made for it",
            "give a file; what another call makes, such as a cache, comes from a file of calls: --calls, or I in Debug",
            param,
        )

    def _evaluated(self, value: p.PrimExpr | None) -> float | None:
        try:
            return None if value is None else evaluate(value, self.dims)
        except Undefined:
            return None

    def _length(self, dim: p.PrimExpr, param: e.Var) -> int:
        if type(dim) is p.AnyDim:
            self.is_unnamed = True
            return DEFAULT_LENGTH
        try:
            value = evaluate(dim, self.dims)
        except Undefined as problem:
            raise failure(f"{problem} in {param.name!r}", "give other lengths with --shape", param) from None
        if value is None or value < 0:
            text = f"the dimension {dim} of {param.name!r} has no value"
            raise failure(text, self.hint, param)
        return int(value)

    def _tensor(self, info: s.TensorStructInfo, source: str, param: e.Var, number: int) -> Array:
        dims = info.dims
        lengths = (
            tuple([self._length(dim, param) for dim in dims])
            if dims is not None
            else (DEFAULT_LENGTH,) * max(info.ndim, 0)
        )
        if len(lengths) > MOST_AXES:
            text = f"{param.name!r} has {len(lengths)} axes; runs support at most {MOST_AXES}"
            raise failure(text, "use fewer axes", param)
        element_dtype = info.dtype or FLOAT32
        try:
            dtype = element_dtype.to_numpy()
        except TypeError as problem:
            raise failure(
                f"no value can be made for {param.name!r}: {problem}", "use another dtype", param
            ) from None
        needed = math.prod(lengths) * dtype.itemsize
        if needed > self.most:
            raise too_much(f"{param.name!r}, a tensor {lengths} of {element_dtype},", needed, self.most)
        self.most -= needed
        return _filled(source, lengths, element_dtype, param, number)


def _filled(source: str, lengths: tuple[int, ...], element_dtype: DType, param: e.Var, number: int) -> Array:
    """A tensor filled as `source` says."""
    dtype = element_dtype.to_numpy()
    match = _MADE.fullmatch(source)
    if match is None:
        return np.full(lengths, number_in(source, element_dtype, param)).astype(dtype)
    if match[1] == "zeros":
        return np.zeros(lengths, dtype)
    if match[1] == "ones":
        return np.ones(lengths, dtype)
    if match[1] == "arange":
        return np.arange(math.prod(lengths)).reshape(lengths).astype(dtype)
    generator = np.random.default_rng([int(match[2] or 0), number])
    if dtype.kind == "f" or dtype.name.startswith(("bfloat", "float")):
        return generator.standard_normal(lengths).astype(dtype)
    return generator.integers(0, 2 if dtype.kind == "b" else 4, lengths).astype(dtype)


def scalar(source: str, info: s.PrimStructInfo, param: e.Var) -> int | float:
    """A scalar of this StructInfo: the number in `source`."""
    found, dtype = _MADE.fullmatch(source), info.dtype or INT64
    if found is None:
        number = number_in(source, dtype, param)
    else:
        number = {"zeros": 0, "ones": 1}.get(found[1], DEFAULT_LENGTH)
    return bool(number) if dtype.is_bool else number


def number_in(source: str, dtype: DType, param: e.Var) -> int | float:
    """The number in `source`. Raises Failure if the dtype cannot hold it."""
    try:
        value: int | float = int(source) if _WHOLE.fullmatch(source) else float(source)
    except ValueError:
        text = f"{source[:40]!r} is not a source of values for {param.name!r}"
        raise failure(text, _SOURCES, param) from None
    if dtype.name == "bool":
        return value
    if dtype.is_float:
        with np.errstate(over="ignore"):
            fits = np.isfinite(np.asarray(value, dtype.to_numpy())) or not re.search(
                r"\d", source
            )  # inf, nan
    else:
        low, high = limits(dtype)
        fits = low <= value <= high and int(value) == value
    if not fits:
        raise failure(
            f"{source[:40]} does not fit {dtype}, the dtype of {param.name!r}",
            "give a number of this dtype",
            param,
        )
    return value if dtype.is_float else int(value)


def failure(text: str, hint: str, place: object) -> Failure:
    """The Failure for an unusable input."""
    return Failure(Diagnostic(codes.WRONG_INPUT, text, (Label(place, "", True),), help=hint))


# -- inputs ----------------------------------------------------------------------------------------------------------
# Inputs for a run: assigns values to parameters by name or number, and infers the lengths.


_Reader = Callable[[Naming, Weights, int], dict[int, Any]]
_DECIMAL = re.compile(r"[0-9]{1,18}")


def free_lengths(
    fn: e.Function, given: Mapping[str, str], shape: Mapping[str, int], names: FieldNames | None = None
) -> list[str]:
    """The shape variables whose lengths neither `shape` nor the given values fix. Raises Failure like `generated_inputs`.

    Of files only the headers are read.
    """
    names = field_names(fn) if names is None else names
    known = _fixed_values(fn, given, INPUT_LIMIT, names, _outlines)[0]
    dims = _dims(fn, known, shape)
    return list(dict.fromkeys(var.name for var in _variables(fn) if var not in dims))


def generated_inputs(
    fn: e.Function,
    given: Mapping[str, str],
    shape: Mapping[str, int] | None = None,
    default: str = "randn:0",
    most: int = INPUT_LIMIT,
    names: FieldNames | None = None,
    arrays: Mapping[str, Array] | None = None,
) -> tuple[list[Any], str]:
    """One value per parameter, and a short note of the invented lengths and sources.

    `given` maps the name or number of a parameter to a source, and `*` all others to a file; else others get `default`. Raises
    Failure for an unknown parameter, an unknown source or an unreadable file. `most` limits the total size of the values in bytes. `names` are those
    of the fields of tuple parameters; by default those that the function tells. `arrays` are values by the names of parameters: the lengths
    that they have count, not those of `shape`.
    """
    sources = _sources(fn, given)
    known, most = _fixed_values(fn, given, most, field_names(fn) if names is None else names)
    dims: dict[p.PrimVar, int] = {}
    if arrays:
        known |= {
            n: arrays[param.name]
            for n, param in enumerate(fn.params)
            if param.name in arrays and n not in known
        }
        dims = _dims(fn, known, {})
    dims = {**_dims(fn, known, shape or {}), **dims}
    lengths = [f"{var.name} = {DEFAULT_LENGTH}" for var in _variables(fn) if var not in dims]
    for var in _variables(fn):
        dims.setdefault(var, DEFAULT_LENGTH)
    chosen = sources.keys() | known.keys()
    chosen_by_default = [
        param.name for n, param in enumerate(fn.params) if _is_generated(param) and n not in chosen
    ]
    generator = Generator(dims, most)
    values = [
        known[n]
        if n in known
        else generator.make(param.struct_info or s.OBJECT, sources.get(n, default), param, n)
        for n, param in enumerate(fn.params)
    ]
    lengths += [f"{p.AnyDim()} = {DEFAULT_LENGTH}"] if generator.is_unnamed else []
    return values, ", ".join(
        [*lengths, *([f"{' '.join(chosen_by_default)} by {default}"] if chosen_by_default else [])]
    )


def call_values(
    fn: e.Function, call: CallInputs, most: int = INPUT_LIMIT, names: FieldNames | None = None
) -> tuple[list[Any], str]:
    """The values of a call, and a note of what was made up and of how the entries of files were named."""
    remarks = file_remarks(fn, call, names)
    if call.whole:
        return from_file(fn, call.whole, most, names), "; ".join(remarks)
    values, note = generated_inputs(fn, call.sources, call.shape, most=most, names=names)
    return values, "; ".join([*([note] if note else []), *remarks])


def _fixed_values(
    fn: e.Function, given: Mapping[str, str], most: int, names: FieldNames, read: _Reader | None = None
) -> tuple[dict[int, Any], int]:
    """The given values that fix lengths, by parameter number, and the bytes that are left for others."""
    read = read or _read
    known: dict[int, Any] = {}
    if REST in given:
        with open_weights(given[REST]) as file:
            known = read(_rest(fn, given, file, names), file, most)
        most -= sum(map(bytes_of, known.values()))
    if WEIGHTS in given:
        with open_weights(given[WEIGHTS]) as file:
            kept = read(_kept(fn, given, file, names, known), file, most)
        most -= sum(map(bytes_of, kept.values()))
        known |= kept
    for number, source in _sources(fn, given).items():
        param = fn.params[number]
        if is_file(source):
            known[number] = _from_source(fn, number, source, most, names, read)
            most -= bytes_of(known[number])
        elif isinstance(param.struct_info, s.PrimStructInfo):
            if source.startswith(("arange", "randn")):
                raise failure(
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
        if key in (REST, WEIGHTS):
            continue
        number = numbers.get(key, -1)
        if number < 0 and _DECIMAL.fullmatch(key):
            number = int(key)
        if not 0 <= number < len(fn.params):
            has = f"the parameters are {', '.join(numbers)}" if numbers else "the function has none"
            raise failure(f"{key!r} is no parameter", has, fn)
        if number in sources:
            raise failure(f"{fn.params[number].name!r} is given twice", "give it once", fn.params[number])
        sources[number] = source
    return sources


def _is_generated(param: e.Var) -> bool:
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
    """The entries for all parameters that no source is given for; lengths follow from others. Weights that it lacks have a file of their own."""
    sources = _sources(fn, given)
    numbers = [n for n, param in enumerate(fn.params) if n not in sources and _is_generated(param)]
    if WEIGHTS in given:
        has, weights = set(map(one_name, file.names)), weight_numbers(fn)
        numbers = [n for n in numbers if n not in weights or one_name(fn.params[n].name) in has]
    return name_entries(fn, slots_of(fn, numbers, names), file, False)


def _kept(
    fn: e.Function, given: Mapping[str, str], file: Weights, names: FieldNames, known: Mapping[int, Any]
) -> Naming:
    """The entries for the weights of an imported model that no other source gives."""
    numbers = [n for n in weight_numbers(fn) if n not in known and n not in _sources(fn, given)]
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
        raise failure(f"{source!r} is no shape", "write its lengths: 2,3", param)
    return Shape(map(int, parts))


def _dims(fn: e.Function, known: Mapping[int, Any], shape: Mapping[str, int]) -> dict[p.PrimVar, int]:
    """The given lengths, and those inferred from known values."""
    from relax_explorer.core.exec.match import Mismatch, match

    variables = _variables(fn)
    names = {var.name for var in variables}
    for name in shape:
        if name not in names:
            raise failure(
                f"{name!r} is no shape variable", f"there are {', '.join(sorted(names)) or 'none'}", fn
            )
    dims: dict[p.PrimVar, int] = {var: shape[var.name] for var in variables if var.name in shape}
    for number, value in known.items():
        try:
            match(value, fn.params[number].struct_info or s.OBJECT, dims)
        except Mismatch:
            continue  # the run itself reports it, with the parameter
    return dims
