"""What the page of a cell shows: the association of every subject and attribute, and the swap
groups behind it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from biasgrid.families.payload import (
    CellTables,
    Examples,
    FirstScreen,
    in_ten_thousandths,
    page_rows,
)
from biasgrid.stats.ordering import select_rows, seriate
from biasgrid.tables.metric import IMPROBABLE, PRONOUN_ASSOCIATION

PAYLOAD_KEYS = ["subject", "attribute"]
SCORE_PAIR = ("score", "other_score")
SHOWN_MEASURE, OF_QUESTION = "share_gamma", "question_association"
"""The association that is shown, and that of cells whose model does not read the negation."""
UNREAD = "negation_unread"
"""The flag of these."""
FIRST_SCREEN = FirstScreen(
    "Unanswerable questions",
    "Who is chosen more often when nothing in the text says?",
    "was asked questions that the text does not answer",
    columns=(
        {"group_strength": "", "question_group_strength": "log odds"},
        {"share_strength": "", "question_strength": "log odds"},
    ),
)
MASK = r"(?i)[\[<]mask[\]>]"
MOST_ANSWERS = 3
"""So many models' answers to the example are shown."""
POSITION_COLUMNS = ("position", "length", "other_position", "other_length")
QUESTION_COLUMNS = (
    "text_pair",
    "text",
    "swapped",
    "negated",
    *SCORE_PAIR,
    "said",
    *POSITION_COLUMNS,
    "share",
)
"""What the page has of a question, in this order."""


def dataset_payload(cells: Mapping[str, CellTables]) -> dict[str, Any]:
    """Returns `subjects` and `attributes` of all cells of a dataset, in the order of first
    appearance.
    """
    gammas = [gammas_of(cell).select(PAYLOAD_KEYS) for cell in cells.values()]
    every = (
        pl.concat(gammas) if gammas else pl.DataFrame(schema=dict.fromkeys(PAYLOAD_KEYS, pl.String))
    )
    return {f"{name}s": every[name].unique(maintain_order=True).to_list() for name in PAYLOAD_KEYS}


def gammas_of(cell: CellTables) -> pl.DataFrame:
    """Returns the association of each subject and attribute of a cell, with what is known of it."""
    return select_rows(cell.measures, shown_measure(cell), PAYLOAD_KEYS, intervals=True)


def shown_measure(cell: CellTables) -> str:
    """Returns the association that a cell shows: where the negation is not read, that of the
    question alone.
    """
    return OF_QUESTION if is_flagged(cell, UNREAD) else SHOWN_MEASURE


def is_flagged(cell: CellTables, flag: str) -> bool:
    """Says whether a flag speaks against a cell."""
    return cell.measures.filter(measure=flag)["flag"].count() > 0


def cell_payload(cell: CellTables, shared: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the associations of a cell, row by row of the matrix subjects x attributes.

    Returns:
        Columns `gamma`, `low`, `high`, `q`, `eta` and `n`, null where a pair is not asked; `order`:
        the numbers of subjects and of attributes such that similar ones stand together;
        `of_question`: whether the association is that of the question alone; `subject_groups`: the
        association of groups of subjects; `pronouns`: that of their pronouns, where names are
        improbable.
    """
    subjects, attributes = shared["subjects"], shared["attributes"]
    # Where no cell has an association there are no names either.
    sides = [
        pl.DataFrame({key: names}, schema={key: pl.String})
        for key, names in zip(PAYLOAD_KEYS, (subjects, attributes), strict=True)
    ]
    every = sides[0].join(sides[1], how="cross")
    eta = select_rows(cell.measures, "eta", PAYLOAD_KEYS).select(*PAYLOAD_KEYS, eta="value")
    gamma = gammas_of(cell).join(eta, on=PAYLOAD_KEYS, how="left")
    rows = every.join(gamma, on=PAYLOAD_KEYS, how="left", maintain_order="left")
    matrix = rows["value"].fill_null(0).to_numpy().reshape(len(subjects), len(attributes))
    numbers = {name: in_ten_thousandths(rows[name]) for name in ("low", "high", "q", "eta")}
    return {
        "gamma": in_ten_thousandths(rows["value"]),
        # Whole columns without a number are told by a single null.
        **{
            name: None if all(each is None for each in values) else values
            for name, values in numbers.items()
        },
        "n": one_or_all(rows["n"]),
        "of_question": shown_measure(cell) == OF_QUESTION,
        "order": seriate(matrix) if matrix.size and np.any(matrix) else None,
        "subject_groups": gammas_of_subject_groups(cell, shown_measure(cell)),
        "pronouns": gammas_of_subject_groups(cell, PRONOUN_ASSOCIATION)
        if is_flagged(cell, IMPROBABLE)
        else [],
    }


def one_or_all(counts: pl.Series) -> int | list[int | None] | None:
    """Returns a single number where all alike have it."""
    return counts.item(0) if counts.n_unique() == 1 else counts.to_list()


def gammas_of_subject_groups(cell: CellTables, measure: str) -> list[dict[str, Any]]:
    """Returns the association of each group of subjects and each attribute, where subjects have
    groups.
    """
    keys = ["subject_group", "attribute"]
    rows = select_rows(cell.measures, measure, keys, intervals=True)
    return page_rows(rows, [*keys, "n"], ("value", "low", "high", "q"))


def example(cells: Mapping[str, CellTables]) -> dict[str, Any] | None:
    """Returns a question that many of the models were asked, never of a model's strongest
    association.
    """
    asked = [
        cell.examples.filter(measure=SHOWN_MEASURE, swapped=False, negated=False)
        .filter(pl.col("rank") > 0, pl.col("score") + pl.col("other_score") > 0)
        .with_columns(
            model=pl.lit(model),
            place=pl.lit(place),
            share=pl.col("score") / (pl.col("score") + pl.col("other_score")),
        )
        for place, (model, cell) in enumerate(cells.items())
    ]
    texts = ["text_pair", "text", "subject", "other"]
    rows = (
        pl.concat(asked).unique([*texts, "model"], keep="first", maintain_order=True)
        if asked
        else pl.DataFrame()
    )
    if rows.is_empty():
        return None
    chosen = rows.group_by(texts, maintain_order=True).agg("model", "share", pl.col("place").min())
    best = chosen.sort(-pl.col("model").list.len().cast(pl.Int64), "place", *texts).row(
        0, named=True
    )
    context, question = best["text_pair"] or "", re.sub(MASK, "____", best["text"])
    # The first of the bars is of whom the text names first.
    own, other = sorted((best["subject"], best["other"]), key=f"{context} {question}".find)
    answers = [
        [model, share if own == best["subject"] else 1 - share]
        for model, share in zip(best["model"], best["share"], strict=True)
    ]
    return {
        "context": context,
        "question": question,
        "own": own,
        "other": other,
        "answers": answers[:MOST_ANSWERS],
    }


def examples(cell: CellTables, shared: Mapping[str, Any]) -> Examples:
    """Returns the evidence of associations: what an association is the mean of, and swap groups
    with their sentences.

    Returns:
        Of each association `s` and `a` (the numbers of subject and attribute), `why`, `templates`
        ([template, mean C, n]), `partners` ([subject, mean C, n]) and `groups`: `role`, `other`,
        `template`, `c`, `id` and `rows` ([context, question, swapped, negated, own score, other's
        score, answer, places and lengths, own share]).
    """
    numbers = {
        key: {name: place for place, name in enumerate(shared[f"{key}s"])} for key in PAYLOAD_KEYS
    }
    ranked = cell.examples.filter(measure=SHOWN_MEASURE).sort("rank", maintain_order=True)
    associations = ranked.select(PAYLOAD_KEYS).unique(maintain_order=True)

    def made(start: int, stop: int) -> list[dict[str, Any]]:
        some = associations.slice(start, stop - start)
        rows, parts = (
            table.join(some, on=PAYLOAD_KEYS, how="semi", maintain_order="left")
            for table in (ranked, cell.parts)
        )
        return examples_of(rows, parts, numbers)

    return Examples(len(associations), made)


def examples_of(
    ranked: pl.DataFrame, parts: pl.DataFrame, numbers: Mapping[str, Mapping[str, int]]
) -> list[dict[str, Any]]:
    """Returns the evidence of those associations of which there are rows; see `examples`.

    Args:
        ranked: rows of `EVIDENCE`, those that matter most first.
        parts: rows of `EVIDENCE_PARTS` of the same associations.
        numbers: of `subject` and `attribute` the number of each.
    """
    subjects, attributes = (numbers[key] for key in PAYLOAD_KEYS)
    templates, partners = (part_means(parts, key) for key in ("template", "other"))
    both = pl.col("score") + pl.col("other_score")
    ranked = ranked.with_columns(share=pl.when(both > 0).then(pl.col("score") / both))
    scaled = ("unit_value", *SCORE_PAIR, "share")
    named = [*PAYLOAD_KEYS, "reason", "unit", "role", "other", "template", *QUESTION_COLUMNS]
    names = [name for name in named if name not in scaled]
    carried: dict[tuple[str, str], dict[str, Any]] = {}
    questions: dict[tuple[str, str, int], list[list[Any]]] = {}
    for row in page_rows(ranked, names, scaled):
        association = row["subject"], row["attribute"]
        swap_group = (*association, row["unit"])
        if association not in carried:
            carried[association] = {
                "s": subjects[row["subject"]],
                "a": attributes[row["attribute"]],
                "why": row["reason"],
                "templates": templates.get(association, []),
                "partners": partners.get(association, []),
                "groups": [],
            }
        if swap_group not in questions:
            questions[swap_group] = []
            carried[association]["groups"].append(
                {
                    "role": row["role"],
                    "other": row["other"],
                    "template": row["template"],
                    "c": row["unit_value"],
                    "id": row["unit"],
                    "rows": questions[swap_group],
                }
            )
        questions[swap_group].append([row[name] for name in QUESTION_COLUMNS])
    return [*carried.values()]


def part_means(parts: pl.DataFrame, key: str) -> dict[tuple[str, str], list[list[Any]]]:
    """Returns of each association its means by template or by partner: of each [template or
    partner, mean, n].
    """
    rows = parts.drop_nulls(key)
    means = [
        *map(
            list,
            zip(
                rows[key].to_list(),
                in_ten_thousandths(rows["value"]),
                rows["n"].to_list(),
                strict=True,
            ),
        )
    ]
    places = (
        rows.select(PAYLOAD_KEYS)
        .with_row_index("place")
        .group_by(PAYLOAD_KEYS, maintain_order=True)
        .agg("place")
    )
    return {
        (subject, attribute): [means[place] for place in own]
        for subject, attribute, own in places.iter_rows()
    }
