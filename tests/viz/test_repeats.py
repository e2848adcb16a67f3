"""Equal layers are found and drawn once; a layer that differs in anything but names and weights is drawn."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from relax_explorer.core.check.normalize import normalize_with
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.syntax.parser import parse
from relax_explorer.viz.folding import pieces, repeats
from relax_explorer.viz.ir_graph import graph
from tests.cli.test_commands import rxe_cli

# One layer; {h} is what it reads, {n} its number. `skip` is read once more at its end.
LAYER = """\
        a{n} = R.matmul({h}, w{n})
        b{n} = R.add(a{n}, m)
        s{n} = R.split(b{n}, 2, axis=1)
        c{n} = s{n}[0]
        d{n} = s{n}[1]
        e{n} = R.multiply(c{n}, R.const(0.5, "float32"))
        f{n} = R.concat((e{n}, d{n}), axis=1)
        g{n} = R.add(f{n}, {h})
"""


def layered(
    count: int,
    tail: str = "",
    results: str = "",
    layer: str = LAYER,
    before: str = "",
    dtype: str = "float32",
    **changes: str,
) -> IRModule:
    """A chain of layers over `x`. `changes` replace text in the layer `L7` and so on; `tail` follows them all, `before` leads them."""
    weights = "".join(f', w{n}: R.Tensor((8, 8), "float32")' for n in range(count))
    lines, last = [], "x"
    for n in range(count):
        text = layer.format(n=n, h=last)
        if f"L{n}" in changes:
            old, new = changes[f"L{n}"].split(" => ")
            assert old in text
            text = text.replace(old, new)
        lines.append(text)
        last = f"g{n}"
    head = f'x: R.Tensor(("k", 8), "{dtype}"), m: R.Tensor((8,), "float32"), o: R.Tensor((8,), "float32"){weights}'
    ending = f"        r = R.exp({last})\n{tail}        R.output(r{results})\n    return r\n"
    text = f"@R.function\ndef main({head}):\n    with R.dataflow():\n{before}{''.join(lines)}{ending}"
    module, problems = normalize_with(parse(text))
    assert not [item for item in problems if item.is_error]
    return module


def test_layers_that_take_their_weights_from_a_tuple_are_equal() -> None:
    layer = "        w{n} = params[{n}]\n        a{n} = R.matmul({h}, w{n})\n        b{n} = R.add(a{n}, m)\n        g{n} = R.exp(b{n})\n"
    text, last = "", "x"
    for n in range(6):
        text, last = text + layer.format(n=n, h=last), f"g{n}"
    packed = ", ".join(['R.Tensor((8, 8), "float32")'] * 6)
    head = f'x: R.Tensor(("k", 8), "float32"), m: R.Tensor((8,), "float32"), params: R.Tuple({packed})'
    source = f"@R.function\ndef main({head}):\n    with R.dataflow():\n{text}        R.output({last})\n    return {last}\n"
    module = normalize_with(parse(source))[0]
    assert counts(module) == [(4, 6)]
    drawing = graph(module, layers="once", weights="fold")
    assert [node.id for node in drawing.nodes] == ["x", "a0", "b0", "g0", "return"]
    assert "w0 (8, 8) f32" in drawing.node("a0").lines


def test_fields_that_only_hidden_layers_read_are_hidden() -> None:
    layer = "        a{n} = R.add({h}, p{n})\n        b{n} = R.add(a{n}, m)\n        g{n} = R.exp(b{n})\n"
    text = "".join(f"        p{n} = past[{n}]\n" for n in range(8))
    last = "x"
    for n in range(8):
        text, last = text + layer.format(n=n, h=last), f"g{n}"
    packed = ", ".join(['R.Tensor(("k", 8), "float32")'] * 8)
    head = f'x: R.Tensor(("k", 8), "float32"), m: R.Tensor((8,), "float32"), past: R.Tuple({packed})'
    source = f"@R.function\ndef main({head}):\n    with R.dataflow():\n{text}        R.output({last})\n    return {last}\n"
    drawing = graph(normalize_with(parse(source))[0], layers="once")
    assert [node.id for node in drawing.nodes if node.title.startswith("[")] == ["p0"]


def counts(module: IRModule) -> list[tuple[int, int]]:
    return [(item.length, item.count) for item in repeats(module.relax_functions["main"])]


def test_equal_layers_are_one_repeat() -> None:
    module = layered(32)
    assert counts(module) == [(8, 32)]
    (found,) = repeats(module.relax_functions["main"])
    first, *_, last = pieces(found)
    assert [piece.var.name for piece in first if piece.var] == [
        "a0",
        "b0",
        "s0",
        "c0",
        "d0",
        "e0",
        "f0",
        "g0",
    ]
    assert last[-1].var is not None
    assert last[-1].var.name == "g31"
    assert found.carried == (7,)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("axis=1)\n        c4 => axis=-1)\n        c4", [4, 5]),  # an attribute
        ("0.5 => 0.25", [4, 5]),  # a scalar
        ("multiply(c4 => multiply(d4", [4, 5]),  # wiring inside
        ("add(a4, m) => add(m, a4)", [4, 5]),  # the order of operands
        ("add(f4, g3) => add(f4, g2)", [3, 5]),  # wiring to the layers before
        ("add(f4, g3) => add(f4, x)", [4, 5]),
        ("matmul(g3, w4) => matmul(f3, w4)", [4, 5]),
        ("add(f4, g3) => add(f4, f4)", [4, 5]),
        ("add(a4, m) => add(a4, a4)", [4, 5]),
        ("add(a4, m) => add(a4, o)", [10]),  # another weight
        ("matmul(g3, w4) => matmul(g3, w3)", [10]),  # the weight of another layer
    ],
)  # fmt: skip
def test_a_layer_that_differs_ends_the_repeat(change: str, expected: list[int]) -> None:
    assert counts(layered(10, L4=change)) == [(8, count) for count in expected]


def test_lengths_that_differ_end_the_repeat() -> None:
    lines = []
    last, width = "x", 8
    for n in range(8):
        if n == 4:
            lines.append("        p = R.matmul(g3, z)\n")
            last, width = "p", 4
        lines.append(
            f"        a{n} = R.matmul({last}, w{width})\n        b{n} = R.exp(a{n})\n        c{n} = R.tanh(b{n})\n"
        )
        lines.append(f"        d{n} = R.sin(c{n})\n        g{n} = R.add(d{n}, {last})\n")
        last = f"g{n}"
    head = ", ".join(f'{name}: R.Tensor({shape}, "float32")' for name, shape in
                     {"x": '("k", 8)', "w8": "(8, 8)", "w4": "(4, 4)", "z": "(8, 4)"}.items())  # fmt: skip
    text = f"@R.function\ndef main({head}):\n    with R.dataflow():\n{''.join(lines)}        R.output(g7)\n    return g7\n"
    module, _ = normalize_with(parse(text))
    assert counts(module) == [(5, 4), (5, 4)]


def test_a_value_of_a_middle_layer_that_is_used_later_ends_the_repeat() -> None:
    later = "        q = R.exp(d4)\n"
    assert counts(layered(10, tail=later, results=", q")) == [(8, 5), (8, 5)]
    assert counts(layered(10, tail=later.replace("d4", "d9"), results=", q")) == [(8, 10)]
    every = ", ".join(f"d{n}" for n in range(10))
    assert counts(layered(10, tail=f"        q = R.concat(({every}))\n", results=", q")) == [(8, 10)]
    but_last = every.removesuffix(", d9")
    assert counts(layered(10, tail=f"        q = R.concat(({but_last}))\n", results=", q")) == [(8, 9)]
    some = every.replace("d3, ", "")
    assert counts(layered(10, tail=f"        q = R.concat(({some}))\n", results=", q")) != [(8, 10)]


def test_only_weights_may_differ() -> None:
    other = {"before": "        q = R.exp(o)\n", "L4": "add(a4, m) => add(a4, q)"}
    assert counts(layered(10, **other)) == [(8, 4), (8, 5)]
    same = {"before": "        q = R.exp(o)\n", "layer": LAYER.replace(", m)", ", q)")}
    assert counts(layered(10, **same)) == [(8, 10)]


TWICE = """\
        a{n} = R.matmul({h}, w{n})
        b{n} = R.add(a{n}, m)
        c{n} = R.multiply(b{n}, m)
        g{n} = R.add(c{n}, {h})
"""


def test_a_weight_that_is_read_twice_is_one_weight() -> None:
    assert counts(layered(10, layer=TWICE)) == [(4, 10)]
    assert counts(layered(10, layer=TWICE, L4="(b4, m) => (b4, o)")) == [(4, 4), (4, 5)]
    apart = {f"L{n}": f"(b{n}, m) => (b{n}, o)" for n in range(10)}
    assert counts(layered(10, layer=TWICE, **apart)) == [(4, 10)]
    assert counts(layered(10, layer=TWICE, **{**apart, "L4": "(b4, m) => (b4, m)"})) == [(4, 4), (4, 5)]


CAST = """\
        a{n} = R.astype({h}, "float32")
        b{n} = R.exp(a{n})
        c{n} = R.cos(b{n})
        g{n} = R.sin(b{n})
"""


def test_what_a_piece_reads_and_makes_has_equal_struct_info() -> None:
    assert counts(layered(10, layer=CAST)) == [(4, 10)]
    assert counts(layered(10, layer=CAST, dtype="float16")) == [(4, 9)]
    loose = 'c4 = => c4: R.Tensor(ndim=2, dtype="float32") ='
    assert counts(layered(10, layer=CAST, L4=loose)) == [(4, 4), (4, 5)]


def test_no_repeat_where_nothing_is_fed_on_or_known() -> None:
    lines = "".join(
        f"        a{n} = R.exp(x)\n        b{n} = R.sin(a{n})\n        c{n} = R.cos(b{n})\n" for n in range(9)
    )
    results = ", ".join(f"c{n}" for n in range(9))
    text = f'@R.function\ndef main(x: R.Tensor((2,), "float32")):\n    with R.dataflow():\n{lines}'
    text += f"        r = R.concat(({results}))\n        R.output(r)\n    return r\n"
    assert counts(normalize_with(parse(text))[0]) == []  # side by side
    bare = layered(4)
    untyped = parse(bare.script())
    assert counts(untyped) in ([], [(8, 4)])
    assert counts(parse("@R.function\ndef main():\n    return R.const(1)\n")) == []


def test_weights_from_a_tuple_parameter_may_differ() -> None:
    lines, last = [], "x"
    for n in range(6):
        lines.append(
            f"        a{n} = R.matmul({last}, p{n})\n        b{n} = R.exp(a{n})\n        g{n} = R.add(b{n}, {last})\n"
        )
        last = f"g{n}"
    weights = "".join(f"        p{n} = w[{n}]\n" for n in range(6))
    tensor = 'R.Tensor((8, 8), "float32")'
    head = f'x: R.Tensor(("k", 8), "float32"), w: R.Tuple({", ".join([tensor] * 6)})'
    text = f"@R.function\ndef main({head}):\n    with R.dataflow():\n{weights}{''.join(lines)}        R.output(g5)\n    return g5\n"
    assert counts(normalize_with(parse(text))[0]) == [(3, 6)]


def test_the_first_layer_stands_for_all() -> None:
    whole, once = graph(layered(6)), graph(layered(6), layers="once")
    layer = [node for node in once.nodes if node.badge]
    assert [node.id for node in layer] == ["a0", "b0", "s0", "c0", "d0", "e0", "f0", "g0"]
    assert {node.badge for node in layer} == {"×6"}
    assert [len(node.sources) for node in layer] == [6] * 8
    assert len(once.nodes) == len(whole.nodes) - 5 * 8 - 5  # five layers and their weights
    assert {(edge.source, edge.target) for edge in once.edges} >= {
        ("x", "a0"),
        ("x", "g0"),
        ("g0", "r"),
        ("w0", "a0"),
    }
    assert "6 equal layers of 8 bindings are drawn once (×6); each reads g0 of the one before" in once.notes
    (cluster,) = once.clusters
    assert {node.cluster for node in layer} == {cluster.id}
    assert "×6" in cluster.title
    assert graph(layered(1), layers="once") == graph(layered(1))


def test_what_changed_in_any_layer_marks_the_one_that_is_drawn() -> None:
    module = layered(6)
    changed = [repeats(module.relax_functions["main"])[0].bindings[8 * 4 + 2]]
    once = graph(module, changed=changed, layers="once")
    assert [node.id for node in once.nodes if node.marks] == ["s0"]


def test_the_command_draws_layers_once_and_each_with_expand(tmp_path: Path) -> None:
    file = tmp_path / "layers.py"
    file.write_text(layered(6).script())
    assert "×6" in rxe_cli("graph", str(file), "--format", "unicode").stdout
    assert "equal layers" in rxe_cli("graph", str(file), "--format", "dot").stdout
    each = rxe_cli("graph", str(file), "--expand", "--format", "json").stdout
    assert len(json.loads(each)["nodes"]) > 48
