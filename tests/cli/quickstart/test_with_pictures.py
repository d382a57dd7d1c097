"""Models that also take pictures, asked in texts: alike by `ask` and by the grid, and as
transformers alone does.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from shards import Cell, asked
from tiny_writers import CHAT_TEMPLATE, make_tokenizer
from transformers import AutoConfig, AutoModelForImageTextToText

from biasgrid.base.faults import UserError
from biasgrid.cli.quickstart.ask import Asker, read_typed_lines
from biasgrid.cli.quickstart.model import describe_model
from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.inference.surface_forms import surface_forms, without_continuations

POSITIONS = 64
QUESTION, OPTIONS = "Is it true?", ["A", "B"]
IMAGES = {
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "image_size": 28,
    "patch_size": 14,
}
PARTS: dict[str, dict[str, Any]] = {
    "gemma3": {"text": {"sliding_window": 32, "head_dim": 8}, "vision": IMAGES},
    "llava": {
        "text": {"model_type": "llama"},
        "vision": IMAGES | {"model_type": "clip_vision_model"},
    },
    "qwen2_5_vl": {
        "text": {"rope_scaling": {"type": "mrope", "mrope_section": [1, 1, 2]}},
        "vision": {
            "depth": 1,
            "hidden_size": 16,
            "intermediate_size": 32,
            "num_heads": 2,
            "out_hidden_size": 16,
        },
    },
}


@pytest.fixture(params=PARTS)
def checkpoint(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A tiny model of texts and pictures, whose positions are in the part of its config that is
    about texts.
    """
    tokenizer = make_tokenizer(CHAT_TEMPLATE, positions=10**6)
    text = {
        "vocab_size": len(tokenizer),
        "hidden_size": 16,
        "intermediate_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "max_position_embeddings": POSITIONS,
        "initializer_range": 0.3,
        "bos_token_id": 0,
        "eos_token_id": 1,
        "pad_token_id": 1,
    }
    parts = PARTS[request.param]
    config = AutoConfig.for_model(
        request.param, text_config=text | parts["text"], vision_config=parts["vision"]
    )
    torch.manual_seed(1)
    AutoModelForImageTextToText.from_config(config).eval().save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.slow
def test_they_are_asked_alike_by_ask_and_by_the_grid(checkpoint: Path, tmp_path: Path) -> None:
    asker = Asker(describe_model(str(checkpoint), {}, None, None), tmp_path / "ask")
    (answer,) = asker.ask(
        read_typed_lines("text-generation", [" | ".join([QUESTION, *OPTIONS])], "the typed input")
    )
    rows = [{"text": QUESTION, "candidates": OPTIONS}]
    (said,) = (
        Cell(tmp_path / "cell", "text-generation", asked(rows), checkpoint)
        .predict()["probabilities"]
        .to_list()
    )
    assert answer["probabilities"] == pytest.approx(said, abs=1e-7)
    tokenizer = make_tokenizer(CHAT_TEMPLATE)
    model = AutoModelForImageTextToText.from_pretrained(checkpoint).eval()
    prompt = tokenizer(
        f"<|user|>\n{QUESTION}</s>\n<|assistant|>\n", add_special_tokens=False, return_tensors="pt"
    )
    ways = [
        [tokenizer(form, add_special_tokens=False).input_ids for form in forms]
        for forms in surface_forms(OPTIONS)
    ]
    spelled = [
        without_continuations(tuple(tokens) for tokens in tokens_of_option)
        for tokens_of_option in ways
    ]
    plain = [
        sum(probability_of(model, prompt.input_ids, tokens) for tokens in forms)
        for forms in spelled
    ]
    assert said == pytest.approx(plain, rel=0.001)


@torch.inference_mode()
def probability_of(model: Any, prompt: torch.Tensor, tokens: Sequence[int]) -> float:
    """Returns how probable some tokens are behind a prompt, one after the other, with transformers
    alone.
    """
    whole = torch.cat([prompt, torch.tensor([tokens])], dim=1)
    before = model(input_ids=whole).logits[0, prompt.shape[1] - 1 : -1].log_softmax(dim=-1)
    return float(before[torch.arange(len(tokens)), torch.tensor(tokens)].sum().exp())


def test_what_is_longer_than_their_positions_is_refused(checkpoint: Path, tmp_path: Path) -> None:
    rows = [{"text": text, "candidates": OPTIONS} for text in (QUESTION, "Nobody can tell. " * 20)]
    with pytest.raises(
        ModelError, match=rf"instance 1 has \d+ tokens; expected at most {POSITIONS} together"
    ):
        Cell(tmp_path / "cell", "text-generation", asked(rows), checkpoint).predict()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "T5ForConditionalGeneration",
            "is an encoder-decoder, which no back end supports: run it behind a server",
        ),
        (
            "XLNetForQuestionAnswering",
            "searches for spans with beams: choose a checkpoint of XLNetForQuestionAnsweringSim",
        ),
        (
            "BertForTokenClassification",
            "labels words, which no dataset needs: choose a checkpoint that answers",
        ),
        (
            "BertForMultipleChoice",
            "chooses among texts with a special head: list it in a config with `task: mul",
        ),
        (
            "BertModel",
            (
                "has no head for a task: choose a checkpoint that was trained for one; list an "
                "encoder of texts"
            ),
        ),
        (
            "New",
            r"architectures \['New'\] in its config.json; expected a class that ends in one of "
            "ForMaskedLM.*or list the model in a config, with its `task`",
        ),
    ],
)
def test_what_to_do_with_models_that_nobody_asks_is_said(
    tmp_path: Path, name: str, message: str
) -> None:
    (tmp_path / "config.json").write_text(f'{{"architectures": ["{name}"]}}')
    with pytest.raises(UserError, match=message):
        describe_model(str(tmp_path), {}, None, None)


def test_xlnet_that_answers_is_asked(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"architectures": ["XLNetForQuestionAnsweringSimple"]}')
    assert describe_model(str(tmp_path), {}, None, None).task == "question-answering"


def test_an_adapter_is_reported(tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text('{"base_model_name_or_path": "org/base"}')
    with pytest.raises(UserError, match=r"contains an adapter of org/base .*merge_and_unload"):
        describe_model(str(tmp_path), {}, None, None)
