"""The bias section of a model card: Markdown, and evaluation results in the hub's format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl
from huggingface_hub import EvalResult, ModelCard, ModelCardData

from biasgrid.base.faults import Fault, InputError, unknown_names
from biasgrid.report.findings import Finding
from biasgrid.report.page import markdown_template
from biasgrid.tables.claims.facts import NO_FACTS, GridFacts
from biasgrid.tables.claims.numbers import TOO_LITTLE, format_estimate, format_number, with_minus
from biasgrid.tables.metric import CONTROL
from biasgrid.tables.summary import SIGNIFICANT_TESTS, line_counts

DASH = "\N{EN DASH}"


@dataclass(frozen=True)
class Card:
    """What a card is made of.

    Attributes:
        model: the model's name in the config.
        summary: its rows of the summary (schema `SUMMARY`).
        manifest: what the run has made.
        level: the coverage of intervals.
        finding: the verdicts of its cells.
        command: what makes the results again.
        facts: between what the numbers of measures are, and how much was asked.
    """

    model: str
    summary: pl.DataFrame
    manifest: Mapping[str, Any]
    level: float
    finding: Finding
    command: str
    facts: GridFacts = NO_FACTS

    @property
    def cells(self) -> dict[str, Mapping[str, Any]]:
        """The facts of its cells in the manifest, by dataset."""
        return {
            cell["dataset"]: cell for cell in self.manifest["cells"] if cell["model"] == self.model
        }

    @property
    def datasets(self) -> dict[str, Mapping[str, Any]]:
        """What was asked, by dataset: `title`, `about` and `control_of`."""
        return {name: self.manifest["datasets"][name] for name in self.cells}


def card_of(
    model: str,
    summary: pl.DataFrame,
    manifest: Mapping[str, Any],
    level: float,
    found: Mapping[str, Finding],
    command: str,
    facts: GridFacts = NO_FACTS,
) -> ModelCard:
    """Makes a card.

    Args:
        model: the model's name in the config.
        summary: schema `SUMMARY`, of all models.
        manifest: what the run has made.
        level: the coverage of intervals.
        found: the verdicts of each model's cells.
        command: what makes the results again.
        facts: between what the numbers of measures are, and how much was asked.

    Returns:
        The card, whose text is Markdown behind metadata in YAML.

    Raises:
        InputError: there is no such model, or the manifest is older than cards.
    """
    faults = list(
        unknown_names(
            "--model", "", [model], summary["model"].unique(maintain_order=True).to_list()
        )
    )
    if "datasets" not in manifest:
        faults.append(
            Fault(
                "manifest.json",
                "",
                "does not record what was asked",
                "a run of this version: run again",
            )
        )
    if faults:
        raise InputError(faults)
    card = Card(model, summary.filter(model=model), manifest, level, found[model], command, facts)
    data = ModelCardData(model_name=model, eval_results=list(results(card)))
    return ModelCard(f"---\n{data.to_yaml()}\n---\n{card_text(card)}")


def results(card: Card) -> Iterator[EvalResult]:
    """Yields the headlines that have a value, with intervals as arguments of their metrics.

    Their `n` is that of the summary, how much was measured of a dataset, and not how many means a
    number averages.
    """
    counts = line_counts(card.summary)
    for row in card.summary.filter("headline").drop_nulls("value").iter_rows(named=True):
        known = {
            name: row[name]
            for name in ("low", "high", "null_mean", "clusters")
            if row[name] is not None
        }
        known["n"] = counts[row["dataset"], row["bias_type"]]
        if row["dataset"] in card.facts.units:
            known["n_counts"] = card.facts.units[row["dataset"]]
        if row["measure"] == SIGNIFICANT_TESTS:
            known["tested"] = row["n"]
        yield EvalResult(
            task_type=card.cells[row["dataset"]]["task"],
            dataset_type=f"biasgrid/{row['dataset']}",
            dataset_name=card.datasets[row["dataset"]]["title"],
            dataset_config=row["bias_type"],
            metric_type=row["measure"],
            metric_name=row["measure"].replace("_", " "),
            metric_value=row["value"],
            metric_config=row["options"] or None,
            metric_args=known | ({"level": card.level} if "low" in known else {}),
        )


def card_text(card: Card) -> str:
    """Returns the Markdown."""
    rows, counts = card.summary.filter("headline").to_dicts(), line_counts(card.summary)
    controls = card.summary.filter(measure=CONTROL).to_dicts()
    flags = card.summary.filter(~pl.col("headline"), pl.col("measure") != CONTROL).drop_nulls(
        "flag"
    )
    record = card.manifest["models"].get(card.model, {})
    return markdown_template("card.md").render(
        card=card,
        rows=[
            row | in_words(row, card.facts) | {"n": counts[row["dataset"], row["bias_type"]]}
            for row in rows
        ],
        trial=card.facts.trial_text([card.model]),
        asked_in_part=card.facts.coverage_sentences([card.model]),
        factors=list(
            dict.fromkeys(row["generalises_to"] for row in rows if row["low"] is not None)
        ),
        controls=[row | {"name": row["options"].partition("=")[2]} for row in controls],
        flags=flags.select("dataset", "flag").unique(maintain_order=True).to_dicts(),
        source=record.get("checkpoint") or record.get("folder"),
        revision=record.get("revision") or record.get("weights"),
        precisions=list(
            dict.fromkeys(
                cell["precision"] for cell in card.cells.values() if cell.get("precision")
            )
        ),
        manifest=card.manifest,
        command=card.command,
    )


def in_words(row: Mapping[str, Any], facts: GridFacts) -> dict[str, str]:
    """Returns the value of a number, and its interval or noise floor, in words."""
    if row["measure"] == SIGNIFICANT_TESTS:
        untestable = f", {row['left_out']:,} could not be tested" if row["left_out"] else ""
        found = DASH if row["value"] is None else f"{row['value']:.0f}"
        return {"number": found, "interval": f"of {row['n']:,} tested{untestable}"}
    written = format_estimate(row, facts.range_of(row))
    floor = (
        "" if row["null_mean"] is None else f"noise alone gives {format_number(row['null_mean'])}"
    )
    interval = with_minus(written.interval) if written.interval else floor
    little = f" ({TOO_LITTLE})" if written.says_little else ""
    number = DASH if row["value"] is None else with_minus(written.value)
    return {"number": number, "interval": f"{interval}{little}" or DASH}
