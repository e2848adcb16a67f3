"""Why a verdict on a program may differ from TVM's: the construct that each reason is about, and what stands for it elsewhere.

A reason explains a difference only if it ends when the construct is replaced: then both must accept the program, or refuse it as the
reason says. So a second difference in the same program is not excused.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

Verdicts = Callable[[str], tuple[list[str], str]]
"""Our codes, and TVM's words, which are `accept` if it accepts."""


@dataclass(frozen=True)
class Reason:
    """A difference that stays, with a row in `differences.md`. `ours` and `theirs` are patterns of the codes and of TVM's words.

    `construct` is a pattern of the text, and `instead` what is read alike in its place: accepted, or refused by us with codes that match
    `then`, and by TVM as before.
    """

    text: str
    ours: str
    theirs: str
    construct: str
    instead: str
    then: str = ""

    def explains(self, text: str, ours: str, theirs: str, verdicts: Verdicts) -> bool:
        """True if the difference is this one, and nothing else."""
        if not re.search(self.ours, ours) or not re.search(self.theirs, theirs):
            return False
        mended = re.sub(self.construct, self.instead, text)
        if mended == text:
            return False
        codes, words = verdicts(mended)
        if self.then:
            return bool(re.search(self.then, " ".join(codes)) and re.search(self.theirs, words))
        return not codes and words == "accept"


_NOT_DEFINED = r"^ill-formed: Var \w+ is not defined\.$"
_RANK_0 = r"expected R\.Tensor\(\(\), .*given R\.Tensor\(\(1,\)"
REASONS: tuple[Reason, ...] = (
    Reason(
        "nothing of the text is executed",
        r"^RX0011$",
        r"^accept$",
        r"\[\w+ for \w+ in range\(\d+\)\]",
        "R.tuple()",
    ),
    Reason(
        "widths that no element type has: float99",
        r"^(RX0013 ?)+$",
        r"^accept$",
        r'"(float|int|uint)(?!8"|16"|32"|64")\d\d?"',
        r'"\g<1>32"',
    ),
    Reason(
        "StructInfo that doubles with each binding",
        r"^(RX0221 ?)+$",
        r"^accept$",
        r"(\w+) = \((\w+), \2\)",
        r"\1 = \2",
    ),
    Reason(
        "a parameter that is matched to two buffers",
        r"^RX0062( RX\d+)*$",
        r"^accept$",
        r"(?s)(T\.match_buffer\((\w+),.*)T\.match_buffer\(\2, ",
        r"\1T.alloc_buffer(",
    ),
    Reason(
        "a number beside a tensor of rank 0: rank 1 in TVM",
        r"^accept$",
        _RANK_0,
        r"(R\.(?:add|subtract|multiply|divide|power|maximum|minimum)\(\w+, )(-?\d+\.\d+)\)",
        r'\1R.const(\2, "float32"))',
    ),
    Reason(
        "a nested function whose annotation is not its result, in a dataflow block",
        r"^accept$",
        _NOT_DEFINED,
        r"(@R\.function\n {8,}def [^\n]*\)) -> [^\n]*:\n",
        r"\1:\n",
    ),
    Reason(
        "a return annotation that is wider than the result of the body",
        r"^accept$",
        r"Argument 0 type mismatch",
        r"(\n    @R\.function[^\n]*\n    def [^\n]*\)) -> R\.Tensor\((?:dtype=\"\w+\", )?ndim=[^\n]*:\n",
        r"\1:\n",
        then=r"^(RX0213 ?)+$",
    ),
    Reason(
        "a return annotation that the result of the body contradicts: only warned of at the function",
        r"^accept$",
        r"Argument 0 type mismatch",
        r"(\n    @R\.function[^\n]*\n    def [^\n]*\)) -> R\.Tensor\(\(3,[^\n]*:\n",
        r"\1:\n",
    ),
    Reason(
        "a length that a dataflow block declares, behind the block",
        r"^accept$",
        r"Undefined variable: \w+",
        r"( {8})(with R\.dataflow\(\):\n(?:.*\n)*?) {12}(\w+) = T\.int64\(\)\n",
        r"\1\3 = T.int64()\n\1\2",
    ),
    Reason(
        "an annotation that is wider than its value: TVM drops it",
        r"^accept$",
        r"Invalid annotation|is impossible to match cast|requires|must have|expects",
        r"(\n +\w+): R\.(?:Tensor\(\"\w+\"\)|Tensor|Object|Any)(?= = )",
        r"\1",
        then=r"^(RX0\d+ ?)+$",
    ),
    Reason(
        "a function that is cast to another signature: decided when it is called",
        r"^accept$",
        r"match cast any value .*R\.Callable",
        r": R\.Callable\((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*\)(?=[,)])",
        ": R.Object",
    ),
    Reason(
        "call_packed with its result in another keyword than ty_args: an attribute in TVM",
        r"^accept$",
        r"requires|must be|Arg|expects|expected|Invalid annotation",
        r"(R\.call_packed\([^\n]*, )(?:sinfo_args|out_sinfo|out_ty|type_args)=",
        r"\1ty_args=",
    ),
    Reason(
        "functions of Python are not called: str",
        r"^RX0014$",
        r"^accept$",
        r'(?<![\w.])str\(("[^"\n]*")\)',
        r"R.str(\1)",
    ),
    Reason(
        "a text in place of lengths: its letters in TVM",
        r"^RX0012$",
        r"^accept$",
        r'R\.Shape\("(\w)"\)',
        r'R.Shape(["\1"])',
    ),
    Reason(
        "words that TVM reads only when it lowers: pad_mode of pad, reduction of scatter_elements, method and padding_mode of grid_sample",
        r"^(RX0211 ?)+$",
        r"^accept$",
        r'(R\.(?:nn\.pad|scatter_elements|scatter_nd|image\.grid_sample)\([^\n]*?), (?:pad_mode|reduction|method|padding_mode)="[^"\n]*"',
        r"\1",
    ),
    Reason(
        "a window that fits nowhere: its result has a negative length in TVM",
        r"^accept$",
        r"T\.int64\(-\d+\)",
        r"(?<=, )99\)",
        "3)",
    ),
    Reason(
        "an element type without a name, which is none in TVM",
        r"^(RX0211 ?)+$",
        r"^accept$",
        r'dtype=""',
        'dtype="float32"',
    ),
)
