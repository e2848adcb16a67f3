"""The page of the IR names every node class with its fields, and nothing else."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from relax_explorer.core.ir import attrs, expr, index_map, prim, prim_atoms, prim_binary, struct_info, types
from relax_explorer.core.ir.node import fields_of
from relax_explorer.core.program import module
from relax_explorer.core.tir import prim_expr, stmt

PAGE = Path(expr.__file__).parent / "README.md"
ROOMS_OF_SCALARS = (prim, prim_atoms, prim_binary, prim_expr)
MODULES = (expr, struct_info, *ROOMS_OF_SCALARS, types, index_map, attrs, module, stmt)
SAID_ONCE = {"struct_info", "span", "size", "depth"}  # in the introduction; the size and the depth are caches
BASES = {
    "Expr", "StructInfo", "PrimExpr", "Binary", "Called", "Comparison", "Logical", "Type", "Stmt", "Verbatim", "StructInfoText", "Written",
}  # fmt: skip


def _classes(room: ModuleType) -> Iterator[type]:
    for name, value in vars(room).items():
        if inspect.isclass(value) and value.__module__ == room.__name__ and not name.startswith("_"):
            yield value


def _fields(kind: type) -> set[str]:
    try:
        names = set(fields_of(kind))
    except KeyError:  # interned: slots, its own and those of its bases
        slots = [slot for base in kind.__mro__[:-1] for slot in getattr(base, "__slots__", ())]
        names = {slot for slot in slots if not slot.startswith("_")}
    return names - SAID_ONCE


def _written() -> dict[str, set[str]]:
    """The classes on the page with their fields."""
    blocks = re.findall(r"```\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    text = re.sub(r"#.*", "", "\n".join(blocks))
    fields: dict[str, set[str]] = {}
    for name, inside in re.findall(r"([A-Z]\w+)\(((?:[^()]|\([^()]*\))*)\)", text):
        assert name not in fields, name
        parts = re.sub(r"\([^()]*\)|\{[^}]*\}", "", inside).split(",")
        fields[name] = {re.split(r"[:=? ]", part.strip())[0] for part in parts if part.strip()}
    return fields


def test_the_page_lists_every_node_with_its_fields() -> None:
    written = _written()
    classes = {kind.__name__: kind for room in MODULES for kind in _classes(room)}
    assert set(written) - set(classes) == set()
    assert {name for name in classes if name not in BASES} - set(written) == set()
    for name, fields in written.items():
        if name not in ("Attrs", "IRModule"):
            wanted = _fields(classes[name])
            scalar = issubclass(classes[name], prim.PrimExpr) or name.endswith("StructInfo")
            assert fields == wanted - ({"dtype"} if scalar and "dtype" not in fields else set()), name


def test_a_rule_is_found_in_the_file_that_the_page_names() -> None:
    root = PAGE.parents[2]
    named = re.findall(r"`((?:core/)?[a-z_/]+(?:\*)?\.py|core/[a-z]+/)`", PAGE.read_text(encoding="utf-8"))
    assert named
    for name in named:
        places = (
            [root / name]
            if name.startswith("core/")
            else [PAGE.parent / name, PAGE.parent.parent / "tir" / name]
        )
        assert any(place.exists() or list(place.parent.glob(place.name)) for place in places), name
