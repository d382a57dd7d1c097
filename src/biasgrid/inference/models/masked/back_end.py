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
from biasgrid.inference.engine.segments import distinct_rows, numbered_rows
from biasgrid.inference.models.masked.candidate_tokens import (
    Insert,
    TokenReading,
    VocabularyTokens,
    candidate_inserts,
    tokens_in_place,
)
from biasgrid.inference.models.masked.head import MaskHead
from biasgrid.inference.models.masked.rows import (
    CandidateWords,
    MaskRows,
    best_ranks,
    mask_rows,
    merge_inputs,
    token_products,
)
from biasgrid.inference.models.masked.texts import MASK, MaskTexts

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

TOP_TOKENS = 10
"""UnQover keeps this many tokens of the mask's distribution and takes 0 for all others (its
--topk).
"""


@dataclass(frozen=True)
class EncodedTexts:
    """Encoded instances.

    Attributes:
        mask_rows: what is read.
        known: shape (kinds, columns), whether instances of a kind have a candidate.
        kind_of: shape (instances,), the kind of each.
        on_device: the rows' tokens, and `input_of` and `place` of the rows, and `tokens` of the
            inputs.
    """

    mask_rows: MaskRows
    known: npt.NDArray[np.bool_]
    kind_of: IntArray
    on_device: DeviceRows
    input_of: torch.Tensor
    place: torch.Tensor
    tokens: torch.Tensor

    @property
    def rows(self) -> TokenRows:
        """The rows' tokens."""
        return self.mask_rows.rows


@dataclass(frozen=True)
class MaskChoices:
    """What decides the answers.

    Attributes:
        scoring: `exact`, or `unqover` for the top-10 cut and UnQover's matching of decoded tokens.
        target_scoring: how words of several tokens are scored, see `hidden_tokens`; None refuses
            them.
        ranks: whether ranks are asked for too, which take a pass over the vocabulary for each
            candidate.
        either_case: the numbers of the candidates that may as well be written with a capital
            letter; the more probable spelling counts.
    """

    scoring: Scoring = "exact"
    target_scoring: TargetScoring | None = None
    ranks: bool = False
    either_case: Sequence[int] = ()


class FillMask(LocalBackEnd):
    """Reads candidates' probabilities from a masked language model."""

    Choices = MaskChoices
    loader = "AutoModelForMaskedLM"

    def __init__(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, choices: MaskChoices
    ):
        """Prepares the model.

        Args:
            model: a masked language model.
            tokenizer: its tokenizer.
            choices: how words are scored.
        """
        self.model = model
        self.tokenizer = tokenizer
        self.choices = choices
        self.known: dict[tuple[str, ...], list[tuple[Insert, list[TokenReading]]]] = {}
        self.head = MaskHead(model, tokenizer)

    def encode(self, asked: pl.DataFrame, whole: bool) -> EncodedTexts:
        """Tokenizes instances: the second text, where there is one, and a space stand before the
        text with the mask.

        Raises:
            ModelError: a text has no mask, or several; an instance has no candidates; a candidate
                has several tokens, and the settings do not say how they are scored, or the
                tokenizer cannot write it.
            NotAssembledError: see `LocalBackEnd.encode`.
        """
        texts = MaskTexts.of(asked, self.tokenizer.mask_token)
        rows = texts.tokenized(self.tokenizer, whole)
        masks = self._mask_places(rows, asked)
        around = list(dict.fromkeys(arounds := texts.around(self.tokenizer.mask_token)))
        number_of = {text: number for number, text in enumerate(around)}
        around_of = np.array([number_of[text] for text in arounds], dtype=np.int64)
        columns = {name: asked[name] for name in columns_with_prefix(asked, "candidate")}
        placed = pl.DataFrame(columns | {"around": around_of[texts.statement_of]})
        kinds, kind_of = distinct_rows(placed, placed.columns)
        candidates = kinds.drop("around")
        known = (
            np.array([column.is_not_null() for column in candidates])
            .reshape(candidates.width, len(kinds))
            .T
        )
        without = np.flatnonzero(~np.any(known, axis=1)[kind_of])
        if len(without):
            raise ModelError(
                f"instance {asked['instance'][int(without[0])]} has no candidates; expected "
                "one or more"
            )
        example = numbered_rows([kind_of])[0]
        places = [around[number] for number in kinds["around"]]
        inputs = merge_inputs(
            self._words(candidates, places, [text for (text,) in texts.whole(example)])
        )
        read = mask_rows(rows, masks, inputs, kind_of)
        tables = (
            to_device(each, self.model.device)
            for each in (read.input_of, read.place, inputs.tokens)
        )
        return EncodedTexts(read, known, kind_of, DeviceRows.of(read.rows, self.model), *tables)

    def _mask_places(self, rows: TokenRows, asked: pl.DataFrame) -> IntArray:
        found = np.flatnonzero(rows.second.ids == self.tokenizer.mask_token_id)
        segment = np.searchsorted(rows.second.begins + rows.second.lengths, found, side="right")
        counts = np.bincount(segment, minlength=len(rows.second.lengths))
        if (counts != 1).any():
            row = int(np.flatnonzero(counts[rows.second_of] != 1)[0])
            masks = counts[rows.second_of[row]]
            raise ModelError(
                f"instance {asked['instance'][row]}, {asked['text'][row]!r}, has {masks} masks for "
                f"this tokenizer; expected one {MASK} or {self.tokenizer.mask_token} (see `mask` "
                "of the tokenizer in the config)"
            )
        return found - rows.second.begins

    def _words(
        self, candidates: pl.DataFrame, around: list[str], texts: list[str]
    ) -> list[CandidateWords]:
        """Returns what is asked for in each column of candidates.

        Args:
            candidates: those of each kind of instances.
            around: the mask of each kind with what stands beside it.
            texts: a text of each kind.
        """
        columns = []
        placed = candidates.with_columns(around=pl.Series(around, dtype=pl.Categorical))
        codes = placed.cast(pl.Categorical).select(
            pl.all().to_physical().cast(pl.Int64).fill_null(-1)
        )
        for number, column in enumerate(candidates.columns, start=1):
            # Each distinct word with what stands beside the mask is read once.
            first, word_of = numbered_rows([codes[column].to_numpy(), codes["around"].to_numpy()])
            inputs: list[list[tuple[Insert, list[TokenReading]]]] = []
            for row, word in zip(first.tolist(), candidates[column].gather(first), strict=True):
                if word is None:
                    inputs.append([])
                else:
                    spellings = self._spellings(number, word)
                    inputs.append(self._asked(spellings, around[row], texts[row]))
            columns.append(CandidateWords(inputs, word_of))
        return columns

    def _spellings(self, number: int, word: str) -> list[str]:
        return [word, word.capitalize()] if number in self.choices.either_case else [word]

    def _asked(
        self, spellings: list[str], around: str, text: str
    ) -> list[tuple[Insert, list[TokenReading]]]:
        """Returns the inputs that score a word, in any of its spellings.

        Args:
            spellings: the ways to write it.
            around: the mask with what stands beside it, on which the word's tokens may depend.
            text: a text with this mask.
        """
        key = (around, *spellings)
        if key not in self.known:
            mask: int = self.tokenizer.mask_token_id
            tokens = self._ways(spellings, text)
            inserts = candidate_inserts(tokens, self.choices.target_scoring, mask)
            # A word that has no token still has its row.
            self.known[key] = inserts or [(Insert((mask,), 0), [])]
        return self.known[key]

    def _ways(self, spellings: list[str], text: str) -> list[VocabularyTokens]:
        """Returns the tokens of a word's spellings.

        If some spellings are a single token, the others are left out.

        Raises:
            ModelError: the tokenizer can write none of the spellings.
        """
        if self.choices.scoring == "unqover":
            word = spellings[0]
            token_ids = self.vocabulary.get(word.lower(), [])
            return [VocabularyTokens(word, [token], [0]) for token in token_ids]
        distinct, refusals = {}, []
        for spelling in spellings:
            try:
                tokens = tokens_in_place(self.tokenizer, text, spelling)
                distinct[tuple(tokens.ids)] = tokens
            except ModelError as refusal:
                refusals.append(refusal)
        if not distinct:
            raise refusals[0]
        single = [tokens for ids, tokens in distinct.items() if len(ids) == 1]
        return single or list(distinct.values())

    @cached_property
    def vocabulary(self) -> dict[str, list[int]]:
        """Token ids by what they decode to, stripped and lower-cased: UnQover compares subjects
        with that.
        """
        tokens: dict[str, list[int]] = {}
        decoded = self.tokenizer.batch_decode(
            [[token] for token in range(self.model.config.vocab_size)]
        )
        for token, text in enumerate(decoded):
            tokens.setdefault(text.strip().lower(), []).append(token)
        return tokens

    @torch.inference_mode()
    def run(
        self, encoded: EncodedTexts, batch: Batch, plain: bool = False
    ) -> dict[str, torch.Tensor]:
        """Predicts rows of one length.

        Args:
            encoded: the encoded instances.
            batch: which rows.
            plain: whether to let the head see every position, as a check.

        Returns:
            Of each candidate the probabilities (float32) and, where asked for, the `ranks` (int32)
            of the tokens that are read, shape (rows, columns, ways); of no meaning where none is.
        """
        rows = encoded.on_device
        place = rows.second_start(batch) + encoded.place[rows.second_of[batch.rows]]
        logits = self.head.logits(rows.inputs(batch), place, plain)
        total = logits.logsumexp(dim=1, keepdim=True)
        kept = (
            logits.topk(min(TOP_TOKENS, logits.shape[1])).indices
            if self.choices.scoring == "unqover"
            else None
        )
        tokens = encoded.tokens[encoded.input_of[batch.rows]]
        shape, tokens = tokens.shape, tokens.flatten(1)
        columns = {"probabilities": token_probabilities(logits, total, tokens, kept).reshape(shape)}
        if self.choices.ranks:
            columns["ranks"] = ranks(logits, tokens).reshape(shape)
        return columns

    def table(
        self, encoded: EncodedTexts, part: BatchPart, columns: dict[str, npt.NDArray[Any]]
    ) -> pl.DataFrame:
        """Makes columns of the answers (`choice`) from what `run` returned."""
        asked, known = encoded.mask_rows, encoded.known[encoded.kind_of[part.instances]]
        inputs = asked.input_of[part.rows]
        tokens = asked.inputs.tokens[inputs]
        values, pieces = token_products(columns["probabilities"], tokens, part.owner)
        lists = [
            to_list_column("probabilities", values, known, pl.Float32),
            to_list_column("tokens", pieces, pieces > 0, pl.UInt8),
        ]
        if self.choices.ranks:
            first = asked.inputs.is_first[inputs][:, None, None] & (tokens >= 0)
            ranked = best_ranks(columns["ranks"], first, part.owner)
            lists.append(to_list_column("ranks", ranked, ranked > 0, pl.UInt32))
        return pl.DataFrame(lists)


def token_probabilities(
    logits: torch.Tensor, total: torch.Tensor, tokens: torch.Tensor, kept: torch.Tensor | None
) -> torch.Tensor:
    """Returns the probabilities of tokens, 0 for those that are not among the kept ones.

    Args:
        logits: float32, shape (rows, vocabulary).
        total: their logarithmic sum of exponentials, shape (rows, 1).
        tokens: shape (rows, ways), -1 where there is none.
        kept: shape (rows, top), the only tokens that count; None for all.
    """
    counts = tokens >= 0
    if kept is not None:
        counts &= (tokens.unsqueeze(2) == kept.unsqueeze(1)).any(dim=2)
    found = (logits.gather(1, tokens.clamp(min=0)) - total).exp()
    return torch.where(counts, found, 0)


def ranks(logits: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """Returns 1 + how many entries of the vocabulary are more probable than each token; shape
    (rows, ways).

    Args:
        logits: shape (rows, vocabulary).
        tokens: shape (rows, ways), -1 where there is none.
    """
    read = logits.gather(1, tokens.clamp(min=0))
    # One way at a time: all of them at once may not fit into memory.
    each = [(logits > token.unsqueeze(1)).sum(dim=1) + 1 for token in read.unbind(dim=1)]
    return torch.stack(each, dim=1).int()
