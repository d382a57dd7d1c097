"""Causal language models with weights on this machine: the log-probability of a sentence, from its
first token on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import polars as pl
import torch

from biasgrid.base.arrays import BoolArray
from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.inference.engine.batches import longest_input
from biasgrid.inference.engine.device_rows import Batch
from biasgrid.inference.engine.encoding import TokenRows
from biasgrid.inference.engine.segments import segments_from_ids
from biasgrid.inference.engine.settings import InferenceSettings
from biasgrid.inference.models.generation.checks import check_causal, choose_loader
from biasgrid.inference.models.generation.prompts import special_beginning
from biasgrid.inference.models.likelihood.sentences import (
    Counts,
    EncodedSentences,
    Reads,
    SentenceBackEnd,
    needed_pairs,
    sum_places,
)
from biasgrid.inference.scorings import CAUSAL

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast


@dataclass(frozen=True)
class CausalChoices:
    """What decides the answers; how a model writes and what a chat template would do decide
    nothing.

    Attributes:
        scoring: the name of the formula.
        generation, chat_template, date: keys of a generative model's section.
    """

    scoring: str
    generation: Mapping[str, Any] = field(default_factory=dict)
    chat_template: bool = True
    date: str = ""


class CausalLikelihood(SentenceBackEnd):
    """Scores sentences as plain texts, without a chat template.

    Attributes:
        start: the token that stands for the beginning of a text.
        begin: the tokens that the tokenizer itself puts before a text, often none.
    """

    Choices: ClassVar[type[Any]] = CausalChoices

    def __init__(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, choices: CausalChoices
    ):
        """Prepares a model.

        Raises:
            ModelError: its tokenizer has no token to begin with.
        """
        self.model = model
        self.tokenizer = tokenizer
        self.choose_scoring(choices.scoring, CAUSAL)
        # Some checkpoints name the token in the model's config alone.
        known = (
            tokenizer.bos_token_id,
            tokenizer.eos_token_id,
            getattr(model.config, "bos_token_id", None),
        )
        start = next((token for token in known if token is not None), None)
        if start is None:
            raise ModelError(
                "the tokenizer has no token for the beginning of a text and none for its end; "
                "expected one of them, so that the first token of a sentence can be scored after it"
            )
        self.start: int = start
        self.begin = special_beginning(tokenizer)

    @classmethod
    def identity(cls, record: Mapping[str, Any], settings: InferenceSettings) -> dict[str, Any]:
        """Returns the facts that decide the answers: formula and precision."""
        facts = super().identity(record, settings)
        return {name: facts[name] for name in ("precision", "scoring")}

    @classmethod
    def choose_loader(cls, record: Mapping[str, Any], settings: InferenceSettings) -> str:
        """Returns the class of transformers that loads the model of a record."""
        return choose_loader(record)

    @classmethod
    def load(cls, record: Mapping[str, Any], settings: InferenceSettings) -> Self:
        """Loads model and tokenizer of a record, in float32.

        Raises:
            ModelError: the model is no causal one.
        """
        back_end = super().load(record, settings)
        check_causal(back_end.model, settings.model)
        return back_end

    def encode(self, asked: pl.DataFrame, whole: bool) -> EncodedSentences:
        """Tokenizes sentences as a whole; the ends of those that are too long are left out."""
        limit = longest_input(self.model, self.tokenizer)
        sentences = asked["text"].cast(pl.String).to_list()
        contexts = needed_pairs(asked, self.name) if self.scoring.needs else [None] * len(asked)
        reads = Reads()
        rows: list[Sequence[int]] = []
        own_tokens: list[Sequence[int]] = []
        is_truncated: list[bool] = []
        for number, (context, sentence) in enumerate(zip(contexts, sentences, strict=True)):
            before, ids = self._tokens(context, sentence)
            if self.name == "mean":
                reads_of_score = self._read_alone(ids, limit)
            else:
                reads_of_score = [self._read_behind(before, ids, limit)]
            scored = 0
            for row, places, read in reads_of_score:
                reads.add(number, len(rows), places, read)
                rows.append(row)
                scored += len(read)
            if self.scoring.without_start:
                row, places, read = self._read_without_start(ids, limit)
                reads.add(number, len(rows), places, read, without_start=True)
                rows.append(row)
            own_tokens.append(ids)
            is_truncated.append(scored < len(ids))
        counts = Counts.of(own_tokens, self.tokenizer, np.array(is_truncated))
        # All tokens are in the first segments; all rows share one second segment, which is empty.
        first_of = np.arange(len(rows), dtype=np.int32)
        second_of = np.zeros(len(rows), dtype=np.int32)
        base = TokenRows(segments_from_ids(rows), segments_from_ids([[]]), first_of, second_of)
        return EncodedSentences.of(base, reads, counts, self.model)

    def _tokens(self, context: str | None, sentence: str) -> tuple[Sequence[int], Sequence[int]]:
        """Returns the tokens of a context, none without one, and of a sentence behind it."""
        whole = sentence if context is None else f"{context} {sentence}"
        encoding = self.tokenizer.backend_tokenizer.encode(whole, add_special_tokens=False)
        if context is None:
            return [], encoding.ids
        # The space between the two is the sentence's, as most tokenizers have it.
        size = sum(end <= len(context) for _, end in encoding.offsets)
        return encoding.ids[:size], encoding.ids[size:]

    def _read_without_start(self, ids: Sequence[int], limit: int) -> Read:
        """Scores all tokens behind the tokens that the tokenizer itself adds.

        If it adds none, the first token is an input without a score.
        """
        tokens = [*self.begin, *ids][: limit + 1]
        first = max(len(self.begin), 1)
        # The last token is only predicted. An empty sentence has a row, too, which scores nothing.
        row = tokens[: max(1, len(tokens) - 1)] or [self.start]
        return row, range(first - 1, len(tokens) - 1), tokens[first:]

    def _read_behind(self, before: Sequence[int], ids: Sequence[int], limit: int) -> Read:
        """Scores all tokens behind the start token and a context."""
        beginning = [self.start, *before]
        # The last token is only predicted, so it does not count for the limit.
        scored = ids[: max(0, limit + 1 - len(beginning))]
        last = len(beginning) - 1
        row = [*beginning, *scored[:-1]][:limit]
        return row, range(last, last + len(scored)), scored

    def _read_alone(self, ids: Sequence[int], limit: int) -> list[Read]:
        """Scores the first token behind the start token, and the others without the start token."""
        scored = ids[: limit + 1]
        first: Read = ([self.start], range(len(scored[:1])), scored[:1])
        if len(scored) <= 1:
            return [first]
        others: Read = (scored[:-1], range(len(scored) - 1), scored[1:])
        return [first, others]

    def unknown(self, encoded: EncodedSentences) -> BoolArray:
        """Says of each instance whether its sentence has the unknown token; most models that write
        read every byte.
        """
        unknown: BoolArray = encoded.counts.unknown > 0
        return unknown

    @torch.inference_mode()
    def run(
        self, encoded: EncodedSentences, batch: Batch, plain: bool = False
    ) -> dict[str, torch.Tensor]:
        """Scores rows of one length.

        Args:
            encoded: the encoded sentences.
            batch: which rows.
            plain: not used: there are no shortcuts.

        Returns:
            `score`, float32, shape (rows,): the sum over what is read.
        """
        logits = self.model(**encoded.on_device.inputs(batch), use_cache=False).logits.float()
        places, tokens = (
            encoded.of_batch(each, batch) for each in (encoded.places, encoded.tokens)
        )
        rows = torch.arange(len(logits), device=logits.device)[:, None]
        read = logits[rows, places.clamp(min=0)].log_softmax(dim=2)
        values = read.gather(2, tokens.clamp(min=0)[:, :, None]).squeeze(2)
        return {"score": sum_places(values, places)}


Read = tuple[Sequence[int], Sequence[int], Sequence[int]]
"""A row of tokens, the places in it that are read, and of which tokens."""
