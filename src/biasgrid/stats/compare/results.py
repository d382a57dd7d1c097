"""Comparisons of finished results: of two models of a run, or of the same models of two runs, with
sentences.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import polars as pl

from biasgrid.base.faults import UserError, nearest_name, one_of
from biasgrid.stats.compare.all_pairs import compare_runs
from biasgrid.stats.compare.cells import ComparedCell, read_compared_cell
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.tables.claims.marks import Mark
from biasgrid.tables.comparison import COMPARISONS
from biasgrid.tables.evidence import EVIDENCE
from biasgrid.tables.files import read_provenance, read_tables
from biasgrid.tables.key_columns import KEYS

SIDE_COLUMNS = {"value": "other_value", "model": "other_model", "mark": "other_mark"}
INTERVAL_ENDS = {"low": "high", "selected_low": "selected_high"}
EVIDENCE_ROLES = ("strongest", "typical")
"""Values of the column `role` of sentences that illustrate a number, in alphabetical order."""


class Difference(NamedTuple):
    """The differences of two models on a dataset.

    Attributes:
        dataset: its name.
        name: the name of a model, with its folder of results if two runs are compared.
        other_name: the name of the model whose numbers are subtracted, likewise.
        rows: rows of `COMPARISONS` about these two.
        evidence: rows of `EVIDENCE` of both, those of the first model first.
        level: the level of intervals, such as 0.95.
    """

    dataset: str
    name: str
    other_name: str
    rows: pl.DataFrame
    evidence: pl.DataFrame
    level: float

    def illustrating_sentence(self, row: Mapping[str, Any]) -> str | None:
        """Returns a stored sentence about the keys of a row of `rows`, None without any.

        It may be of either model and of any measure. A strongest one precedes typical ones, and a
        plain one those that are negated or swapped; of equal ones the first model's is returned.
        """
        sentences = self.evidence.filter(pl.col("role").is_in(EVIDENCE_ROLES))
        for key in KEYS:
            value = row[key.name]
            if value is None or key.sentences is None:
                continue
            is_of_value = pl.col(key.name) == value
            if key.sentences == "own and pooled":
                is_of_value |= pl.col(key.name).is_null()
            sentences = sentences.filter(is_of_value)
        # Plain sentences come before negated ones and swapped ones.
        order = ["role", "negated", "swapped"]
        ordered = sentences.sort(order, nulls_last=False, maintain_order=True)
        texts = ordered.select("text_pair", "text").head(1).rows()
        return " ".join(text for text in texts[0] if text) if texts else None


def compare_two_models(
    results: Path, model: str, other_model: str, dataset: str | None
) -> list[Difference]:
    """Returns the differences of two models, on all datasets that both answered or on one of them.

    Args:
        results: the folder of results.
        model: a model.
        other_model: the model whose numbers are subtracted.
        dataset: the dataset, None for all.

    Raises:
        UserError: there is no such model or dataset, or no table that compares them.
    """
    names = compared_datasets(results)
    if dataset is not None:
        refuse_unknown(dataset, names, f"{results}: no dataset", None)
        names = [dataset]
    rows = read_tables([results / f"comparisons/{name}.parquet" for name in names], COMPARISONS)
    models = [*dict.fromkeys([*rows["model"], *rows["other_model"]])]
    if not models:
        raise UserError(
            f"{results} compares no models; `biasgrid summary {results}` shows which "
            "models were measured"
        )
    for name in (model, other_model):
        refuse_unknown(name, models, f"{results}: no model", dataset)
    if model == other_model:
        raise UserError(
            f"{model!r} is given twice; expected two different models, or another folder of results"
        )
    differences = []
    for name in names:
        own_rows = two_model_rows(rows.filter(dataset=name), model, other_model)
        if len(own_rows):
            evidence = pl.concat(
                [read_evidence(results, name, side) for side in (model, other_model)]
            )
            level = comparison_settings(results / f"comparisons/{name}.parquet").level
            differences.append(Difference(name, model, other_model, own_rows, evidence, level))
    if not differences:
        raise UserError(f"no dataset of {results} was asked of both {model!r} and {other_model!r}")
    return differences


def refuse_single_model(results: Path, name: str | None) -> NoReturn:
    """Says what a folder of results, or a model in it, can be compared with.

    Args:
        results: the folder of results.
        name: what was given: a model, or a folder that does not exist; None for nothing.

    Raises:
        UserError: always.
    """
    cells = (measured_models(results, dataset) for dataset in compared_datasets(results))
    models = sorted({model for names in cells for model in names})
    if len(models) < 2:
        raise UserError(
            f"{results} has a single model, {', '.join(models)}; expected another folder of results"
        )
    first = name if name in models else models[0]
    second = next(model for model in models if model != first)
    problem = f"{name!r} is one model" if name in models else "no models are given"
    if name is not None and name not in models:
        problem = f"there is no folder and no model {name!r}{nearest_name(name, models)}"
    raise UserError(
        f"{problem}; expected another folder of results, or two models, as "
        f"in `biasgrid compare {results} {first} {second}`: {one_of(models)}"
    )


def two_model_rows(rows: pl.DataFrame, model: str, other_model: str) -> pl.DataFrame:
    """Returns the rows about two models, turned if the table has them in the opposite order."""
    forward = rows.filter(model=model, other_model=other_model)
    backward = rows.filter(model=other_model, other_model=model)
    exchanges = {"difference": -pl.col("difference")}
    for low, high in INTERVAL_ENDS.items():
        # The upper end of a difference is the lower end of its opposite.
        exchanges[low], exchanges[high] = -pl.col(high), -pl.col(low)
    for own, opposite in SIDE_COLUMNS.items():
        exchanges[own], exchanges[opposite] = pl.col(opposite), pl.col(own)
    return pl.concat([forward, backward.with_columns(**exchanges)])


def compare_two_runs(
    results: Path, other_results: Path, dataset: str | None
) -> Iterator[Difference]:
    """Yields the differences of the models of a run from the same ones of another, cell by cell.

    Args:
        results: a folder of results.
        other_results: the folder whose numbers are subtracted.
        dataset: the dataset, None for all that both have.

    Raises:
        UserError: one of them is no folder of results of this version, or they have no cell in
            common.
    """
    folders = (results, other_results)
    for folder in folders:
        if compared_datasets(folder) and not (folder / "sums").is_dir():
            raise UserError(f"there is no {folder}/sums; expected a finished run of this version")
    models_by_dataset = shared_models(results, other_results, dataset)
    if not any(models_by_dataset.values()):
        raise UserError(f"{results} and {other_results} have no model and dataset in common")
    for name, models in models_by_dataset.items():
        cells, other_cells = (read_cells(folder, name, models) for folder in folders)
        table = results / f"comparisons/{name}.parquet"
        settings = comparison_settings(table)
        rows = compare_runs(name, cells, other_cells, settings, read_marks(table))
        for model in models:
            evidence = pl.concat([read_evidence(folder, name, model) for folder in folders])
            titles = f"{results}, {model}", f"{other_results}, {model}"
            yield Difference(name, *titles, rows.filter(model=model), evidence, settings.level)


def shared_models(results: Path, other_results: Path, dataset: str | None) -> dict[str, list[str]]:
    """Returns the models that two runs have in common, by dataset; a list may be empty.

    Args:
        results: a folder of results.
        other_results: another one.
        dataset: the dataset, None for all that both have.

    Raises:
        UserError: the runs do not share the dataset.
    """
    other_names = compared_datasets(other_results)
    names = [name for name in compared_datasets(results) if name in other_names]
    if dataset is not None:
        refuse_unknown(
            dataset, names, f"{results} and {other_results} do not share the dataset", None
        )
        names = [dataset]
    models_by_dataset = {}
    for name in names:
        other_models = measured_models(other_results, name)
        models_by_dataset[name] = [
            model for model in measured_models(results, name) if model in other_models
        ]
    return models_by_dataset


def compared_datasets(results: Path) -> list[str]:
    """Returns the datasets of a run whose models are compared.

    Raises:
        UserError: there is no such folder, or there are none.
    """
    if not results.is_dir():
        raise UserError(
            f"there is no folder {results}; expected the `results` of a config that was run"
        )
    names = sorted(path.stem for path in results.glob("comparisons/*.parquet"))
    if not names:
        raise UserError(
            f"there is no {results}/comparisons; expected a finished run of this version"
        )
    return names


def measured_models(results: Path, dataset: str) -> list[str]:
    """Returns the models of a run that have sums of a dataset, sorted."""
    return sorted(path.stem for path in results.glob(f"sums/{dataset}/*.parquet"))


def read_cells(results: Path, dataset: str, models: Sequence[str]) -> list[ComparedCell]:
    """Reads the cells of some models on a dataset of a run."""
    cells = []
    for model in models:
        sums, measures, design = (
            results / table / dataset / f"{model}.parquet"
            for table in ("sums", "measures", "design")
        )
        cells.append(read_compared_cell(model, sums, measures, design))
    return cells


def read_evidence(results: Path, dataset: str, model: str) -> pl.DataFrame:
    """Returns the sentences of a cell; no rows if its file was deleted."""
    path = results / "evidence" / dataset / f"{model}.parquet"
    return read_tables([path] if path.is_file() else [], EVIDENCE)


def comparison_settings(table: Path) -> StatisticsSettings:
    """Returns the settings from the provenance of a table of comparisons."""
    return StatisticsSettings(**read_provenance(table)["statistics"])


def read_marks(table: Path) -> dict[str, list[Mark]]:
    """Returns the marks by measure from the provenance of a table of comparisons."""
    fields_of_marks: Mapping[str, list[Mapping[str, Any]]] = read_provenance(table)["marks"]
    marks = {}
    for measure, fields in fields_of_marks.items():
        marks[measure] = [Mark(**mark) for mark in fields]
    return marks


def refuse_unknown(name: str, existing: Sequence[str], problem: str, dataset: str | None) -> None:
    """Refuses a name that does not exist.

    Args:
        name: the name.
        existing: all names that exist.
        problem: the beginning of the message, such as `results: no model`.
        dataset: the dataset for the message, None if it does not matter.

    Raises:
        UserError: with the names that exist.
    """
    if name not in existing:
        where = f" on {dataset!r}" if dataset else ""
        raise UserError(
            f"{problem} {name!r}{where}{nearest_name(name, existing)}; expected {one_of(existing)}"
        )
