"""The plain way to ask a model, one row at a time, and to compare groups, in loops over units."""

import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.stats import wasserstein_distance
from sklearn.metrics import f1_score, precision_score, recall_score
from tiny_checkpoints import CASE_HEADS
from transformers import AutoTokenizer

from biasgrid.groups.records import AnswerOutputs, ClassOutputs, Records, TargetOutputs
from biasgrid.groups.scores import Argument, exact_match, token_f1


class Plain:
    """A checkpoint used without the engine."""

    def __init__(self, checkpoint: Path, task: str):
        self.tokenizer = AutoTokenizer.from_pretrained(checkpoint)
        self.mask = self.tokenizer.mask_token
        self.model = CASE_HEADS[task].from_pretrained(checkpoint).eval()
        self.distributions: dict[tuple[int | tuple[int, ...], ...], torch.Tensor] = {}

    @torch.inference_mode()
    def mask_row(
        self, row: dict[str, Any], either_case: Sequence[int] = ()
    ) -> dict[str, list[float]]:
        text = f"{row['text_pair']} {row['text']}"
        inputs = self.tokenizer(text, return_tensors="pt")
        place = inputs.input_ids[0].tolist().index(self.tokenizer.mask_token_id)
        probabilities = self.model(**inputs).logits[0, place].softmax(dim=0)

        def of(word: str) -> float:
            ids = self.tokenizer(text.replace(self.tokenizer.mask_token, word)).input_ids
            same_length = len(ids) == inputs.input_ids.shape[1]
            return (
                float(probabilities[ids[place]])
                if same_length and ids[place] != self.tokenizer.unk_token_id
                else 0
            )

        words = {which: word for which in range(1, 5) if (word := row.get(f"candidate{which}"))}
        capital = {
            which: of(word.capitalize()) for which, word in words.items() if which in either_case
        }
        return {
            "probabilities": [max(of(word), capital.get(which, 0)) for which, word in words.items()]
        }

    def span_row(self, row: dict[str, Any]) -> dict[str, Any]:
        offsets, places, start, end = self.ends(row["text"], row["text_pair"])
        starts, ends = [], []
        for which in (1, 2):
            begin = row[f"position{which}"]
            stop = begin + len(row[f"candidate{which}"])
            own = [
                place for place in places if offsets[place][0] < stop and offsets[place][1] > begin
            ]
            starts.append(float(start[own[0]]))
            ends.append(float(end[own[-1]]))
        answer, probability = self.answer(row["text"], row["text_pair"])
        return {"starts": starts, "ends": ends, "answer": answer, "probability": probability}

    @torch.inference_mode()
    def ends(
        self, question: str, context: str
    ) -> tuple[list[tuple[int, int]], list[int], torch.Tensor, torch.Tensor]:
        """Offsets of all tokens, the places of the context's, and the probabilities of each as
        start and as end.
        """
        inputs = self.tokenizer(question, context, return_tensors="pt", return_offsets_mapping=True)
        offsets = inputs.pop("offset_mapping")[0].tolist()
        places = [place for place, which in enumerate(inputs.sequence_ids(0)) if which == 1]
        output = self.model(**inputs)
        return (
            offsets,
            places,
            output.start_logits[0].softmax(dim=0),
            output.end_logits[0].softmax(dim=0),
        )

    def answer(self, question: str, context: str) -> tuple[str, float]:
        """The most probable answer of at most 15 tokens, and its probability."""
        offsets, places, start, end = self.ends(question, context)
        spans = [(first, last) for first in places for last in places if first <= last < first + 15]
        first, last = max(spans, key=lambda span: float(start[span[0]] * end[span[1]]))
        return context[offsets[first][0] : offsets[last][1]].strip(), float(
            start[first] * end[last]
        )

    @torch.inference_mode()
    def class_probabilities(self, *texts: str) -> list[float]:
        inputs = self.tokenizer(*texts, return_tensors="pt")
        probabilities: list[float] = self.model(**inputs).logits[0].softmax(dim=0).tolist()
        return probabilities

    @torch.inference_mode()
    def probabilities_at(self, inputs: dict[str, list[int]], place: int) -> torch.Tensor:
        """The distribution over the vocabulary at a place of some tokens, which are looked at
        once.
        """
        asked = place, *map(tuple, inputs.values())
        if asked not in self.distributions:
            tensors = {name: torch.tensor([values]) for name, values in inputs.items()}
            self.distributions[asked] = self.model(**tensors).logits[0, place].softmax(dim=0)
        return self.distributions[asked]

    def pieces(self, text: str, word: str) -> tuple[list[int], int, list[int], list[int]]:
        """The ids of a text, the place of its mask, the ids of a word there, and the word that each
        is part of.
        """
        ids = self.tokenizer(text).input_ids
        written = self.tokenizer(text.replace(self.mask, word), return_offsets_mapping=True)
        place, end_of_word = (
            ids.index(self.tokenizer.mask_token_id),
            text.index(self.mask) + len(word),
        )
        # What stands behind a word may be written in another way than behind a mask, so it is no
        # help to count.
        end = 1 + max(
            token
            for token, (first, end) in enumerate(written.offset_mapping)
            if first < end_of_word and end
        )
        own = slice(place, end)
        return ids, place, written.input_ids[own], written.word_ids()[own]

    def word(self, text: str, word: str, scoring: str) -> tuple[float, int, int]:
        """Probability, rank and number of pieces of a word at the mask of a text, by the book."""
        ids, place, pieces, words = self.pieces(text, word)
        types = self.tokenizer(text).get("token_type_ids")
        ranks, factors = [], []
        for read, shown in enumerate(
            shown_pieces(pieces, words, scoring, self.tokenizer.mask_token_id)
        ):
            inputs = {"input_ids": ids[:place] + shown + ids[place + 1 :]}
            if types is not None:
                inputs["token_type_ids"] = (
                    types[:place] + [types[place]] * len(shown) + types[place + 1 :]
                )
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


SKLEARN = {"f1": f1_score, "precision": precision_score, "recall": recall_score}
RATES: dict[str, Callable[[bool, bool], tuple[bool, bool]]] = {
    "false_negative_rate": lambda right, predicted: (right, not predicted),
    "false_positive_rate": lambda right, predicted: (not right, predicted),
    "false_discovery_rate": lambda right, predicted: (predicted, not right),
    "false_omission_rate": lambda right, predicted: (not predicted, right),
    "predicted_prevalence": lambda right, predicted: (True, predicted),
}
"""Whether a record counts in a rate, and whether it is a hit."""
Found = dict[tuple[str, str | None], tuple[float, int, int]]


def numbers_of(outputs: Any, row: int, score: str, argument: Argument) -> Any:
    """What a score needs of one record: its number (NaN where there is none), or its two labels."""
    if isinstance(outputs, ClassOutputs):
        probabilities, gold = outputs.probabilities[row].tolist(), int(outputs.gold[row])
        if "class_probability" in score:
            return probabilities[gold if argument is None else int(argument)]
        predicted = probabilities.index(max(probabilities))
        if score in RATES:
            is_counted, is_hit = RATES[score](gold == argument, predicted == argument)
            return float(is_hit) if is_counted else float("nan")
        return float(predicted == gold) if score == "accuracy" else (gold, predicted)
    if isinstance(outputs, TargetOutputs):
        targets = [float(number) for number in outputs.probabilities[row] if not np.isnan(number)]
        if score == "top_k_accuracy":
            return float(any(outputs.in_top_k[row]))
        if argument is not None:
            return targets[int(argument)] if int(argument) < len(targets) else float("nan")
        return float(np.mean(targets))
    of_texts = token_f1 if "token_f1" in score else exact_match
    assert isinstance(outputs, AnswerOutputs)
    return of_texts(outputs.answers[row], outputs.gold[row])


def phi(score: str, argument: Argument, numbers: list[Any]) -> Any:
    """The score of a pool: a number, or for set scores a list."""
    if score in SKLEARN:
        gold, predicted = zip(*numbers, strict=True)
        with warnings.catch_warnings(action="ignore"):
            return float(SKLEARN[score](gold, predicted, average=argument, zero_division=0))
    if score in ("class_probability", "likelihood", "token_f1", "exact_match"):
        return numbers
    return float(np.mean(numbers))


def apart(distance: str, one: Any, other: Any) -> float:
    if distance == "wasserstein":
        return float(wasserstein_distance(one, other))
    if distance == "ratio":
        return min(one, other) / max(one, other) if max(one, other) else float("nan")
    return float(abs(one - other))


def mean_of_known(values: Iterable[float]) -> float:
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else float("nan")


def unit_values(
    score: str, argument: Argument, distance: str, comparison: str, pools: dict[int, list[Any]]
) -> dict[int | None, float]:
    """The comparison of the groups of one unit, by group or under None; NaN where there is none to
    make.
    """
    groups = {group: phi(score, argument, numbers) for group, numbers in pools.items()}
    whole = (
        phi(score, argument, [number for numbers in pools.values() for number in numbers])
        if pools
        else None
    )
    per_group = comparison.endswith("per_group")
    if len(groups) < 2:
        return dict.fromkeys(groups, np.nan) if per_group else {None: np.nan}
    if comparison == "pairwise":
        return {
            None: mean_of_known(apart(distance, *pair) for pair in combinations(groups.values(), 2))
        }
    if comparison.startswith("background"):
        by_group = {group: apart(distance, whole, value) for group, value in groups.items()}
        return by_group if per_group else {None: mean_of_known(by_group.values())}
    if sum(groups.values()) == 0:
        return dict.fromkeys(groups, np.nan) if per_group else {None: np.nan}
    shares = {group: value / sum(groups.values()) for group, value in groups.items()}
    by_group = {group: abs(share - 1 / len(groups)) for group, share in shares.items()}
    largest = 1 - 1 / len(groups) if distance == "normalized_divergence" else 1
    return by_group if per_group else {None: sum(by_group.values()) / 2 / largest}


def plain_comparison(
    records: Records, score: str, argument: Argument, distance: str, comparison: str, mode: str
) -> Found:
    """Value, n and left_out by names of bias type and group."""
    rows: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for row, (bias_type, case) in enumerate(zip(records.bias_type, records.case, strict=True)):
        rows[int(bias_type)][0 if mode == "group" else int(case)].append(row)
    found: Found = {}
    for bias_type, units in rows.items():
        values: dict[int | None, list[tuple[float, int, int]]] = defaultdict(list)
        for of_unit in units.values():
            for group, entry in entries(
                records, score, argument, distance, comparison, mode, of_unit
            ):
                values[group].append(entry)
        for group, listed in values.items():
            used = [entry for entry in listed if not np.isnan(entry[0])]
            n = sum(entry[1] for entry in used)
            left_out = sum(entry[2] for entry in listed) - n
            name = None if group is None else records.groups[group]
            value = float(np.mean([entry[0] for entry in used])) if used else float("nan")
            found[records.bias_types[bias_type], name] = value, n, left_out
    return found


def entries(
    records: Records,
    score: str,
    argument: Argument,
    distance: str,
    comparison: str,
    mode: str,
    rows: list[int],
) -> Iterator[tuple[int | None, tuple[float, int, int]]]:
    """A unit's values by group (or None), each with how many records or cases have a value, and how
    many there are.
    """
    all_of_it: dict[int, int] = defaultdict(int)
    pools: dict[int, list[Any]] = defaultdict(list)
    for row in rows:
        group, numbers = int(records.group[row]), numbers_of(records.outputs, row, score, argument)
        all_of_it[group] += 1
        if isinstance(numbers, tuple) or not np.isnan(numbers):
            pools[group].append(numbers)
    values = unit_values(score, argument, distance, comparison, pools)
    for group in all_of_it if comparison.endswith("per_group") else [None]:
        there = sum(all_of_it.values()) if group is None else all_of_it[group]
        with_value = sum(map(len, pools.values())) if group is None else len(pools[group])
        counts = (with_value, there) if mode == "group" else (min(with_value, 1), 1)
        yield group, (values.get(group, np.nan), *counts)
