"""Functions built binding by binding are in normal form, have StructInfo, and print as intended."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core.build.block_builder import BlockBuilder
from relax_explorer.core.build.module_editor import ModuleEditor
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.dtype import BOOL, FLOAT32, INT64
from relax_explorer.core.source import Source, Span

N = p.PrimVar("n", INT64)
VECTOR = s.TensorStructInfo((N,), FLOAT32)
FLAG = s.TensorStructInfo((), BOOL)


def call(name: str, *args: e.Expr) -> e.Call:
    return e.Call(e.op_ref(f"relax.{name}"), args)


def editor() -> ModuleEditor:
    return ModuleEditor(rxe.IRModule({}))


def built(build: BlockBuilder, result: e.Expr) -> rxe.IRModule:
    """A module of the built function, which must equal the normalizer's result."""
    fn = build.emit_func_output(result, attrs=Attrs({"global_symbol": "main"}))
    build.editor.add("main", fn)
    module = build.editor.done()
    assert rxe.normalize(module) is module
    assert not [problem for problem in rxe.check(module) if problem.is_error]
    return module


def body(module: rxe.IRModule) -> str:
    """The lines of `main` after its head."""
    return module.script().partition("def main(")[2].partition("\n")[2].rstrip()


def test_a_value_gets_its_struct_info_as_it_is_emitted() -> None:
    x = e.Var("x", VECTOR)
    build = BlockBuilder(editor(), (x,))
    y = build.emit(call("exp", x), "y")
    assert y.struct_info is VECTOR
    assert build.emit(e.Tuple((x, y))).struct_info is s.TupleStructInfo((VECTOR, VECTOR))
    (binding, _) = build.bindings
    assert binding.value.struct_info is VECTOR


def test_what_is_nested_is_bound_before() -> None:
    x = e.Var("x", VECTOR)
    build = BlockBuilder(editor(), (x,))
    y = build.emit(call("exp", call("sin", x)), "y")
    first, second = build.bindings
    assert isinstance(second.value, e.Call)
    assert second.value.args == (first.var,)
    assert second.var is y
    built(build, call("cos", y))


def test_outputs_of_a_dataflow_block_are_seen_after_it() -> None:
    x = e.Var("x", VECTOR)
    build = BlockBuilder(editor(), (x,))
    with build.dataflow():
        inner = build.emit(call("exp", x))
        out = build.emit_output(call("sin", inner))
    assert type(inner) is e.DataflowVar
    assert type(out) is e.Var
    after = build.emit(call("cos", out))
    assert type(after) is e.Var
    module = built(build, after)
    kinds = [type(block) for block in module["main"].body.blocks]
    assert kinds == [e.DataflowBlock, e.BindingBlock]
    assert [b.var.name for block in module["main"].body.blocks for b in block.bindings] == ["lv", "gv", "gv1"]


def test_an_output_does_not_mention_a_shape_that_only_the_block_knows() -> None:
    x = e.Var("x", VECTOR)
    build = BlockBuilder(editor(), (x,))
    with build.dataflow():
        shape = build.emit(call("shape_of", x))
        assert isinstance(shape, e.DataflowVar)
        out = build.emit_output(e.Call(e.op_ref("relax.exp"), (x,)))
        held = s.TensorStructInfo(shape, FLOAT32, 1)
        cast = build.emit_match_cast(out, held)
        last = build.emit_output(cast)
    assert cast.struct_info is held
    assert last.struct_info is s.TensorStructInfo(None, FLOAT32, 1)


def test_names_that_are_taken_get_numbers() -> None:
    x, gv = e.Var("x", VECTOR), e.Var("gv", VECTOR)
    build = BlockBuilder(editor(), (x, gv))
    names = [build.emit(call("exp", x), hint).name for hint in ("x", "x", "y", "", "")]
    assert names == ["x_1", "x_2", "y", "gv1", "gv2"]
    module = built(build, gv)
    assert all(f"{name} = " in body(module) or f"{name}: " in body(module) for name in names)


def test_names_of_a_function_that_is_built_within_are_taken() -> None:
    text = """
@R.function
def main(x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")):
    if c:
        y = R.exp(x)
        z = y
    else:
        z = x
    return z
"""
    module = rxe.normalize(rxe.parse(text))
    build = BlockBuilder(ModuleEditor(module), within=module["main"])
    assert [build.emit(call("exp", module["main"].params[0]), hint).name for hint in "xyzc"] == [
        "x_1",
        "y_1",
        "z_1",
        "c_1",
    ]


def test_new_shape_variables_are_in_scope_after_their_cast() -> None:
    x = e.Var("x", s.TensorStructInfo(None, FLOAT32, 1))
    build = BlockBuilder(editor(), (x,))
    cast = build.emit_match_cast(x, VECTOR, "known")
    assert cast.struct_info is VECTOR
    module = built(build, call("add", cast, cast))
    assert module["main"].ret_struct_info is s.TensorStructInfo(None, FLOAT32, 1)  # the caller knows no n
    build = BlockBuilder(editor(), (e.Var("y", VECTOR), x))
    build.emit_check(x, VECTOR)
    assert type(build.bindings[0]) is e.MatchCast
    assert build.bindings[0].var is None
    module = built(build, call("exp", build.fn.params[0]))
    assert module["main"].ret_struct_info is VECTOR


def test_branches_are_sequences_of_their_own() -> None:
    x, flag = e.Var("x", VECTOR), e.Var("c", FLAG)
    build = BlockBuilder(editor(), (x, flag))
    y = build.emit(call("exp", x), "y")
    true, false = build.branch(), build.branch()
    yes = true.emit_result(true.emit(call("sin", y), "u"))
    no = false.emit_result(call("cos", y))
    chosen = build.emit(e.If(flag, yes, no), "z")
    assert chosen.struct_info is VECTOR
    assert [b.var.name for b in build.bindings if b.var] == ["y", "z"]
    built(build, chosen)


def test_a_branch_that_says_less_widens_the_result() -> None:
    x, flag = e.Var("x", VECTOR), e.Var("c", FLAG)
    build = BlockBuilder(editor(), (x, flag))
    true, false = build.branch(), build.branch()
    own = p.PrimVar("m", INT64)
    unknown = true.emit_match_cast(x, s.TensorStructInfo((own,), FLOAT32))
    chosen = build.emit(e.If(flag, true.emit_result(unknown), false.emit_result(x)))
    assert chosen.struct_info is s.TensorStructInfo(None, FLOAT32, 1)
    built(build, chosen)


def test_a_branch_inside_a_function_knows_its_lengths_and_places() -> None:
    text = '@R.function\ndef main(x: R.Tensor(("n",), "float32"), c: R.Tensor((), "bool")):\n    return x\n'
    module = rxe.normalize(rxe.parse(text))
    x, flag = module["main"].params
    build = BlockBuilder(ModuleEditor(module), within=module["main"])
    with build.inherit(x):
        true, false = build.branch(), build.branch()
        true.add(e.VarBinding(e.Var("y", x.struct_info), call("exp", x)))
        yes = true.emit_result(true.bindings[0].var or x)
        no = false.emit_result(false.emit(call("sin", x)))
        chosen = build.emit(e.If(flag, yes, no))
    assert chosen.struct_info is x.struct_info
    assert no.blocks[0].bindings[0].span is x.span is not None


def test_a_branch_in_a_branch_knows_shapes_that_parameters_hold() -> None:
    shape, flag = e.Var("sh", s.ShapeStructInfo(None, 1)), e.Var("c", FLAG)
    x = e.Var("x", s.TensorStructInfo(shape, FLOAT32, 1))
    build = BlockBuilder(editor(), (shape, x, flag))
    outer = build.branch()
    chosen = outer.emit(e.If(flag, outer.branch().emit_result(x), outer.branch().emit_result(x)))
    assert chosen.struct_info is x.struct_info


def test_a_function_inside_reads_what_is_around_it() -> None:
    x, inner_x = e.Var("x", VECTOR), e.Var("x", VECTOR)
    build = BlockBuilder(editor(), (x,))
    y = build.emit(call("exp", x), "y")
    inside = build.function((inner_x,))
    closure = inside.emit_func_output(inside.emit(call("add", inner_x, y), "y"))
    assert closure.ret_struct_info is VECTOR
    f = build.emit(closure, "f")
    module = built(build, e.Call(f, (x,)))
    assert module["main"].ret_struct_info is VECTOR
    names = [b.var.name for b in closure.body.blocks[0].bindings if b.var]
    assert names == ["y_1"]


def test_a_recursive_closure_sees_itself() -> None:
    x, inner_x, flag = e.Var("x", VECTOR), e.Var("v", VECTOR), e.Var("c", FLAG)
    build = BlockBuilder(editor(), (x, flag))
    f = e.Var("f", s.FuncStructInfo((VECTOR,), VECTOR, True))
    inside = build.function((inner_x,))
    closure = e.Function(
        (inner_x,), inside.emit_result(e.Call(f, (inner_x,))), VECTOR, struct_info=f.struct_info
    )
    build.add(e.VarBinding(f, closure))
    built(build, e.Call(f, (x,)))


def test_places_come_from_what_is_inherited() -> None:
    source = Source("x = y\nz = w\n", "here.py")
    first, second = Span(source, 1, 0, 1, 5), Span(source, 2, 0, 2, 5)
    x = e.Var("x", VECTOR)
    build = BlockBuilder(editor(), (x,))
    with build.inherit(e.Var("a", VECTOR, first)):
        y = build.emit(call("exp", call("sin", x)))
        build.emit_check(y, VECTOR)
    own = build.emit(e.Call(e.op_ref("relax.exp"), (y,), span=second))
    assert [b.span for b in build.bindings] == [first, first, first, second]
    assert build.bindings[1].value.span is first
    assert (y.span, own.span) == (first, second)
    assert build.emit(call("cos", own)).span is None


def test_provenance_names_every_binding_that_was_emitted() -> None:
    x = e.Var("x", VECTOR)
    old = e.VarBinding(e.Var("old", VECTOR), call("exp", x))
    records: list[tuple[e.Binding, tuple[e.Binding, ...]]] = []
    build = BlockBuilder(editor(), (x,), record=lambda before, after: records.append((before, after)))
    build.emit(call("sin", x), "before")
    with build.inherit(old):
        with build.dataflow():
            build.emit_output(call("exp", call("cos", x)), "a")
        build.emit(call("tan", x), "b")
    build.emit(call("sin", x), "after")
    ((origin, successors),) = records
    assert origin is old
    assert [b.var.name for b in successors if b.var] == ["lv", "a", "b"]


@pytest.mark.parametrize("nested", [False, True])
def test_a_call_that_cannot_be_right_is_refused(nested: bool) -> None:
    x, y = e.Var("x", VECTOR), e.Var("y", s.TensorStructInfo((N,), INT64))
    build = BlockBuilder(editor(), (x, y))
    wrong: e.Expr = call("add", x, y)
    with pytest.raises(Failure) as failure:
        build.emit(call("exp", wrong) if nested else wrong)
    assert failure.value.diagnostics[0].code.id == "RX0202"


def test_a_kernel_is_added_once_and_called_with_its_signature() -> None:
    x = e.Var("x", VECTOR)
    build = BlockBuilder(editor(), (x,))

    def twice(te, value, out):  # type: ignore[no-untyped-def]
        return te.compute("T_twice", value.shape, lambda *i: value[i] + value[i])

    first = build.emit(build.call_te("twice", twice, (x,), (VECTOR,), VECTOR))
    build.emit(build.call_te("twice", twice, (first,), (VECTOR,), VECTOR))
    module = built(build, first)
    assert list(module.functions) == ["main", "twice"]


def test_a_leaf_without_a_span_is_bound_as_it_is() -> None:
    x = e.Var("x", VECTOR)
    build = BlockBuilder(editor(), (x,))
    origin = e.VarBinding(e.Var("o", VECTOR), x, None, Span(Source("a", "t"), 1, 0, 1, 1))
    with build.inherit(origin):
        build.emit(x, "y")
    assert all(binding.value is x for binding in build.bindings)


def test_only_bindings_get_successors() -> None:
    x = e.Var("x", VECTOR)
    seen: list[object] = []
    build = BlockBuilder(editor(), (x,))
    with build.inherit(e.VarBinding(e.Var("o", VECTOR), x)):  # nobody records
        build.emit(call("exp", x))
    build.record = lambda old, new: seen.append((old, new))
    with build.inherit(call("exp", x)):  # an expression is no binding
        build.emit(call("sin", x))
    assert seen == []
