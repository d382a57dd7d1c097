"""The plain way to ask a model: one row at a time, tokenized as a whole."""

from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any

import torch
from tiny_checkpoints import CASE_HEADS
from transformers import AutoTokenizer


class Plain:
    """A checkpoint used without the engine."""

    def __init__(self, checkpoint: Path, task: str):
        self.tokenizer = AutoTokenizer.from_pretrained(checkpoint)
        self.mask = self.tokenizer.mask_token
        self.model = CASE_HEADS[task].from_pretrained(checkpoint).eval()
        self.distributions: dict[tuple[int | tuple[int, ...], ...], torch.Tensor] = {}

    @torch.inference_mode()
    def mask_row(self, row: dict[str, Any], either_case: Sequence[int] = ()) -> dict[str, list[float]]:
        text = f"{row['text_pair']} {row['text']}"
        inputs = self.tokenizer(text, return_tensors="pt")
        place = inputs.input_ids[0].tolist().index(self.tokenizer.mask_token_id)
        probabilities = self.model(**inputs).logits[0, place].softmax(dim=0)

        def of(word: str) -> float:
            ids = self.tokenizer(text.replace(self.tokenizer.mask_token, word)).input_ids
            same_length = len(ids) == inputs.input_ids.shape[1]
            return float(probabilities[ids[place]]) if same_length and ids[place] != self.tokenizer.unk_token_id else 0

        words = {which: word for which in range(1, 5) if (word := row.get(f"candidate{which}"))}
        capital = {which: of(word.capitalize()) for which, word in words.items() if which in either_case}
        return {"probabilities": [max(of(word), capital.get(which, 0)) for which, word in words.items()]}

    def span_row(self, row: dict[str, Any]) -> dict[str, Any]:
        offsets, places, start, end = self.ends(row["text"], row["text_pair"])
        starts, ends = [], []
        for which in (1, 2):
            begin = row[f"position{which}"]
            stop = begin + len(row[f"candidate{which}"])
            own = [place for place in places if offsets[place][0] < stop and offsets[place][1] > begin]
            starts.append(float(start[own[0]]))
            ends.append(float(end[own[-1]]))
        answer, probability = self.answer(row["text"], row["text_pair"])
        return {"starts": starts, "ends": ends, "answer": answer, "probability": probability}

    @torch.inference_mode()
    def ends(self, question: str, context: str) -> tuple[list[tuple[int, int]], list[int], torch.Tensor, torch.Tensor]:
        """Offsets of all tokens, the places of the context's, and the probabilities of each as start and as end."""
        inputs = self.tokenizer(question, context, return_tensors="pt", return_offsets_mapping=True)
        offsets = inputs.pop("offset_mapping")[0].tolist()
        places = [place for place, which in enumerate(inputs.sequence_ids(0)) if which == 1]
        output = self.model(**inputs)
        return offsets, places, output.start_logits[0].softmax(dim=0), output.end_logits[0].softmax(dim=0)

    def answer(self, question: str, context: str) -> tuple[str, float]:
        """The most probable answer of at most 15 tokens, and its probability."""
        offsets, places, start, end = self.ends(question, context)
        spans = [(first, last) for first in places for last in places if first <= last < first + 15]
        first, last = max(spans, key=lambda span: float(start[span[0]] * end[span[1]]))
        return context[offsets[first][0] : offsets[last][1]].strip(), float(start[first] * end[last])

    @torch.inference_mode()
    def class_probabilities(self, *texts: str) -> list[float]:
        inputs = self.tokenizer(*texts, return_tensors="pt")
        probabilities: list[float] = self.model(**inputs).logits[0].softmax(dim=0).tolist()
        return probabilities

    @torch.inference_mode()
    def probabilities_at(self, inputs: dict[str, list[int]], place: int) -> torch.Tensor:
        """The distribution over the vocabulary at a place of some tokens, which are looked at once."""
        asked = place, *map(tuple, inputs.values())
        if asked not in self.distributions:
            tensors = {name: torch.tensor([values]) for name, values in inputs.items()}
            self.distributions[asked] = self.model(**tensors).logits[0, place].softmax(dim=0)
        return self.distributions[asked]

    def pieces(self, text: str, word: str) -> tuple[list[int], int, list[int], list[int]]:
        """The ids of a text, the place of its mask, the ids of a word there, and the word that each is part of."""
        ids = self.tokenizer(text).input_ids
        written = self.tokenizer(text.replace(self.mask, word), return_offsets_mapping=True)
        place, end_of_word = ids.index(self.tokenizer.mask_token_id), text.index(self.mask) + len(word)
        # What stands behind a word may be written in another way than behind a mask, so it is no help to count.
        end = 1 + max(token for token, (first, end) in enumerate(written.offset_mapping) if first < end_of_word and end)
        own = slice(place, end)
        return ids, place, written.input_ids[own], written.word_ids()[own]

    def word(self, text: str, word: str, scoring: str) -> tuple[float, int, int]:
        """Probability, rank and number of pieces of a word at the mask of a text, by the book."""
        ids, place, pieces, words = self.pieces(text, word)
        types = self.tokenizer(text).get("token_type_ids")
        ranks, factors = [], []
        for read, shown in enumerate(shown_pieces(pieces, words, scoring, self.tokenizer.mask_token_id)):
            inputs = {"input_ids": ids[:place] + shown + ids[place + 1 :]}
            if types is not None:
                inputs["token_type_ids"] = types[:place] + [types[place]] * len(shown) + types[place + 1 :]
            at = self.probabilities_at(inputs, place + read)
            factors.append(float(at[pieces[read]]))
            ranks.append(1 + int((at > at[pieces[read]]).sum()))
        return prod(factors), ranks[0], len(pieces)


def shown_pieces(pieces: list[int], words: list[int], scoring: str, mask: int) -> list[list[int]]:
    """What a model sees of a word while each of its pieces is read.

    Args:
        pieces: the word's token ids.
        words: which word each is part of.
        scoring: how words of several pieces are scored.
        mask: id of the mask token.
    """
    seen = []
    for read in range(len(pieces)):
        shown = list(pieces)
        for other in range(len(pieces)):
            same_word = words[other] == words[read]
            behind = other >= read and (scoring == "joint" or same_word)
            if other == read or (behind and scoring != "pll"):
                shown[other] = mask
        seen.append(shown)
    return seen
