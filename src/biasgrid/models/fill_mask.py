"""Masked language models: the probability of both candidates at the mask, normalised over the whole vocabulary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl
import torch

from biasgrid.models.back_end import PAIR_COLUMNS, BackEnd, Settings
from biasgrid.models.checkpoint import ModelError
from biasgrid.models.distinct import distinct
from biasgrid.models.encoding import IntArray, Rows, checked, matrix_of, single_layout, tokenize
from biasgrid.models.mask_head import MaskHead
from biasgrid.tables import INSTANCES, MASK_PREDICTIONS

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

TOP_TOKENS = 10
"""UnQover keeps this many tokens of the mask's distribution and takes 0 for all others (its --topk)."""


@dataclass(frozen=True)
class MaskRows:
    """Encoded instances.

    Attributes:
        rows: the rows' tokens.
        mask: shape (rows,), the place of the mask.
        tokens: per column of the predictions, the token ids whose largest probability it is; shape (rows, variants),
            -1 where a row has fewer.
    """

    rows: Rows
    mask: IntArray
    tokens: dict[str, IntArray]


class FillMask(BackEnd):
    """Reads candidates' probabilities from a masked language model."""

    instances = INSTANCES
    columns = PAIR_COLUMNS
    choices = ("scoring", "pronouns")
    schema = MASK_PREDICTIONS

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, settings: Settings):
        """Prepares the model.

        Args:
            model: a masked language model.
            tokenizer: its tokenizer.
            settings: `scoring` is `exact`, or `unqover` for the top-10 cut and UnQover's matching of decoded tokens;
                `pronouns` is the pronoun of each cluster of subjects, empty where pronouns are not asked for.
        """
        self.model = model
        self.tokenizer = tokenizer
        self.scoring = settings.scoring
        self.pronouns = settings.pronouns
        self.known: dict[tuple[str, ...], list[int]] = {}
        self.head = MaskHead(model, tokenizer)

    def encode(self, frame: pl.DataFrame) -> MaskRows:
        """Tokenizes instances: text = context, a space, statement."""
        contexts, context_of = distinct(frame, ["context"])
        statements, statement_of = distinct(frame, ["question"])
        first = contexts["context"].str.strip_chars().to_list()
        second = statements["question"].str.strip_chars().to_list()

        def texts(rows: IntArray) -> list[tuple[str, ...]]:
            return [(f"{first[context_of[row]]} {second[statement_of[row]]}",) for row in rows]

        spaced = [f" {text}" if self._space_belongs_to_word(first[0], text) else text for text in second]
        assembled = Rows(
            single_layout(self.tokenizer),
            tokenize(self.tokenizer, first),
            tokenize(self.tokenizer, spaced),
            context_of,
            statement_of,
        )
        rows = checked(assembled, self.tokenizer, texts)
        return MaskRows(rows, self._mask_places(rows, texts), self._candidate_tokens(frame, texts))

    def _space_belongs_to_word(self, context: str, statement: str) -> bool:
        """Whether the space between two texts is part of the second's first token (byte-level tokenizers)."""
        whole = self._ids(f"{context} {statement}")
        return whole[len(self._ids(context)) :] != self._ids(statement)

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer.backend_tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def _mask_places(self, rows: Rows, texts: Any) -> IntArray:
        is_mask = rows.second.ids == self.tokenizer.mask_token_id
        masks = is_mask.sum(axis=1)[rows.second_of]
        if (masks != 1).any():
            row = int(np.flatnonzero(masks != 1)[0])
            raise ModelError(
                f"{texts(np.array([row]))[0][0]!r} has {masks[row]} mask tokens for this tokenizer; expected one "
                f"{self.tokenizer.mask_token} (see `mask` of the tokenizer in the config)"
            )
        every = np.arange(len(rows.first_of))
        places: IntArray = rows.second_start(every) + is_mask.argmax(axis=1)[rows.second_of]
        return places

    def _candidate_tokens(self, frame: pl.DataFrame, texts: Any) -> dict[str, IntArray]:
        columns = {}
        for which in (1, 2):
            candidates, of = distinct(frame, [f"candidate{which}"])
            example = np.unique(of, return_index=True)[1]
            ids = [
                self._tokens_of([name], texts(np.array([row]))[0][0])
                for name, row in zip(candidates[f"candidate{which}"], example, strict=True)
            ]
            columns[f"probability{which}"] = matrix_of(ids, -1)[of]
            if self.pronouns:
                clusters, of = distinct(frame, [f"cluster{which}"])
                spoken = [self.pronouns[cluster] for cluster in clusters[f"cluster{which}"]]
                ids = [self._tokens_of([word, word.capitalize()], texts(np.array([0]))[0][0]) for word in spoken]
                columns[f"pronoun{which}"] = matrix_of(ids, -1)[of]
        return columns

    def _tokens_of(self, variants: list[str], text: str) -> list[int]:
        """Returns the tokens that read as one of the variants at the mask of a text."""
        key = tuple(variants)
        if key not in self.known:
            if self.scoring == "unqover":
                tokens = self.vocabulary.get(variants[0].lower(), [])
            else:
                found = (self._token_in_place(variant, text) for variant in variants)
                tokens = sorted({token for token in found if token is not None})
            if not tokens and self.scoring == "exact":
                raise ModelError(
                    f"{variants[0]!r} is not one token of this model; expected one-token pronouns and subjects: name a "
                    "list of them in `subjects` of the variant, or leave `subjects` out there to have them filtered"
                )
            self.known[key] = tokens
        return self.known[key]

    def _token_in_place(self, word: str, text: str) -> int | None:
        with_mask, with_word = self._ids(text), self._ids(text.replace(self.tokenizer.mask_token, word))
        place = with_mask.index(self.tokenizer.mask_token_id)
        token = with_word[place] if len(with_word) == len(with_mask) else self.tokenizer.unk_token_id
        return None if token == self.tokenizer.unk_token_id else token

    @cached_property
    def vocabulary(self) -> dict[str, list[int]]:
        """Token ids by what they decode to, stripped and lower-cased: UnQover compares subjects with that."""
        tokens: dict[str, list[int]] = {}
        decoded = self.tokenizer.batch_decode([[token] for token in range(self.model.config.vocab_size)])
        for token, text in enumerate(decoded):
            tokens.setdefault(text.strip().lower(), []).append(token)
        return tokens

    @torch.inference_mode()
    def run(self, encoded: MaskRows, rows: IntArray, plain: bool = False) -> dict[str, npt.NDArray[np.float32]]:
        """Predicts rows of one length.

        Args:
            encoded: the encoded instances.
            rows: which of them, all of one length.
            plain: whether to let the head see every position, as a check.

        Returns:
            Per column of the predictions the probabilities, shape (rows,).
        """
        ids, _ = encoded.rows.assemble(rows)
        logits = self.head.logits(ids, encoded.mask[rows], plain)
        total = logits.logsumexp(dim=1, keepdim=True)
        kept = logits.topk(min(TOP_TOKENS, logits.shape[1])).indices if self.scoring == "unqover" else None
        return {
            name: best_probability(logits, total, torch.from_numpy(tokens[rows]).to(logits.device), kept).cpu().numpy()
            for name, tokens in encoded.tokens.items()
        }

    def table(self, instances: pl.Series, _encoded: MaskRows, columns: Mapping[str, Any]) -> pl.DataFrame:
        """Makes the predictions table of some instances from the columns that `run` returned."""
        every = {name: columns.get(name) for name in list(self.schema.columns)[1:]}
        series = [pl.Series(name, values, dtype=pl.Float32) for name, values in every.items() if values is not None]
        frame = pl.DataFrame([instances, *series])
        missing = [pl.lit(None, dtype=pl.Float32).alias(name) for name, values in every.items() if values is None]
        return frame.with_columns(missing).select(list(self.schema.columns))


def best_probability(
    logits: torch.Tensor, total: torch.Tensor, tokens: torch.Tensor, kept: torch.Tensor | None
) -> torch.Tensor:
    """Returns the largest probability among each row's tokens, 0 where none is among the kept ones.

    Args:
        logits: float32, shape (rows, vocabulary).
        total: their logarithmic sum of exponentials, shape (rows, 1).
        tokens: shape (rows, variants), -1 where a row has fewer.
        kept: shape (rows, top), the only tokens that count; None for all.
    """
    counts = tokens >= 0
    if kept is not None:
        counts &= (tokens.unsqueeze(2) == kept.unsqueeze(1)).any(dim=2)
    probabilities = (logits.gather(1, tokens.clamp(min=0)) - total).exp()
    return torch.where(counts, probabilities, 0).amax(dim=1)
