"""References: what is kept of a run, and when numbers beside them may be compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from project import ROOT

from biasgrid.base.faults import InputError, UserError
from biasgrid.stats.compare.references import (
    StoredCell,
    StoredFigure,
    StoredReferences,
    join_references,
    named_references,
    read_reference_folders,
)

CELL = {
    "dataset": "gender",
    "kind": "QA",
    "label": "one",
    "scoring": "exact",
    "precision": "float32",
}
OF_CELL = {name: CELL[name] for name in ("dataset", "kind", "label")}


def stored(
    low: float | None = 0.1,
    high: float | None = 0.2,
    asked: str | None = "aa",
    label: str = "one",
    **cell: Any,
) -> StoredReferences:
    """One cell with one number."""
    known = StoredCell.model_validate(
        CELL | {"asked": asked, "biasgrid": "1.0", "label": label} | cell
    )
    figure = {"measure": "mu", "value": 0.15, "low": low, "high": high}
    return StoredReferences(
        cells=[known], figures=[StoredFigure.model_validate(OF_CELL | figure | {"label": label})]
    )


@pytest.mark.parametrize(
    ("reference", "told"),
    [
        (stored(0.3, 0.4), "below"),
        (stored(0.0, 0.05), "above"),
        (stored(0.2, 0.4), "not distinguishable"),
        (stored(None, None), "no interval: not distinguishable"),
        (stored(asked="bb"), "not compared: other texts (aa, not bb)"),
        (
            stored(scoring="unqover", biasgrid="0.9"),
            "not compared: scored otherwise (exact, not unqover); version (1.0, ",
        ),
        (stored(level=0.5), "not compared: intervals of other coverage (None, not 0.5)"),
    ],
)
def test_no_more_is_claimed_than_intervals_and_digests_allow(
    reference: StoredReferences, told: str
) -> None:
    (pair,) = join_references(stored(), {"theirs": reference})
    assert pair.comparison_text.startswith(told)


def test_what_nobody_knows_is_not_the_same() -> None:
    (pair,) = join_references(stored(asked=None), {"theirs": stored(asked=None)})
    assert pair.comparison_text == "not compared: nobody knows what was asked"


def test_figures_of_others_are_compared_with_nothing() -> None:
    references = read_reference_folders([ROOT / "reference"])
    pairs = list(join_references(stored(), named_references(references, ["BERT base"])))
    assert [pair.theirs.kind for pair in pairs] == ["SQuAD", "NewsQA", "LM"]
    assert {pair.comparison_text for pair in pairs} == {"not compared: nobody knows what was asked"}


def test_references_are_chosen_by_the_names_of_their_files_and_models_regardless_of_their_case() -> (
    None
):
    references = read_reference_folders([ROOT / "reference"])
    whole = named_references(references, ["UnQover_published"])
    assert whole["unqover_published"] == references["unqover_published"]
    assert whole["demo"].figures == []
    chosen = named_references(references, ["bert BASE"])["unqover_published"]
    assert {figure.label for figure in chosen.figures} == {"BERT base"}
    with pytest.raises(
        UserError, match=r"no reference 'UnQover'; expected a file .demo, unqover_published."
    ):
        named_references(references, ["UnQover"])


def test_what_is_written_is_read_and_faults_are_reported(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text(stored().model_dump_json(exclude_defaults=True))
    assert read_reference_folders([tmp_path]) == {"mine": stored()}
    with pytest.raises(
        UserError, match=r"no reference 'two'; expected a file \(mine\) or a model \(one\)"
    ):
        named_references(read_reference_folders([tmp_path]), ["two"])
    (tmp_path / "mine.json").write_text('{"figures": [{"dataset": "gender"}]}')
    with pytest.raises(InputError, match=r"figures\[0\].kind: missing"):
        read_reference_folders([tmp_path])


@pytest.mark.parametrize(("low", "high"), [(0.1, None), (None, 0.1), (0.2, 0.1)])
def test_half_an_interval_is_refused(tmp_path: Path, low: float | None, high: float | None) -> None:
    figure = OF_CELL | {"measure": "mu", "value": 0.1, "low": low, "high": high}
    (tmp_path / "mine.json").write_text(json.dumps({"figures": [figure]}))
    with pytest.raises(
        InputError,
        match=r"figures\[0\]: .*expected `low` and `high`, the smaller one first, or neither of them",
    ):
        read_reference_folders([tmp_path])
