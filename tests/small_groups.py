"""What a made-up classifier says of the groups of a small dataset, measured."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from small_records import records_of

from biasgrid.groups.cell import Asked, measure_failures, measure_groups
from biasgrid.groups.records import ClassOutputs, Records
from biasgrid.table_files import empty_table
from biasgrid.tables.group_measures import CASE_EXAMPLES
from biasgrid.tables.planted import PLANTED_GROUPS

BiasTypes = Mapping[str, Sequence[str]]
"""The groups of each bias type."""

COMPARISONS = [
    Asked("mean_class_probability", None, distance, comparison)
    for distance, comparison in (
        ("absolute", "pairwise"),
        ("absolute", "background"),
        ("normalized_divergence", "multi_group"),
    )
]
THRESHOLD = 0.1
FIGURES = ("group_scores", "group_pairs", "group_templates", "failure_curve")


def slanted_records(bias_types: BiasTypes, slant: float, cases: int = 8, templates: int = 4) -> Records:
    """Records in which the right class of a group is likelier the later the group is named, from -slant to slant.

    Cases differ by more than that; each belongs to one of the templates in turn and is asked with one term per group.
    """
    random = np.random.default_rng(1)
    levels = random.uniform(0.3, 0.7, cases)
    rows, right = [], []
    for bias_type, groups in bias_types.items():
        for shift, group in zip(np.linspace(-slant, slant, len(groups)), groups, strict=True):
            for case, level in enumerate(levels):
                keys = {"bias_type": bias_type, "group": group, "term": f"{group} person"}
                rows.append({"case": case, "template": case % templates, **keys})
                right.append(level + shift + random.normal(0, 0.01))
    probabilities = np.clip(right, 0, 1)
    outputs = ClassOutputs(np.stack([1 - probabilities, probabilities], axis=1), np.ones(len(rows), dtype=np.int64))
    return records_of(rows, outputs)


def measured_groups(
    slants: Mapping[str, float], bias_types: BiasTypes, dataset: str = "feelings", **counts: int
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Group measures and failure rates of models, each with its slant; see `slanted_records`."""
    of_models = {model: slanted_records(bias_types, slant, **counts) for model, slant in slants.items()}
    measures = [measure_groups(each, COMPARISONS, None, model, dataset) for model, each in of_models.items()]
    failures = [measure_failures(each, THRESHOLD, model, dataset)[0] for model, each in of_models.items()]
    return pl.concat(measures), pl.concat(failures)


def planted_slants(
    slants: Mapping[str, float], bias_types: BiasTypes, dataset: str = "feelings", level: float = 0.5
) -> pl.DataFrame:
    """The planted group effects of strengths, each with its slant, around a mean probability of the right class."""
    rows = [
        (strength, dataset, bias_type, group, level + shift)
        for strength, slant in slants.items()
        for bias_type, groups in bias_types.items()
        for shift, group in zip(np.linspace(-slant, slant, len(groups)), groups, strict=True)
    ]
    return PLANTED_GROUPS.validate(pl.DataFrame(rows, schema=list(PLANTED_GROUPS.columns), orient="row"))


def case_examples(rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """Examples with the given columns; the others hold anything."""
    empty = empty_table(CASE_EXAMPLES)
    shared = {"dataset": "feelings", "case": 7, "template": 2, "expected": "positive", "said": "negative"}
    each = [dict.fromkeys(empty.columns) | {"instance": place} | shared | row for place, row in enumerate(rows)]
    return CASE_EXAMPLES.validate(pl.DataFrame(each, schema=empty.schema))
