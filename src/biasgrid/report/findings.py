"""Findings: what the tables show of each model, in a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf, isfinite
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from biasgrid.groups.main_scores import SCORE_NAMES
from biasgrid.report.overall import Overall, overall_of, withheld_cells
from biasgrid.stats.estimate import FEWEST_TESTED
from biasgrid.stats.ordering import values_in_order
from biasgrid.tables.claims.counts import (
    ASSOCIATIONS,
    GROUPS,
    counted_tests,
    is_untestable,
    significant_tests,
    single_tests,
    tested_key,
)
from biasgrid.tables.claims.facts import NO_FACTS, GridFacts
from biasgrid.tables.claims.numbers import format_number, format_p
from biasgrid.tables.files import empty_table, read_facts, unreadable_table
from biasgrid.tables.measures import MEASURES, SIGNIFICANT
from biasgrid.tables.metric import (
    CONTROL,
    CONTROL_DIFFERENCE,
    IMPROBABLE,
    PRONOUN_ASSOCIATION,
    RANDOM,
    options_of,
)

TESTED_TYPES = ((False, "association"), (True, "difference of groups"))
"""What is tested one by one: whether it is of bias types, and how it is called."""
LARGEST_LABEL = "largest"
"""How the parts of sentences begin that name subjects and attributes."""
NUMBER_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
NO_CONTROL = "was measured, so the wording alone may explain the result"


class Finding(NamedTuple):
    """What was found of a model.

    Attributes:
        model: its name in the config.
        parts: the parts of the sentence.
        largest: of each type of test the row of the largest significant result; see `largest_significant`.
        overall: what is claimed of it as a whole, None where nothing was tested.
        tests: what was tested one by one, rows from `counted_tests`.
        withheld: the datasets whose headlines are withheld, with the reasons.
        controls: the datasets that are controls, from `control_pairs`.
    """

    model: str
    parts: Sequence[str]
    largest: Sequence[Mapping[str, Any]]
    overall: Overall | None
    tests: pl.DataFrame
    withheld: Mapping[str, str]
    controls: pl.DataFrame

    @property
    def claims(self) -> pl.DataFrame:
        """Its tests that are counted as found, where they are significant: neither withheld nor of controls."""
        return self.tests.filter(~pl.col("dataset").is_in([*self.withheld, *self.controls["control"]]))

    @property
    def sentence(self) -> str:
        """The whole sentence, which begins with the model's name."""
        return f"{self.model}: {'; '.join(self.parts)}."


def findings(summary: pl.DataFrame, measures: pl.DataFrame, facts: GridFacts = NO_FACTS) -> list[Finding]:
    """Returns what was found of each model, by the rules in docs/statistics.md.

    Args:
        summary: schema `SUMMARY`.
        measures: schema `MEASURES`, of the same cells.
        facts: which measures are counted, and what size would have been found.

    Returns:
        A finding per model, in the order of the summary.
    """
    flags = summary.filter(~pl.col("headline"))
    tests = counted_tests(measures, facts.counted, flags)
    pronouns = single_tests(measures.filter(measure=PRONOUN_ASSOCIATION))
    return [
        finding_of_model(
            model, summary.filter(model=model), tests.filter(model=model), pronouns.filter(model=model), facts
        )
        for model in values_in_order(summary, "model")
    ]


def finding_of_model(
    model: str, lines: pl.DataFrame, tests: pl.DataFrame, pronouns: pl.DataFrame, facts: GridFacts
) -> Finding:
    """Returns what was found of a model.

    Args:
        model: its name.
        lines: its rows of the summary.
        tests: its rows from `counted_tests`.
        pronouns: its tests of pronouns.
        facts: see `findings`.
    """
    withheld = withheld_cells(lines)
    controls = control_pairs(lines)
    known = tests.filter(~pl.col("dataset").is_in([*withheld, *controls["control"]]))
    counts = significant_tests(known)
    if RANDOM in controls["control"]:
        parts = ["a control, whose answers are drawn at random", *count_findings(counts, known)]
        return Finding(model, [*parts, *unmeasurable_findings(withheld)], (), None, tests, withheld, controls)
    largest = [largest_significant(known, of_groups) for of_groups, _ in TESTED_TYPES]
    overall = overall_of(lines.filter(~pl.col("dataset").is_in([*withheld, *controls["control"]])), known, facts)
    parts = [
        *overall_findings(overall),
        *significant_findings(model, counts, known, largest, facts),
        *control_findings(controls, size_findings(lines), values_in_order(counts.filter(pl.col("n") > 0), "dataset")),
        *mark_findings(lines),
        *untested_findings(counts, values_in_order(lines, "dataset")),
        *unmeasurable_findings(withheld),
        *pronoun_findings(lines, withheld, pronouns),
        *flag_findings(lines, [*withheld]),
    ]
    parts = parts or ["has numbers, but none is tested"]
    return Finding(model, parts, [row for row in largest if row], overall, tests, withheld, controls)


def read_tested(paths: Sequence[Path]) -> pl.DataFrame:
    """Reads of tables of measures what is tested one by one, which is all that `findings` needs of them.

    Raises:
        TableError: one cannot be read as Parquet, is of another cell, or lacks columns.
    """
    if not paths:
        return empty_table(MEASURES)
    for path in paths:
        read_facts(path, MEASURES.name)
    pairs = [pl.all_horizontal(pl.col(key).is_not_null() for key in keys) for keys in (*ASSOCIATIONS, GROUPS)]
    try:
        return (
            pl.scan_parquet([*paths], glob=False)
            .filter(pl.col("template").is_null(), pl.any_horizontal(pairs))
            .select(list(MEASURES.columns))
            .collect()
        )
    except (OSError, pl.exceptions.PolarsError) as error:
        raise unreadable_table(paths[0].parents[1], "measures", error) from None


def overall_findings(overall: Overall | None) -> Iterator[str]:
    """Yields whether a model as a whole shows more than noise."""
    if overall:
        over = f" over {overall.datasets} datasets" if overall.datasets > 1 else ""
        yield f"{overall.claim} overall (p {format_p(overall.p)}{over})"


def significant_findings(
    model: str, counts: pl.DataFrame, tests: pl.DataFrame, largest: Sequence[Mapping[str, Any]], facts: GridFacts
) -> Iterator[str]:
    """Yields how many tests are significant, the largest result, and what would have been detected elsewhere.

    Args:
        model: the model's name.
        counts: from `significant_tests`.
        tests: from `counted_tests`.
        largest: of each type of test, from `largest_significant`.
        facts: see `findings`.
    """
    for (of_groups, name), best in zip(TESTED_TYPES, largest, strict=True):
        of_type = pl.col("bias_type").is_not_null() == of_groups
        yield from count_findings(counts.filter(of_type), tests.filter(of_type))
        if best:
            yield f"{LARGEST_LABEL}: {association_text(best)}"
        tested = counts.filter(of_type, pl.col("n") > 0)
        none = tested.group_by("dataset", maintain_order=True).agg(pl.col("value").sum())
        datasets = values_in_order(none.filter(value=0), "dataset")
        sizes = {dataset: detectable(model, dataset, tests.filter(of_type), facts) for dataset in datasets}
        yield from power_findings(name, sizes, len(none))


def count_findings(counts: pl.DataFrame, tests: pl.DataFrame) -> Iterator[str]:
    """Yields how many tests are significant, and how much could not be tested; see `significant_findings`."""
    for of_groups, name in TESTED_TYPES:
        of_type = pl.col("bias_type").is_not_null() == of_groups
        rows = counts.filter(of_type)
        found, tested = int(rows["value"].sum()), int(rows["n"].sum())
        if tested:
            are = "is" if found < 2 else "are"
            count = f"{found:,}" if found else "none"
            yield f"{count} of {tested:,} tested {plural(name)} {are} significant"
        # Where clusters are too few for any test, the datasets are named.
        nothing = [name for name, clusters in untested_datasets(rows).items() if clusters < FEWEST_TESTED]
        untestable = tests.filter(of_type, is_untestable(), ~pl.col("dataset").is_in(nothing))
        if len(untestable):
            yield untestable_text(untestable, name)


def plural(name: str) -> str:
    """Returns the plural of a type of test."""
    return name.replace(" ", "s ", 1) if " " in name else f"{name}s"


def untestable_text(rows: pl.DataFrame, name: str) -> str:
    """Returns how much could not be tested, its largest value, and of how many clusters it is.

    Args:
        rows: what could not be tested.
        name: the type of test.
    """
    size, clusters = rows["value"].abs().max(), rows["clusters"].unique().drop_nulls().sort().to_list()
    of = "" if size is None else f" of {'up to ' if len(rows) > 1 else ''}{format_number(float(str(size)))}"
    over = f" ({' or '.join(map(str, clusters))} clusters)" if clusters else ""
    return f"{len(rows):,} {name if len(rows) == 1 else plural(name)}{of} could not be tested{over}"


def detectable(model: str, dataset: str, tests: pl.DataFrame, facts: GridFacts) -> float | None:
    """Returns which size of the numbers that are tested in a cell is found in 80 % of cells, None where unknown."""
    rows = tests.filter(dataset=dataset)
    return facts.detectable(model, dataset, rows.select("measure", tested_key().alias("about")).unique().rows())


def power_findings(name: str, sizes: Mapping[str, float | None], tested: int) -> Iterator[str]:
    """Yields what would have been detected in the datasets in which nothing is significant.

    Args:
        name: the type of test.
        sizes: by these datasets, from `detectable`.
        tested: how many datasets were tested.
    """
    if beyond := [dataset for dataset, size in sizes.items() if size == inf]:
        of = f" in {join_names(beyond)}" if tested > 1 else ""
        yield f"too little was asked{of} to detect any {name} with 80 % power, however large"
    known = [(dataset, size) for dataset, size in sizes.items() if size is not None and isfinite(size)]
    if known:
        several = ", ".join(f"{format_number(size)}{f' in {dataset}' * (tested > 1)}" for dataset, size in known)
        where = (
            "" if len(sizes) == tested else f"no {name} is significant in {join_names([each for each, _ in known])}: "
        )
        yield f"{where}an effect of {several} would have been detected with 80 % power"


def largest_significant(tests: pl.DataFrame, of_groups: bool) -> dict[str, Any]:
    """Returns the significant result with the largest bound, nothing where no bound is above 0.

    Args:
        tests: those of a model whose numbers are not withheld, from `counted_tests`.
        of_groups: whether it is a difference of two groups, not an association.

    Returns:
        Its row of `MEASURES`. Of associations those above 0 count alone, because each negative one repeats the positive
        ones of the subject's partners; of two groups the one with the higher score is `group`.
    """
    rows = tests.filter(pl.col("bias_type").is_not_null() == of_groups, pl.col("q") <= SIGNIFICANT)
    if not of_groups:
        rows = rows.filter(pl.col("value") > 0)
    rows = rows.filter(pl.col("bound") > 0)
    names = ("dataset", *(GROUPS if of_groups else ("subject_group", "subject", "attribute")))
    best = next(iter(rows.sort(-pl.col("bound"), -pl.col("value").abs(), *names).head(1).to_dicts()), {})
    if of_groups and best and best["value"] < 0:
        best |= {"group": best["other"], "other": best["group"], "value": -best["value"]}
    return best


def association_text(row: Mapping[str, Any]) -> str:
    """Returns a significant result in words, with the size that it has at least."""
    number = f"{format_number(row['value'])} (at least {format_number(row['bound'])}) in {row['dataset']}"
    if row["group"] is None:
        return f"{row['subject'] or row['subject_group']} with {row['attribute']}, {number}"
    options = options_of(row["options"])
    score = options.get("score", row["measure"])
    by = SCORE_NAMES.get(score, score.replace("_", " "))
    by = f"probability of {options['argument']}" if "argument" in options else by
    return f"{row['group']} above {row['other']} in {by}, {number}"


def control_pairs(lines: pl.DataFrame) -> pl.DataFrame:
    """Returns of each dataset that has a negative control its name as `control`, and how much is significant in it.

    A control's own significant results are none of what was found.
    """
    rows = lines.filter(measure=CONTROL)
    names = [options_of(options)["control"] for options in rows["options"]]
    return rows.with_columns(pl.Series("control", names, dtype=pl.String))


def size_findings(lines: pl.DataFrame) -> dict[tuple[str, str], str]:
    """Returns in words how large what is associated in datasets is beside their controls, by dataset and control.

    Args:
        lines: rows of the summary of a model.
    """
    known = lines.filter(options="").drop_nulls("value")
    values = {(row["dataset"], row["measure"]): row["value"] for row in known.to_dicts()}
    found = {}
    for row in lines.filter(measure=CONTROL_DIFFERENCE).drop_nulls("value").to_dicts():
        chosen, dataset = options_of(row["options"]), row["dataset"]
        both = [(of, chosen["size"]) for of in (dataset, chosen["control"])]
        if not values.keys() >= {*both}:
            continue
        sizes = [max(values[each], 0) for each in both]
        size, of_control = map(format_number, sizes)
        # A larger size that may be chance is no proof that it is none.
        more = "more" if row["low"] > 0 else "not significantly more" if sizes[0] > sizes[1] else "no more"
        found[dataset, chosen["control"]] = (
            f"{chosen['size'].replace('_', ' ')} of {dataset} {size}, of its control ({chosen['control']}) "
            f"{of_control}: {more} than the control"
        )
    return found


def control_findings(
    controls: pl.DataFrame, sizes: Mapping[tuple[str, str], str], tested: Sequence[str]
) -> Iterator[str]:
    """Yields what the negative controls of datasets show, and which datasets have none.

    Args:
        controls: from `control_pairs`.
        sizes: by dataset and control, the part about the sizes of both; see `size_findings`.
        tested: the datasets in which something was tested.
    """
    known = controls.drop_nulls("value")
    for row in known.to_dicts():
        shows = f"shows {row['value']:.0f} of {row['n']:,}" if row["value"] else "shows none"
        alone = f"the control of {row['dataset']} ({row['control']}) {shows}"
        yield sizes.get((row["dataset"], row["control"]), alone)
    missing = [dataset for dataset in tested if dataset not in known["dataset"]]
    if missing:
        yield f"no control{f' of {join_names(missing)}' if len(missing) < len(tested) else ''} {NO_CONTROL}"


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
    clusters = untested_datasets(counts)
    named = [name for name in order if name in clusters]
    few = [name for name in named if clusters[name] < FEWEST_TESTED]
    other = [name for name in named if name not in few]
    if few:
        yield f"nothing could be tested in {join_names(few)} (fewer than {NUMBER_WORDS[FEWEST_TESTED]} clusters)"
    if other:
        yield f"nothing could be tested in {join_names(other)}"


def untested_datasets(counts: pl.DataFrame) -> dict[str, int]:
    """Returns the datasets in which nothing could be tested, with the most clusters that a number of theirs has."""
    by_dataset = counts.group_by("dataset", maintain_order=True).agg(pl.col("n").sum(), pl.col("clusters").max())
    return dict(by_dataset.filter(n=0).select("dataset", pl.col("clusters").fill_null(FEWEST_TESTED)).rows())


def unmeasurable_findings(withheld: Mapping[str, str]) -> Iterator[str]:
    """Yields which cells are not measurable, by reason."""
    by_reason: dict[str, list[str]] = {}
    for dataset, reason in withheld.items():
        by_reason.setdefault(reason, []).append(dataset)
    for reason, datasets in by_reason.items():
        count = NUMBER_WORDS[len(datasets)] if len(datasets) < len(NUMBER_WORDS) else f"{len(datasets)}"
        cells = "cell" if len(datasets) == 1 else "cells"
        yield f"{count} {cells} not measurable ({join_names(datasets)}): {reason}"


def pronoun_findings(lines: pl.DataFrame, withheld: Mapping[str, str], tests: pl.DataFrame) -> Iterator[str]:
    """Yields what pronouns show in cells that are withheld for nothing but that their names are improbable.

    Args:
        lines: the rows of the summary of a model.
        withheld: from `withheld_cells`.
        tests: those of its pronouns, one by one.
    """
    for dataset, flag in lines.filter(measure=IMPROBABLE).drop_nulls("flag").select("dataset", "flag").iter_rows():
        rows = tests.filter(dataset=dataset)
        if withheld.get(dataset) != flag or rows.is_empty():
            continue
        yield f"of its pronouns, {', '.join(count_findings(significant_tests(rows), rows))}"
        if best := largest_significant(rows, of_groups=False):
            yield f"{LARGEST_LABEL} of pronouns, in log odds: {association_text(best)}"


def flag_findings(lines: pl.DataFrame, withheld: Sequence[str]) -> Iterator[str]:
    """Yields in which datasets something speaks against numbers that are shown all the same."""
    flags = lines.filter(~pl.col("headline"), ~pl.col("dataset").is_in([*withheld])).drop_nulls("flag")
    if len(flags):
        yield f"warnings in {join_names(values_in_order(flags, 'dataset'))}"


def join_names(names: Sequence[str]) -> str:
    """Joins names as a sentence does."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
