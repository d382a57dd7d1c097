"""What keeps a checkpoint from being asked as a causal language model, and prompts from being
read.
"""

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
    """Returns which class of transformers loads a checkpoint: models that also take pictures have
    one of their own.

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
    """Refuses a model that sees what stands behind a place, as encoders do.

    Args:
        model: the model.
        name: its name, for the message.

    Raises:
        ModelError: what it says of the first tokens hangs on the last one.
    """
    import torch

    vocabulary = model.get_input_embeddings().weight.shape[0]
    texts = torch.tensor([[[1, 2, 3]], [[1, 2, 4]]], device=model.device) % vocabulary
    with torch.inference_mode():
        one, other = (model(input_ids=ids).logits[:, :2].float() for ids in texts)
    if (one - other).abs().max() > 1e-3 * one.abs().max():
        raise ModelError(
            f"model {name} is an encoder ({model.config.model_type}): it reads the words after a "
            "word as well as those before it; expected a causal language model, such as "
            "GPT-2 or Llama"
        )


PROMPTS_AT_ONCE = 8192


@dataclass(frozen=True)
class DistinctPrompts:
    """Makes the prompts of a dataset, and refuses one for two texts.

    Attributes:
        prompter: makes prompts.
        asked: what was asked, by a digest of its prompt.
    """

    prompter: Prompter
    asked: dict[int, tuple[str | None, str]] = field(default_factory=dict)

    def prompts(self, instances: pl.DataFrame) -> list[str]:
        """Returns the prompts of some instances.

        Raises:
            ModelError: see `Prompter.prompts`; or texts that differ have one prompt, in these
                instances or with others before.
        """
        prompts = self.prompter.prompts(instances)
        for texts, prompt in zip(request_texts(instances), prompts, strict=True):
            other = self.asked.setdefault(hash(prompt), texts)
            if other != texts and self.prompter.prompt(*other) == prompt:
                one, two = (as_text(*each) for each in (other, texts))
                place = shared_beginning(one, two)
                raise ModelError(
                    f"the texts {excerpt(one, place)!r} and {excerpt(two, place)!r} have the same "
                    f"prompt, {excerpt(prompt)!r}, so the model cannot tell them apart; expected a "
                    "chat template that includes the whole text: fix it, or set `chat_template: "
                    "false` to do without it"
                )
        return prompts


class ModelLimits(NamedTuple):
    """What a model takes: how many tokens together, and how many different ones."""

    longest: int
    known: int


def check_prompts(
    instances: pl.DataFrame,
    options: OptionTokens,
    written: int | None,
    limits: ModelLimits,
    model: str,
) -> None:
    """Refuses, before anything is asked, prompts that a model does not take, or that do not tell
    apart what is asked.

    Args:
        instances: all that will be asked.
        options: makes prompts and their options.
        written: how many tokens may be written behind each; None where options are scored.
        limits: what the model takes.
        model: its name, for messages.

    Raises:
        ModelError: see `DistinctPrompts.prompts`, `OptionTokens.asked`,
            `check_prompt_lengths` and `unknown_token_error`.
    """
    distinct = DistinctPrompts(options.prompter)
    for start in range(0, len(instances), PROMPTS_AT_ONCE):
        some = instances[start : start + PROMPTS_AT_ONCE]
        prompts = distinct.prompts(some)
        if written is None:
            asked = options.asked(prompts, instance_candidates(some))
            lengths, largest = [one.length for one in asked], [one.largest for one in asked]
        else:
            tokens = options.prompter.tokens(prompts)
            lengths, largest = [len(ids) for ids in tokens], [max(ids, default=0) for ids in tokens]
        check_prompt_lengths(lengths, written or 0, limits.longest, some["instance"], model)
        place = next((place for place, token in enumerate(largest) if token >= limits.known), None)
        if place is not None:
            raise unknown_token_error(model, some["instance"][place], largest[place], limits.known)


def check_prompt_lengths(
    lengths: Sequence[int], written: int, limit: int, instances: pl.Series, model: str
) -> None:
    """Refuses prompts that are longer than a model takes.

    Args:
        lengths: their tokens, and those of what is read behind them.
        written: how many tokens may be written behind each.
        limit: how many tokens the model takes.
        instances: the numbers of their instances.
        model: the model's name, for the message.

    Raises:
        ModelError: with the longest one.
    """
    longest = max(range(len(lengths)), key=lengths.__getitem__)
    if lengths[longest] + written > limit:
        more = f" and max_tokens {written}" if written else ""
        raise ModelError(
            f"model {model}: the prompt of instance {instances[longest]} has {lengths[longest]} "
            f"tokens{more}; expected at most {limit} together, the model's number of positions"
        )


def with_unknown(prompts: Sequence[Sequence[int]], tokenizer: PreTrainedTokenizerFast) -> pl.Series:
    """Says of each prompt whether the tokenizer does not know some of it.

    Returns:
        Boolean `unknown`, in the order of the prompts.
    """
    # Where one token is for the unknown and for a text's end, as in GPT-2, the tokenizer writes
    # every byte.
    others = [getattr(tokenizer, f"{name}_token_id") for name in ("bos", "eos", "pad")]
    token = None if tokenizer.unk_token_id in others else tokenizer.unk_token_id
    return pl.Series(
        "unknown", [token is not None and token in prompt for prompt in prompts], dtype=pl.Boolean
    )
