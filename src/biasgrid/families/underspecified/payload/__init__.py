"""What the page of a cell shows: gamma of every subject and attribute, and the swap groups behind it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from biasgrid.families.shown import ShownCell, scaled
from biasgrid.stats.ordering import select_rows, seriate

PAIR = ["subject", "attribute"]
OF_ROW = ("score", "other_score")
PLACES = ("position", "length", "other_position", "other_length")


def dataset_payload(cells: Mapping[str, ShownCell]) -> dict[str, Any]:
    """Returns `subjects` and `attributes` of all cells of a dataset, in the order of first appearance."""
    gammas = [gammas_of(cell).select(PAIR) for cell in cells.values()]
    every = pl.concat(gammas) if gammas else pl.DataFrame(schema=dict.fromkeys(PAIR, pl.String))
    return {f"{name}s": every[name].unique(maintain_order=True).to_list() for name in PAIR}


def gammas_of(cell: ShownCell) -> pl.DataFrame:
    """Returns gamma of each subject and attribute of a cell, with what is known of it."""
    return select_rows(cell.measures, "gamma", PAIR, certain=True)


def cell_payload(cell: ShownCell, shared: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the associations of a cell, row by row of the matrix subjects x attributes.

    Returns:
        Columns `gamma`, `low`, `high`, `q`, `eta` and `n`, null where a pair is not asked; `order`: the numbers of
        subjects and of attributes such that similar ones stand together; `subject_groups`: gamma of groups of subjects.
    """
    subjects, attributes = shared["subjects"], shared["attributes"]
    every = pl.DataFrame({"subject": subjects}).join(pl.DataFrame({"attribute": attributes}), how="cross")
    eta = select_rows(cell.measures, "eta", PAIR).select(*PAIR, eta="value")
    gamma = gammas_of(cell).join(eta, on=PAIR, how="left")
    rows = every.join(gamma, on=PAIR, how="left", maintain_order="left")
    matrix = rows["value"].fill_null(0).to_numpy().reshape(len(subjects), len(attributes))
    numbers = {name: scaled(rows[name]) for name in ("low", "high", "q", "eta")}
    return {
        "gamma": scaled(rows["value"]),
        # Whole columns without a number are told by a single null.
        **{name: None if all(each is None for each in values) else values for name, values in numbers.items()},
        "n": one_or_all(rows["n"]),
        "order": seriate(matrix) if matrix.size and np.any(matrix) else None,
        "subject_groups": subject_groups_of(cell),
    }


def one_or_all(counts: pl.Series) -> int | list[int | None] | None:
    """Returns a single number where all alike have it."""
    return counts.item(0) if counts.n_unique() == 1 else counts.to_list()


def subject_groups_of(cell: ShownCell) -> list[dict[str, Any]]:
    """Returns gamma of each group of subjects and each attribute, where subjects have clusters."""
    rows = select_rows(cell.measures, "gamma", ["subject_group", "attribute"], certain=True).to_dicts()
    return [
        {"subject_group": row["subject_group"], "attribute": row["attribute"], "n": row["n"]}
        | {name: scaled(row[name]) for name in ("value", "low", "high", "q")}
        for row in rows
    ]


def evidence(cell: ShownCell, shared: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the evidence of associations: what gamma is the mean of, and swap groups with their sentences.

    Returns:
        Of each association `s` and `a` (the numbers of subject and attribute), `why`, `templates` ([template, mean C,
        n]), `partners` ([subject, mean C, n]) and `groups`: `role`, `other`, `template`, `c`, `id` and `rows`
        ([context, question, swapped, negated, own score, other's score, answer, places and lengths of both]).
    """
    subjects, attributes = ({name: place for place, name in enumerate(shared[f"{key}s"])} for key in PAIR)
    parts = cell.parts.partition_by(PAIR, as_dict=True, maintain_order=True)
    carried = []
    ranked = cell.examples.filter(measure="gamma").sort("rank", maintain_order=True)
    for rows in ranked.partition_by(PAIR, maintain_order=True):
        first = rows.row(0, named=True)
        own = parts.get((first["subject"], first["attribute"]), cell.parts.clear())
        carried.append(
            {
                "s": subjects[first["subject"]],
                "a": attributes[first["attribute"]],
                "why": first["reason"],
                "templates": means_of(own, "template"),
                "partners": means_of(own, "other"),
                "groups": [group_of(group) for group in rows.partition_by("unit", maintain_order=True)],
            }
        )
    return carried


def means_of(parts: pl.DataFrame, key: str) -> list[list[Any]]:
    """Returns the means by template or by partner."""
    rows = parts.drop_nulls(key)
    return [list(row) for row in zip(rows[key], scaled(rows["value"]), rows["n"], strict=True)]


def group_of(rows: pl.DataFrame) -> dict[str, Any]:
    """Returns a swap group with its four questions."""
    first = rows.row(0, named=True)
    return {
        "role": first["role"],
        "other": first["other"],
        "template": first["template"],
        "c": scaled(first["unit_value"]),
        "id": first["unit"],
        "rows": [
            [row["text_pair"], row["text"], row["swapped"], row["negated"]]
            + [scaled(row[name]) for name in OF_ROW]
            + [row["said"]]
            + [row[name] for name in PLACES]
            for row in rows.to_dicts()
        ],
    }
