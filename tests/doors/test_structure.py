"""What only one module may do: start a child process, and turn Python's garbage collector and its threads for a whole process."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.test_structure import trees

DOOR = "relax_explorer/viz/child.py"
KEEPER = "relax_explorer/viz/keeper.py"  # the child's own side of the door
STARTERS = {"subprocess", "multiprocessing", "concurrent.futures.process", "pty", "webbrowser"}
STARTS = re.compile(
    r"os\.(fork|forkpty|exec\w+|spawn\w+|posix_spawn\w*|popen|system|startfile)|asyncio\.create_subprocess_\w+|ProcessPoolExecutor|\w+\.subprocess_(exec|shell)"
)
HOSTS = re.compile(
    r"gc\.(enable|disable|freeze|unfreeze|set_threshold|set_debug)|sys\.(setswitchinterval|setrecursionlimit|setprofile)"
)
PROCESS = "relax_explorer/ui/process.py"


def starts(tree: ast.Module) -> Iterator[str]:
    """What starts processes, or imports what does."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from [
                item.name
                for item in node.names
                if item.name.partition(".")[0] in STARTERS or item.name in STARTERS
            ]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{item.name}" for item in node.names]
            yield from [
                name
                for name in names
                if node.module in STARTERS or STARTS.fullmatch(name) or "ProcessPool" in name
            ]
        elif isinstance(node, ast.Attribute) and STARTS.fullmatch(_dotted(node)):
            yield _dotted(node)


def _dotted(node: ast.Attribute) -> str:
    """The attribute behind the name that it is taken from; behind `it` if that is no name."""
    return f"{node.value.id if isinstance(node.value, ast.Name) else 'it'}.{node.attr}"


def of_hosts(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and HOSTS.fullmatch(_dotted(node)):
            yield _dotted(node)
        elif isinstance(node, ast.ImportFrom) and node.module in ("gc", "sys"):
            yield from [
                f"{node.module}.{item.name}"
                for item in node.names
                if HOSTS.fullmatch(f"{node.module}.{item.name}")
            ]


def test_children_start_through_one_door_and_only_our_own_process_is_turned() -> None:
    """One test, for parsing the product takes a second."""
    starting, turning = set[str](), set[str]()
    for path, tree in trees():
        starting |= {path} if any(starts(tree)) else set()
        turning |= {path} if any(of_hosts(tree)) else set()
    assert starting == {DOOR, KEEPER}
    assert turning == {PROCESS}


@pytest.mark.parametrize(
    "source",
    [
        "import subprocess", "from subprocess import Popen", "import multiprocessing.pool", "from multiprocessing import Process",
        "from concurrent.futures import ProcessPoolExecutor", "import os\nos.spawnv(0, a, b)", "from os import fork", "os.posix_spawn(a, b, c)",
        "await asyncio.create_subprocess_exec(x)", "self.loop.subprocess_exec(x)", "import pty", "import webbrowser",
    ],
)  # fmt: skip
def test_another_door_is_seen(source: str) -> None:
    assert any(starts(ast.parse(source)))


@pytest.mark.parametrize(
    "source", ["gc.disable()", "from gc import freeze", "sys.setswitchinterval(1)", "off = gc.disable"]
)
def test_turning_a_host_is_seen(source: str) -> None:
    assert any(of_hosts(ast.parse(source)))
