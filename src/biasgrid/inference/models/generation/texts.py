"""Texts that causal language models write: how they end, and what of them is an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from transformers import GenerationConfig

from biasgrid.inference.models.generation.noise import drawing
from biasgrid.inference.models.generation.prefix import Prefix
from biasgrid.inference.models.generation.thoughts import Thoughts, answer_without_thoughts

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast


class WrittenText(NamedTuple):
    """A text: see the schema `text`."""

    response: str
    status: str
    tokens_out: int


@dataclass(frozen=True)
class Writer:
    """Writes texts.

    Attributes:
        model: the model.
        tokenizer: its tokenizer.
        generation: the keys of `section.Generation`.
        ends: the tokens that end a text.
        thoughts: what is put around thoughts.
    """

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerFast
    generation: Mapping[str, Any]
    ends: frozenset[int]
    thoughts: Thoughts

    @classmethod
    def of(cls, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, generation: Mapping[str, Any]) -> Writer:
        """Takes what ends texts from the checkpoint, and nothing else: its own ways to draw are not the config's."""
        own = getattr(model.generation_config, "eos_token_id", None)
        named = [*(own if isinstance(own, list) else [own]), tokenizer.eos_token_id]
        ends = frozenset(int(token) for token in named if token is not None)
        model.generation_config = GenerationConfig(
            max_new_tokens=generation["max_tokens"],
            do_sample=False,
            eos_token_id=sorted(ends) or None,
            pad_token_id=min(ends, default=0),
        )
        return cls(model, tokenizer, generation, ends, Thoughts.of(generation["thinking"]))

    def write(self, prompts: Sequence[Sequence[int]], prefix: Prefix, seeds: torch.Tensor) -> list[list[int]]:
        """Writes behind a batch of prompts of one length.

        Args:
            prompts: their tokens.
            prefix: what they begin with.
            seeds: shape (prompts,), the seeds of their draws.

        Returns:
            The tokens of each text, with the one that ends it.
        """
        ids = torch.tensor(prompts, device=self.model.device)
        temperature, top_p = (self.generation[name] for name in ("temperature", "top_p"))
        with torch.inference_mode():
            written = self.model.generate(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                logits_processor=drawing(temperature, top_p, seeds.to(ids.device), ids.shape[1]),
                **prefix.for_rows(len(prompts)),
            )
        return [self.until_end(row) for row in written[:, ids.shape[1] :].tolist()]

    def until_end(self, tokens: list[int]) -> list[int]:
        """Cuts off what fills a batch up behind a text's end."""
        end = next((place for place, token in enumerate(tokens) if token in self.ends), len(tokens) - 1)
        return tokens[: end + 1]

    def text(self, prompt: str, tokens: Sequence[int]) -> WrittenText:
        """Turns the tokens behind a prompt into an answer, without what was thought before it."""
        whole = self.tokenizer.decode(list(tokens), skip_special_tokens=False)
        # Marks of thoughts may be special tokens, which are no part of an answer either.
        said = self.thoughts.behind(whole, self.thoughts.end_for(prompt) is not None)
        if said is not None:
            for special in self.tokenizer.all_special_tokens:
                said = said.replace(special, "")
        ended = bool(tokens) and tokens[-1] in self.ends
        return WrittenText(*answer_without_thoughts(said, ended), len(tokens))
