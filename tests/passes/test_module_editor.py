"""Functions of a module are added and removed without being lost or confused."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core import passes
from relax_explorer.core.build.module_editor import ModuleEditor
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.node import replace
from relax_explorer.core.passes.contract import PassSite, module_pass

TEXT = """
@I.ir_module
class M:
    @T.prim_func(private=True, s_tir=True)
    def kernel(A: T.Buffer((2,), "float32")):
        A[0] = T.float32(1)
    @R.function(private=True)
    def f(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        a = R.exp(x)
        return a
    @R.function
    def g(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        b = R.exp(x)
        return b
"""


@pytest.fixture
def module() -> rxe.IRModule:
    return rxe.normalize(rxe.parse(TEXT))


def test_without_a_change_the_module_is_the_same(module: rxe.IRModule) -> None:
    editor = ModuleEditor(module)
    editor.replace("f", module["f"])
    assert editor.done() is module


def test_equal_functions_are_added_once(module: rxe.IRModule) -> None:
    editor = ModuleEditor(module)
    again = rxe.normalize(rxe.parse(TEXT.replace("a = ", "other = ").replace("return a", "return other")))
    assert editor.add("f", module["f"]).name == "f1"
    assert editor.add("f", again["f"]).name == "f1"
    assert editor.add("kernel", module["kernel"]).name == "kernel1"
    assert editor.add("kernel", again["kernel"]).name == "kernel1"
    different = rxe.normalize(rxe.parse(TEXT.replace("T.float32(1)", "T.float32(2)").replace("exp", "sin")))
    assert editor.add("kernel", different["kernel"]).name == "kernel2"
    assert editor.add("f", different["f"]).name == "f2"
    assert editor.add("h", module["f"]).name == "h"  # an unused name stays
    assert list(editor.done().functions) == ["f1", "f2", "h", "kernel1", "kernel2", "kernel", "f", "g"]


def test_a_function_that_changed_since_is_not_shared(module: rxe.IRModule) -> None:
    editor = ModuleEditor(module)
    first = editor.add("f", module["f"]).name
    editor.replace(first, replace(module["f"], attrs=Attrs({"Primitive": 1})))
    second = editor.add("f", module["f"]).name
    editor.remove(second)
    assert editor.add("f", module["f"]).name not in (first, second)


def test_public_functions_are_never_shared_and_carry_their_name(module: rxe.IRModule) -> None:
    editor = ModuleEditor(module)
    names = [editor.add("g", module["g"]).name for _ in range(2)]
    assert names == ["g1", "g2"]
    done = editor.done()
    assert [done[name].attrs["global_symbol"] for name in names] == names
    assert done["g"] is module["g"]


def test_names_are_fresh_also_after_a_removal(module: rxe.IRModule) -> None:
    editor = ModuleEditor(module)
    editor.remove("g")
    assert "g" not in editor
    assert editor.fresh_name("g") == "g1"
    assert editor.fresh_name("new") == "new"
    assert editor.add("new", module["f"]).name == "new1"
    assert list(editor.done().functions) == ["new1", "kernel", "f"]


def test_what_is_not_there_is_neither_replaced_nor_removed(module: rxe.IRModule) -> None:
    editor = ModuleEditor(module)
    with pytest.raises(KeyError):
        editor.replace("h", module["f"])
    with pytest.raises(KeyError):
        editor.remove("h")
    assert editor.done() is module


def test_signatures_follow_replacements(module: rxe.IRModule) -> None:
    editor = ModuleEditor(module)
    assert editor.reference("f").struct_info is module["f"].struct_info
    other = rxe.normalize(rxe.parse(TEXT.replace("(2,)", "(3,)")))
    editor.replace("f", other["f"])
    assert editor.reference("f").struct_info is other["f"].struct_info
    assert editor.signature("nothing") is None


def test_attributes_and_global_infos(module: rxe.IRModule) -> None:
    editor = ModuleEditor(module)
    editor.set_attrs(Attrs({"runtime": 1}))
    editor.set_global_infos(Attrs({"vdevice": ()}))
    done = editor.done()
    assert (done.attrs, done.global_infos) == (Attrs({"runtime": 1}), Attrs({"vdevice": ()}))
    assert done["f"] is module["f"]
    editor.set_attrs(module.attrs)
    editor.set_global_infos(module.global_infos)
    assert editor.done() is module


def test_an_editor_goes_on_with_a_later_module(module: rxe.IRModule) -> None:
    editor = ModuleEditor(module)
    editor.add("added", module["f"])
    editor.add("gone", module["f"])
    editor.remove("gone")
    later = {**module.functions, "added": editor["added"], "gone": module["g"], "new": module["g"]}
    editor.take(module.having(later))
    assert editor.fresh_name("new") == "new1"
    editor.replace("added", module["g"])
    assert editor.done()["added"] is module["g"]


@pytest.mark.parametrize("asks_before", [True, False])
def test_names_of_a_later_module_are_taken(asks_before: bool, module: rxe.IRModule) -> None:
    editor = ModuleEditor(module)
    if asks_before:
        assert editor.fresh_name("other") == "other"
    editor.take(module.having({**module.functions, "new": module["g"]}))
    editor.take(editor.done().having({**module.functions, "newer": module["g"]}))
    taken = ["f", "g", "new", "newer"]
    assert [editor.fresh_name(name) for name in taken] == ["f1", "g1", "new1", "newer1"]


def _lowered(module: rxe.IRModule, at: PassSite) -> dict[str, e.Function]:
    """The Relax functions after a function pass inside another pass."""
    run = passes.get("LegalizeOps").run
    return {name: run(fn, at) for name, fn in module.relax_functions.items()}


def test_a_module_pass_does_not_lose_what_a_pass_inside_it_adds(module: rxe.IRModule) -> None:
    @module_pass("Outer")
    def outer(module: rxe.IRModule, at: PassSite) -> rxe.IRModule:
        """Lower, and drop the kernels."""
        return module.having({**module.functions, **_lowered(module, at)})

    new, _ = outer.apply(module)
    assert list(new.functions) == ["tir_exp", "kernel", "f", "g"]
    assert not [problem for problem in rxe.check(new) if problem.is_error]


def test_a_module_pass_may_drop_what_it_has_seen(module: rxe.IRModule) -> None:
    @module_pass("Outer")
    def outer(module: rxe.IRModule, at: PassSite) -> rxe.IRModule:
        """Add a function, read the module, add another, and remove the first."""
        at.editor.add("seen", module["f"])
        whole = at.editor.done()
        at.editor.add("unseen", module["f"])
        return whole.having({name: fn for name, fn in whole.functions.items() if name != "seen"})

    assert list(outer.apply(module)[0].functions) == ["unseen", "kernel", "f", "g"]


def test_a_name_that_was_given_away_is_not_given_twice(module: rxe.IRModule) -> None:
    @module_pass("Outer")
    def outer(module: rxe.IRModule, at: PassSite) -> rxe.IRModule:
        """Give a function the name of a kernel that was just added."""
        return module.having({**module.functions, **_lowered(module, at), "tir_exp": module["f"]})

    with pytest.raises(ValueError, match="'tir_exp' names a function that was added already"):
        outer.apply(module)


def test_attributes_that_either_changed_are_kept(module: rxe.IRModule) -> None:
    @module_pass("Outer")
    def outer(module: rxe.IRModule, at: PassSite) -> rxe.IRModule:
        """Set attributes with the editor, and devices by hand."""
        at.editor.set_attrs(Attrs({"runtime": 1}))
        return replace(module, global_infos=Attrs({"vdevice": ()}))

    new, _ = outer.apply(module)
    assert (new.attrs, new.global_infos) == (Attrs({"runtime": 1}), Attrs({"vdevice": ()}))


def test_the_attributes_of_a_derived_module_are_taken(module: rxe.IRModule) -> None:
    editor = ModuleEditor(module)
    editor.take(rxe.IRModule(dict(module.functions), Attrs({"seed": 7})))
    assert editor.done().attrs.get("seed") == 7


def test_a_missing_function_keeps_its_name() -> None:
    text = "@R.function\ndef main(x: R.Tensor((2,), 'float32')):\n    w = cls.missing(x)\n    return w\n"
    editor = ModuleEditor(rxe.parse(text))
    assert editor.fresh_name("missing") != "missing"
