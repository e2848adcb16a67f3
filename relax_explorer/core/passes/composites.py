"""Code generators of others: composite functions merged for one (MergeCompositeFunctions), and the packed functions that it provides (RunCodegen)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from relax_explorer.core.check.call_graph import mentioned
from relax_explorer.core.check.infer import EXTERN
from relax_explorer.core.check.wildcards import simplified
from relax_explorer.core.codes import passes as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.facts import variables
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.substitute import Copy, Substitution, fresh_dims
from relax_explorer.core.ir.walk import all_dims, called, dataflow_blocks, exprs, infos_of
from relax_explorer.core.passes.contract import PassSite, module_pass
from relax_explorer.core.passes.eliminate import drop_dead
from relax_explorer.core.passes.function_groups import Group, lift
from relax_explorer.core.passes.readings import COMPOSITES, DATAFLOW
from relax_explorer.core.passes.rewrite import at_calls, rewrite
from relax_explorer.core.phases.external_code import codegen_of, unmarked
from relax_explorer.core.phases.module_properties import (
    ALLOCATION_LOWERED,
    BYOC_MARKED,
    EXPLICIT_ALLOCATION,
    NO_NESTED_FUNCTIONS,
    NORMAL_FORM,
    PURE_DATAFLOW,
    PURITY_ERASED,
)
from relax_explorer.core.program.module import IRModule


def wrap(at: PassSite) -> None:
    """Replace each composite function by a public function that contains it, with the attribute `Codegen`."""
    wrapped: dict[str, e.GlobalVar] = {}
    for name, fn in at.editor.done().relax_functions.items():
        if codegen_of(fn):
            wrapped[name] = at.editor.add(f"{name}_{codegen_of(fn)}", _wrapper(fn))
    _call_instead(at, wrapped)


def enclose(at: PassSite, composites: Mapping[str, e.Function]) -> None:
    """Replace each function with `Codegen` by a public one that contains the composite functions that it calls."""
    enclosing: dict[str, e.GlobalVar] = {}
    for name, fn in at.editor.done().relax_functions.items():
        if fn.attrs.get("Codegen") and fn.is_private:
            enclosing[name] = at.editor.add(f"{name}_{fn.attrs['Codegen']}", _enclosing(fn, composites))
    _call_instead(at, enclosing)
    called = {name for fn in at.editor.done().relax_functions.values() for name in mentioned(fn)}
    for name in composites.keys() - called:
        at.editor.remove(name)


def _call_instead(at: PassSite, replaced: Mapping[str, e.GlobalVar]) -> None:
    """Remove functions, and call others in their place."""
    rule = at_calls(replaced, lambda function, call: replace(call, op=function))
    for name in replaced:
        at.editor.remove(name)
    for name, fn in at.editor.done().relax_functions.items() if replaced else ():
        at.editor.replace(name, rewrite(fn, at, rule))


def _copied(fn: e.Function) -> e.Function:
    """A copy with variables and shape variables of its own, as a function inside another."""
    infos = *infos_of(fn.params), fn.ret_struct_info or s.OBJECT
    copy = Copy({}, fresh_dims(dim for info in infos for dim in all_dims(info))).function(fn)
    return replace(copy, attrs=fn.attrs.without("Primitive", "global_symbol"))


def _enclosing(fn: e.Function, composites: Mapping[str, e.Function]) -> e.Function:
    """A public function with a local function for each composite function that `fn` calls."""
    (block,) = fn.body.blocks
    inner: dict[str, e.Var] = {}
    new: list[e.Binding] = []
    plain: dict[e.Var, e.Expr] = {
        b.var: e.var_like(b.var, b.var.struct_info, e.Var) for b in block.bindings if b.var
    }
    for binding in Substitution(plain).sequence(fn.body).blocks[0].bindings:
        value, var = binding.value, binding.var
        assert var is not None  # groups have variables only
        name = called(value)
        if type(value) is e.Call and name in composites:
            if name not in inner:
                local = _copied(composites[name])
                inner[name] = e.Var(var.name, local.struct_info)
                new.append(e.VarBinding(inner[name], local))
            value = replace(value, op=inner[name])
        new.append(replace(binding, var=plain.get(var, var), value=value))
    body = Substitution(plain).expr(fn.body.body)
    seq = replace(fn.body, blocks=(e.BindingBlock(tuple(new)),), body=body)
    return replace(fn, body=seq, attrs=fn.attrs.having(global_symbol=""))


def _wrapper(fn: e.Function) -> e.Function:
    """A public function that contains a composite function and calls it. Both have the same shape variables, as in TVM."""
    inner = replace(fn, attrs=fn.attrs.without("Primitive", "global_symbol"))
    params = tuple([e.var_like(param, param.struct_info) for param in fn.params])
    result = fn.ret_struct_info
    local, output = e.Var("local_func", fn.struct_info), e.Var("output", result)
    returned = simplified(result) if result is not None else None
    call = e.Call(local, params, struct_info=returned)
    last = e.VarBinding(output, call, None if returned is result else result)
    body = e.SeqExpr((e.BindingBlock((e.VarBinding(local, inner), last)),), output, result)
    attrs = Attrs({"Codegen": codegen_of(fn), "global_symbol": ""})
    return e.Function(params, body, result, None, attrs, fn.struct_info)


@module_pass(
    "MergeCompositeFunctions",
    reads=[DATAFLOW, COMPOSITES],
    has_profiles=True,
    requires=[NORMAL_FORM],
    establishes=[BYOC_MARKED],
    invalidates=[NO_NESTED_FUNCTIONS, PURITY_ERASED],
)
def merge_composite_functions(module: IRModule, at: PassSite) -> IRModule:
    """Move connected calls of composite functions of one code generator into a public function with the attribute `Codegen`.

    It contains the composite functions. A call joins the function of its operands unless another operand depends on it from
    outside. Unread bindings go, and private functions that nothing calls. Run FuseOpsByPattern first, and RunCodegen afterwards.
    """
    composites = {name: fn for name, fn in module.relax_functions.items() if codegen_of(fn)}
    for name, fn in module.relax_functions.items() if composites or at.as_tvm else ():
        if name not in composites and not fn.attrs.get("Codegen"):
            groups = dict(_regions(fn, composites)) if composites else {}
            at.editor.replace(name, lift(fn, at, groups, moves_copies=at.as_tvm))
    if composites:
        enclose(at, composites)
    left = unmarked(drop_dead(at))
    if left is not None:
        at.waived.add(BYOC_MARKED)
        text = f"{left[1]}: only calls in dataflow blocks are merged"
        at.report.say(codes.NO_CODE_GENERATOR, text, left[0], help="run ConvertToDataflow before it")
    return at.editor.done()


@dataclass(eq=False, slots=True)
class _Region:
    """Connected calls of one code generator, with fields and copies of their results.

    `bit` has a bit for each region that it was made of, `needs` the bits of the regions that it depends on.
    """

    codegen: str
    bit: int
    needs: int = 0
    merged_into: _Region | None = None

    def root(self) -> _Region:
        """The region that this one is part of now."""
        region = self
        while region.merged_into is not None:
            region = region.merged_into
        return region


def _regions(fn: e.Function, composites: dict[str, e.Function]) -> Iterator[tuple[e.Binding, Group]]:
    """The group of each call of a composite function."""
    for block in dataflow_blocks(fn):
        regions = _Regions(composites)
        for binding in block.bindings:
            regions.add(binding)
        for codegen, members in regions.members(block):
            names = [called(binding.value) for binding in members]
            base = "fused" + "".join("_" + name.removeprefix("fused_") for name in names if name)
            group = Group(Attrs({"Codegen": codegen}), members, base)
            yield from ((binding, group) for binding in members)


class _Regions:
    """The regions of one block. Every variable knows the regions that it depends on, as bits."""

    def __init__(self, composites: dict[str, e.Function]) -> None:
        self.composites = composites
        self.made: list[_Region] = []
        self.region_of: dict[e.Var, _Region] = {}
        self._needs: dict[e.Var, int] = {}
        self._fields: dict[e.Var, tuple[e.Expr, ...]] = {}  # of tuples that stay inside

    def members(self, block: e.BindingBlock) -> Iterator[tuple[str, list[e.VarBinding]]]:
        """The code generator and the bindings of each region, in text order."""
        members: dict[_Region, list[e.VarBinding]] = {}
        for binding in block.bindings:
            region = None if binding.var is None else self._root(binding.var)
            if region is not None and type(binding) is e.VarBinding:
                members.setdefault(region, []).append(binding)
        return ((region.codegen, bindings) for region, bindings in members.items())

    def add(self, binding: e.Binding) -> None:
        """Note a binding. A call of a composite function joins the regions of its operands, a field or a copy that of its value."""
        read, value = variables(binding.value), binding.value
        if type(binding) is not e.VarBinding:
            return
        region: _Region | None = None
        composite = self.composites.get(called(value))
        if composite is not None:
            region = self._joined(codegen_of(composite), read)
            region.needs |= self._all_needs(read) & ~region.bit
        elif type(value) is e.TupleGetItem or isinstance(value, e.Var):
            region = (self._root(read[0]) or self._of_fields(read[0])) if read else None
        elif type(value) is e.Tuple and type(binding.var) is e.DataflowVar:
            self._fields[binding.var] = value.fields
        if region is None:
            self._needs[binding.var] = self._all_needs(read)
            return
        self.region_of[binding.var] = region

    def _of_fields(self, var: e.Var) -> _Region | None:
        """The region of all fields of a tuple, which it joins when one of them is taken."""
        regions = {
            self._root(field) if isinstance(field, e.Var) else None for field in self._fields.get(var, ())
        }
        region = regions.pop() if len(regions) == 1 else None
        if region is not None:
            self.region_of[var] = region
        return region

    def _joined(self, codegen: str, read: list[e.Var]) -> _Region:
        """The region of a call: those of its operands that nothing outside depends on, as one."""
        regions = list(dict.fromkeys(self.region_of[var].root() for var in read if var in self.region_of))
        free = [
            region
            for region in regions
            if region.codegen == codegen
            and not any(self._needs_of(var) & region.bit for var in read if self._root(var) is not region)
        ]
        if not free:
            region = _Region(codegen, 1 << len(self.made))
            self.made.append(region)
            return region
        first, *others = sorted(free, key=self.made.index)
        for other in others:
            other.merged_into = first
            first.bit |= other.bit
            first.needs |= other.needs
        return first

    def _root(self, var: e.Var) -> _Region | None:
        region = self.region_of.get(var)
        return None if region is None else region.root()

    def _needs_of(self, var: e.Var) -> int:
        region = self._root(var)
        return self._needs.get(var, 0) if region is None else region.needs | region.bit

    def _all_needs(self, read: list[e.Var]) -> int:
        needs = 0
        for var in read:
            needs |= self._needs_of(var)
        return needs


# -- run codegen -----------------------------------------------------------------------------------------------------
# RunCodegen: call the packed functions that external code generators provide.


@module_pass(
    "RunCodegen",
    has_profiles=True,
    requires=[NORMAL_FORM, BYOC_MARKED],
    invalidates=[PURE_DATAFLOW, EXPLICIT_ALLOCATION, ALLOCATION_LOWERED],
)
def run_codegen(module: IRModule, at: PassSite) -> IRModule:
    """Replace each call of a function with the attribute `Codegen` by a call of the packed function with its symbol.

    The function itself goes: a library provides it at run time, under the same name. `run --packed FILE.py` registers one.
    TVM calls it in dataflow blocks, too, where the specification (RX0112) expects pure functions: a warning (RX0415) tells of it.
    A function stays, with a warning (RX0417), if a result has no known shape or the function itself is a value: nothing could call
    the packed one. As in TVM, DeadCodeElimination follows, and a public function stays that nothing calls.
    FuseOpsByPattern with `annotate_codegen`, or MergeCompositeFunctions, makes such functions.
    """
    external = {
        name: e.ExternFunc(str(module.relax_functions[name].attrs.get("global_symbol", name)), EXTERN)
        for name in _replaceable(module, at)
    }

    for name, fn in module.relax_functions.items():
        if name in external:
            at.editor.remove(name)
        else:
            at.editor.replace(name, rewrite(fn, at, at_calls(external, _packed)))
    _say_effect(at)
    return drop_dead(at)


def _replaceable(module: IRModule, at: PassSite) -> list[str]:
    """The names of called functions for code generators that packed ones can stand for. A warning tells of each of the others."""
    marked = {name for name, fn in module.relax_functions.items() if fn.attrs.get("Codegen")}
    called, values, unshaped = Counter[str](), Counter[str](), dict[str, e.Call]()
    for fn in module.relax_functions.values() if marked else ():
        for part in exprs(fn):
            if type(part) is e.GlobalVar and part.name in marked:
                values[part.name] += 1
            elif type(part) is e.Call and type(part.op) is e.GlobalVar and part.op.name in marked:
                called[part.op.name] += 1
                if not _is_allocatable(part.struct_info):
                    unshaped.setdefault(part.op.name, part)
    for name in values:
        if name in unshaped:
            call = unshaped[name]
            text = f"{name} stays: its result is {call.struct_info}, for which no memory can be allocated"
            at.report.say(codes.STAYS, text, call, help=_STATE_SHAPE)
        elif values[name] > called[name]:
            text = f"{name} stays: the function itself is used as a value, which a packed function can't be"
            at.report.say(codes.STAYS, text, module[name], help=_CALL_DIRECTLY)
    return [name for name in called if name not in unshaped and values[name] == called[name]]


_STATE_SHAPE = "State the shape with a match_cast before FuseOpsByPattern."
_CALL_DIRECTLY = "Call the function by its name; CanonicalizeBindings replaces copies of it."


def _is_allocatable(info: s.StructInfo | None) -> bool:
    """True for tensors of known shape and dtype, and for a tuple of such tensors."""
    fields = info.fields if isinstance(info, s.TupleStructInfo) else (info,)
    return all(
        isinstance(field, s.TensorStructInfo) and field.dims is not None and field.dtype is not None
        for field in fields
    )


def _say_effect(at: PassSite) -> None:
    """Warn if the language forbids one of the calls where it is."""
    found = PURE_DATAFLOW.violation(at.editor.done())
    if found is not None and PURE_DATAFLOW.holds(at.module):
        text = "a packed function stands where side effects are forbidden"
        at.report.say(codes.EXTERNAL_EFFECT, text, found[0], help=codes.EXTERNAL_EFFECT.fix, spec_only=True)


def _packed(function: e.ExternFunc, call: e.Call) -> e.Call:
    info = call.struct_info or s.OBJECT
    op, args = e.op_ref("relax.call_dps_packed"), e.tuple_of(call.args)
    return e.Call(op, (function, args), sinfo_args=(info,), struct_info=info, span=call.span)
