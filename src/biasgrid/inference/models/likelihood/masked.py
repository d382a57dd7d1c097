"""Masked language models: scores of sentences by formulas such as those of CrowS-Pairs and AUL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import torch

from biasgrid.base.arrays import BoolArray
from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.inference.engine.batches import longest_input
from biasgrid.inference.engine.device_rows import Batch
from biasgrid.inference.engine.encoding import TokenRows
from biasgrid.inference.engine.settings import InferenceSettings
from biasgrid.inference.models.likelihood.blank import BlankInput, blank_inputs
from biasgrid.inference.models.likelihood.sentences import (
    NO_PLACE,
    EncodedSentences,
    Reads,
    SentenceBackEnd,
    SentenceChoices,
    SentenceCounts,
    needed_pairs,
    sum_places,
)
from biasgrid.inference.models.masked.head import MaskHead, at_places
from biasgrid.inference.models.scorers.whole_texts import truncate_rows
from biasgrid.inference.scorings import MASKED, align_tokens
from biasgrid.tables.instances import PAIR_PLACE

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

NEXT_SENTENCE = "next-sentence"
LOADERS = {NEXT_SENTENCE: "AutoModelForNextSentencePrediction"}
"""Classes of transformers that load a model with another head, by formula."""
LOWER_CASED = {"cps": ("bert", "albert")}
"""Model types that a formula's original code gives lower case, whatever their tokenizer does."""
WORD_LEADS = {"stereoset": "", "stereoset-biasbench": " "}
"""The text before the word at BLANK when it is tokenized, by formula."""


@dataclass(frozen=True)
class Sentence:
    """A tokenized sentence.

    Attributes:
        ids: the token ids that the model reads, special tokens included.
        own: all of its token ids, without special ones, also those of a cut end.
        begin, end: where its own tokens begin and end in `ids`.
        word_numbers: the word of each token in `ids`, numbered within the sentence; None for
            special tokens.
        is_truncated: whether its end was cut, because it was too long.
    """

    ids: list[int]
    own: list[int]
    begin: int
    end: int
    word_numbers: list[int | None]
    is_truncated: bool

    @property
    def places(self) -> range:
        """The places of its own tokens in `ids`."""
        return range(self.begin, self.end)

    def later_in_word(self, place: int) -> list[int]:
        """Returns a place, and all later places of the same word."""
        word = self.word_numbers[place]
        later = range(place + 1, self.end)
        return [place, *(other for other in later if self.word_numbers[other] == word)]


class MaskedLikelihood(SentenceBackEnd):
    """Scores sentences with a masked language model."""

    loader = "AutoModelForMaskedLM"

    def __init__(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, choices: SentenceChoices
    ):
        """Prepares a model.

        Raises:
            ModelError: there is no such formula, or the tokenizer has no mask token, which all
                formulas but `NEXT_SENTENCE` need.
        """
        self.model = model
        self.tokenizer = tokenizer
        self.choose_scoring(choices.scoring, MASKED)
        self.head = None if self.name == NEXT_SENTENCE else MaskHead(model, tokenizer)
        if self.name == "aula":
            # Other implementations of attention do not return the attention weights.
            model.set_attn_implementation("eager")

    @classmethod
    def choose_loader(cls, record: Mapping[str, Any], settings: InferenceSettings) -> str:
        """Returns the class of transformers whose head the formula needs."""
        return LOADERS.get(settings.choices["scoring"], cls.loader)

    def encode(self, instances: pl.DataFrame, *, whole: bool) -> EncodedSentences:
        """Tokenizes whole sentences, and finds the places to mask and to read.

        Raises:
            ModelError: an instance lacks a text or fact that the formula needs, or contains the
                mask token already.
        """
        if self.scoring.needs == "context":
            return self._behind_contexts(instances)
        texts = self._as_read(instances["text"])
        partners = texts
        if self.scoring.needs:
            partners = self._as_read(pl.Series(needed_pairs(instances, self.name)))
        distinct = list(dict.fromkeys([*texts, *partners]))
        base, sentences = self._tokenized(distinct)
        text_index = {text: place for place, text in enumerate(distinct)}
        reads = Reads()
        own_tokens = []
        is_truncated = []
        for row, (text, partner_text) in enumerate(zip(texts, partners, strict=True)):
            sentence = sentences[text_index[text]]
            partner = sentences[text_index[partner_text]]
            self._check_no_mask(sentence, int(instances["instance"][row]))
            places = self._places(instances, row, sentence, partner)
            self._add_reads(reads, row, text_index[text], sentence, places)
            own_tokens.append(sentence.own)
            is_truncated.append(sentence.is_truncated or partner.is_truncated)
        counts = SentenceCounts.from_tokens(own_tokens, self.tokenizer, np.array(is_truncated))
        return EncodedSentences.from_reads(base, reads, counts, self.model)

    def _as_read(self, texts: pl.Series) -> list[str]:
        """Returns texts in the case that the formula's original code uses for the model."""
        as_written: list[str] = texts.cast(pl.String).to_list()
        if self.model.config.model_type not in LOWER_CASED.get(self.name, ()):
            return as_written
        return [text.lower() for text in as_written]

    def _tokenized(self, texts: list[str]) -> tuple[TokenRows, list[Sentence]]:
        """Returns token rows and sentences, one for each text.

        The end of a text that is too long is cut; its special tokens stay.
        """
        limit = longest_input(self.model, self.tokenizer)
        rows, is_truncated = truncate_rows(self.tokenizer, [(text,) for text in texts], limit)
        encodings = self.tokenizer.backend_tokenizer.encode_batch(texts)
        begins = rows.second_start(np.arange(len(texts))).tolist()
        sentences = []
        for row, encoding in enumerate(encodings):
            ids, _ = rows.assemble(row)
            end = begins[row] + int(rows.second_segments.text_lengths[rows.second_index[row]])
            tokens = zip(encoding.ids, encoding.sequence_ids, strict=True)
            # The text of special tokens is None.
            own = [token for token, text in tokens if text is not None]
            sentence = Sentence(
                ids=ids.tolist(),
                own=own,
                begin=begins[row],
                end=end,
                word_numbers=encoding.word_ids,
                is_truncated=bool(is_truncated[row]),
            )
            sentences.append(sentence)
        return rows, sentences

    def _check_no_mask(self, sentence: Sentence, instance: int) -> None:
        if self.tokenizer.mask_token_id in sentence.ids:
            raise ModelError(
                f"instance {instance} has the mask token {self.tokenizer.mask_token} in its "
                "sentence; expected a sentence that contains only words"
            )

    def _places(
        self, instances: pl.DataFrame, row: int, sentence: Sentence, partner: Sentence
    ) -> list[int]:
        """Returns the places of a sentence whose tokens are scored.

        Args:
            instances: all instances.
            row: the row of the sentence's instance.
            sentence: the sentence.
            partner: the sentence that it is compared with; not read by formulas without a partner.

        Raises:
            ModelError: the column `PAIR_PLACE` does not say which of both is the first sentence.
        """
        if self.scoring.needs != "partner":
            return list(sentence.places)
        place = instances[PAIR_PLACE][row] if PAIR_PLACE in instances.columns else None
        if place not in (0, 1):
            raise ModelError(
                f"instance {instances['instance'][row]} has {place} as {PAIR_PLACE}; expected 0 or "
                f"1, as {self.name!r} compares a sentence with its partner"
            )
        pair = (sentence, partner) if place == 0 else (partner, sentence)
        alignment = align_tokens(*(member.ids for member in pair))
        places = alignment.shared if self.scoring.reads == "shared" else alignment.differing
        return places[place]

    def _add_reads(
        self, reads: Reads, owner: int, base: int, sentence: Sentence, places: list[int]
    ) -> None:
        """Adds the rows that score a sentence at some places; at least one row."""
        if self.scoring.inputs == "one" or not places:
            tokens = [sentence.ids[place] for place in places]
            masked = [] if self.name in ("aul", "aula") else places
            reads.add(owner=owner, base=base, places=places, tokens=tokens, masked=masked)
            return
        for place in places:
            tokens = [sentence.ids[place]]
            masked = sentence.later_in_word(place) if self.name == "pll-l2r" else [place]
            reads.add(owner=owner, base=base, places=[place], tokens=tokens, masked=masked)

    def _behind_contexts(self, instances: pl.DataFrame) -> EncodedSentences:
        """Encodes words at the BLANK of a context, or sentences after a context.

        Raises:
            ModelError: see `needed_pairs` and `blank_inputs`.
        """
        contexts = needed_pairs(instances, self.name)
        texts = instances["text"].cast(pl.String).to_list()
        backend = self.tokenizer.backend_tokenizer
        encodings = backend.encode_batch(texts, add_special_tokens=False)
        own_tokens = [encoding.ids for encoding in encodings]
        if self.name == NEXT_SENTENCE:
            pairs = list(zip(contexts, texts, strict=True))
            base, reads, is_truncated = self._read_pairs(pairs)
        else:
            inputs: list[BlankInput] = []
            owners: list[int] = []
            lead = WORD_LEADS[self.name]
            rows = zip(instances["instance"], contexts, texts, strict=True)
            for owner, (instance, context, text) in enumerate(rows):
                own_inputs = blank_inputs(self.tokenizer, context, text, lead, int(instance))
                inputs += own_inputs
                owners += [owner] * len(own_inputs)
            base, reads, is_input_truncated = self._read_blanks(inputs, owners)
            is_truncated = np.bincount(owners, is_input_truncated, len(texts)) > 0
        counts = SentenceCounts.from_tokens(own_tokens, self.tokenizer, is_truncated)
        return EncodedSentences.from_reads(base, reads, counts, self.model)

    def _read_pairs(self, pairs: Sequence[tuple[str, ...]]) -> tuple[TokenRows, Reads, BoolArray]:
        """Returns the rows of `NEXT_SENTENCE`, their reads, and whether each was cut."""
        limit = longest_input(self.model, self.tokenizer)
        base, is_truncated = truncate_rows(self.tokenizer, pairs, limit)
        reads = Reads()
        for row in range(len(pairs)):
            # The model returns one probability for a pair, which counts as one token.
            reads.add(owner=row, base=row, places=[0], tokens=[0])
        return base, reads, is_truncated

    def _read_blanks(
        self, inputs: Sequence[BlankInput], owners: Sequence[int]
    ) -> tuple[TokenRows, Reads, BoolArray]:
        """Returns the rows of inputs with a mask, their reads, and whether each was cut.

        Args:
            inputs: the inputs.
            owners: the place of each input's instance among all instances; see `owner_begins` for
                their order.
        """
        limit = longest_input(self.model, self.tokenizer)
        texts = [(blank_input.text,) for blank_input in inputs]
        base, is_truncated = truncate_rows(self.tokenizer, texts, limit)
        mask = self.tokenizer.mask_token_id
        reads = Reads()
        for row, (owner, blank_input) in enumerate(zip(owners, inputs, strict=True)):
            if blank_input.token is None:
                reads.add_unread(owner=owner, base=row)
                continue
            ids, _ = base.assemble(row)
            # A mask in the cut end of a text is not read; the word's score then lacks this token.
            mask_places = np.flatnonzero(ids == mask).tolist()
            tokens = [blank_input.token] * len(mask_places)
            reads.add(owner=owner, base=row, places=mask_places, tokens=tokens)
        return base, reads, is_truncated

    @torch.inference_mode()
    def run(
        self, encoding: EncodedSentences, batch: Batch, *, plain: bool = False
    ) -> dict[str, torch.Tensor]:
        """Scores rows of one length.

        Args:
            encoding: the encoded sentences.
            batch: the rows.
            plain: whether the head computes logits at every place, for the audit.

        Returns:
            `score`, float32, shape (rows,): the sum of the values that are read.
        """
        inputs = encoding.on_device.inputs(batch)
        if self.head is None:
            return {"score": self.model(**inputs).logits.float().softmax(dim=1)[:, 0]}
        places = encoding.batch_rows(encoding.places, batch)
        tokens = encoding.batch_rows(encoding.tokens, batch)
        masked = encoding.batch_rows(encoding.masked, batch)
        inputs["input_ids"] = with_masks(
            inputs["input_ids"], masked, int(self.tokenizer.mask_token_id)
        )
        outputs = self.head.outputs(
            inputs, places.clamp(min=0), plain=plain, output_attentions=self.name == "aula"
        )
        logits = outputs.logits.float()
        is_probability = self.scoring.unit == "probability"
        scores = logits.softmax(dim=2) if is_probability else logits.log_softmax(dim=2)
        if self.name == "sss-table":
            return {"score": sum_tables(scores, places, tokens)}
        values = scores.gather(2, tokens.clamp(min=0)[:, :, None]).squeeze(2)
        if self.name == "aula":
            values = values * attention_received(outputs.attentions, places)
        return {"score": sum_places(values, places)}


def with_masks(ids: torch.Tensor, places: torch.Tensor, mask: int) -> torch.Tensor:
    """Returns token ids with the mask at some places of each row.

    Args:
        ids: shape (rows, length).
        places: shape (rows, places), the places to mask, or `NO_PLACE`.
        mask: the mask's token id.
    """
    length = ids.shape[1]
    # One more column than tokens: `NO_PLACE` is written there.
    is_masked = torch.zeros((len(ids), length + 1), dtype=torch.bool, device=ids.device)
    is_masked.scatter_(1, torch.where(places == NO_PLACE, length, places), value=True)
    return torch.where(is_masked[:, :length], mask, ids)


def attention_received(
    attentions: tuple[torch.Tensor, ...] | None, places: torch.Tensor
) -> torch.Tensor:
    """Returns the attention that places receive: the mean over layers, heads and attending places.

    Args:
        attentions: for each layer, shape (rows, heads, attending places, attended places).
        places: shape (rows, places); the value of `NO_PLACE` is without meaning.

    Returns:
        Shape (rows, places).

    Raises:
        ModelError: the model returned no attention.
    """
    if not attentions or attentions[0] is None:
        raise ModelError(
            "the model does not return its attention; expected a scoring other than aula"
        )
    received = torch.stack([layer.float().mean(dim=(1, 2)) for layer in attentions]).mean(dim=0)
    return at_places(received[:, :, None], places.clamp(min=0)).squeeze(2)


def sum_tables(scores: torch.Tensor, places: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """Returns the scores of every read token at every read place, summed, by number of places.

    Args:
        scores: shape (rows, places, vocabulary).
        places: shape (rows, places), or `NO_PLACE`.
        tokens: shape (rows, places), the token that is read at each place.

    Returns:
        Shape (rows,).
    """
    is_read = places != NO_PLACE
    token_columns = tokens.clamp(min=0)[:, None, :].expand(-1, places.shape[1], -1)
    is_in_table = is_read[:, :, None] & is_read[:, None, :]
    table = torch.where(is_in_table, scores.gather(2, token_columns), 0)
    return table.sum(dim=(1, 2)) / is_read.sum(dim=1).clamp(min=1)
