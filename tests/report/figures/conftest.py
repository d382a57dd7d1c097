"""Measures that figures are drawn of."""

from itertools import product

import polars as pl
import pytest
from report_tables import ATTRIBUTES, MODELS, SUBJECTS, TITLES
from small_measures import measures_of


@pytest.fixture
def measures() -> pl.DataFrame:
    """Measures of all models and both datasets; gamma follows a simple pattern."""
    rows = []
    for (place, model), dataset in product(enumerate(MODELS), TITLES):
        for (i, subject), (j, attribute) in product(enumerate(SUBJECTS), enumerate(ATTRIBUTES)):
            value = (i - 1.5) * (j - 0.5) * 0.1 * (place + 1)
            pair = {"model": model, "dataset": dataset, "subject": subject, "attribute": attribute}
            rows += [
                pair | {"value": value},
                pair | {"measure": "win_ratio", "value": 0.5 + value / 2},
            ]
        rows += [
            {"model": model, "dataset": dataset, "subject": subject, "value": (i - 1.5) * 0.05}
            for i, subject in enumerate(SUBJECTS)
        ]
        cell = {"mu": 0.1 * (place + 1), "eta": 0.2, "delta": 0.3, "epsilon": 0.4}
        rows += [
            {"model": model, "dataset": dataset, "measure": name, "value": value}
            for name, value in cell.items()
        ]
    return measures_of(rows)
