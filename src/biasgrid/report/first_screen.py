"""Content of the page's first screen: question and result, an example, boxes, a row per cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from biasgrid.families.page import CellTables, FirstScreen
from biasgrid.groups.main_scores import score_text
from biasgrid.report.findings import (
    Finding,
    VerdictRow,
    findings,
    power_parts,
    significance_parts,
    unanswered_text,
    verdict_counts,
    verdict_parts,
)
from biasgrid.report.overview import Box, BoxColumn, OverviewTable, overview_tables
from biasgrid.report.run import ReportDataset, ReportRun, ReportTables
from biasgrid.stats.ordering import values_in_order
from biasgrid.tables.claims.facts import ANSWER_PROBABILITY, COVERAGE, ROW_COUNT, GridFacts
from biasgrid.tables.claims.numbers import format_number, format_p
from biasgrid.tables.key_columns import GROUP_PAIR, SUBJECT_ASSOCIATION, find_tested_pair
from biasgrid.tables.metric import CONTROL
from biasgrid.tables.verdicts import BIAS_FOUND, NOT_MEASURED, NOTHING_FOUND

NARROW_COLUMNS = 2
"""Maximum number of columns of boxes in a table beside the first one."""
WIDE_COLUMNS = 7
"""Maximum number of columns of a first table that leaves room for others beside it."""
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
        bound: the lower bound of its size, all tests of its kind at once; None if unknown.
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
        test: its p and its number of tests, in words; `""` if the cell could not be measured.
        largest: its largest significant number, None unless bias was found.
        context: from `context_text`.
        unanswered_difference: how groups differ in their unanswered questions, with p; `""` if
            they do not.
        control_text: the result of its controls.
        warnings: titles of the flags that speak against its numbers.
    """

    label: str
    title: str
    verdict: str
    test: str
    largest: Largest | None
    context: str
    unanswered_difference: str
    control_text: str
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
        task: the task of the models, in sentences.
        result: the verdicts, in a word or two.
        result_details: the rest of the result, in sentences.
        example: from `Payload.example`, with `is_hidden`; None without one.
        tables: the boxes.
        rows: from `finding_rows`.
        tiles: the tiles at the head of each cell, by `MODEL/DATASET`; see `cell_tiles`.
    """

    question: str
    task: str
    result: str
    result_details: str
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
        """Whether the first table has the whole width, as it needs it or has none beside it."""
        if not self.tables:
            return False
        needs_width = len(self.tables[0].columns) > WIDE_COLUMNS
        return needs_width or (len(self.tables) > 1 and not self.narrow)

    @property
    def boxes(self) -> Iterator[Box]:
        """All boxes of all tables."""
        for table in self.tables:
            for row in table.boxes.values():
                yield from (box for box in row if box is not None)

    @property
    def has_units(self) -> bool:
        """Whether any box is of a scale of its own."""
        return any(box.unit for box in self.boxes)

    @property
    def has_noise(self) -> bool:
        """Whether any box shows the value expected from noise alone."""
        return any(box.noise for box in self.boxes)


def first_screen(run: ReportRun, tables: ReportTables) -> Screen:
    """Returns the content of the first screen.

    Controls have boxes and tiles, and their tasks are part of `task`, but they are neither in the
    result nor in the rows.
    """
    model_findings = findings(tables.verdicts, tables.summary, run.facts)
    rows = finding_rows(model_findings, run, tables)
    screen_texts = {dataset.name: family_screen_text(dataset) for dataset in run.datasets}
    boxes = overview_tables(run, tables, screen_texts)
    is_single = len(run.models) == 1
    who = f"Does {run.models[0].label}" if is_single else f"Do {len(run.models)} models"
    actions = list(dict.fromkeys(text.asked for text in screen_texts.values() if text.asked))
    task = "A fair model treats the groups alike."
    if actions:
        task = f"{'The' if is_single else 'Each'} model {join_actions(actions)}. {task}"
    result, result_details = overall_result(model_findings, rows)
    return Screen(
        question=f"{who} favour a group when the text gives no reason?",
        task=task,
        result=result,
        result_details=result_details,
        example=shown_example(run, tables),
        tables=boxes,
        rows=rows,
        tiles=tiles_by_cell(boxes, run, tables),
    )


def tiles_by_cell(
    boxes: Sequence[OverviewTable], run: ReportRun, tables: ReportTables
) -> dict[str, list[dict[str, Any]]]:
    """Returns the tiles of all cells that have boxes, by `MODEL/DATASET`; see `cell_tiles`."""
    tiles = {}
    for table in boxes:
        datasets = dict.fromkeys(column.dataset for column in table.columns)
        for model in table.models:
            for dataset in datasets:
                tiles[f"{model}/{dataset}"] = cell_tiles(table, model, dataset, run, tables)
    return tiles


def cell_tiles(
    table: OverviewTable, model: str, dataset: str, run: ReportRun, tables: ReportTables
) -> list[dict[str, Any]]:
    """Returns the tiles at the head of a cell: claims, verdict, coverage, and evidence.

    Args:
        table: the table that has the boxes of the cell.
        model: the name of the model.
        dataset: the name of the dataset.
        run: models, datasets and facts of the run.
        tables: the measures of the run.

    Returns:
        Tiles of `label`, `number`, `what` (the measure of the number), `said` and `is_evidence`.
    """
    claims: list[dict[str, Any]] = []
    evidence: list[dict[str, Any]] = []
    for column, box in zip(table.columns, table.boxes[model], strict=True):
        if column.dataset != dataset or box is None:
            continue
        tiles = claims if column.is_claim else evidence
        tiles.append(box_tile(column, box))
    summary_rows = tables.summary.filter(model=model, dataset=dataset)
    verdicts = tables.verdicts.filter(model=model, dataset=dataset).to_dicts()
    verdict_tiles = [verdict_tile(row, run.facts) for row in verdicts]
    coverage = coverage_tile(run, model, dataset, summary_rows)
    return [*claims, *verdict_tiles, coverage, *evidence]


def box_tile(column: BoxColumn, box: Box) -> dict[str, Any]:
    """Returns the tile of a box."""
    return {
        "label": column.about if column.is_claim else f"Evidence: {column.about}",
        "number": box.exact or "\N{EN DASH}",
        "what": box.mark or box.measure,
        "said": f"{box.certainty[:1].upper()}{box.certainty[1:]}.",
        "is_evidence": not column.is_claim,
    }


def verdict_tile(row: VerdictRow, facts: GridFacts) -> dict[str, Any]:
    """Returns the tile of a cell's verdict."""
    sentences = [part[:1].upper() + part[1:] for part in verdict_parts(row, facts)]
    return {
        "label": "Verdict",
        "number": row["verdict"],
        "what": test_text(row),
        "said": f"{'. '.join(sentences)}.",
    }


def test_text(row: VerdictRow) -> str:
    """Returns the p of a verdict and its number of tests; empty if the cell was not measured."""
    if row["p"] is None:
        return ""
    plural = "" if row["tests"] == 1 else "s"
    return f"p {format_p(row['p'])} over {row['tests']:,} test{plural}"


def coverage_tile(
    run: ReportRun, model: str, dataset: str, summary_rows: pl.DataFrame
) -> dict[str, Any]:
    """Returns the tile of the share of a dataset that was asked, with the answer probability.

    Args:
        run: models, datasets and facts of the run.
        model: the name of the model.
        dataset: the name of the dataset.
        summary_rows: the cell's rows of the summary.
    """
    coverage = run.facts.cells.get(f"{dataset}/{model}", {}).get(COVERAGE, {})
    parts = []
    for name, (asked_count, total) in coverage.items():
        if name != ROW_COUNT:
            parts.append(f"{asked_count:,} of {total:,} {name}")
    probability = summary_rows.filter(measure=ANSWER_PROBABILITY).drop_nulls("value")["value"]
    parts += [f"answer probability {format_number(value)}" for value in probability.head(1)]
    rows, all_rows = coverage.get(ROW_COUNT, (0, 0))
    if not all_rows:
        # Without a recorded coverage, only the number of units is known.
        number, what = f"{max(summary_rows['n'].to_list(), default=0):,}", "units measured"
    else:
        number = f"{format_number(100 * rows / all_rows)} %" if rows < all_rows else "all"
        what = f"of {all_rows:,} rows asked"
    return {
        "label": "Coverage",
        "number": number,
        "what": what,
        "said": f"{', '.join(parts)}." if parts else "",
    }


def family_screen_text(dataset: ReportDataset) -> FirstScreen:
    """Returns the text of the first screen by a dataset's family, or a plain one."""
    screen: FirstScreen | None = getattr(dataset.module("page"), "FIRST_SCREEN", None)
    return screen or FirstScreen(dataset.family.replace("_", " ").capitalize() or "Datasets")


def join_actions(actions: Sequence[str]) -> str:
    """Joins the tasks of models with commas, and the last with "or"."""
    *all_but_last, last = actions
    return f"{', '.join(all_but_last)}, or {last}" if all_but_last else last


def overall_result(
    model_findings: Sequence[Finding], rows: Sequence[FindingRow]
) -> tuple[str, str]:
    """Returns the verdicts in a few words, and the rest of the result in sentences."""
    if len(rows) == 1:
        (row,) = rows
        test = f"({row.test}). " if row.test else ""
        caution = NO_PROOF if row.verdict == NOTHING_FOUND else ""
        return row.verdict, f"{test}{row.context}{caution}"
    counts = {}
    for verdict, count in verdict_counts(model_findings).items():
        if count:
            counts[verdict] = count
    main_verdict, *other_verdicts = [
        f"{verdict} in {count} of {len(rows)} cells" for verdict, count in counts.items()
    ]
    caution = ""
    if BIAS_FOUND in counts:
        caution = BY_CHANCE
    elif NOTHING_FOUND in counts:
        caution = NO_PROOF
    rest = f"{'; '.join(other_verdicts)}." if other_verdicts else ""
    return main_verdict, f"{rest[:1].upper()}{rest[1:]}{caution}".strip()


def shown_example(run: ReportRun, tables: ReportTables) -> dict[str, Any] | None:
    """Returns a question with the models' answers, None without one.

    Datasets whose texts are shown come before sensitive ones, and controls come last.
    """
    datasets = sorted(
        run.datasets,
        key=lambda dataset: (dataset.sensitive, dataset.name in run.controls.datasets),
    )
    for dataset in datasets:
        make = getattr(dataset.module("page"), "example", None)
        examples = tables.examples.filter(dataset=dataset.name)
        if make is None or examples.is_empty():
            continue
        # No example quotes a cell that could not be measured.
        is_measured = pl.col("verdict") != NOT_MEASURED
        verdicts = tables.verdicts.filter(is_measured, dataset=dataset.name)
        quotable = set(verdicts["model"]) & set(examples["model"])
        cells = {}
        for model in run.models:
            if model.name in quotable:
                model_examples = examples.filter(model=model.name)
                cells[model.name] = CellTables(
                    tables.measures.clear(), model_examples, tables.parts.clear()
                )
        example = make(cells)
        if example:
            answers = [[full_label(run, name), share] for name, share in example["answers"]]
            return {**example, "answers": answers, "is_hidden": dataset.sensitive}
    return None


def full_label(run: ReportRun, name: str) -> str:
    """Returns the label of a model with its kind."""
    model = next(model for model in run.models if model.name == name)
    return f"{model.label} ({model.kind})"


def finding_rows(
    model_findings: Sequence[Finding], run: ReportRun, tables: ReportTables
) -> list[FindingRow]:
    """Returns the table of findings.

    It has a row for each cell that is no control, and for all cells of a model that answers at
    random.
    """
    rows = []
    for finding in model_findings:
        for cell in finding.cells:
            dataset = cell.row["dataset"]
            summary_rows = tables.summary.filter(model=finding.model, dataset=dataset)
            rows.append(finding_row(cell.row, run, summary_rows))
    return rows


def finding_row(row: VerdictRow, run: ReportRun, summary_rows: pl.DataFrame) -> FindingRow:
    """Returns the row of a cell in the table of findings.

    Args:
        row: its row of `VERDICTS`.
        run: models, datasets and facts of the run.
        summary_rows: its rows of the summary.
    """
    dataset = next(dataset for dataset in run.datasets if dataset.name == row["dataset"])
    return FindingRow(
        label=full_label(run, row["model"]),
        title=dataset.title,
        verdict=row["verdict"],
        test=test_text(row),
        largest=None if row["value"] is None else largest_number(row, dataset),
        context=context_text(row),
        unanswered_difference=unanswered_text(row),
        control_text=row["control"] or NO_CONTROL_MEASURED,
        warnings=[dataset.measures[flag].title for flag in warning_flags(row, summary_rows)],
    )


def context_text(row: VerdictRow) -> str:
    """Returns the facts about a cell's tests, in sentences.

    Returns:
        The number of significant tests if bias was found by several, the detectable effect if it is
        known, and the number of untestable tests if there are any. For a cell that was not
        measured, the reason, and the remedy if there is one. `""` if nothing of this applies.
    """
    if row["verdict"] == NOT_MEASURED:
        parts = [row["reason"], *filter(None, [row["remedy"]])]
    else:
        parts = [*significance_parts(row), *power_parts(row)]
    return " ".join(f"{part[:1].upper()}{part[1:].rstrip('.')}." for part in parts)


def warning_flags(row: VerdictRow, summary_rows: pl.DataFrame) -> list[str]:
    """Returns the validity flags that speak against numbers that are shown all the same."""
    if row["verdict"] == NOT_MEASURED:
        return []
    checks = summary_rows.filter(~pl.col("headline"), pl.col("measure") != CONTROL)
    return values_in_order(checks.drop_nulls("flag"), "measure")


def largest_number(row: VerdictRow, dataset: ReportDataset) -> Largest:
    """Returns the largest significant number of a cell as the table shows it."""
    address: tuple[str, ...] = ("cell", row["model"], row["dataset"])
    is_hidden = False
    pair = find_tested_pair(row)
    if pair is not None:
        who, what = (row[key] for key in pair)
        if pair == SUBJECT_ASSOCIATION:
            address = (*address, who, what)
        if pair == GROUP_PAIR:
            score = score_text(row["measure"], row["options"])
            what = f"above {what} in {score}"
        else:
            is_hidden = dataset.sensitive
    else:
        who, what = dataset.measures[row["measure"]].title, row["bias_type"] or ""
    return Largest(who, what, is_hidden, row["value"], row["bound"], address)
