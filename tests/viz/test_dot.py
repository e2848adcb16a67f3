"""Graphviz in child processes: what is written for it, which engine is taken, and every way in which it can
fail.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

from relax_explorer.viz import dot as dot_module
from relax_explorer.viz import graph
from relax_explorer.viz.child import ChildOutputTooLong, ChildTimeout, run_child
from relax_explorer.viz.dot import DrawError, Engine, dot_label, dot_text, draw
from relax_explorer.viz.drawing import Drawing
from relax_explorer.viz.graph import Edge, Node
from tests.support.golden import Golden
from tests.viz.graphs import HOSTILE, decoder, hostile, small

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the fake programs are shell scripts")
ROOT = Path(__file__).parents[2]
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def empty_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH that contains only the test's own programs."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


@pytest.fixture
def no_pygraphviz(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A child process in which pygraphviz can't be imported."""
    directory = tmp_path_factory.mktemp("modules")
    (directory / "pygraphviz.py").write_text("raise ImportError('not installed')\n")
    monkeypatch.setenv("PYTHONPATH", str(directory))


def fake_dot(directory: Path, script: str) -> None:
    program = directory / "dot"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def answer_for(graph: Drawing) -> str:
    """A possible answer of Graphviz: nodes one below the other."""
    objects = [
        {
            "name": f"n{index}",
            "pos": f"50,{(len(graph.nodes) - index) * 72 - 36}",
            "width": "1",
            "height": "0.5",
        }
        for index in range(len(graph.nodes))
    ]
    edges = [
        {"id": f"e{index}", "pos": "e,50,20 50,60 50,50 50,40 50,30", "lp": "70,40"}
        for index in range(len(graph.edges))
    ]
    return json.dumps({"bb": f"0,0,100,{len(graph.nodes) * 72}", "objects": objects, "edges": edges})


def titles(data: bytes) -> list[str | None]:
    root = ElementTree.fromstring(data)
    return [
        item.text for item in root.iter("{http://www.w3.org/2000/svg}text") if item.get("class") == "title"
    ]


def test_golden(golden: Golden) -> None:
    golden.check("small.dot", small().dot())


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_labels_hold_nothing_that_acts(text: str) -> None:
    label = str(dot_label([text]))
    assert label.isprintable()
    assert len(label) <= 2 * 400 + 4 * text[:400].count("&")
    assert not re.search(r"(?<!\\)(\\\\)*\\[^\\n]", label)
    assert not re.search(r"&(?!amp;)", label)


def test_ids_are_numbers_and_labels_never_html() -> None:
    source = dot_text(hostile())
    assert not re.search(r"label=<", source)
    assert not re.search(r"^\s*(?!n\d+|edge|node|graph|subgraph|digraph|\})\S", source, re.MULTILINE)
    names = set(
        re.findall(
            r'[\[ ](\w+)=(?:"(?:[^"\\]|\\.)*"|[^" \]]+)', re.sub(r'label="(?:[^"\\]|\\.)*"', "", source)
        )
    )
    assert names.isdisjoint(
        {"URL", "href", "image", "shapefile", "stylesheet", "tooltip", "target", "fontpath"}
    )


@pytest.mark.parametrize("format", ["svg", "png"])
def test_pygraphviz_needs_nothing_on_the_path(empty_path: Path, format: str) -> None:
    picture = draw(small(), format)
    assert picture.engine == "pygraphviz"
    assert picture.notices == ()
    if format == "png":
        assert picture.data.startswith(PNG)
    else:
        assert titles(picture.data)[2] == "~ matmul"


def test_pygraphviz_stays_out_of_our_process() -> None:
    program = (
        "import sys\n"
        "from tests.viz.graphs import small\n"
        "assert small().draw('svg').engine == 'pygraphviz'\n"
        "sys.exit('pygraphviz' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False).returncode == 0


@pytest.mark.usefixtures("no_pygraphviz")
def test_dot_on_the_path_is_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the real `dot` if it is installed, else with a program that gives the same answers."""
    if shutil.which("dot") is None:
        (tmp_path / "answer").write_text(answer_for(small()))
        fake_dot(tmp_path, f"cat > /dev/null; cat {tmp_path}/answer")
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    picture = draw(small())
    assert picture.engine == "dot"
    assert picture.notices == ("pygraphviz not used: exit status 3 (not installed)",)
    assert titles(picture.data)[-1] == "return"


def test_an_answer_of_dot_becomes_the_picture(empty_path: Path) -> None:
    (empty_path / "answer").write_text(answer_for(small()))
    fake_dot(
        empty_path,
        f"/bin/cat > {empty_path}/given; echo $1 > {empty_path}/asked; /bin/cat {empty_path}/answer",
    )
    picture = draw(small(), engine="dot")
    assert picture.engine == "dot"
    assert (empty_path / "given").read_text() == small().dot()
    assert (empty_path / "asked").read_text() == "-Tjson0\n"
    assert titles(picture.data) == ["x", "w", "~ matmul", "> nn.relu", "* add", "2.0", "multiply", "return"]


@pytest.mark.usefixtures("no_pygraphviz", "empty_path")
def test_the_builtin_engine_is_last() -> None:
    picture = draw(small())
    assert picture.engine == "builtin"
    assert picture.notices == (
        "pygraphviz not used: exit status 3 (not installed)",
        "dot not used: there is no `dot` on the PATH",
    )
    assert picture.text == small().svg("builtin")
    with pytest.raises(DrawError, match="writes SVG only"):
        draw(small(), "png")


@pytest.mark.usefixtures("no_pygraphviz", "empty_path")
@pytest.mark.parametrize("engine", ["pygraphviz", "dot"])
def test_a_named_engine_is_not_replaced(engine: Engine) -> None:
    with pytest.raises(DrawError, match=f"{engine} not used"):
        draw(small(), engine=engine)


def test_unknown_engines_and_formats_are_refused() -> None:
    with pytest.raises(ValueError, match="pygraphviz, dot, builtin"):
        draw(small(), engine="neato")  # type: ignore[arg-type]  # what a user may type
    with pytest.raises(ValueError, match="svg and png"):
        draw(small(), "pdf")


@pytest.mark.usefixtures("no_pygraphviz")
@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("exit 1", "exit status 1"),
        ("echo '{\"bb\": '; echo broken >&2; exit 1", r"exit status 1 \(broken\)"),
        ("printf '\\033[31mboo' >&2; exit 2", r"exit status 2 \(\\x1b\[31mboo\)"),
        (
            "printf 'Traceback of Python\\n  line 1\\nMemoryError\\n\\n' >&2; exit 1",
            r"exit status 1 \(MemoryError\)",
        ),
        ("echo garbage", "not JSON"),
        ("echo '[]'", "something is missing"),
        ('echo \'{"bb": "0,0,9,9", "objects": [], "edges": []}\'', "something is missing"),
        ('echo \'{"bb": "0,0,nan,inf"}\'', "something is missing"),
        ("kill -SEGV $$", "crashed with signal 11"),
        (
            "while :; do echo 0123456789012345678901234567890123456789 >&2 || exit; done & sleep 60",
            "stopped after",
        ),
        ("while :; do :; done", "stopped after"),
        ("sleep 60", "stopped after"),
        ("trap '' TERM; sleep 60 & wait", "stopped after"),
    ],
)
def test_a_dot_that_fails_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, reason: str
) -> None:
    fake_dot(tmp_path, script)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    start = time.monotonic()
    picture = draw(small(), timeout=1.0)
    assert picture.engine == "builtin"
    assert re.search(reason, picture.notices[1])
    assert all("\x1b" not in notice and "\n" not in notice for notice in picture.notices)
    assert time.monotonic() - start < 20


def test_a_file_that_is_no_program_is_replaced(empty_path: Path) -> None:
    (empty_path / "dot").write_bytes(b"\x00\x01 not a program")
    (empty_path / "dot").chmod(0o755)
    with pytest.raises(DrawError, match="can't be started"):
        draw(small(), engine="dot")


def test_half_a_png_is_refused(empty_path: Path) -> None:
    fake_dot(empty_path, "printf '\\211PNG\\r\\n\\032\\n half'")
    with pytest.raises(DrawError, match="not a whole PNG"):
        draw(small(), "png", engine="dot")


def test_after_a_timeout_the_same_program_is_not_tried_again(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules = tmp_path_factory.mktemp("hanging")
    (modules / "pygraphviz.py").write_text("while True: pass\n")
    monkeypatch.setenv("PYTHONPATH", str(modules))
    picture = draw(small(), timeout=0.5)
    assert picture.engine == "builtin"
    assert picture.notices == (
        "pygraphviz not used: stopped after 0.5 s",
        "dot not used: the same layout program just ran out of time",
    )


def test_a_program_in_the_current_directory_is_not_taken_for_pygraphviz(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pygraphviz.py").write_text("raise SystemExit(9)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    assert draw(small()).engine == "pygraphviz"


def test_large_graphs_skip_graphviz(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dot_module, "GRAPHVIZ_FAST_NODES", 7)
    picture = draw(small())
    assert picture.engine == "builtin"
    assert picture.notices == ("Graphviz not used: too slow for 8 nodes and 8 edges",)
    assert draw(small(), "png").engine == "pygraphviz"  # only Graphviz writes PNG
    assert draw(small(), engine="pygraphviz").engine == "pygraphviz"
    monkeypatch.setattr(dot_module, "GRAPHVIZ_MAX_EDGES", 7)
    with pytest.raises(DrawError, match="too slow for 8 nodes"):
        draw(small(), "png")


def test_large_graphs_show_shapes_in_boxes_and_not_on_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph, "LABELLED_UP_TO", 7)
    root = ElementTree.fromstring(draw(small(), engine="builtin").data)
    shown = [(item.get("class"), item.text) for item in root.iter("{http://www.w3.org/2000/svg}text")]
    assert not [text for css, text in shown if css == "label"]
    assert shown.count(("line", "(n, 64) f32")) == 6  # five values and a line of `x`
    assert "label" not in "".join(line for line in small().dot().splitlines() if "->" in line)
    assert "-->|" not in small().mermaid()
    monkeypatch.setattr(graph, "LABELLED_UP_TO", 8)
    assert "-->|" in small().mermaid()


@pytest.mark.parametrize("engine", ["pygraphviz", "builtin"])
@pytest.mark.parametrize(
    "graph",
    [
        hostile(),
        decoder(2),
        Drawing(""),
        Drawing("loop", (Node("a", "a"),), (Edge("a", "a", "s"), Edge("a", "a"))),
    ],
    ids=["hostile", "decoder", "empty", "loop"],
)
def test_every_engine_draws_every_graph(engine: Engine, graph: Drawing) -> None:
    picture = draw(graph, engine=engine)
    assert len(titles(picture.data)) == len(graph.nodes)
    assert all(notice.isprintable() for notice in picture.notices)
    assert "\x1b" not in picture.text


def test_graphviz_accepts_hostile_text_as_a_png() -> None:
    assert draw(hostile(), "png", engine="pygraphviz").data.startswith(PNG)


def test_a_child_that_hangs_is_killed_with_its_children(tmp_path: Path) -> None:
    script = f"sleep 300 & echo $! > {tmp_path}/grandchild; wait"
    with pytest.raises(ChildTimeout):
        run_child(["/bin/sh", "-c", script], b"", timeout=0.5)
    grandchild = int((tmp_path / "grandchild").read_text())
    deadline = time.monotonic() + 5
    while running(grandchild) and time.monotonic() < deadline:
        os.sched_yield()
    assert not running(grandchild)


def running(process: int) -> bool:
    """True if the process exists and is more than an entry that waits to be collected."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{process}/stat")
    return not (status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z")


def test_a_child_that_says_too_much_is_stopped() -> None:
    with pytest.raises(ChildOutputTooLong):
        run_child(["/bin/sh", "-c", "while echo 0123456789; do :; done"], b"", timeout=1.0, limit=1_000)


def test_a_child_is_given_its_input_and_need_not_read_it() -> None:
    assert run_child(["/bin/cat"], b"x" * 1_000_000, timeout=10).output == b"x" * 1_000_000
    assert run_child(["/bin/true"], b"x" * 1_000_000, timeout=10).status == 0
