"""The product uses every public function of the core, or a list names its purpose."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent / "relax_explorer"

# Public names that only tests use so far, each with its purpose.
NOT_YET = {
    "check/call_graph:derive_function": "users register their derive functions with it, like packed functions",
    "exec/scalars:compile_shapes": "memory planning will size many runs of one program at once",
    "relations/adapt:infer_to_relation": "users compare a StructInfo rule with the relation it replaces",
    "relations/adapt:relation_op": "users declare operators that have a relation and no StructInfo rule",
    "relations/adapt:relation_to_infer": "users give an own operator class a relation as its rule",
    "relations/adapt:to_type": "relation_to_infer reads StructInfo by it",
    "relations/relay_types:alpha_equal": "users compare the type of a function with one they wrote",
    "shapes/contract_text:read_sweet_type": "users read the types of their own primitives with it",
    "shapes/primitives:register_primitive": "users add what computes a primitive of theirs",
    "shapes/primitives:register_shape_rule": "users add the shape rule of a primitive of theirs",
    "ir/types:checked_type": "the details pane will show the type beside the StructInfo",
}


def test_functions_that_only_tests_call_have_a_purpose() -> None:
    unused = _unused()
    assert unused - NOT_YET.keys() == set(), "used by tests only; give it a use or a row in NOT_YET"
    assert NOT_YET.keys() - unused == set(), "used by now; its row can go"
    assert all(len(reason.split()) >= 5 for reason in NOT_YET.values())


def _unused() -> set[str]:
    """Public functions of the core that nothing else in the package reaches, judged by name alone."""
    names: dict[str, set[str]] = {}  # names that may be unused → names that they mention
    public: dict[str, set[str]] = {}
    reached: set[str] = set()
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            name = _name(node) if ROOT / "core" in path.parents else ""
            if name:
                names.setdefault(name, set()).update(_mentions(node))
            else:
                reached |= _mentions(node)
            if name and isinstance(node, ast.FunctionDef) and not name.startswith("_"):
                place = path.relative_to(ROOT / "core").with_suffix("").as_posix()
                public.setdefault(name, set()).add(f"{place}:{name}")
    waiting = list(reached)
    while waiting:
        new = names.pop(waiting.pop(), set()) - reached
        reached |= new
        waiting.extend(new)
    return {place for name, places in public.items() if name not in reached for place in places}


def _name(node: ast.stmt) -> str:
    """The name of a function or table; nothing for code that runs or registers itself on import."""
    if isinstance(node, ast.FunctionDef) and not node.decorator_list:
        return node.name
    if any(isinstance(part, ast.Call) for part in ast.walk(node)):
        return ""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return node.target.id
    return ""


def _mentions(tree: ast.AST) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.alias) and node.asname:
            found.add(node.name)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)  # the package loads its names lazily from a table
    return found
