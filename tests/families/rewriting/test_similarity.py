"""ROUGE and BLEU against the golden numbers of LangFair, and what must hold of any texts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.tokenize.destructive import NLTKWordTokenizer
from small_rewriting import golden

from biasgrid.families.rewriting.similarity import SIMILARITIES
from biasgrid.families.tokens import sentences_of_text, tokenize_words


def similarity(name: str, one: str, other: str) -> float:
    return float(SIMILARITIES[name]([one, other], np.array([[0, 1]]))[0])


@pytest.mark.parametrize("kind", ["raw", "neutral"])
def test_numbers_match_the_original(kind: str) -> None:
    rows = golden("pairs")
    texts = [
        row[name + side]
        for row in rows
        for side in "12"
        for name in ["text" if kind == "raw" else "neutral"]
    ]
    pairs = np.arange(len(texts)).reshape(-1, 2)
    told = {
        "bleu": f"bleu_{kind}",
        "rouge-l": f"rougeL_{kind}",
        "rouge-lsum": f"rougeLsum_f_{kind}",
    }
    for name, key in told.items():
        expected = [row[key]["f"] if name == "rouge-l" else row[key] for row in rows]
        assert SIMILARITIES[name](texts, pairs) == pytest.approx(expected, abs=1e-9), name


TEXTS = st.text(st.sampled_from("abI 'n\".,:;!?()-$%1cat's \n"), max_size=60)


@given(TEXTS)
def test_words_match_nltk_where_sentences_are_the_same(text: str) -> None:
    whole = [
        word
        for sentence in sentences_of_text(text)
        for word in NLTKWordTokenizer().tokenize(sentence)
    ]
    assert tokenize_words(text) == whole


@pytest.mark.parametrize("name", SIMILARITIES)
@given(one=TEXTS, other=TEXTS)
def test_a_similarity_lies_between_nothing_and_the_same(name: str, one: str, other: str) -> None:
    assert 0 <= similarity(name, one, other) <= 1 + 1e-12
    if len(tokenize_words(one)) >= 4 and any(letter.isalnum() for letter in one):
        assert similarity(name, one, one) == pytest.approx(1)


def test_lines_in_another_order_are_the_same_lines() -> None:
    one, other = (
        "She plans well.\nShe listens.\nThey trust her.",
        "They trust her.\nShe plans well.\nShe listens.",
    )
    assert similarity("rouge-lsum", one, other) == 1
    assert similarity("rouge-l", one, other) < 1


def test_each_pair_has_its_number_in_any_place() -> None:
    texts = ["a good cook", "a good driver", "nothing"]
    pairs = np.array([[0, 1], [2, 2], [0, 1], [1, 2]])
    values = SIMILARITIES["rouge-l"](texts, pairs)
    assert values.tolist() == pytest.approx([2 / 3, 1, 2 / 3, 0])
