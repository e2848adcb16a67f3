"""The JSON documents of command lines, and schemas derived from them: `python -m tests.support.json_schemas` writes those of the package.

A schema says what each document has had so far: which fields are always there, and of what types. Fields may come in later versions, none goes.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from click.testing import CliRunner

from relax_explorer.ui.cli import schemas
from relax_explorer.ui.cli.main import group
from relax_explorer.ui.commands import COMMANDS
from tests.support import models
from tests.support.interface import JSON_LINES, PROGRAMS, SAMPLES
from tests.support.odd_calls import CALLS, words, write_files

DATA = Path(__file__).parents[1] / "data"
FLATTEN = SAMPLES / "shapes" / "fast_flatten.py"
Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
Schema = dict[str, "Json"]
NUMBER: Schema = {"anyOf": [{"type": "number"}, {"enum": ["inf", "-inf", "nan"]}]}
ANYTHING = ".of"
"""A schema inside of a document: what is in it is not told again."""
MAPS = {
    "passes": {".pipelines"},
    "schema": {ANYTHING},
    "missing": {".passes"},
    "cost": {".lengths[]", ".chart_lengths", ".shape", ".parts[].calls"},
    "shapes": {".lengths"},
    "bisect": {".sample.shape"},
    "validate": {".samples[].shape"},
    "compare": {".samples[].shape"},
}
"""Objects whose keys are names of the program, so that each of their values has one schema."""
LINES = (
    *JSON_LINES,
    "bisect {layer} -p default --format json",
    "bisect {build} --format json --test no-nan",
    "compare {build} {build}@12 --all --format json",
    "compare {sum} -p LegalizeOps --format json",
    "cost {layer} --format json --by layer --shape b=1 --shape s=2,3",
    "cost {layer} --format json --by function -p zero,default_build",
    "diff {layer} -p zero --style json",
    "diff {build} --between 0..4 --style json",
    "doctor --format json",
    "export {sum} -p LegalizeOps --format json",
    "find {layer} add(_,_) --format json",
    "graph {layer} --format json --heat flops",
    "graph {build} --between 1..4 --format json",
    "graph {build} --calls --format json",
    "passes --missing --format json",
    "passes --explain LegalizeOps,VMShapeLower --format json",
    "run {layer} --format json --stop-on nan",
    "shapes {layer} --what-if s=7 --format json",
    "shapes {layer} --why main.q.0 --format json",
    "shapes {shapes} --split --format json",
    "validate {layer} -p default --format json",
    "who {build} @softmax --format json",
    "who {layer} q -p default --format json",
    "compare {sum} {sum} --step --script steps.txt --format json",
    "debug {layer} --script steps.txt --format json",
    "reduce broken.py --test no-nan --input mask=zeros -o small.py --format json",
    "run two.py --ranks 2 --unsharded whole.py --shape n=3 --format json",
    "run wrong.py --ranks 2 --unsharded whole.py --shape n=3 --format json",
    "run {shapes} --packed {flatten} --input e=e.npy --format json",
    "schema --format json",
    "schema show --format json",
    "show executable.txt --format json",
)
WITH_TVM = (
    "import model.onnx -o imported.rxs --format json",
    "compare model.onnx --shape batch=2 --format json",
    "passes tvm: --format json",
    "passes tvm:FuseOps --format json",
    "record --json-status status.json -- {python} build.py",
)
"""Lines that need TVM and onnx."""
_LAYER = """@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 8), "float32"), w: R.Tensor((8, {inner}), "float32"), v: R.Tensor(({inner}, 8), "float32")):
        y = R.matmul(R.nn.silu(R.matmul(x, w)), v)
        {sum}
        return z
"""
FILES = {
    "steps.txt": "step\nstep\nbacktrace\ncontinue\n",
    "whole.py": _LAYER.format(inner=16, sum="z = R.add(y, R.const(0, 'float32'))"),
    "two.py": _LAYER.format(inner=8, sum='z = R.ccl.allreduce(y, "sum")'),
    "wrong.py": _LAYER.format(inner=8, sum='z = R.ccl.allreduce(y, "max")'),
    "broken.py": """@R.function
def main(x: R.Tensor((4, 16), "float32"), mask: R.Tensor((4, 16), "float32")):
    y = R.multiply(R.nn.gelu(x), mask)
    z = R.divide(y, R.sum(mask, axis=[-1], keepdims=True))
    return z
""",
    "executable.txt": (DATA / "executables" / "expression.txt").read_text(encoding="utf-8"),
    "build.py": "import tvm\n"
    "from tvm import relax\n"
    "from tvm.script import ir as I\n"
    "from tvm.script import relax as R\n\n"
    "@I.ir_module\nclass Module:\n    @R.function\n"
    "    def main(x: R.Tensor((2, 3), 'float32')):\n        y = R.exp(x)\n        return y\n\n"
    "relax.transform.LegalizeOps()(Module)\n",
}
"""Files of the command lines."""


def documents(lines: Sequence[str] = LINES) -> Iterator[tuple[str, dict[str, Json]]]:
    """Each document of command lines, with its line. Files are written into the current folder."""
    for name, text in FILES.items():
        Path(name).write_text(text, encoding="utf-8")
    np.save("e.npy", np.zeros((16, 16), "int8"))
    if any("model.onnx" in line for line in lines):
        importlib.import_module("onnx").save(models.ONNX["mlp"](), "model.onnx")
    runner = CliRunner()
    for line in lines:
        yield from _printed(
            runner, line, line.format(**PROGRAMS, flatten=FLATTEN, python=sys.executable).split()
        )
        if Path("status.json").exists():
            yield line, json.loads(Path("status.json").read_text(encoding="utf-8"))


def of_odd_calls() -> Iterator[tuple[str, dict[str, Json]]]:
    """Each document of the odd calls that can print JSON."""
    files, runner = write_files(Path.cwd()), CliRunner()
    for status, call in CALLS:
        option = OPTIONS.get(call.split()[0])
        if status in (0, 1) and option:
            asked = words(call, files)
            yield from _printed(runner, call, [*asked, *([] if "json" in asked else [option, "json"])])


OPTIONS = {
    item.name: found[0]
    for item in COMMANDS
    if (found := [a.name for a in item.arguments if "json" in a.choices])
}
"""The option of each command that can print JSON."""


def _printed(runner: CliRunner, line: str, asked: Sequence[str]) -> Iterator[tuple[str, dict[str, Json]]]:
    done = runner.invoke(group, asked)
    for text in (done.stdout, *done.stdout.splitlines()):
        try:
            found = json.loads(text)
        except ValueError:
            continue
        if isinstance(found, dict) and str(found.get("schema", "")).startswith("rxe."):
            yield line, found


def kind(document: Mapping[str, Json]) -> str:
    """The name of the schema of a document."""
    return str(document["schema"]).removeprefix("rxe.").removesuffix("/1")


# -- derivation -------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Seen:
    """What values at one place of a kind of document have been."""

    kinds: set[str] = field(default_factory=set)
    fields: dict[str, Seen] = field(default_factory=dict)
    always: set[str] | None = None
    inside: Seen | None = None
    """What items of arrays are, and values of objects whose keys are names."""

    def add(self, value: Json, maps: Collection[str], path: str = "") -> None:
        """See one more value."""
        self.kinds.add(_kind(value))
        if isinstance(value, list):
            for item in value:
                self._within().add(item, maps, f"{path}[]")
        elif isinstance(value, dict) and path in maps:
            self.kinds.add("map")
            for item in value.values() if path != ANYTHING else ():
                self._within().add(item, maps, f"{path}.*")
        elif isinstance(value, dict):
            for key, item in value.items():
                self.fields.setdefault(key, Seen()).add(item, maps, f"{path}.{key}")
            self.always = set(value) if self.always is None else self.always & set(value)

    def _within(self) -> Seen:
        self.inside = self.inside or Seen()
        return self.inside

    def schema(self) -> Schema:
        """All values that were seen fit it."""
        known = self.kinds - {"map"} - ({"integer"} if "number" in self.kinds else set())
        forms = [self._form(kind) for kind in sorted(known)]
        return forms[0] if len(forms) == 1 else {"anyOf": list(forms)}

    def _form(self, kind: str) -> Schema:
        inside = {} if self.inside is None else self.inside.schema()
        if kind == "number":
            return dict(NUMBER)
        if kind == "array":
            return {"type": "array", **({"items": inside} if inside else {})}
        if kind == "object" and "map" in self.kinds:
            return {"type": "object", "additionalProperties": inside}
        if kind == "object":
            fields: dict[str, Json] = {key: seen.schema() for key, seen in self.fields.items()}
            required: list[Json] = [key for key in self.fields if key in (self.always or ())]
            return {"type": "object", "required": required, "properties": fields}
        return {"type": kind}


def _kind(value: Json) -> str:
    if value in ("inf", "-inf", "nan"):
        return "number"
    kinds = {
        bool: "boolean",
        int: "integer",
        float: "number",
        str: "string",
        type(None): "null",
        list: "array",
    }
    return kinds.get(type(value), "object")


def derived(name: str, found: Sequence[Json]) -> Schema:
    """The schema of a kind of document."""
    seen = Seen()
    for document in found:
        seen.add(document, MAPS.get(name, ()))
    told: Schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:relax-explorer:schema:{name}:1",
        **seen.schema(),
    }
    properties = told["properties"]
    assert isinstance(properties, dict)
    properties["schema"] = {"const": f"rxe.{name}/1"}
    return told


def main() -> None:
    """Write the schemas of the package. A schema that has been published keeps its fields: read the difference."""
    found: dict[str, list[Json]] = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for _, document in (*documents((*LINES, *WITH_TVM)), *of_odd_calls()):
            found.setdefault(kind(document), []).append(document)
    for name, items in found.items():
        text = json.dumps(derived(name, items), indent=1)
        (schemas.FOLDER / f"{name}.json").write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
