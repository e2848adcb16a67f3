"""What an editor shows of a program: hover, types of bindings, outline, folds, colours, completions, signatures, corrections, passes."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.facts import facts
from relax_explorer.core.program.equal import structural_equal
from relax_explorer.ui.editor import corrections, hover_text, offered, overview
from relax_explorer.ui.editor.applied_passes import applied
from relax_explorer.ui.editor.document import Document, Position, Range, with_edits
from relax_explorer.ui.editor.regions import Region, check
from tests.lsp.documents import FILES, HEAD, MAIN, PROGRAM, PYTHON, RULES, of_file, opened, place, program

SMALL = [path for path in FILES if path.stat().st_size < 60_000]


def hovered(region: Region, text: str, skip: int = 0) -> str:
    found = hover_text.hover(region, place(region, text, skip))
    return "" if found is None else found.text


# -- hover -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "skip", "parts"),
    [
        ("z = R.nn", 0, ["**z** `(n, 8) f32` · n ← x.shape[0] · read by r · 40·n FLOPs", 'R.Tensor((n, 8), dtype="float32")']),
        ("y = R.mat", 0, ["**y** `(n, 8) f32`", "read by z, r", "256·n FLOPs", "matmul makes it: x[0]"]),
        ("r = R.add", 0, ["**r** `(n, 8) f32`"]),
        ("lv = R.exp", 0, ["**lv** `(n, 8) f32`", "read by return"]),
        ("x: R", 0, ["**x** `(n, 16) f32` · n ← x.shape[0] · read by y"]),
        ('n", 16', 0, ["**n** · shape variable `int64` · n ← x.shape[0]"]),
        ("softmax", 0, ["R.nn.softmax(data, axis=-1)", "Attributes:"]),
        ("Tensor((n, 8)", 0, ["R.Tensor"]),
        ("double, (r", 0, ["**double** · kernel", "8·n FLOPs", "double(A: (n, 8) f32, B: (n, 8) f32)"]),
        ("main(", 0, ["**main** · ", "main(x: (n, 16) f32, w: (16, 8) f32, c: () bool) -> (n, 8) f32"]),
        ("Module", 0, ["1 function, 1 kernel"]),
    ],
)  # fmt: skip
def test_hover(text: str, skip: int, parts: list[str]) -> None:
    shown = hovered(program(), text, skip)
    assert all(part in shown for part in parts), shown


def test_hover_tells_which_length_a_shape_variable_is() -> None:
    text = PROGRAM.replace('x: R.Tensor(("n", 16)', 'x: R.Tensor(("n", "k")').replace(
        "w: R.Tensor((16, 8)", "w: R.Tensor((k, 8)"
    )
    region = program(
        text.replace(
            "        n = T.int64()\n        y", "        n = T.int64()\n        k = T.int64()\n        y"
        )
    )
    assert "**x** `(n, k) f32` · n ← x.shape[0] · k ← x.shape[1]" in hovered(region, "x: R.Tensor")
    assert "**k** · shape variable `int64` · k ← x.shape[1]" in hovered(region, "k, 8")


def test_hover_tells_values_of_the_last_run() -> None:
    region = program()
    found = hover_text.hover(region, place(region, "y = R.mat"), {"main.y": "(2, 8) · 0 … 1"})
    assert found is not None
    assert "last run: `(2, 8) · 0 … 1`" in found.text


@pytest.mark.parametrize("text", ["float32", "return lv", "= R.exp", "if c"])
def test_nothing_is_told_of_other_words(text: str) -> None:
    assert hovered(program(), text) == ""


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_variable_has_a_type(path: Path) -> None:
    """Hover tells the StructInfo of each variable that the module has, as inference derived it."""
    for region in of_file(path).regions:
        for item in list(region.definitions.values())[:40]:
            found = hover_text.hover(region, item.place.start)
            assert found is not None
            assert str(item.info) in found.text
            assert found.range == item.place


# -- along the text --------------------------------------------------------------------------------------------------


def test_types_of_bindings() -> None:
    region = program()
    shown = [
        (region.document.line(item.position.line).split()[0], item.text)
        for item in overview.inlays(region, region.lines)
    ]
    assert shown == [(name, ": (n, 8) f32") for name in ("y", "z", "r", "r", "lv", "lv")]
    half = overview.inlays(region, range(region.lines.start, place(region, "z = R").line + 1))
    assert len(half) == 2


def test_types_that_are_written_are_not_shown_again() -> None:
    region = program(PROGRAM.replace("y = R.matmul", 'y: R.Tensor((n, 8), "float32") = R.matmul'))
    assert len(overview.inlays(region, region.lines)) == 5


def test_outline() -> None:
    (module,) = overview.outline(program())
    assert (module.name, module.kind, module.detail) == ("Module", "module", "2 functions")
    assert [(item.name, item.kind) for item in module.inside] == [("double", "kernel"), ("main", "function")]
    names = [(item.name, item.kind, item.detail) for item in module.inside[1].inside]
    assert names[:2] == [("x", "parameter", "(n, 16) f32"), ("n", "shape variable", "")]
    assert ("y", "variable", "(n, 8) f32") in names


def test_folds_and_lenses() -> None:
    region = program()
    heads = [region.document.line(first).strip() for first, _ in overview.folds(region)]
    assert heads[0] == "class Module:"
    assert {"if c:", "else:"} <= set(heads)
    titles = [(lens.title, lens.function) for lens in overview.lenses(region)]
    assert titles == [(title, "main") for title in ("run", "debug", "graph", "passes")]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_colours_and_folds_lie_in_their_program(path: Path) -> None:
    """Colours do not overlap, each is a part of one line, and no fold leaves its program."""
    checked = of_file(path)
    for region in checked.regions:
        tokens = overview.colored_tokens(region)
        assert tokens
        for one, two in pairwise(tokens):
            assert one.range.end <= two.range.start
        assert all(
            token.range.start.line == token.range.end.line and token.range.start.line in region.lines
            for token in tokens
        )
        assert all(checked.document.part(token.range).strip() for token in tokens)
        assert all(first in region.lines and last in region.lines for first, last in overview.folds(region))


def test_colours_say_what_names_stand_for() -> None:
    region = program()
    shown = {
        (region.document.part(token.range), overview.TOKEN_TYPES[token.type], token.modifiers)
        for token in overview.colored_tokens(region)
    }
    wanted = {
        ("Module", "class", 1), ("main", "method", 1), ("x", "parameter", 1), ("x", "parameter", 0), ("n", "typeParameter", 1),
        ("y", "variable", 1), ("y", "variable", 0), ("softmax", "function", 0), ("Tensor", "type", 0), ("double", "method", 0),
    }  # fmt: skip
    assert wanted <= shown


def test_python_around_a_program_has_no_colours_and_no_folds() -> None:
    (region,) = opened(PYTHON).regions
    outside = {token.range.start.line for token in overview.colored_tokens(region)} - set(region.lines)
    assert not outside
    assert "def build" in PYTHON.split("\n")[6]
    assert 6 not in region.lines


# -- completions and signatures --------------------------------------------------------------------------------------


def typed(text: str, before: str = "        return lv\n") -> tuple[Region, Document, Position]:
    """A line that is typed at the end of `main`: its program as it was checked before, its text, and the cursor."""
    region = program()
    at = region.document.text.index(before)
    document = Document("model.py", f"{region.document.text[:at]}        {text}\n{region.document.text[at:]}")
    return region, document, document.position(at + 8 + len(text))


@pytest.mark.parametrize(
    ("text", "wanted", "unwanted"),
    [
        ("q = R.nn.soft", ["nn.softmax", "nn.softplus"], ["matmul"]),
        ("q = R.", ["add", "nn.relu", "Tensor", "match_cast", "call_tir"], ["x", "emit_te"]),
        ("q = R.matmul(x, ", ["w", "y", "out_dtype="], ["c"]),  # y may fit: n may be 16
        ("q = R.matmul(", ["x", "w", "y"], []),
        ("q = R.add(y, ", ["z", "y", "r", "lv"], ["x"]),
        ("q = R.nn.softmax(y, ", ["axis="], ["x"]),
        ("q = R.nn.softmax(y, axis=", [], ["x", "axis="]),
        ("q = R.nn.layer_norm(x, axes=[1], ", ["epsilon="], ["axes="]),
        ("q = cls.", ["double", "main"], ["add", "x"]),
        ("q = Module.", ["double", "main"], ["add"]),
        ("q = ", ["x", "w", "y", "z", "n"], ["q", "A", "v_i"]),
        ('q = R.astype(y, "', ["float16", "int8"], ["x"]),
        ('q = R.astype(y, dtype="fl', ["float16"], ["x"]),
        ('q = R.print(y, format="', [], ["float16", "x"]),
        ("q = 1  # R.", [], ["add"]),
        ("q = y.", [], ["add", "x"]),
        ("q = R.concat((y, ", ["z", "y"], []),
        ("q = R.add(R.nn.relu(", ["z", "y"], ["axis="]),
    ],
)  # fmt: skip
def test_completions(text: str, wanted: list[str], unwanted: list[str]) -> None:
    found = [item.text for item in offered.offers(*typed(text))]
    assert set(wanted) <= set(found)
    assert not set(unwanted) & set(found)


def test_a_completion_replaces_the_word_that_is_typed() -> None:
    region, document, position = typed("q = R.nn.soft")
    item = next(item for item in offered.offers(region, document, position) if item.text == "nn.softmax")
    assert document.part(item.range) == "nn.soft"
    assert (item.kind, item.detail) == ("operator", "R.nn.softmax(data, axis=-1)")
    assert "softmax" in item.page.lower()


def test_every_operator_is_offered_and_is_one() -> None:
    from relax_explorer.core import ops

    found = {item.text for item in offered.offers(*typed("q = R.")) if item.kind == "operator"}
    assert found == {name.removeprefix("relax.") for name in ops.names()}


@pytest.mark.parametrize(
    ("text", "label", "active"),
    [
        ("q = R.matmul(", "R.matmul(x1, x2, out_dtype=None)", "x1"),
        ("q = R.matmul(x, ", "R.matmul(x1, x2, out_dtype=None)", "x2"),
        ("q = R.matmul(x, R.add(w, ", "R.add(x1, x2)", "x2"),
        ("q = R.matmul(x, R.add(w, w), ", "R.matmul(x1, x2, out_dtype=None)", "out_dtype=None"),
        ("q = R.nn.softmax(x, axis=", "R.nn.softmax(data, axis=-1)", "axis=-1"),
        ("q = R.nn.softmax(x, 1, ", "R.nn.softmax(data, axis=-1)", None),
        ("q = R.strided_slice(y, axes=[0, ", None, "axes"),
        ("q = cls.main(x, ", "main(x: (n, 16) f32, w: (16, 8) f32, c: () bool) -> (n, 8) f32", "w: (16, 8) f32"),
        ("q = (x, ", None, None),
        ("q = x", None, None),
    ],
)  # fmt: skip
def test_signatures(text: str, label: str | None, active: str | None) -> None:
    found = offered.signature_at(*typed(text))
    if label is None and active is None:
        assert found is None
        return
    assert found is not None
    assert label is None or found.text == label
    assert (None if found.active is None else found.parameters[found.active][0]) == active
    assert all(name in found.text for name, _ in found.parameters)


@pytest.mark.parametrize("cut", range(0, len(PROGRAM), 11))
def test_any_place_may_be_asked_about(cut: int) -> None:
    """Also where the text ends in the middle of a word, in a text or behind a bracket."""
    region = program()
    document = Document("model.py", PROGRAM[:cut])
    position = document.position(cut)
    offered.offers(region, document, position)
    offered.signature_at(region, document, position)
    hover_text.hover(region, position)
    corrections.actions(region, Range(position, position))


# -- corrections -----------------------------------------------------------------------------------------------------


def chosen(region: Region, text: str, title: str) -> str:
    """The document after the action with a title at a text."""
    at = place(region, text)
    found = [item for item in corrections.actions(region, Range(at, at)) if item.title == title]
    assert found, [item.title for item in corrections.actions(region, Range(at, at))]
    edits = corrections.edits_of(found[0])
    assert isinstance(edits, list), edits
    return with_edits(region.document, edits).text


def test_the_fix_of_the_hint() -> None:
    """Also where the program has a margin, which the parser does not see."""
    wrong = PROGRAM.replace("z = R.nn.softmax(y)", 'z: R.Tensor((9, 8), "float32") = R.nn.softmax(y)')
    for text in (
        wrong,
        "def outer():\n" + "".join(f"    {line}\n" if line else "\n" for line in wrong.split("\n")),
    ):
        (region,) = opened(text).regions
        problem = next(item for item in region.problems if item.edits)
        document = Document("model.py", chosen(region, "z: R.Tensor", problem.help))
        assert len(check(document, RULES).problems) < len(region.problems)


def test_a_fix_of_several_lines_has_the_margin_of_its_place() -> None:
    sub = """    @R.function(private=True)
    def sub(p: R.Tensor((9, 8), "float32")) -> R.Tensor((9, 8), "float32"):
        return p

"""
    wrong = (
        (HEAD + sub + MAIN)
        .replace("z = R.nn.softmax(y)", "z = cls.sub(y)")
        .replace("R.add(z, y)", "R.add(z, z)")
    )
    fixed = []
    for margin in ("", "    "):
        lines = [f"{margin}{line}" if line else "" for line in wrong.split("\n")]
        (region,) = opened("\n".join(["def outer():", *lines])).regions
        problem = next(item for item in region.problems if any("\n" in edit.text for edit in item.edits))
        text = chosen(region, "y)\n", problem.help)
        assert len(opened(text).problems) < len(region.problems)
        fixed.append([line.removeprefix(margin) for line in text.split("\n")])
    assert fixed[0] == fixed[1]


def test_written_types() -> None:
    region = program()
    text = chosen(region, "y = R.mat", "Write the StructInfo of y")
    assert 'y: R.Tensor((n, 8), dtype="float32") = R.matmul(x, w)' in text
    text = chosen(region, "y = R.mat", "Write the StructInfo of all bindings of main")
    assert text.count(': R.Tensor((n, 8), dtype="float32") = ') == 6


@pytest.mark.parametrize("path", SMALL, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_written_programs_are_sound_and_mean_the_same(path: Path) -> None:
    """Types and normal form change nothing, and kernels make no errors."""
    checked = of_file(path)
    if any(item.is_error for item in checked.problems):
        return
    for region in checked.regions:
        lines = [item.place.start for item in region.names.functions if not item.outer]
        lines += [item.place.start for item in list(region.definitions.values())[::7]]
        for at in lines:
            for action in corrections.actions(region, Range(at, at)):
                edits = corrections.edits_of(action)
                if isinstance(edits, Diagnostic):
                    assert "metadata" in edits.message or action.title.startswith("Replace")
                    continue
                assert edits, action.title
                after = opened(with_edits(checked.document, edits).text, str(path))
                assert not [item for item in after.problems if item.is_error], action.title
                if action.title.startswith("Write"):
                    assert len(after.regions) == len(checked.regions)
                    modules = [
                        (one.module, two.module)
                        for one, two in zip(checked.regions, after.regions, strict=True)
                    ]
                    assert all(
                        one is not None and two is not None and structural_equal(one, two)
                        for one, two in modules
                    )


def test_an_operator_becomes_kernels_and_others_stay() -> None:
    region = program()
    text = chosen(region, "R.nn.softmax(y)", "Replace R.nn.softmax by kernels")
    (after,) = opened(text).regions
    assert after.module is not None
    assert not [item for item in after.problems if item.is_error]
    called = {
        binding.value.op.name
        for binding in facts(after.module.relax_functions["main"]).bindings
        if type(binding.value) is e.Call and type(binding.value.op) is e.OpRef
    }
    assert "relax.nn.softmax" not in called
    assert {"relax.matmul", "relax.exp", "relax.nn.relu"} <= called
    assert "def softmax(" in text
    assert "T.match_buffer(a, (n, T.int64(8)))" in text  # the other kernel is as it was written


def test_nothing_is_rewritten_while_there_are_errors_or_outside_of_functions() -> None:
    region = program(PROGRAM.replace("R.exp(lv)", "R.exp(lvv)"))
    at = place(region, "R.matmul")
    assert [
        item.title
        for item in corrections.actions(region, Range(at, at))
        if item.title.startswith(("Replace", "Write main"))
    ] == []
    region = program()
    head = Position(0, 0)
    assert corrections.actions(region, Range(head, head)) == []


# -- passes ----------------------------------------------------------------------------------------------------------


def test_passes_make_two_texts() -> None:
    stages = applied(program(), "LegalizeOps,FuseOps")
    assert "R.matmul(x, w" in stages.before
    assert "R.matmul" not in stages.after
    assert "@@" in stages.difference
    assert "kernel" in stages.sentence
    assert applied(program(), "EliminateCommonSubexpr").sentence == "Nothing changed."


@pytest.mark.parametrize(
    ("text", "pipeline", "message"),
    [
        (PROGRAM, "Legalise", "no pass 'Legalise'; did you mean LegalizeOps?"),
        (PROGRAM, "FuseOps{no=1}", "no"),
        (PROGRAM.replace("R.exp(lv)", "R.exp(lvv)"), "FuseOps", "'lvv' is not defined"),
        (PROGRAM.replace("@R.function", "@R.func"), "FuseOps", "not known"),
    ],
)
def test_passes_that_do_not_run(text: str, pipeline: str, message: str) -> None:
    with pytest.raises(Failure) as failure:
        applied(program(text), pipeline)
    assert message in str(failure.value)


# -- regions ---------------------------------------------------------------------------------------------------------


def test_a_program_that_did_not_change_is_the_same_object() -> None:
    checked = opened(f"{PROGRAM}\n\nN = 3\n\n\n{PROGRAM}")
    document = Document("model.py", checked.document.text.replace("R.exp(lv)", "R.exp(lvv)")[::1])
    text = checked.document.text
    second = text.rindex("R.exp(lv)")
    after = check(Document("model.py", f"{text[:second]}R.abs(lv){text[second + 9 :]}"), RULES, checked)
    assert after.regions[0] is checked.regions[0]
    assert after.regions[1] is not checked.regions[1]
    assert check(document, RULES, checked).regions[0] is not checked.regions[0]
    assert MAIN in text


def test_a_document_without_a_program_has_no_problems() -> None:
    for text in ("", "\n", "import numpy as np\n\n\ndef f(x):\n    return x +\n", "@R.function", "R.add(x)"):
        assert opened(text).problems == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_problems_are_those_of_check(path: Path) -> None:
    """In a file with line ends of Windows and Python around it, at the places of the file."""
    from relax_explorer.ui.cli.checking import check_path

    found = [problem for text in check_path(str(path), "spec", "arithmetic") for problem in text.problems]
    text = path.read_text(encoding="utf-8").replace("\n", "\r\n")
    seen = opened(text, str(path)).problems
    assert [(item.code.id, item.message, str(item.span)) for item in seen] == [
        (item.code.id, item.message, str(item.span)) for item in found
    ]
