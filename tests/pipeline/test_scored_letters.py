"""Scored options with letters, from a config and a tiny model that writes bare letters to the
numbers and the page.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import exp

import polars as pl
import pytest
from pipeline import DATASET, MODEL, Pipeline
from project import ROOT
from tiny_writers import save_letter_writer
from typer.testing import CliRunner

import biasgrid
from biasgrid.cli.app import app

Cells = Callable[[str], Pipeline]
WRITERS = {
    # The first letter is as much likelier than the second as 0.65 is than 0.35.
    "letters": {"A": 9.0, "B": 8.38},
    "words": {"A": 9.0, "B": 8.5, "I": 14.5, "M": 13.0, "T": 11.5},
}
FIRST_PLACE = 1 / (1 + exp(8.38 - 9))
PROBE = {"family": "probe", "probe": "gender-choice.yaml", "answers": "scored"}


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> Cells:
    """Gives the cell of a model that begins its answers with letters, or with words."""

    @cache
    def make(writer: str) -> Pipeline:
        folder = tmp_path_factory.mktemp(writer)
        (folder / "gender-choice.yaml").write_text(
            (ROOT / "word_lists/probes/gender-choice.yaml").read_text()
        )
        checkpoint = save_letter_writer(folder / "writer", WRITERS[writer])
        return Pipeline(folder, {"task": "text-generation", "folder": str(checkpoint)}, PROBE)

    return make


def predictions_of_cell(cell: Pipeline) -> pl.DataFrame:
    (file,) = cell.layout.predictions_of_cell(DATASET, MODEL)
    return pl.read_parquet(file)


def test_the_mass_matches_bare_letters_and_the_order_bias_shows(cell: Cells) -> None:
    said = predictions_of_cell(cell("letters"))
    first, second = (said["probabilities"].list.get(place) for place in (0, 1))
    assert said["mass"].min() > 0.9  # type: ignore[operator]
    assert (first / (first + second)).mean() == pytest.approx(FIRST_PLACE, abs=0.05)


def test_the_ways_of_an_option_add_up_to_its_probability(cell: Cells) -> None:
    for row in predictions_of_cell(cell("letters")).iter_rows(named=True):
        sums = [sum(forms) for forms in row["form_probabilities"]]
        assert sums == pytest.approx(row["probabilities"], rel=1e-5)
        assert sum(sums) == pytest.approx(row["mass"], rel=1e-5)
        assert row["mass"] <= 1
        first = dict(zip(row["surface_forms"][0], row["form_probabilities"][0], strict=True))
        assert {*first} == {"a", " a", "A", " A", "(a", " (a", "(A", " (A"}
        assert max(first, key=lambda form: first[form]) == "A"
        assert row["first_tokens"][:2] == ["A", "B"]
        assert row["first_probabilities"][0] == pytest.approx(first["A"], rel=1e-5)


def test_a_small_mass_is_a_warning_that_names_first_tokens_and_withholds_nothing(
    cell: Cells,
) -> None:
    low, high = cell("words"), cell("letters")
    flag = low.row("low_mass")
    assert flag["value"] == pytest.approx(
        predictions_of_cell(low)["mass"].cast(pl.Float64).median(), rel=1e-6
    )
    assert "in half of the instances the options together have less than" in flag["flag"]
    assert "its answers would most often begin with 'I', 'M', 'T'" in flag["flag"]
    assert high.row("low_mass")["flag"] is None
    assert low.row("stereotype_rate")["value"] is not None


def test_mass_is_in_the_provenance_the_summary_and_on_the_page(cell: Cells) -> None:
    whole = cell("letters")
    results = biasgrid.open(whole.config["results"])
    cell_facts = results.provenance("summary.parquet")["measures"][f"{DATASET}/{MODEL}"]
    mass = cell_facts["answered"]["mass"]
    assert mass["first_tokens"][:2] == ["A", "B"]
    assert [form for form, _ in mass["surface_forms"]][:2] == ["A", "B"]
    assert mass["lowest_tenth"] <= mass["median"]
    shown = " ".join(CliRunner().invoke(app, ["summary", whole.config["results"]]).stdout.split())
    assert (
        f"{DATASET}, {MODEL}: median {mass['median']:.3f}, lowest "
        f"tenth below {mass['lowest_tenth']:.3f}"
    ) in shown
    (row,) = (row for row in whole.page.rows if "logits" in row)
    assert row[3:5] == [f"{mass['median']:.3f}", f"{mass['lowest_tenth']:.3f}"]
    assert row[6].startswith('"A","B"')
