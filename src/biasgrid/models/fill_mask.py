"""Masked language models: the probability of candidates at the mask, normalised over the whole vocabulary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl
import torch

from biasgrid.arrays import IntArray
from biasgrid.checkpoints.checkpoint import ModelError
from biasgrid.engine.encoding import Rows, distinct
from biasgrid.engine.local import LocalBackEnd, inputs_of, lists_of, numbered
from biasgrid.models.masked.head import MaskHead
from biasgrid.models.masked.pieces import Insert, Pieces, Reading, inserts_of, pieces_in_place
from biasgrid.models.masked.rows import MaskRows, Words, best_ranks, mask_rows, products
from biasgrid.models.masked.texts import MASK, MaskTexts
from biasgrid.section import Scoring, TargetScoring

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

TOP_TOKENS = 10
"""UnQover keeps this many tokens of the mask's distribution and takes 0 for all others (its --topk)."""


@dataclass(frozen=True)
class Encoded:
    """Encoded instances.

    Attributes:
        mask_rows: what is read.
        has_candidate: shape (instances, candidates).
    """

    mask_rows: MaskRows
    has_candidate: npt.NDArray[np.bool_]

    @property
    def rows(self) -> Rows:
        """The rows' tokens."""
        return self.mask_rows.rows


@dataclass(frozen=True)
class MaskChoices:
    """What decides the answers.

    Attributes:
        scoring: `exact`, or `unqover` for the top-10 cut and UnQover's matching of decoded tokens.
        target_scoring: how words of several tokens are scored, see `hidden_pieces`; None refuses them.
        ranks: whether ranks are asked for too, which take a pass over the vocabulary for each candidate.
        either_case: the numbers of the candidates that may as well be written with a capital letter; the more probable
            spelling counts.
    """

    scoring: Scoring = "exact"
    target_scoring: TargetScoring | None = None
    ranks: bool = False
    either_case: Sequence[int] = ()


class FillMask(LocalBackEnd):
    """Reads candidates' probabilities from a masked language model."""

    Choices = MaskChoices
    loader = "AutoModelForMaskedLM"

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, choices: MaskChoices):
        """Prepares the model.

        Args:
            model: a masked language model.
            tokenizer: its tokenizer.
            choices: how words are scored.
        """
        self.model = model
        self.tokenizer = tokenizer
        self.choices = choices
        self.known: dict[tuple[str, ...], list[tuple[Insert, list[Reading]]]] = {}
        self.head = MaskHead(model, tokenizer)

    def encode(self, asked: pl.DataFrame) -> Encoded:
        """Tokenizes instances: the second text, where there is one, and a space stand before the text with the mask.

        Raises:
            ModelError: a text has no mask, or several; an instance has no candidates; a candidate has several tokens,
                and the settings do not say how they are scored, or the tokenizer cannot write it.
        """
        texts = MaskTexts.of(asked, self.tokenizer.mask_token)
        rows = texts.tokenized(self.tokenizer)
        masks = self._mask_places(rows, asked)
        names = numbered(asked, "candidate")
        has_candidate = np.array([asked[name].is_not_null() for name in names]).reshape(len(names), len(asked)).T
        without = np.flatnonzero(~has_candidate.any(axis=1))
        if len(without):
            raise ModelError(f"instance {asked['instance'][int(without[0])]} has no candidates; expected one or more")
        return Encoded(mask_rows(rows, masks, self._words(asked.select(names), texts)), has_candidate)

    def _mask_places(self, rows: Rows, asked: pl.DataFrame) -> IntArray:
        is_mask = rows.second.ids == self.tokenizer.mask_token_id
        masks = is_mask.sum(axis=1)[rows.second_of]
        if (masks != 1).any():
            row = int(np.flatnonzero(masks != 1)[0])
            raise ModelError(
                f"instance {asked['instance'][row]}, {asked['text'][row]!r}, has {masks[row]} masks for this tokenizer"
                f"; expected one {MASK} or {self.tokenizer.mask_token} (see `mask` of the tokenizer in the config)"
            )
        places: IntArray = is_mask.argmax(axis=1)
        return places

    def _words(self, candidates: pl.DataFrame, texts: MaskTexts) -> list[Words]:
        """Returns what is asked for in each column of candidates."""
        placed = candidates.with_columns(texts.around(self.tokenizer.mask_token))
        columns = []
        for number, column in enumerate(candidates.columns, start=1):
            named, word_of = distinct(placed, [column, "around"])
            example = np.unique(word_of, return_index=True)[1]
            asked = [
                [] if word is None else self._asked(self._spellings(number, word), around, text)
                for (word, around), (text,) in zip(named.iter_rows(), texts.whole(example), strict=True)
            ]
            columns.append(Words(asked, word_of))
        return columns

    def _spellings(self, number: int, word: str) -> list[str]:
        return [word, word.capitalize()] if number in self.choices.either_case else [word]

    def _asked(self, spellings: list[str], around: str, text: str) -> list[tuple[Insert, list[Reading]]]:
        """Returns the inputs that score a word, in any of its spellings.

        Args:
            spellings: the ways to write it.
            around: the mask with what stands beside it, on which the word's tokens may depend.
            text: a text with this mask.
        """
        key = (around, *spellings)
        if key not in self.known:
            mask: int = self.tokenizer.mask_token_id
            # A word that has no token still has its row.
            self.known[key] = inserts_of(self._ways(spellings, text), self.choices.target_scoring, mask) or [
                (Insert((mask,), 0), [])
            ]
        return self.known[key]

    def _ways(self, spellings: list[str], text: str) -> list[Pieces]:
        """Returns the tokens of a word's spellings; where some spelling is one token, those of such spellings alone."""
        if self.choices.scoring == "unqover":
            return [Pieces(spellings[0], [token], [0]) for token in self.vocabulary.get(spellings[0].lower(), [])]
        ways, refusals = {}, []
        for spelling in spellings:
            try:
                pieces = pieces_in_place(self.tokenizer, text, spelling)
                ways[tuple(pieces.ids)] = pieces
            except ModelError as refusal:
                refusals.append(refusal)
        if not ways:
            raise refusals[0]
        return [pieces for ids, pieces in ways.items() if len(ids) == 1] or list(ways.values())

    @cached_property
    def vocabulary(self) -> dict[str, list[int]]:
        """Token ids by what they decode to, stripped and lower-cased: UnQover compares subjects with that."""
        tokens: dict[str, list[int]] = {}
        decoded = self.tokenizer.batch_decode([[token] for token in range(self.model.config.vocab_size)])
        for token, text in enumerate(decoded):
            tokens.setdefault(text.strip().lower(), []).append(token)
        return tokens

    @torch.inference_mode()
    def run(self, encoded: Encoded, rows: IntArray, plain: bool = False) -> dict[str, npt.NDArray[Any]]:
        """Predicts rows of one length.

        Args:
            encoded: the encoded instances.
            rows: which of them, all of one length.
            plain: whether to let the head see every position, as a check.

        Returns:
            Of each candidate, numbered from 1, the probabilities (`probability1`, float32) and, where asked for, the
            ranks (`rank1`) of the tokens that are read, shape (rows, ways); of no meaning where none is.
        """
        asked = encoded.mask_rows
        logits = self.head.logits(inputs_of(self.model, asked.rows, rows), asked.place[rows], plain)
        total = logits.logsumexp(dim=1, keepdim=True)
        kept = logits.topk(min(TOP_TOKENS, logits.shape[1])).indices if self.choices.scoring == "unqover" else None
        columns = {}
        for number, tokens in enumerate(asked.tokens, start=1):
            read = torch.from_numpy(tokens[rows]).to(logits.device)
            columns[f"probability{number}"] = probabilities(logits, total, read, kept).cpu().numpy()
            if self.choices.ranks:
                columns[f"rank{number}"] = ranks(logits, read).cpu().numpy()
        return columns

    def table(self, encoded: Encoded, columns: dict[str, npt.NDArray[Any]]) -> pl.DataFrame:
        """Makes columns of the answers (`choice`) from what `run` returned."""
        asked, known = encoded.mask_rows, encoded.has_candidate
        owner = asked.rows.instance_of
        scored = [
            products(columns[f"probability{number}"], tokens, owner)
            for number, tokens in enumerate(asked.tokens, start=1)
        ]
        values, pieces = (np.stack(each, axis=1) for each in zip(*scored, strict=True))
        lists = [
            lists_of("probabilities", values, known, pl.Float32),
            lists_of("pieces", pieces, pieces > 0, pl.UInt8),
        ]
        if self.choices.ranks:
            ranked = self._ranks(asked, columns)
            lists.append(lists_of("ranks", ranked, ranked > 0, pl.UInt32))
        return pl.DataFrame(lists)

    def _ranks(self, asked: MaskRows, columns: dict[str, npt.NDArray[Any]]) -> IntArray:
        owner = asked.rows.instance_of
        each = [
            best_ranks(columns[f"rank{number}"], asked.is_first[:, None] & (tokens >= 0), owner)
            for number, tokens in enumerate(asked.tokens, start=1)
        ]
        return np.stack(each, axis=1)


def probabilities(
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
    """Returns 1 + how many entries of the vocabulary are more probable than each token; shape (rows, ways).

    Args:
        logits: shape (rows, vocabulary).
        tokens: shape (rows, ways), -1 where there is none.
    """
    read = logits.gather(1, tokens.clamp(min=0))
    # One way at a time: all of them at once may not fit into memory.
    return torch.stack([(logits > token.unsqueeze(1)).sum(dim=1) + 1 for token in read.unbind(dim=1)], dim=1)
