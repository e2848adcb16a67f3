"""Options of passes in the text of a pipeline, in every notation; options without a clear meaning are refused."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.passes.pipeline import steps

PROGRAM = '@R.function\ndef main(x: R.Tensor((2, 2), "float32")):\n    y = R.matmul(x, x)\n    z = R.add(y, y)\n    return z\n'


@pytest.mark.parametrize(
    ("text", "skip"),
    [('skip="relax.matmul"', ("relax.matmul",)), ("skip='relax.matmul'", ("relax.matmul",)), ("skip=relax.matmul", ("relax.matmul",)),
     ('skip=("relax.matmul",)', ("relax.matmul",)), ('skip=["matmul", "add"]', ("matmul", "add")), ("skip=matmul,add", ("matmul", "add")),
     ('skip="matmul","add"', ("matmul", "add")), (' skip = "matmul" ', ("matmul",)), ("", ())],
)  # fmt: skip
def test_several_names_are_written_as_one_or_as_a_list(text: str, skip: tuple[str, ...]) -> None:
    found = steps(f"CanonicalizeBindings,LegalizeOps{{{text}}},DeadCodeElimination")
    assert [step.of.name for step in found] == ["CanonicalizeBindings", "LegalizeOps", "DeadCodeElimination"]
    assert found[1].options.get("skip", ()) == skip
    assert steps(str(found[1]))[0].options == found[1].options


def test_what_is_skipped_stays() -> None:
    for skip in ("relax.matmul", ["relax.matmul"], ("matmul",)):
        text = rxe.apply_pass(rxe.parse(PROGRAM), "LegalizeOps", skip=skip).script()
        assert "R.matmul(x, x" in text
        assert "R.add" not in text


@pytest.mark.parametrize(
    "text",
    ["{", "}", "{skip=}", "{skip}", "{skip=(}", "{skip=[}]", '{skip="matmul}', "{skip=3}", "{skip=[1]}", "{skip={}}", "{other=1}",
     "{skip=add,skip=add}", "{=add}", "{skip=add}}", "{skip=add"],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(text: str) -> None:
    with pytest.raises(Failure) as caught:
        steps(f"LegalizeOps{text}")
    assert caught.value.diagnostics[0].code.id == "RX0404"
    assert caught.value.diagnostics[0].help


@pytest.mark.parametrize(
    "text", ['LegalizeOps{skip="matmul"}', " LegalizeOps { skip = matmul } ", 'LegalizeOps{skip=["matmul"]},']
)
def test_one_pass_reads_the_options_in_its_text(text: str) -> None:
    module = rxe.normalize(rxe.parse(PROGRAM))
    expected = rxe.apply_pass(module, "LegalizeOps", skip="matmul")
    assert "R.matmul(x, x" in expected.script()
    assert rxe.apply_pass(module, text).script() == expected.script()
    assert rxe.apply_pass(module, text).script() == rxe.run_pipeline(module, text).script()


def test_options_in_the_text_stand_beside_those_that_are_given() -> None:
    body = "    with R.dataflow():\n        y = R.matmul(x, x)\n        R.output(y)\n    return y\n"
    module = rxe.normalize(rxe.parse(PROGRAM.partition("    y")[0] + body))
    texts = [
        rxe.apply_pass(module, "ToMixedPrecision{out_dtype=float16}", fp16_input_names="x"),
        rxe.apply_pass(module, "ToMixedPrecision{fp16_input_names=x}", out_dtype="float16"),
        rxe.apply_pass(module, "ToMixedPrecision", out_dtype="float16", fp16_input_names="x"),
        rxe.run_pipeline(module, "ToMixedPrecision{out_dtype=float16,fp16_input_names=x}"),
    ]
    assert len({text.script() for text in texts}) == 1
    assert 'out_dtype="float16"' in texts[0].script()
    assert 'x: R.Tensor((2, 2), dtype="float16")' in texts[0].script()


@pytest.mark.parametrize(
    ("text", "options", "code"),
    [
        ("LegalizeOps{skip=add}", {"skip": "add"}, "RX0404"), ("LegalizeOps{skip=add}", {"skip": "matmul"}, "RX0404"),
        ("LegalizeOps{other=1}", {}, "RX0404"), ("LegalizeOps{skip=add}", {"other": 1}, "RX0404"), ("LegalizeOps{", {}, "RX0404"),
        ("LegalizeOps{skip=3}", {}, "RX0404"), ("LegalizeOps{skip=add}}", {}, "RX0404"), ("LegalizeOps}", {}, "RX0404"),
        ("LegalizeOp{skip=add}", {}, "RX0401"), ("", {}, "RX0401"), ("{skip=add}", {}, "RX0401"),
        ("LegalizeOps{skip=add},ToNonDataflow", {}, "RX0401"), ("LegalizeOps,ToNonDataflow", {}, "RX0401"),
        ("default", {}, "RX0401"), ('default{profile="tvm"}', {}, "RX0401"),
    ],
)  # fmt: skip
def test_one_pass_refuses_options_without_a_clear_meaning(
    text: str, options: dict[str, object], code: str
) -> None:
    with pytest.raises(Failure) as caught:
        rxe.apply_pass(rxe.normalize(rxe.parse(PROGRAM)), text, **options)
    assert caught.value.diagnostics[0].code.id == code
    assert caught.value.diagnostics[0].help


def test_a_skipped_operator_exists() -> None:
    with pytest.raises(Failure, match="not an operator"):
        rxe.apply_pass(rxe.parse(PROGRAM), "LegalizeOps", skip="relax.matmull")


@pytest.mark.parametrize("name", ["concat", "stack"])
def test_hundreds_of_tensors_are_lowered(name: str) -> None:
    many = ", ".join(["x"] * 600)
    text = f'@R.function\ndef main(x: R.Tensor((2,), "float32")):\n    y = R.{name}(({many}), axis=0)\n    return y\n'
    assert "T.prim_func" in rxe.apply_pass(rxe.parse(text), "LegalizeOps").script()


@pytest.mark.parametrize("name", ["concat", "stack"])
def test_the_halves_of_many_tensors_are_the_right_ones(name: str) -> None:
    import numpy as np

    heads = [f'x{n}: R.Tensor(({n % 3 if name == "concat" else 2},), "float32")' for n in range(40)]
    many = ", ".join(f"x{n}" for n in range(40))
    text = f"@R.function\ndef main({', '.join(heads)}):\n    y = R.{name}(({many}), axis=0)\n    return y\n"
    module = rxe.parse(text)
    args = [np.full(n % 3 if name == "concat" else 2, n, np.float32) for n in range(40)]
    expected = rxe.run(module, "main", args)
    np.testing.assert_array_equal(rxe.run(rxe.apply_pass(module, "LegalizeOps"), "main", args), expected)


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ("helper", "entry_functions names no public function"),
        ("nobody", "entry_functions names 'nobody', which is not a function"),
    ],
)
def test_entries_that_nothing_outside_could_call_are_refused(entries: str, said: str) -> None:
    helper = PROGRAM.replace("@R.function", "@R.function(private=True)").replace("main", "helper")
    lines = "".join(f"    {line}\n" for line in (helper + PROGRAM).splitlines())
    module = rxe.parse(f"@I.ir_module\nclass M:\n{lines}")
    with pytest.raises(Failure, match=said) as caught:
        rxe.apply_pass(module, "DeadCodeElimination", entry_functions=entries)
    assert "main" in (caught.value.diagnostics[0].help or "")
    both = rxe.apply_pass(module, "DeadCodeElimination", entry_functions=("helper", "main"))
    assert set(both.functions) == {"helper", "main"}


def test_each_option_has_a_default_that_says_its_kind() -> None:
    """`check_options` compares a given value with the type of the default."""
    from relax_explorer.core.passes.contract import KINDS

    options = [option for name in rxe.passes.names() for option in rxe.passes.get(name).options]
    assert {type(option.default) for option in options} <= KINDS.keys()
    assert all(option.doc and "Annotated" not in option.kind for option in options)


def test_a_profile_is_given_to_one_pass_to_a_named_pipeline_or_to_all() -> None:
    named = [step.options for step in steps('simplify{profile="tvm"}')]
    assert named == [{"profile": "tvm"}] * 4 == [step.options for step in steps("simplify", "tvm")]
    mixed = steps('FuseOps,FoldConstant{profile="spec"},DeadCodeElimination', "tvm")
    assert [step.options for step in mixed] == [{}, {"profile": "spec"}, {"profile": "tvm"}]
    for wrong in ('simplify{profile="strict"}', "FoldConstant{profile=1}", "simplify{everywhere=True}"):
        with pytest.raises(Failure) as caught:
            steps(wrong)
        assert caught.value.diagnostics[0].code.id == "RX0404"
    with pytest.raises(Failure):
        steps("simplify", "strict")


def test_a_pipeline_in_the_profile_tvm_drops_what_may_stop_the_run() -> None:
    text = '@R.function\ndef main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")):\n    a = R.add(x, y)\n    return x\n'
    module = rxe.parse(text)
    assert "R.add" in rxe.run_pipeline(module, "simplify").script()
    assert "R.add" not in rxe.run_pipeline(module, "simplify", profile="tvm").script()
