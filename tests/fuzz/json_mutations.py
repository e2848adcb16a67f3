"""Damage TVM's JSON: wrong numbers of nodes, classes, fields, texts and tensors, and all damages of texts."""

from __future__ import annotations

import json
from copy import deepcopy
from random import Random
from typing import Any

from tests.fuzz.mutations import ROOT, Mutator

RECORDED = ROOT / "tests/data/tvm_json"
_ODD: list[Any] = [
    0, 1, -1, 2, 7, 10**6, 10**30, 1.5, -0.0, float("inf"), float("nan"), True, False, None, "", "x", "n", "float32", "int0", "bool", "handle",
    "void", [], [0], [-1], [[]], {}, {"type": "None"}, "P6G0lvBAXt0=", "class", "a.b", "é", "\x00", "metadata", "__dict__",
]  # fmt: skip


def documents() -> list[str]:
    """The initial documents: what TVM wrote."""
    return [path.read_text(encoding="utf-8") for path in sorted(RECORDED.glob("*.json"))]


class JsonMutator:
    """Creates damaged documents; the same seed creates the same ones."""

    def __init__(self, seed: int, texts: list[str]) -> None:
        self.random = Random(seed)
        self.texts = texts
        self.characters = Mutator(seed, texts)
        self.kinds = sorted({node["type"] for text in texts for node in json.loads(text)["nodes"]})

    def text(self) -> str:
        """The next damaged document."""
        if self.random.random() < 0.1:
            return self.characters.text()
        document = json.loads(self.random.choice(self.texts))
        for _ in range(self.random.choice((1, 1, 1, 2, 5))):
            self._damage(document["nodes"])
        return json.dumps(document)

    def _damage(self, nodes: list[dict[str, Any]]) -> None:
        node = self.random.choice(nodes)
        data, how = node.get("data"), self.random.random()
        if how < 0.15:
            node["type"] = self.random.choice(self.kinds)
        elif how < 0.2:
            nodes[self.random.randrange(len(nodes))] = deepcopy(self.random.choice(nodes))
        elif isinstance(data, dict) and data:
            key = self.random.choice(sorted(data))
            if how < 0.3:
                del data[key]
            else:
                data[key] = self._value(data[key], len(nodes))
        elif isinstance(data, list) and data:
            at = self.random.randrange(len(data))
            if how < 0.4:
                del data[at]
            elif how < 0.5:
                data.insert(at, self.random.choice(data))
            else:
                data[at] = self._value(data[at], len(nodes))
        elif "data" in node:
            node["data"] = self._value(data, len(nodes))

    def _value(self, value: Any, count: int) -> Any:
        """Another value, mostly of the same kind."""
        how = self.random.random()
        if type(value) is int and how < 0.8:
            near = value + self.random.choice((-2, -1, 1, 2))
            return near if how < 0.3 else self.random.randrange(count)
        return deepcopy(self.random.choice(_ODD))
