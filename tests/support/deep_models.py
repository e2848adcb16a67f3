"""Decoders of many layers as text, with weights as parameters: right models whose results are rounded many times."""

from __future__ import annotations

from collections.abc import Callable

_EPSILON = "1.0000000000000001e-05"
Edit = Callable[[int, str], str]
"""Changes the text of a layer, given its number."""


def decoder(
    layers: int, hidden: int = 64, dtype: str = "float32", tail: str = "", edit: Edit | None = None
) -> str:
    """A decoder of `layers` layers over `s` tokens: attention of one head, a gated feed-forward part, two norms each.

    `tail` is an expression over `h`, the last value; `edit` changes the text of single layers, to plant a fault.
    """
    wide = 2 * hidden
    params = ["x: R.Tensor((s, H), D)"]
    lines: list[str] = []
    for n in range(layers):
        text, names = _layer(n, hidden, wide)
        lines += (edit(n, text) if edit is not None else text).split("\n")
        params += names
    lines += [f"        h = R.nn.rms_norm(h{layers}, g, axes=[-1], epsilon={_EPSILON})"]
    lines += [f"        y = {tail or 'h'}", "        R.output(y)"]
    params += ["g: R.Tensor((H,), D)"]
    text = "\n".join(
        [
            "@I.ir_module",
            "class Module:",
            "    @R.function",
            f"    def main({', '.join(params)}):",
            "        s = T.int64()",
            "        with R.dataflow():",
            "            h0 = x",
            *["    " + line for line in lines],
            "        return y",
        ]
    )
    return text.replace("(s, H)", f"(s, {hidden})").replace("H", str(hidden)).replace("D)", f'"{dtype}")')


def _layer(n: int, hidden: int, wide: int) -> tuple[str, list[str]]:
    names = [f"{w}{n}: R.Tensor(({hidden}, {hidden}), D)" for w in ("wq", "wk", "wv", "wo")]
    names += [f"{w}{n}: R.Tensor(({hidden}, {wide}), D)" for w in ("wg", "wu")]
    names += [
        f"wd{n}: R.Tensor(({wide}, {hidden}), D)",
        f"ga{n}: R.Tensor((H,), D)",
        f"gf{n}: R.Tensor((H,), D)",
    ]
    lines = [
        f"a{n} = R.nn.rms_norm(h{n}, ga{n}, axes=[-1], epsilon={_EPSILON})",
        f"q{n} = R.matmul(a{n}, wq{n})",
        f"k{n} = R.matmul(a{n}, wk{n})",
        f"v{n} = R.matmul(a{n}, wv{n})",
        f"t{n} = R.permute_dims(k{n})",
        f"s{n} = R.matmul(q{n}, t{n})",
        f"p{n} = R.nn.softmax(s{n}, axis=-1)",
        f"c{n} = R.matmul(p{n}, v{n})",
        f"o{n} = R.matmul(c{n}, wo{n})",
        f"r{n} = R.add(h{n}, o{n})",
        f"b{n} = R.nn.rms_norm(r{n}, gf{n}, axes=[-1], epsilon={_EPSILON})",
        f"e{n} = R.matmul(b{n}, wg{n})",
        f"f{n} = R.nn.silu(e{n})",
        f"u{n} = R.matmul(b{n}, wu{n})",
        f"m{n} = R.multiply(f{n}, u{n})",
        f"d{n} = R.matmul(m{n}, wd{n})",
        f"h{n + 1} = R.add(r{n}, d{n})",
    ]
    return "\n".join(["        " + line for line in lines]), names
