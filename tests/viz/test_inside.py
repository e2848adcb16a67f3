"""Called Relax functions opened in place: their bindings stand in a cluster between the arguments and the call."""

from __future__ import annotations

from pathlib import Path

from relax_explorer.core.check.normalize import normalize_with
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.syntax.load import load
from relax_explorer.core.syntax.parser import parse
from relax_explorer.viz.drawing import Drawing
from relax_explorer.viz.folding import placed_inside
from relax_explorer.viz.ir_graph import graph
from tests.cli.test_commands import rxe_cli
from tests.support.roundtrip import DATA

FUSED = DATA / "llama" / "04_FuseOps.py"
TENSOR = 'R.Tensor((2, 3), "float32")'


def module(*functions: tuple[str, str, str]) -> IRModule:
    """A module of functions: name, parameters, body."""
    text = "@I.ir_module\nclass Module:\n"
    for name, params, body in functions:
        head = ", ".join(f"{param}: {TENSOR}" for param in params.split())
        lines = "".join(f"        {line}\n" for line in ("cls = Module", *body.split("\n")))
        text += f"    @R.function\n    def {name}({head}) -> {TENSOR}:\n{lines}\n"
    made, problems = normalize_with(parse(text))
    assert not [item for item in problems if item.is_error]
    return made


INNER = ("inner", "a b", "c = R.add(a, b)\nd = R.exp(c)\nreturn d")


def edges(drawing: Drawing) -> set[tuple[str, str]]:
    return {(edge.source, edge.target) for edge in drawing.edges}


def test_a_call_is_a_cluster_with_what_the_callee_computes() -> None:
    made = module(INNER, ("main", "x y", f"u: {TENSOR} = cls.inner(x, y)\nv = R.sin(u)\nreturn v"))
    closed, opened = graph(made, "main"), graph(made, "main", inside={"inner"})
    assert {node.id for node in closed.nodes} == {"x", "y", "u", "v", "return"}
    assert edges(opened) == {
        ("x", "u/c"),
        ("y", "u/c"),
        ("u/c", "u/d"),
        ("u/d", "u"),
        ("u", "v"),
        ("v", "return"),
    }
    (cluster,) = opened.clusters
    assert cluster.title == "u = inner"
    assert {node.id for node in opened.nodes if node.cluster == cluster.id} == {"u/c", "u/d", "u"}
    assert [
        binding.name for node in opened.nodes if node.id == "u/d" for binding in [node.sources[0].var]
    ] == ["d"]  # type: ignore[attr-defined]  # a binding
    assert graph(made, "main", inside={"main", "nobody"}) == closed


def test_two_calls_of_one_function_stay_apart() -> None:
    made = module(
        INNER, ("main", "x y", f"u: {TENSOR} = cls.inner(x, y)\nv: {TENSOR} = cls.inner(u, u)\nreturn v")
    )
    opened = graph(made, "main", inside={"inner"})
    assert {("u", "v/c"), ("v/d", "v"), ("u/d", "u")} <= edges(opened)
    assert len(opened.clusters) == 2
    assert opened.dot()
    assert opened.terminal(200)


def test_names_that_others_have_are_not_given_again() -> None:
    made = module(INNER, ("main", "x y", "return x"))
    taken = {"u", "u/c", "u/'d"}
    placed = placed_inside(graph(made, "inner"), "u", "u = inner", None, {}, taken)
    names = {node.id for node in placed.nodes}
    assert len(names) == len(placed.nodes) == 4
    assert not names & {"u", "u/c", "u/'d"}
    assert names < taken
    assert {edge.target for edge in placed.edges} <= names | {"u"}


def test_constants_branches_and_nested_calls() -> None:
    body = f"if R.const(True):\n    q: {TENSOR} = cls.inner(a, a)\nelse:\n    q = R.sin(a)\nreturn q"
    made = module(
        INNER,
        ("outer", "a", body),
        ("main", "x", f"u: {TENSOR} = cls.outer(R.const([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))\nreturn u"),
    )
    opened = graph(made, "main", inside={"inner", "outer"})
    paths = [len(opened.cluster_path(node.cluster)) for node in opened.nodes]
    assert max(paths) == 3  # the inside of a call in a branch of the inside of a call
    assert "u/a" in {node.id for node in opened.nodes}  # its argument is no variable
    assert ("u/a", "u/q_then/c") in edges(opened)
    only = graph(made, "main", inside={"outer"})
    assert not [node for node in only.nodes if node.id.startswith("u/q_then/")]


def test_a_function_that_calls_itself_is_opened_once() -> None:
    again = ("again", "a", f"b = R.exp(a)\nc: {TENSOR} = cls.again(b)\nreturn c")
    made = module(again, ("main", "x", f"u: {TENSOR} = cls.again(x)\nreturn u"))
    opened = graph(made, "main", inside={"again"})
    assert {node.id for node in opened.nodes} == {"x", "u/b", "u/c", "u", "return"}
    assert len(graph(made, "again", inside={"again"}).clusters) == 0


def test_fused_groups_of_equal_layers_are_opened_in_the_layer_that_is_drawn() -> None:
    fused = normalize_with(load(FUSED))[0]
    inside = frozenset(fused.relax_functions)
    once, each = (graph(fused, "forward", layers=layers, inside=inside) for layers in ("once", "each"))
    assert [item.title for item in once.clusters if item.parent is not None] == [
        "lv = fused_matmul1_multiply_add", "lv1 = fused_matmul3_add1", "lv2 = fused_split1_silu_multiply1",
        "lv3 = fused_matmul5_add1"]  # fmt: skip
    assert len(each.clusters) == 8
    used = {node.cluster for node in once.nodes} - {None}
    assert used == {item.id for item in once.clusters}
    assert len(once.nodes) < len(each.nodes) / 1.5
    assert not [node for node in once.nodes if node.id.startswith(("lv4/", "lv5/", "lv6/", "lv7/"))]


def test_the_command_opens_functions_by_name(tmp_path: Path) -> None:
    file = tmp_path / "p.py"
    file.write_text(module(INNER, ("main", "x y", f"u: {TENSOR} = cls.inner(x, y)\nreturn u")).script())
    assert "u/c" in rxe_cli("graph", str(file), "--inside", "all", "--format", "json").stdout
    assert "u/c" in rxe_cli("graph", str(file), "--inside", "inner, main", "--format", "unicode").stdout
    assert "u/c" not in rxe_cli("graph", str(file), "--format", "json").stdout
    wrong = rxe_cli("graph", str(file), "--inside", "nobody")
    assert wrong.exit_code == 2
    assert "it has inner, main" in wrong.stderr
