"""A small LangFair of ours, and LangFair itself where a user has it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
from small_rewriting import LISTS, numbers_of
from small_tables import predictions_of, whole
from typer.testing import CliRunner

from biasgrid.cli.app import app
from biasgrid.config import parse_config
from biasgrid.families.rewriting.ask import expand
from biasgrid.families.rewriting.observe import observe
from biasgrid.families.rewriting.read import read

PACKAGE = os.environ.get("BIASGRID_LANGFAIR", "")
SOURCE = """
from typing import List

FEMALE_WORDS: List[str] = ["she", "Mrs.", "gal"]
MALE_WORDS: List[str] = ["he", "Mr.", "guy"]
GENDER_NEUTRAL_WORDS: List[str] = ["they", "Mx.", "kid"]
RACE_WORDS_NOT_REQUIRING_CONTEXT: List[str] = [
    "caucasian", "asian-american", "african american", "native american", "hispanic"
]
RACE_WORDS_REQUIRING_CONTEXT = ["white", "asian"]
ADJECTIVE_LIST = ["kind"]
PROFESSION_LIST = ["doctor"]
OTHER_PERSON_NOUNS = ["guest"]
WORDS_TO_REMOVE = ["she", "he", "Mr.", "Mrs.", "Mx."]
PERSON_WORDS_LIST = FEMALE_WORDS + MALE_WORDS + GENDER_NEUTRAL_WORDS + PROFESSION_LIST + OTHER_PERSON_NOUNS
PERSON_WORDS = list(set(PERSON_WORDS_LIST) - set(WORDS_TO_REMOVE))
"""


def package(folder: Path, source: str = SOURCE) -> Path:
    """Writes a small LangFair."""
    for name in ("langfair/constants", "langfair-0.8.0.dist-info"):
        (folder / name).mkdir(parents=True)
    (folder / "langfair-0.8.0.dist-info" / "METADATA").write_text(
        "Name: langfair\nVersion: 0.8.0\n"
    )
    (folder / "langfair" / "constants" / "word_lists.py").write_text(source)
    return folder


def imported(package: Path, out: Path) -> list[str]:
    """The lines that the command prints, without the path of the package."""
    result = CliRunner().invoke(app, ["import", "langfair", str(package), "--out", str(out)])
    return result.output.replace(f"{out.parent}/", "").splitlines()


def grid_of(folder: Path, **keys: Any) -> Any:
    """A config of one dataset of five prompts, about two groups, in `mode: langfair`; the words lie
    in a folder.
    """
    (folder / "prompts.txt").write_text(
        "\n".join(f"She asks {number} times." for number in range(5))
    )
    section = {
        "family": "rewriting",
        "title": "T",
        "prompts": "prompts.txt",
        "mode": "langfair",
        "repetitions": 1,
    }
    files = {"groups": str(LISTS / "langfair-gender.yaml"), "targets": "targets.txt"}
    model = {"task": "text-generation", "random": {"seed": 1}, "kind": "K", "label": "L"}
    return parse_config(
        {
            "word_lists": str(folder),
            "models": {"writer": model},
            "datasets": {"prompts": section | files | keys},
            "run": {"models": ["writer"], "datasets": ["prompts"]},
        },
        "c.yaml",
    )


def near_words(grid: Any, texts: Sequence[str]) -> dict[tuple[str, str | None], float]:
    """By measure and target word how unevenly words stand in some answers, those that are missing
    empty.
    """
    question = grid.question("writer", "prompts")
    asking, faults = read(grid.files("prompts", question.variant))
    assert asking is not None, faults
    instances = whole(expand(asking))
    said = [*texts, *[""] * (len(instances) - len(texts))]
    predictions = predictions_of("text", instances, response=said, status=["ok"] * len(said))
    found = numbers_of(
        observe(instances, predictions, question.measure_options), question.measure_options
    )
    rows = found.filter(
        pl.col("measure").is_in(["stereotypical_association", "co_occurrence_bias"])
    )
    of_cell = rows.filter(pl.col("group").is_null() | pl.col("attribute").is_not_null())
    return {
        (row["measure"], row["attribute"]): row["value"] for row in of_cell.iter_rows(named=True)
    }
