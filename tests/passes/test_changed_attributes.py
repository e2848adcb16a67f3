"""A pass that only changes attributes leaves all StructInfo as it follows: nothing is derived again, unless purity may differ."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import relax_explorer as rxe
from relax_explorer.core.check import call_graph
from relax_explorer.core.check.normalize_function import FunctionNormalizer
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.node import replace
from relax_explorer.core.passes import derived_again
from relax_explorer.core.passes.contract import PassSite, module_pass
from relax_explorer.core.passes.pipeline import Step, run_step
from relax_explorer.core.phases.module_properties import NORMAL_FORM
from relax_explorer.core.program.module import IRModule
from tests.support.copies import with_new_body

PROGRAM = """
@I.ir_module
class M:
    @T.prim_func
    def twice(A: T.Buffer((2,), "float32"), B: T.Buffer((2,), "float32")):
        for i in range(2):
            with T.sblock("B"):
                v = T.axis.spatial(2, i)
                B[v] = A[v] * T.float32(2)
    @R.function
    def other(x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")) -> R.Tensor((2,), "float32"):
        if c:
            y = R.exp(x)
        else:
            y = x
        return y
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y = R.call_tir(M.twice, (x,), out_sinfo=R.Tensor((2,), "float32"))
        return y
    @R.function(pure=False)
    def declared(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return x
    @R.function
    def impure(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y = R.print(x, format="{}")
        return x
    @R.function
    def forced(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        R.func_attr({"relax.force_pure": True})
        y = R.print(x, format="{}")
        return x
"""
MARK, FORCED = Attrs({"mark": 1}), Attrs({"relax.force_pure": True})


def _with(name: str, **changes: object) -> Callable[[IRModule], IRModule]:
    """An edit of one function."""
    return lambda m: m.having({**m.functions, name: replace(m[name], **changes)})


EDITS: dict[str, tuple[Callable[[IRModule], IRModule], bool]] = {
    "an attribute": (_with("main", attrs=MARK), False),
    "an attribute of a function with branches": (_with("other", attrs=MARK), False),
    "an attribute of an impure function": (_with("declared", attrs=MARK), False),
    "an attribute of a kernel": (_with("twice", attrs=MARK), False),
    "a declared purity": (_with("main", pure=True), False),
    "a forced purity": (_with("main", attrs=FORCED), False),
    "a purity that a call lacks": (_with("impure", attrs=FORCED), True),
    "a purity against the declaration": (_with("declared", attrs=FORCED), True),
    "an impurity": (_with("main", pure=False), True),
    "a declaration that is gone": (_with("declared", pure=None), True),
    "a result": (_with("main", ret_struct_info=s.OBJECT), True),
    "a type": (lambda m: _with("main", struct_info=m["declared"].struct_info)(m), True),
    "a type that says less": (_with("main", struct_info=s.FuncStructInfo(None, s.OBJECT, True)), True),
    "a force that is gone": (_with("forced", attrs=MARK), True),
    "a force that stays": (_with("forced", attrs=Attrs({"relax.force_pure": True, "mark": 1})), False),
    "a parameter": (lambda m: _with("main", params=(*m["main"].params, e.Var("z", s.OBJECT)))(m), True),
    "a body": (lambda m: _with("main", body=replace(m["main"].body, body=m["main"].params[0]))(m), True),
    "a kernel's parameters": (lambda m: _with("twice", params=m["twice"].params[:1])(m), True),
    "a kernel that is a function now": (lambda m: m.having({**m.functions, "twice": m["main"]}), True),
    "a function more": (lambda m: m.having({**m.functions, "new": m["main"]}), True),
    "a function less": (lambda m: m.having({k: f for k, f in m.functions.items() if k != "other"}), True),
    "an attribute of the module": (lambda m: replace(m, attrs=MARK), True),
    "a device": (lambda m: replace(m, global_infos=Attrs({"mesh": ()})), True),
}


@pytest.mark.parametrize("edit", EDITS)
def test_only_what_purity_or_code_depends_on_is_derived_again(
    edit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    change, again = EDITS[edit]
    module = rxe.normalize(rxe.parse(PROGRAM))
    module = module.having({name: with_new_body(fn) for name, fn in module.functions.items()})

    def run(given: IRModule, at: PassSite) -> IRModule:
        return change(given)

    planted = Step(module_pass("Planted", requires=[NORMAL_FORM])(run))
    runs, normalize = list[e.Function](), FunctionNormalizer.run
    monkeypatch.setattr(FunctionNormalizer, "run", lambda self, fn: (runs.append(fn), normalize(self, fn))[1])
    monkeypatch.setattr(derived_again, "CHECKS", False)
    broken = [problem.code.id for problem in run_step(planted, module).problems]
    assert bool(runs) is again
    monkeypatch.setattr(derived_again, "CHECKS", True)
    assert [problem.code.id for problem in run_step(planted, module).problems] == broken


def test_tests_look_again_whether_the_struct_info_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    module = rxe.normalize(rxe.parse(PROGRAM))
    module = module.having({name: with_new_body(fn) for name, fn in module.functions.items()})
    planted = module_pass("Planted", requires=[NORMAL_FORM])(
        lambda given, at: EDITS["an attribute"][0](given)
    )
    runs, normalize = list[e.Function](), FunctionNormalizer.run
    monkeypatch.setattr(FunctionNormalizer, "run", lambda self, fn: (runs.append(fn), normalize(self, fn))[1])
    run_step(Step(planted), module)
    assert runs


@pytest.mark.parametrize("name", ["AttachGlobalSymbol", "AnnotateTIROpPattern", "RemovePurityChecking"])
def test_passes_that_change_attributes_derive_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = _with("main", attrs=Attrs({}))(rxe.normalize(rxe.parse(PROGRAM)))
    module = module.having({key: with_new_body(fn) for key, fn in module.functions.items()})
    runs = list[FunctionNormalizer]()
    monkeypatch.setattr(FunctionNormalizer, "run", lambda self, fn: runs.append(self))
    monkeypatch.setattr(derived_again, "CHECKS", False)
    looked, mentions = list[e.Function](), call_graph._found
    monkeypatch.setattr(call_graph, "_found", lambda fn: looked.append(fn) or mentions(fn))  # type: ignore[func-returns-value]  # None
    assert run_step(Step(rxe.passes.get(name)), module).changed
    assert runs == []
    assert looked == []  # no fresh name is asked for
