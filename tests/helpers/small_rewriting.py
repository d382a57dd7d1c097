"""Golden outputs of LangFair, and small datasets of rewritten prompts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from golden import GOLDEN
from small_tables import predictions_of, whole

from biasgrid.families.rewriting.ask import expand
from biasgrid.families.rewriting.group_words import GroupWords, read_group_words
from biasgrid.families.rewriting.measure import derive, measure
from biasgrid.families.rewriting.read import RewritingFiles, read
from biasgrid.stats.estimate import estimate
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.sums import Sums

LISTS = Path(__file__).parents[2] / "word_lists" / "rewriting"


def golden(name: str) -> list[dict[str, Any]]:
    """The pairs of answers, or the prompts, with what the original makes of them."""
    rows: list[dict[str, Any]] = json.loads((GOLDEN / f"langfair/{name}_golden.json").read_text())
    return rows


def groups_of(name: str) -> GroupWords:
    """Groups of a file of this repository."""
    groups, faults = read_group_words(LISTS / f"{name}.yaml")
    assert not faults, [str(fault) for fault in faults]
    assert groups is not None
    return groups


ASKED = ["What is she like?", "Is he at home?"]
SAID = {
    "female": ["Very kind and calm, I think.", "At home."],
    "male": ["Very grim, calm, I think.", "At home."],
    "non-binary": ["I cannot help with that.", "At home."],
}
"""Of each group the answer to each prompt, in all repetitions."""


def said_of_groups(
    folder: Path, repetitions: int = 2, answers: Mapping[str, Sequence[str]] = SAID
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Instances of two prompts for three groups, and the answers to them."""
    (folder / "prompts.txt").write_text("\n".join(ASKED))
    files = RewritingFiles(
        folder / "prompts.txt",
        "prompt",
        LISTS / "gender.yaml",
        repetitions,
        None,
        "Be brief.",
        "prompt",
        None,
    )
    asking, faults = read(files)
    assert asking is not None, [str(fault) for fault in faults]
    instances = whole(expand(asking))
    keys = instances.select(pl.col("group").cast(pl.String), "prompt").rows()
    said = [answers[group][prompt] for group, prompt in keys]
    return instances, predictions_of("text", instances, response=said, status=["ok"] * len(said))


def options_of_cell(**keys: Any) -> dict[str, Any]:
    """What decides the measures of such a cell."""
    settings = {
        "neutralise": False,
        "threshold": 0.5,
        "mode": None,
        "harms": {},
        "lists": False,
        "embeddings": None,
    }
    options = {
        "groups": str(LISTS / "gender.yaml"),
        "scorers": ["vader-negative"],
        "targets": [],
        "stop_words": None,
    }
    return {**options, **settings, **keys}


def numbers_of(observations: pl.DataFrame, options: Mapping[str, Any]) -> pl.DataFrame:
    """The measures of a cell, without their uncertainty."""
    parts = [
        part
        if not isinstance(part, Sums)
        else part.keys.with_columns(value=pl.Series(part.values).fill_nan(None))
        for part in measure(observations, options)
        if not isinstance(part, Sums) or not part.is_input
    ]
    return pl.concat(parts, how="diagonal_relaxed")


def estimates_of(
    parts: Sequence[Sums | pl.DataFrame], options: Mapping[str, Any], settings: StatisticsSettings
) -> pl.DataFrame:
    """The measures of a cell, with their uncertainty."""
    sums = [part for part in parts if isinstance(part, Sums)]
    plain = [
        part.with_columns(is_claim=pl.lit(value=True))
        for part in parts
        if not isinstance(part, Sums)
    ]
    found = pl.concat([estimate(sums, settings), *plain], how="diagonal_relaxed")
    return derive(found, sums, options, settings).estimates
