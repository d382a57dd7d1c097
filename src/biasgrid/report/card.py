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
from biasgrid.tables.claims.precision import drift_text, precision_names
from biasgrid.tables.metric import CONTROL
from biasgrid.tables.summary import SIGNIFICANT_TESTS, line_counts

DASH = "\N{EN DASH}"


@dataclass(frozen=True)
class Card:
    """The content of a card.

    Attributes:
        model: the model's name in the config.
        summary: its rows of the summary (schema `SUMMARY`).
        manifest: the manifest of the run.
        level: the coverage of intervals.
        finding: the verdicts of its cells.
        command: the command that computes the results again.
        facts: ranges of measures, and the share of each dataset that was asked.
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
        """The description of its datasets, by name: `title`, `about` and `control_of`."""
        return {name: self.manifest["datasets"][name] for name in self.cells}


def model_card(
    model: str,
    *,
    summary: pl.DataFrame,
    manifest: Mapping[str, Any],
    level: float,
    model_findings: Mapping[str, Finding],
    command: str,
    facts: GridFacts = NO_FACTS,
) -> ModelCard:
    """Writes a card.

    Args:
        model: the model's name in the config.
        summary: schema `SUMMARY`, of all models.
        manifest: the manifest of the run.
        level: the coverage of intervals.
        model_findings: the verdicts of each model's cells, by model.
        command: the command that computes the results again.
        facts: ranges of measures, and the share of each dataset that was asked.

    Returns:
        The card, whose text is Markdown behind metadata in YAML.

    Raises:
        InputError: there is no such model, or the manifest is older than cards.
    """
    models = summary["model"].unique(maintain_order=True).to_list()
    faults = list(unknown_names("--model", "", [model], models))
    if "datasets" not in manifest:
        problem, expected = "does not record what was asked", "a run of this version: run again"
        faults.append(Fault("manifest.json", "", problem, expected))
    if faults:
        raise InputError(faults)
    own_rows = summary.filter(model=model)
    card = Card(model, own_rows, manifest, level, model_findings[model], command, facts)
    data = ModelCardData(model_name=model, eval_results=list(results(card)))
    return ModelCard(f"---\n{data.to_yaml()}\n---\n{card_text(card)}")


def results(card: Card) -> Iterator[EvalResult]:
    """Yields the headlines that have a value, with intervals as arguments of their metrics.

    The argument `n` is the number of units measured in a dataset, as in the summary; not the number
    of means that a number averages.
    """
    unit_counts = line_counts(card.summary)
    for row in card.summary.filter("headline").drop_nulls("value").iter_rows(named=True):
        arguments = {}
        for name in ("low", "high", "null_mean", "clusters"):
            if row[name] is not None:
                arguments[name] = row[name]
        arguments["n"] = unit_counts[row["dataset"], row["bias_type"]]
        if row["dataset"] in card.facts.units:
            arguments["n_counts"] = card.facts.units[row["dataset"]]
        if row["measure"] == SIGNIFICANT_TESTS:
            arguments["tested"] = row["n"]
        if "low" in arguments:
            arguments["level"] = card.level
        yield EvalResult(
            task_type=card.cells[row["dataset"]]["task"],
            dataset_type=f"biasgrid/{row['dataset']}",
            dataset_name=card.datasets[row["dataset"]]["title"],
            dataset_config=row["bias_type"],
            metric_type=row["measure"],
            metric_name=row["measure"].replace("_", " "),
            metric_value=row["value"],
            metric_config=row["options"] or None,
            metric_args=arguments,
        )


def card_text(card: Card) -> str:
    """Returns the Markdown of a card."""
    unit_counts = line_counts(card.summary)
    rows, factors = [], []
    for row in card.summary.filter("headline").to_dicts():
        n = unit_counts[row["dataset"], row["bias_type"]]
        rows.append(row | number_texts(row, card.facts) | {"n": n})
        if row["low"] is not None:
            factors.append(row["generalises_to"])
    controls = []
    for row in card.summary.filter(measure=CONTROL).to_dicts():
        _, _, name = row["options"].partition("=")
        controls.append(row | {"name": name})
    checks = card.summary.filter(~pl.col("headline"), pl.col("measure") != CONTROL)
    flags = checks.drop_nulls("flag").select("dataset", "flag").unique(maintain_order=True)
    record = card.manifest["models"].get(card.model, {})
    return markdown_template("card.md").render(
        card=card,
        rows=rows,
        trial=card.facts.trial_text([card.model]),
        asked_in_part=card.facts.coverage_sentences([card.model]),
        factors=list(dict.fromkeys(factors)),
        controls=controls,
        flags=flags.to_dicts(),
        source=record.get("checkpoint") or record.get("folder"),
        revision=record.get("revision") or record.get("weights"),
        precision=precision_names(card.cells.values()),
        drift=drift_text(card.cells.values()),
        manifest=card.manifest,
        command=card.command,
    )


def number_texts(row: Mapping[str, Any], facts: GridFacts) -> dict[str, str]:
    """Returns the value of a number, and its interval or noise floor, in words.

    Args:
        row: its row of the summary.
        facts: ranges of measures.

    Returns:
        `number` and `interval`, each a dash if there is none.
    """
    if row["measure"] == SIGNIFICANT_TESTS:
        untestable = f", {row['left_out']:,} could not be tested" if row["left_out"] else ""
        count = DASH if row["value"] is None else f"{row['value']:.0f}"
        return {"number": count, "interval": f"of {row['n']:,} tested{untestable}"}
    value_range = facts.value_range(dataset=row["dataset"], measure=row["measure"])
    estimate_text = format_estimate(row, value_range)
    number = DASH if row["value"] is None else with_minus(estimate_text.value)
    interval = with_minus(estimate_text.interval)
    if not interval and row["null_mean"] is not None:
        interval = f"noise alone gives {format_number(row['null_mean'])}"
    if estimate_text.says_little:
        interval = f"{interval} ({TOO_LITTLE})"
    return {"number": number, "interval": interval or DASH}
