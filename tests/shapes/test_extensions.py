"""Relations, operators, shape functions and primitives of a user: by the API, and by a file that the command line names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import relax_explorer as rxe
from relax_explorer.core.exec.packed import _REGISTRY
from relax_explorer.core.relations.inference import infer_relay
from relax_explorer.core.session.foreign_notations import of_relations
from relax_explorer.core.shapes.contract_text import read_contract
from relax_explorer.core.shapes.lower import lower
from relax_explorer.core.shapes.propagate import analyse
from relax_explorer.ui.cli.main import group

CASES = Path(__file__).parent.parent / "data" / "contracts"
FILE = """
import relax_explorer as rxe

@rxe.extensions.relation("Pairs")
def pairs(types, inputs, attrs, solver):
    if not isinstance(types[0], rxe.extensions.TensorType):
        return rxe.extensions.Outcome.UNKNOWN
    rows, *rest = types[0].shape
    return solver.unify(types[1], rxe.extensions.TensorType((rows * 2, *rest), types[0].dtype))

rxe.extensions.operator("pairs", "fn<a, b>(a) -> b where Pairs")

@rxe.extensions.shape_function("pairs")
def pairs_shape(x, times=2):
    if not x:
        raise rxe.extensions.Mismatch("a scalar has no rows")
    return (x[0] * times, *x[1:])

@rxe.extensions.primitive("evens")
def evens(x):
    return x[x % 2 == 0]
"""
RELAY = "def @main(%x : Tensor[(4, 3), float32]) { let %y = pairs(%x); pairs(%y) }\n"
SHAPES = (
    "let x : Tensor([n, 3], int8) = ..; let y = @pairs(@pairs(x)); let z = @pairs(x, times=5); "
    "let e = @evens(<literal [1, 2, 4]>)\n"
)


@pytest.fixture
def own() -> object:
    exec(compile(FILE, "own.py", "exec"), {})
    yield
    rxe.extensions.forget("Pairs"), rxe.extensions.forget("pairs"), rxe.extensions.forget("evens")


def types(text: str) -> dict[str, str]:
    return analyse(*read_contract(text)).types


@pytest.mark.usefixtures("own")
def test_they_are_used_like_ours_until_they_are_forgotten() -> None:
    assert str(infer_relay(RELAY).functions["main"]).endswith("-> Tensor[(16, 3), float32]")
    found = types(SHAPES)
    assert (found["y"], found["z"], found["e"]) == (
        "Tensor([n * 4, 3], int8)",
        "Tensor([n * 5, 3], int8)",
        "Tensor([2], int8)",
    )
    assert "no rows" in str(list(analyse(*read_contract("let s : int8 = ..; let y = @pairs(s)")).report))
    exec(compile(FILE.replace("rows * 2", "rows * 3"), "own.py", "exec"), {})  # a second one takes the place
    assert str(infer_relay(RELAY).functions["main"]).endswith("-> Tensor[(36, 3), float32]")
    for name in ("Pairs", "pairs", "evens"):
        rxe.extensions.forget(name)
    assert [item.code.id for item in infer_relay(RELAY).report] == ["RX0607"] * 2
    assert {item.code.id for item in analyse(*read_contract(SHAPES)).report} == {"RX0607"}


def test_names_of_ours_stay() -> None:
    for register in (rxe.extensions.relation, rxe.extensions.shape_function, rxe.extensions.primitive):
        with pytest.raises(ValueError, match="another name"):
            register("Broadcast" if register is rxe.extensions.relation else "add")
    with pytest.raises(ValueError, match="another name"):
        rxe.extensions.operator("add", "fn<a>(a) -> a")
    with pytest.raises(ValueError, match="no type of a function"):
        rxe.extensions.operator("mine", "Tensor[(2,), float32]")
    for name in ("Broadcast", "add"):
        rxe.extensions.forget(name)
    assert types("let a = @add(<literal [1]>, <literal [2]>)")["a"] == "Tensor([1], int8)"


OWN_CALLS = """def @twice<n : ShapeVar>(%x : Tensor[(n, 3), float32]) { let %y = pairs(%x); exp(pairs(%y)) }
pairs(@twice(Constant(0, (4, 3), float32)), shape=(1, 2), axis=0, kind=float32)
"""


@pytest.mark.usefixtures("own")
def test_an_operator_of_ones_own_runs_as_the_packed_function_of_its_name() -> None:
    module = of_relations(OWN_CALLS)
    with pytest.raises(rxe.Failure, match="no packed function 'pairs'"):
        rxe.run(module, "main")
    given = []
    rxe.packed_function("pairs")(lambda x, *attrs: given.append(attrs) or np.concatenate([x, x]))
    try:
        for lowered in (module, rxe.run_pipeline(rxe.normalize(module), "zero")):
            np.testing.assert_array_equal(rxe.run(lowered, "main"), np.ones((32, 3), "float32"))
        unbound = (
            "def @f(%x : Tensor[(n, 3), float32]) { pairs(%x) }\npairs(@f(Constant(0, (4, 3), float32)))"
        )
        open_one = of_relations(unbound)
        assert rxe.check(rxe.normalize(open_one)) == []  # no parameter of main binds n
        assert rxe.run(open_one, "main").shape == (16, 3)
    finally:
        _REGISTRY.pop("pairs")
    assert [attrs for attrs in given if attrs] == [((1, 2), 0, "float32")] * 2
    assert str(rxe.normalize(module)["main"].body.body.struct_info) == 'R.Tensor((32, 3), dtype="float32")'


@pytest.mark.usefixtures("own")  # which forgets what the file registers
def test_the_command_line_takes_a_file(tmp_path: Path) -> None:
    for name in ("Pairs", "pairs", "evens"):
        rxe.extensions.forget(name)
    for name, text in (("own.py", FILE), ("a.relay", RELAY), ("a.shapes", SHAPES)):
        (tmp_path / name).write_text(text)
    file = str(tmp_path / "own.py")
    for command, name, shown in (
        ("relations", "a.relay", "Tensor[(16, 3), float32]"),
        ("shapes", "a.shapes", "Tensor([n * 4, 3], int8)"),
    ):
        path = str(tmp_path / name)
        assert shown not in CliRunner().invoke(group, [command, path]).output
        found = CliRunner().invoke(group, [command, path, "--packed", file])
        assert (found.exit_code, shown in found.output) == (0, True), found.output
        for known in ("Pairs", "pairs", "evens"):
            rxe.extensions.forget(known)


def test_the_cases_of_arguments_that_are_sizes_shapes_and_element_types() -> None:
    found = {path.stem: analyse(*read_contract(path.read_text())) for path in CASES.glob("*.shapes")}
    told = {name: one.types for name, one in found.items()}
    assert told["SH"]["a"] == told["SH2"]["a"] == told["S01"]["z"] == "Tensor([2, 3], int8)"
    assert (told["SH2"]["s"], told["SH3"]["a"]) == ("Shape", "Tensor([4, 4], float32)")
    assert told["G"]["c"] == "Tensor([2], int8)"
    lines = {name: [item.span.line for item in one.report] for name, one in found.items()}
    assert lines == {"SH": [], "SH2": [], "SH3": [8], "S01": [5, 6], "G": []}


def test_sizes_and_shapes_become_scalars_and_shapes_of_relax() -> None:
    text = (
        "@f = fn(c : Size, d : Shape, x : Tensor([c, n], int8), y : Tensor(d, int8)) : Tensor([c, n], int8) { @add(x, x) }\n"
        "let n : Size = ..; let x : Tensor(?, int8) = ..; let y : Tensor(?, int8) = ..; let z = @f(n, [2, 3], x, y); let w = @f(4, [2, 3], x, y)"
    )
    lowered = lower(*read_contract(text))
    module = rxe.parse(lowered.text)
    for name, function in lowered.packed.items():
        rxe.packed_function(name)(function)
    x, y = np.ones((4, 7), "int8"), np.ones((2, 3), "int8")
    assert rxe.run(module, "main", [4, x, y])[-2].tolist() == [[2] * 7] * 4
    for wrong in ([5, x, y], [4, x, y.T]):
        with pytest.raises(rxe.Failure):
            rxe.run(module, "main", wrong)
    for refused in (
        "@f = fn(t : DType) : Tensor([1], t) { <literal [1]> }",
        "@f = fn(x : Tensor) : Tensor { x }\nlet a = @f([2, 3])",
    ):
        with pytest.raises(rxe.Failure):
            lower(*read_contract(refused))
