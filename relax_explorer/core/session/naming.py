"""Which entry of a file of arrays goes to which parameter: by name where the program has names, else by number or in order.

Dotted, slashed and underscored names are one name: `c1.weight`, `c1/weight` and `c1_weight`. TVM's printer appends numbers
to names that are taken; an entry without that number fits too, if no closer one does.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

import numpy as np

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure, Label
from relax_explorer.core.exec.match import Mismatch, match
from relax_explorer.core.exec.values import UNKNOWN, Shape, Value
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.arrays import Entry, Weights, cut, is_stored

# -- field names -----------------------------------------------------------------------------------------------------
# The names that a program tells for the fields of its tuple parameters, so that weights find their fields.
# A function tells them by its attribute `param_names`, by the variables that it binds to the fields
# (`embedding_weight1 = packed_params[0]`), or by those of a function that it hands the tuple to. Passes rename
# variables, so `names_from` asks several stages of one build, the nearest first.


Path = tuple[int, ...]
"""The place of a part in nested tuples: the index in each of them."""
FieldNames = Mapping[str, Mapping[Path, str]]
"""For each tuple parameter the names of its parts."""

_GENERATED = re.compile(r"(?:lv|gv|alloc|storage|tmp|v|t|_)_?[0-9]*")
_MOST_CALLS = 100  # functions that are asked for one parameter


def leaves(info: s.StructInfo, path: Path = ()) -> Iterator[tuple[Path, s.StructInfo]]:
    """The parts of StructInfo that are no tuples, with their places."""
    if not isinstance(info, s.TupleStructInfo):
        yield path, info
        return
    for number, part in enumerate(info.fields):
        yield from leaves(part, (*path, number))


def names_from(modules: Iterable[IRModule], function: str) -> FieldNames:
    """The names for the tuple parameters of a function. For each parameter the first module counts that tells any."""
    found: dict[str, Mapping[Path, str]] = {}
    for module in modules:
        fn = module.functions.get(function)
        if type(fn) is not e.Function:
            continue
        tuples = {param.name for param in fn.params if isinstance(param.struct_info, s.TupleStructInfo)}
        if tuples <= found.keys():
            break
        found = {**field_names(fn, module), **found}
    return found


def field_names(fn: e.Function, module: IRModule | None = None) -> FieldNames:
    """The names that one function tells. With its module, functions that it calls are asked too."""
    found: dict[str, Mapping[Path, str]] = {}
    for param in fn.params:
        info = param.struct_info
        if isinstance(info, s.TupleStructInfo):
            names = _declared(fn, info) or _bound(fn, param, module)
            if names:
                found[param.name] = names
    return found


def _declared(fn: e.Function, info: s.TupleStructInfo) -> dict[Path, str]:
    """The names of the attribute `param_names`, if there is one for each field."""
    names = fn.attrs.get("param_names")
    if isinstance(names, tuple) and len(names) == len(info.fields) and all(isinstance(n, str) for n in names):
        return {(number,): str(name) for number, name in enumerate(names)}
    return {}


def _bound(fn: e.Function, param: e.Var, module: IRModule | None) -> dict[Path, str]:
    """The names of the variables that are bound to parts of a parameter."""
    names: dict[Path, str] = {}
    asked: set[tuple[str, int]] = set()
    todo: list[tuple[e.Function, e.Var, Path]] = [(fn, param, ())]
    while todo:
        at, var, path = todo.pop()
        parts: dict[e.Var, Path] = {var: path}
        for binding in bindings(at):
            place = _place(binding.value, parts)
            if place is not None and binding.var is not None:
                parts[binding.var] = place
                if isinstance(binding.value, e.TupleGetItem) and not _GENERATED.fullmatch(binding.var.name):
                    names.setdefault(place, binding.var.name)
            elif module is not None and len(asked) < _MOST_CALLS:
                todo += _handed_on(binding.value, parts, module, asked)
    return names


def _place(value: e.Expr, parts: Mapping[e.Var, Path]) -> Path | None:
    """The place of a value in the parameter; None if it is no part of it."""
    indices: list[int] = []
    while isinstance(value, e.TupleGetItem):
        indices.append(value.index)
        value = value.tuple
    known = parts.get(value) if isinstance(value, e.Var) else None
    return None if known is None else (*known, *reversed(indices))


def _handed_on(
    value: e.Expr, parts: Mapping[e.Var, Path], module: IRModule, asked: set[tuple[str, int]]
) -> Iterator[tuple[e.Function, e.Var, Path]]:
    """The parameters of a called function that get parts which are tuples."""
    if not isinstance(value, e.Call) or not isinstance(value.op, e.GlobalVar):
        return
    callee = module.functions.get(value.op.name)
    if type(callee) is not e.Function:
        return
    for number, (arg, param) in enumerate(zip(value.args, callee.params, strict=False)):
        place = _place(arg, parts)
        is_tuple = isinstance(param.struct_info, s.TupleStructInfo)
        if place is not None and is_tuple and (value.op.name, number) not in asked:
            asked.add((value.op.name, number))
            yield callee, param, place


# -- naming ----------------------------------------------------------------------------------------------------------


_SEPARATORS = re.compile(r"[./_:\\-]+")
_DIGITS = re.compile(r"_?[0-9]+$")
_NUMBERED = re.compile(r"(?:arr_|in)([0-9]{1,9})(?:_.*)?", re.DOTALL)  # numpy.savez names arrays arr_0
_COUNTED = re.compile(r"(.*?)([0-9]{1,9})", re.DOTALL)
_RESULT = re.compile(r"out[0-9]{1,9}")  # what runs save their results as
_SHOWN = 4  # entries of one kind in a sentence
_MOST_NOTES = 20
_MOST_COMPARED = 2000  # names among which the nearest is looked for


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for an array: parameter `number`, or the part at `path` of it. `name` is the name that the program has for it, or empty."""

    number: int
    path: Path
    param: e.Var
    info: s.StructInfo
    name: str

    @property
    def names(self) -> tuple[str, ...]:
        """The names under which a file may keep it, the best one first."""
        if not self.path:
            return (self.param.name,)
        index = ".".join(map(str, self.path))
        own = (self.name, f"{self.param.name}.{self.name}") if self.name else ()
        return (*own, f"{self.param.name}.{index}")

    def __str__(self) -> str:
        return self.name or self.param.name + "".join([f"[{number}]" for number in self.path])


@dataclass(slots=True)
class Naming:
    """The entry for each slot, and the remarks on how they were found."""

    slots: Sequence[Slot]
    entries: dict[int, str] = field(default_factory=dict)  # by the number of the slot
    remarks: list[str] = field(default_factory=list)


def slots_of(fn: e.Function, numbers: Sequence[int], names: FieldNames) -> list[Slot]:
    """The places of these parameters of a function."""
    return [
        Slot(n, path, fn.params[n], info, names.get(fn.params[n].name, {}).get(path, ""))
        for n in numbers
        for path, info in leaves(fn.params[n].struct_info or s.OBJECT)
    ]


def name_entries(fn: e.Function, slots: Sequence[Slot], file: Weights, is_whole: bool) -> Naming:
    """The entry of a file for each slot. No data is read. Raises Failure if names, shapes or dtypes do not fit.

    With `is_whole`, every entry must have a place; entries `out…` need none, for runs save their results under such names.
    """
    naming = Naming(slots)
    rest = _by_name(naming, file.names)
    spare = [name for name in rest if not (_RESULT.fullmatch(name) or (is_whole and name.startswith("out")))]
    missing = [n for n in range(len(slots)) if n not in naming.entries]
    if missing:
        spare = _unnamed(naming, missing, spare, file)
        missing = [n for n in missing if n not in naming.entries]
    _tell_names(naming, file)
    misshapen = _misshapen(naming, file)
    if missing or misshapen or (spare and is_whole):
        raise _refused(fn, naming, file, missing, spare, misshapen, is_whole)
    if spare and len(slots) > 1:
        naming.remarks.append(f"not used of {file.path}: {cut(spare)}")
    return naming


def one_name(name: str) -> str:
    """The form in which dotted, slashed and underscored names are equal."""
    return _SEPARATORS.sub("_", name).strip("_")


def _by_name(naming: Naming, names: Sequence[str]) -> list[str]:
    """Give entries to the slots that their names tell, the closest names first. Returns the other entries."""
    rest = dict.fromkeys(names)
    wanted = {n: slot.names for n, slot in enumerate(naming.slots)}

    def take(number: int, entry: str) -> None:
        naming.entries[number] = entry
        del rest[entry], wanted[number]

    for n, options in list(wanted.items()):
        exact = next((name for name in options if name in rest), None)
        if exact is not None:
            take(n, exact)
    for most in range(4):  # digits at the end that the printer may have added
        known: defaultdict[str, list[str]] = defaultdict(list)
        for name in rest:
            known[one_name(name)].append(name)
        for n, options in list(wanted.items()):
            found = [known[name] for option in options if (name := _without_digits(option, most)) in known]
            if found and len(found[0]) == 1 and found[0][0] in rest:
                take(n, found[0][0])
    return list(rest)


def _without_digits(name: str, count: int) -> str:
    """The one form of a name without the last digits; empty if it has fewer."""
    name = one_name(name)
    if not count:
        return name
    digits = _DIGITS.search(name)
    if digits is None or len(digits[0].strip("_")) < count:
        return ""
    return name[:-count].rstrip("_")


def _unnamed(naming: Naming, missing: list[int], rest: list[str], file: Weights) -> list[str]:
    """Give the other entries to slots by number, or in order to those that nothing names. Returns what is left."""
    numbered = _numbers(rest, all(naming.slots[n].path for n in missing))
    groups = [
        slot.number if slot.path else -1 for slot in naming.slots
    ]  # the fields of a tuple, and the parameters
    are_whole = not {groups[n] for n in missing} & {groups[n] for n in naming.entries}
    if len(rest) == len(missing) and are_whole and numbered is not None:
        naming.entries.update(zip(missing, [numbered[n] for n in range(len(missing))], strict=True))
        return []
    nameless = [n for n in missing if naming.slots[n].path and not naming.slots[n].name]
    if not nameless or len(rest) < len(missing) or len(nameless) < len(missing):
        return rest
    if len(rest) > len(nameless):
        return rest
    naming.entries.update(zip(nameless, rest, strict=True))
    where = (
        "in the order of the index"
        if file.is_ordered
        else "in the order of the file: nothing tells their names"
    )
    params = cut(list(dict.fromkeys(naming.slots[n].param.name for n in nameless)))
    naming.remarks.append(f"fields of {params} {where}: {cut(rest, _SHOWN)} ({len(rest)} of {len(rest)})")
    return []


def _numbers(names: Sequence[str], any_prefix: bool = True) -> dict[int, str] | None:
    """The names by their numbers from 0 on, if all are numbered in one way: arr_0, in1 or in2_x; with any prefix w03, too."""
    if tuple(names) == ("",):
        return {0: ""}
    hits = [_NUMBERED.fullmatch(name) for name in names]
    found = {int(hit[1]): hit.string for hit in hits if hit is not None}
    if len(found) < len(names):
        if not any_prefix:
            return None
        counted = [_COUNTED.fullmatch(name) for name in names]
        found = {int(hit[2]): hit.string for hit in counted if hit is not None}
        if len({hit[1] for hit in counted if hit is not None}) != 1:
            return None
    return found if sorted(found) == list(range(len(names))) else None


def _tell_names(naming: Naming, file: Weights) -> None:
    """The remark on entries whose names are other than those of their places."""
    pairs = [
        f"{entry} → {naming.slots[n]}"
        for n, entry in sorted(naming.entries.items())
        if entry != str(naming.slots[n])
    ]
    if pairs and not naming.remarks:
        by = "number" if _numbers(list(naming.entries.values())) else "name"
        shown = ", ".join([*pairs[:2], *(["…"] if len(pairs) > 2 else [])])
        naming.remarks.append(f"weights by {by}: {shown} ({len(naming.entries)} of {len(naming.slots)})")


def _misshapen(naming: Naming, file: Weights) -> dict[int, str]:
    """Why entries do not fit their slots, by the number of the slot. Only headers are read."""
    dims: dict[p.PrimVar, int] = {}
    found: dict[int, str] = {}
    for n, name in sorted(naming.entries.items()):
        entry, info = file.entry(name), naming.slots[n].info
        if entry.refusal:
            found[n] = entry.refusal
            continue
        try:
            match(outline(entry, info), info, dims)
        except Mismatch as problem:
            found[n] = str(problem)
        except ValueError as problem:
            found[n] = str(problem)[:100]
    return found


def outline(entry: Entry, info: s.StructInfo) -> Value:
    """A value of the shape and dtype of an entry, without its data. Raises ValueError for a shape that numpy has not."""
    if isinstance(info, s.ShapeStructInfo) and len(entry.shape) == 1 and entry.dtype.kind in "iu":
        return Shape([0] * entry.shape[0]) if info.values is None else UNKNOWN
    if isinstance(info, s.PrimStructInfo) and entry.shape == ():
        return UNKNOWN
    dtype = entry.dtype
    expected = info.dtype if isinstance(info, s.TensorStructInfo) else None
    if expected is not None and expected.kind != "handle" and is_stored(dtype, expected.to_numpy()):
        dtype = expected.to_numpy()
    return np.broadcast_to(np.zeros((), dtype), entry.shape)


def _refused(
    fn: e.Function,
    naming: Naming,
    file: Weights,
    missing: Sequence[int],
    spare: Sequence[str],
    misshapen: Mapping[int, str],
    is_whole: bool,
) -> Failure:
    """The Failure that tells of all entries that are missing, misshapen or of no use."""
    slots = naming.slots
    absent = [_near(str(slots[n]), spare) for n in missing]
    wrong = [f"{naming.entries[n]}: {reason}" for n, reason in misshapen.items()]
    unused = list(spare) if is_whole or missing else []
    parts = [
        f"{len(items)} {word} ({cut(items, _SHOWN)})"
        for word, items in (("missing", absent), ("of another shape or dtype", wrong), ("unused", unused))
        if items
    ]
    notes = [
        f"{word}: {item}"
        for word, items in (("missing", absent), ("does not fit", wrong))
        if len(items) > _SHOWN
        for item in items[:_MOST_NOTES]
    ]
    names = [str(slot) for slot in slots] if len(slots) > len(fn.params) else [v.name for v in fn.params]
    has = f"it has {cut(file.names)}" if file.names else "it is empty"
    takes = f"the parameters are {cut(names)}" if names else "the function has no parameters"
    text = f"{file.path} does not fit the parameters: {'; '.join(parts)}"
    if missing and not slots[missing[0]].path:
        takes += (
            f"; --input '*={file.path}' --input {slots[missing[0]].param.name}=SOURCE takes it from elsewhere"
        )
    place = slots[0].param if len({slot.number for slot in slots}) == 1 else fn
    label = (Label(place, "", True),)
    return Failure(Diagnostic(codes.WRONG_INPUT, text, label, tuple(notes), f"{has}; {takes}"))


def _near(name: str, spare: Sequence[str]) -> str:
    """A missing name with the nearest one that is there."""
    forms = {one_name(item): item for item in spare[:_MOST_COMPARED]}
    near = get_close_matches(one_name(name), forms, 1)
    return f"{name}, nearest: {forms[near[0]]}" if near else name
