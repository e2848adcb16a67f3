"""Names in half typed and whole programs: what is the same, where it is defined, and that a new name changes nothing else."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.facts import facts
from relax_explorer.core.program.equal import structural_equal
from relax_explorer.ui.editor.document import Document, with_edits
from relax_explorer.ui.editor.occurrences import FUNCTION, KERNEL, LENGTH, MODULE, occurrences
from relax_explorer.ui.editor.regions import Region
from relax_explorer.ui.editor.renaming import NotRenamed, renamed
from tests.lsp.documents import FILES, PROGRAM, PYTHON, of_file, opened, place, program


def lines_of(region: Region, text: str, skip: int = 0) -> list[int]:
    """The lines of all that is the same as the name at a text; the line of the definition is negative."""
    item = region.names.at(place(region, text, skip))
    assert item is not None
    first = region.document.text.count("\n", 0, region.document.text.index("@I.ir_module"))
    found = [other.range.start.line - first for other in region.names.of(item)]
    marks = [other.is_definition for other in region.names.of(item)]
    return [-line if mark else line for line, mark in zip(found, marks, strict=True)]


@pytest.mark.parametrize(
    ("text", "skip", "lines"),
    [
        ("y = R.matmul", 0, [-15, 16, 18]),
        ("z = R.nn", 0, [-16, 18, 20]),
        ("r = R.add", 0, [-18, -20, 21]),  # both branches bind it
        ("r = R.nn", 0, [-18, -20, 21]),
        ("lv = R.call_tir", 0, [-21, 22]),  # it is bound again
        ("lv = R.exp", 0, [-22, 23]),
        ("x: R.Tensor", 0, [-13, 15]),
        ('n", 16', 0, [-13, -14, 21]),  # in a text, as a declaration, and in a shape
        ("n = T.int64()", 0, [-4, 5, 6, 7]),  # that of the kernel
        ("n = T.int64()", 1, [-13, -14, 21]),
        ("double(a", 0, [-3, 21]),
        ("double, (r", 0, [-3, 21]),
        ("v_i, v_j] =", 0, [-9, 10, 10]),
        ("i, j in", 0, [-7, 9]),
        ("A = T.match", 0, [-5, 10]),
        ("c: R.Tensor", 0, [-13, 17]),
    ],
)  # fmt: skip
def test_what_is_the_same(text: str, skip: int, lines: list[int]) -> None:
    assert lines_of(program(), text, skip) == lines


@pytest.mark.parametrize(
    "text",
    ["label =", "x = np", "flag)", 'y = "R.matmul', "matmul(x, w)\n", "softmax", "T.int64", "out_sinfo"],
)
def test_what_is_no_name_of_the_program(text: str) -> None:
    (region,) = opened(PYTHON).regions
    assert region.names.at(place(region, text)) is None or not region.names.definition(
        region.names.at(place(region, text))  # type: ignore[arg-type]  # it is one
    )


def test_the_keyword_of_a_call_is_no_variable() -> None:
    region = program(
        PROGRAM.replace(
            "y = R.matmul(x, w)\n", "axis = R.matmul(x, w)\n        y = R.nn.softmax(axis, axis=-1)\n"
        )
    )
    assert lines_of(region, "axis = ") == [-15, 16]
    assert region.names.at(place(region, "axis=-1")) is None


def test_a_function_inside_has_names_of_its_own() -> None:
    region = program(
        PROGRAM.replace(
            "        lv = R.exp(lv)\n",
            "        @R.function\n        def inner(q: R.Tensor((n, 8))):\n            y = R.add(q, z)\n            return y\n\n"
            "        lv = inner(lv)\n        t = R.add(y, y)\n",
        )
    )
    assert lines_of(region, "y = R.matmul") == [-15, 16, 18, 28, 28]
    assert lines_of(region, "y = R.add(q") == [-24, 25]
    assert lines_of(region, "inner(q") == [-23, 27]
    assert lines_of(region, "z = R.nn") == [-16, 18, 20, 24]


@pytest.mark.parametrize("cut", range(0, len(PROGRAM), 7))
def test_a_text_that_ends_anywhere_has_names(cut: int) -> None:
    """Of each name that stood before the cut, at least its definition is found."""
    document = Document("model.py", PROGRAM[:cut])
    found = occurrences(document, range(len(document.starts)))
    whole = program().names
    starts = {item.range for item in found.items if item.is_definition}
    end = document.position(cut)
    missing = [
        item
        for item in whole.items
        if item.is_definition and item.range.end < end and item.range.start.line < end.line and item.range not in starts
    ]  # fmt: skip
    assert not [item for item in missing if item.symbol.kind not in (LENGTH, FUNCTION, KERNEL, MODULE)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_readers_are_those_of_the_module(path: Path) -> None:
    """The uses in the text are the readers that def-use finds in the module."""
    asked = 0
    for region in of_file(path).regions:
        for fn in region.module.relax_functions.values() if region.module is not None else ():
            uses = facts(fn)
            for definition in region.definitions.values():
                if definition.var not in uses.defs or region.names.at(definition.place.start) is None:
                    continue
                item = region.names.at(definition.place.start)
                assert item is not None
                lines = {
                    _line(uses.bindings[n]) for n in uses.users(definition.var) if n < len(uses.bindings)
                } - {None}
                seen = {
                    other.range.start.line + 1 for other in region.names.of(item) if not other.is_definition
                }
                assert lines <= seen, (path, definition.var.name)
                asked += 1
    assert asked > 0


def _line(binding: e.Binding) -> int | None:
    return None if binding.span is None or type(binding.value) in (e.If, e.Function) else binding.span.line


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_new_name_changes_nothing_else(path: Path) -> None:
    """Variables and lengths with other names make the same module; each name is tried once in short files, some in long ones."""
    checked = of_file(path)
    for region in checked.regions:
        symbols = [
            symbol for symbol in region.names.by_symbol if symbol.kind not in (FUNCTION, KERNEL, MODULE)
        ]
        for symbol in random.Random(path.name).sample(symbols, min(len(symbols), 12)):
            if symbol.name == "_":
                continue
            start = region.names.by_symbol[symbol][0].range.start
            document = with_edits(checked.document, renamed(region, start, "brand_new"))
            after = opened(document.text, str(path))
            (other,) = [item for item in after.regions if item.lines == region.lines]
            assert len(other.problems) == len(region.problems), (symbol, other.problems)
            assert other.module is not None
            assert region.module is not None
            assert structural_equal(other.module, region.module), symbol


@pytest.mark.parametrize(
    ("text", "name", "reason"),
    [
        ("y = R.matmul", "z", "'z' is a variable here already"),
        ("y = R.matmul", "x", "'x' is a parameter here already"),
        ("y = R.matmul", "n", "'n' is a shape variable here already"),
        ("y = R.matmul", "double", "'double' is a kernel here already"),
        ("y = R.matmul", "Module", "'Module' has a meaning in TVMScript"),
        ("y = R.matmul", "class", "'class' is a keyword of Python"),
        ("y = R.matmul", "R", "'R' has a meaning in TVMScript"),
        ("y = R.matmul", "1y", "'1y' is not a name"),
        ("y = R.matmul", "", "'' is not a name"),
        ("y = R.matmul", "a b", "'a b' is not a name"),
        ("double(a", "main", "'main' is a function here already"),
        ("double(a", "y", "'y' is a variable here already"),
        ("matmul(x", "y", "no variable, function, kernel or shape variable stands here"),
        ("# nothing", "y", "no variable, function, kernel or shape variable stands here"),
    ],
)
def test_a_name_that_is_not_free_is_refused(text: str, name: str, reason: str) -> None:
    region = program(PROGRAM.replace("        return lv\n", "        # nothing\n        return lv\n"))
    with pytest.raises(NotRenamed, match=reason):
        renamed(region, place(region, text), name)


@pytest.mark.parametrize("name", ["y", "A", "brand_new", "größe"])
def test_a_name_that_is_free_where_it_is_seen(name: str) -> None:
    """`A` is a name of the kernel alone; a name may stay as it is."""
    region = program()
    edits = renamed(region, place(region, "y = R.matmul"), name)
    assert [edit.text for edit in edits] == [name] * 3


def test_other_regions_and_python_keep_their_names() -> None:
    (first, second) = opened(PYTHON + "\n\n" + PROGRAM).regions
    edits = renamed(first, place(first, "y = R.matmul"), "brand_new")
    assert {edit.range.start.line in first.lines for edit in edits} == {True}
    assert second.lines.start > first.lines.stop
