"""Checks after a pass that only look at what is new find the faults that a pass makes beside it."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from copy import copy
from typing import Any

import pytest

import relax_explorer as rxe
from relax_explorer.core.check import memory_hazards, well_formed
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import FLOAT32
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import bindings, map_sequences
from relax_explorer.core.passes import derived_again
from relax_explorer.core.passes.contract import Pass, PassSite, module_pass
from relax_explorer.core.passes.pipeline import Step, run_step, steps
from relax_explorer.core.phases.module_properties import DERIVED, NORMALIZED, PROPERTIES, Property, holding
from relax_explorer.core.program.new_bindings import NewBindings
from relax_explorer.core.tir.mutator import Mutator
from relax_explorer.core.tir.prim_expr import BufferLoad
from relax_explorer.core.tir.stmt import PrimFunc

TEXT = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def kernel(a: T.Buffer((T.int64(4),), "float32"), b: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.block("one"):
                j = T.axis.spatial(T.int64(4), i)
                b[j] = a[j] + T.float32(1)

    @R.function(private=True)
    def second(p: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        u = R.exp(p)
        v = R.sin(u)
        return v

    @R.function
    def main(x: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")) -> R.Tensor((4,), "float32"):
        cls = Module
        a = R.exp(x)
        b = R.sin(a)
        @R.function
        def inner(q: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            k = R.exp(q)
            return k
        d = inner(b)
        pair = (d, b)
        first = pair[0]
        alias = first
        if c:
            t = R.exp(alias)
            y = R.sin(t)
        else:
            o = R.sin(alias)
            y = R.exp(o)
        w = R.call_tir(cls.kernel, (y,), out_sinfo=R.Tensor((4,), "float32"))
        z = cls.second(w)
        return z

    @R.function
    def third(r: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        g = R.call_tir(cls.kernel, (r,), out_sinfo=R.Tensor((4,), "float32"))
        return g
"""
OTHER = s.TensorStructInfo((p.IntImm(5),), FLOAT32)
Change = Callable[[e.Binding], e.Binding]


def program() -> rxe.IRModule:
    return rxe.normalize(rxe.parse(TEXT))


def named(fn: e.Function, name: str) -> e.Binding:
    return next(b for b in bindings(fn) if b.var is not None and b.var.name == name)


def changed(fn: e.Function, name: str, change: Change | None) -> e.Function:
    """The function with another binding of a name, or without it; all others are the same objects unless they hold it."""

    def visit(seq: e.SeqExpr) -> e.SeqExpr:
        blocks = []
        for block in seq.blocks:
            kept: list[e.Binding] = []
            for binding in block.bindings:
                is_it = binding.var is not None and binding.var.name == name
                if not is_it:
                    kept.append(map_sequences(binding, visit))
                elif change is not None:
                    kept.append(change(binding))
            same = len(kept) == len(block.bindings) and all(map(lambda a, b: a is b, kept, block.bindings))
            blocks.append(block if same else replace(block, bindings=tuple(kept)))
        same = all(map(lambda a, b: a is b, blocks, seq.blocks))
        return seq if same else replace(seq, blocks=tuple(blocks))

    return replace(fn, body=visit(fn.body))


def step_of(function: str, name: str, change: Change | None) -> Step:
    """A pass with a mistake at one binding. It records what it did, as passes do."""

    def run(module: rxe.IRModule, at: PassSite) -> rxe.IRModule:
        fn = module[function]
        new = changed(fn, name, change)
        old = named(fn, name)
        at.record(old, () if change is None else named(new, name))
        return module.having({**module.functions, function: new})

    found: Pass = module_pass("Planted")(run)
    return Step(found)


def unnoted(fn: object) -> Any:
    """A copy of a function of which nothing is known: neither its calls nor its body have notes of inference."""
    if not isinstance(fn, e.Function):
        return copy(fn)

    def visit(seq: e.SeqExpr) -> e.SeqExpr:
        return replace(
            copy(seq), blocks=tuple([replace(b, bindings=tuple(map(again, b.bindings))) for b in seq.blocks])
        )

    def again(binding: e.Binding) -> e.Binding:
        value = binding.value
        if isinstance(value, e.Call):
            plain = e.Call(value.op, value.args, value.attrs, value.sinfo_args, value.struct_info, value.span)
            return replace(binding, value=plain)
        return map_sequences(binding, visit)

    return replace(fn, body=visit(fn.body))


def wrong(module: rxe.IRModule, properties: set[Property]) -> set[str]:
    """The names of the properties that a module lacks, looked at as a whole."""
    fresh = module.having({name: unnoted(fn) for name, fn in module.functions.items()})
    return {q.name for q in properties if not q.holds(fresh)}


def found_by(step: Step) -> set[str]:
    """The names of the properties that the checks after a step miss, the same as a look at the whole module finds; and `claims` of inference."""
    module = program()
    held = holding(module)
    outcome = run_step(step, module, held=held)
    found = {q.name for q in outcome.broken}
    assert found == wrong(outcome.module, held)
    return found or {"claims" for _ in outcome.problems}


PLACES = [("main", "b"), ("main", "k"), ("main", "t"), ("main", "pair"), ("main", "alias"), ("second", "v")]


@pytest.fixture(params=[False, True], ids=["looked at again", "proved"])
def proofs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """With and without the proof that replaces the second look: tests look again by default."""
    if request.param:
        monkeypatch.setattr(derived_again, "CHECKS", False)
    return bool(request.param)


@pytest.mark.parametrize(("function", "name"), PLACES)
def test_a_binding_that_is_gone_leaves_old_readers_without_their_variable(function: str, name: str) -> None:
    """The readers are the same objects as before: only the scope tells."""
    assert "WELL_FORMED" in found_by(step_of(function, name, None))


@pytest.mark.parametrize(("function", "name"), PLACES)
def test_another_variable_under_an_old_reader(function: str, name: str) -> None:
    def renamed(binding: e.Binding) -> e.Binding:
        var = binding.var
        assert var is not None
        return replace(binding, var=type(var)(var.name, var.struct_info, var.span))

    assert "WELL_FORMED" in found_by(step_of(function, name, renamed))


def claiming(info: s.StructInfo) -> Change:
    """A change that claims other StructInfo, in the value and in its variable: old readers have another operand then."""

    def change(binding: e.Binding) -> e.Binding:
        value = replace(binding.value, struct_info=info)
        assert binding.var is not None
        return e.VarBinding(type(binding.var)(binding.var.name, info), value, None)

    return change


CALLS = [("main", "b"), ("main", "k"), ("main", "t"), ("main", "w"), ("main", "z"), ("second", "v")]


@pytest.mark.parametrize(("function", "name"), CALLS)
def test_a_call_that_claims_another_result(function: str, name: str, proofs: bool) -> None:
    found_by(step_of(function, name, claiming(OTHER)))


@pytest.mark.parametrize(("function", "name"), CALLS)
def test_a_call_under_an_old_variable_that_claims_another_result(
    function: str, name: str, proofs: bool
) -> None:
    def change(binding: e.Binding) -> e.Binding:
        return replace(binding, value=replace(binding.value, struct_info=OTHER))

    found_by(step_of(function, name, change))


@pytest.mark.parametrize(("function", "name"), [place for place in CALLS if place[1] not in ("w", "z")])
def test_an_operator_under_the_old_result(function: str, name: str, proofs: bool) -> None:
    """The variable and the StructInfo stay, and so do all readers: only inference of the new call tells."""

    def other(binding: e.Binding) -> e.Binding:
        value = binding.value
        assert isinstance(value, e.Call)
        return replace(
            binding, value=e.Call(e.op_ref("relax.shape_of"), value.args, struct_info=value.struct_info)
        )

    found = found_by(step_of(function, name, other))
    assert name in ("k", "t") or "NORMALIZED" in found  # what holds bindings is derived again


@pytest.mark.parametrize("name", ["pair", "first", "alias"])
def test_a_tuple_a_field_and_a_copy_of_something_else(name: str, proofs: bool) -> None:
    flag = program()["main"].params[1]

    def other(binding: e.Binding) -> e.Binding:
        value = binding.value
        if isinstance(value, e.TupleGetItem):
            return replace(binding, value=replace(value, index=7))
        if isinstance(value, e.Tuple):
            return replace(binding, value=replace(value, fields=(flag, value.fields[1])))
        return replace(binding, value=flag)

    assert found_by(step_of("main", name, other))


def test_a_callee_with_another_signature_under_an_old_call(proofs: bool) -> None:
    """The call in `main` stays the same object, while the function that it names takes something else."""

    def run(module: rxe.IRModule, at: PassSite) -> rxe.IRModule:
        fn = module["second"]
        text = TEXT[TEXT.index("    @R.function(private=True)") : TEXT.index("    @R.function\n")]
        other = rxe.normalize(rxe.parse(textwrap.dedent(text).replace("(4,)", "(5,)")))["second"]
        at.record_in_order(fn, other)
        return module.having({**module.functions, "second": other})

    module = program()
    outcome = run_step(Step(module_pass("Planted")(run)), module, held=holding(module))
    assert outcome.problems
    assert {q.name for q in outcome.broken} == wrong(outcome.module, holding(module))


def test_a_call_that_names_the_old_signature(proofs: bool) -> None:
    """A new call of a function with a reference that claims another parameter."""

    def stale(binding: e.Binding) -> e.Binding:
        value = binding.value
        assert isinstance(value, e.Call)
        reference = e.GlobalVar("second", s.FuncStructInfo((s.OBJECT,), value.struct_info or s.OBJECT))
        return replace(binding, value=e.Call(reference, value.args, struct_info=value.struct_info))

    assert found_by(step_of("main", "z", stale)) == set()  # the reference is derived again


def flat() -> Property:
    return next(q for q in holding(program()) if q.name == "NORMAL_FORM")


@pytest.mark.parametrize(("function", "name"), CALLS)
def test_an_operand_that_is_no_leaf(function: str, name: str) -> None:
    """In a function, a nested function, a branch, and the second function: also where nothing else is new."""

    def nested(binding: e.Binding) -> e.Binding:
        value = binding.value
        assert isinstance(value, e.Call)
        inner = e.Call(e.op_ref("relax.exp"), value.args, struct_info=value.struct_info)
        return replace(binding, value=replace(value, args=(inner,)))

    before = program()
    after = before.having({**before.functions, function: changed(before[function], name, nested)})
    new = NewBindings(after, before)
    assert flat().violation_in(before, NewBindings(before, before)) is None
    assert flat().violation_in(after, new) == flat().violation(after) is not None


def test_what_did_not_hold_before_is_looked_at_everywhere() -> None:
    """Only what held before is known of old bindings: a pass that establishes a property answers for all of them."""
    lowered = next(q for q in PROPERTIES if q.name == "NO_NESTED_FUNCTIONS")
    claims = module_pass("Planted", establishes=[lowered])(
        lambda module, at: module.having(
            {**module.functions, "second": replace(module["second"], attrs=module["main"].attrs)}
        )
    )
    module = program()
    outcome = run_step(Step(claims), module, held=holding(module))
    assert lowered in outcome.broken


def test_unchanged_bodies_are_not_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    module = rxe.run_pipeline(rxe.parse(TEXT), "zero,default_build")
    walks: list[str] = []
    real = well_formed._Scopes.check
    monkeypatch.setattr(well_formed._Scopes, "check", lambda self: walks.append("scopes") or real(self))
    memory = memory_hazards.MemoryWalk.__init__
    monkeypatch.setattr(
        memory_hazards.MemoryWalk,
        "__init__",
        lambda self, *given: walks.append("memory") or memory(self, *given),
    )
    held = holding(module)
    walks.clear()

    def run(module: rxe.IRModule, at: PassSite) -> rxe.IRModule:
        marked = {name: replace(fn, attrs=fn.attrs.having(mark=1)) for name, fn in module.functions.items()}
        return module.having(marked)

    outcome = run_step(Step(module_pass("Marks")(run)), module, held=held)
    assert outcome.changed
    assert outcome.problems == ()
    assert walks == []


MEMORY = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def fill(a: T.Buffer((T.int64(4),), "float32"), b: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.block("one"):
                j = T.axis.spatial(T.int64(4), i)
                b[j] = a[j]

    @R.function(private=True, pure=False)
    def inner(place: R.Object, p: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        a = R.memory.alloc_tensor(place, R.prim_value(0), R.shape([4]), R.dtype("float32"))
        _ = cls.fill(p, a)
        return a

    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        storage = R.memory.alloc_storage(R.shape([16]), R.prim_value(0), R.str("global"), R.dtype("float32"))
        a = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([4]), R.dtype("float32"))
        _ = cls.fill(x, a)
        CALLS
        return b
"""
IN_MAIN = """b = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([4]), R.dtype("float32"))
        _1 = cls.fill(x, b)
        _2 = cls.fill(a, b)"""


class Constant(Mutator):
    """A kernel that stores a number."""

    def expr(self, expr: p.PrimExpr) -> p.PrimExpr:
        return p.FloatImm(1.0, FLOAT32) if isinstance(expr, BufferLoad) else super().expr(expr)


def test_a_kernel_that_reads_more_is_followed_in_unchanged_functions() -> None:
    """The memory of a function depends on what its kernels access, which stand beside it."""
    after = rxe.normalize(rxe.parse(MEMORY.replace("CALLS", IN_MAIN)))
    kernel = after["fill"]
    quiet = replace(kernel, body=Constant().stmt(kernel.body))
    before = after.having({**after.functions, "fill": quiet})
    held = holding(before)
    swap = module_pass("Planted")(lambda module, at: module.having({**module.functions, "fill": kernel}))
    found = run_step(Step(swap), before, held=held).problems
    assert "WELL_FORMED" in {q.name for q in held}
    assert any("destroys" in item.message for item in found), found


def test_a_call_that_reads_an_argument_while_it_writes_into_the_storage_of_it() -> None:
    module = rxe.normalize(rxe.parse(MEMORY.replace("CALLS", "b = cls.inner(storage, a)")))
    assert [item.code.id for item in memory_hazards.violations(module)] == ["RX0157"]


@pytest.mark.parametrize("owner", ["third", "a nested function"])
def test_a_parameter_of_a_later_function(owner: str) -> None:
    """The later function, which nothing changed, has a parameter that stands in another one now."""

    def run(module: rxe.IRModule, at: PassSite) -> rxe.IRModule:
        inner = named(module["main"], "inner").value
        assert isinstance(inner, e.Function)
        second = module["second"]
        (param,) = (module["third"] if owner == "third" else inner).params
        at.record_in_order(second, second)
        taken = changed(
            second, "u", lambda binding: replace(binding, value=replace(binding.value, args=(param,)))
        )
        return module.having({**module.functions, "second": replace(taken, params=(param,))})

    module = program()
    outcome = run_step(Step(module_pass("Planted")(run)), module, held=holding(module))
    assert "WELL_FORMED" in {q.name for q in outcome.broken}


@pytest.mark.parametrize("other", ["gone", "a function"])
def test_a_name_that_stands_for_something_else(other: str, proofs: bool) -> None:
    """The functions that mention it are the same objects."""

    def run(module: rxe.IRModule, at: PassSite) -> rxe.IRModule:
        functions = dict(module.functions)
        kernel = functions.pop("kernel")
        assert isinstance(kernel, PrimFunc)
        if other == "a function":
            functions["kernel"] = functions["second"]
        kept = {name: fn for name, fn in functions.items() if name != "main"}
        return module.having(kept)

    module = program()
    outcome = run_step(Step(module_pass("Planted")(run)), module, held=holding(module))
    assert outcome.problems
    assert {q.name for q in outcome.broken} == wrong(outcome.module, holding(module))


@pytest.mark.parametrize("is_settled", [True, False])
def test_new_calls_of_a_stale_reference_are_no_proof(is_settled: bool, proofs: bool) -> None:
    """The reference has the signature that the kernel had, in a new binding of the old call or of a copy."""

    def run(module: rxe.IRModule, at: PassSite) -> rxe.IRModule:
        before = named(module["third"], "g")
        call = before.value
        assert isinstance(call, e.Call)
        value = (
            call if is_settled else e.Call(call.op, call.args, call.attrs, call.sinfo_args, call.struct_info)
        )
        third = changed(module["third"], "g", lambda binding: e.VarBinding(binding.var, value, None))
        at.record(before, named(third, "g"))
        kernel = rxe.parse(TEXT.replace('T.int64(4),), "float32"', 'T.int64(5),), "float32"'))["kernel"]
        return module.having({"kernel": kernel, "third": third})

    module = program()
    module = module.having({name: module.functions[name] for name in ("kernel", "third")})
    outcome = run_step(Step(module_pass("Planted")(run)), module, held=holding(module))
    found = {q.name for q in outcome.broken}
    assert found == wrong(outcome.module, holding(module))
    assert found or outcome.problems


def test_a_call_that_claims_nothing(proofs: bool) -> None:
    """What a call states itself is Object, if it states nothing: only packed functions return that."""
    assert "NORMALIZED" in found_by(step_of("main", "b", claiming(s.OBJECT)))


def test_properties_of_planned_memory_and_of_names_are_missed() -> None:
    """Both are asked only of functions that have such bindings."""
    by_name = {q.name: q for q in PROPERTIES}
    fixed = STRAIGHT.replace('"n"', "4").replace("    n = T.int64()\n", "")
    pipeline = "zero,ToNonDataflow,RemovePurityChecking,CallTIRRewrite"
    assert not by_name["MEMORY_PLANNED"].holds(rxe.run_pipeline(rxe.parse(fixed), pipeline))
    copied = fixed.replace("R.nn.relu(c)", "R.nn.relu(e)").replace(
        "        d =", "        e = c\n        d ="
    )
    renamed = rxe.normalize(rxe.parse(copied))
    assert not by_name["CANONICAL_BINDINGS"].holds(renamed)


STRAIGHT = """
@R.function
def main(x: R.Tensor((4, "n"), "float32"), w: R.Tensor((4,), "float32")) -> R.Tensor((4, 4), "float32"):
    n = T.int64()
    with R.dataflow():
        a = R.exp(x)
        b = R.matmul(a, R.permute_dims(x))
        c = R.add(b, w)
        d = R.nn.relu(c)
        R.output(d)
    return d
"""
PROVED = {
    "LegalizeOps",
    "FuseOps",
    "ToNonDataflow",
    "CallTIRRewrite",
    "StaticPlanBlockMemory",
    "KillAfterLastUse",
    "LowerRuntimeBuiltin",
}


def test_results_of_lowering_are_proved_without_a_second_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derived_again, "CHECKS", False)
    module, proved = rxe.normalize(rxe.parse(STRAIGHT)), set[str]()
    for step in steps("zero,default_build"):
        outcome = run_step(step, module, held=holding(module))
        if outcome.module in DERIVED and outcome.changed:
            proved.add(step.of.name)
            assert wrong(outcome.module, {NORMALIZED}) == set()
        module = outcome.module
    assert proved >= PROVED
