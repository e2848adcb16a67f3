"""Which functions of a module overwrite memory: an operator that never does is looked up once, not at each call."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core.check import effects as place
from relax_explorer.core.check.effects import Effects
from relax_explorer.core.ops import find
from relax_explorer.core.ops.kit.decl import Op

TENSOR = 'R.Tensor((4,), "float32")'
APPEND = 'R.call_pure_packed("vm.builtin.attention_kv_cache_append", c, x, ty_args=[R.Object])'
LINES = {
    "R.exp(x)": False,
    "R.concat((x, x))": False,
    'R.call_pure_packed("my.read", c, x, ty_args=[R.Object])': False,
    APPEND: True,
    'R.call_packed("my.write", x, ty_args=[R.Object])': True,
    "R.memory.kill_tensor(x)": True,
}


def _effects(*lines: str) -> Effects:
    body = "".join([f"    y{n} = {line}\n" for n, line in enumerate(lines)])
    head = f"@R.function(pure=False)\ndef main(x: {TENSOR}, c: R.Object):\n"
    return Effects(rxe.normalize(rxe.parse(f"{head}{body}    return x")))


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("before", ["R.exp(x)", 'R.call_pure_packed("my.read", c, x, ty_args=[R.Object])'])
def test_one_writing_call_is_enough(line: str, before: str) -> None:
    assert _effects(before, before, line, before).mutable is LINES[line]


def test_an_operator_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found = list[str]()

    def counted(name: str) -> type[Op] | None:
        found.append(name)
        return find(name)

    monkeypatch.setattr(place, "find", counted)
    assert not _effects(*["R.exp(x)", "R.add(x, x)"] * 20).mutable
    assert found == ["relax.exp", "relax.add"]
