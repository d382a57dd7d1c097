"""What the engine refuses, and what it says."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from shards import Cell
from tiny_checkpoints import HEADS, instances_for
from transformers import AutoTokenizer

from biasgrid.checkpoints.checkpoint import ModelError

Cells = Callable[[str, str], Cell]


def with_instances(cell: Cell, **changes: object) -> Cell:
    return cell.with_instances(instances_for(cell.task, **changes))  # type: ignore[arg-type]


def copied(cell: Cell) -> Path:
    return Path(shutil.copytree(cell.checkpoint, cell.folder / "checkpoint"))


@pytest.mark.parametrize("task", HEADS)
def test_scores_that_are_not_numbers_are_refused_with_their_instance(cell: Cells, task: str) -> None:
    ours = cell("bert", task)
    checkpoint = copied(ours)
    tokenizer, model = AutoTokenizer.from_pretrained(checkpoint), HEADS[task].from_pretrained(checkpoint)
    texts = ours.instances["text"].cast(str) + " " + ours.instances["text_pair"].cast(str)
    lengths = [len(tokenizer(text).input_ids) for text in texts]
    with torch.no_grad():
        model.bert.embeddings.position_embeddings.weight[max(lengths) - 1 :] = float("nan")
    model.save_pretrained(checkpoint)
    with pytest.raises(ModelError, match=r"non-finite scores on instance \d+; expected probabilities") as caught:
        Cell(ours.folder, task, ours.instances, checkpoint).predict()
    instance = int(str(caught.value).split("instance ")[1].split(";")[0])
    assert lengths[instance] == max(lengths)


@pytest.mark.parametrize("task", HEADS)
def test_inputs_that_are_longer_than_the_positions_are_refused(cell: Cells, task: str) -> None:
    ours = cell("roberta", task)
    long = ours.instances.with_columns(text_pair=ours.instances["text_pair"].cast(str) + " cook" * 130)
    long = long.cast(dict.fromkeys(["text_pair"], ours.instances["text_pair"].dtype))
    frame = ours.instances.head(9).extend(long[9:10]).extend(ours.instances[10:])
    with pytest.raises(ModelError, match=r"instance 9 has 1\d\d tokens; expected at most 128"):
        Cell(ours.folder, task, frame, ours.checkpoint).predict()


@pytest.mark.parametrize("architecture", ["bert", "roberta"])
@pytest.mark.parametrize(("trained", "asked"), [list(HEADS), list(HEADS)[::-1]])
def test_a_checkpoint_without_the_head_is_refused(
    cell: Cells, tiny_checkpoint: Callable[[str, str], Path], architecture: str, trained: str, asked: str
) -> None:
    ours = cell(architecture, asked)
    message = f"no weights for the task {asked}: .* would be newly initialized; expected a checkpoint that was trained"
    with pytest.raises(ModelError, match=message):
        Cell(ours.folder, asked, ours.instances, tiny_checkpoint(architecture, trained)).predict()


def test_a_tokenizer_without_mask_token_is_refused(cell: Cells) -> None:
    ours = cell("bert", "fill-mask")
    checkpoint = copied(ours)
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    tokenizer.mask_token = None
    tokenizer.save_pretrained(checkpoint)
    with pytest.raises(ModelError, match="the tokenizer has no mask token; expected a masked language model"):
        Cell(ours.folder, ours.task, ours.instances, checkpoint).predict()


def test_subjects_of_several_tokens_are_refused(cell: Cells) -> None:
    ours = with_instances(cell("bert", "fill-mask"), mask="[MASK]", names=["Ann", "Carl", "African-American"])
    with pytest.raises(ModelError, match="'African-American' is not one token of this model; expected one-token"):
        ours.predict()


def test_another_tokenizers_mask_is_refused(cell: Cells) -> None:
    ours = with_instances(cell("bert", "fill-mask"), mask="<mask>")
    with pytest.raises(ModelError, match=r"has 0 masks for this tokenizer; expected one \[MASK\]"):
        ours.predict()


def test_unqover_scoring_of_other_architectures_is_refused(cell: Cells) -> None:
    with pytest.raises(ModelError, match="scoring unqover knows BERT, DistilBERT and RoBERTa, not electra"):
        cell("electra", "question-answering").predict(scoring="unqover")


def test_a_damaged_instances_table_is_refused(cell: Cells) -> None:
    ours = cell("bert", "question-answering")
    path = ours.folder / "instances.parquet"
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(Exception, match=r"instances.parquet: not a readable instances table"):
        ours.predict()
