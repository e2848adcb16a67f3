"""The parameters of a fused function: how they are named, and that finding them takes time linear in their number."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import relax_explorer as rxe
from relax_explorer.core.passes import fuse_ops
from relax_explorer.core.program.module import IRModule
from tests.support.roundtrip import function

TENSOR = 'R.Tensor((4,), "float32")'


def _annotated(lines: list[str], params: list[str]) -> IRModule:
    """A module with one dataflow block, ready for FuseOps. The last line binds `z`."""
    block = "".join([f"    {line}\n" for line in lines])
    given = ", ".join([f"{name}: {TENSOR}" for name in params])
    module = rxe.normalize(
        rxe.parse(function(f"with R.dataflow():\n{block}    R.output(z)\nreturn z", given))
    )
    return rxe.apply_pass(rxe.apply_pass(module, "LegalizeOps"), "AnnotateTIROpPattern")


@pytest.mark.parametrize(
    ("operands", "names"),
    [
        (["a", "b"], ["x", "a", "b"]),
        (["{1}", "a", "{2}"], ["x", "param_0", "a", "param_1"]),
        (["{1}", "{2}", "{3}"], ["x", "param_0", "param_1", "param_2"]),
        (["param_b", "{1}"], ["x", "param_b", "param_1"]),
        (["a", "a", "{1}"], ["x", "a", "param_0"]),
    ],
)
def test_operands_without_names_are_numbered(operands: list[str], names: list[str]) -> None:
    values = [f"R.const([{o[1]}, 0, 0, 0], 'float32')" if o.startswith("{") else o for o in operands]
    read = ["x", *[f"y{n}" for n in range(len(values) - 1)]]
    lines = [f"y{n} = R.add({read[n]}, {value})" for n, value in enumerate(values)]
    lines[-1] = lines[-1].replace(f"y{len(values) - 1} =", "z =")
    fused = rxe.apply_pass(_annotated(lines, ["x", "a", "b", "param_b"]), "FuseOps")
    (made,) = [fn for fn in fused.relax_functions.values() if fn.attrs.get("Primitive")]
    assert [param.name for param in made.params] == names


class _Looked(list[object]):
    """A list that counts how often something goes through it."""

    times = 0

    def __iter__(self) -> Iterator[object]:
        self.times += 1
        return super().__iter__()


def _looks(count: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often FuseOps goes through the inputs of a group with this many bindings."""
    lines = [f"y{n} = R.add({f'y{n - 1}' if n else 'x'}, p{n})" for n in range(count)]
    module = _annotated([*lines, f"z = R.add(y{count - 1}, x)"], ["x", *[f"p{n}" for n in range(count)]])
    made, group = list[_Looked](), fuse_ops._Group

    def counted(bindings: list[object], names: object) -> object:
        made.append(_Looked())
        return group(bindings, names, inputs=made[-1])  # type: ignore[arg-type]  # a list of inputs

    with monkeypatch.context() as patch:
        patch.setattr(fuse_ops, "_Group", counted)
        rxe.apply_pass(module, "FuseOps")
    (inputs,) = made
    assert len(inputs) == count + 1
    return inputs.times


def test_inputs_are_not_looked_through_for_each_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _looks(40, monkeypatch) == _looks(3, monkeypatch)
