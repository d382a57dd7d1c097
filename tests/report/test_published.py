"""Published figures: those of the repository, and what is said of faulty ones."""

import json
from pathlib import Path

import polars as pl
import pytest
from small_measures import measures_of

from biasgrid.base.faults import InputError
from biasgrid.report.published import (
    PUBLISHED_SCHEMA,
    published_rows,
    read_published,
    with_our_names,
)
from biasgrid.report.run import ReportModel
from biasgrid.tables.files import empty_table
from biasgrid.tables.measures import MEASURES

PUBLISHED = Path(__file__).parents[2] / "reference" / "unqover_published.json"
FIGURE = {
    "dataset": "religion",
    "kind": "SQuAD",
    "label": "BERT base",
    "measure": "mu",
    "subject": None,
    "value": 0.1,
    "tolerance": None,
}


def test_the_figures_of_unqover_are_complete() -> None:
    figures = read_published(PUBLISHED)
    counts = dict(figures.group_by("measure").agg(pl.len()).rows())
    assert counts == {"mu": 60, "eta": 60, "margin": 15, "gamma": 5 * (15 + 11 + 69)}
    cell = figures.filter(dataset="nationality", kind="SQuAD", label="RoBERTa large", measure="mu")
    assert cell.select("subject", "value", "tolerance").rows() == [(None, 0.2253, 0.002)]
    assert figures.select("dataset", "kind", "label", "measure", "subject").is_unique().all()


def test_subjects_are_only_named_where_the_figure_is_about_one() -> None:
    figures = read_published(PUBLISHED)
    assert (figures["subject"].is_not_null() == (figures["measure"] == "gamma")).all()


def test_gamma_sums_to_zero_over_subjects_as_it_must() -> None:
    sums = (
        read_published(PUBLISHED)
        .filter(measure="gamma")
        .group_by("dataset", "label")
        .agg(pl.sum("value"))
    )
    assert sums["value"].abs().max() < 69 * 0.00005


def test_every_published_model_has_a_checkpoint_and_is_found_by_it() -> None:
    published = read_published(PUBLISHED)
    assert published["checkpoint"].null_count() == 0
    models = [
        ReportModel(
            "mine",
            "QA",
            "my BERT",
            "question-answering",
            "tli8hf/unqover-bert-base-uncased-squad",
            "abc",
        ),
        ReportModel(
            "again",
            "QA",
            "my BERT, twice",
            "question-answering",
            "tli8hf/unqover-bert-base-uncased-squad",
            "abc",
        ),
        ReportModel("other", "QA", "BERT base", "question-answering", "somebody/bert", "abc"),
    ]
    named = with_our_names(published, models)
    theirs = published.filter(dataset="religion", kind="SQuAD", label="BERT base", measure="mu")[
        "value"
    ].item()
    cells = {"model": [one.name for one in models], "label": [one.label for one in models]}
    known = {"kind": "QA", "dataset": "religion", "measure": "mu"}
    summary = pl.DataFrame(cells).with_columns(
        value=0.1, **{name: pl.lit(text) for name, text in known.items()}
    )
    rows = published_rows(summary, empty_table(MEASURES), named)
    assert [(row["model"], row["published_mu"]) for row in rows] == [
        ("mine", theirs),
        ("again", theirs),
    ]
    # Whose checkpoint is unknown is found by what it is called.
    unknown = published.with_columns(checkpoint=pl.lit(None, pl.String))
    assert with_our_names(unknown, models).equals(unknown)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not JSON"),
        ("[]", r"\[\]; expected a section of keys such as about, checkpoints, cells, figures"),
        ('{"figures": 3}', "figures: 3; expected a list"),
        (json.dumps({"figures": [FIGURE, {"dataset": "religion"}]}), r"figures\[1\].kind: missing"),
        (
            json.dumps({"figures": [FIGURE | {"value": "high"}]}),
            r"figures\[0\].value: 'high'; expected a number",
        ),
        (
            json.dumps({"figures": [FIGURE | {"mark": "E"}]}),
            r"figures\[0\].mark: 'E'; expected one of A, A to B, A to C",
        ),
        (
            json.dumps({"figures": [FIGURE | {"value": None}]}),
            "expected a `value`, a `mark`, or both",
        ),
    ],
)
def test_faulty_files_are_refused(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "published.json"
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        read_published(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.json: cannot be read"):
        read_published(tmp_path / "nowhere.json")


def test_a_subject_without_a_number_of_ours_does_not_count() -> None:
    gammas = {"Ann": 0.3, "Bob": 0.1, "Cleo": None}
    shared = {"model": "mine", "dataset": "names"}
    ours = measures_of(
        [shared | {"measure": "mu", "value": 0.2}]
        + [
            shared | {"measure": "gamma", "subject": subject, "value": gamma}
            for subject, gamma in gammas.items()
        ]
    )
    cell = {"dataset": "names", "kind": "QA", "label": "My BERT"}
    published = pl.DataFrame(
        [cell | {"measure": "mu", "value": 0.2}]
        + [
            cell | {"measure": "gamma", "subject": subject.lower(), "value": 0.1 * position}
            for position, subject in enumerate(gammas)
        ],
        schema=PUBLISHED_SCHEMA,
    )
    summary = pl.DataFrame([cell | {"model": "mine", "measure": "mu", "value": 0.2}])
    (row,) = published_rows(summary, ours, published)
    assert (row["subjects"], row["gamma_correlation"]) == (2, None)
