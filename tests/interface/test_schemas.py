"""Each JSON document fits its published schema, and a schema refuses what is none."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from relax_explorer.ui.cli import schemas
from relax_explorer.ui.schema_names import SCHEMAS
from tests.support import json_schemas

jsonschema = pytest.importorskip("jsonschema")
UI = Path(schemas.__file__).parent
VALIDATORS = {
    name: jsonschema.Draft202012Validator(json.loads((schemas.FOLDER / f"{name}.json").read_text("utf-8")))
    for name in SCHEMAS
}


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[tuple[str, dict[str, object]]]]:
    """The documents of all lines."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("schemas"))
        has_tvm = find_spec("tvm") is not None and find_spec("onnx") is not None
        yield list(json_schemas.documents((*json_schemas.LINES, *(json_schemas.WITH_TVM if has_tvm else ()))))


def test_every_document_fits_its_schema(documents: list[tuple[str, dict[str, object]]]) -> None:
    for line, document in documents:
        wrong = [error.message for error in VALIDATORS[json_schemas.kind(document)].iter_errors(document)]
        assert wrong == [], line
    of_tvm = {"import", "record", "tvm_passes"}
    assert {json_schemas.kind(document) for _, document in documents} >= set(SCHEMAS) - of_tvm


def test_a_schema_refuses_a_document_without_a_field_or_with_another_type(
    documents: list[tuple[str, dict[str, object]]],
) -> None:
    kinds = {json_schemas.kind(document): document for _, document in documents}
    for name, document in kinds.items():
        validator = VALIDATORS[name]
        assert validator.is_valid(document)
        for key in validator.schema["required"]:
            lacking = {other: value for other, value in document.items() if other != key}
            assert not validator.is_valid(lacking), (name, key)
            changed = copy.deepcopy(document)
            changed[key] = {"a": object} if not isinstance(document[key], dict) else "text"
            assert not validator.is_valid(changed), (name, key)
        assert validator.is_valid({**document, "new_field": 1}), "later versions may add fields"


def test_schemas_are_schemas_and_each_kind_of_document_has_one() -> None:
    assert {path.stem for path in schemas.FOLDER.glob("*.json")} == set(SCHEMAS)
    for validator in VALIDATORS.values():
        validator.check_schema(validator.schema)
    text = "\n".join(path.read_text("utf-8") for path in UI.glob("*.py"))
    written = set(re.findall(r"Result\(\s*\"([a-z_-]+)\"", text))
    text_only = {"explain", "play", "save", "report", "opt", "completion"}
    assert written - text_only <= set(SCHEMAS)
