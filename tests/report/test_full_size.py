"""The report of fifteen models on four simulated datasets of full size, in a browser."""

import runpy
import sys
from pathlib import Path

import pytest
from browser import Shown
from playwright.sync_api import Browser
from project import ROOT

MEGABYTES = 8
"""What a report may have, as `report.megabytes` has it by default."""


@pytest.mark.long
def test_fifteen_models_of_all_kinds_fit_on_one_page(
    chromium: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    benchmark = runpy.run_path(str(ROOT / "benchmarks/report.py"))
    path = tmp_path / "index.html"
    megabytes, _ = benchmark["build"](path)
    assert MEGABYTES / 2 < megabytes <= MEGABYTES
    report = Shown(chromium, path).drawn()
    assert report.page.locator("a.box").count() == 15 * 4
    for address in list(benchmark["PAGES"].values())[1:]:
        assert "Page not found" not in report.go(address).text
    assert report.complaints == []
