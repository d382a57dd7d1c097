"""Files that are not as UnQover writes them are refused, with the place."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from small_cells import one_list
from unqover_entries import (
    ANN_BEA,
    BEA_ANN,
    Entries,
    answering,
    changed,
    fault_of,
    mask_entries,
    renamed,
    setting,
    source_entries,
    span_entries,
)

from biasgrid.base.faults import InputError
from biasgrid.formats.unqover.export import source_json
from biasgrid.formats.unqover.reading import read_unqover


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "line 1, column 1: the file ends too early; expected '{'"),
        ("[]", "line 1, column 1: '[]'; expected '{' at the beginning"),
        ("{}", "no entries; expected at least one swap group"),
        ("subj\tgamma\n", "line 1, column 1: 'subj\\tgamma\\n'; expected '{'"),
        (b"PAR1\xff\xfe", "after line 1: byte 0xff is not UTF-8"),
        ("{\n\n 3: {}}", "line 3, column 2: 3 in place of a key"),
        ('{\n  "a" {}}', "line 2, column 7: '{}}'; expected ':'"),
        ('{"a": tru}', "line 1, column 7: not JSON (Expecting value)"),
        (
            json.dumps(source_entries()) + "{}",
            "'{}' after the last '}'; expected the end of the file",
        ),
        (json.dumps(source_entries())[:-1] + ";", "';'; expected ',' and another entry"),
        (
            '{"a": {"q0": 1, "q0": 2}}',
            "line 1, column 7: the key 'q0' appears twice in one object; expected each key once",
        ),
        ('{"a": ' + "[" * 30000, "are nested too deeply"),
        ('{"a": ' + "9" * 5000 + "}", "a number that cannot be read"),
        ('{"a": "' + "b" * 70000 + '"}', "a value is too long; expected at most 65536 characters"),
    ],
)
def test_what_is_not_json_is_named_with_its_place(
    tmp_path: Path, content: str | bytes, message: str
) -> None:
    assert message in fault_of(tmp_path, content)


@pytest.mark.parametrize("of", [source_entries, span_entries, mask_entries])
def test_a_file_that_ends_too_early_is_refused_wherever_it_ends(
    tmp_path: Path, of: Callable[[], Entries]
) -> None:
    content = json.dumps(of(), indent=4)
    for end in range(1, len(content), 37):
        assert "the file ends too early" in fault_of(tmp_path, content[:end])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (renamed(BEA_ANN, "Bea|Ann"), "entry 'Bea|Ann': 2 parts in the key; expected 8: cluster1|"),
        (
            renamed(BEA_ANN, BEA_ANN.replace("|0|", "|x|")),
            "template 'x' in the key; expected a whole number",
        ),
        (
            renamed(BEA_ANN, BEA_ANN + "!"),
            "the key ends in 'did 0' and 'did 0!'; expected the attribute twice",
        ),
        (
            renamed(BEA_ANN, BEA_ANN.replace("Ann", "Bea")),
            "both subjects in the key are 'Bea'; expected two",
        ),
        (setting("", "q2"), "the entry has q2; expected the keys context, q0, q1"),
        (lambda entries: entries[BEA_ANN].pop("q1"), "the entry lacks q1; expected the keys"),
        (
            lambda entries: entries.update({BEA_ANN: []}),
            "the entry is []; expected an object with context, q0, q1",
        ),
        (lambda entries: entries[BEA_ANN]["q1"].pop("pred"), "q1 lacks pred"),
        (setting("", "q0", "ans1", "stop"), "q0.ans1 has stop; expected the keys end, start, text"),
        (setting(None, "context"), "context is None; expected a text"),
        (setting(5, "q0", "question"), "q0.question is 5; expected a text"),
        (answering("Carl", "Ann"), "'Carl' and 'Ann' are not both in 'Bea met Ann 1 times.'"),
        (answering("Bea", "ea"), "'Bea' and 'ea' are not both in"),
        (
            setting("Ann", "q1", "ans0", "text"),
            "q0.ans0.text is 'Bea', q1.ans0.text is 'Ann'; expected the same subject",
        ),
        (setting("Bea", "q1", "pred"), "q1 has an answer; expected pred, start and end"),
        (
            setting(0.5, "q0", "ans0", "start"),
            "an entry of output.json of question answering; expected an entry of",
        ),
    ],
)
def test_a_malformed_entry_of_a_source_is_named_with_line_and_key(
    tmp_path: Path, change: Callable[[Entries], Any], message: str
) -> None:
    fault = fault_of(tmp_path, changed(change))
    assert "file.json, line 33, entry " in fault
    assert message in fault


@pytest.mark.parametrize(
    ("of", "change", "message"),
    [
        (
            span_entries,
            setting("0.5", "q0", "ans0", "start"),
            "q0 has '0.5' for start or end; expected a probability",
        ),
        (span_entries, setting(1.5, "q1", "ans1", "end"), "q1 has 1.5 for start or end"),
        (span_entries, setting(float("nan"), "q1", "ans1", "end"), "q1 has nan for start or end"),
        (span_entries, setting("0", "line"), "line is '0'; expected the row number in source.json"),
        (
            span_entries,
            setting(0, "line"),
            '"line": 0 appears twice; expected the row number in source.json, each',
        ),
        (
            mask_entries,
            setting(0.25, "q0", "ans0", "start"),
            "start and end of an answer differ in q0",
        ),
        (
            mask_entries,
            setting("Bea met Ann.", "context"),
            "an entry of output.json of question answering; expected",
        ),
        (
            mask_entries,
            setting("Who", "q1", "question"),
            "have no context in common; expected a sentence",
        ),
    ],
)
def test_a_malformed_answer_is_named(
    tmp_path: Path, of: Callable[[], Entries], change: Callable[[Entries], Any], message: str
) -> None:
    fault = fault_of(tmp_path, changed(change, of))
    assert "file.json, line " in fault
    assert message in fault


def test_an_entry_without_its_other_half_is_named(tmp_path: Path) -> None:
    fault = fault_of(tmp_path, changed(lambda entries: entries.pop(BEA_ANN)))
    assert "line 2: the entry appears 1 times and, with its subjects swapped, 0 times" in fault
    twice = changed(renamed(BEA_ANN, ANN_BEA + "x" * 7)).replace("x" * 7, "")
    assert "the entry appears 2 times and, with its subjects swapped, 0 times" in fault_of(
        tmp_path, twice
    )


@pytest.mark.parametrize("of", [source_entries, span_entries, mask_entries])
def test_answers_in_the_other_order_than_the_key_names_them_are_refused(
    tmp_path: Path, of: Callable[[], Entries]
) -> None:
    """Otherwise the scores of one subject would be those of the other."""
    fault = fault_of(tmp_path, changed(answering("Ann", "Bea"), of))
    assert (
        "the key names 'bea', but the answer is 'ann'; expected the subject of the answer" in fault
    )


def test_subjects_may_be_named_otherwise_than_in_the_text_but_always_alike(tmp_path: Path) -> None:
    content = json.dumps(source_entries()).replace("|Bea|", "|Beas|")
    (tmp_path / "file.json").write_text(content)
    assert (
        "Beas"
        in read_unqover(tmp_path / "file.json").instances["subject1"].cast(pl.String).to_list()
    )
    entries = json.dumps(json.loads("".join(source_json(one_list(3))))).replace(
        "|Bea|Ann|", "|Eve|Ann|"
    )
    fault = fault_of(tmp_path, entries.replace("|Ann|Bea|", "|Ann|Eve|"))
    assert "the key names 'eve', but the answer is 'bea'" in fault


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_unqover(tmp_path / "nothing.json")
