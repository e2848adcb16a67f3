"""Programs in both notations run and are debugged as Relax, with their places in the notation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import relax_explorer as rxe
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.relations.inference import infer_relay
from relax_explorer.core.session.foreign_notations import of_contracts, of_relations
from relax_explorer.core.syntax.load import read_text
from relax_explorer.ui.cli.main import group

SAMPLES = Path(__file__).parent.parent.parent / "samples"
SHAPES = """@twice = fn(c : Size, x : Tensor([c, n], int8)) : Tensor([c, n], int8) {
  let y = @add(x, x);
  @add(y, y)
}
let x : Tensor([4, k], int8) = ..;
let z : Tensor([4, j], int8) = @twice(4, x);
assert z.dim(1) == 7;
"""
HEAD = "def @f(%a : Tensor[(n, 3), float32], %c : Tensor[(), bool]) {\n"


def lines(module: rxe.IRModule, args: list[object]) -> list[int]:
    """The line of each step."""
    debugger, found = Debugger(module, "main", args), []
    while not debugger.done:
        event = debugger.step()
        if event.binding is not None and event.kind == "bind":
            assert event.binding.span is not None
            found.append(event.binding.span.line)
    return found


def ran(text: str, *args: object, function: str = "main") -> object:
    return rxe.run(of_relations(text), function, list(args))


def test_a_program_with_contracts_steps_through_its_own_lines() -> None:
    module = of_contracts(SHAPES, "a.shapes")
    assert sorted(set(lines(module, [np.ones((4, 7), "int8")]))) == [1, 2, 3, 5, 6, 7]
    for shape in ((5, 7), (4, 8)):  # the contract of twice, the assertion
        with pytest.raises(rxe.Failure) as caught:
            rxe.run(module, "main", [np.ones(shape, "int8")])
        (problem, *_) = caught.value.diagnostics
        assert problem.span is not None
        assert (problem.span.source.filename, problem.span.line) == ("a.shapes", 5 if shape == (5, 7) else 7)


def test_a_length_that_relax_does_not_know_is_refused_where_it_stands() -> None:
    with pytest.raises(rxe.Failure) as caught:
        of_contracts(SHAPES.replace("z : Tensor([4, j], int8)", "z"))
    assert [(item.code.id, item.span.line) for item in caught.value.diagnostics if item.span] == [
        ("RX0601", 7)
    ]
    with pytest.raises(rxe.Failure, match="RX0611"):
        of_contracts(SHAPES.replace("@twice(4,", "@twice(5,"))


def test_the_samples_of_relay_run() -> None:
    shapes = {"layer": (8, 32), "waiting": (3, 4)}
    for path in sorted((SAMPLES / "relations").glob("*.relay")):
        module = of_relations(read_text(path), str(path))
        assert not [item for item in rxe.check(module) if item.is_error]
        assert rxe.run(module, "main", []).shape == shapes[path.stem]
    text = read_text(SAMPLES / "relations" / "waiting.relay")
    assert lines(of_relations(text), []) == [9, 10, 4, 5, 6]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if (%c) { let %b = add(%a, %a); relu(%b) } else { let %b = negative(%a); %b }", None),
        ("let %t = (%a, exp(%a)); %t.1", lambda a: np.exp(a)),
        ("sum(%a, axis=1, keepdims=1)", lambda a: a.sum(1, keepdims=True)),
        ("mean(%a)", lambda a: a.mean()),
        ("concatenate((%a, %a), axis=1)", lambda a: np.concatenate((a, a), 1)),
        ("reshape(%a, newshape=[-1])", lambda a: a.reshape(-1)),
        ("transpose(%a)", lambda a: a.T),
        ("flatten(%a)", lambda a: a.reshape(len(a), -1)),
        ("nn.softmax(%a, axis=1)", lambda a: np.exp(a) / np.exp(a).sum(1, keepdims=True)),
        ("shape_of(%a)", lambda a: np.array(a.shape)),
        ("let %a = add(%a, %a); let %a = add(%a, %a); %a", lambda a: a * 4),
        ("copy(%a)", lambda a: a),
        ("maximum(%a, Constant(2, (3,), float32))", lambda a: np.maximum(a, 2)),
    ],
)
def test_operators_of_relay_compute_what_their_types_say(body: str, expected: object) -> None:
    text = f"{HEAD}{body} }}"
    typed = infer_relay(text)
    assert not typed.report.errors
    for rows in (2, 5):  # a second call has other lengths
        a = np.arange(rows * 3, dtype="float32").reshape(rows, 3) / 4
        for flag in (True, False):
            wanted = (a + a if flag else -a) if expected is None else expected(a)  # type: ignore[operator]  # a function
            found = ran(text, a, np.array(flag), function="f")
            np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-5)


@pytest.mark.parametrize(
    ("text", "value"),
    [("7", 7), ("2.5", 2.5), ("True", True), ("False", False), ("Constant(3, (), int8)", 3), ("Constant(0, (2,), float32)", [0, 0])],
)  # fmt: skip
def test_literals_have_their_values(text: str, value: object) -> None:
    assert np.asarray(ran(text)).tolist() == value


@pytest.mark.parametrize(
    "text",
    [
        "def @f(%x) { %x }",
        "let %f = fn(%x : Tensor[(2,), float32]) { %x }; 1",
        "reshape(Constant(1, (2, 3), float32), newshape=[0, 3])",
    ],
)
def test_what_relax_does_not_have_is_refused_at_its_place(text: str) -> None:
    with pytest.raises(rxe.Failure) as caught:
        of_relations(text)
    assert caught.value.diagnostics[0].code.id == "RX0601"
    assert caught.value.diagnostics[0].span is not None


def test_the_command_line_runs_and_debugs_them(tmp_path: Path) -> None:
    (tmp_path / "a.shapes").write_text(SHAPES)
    (tmp_path / "keys").write_text("step\nstep\nwhere\n")
    np.save(tmp_path / "x.npy", np.ones((4, 7), "int8"))
    given = [str(tmp_path / "a.shapes"), "--input", f"x={tmp_path / 'x.npy'}"]
    ran = CliRunner().invoke(group, ["run", *given])
    assert ran.exit_code == 0, ran.output
    debugged = CliRunner().invoke(group, ["debug", *given, "--script", str(tmp_path / "keys")])
    assert "5: let x : Tensor([4, k], int8) = ..;" in debugged.output
    relay = str(SAMPLES / "relations" / "waiting.relay")
    assert (
        "10: @scale" in CliRunner().invoke(group, ["debug", relay, "--script", str(tmp_path / "keys")]).output
    )
