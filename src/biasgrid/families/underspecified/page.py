"""The page of a cell: associations of subjects and attributes, and the swap groups behind them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from biasgrid.families.page import (
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
"""The association that a cell shows: of shares, or of the question if the negation is not read."""
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
    """Returns the subjects and attributes of all cells of a dataset, in order of appearance."""
    names: dict[str, dict[str, None]] = {"subjects": {}, "attributes": {}}
    for cell in cells.values():
        gammas = gammas_of(cell)
        names["subjects"].update(dict.fromkeys(gammas["subject"]))
        names["attributes"].update(dict.fromkeys(gammas["attribute"]))
    return {key: list(values) for key, values in names.items()}


def gammas_of(cell: CellTables) -> pl.DataFrame:
    """Returns the association of each subject and attribute of a cell, with its interval."""
    return select_rows(cell.measures, shown_measure(cell), PAYLOAD_KEYS, intervals=True)


def shown_measure(cell: CellTables) -> str:
    """Returns the association that a cell shows.

    It is that of the question alone if the negation is not read, else that of shares.
    """
    return OF_QUESTION if is_flagged(cell, UNREAD) else SHOWN_MEASURE


def is_flagged(cell: CellTables, flag: str) -> bool:
    """Whether a flag speaks against a cell."""
    return cell.measures.filter(measure=flag)["flag"].count() > 0


def cell_payload(cell: CellTables, shared: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the associations of a cell, row by row of the matrix subjects x attributes.

    Returns:
        Columns `gamma`, `low`, `high`, `q`, `eta` and `n`, null where a pair is not asked; `order`:
        the numbers of subjects and of attributes such that similar ones stand together;
        `of_question`: whether the association is that of the question alone; `subject_groups`: the
        association of groups of subjects; `pronouns`: the association of their pronouns, if names
        are improbable.
    """
    # If no cell has an association there are no names either, so the type must be given.
    subjects = pl.Series("subject", shared["subjects"], dtype=pl.String)
    attributes = pl.Series("attribute", shared["attributes"], dtype=pl.String)
    pairs = subjects.to_frame().join(attributes.to_frame(), how="cross")
    eta = select_rows(cell.measures, "eta", PAYLOAD_KEYS).select(*PAYLOAD_KEYS, eta="value")
    gamma = gammas_of(cell).join(eta, on=PAYLOAD_KEYS, how="left")
    rows = pairs.join(gamma, on=PAYLOAD_KEYS, how="left", maintain_order="left")
    matrix = rows["value"].fill_null(0).to_numpy().reshape(len(subjects), len(attributes))
    measure = shown_measure(cell)
    pronouns = []
    if is_flagged(cell, IMPROBABLE):
        pronouns = gammas_of_subject_groups(cell, PRONOUN_ASSOCIATION)
    return {
        "gamma": in_ten_thousandths(rows["value"]),
        "low": numbers_or_none(rows["low"]),
        "high": numbers_or_none(rows["high"]),
        "q": numbers_or_none(rows["q"]),
        "eta": numbers_or_none(rows["eta"]),
        "n": one_or_all(rows["n"]),
        "of_question": measure == OF_QUESTION,
        "order": seriate(matrix) if matrix.size and np.any(matrix) else None,
        "subject_groups": gammas_of_subject_groups(cell, measure),
        "pronouns": pronouns,
    }


def numbers_or_none(column: pl.Series) -> list[float | None] | None:
    """Returns the ten thousandths of a column; a single None if it has no number."""
    numbers = in_ten_thousandths(column)
    return None if all(number is None for number in numbers) else numbers


def one_or_all(counts: pl.Series) -> int | list[int | None] | None:
    """Returns counts, or a single number if all are equal."""
    return counts.item(0) if counts.n_unique() == 1 else counts.to_list()


def gammas_of_subject_groups(cell: CellTables, measure: str) -> list[dict[str, Any]]:
    """Returns the association of each group of subjects and each attribute, if there are groups."""
    keys = ["subject_group", "attribute"]
    rows = select_rows(cell.measures, measure, keys, intervals=True)
    return page_rows(rows, [*keys, "n"], ("value", "low", "high", "q"))


def example(cells: Mapping[str, CellTables]) -> dict[str, Any] | None:
    """Returns a question that many of the models were asked, with their answers.

    It is never of a model's strongest association, so that the example does not exaggerate. None if
    there is no such question.
    """
    if not cells:
        return None
    tables = []
    for place, (model, cell) in enumerate(cells.items()):
        questions = plain_questions(cell)
        tables.append(questions.with_columns(model=pl.lit(model), place=pl.lit(place)))
    texts = ["text_pair", "text", "subject", "other"]
    rows = pl.concat(tables).unique([*texts, "model"], keep="first", maintain_order=True)
    if rows.is_empty():
        return None
    questions = rows.group_by(texts, maintain_order=True).agg(
        "model", "share", pl.col("place").min()
    )
    models = pl.col("model").list.len().cast(pl.Int64)
    chosen = questions.sort(-models, "place", *texts).row(0, named=True)
    context, question = chosen["text_pair"] or "", re.sub(MASK, "____", chosen["text"])
    # The first bar belongs to the subject that the text names first.
    subjects = (chosen["subject"], chosen["other"])
    own, other = sorted(subjects, key=f"{context} {question}".find)
    answers = []
    for model, share in zip(chosen["model"], chosen["share"], strict=True):
        answers.append([model, share if own == chosen["subject"] else 1 - share])
    return {
        "context": context,
        "question": question,
        "own": own,
        "other": other,
        "answers": answers[:MOST_ANSWERS],
    }


def plain_questions(cell: CellTables) -> pl.DataFrame:
    """Returns the plain questions among a cell's examples, without the strongest association.

    Returns:
        Rows of `EVIDENCE` in which a subject has a score, with the `share` of the own subject.
    """
    both = pl.col("score") + pl.col("other_score")
    examples_of_cell = cell.examples.filter(measure=SHOWN_MEASURE, swapped=False, negated=False)
    questions = examples_of_cell.filter(pl.col("rank") > 0, both > 0)
    return questions.with_columns(share=pl.col("score") / both)


def examples(cell: CellTables, shared: Mapping[str, Any]) -> Examples:
    """Returns the evidence of associations: their parts, and swap groups with their sentences.

    Returns:
        Of each association `s` and `a` (the numbers of subject and attribute), `why`, `templates`
        ([template, mean C, n]), `partners` ([subject, mean C, n]) and `groups`: `role`, `other`,
        `template`, `c`, `id` and `rows` ([context, question, swapped, negated, own score, other's
        score, answer, places and lengths, own share]).
    """
    numbers = {}
    for key in PAYLOAD_KEYS:
        numbers[key] = {name: number for number, name in enumerate(shared[f"{key}s"])}
    ranked = cell.examples.filter(measure=SHOWN_MEASURE).sort("rank", maintain_order=True)
    associations = ranked.select(PAYLOAD_KEYS).unique(maintain_order=True)

    def make(start: int, stop: int) -> list[dict[str, Any]]:
        chosen = associations.slice(start, stop - start)
        rows = ranked.join(chosen, on=PAYLOAD_KEYS, how="semi", maintain_order="left")
        parts = cell.parts.join(chosen, on=PAYLOAD_KEYS, how="semi", maintain_order="left")
        return examples_of(rows, parts, numbers)

    return Examples(len(associations), make)


def examples_of(
    ranked: pl.DataFrame, parts: pl.DataFrame, numbers: Mapping[str, Mapping[str, int]]
) -> list[dict[str, Any]]:
    """Returns the evidence of the associations in some rows; see `examples`.

    Args:
        ranked: rows of `EVIDENCE`, those that matter most first.
        parts: rows of `EVIDENCE_PARTS` of the same associations.
        numbers: of `subject` and `attribute` the number of each.
    """
    templates, partners = part_means(parts, "template"), part_means(parts, "other")
    both = pl.col("score") + pl.col("other_score")
    ranked = ranked.with_columns(share=pl.when(both > 0).then(pl.col("score") / both))
    scaled = ("unit_value", *SCORE_PAIR, "share")
    columns = [*PAYLOAD_KEYS, "reason", "unit", "role", "other", "template", *QUESTION_COLUMNS]
    unscaled = [name for name in columns if name not in scaled]
    evidence: dict[tuple[str, str], dict[str, Any]] = {}
    questions: dict[tuple[str, str, int], list[list[Any]]] = {}
    for row in page_rows(ranked, unscaled, scaled):
        subject, attribute, unit = row["subject"], row["attribute"], row["unit"]
        association = (subject, attribute)
        if association not in evidence:
            evidence[association] = {
                "s": numbers["subject"][subject],
                "a": numbers["attribute"][attribute],
                "why": row["reason"],
                "templates": templates.get(association, []),
                "partners": partners.get(association, []),
                "groups": [],
            }
        swap_group = (subject, attribute, unit)
        if swap_group not in questions:
            questions[swap_group] = []
            group = {name: row[name] for name in ("role", "other", "template")}
            group |= {"c": row["unit_value"], "id": unit, "rows": questions[swap_group]}
            evidence[association]["groups"].append(group)
        questions[swap_group].append([row[name] for name in QUESTION_COLUMNS])
    return [*evidence.values()]


def part_means(parts: pl.DataFrame, key: str) -> dict[tuple[str, str], list[list[Any]]]:
    """Returns the means of each association by template or by partner.

    Returns:
        Of each template or partner of an association: its name, the mean in ten thousandths, and n.
    """
    rows = parts.drop_nulls(key)
    means: dict[tuple[str, str], list[list[Any]]] = {}
    for subject, attribute, name, mean, n in zip(
        rows["subject"],
        rows["attribute"],
        rows[key],
        in_ten_thousandths(rows["value"]),
        rows["n"],
        strict=True,
    ):
        means.setdefault((subject, attribute), []).append([name, mean, n])
    return means
