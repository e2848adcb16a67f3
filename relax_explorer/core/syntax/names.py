"""Display names: unique within a function, and as close to the hints as Python's grammar allows."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.ir.index_map import IndexMap, place
from relax_explorer.core.ir.prim import PrimVar
from relax_explorer.core.ir.prim_text import Name, PrimText

if TYPE_CHECKING:
    from relax_explorer.core.syntax.parse_dim import DimReader

# Constructs start with `T`, `R` and `I`. A variable with such a name would shadow them.
RESERVED = frozenset({"R", "T", "I", "cls", "self", "metadata", "TypeVar", "Module", *keyword.kwlist})
_BAD = re.compile(r"\W", re.ASCII)


def usable(hint: str) -> str:
    """`hint` as a Python identifier that shadows nothing."""
    if hint.isidentifier() and hint.isascii() and hint not in RESERVED:
        return hint
    name = hint if hint.isascii() and hint.isidentifier() else _BAD.sub("_", hint) or "v"
    if name[0].isdigit() or name == "_":  # which is kept for results that nobody reads
        name = f"v{name}"
    return f"{name}_" if name in RESERVED else name


def shape_name(hint: str) -> str:
    """The name of a shape variable. Results that nobody uses have the name `_`, in the same scope."""
    name = usable(hint)
    return "v" if name == "_" else name


def function_name(name: str) -> str:
    """The name of a function of the module as a Python identifier."""
    return name if name.isidentifier() and not keyword.iskeyword(name) else usable(name)


class Names(dict[Any, str]):
    """The unique name of each variable of a scope. The first one gets its hint, a later one `hint_1`."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        super().__init__()
        self._used: set[str] = set(taken)
        self._next: dict[str, int] = {}
        self._order: list[Any] = []

    # Called for each variable of each line, so it is a builtin and not a Python function.
    __call__ = dict.__getitem__

    def __missing__(self, var: Any) -> str:
        return self.assign(var, var.name)

    def assign(self, var: Any, hint: str) -> str:
        """Name `var` after `hint`."""
        name = base = usable(hint)
        if base == "_" and not isinstance(var, PrimVar):  # several unused results may share this name
            self[var] = "_"
            return "_"
        if base == "_" and base in self._used:
            name = base = shape_name(base)
        if name in self._used:
            count = self._next.get(base, 0)
            while name in self._used:
                count += 1
                name = f"{base}_{count}"
            self._next[base] = count
        self._used.add(name)
        self[var] = name
        self._order.append(var)
        return name

    def mark(self) -> int:
        """A mark for `release`."""
        return len(self._order)

    def release(self, mark: int) -> None:
        """Free the names assigned since `mark`, whose scope has ended."""
        for var in self._order[mark:]:
            name = self[var]
            self._used.discard(name)
            self._next.pop(usable(var.name) if hasattr(var, "name") else name, None)
        del self._order[mark:]

    def fix(self, var: Any, name: str) -> None:
        """Give `var` exactly this name, even if another variable has it."""
        self[var] = name
        self._used.add(name)

    def known(self, var: Any) -> bool:
        """True if `var` has a name."""
        return var in self


# -- index maps ------------------------------------------------------------------------------------------------------
# Index maps in TVMScript: `T.index_map(lambda i, j: (j, i // 4, i % 4))`.


NAME = "T.index_map"


def read(info: DimReader, node: ast.expr) -> IndexMap:
    """The map given by a lambda, or by a call of T.index_map with a lambda."""
    if isinstance(node, ast.Lambda):
        return _read_lambda(info, node)
    assert isinstance(node, ast.Call)  # the caller checked its name
    arguments: dict[str, ast.expr] = dict(zip(("mapping", "inverse_index_map"), node.args, strict=False))
    for given in node.keywords:
        if given.arg not in ("mapping", "inverse_index_map", "index_dtype"):
            raise info.ctx.fail(codes.BAD_CALL, f"T.index_map has no argument {given.arg!r}", node)
        arguments[given.arg] = given.value
    forward, back = arguments.get("mapping"), arguments.get("inverse_index_map")
    if not isinstance(forward, ast.Lambda):
        raise info.ctx.fail(
            codes.BAD_CALL, "T.index_map takes a lambda", node, help="write lambda i, j: (j, i)"
        )
    index_map = _read_lambda(info, forward)
    if isinstance(back, ast.Lambda):
        return IndexMap(index_map.names, index_map.results, _read_lambda(info, back))
    return index_map


def _read_lambda(info: DimReader, node: ast.Lambda) -> IndexMap:
    spec = node.args
    if spec.vararg or spec.kwarg or spec.kwonlyargs or spec.defaults:
        raise info.ctx.fail(codes.BAD_CALL, "an index map names each axis", node, help="write lambda i, j: …")
    names = [arg.arg for arg in (*spec.posonlyargs, *spec.args)]
    places = {name: place(number) for number, name in enumerate(names)}
    outer = info.resolve
    info.resolve = lambda name: places[name] if name in places else outer(name)
    try:
        items = node.body.elts if isinstance(node.body, (ast.Tuple, ast.List)) else [node.body]
        return IndexMap(names, [info.prim(item) for item in items])
    finally:
        info.resolve = outer


def write(index_map: IndexMap, name: Name) -> str:
    """A map as TVM prints it. `name` returns the names of shape variables."""
    back = f", inverse_index_map={_lambda(index_map.inverse, name)}" if index_map.inverse is not None else ""
    return f"{NAME}({_lambda(index_map, name)}{back})"


def _lambda(index_map: IndexMap, name: Name) -> str:
    names = Names({name(var) for var in index_map.free})  # a name of these would shadow a shape variable
    for var, hint in zip(index_map.places, index_map.names, strict=True):
        names.assign(var, hint)
    out = PrimText(lambda var: names[var] if var in names else name(var))
    results = out.listed(index_map.results)
    return f"lambda {', '.join(names.values())}: ({results}{',' if len(index_map.results) == 1 else ''})"
