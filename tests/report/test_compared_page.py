"""The page of two models: numbers of parts stand apart from those of whole cells, whatever key they
are about.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from browser import Shown
from playwright.sync_api import Browser
from report_tables import report_of
from small_measures import measures_of

from biasgrid.report.run import ReportDataset, ReportModel, ReportRun
from biasgrid.tables.comparison import COMPARISONS
from biasgrid.tables.files import empty_table
from biasgrid.tables.key_columns import KEYS, Key
from biasgrid.tables.metric import Measure

SCORE = Measure("stereotype score", "s", "mean over terms", "", "", "share", 0.5, headline="")
RUN = ReportRun(
    title="Tasks",
    config="config/tasks.yaml",
    versions={},
    models=[
        ReportModel(name, "LM", name.upper(), "causal-lm", f"someone/{name}", "")
        for name in ("one", "two")
    ],
    datasets=[
        ReportDataset("stereoset", "StereoSet", (), {"score": SCORE}, {"pairs": 9}, family="pairs")
    ],
)
PAGE = "#/compare/stereoset/one/two"


def compared(*abouts: dict[str, str | int]) -> pl.DataFrame:
    """Returns differences of the two models, each about some keys."""
    rows = []
    for place, about in enumerate(abouts):
        rows.append(
            {
                **{"dataset": "stereoset", "model": "one", "other_model": "two"},
                **{"measure": "score", "options": "", "tests": len(abouts), "clusters": 9},
                **{"value": 0.6, "other_value": 0.5, "difference": 0.1 + place / 10},
                **about,
            }
        )
    empty = empty_table(COMPARISONS)
    table = pl.concat([empty, pl.DataFrame(rows)], how="diagonal_relaxed")
    return table.cast(empty.schema)


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
def test_a_number_of_a_part_is_not_shown_as_one_of_the_whole_cell(
    key: Key, chromium: Browser, tmp_path: Path
) -> None:
    value: str | int = 3 if key.name == "template" else "intersentence"
    measures = pl.concat(
        measures_of([{"value": 0.6}], model=model, dataset="stereoset", measure="score")
        for model in ("one", "two")
    )
    file = tmp_path / "index.html"
    page = report_of(RUN, measures=measures, comparisons=compared({}, {key.name: value}))
    file.write_text(page, encoding="utf-8")
    report = Shown(chromium, file, PAGE).drawn()
    sections = report.page.locator("section")
    wholes = sections.filter(has_text="Whole cells")
    parts = sections.filter(has_text="Largest differences of parts")
    rows = [section.locator("tbody tr").count() for section in (wholes, parts)]
    assert rows == ([1, 1] if key.is_part else [2, 0])
    heads = (parts if key.is_part else wholes).locator("thead").inner_text()
    assert key.name.replace("_", " ").capitalize() in heads
    assert report.complaints == []
    report.page.close()
