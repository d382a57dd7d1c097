"""Masked language models: the probability of candidates at the mask, normalised over the whole
vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl
import torch

from biasgrid.base.arrays import IntArray
from biasgrid.base.sections import Scoring, TargetScoring
from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.inference.engine.back_end import columns_with_prefix, to_list_column
from biasgrid.inference.engine.batches import BatchPart
from biasgrid.inference.engine.device_rows import Batch, DeviceRows, to_device
from biasgrid.inference.engine.encoding import TokenRows
from biasgrid.inference.engine.local import LocalBackEnd
from biasgrid.inference.engine.segments import NO_TOKEN, distinct_rows, numbered_rows
from biasgrid.inference.models.masked.candidate_tokens import (
    Insert,
    ScoredInputs,
    VocabularyTokens,
    candidate_inserts,
    candidate_spellings,
    scored_spellings,
    tokens_in_place,
)
from biasgrid.inference.models.masked.head import MaskHead
from biasgrid.inference.models.masked.rows import (
    NO_RANK,
    CandidateWords,
    MaskRows,
    best_ranks,
    mask_rows,
    merge_inputs,
    multiply_tokens,
)
from biasgrid.inference.models.masked.texts import MASK, MaskTexts

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

TOP_TOKENS = 10
"""UnQover counts this many of the most probable tokens, and takes 0 for all others (its --topk)."""


@dataclass(frozen=True)
class EncodedTexts:
    """Encoded instances.

    Attributes:
        mask_rows: the rows, and what is read of them.
        has_candidate: shape (kinds, columns), whether instances of a kind have a candidate.
        kind_index: shape (instances,), the kind of each instance.
        on_device: the tokens of the rows.
        input_index, place: on the device, see `MaskRows`.
        tokens: on the device, see `KindInputs`.
    """

    mask_rows: MaskRows
    has_candidate: npt.NDArray[np.bool_]
    kind_index: IntArray
    on_device: DeviceRows
    input_index: torch.Tensor
    place: torch.Tensor
    tokens: torch.Tensor

    @property
    def rows(self) -> TokenRows:
        """The tokens of the rows."""
        return self.mask_rows.rows


@dataclass(frozen=True)
class MaskChoices:
    """The settings that decide the answers.

    Attributes:
        scoring: `exact`; or `unqover` for its cut at the 10 most probable tokens, and for matching
            words with decoded tokens.
        target_scoring: the score of words of several tokens, see `candidate_tokens.masked_tokens`;
            None refuses such words.
        ranks: whether ranks are needed, too. They take a pass over the vocabulary for each
            candidate.
        either_case: the numbers of the candidates, from 1, that may also begin with a capital
            letter; the more probable spelling counts.
    """

    scoring: Scoring = "exact"
    target_scoring: TargetScoring | None = None
    ranks: bool = False
    either_case: Sequence[int] = ()


class FillMask(LocalBackEnd):
    """Answers with the probabilities of candidates at the mask (answer kind `choice`).

    Attributes:
        choices: the settings that decide the answers.
        word_inputs: the inputs that score a word, by the neighbours of the mask and the word's
            spellings: they are the same for all instances with these.
        head: the model's head.
    """

    Choices = MaskChoices
    loader = "AutoModelForMaskedLM"

    def __init__(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, choices: MaskChoices
    ):
        """Prepares the model.

        Raises:
            ModelError: the tokenizer has no mask token.
        """
        self.model = model
        self.tokenizer = tokenizer
        self.choices = choices
        self.word_inputs: dict[tuple[str, ...], ScoredInputs] = {}
        self.head = MaskHead(model, tokenizer)

    def encode(self, instances: pl.DataFrame, *, whole: bool) -> EncodedTexts:
        """Tokenizes instances: the context (`text_pair`), if any, a space, and the text.

        Raises:
            ModelError: a text has no mask, or several; an instance has no candidates; a candidate
                has several tokens, and `target_scoring` is None; or the tokenizer has no tokens for
                a candidate.
            NotAssembledError: see `LocalBackEnd.encode`.
        """
        mask: str = self.tokenizer.mask_token
        texts = MaskTexts.from_instances(instances, mask)
        rows = texts.tokenized(self.tokenizer, whole=whole)
        masks = self._mask_places(rows, instances)

        statement_neighbours = texts.around(mask)
        neighbours = list(dict.fromkeys(statement_neighbours))
        places = {text: place for place, text in enumerate(neighbours)}
        neighbour_index = np.array([places[text] for text in statement_neighbours], dtype=np.int64)
        columns = {name: instances[name] for name in columns_with_prefix(instances, "candidate")}
        facts = pl.DataFrame(columns | {"around": neighbour_index[texts.statement_index]})
        kinds, kind_index = distinct_rows(facts, facts.columns)

        candidates = kinds.drop("around")
        # Without candidates this is a flat, empty array.
        has_value = np.array([column.is_not_null() for column in candidates])
        has_candidate = has_value.reshape(candidates.width, len(kinds)).T
        without = np.flatnonzero(~np.any(has_candidate, axis=1)[kind_index])
        if len(without):
            raise ModelError(
                f"instance {instances['instance'][int(without[0])]} has no candidates; expected "
                "one or more"
            )
        examples = numbered_rows([kind_index])[0]
        around = [neighbours[place] for place in kinds["around"]]
        example_texts = [text for (text,) in texts.whole(examples)]
        inputs = merge_inputs(self._candidate_words(candidates, around, example_texts))
        read_rows = mask_rows(rows, masks, inputs, kind_index)
        device = self.model.device
        return EncodedTexts(
            mask_rows=read_rows,
            has_candidate=has_candidate,
            kind_index=kind_index,
            on_device=DeviceRows.from_rows(read_rows.rows, self.model),
            input_index=to_device(read_rows.input_index, device),
            place=to_device(read_rows.place, device),
            tokens=to_device(inputs.tokens, device),
        )

    def _mask_places(self, rows: TokenRows, instances: pl.DataFrame) -> IntArray:
        """Returns the place of the mask in each second segment.

        Raises:
            ModelError: an instance has another number of masks than one.
        """
        segments = rows.second_segments
        places = np.flatnonzero(segments.ids == self.tokenizer.mask_token_id)
        owner = np.searchsorted(segments.begins + segments.lengths, places, side="right")
        counts = np.bincount(owner, minlength=len(segments.lengths))
        if (counts != 1).any():
            row = int(np.flatnonzero(counts[rows.second_index] != 1)[0])
            masks = counts[rows.second_index[row]]
            spellings = " or ".join(dict.fromkeys([MASK, str(self.tokenizer.mask_token)]))
            raise ModelError(
                f"instance {instances['instance'][row]}, {instances['text'][row]!r}, has {masks} "
                f"masks for this tokenizer; expected one {spellings} "
                "(see `mask` of the tokenizer in the config)"
            )
        return places - segments.begins

    def _candidate_words(
        self, candidates: pl.DataFrame, around: list[str], texts: list[str]
    ) -> list[CandidateWords]:
        """Returns the words of each column of candidates, with the inputs that score them.

        Args:
            candidates: the candidates of each kind of instances, null for none.
            around: for each kind, the mask with its neighbouring words.
            texts: for each kind, the text of an instance.
        """
        columns = []
        categories = candidates.with_columns(around=pl.Series(around, dtype=pl.Categorical))
        no_candidate = -1
        codes = categories.cast(pl.Categorical).select(
            pl.all().to_physical().cast(pl.Int64).fill_null(no_candidate)
        )
        for position, column in enumerate(candidates.columns, start=1):
            # Each distinct pair of a word and its neighbours is tokenized once.
            word_codes, around_codes = codes[column].to_numpy(), codes["around"].to_numpy()
            examples, word_index = numbered_rows([word_codes, around_codes])
            words = candidates[column].gather(examples)
            inputs: list[ScoredInputs] = []
            for kind, word in zip(examples.tolist(), words, strict=True):
                if word is None:
                    inputs.append([])
                else:
                    spellings = candidate_spellings(word, position, self.choices.either_case)
                    inputs.append(self._word_inputs(spellings, around[kind], texts[kind]))
            columns.append(CandidateWords(inputs, word_index))
        return columns

    def _word_inputs(self, spellings: list[str], around: str, text: str) -> ScoredInputs:
        """Returns the inputs that score a word, in any of its spellings; at least one.

        Args:
            spellings: the spellings.
            around: the mask with its neighbouring words, on which the tokens may depend.
            text: any text with this mask and these neighbours.
        """
        key = (around, *spellings)
        if key not in self.word_inputs:
            mask: int = self.tokenizer.mask_token_id
            if self.choices.scoring == "unqover":
                tokens = self._vocabulary_tokens(spellings[0])
            else:
                tokens = self._tokens_in_text(spellings, text)
            inputs = candidate_inserts(tokens, self.choices.target_scoring, mask)
            # Each instance must have a row, also with a word that has no token.
            self.word_inputs[key] = inputs or [(Insert((mask,), 0), [])]
        return self.word_inputs[key]

    def _vocabulary_tokens(self, word: str) -> list[VocabularyTokens]:
        """Returns the tokens that decode to a word, as UnQover matches them; may be none."""
        token_ids = self.vocabulary.get(word.lower(), [])
        return [VocabularyTokens(text=word, ids=[token], word_numbers=[0]) for token in token_ids]

    def _tokens_in_text(self, spellings: list[str], text: str) -> list[VocabularyTokens]:
        """Returns the tokens of a word's spellings in place of the mask of a text.

        If some spellings are a single token, the others are left out.

        Raises:
            ModelError: the tokenizer has no tokens for any of the spellings.
        """
        spelling_tokens, refusals = [], []
        for spelling in spellings:
            try:
                spelling_tokens.append(tokens_in_place(self.tokenizer, text, spelling))
            except ModelError as refusal:
                refusals.append(refusal)
        if not spelling_tokens:
            raise refusals[0]
        return scored_spellings(spelling_tokens)

    @cached_property
    def vocabulary(self) -> dict[str, list[int]]:
        """The ids of tokens by their decoded text, stripped and in lower case.

        UnQover compares subjects with these texts.
        """
        tokens: dict[str, list[int]] = {}
        token_ids = range(self.model.config.vocab_size)
        texts = self.tokenizer.batch_decode([[token] for token in token_ids])
        for token, text in enumerate(texts):
            tokens.setdefault(text.strip().lower(), []).append(token)
        return tokens

    @torch.inference_mode()
    def run(
        self, encoding: EncodedTexts, batch: Batch, *, plain: bool = False
    ) -> dict[str, torch.Tensor]:
        """Predicts rows of one length.

        Args:
            encoding: the encoded instances.
            batch: the rows.
            plain: whether the head computes logits at every place, for the audit.

        Returns:
            `probabilities` (float32) and, if needed, `ranks` (int32) of the tokens that are read,
            shape (rows, columns, spellings); without meaning where the token is `NO_TOKEN`.
        """
        rows = encoding.on_device
        place = rows.second_start(batch) + encoding.place[rows.second_index[batch.rows]]
        logits = self.head.logits(rows.inputs(batch), place, plain=plain)
        total = logits.logsumexp(dim=1, keepdim=True)
        top_tokens = None
        if self.choices.scoring == "unqover":
            top_tokens = logits.topk(min(TOP_TOKENS, logits.shape[1])).indices
        tokens = encoding.tokens[encoding.input_index[batch.rows]]
        shape, tokens = tokens.shape, tokens.flatten(1)
        probabilities = token_probabilities(logits, total, tokens, top_tokens)
        columns = {"probabilities": probabilities.reshape(shape)}
        if self.choices.ranks:
            columns["ranks"] = token_ranks(logits, tokens).reshape(shape)
        return columns

    def table(
        self, encoding: EncodedTexts, part: BatchPart, columns: dict[str, npt.NDArray[Any]]
    ) -> pl.DataFrame:
        """Returns `probabilities`, `tokens` and, if needed, `ranks`: lists by candidate.

        Of several spellings, the most probable one counts, and the first one in rank. Elements are
        null without a candidate. A word without a token in the vocabulary has the probability 0,
        and null `tokens` and `ranks`.
        """
        inputs = encoding.mask_rows.inputs
        input_index = encoding.mask_rows.input_index[part.rows]
        tokens = inputs.tokens[input_index]
        scores = multiply_tokens(columns["probabilities"], tokens, part.owner)
        has_candidate = encoding.has_candidate[encoding.kind_index[part.instances]]
        has_tokens = scores.token_counts > 0
        lists = [
            to_list_column("probabilities", scores.probabilities, has_candidate, pl.Float32),
            to_list_column("tokens", scores.token_counts, has_tokens, pl.UInt8),
        ]
        if self.choices.ranks:
            reads_first = inputs.reads_first_token[input_index][:, None, None]
            is_first_token = reads_first & (tokens != NO_TOKEN)
            ranks = best_ranks(columns["ranks"], is_first_token, part.owner)
            lists.append(to_list_column("ranks", ranks, ranks != NO_RANK, pl.UInt32))
        return pl.DataFrame(lists)


def token_probabilities(
    logits: torch.Tensor,
    total: torch.Tensor,
    tokens: torch.Tensor,
    top_tokens: torch.Tensor | None,
) -> torch.Tensor:
    """Returns the probabilities of tokens; shape (rows, tokens).

    Args:
        logits: float32, shape (rows, vocabulary).
        total: their logarithmic sum of exponentials, shape (rows, 1).
        tokens: shape (rows, tokens), token ids, or `NO_TOKEN`, which gets 0.
        top_tokens: shape (rows, top), the only tokens that count: others get 0. None for all.
    """
    counts = tokens != NO_TOKEN
    if top_tokens is not None:
        counts &= (tokens.unsqueeze(2) == top_tokens.unsqueeze(1)).any(dim=2)
    probabilities = (logits.gather(1, tokens.clamp(min=0)) - total).exp()
    return torch.where(counts, probabilities, 0)


def token_ranks(logits: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """Returns the ranks of tokens from 1, the most probable one; shape (rows, tokens).

    Args:
        logits: shape (rows, vocabulary).
        tokens: shape (rows, tokens), token ids; the rank of `NO_TOKEN` is without meaning.
    """
    token_logits = logits.gather(1, tokens.clamp(min=0))
    # One token at a time: all of them at once may not fit into memory.
    ranks = []
    for token_logit in token_logits.unbind(dim=1):
        is_larger = logits > token_logit.unsqueeze(1)
        ranks.append(is_larger.sum(dim=1) + 1)
    return torch.stack(ranks, dim=1).int()
