"""A problem of a program produced by a pass points into the text of that stage."""

from __future__ import annotations

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import map_blocks
from relax_explorer.core.passes.contract import PassSite, function_pass
from relax_explorer.core.passes.pipeline import Step, run_step
from relax_explorer.core.phases.module_properties import WELL_FORMED
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.session import Session
from relax_explorer.core.syntax.doc import placed
from relax_explorer.core.syntax.printer import printed_module
from tests.support.roundtrip import function

TEXT = function("y = R.exp(x)\nz = R.add(y, y)\nreturn z")


def broken(module: IRModule) -> IRModule:
    """The module with an added use of an unbound variable, without a span."""
    fn = module["main"]
    stranger = e.Var("stranger", fn.params[0].struct_info)

    def change(binding: e.Binding) -> e.Binding:
        if binding.var is None or binding.var.name != "z":
            return binding
        assert isinstance(binding.value, e.Call)
        call = e.Call(binding.value.op, (stranger, stranger), struct_info=binding.value.struct_info)
        return e.VarBinding(binding.var, call)

    body = map_blocks(fn.body, change)
    return module.having(
        {"main": e.Function(fn.params, body, fn.ret_struct_info, fn.pure, fn.attrs, fn.struct_info)}
    )


def test_a_generated_node_is_found_in_the_printed_text() -> None:
    module = broken(rxe.normalize(rxe.parse(TEXT)))
    problems = [item for item in rxe.check(module) if item.code.id == "RX0102"]
    assert problems
    assert all(item.span is None for item in problems)
    [first, *_] = placed(problems, printed_module(module, metadata=False), "after Broken")
    assert first.span is not None
    assert "z: R.Tensor((2, 3)" in first.span.text
    assert str(first.span).startswith("after Broken:")


def test_a_session_places_the_problems_of_its_stages() -> None:
    @function_pass("Breaks")
    def breaks(fn: e.Function, at: PassSite) -> e.Function:
        """Bind a use of an unbound variable."""
        return broken(at.module)[at.function]  # type: ignore[no-any-return]

    session = Session(rxe.parse(TEXT), [])
    outcome = run_step(Step(breaks, {}), session.stages[0].module, True, {WELL_FORMED})
    texts = [
        item.span.text
        for item in placed(outcome.problems, printed_module(outcome.module, metadata=False), "x")
        if item.span
    ]
    assert any("stranger" in text for text in texts)


def test_places_in_the_users_text_stay() -> None:
    module = rxe.normalize(rxe.parse(function("y = R.exp(x)\nreturn x")))
    problems = rxe.check(module)
    assert [item.code.id for item in problems] == ["RX0301"]
    assert placed(problems, printed_module(module, metadata=False), "x") == tuple(problems)
