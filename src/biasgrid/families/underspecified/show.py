"""What is shown of a cell: its associations, and the swap groups behind them.

The page is a drawing of its own (`view.js`): the matrix of subjects and attributes, and for each
association the swap groups with the largest C of shares, the median one and the smallest, and means
by template and by other subject.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from operator import itemgetter
from random import Random
from typing import Any

import numpy as np
import polars as pl

from biasgrid.families.cell import MeasuredCell
from biasgrid.families.evidence import Sentences, with_roles
from biasgrid.families.page import (
    CellTables,
    Examples,
    FirstScreen,
    in_ten_thousandths,
    page_rows,
)
from biasgrid.families.underspecified.axes import AnsweredGroups
from biasgrid.families.underspecified.observe import (
    both_sides,
    least_mass,
    scores_in_groups,
    swap_group_preferences,
)
from biasgrid.families.underspecified.sums import ASSOCIATION
from biasgrid.stats.ordering import select_rows, seriate
from biasgrid.tables.evidence import Evidence
from biasgrid.tables.files import means_by
from biasgrid.tables.metric import IMPROBABLE, PRONOUN_ASSOCIATION

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
MASK_PATTERN = r"(?i)[\[<]mask[\]>]"
MOST_ANSWERS = 3
"""So many models' answers to the example are shown."""
POSITION_COLUMNS = ("position", "length", "other_position", "other_length")
SHOWN_COLUMNS = (
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
ASSOCIATIONS_SHOWN = 300
"""Most associations of a cell that have evidence; a smaller report carries fewer of them."""
STRONGEST_ASSOCIATIONS = 200
"""Most of these that are the strongest ones; the rest are drawn."""
DRAW_SEED = 1

# Evidence


def evidence(cell: MeasuredCell) -> Evidence:
    """Finds the swap groups behind associations of a cell, and their means by template and partner.

    Returns:
        Of each association that `choose_associations` returns the four instances of its swap groups
        with the largest C of shares, the median one and the smallest, and the means of C by
        template and by other subject. `other` and `template` of the units are those of the swap
        group, `value` is the association.
    """
    associations = choose_associations(cell.measures)
    if associations.is_empty():
        return Evidence(pl.DataFrame())
    cell_groups = AnsweredGroups(cell.observed)
    sides = association_sides(associations, cell_groups, cell_least_mass(cell_groups, cell))
    groups = with_roles(sides.rename({"comparison": "unit_value", "swap_group": "unit"}), ["rank"])
    means = [association_means(sides, "template"), association_means(sides, "other")]
    return Evidence(
        SENTENCES.with_texts(swap_group_instances(groups, cell), cell),
        pl.concat(means, how="diagonal"),
    )


def choose_associations(measures: pl.DataFrame) -> pl.DataFrame:
    """Chooses the associations that have evidence.

    The strongest are positive ones: each C(x1, x2) counts for x1 and reversed for x2, so that a
    negative gamma repeats the positive gammas of the subject's partners.

    Returns:
        `rank`, `subject`, `attribute`, `value` and `reason`: in turns the two strongest
        associations that are left and one that was drawn from all others, so that a report that
        carries few has both.
    """
    gamma = measures.filter(measure=SHOWN_MEASURE).drop_nulls([*ASSOCIATION, "value"])
    gamma = gamma.select(*ASSOCIATION, "value")
    by_strength = gamma.sort("value", *ASSOCIATION, descending=[True, False, False])
    strongest = by_strength.filter(pl.col("value") > 0).head(STRONGEST_ASSOCIATIONS)
    weaker = by_strength.slice(len(strongest))
    draws = min(ASSOCIATIONS_SHOWN - len(strongest), len(weaker))
    drawn = weaker[Random(DRAW_SEED).sample(range(len(weaker)), draws)]
    place = pl.int_range(pl.len())
    tables = [
        strongest.with_columns(reason=pl.lit("strongest"), turn=place // 2),
        drawn.with_columns(reason=pl.lit("drawn"), turn=place),
    ]
    rows = pl.concat(tables).sort("turn", maintain_order=True).drop("turn")
    return rows.cast(dict.fromkeys(ASSOCIATION, pl.Categorical)).with_row_index("rank")


def association_sides(
    associations: pl.DataFrame, cell_groups: AnsweredGroups, least: float
) -> pl.DataFrame:
    """Returns the swap groups of associations that have a share, as seen from their subject.

    Args:
        associations: from `choose_associations`, whose columns are added.
        cell_groups: the swap groups of the cell.
        least: the least S(x) + S(y) that a share is made of.

    Returns:
        Columns of `both_sides`, with C of shares as `comparison`.
    """
    axes = cell_groups.axes
    is_chosen = np.zeros(axes.shape[:2], dtype=np.bool_)
    subject, attribute = associations["subject"], associations["attribute"]
    is_chosen[axes.subject_places(subject), axes.attribute_places(attribute)] = True
    tables = []
    for part in cell_groups:
        groups = axes.swap_groups(part)
        is_chosen_x1 = is_chosen[groups.x1, groups.attribute]
        is_chosen_x2 = is_chosen[groups.x2, groups.attribute]
        chosen_groups = part.filter(pl.Series(is_chosen_x1 | is_chosen_x2))
        sides = both_sides(with_shares(chosen_groups, least))
        tables.append(sides.join(associations, on=ASSOCIATION))
    return pl.concat(tables).sort("rank", "swap_group")


def with_shares(groups: pl.DataFrame, least: float) -> pl.DataFrame:
    """Returns the swap groups that have a share, with C of shares as `comparison`."""
    share = swap_group_preferences(scores_in_groups(groups), least).share
    rows = groups.with_columns(comparison=pl.Series(share))
    return rows.filter(pl.col("comparison").is_not_nan())


def cell_least_mass(cell_groups: AnsweredGroups, cell: MeasuredCell) -> float:
    """Returns the least S(x) + S(y) that a share is made of in a cell."""
    return least_mass(map(scores_in_groups, cell_groups), cell.measure_options.get("precision"))


def association_means(sides: pl.DataFrame, key: str) -> pl.DataFrame:
    """Returns the means of associations by template or by other subject.

    Args:
        sides: from `association_sides`.
        key: `template` or `other`.

    Returns:
        Columns of `EVIDENCE_PARTS`.
    """
    keys = ["rank", *ASSOCIATION, key]
    counts = sides.group_by(keys).agg(n=pl.len())
    rows = means_by(sides, keys, "comparison").join(counts, on=keys, maintain_order="left")
    # Names are sorted as text, whatever the order of their categories.
    place = pl.col(key).cast(pl.String) if key == "other" else pl.col(key)
    return rows.sort("rank", place).select(
        *ASSOCIATION,
        key,
        "n",
        value="comparison",
        measure=pl.lit(SHOWN_MEASURE),
        options=pl.lit(""),
    )


def swap_group_instances(groups: pl.DataFrame, cell: MeasuredCell) -> pl.DataFrame:
    """Returns the instances of swap groups with their scores.

    Args:
        groups: `unit`, `unit_value`, `subject`, `other`, `attribute`, `template`, `value`, `rank`,
            `reason`, `role`.
        cell: the cell.

    Returns:
        Columns of `EVIDENCE` but those of `SENTENCES.asked`.
    """
    # Behind the order and the question; x1 stands first where the order is not swapped.
    place = 4 * pl.col("swapped").cast(pl.Int64) + 2 * pl.col("negated").cast(pl.Int64)
    first = pl.col("swapped").cast(pl.Int64)
    is_chosen = pl.col("swap_group").is_in(groups["unit"].implode())
    instances = cell.instances.filter(is_chosen).drop("template", "attribute")
    scores = pl.concat(
        part.select("swap_group", "scores").filter(is_chosen) for part in cell.parts
    ).lazy()
    rows = groups.lazy().join(instances, left_on="unit", right_on="swap_group")
    rows = rows.join(scores, left_on="unit", right_on="swap_group").with_columns(
        score1=pl.col("scores").arr.get(place + first),
        score2=pl.col("scores").arr.get(place + 1 - first),
        length1=length_in_context(1),
        length2=length_in_context(2),
    )
    # Columns of the subject that the association is about, and of the other one.
    is_first = pl.col("subject") == pl.col("subject1")
    columns = {}
    for name in ("score", "position", "length"):
        columns[name] = pl.when(is_first).then(f"{name}1").otherwise(f"{name}2")
        columns[f"other_{name}"] = pl.when(is_first).then(f"{name}2").otherwise(f"{name}1")
    rows = rows.select(
        "subject",
        "attribute",
        "other",
        "template",
        "value",
        "rank",
        "reason",
        "role",
        "unit",
        "unit_value",
        "instance",
        "swapped",
        "negated",
        **columns,
        measure=pl.lit(SHOWN_MEASURE),
        options=pl.lit(""),
    )
    return rows.sort("rank", -pl.col("unit_value"), "unit", "instance").collect()


def length_in_context(which: int) -> pl.Expr:
    """Returns the number of characters of subject 1 or 2 in the context.

    It is null for letters of options, which are at no place in the context.
    """
    length = pl.col(f"candidate{which}").cast(pl.String).str.len_chars()
    return pl.when(pl.col(f"position{which}").is_not_null()).then(length)


def swap_groups(cell: MeasuredCell, about: Mapping[str, str] | None) -> pl.DataFrame:
    """Returns the instances of all swap groups of an association, largest C first.

    Args:
        cell: the cell, with the observations of the attribute.
        about: `subject` and `attribute`.

    Returns:
        Columns of `EVIDENCE`.
    """
    assert about is not None
    cell_groups = AnsweredGroups(cell.observed)
    least = cell_least_mass(cell_groups, cell)
    has_subject = concerns_subject(about["subject"])
    shares = pl.concat(with_shares(part.filter(has_subject), least) for part in cell_groups)
    sides = both_sides(shares.sort("swap_group"))
    groups = sides.filter(pl.col("subject").cast(pl.String) == about["subject"]).select(
        "subject",
        "other",
        "attribute",
        "template",
        unit="swap_group",
        unit_value="comparison",
        value=pl.lit(None, pl.Float64),
        rank=pl.lit(0),
        reason=pl.lit(""),
        role=pl.lit(""),
    )
    return swap_group_instances(groups, cell)


def concerns_subject(subject: str) -> pl.Expr:
    """Whether a swap group is about a subject."""
    return pl.any_horizontal(pl.col("subject1", "subject2").cast(pl.String) == subject)


def concerns_association(about: Mapping[str, str]) -> pl.Expr:
    """Whether an instance is of a swap group of an association."""
    return (pl.col("attribute") == about["attribute"]) & concerns_subject(about["subject"])


SENTENCES = Sentences(
    swap_groups,
    explained=("subject", "attribute"),
    measure=SHOWN_MEASURE,
    concerns=concerns_association,
    asked={"text": "text", "text_pair": "text_pair"},
    said="answer",
)

# The page of a cell


def dataset_payload(cells: Mapping[str, CellTables]) -> dict[str, Any]:
    """Returns the subjects and attributes of all cells of a dataset, in order of appearance."""
    names: dict[str, dict[str, None]] = {"subjects": {}, "attributes": {}}
    for cell in cells.values():
        gammas = cell_gammas(cell)
        names["subjects"].update(dict.fromkeys(gammas["subject"]))
        names["attributes"].update(dict.fromkeys(gammas["attribute"]))
    return {key: list(values) for key, values in names.items()}


def cell_gammas(cell: CellTables) -> pl.DataFrame:
    """Returns the association of each subject and attribute of a cell, with its interval."""
    return select_rows(cell.measures, shown_measure(cell), ASSOCIATION, intervals=True)


def shown_measure(cell: CellTables) -> str:
    """Returns the association that a cell shows.

    It is that of the question alone if the negation is not read, else that of shares.
    """
    return OF_QUESTION if is_flagged(cell, UNREAD) else SHOWN_MEASURE


def is_flagged(cell: CellTables, flag: str) -> bool:
    """Whether a flag speaks against a cell."""
    return cell.measures.filter(measure=flag)["flag"].count() > 0


def cell_payload(cell: CellTables, dataset_names: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the associations of a cell, row by row of the matrix subjects x attributes.

    Returns:
        Columns `gamma`, `low`, `high`, `q`, `eta` and `n`, null where a pair is not asked; `order`:
        the numbers of subjects and of attributes such that similar ones stand together;
        `of_question`: whether the association is that of the question alone; `subject_groups`: the
        association of groups of subjects; `pronouns`: the association of their pronouns, if names
        are improbable.
    """
    # If no cell has an association there are no names either, so the type must be given.
    subjects = pl.Series("subject", dataset_names["subjects"], dtype=pl.String)
    attributes = pl.Series("attribute", dataset_names["attributes"], dtype=pl.String)
    pairs = subjects.to_frame().join(attributes.to_frame(), how="cross")
    eta = select_rows(cell.measures, "eta", ASSOCIATION).select(*ASSOCIATION, eta="value")
    gamma = cell_gammas(cell).join(eta, on=ASSOCIATION, how="left")
    rows = pairs.join(gamma, on=ASSOCIATION, how="left", maintain_order="left")
    matrix = rows["value"].fill_null(0).to_numpy().reshape(len(subjects), len(attributes))
    measure = shown_measure(cell)
    pronouns = []
    if is_flagged(cell, IMPROBABLE):
        pronouns = subject_group_gammas(cell, PRONOUN_ASSOCIATION)
    return {
        "gamma": in_ten_thousandths(rows["value"]),
        "low": numbers_or_none(rows["low"]),
        "high": numbers_or_none(rows["high"]),
        "q": numbers_or_none(rows["q"]),
        "eta": numbers_or_none(rows["eta"]),
        "n": one_or_all(rows["n"]),
        "of_question": measure == OF_QUESTION,
        "order": seriate(matrix) if matrix.size and np.any(matrix) else None,
        "subject_groups": subject_group_gammas(cell, measure),
        "pronouns": pronouns,
    }


def numbers_or_none(column: pl.Series) -> list[float | None] | None:
    """Returns the ten thousandths of a column; a single None if it has no number."""
    numbers = in_ten_thousandths(column)
    return None if all(number is None for number in numbers) else numbers


def one_or_all(counts: pl.Series) -> int | list[int | None] | None:
    """Returns counts, or a single number if all are equal."""
    return counts.item(0) if counts.n_unique() == 1 else counts.to_list()


def subject_group_gammas(cell: CellTables, measure: str) -> list[dict[str, Any]]:
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
    question_row = questions.sort(-models, "place", *texts).row(0, named=True)
    context, question = (
        question_row["text_pair"] or "",
        re.sub(MASK_PATTERN, "____", question_row["text"]),
    )
    # The first bar belongs to the subject that the text names first.
    subjects = (question_row["subject"], question_row["other"])
    own, other = sorted(subjects, key=f"{context} {question}".find)
    answers = []
    for model, share in zip(question_row["model"], question_row["share"], strict=True):
        answers.append([model, share if own == question_row["subject"] else 1 - share])
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


def examples(cell: CellTables, dataset_names: Mapping[str, Any]) -> Examples:
    """Returns the evidence of associations: their parts, and swap groups with their sentences.

    Returns:
        Of each association `s` and `a` (the numbers of subject and attribute), `why`, `templates`
        ([template, mean C, n]), `partners` ([subject, mean C, n]) and `groups`: `role`, `other`,
        `template`, `c`, `id` and `rows` ([context, question, swapped, negated, own score, other's
        score, answer, places and lengths, own share]).
    """
    numbers = {}
    for key in ASSOCIATION:
        numbers[key] = {name: number for number, name in enumerate(dataset_names[f"{key}s"])}
    rows_by_rank = cell.examples.filter(measure=SHOWN_MEASURE).sort("rank", maintain_order=True)
    associations = rows_by_rank.select(ASSOCIATION).unique(maintain_order=True)

    def make(start: int, stop: int) -> list[dict[str, Any]]:
        page = associations.slice(start, stop - start)
        rows = rows_by_rank.join(page, on=ASSOCIATION, how="semi", maintain_order="left")
        parts = cell.parts.join(page, on=ASSOCIATION, how="semi", maintain_order="left")
        return association_examples(rows, parts, numbers)

    return Examples(len(associations), make)


def association_examples(
    rows_by_rank: pl.DataFrame, parts: pl.DataFrame, numbers: Mapping[str, Mapping[str, int]]
) -> list[dict[str, Any]]:
    """Returns the evidence of the associations in some rows; see `examples`.

    Args:
        rows_by_rank: rows of `EVIDENCE`, those that matter most first.
        parts: rows of `EVIDENCE_PARTS` of the same associations.
        numbers: of `subject` and `attribute` the number of each.
    """
    templates, partners = part_means(parts, "template"), part_means(parts, "other")
    both = pl.col("score") + pl.col("other_score")
    rows_by_rank = rows_by_rank.with_columns(share=pl.when(both > 0).then(pl.col("score") / both))
    score_columns = ("unit_value", *SCORE_PAIR, "share")
    columns = ["unit", "role", "other", "template", *SHOWN_COLUMNS]
    plain_columns = [name for name in columns if name not in score_columns]
    question = itemgetter(*SHOWN_COLUMNS)
    evidence = []
    for rows in rows_by_rank.partition_by(ASSOCIATION, maintain_order=True):
        subject, attribute, reason = rows.select(*ASSOCIATION, "reason").row(0)
        groups = []
        for unit in rows.partition_by("unit", maintain_order=True):
            questions = page_rows(unit, plain_columns, score_columns)
            first = questions[0]
            group = {name: first[name] for name in ("role", "other", "template")}
            group |= {"c": first["unit_value"], "id": first["unit"]}
            groups.append({**group, "rows": [[*question(row)] for row in questions]})
        evidence.append(
            {
                "s": numbers["subject"][subject],
                "a": numbers["attribute"][attribute],
                "why": reason,
                "templates": templates.get((subject, attribute), []),
                "partners": partners.get((subject, attribute), []),
                "groups": groups,
            }
        )
    return evidence


def part_means(parts: pl.DataFrame, key: str) -> dict[tuple[str, str], list[list[Any]]]:
    """Returns the means of each association by template or by partner.

    Returns:
        Of each template or partner of an association: its name, the mean in ten thousandths, and n.
    """
    means: dict[tuple[str, str], list[list[Any]]] = {}
    for row in page_rows(parts.drop_nulls(key), [*ASSOCIATION, key, "n"], ("value",)):
        association = (row["subject"], row["attribute"])
        means.setdefault(association, []).append([row[key], row["value"], row["n"]])
    return means
