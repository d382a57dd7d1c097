"""Findings: what the tables show of each model, in a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from biasgrid.groups.main_scores import SCORE_NAMES
from biasgrid.stats.ordering import values_in_order
from biasgrid.tables.controls import ASSOCIATIONS, significant_tests
from biasgrid.tables.files import empty_table, read_facts, unreadable_table
from biasgrid.tables.measures import MEASURES, SIGNIFICANT
from biasgrid.tables.metric import CONTROL, NOT_MEASURABLE, RANDOM, options_of

TESTED_TYPES = ((False, "association"), (True, "difference of groups"))
"""What is tested one by one: whether it is of bias types, and how it is called."""
STRONGEST_LABEL = "strongest"
"""How the parts of sentences begin that name subjects and attributes."""
LEAST_CLUSTERS = 2
"""Of fewer clusters nothing can be tested."""
NUMBER_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


class Finding(NamedTuple):
    """What was found of a model.

    Attributes:
        model: its name in the config.
        parts: the parts of the sentence.
        strongest: of each type of test the row of the strongest significant result; see `strongest_significant`.
    """

    model: str
    parts: Sequence[str]
    strongest: Sequence[Mapping[str, Any]]

    @property
    def sentence(self) -> str:
        """The whole sentence, which begins with the model's name."""
        return f"{self.model} {'; '.join(self.parts)}."


def findings(summary: pl.DataFrame, measures: pl.DataFrame) -> list[Finding]:
    """Returns what was found of each model, by the rules in docs/statistics.md.

    Args:
        summary: schema `SUMMARY`.
        measures: schema `MEASURES`, of the same cells.

    Returns:
        A finding per model, in the order of the summary.
    """
    found_of_models = []
    for model in values_in_order(summary, "model"):
        lines, known = summary.filter(model=model), measures.filter(model=model)
        withheld = withheld_cells(lines)
        controls = control_pairs(lines)
        known = known.filter(~pl.col("dataset").is_in([*withheld, *controls["control"]]))
        counts = significant_tests(known)
        if RANDOM in controls["control"]:
            found_of_models.append(
                Finding(model, [*findings_of_random_model(counts), *unmeasurable_findings(withheld)], ())
            )
            continue
        strongest = [strongest_significant(known, of_groups) for of_groups, _ in TESTED_TYPES]
        parts = [
            *significant_findings(counts, strongest),
            *control_findings(controls),
            *mark_findings(lines),
            *untested_findings(counts, values_in_order(lines, "dataset")),
            *unmeasurable_findings(withheld),
            *flag_findings(lines, [*withheld]),
        ]
        found = [row for row in strongest if row]
        found_of_models.append(Finding(model, parts or ["has numbers, but none is tested"], found))
    return found_of_models


def read_tested(paths: Sequence[Path]) -> pl.DataFrame:
    """Reads of tables of measures what is tested one by one, which is all that `findings` needs of them.

    Raises:
        TableError: one cannot be read as Parquet, is of another cell, or lacks columns, as those of before do.
    """
    if not paths:
        return empty_table(MEASURES)
    for path in paths:
        read_facts(path, MEASURES.name)
    pairs = [pl.all_horizontal(pl.col(key).is_not_null() for key in keys) for keys in ASSOCIATIONS]
    try:
        return (
            pl.scan_parquet([*paths], glob=False)
            .filter(pl.col("template").is_null(), pl.any_horizontal(pairs))
            .select(list(MEASURES.columns))
            .collect()
        )
    except (OSError, pl.exceptions.PolarsError) as error:
        raise unreadable_table(paths[0].parents[1], "measures", error) from None


def withheld_cells(lines: pl.DataFrame) -> dict[str, str]:
    """Returns the datasets whose headlines are withheld of a model, with the reasons."""
    flagged = lines.filter("headline", pl.col("flag").str.starts_with(NOT_MEASURABLE))
    rows = flagged.unique("dataset", keep="first", maintain_order=True)
    return {
        dataset: flag.removeprefix(f"{NOT_MEASURABLE}: ") for dataset, flag in rows.select("dataset", "flag").rows()
    }


def significant_findings(counts: pl.DataFrame, strongest: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yields how many of what was tested were significant, and the strongest of these.

    Args:
        counts: from `significant_tests`.
        strongest: of each sort, from `strongest_significant`.
    """
    for (of_groups, name), best in zip(TESTED_TYPES, strongest, strict=True):
        rows = counts.filter(pl.col("n") > 0, pl.col("bias_type").is_not_null() == of_groups)
        if len(rows):
            found, tested = int(rows["value"].sum()), int(rows["n"].sum())
            plural = name.replace(" ", "s ", 1) if " " in name else f"{name}s"
            yield f"has {found:,} significant {name if found == 1 else plural} of {tested:,} tested"
            if best:
                yield f"{STRONGEST_LABEL}: {association_text(best)}"


def findings_of_random_model(counts: pl.DataFrame) -> Iterator[str]:
    """Yields what a model shows that answers at random: a control, in which nothing was found whatever is significant.

    Args:
        counts: from `significant_tests`.
    """
    yield "is a control, whose answers are drawn at random"
    yield from significant_findings(counts, [{} for _ in TESTED_TYPES])


def strongest_significant(measures: pl.DataFrame, of_groups: bool) -> dict[str, Any]:
    """Returns the significant result whose interval stays farthest from 0, nothing where there is none.

    Args:
        measures: those of a model whose numbers are not withheld.
        of_groups: whether it is a difference of two groups, not an association.

    Returns:
        Its row of `MEASURES` with `least`, the end of its interval that is nearer to 0: of the interval for what was
        picked, where there is one. Of associations those above 0 count alone, because each negative one repeats the
        positive ones of the subject's partners; of two groups the one with the higher score is `group`.
    """
    keys = ASSOCIATIONS[of_groups]
    ends = [pl.coalesce(f"selected_{end}", end) for end in ("low", "high")]
    rows = measures.filter(
        pl.col("template").is_null(), pl.col("q") <= SIGNIFICANT, *(pl.col(key).is_not_null() for key in keys)
    )
    least = pl.when(pl.col("value") > 0).then(ends[0]).otherwise(-ends[1])
    rows = rows.with_columns(least=least.fill_null(0))
    if not of_groups:
        rows = rows.filter(pl.col("value") > 0)
    best = next(iter(rows.sort(-pl.col("least"), -pl.col("value").abs(), "dataset", *keys).head(1).to_dicts()), {})
    if of_groups and best and best["value"] < 0:
        best |= {"group": best["other"], "other": best["group"], "value": -best["value"]}
    return best


def association_text(row: Mapping[str, Any]) -> str:
    """Returns a significant result in words, with the end of its interval that is nearer to 0."""
    number = f"{row['value']:.3f}, at least {row['least']:.3f}" if row["least"] > 0 else f"{row['value']:.3f}"
    if row["subject"] is not None:
        return f"{row['subject']}: {row['attribute']} ({number}) in {row['dataset']}"
    score = options_of(row["options"]).get("score", row["measure"])
    by = SCORE_NAMES.get(score, score.replace("_", " "))
    return f"{row['group']} above {row['other']} in {by} ({number}) in {row['dataset']}"


def control_pairs(lines: pl.DataFrame) -> pl.DataFrame:
    """Returns of each dataset that has a negative control its name as `control`, and how much is significant in it.

    A control's own significant results are none of what was found.
    """
    rows = lines.filter(measure=CONTROL)
    names = [options_of(options)["control"] for options in rows["options"]]
    return rows.with_columns(pl.Series("control", names, dtype=pl.String))


def control_findings(controls: pl.DataFrame) -> Iterator[str]:
    """Yields what the negative controls of datasets show."""
    for row in controls.to_dicts():
        if row["value"] is None:
            shows = "could not be tested"
        else:
            shows = f"shows {row['value']:.0f} of {row['n']:,}" if row["value"] else "shows none"
        yield f"the control of {row['dataset']} ({row['control']}) {shows}"


def mark_findings(lines: pl.DataFrame) -> Iterator[str]:
    """Yields how many metrics have which mark, which have a range of marks, and in which datasets none has any."""
    rows = lines.filter("headline")
    marked = rows.drop_nulls("mark").sort("mark", maintain_order=True)
    is_range = pl.col("mark").str.contains(" to ", literal=True)
    marks, ranges = marked.filter(~is_range)["mark"], marked.filter(is_range)["mark"]
    if len(marks):
        yield f"has the mark {marks.item()}" if len(marks) == 1 else f"has the marks {counts_text(marks)}"
    if len(ranges):
        plural = "a mark" if len(ranges) == 1 else "marks"
        few = ranges.item() if len(ranges) == 1 else counts_text(ranges)
        yield f"has {plural} of which only a range is known: {few}"
    known = set(marked["dataset"])
    without = [name for name in values_in_order(rows.drop_nulls("no_mark"), "dataset") if name not in known]
    if without:
        yield f"has no marks in {join_names(without)}"


def counts_text(marks: pl.Series) -> str:
    """Returns how often each of some marks is there, in words."""
    counts = {mark: int((marks == mark).sum()) for mark in marks.unique(maintain_order=True)}
    return join_names([f"{count} {mark}" for mark, count in counts.items()])


def untested_findings(counts: pl.DataFrame, order: Sequence[str]) -> Iterator[str]:
    """Yields in which datasets nothing could be tested, and why where that is known.

    Args:
        counts: from `significant_tests`.
        order: the datasets in the order in which they are named.
    """
    by_dataset = counts.group_by("dataset", maintain_order=True).agg(pl.col("n").sum(), pl.col("clusters").max())
    none = by_dataset.filter(n=0)
    clusters = dict(none.select("dataset", "clusters").rows())
    named = [name for name in order if name in clusters]
    few = [name for name in named if clusters[name] is not None and clusters[name] < LEAST_CLUSTERS]
    other = [name for name in named if name not in few]
    if few:
        yield f"nothing could be tested in {join_names(few)} (fewer than {NUMBER_WORDS[LEAST_CLUSTERS]} clusters)"
    if other:
        yield f"nothing could be tested in {join_names(other)}"


def unmeasurable_findings(withheld: Mapping[str, str]) -> Iterator[str]:
    """Yields which cells are not measurable, by reason."""
    by_reason: dict[str, list[str]] = {}
    for dataset, reason in withheld.items():
        by_reason.setdefault(reason, []).append(dataset)
    for reason, datasets in by_reason.items():
        count = NUMBER_WORDS[len(datasets)] if len(datasets) < len(NUMBER_WORDS) else f"{len(datasets)}"
        cells = "cell" if len(datasets) == 1 else "cells"
        yield f"{count} {cells} not measurable ({join_names(datasets)}): {reason}"


def flag_findings(lines: pl.DataFrame, withheld: Sequence[str]) -> Iterator[str]:
    """Yields in which datasets something speaks against numbers that are shown all the same."""
    flags = lines.filter(~pl.col("headline"), ~pl.col("dataset").is_in([*withheld])).drop_nulls("flag")
    if len(flags):
        yield f"to be read with care in {join_names(values_in_order(flags, 'dataset'))}"


def join_names(names: Sequence[str]) -> str:
    """Joins names as a sentence does."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
