"""Expands pairs into instances: one per sentence, or one per order of both sentences."""

from __future__ import annotations

from typing import Any

import polars as pl

from biasgrid.families.expansion import Expansion, coverage_of_design, expand_rows
from biasgrid.families.pairs.items import (
    CHOICE,
    CONTEXT,
    LESS,
    MORE,
    PARTNER,
    PairFiles,
    PairSet,
    SentencePair,
)
from biasgrid.families.pairs.keys import KEYS
from biasgrid.families.pairs.section import FIRST, SECOND
from biasgrid.families.sampler import units_of_sample
from biasgrid.inference.surface_forms import option_letter

OF_PAIR = ("type", "direction", "writer", "target", "task", "is_doubted")
"""Fields of pairs that are keys of instances."""


def expand(pairs: PairSet) -> Expansion:
    """Expands pairs in the order of their files, all or a sample."""
    asked = pairs_asked(pairs)
    rows: list[dict[str, object]] = []
    for place in asked:
        rows += requests_of_pair(pairs, place)
    types: dict[str, Any] = {name: column.dtype.type for name, column in KEYS.items()}
    for name in ("text", "text_pair", "system", "candidate1", "candidate2"):
        types[name] = pl.String
    types["pair_place"] = pl.UInt8
    # Without its type, a column that is null in all rows would have none.
    schema = {name: types[name] for name in rows[0]}
    table = pl.DataFrame(rows, schema=schema, orient="row")
    whole = {"pairs": len(pairs.pairs), "rows": pairs.count}
    coverage = coverage_of_design({"pairs": len(asked), "rows": len(rows)}, whole)
    return expand_rows(table, KEYS, coverage)


def pairs_asked(pairs: PairSet) -> list[int]:
    """Returns the pairs of a sample, or all: whole clusters, evenly by bias type, direction, task.

    Half a cluster would count as a whole one in the intervals.
    """
    clusters: list[list[int]] = [[] for _ in pairs.templates]
    for place, pair in enumerate(pairs.pairs):
        clusters[pairs.template(pair)].append(place)
    strata, keys = [], []
    for places in clusters:
        kinds, texts = set(), []
        for place in places:
            pair = pairs.pairs[place]
            kinds.add((pair.type, pair.direction, pair.task))
            texts += [pair.more, pair.less]
        strata.append((frozenset(kinds),))
        keys.append("\n".join(sorted(texts)))
    asked: list[int] = []
    for cluster in units_of_sample(strata, keys, pairs.files.sample):
        asked += clusters[cluster]
    return sorted(asked)


def requests_of_pair(pairs: PairSet, place: int) -> list[dict[str, object]]:
    """Returns the rows of a pair: keys and texts of each of its sentences or orders."""
    pair = pairs.pairs[place]
    keys: dict[str, object] = {"pair": place, "template": pairs.template(pair)}
    for name in OF_PAIR:
        keys[name] = getattr(pair, name)
    rows = []
    for role in pairs.roles(pair):
        of_sentence = {"role": role, "item_id": pair.sentence_id(role)}
        rows.append(request_of(pair, role, pairs.files) | keys | of_sentence)
    return rows


def request_of(pair: SentencePair, role: str, files: PairFiles) -> dict[str, object]:
    """Returns the texts that a model reads to score a sentence.

    Args:
        pair: the pair.
        role: the role of the sentence; of a choice, of the sentence that comes first.
        files: how pairs are asked.

    Returns:
        `text` is the sentence or the prompt, `text_pair` its partner or context. For a partner,
        `pair_place` is 0 if the sentence is the pair's first one, else 1.
    """
    other = LESS if role == MORE else MORE
    if files.variant == CHOICE:
        prompt = choice_of(files.prompt, pair, (role, other))
        letters = {"candidate1": option_letter(0), "candidate2": option_letter(1)}
        return {"system": files.system, "text": prompt, **letters}
    request: dict[str, object] = {"text": pair.sentence(role)}
    if files.variant == PARTNER:
        request["text_pair"] = pair.sentence(other)
        request["pair_place"] = int(role != pair.first)
    elif files.variant == CONTEXT:
        request["text_pair"] = pair.context
    return request


def choice_of(prompt: str, pair: SentencePair, order: tuple[str, str]) -> str:
    """Returns the prompt with both sentences in an order."""
    first, second = (pair.sentence(role) or "" for role in order)
    before, behind = prompt.split(FIRST)
    # A sentence may contain the placeholder of the other one, so only the prompt is searched.
    return f"{before.replace(SECOND, second)}{first}{behind.replace(SECOND, second)}"
