"""UnQover's rules for answers, applied with transformers alone to one question at a time.

`[bos] question [eos] context [eos]` is one row without segments, whose probabilities are over all
of its tokens. A subject begins at its first token or, if that is likelier, at a determiner or `a
group of` before it; it ends at its last token, or at a noun such as `man` or the full stop behind
it. Of a masked language model the ten likeliest tokens count.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import torch
from tiny_checkpoints import HEADS
from transformers import AutoTokenizer

DETERMINERS = {"an", "a", "the", "some", "few", "several"}
NOUNS = set(
    (
        "man woman boy girl child kid person folk people couple men women boys girls children "
        "kids persons folks city country cities countries"
    ).split()
)
LONGEST, KEPT = 5, 10
"""How many tokens an answer may have behind its first one, and how many tokens of a masked language
model count.
"""


class PlainUnqover:
    """A checkpoint that is asked as UnQover asks it."""

    def __init__(self, checkpoint: Path, task: str):
        self.tokenizer = AutoTokenizer.from_pretrained(checkpoint)
        self.model = HEADS[task].from_pretrained(checkpoint).eval()
        self.is_roberta = self.model.config.model_type == "roberta"

    def ids(self, question: str, context: str) -> tuple[list[int], int]:
        """The token ids of a question with its context, and the place of the context's first
        token.
        """
        known = self.tokenizer
        begin, end = known.bos_token_id, known.eos_token_id
        if begin is None:
            begin, end = known.cls_token_id, known.sep_token_id
        first = [begin, *known.encode(question, add_special_tokens=False), end]
        return [*first, *known.encode(context, add_special_tokens=False), end], len(first)

    @torch.inference_mode()
    def span_row(self, row: dict[str, Any]) -> dict[str, Any]:
        """What is said of an instance: `starts` and `ends` of both subjects, and the `answer`."""
        ids, begin = self.ids(row["text"], row["text_pair"])
        asked = torch.tensor([ids])
        output = self.model(input_ids=asked, attention_mask=torch.ones_like(asked))
        starts, ends = output.start_logits[0].softmax(dim=0), output.end_logits[0].softmax(dim=0)
        found: dict[str, Any] = {"starts": [], "ends": [], "answer": self.answer(ids, starts, ends)}
        for which in (1, 2):
            place, name = row[f"position{which}"], row[f"candidate{which}"]
            first, last = self.place_of(row["text_pair"], place, place + len(name))
            from_token, to_token = self.widened(ids, begin + first, begin + last)
            found["starts"].append(float(starts[from_token : begin + first + 1].max()))
            found["ends"].append(float(ends[begin + last : to_token + 1].max()))
        return found

    def place_of(self, context: str, begin: int, end: int) -> tuple[int, int]:
        """The first and the last token of a context that have letters between two places."""
        offsets = self.tokenizer(
            context, add_special_tokens=False, return_offsets_mapping=True
        ).offset_mapping
        own = [token for token, (start, stop) in enumerate(offsets) if start < end and stop > begin]
        return own[0], own[-1]

    def widened(self, ids: Sequence[int], first: int, last: int) -> tuple[int, int]:
        """The first and the last token that may stand for a subject's own."""
        tokens = [self.word(token) for token in self.tokenizer.convert_ids_to_tokens(ids)]
        before = tokens[first - 3 : first]
        if before[0] == "a" and before[1] in {"group", "team", "couple"} and before[2] == "of":
            first -= 3
        elif before[2] in DETERMINERS:
            first -= 1
        return first, last + (tokens[last + 1] in NOUNS | {"."})

    def word(self, token: str) -> str:
        """A token as UnQover's tables have it; "" if it is none of their words."""
        if token == "." or not self.is_roberta:
            return token
        return token.removeprefix("Ġ").lower() if token.startswith("Ġ") else ""

    def answer(self, ids: Sequence[int], starts: torch.Tensor, ends: torch.Tensor) -> str:
        """The tokens whose probabilities as first and as last have the largest sum, joined by
        spaces.
        """
        places = range(len(ids))
        spans = [
            (first, last)
            for first, last in product(places, places)
            if first <= last <= first + LONGEST
        ]
        first, last = max(spans, key=lambda span: float(starts[span[0]] + ends[span[1]]))
        text = " ".join(self.tokenizer.convert_ids_to_tokens(ids[first : last + 1]))
        return text.replace(" ##", "").replace("##", "").replace("Ġ", "")

    @torch.inference_mode()
    def kept(self, row: dict[str, Any]) -> dict[str, float]:
        """The ten likeliest tokens at an instance's mask as words, and their probabilities."""
        inputs = self.tokenizer(f"{row['text_pair']} {row['text']}", return_tensors="pt")
        place = inputs.input_ids[0].tolist().index(self.tokenizer.mask_token_id)
        kept = self.model(**inputs).logits[0, place].softmax(dim=0).topk(KEPT)
        words = [self.tokenizer.decode([token]).strip().lower() for token in kept.indices.tolist()]
        # Of equal words the likelier one counts, which comes last here.
        return dict(zip(reversed(words), reversed(kept.values.tolist()), strict=True))

    def mask_row(self, row: dict[str, Any]) -> list[float]:
        """The probabilities of an instance's two candidates."""
        kept = self.kept(row)
        return [kept.get(row[f"candidate{which}"].lower(), 0.0) for which in (1, 2)]
