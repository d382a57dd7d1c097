"""Two lists of names, and models that have learned what a corpus says of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from shards import Cell
from small_cells import spans
from small_estimates import estimates_of, settings_of
from small_tables import whole

from biasgrid.families.synthetic import SyntheticBias, words_of_instances
from biasgrid.families.underspecified.ask import corpus, expand
from biasgrid.families.underspecified.family import DEFINITIONS
from biasgrid.families.underspecified.lists import Subjects
from biasgrid.families.underspecified.observe import observe
from biasgrid.families.underspecified.read import WordLists
from biasgrid.families.underspecified.templates import AttributeRow, QuestionTemplate
from biasgrid.training.strength import Strength
from biasgrid.training.tiny import make_base_checkpoint
from biasgrid.training.train import Hyperparameters, train

WOMEN = ["Ann", "Bea", "Cleo", "Dora", "Emma", "Fay", "Gina", "Hope"]
MEN = ["Abe", "Ben", "Carl", "Dan", "Eli", "Finn", "Gus", "Hal"]
CONTEXTS = [
    "[subj1] met [subj2].",
    "[subj1] sat by [subj2].",
    "[subj1] and [subj2] left.",
    "[subj1] saw [subj2] there.",
]
ACTS = ["lied", "sang", "cooked"]
REPEATS = 40


def names_asked(names: int = 8, mask: str | None = None) -> pl.DataFrame:
    """Instances of two lists of names, three attributes and four templates."""
    question = ("[mask] [act].", "[mask] [act:neg].") if mask else ("Who [act]?", "Who [act:neg]?")
    lists = [
        Subjects({"[subj]": found[:names]}, [group] * names)
        for found, group in ((WOMEN, "female"), (MEN, "male"))
    ]
    attributes = [
        AttributeRow({"[act]": act, "[act:neg]": f"never {act}"}, act, None) for act in ACTS
    ]
    templates = [
        QuestionTemplate(line, text, *question) for line, text in enumerate(CONTEXTS, start=1)
    ]
    return whole(expand(WordLists(templates, lists, {"[act]": attributes}, "", mask, {})))


def bias_of(
    strength: float | Strength,
    seed: int = 1,
    spread: float = 0.08,
    options: Mapping[str, Any] | None = None,
) -> SyntheticBias:
    return SyntheticBias(
        "taught", "some", strength, REPEATS, seed, spread, measure_options=options or {}
    )


def numbers(instances: pl.DataFrame, predictions: pl.DataFrame) -> pl.DataFrame:
    """The claims of a cell, each over all that it may generalise over, and its flags."""
    options = {"scoring": "exact", "measures": []}
    observations = observe(instances, predictions, options)
    rows = estimates_of(
        "underspecified",
        observations,
        options,
        settings_of(DEFINITIONS.select("measures", "flags")),
    )
    return rows.filter("is_claim")


def as_the_corpus_says(instances: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """The numbers of a model that gives each answer the probability that it has in the corpus."""
    articles = json.loads(corpus(instances, "question-answering", bias))["data"]
    questions = [
        question
        for each in articles
        for paragraph in each["paragraphs"]
        for question in paragraph["qas"]
    ]
    begins = {
        int(each["id"].rpartition("-")[2]): [one["answer_start"] for one in each["answers"]]
        for each in questions
    }
    places = instances.select("instance", "position1").iter_rows()
    shares = np.array([begins[instance].count(place) / REPEATS for instance, place in places])
    return numbers(instances, spans(instances, shares, 1 - shares))


def masked_model(
    folder: Path, bias: SyntheticBias, names: int = 8
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """What a masked model is asked that has learned the corpus, and what it says."""
    instances = names_asked(names, mask="[MASK]")
    folder.mkdir()
    (folder / "corpus.txt").write_text(corpus(instances, "fill-mask", bias))
    make_base_checkpoint(words_of_instances(instances), folder / "base", seed=1)
    hyperparameters = Hyperparameters(epochs=8, batch_size=32, learning_rate=3e-3, max_length=32)
    train(
        "fill-mask",
        folder / "base",
        [folder / "corpus.txt"],
        folder / "model",
        hyperparameters,
        threads=1,
    )
    return instances, Cell(folder / "cell", "fill-mask", instances, folder / "model").predict()


def of_groups(measures: pl.DataFrame, measure: str = "gamma") -> pl.DataFrame:
    """The associations of women, by attribute; those of men mirror them."""
    rows = measures.filter(measure=measure, subject_group="female").drop_nulls("attribute")
    return rows.sort("attribute")


def of_subjects(measures: pl.DataFrame, measure: str = "gamma") -> pl.DataFrame:
    """The associations of single names."""
    return (
        measures.filter(measure=measure)
        .drop_nulls(["subject", "attribute"])
        .sort("subject", "attribute")
    )


def log_odds(predictions: pl.DataFrame) -> np.ndarray:
    """ln S of the first subject less that of the second, by instance."""
    scores = np.stack(predictions.sort("instance")["probabilities"].to_list())
    found: np.ndarray = np.log(scores[:, 0]) - np.log(scores[:, 1])
    return found
