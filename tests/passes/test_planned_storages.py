"""StaticPlanBlockMemory: which storages there are, how large they are, and who uses them."""

from __future__ import annotations

import ast
import re

import pytest

from relax_explorer.core.check.normalize import normalize
from relax_explorer.core.passes.pipeline import apply_pass
from relax_explorer.core.syntax.parser import parse

KERNEL = """    @T.prim_func
    def k{source}{to}(a: T.handle, b: T.handle):
        {lengths} = T.int64(), T.int64(), T.int64(), T.int64()
        A = T.match_buffer(a, ({first},), "float32")
        B = T.match_buffer(b, ({second},), "float32")
        T.evaluate(0)

"""
KERNELS = "".join(
    [
        KERNEL.format(
            source=source,
            to=to,
            lengths="p, q, r, s",
            first=", ".join("pq"[:source]),
            second=", ".join("rs"[:to]),
        )
        for source in (1, 2)
        for to in (1, 2)
    ]
)


def planned(body: str, attrs: str = "") -> tuple[list[str], dict[str, str]]:
    """The sizes of the storages in order, and the storage of each planned tensor, of a program with this body."""
    lines = "\n".join(["        " + line for line in body.strip().split("\n")])
    text = (
        f"@I.ir_module\nclass M:\n{KERNELS}    @R.function(pure=False)\n"
        '    def main(x: R.Tensor((1,), "float32"), of: R.Shape(["n", "m"]), c: R.Tensor((), "bool")) -> R.Object:\n'
        f"        R.func_attr({{{attrs}}})\n        n = T.int64()\n        m = T.int64()\n        cls = M\n{lines}\n"
    )
    result = apply_pass(parse(text), "StaticPlanBlockMemory")
    printed = result.script()
    storages = re.findall(r"(\w+): \S+ = R\.memory\.alloc_storage\(R\.shape\(\[(.*?)\]\)", printed)
    tensors = re.findall(r"(\w+): R\.Tensor.* = R\.memory\.alloc_tensor\((\w+), ", printed)
    return [size for _, size in storages], dict(tensors)


def rank_of(lengths: str) -> int:
    """How many lengths there are."""
    listed = ast.parse(f"[{lengths}]", mode="eval").body
    assert isinstance(listed, ast.List)
    return len(listed.elts)


def chain(*lengths: str) -> str:
    """Tensors of these lengths, each made from the one before. The last tensor is the result, which is not planned."""
    lines, before, rank = [], "x", 1
    for number, length in enumerate([*lengths, "1"]):
        now = rank_of(length)
        lines.append(
            f"t{number} = R.builtin.alloc_tensor(R.shape([{length}]), R.dtype('float32'), R.prim_value(0))"
        )
        lines.append(f"cls.k{rank}{now}({before}, t{number})")
        before, rank = f"t{number}", now
    return "\n".join([*lines, f"return {before}"])


BOUND = '"tir_var_upper_bound": {"n": 10}'


@pytest.mark.parametrize(
    ("length", "attrs", "size"),
    [
        ("n", BOUND, "40"),
        ("n + 2", BOUND, "48"),
        ("10 - n", BOUND, "40"),
        ("20 - n", BOUND, "80"),
        ("T.max(10 - n, 3)", BOUND, "40"),
        ("n * n", BOUND, "400"),
        ("n * (10 - n)", BOUND, "400"),
        ("m", BOUND, "4 * m"),
        ("m - n", BOUND, "4 * (m - n)"),
        ("n % 4", "", "12"),
        ("n % 4", BOUND, "12"),
        ("T.min(n, 4)", "", "16"),
        ("n", "", "4 * n"),
        ("n + 1", "", "4 * (n + 1)"),
        ("n, m", BOUND, "40 * m"),
    ],
)
def test_a_storage_is_as_large_as_the_tensor_can_be(length: str, attrs: str, size: str) -> None:
    assert planned(chain(length), attrs) == ([size], {"t0": "storage"})


@pytest.mark.parametrize(
    ("first", "third", "is_shared"),
    [
        ("n * 2, m", "n, m * 2", True),
        ("n + 1", "1 + n", True),
        ("n + n", "n * 2", True),
        ("n * (m + 1)", "n * m + n", True),
        ("n, m", "m, n", True),
        ("n", "m", False),
        ("n + 1", "n", False),
        ("n // 2 * 2", "n", False),
    ],
)
def test_equal_sizes_share_a_storage_however_they_are_written(
    first: str, third: str, is_shared: bool
) -> None:
    _, tensors = planned(chain(first, "3", third))
    assert (tensors["t0"] == tensors["t2"]) is is_shared
    assert tensors["t1"] not in (tensors["t0"], tensors["t2"])


def test_a_larger_tensor_widens_a_free_storage() -> None:
    assert planned(chain("8", "8", "10"))[0] == ["40", "32"]


BRANCH = """
a = R.builtin.alloc_tensor(R.shape([8]), R.dtype("float32"), R.prim_value(0))
cls.k11(x, a)
b = R.builtin.alloc_tensor(R.shape([8]), R.dtype("float32"), R.prim_value(0))
cls.k11(a, b)
if c:
    u = R.builtin.alloc_tensor(R.shape([8]), R.dtype("float32"), R.prim_value(0))
    cls.k11(x, u)
    v = R.builtin.alloc_tensor(R.shape([LENGTH]), R.dtype("float32"), R.prim_value(0))
    cls.k11(u, v)
    cls.k11(v, x)
    y = x
else:
    o = R.builtin.alloc_tensor(R.shape([8]), R.dtype("float32"), R.prim_value(0))
    cls.k11(x, o)
    cls.k11(o, x)
    y = x
d = R.builtin.alloc_tensor(R.shape([LENGTH]), R.dtype("float32"), R.prim_value(0))
cls.k11(b, d)
r = R.builtin.alloc_tensor(R.shape([8]), R.dtype("float32"), R.prim_value(0))
cls.k11(d, r)
return (r, y)
"""


@pytest.mark.parametrize("length", ["500", "n"])
def test_branches_use_what_is_free_around_them_and_keep_their_own(length: str) -> None:
    sizes, tensors = planned(BRANCH.replace("LENGTH", length))
    assert tensors["u"] == tensors["o"] == tensors["a"], "free around the branches, of which one runs"
    assert tensors["b"] not in [tensors[name] for name in "auovd"], "it is read behind the branches"
    assert tensors["v"] != tensors["d"], "only one branch allocates it"
    assert len(sizes) == 4


@pytest.mark.parametrize("length", ["500", "n"])
def test_a_storage_of_a_branch_is_not_used_by_the_other(length: str) -> None:
    body = BRANCH.replace(
        "o = R.builtin.alloc_tensor(R.shape([8])", "o = R.builtin.alloc_tensor(R.shape([LENGTH])"
    )
    _, tensors = planned(body.replace("LENGTH", length))
    assert tensors["v"] != tensors["o"]


def test_a_branch_within_a_branch_leaves_the_storages_of_the_outer_one() -> None:
    inner = """
    if c:
        w = R.builtin.alloc_tensor(R.shape([700]), R.dtype("float32"), R.prim_value(0))
        cls.k11(x, w)
        cls.k11(w, x)
        z = x
    else:
        z = x
    y = z
else:
"""
    sizes, tensors = planned(
        BRANCH.replace("LENGTH", "500").replace("    y = x\nelse:\n", inner.strip("\n") + "\n")
    )
    assert tensors["w"] == tensors["v"] != tensors["d"]
    assert sizes == ["32", "32", "2800", "2000"]


def test_what_a_branch_only_matches_is_planned() -> None:
    body = """
a = R.builtin.alloc_tensor(R.shape([8]), R.dtype("float32"), R.prim_value(0))
cls.k11(x, a)
if c:
    b = R.match_cast(a, R.Tensor((8,), "float32"))
    y = x
else:
    y = x
return y
"""
    assert planned(body)[1] == {"a": "storage"}


def test_what_a_branch_reads_is_not_planned() -> None:
    body = """
a = R.builtin.alloc_tensor(R.shape([8]), R.dtype("float32"), R.prim_value(0))
cls.k11(x, a)
if c:
    cls.k11(a, x)
    y = x
else:
    y = x
return y
"""
    assert planned(body) == ([], {})


@pytest.mark.parametrize(
    ("call", "storages"),
    [
        (
            'R.call_packed("vm.builtin.reshape", a, R.shape([8]), ty_args=(R.Tensor((8,), "float32"),))',
            {"a": 0, "t": 1, "u": 0},
        ),
        ('R.call_packed("my.f", a, ty_args=(R.Tensor((8,), "float32"),))', {"t": 0, "u": 1}),
        (
            'R.call_packed("relax.run.unique", a, ty_args=(R.Tensor((8,), "float32"),))',
            {"a": 0, "t": 0, "u": 1},
        ),
        ("R.cumsum(a)", {"a": 0, "t": 0, "u": 1}),
    ],
)
def test_a_result_may_stand_for_an_operand(call: str, storages: dict[str, int]) -> None:
    tensor = 'R.builtin.alloc_tensor(R.shape([8]), R.dtype("float32"), R.prim_value(0))'
    body = f"a = {tensor}\ncls.k11(x, a)\nb = {call}\nt = {tensor}\ncls.k11(b, t)\nu = {tensor}\ncls.k11(t, u)\ncls.k11(u, x)\nreturn x"
    _, found = planned(body)
    names = sorted(set(found.values()), key=list(found.values()).index)
    assert {tensor: names.index(storage) for tensor, storage in found.items()} == storages


DYNAMIC = '"relax.memory_plan_dynamic_func_output": True'
RESULTS = """
a = R.builtin.alloc_tensor(R.shape([n, 4]), R.dtype("float32"), R.prim_value(0))
_ = cls.k12(x, a)
b = R.builtin.alloc_tensor(R.shape([3, 4]), R.dtype("float32"), R.prim_value(0))
_1 = cls.k22(a, b)
if c:
    d = R.builtin.alloc_tensor(R.shape([m, n]), R.dtype("float16"), R.prim_value(0))
    r = d
else:
    w = R.builtin.alloc_tensor(R.shape([m, n]), R.dtype("float16"), R.prim_value(0))
    r = w
return (a, (b, r))
"""


def test_results_of_symbolic_lengths_have_storages_if_the_function_asks_for_them() -> None:
    assert planned(RESULTS) == ([], {})
    assert planned(RESULTS, DYNAMIC.replace("True", "False")) == ([], {})
    sizes, tensors = planned(RESULTS, DYNAMIC)
    assert sizes == ["n * 4 * 4", "m * n * 2", "m * n * 2"]
    assert tensors == {"a": "storage", "d": "storage1", "w": "storage2"}
    sizes, _ = planned(RESULTS, DYNAMIC + ', "tir_var_upper_bound": {"n": 8}')
    assert sizes == ["128", "m * 8 * 2", "m * 8 * 2"]


@pytest.mark.parametrize("body", ["return x", RESULTS])
def test_the_wish_for_storages_of_results_is_granted_once(body: str) -> None:
    lines = "\n".join(["        " + line for line in body.strip().split("\n")])
    text = f"""@I.ir_module
class M:
{KERNELS}    @R.function(pure=False)
    def main(x: R.Tensor((1,), "float32"), of: R.Shape(["n", "m"]), c: R.Tensor((), "bool")) -> R.Object:
        R.func_attr({{{DYNAMIC}}})
        n, m = T.int64(), T.int64()
        cls = M
{lines}
"""
    once = apply_pass(normalize(parse(text)), "StaticPlanBlockMemory")
    assert "memory_plan_dynamic" not in once.script()
    assert apply_pass(once, "StaticPlanBlockMemory") is once


def test_the_wish_for_storages_of_results_changes_no_other_storage() -> None:
    body = chain("n", "n", "n, 1", "n").replace("shape([1])", "shape([m])")
    sizes, tensors = planned(body)
    dynamic, more = planned(body, DYNAMIC)
    assert len(sizes) < len(tensors)  # some are shared
    assert dynamic == [*sizes, "m * 4"]
    assert {name: more[name] for name in tensors} == tensors
