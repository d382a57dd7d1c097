"""Scored options of a real instruction-tuned model, which writes bare letters: its order bias is
seen.
"""

from __future__ import annotations

import polars as pl
import pytest
from pipeline import DATASET, MODEL, Pipeline
from project import ROOT
from real_llm import real_llm_folder

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    folder = tmp_path_factory.mktemp("letters")
    (folder / "gender-choice.yaml").write_text(
        (ROOT / "word_lists/probes/gender-choice.yaml").read_text()
    )
    model = {"task": "text-generation", "folder": str(real_llm_folder())}
    return Pipeline(
        folder, model, {"family": "probe", "probe": "gender-choice.yaml", "answers": "scored"}
    )


def test_the_first_place_has_its_share_and_the_mass_matches_bare_letters(cell: Pipeline) -> None:
    (file,) = cell.layout.predictions_of_cell(DATASET, MODEL)
    said = pl.read_parquet(file)
    first, second = (said["probabilities"].list.get(place) for place in (0, 1))
    # With `(a)` alone it was 0.51, and the mass 0.04.
    assert len(said) == 32
    assert (first / (first + second)).mean() == pytest.approx(0.66, abs=0.01)
    assert said["mass"].mean() == pytest.approx(0.97, abs=0.01)
    assert cell.row("stereotype_rate")["value"] == pytest.approx(0.50, abs=0.01)
    row = cell.row("low_mass")
    assert row["value"] > 0.95
    assert row["flag"] is None
