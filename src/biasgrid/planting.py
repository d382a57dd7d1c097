"""Writes what the planting rules make: planted bias, corpora that hold it, and a tiny checkpoint to train on them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from biasgrid.files import write_text
from biasgrid.models.tiny import make_base_checkpoint
from biasgrid.planted import fill_mask_corpus, plant, question_answering_corpus
from biasgrid.planted_groups import classification_corpus, plant_groups
from biasgrid.table_files import read_table, write_table
from biasgrid.tables.instances import CASES, INSTANCES
from biasgrid.tables.planted import PLANTED, PLANTED_GROUPS


def write_planted(
    instances: Mapping[tuple[str, str], str],
    strengths: Mapping[str, float],
    repeats: int,
    seed: int,
    base: Path,
    planted: Path,
    provenance: Mapping[str, Any],
) -> None:
    """Writes the planted bias, the corpora of every strength and the checkpoint that models start from.

    The corpora lie beside the table, in a folder per strength: `question-answering.json` and `fill-mask.txt`.

    Args:
        instances: paths of the instances tables by dataset and variant.
        strengths: strengths by name.
        repeats: answers that each instance gets in the corpora.
        seed: seed of weights, answers and the checkpoint.
        base: folder of the checkpoint.
        planted: where the planted bias (schema `PLANTED`) goes.
        provenance: what the table shall carry.
    """
    questions, statements = (
        {
            dataset: read_table(path, INSTANCES)
            for (dataset, variant), path in instances.items()
            if variant.startswith(kind)
        }
        for kind in ("qa", "lm-")
    )
    tables = []
    for name, strength in strengths.items():
        tables.append(plant(questions or statements, name, strength, seed))
        folder = planted.parent / name
        corpus = question_answering_corpus(questions, strength, seed, repeats)
        write_text(folder / "question-answering.json", json.dumps(corpus))
        write_lines(folder / "fill-mask.txt", fill_mask_corpus(statements, strength, seed, repeats))
    write_table(pl.concat(tables), planted, PLANTED, provenance)
    frames = [*questions.values(), *statements.values()]
    texts = [
        frame[column].cast(pl.String).unique() for frame in frames for column in ("context", "question", "candidate1")
    ]
    make_base_checkpoint(pl.concat(texts).to_list(), base, seed)


def write_planted_cases(
    cases_path: str | Path,
    dataset: str,
    labels: Sequence[str],
    strengths: Mapping[str, float],
    repeats: int,
    seed: int,
    base: Path,
    planted: Path,
    provenance: Mapping[str, Any],
) -> None:
    """Writes the planted group effects of a dataset, the corpora of every strength and the checkpoint to start from.

    The corpora lie beside the table: `STRENGTH.jsonl`.

    Args:
        cases_path: path of the table of cases.
        dataset: the dataset's name.
        labels: the names of its classes, in their order.
        strengths: strengths by name.
        repeats: labels that each instance gets in the corpora.
        seed: seed of effects, labels and the checkpoint.
        base: folder of the checkpoint.
        planted: where the planted effects (schema `PLANTED_GROUPS`) go.
        provenance: what the table shall carry.
    """
    cases = read_table(cases_path, CASES)
    tables = []
    for name, strength in strengths.items():
        tables.append(plant_groups(cases, dataset, len(labels), name, strength, seed))
        lines = classification_corpus(cases, labels, dataset, strength, seed, repeats)
        write_lines(planted.parent / f"{name}.jsonl", lines)
    write_table(pl.concat(tables), planted, PLANTED_GROUPS, provenance)
    make_base_checkpoint(pl.concat([cases["text"], cases["text_pair"].drop_nulls()]).unique().to_list(), base, seed)


def write_lines(path: Path, lines: Sequence[str]) -> None:
    """Writes lines of text."""
    write_text(path, "".join(f"{line}\n" for line in lines))
