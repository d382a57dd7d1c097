"""Subjects of underspecified questions as groups."""

import numpy as np
import polars as pl
import pytest
from small_cells import one_list, spans
from small_measures import score_groups

from biasgrid.families.underspecified.axes import AxesFinder
from biasgrid.families.underspecified.measure import subject_records
from biasgrid.families.underspecified.observe import compare_subjects
from biasgrid.formats.unqover.export import subject_scores
from biasgrid.groups.scores import score_records


def test_a_record_is_a_subjects_mean_score_in_a_case() -> None:
    instances = one_list(4, subject_groups=["a", "a", "b", "b"], attributes=2, templates=2)
    random = np.random.default_rng(3)
    predictions = spans(instances, *random.random((2, len(instances))))
    observed = [compare_subjects(instances, predictions, "exact")]
    records = subject_records(AxesFinder(observed).axes, observed)
    assert set(records.bias_types) == {"subject", "subject_group"}
    # 2 templates, 2 attributes, plain and negated; 4 subjects, in two bias types.
    assert len(np.unique(records.case)) == 8
    assert len(records.case) == 8 * 4 * 2
    scored = instances.cast({"subject1": pl.String, "subject2": pl.String}).join(
        subject_scores(predictions, "exact"), on="instance"
    )
    each = pl.concat(
        [
            scored.select(
                subject=f"subject{side}", subject_group=f"group{side}", score=f"score{side}"
            )
            for side in (1, 2)
        ]
    )
    found = score_groups(score_records(records, "mean_likelihood")).drop_nulls("group")
    by_group = {
        (kind, group): value
        for kind, group, value in found.select("bias_type", "group", "value").rows()
    }
    for kind in ("subject", "subject_group"):
        means = each.cast({"subject_group": pl.String}).group_by(kind).agg(pl.col("score").mean())
        assert {group: by_group[kind, group] for group in means[kind]} == pytest.approx(
            dict(means.rows()), abs=1e-7
        )
    assert len(by_group) == 6
