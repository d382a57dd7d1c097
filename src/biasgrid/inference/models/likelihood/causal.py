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
from biasgrid.inference.engine.segments import segments_of
from biasgrid.inference.engine.settings import InferenceSettings
from biasgrid.inference.models.generation.checks import check_causal, loader_of
from biasgrid.inference.models.generation.prompts import special_beginning
from biasgrid.inference.models.likelihood.sentences import (
    Counts,
    EncodedSentences,
    Reads,
    SentenceBackEnd,
    needed_pairs,
    sums_of_places,
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
    def loader_of(cls, record: Mapping[str, Any], settings: InferenceSettings) -> str:
        """Returns the class of transformers that loads the model of a record."""
        return loader_of(record)

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
        reads, rows, kept = Reads(), list[Sequence[int]](), list[int]()
        tokens = [self._tokens(*texts) for texts in zip(contexts, sentences, strict=True)]
        for number, (before, ids) in enumerate(tokens):
            found = (
                self._read_alone(ids, limit)
                if self.name == "mean"
                else [self._read_behind(before, ids, limit)]
            )
            for row, places, read in found:
                reads.add(number, len(rows), places, read)
                rows.append(row)
            if self.scoring.without_start:
                row, places, read = self._read_without_start(ids, limit)
                reads.add(number, len(rows), places, read, without_start=True)
                rows.append(row)
            kept.append(sum(len(read) for _, _, read in found))
        is_cut = np.array([count < len(ids) for count, (_, ids) in zip(kept, tokens, strict=True)])
        counts = Counts.of([ids for _, ids in tokens], self.tokenizer, is_cut)
        every, none = np.arange(len(rows), dtype=np.int32), np.zeros(len(rows), dtype=np.int32)
        base = TokenRows(segments_of(rows), segments_of([[]]), every, none)
        return EncodedSentences.of(base, reads, counts, self.model)

    def _tokens(self, context: str | None, sentence: str) -> tuple[Sequence[int], Sequence[int]]:
        """Returns the tokens of a context, and those of a sentence behind it."""
        whole = sentence if context is None else f"{context} {sentence}"
        encoding = self.tokenizer.backend_tokenizer.encode(whole, add_special_tokens=False)
        # The space between the two is the sentence's, as most tokenizers have it.
        first = (
            sum(end <= len(context) for _, end in encoding.offsets) if context is not None else 0
        )
        return encoding.ids[:first], encoding.ids[first:]

    def _read_without_start(self, ids: Sequence[int], limit: int) -> Read:
        """Reads all tokens behind what the tokenizer itself adds; if that is nothing, the first
        token is only read.
        """
        read = [*self.begin, *ids][: limit + 1]
        first = max(len(self.begin), 1)
        # An empty sentence has a row, too, of which nothing is read.
        return (
            read[: max(1, len(read) - 1)] or [self.start],
            range(first - 1, len(read) - 1),
            read[first:],
        )

    def _read_behind(self, before: Sequence[int], ids: Sequence[int], limit: int) -> Read:
        """Reads all tokens behind the start and a context."""
        begun = [self.start, *before]
        # The last token is only read: the model need not see it.
        read = ids[: max(0, limit + 1 - len(begun))]
        last = len(begun) - 1
        return [*begun, *read[:-1]][:limit], range(last, last + len(read)), read

    def _read_alone(self, ids: Sequence[int], limit: int) -> list[Read]:
        """Reads the first token behind the start, and the others only behind those before them."""
        read = ids[: limit + 1]
        first: Read = ([self.start], range(len(read[:1])), read[:1])
        return [first, (read[:-1], range(len(read) - 1), read[1:])] if len(read) > 1 else [first]

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
        return {"score": sums_of_places(values, places)}


Read = tuple[Sequence[int], Sequence[int], Sequence[int]]
"""A row of tokens, the places in it that are read, and of which tokens."""
