"""Class probabilities against the plain way to ask a classifier."""

import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
import torch
from plain import Plain
from shards import Cell, hook_model, interrupt, largest_difference
from small_tables import check_alike
from tiny_checkpoints import LABELS, OTHER_TOKENIZERS, TOKENIZERS
from transformers import AutoModelForSequenceClassification, BertConfig

from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.inference.models.predict import with_all_columns
from biasgrid.inference.models.text_classification import class_order
from biasgrid.tables.answers.choice import SCHEMA
from biasgrid.tables.files import TableError, read_provenance, write_table

Cells = Callable[..., Cell]
TASK = "text-classification"
TEXTS = [
    f"The {who} {did}."
    for who in ("cook", "man", "African-American")
    for did in ("lied", "was a good cook", "sat")
]
SINGLE = [{"text": text} for text in TEXTS]
PAIRS = [
    {"text": text, "text_pair": pair} for text in TEXTS for pair in ("He lied.", "Who sat by Ann?")
]


def expected(cell: Cell) -> pl.DataFrame:
    plain = Plain(cell.checkpoint, TASK)
    texts = cell.instances.select("text", "text_pair").iter_rows()
    said = [plain.class_probabilities(*filter(None, pair)) for pair in texts]
    return pl.DataFrame(
        {"instance": cell.instances["instance"], "probabilities": said}, schema_overrides=FLOATS
    )


FLOATS = {"probabilities": pl.List(pl.Float32)}


@pytest.mark.parametrize("rows", [SINGLE, PAIRS], ids=["single texts", "pairs"])
@pytest.mark.parametrize("architecture", [*TOKENIZERS, *OTHER_TOKENIZERS])
def test_probabilities_match_single_rows(
    case_cell: Cells, architecture: str, rows: list[dict[str, str]]
) -> None:
    ours = case_cell(architecture, TASK, rows)
    theirs = expected(ours)
    assert theirs["probabilities"].list.first().n_unique() == len(rows)
    assert largest_difference(ours.predict(labels=LABELS), theirs) < 1e-5


def test_single_texts_and_pairs_may_be_in_one_table(case_cell: Cells) -> None:
    ours = case_cell(
        "bert", TASK, [*SINGLE[:2], *PAIRS[:2], {"text": "Who lied?", "text_pair": ""}]
    )
    assert largest_difference(ours.predict(labels=LABELS), expected(ours)) < 1e-5


def test_classes_are_in_the_order_of_the_dataset(case_cell: Cells) -> None:
    ours = case_cell("bert", TASK, SINGLE)
    theirs = ours.predict(labels=LABELS)
    other = ours.predict(labels=["Entailment", "CONTRADICTION", "neutral"])
    assert (
        other["probabilities"].to_list() == theirs["probabilities"].list.gather([2, 0, 1]).to_list()
    )
    assert read_provenance(ours.out)["labels"] == ["Entailment", "CONTRADICTION", "neutral"]


def test_other_classes_are_refused_with_both_names(case_cell: Cells) -> None:
    message = (
        r"the checkpoint's classes are \['contradiction', 'neutral', 'entailment'\], "
        r"those of the config \['negative', 'positive'\]; expected the same names, in any order"
    )
    with pytest.raises(ModelError, match=message):
        case_cell("bert", TASK, SINGLE).predict(labels=["negative", "positive"])


def test_classes_without_names_of_their_own_are_named_label_and_number() -> None:
    assert class_order(BertConfig(num_labels=3), ["LABEL_2", "label_0", "LABEL_1"]) == [2, 0, 1]
    with pytest.raises(
        ModelError, match=r"the checkpoint's classes are \['LABEL_0', 'LABEL_1', 'LABEL_2'\]"
    ):
        class_order(BertConfig(num_labels=3), ["negative", "positive", "neutral"])


def test_classes_that_are_not_numbered_from_0_are_refused() -> None:
    config = BertConfig(id2label={1: "yes", 2: "no"})
    with pytest.raises(
        ModelError, match=r"id2label names the classes \[1, 2\]; expected 0, 1, \.\.\."
    ):
        class_order(config, ["yes", "no"])


@pytest.mark.parametrize("names", [["yes", "Yes"], ["yes", "no", "maybe"], ["LABEL_1", "LABEL_0"]])
def test_a_class_that_only_one_side_has_is_refused(names: list[str]) -> None:
    with pytest.raises(
        ModelError, match="those of the config \\['yes', 'no'\\]; expected the same names"
    ):
        class_order(BertConfig(id2label=dict(enumerate(names))), ["yes", "no"])


def test_models_that_give_a_text_several_classes_are_refused() -> None:
    with pytest.raises(
        ModelError, match=r"the classes .*any number of its classes.*; expected exactly one"
    ):
        class_order(BertConfig(problem_type="multi_label_classification"), ["LABEL_0", "LABEL_1"])


def test_a_checkpoint_without_classifier_is_refused(
    case_cell: Cells, tiny_checkpoint: Callable[[str, str], Path]
) -> None:
    ours = case_cell("bert", TASK, SINGLE)
    masked = Cell(ours.folder, TASK, ours.instances, tiny_checkpoint("bert", "fill-mask"))
    with pytest.raises(ModelError, match=f"no weights for the task {TASK}: .*classifier"):
        masked.predict(labels=["LABEL_0", "LABEL_1"])


def test_scores_that_are_not_numbers_are_refused_with_their_instance(case_cell: Cells) -> None:
    ours = case_cell(
        "bert", TASK, [*SINGLE, {"text": "The man was a good cook" + " and a man" * 5}, *SINGLE]
    )
    checkpoint = Path(shutil.copytree(ours.checkpoint, ours.folder / "checkpoint"))
    model = AutoModelForSequenceClassification.from_pretrained(checkpoint)
    with torch.no_grad():
        model.bert.embeddings.position_embeddings.weight[20:] = float("nan")
    model.save_pretrained(checkpoint)
    with pytest.raises(
        ModelError, match=f"non-finite scores on instance {len(SINGLE)}; expected probabilities"
    ):
        Cell(ours.folder, TASK, ours.instances, checkpoint).predict(labels=LABELS)


def test_an_interrupted_shard_goes_on_and_ends_the_same(
    case_cell: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("biasgrid.inference.models.predict.ROWS_A_PART", 4)
    ours = case_cell("roberta", TASK, PAIRS)
    uninterrupted = ours.predict(labels=LABELS)
    interrupt(ours, 2, monkeypatch, labels=LABELS)
    check_alike(ours.predict(labels=LABELS), uninterrupted)


def test_batches_that_do_not_fit_into_memory_are_halved(
    case_cell: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = case_cell("bert", TASK, PAIRS)
    whole = ours.predict(labels=LABELS)

    def small_memory(ids: torch.Tensor) -> None:
        if len(ids) > 1:
            # What main memory says, of numpy's arrays; that of a GPU is in test_resume.py.
            raise MemoryError("Unable to allocate 2.00 GiB for an array")

    hook_model(monkeypatch, small_memory)
    assert largest_difference(ours.predict_anew(labels=LABELS), whole) < 1e-6


def test_half_precision_is_near_and_its_drift_is_recorded(
    case_cell: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("biasgrid.inference.engine.audit.FEWEST", len(PAIRS))
    ours = case_cell("bert", TASK, PAIRS)
    exact, rounded = ours.predict(labels=LABELS), ours.predict(labels=LABELS, precision="bfloat16")
    audit = ours.audit
    assert audit["rows"] == len(PAIRS)
    assert audit["largest_drift"] == pytest.approx(largest_difference(exact, rounded), abs=1e-6)
    assert 0 < audit["mean_drift"] < audit["largest_drift"] < 0.1


def test_a_shard_without_instances_is_an_empty_table(case_cell: Cells) -> None:
    ours = case_cell("bert", TASK, SINGLE[:1])
    assert ours.predict(1, 2, labels=LABELS).schema == ours.predict(2, 2, labels=LABELS).schema


@pytest.mark.parametrize("probabilities", [[0.5, 1.6], [-0.5, 0.5]])
def test_what_is_no_probability_is_no_prediction(
    tmp_path: Path, probabilities: list[float]
) -> None:
    rows = {"instance": [0, 1], "probabilities": [[0.5, 0.5], probabilities]}
    cluster = with_all_columns(pl.DataFrame(rows, schema={"instance": pl.UInt32, **FLOATS}), SCHEMA)
    with pytest.raises(TableError, match=r"each in 0\.\.1"):
        write_table(cluster, tmp_path / "predictions.parquet", SCHEMA, {})
