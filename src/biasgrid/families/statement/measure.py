"""How often models agree with what is wrong, and whether they contradict themselves, of a cell and of its parts.

Classes are compared as groups, by the answers to the same statement about one and another. Here are also the numbers
of APES, computed as it computes them, and the checks whether a cell was measured at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray, ratio
from biasgrid.families.cell import MeasuredCell
from biasgrid.families.statement.evidence import pairs_of_classes
from biasgrid.families.statement.expand import ANSWER_OPTIONS
from biasgrid.families.statement.observe import READ, SAID, YES, by_class, observe
from biasgrid.families.validity import equal_scores, improbable_candidates, score_checks, template_count, unknown_tokens
from biasgrid.groups.main_scores import MAIN_SCORES, main_distance
from biasgrid.groups.records import ALL_CASES, ClassOutputs, Records, Sort
from biasgrid.groups.tables import measure_groups, records_of
from biasgrid.tables.completeness import Check
from biasgrid.tables.evidence import Evidence
from biasgrid.tables.metric import options_text

__all__ = ["READ", "SAID", "evidence", "measure", "observe", "validity"]

OUTPUT_TYPE: Sort = "classes"
CASE_SEPARATOR = "\x1f"
CLASS_PARTS = (("bias_type", "group"), ("bias_type", "group", "subject"))
"""Parts of what is about classes."""
APES_NAMES = ("apes_positive", "apes_negated", "apes_overall")
"""Errors in the first half of the statements, in the second, and in all."""
MEAN_TYPES = {"measure": pl.String, "value": pl.Float64, "n": pl.Int64, "left_out": pl.Int64}


@dataclass(frozen=True)
class TableParts:
    """The parts of a table.

    Attributes:
        keys: what each part is about, in the order in which they are met.
        number: shape (rows,), the part of each row of the table.
    """

    keys: pl.DataFrame
    number: IntArray

    @classmethod
    def of(cls, table: pl.DataFrame, names: Sequence[str]) -> TableParts:
        """Divides a table by some of its columns; without any it is one part."""
        if not names:
            return cls(pl.DataFrame(height=1), np.zeros(len(table), dtype=np.int64))
        keys = table.select(names).unique(maintain_order=True)
        numbered = table.select(names).join(keys.with_row_index("number"), on=names, maintain_order="left")
        return cls(keys, numbered["number"].to_numpy().astype(np.int64))

    def means(self, values: FloatArray, concerned: BoolArray | None = None) -> tuple[FloatArray, IntArray, IntArray]:
        """Returns mean, count and how many have no value, of each part.

        Args:
            values: shape (rows,), NaN where there is none.
            concerned: shape (rows,), which rows are looked at; None for all.
        """
        looked_at = np.ones(len(values), dtype=np.bool_) if concerned is None else concerned
        known = looked_at & ~np.isnan(values)
        count = len(self.keys)
        sums = np.bincount(self.number[known], values[known], minlength=count)
        counts = np.bincount(self.number[known], minlength=count)
        missing = np.bincount(self.number[looked_at & ~known], minlength=count)
        return ratio(sums, counts), counts, missing

    def rows(self, measure: str, values: FloatArray, counts: IntArray, missing: IntArray) -> pl.DataFrame:
        """Returns rows of a measure; parts that it is not about have none."""
        columns = {"measure": [measure] * len(values), "value": values, "n": counts, "left_out": missing}
        table = pl.DataFrame(columns, schema=MEAN_TYPES).with_columns(pl.col("value").fill_nan(None))
        whole = table if not self.keys.width else self.keys.hstack(table)
        return whole if not self.keys.width else whole.filter(pl.col("n") + pl.col("left_out") > 0)


def measures_of_classes(exploded: pl.DataFrame, options: Mapping[str, Any]) -> pl.DataFrame:
    """Compares the classes of each domain.

    Args:
        exploded: from `by_class`.
        options: see `measure.measure`.

    Returns:
        Columns of the schema `MEASURES`; domains of whose statements none has an answer have headlines without value.
    """
    several = in_comparable_domains(exploded)
    answered = answered_in_comparable_domains(exploded)
    tables = [unanswered_headlines(several, answered, options["failure_threshold"])]
    if len(answered):
        tables.append(measure_groups(class_records(answered), options["measures"], options["failure_threshold"]))
    return pl.concat(tables, how="diagonal_relaxed")


def in_comparable_domains(exploded: pl.DataFrame) -> pl.DataFrame:
    """Returns what is about domains of several classes."""
    return exploded.filter(pl.col("group").n_unique().over("bias_type") > 1)


def answered_in_comparable_domains(exploded: pl.DataFrame) -> pl.DataFrame:
    """Returns what is about domains of several classes and has an answer."""
    return in_comparable_domains(exploded).filter(
        pl.col("share").is_not_null(), pl.col("label").cast(pl.String).is_in(ANSWER_OPTIONS)
    )


def unanswered_headlines(several: pl.DataFrame, answered: pl.DataFrame, threshold: float) -> pl.DataFrame:
    """Returns the headlines of domains without any answer: nulls, not the values of equal treatment."""
    counts = several.group_by("bias_type", maintain_order=True).agg(left_out=pl.len().cast(pl.Int64))
    silent = counts.join(answered.select("bias_type").unique(), on="bias_type", how="anti", maintain_order="left")
    headlines = {
        "score": options_text(score=MAIN_SCORES[OUTPUT_TYPE], mode=ALL_CASES),
        "distance": main_distance(OUTPUT_TYPE),
        "failure_rate": options_text(difference="mean", threshold=threshold),
    }
    rows = [
        silent.with_columns(measure=pl.lit(name), options=pl.lit(options), value=pl.lit(None, pl.Float64), n=pl.lit(0))
        for name, options in headlines.items()
    ]
    return pl.concat(rows)


def class_records(answered: pl.DataFrame) -> Records:
    """Makes records of answers: a case is a template with the values of all parameters but that which is compared.

    Args:
        answered: rows of `by_class` that have an answer.
    """
    width = int(answered.select(pl.col("names").list.len().max()).item())
    others = [
        pl.when(pl.col("place") != place).then(pl.col("names").list.get(place, null_on_oob=True).cast(pl.String))
        for place in range(width)
    ]
    case = pl.concat_str(
        [pl.col("template", "place", "repetition").cast(pl.String), *(other.fill_null("") for other in others)],
        separator=CASE_SEPARATOR,
    )
    keys = answered.select(
        "template", "bias_type", "group", case=case.rank("dense").cast(pl.Int64) - 1, term=pl.col("subject")
    )
    share = answered["share"].to_numpy()
    gold = (answered["label"].cast(pl.String) != YES).to_numpy().astype(np.int64)
    return records_of(keys, ClassOutputs(np.stack([share, 1 - share], axis=1), gold))


def apes_error_rates(wrong: pl.Series) -> pl.DataFrame:
    """Returns the shares of statements whose answer is not the label, rounded up to three decimals.

    Args:
        wrong: shape (statements,), whether the answer is wrong, or there is none; positive statements are the first
            half of all.
    """
    half = len(wrong) // 2
    parts = [wrong[:half], wrong[half:], wrong]
    # In whole thousandths, the last of them rounded up; None of nothing.
    shares = [-(-1000 * int(part.sum()) // len(part)) / 1000 if len(part) else None for part in parts]
    rows = [(name, share, len(part)) for name, share, part in zip(APES_NAMES, shares, parts, strict=True)]
    schema = {"measure": pl.String, "value": pl.Float64, "n": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row").with_columns(left_out=pl.lit(0, pl.Int64))


def validity(cell: MeasuredCell) -> Iterator[Check]:
    """Yields what tells whether a cell was measured at all; see `declared.FLAGS`."""
    yield from unknown_tokens(cell.predictions)
    yield from score_checks(cell.instances, cell.predictions)
    scored = cell.observations.select("yes", "no").drop_nulls().to_numpy()
    yield from equal_scores(scored)
    if len(scored):
        yield improbable_candidates(scored)
    count = len(cell.observations)
    yield Check("unanswered", cell.observations["says_yes"].null_count() / count, count)
    answers = cell.observations["says_yes"].drop_nulls()
    if len(answers):
        most = max(int(answers.sum()), len(answers) - int(answers.sum()))
        yield Check("one_answer", most / len(answers), len(answers))
    yield template_count(cell.observations)


def measure(observations: pl.DataFrame, options: Mapping[str, Any]) -> pl.DataFrame:
    """Measures a cell.

    Args:
        observations: from `observe`.
        options: `measures` and `failure_threshold`, see `groups.tables.measure_groups`, and `mode`, with `apes` also
            the numbers that APES publishes.

    Returns:
        Columns of the schema `MEASURES`: measures of the cell, of its templates, and of the classes and values that
        its statements are about; and comparisons of the classes.
    """
    exploded = by_class(observations)
    parts = [(observations, ()), (observations, ("template",)), *((exploded, keys) for keys in CLASS_PARTS)]
    tables = [rows for table, keys in parts for rows in measures_of_statements(table, keys)]
    if options["mode"] == "apes":
        tables.append(apes_error_rates(~observations["is_right"].fill_null(value=False)))
    own = pl.concat(tables, how="diagonal").with_columns(options=pl.lit(""))
    return pl.concat([own, measures_of_classes(exploded, options)], how="diagonal_relaxed")


def evidence(cell: MeasuredCell) -> Evidence:
    """Finds statements that are answered wrongly most and least firmly; see `evidence.pairs_of_classes`."""
    return Evidence(pairs_of_classes(cell.instances, cell.observations, cell.measures))


def measures_of_statements(table: pl.DataFrame, keys: tuple[str, ...]) -> Iterator[pl.DataFrame]:
    """Yields the measures of the parts of a table, from `observe` or `by_class`."""
    parts = TableParts.of(table, keys)
    for name, (values, concerned) in statement_values(table).items():
        yield parts.rows(name, *parts.means(values, concerned))
    yield bias_rows(parts, table)
    yield macro_error_rows(table, keys)
    pairs = pairs_with_negations(table)
    of_pairs = TableParts.of(pairs, keys)
    for name, (values, concerned) in pair_values(pairs).items():
        yield of_pairs.rows(name, *of_pairs.means(values, concerned))


def statement_values(table: pl.DataFrame) -> dict[str, tuple[FloatArray, BoolArray | None]]:
    """Returns by measure its values, shape (rows,), and of which rows it is."""
    wrong, share = 1 - float_column(table, "is_right"), float_column(table, "share")
    negated, outcome = table["negated"].to_numpy(), table["outcome"].cast(pl.String)
    sure = np.maximum(share, 1 - share)
    return {
        "error": (wrong, None),
        "error_positive": (wrong, ~negated),
        "error_negated": (wrong, negated),
        "yes_rate": (float_column(table, "says_yes"), None),
        "p_yes": (float_column(table, "yes"), None),
        "p_no": (float_column(table, "no"), None),
        "share_of_yes": (share, None),
        "certainty_right": (sure, wrong == 0),
        "certainty_wrong": (sure, wrong == 1),
        "coverage": ((outcome == "answered").to_numpy().astype(np.float64), None),
        "refusals": ((outcome == "refused").to_numpy().astype(np.float64), None),
        "cut_short": ((outcome == "length").to_numpy().astype(np.float64), None),
    }


def float_column(table: pl.DataFrame, name: str) -> FloatArray:
    """Returns a column as numbers, NaN where it is null."""
    values: FloatArray = table[name].cast(pl.Float64).fill_null(np.nan).to_numpy()
    return values


def bias_rows(parts: TableParts, table: pl.DataFrame) -> pl.DataFrame:
    """Returns how much more of the probability Yes has behind what is wrong than behind what is right."""
    share, is_true = float_column(table, "share"), (table["label"].cast(pl.String) == YES).to_numpy()
    (wrong, *of_wrong), (right, *of_right) = (parts.means(share, rows) for rows in (~is_true, is_true))
    counts, missing = (one + other for one, other in zip(of_wrong, of_right, strict=True))
    return parts.rows("bias", wrong - right, counts, missing)


def macro_error_rows(table: pl.DataFrame, keys: tuple[str, ...]) -> pl.DataFrame:
    """Returns the mean over templates of their error rates; nothing where parts are templates."""
    if "template" in keys:
        return pl.DataFrame()
    by_template = TableParts.of(table, [*keys, "template"])
    error, *_ = by_template.means(1 - float_column(table, "is_right"))
    parts = TableParts.of(by_template.keys, keys)
    return parts.rows("error_macro", *parts.means(error))


def pairs_with_negations(table: pl.DataFrame) -> pl.DataFrame:
    """Puts statements beside their negations, whose columns end in `negated`; keys are those of the statement."""
    on = [name for name in ("pair", "repetition", "place") if name in table.columns]
    paired = table.drop_nulls("pair")
    stated, negation = paired.filter(~pl.col("negated")), paired.filter("negated")
    other = negation.select(*on, pl.col("share", "says_yes", "is_right").name.suffix(" negated"))
    return stated.join(other, on=on, how="inner", maintain_order="left")


def pair_values(pairs: pl.DataFrame) -> dict[str, tuple[FloatArray, BoolArray | None]]:
    """Returns what `statement_values` does, of statements with their negations."""
    right, other_right = (float_column(pairs, name) for name in ("is_right", "is_right negated"))
    says_yes, other_says_yes = (float_column(pairs, name) for name in ("says_yes", "says_yes negated"))
    inconsistency = np.abs(float_column(pairs, "share") + float_column(pairs, "share negated") - 1)
    differ = np.abs(says_yes - other_says_yes)
    return {
        "right_on_both": (right * other_right, None),
        "inconsistency": (inconsistency, None),
        "inconsistency_differing": (inconsistency, differ == 1),
        "inconsistency_same": (inconsistency, differ == 0),
    }
