"""Checks before a causal language model is used: its class, its prompts and its vocabulary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from biasgrid.inference.checkpoints.checkpoint import ModelError, checkpoint_name, local_folder
from biasgrid.inference.checkpoints.files import CONFIG, read_checkpoint_json
from biasgrid.inference.engine.out_of_vocabulary import unknown_token_error
from biasgrid.inference.models.generation.options import (
    OptionTokens,
    instance_candidates,
    shared_beginning,
)
from biasgrid.inference.models.generation.prompts import Prompter, as_text, excerpt, request_texts

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast


def causal_loader(record: Mapping[str, Any]) -> str:
    """Returns the name of the class of transformers that loads a causal language model.

    Models that also take pictures have a class of their own.

    Raises:
        ModelError: the checkpoint is not there.
    """
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES as WITH_PICTURES,
    )

    config = read_checkpoint_json(checkpoint_name(record), local_folder(record) / CONFIG)
    is_with_pictures = WITH_PICTURES.get(str(config.get("model_type"))) in (
        config.get("architectures") or []
    )
    return "AutoModelForImageTextToText" if is_with_pictures else "AutoModelForCausalLM"


def check_causal(model: PreTrainedModel, name: str) -> None:
    """Refuses a model that reads later tokens, too, as encoders do.

    Args:
        model: the model.
        name: its name, for the message.

    Raises:
        ModelError: the logits at the first two tokens depend on the third one.
    """
    import torch

    vocabulary = model.get_input_embeddings().weight.shape[0]
    texts = torch.tensor([[[1, 2, 3]], [[1, 2, 4]]], device=model.device) % vocabulary
    with torch.inference_mode():
        left, right = (model(input_ids=ids).logits[:, :2].float() for ids in texts)
    if (left - right).abs().max() > 1e-3 * left.abs().max():
        raise ModelError(
            f"model {name} is an encoder ({model.config.model_type}): it reads the words after a "
            "word as well as those before it; expected a causal language model, such as "
            "GPT-2 or Llama"
        )


PROMPTS_AT_ONCE = 8192


@dataclass(frozen=True)
class DistinctPrompts:
    """Writes the prompts of a dataset, and refuses equal prompts for different texts.

    Attributes:
        prompter: writes prompts.
        texts: system text and text of the prompts so far, by the hash of the prompt.
    """

    prompter: Prompter
    texts: dict[int, tuple[str | None, str]] = field(default_factory=dict)

    def prompts(self, instances: pl.DataFrame) -> list[str]:
        """Returns the prompts of some instances.

        Raises:
            ModelError: see `Prompter.prompts`; or two different texts have the same prompt, in
                these instances or in those of earlier calls.
        """
        prompts = self.prompter.prompts(instances)
        for texts, prompt in zip(request_texts(instances), prompts, strict=True):
            other = self.texts.setdefault(hash(prompt), texts)
            # Different prompts may have the same hash.
            if other != texts and self.prompter.prompt(*other) == prompt:
                earlier, later = as_text(*other), as_text(*texts)
                place = shared_beginning(earlier, later)
                raise ModelError(
                    f"the texts {excerpt(earlier, place)!r} and {excerpt(later, place)!r} have the "
                    f"same prompt, {excerpt(prompt)!r}, so the model cannot tell them apart; "
                    "expected a chat template that includes the whole text: fix it, or set "
                    "`chat_template: false` to do without it"
                )
        return prompts


class ModelLimits(NamedTuple):
    """The limits of a model.

    Attributes:
        longest: the largest number of tokens in a prompt and its answer.
        embeddings: the number of token ids with an embedding.
    """

    longest: int
    embeddings: int


def check_prompts(
    instances: pl.DataFrame,
    options: OptionTokens,
    max_tokens: int | None,
    limits: ModelLimits,
    model: str,
) -> None:
    """Refuses prompts that a model cannot read, before any of them is answered.

    Args:
        instances: all instances that will be answered.
        options: writes prompts and tokenizes their options.
        max_tokens: the largest number of tokens to write behind each prompt; None if options are
            scored.
        limits: the limits of the model.
        model: its name, for messages.

    Raises:
        ModelError: see `DistinctPrompts.prompts`, `OptionTokens.requests`, `check_prompt_lengths`
            and `unknown_token_error`.
    """
    distinct = DistinctPrompts(options.prompter)
    for start in range(0, len(instances), PROMPTS_AT_ONCE):
        part = instances[start : start + PROMPTS_AT_ONCE]
        prompts = distinct.prompts(part)
        if max_tokens is None:
            requests = options.requests(prompts, instance_candidates(part))
            lengths = [request.length for request in requests]
            largest = [request.largest for request in requests]
        else:
            tokens = options.prompter.tokens(prompts)
            lengths = [len(ids) for ids in tokens]
            largest = [max(ids, default=0) for ids in tokens]
        check_prompt_lengths(lengths, max_tokens or 0, limits.longest, part["instance"], model)
        for place, token in enumerate(largest):
            if token >= limits.embeddings:
                instance = part["instance"][place]
                raise unknown_token_error(model, instance, token, limits.embeddings)


def check_prompt_lengths(
    lengths: Sequence[int], max_tokens: int, limit: int, instances: pl.Series, model: str
) -> None:
    """Refuses prompts that are longer than a model takes.

    Args:
        lengths: the number of tokens of each prompt, with an option if options are scored; at least
            one prompt.
        max_tokens: the largest number of tokens to write behind each; 0 if options are scored.
        limit: the largest number of tokens that the model takes.
        instances: the column `instance` of the prompts, for the message.
        model: the model's name, for the message.

    Raises:
        ModelError: names the longest prompt.
    """
    longest = max(range(len(lengths)), key=lengths.__getitem__)
    if lengths[longest] + max_tokens > limit:
        addition = f" and max_tokens {max_tokens}" if max_tokens else ""
        raise ModelError(
            f"model {model}: the prompt of instance {instances[longest]} has {lengths[longest]} "
            f"tokens{addition}; expected at most {limit} together, the model's number of positions"
        )


def unknown_column(
    prompts: Sequence[Sequence[int]], tokenizer: PreTrainedTokenizerFast
) -> pl.Series:
    """Returns whether each prompt has the unknown token, as the column `unknown`.

    Args:
        prompts: the token ids of each prompt.
        tokenizer: their tokenizer.
    """
    # If one token is both the unknown one and the end of a text, as in GPT-2, the tokenizer can
    # write every byte.
    others = [getattr(tokenizer, f"{name}_token_id") for name in ("bos", "eos", "pad")]
    token = None if tokenizer.unk_token_id in others else tokenizer.unk_token_id
    return pl.Series(
        "unknown", [token is not None and token in prompt for prompt in prompts], dtype=pl.Boolean
    )
