"""An executable's text is read as instructions, and each is linked to the binding of the last Relax stage that it came from."""

from __future__ import annotations

from pathlib import Path

import pytest

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.session.compiled import Links, linked
from relax_explorer.core.syntax.beginnings import is_executable
from relax_explorer.core.syntax.executable import Executable, read_executable

DATA = Path(__file__).parents[1] / "data" / "executables"
NAMES = ["expression", "branch"]


def text(name: str) -> str:
    return (DATA / name).read_text(encoding="utf-8")


def executable(name: str) -> Executable:
    return read_executable(text(f"{name}.txt"), f"{name}.txt")


def links(of: Executable, name: str) -> Links:
    return linked(of, rxe.load(DATA / f"{name}_last_stage.py"))


def bound(place: object) -> str:
    """The name of the variable of a binding; `return` for the result of a sequence."""
    return (
        "return"
        if isinstance(place, e.SeqExpr)
        else place.var.name
        if isinstance(place, e.VarBinding)
        else "?"
    )


@pytest.mark.parametrize("name", NAMES)
def test_both_forms_are_the_same_instructions(name: str) -> None:
    one, other = executable(name), read_executable(text(f"{name}.py.txt"))
    assert is_executable(text(f"{name}.txt"))
    assert is_executable(text(f"{name}.py.txt"))
    assert list(one.functions) == list(other.functions)
    for key, function in one.functions.items():
        assert list(map(str, function.instructions)) == list(map(str, other.functions[key].instructions))
        assert function.inputs is None
        assert other.functions[key].inputs is not None


def test_instructions_say_what_they_do() -> None:
    main = executable("branch").functions["main"]
    assert [str(item) for item in main.instructions[3:8]] == [
        "%2 = vm.builtin.read_if_cond(%0)", "if %2 else goto 8", "%3 = my.a(%1)", "%4 = vm.builtin.copy(%3)", "goto 12",
    ]  # fmt: skip
    assert str(main.instructions[13]) == "%8 = my.f(%4, c[4], i-3, c[2])"
    assert main.registers == 13
    assert executable("branch").externals[0] == "vm.builtin.check_tensor_info"


@pytest.mark.parametrize("name", NAMES)
def test_every_instruction_has_its_binding(name: str) -> None:
    of = executable(name)
    found = links(of, name)
    assert all(place is not None for places in found.places.values() for place in places)


def test_branches_and_tuples_in_place_belong_to_their_bindings() -> None:
    found = links(executable("branch"), "branch")
    names = [bound(place) for place in found.places["main"]]
    assert names[3:] == [
        "y", "y", "y_then", "y", "y", "z", "y_else", "_", "y", "w", "g", "gv", "h", "h", "return", "return",
    ]  # fmt: skip
    binding = found.place("main", 15)
    assert binding is not None
    assert found.of(binding) == [("main", 15), ("main", 16)]


def test_an_instruction_too_many_and_a_binding_without_one_part_nothing() -> None:
    lines = text("branch.txt").split("\n")
    extra = "  call  my.profile       in: %0           dst: %void"
    of = read_executable(
        "\n".join([*lines[:9], extra, *lines[9:14], *lines[15:]]).replace("goto  5", "goto  6")
    )
    found = links(of, "branch")
    places = found.places["main"]
    assert places[8] is None
    assert bound(places[9]) == "z"
    assert bound(places[-1]) == "return"
    assert [bound(place) for place in places].count("?") == 1


def test_another_module_links_nothing() -> None:
    found = linked(executable("branch"), rxe.load(DATA / "expression_last_stage.py"))
    assert found.places["other"] == (None, None)
    assert found.place("nothing", 0) is None


def test_an_older_second_function_is_found_by_its_symbol() -> None:
    module = rxe.parse(
        "@I.ir_module\nclass Module:\n    @R.function(pure=False)\n    def f(x: R.Object) -> R.Object:\n"
        '        R.func_attr({"global_symbol": "main"})\n        return x\n'
    )
    found = linked(read_executable("@main:\n  ret   %0\n"), module)
    assert bound(found.place("main", 0)) == "return"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("@main:\n  call  f in: %0 dst: %1\n  jump 3\n", 3),
        ("@main:\n  ret   %0\n@main:\n  ret   %0\n", 3),
        ("@main:\n  call  f in: %x dst: %1\n  ret %0\n", 2),
        ("@main:\n  goto  7\n  ret %0\n", 2),
        ("@main:\n  If    %0, -3\n  ret %0\n", 2),
        ("@main:\n  ret   %0\n\n@other:\n\n@third:\n  ret %0\n", 6),
        ("  ret   %0\n", 1),
        ("", 1),
        ('ib = rx.Builder()\nwith ib.function("main", num_inputs=1):\n    __import__("os").remove("x")\n', 3),
        ('ib = rx.Builder()\nwith ib.function("main", num_inputs=1):\n    ib.emit_ret(ib.r(open("x")))\n', 3),
    ],
)  # fmt: skip
def test_a_line_that_is_none_is_named(text: str, line: int) -> None:
    with pytest.raises(rxe.ParseError) as caught:
        read_executable(text)
    (problem,) = caught.value.diagnostics
    assert problem.code.id == "RX0033"
    assert problem.span is not None
    assert problem.span.line == line


def test_a_long_text_takes_time_in_its_length() -> None:
    lines = "  call  f in: %0, i1, c[2] dst: %1\n" * 50_000
    assert len(read_executable(f"@main:\n{lines}  ret   %1\n").functions["main"].instructions) == 50_001
    with pytest.raises(rxe.ParseError):
        read_executable("@main:\n  call  f in:" + " " * 1_000_000 + "x\n")


def test_other_texts_are_no_executables() -> None:
    assert not is_executable("@R.function\ndef main(x: R.Object):\n    return x\n")
    assert not is_executable("@main: something\n  else\n")


def test_the_text_of_an_executable_is_no_module() -> None:
    with pytest.raises(rxe.ParseError) as caught:
        rxe.load(DATA / "branch.txt")
    (problem,) = caught.value.diagnostics
    assert problem.code.id == "RX0008"
    assert "executable" in problem.message
