"""The plain way to ask a model: one row at a time, tokenized as a whole."""

from pathlib import Path
from typing import Any

import torch
from tiny_checkpoints import CASE_HEADS
from transformers import AutoTokenizer


class Plain:
    """A checkpoint used without the engine."""

    def __init__(self, checkpoint: Path, task: str):
        self.tokenizer = AutoTokenizer.from_pretrained(checkpoint)
        self.model = CASE_HEADS[task].from_pretrained(checkpoint).eval()

    @torch.inference_mode()
    def mask_row(self, row: dict[str, Any], pronouns: dict[str, str]) -> dict[str, float]:
        text = f"{row['context']} {row['question']}"
        inputs = self.tokenizer(text, return_tensors="pt")
        place = inputs.input_ids[0].tolist().index(self.tokenizer.mask_token_id)
        probabilities = self.model(**inputs).logits[0, place].softmax(dim=0)

        def of(word: str) -> float:
            ids = self.tokenizer(text.replace(self.tokenizer.mask_token, word)).input_ids
            same_length = len(ids) == inputs.input_ids.shape[1]
            return float(probabilities[ids[place]]) if same_length and ids[place] != self.tokenizer.unk_token_id else 0

        predicted = {f"probability{which}": of(row[f"candidate{which}"]) for which in (1, 2)}
        if pronouns:
            spoken = {which: pronouns[row[f"cluster{which}"]] for which in (1, 2)}
            predicted |= {f"pronoun{which}": max(of(word), of(word.capitalize())) for which, word in spoken.items()}
        return predicted

    def span_row(self, row: dict[str, Any]) -> dict[str, Any]:
        offsets, places, start, end = self.ends(row["question"], row["context"])
        predicted: dict[str, Any] = {}
        for which in (1, 2):
            begin = row[f"position{which}"]
            stop = begin + len(row[f"candidate{which}"])
            own = [place for place in places if offsets[place][0] < stop and offsets[place][1] > begin]
            predicted |= {f"start{which}": float(start[own[0]]), f"end{which}": float(end[own[-1]])}
        return predicted | {"answer": self.answer(row["question"], row["context"])[0]}

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
    def probabilities_at(self, ids: list[int], place: int) -> torch.Tensor:
        """The distribution over the vocabulary at a place of some token ids."""
        return self.model(input_ids=torch.tensor([ids])).logits[0, place].softmax(dim=0)
