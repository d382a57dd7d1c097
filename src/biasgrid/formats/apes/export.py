"""Writes the results of a config as files of APES, byte for byte as pandas would."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from biasgrid.base.files import whole_file
from biasgrid.families import statement
from biasgrid.families.statement.family import STATEMENTS
from biasgrid.families.statement.observe import ANSWER_WORD, read_answers
from biasgrid.families.statement.pack import STATEMENT
from biasgrid.runs.results import TablesOfCells
from biasgrid.tables.files import read_provenance
from biasgrid.tables.instances import PROMPT_FORMAT

QUESTION = " Yes or No?"
"""The end of each prompt, after the statement."""
PARAMETER_COLUMN = re.compile(r"param_(\d+)_name")
ANSWER_COLUMNS = ("prediction", "confidence")


def examples_columns(parameters: Sequence[str]) -> list[str]:
    """Returns the columns of an `examples.csv`, in order.

    Args:
        parameters: the numbers of its parameters, as in the names of its columns.
    """
    names = [f"param_{number}_name" for number in parameters]
    classes = [f"param_{number}_class" for number in parameters]
    return ["template_id", *names, *classes, "prompt", "label"]


def write_examples(config: Path, dataset: str, out: Path) -> None:
    """Writes the prompts of a dataset as an `examples.csv`.

    Raises:
        InputError: the config has faults, or not this dataset.
        UserError: the instances are missing or damaged.
    """
    tables = TablesOfCells(config, dataset, statement.__name__)
    path = tables.layout.instances(dataset, STATEMENTS)
    write_csv(example_rows(tables.instances(path), read_provenance(path)), out)


def write_predictions(config: Path, dataset: str, model: str, out: Path) -> None:
    """Writes the answers of a model as a `predictions.csv`.

    Raises:
        InputError: the config has faults, or not this cell.
        UserError: as for `write_examples`, or predictions are missing or damaged.
    """
    tables = TablesOfCells(config, dataset, statement.__name__)
    instances, predictions = tables.instances_and_predictions(model)
    facts = read_provenance(tables.layout.instances_of_cell(dataset, model))
    write_csv(example_rows(instances, facts, answer_columns(predictions)), out)


def example_rows(
    instances: pl.DataFrame, facts: Mapping[str, Any], answers: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Returns the rows of a file of APES, in its order: negated statements come last.

    Args:
        instances: a whole table of instances.
        facts: its provenance.
        answers: `instance` and further columns of the file, see `answer_columns`; None for prompts
            alone.
    """
    if PROMPT_FORMAT in instances.columns:
        # A file of APES has one prompt per statement: that of the first format.
        instances = instances.filter(pl.col(PROMPT_FORMAT) == 0)
    before, behind = facts["prompt"].split(STATEMENT)
    parameters = facts["parameters"]
    texts = instances["text"].cast(pl.String)
    length = texts.str.len_chars() - len(before) - len(behind)
    statements = texts.str.slice(len(before), length)
    places = range(len(parameters))
    names = [instances["names"].list.get(place) for place in places]
    classes = [instances["classes"].list.get(place) for place in places]
    values = [
        instances["template_id"],
        *names,
        *classes,
        statements + QUESTION,
        instances["label"],
    ]
    columns = dict(zip(examples_columns(parameters), values, strict=True))
    rows = pl.DataFrame(columns).cast(pl.String)
    rows = rows.with_columns(instances.select("instance", "negated", "repetition"))
    if answers is not None:
        rows = rows.join(answers, on="instance", maintain_order="left")
    # A file of APES has one row per question: that of the first repetition.
    rows = rows.filter(pl.col("repetition") == 0).sort("negated", "instance")
    return rows.drop("instance", "negated", "repetition")


def answer_columns(predictions: pl.DataFrame) -> pl.DataFrame:
    """Returns `instance`, `prediction` and `confidence`.

    Both are null for an answer that is neither Yes nor No. The confidence is also null if answers
    are texts, without probabilities.
    """
    rows = predictions.select("instance").hstack(read_answers(predictions))
    confidence: pl.Expr = pl.lit(None)
    if "probabilities" in predictions.columns:
        says_yes = pl.col("says_yes")
        confidence = pl.when(says_yes).then("yes").when(~says_yes).then("no")
    return rows.select("instance", prediction=ANSWER_WORD, confidence=confidence.cast(pl.Float64))


def write_csv(rows: pl.DataFrame, out: Path) -> None:
    """Writes rows as CSV with pandas, as APES does."""
    with whole_file(out) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        rows.to_pandas().to_csv(file, index=False, lineterminator="\n")
