"""Text that would steer a terminal or mislead a reader, and every place of a program that can carry it."""

from __future__ import annotations

import unicodedata

_FORMAT = (
    0x00AD, 0x061C, 0x180E, 0x200B, 0x200E, 0x200F, *range(0x202A, 0x202F), 0x2060, *range(0x2066, 0x206A), 0xFEFF,
    *range(0xFFF9, 0xFFFC), 0xE0001, 0xE0041,
)  # fmt: skip
_OTHER = (0xDC9B, 0xDFFF, 0x2028, 0x2029, 0xD800, 0xDBFF, 0xE000, 0xFFFE, 0xFFFF, 0x10FFFF)

PAYLOADS: tuple[str, ...] = tuple(
    chr(code) for code in (*range(9), *range(11, 0x20), *range(0x7F, 0xA0), *_FORMAT, *_OTHER)
)
"""C0 without tab and line feed, DEL, C1, BOM, separators, directions, tags, lone surrogates, private use, noncharacters."""

LATER = "\x85\x9b]5\u202e\u2066\u2028\u2029\ufeff\U000e0041"
"""Unsafe characters that a source may contain literally: no C0, no DEL."""

SHORT = "\x1b]5\x07\x9b\x7f\u202e\u2028\ufeff\ud800"
"""One of each kind, short enough to fit uncut into every label."""

_HEAD = 'x: R.Tensor((2,), "float32")'


def _body(*lines: str, head: str = _HEAD, options: str = "pure=False") -> str:
    body = "".join(f"        {line}\n" for line in lines)
    return f"@I.ir_module\nclass M:\n    @R.function({options})\n    def main({head}):\n{body}"


def _method(text: str) -> str:
    return _body("return x") + text


_NO_TEXT = {
    "\0",
    "\r",
    "\f",
    *map(chr, range(0xD800, 0xE000)),
}  # a source can't hold them, or they end its line
# In QUOTED places `§` is inside a string literal and is escaped by Python's rules; in RAW ones it is inserted literally.
QUOTED = {
    "operator": _body('y = R.op("§", x)', "return y"),
    "print format": _body('R.print(x, format="§")', "return x"),
    "string": _body('y = R.str("§")', "return x"),
    "packed function": _body('y = R.call_packed("§", x, sinfo_args=[R.Object()])', "return y"),
    "packed destination": _body(
        'y = R.call_dps_packed("§", (x,), out_sinfo=R.Tensor((2,), "float32"))', "return y"
    ),
    "extern function": _body('y = R.ExternFunc("§")(x)', "return y"),
    "extern member": _method('    q = R.ExternFunc("§")\n'),
    "function attribute": _body('R.func_attr({"key": "§"})', "return x"),
    "key of a function attribute": _body('R.func_attr({"§": 1})', "return x"),
    "key inside of an attribute": _body('R.func_attr({"key": {"§": ["§"]}})', "return x"),
    "global symbol": _body('R.func_attr({"global_symbol": "§"})', "return x"),
    "module attribute": _method("").replace("class M:\n", 'class M:\n    I.module_attrs({"§": "§"})\n'),
    "device": _method("").replace(
        "class M:\n", 'class M:\n    I.module_global_infos({"vdevice": [I.vdevice("§")]})\n'
    ),
    "dtype value": _body('y = R.dtype("§")', "return x"),
    "dtype": _body('y: R.Tensor((2,), "§") = R.add(x, x)', "return y"),
    "dtype of a call": _body('y = R.astype(x, dtype="§")', "return y"),
    "attribute of an operator": _body('y = R.nn.conv2d(x, x, data_layout="§")', "return y"),
    "dimension": _body("return x", head='x: R.Tensor(("§",), "float32")'),
    "assertion": _body('R.assert_op(R.const(False, "bool"), x, format="§")', "return x"),
    "metadata": _body('y = metadata["§"][0]', "return x"),
    "kernel": _method(
        '    @T.prim_func\n    def k(A: T.Buffer((2,), "float32")):\n        T.func_attr({"§": "§"})\n        with T.sblock("§"):\n'
        '            T.evaluate(T.call_extern("int32", "§", A[0]))\n'
    ),
    "name of a variable in a graph": _body("lv§ = R.add(x, x)", "return x"),
}
RAW = {
    "comment": "# §\n" + _body("return x  # §"),
    "body of a Python function": _method(
        '    @I.pyfunc\n    def p(x):  # §\n        """§"""\n        return "§"\n'
    ),
    "wrong syntax": _body("y = R.add(x, §)", "return y"),
    "text in a wrong place": _body('y = R.add(x, "§")', "return y"),
    "docstring": _body('"""§"""', "return x"),
    "wrong decorator": "@§\n" + _body("return x"),
    "after an error": _body("y = R.add(x, nothing)  # §", "return y"),
}
PLACES: tuple[str, ...] = (*QUOTED, *RAW)


def program(place: str, payload: str) -> bytes:
    """The text of a program that carries `payload` at `place`."""
    if place in QUOTED:
        escaped = "".join(f"\\U{ord(character):08x}" for character in payload)
        return QUOTED[place].replace("§", escaped).encode()
    return RAW[place].replace("§", "".join(c for c in payload if c not in _NO_TEXT)).encode()


def unsafe(text: str) -> str:
    """The characters of a text that must not reach a terminal, as escapes; empty if the text is safe."""
    kinds = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    found = {c for c in set(text) if c not in "\n\t" and unicodedata.category(c) in kinds}
    return " ".join(sorted(f"U+{ord(c):04X}" for c in found))
