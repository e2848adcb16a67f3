"""Which layer of the model each binding belongs to, as the names tell that a front end gave to weights: `layers.0.attention`.

TVM keeps no other trace of layers than these names. A binding that reads weights lies in the innermost layer that has them all; any
other one in the innermost layer that has both what it reads and what reads it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.facts import Facts, facts
from relax_explorer.core.ir.interned import PerNode

_LAST = re.compile(r"[0-9]*$")
_OF_A_LAYER = frozenset(
    (
        "weight",
        "bias",
        "gamma",
        "beta",
        "scale",
        "scales",
        "zeros",
        "mean",
        "var",
        "kernel",
        "qweight",
        "cache",
    )
)
"""How the names of weights end. What stands before is the layer."""
_LAYERS: PerNode[tuple[str, ...]] = PerNode()

Path = tuple[str, ...]


def layer_names(fn: e.Function) -> tuple[str, ...]:
    """The layer of each binding of a function, in the order of `facts(fn).bindings`; empty texts where the names tell none."""
    return _LAYERS.of(fn, _found)


def layer_by_binding(fn: e.Function) -> dict[e.Binding, str]:
    """The bindings of a function that are in a layer, with its name."""
    return {binding: name for binding, name in zip(facts(fn).bindings, layer_names(fn), strict=True) if name}


def layer_of(fn: e.Function, binding: e.Binding) -> str:
    """The layer of one binding of a function; empty if the names tell none."""
    number = facts(fn).number.get(binding)
    return "" if number is None else layer_names(fn)[number]


def is_in_layer(name: str, layer: str) -> bool:
    """True if a layer is another one, or inside of it."""
    return name.startswith(layer) and name[len(layer) : len(layer) + 1] in ("", ".", "_")


def numbered_layer(name: str) -> str:
    """The layer with a number that a layer is inside of, `layers_0` of `layers_0_attention`; empty if there is none."""
    separator = "." if "." in name else "_"
    words = name.split(separator)
    return separator.join(words[: _numbered(words)])


def _found(fn: e.Function) -> tuple[str, ...]:
    known = facts(fn)
    weights = _weights(fn, known)
    if not weights:
        return ("",) * len(known.bindings)
    separator = "." if any("." in var.name for var in weights) else "_"
    own = _own(known, weights)
    above = _above(known, own)
    sides = zip(own, above, _below(known, own, above), strict=True)
    found = [mine or _joined([path for path in (up, down) if path]) for mine, up, down in sides]
    _place_memory(known, found)
    return tuple([separator.join(path) for path in found])


def _place_memory(known: Facts, found: list[Path]) -> None:
    """Put allocations into the layers of the kernels that fill them first, and what ends the life of a value beside the value."""
    filled: dict[e.Var, int] = {}
    for number, (binding, read) in enumerate(zip(known.bindings, known.operands, strict=True)):
        written = _written(binding, read)
        if written is not binding.var and written in known.defs:
            filled.setdefault(written, number)
    for var, number in filled.items():
        found[known.defs[var]] = found[number]
    for number, (binding, read) in enumerate(zip(known.bindings, known.operands, strict=True)):
        makes_nothing = _is_placeholder(binding.var) and _written(binding, read) is binding.var
        if makes_nothing or not found[number]:
            made = (found[known.defs[var]] for var in read if var in known.defs)
            found[number] = next(filter(None, made), found[number])


def _weights(fn: e.Function, known: Facts) -> dict[e.Var, Path]:
    """The layers of the weights: parameters, and values that have their names because they are fields of one."""
    params = frozenset(fn.params)
    fields = [
        binding.var
        for binding in known.bindings
        if type(binding.value) is e.TupleGetItem and binding.value.tuple in params and binding.var is not None
    ]
    return {var: path for var in (*fn.params, *fields) if (path := _path(var.name))}


def _path(name: str) -> Path:
    """The layer of a weight by its name: `layers_0_attention_qkv_weight1` is one of `layers_0_attention_qkv`."""
    words = tuple(name.split("." if "." in name else "_"))
    last = words[-1]
    if _LAST.sub("", last) not in _OF_A_LAYER and "." not in name:
        return ()
    if last.startswith("cache") and words[-2:-1] in (("k",), ("v",)):
        return words[:-2]
    return words[:-1]


def _own(known: Facts, weights: dict[e.Var, Path]) -> list[Path]:
    """The layers of the bindings that read weights, or what was made of weights alone."""
    of_weights, found = dict(weights), list[Path]()
    for binding, read in zip(known.bindings, known.operands, strict=True):
        paths = [of_weights[var] for var in read if var in of_weights]
        if binding.var in weights:
            paths = [weights[binding.var]]
        found.append(_common(paths))
        written = _written(binding, read)
        if written is not None and paths and all(var in of_weights or var is written for var in read):
            of_weights.setdefault(written, found[-1])
    return found


def _above(known: Facts, own: Sequence[Path]) -> list[Path]:
    """The layer that each binding's operands come from, mostly the innermost that has them all."""
    of: dict[e.Var, tuple[int, Path]] = {}  # when it was written, and the layer
    found = []
    for number, (binding, read, mine) in enumerate(zip(known.bindings, known.operands, own, strict=True)):
        paths = [path for _, path in sorted([of[var] for var in read if var in of])]
        layer = mine or _joined(paths[::-1])
        found.append(layer)
        written = _written(binding, read)
        if written is not None and layer:
            of[written] = number, layer
    return found


def _written(binding: e.Binding, read: Sequence[e.Var]) -> e.Var | None:
    """The variable that has the result of a binding: its own, or the last one that a kernel in virtual machine form gets."""
    value = binding.value
    if _is_placeholder(binding.var) and read and type(value) is e.Call and type(value.op) is e.GlobalVar:
        return read[-1]
    return binding.var


def _is_placeholder(var: e.Var | None) -> bool:
    return var is None or var.name == "_"


def _below(known: Facts, own: Sequence[Path], above: Sequence[Path]) -> list[Path]:
    """The layer that each binding's readers lie in, mostly the innermost that has them all.

    What comes from no layer, such as a mask, belongs to one only if all readers do.
    """
    found: list[Path] = [()] * len(own)
    for number in reversed(range(len(own))):
        var = _written(known.bindings[number], known.operands[number])
        readers = known.users(var) if var is not None else ()
        paths = [own[item] or found[item] for item in readers if number < item < len(own)]
        paths = [path for path in paths if path]
        found[number] = own[number] or (_joined(paths) if above[number] else _common(paths))
    return found


def _joined(paths: Sequence[Path]) -> Path:
    """The innermost layer that has all, of which the first is the nearest: a numbered layer is not left, and nothing is in no layer."""
    if not paths:
        return ()
    common, nearest = _common(paths), paths[0]
    numbered = _numbered(nearest)
    return nearest[:numbered] if numbered > len(common) else common or nearest


def _numbered(path: Sequence[str]) -> int:
    """The words of a layer up to its last number: layers of a model have numbers, parts of a layer have names."""
    return max((n + 1 for n, word in enumerate(path) if word.isdecimal()), default=0)


def _common(paths: Iterable[Path]) -> Path:
    """The words that all paths begin with."""
    first, *others = [*paths] or [()]
    count = len(first)
    for path in others:
        differing = (n for n, (a, b) in enumerate(zip(first[:count], path, strict=False)) if a != b)
        count = next(differing, min(count, len(path)))
    return first[:count]
