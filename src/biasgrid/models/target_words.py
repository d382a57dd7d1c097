"""Masked language models: the probability of target words at the mask, whatever the number of their pieces."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl
import torch

from biasgrid.arrays import IntArray
from biasgrid.models.back_end import BackEnd, inputs_of
from biasgrid.models.checkpoint import ModelError
from biasgrid.models.encoding import Rows, rows_of_ids, whole_rows
from biasgrid.models.mask_head import MaskHead
from biasgrid.models.masked_pieces import (
    Insert,
    Inserts,
    Reading,
    expand,
    inserts_of,
    make_room,
    pieces_in_place,
    put_in,
)
from biasgrid.models.settings import Settings
from biasgrid.tables.instances import CASES
from biasgrid.tables.predictions import TARGET_PREDICTIONS

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

MASK = "[MASK]"
"""How texts write the mask, whatever a tokenizer calls its own."""


@dataclass(frozen=True)
class TargetRows:
    """Encoded instances: a row for each instance and insert.

    Attributes:
        rows: the rows' tokens.
        place: shape (rows,), the place that is read.
        insert_of: shape (rows,), what stands at the mask.
        inserts: the inserts, and what is read of them.
        targets: the target words of each instance.
    """

    rows: Rows
    place: IntArray
    insert_of: IntArray
    inserts: Inserts
    targets: pl.Series


class TargetWords(BackEnd):
    """Reads the probabilities of target words from a masked language model."""

    instances = CASES
    columns = ("instance", "text", "targets")
    choices = ("target_scoring",)
    schema = TARGET_PREDICTIONS

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, settings: Settings):
        """Prepares the model.

        Args:
            model: a masked language model.
            tokenizer: its tokenizer.
            settings: `target_scoring` is as in `hidden_pieces`; without it words of several pieces are refused.
        """
        self.model = model
        self.tokenizer = tokenizer
        self.scoring = settings.target_scoring
        self.head = MaskHead(model, tokenizer)
        self.around_mask = re.compile(rf"\S*\s*{re.escape(tokenizer.mask_token)}\s*\S*")

    def encode(self, frame: pl.DataFrame) -> TargetRows:
        """Tokenizes instances; their texts have one mask.

        Raises:
            ModelError: a text has no mask, or several; a target is unknown to the tokenizer, or there is none.
        """
        texts = frame["text"].str.replace_all(MASK, self.tokenizer.mask_token, literal=True)
        whole = whole_rows(self.tokenizer, texts.to_list())
        masks = self._mask_places(whole.first.ids, frame)
        asked, kind_of = self._kinds(texts, frame)
        inserts = Inserts.of([insert for kind in asked for insert in kind])
        owner, insert_of = expand([len(kind) for kind in asked], kind_of)
        sizes = inserts.sizes[insert_of]
        lengths = whole.lengths[owner] + sizes - 1
        ids = put_in(whole.first.ids[owner], lengths, masks[owner], inserts.ids[insert_of], sizes)
        types = None if whole.types is None else make_room(whole.types[owner], lengths, masks[owner], sizes)
        place = masks[owner] + inserts.places[insert_of]
        return TargetRows(rows_of_ids(ids, lengths, types, owner), place, insert_of, inserts, frame["targets"])

    def _mask_places(self, ids: IntArray, frame: pl.DataFrame) -> IntArray:
        is_mask = ids == self.tokenizer.mask_token_id
        masks = is_mask.sum(axis=1)
        if (masks != 1).any():
            row = int(np.flatnonzero(masks != 1)[0])
            text = f"instance {frame['instance'][row]}, {frame['text'][row]!r},"
            raise ModelError(f"{text} has {masks[row]} masks; expected one {MASK}")
        places: IntArray = is_mask.argmax(axis=1)
        return places

    def _kinds(
        self, texts: pl.Series, frame: pl.DataFrame
    ) -> tuple[list[list[tuple[Insert, list[Reading]]]], IntArray]:
        """Returns what is asked for each kind of text, and the kind of each text.

        Texts are of one kind where the mask stands between the same words, on which a target's pieces may depend, and
        the targets are the same.
        """
        numbers: dict[tuple[str, ...], int] = {}
        asked, kind_of = [], []
        for row, (text, targets) in enumerate(zip(texts, frame["targets"], strict=True)):
            if targets is None or targets.is_empty():
                raise ModelError(f"instance {frame['instance'][row]} has no target words; expected one or more")
            kind = (self.around_mask.findall(text)[0], *targets)
            if kind not in numbers:
                numbers[kind] = len(numbers)
                pieces = [pieces_in_place(self.tokenizer, text, word) for word in targets]
                asked.append(inserts_of(pieces, self.scoring, self.tokenizer.mask_token_id))
            kind_of.append(numbers[kind])
        return asked, np.array(kind_of, dtype=np.int64)

    @torch.inference_mode()
    def run(self, encoded: TargetRows, rows: IntArray, plain: bool = False) -> dict[str, npt.NDArray[Any]]:
        """Predicts rows of one length.

        Args:
            encoded: the encoded instances.
            rows: which rows, all of one length.
            plain: whether to let the head see every position, as a check.

        Returns:
            `log_probability` (float32) and `rank` of the tokens that are read, shape (rows, readings); what is not
            read is of no meaning.
        """
        logits = self.head.logits(inputs_of(self.model, encoded.rows, rows), encoded.place[rows], plain)
        tokens = torch.from_numpy(encoded.inserts.tokens[encoded.insert_of[rows]]).to(logits.device)
        read = logits.gather(1, tokens)
        # One reading at a time: all of them at once may not fit into memory.
        ranks = [(logits > token.unsqueeze(1)).sum(dim=1) + 1 for token in read.unbind(dim=1)]
        return {
            "log_probability": (read - logits.logsumexp(dim=1, keepdim=True)).cpu().numpy(),
            "rank": torch.stack(ranks, dim=1).cpu().numpy(),
        }

    def table(self, instances: pl.Series, encoded: TargetRows, columns: dict[str, npt.NDArray[Any]]) -> pl.DataFrame:
        """Makes the predictions table of some instances from the columns that `run` returned."""
        targets = encoded.inserts.targets[encoded.insert_of]
        read, most = targets >= 0, int(targets.max(initial=0)) + 1
        key = (encoded.rows.instance_of[:, None] * most + targets)[read]
        size = len(instances) * most
        pieces = np.bincount(key, minlength=size)
        logarithms = np.bincount(key, columns["log_probability"][read], minlength=size)
        first = encoded.inserts.pieces[encoded.insert_of][read] == 0
        ranks = np.zeros(size, dtype=np.int64)
        ranks[key[first]] = columns["rank"][read][first]
        asked = np.flatnonzero(pieces)
        return (
            pl.DataFrame([instances, encoded.targets.alias("word")])
            .explode("word")
            .select(
                "instance",
                pl.Series("target", asked % most, dtype=pl.UInt16),
                pl.col("word").cast(pl.Categorical),
                pl.Series("probability", np.exp(logarithms[asked]), dtype=pl.Float32),
                pl.Series("rank", ranks[asked], dtype=pl.UInt32),
                pl.Series("pieces", pieces[asked], dtype=pl.UInt8),
            )
        )
