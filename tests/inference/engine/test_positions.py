"""How many tokens a model takes, against what it does with one more."""

from types import SimpleNamespace

import pytest
import torch
from transformers import AutoConfig, AutoModel, PreTrainedConfig

from biasgrid.inference.engine.batches import longest_input

SIZES = {
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 8,
    "vocab_size": 9,
}
OWN_SIZES = {"bart": {"decoder_attention_heads": 2}, "xlnet": {"d_head": 4}}
RESERVED = {
    "roberta": 2,
    "xlm-roberta": 2,
    "roberta-prelayernorm": 2,
    "camembert": 2,
    "mpnet": 2,
    "ibert": 2,
}
"""How many positions are not for tokens where the token for padding has the id 1."""


def longest(model: torch.nn.Module, of_tokenizer: int) -> int:
    return longest_input(model, SimpleNamespace(model_max_length=of_tokenizer))  # type: ignore[arg-type]


def make(architecture: str, **sizes: int) -> torch.nn.Module:
    config = AutoConfig.for_model(architecture, **SIZES, **OWN_SIZES.get(architecture, {}), **sizes)
    model: torch.nn.Module = AutoModel.from_config(config)
    return model.eval()


@pytest.mark.parametrize("architecture", ["bert", "gpt2", "bart", *RESERVED])
@torch.inference_mode()
def test_a_model_takes_as_many_tokens_as_it_has_positions_for(architecture: str) -> None:
    model = make(architecture, max_position_embeddings=20, pad_token_id=1)
    limit = longest(model, 99)
    assert limit == 20 - RESERVED.get(architecture, 0)
    model(torch.full((1, limit), 4))
    with pytest.raises((IndexError, RuntimeError)):
        model(torch.full((1, limit + 1), 4))


def test_the_positions_before_the_tokens_are_as_many_as_the_padding_says() -> None:
    assert longest(make("roberta", max_position_embeddings=20, pad_token_id=5), 99) == 14


def test_the_tokenizer_may_know_of_fewer_positions() -> None:
    assert longest(make("bert", max_position_embeddings=20), 12) == 12


def test_a_model_of_texts_and_pictures_has_the_positions_of_its_part_for_texts() -> None:
    part = {**SIZES, "max_position_embeddings": 8, "num_key_value_heads": 1, "head_dim": 4}
    config = AutoConfig.for_model(
        "gemma3", text_config=part, vision_config={"hidden_size": 8, "num_hidden_layers": 1}
    )
    assert longest(SimpleNamespace(config=config, named_modules=list), 99) == 8  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("keys", "limit"),
    [
        ({"n_positions": 20}, 20),
        ({"n_ctx": 20}, 20),
        ({"max_seq_len": 20}, 20),
        ({"seq_length": 20}, 20),
        ({"max_position_embeddings": -1}, 99),
        ({"n_positions": 20, "relative_attention_num_buckets": 8}, 99),
        ({"max_position_embeddings": 20, "relative_attention_num_buckets": 8}, 20),
        ({}, 99),
    ],
)
def test_positions_have_many_names(keys: dict[str, int], limit: int) -> None:
    config = PreTrainedConfig(**keys)
    assert longest(SimpleNamespace(config=config, named_modules=list), 99) == limit  # type: ignore[arg-type]


@pytest.mark.parametrize("architecture", ["xlnet", "t5"])
def test_models_of_relative_positions_take_what_their_tokenizer_takes(architecture: str) -> None:
    assert longest(make(architecture), 77) == 77
