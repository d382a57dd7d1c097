"""Figure of what is significant."""

from __future__ import annotations

import polars as pl
import pytest
from report_tables import FAITHS, by_pair
from small_measures import measures_of, with_known

from biasgrid.report.figures.associations import significant_associations

CELL = {"model": "one", "dataset": "faith"}


def associations(
    tests: dict[tuple[str, str], tuple[float, float, float]], clusters: int
) -> pl.DataFrame:
    """Measures of a model's associations, of each gamma, p and q."""
    measures = by_pair({"one": {pair: gamma for pair, (gamma, _, _) in tests.items()}})
    rows = [
        {"subject": subject, "attribute": attribute, "value": gamma, "p": p, "q": q}
        for (subject, attribute), (gamma, p, q) in tests.items()
    ]
    known = measures_of(rows, **CELL, generalises_to="clusters", method="t", clusters=clusters)
    return with_known(measures, known)


def test_significant_associations_come_first_and_are_as_high_as_they_are_certain() -> None:
    tests = {
        ("Ann", "stole"): (0.3, 1e-4, 0.01),
        ("Bob", "stole"): (-0.3, 1e-40, 0.0),
        ("Ann", "slept"): (0.1, 1.0, 1.0),
        ("Bob", "slept"): (0.1001, 1.0, 1.0),
    }
    figure = significant_associations.figure(associations(tests, 4), FAITHS)
    assert figure.data.select("value", "height", "result").rows() == [
        (0.1, 0.0, "not significant"),
        (0.3, pytest.approx(4), "significant"),
        (-0.3, pytest.approx(8), "significant"),
    ]
    assert figure.labels.subtitle.startswith("tests over 4 clusters")


def test_without_distinctions_there_is_no_legend_and_without_clusters_there_are_no_axes() -> None:
    quiet = significant_associations.figure(
        associations({("Ann", "stole"): (0.0, 1.0, 1.0), ("Bob", "stole"): (0.0, 1.0, 1.0)}, 4),
        FAITHS,
    )
    assert list(quiet.scales[0].limits) == ["not significant"]
    assert quiet.draw().axes[0].get_ylim()[0] < 0
    nothing = significant_associations.figure(by_pair({"one": {("Ann", "stole"): 0.1}}), FAITHS)
    assert "too few clusters" in nothing.labels.subtitle
