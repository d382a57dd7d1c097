"""How long prompts are: counted where the server has a checkpoint of ours, else told from their letters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from biasgrid.checkpoints.checkpoint import folder_of, load_tokenizer, name_of, refusals, switches
from biasgrid.models.generation.prompts import Prompter, as_text, texts_of
from biasgrid.models.servers.requests import tokens_about

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


def lengths_of(record: Mapping[str, Any], instances: pl.DataFrame, api: str) -> list[int]:
    """Returns how many tokens each prompt has.

    Args:
        record: the model's record; with a checkpoint that the server was given, its own tokenizer counts.
        instances: what is asked.
        api: how it is asked: chats have the messages in the model's chat template, completions one text.

    Raises:
        ModelError: the checkpoint's tokenizer cannot be loaded, or its chat template takes no system text.
    """
    if "keys" in record:
        return [tokens_about(filter(None, texts)) for texts in texts_of(instances)]
    prompter = Prompter(load_tokenizer(record), thinking=True)
    if api == "completions":
        return [len(ids) for ids in prompter.tokens([as_text(*texts) for texts in texts_of(instances)])]
    return [len(ids) for ids in prompter.tokens(prompter.prompts(instances))]


def longest_of(record: Mapping[str, Any]) -> int | None:
    """Returns for how many tokens the server's model has positions; None where nothing of ours says so."""
    if "keys" in record:
        return None
    from transformers import AutoConfig

    with refusals(name_of(record)):
        config = AutoConfig.from_pretrained(folder_of(record), **switches(record))
    tokenizer: PreTrainedTokenizerFast = load_tokenizer(record)
    positions = getattr(config.get_text_config(), "max_position_embeddings", None)
    return int(min(positions or tokenizer.model_max_length, tokenizer.model_max_length))
