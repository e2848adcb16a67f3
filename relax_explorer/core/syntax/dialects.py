"""The dialects of TVMScript, one for each era: how it is recognised, printed and judged. `old_spellings` has what only 2022 wrote.

| Name | Era |
|---|---|
| `relax-2022` | until March 2023, before StructInfo: `R.Tensor[(n, k), "float32"]`, `R.call_tir(f, x, (n,), dtype="float32")`, `T.Buffer[…]` |
| `relax-2023` | until mid-2023: StructInfo, but functions have no purity |
| `tvm-0.19` | TVM 0.16 to 0.19; its metadata blocks hold strings |
| `tvm-0.25` | TVM 0.20 to 0.25: the same spellings; since 0.22 its metadata blocks are graphs |
| `tvm-0.27` | TVM 0.26 and newer |
| `rxe` | `tvm-0.27` with statements of the notes on shapes, which TVM does not read |

The first four are printed alike, as TVM 0.16 reads them.
"""

from __future__ import annotations

import re
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
    title: str = ""  # of the era, for messages: "text of 2022"
    purity: bool = True  # functions say if they are pure


NEW = Dialect(
    "tvm-0.27", "R.Any", "out_ty", "ty_args", "ir.GenericConst", "tirx", True, True, False,
    frozenset({"axis_separators", "input_axis_separators"}),
)  # fmt: skip
OLD = Dialect(
    "tvm-0.19", "R.Object", "out_sinfo", "sinfo_args", "relax.expr.Constant", "tir", False, False, True
)
OWN = replace(NEW, name="rxe", notes=True)
MIDDLE = replace(OLD, name="tvm-0.25")
BEFORE_PURITY = replace(
    OLD, name="relax-2023", title="text of 2023, before functions had a purity", purity=False
)
EARLY = replace(OLD, name="relax-2022", title="text of 2022, before StructInfo", purity=False)
DIALECTS: dict[str, Dialect] = {item.name: item for item in (NEW, MIDDLE, OLD, BEFORE_PURITY, EARLY, OWN)}

OUT_KEYWORDS = frozenset({"out_ty", "out_sinfo"})
TYPE_KEYWORD = "type_args"  # in the first specification, whose types have no shapes
ARGS_KEYWORDS = frozenset({"ty_args", "sinfo_args", TYPE_KEYWORD})
OBJECT_NAMES = frozenset({"Any", "Object"})
ONCE_OPERANDS: dict[str, tuple[str, ...]] = {"relax.nn.pad": ("pad_value",)}
"""Attributes that TVM 0.16 to 0.25 printed as operands, after the operands: `R.nn.pad(x, R.const(0.0), pad_width=[1, 1])`."""
GONE: dict[str, frozenset[str]] = {
    "relax.layout_transform": frozenset({"axis_separators", "input_axis_separators"}),
    "relax.grad.take_backward": frozenset({"mode"}),
}
"""Attributes that TVM 0.27 does not read."""
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


_EARLY_WORDS = (
    "Buffer[",
    "Tensor[",
    "Tuple[",
    "Shape[",
    "T.var(",
    "buffer_decl(",
    "with T.grid",
    "with T.serial",
    "Tensor(",
    ": Object",
    ": Shape",
    ": Tuple(",
    ": Callable(",
    "call_tir",
)
_EARLY_MARKS = re.compile(
    r"\bT\.Buffer\[|\bR\.(?:Tensor|Tuple|Shape)\[|\bT\.var\(|\bT\.buffer_decl\(|\bwith T\.(?:grid|serial|block\(\[)"
    r"|(?:->|\w\s*:)\s*(?:Tensor|DynTensor|Tuple|Shape|Object|Callable)\b(?=\s*[(,)=:\]])|\b(?:R|relax)\.call_tir\((?:[^()]|\((?:[^()]|\([^()]*\)){0,400}\)){0,400}?\bdtype\s*="
)
_COMMENT = re.compile(r"#.*")
_PURITY_MARKS = re.compile(r"\bpure\s*=|\bpurity\s*=|force_pure|call_pure_packed")
_EFFECTS = re.compile(r"\bR\.(?:call_packed|print|assert_op|call_builtin_with_ctx|memory\.kill|vm\.)")
"""Calls that later versions of TVM printed in functions with marks of purity only."""
_GRAPH = re.compile(r'load_json\("""\{\s*\\?"root_index')


def dialect(name: str) -> Dialect:
    """The dialect called `name`. Raises ValueError if there is none."""
    surface = DIALECTS.get(name)
    if surface is None:
        raise ValueError(f"no dialect {name!r}; there are {', '.join(DIALECTS)}")
    return surface


def guess(text: str) -> Dialect:
    """The dialect of a text, by its imports and its marks. The newest one if nothing tells."""
    if _may_be_early(text) and _EARLY_MARKS.search(_COMMENT.sub("", text)):
        return EARLY
    if "import tirx as T" in text:
        return NEW
    is_old = "import tir as T" in text or any(mark in text for mark in _OLD_MARKS)
    if not is_old or any(mark in text for mark in _NEW_MARKS):
        return OLD if "import tir as T" in text else NEW
    if _GRAPH.search(text):
        return MIDDLE
    return BEFORE_PURITY if _EFFECTS.search(text) and not _PURITY_MARKS.search(text) else OLD


def _may_be_early(text: str) -> bool:
    """False if a text surely is of another era: a quick look, since most texts are."""
    if "import tirx as T" in text or any(mark in text for mark in _NEW_MARKS):
        return False
    return any(word in text for word in _EARLY_WORDS)
