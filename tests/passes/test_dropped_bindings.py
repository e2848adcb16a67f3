"""A pass that only drops calls leaves all other StructInfo as it follows: nothing is derived again, unless a scope is gone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import relax_explorer as rxe
from relax_explorer.core.check.normalize_function import FunctionNormalizer
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.node import replace
from relax_explorer.core.passes import derived_again
from relax_explorer.core.passes.contract import PassSite, module_pass
from relax_explorer.core.passes.pipeline import Step, run_step
from relax_explorer.core.passes.rewrite import without
from relax_explorer.core.phases.module_properties import NORMAL_FORM
from relax_explorer.core.program.module import IRModule
from tests.support.copies import with_new_body

PROGRAM = """
@I.ir_module
class M:
    @R.function
    def other(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        unread_there = R.exp(x)
        return x
    @R.function
    def main(x: R.Tensor((2,), "float32"), o: R.Object, c: R.Tensor((), "bool")) -> R.Tensor((2,), "float32"):
        m = T.int64()
        with R.dataflow():
            first = R.exp(x)
            kept = R.sin(x)
            last = R.cos(x)
            R.output(first, kept, last)
        between = R.exp(kept)
        with R.dataflow():
            alone = R.exp(kept)
            R.output(alone)
        pair = (x, kept)
        field = pair[0]
        cast = R.match_cast(o, R.Tensor((m,), "float32"))
        if c:
            inside = R.exp(x)
            branch = R.sin(x)
        else:
            branch = x
        @R.function
        def nested(p: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            within = R.exp(p)
            return p
        z = R.tanh(kept)
        return z
"""
Edit = Callable[[IRModule], IRModule]


def _without(*names: str) -> Edit:
    """An edit that drops bindings by the names of their variables."""

    def change(module: IRModule) -> IRModule:
        site = PassSite(module)
        fns = module.relax_functions
        kept = {
            n: without(fn, site, lambda b: b.var is None or b.var.name not in names) for n, fn in fns.items()
        }
        return module.having({**module.functions, **kept})

    return change


def _in_blocks(edit: Callable[[list[e.BindingBlock]], list[e.BindingBlock]], *names: str) -> Edit:
    """An edit that drops bindings, and then changes the blocks of `main`."""

    def change(module: IRModule) -> IRModule:
        module = _without(*names)(module)
        main = module.relax_functions["main"]
        body = replace(main.body, blocks=tuple(edit(list(main.body.blocks))))
        return module.having({**module.functions, "main": replace(main, body=body)})

    return change


def _with_first(
    edit: Callable[[tuple[e.Binding, ...]], tuple[e.Binding, ...]],
) -> Callable[[list[e.BindingBlock]], list[e.BindingBlock]]:
    return lambda blocks: [replace(blocks[0], bindings=edit(blocks[0].bindings)), *blocks[1:]]


def _split(blocks: list[e.BindingBlock]) -> list[e.BindingBlock]:
    last = blocks[-1]
    return [*blocks[:-1], e.BindingBlock(last.bindings[:1]), e.BindingBlock(last.bindings[1:])]


def _moved(blocks: list[e.BindingBlock]) -> list[e.BindingBlock]:
    """The blocks with the last binding of the first one at the start of the second, which is no dataflow block."""
    one, two = blocks[0], blocks[1]
    return [
        replace(one, bindings=one.bindings[:-1]),
        replace(two, bindings=(one.bindings[-1], *two.bindings)),
        *blocks[2:],
    ]


def _of_another_type(module: IRModule) -> IRModule:
    module = _without("first")(module)
    main = module.relax_functions["main"]
    body = replace(main.body, struct_info=s.OBJECT)
    return module.having({**module.functions, "main": replace(main, body=body)})


EDITS: dict[str, tuple[Edit, bool]] = {
    "the first of a block": (_without("first"), False),
    "the last of a block": (_without("last"), False),
    "a call outside of dataflow blocks": (_without("between"), False),
    "the calls of two functions": (_without("first", "unread_there"), False),
    "all but what the result reads": (
        _without("first", "last", "between", "alone", "field", "pair", "unread_there"),
        False,
    ),
    "a block, so that two become one": (_without("alone"), False),
    "a tuple and its field": (_without("pair", "field"), False),
    "a match_cast": (_without("cast"), True),
    "a branch": (_without("branch"), True),
    "a call in a branch": (_without("inside"), True),
    "a function": (_without("nested"), True),
    "a call in a function": (_without("within"), True),
    "one, and others change places": (_in_blocks(_with_first(lambda b: b[::-1]), "between"), True),
    "one, and another comes twice": (_in_blocks(_with_first(lambda b: (*b, b[0])), "between"), True),
    "one, and another one is new": (
        _in_blocks(_with_first(lambda b: (replace(b[0], annotation=s.OBJECT), *b[1:])), "between"),
        True,
    ),
    "one, and another leaves its block": (_in_blocks(_moved, "field"), True),
    "one, and a block is empty": (_in_blocks(lambda bs: [*bs, e.BindingBlock(())], "field"), True),
    "one, and a block is two": (_in_blocks(_split, "field"), True),
    "one, and the body has another type": (_of_another_type, True),
}


def _problems(
    module: IRModule, edit: Edit, monkeypatch: pytest.MonkeyPatch, checks: bool
) -> tuple[list[str], list[e.Function]]:
    """What is told of an edit, and the functions whose StructInfo is derived for that."""

    def run(given: IRModule, at: PassSite) -> IRModule:
        return edit(given)

    runs, normalize = list[e.Function](), FunctionNormalizer.run
    with monkeypatch.context() as patch:
        patch.setattr(FunctionNormalizer, "run", lambda self, fn: (runs.append(fn), normalize(self, fn))[1])
        patch.setattr(derived_again, "CHECKS", checks)
        outcome = run_step(Step(module_pass("Planted", requires=[NORMAL_FORM])(run)), module)
    return [problem.message for problem in outcome.problems], runs


@pytest.mark.parametrize("edit", EDITS)
def test_what_stays_is_derived_again_only_if_a_scope_may_differ(
    edit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    change, again = EDITS[edit]
    module = rxe.normalize(rxe.parse(PROGRAM))
    module = module.having({name: with_new_body(fn) for name, fn in module.functions.items()})
    told, runs = _problems(module, change, monkeypatch, checks=False)
    assert bool(runs) is again
    looked, runs = _problems(module, change, monkeypatch, checks=True)
    assert looked == told
    assert runs


def test_wildcards_are_derived_again(monkeypatch: pytest.MonkeyPatch) -> None:
    module = rxe.normalize(rxe.parse(PROGRAM))
    module = replace(module, attrs=Attrs({"wildcard_dims": True}))
    module = module.having({name: with_new_body(fn) for name, fn in module.functions.items()})
    _, runs = _problems(module, _without("first"), monkeypatch, checks=False)
    assert runs


@pytest.mark.parametrize("name", ["DeadCodeElimination", "FoldConstant"])
def test_passes_that_drop_calls_derive_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = rxe.normalize(_without("branch", "inside", "nested")(rxe.parse(PROGRAM)))
    module = module.having({key: with_new_body(fn) for key, fn in module.functions.items()})
    runs = list[FunctionNormalizer]()
    monkeypatch.setattr(FunctionNormalizer, "run", lambda self, fn: runs.append(self))
    monkeypatch.setattr(derived_again, "CHECKS", False)
    assert run_step(Step(rxe.passes.get(name)), module).changed
    assert runs == []
