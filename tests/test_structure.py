"""Rules about the project's own files: their length, their names, and forbidden content."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.support.import_circles import import_circles
from tests.support.module_sizes import PACKAGE, ROOT, module_sizes, stale_exceptions, table

VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "misc"}
SKIPPED_DIRECTORIES = {"dist", "corpus", "htmlcov", "__pycache__", "node_modules"}
HIDDEN = (".git", ".venv", ".mypy", ".ruff", ".pytest", ".hypothesis", ".import", ".idea", ".vscode")
TEXT_SUFFIXES = {".py", ".md", ".toml", ".cfg", ".tcss", ".json", ".yml", ".yaml", ".txt", ""}

FUNCTION_LIMIT = 40
"""Lines of a function without its docstring."""

MODULES = sorted(PACKAGE.rglob("*.py"))


def test_no_module_is_too_long() -> None:
    sizes = module_sizes()
    assert not stale_exceptions(sizes)
    assert not [f"{size.path}: {size.problem}" for size in sizes if size.problem], table(sizes)


def test_file_names_are_nouns_of_the_subject() -> None:
    vague = [path for path in project_files() if path.stem.lower() in VAGUE_NAMES]
    assert not vague


def test_types_are_known() -> None:
    """Unknown types are allowed only at the borders to numpy, JSON and numba; these numbers may only fall."""
    texts = [path.read_text(encoding="utf-8") for path in MODULES]
    assert sum(text.count("# type: ignore[") for text in texts) < 25
    assert sum(facts.untyped for facts in looked_at()) < 205


def _annotated_any(tree: ast.AST) -> int:
    """The number of parameters and results of functions annotated as Any, as ruff's ANN401 counts them."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    notes = [node.returns for node in functions]
    for node in functions:
        given = (
            *node.args.posonlyargs,
            *node.args.args,
            *node.args.kwonlyargs,
            node.args.vararg,
            node.args.kwarg,
        )
        notes += [arg.annotation for arg in given if arg is not None]
    return sum(isinstance(note, ast.Name) and note.id == "Any" for note in notes)


def test_module_names_do_not_repeat() -> None:
    """The name of a file alone identifies it."""
    stems = [path.stem for path in MODULES if path.stem not in ("__init__", "__main__")]
    assert sorted({stem for stem in stems if stems.count(stem) > 1}) == []


def test_every_package_has_an_init() -> None:
    assert not {path.parent for path in MODULES if not (path.parent / "__init__.py").exists()}


def trees() -> Iterator[tuple[str, ast.Module]]:
    """Each module with its path. None stays in memory, and to read all of them takes two seconds."""
    for path in MODULES:
        yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Facts:
    """What the tests ask about a module: its functions with their lines, its dangers, and its annotations that are Any."""

    path: str
    lengths: dict[str, int]
    dangers: list[str]
    untyped: int


@cache
def looked_at() -> list[Facts]:
    """All modules, read once for several tests."""
    return [
        Facts(path, lengths_of(path, tree), [what for _, what in dangers(tree)], _annotated_any(tree))
        for path, tree in trees()
    ]


def lengths_of(path: str, tree: ast.Module) -> dict[str, int]:
    return {
        f"{path}, line {node.lineno}: {node.name}": code_lines(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def test_functions_fit_on_a_screen() -> None:
    lengths = {name: lines for facts in looked_at() for name, lines in facts.lengths.items()}
    assert len(lengths) > 5_000
    assert {name: lines for name, lines in lengths.items() if lines > FUNCTION_LIMIT} == {}


def test_text_is_never_executed_and_data_never_unpickled() -> None:
    found = [(facts.path, what) for facts in looked_at() for what in facts.dangers]
    # Workers get tasks through a pipe from the process that started them, as those of multiprocessing do.
    assert found == [("relax_explorer/viz/workers.py", "pickle")]


@pytest.mark.parametrize(
    ("source", "danger"),
    [
        ("eval('1')", "eval"),
        ("exec(text)", "exec"),
        ("import pickle", "pickle"),
        ("from marshal import loads", "marshal"),
        ("subprocess.run(command, shell=True)", "shell=True"),
        ("os.system(command)", "os.system"),
        ("np.load(path)", "np.load without allow_pickle=False"),
    ],
)
def test_each_danger_is_seen(source: str, danger: str) -> None:
    assert [what for _, what in dangers(ast.parse(source))] == [danger]


def test_harmless_relatives_are_not_reported() -> None:
    source = "re.compile(x)\nop.eval(y)\nnp.load(path, allow_pickle=False)\nrun([dot], shell=False)"
    assert not list(dangers(ast.parse(source)))


def test_nothing_refers_to_a_place_outside_the_project() -> None:
    # Written in pieces, because this file is searched too.
    places = "|".join(["tm" + "p", "wor" + "k", "hom" + "e", "roo" + "t"])
    outside = re.compile(rf"(?<![\w.])/(?:{places})\b")
    shared = ".." + "/shared"
    for path in project_files():
        text = path.read_text(encoding="utf-8")
        assert shared not in text, path
        match = outside.search(text)
        assert match is None, f"{path}: {match}"


def project_files() -> Iterator[Path]:
    """Yield the text files of the project."""
    for path in ROOT.rglob("*"):
        directories = path.relative_to(ROOT).parts[:-1]
        if directories[:1] == ("build",):  # only at the top: `core/build` is a package
            continue
        if any(name in SKIPPED_DIRECTORIES or name.startswith(HIDDEN) for name in directories):
            continue
        if path.name == ".git" or path.name.startswith(
            ".coverage"
        ):  # the first is a file in a work tree of git
            continue
        if path.is_file() and path.suffix in TEXT_SUFFIXES:
            yield path


def code_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the lines from `def` to the end, without the docstring."""
    has_docstring = ast.get_docstring(node, clean=False) is not None
    return line_count(node) - (line_count(node.body[0]) if has_docstring else 0)


def line_count(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


BANNED_MODULES = {"pickle", "marshal", "shelve", "dill", "cloudpickle"}
BANNED_BUILTINS = {"eval", "exec", "compile", "__import__"}
BANNED_FUNCTIONS = {"os.system", "os.popen", "tempfile.mktemp", "yaml.load"}


def dangers(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line and name of everything that could execute text or trust data."""
    for node in ast.walk(tree):
        look = LOOKS.get(type(node))
        for what in look(node) if look else ():
            yield node.lineno, what


def dangers_of_import(node: ast.Import) -> Iterator[str]:
    yield from (alias.name for alias in node.names if alias.name.partition(".")[0] in BANNED_MODULES)


def dangers_of_import_from(node: ast.ImportFrom) -> Iterator[str]:
    if (node.module or "").partition(".")[0] in BANNED_MODULES:
        yield node.module or ""


def dangers_of_call(node: ast.Call) -> Iterator[str]:
    called = dotted(node.func)
    keywords = {
        keyword.arg: ast.unparse(keyword.value)
        for keyword in node.keywords
        if keyword.arg in ("shell", "allow_pickle")
    }
    if called in BANNED_BUILTINS | BANNED_FUNCTIONS:
        yield called
    if keywords.get("shell", "False") != "False":
        yield f"shell={keywords['shell']}"
    if called in {"np.load", "numpy.load"} and keywords.get("allow_pickle") != "False":
        yield "np.load without allow_pickle=False"


def dotted(node: ast.expr) -> str:
    """A name with its attributes; empty for all else that can be called."""
    if isinstance(node, ast.Attribute):
        owner = dotted(node.value)
        return f"{owner}.{node.attr}" if owner else ""
    return node.id if isinstance(node, ast.Name) else ""


LOOKS: dict[type[ast.AST], Callable[..., Iterator[str]]] = {
    ast.Import: dangers_of_import,
    ast.ImportFrom: dangers_of_import_from,
    ast.Call: dangers_of_call,
}


def test_modules_import_each_other_in_no_circle() -> None:
    """Imports under TYPE_CHECKING and inside functions count; pyproject.toml lists the accepted circles with reasons."""
    circles = {frozenset(circle) for circle in import_circles(ROOT / "relax_explorer")}
    allowed = set()
    for line in (ROOT / "pyproject.toml").read_text().splitlines():
        names, _, reason = line.removeprefix("# circle: ").partition(": ")
        if line.startswith("# circle: "):
            assert reason
            allowed.add(frozenset(names.split(" ↔ ")))
    assert circles == allowed


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.glob("*/**/__init__.py")), ids=lambda path: str(path.relative_to(PACKAGE).parent)
)
def test_packages_load_no_module_of_their_own(path: Path) -> None:
    """Otherwise two threads that enter a package at two places wait for each other, and one gets a module that is half loaded.

    The explorer ended with that: a key loaded its screen while a job loaded the core.
    """
    own = ".".join(path.parent.relative_to(ROOT).parts)
    loaded = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ImportFrom)]
    inner = [node.module for node in loaded if f"{node.module}.".startswith(f"{own}.")]
    assert inner == []


def test_a_circle_is_found(tmp_path: Path) -> None:
    package = tmp_path / "relax_explorer"
    package.mkdir()
    (package / "a.py").write_text("def f():\n    from relax_explorer import b\n")
    (package / "b.py").write_text("if TYPE_CHECKING:\n    from relax_explorer.c import x\n")
    (package / "c.py").write_text("import relax_explorer.a\n")
    (package / "d.py").write_text("import relax_explorer.a\n")
    assert import_circles(package) == [["relax_explorer.a", "relax_explorer.b", "relax_explorer.c"]]
