"""The first screen of the page as finished facts: its question and result, an example, boxes, and a row per model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, NamedTuple

import polars as pl

from biasgrid.families.payload import CellTables, FirstScreen
from biasgrid.report.findings import Finding, detectable, findings, size_findings
from biasgrid.report.overall import Overall, p_of_cell
from biasgrid.report.overview import OverviewTable, overview_tables
from biasgrid.report.run import ReportDataset, ReportRun, ReportTables
from biasgrid.stats.ordering import values_in_order
from biasgrid.tables.claims.counts import is_association, significant_tests
from biasgrid.tables.claims.facts import ANSWER_PROBABILITY, COVERAGE, ROWS
from biasgrid.tables.claims.numbers import format_number, format_p
from biasgrid.tables.measures import SIGNIFICANT
from biasgrid.tables.metric import CONTROL, CONTROL_DIFFERENCE, RANDOM, options_of

NARROW_COLUMNS = 2
"""How many columns of boxes a table has at most beside the first one."""
WIDE_COLUMNS = 7
"""A first table of more columns has the whole width."""


class Largest(NamedTuple):
    """The largest significant result of a model.

    Attributes:
        title: the title of its dataset.
        who: the subject, or the group that has more.
        what: the attribute, which may be hidden, or the other group.
        is_hidden: whether the attribute may be hidden.
        value: its number.
        bound: how large it is at least, all tests of its kind at once.
        address: the parts of the address of its sentences.
    """

    title: str
    who: str
    what: str
    is_hidden: bool
    value: float
    bound: float
    address: Sequence[str]


class FindingRow(NamedTuple):
    """What was found of a model.

    Attributes:
        label: its name for people.
        claim: what is claimed of it as a whole.
        p: of that claim, in words; empty where nothing was tested.
        is_more: whether it is more than noise.
        found: how many tests are significant, but for those that mirror others.
        mirrored: how many mirror others.
        tested: how many tests there are.
        largest: the largest significant results.
        unseen: what would have been detected where nothing is significant.
        control: what its controls show.
        warnings: what speaks against its numbers.
    """

    label: str
    claim: str
    p: str
    is_more: bool
    found: int
    mirrored: int
    tested: int
    largest: Sequence[Largest]
    unseen: str
    control: str
    warnings: Sequence[str]


@dataclass(frozen=True)
class Screen:
    """The content of the first screen.

    Attributes:
        question: its title.
        asked: what was done, in a sentence.
        result: what was found, in a word or two.
        result_more: the rest of the result.
        example: from `Payload.example`, with `is_hidden`; None where there is none.
        tables: the boxes.
        rows: what was found of each model.
        tiles: what is said at the head of each cell, by `MODEL/DATASET`; see `tiles_of`.
    """

    question: str
    asked: str
    result: str
    result_more: str
    example: Mapping[str, Any] | None
    tables: Sequence[OverviewTable]
    rows: Sequence[FindingRow]
    tiles: Mapping[str, Sequence[Mapping[str, Any]]]

    @property
    def broad(self) -> list[OverviewTable]:
        """The tables that have too many columns for the narrow half, but for the first one."""
        return [table for table in self.tables[1:] if len(table.columns) > NARROW_COLUMNS]

    @property
    def narrow(self) -> list[OverviewTable]:
        """The tables beside the first one."""
        return [table for table in self.tables[1:] if len(table.columns) <= NARROW_COLUMNS]

    @property
    def is_wide(self) -> bool:
        """Whether the first table has the whole width: for its many columns, or as nothing is beside it."""
        return bool(self.tables) and (
            len(self.tables[0].columns) > WIDE_COLUMNS or (len(self.tables) > 1 and not self.narrow)
        )

    @property
    def has_units(self) -> bool:
        """Whether any box is of a scale of its own."""
        return any(box and box.unit for table in self.tables for row in table.boxes.values() for box in row)

    @property
    def has_noise(self) -> bool:
        """Whether any box shows what noise alone gives."""
        return any(box and box.noise for table in self.tables for row in table.boxes.values() for box in row)


def first_screen(run: ReportRun, tables: ReportTables) -> Screen:
    """Returns the content of the first screen."""
    found = findings(tables.summary, tables.measures, run.facts)
    screens = {each.name: screen_of(each) for each in run.datasets}
    rows = [finding_row(each, run, tables.summary.filter(model=each.model)) for each in found]
    judged = [each for each in found if each.overall]
    result, more = result_of(judged, rows, tables.summary)
    count = len(run.models)
    who = f"Does {run.models[0].label}" if count == 1 else f"Do {count} models"
    actions = list(dict.fromkeys(screen.asked for screen in screens.values() if screen.asked))
    asked = f"{'The' if count == 1 else 'Each'} model {join_actions(actions)}. " if actions else ""
    boxes = overview_tables(run, tables, found, screens)
    return Screen(
        f"{who} favour a group when the text gives no reason?",
        f"{asked}A fair model treats the groups alike.",
        result,
        more,
        example_of(run, tables),
        boxes,
        rows,
        {
            f"{model}/{dataset}": tiles_of(table, model, dataset, run, tables.summary, found)
            for table in boxes
            for model in table.models
            for dataset in dict.fromkeys(column.dataset for column in table.columns)
        },
    )


def tiles_of(
    table: OverviewTable,
    model: str,
    dataset: str,
    run: ReportRun,
    summary: pl.DataFrame,
    found: Sequence[Finding],
) -> list[dict[str, Any]]:
    """Returns what is said at the head of a cell: its claims, their test, how much was asked, and what is evidence.

    Returns:
        Tiles of `label`, `number`, `what` (the number is of), `said` and `is_evidence`.
    """
    own = zip(table.columns, table.boxes[model], strict=True)
    boxes = [(column, box) for column, box in own if column.dataset == dataset and box]
    tiles = [
        {
            "label": column.about if column.is_claim else f"Evidence: {column.about}",
            "number": box.exact or "\N{EN DASH}",
            "what": box.mark or box.measure,
            "said": f"{box.said[:1].upper()}{box.said[1:]}.",
            "is_evidence": not column.is_claim,
        }
        for column, box in boxes
    ]
    claims = [tile for tile in tiles if not tile["is_evidence"]]
    lines = summary.filter(model=model, dataset=dataset)
    tests = next(each.tests for each in found if each.model == model).filter(dataset=dataset)
    measured = [box for column, box in boxes if column.is_claim and box.value is not None]
    p = p_of_cell(lines.filter("headline"), tests, run.facts.counted.get(dataset, {})) if measured else None
    counts = significant_tests(tests)
    tested = int(counts["n"].sum())
    test = {
        "label": "Test",
        "number": f"p {format_p(p)}" if p is not None else "\N{EN DASH}",
        "what": "" if p is None else Overall(p, 1).claim,
        "said": f"{int(counts['value'].sum()):,} of {tested:,} single tests are significant."
        if tested
        else "There is no p and no single test. Read the interval instead.",
    }
    return [*claims, test, coverage_tile(run, model, dataset, lines), *(one for one in tiles if one["is_evidence"])]


def coverage_tile(run: ReportRun, model: str, dataset: str, lines: pl.DataFrame) -> dict[str, Any]:
    """Returns the tile of how much of a dataset was asked, and how probable what was asked for is."""
    coverage = run.facts.cells.get(f"{dataset}/{model}", {}).get(COVERAGE, {})
    rows, whole = coverage.get(ROWS, (0, 0))
    parts = [f"{count:,} of {of:,} {name}" for name, (count, of) in coverage.items() if name != ROWS]
    probability = lines.filter(measure=ANSWER_PROBABILITY).drop_nulls("value")["value"]
    parts += [f"answer probability {format_number(value)}" for value in probability.head(1)]
    share = f"{format_number(100 * rows / whole)} %" if whole and rows < whole else "all"
    return {
        "label": "Coverage",
        "number": share if whole else f"{max(lines['n'].to_list(), default=0):,}",
        "what": f"of {whole:,} rows asked" if whole else "units measured",
        "said": f"{', '.join(parts)}." if parts else "",
    }


def screen_of(dataset: ReportDataset) -> FirstScreen:
    """Returns what a dataset's family says of the first screen."""
    screen: FirstScreen | None = getattr(dataset.module("payload"), "FIRST_SCREEN", None)
    return screen or FirstScreen(dataset.family.replace("_", " ").capitalize() or "Datasets")


def join_actions(actions: Sequence[str]) -> str:
    """Joins what was done with models as a sentence does."""
    return ", or ".join([", ".join(actions[:-1]), actions[-1]] if len(actions) > 1 else actions)


def result_of(judged: Sequence[Finding], rows: Sequence[FindingRow], summary: pl.DataFrame) -> tuple[str, str]:
    """Returns what was found, in a word or two, and the rest of it."""
    cells = summary.select("model", "dataset").n_unique()
    is_withheld = pl.col("flag").is_not_null() & pl.col("value").is_null()
    withheld = summary.filter("headline", is_withheld).select("model", "dataset").n_unique()
    count = f"{cells} cell{'s' * (cells != 1)}{f', {withheld} not measurable' if withheld else ''}."
    more = [each for each in judged if each.overall and each.overall.p <= SIGNIFICANT]
    if not judged:
        return "nothing was tested.", count
    if len(judged) == 1:
        (row,) = [row for row in rows if row.p]
        no_proof = "" if more else f" That is no proof of fairness{f': {row.unseen}' if row.unseen else ''}."
        return row.claim, f"(p {row.p}).{no_proof} {count}"
    rest = len(judged) - len(more)
    others = f"In the other {rest if rest > 1 else 'one'}, nothing more than noise was found. " if more and rest else ""
    caution = "Of 20 models without bias, about one does by chance. " if more else "That is no proof of fairness. "
    said = "none does." if not more else "all do." if not rest else f"{len(more)} of {len(judged)} do."
    return said, f"{others}{caution}{count}"


def example_of(run: ReportRun, tables: ReportTables) -> dict[str, Any] | None:
    """Returns a question with answers, of a dataset whose texts are shown, if there is one."""
    for dataset in sorted(run.datasets, key=lambda each: (each.sensitive, each.name in run.controls.datasets)):
        make = getattr(dataset.module("payload"), "example", None)
        examples = tables.examples.filter(dataset=dataset.name)
        if make is None or examples.is_empty():
            continue
        known = set(examples["model"].unique())
        models = [model.name for model in run.models if model.name in known]
        none = (tables.measures.clear(), tables.parts.clear())
        cells = {model: CellTables(none[0], examples.filter(model=model), none[1]) for model in models}
        if found := make(cells):
            labels = {model.name: full_label(run, model.name) for model in run.models}
            answers = [[labels[name], share] for name, share in found["answers"]]
            return {**found, "answers": answers, "is_hidden": dataset.sensitive}
    return None


def full_label(run: ReportRun, name: str) -> str:
    """Returns the name of a model for people, with what kind of model it is."""
    model = next(each for each in run.models if each.name == name)
    return f"{model.label} ({model.kind})"


def finding_row(finding: Finding, run: ReportRun, lines: pl.DataFrame) -> FindingRow:
    """Returns the row of a model in the table of findings.

    Args:
        finding: what was found of it.
        run: what was run.
        lines: its rows of the summary.
    """
    claims = finding.claims
    counts = significant_tests(claims)
    is_found = (pl.col("q") <= SIGNIFICANT) & is_association() & (pl.col("value") < 0)
    found = int(counts["value"].sum())
    overall = finding.overall
    is_random = RANDOM in finding.controls["control"]
    return FindingRow(
        full_label(run, finding.model),
        overall.claim if overall else "answers at random" if is_random else "not tested",
        format_p(overall.p) if overall else "",
        bool(overall and overall.p <= SIGNIFICANT),
        found,
        claims.filter(is_found).height,
        int(counts["n"].sum()),
        [largest_of(row, run) for row in finding.largest],
        "" if found else unseen_size(finding, run),
        "; ".join(control_texts(finding, run, lines)),
        list(warnings_of(finding, run, lines)),
    )


def largest_of(row: Mapping[str, Any], run: ReportRun) -> Largest:
    """Returns a significant result as the table shows it."""
    dataset = next(each for each in run.datasets if each.name == row["dataset"])
    of_groups = row["group"] is not None
    who = row["group"] if of_groups else row["subject"] or row["subject_group"]
    cell = ("cell", row["model"], row["dataset"])
    address = (*cell, row["subject"], row["attribute"]) if row["subject"] else cell
    what = f"above {row['other']}" if of_groups else row["attribute"]
    is_hidden = dataset.sensitive and not of_groups
    return Largest(dataset.title, who, what, is_hidden, row["value"], row["bound"], address)


def unseen_size(finding: Finding, run: ReportRun) -> str:
    """Returns what would have been detected in a model of which nothing is significant."""
    claims = finding.claims
    sizes = [detectable(finding.model, name, claims, run.facts) for name in values_in_order(claims, "dataset")]
    known = [size for size in sizes if size is not None]
    if not known:
        return ""
    if not isfinite(max(known)):
        return "too little was asked to detect any effect"
    return f"an effect of {format_number(max(known))} would have been detected (80 % power)"


def control_texts(finding: Finding, run: ReportRun, lines: pl.DataFrame) -> Iterator[str]:
    """Yields what the controls of a model's datasets show."""
    titles = {each.name: each.title for each in run.datasets}
    sizes = size_findings(lines)
    differences = {
        (row["dataset"], options_of(row["options"])["control"]): row["low"] > 0
        for row in lines.filter(measure=CONTROL_DIFFERENCE).drop_nulls("low").to_dicts()
    }
    for row in finding.controls.drop_nulls("value").to_dicts():
        key = (row["dataset"], row["control"])
        shown = f"{'clean, ' * (not row['value'])}{row['value']:.0f} of {row['n']:,}"
        # Where nothing is found, it is not more than anything.
        claimed = finding.claims.filter(pl.col("q") <= SIGNIFICANT, dataset=key[0])
        within = len(claimed) and key in sizes and not differences[key]
        yield f"{shown}{f'; {titles[key[0]]} is not significantly more' if within else ''}"


def warnings_of(finding: Finding, run: ReportRun, lines: pl.DataFrame) -> Iterator[str]:
    """Yields what speaks against a model's numbers: flags, and cells that are withheld."""
    measures = {each.name: each.measures for each in run.datasets}
    flags = lines.filter(~pl.col("headline"), pl.col("measure") != CONTROL).drop_nulls("flag")
    flags = flags.filter(~pl.col("dataset").is_in([*finding.withheld]))
    for (measure,), rows in flags.group_by("measure", maintain_order=True):
        names = values_in_order(rows, "dataset")
        yield f"{measures[names[0]][str(measure)].title}{f' ({len(names)} datasets)' if len(names) > 1 else ''}"
    if finding.withheld:
        yield f"{len(finding.withheld)} dataset{'s' * (len(finding.withheld) > 1)} not measurable"
