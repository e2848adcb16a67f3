"""What differs between the surfaces of TVMScript: the only place that knows the older spellings.

`tvm-0.27` is what Apache TVM 0.27 prints; `tvm-0.19` stands for the surface of 0.16 to 0.23.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Dialect:
    """Spellings of one surface."""

    name: str
    object_name: str
    out_keyword: str
    args_keyword: str
    constant_key: str
    tir_module: str
    type_vars: bool  # shape variables are declared above the module, `n = TypeVar("n")`
    bare_prims: bool  # scalar arguments print as `1`, not `R.prim_value(1)`
    old: bool
    left_out: frozenset[str] = (
        frozenset()
    )  # attributes that it does not know, printed only when they say something


NEW = Dialect(
    "tvm-0.27", "R.Any", "out_ty", "ty_args", "ir.GenericConst", "tirx", True, True, False,
    frozenset({"axis_separators", "input_axis_separators"}),
)  # fmt: skip
OLD = Dialect(
    "tvm-0.19", "R.Object", "out_sinfo", "sinfo_args", "relax.expr.Constant", "tir", False, False, True
)
DIALECTS: dict[str, Dialect] = {NEW.name: NEW, OLD.name: OLD}

OUT_KEYWORDS = frozenset({"out_ty", "out_sinfo"})
TYPE_KEYWORD = "type_args"  # of the first specification, where types have no shapes
ARGS_KEYWORDS = frozenset({"ty_args", "sinfo_args", TYPE_KEYWORD})
OBJECT_NAMES = frozenset({"Any", "Object"})
REWRITER = (
    "R.rewriter"  # a class of this decorator is a pattern and its replacement; a module attribute says so
)
CONSTANT_KEYS = ("ir.GenericConst", "relax.expr.Constant")
MISSING = " without data"
"""Behind the key of a constant whose data is not in the text, where the text has a metadata block for others."""

_OLD_MARKS = (
    "out_sinfo=",
    "sinfo_args=",
    "tir_vars=",
    "T.block(",
    "R.Object",
    "relax.expr.Constant",
    '"tir.noalias',
)
_NEW_MARKS = (
    "out_ty=",
    "ty_args=",
    "T.sblock(",
    "R.Any",
    "ir.GenericConst",
    "TypeVar(",
    "s_tir=",
)


def dialect(name: str) -> Dialect:
    """The surface called `name`; raises ValueError when there is none."""
    surface = DIALECTS.get(name)
    if surface is None:
        raise ValueError(f"no dialect {name!r}; there are {', '.join(DIALECTS)}")
    return surface


def guess(text: str) -> Dialect:
    """The surface that a text is written in: what it imports says so, else the newer one unless only older spellings occur."""
    if "import tirx as T" in text:
        return NEW
    if "import tir as T" in text:
        return OLD
    old = any(mark in text for mark in _OLD_MARKS)
    return OLD if old and not any(mark in text for mark in _NEW_MARKS) else NEW
