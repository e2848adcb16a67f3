"""An unused value gets a note, unless its evaluation has an effect."""

from __future__ import annotations

import pytest

import relax_explorer as rxe

HEAD = """
@I.ir_module
class M:
    @R.function
    def f(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return x
    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool"), h: R.Callable):
"""
UNUSED = {
    "an operator": "y = R.exp(x)",
    "a copy": "y = x",
    "a pure packed function": "y = R.call_pure_packed('f', x, sinfo_args=R.Object)",
    "a branch": "if c:\n    y = R.exp(x)\nelse:\n    y = x",
    "inside a branch": "if c:\n    y = R.exp(x)\n    z = x\nelse:\n    z = R.exp(x)\nx = R.exp(z)",
    "a function": "@R.function\ndef y(z: R.Object) -> R.Object:\n    return z",
    "a function that would print": (
        "@R.function(pure=False)\ndef y(z: R.Tensor((2,), 'float32')) -> R.Object:\n    w = R.print(z)\n    return w"
    ),
}
USED = {
    "a name that says so": "_ = R.exp(x)",
    "an effect": "y = R.print(x)",
    "an unknown function": "y = h(x)",
    "a call, which may never end": "y = M.f(x)",
    "an effect in a branch": "if c:\n    _ = R.print(x)\n    y = x\nelse:\n    y = x",
    "an effect in the other branch of a branch": (
        "if c:\n    y = x\nelse:\n    if c:\n        z = x\n    else:\n        _ = h(x)\n        z = x\n    y = z"
    ),
    "a dimension": "y = R.prim_value(3)",
    "a check": "y = R.match_cast(x, R.Tensor((2,), 'float32'))",
}


def notes(body: str) -> list[str]:
    text = HEAD + "".join(f"        {line}\n" for line in [*body.splitlines(), "return x"])
    return [item.message for item in rxe.check(text) if item.code.id == "RX0301"]


@pytest.mark.parametrize("body", UNUSED.values(), ids=UNUSED)
def test_what_nothing_reads_is_told(body: str) -> None:
    assert notes(body) == ["'y' is never used"]


@pytest.mark.parametrize("body", USED.values(), ids=USED)
def test_what_does_something_is_not(body: str) -> None:
    assert notes(body) == []
