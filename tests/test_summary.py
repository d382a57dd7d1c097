import polars as pl
import pytest

from biasgrid.summary import ModelFacts, summarise
from biasgrid.table_files import validate
from biasgrid.tables.measures import MEASURES, SUMMARY

SCORING = {"gender": "exact", "religion": "exact"}
MODELS = {
    "bert-squad": ModelFacts("SQuAD", "BERT base", SCORING),
    "bert": ModelFacts("LM", "BERT base", SCORING | {"religion": "unqover"}),
}
CELL = {
    "mu": 0.5,
    "eta": 0.25,
    "delta": 0.1,
    "epsilon": 0.2,
    "answer_probability": 0.4,
    "winner_changes": 0.3,
}


def measures_of(model: str, dataset: str, factor: float = 1) -> pl.DataFrame:
    """A cell of three subjects and two attributes: its own measures and some of its parts."""
    parts = [
        ("gamma", subject, cluster, attribute, sort, 0.9, 7)
        for subject, cluster in (("Ann", None), ("Bea", None), ("Carl", None), (None, "he"))
        for attribute, sort in (("cooks", None), ("reads", None), (None, None), (None, "chores"))
    ]
    cell = [
        (name, None, None, None, None, value * factor, 3 if name in ("mu", "eta") else 12)
        for name, value in CELL.items()
    ]
    eta = [("eta", "Ann", None, None, None, 0.7, 7)]
    rows = [(model, dataset, *row) for row in parts + eta + cell]
    return pl.DataFrame(
        rows, schema={name: column.dtype.type for name, column in MEASURES.columns.items()}, orient="row"
    )


def test_a_cell_is_one_row_with_its_measures_and_counts() -> None:
    summary = summarise(measures_of("bert-squad", "gender"), MODELS)
    validate(summary, SUMMARY, "summary")
    assert summary.to_dicts() == [
        {
            "model": "bert-squad",
            "dataset": "gender",
            "kind": "SQuAD",
            "label": "BERT base",
            "scoring": "exact",
        }
        | CELL
        | {"swap_groups": 12, "subjects": 3, "attributes": 2}
    ]


def test_cells_keep_their_order_and_their_numbers() -> None:
    cells = [("bert-squad", "religion", 1.0), ("bert", "religion", 0.5), ("bert", "gender", 0.25)]
    summary = summarise(pl.concat(measures_of(*cell) for cell in cells), MODELS)
    assert summary.select("model", "dataset", "mu").rows() == [(*names, 0.5 * factor) for *names, factor in cells]
    assert summary["kind"].to_list() == ["SQuAD", "LM", "LM"]
    assert summary["scoring"].to_list() == ["exact", "unqover", "exact"]


def test_a_model_that_the_config_does_not_know_is_an_error() -> None:
    with pytest.raises(KeyError, match="stranger"):
        summarise(measures_of("stranger", "gender"), MODELS)
