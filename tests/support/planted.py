"""Mistakes planted into stages of the Llama build, each with the binding that a bisection must name.

A row replaces the first occurrence of a text after a place in one stage. Later stages stay as TVM printed them.
`python -m tests.support.planted` bisects the whole build of seventeen stages for each row, with recorded and with sampled inputs.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from relax_explorer.ui.cli.main import group

LLAMA = Path(__file__).parent.parent / "data" / "corpus" / "llama"


@dataclass(frozen=True)
class Plant:
    """One mistake: `old` becomes `new` at its first occurrence after `after` in the stage. `names` hold the variable to find."""

    kind: str
    stage: str
    after: str
    old: str
    new: str
    names: tuple[str, ...]

    def text(self) -> str:
        text = (LLAMA / f"{self.stage}.py").read_text()
        place = text.index(self.old, text.index(self.after))
        return text[:place] + self.new + text[place + len(self.old) :]

    def write(self, folder: Path, stages: list[str]) -> None:
        """Write these stages into a folder, one of them with the mistake.

        An attribute that changes nothing is left out, so that the stages share their compiled kernels.
        """
        for name in stages:
            text = self.text() if name == self.stage else (LLAMA / f"{name}.py").read_text()
            (folder / f"{name}.py").write_text(re.sub(r'"op_pattern": \d, ', "", text))

    def is_named(self, found: Mapping[str, Any]) -> bool:
        """True if the JSON of a bisection names the stage and the binding."""
        side = found["verdict"]["first"]["b"]
        stage = f"{found['first_bad']['number']:02}_{found['first_bad']['made_by']}"
        return stage == self.stage and any(
            name in side["name"].split(", ") or (side["name"] == "_" and name in side["text"])
            for name in self.names
        )


def before(stage: str) -> str:
    """The stage before this one."""
    names = sorted(path.stem for path in LLAMA.glob("[0-9]*.py"))
    return names[names.index(stage) - 1]


PLANTS = (
    Plant("a wrong axis", "01_LegalizeOps", "def transpose4", "layers_0_o_weight[v_ax1, v_ax0]\n\n", "layers_0_o_weight[v_ax0, v_ax1]\n\n",
          ("permute_dims5",)),
    Plant("swapped operands", "02_AnnotateTIROpPattern", "def softmax",
          "T.exp(add[v_i0, v_i1, v_i2, v_i3] - T_softmax_maxelem[v_i0, v_i1, v_i2])",
          "T.exp(T_softmax_maxelem[v_i0, v_i1, v_i2] - add[v_i0, v_i1, v_i2, v_i3])", ("softmax",)),
    Plant("a dropped add", "04_FuseOps", "def fused_matmul3_add1",
          'R.call_tir(cls.add1, (reshape1, matmul3), out_ty=R.Tensor((b, s, 32), dtype="float32"))', "matmul3", ("gv", "lv1")),
    Plant("a wrong field", "07_CanonicalizeRelaxBindings", "def forward", "split2[0]", "split2[1]", ("split_02",)),
    Plant("a bound that is one too small", "12_FuseTIRInner", "def fused_split1_silu_multiply1",
          'T.grid(b, s, T.int64(64)):\n            with T.sblock("T_multiply1")',
          'T.grid(b, s, T.int64(63)):\n            with T.sblock("T_multiply1")', ("lv2",)),
    Plant("a wrong dtype", "13_DeadCodeElimination", "def rms_norm(", "= T_rms_norm[v_ax0, v_ax1, v_ax2]",
          '= T.Cast("float32", T.Cast("int32", T_rms_norm[v_ax0, v_ax1, v_ax2]))', ("rms_norm",)),
    Plant("a stale operand", "22_RewriteDataflowReshape", "def forward", "cls.fused_matmul3_add1, (reshape9, permute_dims13, lv3)",
          "cls.fused_matmul3_add1, (reshape9, permute_dims13, lv1)", ("lv5",)),
    Plant("a stale buffer", "25_CallTIRRewrite", "cls.softmax(lv, alloc11)", 'dtype="float32") = alloc11', 'dtype="float32") = alloc10',
          ("softmax",)),
    Plant("two live tensors in one storage", "26_StaticPlanBlockMemory", "cls.transpose2(reshape3, alloc8)",
          "R.memory.alloc_tensor(storage4,", "R.memory.alloc_tensor(storage1,", ("alloc10",)),
    Plant("a tensor killed too early", "29_KillAfterLastUse", "alloc2: R.Tensor",
          "        cls.transpose(layers_0_qkv_weight, alloc2)\n",
          "        cls.transpose(layers_0_qkv_weight, alloc2)\n        R.memory.kill_tensor(alloc1)\n", ("alloc3",)),
    Plant("a wrong weight", "30_LowerRuntimeBuiltin", "def forward", "cls.rms_norm(alloc15, layers_0_ffn_norm_weight",
          "cls.rms_norm(alloc15, layers_0_attn_norm_weight", ("alloc16",)),
    Plant("a wrong length", "32_VMShapeLower", "def forward", '"vm.builtin.make_shape", shape_heap, 4, 1, 0, 1, 1, 0, 4, 0, 8',
          '"vm.builtin.make_shape", shape_heap, 4, 1, 0, 0, 4, 1, 1, 0, 8', ("reshape2",)),
)  # fmt: skip


def main() -> int:
    """Bisect the whole build for each mistake, and print what was named. The status is the number of wrong answers."""
    values = str(LLAMA / "io.npz")
    wrong = 0
    for plant in PLANTS:
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(LLAMA, folder, dirs_exist_ok=True)
            (Path(folder) / f"{plant.stage}.py").write_text(plant.text())
            for options in (["--input", values, "--ref", values], ["--shape", "b=2", "--shape", "s=3"]):
                done = CliRunner().invoke(group, ["bisect", folder, "--format", "json", *options])
                found = json.loads(done.stdout)
                is_right = plant.is_named(found)
                wrong += not is_right
                said = f"{found['first_bad']['made_by']} {found['verdict']['first']['b']['name']}"
                sys.stdout.write(f"{'right' if is_right else 'WRONG'}  {plant.kind}: {said}\n")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
