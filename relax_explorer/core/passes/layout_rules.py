"""How operators compute on tensors with permuted axes, for ConvertLayout.

A layout tells for each axis of a tensor in memory which axis of the program it is: a tensor of the layout (0, 2, 3, 1) has its
second axis last. An axis may be divided into blocks: NCHW4c is the layout (0, 1, 2, 3, (1, 4)).

A rule gets a call with the layouts of its operands, and returns the layouts that the operands get, the layout of the result, and
new attributes. It returns None if the call needs the layouts of the program.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.phases import machine_calls as m

Entry = int | tuple[int, int]
"""An axis of the program, or the place within its blocks of some size."""
Layout = tuple[Entry, ...]
KNOWN_LAYOUTS = 256  # texts whose axes are remembered


@dataclass(frozen=True, slots=True)
class Fields:
    """The layouts of the fields of a tuple."""

    fields: tuple[Form, ...]


Form = Layout | Fields | None
"""The layout of a tensor, those of a tuple, or None for a value without one."""


@dataclass(slots=True)
class Plan:
    """The layouts of the operands and of the result, and what the call gets in place of its attributes and last operands."""

    operands: list[Form]
    result: Form
    attrs: dict[str, object] = field(default_factory=dict)
    rest: tuple[e.Expr, ...] | None = None  # operands that replace those after the first one


@dataclass(frozen=True, slots=True)
class LayoutCall:
    """A call with the present layouts of its operands."""

    value: e.Call
    forms: Sequence[Form]
    desired: Mapping[str, Sequence[str]]

    def held(self, number: int = 0) -> Layout | None:
        """The layout of an operand, if it is a tensor of known rank."""
        form = self.forms[number]
        return form if isinstance(form, tuple) else None

    def layout(self, number: int = 0) -> tuple[int, ...] | None:
        """The layout of an operand for a rule without blocks, that of the program if the operand has some."""
        layout = self.held(number)
        return None if layout is None else plain(layout) or _whole(layout)

    @property
    def attrs(self) -> Attrs:
        """The attributes of the call."""
        return self.value.attrs

    @property
    def others(self) -> list[Form]:
        """The layouts of the program, for all operands but the first."""
        return [first(arg.struct_info) for arg in self.value.args[1:]]


Rule = Callable[[LayoutCall], Plan | None]


def first(info: s.StructInfo | None) -> Form:
    """The layout of a value in the program."""
    if isinstance(info, s.TensorStructInfo) and info.ndim >= 0:
        return tuple(range(info.ndim))
    if isinstance(info, s.TupleStructInfo):
        return Fields(tuple([first(part) for part in info.fields]))
    return None


def plain(layout: Layout) -> tuple[int, ...] | None:
    """A layout without blocks; None if it has some."""
    axes = tuple([entry for entry in layout if isinstance(entry, int)])
    return axes if len(axes) == len(layout) else None


def axis_of(entry: Entry) -> int:
    """The axis of the program."""
    return entry if isinstance(entry, int) else entry[0]


@lru_cache(KNOWN_LAYOUTS)
def letters(text: str) -> tuple[str, ...]:
    """The axes in a layout such as NCHW4c: N, C, H, W and 4c."""
    return tuple(re.findall(r"[0-9]+[a-z]|.", text))


def permuted(text: str, layout: Layout) -> str:
    """The letters of a layout such as NCHW, in the order of `layout`."""
    names = letters(text)
    return "".join([names[x] if isinstance(x, int) else f"{x[1]}{names[x[0]].lower()}" for x in layout])


@lru_cache(KNOWN_LAYOUTS)
def order(text: str, wanted: str) -> Layout | None:
    """The layout of a tensor that the program has as `text` and that gets the axes `wanted`. None if the axes are others."""
    names, found = letters(text), letters(wanted)
    blocks = [letter for letter in found if letter not in names]
    if sorted(letter for letter in found if letter in names) != sorted(names):
        return None
    divided = {letter[-1].upper() for letter in blocks if letter[:-1].strip("0")}
    if len(divided) < len(blocks) or not divided.issubset(names):
        return None
    return tuple([names.index(n) if n in names else (names.index(n[-1].upper()), int(n[:-1])) for n in found])


def divides(layout: Layout, info: s.StructInfo | None) -> bool:
    """True if the blocks of a layout divide the axes of a tensor."""
    dims = s.lengths(info)
    for entry in layout:
        if isinstance(entry, tuple):
            dim = dims[entry[0]] if entry[0] < len(dims) else None
            if not isinstance(dim, p.IntImm) or dim.value % entry[1]:
                return False
    return True


def _whole(layout: Layout) -> tuple[int, ...]:
    """The layout of the program."""
    return tuple(range(len({axis_of(entry) for entry in layout})))


def _renumbered(layout: Layout, dropped: set[int]) -> Layout:
    """The layout without some axes of the program."""
    rest = sorted({axis_of(entry) for entry in layout} - dropped)
    kept = [entry for entry in layout if axis_of(entry) not in dropped]
    return tuple([rest.index(x) if isinstance(x, int) else (rest.index(x[0]), x[1]) for x in kept])


def _numbers(value: int | Sequence[int] | None, rank: int) -> list[int]:
    """Axes of the program, from 0. An attribute is one number, several, or None for all."""
    if value is None:
        return list(range(rank))
    if isinstance(value, int):
        return [value % rank]
    return [axis % rank for axis in value]


def _same(c: LayoutCall) -> Plan | None:
    """Each element by itself."""
    layout = c.held()
    return None if layout is None else Plan([layout, *c.others], layout)


def _together(c: LayoutCall) -> Plan | None:
    """Element by element: the operand of the lowest rank decides, of two the first one. Scalars have no say.

    Blocks of one operand are those of all, if these have its rank and the blocks divide their axes.
    """
    held = [c.held(number) for number in range(len(c.forms))]
    if None in held:
        return None
    blocked = next((layout for layout in held if layout and plain(layout) is None), None)
    if blocked is not None:
        infos = [arg.struct_info for arg in c.value.args]
        whole = len(_whole(blocked))
        if all(s.lengths(i) == () or (len(s.lengths(i)) == whole and divides(blocked, i)) for i in infos):
            return Plan([blocked if s.lengths(info) else () for info in infos], blocked)
    layouts = [c.layout(number) or () for number in range(len(c.forms))]
    tensors = [layout for layout in layouts if layout]
    if not tensors or (len(tensors) > 2 and len({len(layout) for layout in tensors}) > 1):
        return None
    lowest = min(tensors, key=len)
    forms = [_prefixed(lowest, len(layout)) if layout else layout for layout in layouts]
    return Plan([*forms], max(forms, key=len))


def _prefixed(layout: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """The layout of a tensor of higher rank, whose last axes have this layout."""
    more = rank - len(layout)
    return (*range(more), *[axis + more for axis in layout])


def _reduced(c: LayoutCall) -> Plan | None:
    layout = c.held()
    if layout is None:
        return None
    axes = _numbers(c.attrs["axis"], len(_whole(layout)))
    result = layout if c.attrs["keepdims"] else _renumbered(layout, set(axes))
    places = [place for place, entry in enumerate(layout) if axis_of(entry) in axes]
    return Plan([layout], result, {"axis": tuple(places)})


def _of_axis(c: LayoutCall) -> Plan | None:
    """One axis is named by `axis`."""
    layout = c.layout()
    if not layout or c.attrs["axis"] is None:
        return None
    (axis,) = _numbers(c.attrs["axis"], len(layout))
    return Plan([layout, *c.others], layout, {"axis": layout.index(axis)})


def _gathered(c: LayoutCall) -> Plan | None:
    plan = _of_axis(c)
    return None if plan is None else Plan([plan.result, plan.result], plan.result, plan.attrs)


def _normalized(c: LayoutCall) -> Plan | None:
    """A norm. Its weights have the axes in the order of the program, so that order must stay."""
    layout = c.layout()
    if layout is None:
        return None
    places = [layout.index(axis) for axis in _numbers(c.attrs["axes"], len(layout))]
    if places != sorted(places):
        return None
    attrs: dict[str, object] = {"axes": tuple(places)}
    if "channel_axis" in c.attrs:
        (channel,) = _numbers(c.attrs["channel_axis"], len(layout))
        attrs["channel_axis"] = layout.index(channel)
    return Plan([layout, *c.others], layout, attrs)


def _layer_norm(c: LayoutCall) -> Plan | None:
    """A layer norm may leave the blocks of other axes."""
    layout = c.held()
    if layout is None or plain(layout) is not None:
        return _normalized(c)
    axes = _numbers(c.attrs["axes"], len(_whole(layout)))
    places = [layout.index(axis) for axis in axes]
    if places != sorted(places) or any(isinstance(entry, tuple) and entry[0] in axes for entry in layout):
        return _normalized(c)
    return Plan([layout, *c.others], layout, {"axes": tuple(places)})


def _batch_norm(c: LayoutCall) -> Plan | None:
    plan = _of_axis(c)
    return None if plan is None else Plan(plan.operands, Fields((plan.result, (0,), (0,))), plan.attrs)


def _concat(c: LayoutCall) -> Plan | None:
    form, axis = c.forms[0], c.attrs["axis"]
    held = form.fields[0] if isinstance(form, Fields) and form.fields else None
    if not isinstance(held, tuple) or not held or axis is None:
        return None
    layout = plain(held) or _whole(held)
    assert isinstance(form, Fields)  # it has a first field
    (place,) = _numbers(axis, len(layout))
    return Plan([Fields((layout,) * len(form.fields))], layout, {"axis": layout.index(place)})


def _split(c: LayoutCall) -> Plan | None:
    plan, info = _of_axis(c), c.value.struct_info
    if plan is None or not isinstance(info, s.TupleStructInfo):
        return None
    return Plan(plan.operands, Fields((plan.result,) * len(info.fields)), plan.attrs)


def _expand_dims(c: LayoutCall) -> Plan | None:
    """The new axes stand at the same places in memory as in the program."""
    layout, axes = c.layout(), c.attrs["axis"]
    if layout is None:
        return None
    rank = len(layout) + len(axes)
    new = set(_numbers(axes, rank))
    old = [axis for axis in range(rank) if axis not in new]
    rest = iter([old[axis] for axis in layout])
    return Plan([layout], tuple([axis if axis in new else next(rest) for axis in range(rank)]))


def _squeeze(c: LayoutCall) -> Plan | None:
    layout, info = c.layout(), c.value.args[0].struct_info
    dims = info.dims if isinstance(info, s.TensorStructInfo) else None
    if layout is None or dims is None:
        return None
    one = [axis for axis, dim in enumerate(dims) if isinstance(dim, p.IntImm) and dim.value == 1]
    if c.attrs["axis"] is None and not all(isinstance(dim, p.IntImm) for dim in dims):
        return None
    axes = one if c.attrs["axis"] is None else _numbers(c.attrs["axis"], len(layout))
    attrs: dict[str, object] = {"axis": tuple(sorted(layout.index(axis) for axis in axes))}
    return Plan([layout], _renumbered(layout, set(axes)), attrs)


def _permute_dims(c: LayoutCall) -> Plan | None:
    """The result has the layout of the program: the call permutes what is in memory."""
    layout, axes = c.layout(), c.attrs["axes"]
    if layout is None:
        return None
    wanted = list(range(len(layout)))[::-1] if axes is None else _numbers(axes, len(layout))
    return Plan([layout], tuple(range(len(layout))), {"axes": tuple([layout.index(axis) for axis in wanted])})


def _tile(c: LayoutCall) -> Plan | None:
    layout = c.layout()
    if layout is None:
        return None
    given = c.attrs["repeats"]
    repeats = [given] if isinstance(given, int) else list(given)
    repeats = [1] * (len(layout) - len(repeats)) + repeats
    result = _prefixed(layout, len(repeats))
    return Plan([layout], result, {"repeats": tuple([repeats[axis] for axis in result])})


def _strided_slice(c: LayoutCall) -> Plan | None:
    layout, axes = c.layout(), c.value.args[1]
    if layout is None or type(axes) is not e.Tuple:
        return None
    scalars = [field.value for field in axes.fields if type(field) is e.PrimValue]
    numbers = [scalar.value for scalar in scalars if isinstance(scalar, p.IntImm)]
    if len(numbers) < len(axes.fields):
        return None
    places = [layout.index(axis) for axis in _numbers(numbers, len(layout))]
    if places == numbers:
        return Plan([layout, *c.others], layout)
    new = e.tuple_of(tuple(map(m.number, places)))
    return Plan([layout, *c.others], layout, rest=(new, *c.value.args[2:]))


def _pool(c: LayoutCall) -> Plan | None:
    """A pool: its layout is an attribute. Only channels may have blocks."""
    layout, text = c.held(), str(c.attrs["layout"])
    blocked = [entry[0] for entry in layout or () if isinstance(entry, tuple)]
    if blocked and (blocked != [text.find("C")] or c.attrs["out_layout"] != text):
        layout = c.layout()
    return _windows(c, layout)


def _resize(c: LayoutCall) -> Plan | None:
    """A resize of images: its layout is an attribute."""
    return _windows(c, c.layout())


def _windows(c: LayoutCall, layout: Layout | None) -> Plan | None:
    texts = {name: str(c.attrs[name]) for name in ("layout", "out_layout") if name in c.attrs}
    has_other_blocks = len({len(letters(text)) for text in texts.values()}) > 1  # the result
    if layout is None or has_other_blocks:
        return None
    attrs: dict[str, object] = {name: permuted(text, layout) for name, text in texts.items()}
    return Plan([layout, *c.others], layout, attrs)


def _convolution(c: LayoutCall) -> Plan | None:
    """A convolution gets the desired layouts, or follows its operands if none are desired or blocks do not fit."""
    data, kernel = str(c.attrs["data_layout"]), str(c.attrs["kernel_layout"])
    out, x, w = str(c.attrs["out_layout"]), c.layout(0), c.layout(1)
    if x is None or w is None:
        return None
    assert isinstance(c.value.op, e.OpRef)  # a rule is that of an operator
    wanted = c.desired.get(c.value.op.name)
    plan = None if wanted is None else _arranged(c, (data, kernel, out), (*wanted, wanted[0])[:3])
    if plan is not None:
        return plan
    return _arranged(c, (data, kernel, out), (permuted(data, x), permuted(kernel, w), permuted(out, x)))


def _arranged(c: LayoutCall, old: Sequence[str], new: Sequence[str]) -> Plan | None:
    """A convolution with other layouts of data, kernel and result. None if they do not fit."""
    found = [order(a, b) for a, b in zip(old, new, strict=True)]
    infos = (*[arg.struct_info for arg in c.value.args], c.value.struct_info)
    for layout, info in zip(found, infos, strict=True):
        if layout is None or not divides(layout, info):
            return None
    attrs = dict(zip(("data_layout", "kernel_layout", "out_layout"), new, strict=True))
    return Plan([*found[:2]], found[2], {**attrs})


_SAME = (
    "abs", "acos", "acosh", "asin", "asinh", "astype", "atan", "atanh", "bitwise_not", "ceil", "cos", "cosh", "erf", "exp", "floor",
    "isfinite", "isinf", "isnan", "log", "logical_not", "negative", "nn.gelu", "nn.gelu_tanh", "nn.relu", "nn.selu", "nn.silu",
    "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc",
)  # fmt: skip
_TOGETHER = (
    "add", "atan2", "bitwise_and", "bitwise_or", "bitwise_xor", "divide", "equal", "ewise_fma", "floor_divide", "floor_mod",
    "greater", "greater_equal", "left_shift", "less", "less_equal", "log_add_exp", "logical_and", "logical_or", "logical_xor",
    "maximum", "minimum", "mod", "multiply", "not_equal", "power", "right_shift", "subtract",
)  # fmt: skip
ELEMENTWISE = (*_SAME, *_TOGETHER)
"""Operators that work element by element, in any layout."""
REDUCTIONS = ("max", "mean", "min", "prod", "std", "sum", "variance")
_POOLS = tuple([f"nn.{kind}_pool{n}d" for kind in ("avg", "max", "adaptive_avg") for n in (1, 2, 3)])
CONVOLUTIONS = {
    **{f"relax.nn.conv{n}d": ("NC" + "DHW"[3 - n :], "OI" + "DHW"[3 - n :]) for n in (2, 3)},
    **{f"relax.nn.conv{n}d_transpose": ("NC" + "DHW"[3 - n :], "IO" + "DHW"[3 - n :]) for n in (2, 3)},
    "relax.nn.conv1d": ("NCW", "OIW"),
    "relax.nn.conv1d_transpose": ("NCW", "IOW"),
}
"""The letters of data and kernel of each convolution."""
_RULES: dict[str, Rule] = {
    **dict.fromkeys(_SAME, _same),
    **dict.fromkeys(_TOGETHER, _together),
    **dict.fromkeys(_POOLS, _pool),
    **dict.fromkeys(REDUCTIONS, _reduced),
    **dict.fromkeys(("flip", "nn.prelu", "nn.softmax", "repeat"), _of_axis),
    **dict.fromkeys(("image.resize2d", "image.resize3d"), _resize),
    **dict.fromkeys(("nn.group_norm", "nn.instance_norm", "nn.rms_norm"), _normalized),
    "concat": _concat,
    "expand_dims": _expand_dims,
    "gather_elements": _gathered,
    "nn.batch_norm": _batch_norm,
    "nn.layer_norm": _layer_norm,
    "permute_dims": _permute_dims,
    "split": _split,
    "squeeze": _squeeze,
    "strided_slice": _strided_slice,
    "tile": _tile,
}
RULES: dict[str, Rule] = {
    **{f"relax.{name}": rule for name, rule in _RULES.items()},
    **dict.fromkeys(CONVOLUTIONS, _convolution),
}
"""The rule of each operator that can follow its operands."""
