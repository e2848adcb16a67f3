"""Every operator documents itself and its source, has examples, and is computed and lowered or states why not."""

from __future__ import annotations

import inspect
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import relax_explorer as rxe
from relax_explorer.core.check import arguments
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ops import FAMILIES, find, get, names, table
from relax_explorer.core.ops.kit import page
from relax_explorer.core.ops.kit.decl import Kind, Op, Parameter
from relax_explorer.ui.cli.main import group
from tests.support.op_examples import read


def of_every(test: Callable[[type[Op]], None]) -> Callable[[], None]:
    """One test that tries every operator. A test for each would take longer than what it does."""

    def tried() -> None:
        for op in table().values():
            try:
                test(op)
            except AssertionError as problem:
                problem.add_note(f"This is about {op.name}.")
                raise

    return tried


# Names of attributes that are counts, and so have a unit.
COUNTED = re.compile(r"strides?|padding|pad_width|dilation|output_padding|pool_size|num_workers")


@of_every
def test_is_documented(op: type[Op]) -> None:
    first = page.sentence(op)
    assert first.endswith("."), f"{first!r} is no sentence"
    assert page.source(op), (
        f"{first!r} does not name what defines it, such as (numpy.add), (ONNX Gemm), (TVM), (Xu et al. 2021)"
    )


@of_every
def test_explains_each_operand_and_attribute(op: type[Op]) -> None:
    assert all(parameter.doc for parameter in op.parameters)
    assert all(page.kind_words(parameter) for parameter in op.parameters)
    assert all(parameter.unit for parameter in op.attributes if COUNTED.fullmatch(parameter.name))
    for parameter in op.parameters:
        assert parameter.default is not None or parameter.is_optional, parameter.name


def test_a_kind_without_words_is_no_kind() -> None:
    for odd in (Parameter("axis", "Axiss", "", False), Parameter("x", "Tensr | None", "", True)):
        assert odd.kind is Kind.UNKNOWN
        with pytest.raises(KeyError):
            page.kind_words(odd)


def test_each_kind_of_an_attribute_is_checked_and_has_its_own_words() -> None:
    for is_operand in (False, True):
        found = [q for op in table().values() for q in op.parameters if q.is_operand is is_operand]
        words = {q.kind: page.kind_words(q).removesuffix(" or None") for q in found}
        assert len(words) == len(set(words.values())), "two kinds in the same words are one kind"
    for op in table().values():
        odd = Attrs([(q.name, object()) for q in op.attributes])
        taken = all(q.kind is Kind.ANY for q in op.attributes)
        assert bool(arguments.problem(op, odd)) != taken


def shown_by_programs(op: type[Op]) -> bool:
    """True if calls involve functions, devices, or any number of values, which examples cannot express."""
    called = any(q.kind in ("Function", "str") and q.required for q in op.operands)
    return called or op.variadic or any(q.kind == "Any" and q.required for q in op.attributes)


def takes_anything(op: type[Op]) -> bool:
    """True if nothing can be varied: the only operand is an object that other operators create."""
    return not op.attributes and [q.kind for q in op.operands] == ["Value"]


@of_every
def test_has_examples(op: type[Op]) -> None:
    if shown_by_programs(op):
        return
    texts = [read(op, text) for text in op.examples]
    assert texts
    shaped = [text for text in texts if any("[" in item or "(" in item for item in text.operands)]
    symbolic = [text for text in shaped if re.search(r"\b[a-z]\b|\?", " ".join(text.operands))]
    assert len({text.text for text in texts}) >= (2 if op.parameters and not takes_anything(op) else 1)
    assert symbolic or not shaped


def test_evaluates_or_says_why_not(operator_parts: dict[str, Counter[str]]) -> None:
    for op in table().values():
        assert (op.evaluate is not None) + op.by_machine + bool(op.no_evaluate) == 1
        by = "evaluated with numpy" if op.evaluate else "run by the machine" if op.by_machine else "not run"
        operator_parts["parts"].update(["declared", by])
        if op.no_evaluate:
            operator_parts["not run"].update([f"{op.name.removeprefix('relax.')}: {op.no_evaluate}"])


def test_is_lowered_or_says_why_not(operator_parts: dict[str, Counter[str]]) -> None:
    for op in table().values():
        assert op.is_lowered() or op.no_legalize
        operator_parts["parts"].update(["lowered" if op.is_lowered() else "not lowered"])
        if op.evaluate is not None and not op.is_lowered():
            operator_parts["evaluated only"].update([f"{op.name.removeprefix('relax.')}: {op.no_legalize}"])


def test_the_parts_are_all_there() -> None:
    ops = list(table().values())
    assert len(ops) >= 230
    assert all(page.inference(op) for op in ops)
    assert sum(op.evaluate is not None or op.by_machine for op in ops) >= len(ops) - 8
    assert sum(op.is_lowered() for op in ops) >= 192


@of_every
def test_optional_operands_come_last(op: type[Op]) -> None:
    required = [operand.required for operand in op.operands]
    assert required == sorted(required, reverse=True)


@of_every
def test_all_about_it_is_data(op: type[Op]) -> None:
    found = json.loads(json.dumps(page.describe(op)))
    assert [item["name"] for item in found["operands"] + found["attributes"]] == [
        *[q.name for q in op.operands],
        *[q.name for q in op.attributes],
    ]
    assert found["signature"].startswith(f"R.{op.name.removeprefix('relax.')}(")
    assert found["inference"]
    assert all(set(item) >= {"name", "type", "doc", "required", "unit"} for item in found["attributes"])
    assert all("default" in item for item in found["attributes"] if not item["required"])
    assert found["evaluation"]["runs"] != bool(found["evaluation"]["reason"])
    assert found["legalization"]["lowered"] != bool(found["legalization"]["reason"])
    assert re.fullmatch(r"relax_explorer/core/ops/\w+/\w+\.py(:\d+)?", found["declared"])


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("nn.conv2d", {"RX0201", "RX0202", "RX0207", "RX0209", "RX0211"}),
        ("concat", {"RX0201", "RX0202", "RX0205", "RX0209"}),
        ("memory.view", {"RX0201", "RX0208", "RX0211"}),
        ("add", {"RX0201", "RX0202", "RX0204"}),
    ],
)
def test_the_errors_of_an_operator_are_found(name: str, codes: set[str]) -> None:
    assert codes <= {code.id for code in page.errors(get(name))}


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("abs", {"RX0201", "RX0212"}),
        ("exp", {"RX0201", "RX0210", "RX0212"}),
        ("sum", {"RX0201", "RX0205", "RX0206", "RX0211", "RX0212"}),
        ("max", {"RX0201", "RX0205", "RX0206", "RX0211", "RX0212", "RX0220"}),
        ("nn.softplus", {"RX0201", "RX0210", "RX0211", "RX0212"}),
    ],
)
def test_errors_of_sister_operators_are_not_an_operator_s_own(name: str, codes: set[str]) -> None:
    assert {code.id for code in page.errors(get(name))} == codes


def test_a_signature_says_where_the_type_of_the_result_is_given() -> None:
    assert get("call_tir").signature() == "R.call_tir(func, args, tir_vars=None, out_ty=…)"
    assert get("call_pure_packed").signature() == "R.call_pure_packed(func, *args, ty_args=…)"
    assert get("add").signature() == "R.add(x1, x2)"


def test_a_page_tells_errors_from_warnings() -> None:
    text = CliRunner().invoke(group, ["explain", "max"]).output
    refused, warned = text.split("A call may get a warning:")
    assert "RX0205" in refused.split("A call may be refused with:")[1]
    assert re.findall(r"RX\d+", warned) == ["RX0220"]
    said = {item["code"]: item["severity"] for item in page.describe(get("max"))["errors"]}
    assert said["RX0205"] == "error"
    assert said["RX0220"] == "warning"


def test_hints_name_operators_that_there_are() -> None:
    builders = {"shape", "str", "dtype", "match_cast", "const", "prim_value", "tuple", "device", "cpu", "cuda", "device_mesh"}  # fmt: skip
    for path in Path(page.__file__).parent.glob("*.py"):
        if path.name == "__init__.py":
            continue
        named = re.findall(r"\bR\.([a-z]\w*(?:\.[a-z]\w*)*)\(", path.read_text(encoding="utf-8"))
        unknown = {name for name in named if find(f"relax.{name}") is None} - builders
        assert not unknown, path.name


def test_each_name_has_one_operator() -> None:
    assert len(names()) == len(set(names()))
    assert all(name.startswith("relax.") for name in names())
    assert len(FAMILIES) == len(set(FAMILIES))


def test_near_names_are_offered() -> None:
    assert find("relax.mattmul") is None
    assert get("matmul") is get("relax.matmul")
    with pytest.raises(KeyError, match=r"did you mean relax\.matmul"):
        get("relax.mattmul")


def test_the_operator_of_the_readme_works() -> None:
    """The example of the page runs as written."""
    text = (Path(__file__).parents[2] / "docs" / "use" / "operators.md").read_text(encoding="utf-8")
    block = next(
        part for part in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "ops.register" in part
    )
    names = {"rxe": rxe}
    try:
        exec(compile(block, "operators.md", "exec", dont_inherit=True), names)
        program = rxe.normalize(names["program"])
        for stage in (program, rxe.apply_pass(program, "LegalizeOps")):
            assert rxe.run(stage, "main", [np.array([1, 2], "float32")]).tolist() == [2, 4]
        assert rxe.check(program) == []
    finally:
        rxe.ops.unregister("my.twice")


@pytest.mark.parametrize(
    ("kind", "is_operand", "phrase"),
    [
        ("int", False, "an integer"),
        ("int | None", False, "an integer or None"),
        ("Axes", False, "an axis or a list of axes"),
        ("IntList", False, "a list of integers"),
        ("int | Ints", False, "an integer, or else a list of integers"),
        ("bool", False, "True or False"),
        ("IndexMap", False, "an index map"),
        ("str", False, "a string"),
        ("Value", True, "any value"),
        ("Tensors", True, "a tuple of tensors"),
    ],
)
def test_a_kind_in_a_sentence_has_its_article(kind: str, is_operand: bool, phrase: str) -> None:
    assert page.kind_phrase(Parameter("q", kind, "", is_operand)) == phrase


@of_every
def test_a_page_says_what_stands_for_an_operand_that_is_left_out(op: type[Op]) -> None:
    silent = [
        q.name
        for q in op.operands
        if page.default_words(q) == "left out"
        and not re.search(r"left out|when|\bif\b|else|not given", q.doc)
    ]
    assert silent == []


def test_the_line_of_an_operator_is_that_of_its_class() -> None:
    """Some classes are made by a function, and have no line."""
    own, found = [op for op in table().values() if op.__module__.startswith("relax_explorer.")], 0
    for op in own[::10]:
        try:
            expected = f":{inspect.getsourcelines(op)[1]}"
            found += 1
        except OSError:
            expected = ""
        assert page.place(op) == f"{op.__module__.replace('.', '/')}.py{expected}"
    assert found > 10
