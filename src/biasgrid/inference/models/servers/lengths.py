"""How long prompts are: counted where the server has a checkpoint of ours, else told from their letters."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from biasgrid.inference.checkpoints.checkpoint import folder_of, load_tokenizer, name_of, refusals, switches
from biasgrid.inference.models.generation.checks import check_lengths
from biasgrid.inference.models.generation.prompts import Prompter, as_text, texts_of
from biasgrid.inference.models.servers.requests import tokens_about
from biasgrid.inference.models.servers.section import Asking, Serve

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

logger = logging.getLogger(__name__)

OWN_TEMPLATE = "--chat-template"
"""How servers are given another chat template than the checkpoint's."""


def refuse_longer(record: Mapping[str, Any], instances: pl.DataFrame, asking: Asking, written: int, model: str) -> None:
    """Refuses prompts that are longer than a model takes, as servers cut them without a word.

    Args:
        record: the model's record.
        instances: what is asked.
        asking: how the server is asked.
        written: how many tokens may be written behind each.
        model: the model's name, for the message.

    Raises:
        ModelError: with the longest one.
    """
    limit = asking.context or longest_of(record)
    if limit is not None and not instances.is_empty():
        check_lengths(lengths_of(record, instances, asking.api), written, limit, instances["instance"], model)


def warn_of_date(record: Mapping[str, Any], serve: Serve, model: str) -> None:
    """Warns of a served model whose chat template writes today's date, which its server reads off the clock.

    Args:
        record: the model's record.
        serve: how it is served; a command that names a chat template does not use the checkpoint's.
        model: the model's name.

    Raises:
        ModelError: the checkpoint's tokenizer cannot be loaded.
    """
    if serve.api != "chat" or OWN_TEMPLATE in serve.command:
        return
    tokenizer = load_tokenizer(record)
    prompts = {Prompter(tokenizer, thinking=True, day=day).prompt(None, "one") for day in ("2001-02-03", "2004-05-06")}
    if len(prompts) > 1:
        logger.warning(
            "model %s: its chat template writes today's date, so that answers of several days differ; to have one day, "
            "copy the template, write a date into it, and name the copy in `serve.command` (%s)", model, OWN_TEMPLATE,
        )  # fmt: skip


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
