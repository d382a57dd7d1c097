"""What a made-up classifier says of the groups of a small dataset, measured."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from small_estimates import as_measures
from small_measures import records_of, table_of

from biasgrid.groups.measures import measure_groups
from biasgrid.groups.records import ClassOutputs, Records
from biasgrid.stats.sums import values_table
from biasgrid.tables.evidence import EVIDENCE
from biasgrid.tables.measures import SYNTHETIC
from biasgrid.tables.metric import options_text

BiasTypes = Mapping[str, Sequence[str]]
"""The groups of each bias type."""

COMPARISONS = [
    {
        "score": "mean_class_probability",
        "argument": None,
        "distance": distance,
        "comparison": comparison,
    }
    for distance, comparison in (
        ("absolute", "pairwise"),
        ("absolute", "background"),
        ("normalized_divergence", "multi_group"),
    )
]
THRESHOLD = 0.1


def slanted_records(
    bias_types: BiasTypes, slant: float, cases: int = 8, templates: int = 4
) -> Records:
    """Records in which the right class of a group is likelier the later the group is named, from
    -slant to slant.

    Cases differ by more than that; each belongs to one of the templates in turn and is asked with
    one term per group.
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
    outputs = ClassOutputs(
        np.stack([1 - probabilities, probabilities], axis=1), np.ones(len(rows), dtype=np.int64)
    )
    return records_of(rows, outputs)


def measured_groups(
    slants: Mapping[str, float], bias_types: BiasTypes, dataset: str = "feelings", **counts: int
) -> pl.DataFrame:
    """The measures of models, each with its slant; see `slanted_records`."""
    of_models = {
        model: slanted_records(bias_types, slant, **counts) for model, slant in slants.items()
    }
    return pl.concat(
        as_measures(values_table(measure_groups(records, COMPARISONS, THRESHOLD))).with_columns(
            model=pl.lit(model), dataset=pl.lit(dataset)
        )
        for model, records in of_models.items()
    )


def synthetic_slants(
    slants: Mapping[str, float],
    bias_types: BiasTypes,
    dataset: str = "feelings",
    level: float = 0.5,
) -> pl.DataFrame:
    """The synthetic group effects of strengths, each with its slant, around a mean probability of
    the right class.
    """
    rows = [
        {"strength": strength, "bias_type": bias_type, "group": group, "value": level + shift}
        for strength, slant in slants.items()
        for bias_type, groups in bias_types.items()
        for shift, group in zip(np.linspace(-slant, slant, len(groups)), groups, strict=True)
    ]
    options = options_text(score="mean_class_probability", mode="group")
    return table_of(SYNTHETIC, rows, dataset=dataset, measure="score", options=options)


def case_examples(rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """Examples of distances with the given columns; the others hold anything."""
    shared = {
        "dataset": "feelings",
        "unit": 7,
        "template": 2,
        "expected": "positive",
        "said": "negative",
        "rank": 0,
    }
    asked = {"measure": "distance", "options": "", "reason": "strongest", "role": "strongest"}
    return table_of(
        EVIDENCE, [{"instance": place} | row for place, row in enumerate(rows)], **shared, **asked
    )
