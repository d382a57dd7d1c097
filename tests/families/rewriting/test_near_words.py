"""Words near words of groups in `mode: langfair`: which are counted, and whose stop words are left
out.
"""

from __future__ import annotations

from math import log10
from pathlib import Path
from typing import Any

import nltk.data
import pytest
from small_langfair import grid_of, near_words
from small_rewriting import groups_of

from biasgrid.base.faults import InputError
from biasgrid.config import load_word_lists
from biasgrid.families.rewriting.langfair import LangFairMode

GENDER = """
bias_type: gender
groups: [female, male]
words:
  - [she, he, they]
  - [Mrs., Mr., Mx.]
  - [young lady, young man, young person]
  - [Queen, King, Ruler]
"""
ANSWERS = [
    "She is a kind nurse.",
    "He is kind. Mr. Ray and Mrs. Ray are kind.",
    "The Queen, a young lady, is kind.",
]


@pytest.fixture
def lists(tmp_path: Path) -> Path:
    """A folder of word lists."""
    (tmp_path / "groups.yaml").write_text(GENDER)
    (tmp_path / "targets.txt").write_text("kind\nnurse\n")
    (tmp_path / "stop.txt").write_text("is\na\nand\nare\nthe\n")
    return tmp_path


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of NLTK's data, and no other."""
    folder = tmp_path / "nltk_data"
    folder.mkdir()
    monkeypatch.setattr(nltk.data, "path", [str(folder)])
    return folder


def test_titles_and_phrases_are_counted_as_langfair_counts_them(lists: Path) -> None:
    """It compares tokens in lower case with its words as they are spelled, so that it finds `she`
    and `he` alone.
    """
    found = near_words(grid_of(lists, groups="groups.yaml", stop_words="stop.txt"), ANSWERS)
    # Near `she`: kind, three words off, and nurse, four; near `he`: kind, two and nine off, mr,
    # ray, mrs, ray.
    fading = 0.95
    hers = fading**3 / (fading**3 + fading**4)
    his = (fading**2 + fading**9) / sum(fading**apart for apart in (2, 3, 4, 6, 7, 9))
    assert found["co_occurrence_bias", "kind"] == pytest.approx(abs(log10(hers / his)))
    # Both lists have four words, though one of each is found: kind is once with `she`, twice with
    # `he`.
    assert found["stereotypical_association", "kind"] == pytest.approx(2 / 3 - 1 / 2)
    plain = near_words(
        grid_of(lists, groups="groups.yaml", stop_words="stop.txt", mode=None), ANSWERS
    )
    # Elsewhere marks and capitals do not matter, and phrases are found: five times against four.
    assert plain["stereotypical_association", "kind"] == pytest.approx(abs(5 / 9 - 1 / 2))


@pytest.mark.parametrize("keys", [{}, {"stop_words": "nltk"}, {"stop_words": "nltk", "mode": None}])
def test_stop_words_of_nltk_match_the_users_data(
    keys: dict[str, Any], lists: Path, data: Path
) -> None:
    (data / "corpora" / "stopwords").mkdir(parents=True)
    (data / "corpora" / "stopwords" / "english").write_text("the\nand\n")
    assert grid_of(lists, **keys).question("writer", "prompts").measure_options["stop_words"] == [
        "and",
        "the",
    ]


def test_stop_words_that_are_not_there_are_reported_with_how_to_get_them(
    lists: Path, data: Path
) -> None:
    with pytest.raises(InputError) as caught:
        load_word_lists(grid_of(lists))
    told = (
        "your NLTK data, corpora/stopwords/english: does not exist; expected the stop words of "
        "NLTK (`python -m nltk."
    )
    assert told in str(caught.value)
    with pytest.raises(InputError, match="cannot be read"):
        load_word_lists(grid_of(lists, stop_words="none.txt"))


@pytest.mark.parametrize("keys", [{"mode": None}, {"targets": None}])
def test_stop_words_of_nltk_are_needed_for_its_numbers_alone(
    keys: dict[str, Any], lists: Path, data: Path
) -> None:
    grid = grid_of(lists, **keys)
    load_word_lists(grid)
    assert grid.question("writer", "prompts").measure_options["stop_words"] is None


@pytest.mark.parametrize(
    ("text", "rewritten"),
    [
        ("A Caucasian doctor spoke.", "a black doctor spoke."),
        ("Caucasian men and an Asian man.", "black men and an black man."),
        # Where the original always replaces a part of a word, so does this.
        ("The blacksmith is Eurasian.", "the blackmith is eurasian."),
    ],
)
def test_no_half_of_a_word_is_replaced_where_the_original_need_not(
    text: str, rewritten: str
) -> None:
    groups = groups_of("langfair-race")
    assert LangFairMode().rewriter(groups).rewrite(text, groups.names.index("black")) == rewritten
