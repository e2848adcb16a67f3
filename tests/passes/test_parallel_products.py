"""CombineParallelMatmul: which products become one, in which order, and that results stay."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.facts import forget, has_facts
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.passes import combine_parallel_matmul
from tests.passes.test_passes import body
from tests.passes.test_pattern_passes import in_graph
from tests.support.roundtrip import function
from tests.support.work import calls

SHAPES = {
    "x": (4, 8),
    "a": (8, 6),
    "b": (8, 3),
    "c": (8, 2),
    "ab": (6,),
    "bb": (3,),
    "one": (1,),
    "sq": (8, 8),
}
PARAMS = ", ".join(f'{name}: R.Tensor({shape}, "float32")' for name, shape in SHAPES.items())


def products(lines: str, outputs: str) -> int:
    """The number of products after the pass. The results of a run are the same."""
    module = rxe.normalize(rxe.parse(function(in_graph(lines, outputs), PARAMS)))
    result = rxe.apply_pass(module, "CombineParallelMatmul")
    assert rxe.well_formed(result)
    inputs = [
        np.random.default_rng(n).standard_normal(shape).astype("float32")
        for n, shape in enumerate(SHAPES.values())
    ]
    ours, theirs = (rxe.run(program, "main", inputs) for program in (result, module))
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
    return sum("R.matmul" in line for line in body(result))


@pytest.mark.parametrize(
    ("lines", "outputs", "count"),
    [
        ("y = R.matmul(x, a)\nz = R.matmul(x, b)", "y, z", 1),
        ("y = R.matmul(x, a)\nz = R.matmul(x, b)\nw = R.matmul(x, c)", "y, z, w", 1),
        ("y = R.add(R.matmul(x, a), ab)\nz = R.add(bb, R.matmul(x, b))", "y, z", 1),
        ("y = R.nn.relu(R.add(R.matmul(x, a), ab))\nz = R.nn.relu(R.add(R.matmul(x, b), bb))", "y, z", 1),
        ("y = R.nn.relu(R.matmul(x, a))\nz = R.nn.gelu(R.matmul(x, b))", "y, z", 1),
        ("y = R.add(R.matmul(x, a), ab)\nz = R.nn.relu(R.matmul(x, b))", "y, z", 1),
        (
            "y = R.add(R.matmul(x, a), ab)\nz = R.add(R.matmul(x, b), one)",
            "y, z",
            1,
        ),  # a bias of length 1 stays outside
        (
            "y = R.matmul(x, a)\nz = R.matmul(x, R.exp(b))\nw = R.exp(y)",
            "y, z, w",
            1,
        ),  # the matrix comes later
        (
            "y = R.matmul(x, a)\nz = R.matmul(x, R.matmul(sq, R.matmul(R.permute_dims(x), y)))",
            "y, z",
            4,
        ),  # a matrix needs a result
        ("y = R.matmul(x, a)\nz = R.matmul(x, R.reshape(y, R.shape([8, 3])))", "y, z", 2),
        (
            "y = R.add(R.matmul(x, a), ab)\nz = R.add(R.matmul(x, b), R.mean(R.reshape(y, R.shape([8, 3])), axis=[0]))",
            "y, z",
            1,
        ),  # a bias needs a result, so the products are one without biases
        ("y = R.matmul(x, a)\nz = R.matmul(x, a)", "y, z", 2),  # no distinct matrices
        ("y = R.matmul(sq, sq)\nz = R.matmul(sq, a)", "y, z", 2),
        ("y = R.matmul(x, a)\nz = R.matmul(x, b, out_dtype='float16')", "y, z", 2),
        ("y = R.nn.relu(R.matmul(x, a))\np = R.matmul(x, b)\nz = R.nn.relu(p)", "y, z, p", 2),
    ],
)
def test_products_with_one_left_operand_are_one(lines: str, outputs: str, count: int) -> None:
    assert products(lines, outputs) == count


def test_the_members_are_recorded_and_memory_is_respected() -> None:
    text = "y = R.matmul(x, a)\n{}z = R.matmul(x, b)\nreturn (y, z)"
    write = 'w = R.call_inplace_packed("bump", b, inplace_indices=[0], sinfo_args=(R.Tensor((8, 3), "float32"),))\n'
    for between, count in (("", 1), (write, 2)):
        result = rxe.apply_pass(
            rxe.normalize(rxe.parse(function(text.format(between), PARAMS))), "CombineParallelMatmul"
        )
        assert sum("R.matmul" in line for line in body(result)) == count


def test_combining_takes_time_linear_in_the_products() -> None:
    def work(count: int) -> int:
        lines = "\n".join(
            f"v{n} = R.matmul({f'w{n - 1}' if n else 'x'}, a{n})\nw{n} = R.matmul({f'w{n - 1}' if n else 'x'}, b{n})"
            for n in range(count)
        )
        matrices = ", ".join(f'{name}{n}: R.Tensor((8, 8), "float32")' for n in range(count) for name in "ab")
        module = rxe.normalize(
            rxe.parse(
                function(in_graph(lines, f"w{count - 1}, v0"), f'x: R.Tensor((4, 8), "float32"), {matrices}')
            )
        )
        results: list[rxe.IRModule] = []
        count_of_calls = calls(lambda: results.append(rxe.apply_pass(module, "CombineParallelMatmul")))
        (result,) = results
        assert len(list(bindings(result["main"]))) > count  # type: ignore[arg-type]
        return count_of_calls

    assert work(400) < 8 * 1.1 * work(50)


@pytest.mark.parametrize("others", ["", "u = R.matmul(x, v)\n"], ids=["matrices", "a vector, too"])
def test_products_of_a_vector_are_combined(others: str) -> None:
    params = 'x: R.Tensor((8,), "float32"), a: R.Tensor((8, 3), "float32"), b: R.Tensor((8, 2), "float32"), v: R.Tensor((8,), "float32")'
    module = rxe.normalize(
        rxe.parse(function(in_graph(f"{others}y = R.matmul(x, a)\nz = R.matmul(x, b)", "y, z"), params))
    )
    result = rxe.apply_pass(module, "CombineParallelMatmul")
    assert result is not module
    args = [
        np.arange(n, dtype="float32").reshape(shape) / 8
        for n, shape in ((8, (8,)), (24, (8, 3)), (16, (8, 2)), (8, (8,)))
    ]
    for before, after in zip(rxe.run(module, "main", args), rxe.run(result, "main", args), strict=True):
        np.testing.assert_allclose(after, before, rtol=1e-5)


@pytest.mark.parametrize(
    ("lines", "is_late"),
    [
        ("y = R.matmul(x, a)\nz = R.matmul(x, b)", False),
        ("e = R.exp(b)\ny = R.matmul(x, a)\nz = R.matmul(x, e)", False),
        ("y = R.matmul(x, a)\ne = R.exp(b)\nz = R.matmul(x, e)", True),
        ("y = R.add(R.matmul(x, a), ab)\ne = R.exp(bb)\nz = R.add(R.matmul(x, b), e)", True),
        ("p = R.matmul(x, a)\ne = R.exp(ab)\ny = R.add(p, e)\nz = R.add(R.matmul(x, b), bb)", False),
        ("y = R.matmul(x, a)\ne = R.exp(b)\nz = R.matmul(x, b)\nu = R.exp(e)", False),
    ],
)
def test_bindings_are_ordered_only_for_operands_that_come_late(lines: str, is_late: bool) -> None:
    module = rxe.normalize(rxe.parse(function(in_graph(lines, "y, z"), PARAMS)))
    fn = module["main"]
    assert isinstance(fn, e.Function)
    forget(fn)
    result, _ = rxe.passes.get("CombineParallelMatmul").apply(module)
    assert result is not module
    assert has_facts(fn) is is_late
    assert rxe.well_formed(result)


@pytest.mark.parametrize("late", [(True, False), (False, True), (True, True)])
def test_each_branch_may_have_operands_that_come_late(late: tuple[bool, bool]) -> None:
    branch = "    {0}1 = R.matmul({0}, a)\n    {0}2 = R.exp(b)\n    {0}3 = R.matmul({0}, {1})\n    w = R.concat(({0}1, {0}3), axis=1)\n"
    one, other = (
        branch.format(x, f"{x}2" if is_late else "b") for x, is_late in zip("xz", late, strict=True)
    )
    params = ", ".join(f'{name}: R.Tensor((8, 8), "float32")' for name in "xzab")
    text = function(f"if c:\n{one}else:\n{other}return w", f'{params}, c: R.Tensor((), "bool")')
    result = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "CombineParallelMatmul")
    assert rxe.well_formed(result)
    assert sum("R.matmul" in line for line in body(result)) == 2


@pytest.mark.parametrize("widths", [(2, 3, 4, 5), ("n", 3, 4, 5), (2, "n", 4, 5), (2, 3, "n", "k")])
def test_products_are_placed_without_comparing_them(
    widths: tuple[int | str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Comparing each product with the others would take a time that grows with the square of their number."""
    shapes = [f'"{width}"' if isinstance(width, str) else str(width) for width in widths]
    params = ", ".join([f'w{n}: R.Tensor((8, {shape}), "float32")' for n, shape in enumerate(shapes)])
    lines = "\n".join([f"y{n} = R.matmul(x, w{n})" for n in range(len(widths))])
    outputs = ", ".join([f"y{n}" for n in range(len(widths))])
    text = function(in_graph(lines, outputs), f'x: R.Tensor((4, 8), "float32"), {params}')
    module = rxe.normalize(rxe.parse(text))
    with monkeypatch.context() as patch:
        patch.setattr(combine_parallel_matmul._Branch, "__eq__", lambda one, other: pytest.fail("compared"))
        result = rxe.apply_pass(module, "CombineParallelMatmul")
    known = [n for n, width in enumerate(widths) if isinstance(width, int)]
    unknown = [n for n, width in enumerate(widths) if isinstance(width, str)]
    assert sum("R.matmul" in line for line in body(result)) == 1 + len(unknown[1:])
    order = [*known, *unknown[:1]]
    assert f"R.concat(({', '.join([f'w{n}' for n in order])}), axis=1)" in result.script()
    assert all(
        f"[{place}]" in next(line for line in body(result) if line.startswith(f"y{n}"))
        for place, n in enumerate(order)
    )
