"""`--const` makes up the constants that a text omits, where the text tells their shapes; else it says which one it can't."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import exprs
from relax_explorer.core.phases.module_check import checked
from relax_explorer.core.session.made_constants import with_constants
from relax_explorer.core.session.stages import Stage
from relax_explorer.ui.tui.app import Explorer
from tests.cli.test_commands import rxe_cli
from tests.ui.test_explorer import screen_text, wait

HEAD = """@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def add_row(a: T.handle, B: T.Buffer((3,), "float32"), c: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, 3), "float32")
        C = T.match_buffer(c, (n, 3), "float32")
        for i, j in T.grid(n, 3):
            with T.sblock("c"):
                v_i, v_j = T.axis.remap("SS", [i, j])
                C[v_i, v_j] = A[v_i, v_j] + B[v_j]

    @R.function(private=True)
    def inner(p: R.Tuple(R.Tensor(("m", 2), "int32"), R.Tensor(("m",), "int32"))) -> R.Tensor(("m",), "int32"):
        return p[1]

    @R.function
    def main(x: R.Tensor((2, 3), "float32"), i: R.Tensor((4, 2), "int32")):
        cls = Module
"""
C = 'metadata["relax.expr.Constant"]'
KERNEL = f'R.call_tir(cls.add_row, (x, {C}[0]), out_sinfo=R.Tensor((2, 3), dtype="float32"))'


def made(body: str, source: str = "randn:0") -> tuple[dict[str, np.ndarray], str]:
    """The constants of `main`, by shape, and the note."""
    stage, note = with_constants(Stage(0, "input", HEAD + body), source)
    assert not [item for item in checked(stage.module).problems if item.is_error]
    fn = stage.module.functions["main"]
    assert type(fn) is e.Function
    found = [expr for expr in exprs(fn) if type(expr) is e.Constant]
    assert all(not item.data.flags.writeable for item in found)
    return {f"{item.data.dtype}{list(item.data.shape)}": item.data for item in found}, note


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"        y = {KERNEL}\n        return y\n", "float32[3]"),
        (
            f"        c = {C}[0]\n        y = {KERNEL.replace(C + '[0]', 'c')}\n        return y\n",
            "float32[3]",
        ),
        (f'        y: R.Tensor((5,), "int8") = {C}[0]\n        return y\n', "int8[5]"),
        (f"        y = cls.inner((i, {C}[0]))\n        return y\n", "int32[4]"),
        (f"        t = (i, {C}[0])\n        y = cls.inner(t)\n        return y\n", "int32[4]"),
        (
            f"        if R.const(True):\n            z = {KERNEL}\n        else:\n            z = x\n        return z\n",
            "float32[3]",
        ),
        (
            "        @R.function\n        def f(x: R.Tensor((2, 3), 'float32')) -> R.Tensor((2, 3), 'float32'):\n"
            f"            z = {KERNEL}\n            return z\n        y = f(x)\n        return y\n",
            "",
        ),
    ],
    ids=["kernel", "variable", "annotation", "symbolic in a tuple", "tuple variable", "branch", "closure"],
)
def test_shapes_that_the_text_tells(body: str, expected: str) -> None:
    found, note = made(body)
    assert not expected or expected in found
    assert "Constant[0]" in note
    assert note.endswith("by randn:0")


def test_the_same_constant_has_the_same_value_and_others_have_others() -> None:
    body = f"        y = {KERNEL}\n        z = {KERNEL.replace('[0]', '[1]')}\n        w = {KERNEL}\n        return (y, z, w)\n"
    stage, note = with_constants(Stage(0, "input", HEAD + body), "randn:0")
    values = [expr.data for expr in exprs(stage.module.functions["main"]) if type(expr) is e.Constant]  # type: ignore[arg-type]  # a Relax function
    assert len({value.tobytes() for value in values}) == 2
    assert "Constant[0]" in note
    assert "Constant[1]" in note


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (f"        y = R.add(x, {C}[0])\n        return y\n", "no call of a function tells it"),
        (
            f"        y = {KERNEL}\n        z = R.add(x, {C}[1])\n        return (y, z)\n",
            "Constant[1] is not in the text",
        ),
        (
            f'        y = {KERNEL}\n        z: R.Tensor((5,), "int8") = {C}[0]\n        return (y, z)\n',
            'used as R.Tensor((3,), dtype="float32") and as R.Tensor((5,), dtype="int8")',
        ),
    ],
)
def test_shapes_that_are_not_known_are_refused(body: str, said: str) -> None:
    with pytest.raises(Failure) as caught:
        made(body)
    assert said in caught.value.diagnostics[0].message or said in caught.value.diagnostics[0].message.replace(
        "  ", " "
    )
    assert caught.value.diagnostics[0].is_error


def test_a_text_with_all_constants_stays() -> None:
    stage = Stage(0, "input", HEAD + "        return x\n")
    assert with_constants(stage, "zeros") == (stage, "")
    with pytest.raises(Failure):
        made(f"        y = {KERNEL}\n        return y\n", "many")


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "program.py"
    path.write_text(HEAD + f"        y = {KERNEL}\n        return y\n")
    return str(path)


def test_run_and_debug_make_constants_up_and_say_it(program: str) -> None:
    assert rxe_cli("run", program).exit_code != 0
    for words in (
        ("run", program, "--const", "ones", "--input", "x=zeros"),
        ("debug", program, "--const", "ones", "--script", "-"),
    ):
        done = rxe_cli(*words)
        assert done.exit_code == 0, done.output
        assert 'constants made up: Constant[0] R.Tensor((3,), dtype="float32") by ones' in done.stderr
    assert "1" in rxe_cli("run", program, "--const", "ones", "--input", "x=zeros").stdout


async def test_the_explorer_makes_constants_up_and_says_it(program: str, tmp_path: Path) -> None:
    (tmp_path / "0_bad.py").write_text("@R.function\ndef f(")
    (tmp_path / "1_good.py").write_text(Path(program).read_text())
    for path in (program, str(tmp_path)):
        app = Explorer(path, "", const="ones")
        async with app.run_test(size=(120, 40)) as pilot:
            await wait(pilot, lambda app=app: app.state.session is not None)
            await wait(pilot, lambda app=app: "constants made up: Constant[0]" in screen_text(app))
            app.stage_control.show(len(app.state.session.stages) - 1)
            await pilot.press("2")
            await wait(pilot, lambda app=app: app.state.run is not None)
