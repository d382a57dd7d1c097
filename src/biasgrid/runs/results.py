"""A folder of results as typed tables, for scripts and notebooks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandera.polars as pa
import polars as pl

from biasgrid.base.faults import UserError
from biasgrid.base.files import read_made
from biasgrid.tables.comparison import AGREEMENT, COMPARISONS, RANKS
from biasgrid.tables.evidence import EVIDENCE, EVIDENCE_PARTS
from biasgrid.tables.files import read_provenance, read_table, read_tables
from biasgrid.tables.measures import MEASURES, SUMMARY
from biasgrid.tables.statistics import STATISTICS
from biasgrid.tables.synthetic import PLANTED


class Results:
    """The tables of a run, read when they are asked for and checked against their schemas.

    Attributes:
        folder: the folder of results.
    """

    def __init__(self, folder: str | Path):
        """Looks whether there is such a folder.

        Raises:
            UserError: there is none.
        """
        self.folder = Path(folder)
        if not self.folder.is_dir():
            raise UserError(f"there is no folder {folder}; expected the `results` of a config that was run")

    def summary(self) -> pl.DataFrame:
        """Returns the measures of whole cells and bias types, shape (rows, columns of `SUMMARY`)."""
        return read_table(self._there("summary.parquet"), SUMMARY)

    def measures(self, dataset: str = "*", model: str = "*") -> pl.DataFrame:
        """Returns all measures of some cells, those of all by default: columns of `MEASURES`."""
        return self._cells("measures", dataset, model, MEASURES)

    def statistics(self, dataset: str = "*", model: str = "*") -> pl.DataFrame:
        """Returns how sure the measures of some cells are: columns of `STATISTICS`."""
        return self._cells("statistics", dataset, model, STATISTICS)

    def evidence(self, dataset: str = "*", model: str = "*") -> pl.DataFrame:
        """Returns the sentences behind measures of some cells: columns of `EVIDENCE`."""
        return self._cells("evidence", dataset, model, EVIDENCE)

    def evidence_parts(self, dataset: str = "*", model: str = "*") -> pl.DataFrame:
        """Returns what these measures are by template and by partner: columns of `EVIDENCE_PARTS`."""
        return self._cells("evidence_parts", dataset, model, EVIDENCE_PARTS)

    def comparisons(self, dataset: str = "*") -> pl.DataFrame:
        """Returns how the models of datasets differ, pair by pair: columns of `COMPARISONS`."""
        return self._datasets("comparisons", dataset, COMPARISONS)

    def ranks(self, dataset: str = "*") -> pl.DataFrame:
        """Returns the ranks of the models of datasets: columns of `RANKS`."""
        return self._datasets("ranks", dataset, RANKS)

    def agreement(self, dataset: str = "*") -> pl.DataFrame:
        """Returns how alike models order the subjects of datasets: columns of `AGREEMENT`."""
        return self._datasets("agreement", dataset, AGREEMENT)

    def planted(self, dataset: str = "*") -> pl.DataFrame:
        """Returns what is planted in datasets: columns of `PLANTED`, no rows where nothing is."""
        return read_tables(sorted(self.folder.glob(f"planted/{dataset}/planted.parquet")), PLANTED)

    def manifest(self) -> dict[str, Any]:
        """Returns what was made, how and how fast."""
        manifest: dict[str, Any] = read_made(self._there("manifest.json"), "a manifest")
        return manifest

    def provenance(self, table: str) -> dict[str, Any]:
        """Returns who made a table.

        Args:
            table: its path below the folder, such as `summary.parquet`.
        """
        return read_provenance(self._there(table))

    def _there(self, name: str) -> Path:
        path = self.folder / name
        if not path.is_file():
            raise UserError(f"there is no {path}; expected a finished run: see `biasgrid status CONFIG`")
        return path

    def _cells(self, name: str, dataset: str, model: str, schema: pa.DataFrameSchema) -> pl.DataFrame:
        paths = sorted(self.folder.glob(f"{name}/{dataset}/{model}.parquet"))
        if not paths:
            raise UserError(f"there is no {self.folder}/{name}/{dataset}/{model}.parquet; expected a cell of the run")
        return read_tables(paths, schema)

    def _datasets(self, name: str, dataset: str, schema: pa.DataFrameSchema) -> pl.DataFrame:
        paths = sorted(self.folder.glob(f"{name}/{dataset}.parquet"))
        if not paths:
            raise UserError(f"there is no {self.folder}/{name}/{dataset}.parquet; expected a dataset of the run")
        return read_tables(paths, schema)
