"""Names of before version 0.2.0 are refused by one message that gives the new one, and stand in the changelog."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from small_grid import write_general_grid, write_grid

from biasgrid.base import versions
from biasgrid.base.faults import InputError, nearest_name
from biasgrid.config import parse_config, read_config

ROOT = Path(__file__).parents[1]
TABLES = {
    "key of the config": versions.RENAMED_KEYS,
    "measure": versions.RENAMED_MEASURES,
    "figure": versions.RENAMED_FIGURES,
    "column": versions.RENAMED_COLUMNS,
    "folder of results": versions.RENAMED_FOLDERS,
    "rule": versions.RENAMED_RULES,
}


def faults_of(path: Path, change: dict[str, Any]) -> list[str]:
    with pytest.raises(InputError) as caught:
        parse_config(read_config(path) | change, str(path))
    return str(caught.value).splitlines()


@pytest.mark.parametrize(
    ("change", "where", "new"),
    [
        ({"planted": {"strengths": {"strong": 0.9}}}, "planted", "synthetic"),
        ({"statistics": {"relabellings": 199}}, "statistics.relabellings", "permutations"),
    ],
)
def test_an_old_name_in_a_config_is_one_message_with_the_new_one(
    tmp_path: Path, change: dict[str, Any], where: str, new: str
) -> None:
    path = write_general_grid(tmp_path)
    (fault,) = [line for line in faults_of(path, change) if where in line]
    assert f"(called '{new}' since version 0.2.0)" in fault
    assert fault.count(new) >= 1


@pytest.mark.family("mu is measured of underspecified questions")
def test_an_old_name_of_a_measure_is_one_message_with_the_new_one(tmp_path: Path) -> None:
    (fault,) = [
        line
        for line in faults_of(write_grid(tmp_path), {"thresholds": {"people": {"mu_excess": 0.1}}})
        if "thresholds.people" in line
    ]
    assert "(called 'mu_corrected' since version 0.2.0)" in fault


def test_an_old_key_of_a_dataset_is_refused_too(tmp_path: Path) -> None:
    path = write_general_grid(tmp_path)
    content = read_config(path)
    content["datasets"]["people"]["template_frames"] = "none"
    (fault,) = [line for line in faults_of(path, content) if "template_frames" in line]
    assert "(called 'template_clusters' since version 0.2.0)" in fault


def test_a_name_that_was_never_there_is_compared_with_those_that_are() -> None:
    assert nearest_name("mu_excess", ["mu_corrected", "mu"]) == " (called 'mu_corrected' since version 0.2.0)"
    # Where the new one may not stand either, nothing is said of it.
    assert "since version" not in nearest_name("mu_excess", ["eta", "gamma"])


def test_the_changelog_has_all_of_them_and_no_others() -> None:
    section = (ROOT / "CHANGELOG.md").read_text().split("## 0.2.0 (not released)")[1].split("\n## ")[0]
    rows = re.findall(r"^\| ([a-z ]+) \| `([\w]+)` \| `([\w]+)` \|$", section, flags=re.MULTILINE)
    assert rows == [(kind, *pair) for kind, names in TABLES.items() for pair in sorted(names.items())]


def test_no_new_name_is_an_old_one() -> None:
    for names in TABLES.values():
        assert not set(names.values()) & names.keys()
