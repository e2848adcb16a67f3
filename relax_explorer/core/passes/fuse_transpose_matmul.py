"""FuseTransposeMatmul: multiply with a transposed matrix in one kernel."""

from __future__ import annotations

from collections.abc import Sequence

from relax_explorer.core.check.infer import UNREPORTED
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.ops.kit.te import Te, Tensor
from relax_explorer.core.ops.tensor.linalg import product
from relax_explorer.core.passes.contract import PassSite, by_name, module_pass
from relax_explorer.core.passes.fuse_ops_by_pattern import FusionPattern, fused
from relax_explorer.core.passes.readings import DATAFLOW, OPERATORS
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite
from relax_explorer.core.patterns.matcher import Match
from relax_explorer.core.patterns.pattern import is_op, wildcard
from relax_explorer.core.phases.module_properties import ADDED_KERNELS, NORMAL_FORM
from relax_explorer.core.program.module import IRModule


@module_pass(
    "FuseTransposeMatmul",
    rebuilds=True,
    reads=[DATAFLOW, OPERATORS],
    requires=[NORMAL_FORM],
    invalidates=ADDED_KERNELS,
)
def fuse_transpose_matmul(module: IRModule, at: PassSite) -> IRModule:
    """Replace `matmul(x, permute_dims(w))` in dataflow blocks by a call of a PrimFunc that reads w as it is.

    The last two axes must be swapped. As in TVM, the composite function of the match stays in the module, until
    DeadCodeElimination drops it. Run this pass before LegalizeOps.
    """
    fused(module, at, [FusionPattern(_NAME, _PRODUCT, _swaps_last_axes)], bind_constants=False)
    functions = by_name(at.editor.done())
    composites = {
        name: product for name, fn in functions
        if fn.attrs.get("Composite") == _NAME and (product := _product_of(fn)) is not None
    }  # fmt: skip

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        value = binding.value
        if type(value) is not e.Call or type(value.op) is not e.GlobalVar or value.op.name not in composites:
            return binding
        args = value.args[1], value.args[0]
        infos = [arg.struct_info or s.OBJECT for arg in args]
        out = _result(composites[value.op.name], *infos)
        if not isinstance(out, s.TensorStructInfo):  # lengths that the call does not tell
            return binding
        call = walk.front_of(binding).call_te("NT_matmul", _kernel, args, infos, out)
        known = binding.var.struct_info if binding.var is not None else None
        return replace(binding, value=call, annotation=None if known is out else known)

    for name, fn in functions if composites else ():
        if name not in composites:
            at.editor.replace(name, rewrite(fn, at, rule))
    return at.editor.done()


def _product_of(fn: e.Function) -> e.Call | None:
    """The product in a composite function. None if nothing reads it: then the result is the transposed matrix."""
    last = next((b.value for b in bindings(fn) if b.var is fn.body.body), None)
    return last if type(last) is e.Call and last.op is e.op_ref("relax.matmul") else None


def _result(product: e.Call, x: s.StructInfo, w: s.StructInfo) -> s.StructInfo:
    """The StructInfo of a product with a matrix before it is transposed. The variable of the product may know less."""
    assert isinstance(w, s.TensorStructInfo)  # the pattern asks for its lengths
    assert w.dims is not None  # likewise
    *lead, rows, columns = w.dims
    swapped = s.TensorStructInfo((*lead, columns, rows), w.dtype, w.ndim, w.vdevice)
    operands = e.Var("x", x), e.Var("w", swapped)
    return UNREPORTED.info(replace(product, args=operands, struct_info=None))


_NAME = "transpose_matmul_fuse"
_W = wildcard()
_TRANSPOSED = is_op("relax.permute_dims")(_W)
_X = wildcard()
_PRODUCT = is_op("relax.matmul")(_X, _TRANSPOSED)


def _swaps_last_axes(found: Match) -> bool:
    axes = found.call(_TRANSPOSED).attrs.get("axes")
    infos = [found[operand].struct_info for operand in (_W, _X)]
    if not all(isinstance(info, s.TensorStructInfo) and info.dims is not None for info in infos):
        return False  # a kernel knows the lengths of its operands
    rank = infos[0].ndim if isinstance(infos[0], s.TensorStructInfo) else -1
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
