"""The tables of a dataset's cells, for those who write them as files of other projects."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from biasgrid.base.faults import Fault, InputError, UserError, unknown_names
from biasgrid.base.references import load, stage
from biasgrid.config import load_config
from biasgrid.runs.layout import Layout
from biasgrid.tables.completeness import read_cell
from biasgrid.tables.instances import read_instances
from biasgrid.tables.provenance import cell_provenance


class TablesOfCells:
    """The tables of the cells of a dataset, where a config has them.

    Attributes:
        path: the config's file.
        config: the config.
        layout: where its files lie.
        dataset: the dataset's name.
        keys: the columns of instances that its family has.
    """

    def __init__(self, config: Path, dataset: str, family: str):
        """Reads the config.

        Args:
            config: its file.
            dataset: the dataset's name.
            family: the reference of the family that the dataset must be of.

        Raises:
            InputError: the config has faults, or no such dataset.
        """
        self.path = config
        self.config = load_config(config)
        self.layout = Layout(self.config)
        self.dataset = dataset
        known = [name for name in self.config.datasets if self.config.reference_of_family(name) == family]
        self.refuse(list(unknown_names(str(config), "datasets", [dataset], known)))
        self.keys = load(stage(family, "keys")).KEYS

    def refuse(self, faults: Sequence[Fault]) -> None:
        """Raises an InputError if there are faults."""
        if faults:
            raise InputError(faults)

    def faults_of_cell(self, model: str) -> list[Fault]:
        """Returns what keeps a model of the config from answering the dataset."""
        if self.config.fits(model, self.dataset):
            return []
        expected = self.config.family(self.dataset).expected
        return [Fault(str(self.path), "--model", f"{self.dataset!r} is not for {model!r}", expected)]

    def instances(self, path: Path) -> pl.DataFrame:
        """Reads a table of instances.

        Raises:
            UserError: it is missing or damaged.
        """
        self.check_there([path])
        return read_instances(path, self.keys)

    def answered(self, model: str) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Reads the instances that a model answers, and its predictions.

        Raises:
            InputError: there is no such model, or the dataset is not for it.
            UserError: a table is missing or damaged, or the predictions are of other instances.
        """
        self.refuse(list(unknown_names(str(self.path), "models", [model], self.config.models)))
        self.refuse(self.faults_of_cell(model))
        instances = self.layout.instances_of_cell(self.dataset, model)
        paths = self.layout.predictions_of_cell(self.dataset, model)
        self.check_there([instances, *paths])
        cell_provenance(instances, paths)
        kind = self.config.question(model, self.dataset).answer
        return read_cell(instances, paths, self.keys, kind, f"{model} on {self.dataset}")

    def check_there(self, paths: Sequence[Path]) -> None:
        """Refuses tables that are not there, and says how they are made.

        Raises:
            UserError: with the targets of Snakemake.
        """
        missing = [str(path) for path in paths if not path.exists()]
        if missing:
            command = f"snakemake --configfile {self.path} --cores all {' '.join(missing)}"
            raise UserError(f"{missing[0]}: there is no such table; make it with\n  {command}")
