"""Finds all prompts and responses behind one number of a finished run, and computes the number from
them again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from biasgrid.base.faults import Fault, InputError, UserError, unknown_names
from biasgrid.base.references import exists, load, stage
from biasgrid.families.cell import MeasuredCell, measured_values
from biasgrid.families.responses import read_scorers
from biasgrid.tables.files import read_provenance, read_table
from biasgrid.tables.measures import MEASURE_KEYS, MEASURES
from biasgrid.tables.provenance import cell_provenance, check_made_from

EXPLAINED_KEYS = {
    "subject": "subject",
    "attribute": "attribute",
    "bias_type": "bias-type",
    "group": "group",
}
"""The keys of measures that name a number, and how the command line calls them."""
AGREEMENT_TOLERANCE = 1e-9
"""What the order of sums may change."""


class Explanation(NamedTuple):
    """What is behind a number.

    Attributes:
        measure: what is explained.
        options: what it was computed with.
        stated: its value in the table of measures, None where it has none.
        flag: why it has none.
        recomputed: its value from all that is concerned, None where nothing was measured.
        n: how many things that the measure counts it is made of.
        units: all prompts and responses, a row per instance, unit by unit: columns of `EVIDENCE`.
    """

    measure: str
    options: str
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
        about: what names the number: `subject` and `attribute`, `bias_type` and `group`, or
            `measure`, by the dataset's family; and `other`, the group or subject that it is
            compared with, which names numbers of pairs of groups and narrows what is shown of
            others.

    Raises:
        InputError: a name is unknown, or one is missing.
        UserError: the run is not finished, or the family has no such way.
        TableError: a table is damaged, or the measures were made from others.
    """
    path = cell_measures(results, model, dataset)
    measures = read_table(path, MEASURES)
    facts = read_provenance(path)
    location = facts.get("cell")
    if location is None:
        raise UserError(
            f"{path}: does not record what it was measured from, so biasgrid did not make it in a "
            "run; run again"
        )
    family, options = location["family"], location["options"]
    reference = stage(family, "evidence")
    sentences = getattr(load(reference), "SENTENCES", None) if exists(reference) else None
    if sentences is None:
        raise UserError(
            f"the family of {dataset} cannot explain single numbers; see {results}/evidence for "
            "some of its texts"
        )
    stages = load(stage(family, "measures"))
    if "other" in sentences.explained:
        about = as_in_table(measures, about)
    check_explained(measures, about, sentences.explained, dataset)
    measure, chosen = sentences.number(about, options)
    instances, predictions = (
        results / location["instances"],
        [results / each for each in location["predictions"]],
    )
    answered = cell_provenance(instances, predictions)
    check_made_from(
        path, "predictions", answered if "predictions" in facts else None, predictions[0]
    )
    tables = [pl.scan_parquet(instances, glob=False), pl.scan_parquet(predictions, glob=False)]
    prompts = sentences.relevant_instances(tables[0], about).collect()
    responses = tables[1].filter(pl.col("instance").is_in(prompts["instance"].implode())).collect()
    scorers = {}
    if location.get("texts"):
        files = {
            scorer: (kind, str(results / file))
            for scorer, (kind, file) in location["scorers"].items()
        }
        scorers = read_scorers(files, results / location["texts"])
    observations = stages.observe(prompts, responses, options, *([scorers] if scorers else []))
    named = {name: about[name] for name in sentences.explained}
    values = measured_values(stages.measure, observations, options | {"measures": []})
    recomputed = row_of_number(values, measure, chosen, named)
    value = recomputed.get("value")
    if value is not None and math.isnan(value):
        value = None
    stated = row_of_number(measures, measure, chosen, named)
    cell = MeasuredCell(prompts.lazy(), responses.lazy(), observations, measures, options)
    return Explanation(
        measure,
        chosen,
        stated.get("value"),
        stated.get("flag"),
        value,
        recomputed.get("n", 0),
        sentences.explain(cell, about),
    )


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
    faults = list(
        unknown_names(str(results), "--dataset", [dataset], sorted({of for of, _ in cells}))
    )
    models = sorted({name for of, name in cells if of == dataset or faults})
    faults += unknown_names(str(results), "--model", [model], models)
    if faults:
        raise InputError(faults)
    return results / "measures" / dataset / f"{model}.parquet"


def as_in_table(measures: pl.DataFrame, about: Mapping[str, str]) -> Mapping[str, str]:
    """Returns the names of a pair of groups in the order in which the table has the pair, if in
    any.
    """
    if not {"group", "other"} <= about.keys():
        return about
    swapped = {**about, "group": about["other"], "other": about["group"]}
    has = [
        len(measures.filter(group=each["group"], other=each["other"])) > 0
        for each in (about, swapped)
    ]
    return swapped if has == [False, True] else about


def check_explained(
    measures: pl.DataFrame, about: Mapping[str, str], needed: tuple[str, ...], dataset: str
) -> None:
    """Refuses names that are missing, of no use or unknown.

    Args:
        measures: schema `MEASURES`.
        about: what was given.
        needed: what names a number of the dataset's family.
        dataset: for messages.

    Raises:
        InputError: with all of them.
    """
    options = ", ".join(f"--{EXPLAINED_KEYS.get(name, name)}" for name in needed)
    faults = [
        Fault(dataset, f"--{EXPLAINED_KEYS.get(name, name)}", "missing", options)
        for name in needed
        if name not in about
    ]
    useless = [name for name in about if name not in (*needed, "other")]
    faults += [
        Fault(dataset, f"--{EXPLAINED_KEYS.get(name, name)}", "matches nothing in it", options)
        for name in useless
    ]
    rows = measures
    for key in needed:
        if key in EXPLAINED_KEYS and key in about:
            names = rows[key].drop_nulls().unique().sort().to_list()
            faults += unknown_names(dataset, f"--{EXPLAINED_KEYS[key]}", [about[key]], names)
            rows = rows.filter(pl.col(key) == about[key]) if about[key] in names else rows
    if "other" in about and (
        of := next((key for key in ("subject", "group") if key in needed), None)
    ):
        names = measures[of].drop_nulls().unique().sort().to_list()
        faults += unknown_names(dataset, "--other", [about["other"]], names)
    if faults:
        raise InputError(faults)


def row_of_number(
    measures: pl.DataFrame, measure: str, options: str, about: Mapping[str, str]
) -> dict[str, Any]:
    """Returns the row of a number, nothing where there is none."""
    keys = [key for key in MEASURE_KEYS if key in measures.columns]
    wanted = {key: about[key] for key in keys if key in about}
    # The bias type of a metric is that of its probe.
    others = [pl.col(key).is_null() for key in keys if key not in wanted and key != "bias_type"]
    rows = measures.filter(
        *others, *(pl.col(key) == name for key, name in wanted.items()), measure=measure
    )
    return next(iter(rows.filter(options=options).to_dicts()), {})
