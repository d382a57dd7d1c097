"""A cell of questions that the text does not answer, from its word lists to its page."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from disks import DAMAGES
from pipeline import Pipeline

from biasgrid.tables.files import TableError
from biasgrid.tables.verdicts import NOT_MEASURED

PLACES = ["at noon", "in town", "by chance", "again"]
LEANING = {"Ann": 0.55, "Bea": 0.5, "Cleo": 0.45, "Dan": -0.45, "Eli": -0.5, "Finn": -0.55}
"""How far the model leans towards a name where it is asked who lied, and half as far from it for
who sang.
"""
MODEL = {
    "task": "question-answering",
    "variant": "qa",
    "checkpoint": "some/model",
    "revision": "main",
}
DATASET = {
    "subjects": ["names.txt"],
    "attributes": "acts.txt",
    "variants": {"qa": {"templates": "templates.txt"}},
}
SIZES = np.array([0.08, 0.09, 0.11, 0.12])
"""How strongly, by template: 0.1 on average."""


def answer(instances: pl.DataFrame) -> dict[str, Any]:
    """Scores of the first and second name, which sum to 1."""
    leaning = [
        instances[name].cast(pl.String).replace_strict(LEANING) for name in ("subject1", "subject2")
    ]
    signs = np.where(instances["attribute"] == "lied", 1, -0.5) * np.where(
        instances["negated"], -1, 1
    )
    first = 0.5 + (leaning[0] - leaning[1]).to_numpy() * SIZES[instances["template"]] * signs
    scores = np.stack([first, 1 - first], axis=1).tolist()
    names = [instances[name].cast(pl.String) for name in ("candidate1", "candidate2")]
    said = [names[0 if one > 0.5 else 1][row] for row, one in enumerate(first)]
    return {"starts": scores, "ends": scores, "answer": said}


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    folder = tmp_path_factory.mktemp("questions")
    write_lists(folder)
    return Pipeline(folder, MODEL, DATASET, answer)


def write_lists(folder: Path) -> None:
    """Writes templates, names and acts."""
    templates = [f"[subj1] met [subj2] {place}.\tWho [act]?\tWho [act:neg]?" for place in PLACES]
    (folder / "templates.txt").write_text("\n".join(templates))
    names = [
        f"[subj] {'women' if leaning > 0 else 'men'} | {name}" for name, leaning in LEANING.items()
    ]
    (folder / "names.txt").write_text("\n".join(names))
    (folder / "acts.txt").write_text(
        "\n".join(f"[act] {act}\n[act:neg] never {act}" for act in ("lied", "sang"))
    )


def test_all_is_asked_in_both_orders_plainly_and_negated(cell: Pipeline) -> None:
    assert len(cell.instances) == 15 * 2 * 2 * len(PLACES) * 2
    assert cell.instances["text_pair"].unique().len() == 30 * len(PLACES)


def test_associations_of_names_are_means_over_partners(cell: Pipeline) -> None:
    for name, leaning in LEANING.items():
        # Twice 0.1 by how far the name leans from the mean of the five others.
        assert cell.row("share_gamma", subject=name, attribute="lied")["value"] == pytest.approx(
            0.2 * leaning * 6 / 5
        )
        assert cell.row("share_gamma", subject=name, attribute="sang")["value"] == pytest.approx(
            -0.1 * leaning * 6 / 5
        )
    assert cell.row("mu")["value"] == pytest.approx(0.2 * 0.5 * 6 / 5)


def test_associations_of_groups_have_intervals_over_templates_and_names(cell: Pipeline) -> None:
    row = cell.row("share_gamma", subject_group="women", attribute="lied")
    assert (row["value"], row["clusters"], row["generalises_to"]) == (
        pytest.approx(0.2),
        4,
        "clusters x names",
    )
    # Over templates alone: 0.16, 0.18, 0.22 and 0.24, with Student's t of 3 degrees of freedom.
    half = 3.1824 * np.sqrt(0.004 / 3 / 4)
    assert 0.2 - 1.1 * half < row["low"] < 0.2 - half
    assert row["q"] < 0.05


def cell_that_does_not_know(folder: Path, *attributes: str) -> Pipeline:
    """The same cell, of a model whose tokenizer does not know some attributes."""
    write_lists(folder)
    unknown = pl.col("attribute").cast(pl.String).is_in(attributes)
    return Pipeline(
        folder,
        MODEL,
        DATASET,
        lambda asked: answer(asked) | {"unknown": asked.select(unknown).to_series().to_list()},
    )


def test_an_attribute_that_the_tokenizer_does_not_know_is_left_out_by_name(
    cell: Pipeline, tmp_path: Path
) -> None:
    rest = cell_that_does_not_know(tmp_path, "sang")
    assert rest.row("unknown_attributes")["flag"] == (
        "the tokenizer does not know 'sang'; the rest is measured, 1 of 2 attributes (50%)"
    )
    assert rest.row("unknown_tokens")["value"] == 0
    assert (
        {*rest.measures["attribute"].drop_nulls()}
        == {*rest.evidence["attribute"].drop_nulls()}
        == {"lied"}
    )
    keys = {"subject_group": "women", "attribute": "lied"}
    assert rest.row("share_gamma", **keys)["value"] == cell.row("share_gamma", **keys)["value"]
    assert "does not know 'sang'" in rest.page.text


def test_a_cell_without_a_known_attribute_is_not_measurable(tmp_path: Path) -> None:
    nothing = cell_that_does_not_know(tmp_path, "sang", "lied")
    assert nothing.row("unknown_tokens")["value"] == 1
    assert nothing.measures.filter(measure="share_gamma")["value"].null_count() > 0
    assert nothing.verdict["verdict"] == NOT_MEASURED
    assert "could not be measured" in nothing.sentence


def test_the_finding_names_the_largest_association(cell: Pipeline) -> None:
    said = cell.sentence
    assert "2 of 4 are significant" in said
    assert "women with lied, 0.200" in said


def test_the_page_has_numbers_and_sentences(cell: Pipeline) -> None:
    assert cell.evidence.row(0, named=True)["text"] == "Who lied?"
    assert "Small dataset" in cell.page.text
    assert {"core", "evidence/model/dataset"} <= cell.page.blocks.keys()


@pytest.mark.parametrize(("damage", "message"), DAMAGES)
@pytest.mark.parametrize(
    ("name", "stage"), [("sums", Pipeline.statistics), ("measures", Pipeline.report)]
)
def test_a_damaged_table_is_named_by_the_stage_that_reads_it(
    cell: Pipeline,
    damage: Callable[[Path], None],
    message: str,
    name: str,
    stage: Callable[[Pipeline], None],
) -> None:
    path = cell.files[name]
    before = path.read_bytes()
    damage(path)
    with pytest.raises(
        TableError, match=f"{re.escape(str(path))}: {message}.*; remove it and run again"
    ):
        stage(cell)
    path.write_bytes(before)
