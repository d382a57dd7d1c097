"""The random cells by which two trees are compared are the same each time that they are made."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from random_cells import WRITERS, compare_files, differences_of_parts, random_cells
from random_stages import Part

from biasgrid.config.registry import BUILT_IN

pytestmark = [
    pytest.mark.slow,
    pytest.mark.family("the cells are those of built-in families"),
]

SEEDS = 2


def test_all_families_have_random_cells() -> None:
    assert WRITERS.keys() == BUILT_IN.families.keys()


@pytest.mark.parametrize("family", WRITERS)
def test_cells_are_repeatable(
    family: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = []
    for name in ("old", "new"):
        files.append(tmp_path / f"{name}.pkl")
        files[-1].write_bytes(pickle.dumps({family: random_cells(family, SEEDS)}))
    assert compare_files(*files) == 0, capsys.readouterr().out
    assert "\n  measures: " in capsys.readouterr().out


def test_differences_are_named() -> None:
    old = Part({"p": "Float64", "q": "Float64"}, {"p": [0.0, float("nan")], "q": [1.0, 2.0]})
    new = Part({"q": "Float64", "p": "Float64"}, {"q": [1.0, 2.0], "p": [-0.0, float("nan")]})
    assert list(differences_of_parts(old, old)) == []
    assert list(differences_of_parts(old, new)) == ["column p, row 0: 0.0 -> -0.0"]
    shorter = Part({"p": "Float32"}, {"p": [0.0]})
    assert list(differences_of_parts(old, shorter)) == [
        "column p: Float64 -> Float32",
        "column q: Float64 -> no column",
        "2 rows -> 1 rows",
    ]
