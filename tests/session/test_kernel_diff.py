"""Printed lines of PrimFuncs know their statements, and differences show changes inside, line by line."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import relax_explorer as rxe
from relax_explorer.core.session.align import diff_modules
from relax_explorer.core.syntax.doc import Line
from relax_explorer.core.syntax.printer import printed_module
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.core.tir.traverse import statements
from relax_explorer.ui.cli.main import group
from relax_explorer.viz import table_diff as shown

OLD = """@I.ir_module
class Module:
    @T.prim_func
    def kernel(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8, 4), "float32")):
        C = T.alloc_buffer((8, 4))
        for i, j in T.grid(8, 4):
            with T.sblock("first"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj])
                T.writes(C[vi, vj])
                C[vi, vj] = A[vi, vj] + T.float32(1.0)
        for i in range(8):
            for j in T.vectorized(4):
                with T.sblock("second"):
                    vi = T.axis.spatial(8, i)
                    vj = T.axis.spatial(4, j)
                    T.where(i < 7)
                    if vi < 3:
                        B[vi, vj] = C[vi, vj]
                    else:
                        B[vi, vj] = T.float32(0.0)
    @R.function
    def main(x: R.Tensor((8, 4), "float32")) -> R.Tensor((8, 4), "float32"):
        cls = Module
        y = R.call_tir(cls.kernel, (x,), out_sinfo=R.Tensor((8, 4), "float32"))
        return y
"""
NEW = OLD.replace("T.float32(1.0)", "T.float32(2.0)").replace("                    T.where(i < 7)\n", "")
EXTRA = NEW.replace(
    "        for i in range(8):\n", "        A[0, 0] = T.float32(3.0)\n        for i in range(8):\n"
)


def test_every_statement_has_its_line() -> None:
    module = rxe.parse(OLD)
    fn = module["kernel"]
    assert isinstance(fn, PrimFunc)
    printed = printed_module(module)
    inner = {loop.body for loop in statements(fn.body) if type(loop) is t.For and type(loop.body) is t.For}
    for node in statements(fn.body):
        number = printed.line_of(node)
        if type(node) is t.BufferStore:
            assert number is not None
            assert f"{node.buffer.name}[" in printed.lines[number].text.split(" = ")[0]
        elif type(node) is t.For and node not in inner:
            assert number is not None
            assert printed.lines[number].text.strip().startswith("for ")
        elif type(node) is t.IfThenElse:
            assert number is not None
            assert printed.lines[number].text.strip() == "if vi < 3:"
        elif type(node) is t.SBlock and node.name != "root":
            assert number is not None
            assert f'T.sblock("{node.name}")' in printed.lines[number].text
            assert sum(line.node is node for line in printed.lines) >= 2
    first = printed.line_of(fn)
    assert first is not None
    assert printed.lines[first].text.strip().startswith("@T.prim_func")
    own = [line for line in printed.lines if line.function == "kernel"]
    assert [line.text for line in own if line.node is None] in ([], ['        # with T.sblock("root"):'])


def rows(old: str, new: str) -> list[tuple[str, str]]:
    diff = diff_modules(rxe.parse(old), rxe.parse(new))
    (fn,) = [fn for fn in diff.functions if fn.status != "same"]
    assert fn.name == "kernel"
    units = [(pair.kind, fn.old[pair.a] if pair.b is None else fn.new[pair.b]) for pair in fn.pairs]  # type: ignore[index]
    return [(kind, unit.text.strip()) for kind, unit in units if isinstance(unit, Line) and kind != "same"]


def test_a_difference_shows_the_statements() -> None:
    assert rows(OLD, NEW) == [
        ("changed", "C[vi, vj] = A[vi, vj] + T.float32(2.0)"),
        ("removed", "T.where(i < 7)"),
    ]
    assert rows(NEW, EXTRA) == [("added", "A[0, 0] = T.float32(3.0)")]


def test_names_make_no_difference() -> None:
    renamed = OLD.replace("vi", "axis").replace("for j", "for inner").replace(", j]", ", inner]")
    assert diff_modules(
        rxe.parse(OLD), rxe.parse(renamed.replace("(4, j)", "(4, inner)").replace("i, j in", "i, inner in"))
    ).is_empty


def test_lines_of_a_difference() -> None:
    found = shown.lines(diff_modules(rxe.parse(OLD), rxe.parse(NEW)), 0)
    text = [f"{line.mark}{line.text.strip()}" for line in found if "unchanged" not in line.text]
    assert text == [
        " @@ kernel changed -1 ~1 @@",
        "-C[vi, vj] = A[vi, vj] + T.float32(1.0)",
        "+C[vi, vj] = A[vi, vj] + T.float32(2.0)",
        "-T.where(i < 7)",
    ]


@pytest.mark.parametrize("count", [20_000])
def test_long_kernels_are_aligned_in_order(count: int) -> None:
    body = "".join(f"        A[{n}] = T.float32({n % 7}.0)\n" for n in range(count // 20))
    head = '@T.prim_func\ndef kernel(A: T.Buffer((20000,), "float32")):\n'
    old = head + body.replace("        ", "    ")
    new = old.replace("A[500] = ", "A[501] = ").replace("A[90] = T.float32(6.0)", "T.evaluate(0)")
    diff = diff_modules(rxe.parse(old), rxe.parse(new))
    assert sum(diff.stat.values()) <= 4


def test_the_command_shows_statements(tmp_path: object) -> None:
    from pathlib import Path

    folder = Path(str(tmp_path))
    (folder / "a.py").write_text(OLD)
    (folder / "b.py").write_text(NEW)
    found = CliRunner().invoke(group, ["diff", str(folder / "a.py"), str(folder / "b.py")])
    assert "T.where(i < 7)" in found.output, found.output
    found = CliRunner().invoke(group, ["diff", str(folder / "a.py"), str(folder / "b.py"), "--style", "json"])
    changes = json.loads(found.output)["changes"]
    assert [change["kind"] for change in changes] == ["changed", "removed"]
    assert changes[1]["a"]["statement"] == "T.where(i < 7)"
