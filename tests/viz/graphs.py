"""Graphs that the tests of `viz` draw."""

from __future__ import annotations

from relax_explorer.viz.drawing import Drawing
from relax_explorer.viz.graph import Cluster, Edge, Kind, Mark, Node

HOSTILE = (
    "\x1b[31mred\x1b]0;title\x07",
    '"quote" \\N \\G \\L \\',
    "<b>bold</b>",
    "<<table>>",
    "]]><script>alert(1)</script>",
    "x" * 20_000,
    "\u202eright to left\u202c\u200b",
    "nul\0nul",
    "two\nlines\r\n",
    "&lt;b&gt; &amp; &#60;",
    "--> <!-- -->",
    "lone \ud800 surrogate",
    "日本語",
    "a" + "\u0301" * 10_000,
    '"]; n0 -> n0 [URL="javascript:alert(1)"',
    "\x85\u2028\ufffe\uffff\U000e0041",
    "",
)


def small() -> Drawing:
    """Eight nodes with every mark, a cluster, and a value that is used twice."""
    return Drawing(
        "mlp · main",
        (
            Node("x", "x", ("(n, 64) f32",), Kind.PARAMETER, "(n, 64) f32", "x: R.Tensor"),
            Node("w", "w", ("(64, 64) f32",), Kind.PARAMETER, "(64, 64) f32"),
            Node(
                "lv",
                "matmul",
                (),
                Kind.OPERATOR,
                "(n, 64) f32",
                "lv = R.matmul(x, w)",
                "df",
                frozenset({Mark.CHANGED}),
            ),
            Node("lv1", "nn.relu", (), Kind.OPERATOR, "(n, 64) f32", "", "df", frozenset({Mark.CURRENT})),
            Node("lv2", "add", ("call_tir",), Kind.CALL, "(n, 64) f32", "", "df", frozenset({Mark.SELECTED})),
            Node("c", "2.0", ("constant",), Kind.CONSTANT, "() f32", "", "df"),
            Node("lv3", "multiply", (), Kind.OPERATOR, "(n, 64) f32", "", "df"),
            Node("return", "return", (), Kind.OUTPUT),
        ),
        (
            Edge("x", "lv", "(n, 64) f32"),
            Edge("w", "lv", "(64, 64) f32"),
            Edge("lv", "lv1", "(n, 64) f32"),
            Edge("lv", "lv2", "(n, 64) f32"),
            Edge("lv1", "lv2", "(n, 64) f32"),
            Edge("lv2", "lv3", "(n, 64) f32"),
            Edge("c", "lv3", "() f32"),
            Edge("lv3", "return", "(n, 64) f32"),
        ),
        (Cluster("df", "dataflow df"),),
    )


def hostile() -> Drawing:
    """A chain of nodes whose every text is a payload that must stay text."""
    kinds = list(Kind)
    nodes = tuple(
        Node(
            f"{index}{text}",
            text,
            (text, text),
            kinds[index % len(kinds)],
            text,
            text,
            text if index % 3 == 0 else None,
        )
        for index, text in enumerate(HOSTILE)
    )
    edges = tuple(
        Edge(one.id, two.id, text) for one, two, text in zip(nodes, nodes[1:], HOSTILE, strict=False)
    )
    clusters = tuple(Cluster(text, text) for text in HOSTILE)
    return Drawing(HOSTILE[4] + HOSTILE[0], nodes, edges, clusters, HOSTILE)


def decoder(layers: int) -> Drawing:
    """The dataflow of a transformer decoder, about 40 nodes a layer, with weights as parameters."""
    nodes: list[Node] = []
    edges: list[Edge] = []

    def add(title: str, *inputs: str, kind: Kind = Kind.OPERATOR) -> str:
        name = f"v{len(nodes)}"
        nodes.append(Node(name, title, kind=kind, shape_text="(b, s, 32) f32"))
        edges.extend(Edge(other, name, "(b, s, 32) f32") for other in inputs)
        return name

    def weight(title: str) -> str:
        return add(title, kind=Kind.PARAMETER)

    def linear(value: str, title: str) -> str:
        return add("matmul", value, add("permute_dims", weight(title)))

    mask = weight("mask")
    hidden = add("take", weight("embed_weight"), add("reshape", weight("ids")))
    for _ in range(layers):
        parts = add("split", linear(add("nn.rms_norm", hidden, weight("attn_norm")), "qkv_weight"))
        query, key, value = (
            add("permute_dims", add("reshape", add(f"[{part}]", parts))) for part in range(3)
        )
        scores = add("add", add("multiply", add("matmul", query, key)), mask)
        mixed = add("reshape", add("permute_dims", add("matmul", add("nn.softmax", scores), value)))
        hidden = add("add", hidden, linear(mixed, "o_weight"))
        halves = add("split", linear(add("nn.rms_norm", hidden, weight("ffn_norm")), "gate_up_weight"))
        gated = add("multiply", add("nn.silu", add("[0]", halves)), add("[1]", halves))
        hidden = add("add", hidden, linear(gated, "down_weight"))
    add("return", linear(add("nn.rms_norm", hidden, weight("norm")), "head_weight"), kind=Kind.OUTPUT)
    return Drawing(f"decoder of {layers} layers", tuple(nodes), tuple(edges))
