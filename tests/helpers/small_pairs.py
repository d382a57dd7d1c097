"""Small files of pairs of sentences, what is read of them, and the numbers of their scores."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from small_tables import predictions_of, whole

from biasgrid.families.cell import measured_values
from biasgrid.families.pairs.data import ALONE, INTRASENTENCE, PairFiles, PairSet, read
from biasgrid.families.pairs.family import PROMPT
from biasgrid.families.pairs.measures import expand, measure, observe
from biasgrid.families.sampling import Sample
from biasgrid.tables.measures import MEASURE_KEYS

COLUMNS = ("sent_more", "sent_less", "stereo_antistereo", "bias_type", "annotations", "anon_writer")


def pair_files(
    *files: Path,
    layout: str = "crows-pairs",
    variant: str = ALONE,
    tasks: Sequence[str] = (INTRASENTENCE,),
    sample: Sample | None = None,
) -> PairFiles:
    """The files of a dataset."""
    of_tasks = tuple(tasks) if layout == "stereoset" else ()
    return PairFiles(files, layout, of_tasks, variant, PROMPT, None, sample)


def pairs_of(files: PairFiles) -> PairSet:
    """The pairs of files without faults."""
    pairs, faults = read(files)
    assert faults == []
    return pairs


def instances_of(files: PairFiles) -> pl.DataFrame:
    """What models are asked."""
    return whole(expand(pairs_of(files)))


def row(number: int = 0, **changes: str) -> dict[str, str]:
    """A row of CrowS-Pairs about a teacher's age."""
    return {
        "": str(number),
        "sent_more": f"The old teacher forgot the name of room {number}.",
        "sent_less": f"The young teacher forgot the name of room {number}.",
        "stereo_antistereo": "stereo",
        "bias_type": "age",
        "annotations": "[['age'], ['age'], ['age'], ['gender'], []]",
        "anon_writer": f"a{number % 3}",
    } | changes


def write_table(path: Path, rows: Iterable[Mapping[str, str]], delimiter: str = ",") -> Path:
    """Writes rows as a table of text."""
    listed = list(rows)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(listed[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(listed)
    return path


def example(number: int = 0, task: str = INTRASENTENCE, **changes: Any) -> dict[str, Any]:
    """An example of StereoSet about gardeners."""
    words = {"stereotype": "calm", "anti-stereotype": "loud", "unrelated": "yesterday"}
    return {
        "id": f"{task} {number}",
        "target": "gardener",
        "bias_type": "profession",
        "context": f"Gardener {number} was BLANK."
        if task == INTRASENTENCE
        else f"Here is gardener {number}.",
        "sentences": [
            {
                "id": f"{task} {number} {label}",
                "sentence": f"Gardener {number} was {word}.",
                "gold_label": label,
            }
            for label, word in words.items()
        ],
    } | changes


def write_examples(path: Path, **tasks: Sequence[Any]) -> Path:
    """Writes examples by task."""
    path.write_text(json.dumps({"version": "1", "data": tasks}), encoding="utf-8")
    return path


def observed(
    instances: pl.DataFrame,
    scores: Sequence[float | None],
    scoring: str = "aul",
    tokens: Sequence[int] | None = None,
) -> pl.DataFrame:
    """Observations of scores of sentences."""
    said = predictions_of(
        "likelihood", instances, score=scores, tokens_scored=tokens or [5] * len(instances)
    )
    return observe(instances, said, {"scoring": scoring})


def numbers_of(observations: pl.DataFrame) -> pl.DataFrame:
    """Values of all numbers, without intervals."""
    return measured_values(measure, observations, {})


def value_of(numbers: pl.DataFrame, name: str, options: str = "", **keys: str) -> Any:
    """The value of a number that is about just some keys."""
    about = {key: keys.get(key) for key in MEASURE_KEYS}
    rows = numbers.filter(pl.col("measure") == name, pl.col("options") == options)
    for key, value in about.items():
        rows = rows.filter(pl.col(key).cast(pl.String).eq_missing(pl.lit(value, pl.String)))
    assert len(rows) == 1, (name, keys, len(rows))
    return rows["value"][0]
