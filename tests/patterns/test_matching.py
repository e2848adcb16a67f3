"""Patterns in text and Python form: what they match, what they note, and the mistakes in their text."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.struct_info import TensorStructInfo
from relax_explorer.core.patterns import (
    Pattern,
    has_attr,
    has_dtype,
    is_call_dps_packed,
    is_call_packed,
    is_call_tir,
    is_const,
    is_dfv,
    is_expr,
    is_gv,
    is_op,
    is_shape,
    is_tuple,
    is_tuple_get_item,
    is_var,
    match,
    occurrences,
    read_pattern,
    reject,
    wildcard,
)
from tests.support.roundtrip import function
from tests.support.work import calls

PARAMS = (
    'x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32"), u: R.Tensor(("n", 3), "float32"), '
    'v: R.Tensor(("m", 3), "float32"), h: R.Tensor((2, 3), "float16"), c: R.Tensor((), "bool")'
)
BODY = """
with R.dataflow():
    a = R.exp(x)
    copy = a
    b = R.add(copy, y)
    s = R.subtract(a, y)
    s2 = R.subtract(y, a)
    t = R.permute_dims(y, axes=[1, 0])
    m = R.matmul(x, t)
    m16 = R.matmul(x, t, out_dtype="float16")
    p = R.multiply(u, u)
    eu = R.exp(u)
    k = R.multiply(u, eu)
    pair = (a, b)
    f = pair[1]
    r = R.reshape(x, R.shape([3, 2]))
    gv = R.concat((f, s), axis=0)
    R.output(gv)
cast = R.match_cast(v, R.Tensor((2, 3), "float32"))
w = R.sin(cast)
if c:
    i = R.exp(w)
    o = R.sin(i)
else:
    j = R.cos(w)
    o = R.sin(j)
z = R.tanh(o)
return z
"""


def main(body: str = BODY, params: str = PARAMS) -> e.Function:
    fn = rxe.normalize(rxe.parse(function(body, params)))["main"]
    assert isinstance(fn, e.Function)
    return fn


def names(pattern: str | Pattern, fn: e.Function | None = None) -> list[str]:
    """The variables of the matches; a chain has one name for each binding."""
    read = read_pattern(pattern) if isinstance(pattern, str) else pattern
    return ["-".join(b.var.name for b in one.bindings) for one in occurrences(fn or main(), read)]


def parts(text: str) -> list[dict[str, str]]:
    """The named parts of each match."""
    found = occurrences(main(), read_pattern(text))
    return [{name: getattr(v, "name", "") for name, v in one.match.named.items()} for one in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("exp(_)", "a eu i"),
        ("relax.exp(_)", "a eu i"),
        ("softmax(_)", ""),
        ("add(exp(_), _)", "b"),  # through a copy
        ("add(_, exp(_))", "b"),  # swapped
        ("subtract(exp(_), _)", "s"),
        ("subtract(_, exp(_))", "s2"),
        ("multiply(x, x)", "p"),
        ("multiply(x, exp(x))", "k"),
        ("exp(_) | sin(_)", "a eu w i o_then o_else"),
        ("exp(_) & _: [..., 3]", "a eu i"),
        ("exp(_ & ~$x)", "eu i"),
        ("exp($x)", "a"),
        ("sin(exp(_))", "o_then"),  # in a branch
        ("tanh(sin(_))", ""),  # the If hides its branches
        ("sin($cast)", "w"),  # nothing looks through a match_cast
        ("_: f16", "m16"),
        ("matmul(_, _): f16[2, 2]", "m16"),
        ("matmul(_, _, out_dtype='float16')", "m16"),
        ("matmul(_, permute_dims(_, axes=[1, 0]))", "m m16"),
        ("matmul(_, permute_dims(_, axes=[0, 1]))", ""),
        ("exp(_: [n, n])", ""),
        ("exp(_): [_, 3]", "a eu i"),
        ("multiply(_: [n, 3], _: [n, 3])", "p k"),
        ("concat((_, _))", "gv"),
        ("concat((_, _), axis=1)", ""),
        ("concat(...)", "gv"),
        ("concat()", ""),
        ("concat((_[1], subtract(_, _)))", "gv"),
        ("_[0]", ""),
        ("(a, add(a, _))[1]", "f"),
        ("reshape(_, shape[3, _])", "r"),
        ("reshape(_, shape[_])", ""),
        ("subtract(x, y: like x)", "s s2"),
        ("subtract(x, y: like x) & _: [3]", ""),
        ("exp(_) >> add(_, _)", ""),
        ("exp(_) ^ subtract(_, _)", "a-s"),
        ("permute_dims(_) >> matmul(_, _)", ""),
        ("add(_, _) >> (_, _) >> _[1] >> concat(_)", "b-pair-f-gv"),
        ("x=exp(_) ^ subtract(y, x)", "a-s2"),
    ],
)
def test_a_text_matches_these_bindings(text: str, expected: str) -> None:
    assert " ".join(names(text)) == expected


def test_named_parts_and_lengths_are_noted() -> None:
    assert parts("sum=add(left, right=exp(_))") == [{"left": "y", "right": "copy", "sum": "b"}]
    assert parts("exp(x) | sin(y)")[:1] == [{"x": "x"}]
    (found,) = occurrences(main(), read_pattern("multiply(x: [rows, columns], x)"))
    assert {name: str(length) for name, length in found.match.lengths.items()} == {
        "rows": "n",
        "columns": "3",
    }


def test_a_failed_alternative_notes_nothing() -> None:
    pattern = read_pattern("add(a=exp(b), b) | add(c, d)")
    (found,) = occurrences(main(), pattern)
    assert set(found.match.named) == {"c", "d"}
    (found,) = occurrences(main(), read_pattern("~(s=sin(_)) & r=reshape(...)"))
    assert set(found.match.named) == {"r"}


def test_one_name_with_two_patterns_is_one_value() -> None:
    assert names("multiply(a=_, a=_)") == ["p"]
    assert names("multiply(a=_, exp(a=_))") == ["k"]
    assert names("subtract(a=exp(_), a=_)") == []


def test_a_reader_that_fails_is_forgotten() -> None:
    body = "with R.dataflow():\n    a = R.exp(x)\n    b = R.sin(a)\n    c = R.cos(a)\n    gv = R.tanh(c)\n    R.output(gv)\nreturn gv"
    fn = main(body)
    chain = read_pattern("exp(_) ^ (first=sin(_) | cos(_)) ^ tanh(_)")
    (found,) = occurrences(fn, chain)
    assert [b.var.name for b in found.bindings] == ["a", "c", "gv"]
    assert "first" not in found.match.named


def test_the_result_of_a_function_is_a_reader() -> None:
    body = "with R.dataflow():\n    a = R.exp(x)\n    gv = R.sin(a)\n    R.output(a, gv)\nreturn (a, gv)"
    assert names("exp(_) ^ sin(_)", main(body)) == ["a-gv"]
    assert names("exp(_) >> sin(_)", main(body)) == []


def test_a_chain_may_name_the_operand() -> None:
    fn = main()
    exp, minus = is_op("relax.exp")(wildcard()), is_op("relax.subtract")(wildcard(), wildcard())
    for index, expected in ((0, "s"), (1, "s2"), (-1, "s")):
        chain = exp.used_by(minus, index)
        assert [one.binding.var.name for one in occurrences(fn, chain)] == [expected]
        assert not list(occurrences(fn, exp.only_used_by(minus, index)))
    longer = is_op("relax.add")(wildcard(), wildcard()) ^ (is_tuple([wildcard(), wildcard()]) >> wildcard())
    assert [len(one.bindings) for one in occurrences(fn, longer)] == [3]


def test_the_python_form_is_that_of_dpl() -> None:
    anything = wildcard()
    assert names(is_op("relax.exp")(anything)) == ["a", "eu", "i"]
    assert names(
        is_op("relax.concat")(is_tuple([is_op("relax.subtract")(anything, wildcard()), wildcard()], True))
    ) == ["gv"]
    assert names(is_tuple_get_item(wildcard(), 1)) == names(is_tuple_get_item(wildcard())) == ["f"]
    assert names(is_op("relax.reshape")(is_var("x"), is_shape([3, 2]))) == ["r"]
    assert names(has_dtype("float16")) == names(wildcard().has_dtype("float16")) == ["m16"]
    assert names(has_attr({"axes": [1, 0]})) == names(wildcard().has_attr({"axes": (1, 0)})) == ["t"]
    assert names(is_op("relax.exp")(reject(is_var("x")))) == ["eu", "i"]
    assert names(is_op("relax.exp")(wildcard()).has_shape([2, None])) == ["a", "i"]
    info = TensorStructInfo(None, None, 2)
    assert names(is_op("relax.exp")(wildcard()).has_ty(info)) == ["a", "eu", "i"]
    assert names(is_op("relax.exp")(wildcard()).has_ty(TensorStructInfo(None, None, 1))) == []
    left = wildcard()
    assert names(is_op("relax.multiply")(left, wildcard().same_shape_as(left))) == ["p", "k"]
    assert names(is_op("relax.exp")(is_expr(main().params[0]))) == []  # a parameter of another function
    assert match(is_dfv(), e.DataflowVar("x")) is not None
    assert match(is_dfv(), e.Var("x")) is None
    assert match(is_const(), e.Var("x")) is None


CALLS = """
a = R.call_tir(cls.k, (x,), out_sinfo=R.Tensor((2, 3), "float32"))
b = R.call_dps_packed("dps", (a,), out_sinfo=R.Tensor((2, 3), "float32"))
d = R.call_pure_packed("packed", x, a, sinfo_args=(R.Tensor((2, 3), "float32"),))
f = R.call_packed("packed", x, a, sinfo_args=(R.Tensor((2, 3), "float32"),))
return f
"""


def test_calls_of_functions() -> None:
    module = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def k(x: T.Buffer((2, 3), "float32"), y: T.Buffer((2, 3), "float32")):
        for i, j in T.grid(2, 3):
            with T.sblock("y"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = x[vi, vj]

    @R.function(pure=False)
    def main(x: R.Tensor((2, 3), "float32")):
        cls = Module
"""
    text = module + "".join(f"        {line}\n" for line in CALLS.strip().splitlines())
    fn = rxe.normalize(rxe.parse(text))["main"]
    assert isinstance(fn, e.Function)
    for pattern in (
        is_call_tir("k"),
        is_call_tir(""),
        is_call_tir("k", [wildcard()]),
        is_op("relax.call_tir")(is_gv("k"), wildcard()),
    ):
        assert names(pattern, fn) == ["a"]
    assert names(is_call_tir("other"), fn) == names(is_call_tir("k", [wildcard(), wildcard()]), fn) == []
    assert names(is_call_dps_packed("dps", [is_call_tir("k")]), fn) == ["b"]
    assert (
        names(is_call_packed("packed"), fn)
        == names(is_call_packed("packed", [wildcard(), wildcard()]), fn)
        == ["f"]
    )
    assert names(is_call_packed("packed", [wildcard()]), fn) == names(is_call_packed("other"), fn) == []
    for text, expected in (("call_tir(@k, (_,))", ["a"]), ('call_dps_packed("dps", (call_tir(@_, _),))', ["b"]), ("'packed'(_, ...)", ["f"]),
                           ("'packed'(_, call_tir(...))", ["f"]), ("'packed'(call_tir(...), _)", [])):  # fmt: skip
        assert names(text, fn) == expected


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("", 1), ("add(", 5), ("add(x", 6), ("add(x y)", 7), ("add)", 4), ("nosuch(_)", 1), ("relax.nosuch(_)", 1), ("add(_, relax.mul)", 8),
        ("x: f33", 4), ("x: ", 4), ("x: f32[", 8), ("x: like y", 9), ("_[x]", 3), ("_[1.5]", 3), ("a ^", 4), ("a b", 3), ("%", 1), ("x = 3", 5),
        ("add(_, axis=[1, b])", 17), ("(" * 60 + ")" * 60, 51), ("const=_", 1), ("a.b=_", 1), ("add(_, shape=_)", 8),
        ("@1(_)", 2), ("~", 2), ("_[99999999999999999999]", 3),
        ('"open', 1),
    ],
)  # fmt: skip
def test_a_mistake_has_a_place(text: str, column: int) -> None:
    with pytest.raises(rxe.Failure) as failure:
        read_pattern(text)
    (problem,) = failure.value.diagnostics
    assert problem.code.id == "RX0030"
    assert problem.span is not None
    assert problem.span.column + 1 == column


def test_an_operator_is_known_by_its_last_part_if_that_is_enough() -> None:
    assert names("relu(_)", main("y1 = R.nn.relu(x)\nreturn y1")) == ["y1"]
    with pytest.raises(rxe.Failure, match="may be"):
        read_pattern("alloc_tensor(...)")


def test_matching_is_linear_in_the_bindings() -> None:
    def work(count: int) -> int:
        lines = "\n".join(f"    v{n} = R.add(v{n - 1 if n else 'x'}, x)" for n in range(count)).replace(
            "vx", "x"
        )
        fn = main(f"with R.dataflow():\n{lines}\n    R.output(v{count - 1})\nreturn v{count - 1}")
        patterns = [
            read_pattern(text)
            for text in ("add(add(add(_, _), _), _)", "_ ^ _ ^ _ ^ sin(_)", "add(_, _) ^ add(_, _) ^ ~_")
        ]
        found: list[int] = []
        count_of_calls = calls(
            lambda: found.extend(len(list(occurrences(fn, pattern))) for pattern in patterns)
        )
        assert found == [count - 2, 0, 0]
        return count_of_calls

    assert work(800) < 8 * 1.1 * work(100)
