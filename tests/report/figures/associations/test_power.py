"""Figures of what is significant, what hangs on single clusters, and how many clusters would show
how little.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from report_tables import FAITHS, MODELS, by_pair, categories
from small_measures import measures_of, table_of, with_known

from biasgrid.report.figures.associations import clusters_left_out, significant_associations
from biasgrid.report.figures.cells import clusters_needed
from biasgrid.report.figures.drawing.theme import save_figure
from biasgrid.stats.power import minimal_detectable_effect
from biasgrid.tables.measures import DESIGN

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


def test_discoveries_stand_as_high_as_they_are_sure_and_before_the_others() -> None:
    tests = {
        ("Ann", "stole"): (0.3, 1e-4, 0.01),
        ("Bob", "stole"): (-0.3, 1e-40, 0.0),
        ("Ann", "slept"): (0.1, 1.0, 1.0),
        ("Bob", "slept"): (0.1001, 1.0, 1.0),
    }
    figure = significant_associations.figure(associations(tests, 4), FAITHS)
    assert figure.data.select("value", "height", "found").rows() == [
        (0.1, 0.0, "not significant"),
        (0.3, pytest.approx(4), "significant"),
        (-0.3, pytest.approx(8), "significant"),
    ]
    assert figure.labels.subtitle.startswith("tests over 4 clusters")


def test_what_nothing_tells_apart_has_no_entry_in_the_legend_and_no_clusters_no_axes() -> None:
    quiet = significant_associations.figure(
        associations({("Ann", "stole"): (0.0, 1.0, 1.0), ("Bob", "stole"): (0.0, 1.0, 1.0)}, 4),
        FAITHS,
    )
    assert list(quiet.scales[0].limits) == ["not significant"]
    assert quiet.draw().axes[0].get_ylim()[0] < 0
    nothing = significant_associations.figure(by_pair({"one": {("Ann", "stole"): 0.1}}), FAITHS)
    assert "too few clusters" in nothing.labels.subtitle


def test_mu_without_each_cluster_stands_beside_mu(measures: pl.DataFrame, tmp_path: Path) -> None:
    rows = [
        {"cluster": cluster, "templates": f"{cluster}", "name": name, "value": value}
        for cluster, numbers in enumerate([(0.1, 0.9), (0.3, -0.2), (0.2, 0.5)])
        for name, value in zip(("mu_without", "correlation"), numbers, strict=True)
    ]
    context = replace(FAITHS, tables={"design": table_of(DESIGN, rows, **CELL)})
    faiths = measures.filter(dataset="faith")
    figure = clusters_left_out.figure(faiths, context)
    left, right = (
        figure.data.filter(panel=panel)["value"].to_list()
        for panel in categories(figure.data, "panel")
    )
    assert (left, right) == ([0.1, 0.3, 0.2], [0.9, -0.2, 0.5])
    assert figure.labels.subtitle.startswith("strokes: 3 clusters")
    save_figure(figure, tmp_path / "a")
    assert "μ without one cluster</text>" in (tmp_path / "a.svg").read_text()
    alone = [{"cluster": 0, "templates": "0, 1", "name": "mu_without"}]
    one = clusters_left_out.figure(
        faiths, replace(FAITHS, tables={"design": table_of(DESIGN, alone, **CELL)})
    )
    assert one.labels.subtitle == "there are no two clusters to compare"


def test_more_clusters_show_smaller_associations_and_those_asked_are_marked() -> None:
    cells = {"one": (0.1, 4.0), "two": (0.1, float("inf")), "three": (0.0, 4.0)}
    rows = [
        {"model": model, "dataset": "faith", "name": name, "value": value}
        for model, numbers in cells.items()
        for name, value in zip(("noise_sd", "prior_df", "mde"), (*numbers, 0.3), strict=True)
    ]
    clusters = [
        {"model": model, "dataset": "faith", "name": "mu_without", "cluster": cluster}
        for model in cells
        for cluster in range(7)
    ]
    design = table_of(DESIGN, rows + clusters)
    effects = clusters_needed.detectable_effects(design)
    assert effects["model"].unique(maintain_order=True).to_list() == ["one", "two"]
    known = dict(effects.filter(model="one").select("clusters", "effect").iter_rows())
    # The mean noise tells less than that of all associations.
    assert known[7] == pytest.approx(0.3)
    ratio = minimal_detectable_effect(0.01, 4.0, 14) / minimal_detectable_effect(0.01, 4.0, 7)
    assert known[14] == pytest.approx(0.3 * ratio)
    assert list(known.values()) == sorted(known.values(), reverse=True)
    measures = pl.concat(
        associations({("Ann", "stole"): (0.3, 0.01, 0.01)}, 7).with_columns(model=pl.lit(m))
        for m in MODELS
    )
    assert clusters_needed.clusters_asked(measures)["clusters"].to_list() == [7, 7, 7]
    figure = clusters_needed.figure(measures, replace(FAITHS, tables={"design": design}))
    figure.draw()
    none = clusters_needed.figure(measures, FAITHS)
    assert none.labels.subtitle == "there are no two clusters that differ"
