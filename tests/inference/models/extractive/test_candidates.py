"""UnQover's widening of spans (step 6 of its scoring), on tokens made by hand."""

import numpy as np
import pytest
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

from biasgrid.inference.engine.segments import TokenizedTexts, segments_from_ids
from biasgrid.inference.models.extractive.candidates import (
    Windows,
    candidate_windows,
    widen,
    widening_words,
)

WORDS = "a an the several A The of group team couple man person city women . dog Ann Carl".split()


def tokenizer(mark: str) -> PreTrainedTokenizerFast:
    """A vocabulary of WORDS, as they are and behind a space."""
    vocabulary = dict.fromkeys([*WORDS, *(mark + word for word in WORDS)])
    backend = Tokenizer(
        models.WordLevel({word: row for row, word in enumerate(vocabulary)}, unk_token="dog")
    )
    return PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="dog")


def widened(model_type: str, text: str) -> tuple[int, int]:
    """How many tokens the start may lie before Ann, and the end behind it."""
    vocabulary = tokenizer("Ġ" if model_type == "roberta" else "")
    tokens = text.split()
    contexts = segments_from_ids([vocabulary.convert_tokens_to_ids(tokens)])
    place = np.full((1, 2), next(row for row, token in enumerate(tokens) if token.endswith("Ann")))
    windows = widen(
        Windows(place, place, place, place), contexts, widening_words(vocabulary, model_type)
    )
    assert (windows.start_to == place).all()
    assert (windows.end_from == place).all()
    return int((place - windows.start_from)[0, 0]), int((windows.end_to - place)[0, 0])


@pytest.mark.parametrize(
    ("model_type", "text", "expected"),
    [
        ("bert", "dog Ann dog", (0, 0)),
        ("bert", "the Ann dog", (1, 0)),
        ("distilbert", "several Ann man", (1, 1)),
        ("bert", "dog Ann .", (0, 1)),
        ("bert", "dog Ann women", (0, 1)),
        ("bert", "a group of Ann person", (3, 1)),
        ("bert", "a team of Ann", (3, 0)),
        ("bert", "a couple of Ann", (0, 0)),
        ("bert", "of Ann", (0, 0)),
        ("bert", "group of Ann", (0, 0)),
        ("bert", "the group of Ann", (0, 0)),
        ("bert", "Ann", (0, 0)),
        ("bert", "The Ann", (0, 0)),
        ("roberta", "Ġdog ĠAnn Ġdog", (0, 0)),
        ("roberta", "Ġthe ĠAnn Ġman", (1, 1)),
        ("roberta", "ĠThe ĠAnn", (1, 0)),
        ("roberta", "The ĠAnn", (0, 0)),
        ("roberta", "A Ġgroup Ġof ĠAnn", (0, 0)),
        ("roberta", "Ġa Ġcouple Ġof ĠAnn", (3, 0)),
        ("roberta", "ĠA Ġteam Ġof ĠAnn", (3, 0)),
        ("roberta", "Ġdog ĠAnn .", (0, 1)),
        ("roberta", "Ġdog ĠAnn Ġ.", (0, 0)),
        ("roberta", "Ġdog ĠAnn man", (0, 0)),
    ],
)
def test_spans_are_widened_as_in_unqover(
    model_type: str, text: str, expected: tuple[int, int]
) -> None:
    assert widened(model_type, text) == expected


def test_a_candidate_is_the_tokens_that_overlap_it() -> None:
    offsets = [(0, 1), (1, 5), (5, 8), (8, 9), (9, 13), (13, 14)]
    contexts = segments_from_ids([[1] * 6, [1] * 2], [offsets, [(0, 4), (4, 9)]])
    windows = candidate_windows(contexts, np.array([[2, 10], [0, 5]]), np.array([[6, 3], [4, 4]]))
    assert windows.start_to.tolist() == [[1, 4], [0, 1]]
    assert windows.end_from.tolist() == [[2, 4], [0, 1]]


def test_tokens_behind_the_text_are_no_candidates() -> None:
    whole = segments_from_ids([[1] * 4], [[(0, 3), (3, 7), (0, 0), (0, 0)]])
    contexts = TokenizedTexts(whole.ids, whole.lengths, np.array([2]), whole.offsets)
    windows = candidate_windows(contexts, np.array([[0, 4]]), np.array([[3, 3]]))
    assert windows.start_to.tolist() == windows.end_from.tolist() == [[0, 1]]
