"""A folder of results as typed tables, for scripts and notebooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import join
from typing import Any

import pandera.polars as pa
import polars as pl

from biasgrid.base.faults import Fault, InputError, UserError, unknown_names
from biasgrid.base.files import nearest_path, read_run_json
from biasgrid.base.references import load, stage_module
from biasgrid.config import load_config, read_config
from biasgrid.families.cell import observe_in_parts, whole_table
from biasgrid.families.responses import read_scorers
from biasgrid.runs.checks import is_results
from biasgrid.runs.layout import Layout
from biasgrid.tables.comparison import AGREEMENT, COMPARISONS, CONVERGENCE, RANKS
from biasgrid.tables.completeness import CellSource, read_whole_cell
from biasgrid.tables.evidence import EVIDENCE, EVIDENCE_PARTS
from biasgrid.tables.files import read_provenance, read_table, read_tables
from biasgrid.tables.instances import read_instances
from biasgrid.tables.measures import DESIGN, INTERVALS, MEASURES, SUMMARY, SYNTHETIC
from biasgrid.tables.provenance import cell_provenance
from biasgrid.tables.sums import SUMS
from biasgrid.tables.verdicts import VERDICTS


def find_results(path: Path) -> Path:
    """Returns the folder of results at a path; of a config, the folder that it names.

    Raises:
        UserError: there is none, with the folders of results beside or below it.
        InputError: the config cannot be read.
    """
    if path.suffix in (".yaml", ".yml") and path.is_file():
        results = Path(str(read_config(path).get("results", "results"))).expanduser()
        if not results.is_dir():
            raise UserError(f"{path}: was not run yet; to run it: biasgrid run {path}")
        return results
    if path.is_dir():
        inner = [folder for folder in sorted(path.iterdir()) if is_results(folder)]
        if is_results(path) or not inner:
            return path
        folders = ", ".join(map(str, inner))
        raise UserError(f"{path}: contains folders of results; expected one of {folders}")
    hint = nearest_path(path)[1] if not path.exists() else ""
    raise UserError(
        f"there is no folder {path}{hint}; expected the `results` of a config that was run"
    )


class Results:
    """The tables of a run. Each call reads a table and checks it against its schema.

    Methods raise UserError if a file is missing, and TableError if a table is damaged.

    Attributes:
        folder: the folder of results.
    """

    def __init__(self, folder: str | Path):
        """Opens a folder of results.

        Raises:
            UserError: there is no such folder.
        """
        self.folder = Path(folder)
        if not self.folder.is_dir():
            raise UserError(
                f"there is no folder {folder}; expected the `results` of a config that was run"
            )

    def summary(self) -> pl.DataFrame:
        """Returns the measures of whole cells and bias types: columns of `SUMMARY`."""
        return read_table(self._existing("summary.parquet"), SUMMARY)

    def verdicts(self) -> pl.DataFrame:
        """Returns the claims on each cell, one row per cell: columns of `VERDICTS`."""
        return read_table(self._existing("verdicts.parquet"), VERDICTS)

    def measures(self, dataset: str = "*", model: str = "*") -> pl.DataFrame:
        """Returns all measures of some cells, by default of all: columns of `MEASURES`."""
        return self._cells("measures", dataset, model, MEASURES)

    def intervals(self, dataset: str = "*", model: str = "*") -> pl.DataFrame:
        """Returns intervals of measures over factors beside the claims: columns of `INTERVALS`."""
        return self._cells("intervals", dataset, model, INTERVALS)

    def sums(self, dataset: str = "*", model: str = "*") -> pl.DataFrame:
        """Returns the sums from which numbers of some cells are computed: columns of `SUMS`."""
        return self._cells("sums", dataset, model, SUMS)

    def design(self, dataset: str = "*", model: str = "*") -> pl.DataFrame:
        """Returns the parts of the variance of some cells, and the influence of each cluster.

        Returns:
            Columns of `DESIGN`.
        """
        return self._cells("design", dataset, model, DESIGN)

    def observations(self, dataset: str, model: str) -> pl.DataFrame:
        """Returns the observations behind a cell's measures, such as the findings of an evaluator.

        They are made again from the cell's predictions, in the family's own columns.
        """
        cell = read_provenance(self._existing(f"sums/{dataset}/{model}.parquet"))["cell"]
        predictions = [self.folder / path for path in cell["predictions"]]
        scorers = read_cell_scorers(self.folder, cell, predictions)
        observations = observe_in_parts(
            cell["family"],
            self.folder / cell["instances"],
            predictions,
            cell["answer"],
            cell["options"],
            f"{model} on {dataset}",
            scorers,
        )
        return whole_table(observations)

    def evidence(self, dataset: str = "*", model: str = "*") -> pl.DataFrame:
        """Returns the sentences behind measures of some cells: columns of `EVIDENCE`."""
        return self._cells("evidence", dataset, model, EVIDENCE)

    def evidence_parts(self, dataset: str = "*", model: str = "*") -> pl.DataFrame:
        """Returns these measures by template and by partner: columns of `EVIDENCE_PARTS`."""
        return self._cells("evidence_parts", dataset, model, EVIDENCE_PARTS)

    def comparisons(self, dataset: str = "*") -> pl.DataFrame:
        """Returns differences of the models of datasets, by pairs: columns of `COMPARISONS`."""
        return self._datasets("comparisons", dataset, COMPARISONS)

    def ranks(self, dataset: str = "*") -> pl.DataFrame:
        """Returns the ranks of the models of datasets: columns of `RANKS`."""
        return self._datasets("ranks", dataset, RANKS)

    def agreement(self, dataset: str = "*") -> pl.DataFrame:
        """Returns the agreement of models on the order of subjects: columns of `AGREEMENT`."""
        return self._datasets("agreement", dataset, AGREEMENT)

    def convergence(self) -> pl.DataFrame:
        """Returns the agreement of datasets across families on groups: columns of `CONVERGENCE`."""
        return read_table(self._existing("convergence.parquet"), CONVERGENCE)

    def synthetic(self, dataset: str = "*") -> pl.DataFrame:
        """Returns the known effect in datasets, if there is one: columns of `SYNTHETIC`."""
        paths = sorted(self.folder.glob(f"synthetic/{dataset}/synthetic.parquet"))
        return read_tables(paths, SYNTHETIC)

    def manifest(self) -> dict[str, Any]:
        """Returns the manifest: outputs with origin, times and digests."""
        manifest: dict[str, Any] = read_run_json(self._existing("manifest.json"), "a manifest")
        return manifest

    def provenance(self, table: str) -> dict[str, Any]:
        """Returns the provenance of a table.

        Args:
            table: its path below the folder, such as `summary.parquet`.
        """
        return read_provenance(self._existing(table))

    def _existing(self, name: str) -> Path:
        """Returns the path of a file; raises UserError if it is missing."""
        path = self.folder / name
        if not path.is_file():
            raise UserError(
                f"there is no {path}; expected a finished run: see `biasgrid status CONFIG`"
            )
        return path

    def _cells(
        self, name: str, dataset: str, model: str, schema: pa.DataFrameSchema
    ) -> pl.DataFrame:
        """Reads tables of cells; `*` is any name. Raises UserError if there is none."""
        paths = sorted(self.folder.glob(f"{name}/{dataset}/{model}.parquet"))
        if not paths:
            raise UserError(
                f"there is no {self.folder}/{name}/{dataset}/{model}.parquet; expected a cell of "
                "the run"
            )
        return read_tables(paths, schema)

    def _datasets(self, name: str, dataset: str, schema: pa.DataFrameSchema) -> pl.DataFrame:
        """Reads tables of datasets; `*` is any name. Raises UserError if there is none."""
        paths = sorted(self.folder.glob(f"{name}/{dataset}.parquet"))
        if not paths:
            raise UserError(
                f"there is no {self.folder}/{name}/{dataset}.parquet; expected a dataset of the run"
            )
        return read_tables(paths, schema)


def read_cell_scorers(
    results: Path, cell: Mapping[str, Any], predictions: Sequence[Path] = ()
) -> dict[str, pl.DataFrame]:
    """Reads the responses of scorers to the texts of a cell; empty without scorers.

    Args:
        results: the folder of results.
        cell: the fact `cell` in the provenance of its sums; see `families.cell.cell_location`.
        predictions: the cell's predictions, which must contain the texts; not checked by default.

    Returns:
        By scorer its responses, in no order, each with the `text` that it is about.
    """
    if not cell.get("texts"):
        return {}
    files = {}
    for scorer, (kind, path) in cell["scorers"].items():
        files[scorer] = kind, str(results / path)
    return read_scorers(files, results / cell["texts"], predictions)


class TablesOfCells:
    """The instances and predictions of a dataset, in the folder of results of a config.

    Attributes:
        path: the config's file.
        config: the config.
        layout: the places of its files.
        dataset: the dataset's name.
        keys: the key columns in the instances of its family.
    """

    def __init__(self, config: Path, dataset: str, family: str):
        """Reads the config.

        Args:
            config: its file.
            dataset: the dataset's name.
            family: the reference of the family of the dataset.

        Raises:
            InputError: the config has faults, or no such dataset of this family.
        """
        self.path = config
        self.config = load_config(config)
        self.layout = Layout(self.config)
        self.dataset = dataset
        datasets = [
            name for name in self.config.datasets if self.config.family_reference(name) == family
        ]
        self.refuse(list(unknown_names(str(config), "datasets", [dataset], datasets)))
        self.keys = load(stage_module(family, "keys")).KEYS

    def refuse(self, faults: Sequence[Fault]) -> None:
        """Raises an InputError if there are faults."""
        if faults:
            raise InputError(faults)

    def cell_faults(self, model: str) -> list[Fault]:
        """Returns a fault if a model of the config cannot answer the dataset, else none."""
        if self.config.fits(model, self.dataset):
            return []
        problem = f"{self.dataset!r} is not for {model!r}"
        expected = self.config.family(self.dataset).expected
        return [Fault(str(self.path), "--model", problem, expected)]

    def instances(self, path: Path) -> pl.DataFrame:
        """Reads a table of instances.

        Raises:
            UserError: it is missing or damaged.
        """
        self.check_there([path])
        return read_instances(path, self.keys)

    def instances_and_predictions(self, model: str) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Reads the instances that a model answers, and its predictions.

        Raises:
            InputError: there is no such model, or it cannot answer the dataset.
            UserError: a table is missing or damaged, or the predictions are for other instances.
        """
        self.refuse(list(unknown_names(str(self.path), "models", [model], self.config.models)))
        self.refuse(self.cell_faults(model))
        instances = self.layout.instances_of_cell(self.dataset, model)
        paths = self.layout.predictions_of_cell(self.dataset, model)
        self.check_there([instances, *paths])
        cell_provenance(instances, paths)
        kind = self.config.question(model, self.dataset).answer
        name = f"{model} on {self.dataset}"
        return read_whole_cell(CellSource(instances, paths, self.keys, kind, name))

    def check_there(self, paths: Sequence[Path]) -> None:
        """Refuses missing tables.

        Raises:
            UserError: with the command that makes them.
        """
        missing = [str(path) for path in paths if not path.exists()]
        if missing:
            command = join(["biasgrid", "run", str(self.path), *missing])
            raise UserError(f"{missing[0]}: there is no such table; to make it, run\n  {command}")
