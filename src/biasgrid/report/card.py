"""The bias section of a model card: Markdown, and evaluation results in the hub's format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl
from huggingface_hub import EvalResult, ModelCard, ModelCardData

from biasgrid.base.faults import Fault, InputError, unknown_names
from biasgrid.report.page import markdown_template, number_format
from biasgrid.tables.metric import CONTROL


@dataclass(frozen=True)
class Card:
    """What a card is made of.

    Attributes:
        model: the model's name in the config.
        summary: its rows of the summary (schema `SUMMARY`).
        manifest: what the run has made.
        level: the coverage of intervals.
        finding: what was found of it, in a sentence.
        command: what makes the results again.
    """

    model: str
    summary: pl.DataFrame
    manifest: Mapping[str, Any]
    level: float
    finding: str
    command: str

    @property
    def cells(self) -> dict[str, Mapping[str, Any]]:
        """The facts of its cells in the manifest, by dataset."""
        return {cell["dataset"]: cell for cell in self.manifest["cells"] if cell["model"] == self.model}

    @property
    def datasets(self) -> dict[str, Mapping[str, Any]]:
        """What was asked, by dataset: `title`, `about` and `control_of`."""
        return {name: self.manifest["datasets"][name] for name in self.cells}


def card_of(
    model: str, summary: pl.DataFrame, manifest: Mapping[str, Any], level: float, found: Mapping[str, str], command: str
) -> ModelCard:
    """Makes a card.

    Args:
        model: the model's name in the config.
        summary: schema `SUMMARY`, of all models.
        manifest: what the run has made.
        level: the coverage of intervals.
        found: what was found of each model, in a sentence.
        command: what makes the results again.

    Returns:
        The card, whose text is Markdown behind metadata in YAML.

    Raises:
        InputError: there is no such model, or the manifest is older than cards.
    """
    faults = list(unknown_names("--model", "", [model], summary["model"].unique(maintain_order=True).to_list()))
    if "datasets" not in manifest:
        faults.append(Fault("manifest.json", "", "does not say what was asked", "one of this version: run again"))
    if faults:
        raise InputError(faults)
    card = Card(model, summary.filter(model=model), manifest, level, found[model], command)
    data = ModelCardData(model_name=model, eval_results=list(results(card)))
    return ModelCard(f"---\n{data.to_yaml()}\n---\n{card_text(card)}")


def results(card: Card) -> Iterator[EvalResult]:
    """Yields the headlines that have a value, with intervals as arguments of their metrics."""
    for row in card.summary.filter("headline").drop_nulls("value").iter_rows(named=True):
        known = {name: row[name] for name in ("low", "high", "null_mean", "clusters", "n") if row[name] is not None}
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
    rows = card.summary.filter("headline").to_dicts()
    controls = card.summary.filter(measure=CONTROL).to_dicts()
    flags = card.summary.filter(~pl.col("headline"), pl.col("measure") != CONTROL).drop_nulls("flag")
    record = card.manifest["models"].get(card.model, {})
    return markdown_template("card.md").render(
        card=card,
        rows=[row | {"interval": interval_in_words(row)} for row in rows],
        controls=[row | {"name": row["options"].partition("=")[2]} for row in controls],
        flags=flags.select("dataset", "flag").unique(maintain_order=True).to_dicts(),
        source=record.get("checkpoint") or record.get("folder"),
        revision=record.get("revision") or record.get("weights"),
        precisions=list(dict.fromkeys(cell["precision"] for cell in card.cells.values() if cell.get("precision"))),
        manifest=card.manifest,
        command=card.command,
    )


def interval_in_words(row: Mapping[str, Any]) -> str:
    """Returns the interval or noise floor of a number in words."""
    if row["low"] is not None:
        return f"{number_format(row['low'])} to {number_format(row['high'])}"
    return f"noise floor {number_format(row['null_mean'])}" if row["null_mean"] is not None else "\N{EN DASH}"
