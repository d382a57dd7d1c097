"""The files of stereotypes that are shipped: they fit their datasets, and say where each stereotype
was read.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from biasgrid.config import load_word_lists
from biasgrid.config.reading import parse_config, read_config

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "word_lists/stereotypes"
FILES = {
    "gender": "occupation",
    "nationality": "nationality",
    "ethnicity": "ethnicity",
    "religion": "religion",
}
SIZES = {"occupation": 23, "nationality": 5, "ethnicity": 8, "religion": 13}


def lines_of(name: str) -> list[str]:
    """The lines of a file that are no comment."""
    lines = (FOLDER / f"{name}.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize("dataset", FILES)
def test_each_fits_the_dataset_whose_stereotypes_it_names(dataset: str) -> None:
    content = read_config(ROOT / "config/config.yaml")
    content["word_lists"] = str(ROOT / "word_lists")
    content["run"] = {"models": ["bertbase-lm", "bertbase-squad"], "datasets": [dataset]}
    content["datasets"][dataset]["stereotypes"] = f"stereotypes/{FILES[dataset]}.txt"
    assert len(load_word_lists(parse_config(content, "config.yaml"))) == 2


def test_they_are_of_the_size_stated_and_name_their_source() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == {*SIZES}
    for name, size in SIZES.items():
        lines, text = lines_of(name), (FOLDER / f"{name}.txt").read_text()
        assert len({line.split(" | ")[0] for line in lines}) == len(lines) == size
        assert "CONTENT WARNING" in text
        assert "commit" in text


def test_jobs_of_women_and_of_men_are_both_named() -> None:
    groups = [line.split(" | ")[1] for line in lines_of("occupation")]
    assert (groups.count("female"), groups.count("male")) == (11, 12)
