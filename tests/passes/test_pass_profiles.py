"""The profile of a pass: `spec` keeps checks, effects and constants that TVM's pass loses; `tvm` loses them, too."""

from __future__ import annotations

import pytest

import relax_explorer as rxe

HEAD = "@I.ir_module\nclass Module:\n"
CASES = {
    "CanonicalizeBindings": (
        """
    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")):
        n = T.int64()
        m = T.int64()
        z = R.match_cast(x, R.Tensor((m,), "float32"))
        w = R.add(z, y)
        return w
""",
        "R.match_cast(x",
    ),
    "DeadCodeElimination": (
        """
    @R.function
    def main(x: R.Tensor(("n",), "int32"), y: R.Tensor(("m",), "int32")):
        z = R.divide(x, y)
        return x
""",
        "R.divide(x, y)",
    ),
    "ConvertToDataflow": (
        """
    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")):
        z = R.add(x, y)
        w = R.exp(x)
        v = R.exp(w)
        return v
""",
        "\n        z: R.Tensor",
    ),
    "InlinePrivateFunctions": (
        """
    @R.function(private=True)
    def inner(p: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        q: R.Tensor((4,), "float32") = R.exp(p)
        return q

    @R.function
    def main(x: R.Tensor("float32", ndim=1)):
        cls = Module
        y = cls.inner(x)
        return y
""",
        "R.match_cast(x",
    ),
    "RemoveUnusedParameters": (
        """
    @R.function(private=True)
    def inner(p: R.Tensor((4,), "float32"), q: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return p

    @R.function
    def main(x: R.Tensor((4,), "float32"), u: R.Tensor("float32", ndim=1)):
        cls = Module
        y = cls.inner(x, u)
        return y
""",
        "cls.inner(x, u)",
    ),
}


def result(name: str, profile: str) -> str:
    module = rxe.normalize(rxe.parse(HEAD + CASES[name][0]))
    return rxe.apply_pass(module, name, profile=profile).script()


@pytest.mark.parametrize("name", CASES)
def test_the_profile_chooses_what_is_kept(name: str) -> None:
    kept = CASES[name][1]
    assert kept in result(name, "spec")
    assert kept not in result(name, "tvm")


@pytest.mark.parametrize("name", CASES)
def test_a_pipeline_and_a_pass_in_a_profile_agree(name: str) -> None:
    module = rxe.normalize(rxe.parse(HEAD + CASES[name][0]))
    assert rxe.run_pipeline(module, name, profile="tvm").script() == result(name, "tvm")
    assert rxe.run_pipeline(module, name).script() == result(name, "spec")


def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(rxe.Failure, match="RX0404"):
        result("CanonicalizeBindings", "TVM")
