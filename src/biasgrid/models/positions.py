"""How long the inputs of a model may be."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast


def longest_input(model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast) -> int:
    """How many tokens a model takes: as many as it has positions for, and as its tokenizer says."""
    positions = getattr(model.config, "max_position_embeddings", None) or 0
    # Models whose positions are relative have none to run out of; some say so with -1.
    taken = [positions - reserved_positions(model)] if positions > 0 else []
    return int(min([*taken, tokenizer.model_max_length]))


def reserved_positions(model: PreTrainedModel) -> int:
    """How many positions a model gives to no token: in RoBERTa and its kin those up to the padding's."""
    embeddings = [module for name, module in model.named_modules() if name.endswith("position_embeddings")]
    paddings = [getattr(embedding, "padding_idx", None) for embedding in embeddings]
    return max((padding + 1 for padding in paddings if padding is not None), default=0)
