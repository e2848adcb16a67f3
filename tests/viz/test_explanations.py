"""`explain` knows the language, and offers neighbours that are written alike, or nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import relax_explorer as rxe
from relax_explorer.ui.cli.main import group
from relax_explorer.viz.explanations import explained, named, page_of, subjects
from relax_explorer.viz.words import BY_NAME, WORDS, Word, folded

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("word", WORDS, ids=lambda word: word.name)
def test_a_word_has_a_page_under_each_of_its_names_and_leads_to_pages(word: Word) -> None:
    for name in (word.name, *word.others, word.name.upper()):
        assert explained(name).title == word.title
    for name in word.see:
        assert explained(name).title != word.title
    if "def " in word.example and word.example.startswith("@"):
        assert rxe.check(rxe.parse(word.example)) == []


def test_no_two_words_have_one_name() -> None:
    names = [folded(name) for word in WORDS for name in (word.name, *word.others)]
    assert sorted(names) == sorted(BY_NAME)


def test_the_glossary_of_contributors_says_the_same_of_a_word() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| ([\w -]+?) \| (.+) \|$", text, re.MULTILINE))
    shared = [word for word in WORDS if word.name in rows]
    assert len(shared) >= 15
    for word in shared:
        assert word.text.startswith(rows[word.name]), word.name


@pytest.mark.parametrize(
    ("asked", "title"),
    [
        ("StructInfo", "StructInfo"),
        ("dataflow", "dataflow block"),
        ("DataflowBlock", "dataflow block"),
        ("normal-form", "normal form"),
        ("NORMAL_FORM", "NORMAL_FORM: a property of modules"),
        ("Normal Form", "normal form"),
        ("default", "default: a pipeline of 6 passes"),
        ("vm", "vm: a phase"),
        ("VM", "virtual machine"),
        ("parsed", "parsed: a phase"),
        ("T.prim_func", "PrimFunc"),
        ("fuseops", "FuseOps"),
        ("fuse_ops", "FuseOps"),
        ("conv2d", "R.nn.conv2d"),
        ("Relu", "R.nn.relu"),
        ("R.Tensor", "R.Tensor"),
        ("rx0203", "RX0203"),
        ("shape", "R.Shape"),
    ],
)
def test_a_name_is_found_as_people_write_it(asked: str, title: str) -> None:
    assert explained(asked).title.startswith(title)


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ("matmull", "; did you mean matmul?"),
        ("R.matmull", "; did you mean matmul?"),
        ("FuseOp", "; did you mean FuseOps"),
        ("concatenate", "; did you mean concat?"),
        ("closur", "; did you mean closure or"),
        ("transpose", "; did you mean permute_dims?"),
        ("unsqueeze", "; did you mean expand_dims?"),
        ("convolution", "; it stands in the pages of ToMixedPrecision"),
        ("zzz", ""),
        ("trunk of a tree", ""),
        ("", ""),
        ("∅", ""),
        ("__", ""),
    ],
)
def test_neighbours_are_written_alike_or_there_are_none(asked: str, hint: str) -> None:
    with pytest.raises(KeyError) as refused:
        page_of(asked)
    text = refused.value.args[0].removeprefix(f"nothing is called {asked!r}")
    assert text.startswith(hint)
    assert bool(text) == bool(hint)


def test_a_name_that_several_share_opens_none_of_them() -> None:
    with pytest.raises(KeyError, match=r"did you mean memory\.alloc_storage or vm\.alloc_storage"):
        page_of("alloc_storage")


def test_every_name_that_is_offered_has_a_page() -> None:
    for name in dict(named()):
        assert explained(name).title
    assert "StructInfo" in subjects("Struct")
    assert subjects("dataflow b") == ["dataflow block"]


def test_a_command_is_led_to_its_help() -> None:
    told = CliRunner().invoke(group, ["explain", "bisect"])
    assert told.exit_code == 2
    assert "relax-explorer bisect --help explains the command" in told.stderr
    assert "--help explains" not in CliRunner().invoke(group, ["explain", "zzz"]).stderr
