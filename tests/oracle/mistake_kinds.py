"""The kinds of mistakes that people make in programs, each a random change of a text."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Sequence
from random import Random

Change = Callable[[str, Random], str | None]

_CALL = re.compile(
    r"\bR\.(?!Tensor|Shape|Tuple|Callable|Object|Any|Prim|function|dataflow|output|func_attr)([a-z_.0-9]+)\("
)
_BINDING = re.compile(r"^( +)(\w+)(?:: [^=]+)? = (?!Module)", re.M)
_DTYPES = ("float32", "float16", "int32", "int64", "bool", "float64", "uint8")
_SIGNS, _MEMBERS = ("@", "&", "<<", "==", "+", "!="), (".shape", ".T", ".sum()", "[0]", ".dtype")
_OPERATORS = (
    "add",
    "multiply",
    "exp",
    "matmul",
    "sum",
    "reshape",
    "permute_dims",
    "concat",
    "nn.softmax",
    "where",
    "less",
    "astype",
)


def _one(pattern: str, new: Callable[[re.Match[str], Random], str | None]) -> Change:
    """A change of one match of a pattern, chosen at random."""

    def change(text: str, random: Random) -> str | None:
        found = list(re.finditer(pattern, text, re.M))
        if not found:
            return None
        match = random.choice(found)
        put = new(match, random)
        return None if put is None else text[: match.start()] + put + text[match.end() :]

    return change


def _misspelt(match: re.Match[str], random: Random) -> str:
    name = match[1]
    at = random.randrange(len(name))
    return f"R.{name[:at]}{name[at + 1 :]}("


def _swapped(text: str, random: Random) -> str | None:
    """Two bindings in the other order."""
    lines = text.split("\n")
    places = [n for n in range(len(lines) - 1) if all(_BINDING.match(line) for line in lines[n : n + 2])]
    if not places:
        return None
    at = random.choice(places)
    lines[at], lines[at + 1] = lines[at + 1], lines[at]
    return "\n".join(lines)


def _dropped(pattern: str) -> Change:
    """A text without one of its lines."""

    def change(text: str, random: Random) -> str | None:
        lines = text.split("\n")
        places = [n for n, line in enumerate(lines) if re.match(pattern, line)]
        if not places:
            return None
        del lines[random.choice(places)]
        return "\n".join(lines)

    return change


def _another_name(text: str, random: Random) -> str | None:
    """A use of another variable, of any place in the text."""
    names = [match[2] for match in _BINDING.finditer(text)]
    change = _one(r"(?<=[(\s,])(x|y|z|w|lv\d*|gv\d*|a|b)(?=[,)])", lambda match, random: random.choice(names))
    return change(text, random) if names else None


MISTAKES: dict[str, Change] = {
    "an operator misspelt": _one(_CALL.pattern, _misspelt),
    "another operator": _one(_CALL.pattern, lambda match, random: f"R.{random.choice(_OPERATORS)}("),
    "an argument less": _one(r"(R\.[a-z_.]+\([^()]*), [^(),]*\)", lambda match, random: f"{match[1]})"),
    "an argument more": _one(r"(R\.[a-z_.]+\()(\w+)(?=[,)])", lambda match, random: f"{match[1]}{match[2]}, {match[2]}"),
    "an unknown keyword": _one(r"(R\.[a-z_.]+\([^()]+)\)", lambda match, random: f"{match[1]}, nope=1)"),
    "a number as operand": _one(r"(R\.[a-z_.]+\()(\w+)(?=[,)])", lambda match, random: match[1] + random.choice(("2", "2.0", "True", "-1.5"))),
    "another variable": _another_name,
    "an undefined name": _one(r"(?<=[(\s,])(x|y|z|w|lv\d*|gv\d*|a|b)(?=[,)])", lambda match, random: "nope_"),
    "bindings swapped": _swapped,
    "a binding less": _dropped(_BINDING.pattern),
    "no return": _dropped(r" +return "),
    "no output": _dropped(r" +R\.output\("),
    "another dtype": _one(r'(?<=")(float32|float16|int64|int32|bool)(?=")', lambda match, random: random.choice(_DTYPES)),
    "another length": _one(r"(?<=R\.Tensor\(\()(\d+)(?=,)", lambda match, random: str(int(match[1]) + random.choice((1, 2, -1)))),
    "another rank": _one(r"(?<=R\.Tensor\(\()(?=[\w\"])", lambda match, random: "1, "),
    "a length without quotes": _one(r'"([a-z])"(?=[,)])', lambda match, random: match[1]),
    "a length of another name": _one(r"(?<=[(\s,])(n|m|k)(?=[,)])", lambda match, random: "q"),
    "a shape without comma": _one(r"\((\w+),\)(?=, (?:dtype=)?\")", lambda match, random: f"({match[1]})"),
    "an int32 length": _one(r"T\.int64\(\)", lambda match, random: random.choice(("T.int32()", "T.float32()"))),
    "no declaration": _dropped(r" +\w+ = T\.int64\(\)$"),
    "a bare function": _one(r"\b(?:cls|Module)\.(\w+)(?=[(,)])", lambda match, random: match[1]),
    "no cls": _dropped(r" +cls = Module$"),
    "an index beyond": _one(r"(?<=\w)\[(\d)\]", lambda match, random: f"[{int(match[1]) + 3}]"),
    "unpacked": _one(_BINDING.pattern, lambda match, random: f"{match[1]}{match[2]}, other = "),
    "a sign of Python": _one(
        r"R\.(?:add|multiply|matmul)\((\w+), (\w+)\)", lambda match, random: f"{match[1]} {random.choice(_SIGNS)} {match[2]}"
    ),
    "an attribute of Python": _one(r"(?<=[(,] )(\w+)(?=[,)])", lambda match, random: f"{match[1]}{random.choice(_MEMBERS)}"),
    "another out_ty": _one(r"(?<=out_ty=R\.Tensor\(\()(\w+)(?=,)", lambda match, random: random.choice(("1", "7", "q"))),
    "impure": _one(r"R\.(add|exp|multiply)\(", lambda match, random: 'R.call_packed("f", '),
    "a parameter more": _one(r"(?<=def main\()(?=\w)", lambda match, random: "nope: R.Nope, "),
}  # fmt: skip


_OLD_KEYWORDS = {
    "out_ty": ("out_sinfo", "sinfo_args", "ty_args", "type_args", "dtype"),
    "ty_args": ("sinfo_args", "out_sinfo", "out_ty", "type_args"),
    "axis": ("axes", "dim"),
    "keepdims": ("keepdim", "keep_dims"),
    "dtype": ("out_dtype", "type"),
    "strides": ("stride",),
    "axes": ("axis", "dims"),
    "T.sblock": ("T.block",),
    "T.match_buffer": ("T.buffer_decl",),
}
_TYPES = (
    'R.Tensor((2,), "float32")', "R.Tensor", "R.Tensor()", 'R.Tensor("float32")', 'R.Tensor(dtype="float32", ndim=2)', "R.Tensor(ndim=1)",
    "R.Shape", "R.Shape([2])", "R.Shape((2,))", "R.Shape(2)", "R.Shape(ndim=1)", "R.Object", "R.Any", 'R.Prim("int64")', "R.Prim", "R.Prim()",
    'R.Tuple(R.Tensor((2,), "float32"))', "R.Tuple", "R.Tuple()", "R.Tuple(R.Object, R.Object)", "R.Callable", "R.Callable((R.Object,), R.Object)",
    "T.int64", "int", "tuple", "None", '"float32"', "Tensor", "R.tensor", "R.Tensr((2,))", "R.Tensor[(2,), 'float32']",
)  # fmt: skip
_WRONG_DTYPES = (
    "fp32", "float", "double", "half", "int", "Float32", "f32", "torch.float32", "str", "float 32", "bfloat16", "uint", "long", "boolean",
    "handle", "complex64", "int16", "uint32",
)  # fmt: skip
_WRONG_VALUES = (
    '"a"', '"1"', "[0]", "[1, 1]", "(0,)", "None", "1.5", "True", "x", "R.const(1)", "R.prim_value(1)", "T.int64(1)", "-1", "0", "99", "[]", "{}",
    "R.shape([1])", '["a"]', "nope",
)  # fmt: skip
_WRONG_PARTS = tuple(value for value in _WRONG_VALUES if value != "True")  # TVM takes True as a length
_NAMESPACES = {
    "relu": "nn.relu", "softmax": "nn.softmax", "conv2d": "nn.conv2d", "gelu": "nn.gelu", "layer_norm": "nn.layer_norm", "nn.add": "add",
    "nn.matmul": "matmul", "nn.exp": "exp", "nn.sum": "sum", "nn.reshape": "reshape", "math.exp": "exp", "tensor.add": "add", "op.add": "add",
    "linear": "nn.relu", "dropout": "nn.dropout", "nn.concat": "concat", "transpose": "permute_dims", "cat": "concat", "concatenate": "concat",
    "pow": "power", "sub": "subtract", "mul": "multiply", "div": "divide", "view": "reshape", "cast": "astype", "zeros_like": "ones_like",
    "where_": "where", "Add": "add", "nn.functional.relu": "nn.relu", "mm": "matmul",
}  # fmt: skip
_PREFIXES = {
    "R.": ("", "relax.", "r.", "rx."),
    "T.": ("", "R."),
    "@R.function": ("@function", "@relax.function", "@R.func", "@R.function()", "@T.prim_func"),
    "@T.prim_func": ("@prim_func", "@R.function", "@T.function", "@T.prim_func()"),
    "R.dataflow()": ("R.dataflow", "R.dataflow:", "R.dataflow_block()", "dataflow()"),
}
_SIZES = ("8", "(8,)", "(8, 8)", "[8, 8]", "8.0", '"8"', "R.shape([8, 8])", "(8, 8, 8)", "None", "n", "()")
_STORAGES = (
    'R.memory.alloc_storage(R.shape([8]), VALUE, "global", "uint8")',
    'R.memory.alloc_storage(VALUE, 0, "global", "uint8")',
    'R.builtin.alloc_tensor(R.shape([2]), "float32", VALUE)',
    'R.memory.alloc_tensor(R.memory.alloc_storage(R.shape([8]), 0, "global", "uint8"), VALUE, R.shape([2]), "float32")',
    'R.memory.alloc_tensor(VALUE, 0, R.shape([2]), "float32")',
)
_SCALARS = (
    "0",
    "R.prim_value(0)",
    "R.prim_value(T.int32(0))",
    "T.int32(0)",
    "T.int64(0)",
    "R.const(0)",
    "1.5",
    "True",
    "R.shape([8])",
    "R.prim_value(0.5)",
)
_ATTRIBUTES = (
    "1",
    '"a"',
    "None",
    "True",
    "[1, 2]",
    "(1,)",
    "1.5",
    '{"a": 1}',
    "T.int64(1)",
    "float",
    "R.Tensor",
    "nope",
    "x",
    "[nope]",
    "{1: 2}",
)
_STATEMENTS = (
    "pass", "print(x)", "x += x", "x = x", "assert True", "del x", "import tvm", "return", "y_ = not x", "y_ = x and x",
    "R.print(x)", "x.y = x", "x[0] = x", "y_ = 1", 'y_ = "a"', "y_ = [x, x]", "y_ = x[0]", "y_ = len(x)", "y_: int = 1",
    "y_ = R.const(1)", "y_ = -x", "y_ = x + 1", "y_ = 1 + x", "y_ = x * 2.0", "y_ = x > 0", "y_ = x ** 2", "y_ = x // 2", "y_ = x % 2", "y_ = (x)",
    "y_ = (x,)",
    "y_ = x,", "y_ = z_ = x", "global x", "while True:\n    pass", "for i in range(2):\n    y_ = x", "try:\n    pass\nfinally:\n    pass",
    "y_ = R.shape([1])", "y_ = R.shape(1)", "y_ = R.shape([1.5])", "y_ = R.tuple(x)", "y_ = R.const([1, [2]])",
    "y_ = R.const(None)", 'y_ = R.const("a")', "y_ = R.const(x)", "y_ = R.const(1, dtype=float32)", "y_ = T.int64(1)", "y_ = R.prim_value(x)",
    "y_ = R.str(1)",
    "y_ = R.dtype(1)", "'a text'", "x", "R.add(x, x)", "y_ = R.add(x, x).astype('float16')", "y_ = await_",
)  # fmt: skip


def _renamed(pick: Callable[[Random], str]) -> Change:
    """A name that a binding or a parameter binds, and each of its uses, as another word."""

    def change(text: str, random: Random) -> str | None:
        names = sorted({match[2] for match in _BINDING.finditer(text)} - {"_", "cls"})
        return re.sub(rf"\b{random.choice(names)}\b", pick(random), text) if names else None

    return change


def _inserted(lines: Callable[[str, Random], Sequence[str]]) -> Change:
    """Lines before a binding, in its block; `lines` gets the name of a variable bound before, or of a parameter."""

    def change(text: str, random: Random) -> str | None:
        found = list(_BINDING.finditer(text))
        if not found:
            return None
        match = random.choice(found)
        before = text[: match.start()]
        header = before.rfind("    def ")
        bound = [other[2] for other in found if header < other.start() < match.start()]
        bound += re.findall(r"[(,] ?(\w+): R\.Tensor", before[header:].split("\n")[0])
        if not bound:
            return None
        made = "\n".join(lines(random.choice(bound), random)).split("\n")
        return before + "".join(f"{match[1]}{line}\n" for line in made) + text[match.start() :]

    return change


def _worded(words: dict[str, Sequence[str]]) -> Change:
    """One of the words, where it stands, as another."""
    pattern = "|".join(rf"(?<![\w.]){re.escape(word)}(?=\b|(?<=\.))" for word in words)
    return _one(pattern, lambda match, random: random.choice(words[match[0]]))


def _namespace(text: str, random: Random) -> str | None:
    wrong, right = random.choice(list(_NAMESPACES.items()))
    found = list(re.finditer(rf"\bR\.{re.escape(right)}\(", text))
    if not found:
        return None
    match = random.choice(found)
    return f"{text[: match.start()]}R.{wrong}({text[match.end() :]}"


def _other_result(text: str, random: Random) -> str | None:
    """A return of a variable of a dataflow block."""
    names = [match[2] for match in re.finditer(r"^( {12,})(\w+)(?:: [^=]+)? = ", text, re.M)]
    change = _one(r"(?<=        return )\w+$", lambda match, random: random.choice(names))
    return change(text, random) if names else None


def _twice(text: str, random: Random) -> str | None:
    """A function under the name of another, or a copy of one."""
    names = re.findall(r"^    def (\w+)\(", text, re.M)
    if len(names) > 1 and random.random() < 0.7:
        one, other = random.sample(names, 2)
        return text.replace(f"    def {one}(", f"    def {other}(", 1)
    parts = re.split(r"(?m)^(?=    @(?:R\.function|T\.prim_func))", text)
    return text if len(parts) < 2 else text.rstrip("\n") + "\n\n" + random.choice(parts[1:])


_NAMES = ("a", "relax.force_pure", "global_symbol", "num_input", "Composite")


def _attributed(match: re.Match[str], random: Random) -> str:
    """Attributes of a function, or what is no dict."""
    value = random.choice(_ATTRIBUTES)
    said = value if random.random() < 0.2 else f'{{"{random.choice(_NAMES)}": {value}}}'
    return f"{match[1]}R.func_attr({said})\n{match[1]}"


def _holder(name: str, random: Random) -> Sequence[str]:
    """A shape that a variable holds, in an annotation, an operand, or both."""
    info = random.choice(
        (
            'R.Tensor(s_, "float32")',
            "R.Tensor(s_)",
            'R.Tensor(s_, dtype="float32", ndim=2)',
            "R.Shape(s_)",
            "R.Tensor((s_,))",
        )
    )
    last = random.choice(
        (
            f"h_: {info} = {name}",
            f"h_: {info} = R.exp({name})",
            f"h_ = R.reshape({name}, s_)",
            "h_ = R.zeros(s_, 'float32')",
            f"h_ = R.match_cast({name}, {info})",
            f"h_ = R.broadcast_to({name}, s_)",
            f'h_ = R.call_pure_packed("f", {name}, ty_args={info})',
            f'h_ = R.call_dps_packed("f", {name}, out_ty={info})',
        )
    )
    return [
        f"s_ = {random.choice((f'R.shape_of({name})', 'R.shape([2])', 'R.shape([2, 3])', f'{name}.shape', name))}",
        last,
    ]


MISTAKES |= {
    "a keyword of an old version": _worded(_OLD_KEYWORDS),
    "a shape of a variable": _inserted(_holder),
    "an image of another size": _inserted(
        lambda name, random: [
            f'i_ = R.image.resize2d(R.zeros((1, 2, 4, 4), "float32"), {random.choice(_SIZES)})'
        ]
    ),
    "a scalar for memory": _inserted(
        lambda name, random: [
            f"m_ = {random.choice(_STORAGES).replace('VALUE', random.choice((*_SCALARS, name)))}"
        ]
    ),
    "another type of attribute": _one(
        r"(?<=\w=)(?:-?[\d.]+|\[[^\[\]]*\]|True|False|None|\"\w+\")(?=[,)])",
        lambda match, random: random.choice(_WRONG_VALUES),
    ),
    "another type of argument": _one(
        r"(?<=, )(?:-?\d+|\[[^\[\]]*\]|\([\d, ]*\))(?=[,)])",
        lambda match, random: random.choice(_WRONG_PARTS),
    ),
    "a word of Python as a name": _renamed(
        lambda random: random.choice([*keyword.kwlist, "print", "int", "type", "self", "match"])
    ),
    "another prefix": _one(
        r"(?<![\w.@])[RT]\.(?=\w)", lambda match, random: random.choice(_PREFIXES[match[0]])
    ),
    "another decorator": _one(
        r"@R\.function\b|@T\.prim_func\b|R\.dataflow\(\)",
        lambda match, random: random.choice(_PREFIXES[match[0]]),
    ),
    "no decorator": _dropped(r" +@"),
    "another number of results": _one(
        r"(?<=return \()(\w+), (\w+)",
        lambda match, random: random.choice(
            (f"{match[1]},", f"{match[1]}, {match[2]}, {match[1]}", f"({match[1]}, {match[2]})")
        ),
    ),
    "another number of fields": _one(
        r"R\.Tuple\((R\.Tensor\([^()]*(?:\([^()]*\))?[^()]*\)), ",
        lambda match, random: random.choice(("R.Tuple(", f"R.Tuple({match[1]}, {match[1]}, ")),
    ),
    "a result in a tuple": _one(
        r"(?<=return )(\w+)$",
        lambda match, random: random.choice(
            (f"({match[1]},)", f"[{match[1]}]", f"{match[1]}, {match[1]}", f"({match[1]})")
        ),
    ),
    "a dataflow variable as a result": _other_result,
    "another annotation": _one(
        r"(?<=: )R\.(?:Tensor|Tuple|Shape|Object|Any)\b(?:\((?:[^()]|\([^()]*\))*\))?|(?<=-> )R\.\w+\((?:[^()]|\([^()]*\))*\)",
        lambda match, random: random.choice(_TYPES),
    ),
    "no annotation": _one(
        r"(?<=[(,])( ?\w+): R\.Tensor\((?:[^()]|\([^()]*\))*\)(?=[,)])", lambda match, random: match[1]
    ),
    "a dtype that is not there": _one(
        r'(?<=")(float32|float16|int64|int32|bool)(?=")', lambda match, random: random.choice(_WRONG_DTYPES)
    ),
    "another buffer": _one(
        r'(T\.Buffer\(\(|T\.match_buffer\(\w+, \()([^()]*)\), "(\w+)"',
        lambda match, random: (
            f'{match[1]}{random.choice((match[2], "2,", "7, 7", "n,", ""))}), "{random.choice(_DTYPES)}"'
        ),
    ),
    "an attribute of the function": _one(r"^( +)(?=return )", _attributed),
    "two functions of one name": _twice,
    "another namespace": _namespace,
    "a statement of Python": _inserted(
        lambda name, random: [re.sub(r"\bx\b", name, random.choice(_STATEMENTS))]
    ),
}
