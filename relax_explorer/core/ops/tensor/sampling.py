"""Operators that draw samples from distributions, from given random numbers."""

from __future__ import annotations

import numpy as np

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import INT64, DType
from relax_explorer.core.ir.prim_text import tuple_text
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit import te as loops
from relax_explorer.core.ops.kit.decl import Op, Site, attr, operand
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.ops.kit.special import wide
from relax_explorer.core.ops.kit.te import Te, Tensor, cast
from relax_explorer.core.ops.tensor.gather import inside, need_int
from relax_explorer.core.tir.stmt import Stmt


class MultinomialFromUniform(Op, name="relax.multinomial_from_uniform"):
    """For each draw, the first outcome at which the running sum of probabilities exceeds a uniform number.

    Outcomes are numbered from 0. If no sum exceeds the number, the result is the last outcome.
    """

    source = "TVM"
    raises = (codes.RANK_WRONG, codes.DIMS_DIFFER, codes.DTYPE_WRONG)
    prob: Tensor = operand(
        "a distribution in each row, [batch, outcomes]: floating point, a row adds up to 1"
    )
    uniform_sample: Tensor = operand("a number from 0 to 1 for each draw, [draws, 1]: floating point")
    sample_indices: Tensor = operand("the row that each draw is from, [draws, 1]: signed integers, from 0 on")
    dtype: DType = attr(INT64, "dtype of the result")
    examples = (
        "f32[3,5] f32[6,1] i64[6,1] -> i64[6,1]",
        'f32[3,n] f32[m,1] i32[m,1] dtype="int32" -> i32[m,1]',
    )

    @staticmethod
    def infer(
        at: Site, prob: s.StructInfo, uniform_sample: s.StructInfo, sample_indices: s.StructInfo, dtype: DType
    ) -> s.StructInfo:
        """[draws, 1], the given dtype."""
        operands = {
            "prob": rules.tensor(at, prob, "prob"),
            "uniform_sample": rules.tensor(at, uniform_sample, "uniform_sample"),
            "sample_indices": rules.tensor(at, sample_indices, "sample_indices"),
        }
        for name in ("prob", "uniform_sample"):
            rules.need_float(at, operands[name], name)
        need_int(at, operands["sample_indices"], "sample_indices")
        for name, info in operands.items():
            rules.need_rank(at, info, 2, name)
        if any(info.ndim < 0 for info in operands.values()):
            return s.TensorStructInfo(None, dtype)
        if any(info.dims is None for info in operands.values()):
            return s.TensorStructInfo(None, dtype, 2)
        draws, rows = operands["uniform_sample"].dims or (), operands["sample_indices"].dims or ()
        for name, dims in (("uniform_sample", draws), ("sample_indices", rows)):
            if dims[1] is not rules.ONE:
                message = f"the second length of {name} is {dims[1]}, 1 is needed"
                raise at.fail(codes.DIMS_DIFFER, message, **{name: f"shape {tuple_text(dims)}"})
        if at.equal(draws[0], rows[0]) is not Answer.YES:
            labels = {"uniform_sample": f"{draws[0]} draws", "sample_indices": f"{rows[0]} draws"}
            text = f"uniform_sample has {draws[0]} draws, sample_indices {rows[0]}"
            raise at.fail(codes.DIMS_DIFFER, text, **labels)
        return s.TensorStructInfo((draws[0], rules.ONE), dtype)

    @staticmethod
    def evaluate(prob: Array, uniform_sample: Array, sample_indices: Array, dtype: DType) -> Array:
        """All rows are summed at once."""
        rows = inside(sample_indices, prob.shape, 0, "sample_indices", "prob", from_end=False)[:, 0]
        sums = np.cumsum(wide(prob), axis=1)[rows]
        over = sums > wide(uniform_sample)
        first = (
            np.where(over.any(axis=1), over.argmax(axis=1), prob.shape[1] - 1) if prob.shape[1] else rows * 0
        )
        return first[:, None].astype(dtype.to_numpy())

    @staticmethod
    def legalize(
        te: Te, prob: Tensor, uniform_sample: Tensor, sample_indices: Tensor, dtype: DType
    ) -> Tensor:
        """A running sum for each draw."""
        draws, outcomes = uniform_sample.shape[0], prob.shape[1]
        outcome = loops.tensor(te, "T_multinomial", (draws, rules.ONE), dtype)
        first = loops.tensor(te, "T_first", (draws, rules.ONE), INT64)
        total = loops.tensor(te, "T_sum", (draws, rules.ONE), prob.dtype)

        def draw(i: p.PrimExpr) -> Stmt:
            row, sample = cast(sample_indices[(i, 0)], INT64), cast(uniform_sample[(i, 0)], prob.dtype)

            def step(k: p.PrimVar) -> Stmt:
                over = p.And(p.LT(sample, total[(i, 0)]), p.EQ(first[(i, 0)], outcomes))
                return loops.seq(
                    loops.store(total, (i, 0), p.Add(total[(i, 0)], prob[(row, k)])),
                    loops.when(over, loops.store(first, (i, 0), k)),
                )

            last = p.Max(p.Sub(outcomes, rules.ONE), rules.ZERO)
            return loops.seq(
                loops.check_index(row, prob.shape[0]),
                loops.store(total, (i, 0), 0),
                loops.store(first, (i, 0), outcomes),
                loops.loop(outcomes, step),
                loops.store(outcome, (i, 0), p.Min(first[(i, 0)], last)),
            )

        loops.ordered(te, (draws,), (outcome, first, total), draw)
        return outcome
