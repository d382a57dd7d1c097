"""Finds the prompts and responses behind a number of a finished run, and recomputes the number."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from biasgrid.base.faults import (
    Fault,
    InputError,
    UserError,
    first_few,
    one_of,
    unknown_names,
)
from biasgrid.base.references import exists, load, stage_module
from biasgrid.families.cell import MeasuredCell, measured_values
from biasgrid.runs.results import read_cell_scorers
from biasgrid.tables.files import read_provenance, read_table
from biasgrid.tables.key_columns import GROUP_PAIR, KEYS
from biasgrid.tables.measures import MEASURES
from biasgrid.tables.provenance import cell_provenance, check_made_from

NAMING_KEYS = [key.name for key in KEYS if key.sentences]
"""Key columns whose values name a number."""
KEYS_WITH_OTHER = [key.name for key in KEYS if key.sentences and key.tested_as]
"""Key columns with the names that are compared with the name of the option `--other`."""
MOST_NAMES = 10
"""The number of names that are listed where one is missing."""
AGREEMENT_TOLERANCE = 1e-9
"""The largest difference that comes from another order of summation."""


class Explanation(NamedTuple):
    """The prompts and responses behind a number.

    Attributes:
        measure: the measure of the number.
        measure_options: the options that it was computed with.
        table_value: its value in the table of measures, None if it is withheld or not there.
        flag: the reason why it is withheld, None if it is not.
        recomputed: its value from its prompts and responses, None if it cannot be computed.
        n: the `n` of the recomputed number, 0 if it cannot be computed.
        units: its prompts and responses, a row per instance, unit by unit: columns of `EVIDENCE`.
    """

    measure: str
    measure_options: str
    table_value: float | None
    flag: str | None
    recomputed: float | None
    n: int
    units: pl.DataFrame

    @property
    def agrees(self) -> bool:
        """Whether the table has the recomputed value, or neither has one.

        A number that is withheld always agrees.
        """
        if self.table_value is None or self.recomputed is None:
            has_neither = self.table_value is None and self.recomputed is None
            return self.flag is not None or has_neither
        return math.isclose(
            self.table_value, self.recomputed, rel_tol=0, abs_tol=AGREEMENT_TOLERANCE
        )


def explain_number(
    results: Path, model: str | None, dataset: str | None, about: Mapping[str, str]
) -> Explanation:
    """Explains a number; only the responses that it is computed from are read.

    Args:
        results: the folder of results.
        model: a model of the run; None for the only one.
        dataset: a dataset of the run; None for the only one.
        about: the names of the number. Which are needed depends on the dataset's family: `subject`
            and `attribute`, `bias_type` and `group`, or `measure`. With `other`, the group or
            subject that is compared with it, it is the number of a pair of groups; for other
            numbers only fewer rows are shown.

    Raises:
        InputError: a name is unknown or missing.
        UserError: the run is not finished, or the family cannot explain numbers.
        TableError: a table is damaged, or the measures were made from other predictions.
    """
    path = cell_measures(results, model, dataset)
    dataset = path.parent.name
    measures = read_table(path, MEASURES)
    facts = read_provenance(path)
    cell = facts.get("cell")
    if cell is None:
        raise UserError(
            f"{path}: does not record what it was measured from, so biasgrid did not make it in a "
            "run; run again"
        )
    family, options = cell["family"], cell["options"]
    sentences = family_sentences(family)
    if sentences is None:
        raise UserError(
            f"the family of {dataset} cannot explain single numbers; see {results}/evidence for "
            "some of its texts"
        )
    observe = load(stage_module(family, "observe")).observe
    measure_cell = load(stage_module(family, "measures")).measure
    if "other" in sentences.explained:
        about = as_in_table(measures, about)
    check_explained(measures, about, sentences.explained, dataset)
    measure = sentences.explained_measure(about, options, dataset)
    options_text = sentences.measure_options(options)

    instances = results / cell["instances"]
    predictions = [results / table for table in cell["predictions"]]
    provenance = cell_provenance(instances, predictions)
    # Measures that record no predictions cannot be checked; with None on both sides they pass.
    made_from = provenance if "predictions" in facts else None
    check_made_from(path, "predictions", made_from, predictions[0])
    prompts = sentences.instances(instances, about)
    is_relevant = pl.col("instance").is_in(prompts["instance"].implode())
    responses = pl.scan_parquet(predictions, glob=False).filter(is_relevant).collect()
    scorers = read_cell_scorers(results, cell)
    observations = observe(prompts, responses, options, *([scorers] if scorers else []))

    names = {name: about[name] for name in sentences.explained}
    # `[]` requests no further comparisons of groups; None would request all.
    values = measured_values(measure_cell, observations, options | {"measures": []})
    recomputed = number_row(values, measure, options_text, names)
    in_table = number_row(measures, measure, options_text, names)
    value = recomputed.get("value")
    if value is not None and math.isnan(value):
        value = None
    measured = MeasuredCell(prompts.lazy(), responses.lazy(), observations, measures, options)
    return Explanation(
        measure=measure,
        measure_options=options_text,
        table_value=in_table.get("value"),
        flag=in_table.get("flag"),
        recomputed=value,
        n=recomputed.get("n", 0),
        units=sentences.explain(measured, about),
    )


def family_sentences(family: str) -> Any:
    """Returns the `SENTENCES` of a family by its reference; None if it cannot explain numbers."""
    reference = stage_module(family, "evidence")
    if not exists(reference):
        return None
    return getattr(load(reference), "SENTENCES", None)


def cell_measures(results: Path, model: str | None, dataset: str | None) -> Path:
    """Returns the path of the measures of a cell.

    Args:
        results: the folder of results.
        model: the name of the model; None for the only one that was asked.
        dataset: the name of the dataset, likewise.

    Raises:
        InputError: there is no such dataset, or the model has not answered it, or there are several
            to choose from.
        UserError: nothing was measured in the folder.
    """
    cells = {(path.parent.name, path.stem) for path in results.glob("measures/*/*.parquet")}
    if not cells:
        raise UserError(
            f"there is no {results}/measures; expected the `results` of a config that was run"
        )
    datasets = sorted({dataset_name for dataset_name, _ in cells})
    faults = list(choice_faults(results, "--dataset", dataset, datasets))
    # If the dataset is unknown, the model may be of any dataset.
    dataset = dataset or datasets[0]
    models = sorted({name for dataset_name, name in cells if dataset_name == dataset or faults})
    faults += choice_faults(results, "--model", model, models)
    if faults:
        raise InputError(faults)
    return results / "measures" / dataset / f"{model or models[0]}.parquet"


def choice_faults(
    results: Path, option: str, name: str | None, existing: Sequence[str]
) -> Iterator[Fault]:
    """Yields a fault if a name does not exist, or is not given and there are several.

    Args:
        results: the folder of results, for messages.
        option: the option that gives the name.
        name: the name, None without the option.
        existing: all names, at least one.
    """
    if name is not None:
        yield from unknown_names(str(results), option, [name], existing)
    elif len(existing) > 1:
        yield Fault(str(results), option, "missing", one_of(existing))


def as_in_table(measures: pl.DataFrame, about: Mapping[str, str]) -> Mapping[str, str]:
    """Returns the names of a number, with a pair of groups in the order of the table of measures.

    Unchanged if `about` has no pair, or the table does not have it.
    """
    group, other = GROUP_PAIR
    if not {group, other} <= about.keys():
        return about
    swapped = {**about, group: about[other], other: about[group]}
    is_swapped_only = not has_pair(measures, about) and has_pair(measures, swapped)
    return swapped if is_swapped_only else about


def has_pair(measures: pl.DataFrame, about: Mapping[str, str]) -> bool:
    """Whether a table of measures has the pair of groups of `about`, in this order."""
    names = {key: about[key] for key in GROUP_PAIR}
    return len(measures.filter(**names)) > 0


def check_explained(
    measures: pl.DataFrame, about: Mapping[str, str], needed: tuple[str, ...], dataset: str
) -> None:
    """Refuses names of a number that are missing, superfluous or unknown.

    Args:
        measures: schema `MEASURES`.
        about: the names, by key.
        needed: the keys that name a number of the dataset's family.
        dataset: the dataset, for messages.

    Raises:
        InputError: with all faults.
    """
    expected = ", ".join(option_of_key(key) for key in needed)
    faults = []
    for key in needed:
        if key not in about:
            names = first_few(distinct_names(measures, key), MOST_NAMES)
            choice = f"; {option_of_key(key)} is one of {names}" if names else ""
            faults.append(Fault(dataset, option_of_key(key), "missing", f"{expected}{choice}"))
    for key in about:
        if key not in (*needed, "other"):
            faults.append(Fault(dataset, option_of_key(key), "matches nothing in it", expected))
    faults += names_not_measured(measures, about, needed, dataset)
    if faults:
        raise InputError(faults)


def names_not_measured(
    measures: pl.DataFrame, about: Mapping[str, str], needed: tuple[str, ...], dataset: str
) -> Iterator[Fault]:
    """Yields a fault for each name that no number has; arguments as for `check_explained`."""
    # Each name is looked up only in the rows of the names before it.
    rows = measures
    for key in needed:
        if key in NAMING_KEYS and key in about:
            names = distinct_names(rows, key)
            yield from unknown_names(dataset, option_of_key(key), [about[key]], names)
            if about[key] in names:
                rows = rows.filter(pl.col(key) == about[key])
    compared_key = next((key for key in KEYS_WITH_OTHER if key in needed), None)
    if "other" in about and compared_key is not None:
        names = distinct_names(measures, compared_key)
        yield from unknown_names(dataset, "--other", [about["other"]], names)


def option_of_key(key: str) -> str:
    """Returns the command-line option for a key column of measures."""
    return f"--{key.replace('_', '-')}"


def distinct_names(measures: pl.DataFrame, column: str) -> list[str]:
    """Returns the sorted names in a column, without nulls."""
    return measures[column].drop_nulls().unique().sort().to_list()


def number_row(
    measures: pl.DataFrame, measure: str, measure_options: str, about: Mapping[str, str]
) -> dict[str, Any]:
    """Returns the row of a number as a dict, empty if there is none.

    Args:
        measures: the key columns of `MEASURES`, of which some may be absent, and its values.
        measure: the measure.
        measure_options: its options, as in the column `options`.
        about: the names of the number, by key. Keys without a name must be null in the row, unless
            they follow from the others.
    """
    is_of_number = []
    for key in KEYS:
        if key.name not in measures.columns:
            continue
        column = pl.col(key.name)
        if key.name in about:
            is_of_number.append(column == about[key.name])
        elif key.is_part:
            # Other keys, such as the bias type of a probe, follow from the names.
            is_of_number.append(column.is_null())
    rows = measures.filter(*is_of_number, measure=measure, options=measure_options).to_dicts()
    return rows[0] if rows else {}
