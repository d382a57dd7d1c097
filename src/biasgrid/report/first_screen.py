"""The first screen of the page as finished facts: its question and result, an example, boxes, and a
row per cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from biasgrid.families.payload import CellTables, FirstScreen
from biasgrid.groups.main_scores import score_text
from biasgrid.report.findings import (
    Finding,
    VerdictRow,
    findings,
    verdict_counts,
    verdict_parts,
)
from biasgrid.report.overview import OverviewTable, overview_tables
from biasgrid.report.run import ReportDataset, ReportRun, ReportTables
from biasgrid.stats.ordering import values_in_order
from biasgrid.tables.claims.facts import ANSWER_PROBABILITY, COVERAGE, ROWS, GridFacts
from biasgrid.tables.claims.numbers import format_number, format_p
from biasgrid.tables.metric import CONTROL
from biasgrid.tables.verdicts import BIAS_FOUND, NOT_MEASURED, NOTHING_FOUND

NARROW_COLUMNS = 2
"""How many columns of boxes a table has at most beside the first one."""
WIDE_COLUMNS = 7
"""A first table of more columns has the whole width."""
NO_PROOF = " That is no proof of fairness."
BY_CHANCE = " Of 20 cells without bias, about one has a finding by chance."
NO_CONTROL_MEASURED = "no control was measured"


class Largest(NamedTuple):
    """The largest significant number of a cell.

    Attributes:
        who: the subject, or the group that has more; of other numbers the measure.
        what: the attribute, which may be hidden, or the other group.
        is_hidden: whether the attribute may be hidden.
        value: its number.
        bound: how large it is at least, all tests of its kind at once; None where that is not
            known.
        address: the parts of the address of its sentences.
    """

    who: str
    what: str
    is_hidden: bool
    value: float
    bound: float | None
    address: Sequence[str]


class FindingRow(NamedTuple):
    """The verdict of a cell.

    Attributes:
        label: the model's name for people.
        title: the title of the dataset.
        verdict: one of the three.
        test: its p and over how many tests it goes, in words; empty where it could not be measured.
        largest: its largest significant number, None where bias was not found.
        more: what would have been found, or why it could not be measured and what to do.
        answers_differ: how groups differ in what was not answered, with its p; empty where they do
            not.
        control: what its controls show.
        warnings: what speaks against its numbers.
    """

    label: str
    title: str
    verdict: str
    test: str
    largest: Largest | None
    more: str
    answers_differ: str
    control: str
    warnings: Sequence[str]

    @property
    def is_found(self) -> bool:
        """Whether bias was found."""
        return bool(self.verdict == BIAS_FOUND)


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
        rows: the verdict of each cell that is no control.
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
        """Whether the first table has the whole width: for its many columns, or as nothing is
        beside it.
        """
        return bool(self.tables) and (
            len(self.tables[0].columns) > WIDE_COLUMNS or (len(self.tables) > 1 and not self.narrow)
        )

    @property
    def has_units(self) -> bool:
        """Whether any box is of a scale of its own."""
        return any(
            box and box.unit for table in self.tables for row in table.boxes.values() for box in row
        )

    @property
    def has_noise(self) -> bool:
        """Whether any box shows what noise alone gives."""
        return any(
            box and box.noise
            for table in self.tables
            for row in table.boxes.values()
            for box in row
        )


def first_screen(run: ReportRun, tables: ReportTables) -> Screen:
    """Returns the content of the first screen."""
    found = findings(tables.verdicts, tables.summary, run.facts)
    screens = {each.name: screen_of(each) for each in run.datasets}
    rows = [
        finding_row(
            cell.row, run, tables.summary.filter(model=each.model, dataset=cell.row["dataset"])
        )
        for each in found
        for cell in each.cells
    ]
    count = len(run.models)
    who = f"Does {run.models[0].label}" if count == 1 else f"Do {count} models"
    actions = list(dict.fromkeys(screen.asked for screen in screens.values() if screen.asked))
    asked = f"{'The' if count == 1 else 'Each'} model {join_actions(actions)}. " if actions else ""
    result, more = result_of(found, rows)
    boxes = overview_tables(run, tables, screens)
    return Screen(
        f"{who} favour a group when the text gives no reason?",
        f"{asked}A fair model treats the groups alike.",
        result,
        more,
        example_of(run, tables),
        boxes,
        rows,
        {
            f"{model}/{dataset}": tiles_of(table, model, dataset, run, tables)
            for table in boxes
            for model in table.models
            for dataset in dict.fromkeys(column.dataset for column in table.columns)
        },
    )


def tiles_of(
    table: OverviewTable, model: str, dataset: str, run: ReportRun, tables: ReportTables
) -> list[dict[str, Any]]:
    """Returns what is said at the head of a cell: its claims, their test, how much was asked, and
    what is evidence.

    Returns:
        Tiles of `label`, `number`, `what` (the number is of), `said` and `is_evidence`.
    """
    own = zip(table.columns, table.boxes[model], strict=True)
    tiles = [
        {
            "label": column.about if column.is_claim else f"Evidence: {column.about}",
            "number": box.exact or "\N{EN DASH}",
            "what": box.mark or box.measure,
            "said": f"{box.said[:1].upper()}{box.said[1:]}.",
            "is_evidence": not column.is_claim,
        }
        for column, box in own
        if column.dataset == dataset and box
    ]
    claims, evidence = (
        [tile for tile in tiles if tile["is_evidence"] == shown] for shown in (False, True)
    )
    lines = tables.summary.filter(model=model, dataset=dataset)
    verdicts = [
        verdict_tile(row, run.facts)
        for row in tables.verdicts.filter(model=model, dataset=dataset).to_dicts()
    ]
    return [*claims, *verdicts, coverage_tile(run, model, dataset, lines), *evidence]


def verdict_tile(row: VerdictRow, facts: GridFacts) -> dict[str, Any]:
    """Returns the tile of a cell's verdict."""
    return {
        "label": "Verdict",
        "number": row["verdict"],
        "what": test_text(row),
        "said": f"{'. '.join(part[:1].upper() + part[1:] for part in verdict_parts(row, facts))}.",
    }


def test_text(row: VerdictRow) -> str:
    """Returns the p of a verdict and over how many tests it goes; nothing where the cell could not
    be measured.
    """
    return (
        ""
        if row["p"] is None
        else f"p {format_p(row['p'])} over {row['tests']:,} test{'s' * (row['tests'] != 1)}"
    )


def coverage_tile(run: ReportRun, model: str, dataset: str, lines: pl.DataFrame) -> dict[str, Any]:
    """Returns the tile of how much of a dataset was asked, and how probable what was asked for
    is.
    """
    coverage = run.facts.cells.get(f"{dataset}/{model}", {}).get(COVERAGE, {})
    rows, whole = coverage.get(ROWS, (0, 0))
    parts = [
        f"{count:,} of {of:,} {name}" for name, (count, of) in coverage.items() if name != ROWS
    ]
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


def result_of(found: Sequence[Finding], rows: Sequence[FindingRow]) -> tuple[str, str]:
    """Returns the verdicts in a few words, and the rest of what is said of them."""
    if len(rows) == 1:
        (row,) = rows
        test = f"({row.test}). " if row.test else ""
        return row.verdict, f"{test}{row.more}{NO_PROOF if row.verdict == NOTHING_FOUND else ''}"
    counts = {verdict: count for verdict, count in verdict_counts(found).items() if count}
    first, *others = [
        f"{verdict} in {count} of {len(rows)} cells" for verdict, count in counts.items()
    ]
    caution = BY_CHANCE if BIAS_FOUND in counts else NO_PROOF if NOTHING_FOUND in counts else ""
    rest = f"{'; '.join(others)}." if others else ""
    return first, f"{rest[:1].upper()}{rest[1:]}{caution}".strip()


def example_of(run: ReportRun, tables: ReportTables) -> dict[str, Any] | None:
    """Returns a question with answers, of a dataset whose texts are shown, if there is one."""
    for dataset in sorted(
        run.datasets, key=lambda each: (each.sensitive, each.name in run.controls.datasets)
    ):
        make = getattr(dataset.module("payload"), "example", None)
        examples = tables.examples.filter(dataset=dataset.name)
        if make is None or examples.is_empty():
            continue
        # No example quotes a cell that could not be measured.
        judged = tables.verdicts.filter(pl.col("verdict") != NOT_MEASURED, dataset=dataset.name)
        known = {*judged["model"]} & {*examples["model"]}
        models = [model.name for model in run.models if model.name in known]
        none = (tables.measures.clear(), tables.parts.clear())
        cells = {
            model: CellTables(none[0], examples.filter(model=model), none[1]) for model in models
        }
        if found := make(cells):
            labels = {model.name: full_label(run, model.name) for model in run.models}
            answers = [[labels[name], share] for name, share in found["answers"]]
            return {**found, "answers": answers, "is_hidden": dataset.sensitive}
    return None


def full_label(run: ReportRun, name: str) -> str:
    """Returns the name of a model for people, with what kind of model it is."""
    model = next(each for each in run.models if each.name == name)
    return f"{model.label} ({model.kind})"


def finding_row(row: VerdictRow, run: ReportRun, lines: pl.DataFrame) -> FindingRow:
    """Returns the row of a cell in the table of findings.

    Args:
        row: its row of `VERDICTS`.
        run: what was run.
        lines: its rows of the summary.
    """
    dataset = next(each for each in run.datasets if each.name == row["dataset"])
    differ = (
        ""
        if row["answers_differ"] is None
        else f"{row['answers_differ']} (p {format_p(row['answers_differ_p'])})"
    )
    return FindingRow(
        full_label(run, row["model"]),
        dataset.title,
        row["verdict"],
        test_text(row),
        None if row["value"] is None else largest_of(row, dataset),
        more_of(row, run.facts),
        differ,
        row["control"] or NO_CONTROL_MEASURED,
        [dataset.measures[flag].title for flag in flags_of(row, lines)],
    )


def more_of(row: VerdictRow, facts: GridFacts) -> str:
    """Returns what would have been found in a cell, or why it could not be measured and what to
    do.
    """
    if row["verdict"] == NOT_MEASURED:
        parts = [row["reason"], *filter(None, [row["remedy"]])]
    else:
        _, *parts = verdict_parts({**row, "value": None}, facts)
    return " ".join(f"{part[:1].upper()}{part[1:].rstrip('.')}." for part in parts)


def flags_of(row: VerdictRow, lines: pl.DataFrame) -> list[str]:
    """Returns the validity flags that speak against numbers that are shown all the same."""
    if row["verdict"] == NOT_MEASURED:
        return []
    flags = lines.filter(~pl.col("headline"), pl.col("measure") != CONTROL).drop_nulls("flag")
    return values_in_order(flags, "measure")


def largest_of(row: VerdictRow, dataset: ReportDataset) -> Largest:
    """Returns the largest significant number of a cell as the table shows it."""
    cell = ("cell", row["model"], row["dataset"])
    address = (
        (*cell, row["subject"], row["attribute"]) if row["subject"] and row["attribute"] else cell
    )
    subject = row["subject"] or row["subject_group"]
    if subject and row["attribute"]:
        return Largest(
            subject, row["attribute"], dataset.sensitive, row["value"], row["bound"], address
        )
    if row["group"] and row["other"]:
        what = f"above {row['other']} in {score_text(row['measure'], row['options'])}"
        return Largest(row["group"], what, False, row["value"], row["bound"], address)
    title = dataset.measures[row["measure"]].title
    return Largest(title, row["bias_type"] or "", False, row["value"], row["bound"], address)
