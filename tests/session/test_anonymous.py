"""Programs under other names compute the same, and no name of the user is in them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import relax_explorer as rxe
from relax_explorer.core.passes.pipeline import steps
from relax_explorer.core.program.equal import structural_equal
from relax_explorer.core.session.anonymous import anonymous
from relax_explorer.ui.cli.main import group

SECRET = """
@I.ir_module
class SecretModel:
    I.module_attrs({"owner": "secret_company", "list": ["secret_a", "secret_main"]})
    @T.prim_func(private=True)
    def secret_kernel(secret_in: T.Buffer((T.int64(4),), "float32"), secret_out: T.Buffer((T.int64(4),), "float32")):
        T.func_attr({"op_pattern": 0, "note": "secret_text"})
        secret_buffer = T.sblock_alloc_buffer((T.int64(4),))
        for secret_i in range(T.int64(4)):
            assert T.int64(4) > secret_i, "secret message"
            with T.sblock("secret_block"):
                secret_v = T.axis.spatial(T.int64(4), secret_i)
                secret_buffer[secret_v] = secret_in[secret_v] + T.float32(1)
        for secret_j in range(T.int64(4)):
            with T.sblock("secret_block2"):
                secret_w = T.axis.spatial(T.int64(4), secret_j)
                secret_out[secret_w] = secret_buffer[secret_w]

    @R.function(private=True)
    def secret_helper(secret_x: R.Tensor(("secret_n", 4), "float32")) -> R.Tensor(("secret_n * 4",), "float32"):
        secret_n = T.int64()
        R.func_attr({"Composite": "secret_stays.matmul", "param_names": ["secret_x"]})
        secret_y = R.reshape(secret_x, R.shape([secret_n * 4]))
        return secret_y

    @R.function(pure=False)
    def secret_main(secret_x: R.Tensor(("secret_n", 4), "float32"), secret_flag: R.Tensor((), "bool")):
        cls = SecretModel
        secret_a = cls.secret_helper(secret_x)
        @R.function
        def secret_inner(secret_z: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            secret_b = R.call_tir(cls.secret_kernel, (secret_z,), out_ty=R.Tensor((4,), "float32"))
            return secret_b
        secret_c = R.strided_slice(secret_a, axes=[0], begin=[0], end=[4], assume_inbound=True)
        secret_e = R.match_cast(secret_c, R.Tensor((4,), "float32"))
        if secret_flag:
            secret_d = secret_inner(secret_e)
            secret_r = R.exp(secret_d)
        else:
            secret_r = R.negative(secret_e)
        R.print(secret_r, format="secret {}")
        secret_p = R.call_packed("vm.builtin.copy", secret_r, ty_args=(R.Tensor((4,), "float32"),))
        return secret_p
"""


def test_no_name_is_left_and_the_values_are_the_same() -> None:
    module = rxe.normalize(rxe.parse(SECRET))
    new = anonymous(module)
    text = new.module.script()
    assert re.findall(r"\w*[sS]ecret\w*", text) == ["secret_stays"]  # an operator of a library
    assert new.remaining == ()
    assert new.functions == {
        "secret_kernel": "kernel0",
        "secret_helper": "function0",
        "secret_main": "function1",
    }
    x = np.arange(8, dtype="float32").reshape(2, 4)
    again = rxe.parse(text)
    for flag in (True, False):
        given = [x, np.array(flag)]
        assert np.array_equal(rxe.run(module, "secret_main", given), rxe.run(again, "function1", given)), flag
    fresh = [name for name in re.findall(r"\bv\d+_\d+\b", text)]
    assert not fresh  # no two variables of a function have one name
    assert '"op_pattern": 0' in text


def test_structure_and_constants_stay() -> None:
    text = """@R.function
def main(x: R.Tensor((2,), "float32")):
    a = R.add(x, R.const([0.1, float("-inf")], "float32"))
    return a
"""
    module = rxe.normalize(rxe.parse(text))
    new = anonymous(module)
    assert structural_equal(module["main"], new.module["main"])
    assert list(new.module.functions) == ["main"]


def test_names_of_packed_functions_and_python_functions_are_told() -> None:
    text = """@R.function(pure=False)
def main(x: R.Tensor((2,), "float32")):
    a = R.call_packed("acme.kernel", x, ty_args=(R.Tensor((2,), "float32"),))
    b = R.call_packed("acme.kernel", a, ty_args=(R.Tensor((2,), "float32"),))
    return b
"""
    assert anonymous(rxe.parse(text)).remaining == ("acme.kernel",)


def test_options_of_passes_name_functions() -> None:
    module = rxe.normalize(rxe.parse(SECRET))
    given = tuple(steps("LegalizeOps,DeadCodeElimination{entry_functions=['secret_main']}"))
    found = anonymous(module).steps(given)
    assert [step.options for step in found] == [{}, {"entry_functions": ("function1",)}]
    assert [str(step) for step in found] == [str(step).replace("secret_main", "function1") for step in given]


def test_messages_of_assertions() -> None:
    text = """@I.ir_module
class M:
    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")):
        a = R.assert_op(c, x, format="secret {} and {}")
        return x
"""
    found = anonymous(rxe.parse(text)).module.script()
    assert 'format="{} {}"' in found
    assert "secret" not in found


@pytest.mark.parametrize("to", ["tvm", "issue"])
def test_what_is_exported_has_none_of_them(to: str, tmp_path: Path) -> None:
    file = tmp_path / "secret_file.py"
    file.write_text(SECRET)
    done = CliRunner().invoke(
        group,
        ["export", str(file), "--func", "secret_main", "--input", "secret_flag=1", "--shape", "secret_n=3", "--to", to, "--anonymous"],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert re.findall(r"\w*[sS]ecret\w*", done.stdout) == ["secret_stays"]
    assert 'machine["function1"]' in done.stdout
    assert "standard_normal((3, 4))" in done.stdout or "np.array([[" in done.stdout
