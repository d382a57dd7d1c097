"""Vectors of texts against the recipe of sentence-transformers, put together from transformers
alone.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import needs
import polars as pl
import pytest
import torch
from real_models import extract_encoder
from shards import Cell, asked
from transformers import AutoModel, AutoTokenizer

from biasgrid.inference.checkpoints.checkpoint import ModelError

Checkpoints = Callable[[str, str], Path]
TEXTS = ["The cook sat by the sea.", "The old man lied.", "Zoë", "A good cook was a good man. " * 6]
MODULES = ["Transformer", "Pooling", "Normalize"]


@pytest.fixture
def encoder(tmp_path: Path, tiny_checkpoint: Checkpoints) -> Callable[..., Path]:
    """Gives a checkpoint with the files of sentence-transformers that a test wants."""

    def make(
        pooling: dict[str, Any] | None = None, kinds: Sequence[str] = MODULES, **files: Any
    ) -> Path:
        folder = tmp_path / "encoder"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(tiny_checkpoint("bert", "feature-extraction"), folder)
        if pooling is not None:
            paths = ["", *(f"{place}_{kind}" for place, kind in enumerate(kinds[1:], 1))]
            modules = [
                {"idx": place, "path": path, "type": f"sentence_transformers.models.{kind}"}
                for place, (path, kind) in enumerate(zip(paths, kinds, strict=True))
            ]
            (folder / "1_Pooling").mkdir()
            files |= {"modules": modules, "1_Pooling/config": pooling}
        for name, content in files.items():
            (folder / f"{name}.json").write_text(json.dumps(content))
        return folder

    return make


def vectors(
    folder: Path, checkpoint: Path, texts: Sequence[str] = TEXTS, most: int | None = None
) -> pl.DataFrame:
    return cell_of(folder, checkpoint, texts).predict_anew(max_tokens=most)


def cell_of(folder: Path, checkpoint: Path, texts: Sequence[str] = TEXTS) -> Cell:
    return Cell(
        folder / "cell", "feature-extraction", asked([{"text": text} for text in texts]), checkpoint
    )


@torch.inference_mode()
def plain(
    checkpoint: Path, text: str, pool: Callable[[torch.Tensor], torch.Tensor], longest: int
) -> list[float]:
    """What sentence-transformers does with a text, by hand."""
    tokenizer, model = (
        AutoTokenizer.from_pretrained(checkpoint),
        AutoModel.from_pretrained(checkpoint).eval(),
    )
    states = model(
        **tokenizer(text, truncation=True, max_length=longest, return_tensors="pt")
    ).last_hidden_state[0]
    return list(torch.nn.functional.normalize(pool(states), dim=0).tolist())


def mean(states: torch.Tensor) -> torch.Tensor:
    return states.mean(dim=0)


def check(table: pl.DataFrame, expected: Sequence[list[float]]) -> None:
    for ours, theirs in zip(table["vector"].to_list(), expected, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-5)


@pytest.mark.parametrize(
    ("pooling", "pool"),
    [
        (None, mean),
        ({"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}, mean),
        ({"pooling_mode": "mean"}, mean),
        ({"pooling_mode_mean_sqrt_len_tokens": True}, mean),
        (
            {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False},
            lambda states: states[0],
        ),
        ({"pooling_mode_max_tokens": True}, lambda states: states.amax(dim=0)),
        ({"pooling_mode_lasttoken": True}, lambda states: states[-1]),
    ],
)
def test_states_are_pooled_as_the_checkpoint_says(
    encoder: Callable[..., Path], tmp_path: Path, pooling: dict[str, Any] | None, pool: Any
) -> None:
    checkpoint = encoder(pooling)
    check(vectors(tmp_path, checkpoint), [plain(checkpoint, text, pool, 128) for text in TEXTS])


def test_as_many_tokens_are_read_as_the_checkpoint_says_unless_the_config_does(
    encoder: Callable[..., Path], tmp_path: Path
) -> None:
    checkpoint = encoder(
        {"pooling_mode": "mean"}, sentence_bert_config={"max_seq_length": 8, "do_lower_case": False}
    )
    for most, longest in ((None, 8), (5, 5), (20, 20)):
        table = vectors(tmp_path, checkpoint, most=most)
        check(table, [plain(checkpoint, text, mean, longest) for text in TEXTS])
        assert table["truncated"][3]


def test_prompts_and_lower_case_match_the_checkpoint(
    encoder: Callable[..., Path], tmp_path: Path
) -> None:
    prompts = {"prompts": {"query": "The cook: ", "other": "No "}, "default_prompt_name": "query"}
    checkpoint = encoder(
        {"pooling_mode": "mean"},
        config_sentence_transformers=prompts,
        sentence_bert_config={"do_lower_case": True},
    )
    check(
        vectors(tmp_path, checkpoint),
        [plain(checkpoint, f"The cook: {text}".lower(), mean, 128) for text in TEXTS],
    )
    checkpoint = encoder(
        {"pooling_mode": "mean"},
        config_sentence_transformers=prompts | {"default_prompt_name": None},
    )
    check(vectors(tmp_path, checkpoint), [plain(checkpoint, text, mean, 128) for text in TEXTS])


@pytest.mark.parametrize(
    ("kinds", "pooling", "files", "message"),
    [
        (
            [*MODULES, "Dense"],
            {"pooling_mode": "mean"},
            {},
            r"modules.json has modules that biasgrid does not support \(Dense\)",
        ),
        (
            ["Transformer"],
            {},
            {},
            r"modules.json has modules that biasgrid does not support \(Transformer\)",
        ),
        (
            ["Router", "Pooling"],
            {"pooling_mode": "mean"},
            {},
            r"modules that biasgrid does not support \(Router\)",
        ),
        (
            MODULES,
            {"pooling_mode_weightedmean_tokens": True},
            {},
            "by pooling_mode_weightedmean_tokens; expected",
        ),
        (
            MODULES,
            {"pooling_mode": ["cls", "mean"]},
            {},
            "pools by cls, mean; expected exactly one of mean, cls",
        ),
        (MODULES, {}, {}, "1_Pooling/config.json pools by no mode"),
        (
            MODULES,
            {"pooling_mode": "mean"},
            {"modules": {}},
            "modules.json contains no list of modules",
        ),
        (
            MODULES,
            {"pooling_mode": "mean"},
            {"sentence_bert_config": {"max_seq_length": 0}},
            "max_seq_length of 0",
        ),
        (
            MODULES,
            {"pooling_mode": "mean", "include_prompt": False},
            {"config_sentence_transformers": {"prompts": {"a": "b"}, "default_prompt_name": "a"}},
            "reads the prompt 'b' but leaves it out of its vectors; expected an encoder without",
        ),
        (
            MODULES,
            {"pooling_mode": "mean"},
            {"config_sentence_transformers": {"prompts": ["b"], "default_prompt_name": "a"}},
            r"config_sentence_transformers.json, prompts: \['b'\]; expected an object",
        ),
    ],
)
def test_what_is_not_read_of_a_recipe_is_refused(
    encoder: Callable[..., Path],
    tmp_path: Path,
    kinds: list[str],
    pooling: Any,
    files: Any,
    message: str,
) -> None:
    checkpoint = encoder(pooling, kinds)
    for name, content in files.items():
        (checkpoint / f"{name}.json").write_text(json.dumps(content))
    with pytest.raises(ModelError, match=message):
        vectors(tmp_path, checkpoint)


def test_the_recipe_is_on_record(encoder: Callable[..., Path], tmp_path: Path) -> None:
    checkpoint = encoder({"pooling_mode": "mean"}, sentence_bert_config={"max_seq_length": 8})
    before = vectors(tmp_path, checkpoint)
    (checkpoint / "1_Pooling/config.json").write_text('{"pooling_mode": "cls"}')
    cell = cell_of(tmp_path, checkpoint)
    assert list(cell.record["other_files"]) == [
        "1_Pooling/config.json",
        "modules.json",
        "sentence_bert_config.json",
    ]
    assert cell.predict(max_tokens=None)["vector"].to_list() != before["vector"].to_list()
    (checkpoint / "1_Pooling/config.json").write_text('{"pooling_mode": "max"}')
    with pytest.raises(
        ModelError, match=r"1_Pooling/config.json changed since the model's record was made"
    ):
        cell.predict_anew(max_tokens=None)


@pytest.mark.long
@needs.encoder.mark
def test_vectors_of_a_trained_encoder_match_its_recipe(tmp_path: Path) -> None:
    real = extract_encoder(tmp_path / "real")
    long = "A nurse met a pilot, who was late. " * 60
    texts = [
        "The nurse asked for a raise.",
        "A raise was what the nurse asked for.",
        "It rained in Wales.",
        long,
    ]
    table = vectors(tmp_path, real, texts)
    check(table, [plain(real, text, mean, 256) for text in texts])
    assert table["truncated"].to_list() == [False, False, False, True]
    one, same, other, _ = (torch.tensor(vector) for vector in table["vector"].to_list())
    assert len(one) == 384
    assert float(one @ same) > 0.85 > 0.3 > float(one @ other)
