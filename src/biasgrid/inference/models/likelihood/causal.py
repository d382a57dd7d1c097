"""Causal language models on this machine: log-probabilities of sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

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
from biasgrid.inference.models.generation.capabilities import choose_precision
from biasgrid.inference.models.generation.checks import causal_loader, check_causal
from biasgrid.inference.models.generation.prompts import special_beginning
from biasgrid.inference.models.likelihood.sentences import (
    EncodedSentences,
    Reads,
    SentenceBackEnd,
    SentenceCounts,
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


class ReadRow(NamedTuple):
    """A row of tokens, and what is read of its logits.

    Attributes:
        ids: the token ids of the row.
        places: the places in the row that are read.
        tokens: the tokens whose probabilities are read there, one for each place.
    """

    ids: Sequence[int]
    places: Sequence[int]
    tokens: Sequence[int]


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
        candidates = (
            tokenizer.bos_token_id,
            tokenizer.eos_token_id,
            getattr(model.config, "bos_token_id", None),
        )
        start = next((token for token in candidates if token is not None), None)
        if start is None:
            raise ModelError(
                "the tokenizer has no token for the beginning of a text and none for its end; "
                "expected one of them, so that the first token of a sentence can be scored after it"
            )
        self.start: int = start
        self.begin = special_beginning(tokenizer)

    @classmethod
    def identity(cls, record: Mapping[str, Any], settings: InferenceSettings) -> dict[str, Any]:
        """Returns the facts that decide the answers: the precision and the formula."""
        # Sentences are scored as plain texts, so the other choices decide nothing: generation,
        # chat template and date. A new choice that decides scores must be named here.
        facts = super().identity(record, settings)
        return {name: facts[name] for name in ("precision", "scoring")}

    @classmethod
    def choose_precision(cls, record: Mapping[str, Any], settings: InferenceSettings) -> str:
        """Returns the precision of the answers."""
        return choose_precision(record, settings)

    @classmethod
    def choose_loader(cls, record: Mapping[str, Any], settings: InferenceSettings) -> str:
        """Returns the name of the class of transformers that loads the model of a record."""
        return causal_loader(record)

    @classmethod
    def load(cls, record: Mapping[str, Any], settings: InferenceSettings) -> Self:
        """Loads the model of a record, in float32, and its tokenizer.

        Raises:
            ModelError: the model is an encoder.
        """
        back_end = super().load(record, settings)
        if not settings.capabilities:
            check_causal(back_end.model, settings.model)
        return back_end

    def encode(self, instances: pl.DataFrame, *, whole: bool) -> EncodedSentences:
        """Tokenizes whole sentences; the end of a sentence that is too long is left out.

        Raises:
            ModelError: the formula needs a context, and an instance has none.
        """
        limit = longest_input(self.model, self.tokenizer)
        sentences = instances["text"].cast(pl.String).to_list()
        contexts = (
            needed_pairs(instances, self.name) if self.scoring.needs else [None] * len(instances)
        )
        reads = Reads()
        rows: list[Sequence[int]] = []
        own_tokens: list[Sequence[int]] = []
        is_truncated: list[bool] = []
        for owner, (context, sentence) in enumerate(zip(contexts, sentences, strict=True)):
            before, ids = self._tokens(context, sentence)
            if self.scoring.starts_alone:
                score_rows = self._rows_of_mean(ids, limit)
            else:
                score_rows = [self._row_after(before, ids, limit)]
            for row in score_rows:
                reads.add(owner=owner, base=len(rows), places=row.places, tokens=row.tokens)
                rows.append(row.ids)
            if self.scoring.without_start:
                row = self._row_without_start(ids, limit)
                reads.add(
                    owner=owner,
                    base=len(rows),
                    places=row.places,
                    tokens=row.tokens,
                    without_start=True,
                )
                rows.append(row.ids)
            own_tokens.append(ids)
            token_count = sum(len(row.tokens) for row in score_rows)
            is_truncated.append(token_count < len(ids))
        counts = SentenceCounts.from_tokens(own_tokens, self.tokenizer, np.array(is_truncated))
        # All tokens are in the first segments; all rows share one second segment, which is empty.
        first_index = np.arange(len(rows), dtype=np.int32)
        second_index = np.zeros(len(rows), dtype=np.int32)
        base = TokenRows(
            segments_from_ids(rows), segments_from_ids([[]]), first_index, second_index
        )
        return EncodedSentences.from_reads(base, reads, counts, self.model)

    def _tokens(self, context: str | None, sentence: str) -> tuple[Sequence[int], Sequence[int]]:
        """Returns the tokens of a context and of a sentence after it.

        Args:
            context: the context; None has no tokens.
            sentence: the sentence.
        """
        whole = sentence if context is None else f"{context} {sentence}"
        encoding = self.tokenizer.backend_tokenizer.encode(whole, add_special_tokens=False)
        if context is None:
            return [], encoding.ids
        # In most tokenizers, the space between them is part of the sentence's first token.
        size = sum(end <= len(context) for _, end in encoding.offsets)
        return encoding.ids[:size], encoding.ids[size:]

    def _row_without_start(self, ids: Sequence[int], limit: int) -> ReadRow:
        """Returns the row of the second score: after the tokens that the tokenizer itself adds.

        If it adds none, the first token has no score.
        """
        tokens = [*self.begin, *ids][: limit + 1]
        begin = max(len(self.begin), 1)
        # The last token is only predicted. An empty sentence has a row, too, which scores nothing.
        row = tokens[: max(1, len(tokens) - 1)] or [self.start]
        return ReadRow(row, range(begin - 1, len(tokens) - 1), tokens[begin:])

    def _row_after(self, before: Sequence[int], ids: Sequence[int], limit: int) -> ReadRow:
        """Returns the row that scores a sentence after the start token and a context.

        Args:
            before: the tokens of the context; empty for most formulas.
            ids: the tokens of the sentence.
            limit: the largest length of a row. If the start token and the context alone exceed it,
                the row scores nothing.
        """
        beginning = [self.start, *before]
        # The last token is only predicted, so it does not count for the limit.
        tokens = ids[: max(0, limit + 1 - len(beginning))]
        first_place = len(beginning) - 1
        # This cuts only contexts: tokens of the sentence are within the limit already.
        row = [*beginning, *tokens[:-1]][:limit]
        return ReadRow(row, range(first_place, first_place + len(tokens)), tokens)

    def _rows_of_mean(self, ids: Sequence[int], limit: int) -> list[ReadRow]:
        """Returns the rows of the formula `mean`.

        The first token is scored after the start token, the others without the start token.
        """
        tokens = ids[: limit + 1]
        first_row = ReadRow([self.start], range(len(tokens[:1])), tokens[:1])
        if len(tokens) <= 1:
            return [first_row]
        return [first_row, ReadRow(tokens[:-1], range(len(tokens) - 1), tokens[1:])]

    def unknown(self, encoding: EncodedSentences) -> BoolArray:
        """Returns whether each sentence has the unknown token; shape (instances,).

        Unlike `LocalBackEnd.unknown` it does not judge short tokens: most causal models know every
        byte.
        """
        unknown: BoolArray = encoding.counts.unknown > 0
        return unknown

    @torch.inference_mode()
    def run(
        self, encoding: EncodedSentences, batch: Batch, *, plain: bool = False
    ) -> dict[str, torch.Tensor]:
        """Scores rows of one length.

        Args:
            encoding: the encoded sentences.
            batch: the rows.
            plain: not used: there are no shortcuts.

        Returns:
            `score`, float32, shape (rows,): the sum of the log-probabilities that are read.
        """
        logits = self.model(**encoding.on_device.inputs(batch), use_cache=False).logits.float()
        places = encoding.batch_rows(encoding.places, batch)
        tokens = encoding.batch_rows(encoding.tokens, batch)
        rows = torch.arange(len(logits), device=logits.device)[:, None]
        log_probabilities = logits[rows, places.clamp(min=0)].log_softmax(dim=2)
        values = log_probabilities.gather(2, tokens.clamp(min=0)[:, :, None]).squeeze(2)
        return {"score": sum_places(values, places)}
