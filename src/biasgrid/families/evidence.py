"""The sentences behind numbers: kept in tables, shown on the page, and explained.

A family says in its module `evidence` what its `SENTENCES` are; all else is here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from biasgrid.base.faults import InputError, unknown_names
from biasgrid.families.cell import MeasuredCell
from biasgrid.families.page import (
    Examples,
    PageColumns,
    differing_words,
    in_ten_thousandths,
    page_rows,
    table_layout,
    word_diff,
)
from biasgrid.tables.evidence import EVIDENCE, Evidence
from biasgrid.tables.measures import MEASURE_PART_KEYS

EXAMPLE_KEYS = ("subject", "bias_type", "attribute")
EXAMPLE_COLUMNS = ["measure", "options", *EXAMPLE_KEYS, "rank"]
UNIT_COLUMNS = ("term", "text", "text_pair", "expected", "said", "group")
ROUNDED = pl.col("unit_value").round(12)
"""Units are ranked by their values as far as no order of sums changes these."""
APART = {"text": "asked_apart", "text_pair": "system_apart", "said": "said_apart"}
"""What `explain` calls the words of a text that that of the partner lacks."""


class UnitView(NamedTuple):
    """How the page shows a unit.

    Attributes:
        what: the meaning of a unit's value, in words.
        columns: columns of each instance; without these, group, term, texts and scores.
        scores: without `columns`, the titles of both scores.
        compared: texts that are marked where the instances of a unit, two by two, differ.
        option: the option of `explain` for units, if it explains these in place of numbers.
    """

    what: str = ""
    columns: PageColumns | None = None
    scores: tuple[str, str] | None = None
    compared: Sequence[str] = ()
    option: str = ""


PLAIN_VIEW = UnitView()


def no_options(measure_options: Mapping[str, Any]) -> str:
    """Returns the options of a measure that has none, whatever those of the cell are."""
    return ""


@dataclass(frozen=True)
class Sentences:
    """What a family tells of the sentences behind its numbers.

    Attributes:
        rows: returns the instances of all units (cases, pairs of statements, items or prompts),
            units with the largest value first: columns of `EVIDENCE`, `unit`, `unit_value` and
            `instance` among them. Where a number is explained, it is given what names it; else it
            returns what may stand in the table, of all numbers, and their `measure` and `options`.
            A column `partner` is the instance with whose texts `view.compared` are compared.
        explained: the keys that name a number for `biasgrid explain`.
        measure: the measure whose numbers have evidence and are explained; or, if the key
            `measure` is one of `explained`, a function that returns the measures that can be
            explained, by the cell's options.
        concerns: returns the condition of the instances that a number is made of, by what names
            it. Columns of categories are texts there.
        measure_options: returns the options of the measure, by the cell's options; none by default.
        about: by the keys of the numbers that have evidence, the columns of rows that hold them.
        strongest: so many of the strongest units of a number are kept.
        unit_keys: the columns that tell units of a number apart.
        rows_kept: so many rows of a unit are kept at most.
        asked: by columns of `EVIDENCE`, the columns of instances whose texts they are; none where
            rows have them.
        said: the column of predictions that says what was said; rows have what was said where it
            says nothing.
        view: how the page shows a unit.
    """

    rows: Callable[[MeasuredCell, Mapping[str, str] | None], pl.DataFrame]
    explained: tuple[str, ...]
    measure: str | Callable[[Mapping[str, Any]], Collection[str]]
    concerns: Callable[[Mapping[str, str]], pl.Expr]
    measure_options: Callable[[Mapping[str, Any]], str] = no_options
    about: Mapping[str, str] = field(default_factory=dict)
    strongest: int = 3
    unit_keys: Sequence[str] = ("unit",)
    rows_kept: int | None = None
    asked: Mapping[str, str] = field(default_factory=dict)
    said: str = ""
    view: UnitView = PLAIN_VIEW

    def explained_measure(
        self, about: Mapping[str, str], measure_options: Mapping[str, Any], dataset: str
    ) -> str:
        """Returns the measure of the number that is explained.

        Args:
            about: the values of `explained`.
            measure_options: the options of the cell.
            dataset: the dataset, for messages.

        Raises:
            InputError: it is a measure that cannot be explained.
        """
        if isinstance(self.measure, str):
            return self.measure
        name = about["measure"]
        faults = list(unknown_names(dataset, "--measure", [name], self.measure(measure_options)))
        if faults:
            raise InputError(faults)
        return name

    def table(self, cell: MeasuredCell) -> Evidence:
        """Finds the sentences of a cell: of each number the units that `with_roles` picks."""
        rows = self.rows(cell, None)
        if rows.is_empty():
            return Evidence(pl.DataFrame())
        names = ["measure", "options", *self.about.values()]
        rows = rows.drop_nulls(["unit", "unit_value"]).with_columns(ROUNDED)
        numbers = rows.select(names).unique(maintain_order=True).with_row_index("number")
        rows = rows.join(numbers, on=names, maintain_order="left")
        unit = ["number", *self.unit_keys]
        units = rows.select(*unit, "unit_value").unique()
        chosen = with_roles(units, ["number"], self.strongest, self.unit_keys)
        chosen = chosen.with_row_index("place").drop("unit_value")
        kept = rows.join(chosen, on=unit, maintain_order="left")
        values = ranked_numbers(cell.measures, self.about).rename(self.about)
        # A column of the rows, such as the bias type, is about the row, not about the number.
        columns = [name for name in values.columns if name in names or name not in rows.columns]
        kept = kept.join(values.select(columns), on=names, maintain_order="left")
        kept = kept.sort("rank", "place", maintain_order=True)
        if self.rows_kept is not None:
            kept = kept.group_by("place", maintain_order=True).head(self.rows_kept)
        table = self.with_texts(kept, cell).with_columns(reason=pl.lit("all"))
        return Evidence(table.select(name for name in EVIDENCE.columns if name in table.columns))

    def explain(self, cell: MeasuredCell, about: Mapping[str, str]) -> pl.DataFrame:
        """Returns all instances behind a number, unit by unit.

        These are columns of `EVIDENCE`, and those of `APART`.

        Args:
            cell: the cell.
            about: the values of `explained`, which name the number.
        """
        rows = self.rows(cell, about)
        key_values = {
            name: pl.lit(about[name]) for name in self.explained if name not in rows.columns
        }
        table = self.with_texts(rows.with_columns(ROUNDED, **key_values), cell)
        compared_texts = self.view.compared if "partner" in table.columns else ()
        if compared_texts:
            texts = {APART[name]: name for name in compared_texts}
            partners = table.select(partner="instance", **texts).unique("partner")
            table = table.join(partners, on="partner", how="left", maintain_order="left")
        columns = [name for name in EVIDENCE.columns if name in table.columns]
        lacking_words = [words_apart(name, APART[name]) for name in compared_texts]
        return table.select(*columns, *lacking_words)

    def instances(self, path: Path, about: Mapping[str, str]) -> pl.DataFrame:
        """Reads the instances that a number is made of.

        Args:
            path: the instances of the cell.
            about: the values of `explained`, which name the number.
        """
        instances = pl.scan_parquet(path, glob=False)
        # The table keeps its categories; only the condition sees them as texts.
        as_texts = instances.with_columns(pl.col(pl.Categorical).cast(pl.String))
        numbers = as_texts.filter(self.concerns(about)).select("instance").collect()
        is_wanted = pl.col("instance").is_in(numbers["instance"].implode())
        return instances.filter(is_wanted).collect()

    def with_texts(self, rows: pl.DataFrame, cell: MeasuredCell) -> pl.DataFrame:
        """Adds the texts of questions and answers to rows of instances; nothing else is read."""
        # A filter reads the file bit by bit; a join would hold the texts of all instances.
        is_wanted = pl.col("instance").is_in(rows["instance"].unique().implode())
        if self.asked:
            columns = {name: pl.col(column).cast(pl.String) for name, column in self.asked.items()}
            texts = cell.instances.filter(is_wanted).select("instance", **columns).collect()
            rows = rows.join(texts, on="instance", maintain_order="left")
        if self.said in cell.predictions.collect_schema():
            response = pl.col(self.said).cast(pl.String)
            predictions = cell.predictions.filter(is_wanted)
            answers = predictions.select("instance", response=response).collect()
            rows = rows.join(answers, on="instance", how="left", maintain_order="left")
            # Rows may have a label for answers without words.
            own = ["said"] if "said" in rows.columns else []
            rows = rows.with_columns(said=pl.coalesce("response", *own)).drop("response")
        return rows


def ranked_numbers(measures: pl.DataFrame, keys: Collection[str]) -> pl.DataFrame:
    """Returns the numbers that are about just some keys.

    Returns:
        `measure`, `options`, `bias_type`, the keys, `value` and `rank`, the place of the number
        among those of its measure, the largest value first.
    """
    is_about = [pl.col(key).is_not_null() for key in keys]
    # The bias type of a metric or a pair of groups is that of its dataset.
    for key in MEASURE_PART_KEYS:
        if key in measures.columns and key not in keys:
            is_about.append(pl.col(key).is_null())
    names = ["bias_type", *(key for key in keys if key != "bias_type")]
    largest_first = -pl.col("value")
    rows = measures.filter(*is_about)
    ordered = rows.sort(largest_first, *names, nulls_last=True, maintain_order=True)
    rank = pl.int_range(pl.len()).over("measure", "options")
    return ordered.select("measure", "options", *names, "value", rank=rank)


def with_roles(
    units: pl.DataFrame, about: Sequence[str], strongest: int = 1, order: Sequence[str] = ("unit",)
) -> pl.DataFrame:
    """Picks the strongest units of each number, a typical one, and the most contrary one.

    Args:
        units: `unit_value`, the columns of `about` and of `order`.
        about: the columns that identify a number.
        strongest: how many of the strongest are picked at most.
        order: the columns that order units of one value.

    Returns:
        The units that were picked with `role`, the largest first: the last one of each number is
        `contrary`, the one in the middle `typical` (of an even number the larger one of the
        middle), and the first ones are `strongest`. Of two units none is typical, and one alone is
        the strongest.
    """
    ordered = units.sort(*about, -pl.col("unit_value"), *order, maintain_order=True)
    place, count = pl.int_range(pl.len()).over(about), pl.len().over(about)
    middle = (count - 1) // 2
    is_strongest = (place == 0) | (place < pl.min_horizontal(middle, strongest))
    # The order matters: of two units the second one is in the middle and the last.
    role = (
        pl.when(is_strongest)
        .then(pl.lit("strongest"))
        .when(place == count - 1)
        .then(pl.lit("contrary"))
        .when(place == middle)
        .then(pl.lit("typical"))
    )
    return ordered.with_columns(role=role).drop_nulls("role")


def words_apart(name: str, partner_column: str) -> pl.Expr:
    """Returns the words of a text that its partner's, in the column `partner_column`, lacks."""

    def lacking_words(row: Mapping[str, str | None]) -> str | None:
        return differing_words(row[name], row[partner_column])

    texts = pl.struct(name, partner_column)
    return texts.map_elements(lacking_words, return_dtype=pl.String).alias(partner_column)


def example_payloads(
    examples: pl.DataFrame, explained: Sequence[str] = (), view: UnitView = PLAIN_VIEW
) -> Examples:
    """Returns the examples of a cell for its page, the most important ones first.

    Args:
        examples: schema `EVIDENCE`, of one cell.
        explained: what names each number for `biasgrid explain`: columns of `EVIDENCE`; none where
            it explains none.
        view: how a unit is shown.

    Returns:
        Dictionaries with `measure`, `options`, `value`, `reason`, `about` (what the number is
        about, in words), `explain` (the options of `biasgrid explain` and what they are given) and
        `units`.
    """
    ordered = examples.sort("rank", maintain_order=True)
    parts = ordered.partition_by(EXAMPLE_COLUMNS, maintain_order=True)

    def make(start: int, stop: int) -> list[dict[str, Any]]:
        return [example_payload(part, explained, view) for part in parts[start:stop]]

    return Examples(len(parts), make)


def example_payload(rows: pl.DataFrame, explained: Sequence[str], view: UnitView) -> dict[str, Any]:
    """Returns an example as the page shows it, from the rows of its units.

    See `example_payloads`.
    """
    first = rows.row(0, named=True)
    units = rows.partition_by("unit", maintain_order=True)
    about = [first[key] for key in EXAMPLE_KEYS if first[key] is not None]
    about += units[0]["group"].drop_nulls().unique(maintain_order=True).to_list()
    explain = [] if view.option else [(name, first[name]) for name in explained]
    return {
        "measure": first["measure"],
        "options": first["options"],
        "value": in_ten_thousandths(rows["value"].head(1))[0],
        "reason": first["reason"],
        "about": about,
        "explain": explain,
        "units": [unit_payload(unit, explained, view) for unit in units],
    }


def unit_payload(rows: pl.DataFrame, explained: Sequence[str], view: UnitView) -> dict[str, Any]:
    """Returns a unit as the page shows it.

    Returns:
        `value`, `role`, `template` and `other` (of a swap group the other subject), and what the
        view says: `columns` and `rows` as `table_layout` makes them, or `rows` with texts and
        scores, those of the group with the highest mean first. Of a text that is compared there are
        its parts, see `word_diff`.
    """
    first = rows.row(0, named=True)
    payload = {
        "value": in_ten_thousandths(rows["unit_value"].head(1))[0],
        "role": first["role"],
        "template": first["template"],
        "other": first["other"] if first["subject"] is not None else None,
    }
    rows = rows.with_columns(marked_parts(rows[name]) for name in view.compared)
    if view.columns:
        payload |= table_layout(rows, view.columns)
    else:
        payload["rows"] = texts_and_scores(rows)
    if view.option:
        names = [(name, first[name]) for name in (*explained, "other")]
        payload["explain"] = [*names, (view.option, first["unit"])]
    if view.scores:
        payload["scores"] = view.scores
    if view.what:
        payload["what"] = view.what
    return payload


def texts_and_scores(rows: pl.DataFrame) -> list[dict[str, Any]]:
    """Returns texts and scores of each instance, those of the group with the highest mean first."""
    means = rows.group_by("group").agg(mean=pl.col("score").mean())
    ordered = rows.join(means, on="group", how="left", nulls_equal=True, maintain_order="left")
    ordered = ordered.sort("mean", descending=True, nulls_last=True, maintain_order=True)
    return page_rows(ordered, UNIT_COLUMNS, ("score", "other_score"))


def marked_parts(texts: pl.Series) -> pl.Series:
    """Splits texts, two by two, into the parts that both share and the parts that differ.

    A text without a partner is one part; null stays null.
    """
    parts = [None if text is None else [text] for text in texts]
    for place in range(0, len(texts) - 1, 2):
        one, other = texts[place], texts[place + 1]
        if one is not None and other is not None:
            parts[place], parts[place + 1] = word_diff(one, other), word_diff(other, one)
    return pl.Series(texts.name, parts, dtype=pl.List(pl.String))
