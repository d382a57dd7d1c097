"""What the engine refuses, and what it says."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from shards import Cell, asked
from small_tables import check_alike
from tiny_checkpoints import ALL_HEADS, HEADS, LABELS, instances_for
from transformers import AutoTokenizer

from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.inference.engine import chunks

VERBS = ("lied", "cooked", "sat")
ENCODERS = ("feature-extraction",)
Cells = Callable[[str, str], Cell]


def with_instances(cell: Cell, **changes: object) -> Cell:
    return cell.with_instances(instances_for(cell.task, **changes))  # type: ignore[arg-type]


def copied(cell: Cell) -> Path:
    return Path(shutil.copytree(cell.checkpoint, cell.folder / "checkpoint"))


@pytest.mark.parametrize("task", HEADS)
def test_scores_that_are_not_numbers_are_refused_with_their_instance(
    cell: Cells, task: str
) -> None:
    ours = cell("bert", task)
    checkpoint = copied(ours)
    tokenizer, model = (
        AutoTokenizer.from_pretrained(checkpoint),
        HEADS[task].from_pretrained(checkpoint),
    )
    texts = ours.instances["text"].cast(str) + " " + ours.instances["text_pair"].cast(str)
    lengths = [len(tokenizer(text).input_ids) for text in texts]
    with torch.no_grad():
        model.bert.embeddings.position_embeddings.weight[max(lengths) - 1 :] = float("nan")
    model.save_pretrained(checkpoint)
    with pytest.raises(
        ModelError, match=r"non-finite scores on instance \d+; expected probabilities"
    ) as caught:
        Cell(ours.folder, task, ours.instances, checkpoint).predict()
    instance = int(str(caught.value).split("instance ")[1].split(";")[0])
    assert lengths[instance] == max(lengths)


@pytest.mark.parametrize("task", HEADS)
def test_inputs_that_are_longer_than_the_positions_are_refused(cell: Cells, task: str) -> None:
    ours = cell("roberta", task)
    long = ours.instances.with_columns(
        text_pair=ours.instances["text_pair"].cast(str) + " cook" * 130
    )
    long = long.cast(dict.fromkeys(["text_pair"], ours.instances["text_pair"].dtype))
    cluster = ours.instances.head(9).extend(long[9:10]).extend(ours.instances[10:])
    with pytest.raises(ModelError, match=r"instance 9 has 1\d\d tokens; expected at most 128"):
        Cell(ours.folder, task, cluster, ours.checkpoint).predict()


@pytest.mark.parametrize("task", ALL_HEADS)
def test_tokens_that_the_model_does_not_know_are_refused(
    cell: Cells, tiny_checkpoint: Callable[[str, str], Path], tmp_path: Path, task: str
) -> None:
    """As where a tokenizer has more words than the weights."""
    source = tiny_checkpoint("bert", task)
    checkpoint = tmp_path / "checkpoint"
    tokenizer, model = (
        AutoTokenizer.from_pretrained(source),
        ALL_HEADS[task].from_pretrained(source),
    )
    tokenizer.add_tokens(["cooked"])
    tokenizer.save_pretrained(checkpoint)
    model.save_pretrained(checkpoint)
    pair = "Ann sat." if task == "question-answering" else ""
    rows = asked(
        [
            {"text": f"The [MASK] man {verb}.", "text_pair": pair, "candidates": ["Ann"]}
            for verb in VERBS
        ]
    )
    ours = Cell(tmp_path / "cell", task, rows, checkpoint)
    more = (
        {"labels": LABELS}
        if task == "text-classification"
        else {"max_tokens": None}
        if task in ENCODERS
        else {}
    )
    known = len(tokenizer) - 1
    with pytest.raises(
        ModelError,
        match=rf"tiny: instance 1 has the token {known}, but the model knows only {known} tokens",
    ):
        ours.predict(**more)


def test_pieces_that_wait_are_looked_at_before_the_first_is_asked(
    cell: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those of a GPU are, which computes while they are tokenized."""
    monkeypatch.setattr(
        chunks,
        "chunk_beginnings",
        lambda instance_count, _device: list(range(0, instance_count, 8)),
    )
    ours = cell("bert", "fill-mask")
    check_alike(ours.predict_anew(), cell("bert", "fill-mask").predict_anew())
    long = ours.instances.with_columns(
        text_pair=ours.instances["text_pair"].cast(str) + " cook" * 130
    )
    long = long.cast(dict.fromkeys(["text_pair"], ours.instances["text_pair"].dtype))
    cluster = ours.instances.head(40).extend(long[40:41]).extend(ours.instances[41:])
    with pytest.raises(ModelError, match=r"instance 40 has 1\d\d tokens; expected at most"):
        Cell(ours.folder, "fill-mask", cluster, ours.checkpoint).predict_anew()
    assert not ours.parts


@pytest.mark.parametrize("architecture", ["bert", "roberta"])
@pytest.mark.parametrize(("trained", "asked"), [list(HEADS), list(HEADS)[::-1]])
def test_a_checkpoint_without_the_head_is_refused(
    cell: Cells,
    tiny_checkpoint: Callable[[str, str], Path],
    architecture: str,
    trained: str,
    asked: str,
) -> None:
    ours = cell(architecture, asked)
    message = (
        f"no weights for the task {asked}: .* would start with random values; expected a "
        "checkpoint that was trained"
    )
    with pytest.raises(ModelError, match=message):
        Cell(ours.folder, asked, ours.instances, tiny_checkpoint(architecture, trained)).predict()


def test_a_tokenizer_without_mask_token_is_refused(cell: Cells) -> None:
    ours = cell("bert", "fill-mask")
    checkpoint = copied(ours)
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    tokenizer.mask_token = None
    tokenizer.save_pretrained(checkpoint)
    with pytest.raises(
        ModelError, match="the tokenizer has no mask token; expected a masked language model"
    ):
        Cell(ours.folder, ours.task, ours.instances, checkpoint).predict()


def test_subjects_of_several_tokens_are_refused(cell: Cells) -> None:
    ours = with_instances(
        cell("bert", "fill-mask"), mask="[MASK]", names=["Ann", "Carl", "African-American"]
    )
    with pytest.raises(
        ModelError,
        match="'African-American' is not a single token of this model; expected one-token",
    ):
        ours.predict()


def test_another_tokenizers_mask_is_refused(cell: Cells) -> None:
    ours = with_instances(cell("bert", "fill-mask"), mask="<mask>")
    with pytest.raises(ModelError, match=r"has 0 masks for this tokenizer; expected one \[MASK\]"):
        ours.predict()


def test_unqover_scoring_of_other_architectures_is_refused(cell: Cells) -> None:
    with pytest.raises(
        ModelError, match="scoring unqover supports BERT, DistilBERT and RoBERTa, not electra"
    ):
        cell("electra", "question-answering").predict(scoring="unqover")


def test_a_damaged_instances_table_is_refused(cell: Cells) -> None:
    ours = cell("bert", "question-answering")
    path = ours.folder / "instances.parquet"
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(Exception, match=r"instances.parquet: is not a readable biasgrid table"):
        ours.predict()
