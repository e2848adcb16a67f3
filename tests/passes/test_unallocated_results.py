"""A result without dtype, which TVM accepts for a packed function (case 01_untyped_out), can't be allocated: CallTIRRewrite tells the call."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core.codes import operators as codes

HEAD = '@R.function(pure=False)\ndef main(x: R.Tensor(("n",), "float32"), c: R.Tensor((), "bool")):\n    n = T.int64()\n'
CALL = 'y = R.call_dps_packed("k", (x,), out_ty=OUT)\n'
PROGRAMS = {
    "one": f"{HEAD}    {CALL}    return y\n",
    "branch": f"{HEAD}    if c:\n        y = x\n    else:\n        {CALL}    return y\n",
    "block": f"{HEAD}    with R.dataflow():\n        {CALL}        R.output(y)\n    return y\n",
}
OUTS = ("R.Tensor((4,))", "R.Tensor((n, 2))", '[R.Tensor((4,), "float32"), R.Tensor((n,))]')


@pytest.mark.parametrize("kind", PROGRAMS)
@pytest.mark.parametrize("out", OUTS)
def test_a_result_without_dtype_is_told_at_its_call(kind: str, out: str) -> None:
    text = PROGRAMS[kind].replace("OUT", out)
    with pytest.raises(rxe.Failure) as caught:
        rxe.run_pipeline(rxe.parse(text), "default_build")
    (problem,) = caught.value.diagnostics
    assert (problem.code, problem.origin) == (codes.ARGUMENT_INFO, "CallTIRRewrite")
    line = next(number for number, line in enumerate(text.splitlines(), 1) if "call_dps_packed" in line)
    assert f":{line}:" in str(problem)
