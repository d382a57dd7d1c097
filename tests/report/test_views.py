"""A family of a user's own may draw its cells itself: by the script `view.js` in its folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from browser import Shown
from playwright.sync_api import Browser
from report_tables import report_of
from small_measures import measures_of

from biasgrid.base.faults import UserError
from biasgrid.jobs import code_digest as digests
from biasgrid.report.run import ReportDataset, ReportModel, ReportRun
from biasgrid.tables.metric import Measure

VIEW = """import {h} from "biasgrid/dom.js";
import {cellBlock, real} from "biasgrid/data.js";
import {views} from "biasgrid/generic.js";

const cellView = async (core, model, dataset) => {
  const { keyed } = await cellBlock(model, dataset);
  return h("ul", { class: "warm" }, keyed.map((row) => h("li", {}, `${row.group} is ${real(row.value)} warm`)));
};

views.greetings = { cellView, update: () => false, evidence: () => null, explained: () => [] };
"""
WARMTH = Measure(
    "warmth", "w", "mean warmth of a group's greetings", "", "", "probability", headline=""
)
RUN = ReportRun(
    title="Greetings",
    config="config/greetings.yaml",
    versions={},
    models=[ReportModel("warm", "Lexicon", "Warm words", "lexicon", "itself", "")],
    datasets=[
        ReportDataset(
            "greetings", "Greetings", (), {"warmth": WARMTH}, {"texts": 2}, family="greetings"
        )
    ],
)
MEASURES = measures_of(
    [
        {"measure": "warmth", "group": group, "value": value}
        for group, value in (("cooks", 0.5), (None, 0.4))
    ],
    model="warm",
    dataset="greetings",
)


@pytest.fixture
def family(tmp_path: Path) -> Path:
    """The folder of a family with a view."""
    folder = tmp_path / "greetings"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "view.js").write_text(VIEW)
    return folder


def page_of(family: Path) -> str:
    dataset = replace(RUN.datasets[0], reference=str(family))
    return report_of(replace(RUN, datasets=[dataset]), measures=MEASURES)


def test_the_page_of_a_cell_is_what_the_view_draws(
    chromium: Browser, family: Path, tmp_path: Path
) -> None:
    file = tmp_path / "index.html"
    file.write_text(page_of(family), encoding="utf-8")
    report = Shown(chromium, file, "#/cell/warm/greetings").drawn()
    assert report.page.inner_text("ul.warm") == "cooks is 0.5 warm"
    assert report.complaints == []
    report.page.close()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            VIEW.replace("biasgrid/dom", "biasgrid/dome"),
            "view.js: imports biasgrid/dome.js, which the page has not",
        ),
        (VIEW + "// </script>", "view.js: has `</script`, which ends the page's script"),
    ],
)
def test_a_view_that_would_break_the_page_is_reported(
    family: Path, text: str, message: str
) -> None:
    (family / "view.js").write_text(text)
    with pytest.raises(UserError, match=message):
        page_of(family)


def test_another_view_is_another_report(family: Path) -> None:
    def digest() -> str:
        digests.read_code.cache_clear()
        return digests.code_digest(family / "__init__.py", str(family))

    before = digest()
    (family / "view.js").write_text(VIEW.replace("warm`", "kind`"))
    assert digest() != before
