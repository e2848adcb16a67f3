"""Products: of one tensor with several matrices in one (CombineParallelMatmul), and with a transposed one (FuseTransposeMatmul)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as changed
from functools import cached_property
from itertools import pairwise
from operator import is_

from relax_explorer.core.arith.prove import Answer, shapes_equal
from relax_explorer.core.build.block_builder import BlockBuilder
from relax_explorer.core.check.aliases import aliases
from relax_explorer.core.check.infer import UNREPORTED
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dataflow import reachable
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.ir.facts import Facts, facts, reads
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import all_blocks, bindings, called, infos_of, map_sequences, with_blocks
from relax_explorer.core.ops.kit.te import Te, Tensor
from relax_explorer.core.ops.tensor.linalg import product
from relax_explorer.core.passes.contract import PassSite, by_name, function_pass, module_pass
from relax_explorer.core.passes.fusion_groups import FusionPattern, fused
from relax_explorer.core.passes.pattern_rules import call, finished
from relax_explorer.core.passes.readings import DATAFLOW, OPERATORS, operators
from relax_explorer.core.passes.rewrite import Answer as Rewritten
from relax_explorer.core.passes.rewrite import Rewriter, rewrite
from relax_explorer.core.patterns.matcher import Match
from relax_explorer.core.patterns.pattern import is_op, wildcard
from relax_explorer.core.phases.module_properties import ADDED_KERNELS, NORMAL_FORM
from relax_explorer.core.program.module import IRModule

ACTIVATIONS = ("relax.nn.relu", "relax.nn.gelu", "relax.nn.gelu_tanh", "relax.nn.silu")


@function_pass(
    "CombineParallelMatmul",
    reads=[operators("matmul")],
    has_profiles=True,
    requires=[NORMAL_FORM],
)
def combine_parallel_matmul(fn: e.Function, at: PassSite) -> e.Function:
    """Replace `matmul(x, a)` and `matmul(x, b)` by parts of `split(matmul(x, concat((a, b))))`.

    If all products of x have a bias, an activation (relu, gelu, gelu_tanh, silu) or both, so does the common one. As in TVM, the
    products of x must stand in one block, with distinct variables as matrices, and as biases if all have one, and matrices of one rank
    must have equal batches.
    Of the matrices of unknown width, only the first one takes part.
    """
    combiner = _Combiner(fn, at)
    return finished(combiner.function(), fn, at) if combiner.has_parallels else fn


@dataclass(frozen=True, slots=True)
class _Branch:
    """A product with one matrix, and the bias and the activation behind it. `last` binds the result."""

    product: e.VarBinding
    x: e.Var
    matrix: e.Expr
    last: e.VarBinding
    bias: e.Expr | None = None
    activation: str = ""

    @property
    def level(self) -> tuple[int, str]:
        """The rank of the bias (-1 without one), and the activation."""
        return (-1 if self.bias is None else _rank(self.bias)), self.activation


def _branch(binding: e.Binding, known: Mapping[e.Expr, _Branch]) -> _Branch | None:
    """The branch that a binding begins or continues."""
    value = binding.value
    if type(binding) is not e.VarBinding or type(value) is not e.Call or value.op not in _OPERATORS:
        return None
    if value.op is _PRODUCT and isinstance(value.args[0], e.Var) and _rank(value.args[1]) > 1:
        return _Branch(binding, value.args[0], value.args[1], binding)
    if value.op is _SUM:
        for product, bias in (value.args, value.args[::-1]):
            branch = known.get(product)
            if branch is not None and branch.last is branch.product and _rank(bias) > 0:
                return changed(branch, last=binding, bias=bias)
    branch = known.get(value.args[0]) if value.op in _ACTIVATIONS else None
    if branch is None or branch.activation:
        return None
    return changed(branch, last=binding, activation=_ACTIVATIONS[value.op])


_PRODUCT, _SUM = e.op_ref("relax.matmul"), e.op_ref("relax.add")
_ACTIVATIONS: dict[e.Expr, str] = {e.op_ref(name): name for name in ACTIVATIONS}
_OPERATORS = frozenset({_PRODUCT, _SUM, *_ACTIVATIONS})


def _left(binding: e.Binding) -> e.Expr | None:
    """The left operand if the binding is a product of any rank."""
    value = binding.value
    if type(value) is not e.Call or value.op is not _PRODUCT or not isinstance(value.args[0], e.Var):
        return None
    return value.args[0]


class _Combiner:
    """Combines the products of one function."""

    def __init__(self, fn: e.Function, at: PassSite) -> None:
        self.fn, self.at = fn, at
        self.bindings = list(bindings(fn))
        self.front: dict[e.Binding, list[e.Binding]] = {}
        self.before: dict[e.Binding, e.Var] = {}  # of a new binding, the variable of the one before it
        self.replaced: dict[e.Binding, e.Binding] = {}
        self.has_parallels = False  # true if two products have the same left operand
        self.are_late = False  # true if a group reads something that is bound after its first result
        self.levels = self._levels()

    @cached_property
    def builder(self) -> BlockBuilder:
        """A builder for common products."""
        return BlockBuilder(self.at.editor, within=self.fn)

    @cached_property
    def facts(self) -> Facts:
        """What the bindings read. Only groups that read something bound later ask for it."""
        return facts(self.fn)

    @cached_property
    def blocks(self) -> dict[e.Binding, e.BindingBlock]:
        """The block of each binding."""
        return {b: block for block in all_blocks(self.fn) for b in block.bindings}

    @cached_property
    def number(self) -> dict[e.Binding, int]:
        """The numbers of the bindings, in text order."""
        return {binding: number for number, binding in enumerate(self.bindings)}

    @cached_property
    def defs(self) -> dict[e.Expr | None, int]:
        """The numbers of the bindings by their variables."""
        return {binding.var: number for number, binding in enumerate(self.bindings)}

    def function(self) -> e.Function:
        """The function with common products."""
        for levels in self.levels.values():
            for branches in sorted([row for row in levels.values() if len(row) > 1], key=_preference):
                groups = self._groups(branches)
                for group in groups:
                    self._combine(group)
                if groups or not _are_apart(branches):
                    break
        return replace(self.fn, body=self._sequence(self.fn.body)) if self.front else self.fn

    def _levels(self) -> dict[e.Var, dict[tuple[int, str], list[_Branch]]]:
        """The branches of each left operand, by bias and activation."""
        levels: dict[e.Var, dict[tuple[int, str], list[_Branch]]] = {}
        known: dict[e.Expr, _Branch] = {}
        lefts = set[e.Expr]()
        for binding in self.bindings:
            left = _left(binding)
            self.has_parallels |= left in lefts
            lefts.update((left,) if left is not None else ())
            branch = _branch(binding, known)
            if branch is not None:
                known[branch.last.var] = branch
                levels.setdefault(branch.x, {}).setdefault(branch.level, []).append(branch)
        return levels

    def _groups(self, branches: list[_Branch]) -> list[list[_Branch]]:
        """The branches of one level that can be combined, by the rank of the matrix. Empty if they don't fit together."""
        matrices = [branch.matrix for branch in branches]
        are_apart = len({branches[0].x, *matrices}) == len(matrices) + 1 and all(
            isinstance(m, e.Var) for m in matrices
        )
        blocks = {self.blocks[branch.last] for branch in branches}
        if not are_apart or not _are_apart(branches) or len(blocks) > 1:
            return []
        memory = aliases(self.at.module, self.at.function, self.fn)
        read = (part for b in branches for part in (b.x, b.matrix, b.bias, b.product.var, b.last.var))
        if any(memory.written(part) for part in read if part is not None):
            return []
        by_rank: dict[int, list[_Branch]] = {}
        for branch in branches:
            by_rank.setdefault(_rank(branch.matrix), []).append(branch)
        groups = [_with_known_ends(group) for group in by_rank.values() if _fit(group)]
        return [group for group in groups if len(group) > 1 and not self._needs_itself(group)]

    def _needs_itself(self, group: list[_Branch]) -> bool:
        """True if a matrix or bias of a group depends on one of its results."""
        results = {branch.last.var for branch in group}
        first = min(self.number[branch.last] for branch in group)

        def read(var: e.Var) -> list[e.Var]:
            number = self.defs.get(var, -1)
            return self.facts.operands[number] if number > first else []

        needed = reachable(_weights(group), read)
        return not results.isdisjoint(needed)

    def _combine(self, group: Sequence[_Branch]) -> None:
        """Emit the common product in front of the first result, and replace each result by its part."""
        ordered = sorted(group, key=lambda branch: self.number[branch.last])
        first = self.number[ordered[0].last]
        self.are_late |= any(self.defs.get(part, -1) > first for part in _weights(group))
        build = self.builder.restart(
            type(self.blocks[ordered[0].last]) is e.DataflowBlock, group[0].product.value
        )
        parts = build.emit(_split(group))
        new = list(build.bindings)
        places = {branch.last: place for place, branch in enumerate(group)}
        for branch in ordered:
            old = branch.last
            item = e.TupleGetItem(parts, places[old], old.var.struct_info, old.span)
            self.replaced[old] = replace(old, value=item)
        self.front.setdefault(ordered[0].last, []).extend(new)
        self.before.update({later: b.var for b, later in pairwise(new) if b.var is not None})
        self.at.record(tuple([b.last for b in ordered]), (*new, *[self.replaced[b.last] for b in ordered]))

    def _sequence(self, seq: e.SeqExpr) -> e.SeqExpr:
        """A sequence, its branches included, with the new bindings."""
        blocks = []
        for block in seq.blocks:
            row: list[e.Binding] = []
            for binding in block.bindings:
                row += self.front.get(binding, ())
                row.append(self.replaced.get(binding) or map_sequences(binding, self._sequence))
            same = len(row) == len(block.bindings) and all(map(is_, row, block.bindings))
            order = self._when_ready(row) if self.are_late else row
            blocks.append(block if same else replace(block, bindings=tuple(order)))
        return with_blocks(seq, blocks)

    def _behind(self, new: e.Binding) -> Sequence[e.Var]:
        """The variables behind which a new binding comes: those that it reads, and that of the new binding before it."""
        before = self.before.get(new)
        return reads(new) if before is None else (*reads(new), before)

    def _when_ready(self, bindings: Sequence[e.Binding]) -> Iterator[e.Binding]:
        """The bindings in order, each as soon as those that it reads are there."""
        missing = {binding.var for binding in bindings if binding.var is not None}
        waiting: dict[e.Var, list[e.Binding]] = {}
        for binding in bindings:
            stack = [binding]
            while stack:
                current = stack.pop()
                number = self.facts.number.get(current)
                read = self._behind(current) if number is None else self.facts.operands[number]
                needed = next((var for var in read if var in missing and var is not current.var), None)
                if needed is not None:
                    waiting.setdefault(needed, []).append(current)
                    continue
                yield current
                if current.var is not None:
                    missing.discard(current.var)
                    stack += waiting.pop(current.var, [])[::-1]


def _weights(group: Sequence[_Branch]) -> list[e.Var]:
    """The variables that hold the matrices and biases of branches."""
    return [part for b in group for part in (b.matrix, b.bias) if isinstance(part, e.Var)]


def _preference(branches: list[_Branch]) -> tuple[int, int]:
    """Larger groups come first, then those with activation and bias."""
    branch = branches[0]
    return -len(branches), -(2 * bool(branch.activation) + (branch.bias is not None))


def _are_apart(branches: list[_Branch]) -> bool:
    """True if the biases are distinct variables."""
    biases = [branch.bias for branch in branches if branch.bias is not None]
    return len(set(biases)) == len(biases) and all(isinstance(bias, e.Var) for bias in biases)


def _fit(group: list[_Branch]) -> bool:
    """True if the matrices, the biases and the dtypes of products are alike except for the width."""
    first = group[0]
    return len(group) > 1 and all(
        shapes_equal(_lead(branch.matrix), _lead(first.matrix)) is Answer.YES
        and _dtype(branch.product.var) is _dtype(first.product.var)
        and _dtype(branch.matrix) is _dtype(first.matrix)
        and (branch.bias is None or first.bias is None or _has_bias_like(branch, first.bias))
        for branch in group
    )


def _has_bias_like(branch: _Branch, first: e.Expr) -> bool:
    """True if the bias is as wide as the matrix, and otherwise like the first one."""
    bias = branch.bias
    assert bias is not None  # the caller checked it
    wide = s.lengths(bias.struct_info)[-1:] == s.lengths(branch.matrix.struct_info)[-1:]
    return wide and isinstance(bias, e.Var) and shapes_equal(_lead(bias), _lead(first)) is Answer.YES


def _with_known_ends(group: list[_Branch]) -> list[_Branch]:
    """The branches of known width, then the first one of unknown width."""
    known: list[_Branch] = []
    others: list[_Branch] = []
    for branch in group:
        is_known = isinstance(s.lengths(branch.matrix.struct_info)[-1], p.IntImm)
        (known if is_known else others).append(branch)
    return known + others[:1]


def _split(group: Sequence[_Branch]) -> e.Call:
    """The parts of the common product."""
    first, x = group[0], group[0].x
    joined = call("relax.concat", _tuple([b.matrix for b in group]), axis=_rank(first.matrix) - 1)
    value = call("relax.matmul", x, joined, out_dtype=_dtype(first.product.var))
    if first.bias is not None:
        biases = _tuple([b.bias for b in group if b.bias is not None])
        value = call("relax.add", value, call("relax.concat", biases, axis=_rank(first.bias) - 1))
    if first.activation:
        value = call(first.activation, value)
    ends: list[int] = []
    for branch in group[:-1]:
        width = s.lengths(branch.matrix.struct_info)[-1]
        assert isinstance(width, p.IntImm)  # only the last one may be unknown
        ends.append(width.value + (ends[-1] if ends else 0))
    axis = _rank(first.last.var) - 1
    return call("relax.split", value, indices_or_sections=tuple(ends), axis=axis)


def _tuple(fields: Sequence[e.Expr]) -> e.Tuple:
    return e.tuple_of(tuple(fields))


def _rank(value: e.Expr) -> int:
    return len(s.lengths(value.struct_info)) if isinstance(value.struct_info, s.TensorStructInfo) else -1


def _lead(value: e.Expr) -> tuple[p.PrimExpr, ...]:
    return s.lengths(value.struct_info)[:-1]


def _dtype(value: e.Expr) -> DType | None:
    return value.struct_info.dtype if isinstance(value.struct_info, s.TensorStructInfo) else None


# -- fuse transpose matmul -------------------------------------------------------------------------------------------
# FuseTransposeMatmul: multiply with a transposed matrix in one kernel.


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
    fused(module, at, [FusionPattern(_NAME, _TRANSPOSED_PRODUCT, _swaps_last_axes)], bind_constants=False)
    functions = by_name(at.editor.done())
    composites = {
        name: product for name, fn in functions
        if fn.attrs.get("Composite") == _NAME and (product := _product_of(fn)) is not None
    }  # fmt: skip

    def rule(walk: Rewriter, binding: e.Binding) -> Rewritten:
        value = binding.value
        product = composites.get(called(value))
        if product is None or type(value) is not e.Call:
            return binding
        args = value.args[1], value.args[0]
        infos = infos_of(args)
        out = _result(product, *infos)
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
_TRANSPOSED_PRODUCT = is_op("relax.matmul")(_X, _TRANSPOSED)


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
