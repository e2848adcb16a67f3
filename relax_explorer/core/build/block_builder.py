"""Builds a sequence binding by binding, in normal form and with StructInfo.

    build = BlockBuilder(editor, params=(x, w))
    with build.dataflow():
        y = build.emit(matmul(x, w), "y")
        out = build.emit_output(relu(y))
    fn = build.emit_func_output(out)

The normalizer handles every emitted binding, so operands may be nested, and StructInfo is always inferred.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from relax_explorer.core.build.module_editor import ModuleEditor
from relax_explorer.core.check import wildcards
from relax_explorer.core.check.emission import FreshNames, OpenBlocks
from relax_explorer.core.check.normalize_function import FunctionNormalizer
from relax_explorer.core.diagnostics import Failure, Report
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import EMPTY, Attrs
from relax_explorer.core.ir.dtype import INT64
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import bindings, defined_dims
from relax_explorer.core.ops.kit import legalize
from relax_explorer.core.program.module import Member
from relax_explorer.core.source import Span

Record = Callable[[e.Binding, tuple[e.Binding, ...]], None]
_NOTHING = e.SeqExpr((), e.Tuple(()))


class BlockBuilder:
    """Builds the blocks of one sequence: a function body, a branch, or bindings in front of another binding.

    A hint names the variable; a number is added if the name is taken. Without a hint, variables are called `lv` in a
    dataflow block and `gv` elsewhere. Violations of the rules of the language raise Failure.
    """

    def __init__(
        self,
        editor: ModuleEditor,
        params: Sequence[e.Var] = (),
        *,
        within: e.Function | None = None,
        around: BlockBuilder | None = None,
        record: Record | None = None,
    ) -> None:
        self.editor, self.record = editor, record
        self.report: Report = around.report if around is not None else Report()
        outer: FunctionNormalizer | None = around.normalizer if around is not None else None
        self.normalizer: FunctionNormalizer = FunctionNormalizer(self.report, editor.signature, False, outer)
        self.normalizer.infer.places = editor.global_infos
        if around is None and wildcards.allowed(editor.attrs):
            self.normalizer.infer.wildcards = wildcards.Wildcards(reuse=False)
        if around is not None:
            self.names: FreshNames = around.names
            self.normalizer.place = around.normalizer.place
            # The built sequence is bound again when it is emitted as a whole.
            self.normalizer.bound = set(around.normalizer.bound)
        elif within is not None:
            self.names = FreshNames.of(within)
            self.normalizer.dims.update(_dims(within))
        else:
            self.names = FreshNames()
        self.normalizer.fresh = self.names
        self.fn = self.normalizer.enter(e.Function(tuple(params), _NOTHING))
        if params:
            self.names.take([param.name for param in params])

    # -- emitting ---------------------------------------------------------------------------------------------

    def emit(self, value: e.Expr, hint: str = "") -> e.Var:
        """Bind a value to a new variable. Nested operands are bound first."""
        return self._bind(self._variable(hint, value.span or self.span), value)

    def emit_output(self, value: e.Expr, hint: str = "") -> e.Var:
        """Bind a value to a new output of the dataflow block, which is visible after it."""
        return self._bind(e.Var(self.names(hint or "gv", "_"), None, value.span or self.span), value)

    def _bind(self, var: e.Var, value: e.Expr) -> e.Var:
        span = value.span or self.span
        if value.span is None and type(value) not in e.LEAVES:
            value = replace(value, span=span)
        self.add(e.VarBinding(var, value, None, span))
        return self._last()

    def emit_match_cast(self, value: e.Expr, info: s.StructInfo, hint: str = "") -> e.Var:
        """Bind a value that is checked against `info` at run time. New shape variables in `info` get their values."""
        self._cast(self._variable(hint, self.span), value, info)
        return self._last()

    def emit_check(self, value: e.Expr, info: s.StructInfo) -> None:
        """Stop the run if a value does not match `info`."""
        self._cast(None, value, info)

    def _cast(self, var: e.Var | None, value: e.Expr, info: s.StructInfo) -> None:
        leaf = self.normalizer.leaf(value)
        self.normalizer.cast(e.MatchCast(var, leaf, info, None, self.span), leaf)
        self._stop_at_errors()

    def informed(self, value: e.Expr) -> e.Expr:
        """The value in normal form, with its StructInfo. Nested operands are bound."""
        value = self.normalizer.value(value)
        self._stop_at_errors()
        return value

    def add(self, binding: e.Binding) -> None:
        """Normalize and emit a binding. Later reads of its variable refer to the new variable."""
        self.normalizer.binding(binding)
        self._stop_at_errors()

    def keep(self, binding: e.Binding) -> None:
        """Emit a binding unchanged. It must be in normal form and have StructInfo."""
        self.normalizer.open.bindings.append(binding)

    def start_block(self, like: e.BindingBlock) -> None:
        """Close the open block and open one of the same kind as `like`. If it gets the same bindings, `like` itself is used."""
        self.normalizer.open.start(type(like) is e.DataflowBlock, like)

    def _last(self) -> e.Var:
        var = self.normalizer.open.bindings[-1].var
        assert var is not None  # this binding has a variable
        return var

    def _variable(self, hint: str, span: Span | None) -> e.Var:
        blocks = self.normalizer.open
        name = self.names(hint or ("lv" if blocks.dataflow else "gv"), "_" if hint else "")
        return blocks.variable(name, None, span)

    def _stop_at_errors(self) -> None:
        if self.report.items:
            errors = [problem for problem in self.report.errors if not problem.spec_only]
            if errors:
                raise Failure(*errors)

    # -- calls of kernels ------------------------------------------------------------------------------------------

    def call_te(
        self,
        name: str,
        rule: legalize.KernelRule,
        args: Sequence[e.Expr],
        infos: Sequence[s.StructInfo],
        out: s.StructInfo,
    ) -> e.Call:
        """A call of the PrimFunc from `rule(te, *operands, out)`. It is added to the module under a name based on `name`."""
        fn, operands = legalize.kernel(rule, args, infos, out)
        return self.call_tir(self.editor.add(name, fn), operands, out)

    def call_tir(
        self,
        kernel: e.GlobalVar,
        args: Sequence[e.Expr],
        out: s.StructInfo,
        known: s.StructInfo | None = None,
    ) -> e.Call:
        """A call_tir of a kernel of the module. `known` may be more precise than the result of the kernel."""
        op, operands = e.op_ref("relax.call_tir"), e.tuple_of(tuple(args))
        return e.Call(op, (kernel, operands), sinfo_args=(out,), struct_info=known or out, span=self.span)

    def call_function(self, name: str, fn: Member, args: Sequence[e.Expr]) -> e.Call:
        """A call of `fn`, which is added to the module under a name based on `name`."""
        return e.Call(self.editor.add(name, fn), tuple(args), span=self.span)

    def emit_lengths(self, lengths: e.Expr, ndim: int) -> tuple[p.PrimVar, ...]:
        """Shape variables for the lengths in a tensor computed by a kernel."""
        shape = self.emit(e.Call(e.op_ref("relax.tensor_to_shape"), (lengths,)), "shape")
        new = tuple([p.PrimVar("s", INT64) for _ in range(ndim)])
        self.emit_match_cast(shape, s.ShapeStructInfo(new), "shape")
        return new

    # -- scopes ------------------------------------------------------------------------------------------------

    @contextmanager
    def dataflow(self) -> Iterator[None]:
        """Emit bindings into a dataflow block."""
        self.normalizer.open.start(dataflow=True)
        yield
        self.normalizer.open.start(dataflow=False)

    def inherit(self, origin: e.Binding | e.Expr, records: bool = True) -> _Inherited:
        """Give emitted bindings the span of `origin`. If it is a binding, they are recorded as its successors, if `records`.

        The span of a binding is the span of its value, unless that is a variable.
        """
        return _Inherited(self, origin, records)

    def restart(self, dataflow: bool, origin: e.Expr) -> BlockBuilder:
        """Discard all emitted bindings. The next ones go into a block of this kind, with the span of `origin`."""
        blocks = self.normalizer.open
        if blocks.bindings or blocks.closed:
            blocks = self.normalizer.open = OpenBlocks()
        blocks.dataflow, self.normalizer.place = dataflow, origin.span
        return self

    @property
    def span(self) -> Span | None:
        """The inherited span of new bindings."""
        return self.normalizer.place

    @property
    def is_dataflow(self) -> bool:
        """True if the open block is a dataflow block."""
        return self.normalizer.open.dataflow

    @property
    def count(self) -> int:
        """The number of bindings in the open block."""
        return len(self.normalizer.open.bindings)

    def emitted_since(self, count: int) -> tuple[e.Binding, ...]:
        """The bindings of the open block after the first `count` ones."""
        return tuple(self.normalizer.open.bindings[count:])

    @property
    def bindings(self) -> tuple[e.Binding, ...]:
        """The bindings of the open block."""
        return tuple(self.normalizer.open.bindings)

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Emit bindings into a separate sequence, such as a branch."""
        outer, self.normalizer.open = self.normalizer.open, OpenBlocks()
        yield
        self.normalizer.open = outer

    # -- results -----------------------------------------------------------------------------------------------

    def branch(self) -> BlockBuilder:
        """A builder for a branch of an If, or for another sequence in this scope."""
        inner = BlockBuilder(self.editor, around=self, record=self.record)
        inner.normalizer.fn = self.normalizer.fn
        return inner

    def function(self, params: Sequence[e.Var]) -> BlockBuilder:
        """A builder for a nested function, which may read variables of this scope."""
        return BlockBuilder(self.editor, params, around=self, record=self.record)

    def blocks(self) -> list[e.BindingBlock]:
        """Close the open block, and return all emitted blocks."""
        self.normalizer.open.start(dataflow=False)
        return self.normalizer.open.closed

    def emit_result(self, result: e.Expr) -> e.SeqExpr:
        """The sequence of all emitted bindings with a result. A result that is not a leaf is bound first."""
        seq = self.normalizer.end(_NOTHING, result)
        self._stop_at_errors()
        return seq

    def emit_func_output(
        self, result: e.Expr, *, pure: bool | None = None, attrs: Attrs = EMPTY
    ) -> e.Function:
        """The function of the parameters and all emitted bindings, with the StructInfo of its result."""
        body = self.emit_result(result)
        fn = self.normalizer.leave(replace(self.fn, pure=pure, attrs=attrs, span=self.span), body, result)
        self._stop_at_errors()
        return fn


class _Inherited:
    """Bindings that inherit the span of a node. Passes enter one for each binding: a generator would take twice as long."""

    __slots__ = ("blocks", "build", "closed", "opened", "origin", "outer", "record")

    def __init__(self, build: BlockBuilder, origin: e.Binding | e.Expr, records: bool) -> None:
        self.build, self.origin, self.record = build, origin, build.record if records else None

    def __enter__(self) -> None:
        normalizer, origin = self.build.normalizer, self.origin
        # A variable has the place of its definition: a match_cast or a copy of one counts by its own.
        place = origin if isinstance(origin, e.Expr) or isinstance(origin.value, e.Var) else origin.value
        self.outer, self.blocks = normalizer.place, normalizer.open
        normalizer.place = place.span or origin.span or self.outer
        self.closed, self.opened = len(self.blocks.closed), len(self.blocks.bindings)

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        build, origin, new = self.build, self.origin, self.blocks.bindings
        build.normalizer.place = self.outer
        if error is None and self.record is not None and isinstance(origin, (e.VarBinding, e.MatchCast)):
            if len(self.blocks.closed) > self.closed:
                finished = [b for block in self.blocks.closed[self.closed :] for b in block.bindings]
                new = [*finished, *new]
            self.record(origin, tuple(new[self.opened :]))


def _dims(fn: e.Function) -> set[p.PrimVar]:
    """The shape variables that a function binds."""
    infos = [param.struct_info for param in fn.params if param.struct_info is not None]
    infos += [binding.struct_info for binding in bindings(fn) if type(binding) is e.MatchCast]
    return {dim for info in infos for dim in defined_dims(info)}
