"""A compiled run with an object that nobody recorded, such as a cache: its calls give what they gave there, all else is computed here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer import recorder
from relax_explorer.core.exec.played import Played, PlayedCall
from relax_explorer.core.session.build_files import open_build
from relax_explorer.core.session.compiled_values import compiled_runs
from relax_explorer.core.session.containers import open_container
from tests.cli.test_commands import rxe_cli
from tests.support.recordings import Writer

ATTENTION = "vm.builtin.attention_kv_cache_attention_with_fused_qkv"
BODY = """        R.func_attr({"relax.force_pure": True})
        cls = Module
        storage: R.Object = R.vm.alloc_storage(R.shape([8]), 0, R.dtype("uint8"), R.str("global"))
        a: R.Tensor((2,), "float32") = R.vm.alloc_tensor(storage, 0, R.shape([2]), R.dtype("float32"))
        cls.twice(x, a)
        b: R.Tensor((2,), "float32") = R.vm.alloc_tensor(storage, 0, R.shape([2]), R.dtype("float32"))
        R.call_packed("vm.builtin.attention_kv_cache_attention_with_fused_qkv", cache, R.prim_value(0), a, b, ty_args=(R.Tuple,))
        c: R.Tensor((2,), "float32") = R.vm.alloc_tensor(storage, 0, R.shape([2]), R.dtype("float32"))
        cls.twice(b, c)
        d: R.Tensor((2,), "float32") = R.vm.alloc_tensor(storage, 0, R.shape([2]), R.dtype("float32"))
        R.call_packed("vm.builtin.attention_kv_cache_attention_with_fused_qkv", cache, R.prim_value(1), c, d, ty_args=(R.Tuple,))
        {more}result = {result}
        return result
"""
KERNEL = """@I.ir_module
class Module:
    @T.prim_func
    def twice(a: T.Buffer((2,), "float32"), b: T.Buffer((2,), "float32")):
        for i in range(2):
            b[i] = a[i] * T.float32(2)

    @R.function
    def {name}(x: R.Tensor((2,), "float32"), cache: R.Object):
"""
ALONE = KERNEL.format(name="main") + BODY.replace("{more}", "").replace("{result}", "d")
MORE = """e: R.Tensor((2,), "float32") = R.vm.alloc_tensor(storage, 0, R.shape([2]), R.dtype("float32"))
        cls.twice(d, e)
        """
TWO_FUNCTIONS = (
    KERNEL.format(name="decode")
    + BODY.replace("{more}", "").replace("{result}", "(d, cache)")
    + '\n    @R.function\n    def batch_decode(x: R.Tensor((2,), "float32"), cache: R.Object):\n'
    + BODY.replace("{more}", MORE).replace("{result}", "(e, cache)")
)
X, FIRST, SECOND = (np.array(item, "float32") for item in ([1, 2], [50, 60], [7, 8]))


def calls(made: Writer, wrong: float = 0.0, more: bool = False, is_tuple: bool = False) -> None:
    def tensor(array: np.ndarray) -> dict[str, str]:
        return {"array": made.array(array.astype("float32")), "dtype": "float32"}

    def call(name: str, *operands: object, result: object = None) -> None:
        made.line(recorder.CALL, name=name, seconds=0.001, operands=operands, result=result)

    def filled(name: str, value: np.ndarray, *before: object) -> None:
        garbage = tensor(np.array([-77, 13]))
        call("vm.builtin.alloc_tensor", {"type": "Storage"}, 0, [2], "float32", result=garbage)
        call(name, *before, tensor(value))

    cache = {"type": "PagedAttentionKVCache"}
    call("vm.builtin.alloc_storage", {"type": "c_void_p"}, [8], 0, "uint8", result={"type": "Storage"})
    filled("twice", X * 2, tensor(X))
    filled("vm.builtin.attention_kv_cache_attention_with_fused_qkv", FIRST, cache, 0, tensor(X * 2))
    filled("twice", FIRST * 2 + wrong, tensor(FIRST))
    filled("vm.builtin.attention_kv_cache_attention_with_fused_qkv", SECOND, cache, 1, tensor(FIRST * 2))
    if more:
        filled("twice", SECOND * 2, tensor(SECOND))
    if is_tuple:
        value = tensor(SECOND * 2 if more else SECOND)
        call("vm.builtin.make_tuple", value, cache, result=[value, cache])


def recording(path: Path, program: str, *runs: dict[str, object]) -> Path:
    made = Writer(path)
    made.lineage(0, "module")
    made.stage("input", program, input=True)
    for run in runs:
        calls(made, **run)  # type: ignore[arg-type]  # options of `calls`
    made.end()
    return path


def test_calls_of_an_unknown_object_give_what_they_gave_there(tmp_path: Path) -> None:
    done = rxe_cli("compare", str(recording(tmp_path / "run.rxs", ALONE, {}, {})), "--all")
    assert done.exit_code == 0, done.output
    assert (
        "sample 2 of 2 (run 2, main, 9 calls, 9.0 ms there, with what calls of its objects gave there): equal"
        in done.stdout
    )
    # what the calls of the object filled is taken from there, so it is not compared
    assert [line.split(":")[0].strip() for line in done.stdout.splitlines() if line.endswith("[name]")] == [
        "a", "c",
    ] * 2  # fmt: skip


def test_a_wrong_kernel_between_them_is_named(tmp_path: Path) -> None:
    done = rxe_cli("compare", str(recording(tmp_path / "run.rxs", ALONE, {"wrong": 3.0})))
    assert done.exit_code == 1
    assert "DIFFERENT, c differs" in done.stdout
    assert "cls.twice(b, c)" in done.stdout


def test_a_function_is_that_with_the_most_like_calls(tmp_path: Path) -> None:
    """`batch_decode` has all calls of `decode`, and two more."""
    path = recording(
        tmp_path / "run.rxs", TWO_FUNCTIONS, {"is_tuple": True}, {"more": True, "is_tuple": True}, {"is_tuple": True}
    )  # fmt: skip
    module = open_build(path).stages[-1].module
    runs = list(compiled_runs(open_container(str(path)), module))
    assert [run.name for run in runs] == ["decode", "batch_decode", "decode"]
    done = rxe_cli("compare", str(path))
    assert done.exit_code == 0, done.output


LOSSY = """e: R.Tensor((2,), "float32") = R.vm.alloc_tensor(storage, 0, R.shape([2]), R.dtype("float32"))
        cls.up(d, e)
        f: R.Tensor((2,), "float32") = R.vm.alloc_tensor(storage, 0, R.shape([2]), R.dtype("float32"))
        cls.down(e, f)
        """
ADDS = """    @T.prim_func
    def {}(a: T.Buffer((2,), "float32"), b: T.Buffer((2,), "float32")):
        for i in range(2):
            b[i] = a[i] + T.float32({}1000000)

"""


def test_rounding_is_no_difference(tmp_path: Path) -> None:
    """What is added and taken away again costs the last digits: the compiled program rounded the sum to the other side."""
    head, rest = KERNEL.format(name="main").split("    @R.function")
    body = BODY.replace("{more}", LOSSY).replace("{result}", "f")
    made = Writer(tmp_path / "run.rxs")
    made.lineage(0, "module")
    text = head + ADDS.format("up", "") + ADDS.format("down", "-") + "    @R.function" + rest + body
    made.stage("input", text, input=True)
    calls(made)
    total = SECOND + np.float32(1e6) + np.float32(0.0625)
    for name, value, before in (("up", total, SECOND), ("down", total - np.float32(1e6), total)):
        told, given, garbage = [
            {"array": made.array(item.astype("float32")), "dtype": "float32"} for item in (value, before, X)
        ]
        allocated = [{"type": "Storage"}, 0, [2], "float32"]
        made.line(
            recorder.CALL, name="vm.builtin.alloc_tensor", seconds=0, operands=allocated, result=garbage
        )
        made.line(recorder.CALL, name=name, seconds=0.001, operands=[given, told], result=None)
    made.end()
    done = rxe_cli("compare", str(tmp_path / "run.rxs"))
    assert "what calls of its objects gave there): equal except for rounding" in done.stdout
    assert "not by more than random rounding explains" in done.stdout
    assert done.exit_code == 0, done.output


def test_an_earlier_stage_gets_the_same_answers(tmp_path: Path) -> None:
    made = Writer(tmp_path / "run.rxs")
    made.lineage(0, "module")
    call = 'R.call_dps_packed("{}", (cache, R.prim_value({}), {}), out_sinfo=R.Tensor((2,), "float32"))'
    by_values = (
        '@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor((2,), "float32"), cache: R.Object):\n'
        "        a = R.multiply(x, R.const(2, 'float32'))\n"
        f"        b = {call.format(ATTENTION, 0, 'a')}\n"
        "        c = R.multiply(b, R.const(2, 'float32'))\n"
        f"        d = {call.format(ATTENTION, 1, 'c')}\n"
        "        return d\n"
    )
    made.stage("input", by_values, input=True)
    made.stage("Lowered", ALONE)
    calls(made)
    made.end()
    assert rxe_cli("compare", f"{tmp_path}/run.rxs@input").exit_code == 0


def test_a_call_that_was_not_made_there_stops() -> None:
    played = Played([PlayedCall("f", X, None), PlayedCall("g", None, None), PlayedCall("f", SECOND, None)])
    out = np.zeros(2, "float32")
    played.answer("f", played, out)
    assert out.tolist() == X.tolist()
    assert played.answer("g", played) is played
    assert repr(played) == "<an object of the compiled run, 2 of 3 calls made>"
    played.answer("f", played, out)
    assert out.tolist() == SECOND.tolist()
    with pytest.raises(rxe.Failure, match="no further call of f"):
        played.answer("f", played, out)
