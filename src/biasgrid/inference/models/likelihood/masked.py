"""Masked language models: scores of sentences by the formulas of CrowS-Pairs, AUL, StereoSet and
their kin.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import torch

from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.inference.engine.batches import longest_input
from biasgrid.inference.engine.device_rows import Batch
from biasgrid.inference.engine.encoding import TokenRows
from biasgrid.inference.engine.settings import InferenceSettings
from biasgrid.inference.models.likelihood.blank import BlankInput, blank_inputs
from biasgrid.inference.models.likelihood.sentences import (
    NO_PLACE,
    Counts,
    EncodedSentences,
    Reads,
    SentenceBackEnd,
    SentenceChoices,
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
"""The classes of transformers that load models for formulas which need another head."""
LOWER_CASED = {"cps": ("bert", "albert")}
"""The types of models that read lower case alone, whatever their tokenizer does, by formula."""
WORD_LEADS = {"stereoset": "", "stereoset-biasbench": " "}
"""What stands before the word at BLANK when it is tokenized; tokenizers that know no spaces make
the same of both.
"""


@dataclass(frozen=True)
class Sentence:
    """A tokenized sentence.

    Attributes:
        ids: its tokens as they are read, special tokens included.
        own: its tokens without special ones, those that were cut included.
        begin, end: where its own tokens begin and end.
        words: the number of the word that each token is of; None for special tokens.
        cut: whether it was too long.
    """

    ids: list[int]
    own: list[int]
    begin: int
    end: int
    words: list[int | None]
    cut: bool

    @property
    def places(self) -> range:
        """The places of its own tokens."""
        return range(self.begin, self.end)

    def later_in_word(self, place: int) -> list[int]:
        """Returns a place, and the places behind it of the same word."""
        word = self.words[place]
        return [
            place,
            *(later for later in range(place + 1, self.end) if self.words[later] == word),
        ]


class MaskedLikelihood(SentenceBackEnd):
    """Scores sentences with a masked language model."""

    loader = "AutoModelForMaskedLM"

    def __init__(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, choices: SentenceChoices
    ):
        """Prepares a model.

        Raises:
            ModelError: there is no such formula, or the tokenizer has no mask token, which all but
                one of them need.
        """
        self.model = model
        self.tokenizer = tokenizer
        self.choose_scoring(choices.scoring, MASKED)
        self.head = None if self.name == NEXT_SENTENCE else MaskHead(model, tokenizer)
        if self.name == "aula":
            # Other implementations of attention do not say where a model looks.
            model.set_attn_implementation("eager")

    @classmethod
    def choose_loader(cls, record: Mapping[str, Any], settings: InferenceSettings) -> str:
        """Returns the class of transformers that loads a model with the head which the formula
        needs.
        """
        return LOADERS.get(settings.choices["scoring"], cls.loader)

    def encode(self, asked: pl.DataFrame, whole: bool) -> EncodedSentences:
        """Tokenizes sentences as a whole, and finds what is masked and read.

        Raises:
            ModelError: an instance lacks what the formula needs, or has a mask already.
        """
        if self.scoring.needs == "context":
            return self._behind_contexts(asked)
        texts = self._as_read(asked["text"])
        partners = texts
        if self.scoring.needs:
            partners = self._as_read(pl.Series(needed_pairs(asked, self.name)))
        distinct = list(dict.fromkeys([*texts, *partners]))
        base, sentences = self._tokenized(distinct)
        number_of = {text: number for number, text in enumerate(distinct)}
        reads = Reads()
        own_tokens = []
        is_truncated = []
        for row, (text, partner_text) in enumerate(zip(texts, partners, strict=True)):
            number = number_of[text]
            sentence = sentences[number]
            partner = sentences[number_of[partner_text]]
            self._check_no_mask(sentence, int(asked["instance"][row]))
            places = self._places(asked, row, sentence, partner)
            self._add(reads, row, number, sentence, places)
            own_tokens.append(sentence.own)
            is_truncated.append(sentence.cut or partner.cut)
        counts = Counts.of(own_tokens, self.tokenizer, np.array(is_truncated))
        return EncodedSentences.of(base, reads, counts, self.model)

    def _as_read(self, texts: pl.Series) -> list[str]:
        """Returns texts in the case that the formula's original code uses for the model."""
        written: list[str] = texts.cast(pl.String).to_list()
        lowers = self.model.config.model_type in LOWER_CASED.get(self.name, ())
        return [text.lower() for text in written] if lowers else written

    def _tokenized(self, texts: list[str]) -> tuple[TokenRows, list[Sentence]]:
        """Tokenizes distinct texts; of texts that are too long, the special tokens are kept."""
        limit = longest_input(self.model, self.tokenizer)
        rows, is_truncated = truncate_rows(self.tokenizer, [(text,) for text in texts], limit)
        encodings = self.tokenizer.backend_tokenizer.encode_batch(texts)
        begins = rows.second_start(np.arange(len(texts))).tolist()
        sentences = []
        for row, encoding in enumerate(encodings):
            ids, _ = rows.assemble(row)
            end = begins[row] + int(rows.second.text_lengths[rows.second_of[row]])
            # Special tokens are of no text.
            tokens = zip(encoding.ids, encoding.sequence_ids, strict=True)
            own = [token for token, text in tokens if text is not None]
            cut = bool(is_truncated[row])
            sentences.append(Sentence(ids.tolist(), own, begins[row], end, encoding.word_ids, cut))
        return rows, sentences

    def _check_no_mask(self, sentence: Sentence, instance: int) -> None:
        if self.tokenizer.mask_token_id in sentence.ids:
            raise ModelError(
                f"instance {instance} has the mask token {self.tokenizer.mask_token} in its "
                "sentence; expected a sentence that contains only words"
            )

    def _places(
        self, asked: pl.DataFrame, row: int, sentence: Sentence, partner: Sentence
    ) -> list[int]:
        """Returns the places of a sentence that are scored.

        Raises:
            ModelError: the instance does not say which sentence is the first one.
        """
        if self.scoring.needs != "partner":
            return list(sentence.places)
        place = asked[PAIR_PLACE][row] if PAIR_PLACE in asked.columns else None
        if place not in (0, 1):
            raise ModelError(
                f"instance {asked['instance'][row]} has {place} as {PAIR_PLACE}; expected 0 or 1, "
                f"as {self.name!r} compares a sentence with its partner"
            )
        pair = (sentence, partner) if place == 0 else (partner, sentence)
        found = align_tokens(*(each.ids for each in pair))
        return (found.shared if self.scoring.reads == "shared" else found.differing)[place]

    def _add(
        self, reads: Reads, owner: int, base: int, sentence: Sentence, places: list[int]
    ) -> None:
        """Adds the rows that score a sentence at some places."""
        if self.scoring.inputs == "one" or not places:
            masked = [] if self.name in ("aul", "aula") else places
            reads.add(owner, base, places, [sentence.ids[place] for place in places], masked)
            return
        for place in places:
            masked = sentence.later_in_word(place) if self.name == "pll-l2r" else [place]
            reads.add(owner, base, [place], [sentence.ids[place]], masked)

    def _behind_contexts(self, asked: pl.DataFrame) -> EncodedSentences:
        """Encodes words at BLANK in a context, or sentences behind one."""
        contexts, texts = needed_pairs(asked, self.name), asked["text"].cast(pl.String).to_list()
        limit = longest_input(self.model, self.tokenizer)
        backend = self.tokenizer.backend_tokenizer
        own = [encoding.ids for encoding in backend.encode_batch(texts, add_special_tokens=False)]
        reads = Reads()
        if self.name == NEXT_SENTENCE:
            base, cut = truncate_rows(
                self.tokenizer, list(zip(contexts, texts, strict=True)), limit
            )
            for row in range(len(texts)):
                # One number is read of each pair, at the first place.
                reads.add(row, row, [0], [0])
            return EncodedSentences.of(base, reads, Counts.of(own, self.tokenizer, cut), self.model)
        inputs: list[BlankInput] = []
        owner: list[int] = []
        for row, (instance, context, text) in enumerate(
            zip(asked["instance"], contexts, texts, strict=True)
        ):
            found = blank_inputs(
                self.tokenizer, context, text, WORD_LEADS[self.name], int(instance)
            )
            inputs += found
            owner += [row] * len(found)
        base, cut = truncate_rows(self.tokenizer, [(each.text,) for each in inputs], limit)
        for number, (row, each) in enumerate(zip(owner, inputs, strict=True)):
            masks = np.flatnonzero(
                base.assemble(number)[0] == self.tokenizer.mask_token_id
            ).tolist()
            # The mask of a text that is too long may be in what was cut.
            read = [] if each.token is None else [each.token] * len(masks)
            reads.add(row, number, masks[: len(read)], read)
        is_cut = np.bincount(owner, cut, len(texts)) > 0
        return EncodedSentences.of(base, reads, Counts.of(own, self.tokenizer, is_cut), self.model)

    @torch.inference_mode()
    def run(
        self, encoded: EncodedSentences, batch: Batch, plain: bool = False
    ) -> dict[str, torch.Tensor]:
        """Scores rows of one length.

        Args:
            encoded: the encoded sentences.
            batch: which rows.
            plain: whether to let the head see every position, as a check.

        Returns:
            `score`, float32, shape (rows,): the sum over what is read.
        """
        inputs = encoded.on_device.inputs(batch)
        if self.head is None:
            return {"score": self.model(**inputs).logits.float().softmax(dim=1)[:, 0]}
        places, tokens, masked = (
            encoded.of_batch(each, batch)
            for each in (encoded.places, encoded.tokens, encoded.masked)
        )
        inputs["input_ids"] = with_masks(
            inputs["input_ids"], masked, int(self.tokenizer.mask_token_id)
        )
        outputs = self.head.outputs(
            inputs, places.clamp(min=0), plain, output_attentions=self.name == "aula"
        )
        logits = outputs.logits.float()
        scores = (
            logits.softmax(dim=2)
            if self.scoring.unit == "probability"
            else logits.log_softmax(dim=2)
        )
        if self.name == "sss-table":
            return {"score": sum_tables(scores, places, tokens)}
        values = scores.gather(2, tokens.clamp(min=0)[:, :, None]).squeeze(2)
        if self.name == "aula":
            values = values * attention_received(outputs.attentions, places)
        return {"score": sum_places(values, places)}


def with_masks(ids: torch.Tensor, places: torch.Tensor, mask: int) -> torch.Tensor:
    """Returns tokens with the mask at some places of each row.

    Args:
        ids: shape (rows, length).
        places: shape (rows, places), `NO_PLACE` where there is none.
        mask: the mask token.
    """
    length = ids.shape[1]
    hidden = torch.zeros((len(ids), length + 1), dtype=torch.bool, device=ids.device)
    hidden.scatter_(1, torch.where(places == NO_PLACE, length, places), True)
    return torch.where(hidden[:, :length], mask, ids)


def attention_received(
    attentions: tuple[torch.Tensor, ...] | None, places: torch.Tensor
) -> torch.Tensor:
    """Returns the attention that places receive, the mean over layers, heads and all places that
    attend.

    Args:
        attentions: of each layer, shape (rows, heads, length, length), the places that attend
            before those attended to.
        places: shape (rows, places).

    Raises:
        ModelError: the model gives no attentions.
    """
    if not attentions or attentions[0] is None:
        raise ModelError(
            "the model does not return its attention; expected a scoring other than aula"
        )
    received = torch.stack([layer.float().mean(dim=(1, 2)) for layer in attentions]).mean(dim=0)
    return at_places(received[:, :, None], places.clamp(min=0)).squeeze(2)


def sum_tables(scores: torch.Tensor, places: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """Adds up the scores of all tokens that are read at all places that are read, divided by their
    number.

    Args:
        scores: shape (rows, places, vocabulary).
        places: shape (rows, places).
        tokens: shape (rows, places).
    """
    known = places != NO_PLACE
    wanted = tokens.clamp(min=0)[:, None, :].expand(-1, places.shape[1], -1)
    table = torch.where(known[:, :, None] & known[:, None, :], scores.gather(2, wanted), 0)
    return table.sum(dim=(1, 2)) / known.sum(dim=1).clamp(min=1)
