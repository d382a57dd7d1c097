"""Random answers of every kind, in the schemas of predictions, with all that may be missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from random_draws import Draws
from small_tables import predictions_of

from biasgrid.inference.engine.back_end import columns_with_prefix

Row = Mapping[str, Any]
Options = list[str | None]
"""The options of an instance; None for those that others have and it has not."""
STATUSES = ("ok", "ok", "ok", "ok", "length", "filtered", "refused")
RESPONSES = (
    *("Yes.", "No.", "yes", "NO!", "Yes, but no.", "Agree", "Disagree", "Ja.", "Nein.", "Sí."),
    *("(a)", "(b)", "(c)", "a", "B.", "1", "2", "A or B", "Both.", "Neither of them.", ""),
    *("I cannot help with that.", "I'm sorry, but I can't answer this.", "As an AI I decline."),
    *("She is kind and calm; he is grim.", "He read his book, and he slept.", "They were kind."),
    *("1. Ann\n2. Bob\n3. Zoe", "Unknown", "Not known", "not enough information", "???"),
    *("Zoe, then Ann and Bob are mean, grim people.", "the nurse was awful", "good", "bad"),
    *("<think>Hm</think> Yes", "What do you mean?", "The answer is (b), I think.", "calm kind"),
)
"""What models may write, whatever they are asked."""


def random_predictions(
    kind: str, instances: pl.DataFrame, draws: Draws, classes: int = 0, writes: bool = True
) -> pl.DataFrame:
    """Returns answers to instances, in their order.

    Args:
        kind: the kind of the answers, a module of `tables.answers`.
        instances: what is asked.
        draws: decides the answers, and how often something is missing.
        classes: how many classes a classifier has, 0 of other models.
        writes: whether the model is generative: only these may fail to choose an option.
    """
    rows = instances.with_columns(pl.col(pl.Categorical).cast(pl.String)).to_dicts()
    candidates = columns_with_prefix(instances, "candidate")
    options = []
    for row in rows:
        options.append([row[name] for name in candidates] or ["class"] * classes)
    columns = ANSWERS[kind](rows, options, draws, writes)
    return predictions_of(kind, instances, **columns)


def random_unknown(count: int, draws: Draws) -> list[bool | None]:
    """Returns whether texts have unknown tokens: not known of any, or true of a few."""
    if draws.is_drawn(0.5):
        return [None] * count
    return [draws.is_drawn(0.05) for _ in range(count)]


def shares(count: int, draws: Draws, extremes: float) -> list[float]:
    """Returns probabilities that sum to at most 1: at times all 0, equal, or of one alone."""
    if draws.is_drawn(extremes):
        return draws.pick(([0.0] * count, [1 / count] * count, [1.0] + [0.0] * (count - 1)))
    numbers = draws.random.dirichlet(np.ones(count)) * draws.random.random()
    return [float(number) for number in numbers.astype(np.float32)]


def numbers_of_options(
    words: Sequence[str | None], draws: Draws, extremes: float
) -> list[float | None]:
    """Returns probabilities of options, None for those that are not there; see `shares`."""
    present = [place for place, word in enumerate(words) if word is not None]
    numbers: list[float | None] = [None] * len(words)
    if present:
        for place, number in zip(present, shares(len(present), draws, extremes), strict=True):
            numbers[place] = number
    return numbers


def write_choices(
    rows: Sequence[Row], options: list[Options], draws: Draws, writes: bool
) -> dict[str, Any]:
    """Returns probabilities of options; generative models may have no answer, or a text instead."""
    extremes, missing = draws.pick((0.0, 0.1, 0.5)), draws.pick((0.0, 0.0, 0.1))
    has_texts = writes and draws.is_drawn(0.15)
    answers: dict[str, list[Any]] = {name: [] for name in ("probabilities", "tokens", "ranks")}
    answers |= {name: [] for name in ("mass", "scored_by", "status", "response")}
    answers |= {"first_tokens": [], "first_probabilities": []}
    for words in options:
        numbers = numbers_of_options(words, draws, extremes)
        is_missing = writes and draws.is_drawn(missing)
        if is_missing:
            numbers = draws.pick(([None] * len(words), [None, *numbers[1:]]))
        answers["probabilities"].append(numbers)
        answers["tokens"].append([draws.number(1, 3) for _ in words])
        answers["ranks"].append([draws.number(1, 40) for _ in words])
        answers["mass"].append(float(min(sum(filter(None, numbers)), 1)))
        answers["scored_by"].append("parsed" if has_texts else "logits")
        answers["status"].append(draws.pick(("unclear", "empty")) if is_missing else "ok")
        answers["response"].append(draws.pick(RESPONSES) if has_texts else None)
        answers["first_tokens"].append(draws.several(["Yes", "No", "a", "b", "1"], 3)[:3])
        answers["first_probabilities"].append([0.5, 0.25, 0.1])
    return answers | {"unknown": random_unknown(len(rows), draws)}


def write_spans(
    rows: Sequence[Row], options: list[Options], draws: Draws, writes: bool
) -> dict[str, Any]:
    """Returns probabilities of starts and ends of candidates, and the likeliest spans."""
    extremes = draws.pick((0.0, 0.1, 0.5))
    answers: dict[str, list[Any]] = {name: [] for name in ("starts", "ends", "answer")}
    for row, words in zip(rows, options, strict=True):
        for name in ("starts", "ends"):
            answers[name].append(numbers_of_options(words, draws, extremes))
        text = str(row["text_pair"] or row["text"])
        first = draws.number(0, len(text) // 2)
        spans = [
            *filter(None, words),
            text[first : first + 12].strip(),
            "",
            str(row.get("answer") or "?"),
        ]
        spans += [str(option) for option in row.get("options") or ()]
        answers["answer"].append(draws.pick(spans))
    probability = [float(number) for number in draws.random.random(len(rows))]
    unknown = random_unknown(len(rows), draws)
    return answers | {"probability": probability, "unknown": unknown}


def write_texts(
    rows: Sequence[Row], options: list[Options], draws: Draws, writes: bool
) -> dict[str, Any]:
    """Returns responses, of which some are cut, empty, refused or filtered."""
    pool = draws.several(RESPONSES, 3)
    own = draws.pick((0.2, 0.6, 0.9))
    responses, statuses = [], []
    for row, words in zip(rows, options, strict=True):
        texts = [*filter(None, words), *(str(option) for option in row.get("options") or ())]
        texts += [f"The answer is {text}." for text in texts]
        response = draws.pick(texts) if texts and draws.is_drawn(own) else draws.pick(pool)
        if draws.is_drawn(0.3):
            response = f"{response} {draws.pick(pool)}"
        status = draws.pick(STATUSES)
        responses.append(response)
        statuses.append(status if response.strip() else "empty")
    tokens = [draws.number(1, 60) for _ in rows]
    over = [draws.is_drawn(0.02) for _ in rows]
    counts = {"tokens_in": tokens, "tokens_out": tokens, "over_limit": over}
    return {"response": responses, "status": statuses} | draws.keys(0.5, **counts)


def write_scores(
    rows: Sequence[Row], options: list[Options], draws: Draws, writes: bool
) -> dict[str, Any]:
    """Returns scores of sentences: some are null, infinitely low, or equal."""
    decimals = draws.pick((1, 6))
    rare = draws.pick((0.0, 0.05))
    scores: list[float | None] = []
    for number in np.round(draws.random.normal(-8, 2, len(rows)), decimals):
        is_rare = draws.is_drawn(rare)
        scores.append(draws.pick((None, float("-inf"))) if is_rare else float(number))
    tokens = [draws.number(0, 9) for _ in rows]
    rest = {"tokens_scored": tokens, "tokens": [number + 2 for number in tokens]}
    rest["unknown_tokens"] = [min(number, draws.number(0, 1)) for number in tokens]
    return {
        **draws.keys(0.7, score_without_start=scores[::-1]),
        **draws.keys(0.7, **rest),
        "score": scores,
        "scoring": ["random"] * len(rows),
        "truncated": [draws.is_drawn(0.03) for _ in rows],
        "unknown": random_unknown(len(rows), draws),
    }


def write_harms(
    rows: Sequence[Row], options: list[Options], draws: Draws, writes: bool
) -> dict[str, Any]:
    """Returns scores of texts between 0 and 1."""
    scores = [float(number) for number in draws.random.random(len(rows)).astype(np.float32)]
    cut = [draws.is_drawn(0.1) for _ in rows]
    return {"score": scores, "truncated": cut, "unknown": random_unknown(len(rows), draws)}


def write_vectors(
    rows: Sequence[Row], options: list[Options], draws: Draws, writes: bool
) -> dict[str, Any]:
    """Returns vectors of length 1, some of which are the same."""
    vectors = []
    for _ in rows:
        vector = draws.random.normal(size=4).round(draws.pick((0, 3))) + 0.001
        vectors.append([float(number) for number in vector / np.linalg.norm(vector)])
    cut = [draws.is_drawn(0.1) for _ in rows]
    return {"vector": vectors, "truncated": cut, "unknown": random_unknown(len(rows), draws)}


ANSWERS: Mapping[str, Callable[..., dict[str, Any]]] = {
    "choice": write_choices,
    "span": write_spans,
    "text": write_texts,
    "likelihood": write_scores,
    "score": write_harms,
    "vector": write_vectors,
}
"""What makes the columns of answers of a kind: of rows, their options, draws, and whether
a model writes.
"""
