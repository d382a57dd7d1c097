"""What is written of a synthetic dataset."""

import json

import polars as pl

from biasgrid.families.synthetic import line_of_answers, words_of_instances
from biasgrid.training.corpora import dataset_words


def test_models_know_what_models_of_their_sort_are_asked() -> None:
    words = json.dumps(
        {
            "question-answering": ["Who", "Ann"],
            "fill-mask": ["Ann", "[MASK]"],
            "text-generation": ["A."],
        }
    )
    assert (
        dataset_words("question-answering", words)
        == dataset_words("fill-mask", words)
        == ["Ann", "Who", "[MASK]"]
    )
    assert dataset_words("text-generation", words) == ["A."]


def test_system_texts_and_answers_are_known_and_written() -> None:
    row = {
        "system": "Be brief.",
        "text_pair": None,
        "text": "True\nor not?",
        "candidate1": "Yes",
        "candidate2": "No",
    }
    instances = pl.DataFrame([row], schema_overrides={"text_pair": pl.String})
    assert words_of_instances(instances) == ["Be", "No", "True", "Yes", "brief.", "not?", "or"]
    assert line_of_answers(row, (1, 2)) == "Be brief. True or not?\tYes\tNo\tNo"
