"""Writes the results of a config as UnQover's files."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, cast

import polars as pl

from biasgrid.config import parse_config, read_config
from biasgrid.families.underspecified.faults import cell_faults, datasets_of
from biasgrid.families.underspecified.keys import KEYS
from biasgrid.faults import Fault, InputError, UserError, nearest, one_of, unknown_names
from biasgrid.runs.layout import Layout
from biasgrid.section import Scoring
from biasgrid.tables.completeness import read_cell
from biasgrid.tables.files import TableError, read_provenance
from biasgrid.tables.instances import read_instances
from biasgrid.unqover import GroupBy
from biasgrid.unqover.export import output_json, source_json, write_text
from biasgrid.unqover.log import log_text


class Answered(NamedTuple):
    """What a cell's files hold."""

    instances: pl.DataFrame
    predictions: pl.DataFrame
    scoring: Scoring


class Cells:
    """The cells of a dataset, and where a config has their tables."""

    def __init__(self, config: Path, dataset: str):
        """Reads the config.

        Raises:
            InputError: the config has faults, or not this dataset.
        """
        self.path = config
        self.config = parse_config(read_config(config), str(config))
        self.layout = Layout(self.config)
        self.dataset = dataset
        self.datasets = datasets_of(self.config)
        faults = list(unknown_names(str(config), "datasets", [dataset], self.datasets))
        if faults:
            raise InputError(faults)

    def write_source(self, variant: str, out: Path) -> None:
        """Writes a variant's `source.json`.

        Raises:
            UserError: the dataset has no such variant, or its instances are missing or damaged.
        """
        write_text(out, source_json(self.instances(variant)))

    def write_output(self, model: str, out: Path) -> None:
        """Writes a model's `output.json`.

        Raises:
            UserError: the config has no such cell, or a table is missing or damaged.
        """
        write_text(out, output_json(*self.answered(model)))

    def write_log(self, model: str, group_by: GroupBy, out: Path) -> None:
        """Writes what UnQover's analysis prints of a model's `output.json`.

        Raises:
            UserError: as for `write_output`, or the dataset cannot be grouped so.
        """
        answered = self.answered(model)
        name = str(self.layout.predictions_of_cell(self.dataset, model)[0].parent)
        write_text(out, [log_text(*answered, group_by, name)])

    def instances(self, variant: str) -> pl.DataFrame:
        """Reads the instances of a variant."""
        variants = self.datasets[self.dataset].variants
        if variant not in variants:
            problem = f"unknown variant {variant!r}{nearest(variant, variants)}"
            raise InputError([Fault(str(self.path), f"datasets.{self.dataset}.variants", problem, one_of(variants))])
        return self.read_instances(self.layout.instances(self.dataset, variant))

    def read_instances(self, path: Path) -> pl.DataFrame:
        """Reads a table of instances."""
        self.check_there([path])
        return read_instances(path, KEYS)

    def answered(self, model: str) -> Answered:
        """Reads the instances that a model answers, and its predictions."""
        faults = list(unknown_names(str(self.path), "models", [model], self.config.models))
        faults = faults or list(cell_faults(self.config, str(self.path), model, self.dataset))
        if faults:
            raise InputError(faults)
        instances = self.layout.instances_of_cell(self.dataset, model)
        paths = self.layout.predictions_of_cell(self.dataset, model)
        self.check_there([instances, *paths])
        kind = self.config.question(model, self.dataset).answer
        return Answered(
            *read_cell(instances, paths, KEYS, kind, f"{model} on {self.dataset}"), scoring=self.scoring(paths)
        )

    def scoring(self, paths: list[Path]) -> Scoring:
        """Returns how the predictions were scored, which may not be what the config says by now.

        Raises:
            TableError: the shards do not agree.
        """
        found = {read_provenance(path).get("scoring") for path in paths}
        if found not in ({"exact"}, {"unqover"}):
            scorings = ", ".join(sorted(map(str, found)))
            raise TableError(f"{paths[0].parent}: scored as {scorings}; expected all exact or all unqover")
        return cast(Scoring, found.pop())

    def check_there(self, paths: list[Path]) -> None:
        """Refuses tables that are not there, and says how they are made.

        Raises:
            UserError: with the targets of Snakemake.
        """
        missing = [str(path) for path in paths if not path.exists()]
        if missing:
            command = f"snakemake --configfile {self.path} --cores all {' '.join(missing)}"
            raise UserError(f"{missing[0]}: there is no such table; make it with\n  {command}")
