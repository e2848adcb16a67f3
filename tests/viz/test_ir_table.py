"""Stages as tables: the compact notation, folded kernels, and changes in place."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.session.align import diff_modules
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.viz.compact import OpClass, of_operator, op_class
from relax_explorer.viz.ir_table import IrTable
from relax_explorer.viz.table_diff import CONTEXT, TableDiff
from tests.support.roundtrip import DATA

HEAD = """@I.ir_module
class M:
    @T.prim_func
    def k(A: T.Buffer((2,), "float32"), B: T.Buffer((2,), "float32")):
        for i in range(2):
            B[i] = A[i]

    @R.function
    def g(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return x

    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool"), s: R.Shape(["n"])) -> R.Object:
        n = T.int64()
        cls = M
"""


def table(*lines: str) -> IrTable:
    """The rows of `main` with these bindings; the last line is returned."""
    body = "".join(f"        {line}\n" for line in lines)
    return IrTable(Session(rxe.parse(HEAD + body), "").stages[0], "main")


@pytest.mark.parametrize(
    ("source", "text", "info"),
    [
        ("R.add(x, x)", "add(x, x)", "(2,) f32"),
        ("R.add(x, R.const(0.1, 'float32'))", "add(x, 0.1)", "(2,) f32"),
        ("R.nn.softmax(x, axis=-1)", "nn.softmax(x)", "(2,) f32"),
        ("R.nn.softmax(x, axis=0)", "nn.softmax(x, axis=0)", "(2,) f32"),
        ("R.sum(x, axis=None, keepdims=False)", "sum(x)", "() f32"),
        ("R.sum(x, axis=[0], keepdims=True)", "sum(x, axis=[0], keepdims=True)", "(1,) f32"),
        ("R.reshape(x, R.shape([1, 2]))", "reshape(x, [1, 2])", "(1, 2) f32"),
        (
            "R.full(R.shape([n]), R.const(1, 'int32'), dtype='int32')",
            'full([n], 1, dtype="int32")',
            "(n,) i32",
        ),
        ("R.call_tir(cls.k, (x,), out_sinfo=R.Tensor((2,), 'float32'))", "@k(x)", "(2,) f32"),
        (
            "R.call_tir_inplace(cls.k, (x,), out_sinfo=R.Tensor((2,), 'float32'), inplace_indices=[0])",
            "@k(x, inplace_indices=[0])",
            "(2,) f32",
        ),
        ("R.call_dps_packed('f.g', (x,), out_sinfo=R.Tensor((2,), 'float32'))", '"f.g"(x)', "(2,) f32"),
        ("R.call_packed('f.g', x, sinfo_args=(R.Object,))", '"f.g"(x)', "object"),
        ("R.call_pure_packed('f', x, sinfo_args=(R.Object,))", 'pure "f"(x)', "object"),
        ("cls.g(x)", "@g(x)", "(2,) f32"),
        ("(x, (c, x))", "(x, (c, x))", "((2,) f32, ((…"),
        ("R.match_cast(x, R.Tensor((n,), 'float32'))", "match_cast(x, (n,) f32)", "(n,) f32"),
        ("R.str('a \"b\"')", '"a \\"b\\""', "object"),
        ("R.prim_value(n * 2)", "n * 2", "int64 n * 2"),
    ],
)
def test_the_compact_notation(source: str, text: str, info: str) -> None:
    row = next(row for row in table(f"y = {source}", "return y") if row.kind == "binding")
    assert row.text == f" 1 y = {text}"
    assert row.right == info or info.endswith("…")


def test_branches_and_nested_functions_are_barred() -> None:
    rows = table(
        "@R.function",
        "def f(z: R.Object):",
        "    w = z",
        "    return w",
        "if c:",
        "    a = R.exp(x)",
        "    y = a",
        "else:",
        "    y = x",
        "with R.dataflow():",
        "    longer = R.exp(y)",
        "    gv = longer",
        "    R.output(gv)",
        "return gv",
    )
    assert [row.text for row in rows] == [
        "main(x: (2,) f32, c: () bool, s: shape (n,)) impure",
        " 1 f      = function(z: object)",
        " 2 │ w      = z",
        "   │ return w",
        " 3 y      = if c",
        " 4 │ a      = exp(x)",
        "   │ → a",
        "   else",
        "   │ → x",
        "   dataflow",
        " 5 longer = exp(y)",
        " 6 gv     = longer",
        "   return gv",
    ]
    assert rows[0].right == "→ object"
    numbers = {id(place.node): n for n, place in enumerate(rows.places) if place.kind == "binding"}
    main = rows.stage.module.functions["main"]
    assert isinstance(main, e.Function)
    assert [rows.row_of[id(item)] for item in bindings(main)] == sorted(numbers.values())


def test_deep_calls_are_cut_and_long_lists_counted() -> None:
    deep = "x"
    for _ in range(40):
        deep = f"R.exp({deep})"
    rows = table(f"y = {deep}", f"z = ({', '.join(['x'] * 300)})", "return z")
    found = [row.text for row in rows if row.kind == "binding"]
    assert all(len(text) < 1000 for text in found)
    assert any("… 200 more" in text for text in found)


def test_kernels_fold_and_stand_behind_functions() -> None:
    stage = Session(rxe.parse(HEAD + "        return x\n"), "").stages[0]
    folded = IrTable(stage)
    assert [row.text for row in folded] == [
        "g(x: (2,) f32)",
        "   return x",
        "",
        "main(x: (2,) f32, c: () bool, s: shape (n,)) impure",
        "   return x",
        "",
        "@k(A: (2,) f32, B: (2,) f32)",
    ]
    opened = IrTable(stage, opened={"k"})
    assert len(opened) > len(folded)
    assert opened[len(opened) - 1].text.strip() == "B[i] = A[i]"
    assert len(IrTable(stage, "k", None)) == len(opened) - len(folded) + 1


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("relax.matmul", OpClass.MATMUL), ("relax.nn.conv2d", OpClass.MATMUL), ("relax.nn.attention", OpClass.MATMUL),
        ("relax.add", OpClass.ELEMENTWISE), ("relax.nn.silu", OpClass.ELEMENTWISE), ("relax.sum", OpClass.REDUCE),
        ("relax.nn.softmax", OpClass.REDUCE), ("relax.nn.max_pool2d", OpClass.REDUCE), ("relax.reshape", OpClass.SHAPE),
        ("relax.call_tir", OpClass.CALL), ("relax.invoke_closure", OpClass.CALL), ("relax.memory.alloc_storage", OpClass.MEMORY),
        ("relax.vm.kill_object", OpClass.MEMORY), ("relax.print", OpClass.EFFECT), ("relax.call_pure_packed", OpClass.EFFECT),
        ("relax.sort", OpClass.OTHER), ("relax.no_such_operator", OpClass.OTHER),
    ],
)  # fmt: skip
def test_classes_of_operators(name: str, kind: OpClass) -> None:
    assert of_operator(name) is kind
    assert kind.doc


def test_classes_of_other_expressions() -> None:
    rows = table(
        "t = (x, x)",
        "a = t[0]",
        "b = cls.g(x)",
        "d = R.call_packed('vm.builtin.alloc_shape_heap', x)",
        "return b",
    )
    kinds = [op_class(row.node.value) for row in rows if isinstance(row.node, e.VarBinding)]
    assert kinds == [OpClass.SHAPE, OpClass.SHAPE, OpClass.CALL, OpClass.MEMORY]


# -- changes --------------------------------------------------------------------------------------------------------


def changed(session: Session, number: int, only: bool = False) -> TableDiff:
    """A stage with its changes."""
    old, new = session.stages[number - 1], session.stages[number]
    diff = session.diff(number - 1, number)
    names = {fn.name for fn in diff.functions if fn.status == "changed"}
    return TableDiff(IrTable(old, opened=names), IrTable(new, opened=names), diff, CONTEXT if only else None)


def test_removed_rows_stand_in_place_and_changed_pieces_are_marked() -> None:
    text = '@R.function\ndef main(x: R.Tensor((2,), "float32")):\n    same = x\n    a = R.exp(same)\n    b = R.exp(x)\n    return (a, b)\n'
    session = Session(rxe.parse(text), "CanonicalizeBindings")
    session.run_all()
    shown = changed(session, 1)
    assert [(row.mark, row.text) for row in shown] == [
        (" ", "main(x: (2,) f32)"),
        ("-", "   same = x"),
        ("~", " 1 a = exp(same→x)"),
        (" ", " 2 b = exp(x)"),
        (" ", "   return (a, b)"),
    ]
    assert ("new", "x") in shown[2].pieces
    assert shown.changes() == [1]
    assert [shown.row_of(n) for n in range(4)] == [0, 2, 3, 4]
    only = changed(session, 1, True)
    assert [row.text for row in only] == [row.text for row in shown]


def test_removed_rows_stand_in_the_columns_of_the_new_stage() -> None:
    from relax_explorer.core.session.align import diff_modules

    old = table("y = R.exp(x)", "z = R.sin(x)", "return z")
    new = table("a_longer_name = R.sin(x)", "return a_longer_name")
    shown = TableDiff(old, new, diff_modules(old.stage.module, new.stage.module))
    assert [row.text for row in shown if row.kind == "binding"] == [
        "   y             = exp(x)",
        " 1 a_longer_name = sin(x)",
    ]


def test_only_changes_counts_what_it_leaves_out() -> None:
    session = Session(rxe.load(DATA / "llama" / "00_input.py"), "CanonicalizeBindings")
    session.run_all()
    texts = [row.text for row in changed(session, 1, True)]
    assert texts[0] == "… 73 unchanged"
    assert len(texts) < 10


def test_a_change_of_kind_is_not_one_of_type() -> None:
    session = Session(rxe.load(DATA / "llama" / "00_input.py"), "ToNonDataflow")
    session.run_all()
    shown = changed(session, 1)
    assert {row.mark for row in shown} == {" ", "k"}
    assert session.diff(0, 1).stat["type"] == 0


def test_added_and_removed_functions_and_changed_kernels() -> None:
    body = "        y = R.call_tir(cls.k, (x,), out_sinfo=R.Tensor((2,), 'float32'))\n        return y\n"
    old = Session(rxe.parse(HEAD + body), "").stages[0]
    new_text = (HEAD + body).replace("B[i] = A[i]", "B[i] = A[i] + A[i]").replace("def g(", "def h(")
    new = Session(rxe.parse(new_text), "").stages[0]
    from relax_explorer.core.session.align import diff_modules

    shown = TableDiff(
        IrTable(old, opened={"k"}), IrTable(new, opened={"k"}), diff_modules(old.module, new.module)
    )
    marked = [(row.mark, row.text.strip()) for row in shown if row.mark != " "]
    assert ("+", "h(x: (2,) f32)") in marked
    assert ("-", "g(x: (2,) f32)") in marked
    assert any(glyph == "~" and "A[i] + A[i]" in text for glyph, text in marked)


def test_all_stages_of_a_real_build_show_their_changes() -> None:
    session = Session.open(DATA / "llama" / "00_input.py", "default")
    for stage in session.stages[1:]:
        shown = changed(session, stage.number)
        assert bool(shown.changes()) == stage.changed
        news = [row for row in shown if row.mark != "-"]
        assert [(row.kind, row.node) for row in news] == [
            (place.kind, place.node) for place in shown.new.places
        ]


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        (
            '"float32"',
            '"int32"',
            ['def k(a: T.Buffer((n,), "float32"→"int32"), b: T.Buffer((n,), "int32")):'],
        ),
        ("T.float32(1)", "T.float32(2)", ["b[i] = T.float32(1.0→2.0)"]),
    ],
)
def test_a_changed_signature_shows_although_its_lengths_are_declared_alike(
    old: str, new: str, changed: list[str]
) -> None:
    """A difference declares the lengths of a kernel below its head; the row of the head has them, too."""
    text = """
n = TypeVar("n")
@I.ir_module
class Module:
    @T.prim_func
    def k(a: T.Buffer((n,), "float32"), b: T.Buffer((n,), "int32")):
        for i in range(n):
            b[i] = T.float32(1)
"""
    modules = [rxe.parse(text), rxe.parse(text.replace(old, new, 1))]
    tables = [
        IrTable(Snapshot(number, "a pass", module, True, ()), opened={"k"})
        for number, module in enumerate(modules)
    ]
    found = TableDiff(*tables, diff_modules(*modules))
    assert [found[n].text.strip() for n in range(len(found)) if found.kind(n) == "changed"] == changed
