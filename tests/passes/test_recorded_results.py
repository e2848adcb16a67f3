"""Results of ToMixedPrecision, Gradient and ConvertLayout as recorded: `tests/oracle` compared them with TVM's."""

from __future__ import annotations

from typing import Any

import pytest

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.walk import bindings
from tests.support.golden import Golden
from tests.support.pass_agreement import programs

RUNS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "mixed_precision_16": ("ToMixedPrecision", "mixed_precision", {"out_dtype": "float16"}),
    "mixed_precision_32": ("ToMixedPrecision", "mixed_precision", {}),
    "gradients": ("Gradient", "gradients", {"func_name": "main"}),
    "layouts": ("ConvertLayout", "layouts", {"desired_layouts": "nn.conv2d=NHWC OHWI, nn.conv1d=NWC OWI"}),
    "blocks": ("ConvertLayout", "blocks", {"desired_layouts": "nn.conv2d=NCHW4c OIHW4i4o"}),
}
"""File → the pass, the programs, and the options."""
ATTRIBUTES = (
    "axis",
    "axes",
    "channel_axis",
    "data_layout",
    "kernel_layout",
    "out_layout",
    "layout",
    "repeats",
    "index_map",
)


def short(info: s.StructInfo | None) -> str:
    """A StructInfo in few letters."""
    if isinstance(info, s.TensorStructInfo):
        dims = "?" if info.dims is None else ",".join(map(str, info.dims))
        return f"{info.dtype}[{dims}]".replace("float", "f")
    if isinstance(info, s.TupleStructInfo):
        return f"({' '.join(map(short, info.fields))})"
    return type(info).__name__.removesuffix("StructInfo").lower()


def line(binding: e.Binding) -> str:
    """A binding in one word for its value, with attributes and the StructInfo of its variable."""
    value = binding.value
    name = type(value).__name__.lower()
    attrs: dict[str, Any] = {}
    if type(value) is e.Call:
        name = getattr(value.op, "name", "call").removeprefix("relax.")
        attrs = {key: value.attrs[key] for key in ATTRIBUTES if value.attrs.get(key) is not None}
        if "index_map" in attrs:
            attrs["index_map"] = " ".join(map(str, attrs["index_map"].results))
    given = "".join(f" {key}={item}" for key, item in attrs.items())
    kind = "~" if type(binding.var) is e.DataflowVar else ""
    return f"{kind}{name}{given} {short(binding.var.struct_info if binding.var is not None else None)}"


@pytest.mark.parametrize("name", RUNS)
def test_the_results_are_as_recorded(name: str, golden: Golden) -> None:
    of, file, options = RUNS[name]
    rows = []
    for title, text in programs().items():
        if title.startswith(f"{file}: "):
            result = rxe.apply_pass(rxe.normalize(rxe.parse(text)), of, **options)
            heading = title.split(": ", 1)[1].rsplit(" #", 1)[0]
            rows.append(f"{heading}\n")
            rows += [f"    {line(b)}\n" for fn in result.relax_functions.values() for b in bindings(fn)]
    golden.check(f"{name}.txt", "".join(rows))
