"""Circles among the modules of a package: strongly connected components of the graph of all imports, also inside functions."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path


def import_circles(package: Path) -> list[list[str]]:
    """The groups of modules that import each other, directly or indirectly, sorted."""
    files = {_name(path, package): path for path in package.rglob("*.py")}
    graph = {name: _imports(path, name, set(files)) for name, path in files.items()}
    circles: list[list[str]] = []
    while True:
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            member = error.args[1][0]
            circle = _reached(graph, member) & {name for name in graph if member in _reached(graph, name)}
            circles.append(sorted(circle))
            for name in circle:
                graph[name] -= circle
        else:
            return sorted(circles)


def _name(path: Path, package: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(path: Path, name: str, modules: set[str]) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in modules else node.module)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and ".core." in node.value:
            found.add(node.value)  # `import_module` would hide an import in a string
    return (found & modules) - {name}


def _reached(graph: dict[str, set[str]], start: str) -> set[str]:
    seen = {start}
    stack = [start]
    while stack:
        new = graph[stack.pop()] - seen
        seen |= new
        stack.extend(new)
    return seen
