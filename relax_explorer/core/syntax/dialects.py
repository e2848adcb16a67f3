"""The dialects of TVMScript. This is the only module with the older spellings.

`tvm-0.27` is the dialect of Apache TVM 0.27. `tvm-0.19` is the dialect of TVM 0.16 to 0.23. `rxe` is the first with statements of
the notes on shapes, which TVM does not read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Dialect:
    """The spellings of one dialect."""

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
    )  # attributes that it does not have, printed only if they are not empty
    notes: bool = False  # a match_cast to lengths alone is written `R.match_shape(x, (n, m))`


NEW = Dialect(
    "tvm-0.27", "R.Any", "out_ty", "ty_args", "ir.GenericConst", "tirx", True, True, False,
    frozenset({"axis_separators", "input_axis_separators"}),
)  # fmt: skip
OLD = Dialect(
    "tvm-0.19", "R.Object", "out_sinfo", "sinfo_args", "relax.expr.Constant", "tir", False, False, True
)
OWN = replace(NEW, name="rxe", notes=True)
DIALECTS: dict[str, Dialect] = {NEW.name: NEW, OLD.name: OLD, OWN.name: OWN}

OUT_KEYWORDS = frozenset({"out_ty", "out_sinfo"})
TYPE_KEYWORD = "type_args"  # in the first specification, whose types have no shapes
ARGS_KEYWORDS = frozenset({"ty_args", "sinfo_args", TYPE_KEYWORD})
OBJECT_NAMES = frozenset({"Any", "Object"})
REWRITER = "R.rewriter"  # decorator of a class with a pattern and its replacement; also the name of a module attribute
CONSTANT_KEYS = ("ir.GenericConst", "relax.expr.Constant")
MISSING = " without data"
"""Suffix of the key of a constant without data, if the metadata block has data for other constants."""

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
    """The dialect called `name`. Raises ValueError if there is none."""
    surface = DIALECTS.get(name)
    if surface is None:
        raise ValueError(f"no dialect {name!r}; there are {', '.join(DIALECTS)}")
    return surface


def guess(text: str) -> Dialect:
    """The dialect of a text, by its imports. Otherwise the older one if only older spellings occur, else the newer one."""
    if "import tirx as T" in text:
        return NEW
    if "import tir as T" in text:
        return OLD
    old = any(mark in text for mark in _OLD_MARKS)
    return OLD if old and not any(mark in text for mark in _NEW_MARKS) else NEW
