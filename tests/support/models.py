"""Models that tests make: an MLP, a residual CNN, a layer of BERT with a dynamic sequence, and a decoder with a cache, for ONNX and PyTorch.

The file imports `onnx` or `torch` when a model is made: neither is there everywhere.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

HIDDEN, HEADS = 16, 2


class OnnxModel:
    """Collects the nodes and weights of an ONNX model. Values have the names that PyTorch's exporter gives."""

    def __init__(self) -> None:
        self.onnx: Any = importlib.import_module("onnx")
        self.random = np.random.default_rng(7)
        self.nodes: list[Any] = []
        self.weights: list[Any] = []

    def weight(self, name: str, *shape: int, scale: float = 0.2) -> str:
        """A weight with this name."""
        return self.constant(name, (self.random.standard_normal(shape) * scale).astype("float32"))

    def constant(self, name: str, value: Any) -> str:
        """An initializer."""
        self.weights.append(self.onnx.numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(self, operator: str, inputs: list[str], layer: str, outputs: int = 1, **attrs: Any) -> str:
        """A node in a layer; the name of its first result."""
        name = f"/{layer}/{operator}"
        names = [f"{name}_output_{n}" for n in range(outputs)]
        self.nodes.append(self.onnx.helper.make_node(operator, inputs, names, name=name, **attrs))
        return names[0]

    def linear(self, x: str, layer: str, width: int, out: int) -> str:
        """A linear layer."""
        path = layer.replace("/", ".")
        found = self.node("MatMul", [x, self.weight(f"{path}.weight", width, out)], layer)
        return self.node("Add", [found, self.weight(f"{path}.bias", out)], layer)

    def norm(self, x: str, layer: str) -> str:
        """A layer norm."""
        path = layer.replace("/", ".")
        scale, bias = self.weight(f"{path}.weight", HIDDEN, scale=1.0), self.weight(f"{path}.bias", HIDDEN)
        return self.node("LayerNormalization", [x, scale, bias], layer, axis=-1)

    def model(self, inputs: Mapping[str, list[Any]], outputs: Mapping[str, str], opset: int = 17) -> Any:
        """The model. `outputs` gives results their names."""
        helper, types = self.onnx.helper, self.onnx.TensorProto
        for name, value in outputs.items():
            self.nodes.append(helper.make_node("Identity", [value], [name], name=f"/{name}"))
        kind = {"ids": types.INT64, "mask": types.BOOL}
        ins = [
            helper.make_tensor_value_info(name, kind.get(name, types.FLOAT), dims)
            for name, dims in inputs.items()
        ]
        outs = [helper.make_tensor_value_info(name, types.FLOAT, None) for name in outputs]
        graph = helper.make_graph(self.nodes, "model", ins, outs, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def onnx_mlp() -> Any:
    """Two linear layers, and a batch of any length."""
    at = OnnxModel()
    hidden = at.node("Relu", [at.linear("x", "fc1", 16, 32)], "act")
    return at.model({"x": ["batch", 16]}, {"y": at.linear(hidden, "fc2", 32, 8)})


def onnx_cnn() -> Any:
    """A residual CNN with batch norm, pooling and a classifier."""
    at = OnnxModel()

    def conv(x: str, layer: str, channels: int, out: int) -> str:
        path = layer.replace("/", ".")
        found = at.node(
            "Conv",
            [x, at.weight(f"{path}.conv.weight", out, channels, 3, 3)],
            f"{layer}/conv",
            pads=[1, 1, 1, 1],
        )
        parts = [
            at.weight(f"{path}.bn.{name}", out, scale=0.5) for name in ("weight", "bias", "running_mean")
        ]
        parts.append(at.constant(f"{path}.bn.running_var", np.linspace(0.5, 1.5, out, dtype="float32")))
        return at.node("BatchNormalization", [found, *parts], f"{layer}/bn")

    stem = at.node("Relu", [conv("image", "stem", 3, 8)], "stem/act")
    pooled = at.node("MaxPool", [stem], "pool", kernel_shape=[2, 2], strides=[2, 2])
    inner = at.node("Relu", [conv(pooled, "block/0", 8, 8)], "block/act")
    joined = at.node("Add", [conv(inner, "block/1", 8, 8), pooled], "block")
    flat = at.node(
        "Flatten", [at.node("GlobalAveragePool", [at.node("Relu", [joined], "block/out")], "head")], "head"
    )
    return at.model({"image": ["batch", 3, 8, 8]}, {"logits": at.linear(flat, "head/fc", 8, 4)})


def _attention(at: OnnxModel, x: str, layer: str, keys: str, values: str) -> str:
    """Attention of the queries of `x` to keys and values (batch, heads, length, width)."""
    query = _heads(at, at.linear(x, f"{layer}/query", HIDDEN, HIDDEN), f"{layer}/query")
    turned = at.node("Transpose", [keys], f"{layer}/keys", perm=[0, 1, 3, 2])
    scores = at.node("MatMul", [query, turned], f"{layer}/scores")
    root = at.constant(f"{layer}.scale", np.float32((HIDDEN // HEADS) ** 0.5))
    weights = at.node(
        "Softmax", [at.node("Div", [scores, root], f"{layer}/scores")], f"{layer}/scores", axis=-1
    )
    mixed = at.node(
        "Transpose",
        [at.node("MatMul", [weights, values], f"{layer}/mixed")],
        f"{layer}/mixed",
        perm=[0, 2, 1, 3],
    )
    shape = at.constant(f"{layer}.joined", np.array([0, 0, HIDDEN], "int64"))
    return at.linear(at.node("Reshape", [mixed, shape], f"{layer}/mixed"), f"{layer}/output", HIDDEN, HIDDEN)


def _heads(at: OnnxModel, x: str, layer: str) -> str:
    """A value as (batch, heads, length, width)."""
    shape = at.constant(f"{layer}.heads", np.array([0, 0, HEADS, HIDDEN // HEADS], "int64"))
    return at.node("Transpose", [at.node("Reshape", [x, shape], layer)], layer, perm=[0, 2, 1, 3])


def onnx_bert() -> Any:
    """A layer of BERT with embeddings, GELU by erf, and a sequence of any length."""
    at = OnnxModel()
    x = at.norm(
        at.node("Gather", [at.weight("embeddings.word", 20, HIDDEN), "ids"], "embeddings"), "embeddings/norm"
    )
    keys = _heads(at, at.linear(x, "attention/key", HIDDEN, HIDDEN), "attention/key")
    values = _heads(at, at.linear(x, "attention/value", HIDDEN, HIDDEN), "attention/value")
    x = at.norm(
        at.node("Add", [x, _attention(at, x, "attention", keys, values)], "attention"), "attention/norm"
    )
    wide = at.linear(x, "mlp/up", HIDDEN, 4 * HIDDEN)
    error = at.node(
        "Erf", [at.node("Div", [wide, at.constant("mlp.root", np.float32(2**0.5))], "mlp/gelu")], "mlp/gelu"
    )
    one, half = at.constant("mlp.one", np.float32(1)), at.constant("mlp.half", np.float32(0.5))
    gelu = at.node(
        "Mul",
        [at.node("Mul", [wide, at.node("Add", [error, one], "mlp/gelu/sum")], "mlp/gelu"), half],
        "mlp/gelu/half",
    )
    out = at.norm(at.node("Add", [x, at.linear(gelu, "mlp/down", 4 * HIDDEN, HIDDEN)], "mlp"), "mlp/norm")
    return at.model({"ids": ["batch", "seq"]}, {"hidden": out})


def onnx_decoder() -> Any:
    """One step of a decoder: it takes the keys and values of the past, and gives those with the new ones behind them."""
    at = OnnxModel()
    x = at.node("Gather", [at.weight("embed.weight", 20, HIDDEN), "ids"], "embed")
    normed = at.norm(x, "layer/norm")
    grown = {}
    for name in ("key", "value"):
        new = _heads(at, at.linear(normed, f"layer/{name}", HIDDEN, HIDDEN), f"layer/{name}")
        grown[name] = at.node("Concat", [f"past_{name}", new], f"layer/{name}", axis=2)
    x = at.node("Add", [x, _attention(at, normed, "layer", grown["key"], grown["value"])], "layer")
    logits = at.node("MatMul", [x, at.weight("lm_head.weight", HIDDEN, 20)], "lm_head")
    past = [1, HEADS, "past", HIDDEN // HEADS]
    outputs = {"logits": logits, "present_key": grown["key"], "present_value": grown["value"]}
    return at.model({"ids": [1, 1], "past_key": past, "past_value": past}, outputs)


ONNX: dict[str, Callable[[], Any]] = {
    "mlp": onnx_mlp,
    "cnn": onnx_cnn,
    "bert": onnx_bert,
    "decoder": onnx_decoder,
}


def write_onnx(name: str, folder: Path) -> str:
    """Write a model; returns its path."""
    path = folder / f"{name}.onnx"
    importlib.import_module("onnx").save(ONNX[name](), str(path))
    return str(path)
