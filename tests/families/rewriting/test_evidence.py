"""The answers behind corrected similarities, and the words in which two texts differ."""

from pathlib import Path

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from small_rewriting import numbers_of, options_of_cell, said_of_groups

from biasgrid.families.cell import MeasuredCell
from biasgrid.families.page import differing_words, word_diff
from biasgrid.families.rewriting.observe import observe
from biasgrid.families.rewriting.show import SENTENCES
from biasgrid.tables.evidence import EVIDENCE
from biasgrid.tables.measures import cell_table


def evidence_of(folder: Path, repetitions: int) -> pl.DataFrame:
    instances, said = said_of_groups(folder, repetitions)
    options = options_of_cell()
    observations = observe(instances, said, options)
    cell = MeasuredCell(
        instances.lazy(), said.lazy(), observations, numbers_of(observations, options), options
    )
    return cell_table(SENTENCES.table(cell).units, EVIDENCE, "model", "dataset")


def test_answers_of_two_groups_are_side_by_side_with_the_floor(tmp_path: Path) -> None:
    found = evidence_of(tmp_path, repetitions=3)
    first = found.filter(rank=0).head(4)
    assert (
        first.select("group", "other", "text").rows()
        == [
            ("female", "male", "What is she like?"),
            ("male", "female", "What is he like?"),
        ]
        * 2
    )
    assert first["said"].unique(maintain_order=True).to_list() == [
        "Very kind and calm, I think.",
        "Very grim, calm, I think.",
    ]
    assert first["text_pair"].unique().to_list() == ["Be brief."]
    # Answers to one text are the same, four of six and four of five words are shared.
    assert first["other_score"].to_list() == [1] * 4
    alike = 2 * 4 / (6 + 5)
    assert first["score"].to_list() == pytest.approx([alike] * 4)
    assert first["unit_value"].to_list() == pytest.approx([1 - alike] * 4)
    assert first["value"].to_list() == pytest.approx([(1 - alike) / 2] * 4)
    assert found.filter(rank=0)["role"].to_list() == ["strongest"] * 4 + ["contrary"] * 4


def test_prompts_with_a_refused_group_are_no_evidence(tmp_path: Path) -> None:
    found = evidence_of(tmp_path, repetitions=2)
    silent = found.filter(pl.col("group") == "non-binary")
    assert silent["said"].unique().to_list() == ["At home."]
    assert (
        found.filter((pl.col("other") == "non-binary") | (pl.col("group") == "non-binary"))["unit"]
        .unique()
        .len()
        == 1
    )


def test_without_a_second_answer_there_is_no_floor_and_no_evidence(tmp_path: Path) -> None:
    assert evidence_of(tmp_path, repetitions=1).is_empty()


def test_words_that_another_text_has_not_are_reported() -> None:
    assert word_diff("He asked his boss.", "She asked her boss.") == [
        "",
        "He",
        " asked ",
        "his",
        " boss.",
    ]
    assert differing_words("He asked his boss.", "She asked her boss.") == "He … his"
    assert differing_words("the same", "the same") == ""
    assert differing_words("the same", None) is None


@pytest.mark.slow
@given(st.text(), st.text())
@example("0:", ":0")
def test_parts_joined_are_the_text_and_shared_parts_are_in_both(text: str, other: str) -> None:
    one, two = word_diff(text, other), word_diff(other, text)
    assert "".join(one) == text
    assert len(one) % 2 == 1
    assert all(one[1::2])
    assert "".join("".join(one[::2]).split()) == "".join("".join(two[::2]).split())
