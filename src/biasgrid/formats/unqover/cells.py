"""Writes the results of a config as UnQover's files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, cast

import polars as pl

from biasgrid.base.faults import Fault, InputError, nearest_name, one_of
from biasgrid.base.sections import Scoring
from biasgrid.families import underspecified
from biasgrid.families.underspecified.family import (
    cell_faults,
    is_generative,
    underspecified_datasets,
)
from biasgrid.formats.unqover import GroupBy
from biasgrid.formats.unqover.export import output_json, source_json, write_in_parts
from biasgrid.formats.unqover.log import log_text
from biasgrid.runs.results import TablesOfCells
from biasgrid.tables.files import TableError, read_provenance


class ScoredCell(NamedTuple):
    """The instances of a cell, its predictions and their scoring."""

    instances: pl.DataFrame
    predictions: pl.DataFrame
    scoring: Scoring


class Cells(TablesOfCells):
    """The cells of a dataset, and the places of their tables."""

    def __init__(self, config: Path, dataset: str):
        """Reads the config.

        Raises:
            InputError: the config has faults, or not this dataset.
        """
        super().__init__(config, dataset, underspecified.__name__)
        self.datasets = underspecified_datasets(self.config)

    def write_source(self, variant: str, out: Path) -> None:
        """Writes a variant's `source.json`.

        Raises:
            UserError: the dataset has no such variant, or its instances are missing or damaged.
        """
        write_in_parts(out, source_json(self.variant_instances(variant)))

    def write_output(self, model: str, out: Path) -> None:
        """Writes a model's `output.json`.

        Raises:
            UserError: the config has no such cell, or a table is missing or damaged.
        """
        write_in_parts(out, output_json(*self.with_scoring(model)))

    def write_log(self, model: str, group_by: GroupBy, out: Path) -> None:
        """Writes the output of UnQover's analysis of a model's `output.json`.

        Raises:
            UserError: as for `write_output`, or the dataset cannot be grouped so.
        """
        cell = self.with_scoring(model)
        name = str(self.layout.predictions_of_cell(self.dataset, model)[0].parent)
        write_in_parts(out, [log_text(*cell, group_by, name)])

    def variant_instances(self, variant: str) -> pl.DataFrame:
        """Reads the instances of a variant; raises as `write_source` does."""
        variants = self.datasets[self.dataset].variants
        key = f"datasets.{self.dataset}.variants"
        self.refuse_generative(f"{key}.{variant}", variant)
        if variant not in variants:
            problem = f"unknown variant {variant!r}{nearest_name(variant, variants)}"
            raise InputError([Fault(str(self.path), key, problem, one_of(variants))])
        return self.instances(self.layout.instances(self.dataset, variant))

    def cell_faults(self, model: str) -> list[Fault]:
        """Returns the reasons why a model of the config cannot answer the dataset."""
        return list(cell_faults(self.config, str(self.path), model, self.dataset))

    def with_scoring(self, model: str) -> ScoredCell:
        """Reads the cell of a model; raises as `write_output` does."""
        if model in self.config.models:
            self.refuse_generative(f"models.{model}", self.config.models[model].variant or "")
        instances, predictions = self.instances_and_predictions(model)
        scoring = read_scoring(self.layout.predictions_of_cell(self.dataset, model))
        return ScoredCell(instances, predictions, scoring)

    def refuse_generative(self, key: str, variant: str) -> None:
        """Refuses a variant for generative models.

        Args:
            key: the place of the variant in the config, for the message.
            variant: the variant; empty if a model has the default one, which is not refused.

        Raises:
            InputError: the variant is for generative models.
        """
        if not is_generative(variant):
            return
        problem = (
            f"{variant!r} is for generative models, whose lettered options do not fit UnQover's "
            "files"
        )
        expected = (
            "a variant for question answering (`qa`) or for masked language models (`lm-...`)"
        )
        raise InputError([Fault(str(self.path), key, problem, expected)])


def read_scoring(paths: Sequence[Path]) -> Scoring:
    """Returns the scoring in the provenance of predictions, as the config may have changed since.

    Args:
        paths: the shards of the predictions, at least one.

    Raises:
        TableError: the shards have different scorings, or none.
    """
    scorings = {read_provenance(path).get("scoring") for path in paths}
    if scorings not in ({"exact"}, {"unqover"}):
        names = ", ".join(sorted(map(str, scorings)))
        raise TableError(f"{paths[0].parent}: scored as {names}; expected all exact or all unqover")
    return cast(Scoring, scorings.pop())
