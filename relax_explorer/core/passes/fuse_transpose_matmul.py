"""FuseTransposeMatmul: multiply with a transposed matrix in one kernel."""

from __future__ import annotations

from collections.abc import Sequence

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.ops.kit.te import Te, Tensor
from relax_explorer.core.ops.tensor.linalg import product
from relax_explorer.core.passes.contract import PassSite, by_name, module_pass
from relax_explorer.core.passes.fuse_ops_by_pattern import FusionPattern, fused
from relax_explorer.core.passes.properties import ADDED_KERNELS, NORMAL_FORM
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite
from relax_explorer.core.patterns.matcher import Match
from relax_explorer.core.patterns.pattern import is_op, wildcard
from relax_explorer.core.program.module import IRModule


@module_pass("FuseTransposeMatmul", requires=[NORMAL_FORM], invalidates=ADDED_KERNELS)
def fuse_transpose_matmul(module: IRModule, at: PassSite) -> IRModule:
    """Replace `matmul(x, permute_dims(w))` in dataflow blocks by a call of a PrimFunc that reads w as it is.

    The last two axes must be swapped. As in TVM, the composite function of the match stays in the module, until
    DeadCodeElimination drops it. Run this pass before LegalizeOps.
    """
    fused(module, at, [FusionPattern(_NAME, _PRODUCT, _swaps_last_axes)], bind_constants=False)
    functions = by_name(at.editor.done())
    composites = {
        name: fn.ret_struct_info
        for name, fn in functions
        if fn.attrs.get("Composite") == _NAME and _gives_product(fn)
    }

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        value = binding.value
        if type(value) is not e.Call or type(value.op) is not e.GlobalVar or value.op.name not in composites:
            return binding
        out = value.struct_info
        assert out is not None  # the module is normalized
        args = value.args[1], value.args[0]
        infos = [arg.struct_info or s.OBJECT for arg in args]
        call = walk.front_of(binding).call_te("NT_matmul", _kernel, args, infos, out)
        return replace(binding, value=call)

    for name, fn in functions if composites else ():
        if name not in composites:
            at.editor.replace(name, rewrite(fn, at, rule))
    return at.editor.done()


def _gives_product(fn: e.Function) -> bool:
    """True if the result of a composite function is the product. If nothing reads it, the result is the transposed matrix."""
    last = next((b.value for b in bindings(fn) if b.var is fn.body.body), None)
    return type(last) is e.Call and last.op is e.op_ref("relax.matmul")


_NAME = "transpose_matmul_fuse"
_W = wildcard()
_TRANSPOSED = is_op("relax.permute_dims")(_W)
_X = wildcard()
_PRODUCT = is_op("relax.matmul")(_X, _TRANSPOSED)


def _swaps_last_axes(found: Match) -> bool:
    info, axes = found[_W].struct_info, found.call(_TRANSPOSED).attrs.get("axes")
    rank = info.ndim if isinstance(info, s.TensorStructInfo) else -1
    if rank < 2 or found[_X] is found[_W]:
        return False
    return rank == 2 if axes is None else axes == (*range(rank - 2), rank - 1, rank - 2)


class _Transposed(Tensor):
    """A tensor whose last two axes are swapped when it is read."""

    @property
    def shape(self) -> tuple[p.PrimExpr, ...]:
        """The lengths of the swapped axes."""
        *lead, rows, columns = super().shape
        return (*lead, columns, rows)

    def __getitem__(self, index: p.PrimExpr | int | Sequence[p.PrimExpr | int]) -> p.PrimExpr:
        assert isinstance(index, tuple)  # a matrix has two axes
        *lead, row, column = index
        return super().__getitem__((*lead, column, row))


def _kernel(te: Te, x: Tensor, w: Tensor, out: s.StructInfo) -> Tensor:
    assert isinstance(out, s.TensorStructInfo)  # the result of a product
    return product(te, "NT_matmul", x, _Transposed(w.buffer), out.dtype)
