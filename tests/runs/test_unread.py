"""Words that models cannot read, as `validate` names them."""

from collections.abc import Callable
from pathlib import Path

import pytest
from small_grid import read_grid, write_grid

from biasgrid.config import load_word_lists
from biasgrid.runs.checks import out_of_vocabulary_words, warnings_of

Checkpoints = Callable[[str, str], Path]


def warnings(path: Path) -> list[str]:
    config = read_grid(path)
    return list(warnings_of(out_of_vocabulary_words(config, load_word_lists(config))))


@pytest.mark.parametrize(("architecture", "is_known"), [("bert", False), ("roberta", True)])
def test_words_for_which_the_tokenizer_has_no_token_are_named(
    tmp_path: Path, tiny_checkpoint: Checkpoints, architecture: str, is_known: bool
) -> None:
    config = write_grid(tmp_path, checkpoint=str(tiny_checkpoint(architecture, "question-answering")))
    assert warnings(config) == []

    subjects = tmp_path / "word_lists" / "subjects.txt"
    subjects.write_text(subjects.read_text().replace("Ann", "Ann\N{SNOWMAN}"))
    found = warnings(config)
    assert (found == []) == is_known
    if not is_known:
        assert "have text that the tokenizer does not know" in found[0]
        assert "\N{SNOWMAN}" in found[0]


def test_without_a_tokenizer_at_hand_nothing_is_said(tmp_path: Path) -> None:
    assert warnings(write_grid(tmp_path)) == []
