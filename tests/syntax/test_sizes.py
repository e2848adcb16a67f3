"""Time and size: programs that double with each binding, and thousands of equal mistakes, are parsed and checked at once."""

from __future__ import annotations

import pytest

import relax_explorer as rxe

HEAD = '@R.function\ndef main(x: R.Tensor(("n", "m"), "float32"), k: T.int64):\n'


def _chain(first: str, rule: str, count: int = 30) -> str:
    lines = "".join([f"    t{n} = {rule.format(f't{n - 1}')}\n" for n in range(1, count)])
    return f"{HEAD}    t0 = {first}\n{lines}    return x\n"


GROWING = {
    "a tuple of tuples": (_chain("(x, x)", "({0}, {0})"), "RX0221"),
    "a product of products": (_chain("R.flatten(x)", "R.flatten(R.outer({0}, {0}))"), "RX0221"),
    "a sum of sums": (_chain("R.flatten(x)", "R.concat(({0}, {0}), axis=0)"), ""),
    "tuples inside a tuple, as many as Python reads": (_chain("(x,)", "({0},)", 190), ""),
    "tuples inside a tuple, one more": (_chain("(x,)", "({0},)", 191), "RX0221"),
    "tuples inside a tuple, deeper than the stack": (_chain("(x,)", "({0},)", 380), "RX0221"),
    "a result of tuples inside a tuple": (
        _chain("(x,)", "({0},)", 380).replace("return x", "return t379"),
        "RX0221",
    ),
    "tuples inside tuples": (f"{HEAD}    return {'(' * 60}x{',)' * 60}\n", ""),
    "a result larger than the argument": (
        '@R.function\ndef f(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n * n + n",), "float32"):\n    return R.zeros((6,), "float32")\n\n'
        '@R.function\ndef main(z0: R.Tensor(("n",), "float32")):\n'
        + "".join([f"    z{n} = f(z{n - 1})\n" for n in range(1, 31)])
        + "    return z0\n",
        "RX0221",
    ),
    "thousands of names that nobody defined": (
        HEAD
        + "".join([f"    a{n} = R.add(x, undefined_name_{n})\n" for n in range(2000)])
        + "    return x\n",
        "RX0014",
    ),
    "thousands of odd names of shape variables": (
        "".join([f'n-{n}-m = TypeVar("n-{n}-m")\n' for n in range(2000)])
        + "@R.function\ndef main("
        + ", ".join([f'x{n}: R.Tensor((n-{n}-m,), "float32")' for n in range(2000)])
        + "):\n    return x0\n",
        "",
    ),
    "a dimension of thousands of digits": (
        f"{HEAD}    y = R.zeros((0x{'f' * 3572},), 'float32')\n    return x\n",
        "RX0025",
    ),
    "an index of thousands of digits": (
        f'@T.prim_func\ndef main(x: T.Buffer((4,), "float32")):\n    x[0x{"f" * 3572}] = T.float32(0)\n',
        "RX0025",
    ),
}


@pytest.mark.parametrize("name", GROWING)
def test_what_grows_is_checked_at_once(name: str) -> None:
    text, code = GROWING[name]
    found = {item.code.id for item in rxe.check(text) if item.is_error}
    assert found == ({code} if code else set())
