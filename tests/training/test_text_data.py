"""Causal language models learn texts, one a line."""

import json
from pathlib import Path

import pytest
import torch
from shards import Cell, asked
from tiny_writers import save_writer
from transformers import AutoModelForCausalLM, AutoTokenizer

from biasgrid.base.faults import InputError
from biasgrid.inference.models.generation.section import Generation
from biasgrid.training.data import IGNORED
from biasgrid.training.text_data import collate_texts, text_data
from biasgrid.training.tiny import make_base_checkpoint
from biasgrid.training.train import Hyperparameters, train

LINES = ["Who lies? Answer: The old man.", "Who sat by the sea? Answer: A cook."]
HYPERPARAMETERS = Hyperparameters(
    epochs=60, batch_size=2, learning_rate=1e-2, max_length=64, stride=8
)


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    path = tmp_path / "lines.txt"
    path.write_text("\n\n".join(LINES))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["gpt2", "llama"])
def test_a_model_writes_what_it_has_learned(architecture: str, tmp_path: Path, lines: Path) -> None:
    base = save_writer(tmp_path / "base", architecture)
    for name in ("one", "two"):
        train("text-generation", base, [lines], tmp_path / name, HYPERPARAMETERS, threads=1)
    one, two = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("one", "two"))
    assert one == two
    prompts = [line.partition("Answer:")[0] + "Answer:" for line in LINES]
    cell = Cell(
        tmp_path / "cell",
        "text-generation",
        asked([{"text": text} for text in prompts]),
        tmp_path / "one",
    )
    said = cell.predict(answer="text", generation=Generation(temperature=0.0).model_dump())
    assert said["response"].to_list() == ["The old man.", "A cook."]
    assert said["status"].to_list() == ["ok", "ok"]


def test_texts_end_and_what_fills_batches_is_not_learned(tmp_path: Path, lines: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(save_writer(tmp_path / "base"))
    rows = text_data(tokenizer, lines, 64).rows
    assert [row["input_ids"][-1] for row in rows] == [tokenizer.eos_token_id] * 2
    batch = collate_texts([*rows, {"input_ids": [0, 5]}])
    assert batch["labels"][2].tolist() == [0, 5, *[IGNORED] * (batch["labels"].shape[1] - 2)]
    assert batch["attention_mask"].sum(dim=1).tolist() == [
        len(row["input_ids"]) for row in rows
    ] + [2]
    assert text_data(tokenizer, lines, 3).rows[0]["input_ids"] == rows[0]["input_ids"][:3]


def test_the_loss_matches_each_text_alone(tmp_path: Path, lines: Path) -> None:
    folder = save_writer(tmp_path / "base")
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    rows = text_data(AutoTokenizer.from_pretrained(folder), lines, 64).rows
    with torch.inference_mode():
        together = float(model(**collate_texts([*rows])).loss)
        alone = [float(model(**collate_texts([row])).loss) for row in rows]
    learned = [len(row["input_ids"]) - 1 for row in rows]
    assert together == pytest.approx(
        sum(a * n for a, n in zip(alone, learned, strict=True)) / sum(learned), abs=1e-5
    )


def test_a_tokenizer_without_a_token_for_padding_will_do(tmp_path: Path, lines: Path) -> None:
    base = save_writer(tmp_path / "base")
    config = json.loads((base / "tokenizer_config.json").read_text())
    del config["pad_token"]
    (base / "tokenizer_config.json").write_text(json.dumps(config))
    train(
        "text-generation", base, [lines], tmp_path / "model", Hyperparameters(epochs=1), threads=1
    )
    assert AutoTokenizer.from_pretrained(tmp_path / "model").pad_token is None


def test_prompts_without_answers_and_answers_without_prompts_are_refused(tmp_path: Path) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text("Who lies? Answer:\tA\nWho lies? Answer:\nWho lies? Answer:\t\tA\n\tA\n")
    with pytest.raises(InputError) as caught:
        text_data(AutoTokenizer.from_pretrained(save_writer(tmp_path / "base")), lines, 64)
    assert [(fault.where, fault.problem) for fault in caught.value.faults] == [
        ("line 2", "no answer after a tab"),
        ("line 3", "an empty answer after a tab"),
        ("line 4", "an empty prompt before the tab"),
    ]
    with pytest.raises(
        InputError,
        match=r"line 1: \d+ tokens of a prompt and its longest answer; expected at most 2 tokens, or",
    ):
        text_data(AutoTokenizer.from_pretrained(tmp_path / "base"), lines, 2)


def test_answers_of_several_words_are_learned_to_their_ends(tmp_path: Path) -> None:
    folder = tmp_path / "base"
    make_base_checkpoint(["Who lies?", "A cook", "A man", "All"], folder, seed=1, causal=True)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    lines = tmp_path / "lines.txt"
    lines.write_text("Who lies?\tA cook\tA man\tA man\tAll\n")
    rows = text_data(tokenizer, lines, 64).rows
    read = [tokenizer.decode(row["input_ids"], skip_special_tokens=True) for row in rows]
    learned = [
        [tokenizer.convert_ids_to_tokens(token) for token in row["labels"][1:]] for row in rows
    ]
    assert [row["labels"][0] for row in rows] == [len(row["input_ids"]) - 1 for row in rows]
    assert dict(zip(read, learned, strict=True)) == {
        "who lies ?": ["a", "a", "a", "all"],
        "who lies ? a": ["cook", "man", "man"],
        "who lies ? a cook": ["[SEP]"],
        "who lies ? a man": ["[SEP]", "[SEP]"],
        "who lies ? all": ["[SEP]"],
    }


def test_no_row_is_longer_than_what_is_allowed(tmp_path: Path) -> None:
    """The token that ends an answer of several is learned from a row with all of the answer."""
    folder, lines = tmp_path / "base", tmp_path / "lines.txt"
    make_base_checkpoint(["Who lies?", "A cook"], folder, seed=1, causal=True)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    lines.write_text("Who lies?\tA cook\n")
    longest = max(len(row["input_ids"]) for row in text_data(tokenizer, lines, 64).rows)
    assert len(text_data(tokenizer, lines, longest).rows) == 3
    with pytest.raises(
        InputError,
        match=f"line 1: {longest} tokens of a prompt and its longest answer; expected at m",
    ):
        text_data(tokenizer, lines, longest - 1)


def test_a_file_without_a_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("\n \n")
    with pytest.raises(InputError, match=r"lines\.txt: has no text; expected one text per line"):
        train(
            "text-generation",
            save_writer(tmp_path / "base"),
            [tmp_path / "lines.txt"],
            tmp_path / "model",
            HYPERPARAMETERS,
            threads=1,
        )
