"""The options with which random programs are given to passes, and the passes of TVM that make the programs ready."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from relax_explorer.core.patterns import pattern as q
from relax_explorer.core.patterns import read_pattern
from tests.support import wire
from tests.support.oracle import Pass
from tests.support.pattern_trees import tree


@dataclass(frozen=True)
class Variant:
    """A pass with options. `theirs` are TVM's options, if they are written otherwise; TVM runs `before` on the program first.

    The variants of a pass that has several are numbered. Only the programs `only` are of interest, if it names some, and only those
    whose text has what the pattern `needs` says: what the options are about.
    """

    name: str
    options: dict[str, Any] = field(default_factory=dict)
    theirs: dict[str, Any] | None = None
    before: tuple[Pass, ...] = ()
    number: int = 0
    only: tuple[str, ...] = ()
    needs: str = ""

    @property
    def title(self) -> str:
        """The name, with the number if there are several variants."""
        return f"{self.name} {self.number}" if self.number else self.name

    @property
    def in_tvm(self) -> Pass:
        """The pass as TVM is asked for it."""
        return self.name, self.options if self.theirs is None else self.theirs


def _named(text: str) -> list[Any]:
    title, written = text.split(": ", 1)
    pattern = read_pattern(written)
    assert isinstance(pattern, q.Pattern)
    return [title, tree(pattern)]


PATTERNS = (
    ["my.mm_relu: relu(matmul(_, _))", "my.mm: matmul(_, _)", "your.add: add(_, _)"],
    [
        "my.s: relu(split(_)[0])",
        "my.r: reshape(reshape(_, _), _)",
        "my.mm: matmul(_, permute_dims(_))",
        "my.a: add(exp(_), _)",
    ],
    ["my.add2: add(add(_, _), _)", "my.r: relu(reshape(_, _))", "my.a: relu(add(_, _))"],
    ["my.s: relu(split(_)[0])", "my.c: relu(concat(_))", "my.mm_add: add(matmul(_, _), const)"],
    ["my.m: matmul(x: f32[4, 4], _)", "my.e: exp(x) | sin(x)", "my.p: multiply(_, ~const)"],
)
TREES = [[_named(text) for text in patterns] for patterns in PATTERNS]
LEGAL: tuple[Pass, ...] = ("LegalizeOps", "AnnotateTIROpPattern")
BUILD: tuple[Pass, ...] = (
    "LegalizeOps", "RewriteDataflowReshape", "ToNonDataflow", "RemovePurityChecking", "CallTIRRewrite", "StaticPlanBlockMemory",
    "LowerAllocTensor", "KillAfterLastUse", "LowerRuntimeBuiltin", "ComputePrimValue", "VMShapeLower", "AttachGlobalSymbol",
)  # fmt: skip
LAYOUTS: dict[str, Any] = {"desired_layouts": {"relax.nn.conv2d": ["NHWC", "OHWI"]}}
PRODUCT = "my.product: add(matmul(_, _), _)"
PRODUCT_TREE = _named(PRODUCT)
ARRAYS = {
    "k": np.arange(16, dtype="float32").reshape(4, 4, 1, 1),
    "b": np.arange(3, dtype="float32"),
    "x": np.arange(6, dtype="float32").reshape(2, 3),
}
_OPTIONS: dict[str, tuple[dict[str, Any], ...]] = {
    "ToMixedPrecision": ({}, {"out_dtype": "float16"}),
    "LiftTransformParams": ({"shared_transform": False}, {"shared_transform": True}),
    "TopologicalSort": tuple(
        {"order": order, "direction": direction}
        for order in ("depth-first", "breadth-first")
        for direction in ("from-inputs", "from-outputs")
    ),
    "BindSymbolicVars": ({"binding_map": {"n": 3}}, {"binding_map": {"n": 1}, "func_name": "main"}),
    "ConvertLayout": (LAYOUTS,),
    "DecomposeOpsForInference": ({}, {"func_name": "main"}),
    "DecomposeOpsForTraining": ({}, {"func_name": "main"}),
    "EliminateCommonSubexpr": ({}, {"call_only": True}),
    "Gradient": ({"func_name": "main"},),
}
VARIANTS: dict[str, list[Variant]] = {
    name: [Variant(name, options) for options in several] for name, several in _OPTIONS.items()
}
_BOUND = (
    ("k", ARRAYS["k"], Variant("", needs=r"\bk: R\.Tensor\(\(4, 4, 1, 1\)")),
    ("b", ARRAYS["b"], Variant("", needs=r"\bb: R\.Tensor\(\(3,")),
    ("b", ARRAYS["k"], Variant("", only=("binding: Two functions #0",))),  # another shape than it has
    ("x", ARRAYS["x"], Variant("", needs=r"\bmain\((.*, )?x: R\.Tensor\(\(2, 3\), (dtype=)?\"float32\"\)")),
    (
        "x",
        ARRAYS["x"],
        Variant("", needs=r"\bmain\((.*, )?x: R\.Tensor\(\((2|\"\w+\"), \"\w+\"\), (dtype=)?\"float32\"\)"),
    ),
)
VARIANTS["BindParams"] = [
    replace(
        of,
        name="BindParams",
        options={"func_name": "main", "params": {name: array}},
        theirs={"func_name": "main", "params": {name: wire.encode_tensor(array)}},
    )
    for name, array, of in _BOUND
]
VARIANTS["FuseOpsByPattern"] = [
    Variant("FuseOpsByPattern", {"patterns": written, **more}, {"patterns": trees, **more})
    for written, trees in zip(PATTERNS, TREES, strict=True)
    for more in ({}, {"bind_constants": False}, {"annotate_codegen": True})[: 3 if trees is TREES[0] else 1]
]
for _name in ("MergeCompositeFunctions", "RunCodegen"):
    _before: tuple[Pass, ...] = (("FuseOpsByPattern", {"patterns": TREES[0]}), "MergeCompositeFunctions")
    VARIANTS[_name] = [Variant(_name, before=_before[: 1 + (_name == "RunCodegen")])]
VARIANTS["AnnotateTIROpPattern"] = [Variant("AnnotateTIROpPattern", before=("LegalizeOps",))]
VARIANTS["FuseOps"] = [Variant("FuseOps", before=LEGAL)]
VARIANTS["FuseTIR"] = [Variant("FuseTIR", before=(*LEGAL, "FuseOps"))]
for _number, _step in enumerate(BUILD[1:], 1):
    VARIANTS[str(_step)] = [Variant(str(_step), before=BUILD[:_number])]
VARIANTS["LambdaLift"] = [Variant("LambdaLift"), Variant("LambdaLift", before=("LegalizeOps",))]

HALFWAY: dict[str, tuple[Pass, ...]] = {
    "legalized": ("LegalizeOps",),
    "grouped": ("LegalizeOps", "AnnotateTIROpPattern", "FuseOps"),
    "fused": ("LegalizeOps", "AnnotateTIROpPattern", "FoldConstant", "FuseOps", "FuseTIR"),
    "without blocks": ("ToNonDataflow",),
}
HALFWAY_MODELS = (
    "module_llm", "module_tuples", "onnx_axes_from_tensor", "onnx_constofshape", "onnx_nll_loss", "onnx_same_consts",
    "onnx_shape_from_tensor", "onnx_where_cast",
)  # fmt: skip
"""Halfway down the road they have kernels without operands, shapes that builtins read, equal weights: a model as it is imported has none."""
for _name in (
    *(
        "CanonicalizeBindings",
        "ConvertToDataflow",
        "DeadCodeElimination",
        "EliminateCommonSubexpr",
        "FoldConstant",
    ),
    *("InlinePrivateFunctions", "RewriteDataflowReshape"),
):
    VARIANTS[_name] = [
        *VARIANTS.get(_name, [Variant(_name)]),
        *[Variant(_name, before=steps, only=HALFWAY_MODELS) for steps in HALFWAY.values()],
    ]


def variants(name: str) -> list[Variant]:
    """The variants of a pass; without options by default."""
    found = VARIANTS.get(name, [Variant(name)])
    return [replace(of, number=number) for number, of in enumerate(found, 1)] if len(found) > 1 else found
