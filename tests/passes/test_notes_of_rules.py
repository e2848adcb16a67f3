"""What a rule notes is known up to the end of the branch or the nested function in which it stands."""

from __future__ import annotations

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.passes.contract import PassSite
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite
from tests.support.roundtrip import function

TEXT = function(
    """
a = R.exp(x)
if c:
    b1 = R.exp(a)
    b2 = R.exp(b1)
    if c:
        d1 = R.exp(b2)
        d2 = R.exp(d1)
        r = R.exp(d2)
    else:
        s = R.exp(b2)
        r = R.exp(s)
    t = R.exp(r)
    k = R.exp(t)
else:
    u = R.exp(a)
    k = R.exp(u)
@R.function
def f(p: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
    v = R.exp(p)
    return v
w = R.exp(k)
return w
""",
    'x: R.Tensor((2, 3), "float32"), c: R.Tensor((), "bool")',
)


def test_notes_end_with_their_scope() -> None:
    module = rxe.normalize(rxe.parse(TEXT))
    fn, found = module["main"], dict[str, tuple[object, object]]()
    assert isinstance(fn, e.Function)

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        assert binding.var is not None
        if type(binding.value) is e.Call:
            name = binding.var.name
            found[name] = walk.lookup("latest"), walk.lookup("first in a branch")
            walk.note("latest", name)
            if name in ("b1", "d1"):
                walk.note("first in a branch", name)
        return binding

    assert rewrite(fn, PassSite(module, "main"), rule) is fn
    assert found["a"] == (None, None)
    assert found["b1"] == ("a", None)
    assert found["b2"] == ("b1", "b1")
    assert found["d1"] == ("b2", "b1")
    assert found["d2"] == ("d1", "d1")
    assert found["s"] == ("b2", "b1")
    assert found["t"] == ("b2", "b1")
    assert found["u"] == ("a", None)
    assert found["v"] == ("a", None)
    assert found["w"] == ("a", None)
