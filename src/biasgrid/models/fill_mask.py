"""Masked language models: the probability of both candidates at the mask, normalised over the whole vocabulary."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl
import torch

from biasgrid.arrays import IntArray
from biasgrid.models.back_end import PAIR_COLUMNS, BackEnd, inputs_of
from biasgrid.models.checkpoint import ModelError
from biasgrid.models.distinct import distinct
from biasgrid.models.encoding import Rows, checked, single_layout, tokenize
from biasgrid.models.mask_head import MaskHead
from biasgrid.models.mask_rows import MaskRows, Words, mask_rows, products
from biasgrid.models.masked_pieces import Insert, Pieces, Reading, inserts_of, pieces_in_place
from biasgrid.models.settings import Settings
from biasgrid.tables.instances import INSTANCES
from biasgrid.tables.predictions import MASK_PREDICTIONS

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

TOP_TOKENS = 10
"""UnQover keeps this many tokens of the mask's distribution and takes 0 for all others (its --topk)."""


class FillMask(BackEnd):
    """Reads candidates' probabilities from a masked language model."""

    instances = INSTANCES
    columns = PAIR_COLUMNS
    choices = ("scoring", "pronouns", "target_scoring")
    schema = MASK_PREDICTIONS

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, settings: Settings):
        """Prepares the model.

        Args:
            model: a masked language model.
            tokenizer: its tokenizer.
            settings: `scoring` is `exact`, or `unqover` for the top-10 cut and UnQover's matching of decoded tokens;
                `pronouns` is the pronoun of each cluster of subjects, empty where pronouns are not asked for;
                `target_scoring` is as in `hidden_pieces`, of words of several tokens, which are refused without it.
        """
        self.model = model
        self.tokenizer = tokenizer
        self.scoring = settings.scoring
        self.pronouns = settings.pronouns
        self.target_scoring = settings.target_scoring
        self.known: dict[tuple[str, ...], list[tuple[Insert, list[Reading]]]] = {}
        self.head = MaskHead(model, tokenizer)
        self.beside_mask = re.compile(rf"\S*{re.escape(tokenizer.mask_token)}\S*")

    def encode(self, frame: pl.DataFrame) -> MaskRows:
        """Tokenizes instances: text = context, a space, statement.

        Raises:
            ModelError: a statement has no mask, or several; a word has several tokens, and the settings do not say how
                they are scored, or the tokenizer cannot write it.
        """
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
        masks = self._mask_places(rows, texts)
        beside = pl.Series("beside", [self.beside_mask.findall(text)[0] for text in second], pl.Categorical)
        return mask_rows(rows, masks, self._words(frame.with_columns(beside.gather(statement_of)), texts))

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
        places: IntArray = is_mask.argmax(axis=1)
        return places

    def _words(self, frame: pl.DataFrame, texts: Any) -> dict[str, Words]:
        """Returns what is asked for, per column of the predictions."""

        def words(column: str, variants: Callable[[str], list[str]]) -> Words:
            named, word_of = distinct(frame, [column, "beside"])
            example = np.unique(word_of, return_index=True)[1]
            asked = [
                self._asked(variants(name), beside, texts(np.array([row]))[0][0])
                for (name, beside), row in zip(named.iter_rows(), example, strict=True)
            ]
            return Words(asked, word_of)

        columns = {f"probability{which}": words(f"candidate{which}", lambda name: [name]) for which in (1, 2)}
        if self.pronouns:
            columns |= {f"pronoun{which}": words(f"cluster{which}", self._pronouns) for which in (1, 2)}
        return columns

    def _pronouns(self, cluster: str) -> list[str]:
        return [self.pronouns[cluster], self.pronouns[cluster].capitalize()]

    def _asked(self, variants: list[str], beside: str, text: str) -> list[tuple[Insert, list[Reading]]]:
        """Returns the inputs that score a word, in any of its variants.

        Args:
            variants: the ways to write it.
            beside: the mask with what is joined to it, on which the word's tokens may depend.
            text: a text with this mask.
        """
        key = (beside, *variants)
        if key not in self.known:
            mask: int = self.tokenizer.mask_token_id
            # A word that has no token still has its row.
            self.known[key] = inserts_of(self._ways(variants, text), self.target_scoring, mask) or [
                (Insert((mask,), 0), [])
            ]
        return self.known[key]

    def _ways(self, variants: list[str], text: str) -> list[Pieces]:
        """Returns the tokens of a word's variants; where some variant is one token, those of such variants alone."""
        if self.scoring == "unqover":
            return [Pieces(variants[0], [token], [0]) for token in self.vocabulary.get(variants[0].lower(), [])]
        ways, refusals = {}, []
        for variant in variants:
            try:
                pieces = pieces_in_place(self.tokenizer, text, variant)
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
    def run(self, encoded: MaskRows, rows: IntArray, plain: bool = False) -> dict[str, npt.NDArray[np.float32]]:
        """Predicts rows of one length.

        Args:
            encoded: the encoded instances.
            rows: which of them, all of one length.
            plain: whether to let the head see every position, as a check.

        Returns:
            Per column of the predictions the probabilities of the tokens that are read (float32, shape (rows, ways)),
            0 where none is.
        """
        logits = self.head.logits(inputs_of(self.model, encoded.rows, rows), encoded.place[rows], plain)
        total = logits.logsumexp(dim=1, keepdim=True)
        kept = logits.topk(min(TOP_TOKENS, logits.shape[1])).indices if self.scoring == "unqover" else None
        return {
            name: probabilities(logits, total, torch.from_numpy(tokens[rows]).to(logits.device), kept).cpu().numpy()
            for name, tokens in encoded.tokens.items()
        }

    def table(
        self, instances: pl.Series, encoded: MaskRows, columns: Mapping[str, npt.NDArray[np.float32]]
    ) -> pl.DataFrame:
        """Makes the predictions table of some instances from the columns that `run` returned."""
        owner = encoded.rows.instance_of
        scored = {name: products(factors, encoded.tokens[name], owner) for name, factors in columns.items()}
        numbers = [pl.Series(name, probability, pl.Float32) for name, (probability, _) in scored.items()]
        pieces = [pl.Series(f"pieces{which}", scored[f"probability{which}"][1], pl.UInt8) for which in (1, 2)]
        missing = [pl.lit(None, pl.Float32).alias(name) for name in ("pronoun1", "pronoun2") if name not in scored]
        return (
            pl.DataFrame([instances, *numbers, *pieces])
            .with_columns(*missing, pl.col("pieces1", "pieces2").replace(0, None))
            .select(list(self.schema.columns))
        )


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
