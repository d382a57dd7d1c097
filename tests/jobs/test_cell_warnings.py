"""Warnings of cells: those of a kind are one line, and those of lists that come with biasgrid none."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from project import ROOT

from biasgrid.cli.live_run import without_shipped_lists
from biasgrid.jobs.cell_warnings import CellWarning, gather_warnings


def alike(model: str, dataset: str, templates: str, correlation: float) -> CellWarning:
    text = f"templates {templates} say nearly the same: correlates by {correlation:.2f}"
    return CellWarning(model, dataset, text)


def test_a_line_of_a_job_is_read_again() -> None:
    warning = alike("a", "gender", "0 and 2", 0.31)
    assert warning.line.startswith("cell warning: a on gender: templates 0 and 2 say")
    assert CellWarning.from_line(f"{warning.line}\n") == warning
    assert CellWarning.from_line("warning: lists/a.csv: tabs separate its columns") is None


def test_warnings_of_a_kind_are_one_line_with_their_number() -> None:
    warnings = [
        alike(model, dataset, f"{place} and 2, 3", 0.3 + place / 100)
        for model in "abcde"
        for dataset in ("gender", "placebo")
        for place in (0, 1)
    ]
    unknown = "33% of the instances contain text that the tokenizer does not know: 'x'"
    assert gather_warnings([*warnings, CellWarning("a", "gender", unknown)]) == [
        "warning: a, b, c and 2 more on gender, placebo, 20 times; the first, a on gender: "
        "templates 0 and 2, 3 say nearly the same: correlates by 0.30",
        f"warning: a on gender: {unknown}",
    ]


@pytest.mark.family("the lists that come with biasgrid are of built-in families")
def test_warnings_of_lists_that_come_with_biasgrid_are_left_to_the_logs(tmp_path: Path) -> None:
    content = yaml.safe_load((ROOT / "config/demo.yaml").read_text())
    own = tmp_path / "word_lists"
    for name in ("subjects", "templates", "attributes", "prompts", "demo", "counterfactual"):
        (own / name).parent.mkdir(exist_ok=True)
        (own / name).symlink_to(ROOT / "word_lists" / name)
    content["run"] = {"models": ["strong-qa"], "datasets": ["gender"]}
    content["word_lists"] = str(own)
    config = tmp_path / "mine.yaml"
    config.write_text(yaml.safe_dump(content))
    warnings = [alike("strong-qa", "gender", "0 and 1", 0.4)]
    assert without_shipped_lists(config, warnings) == []
    (own / "templates").unlink()
    (own / "templates").mkdir()
    for name in ("gender-qa.txt", "gender-lm.txt"):
        text = (ROOT / "word_lists/templates" / name).read_text()
        (own / "templates" / name).write_text(f"# mine\n{text}")
    assert without_shipped_lists(config, warnings) == warnings
