"""Finds all prompts and responses behind one number of a finished run, and computes the number from
them again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from biasgrid.base.faults import Fault, InputError, UserError, unknown_names
from biasgrid.base.references import exists, load, stage
from biasgrid.families.cell import MeasuredCell, measured_values
from biasgrid.families.responses import read_scorers
from biasgrid.tables.files import read_provenance, read_table
from biasgrid.tables.key_columns import GROUP_PAIR, KEYS
from biasgrid.tables.measures import MEASURES
from biasgrid.tables.provenance import cell_provenance, check_made_from

NAMING_KEYS = [key.name for key in KEYS if key.sentences]
"""The keys whose values name a number."""
KEYS_WITH_OTHER = [key.name for key in KEYS if key.sentences and key.tested_as]
"""The keys whose values are compared with the value of the option `--other`."""
AGREEMENT_TOLERANCE = 1e-9
"""Differences that another order of sums may make."""


class Explanation(NamedTuple):
    """The prompts and responses behind a number.

    Attributes:
        measure: the measure that is explained.
        measure_options: the options that it was computed with.
        stated: its value in the table of measures, None if it has none.
        flag: the reason why it has none.
        recomputed: its value from all instances that are concerned, None if nothing was measured.
        n: the number of things that the measure counts.
        units: all prompts and responses, a row per instance, unit by unit: columns of `EVIDENCE`.
    """

    measure: str
    measure_options: str
    stated: float | None
    flag: str | None
    recomputed: float | None
    n: int
    units: pl.DataFrame

    @property
    def agrees(self) -> bool:
        """Whether the table has the recomputed value; a number that is withheld always agrees."""
        if self.stated is None or self.recomputed is None:
            return self.flag is not None or self.stated is self.recomputed
        return math.isclose(self.stated, self.recomputed, rel_tol=0, abs_tol=AGREEMENT_TOLERANCE)


def explain_number(
    results: Path, model: str, dataset: str, about: Mapping[str, str]
) -> Explanation:
    """Explains a number; only rows that concern it are read.

    Args:
        results: the folder of results.
        model: a model of the run.
        dataset: a dataset of the run.
        about: the names of the number: `subject` and `attribute`, `bias_type` and `group`, or
            `measure`, by the dataset's family; and `other`, the group or subject that it is
            compared with, which names numbers of pairs of groups and narrows the rows that are
            shown of others.

    Raises:
        InputError: a name is unknown, or one is missing.
        UserError: the run is not finished, or the family has no such way.
        TableError: a table is damaged, or the measures were made from others.
    """
    path = cell_measures(results, model, dataset)
    measures = read_table(path, MEASURES)
    facts = read_provenance(path)
    cell = facts.get("cell")
    if cell is None:
        raise UserError(
            f"{path}: does not record what it was measured from, so biasgrid did not make it in a "
            "run; run again"
        )
    family, options = cell["family"], cell["options"]
    sentences = sentences_of_family(family)
    if sentences is None:
        raise UserError(
            f"the family of {dataset} cannot explain single numbers; see {results}/evidence for "
            "some of its texts"
        )
    observe = load(stage(family, "observe")).observe
    measure_cell = load(stage(family, "measures")).measure
    if "other" in sentences.explained:
        about = as_in_table(measures, about)
    check_explained(measures, about, sentences.explained, dataset)
    measure = sentences.explained_measure(about, options, dataset)
    options_text = sentences.measure_options(options)

    instances = results / cell["instances"]
    predictions = [results / table for table in cell["predictions"]]
    answered = cell_provenance(instances, predictions)
    # Measures that record no predictions are not compared: both sides are None.
    made_from = answered if "predictions" in facts else None
    check_made_from(path, "predictions", made_from, predictions[0])
    prompts = sentences.instances(instances, about)
    is_relevant = pl.col("instance").is_in(prompts["instance"].implode())
    responses = pl.scan_parquet(predictions, glob=False).filter(is_relevant).collect()
    scorers = scorers_of_cell(results, cell)
    observations = observe(prompts, responses, options, *([scorers] if scorers else []))

    names = {name: about[name] for name in sentences.explained}
    values = measured_values(measure_cell, observations, options | {"measures": []})
    recomputed = row_of_number(values, measure, options_text, names)
    stated = row_of_number(measures, measure, options_text, names)
    value = recomputed.get("value")
    if value is not None and math.isnan(value):
        value = None
    measured = MeasuredCell(prompts.lazy(), responses.lazy(), observations, measures, options)
    return Explanation(
        measure=measure,
        measure_options=options_text,
        stated=stated.get("value"),
        flag=stated.get("flag"),
        recomputed=value,
        n=recomputed.get("n", 0),
        units=sentences.explain(measured, about),
    )


def sentences_of_family(family: str) -> Any:
    """Returns the `SENTENCES` of a family, None if it cannot explain single numbers."""
    reference = stage(family, "evidence")
    if not exists(reference):
        return None
    return getattr(load(reference), "SENTENCES", None)


def scorers_of_cell(results: Path, cell: Mapping[str, Any]) -> dict[str, Any]:
    """Reads the responses of scorers to the texts of a cell, empty without scorers.

    Args:
        results: the folder of results.
        cell: the files of the cell in the provenance of its measures.
    """
    if not cell.get("texts"):
        return {}
    files = {
        scorer: (kind, str(results / file)) for scorer, (kind, file) in cell["scorers"].items()
    }
    return read_scorers(files, results / cell["texts"])


def cell_measures(results: Path, model: str, dataset: str) -> Path:
    """Returns the measures of a cell.

    Raises:
        InputError: there is no such dataset, or it was not asked of the model.
        UserError: nothing was measured in the folder.
    """
    cells = {(path.parent.name, path.stem) for path in results.glob("measures/*/*.parquet")}
    if not cells:
        raise UserError(
            f"there is no {results}/measures; expected the `results` of a config that was run"
        )
    datasets = sorted({measured for measured, _ in cells})
    faults = list(unknown_names(str(results), "--dataset", [dataset], datasets))
    # If the dataset is unknown, a model of any dataset will do.
    models = sorted({name for measured, name in cells if measured == dataset or faults})
    faults += unknown_names(str(results), "--model", [model], models)
    if faults:
        raise InputError(faults)
    return results / "measures" / dataset / f"{model}.parquet"


def as_in_table(measures: pl.DataFrame, about: Mapping[str, str]) -> Mapping[str, str]:
    """Returns the names of a pair of groups in the order of the table, if it has the pair."""
    first, second = GROUP_PAIR
    if not {first, second} <= about.keys():
        return about
    swapped = {**about, first: about[second], second: about[first]}
    is_swapped_only = not has_pair(measures, about) and has_pair(measures, swapped)
    return swapped if is_swapped_only else about


def has_pair(measures: pl.DataFrame, about: Mapping[str, str]) -> bool:
    """Whether a table has numbers of a pair of groups in the order of its names."""
    names = {key: about[key] for key in GROUP_PAIR}
    return len(measures.filter(**names)) > 0


def check_explained(
    measures: pl.DataFrame, about: Mapping[str, str], needed: tuple[str, ...], dataset: str
) -> None:
    """Refuses names that are missing, of no use or unknown.

    Args:
        measures: schema `MEASURES`.
        about: the names that were given, by key.
        needed: the keys that name a number of the dataset's family.
        dataset: the dataset, for messages.

    Raises:
        InputError: with all of them.
    """
    expected = ", ".join(option_of_key(key) for key in needed)
    faults = []
    for key in needed:
        if key not in about:
            faults.append(Fault(dataset, option_of_key(key), "missing", expected))
    for key in about:
        if key not in (*needed, "other"):
            faults.append(Fault(dataset, option_of_key(key), "matches nothing in it", expected))
    faults += names_not_measured(measures, about, needed, dataset)
    if faults:
        raise InputError(faults)


def names_not_measured(
    measures: pl.DataFrame, about: Mapping[str, str], needed: tuple[str, ...], dataset: str
) -> Iterator[Fault]:
    """Yields the names that no number has; see `check_explained`."""
    # Each name is looked for among the rows that the ones before it leave.
    rows = measures
    for key in needed:
        if key in NAMING_KEYS and key in about:
            names = distinct_names(rows, key)
            yield from unknown_names(dataset, option_of_key(key), [about[key]], names)
            if about[key] in names:
                rows = rows.filter(pl.col(key) == about[key])
    compared = next((key for key in KEYS_WITH_OTHER if key in needed), None)
    if "other" in about and compared is not None:
        names = distinct_names(measures, compared)
        yield from unknown_names(dataset, "--other", [about["other"]], names)


def option_of_key(key: str) -> str:
    """Returns the option of the command line that gives a key of measures."""
    return f"--{key.replace('_', '-')}"


def distinct_names(measures: pl.DataFrame, column: str) -> list[str]:
    """Returns the sorted names in a column, without nulls."""
    return measures[column].drop_nulls().unique().sort().to_list()


def row_of_number(
    measures: pl.DataFrame, measure: str, measure_options: str, about: Mapping[str, str]
) -> dict[str, Any]:
    """Returns the row of a number, empty if there is none."""
    is_of_number = []
    for key in KEYS:
        if key.name not in measures.columns:
            continue
        column = pl.col(key.name)
        if key.name in about:
            is_of_number.append(column == about[key.name])
        elif key.is_part:
            # The bias type of a metric is the one of its probe, which nobody has to name.
            is_of_number.append(column.is_null())
    rows = measures.filter(*is_of_number, measure=measure, options=measure_options).to_dicts()
    return rows[0] if rows else {}
