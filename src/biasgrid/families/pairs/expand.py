"""Turns pairs into the table of what is asked: a row for each sentence, or for each order of both
to choose from.
"""

from __future__ import annotations

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
"""What pairs and instances call by the same name."""


def expand(pairs: PairSet) -> Expansion:
    """Expands pairs in the order of their files; a sample has whole clusters of pairs that reword
    each other.
    """
    asked = pairs_asked(pairs)
    rows = [row for place in asked for row in requests_of_pair(pairs, place)]
    types = {name: column.dtype.type for name, column in KEYS.items()}
    texts = dict.fromkeys(("text", "text_pair", "system", "candidate1", "candidate2"), pl.String)
    schema = {name: (types | texts | {"pair_place": pl.UInt8})[name] for name in rows[0]}
    table = pl.DataFrame(rows, schema=schema, orient="row")
    whole = {"pairs": len(pairs.pairs), "rows": pairs.count}
    coverage = coverage_of_design({"pairs": len(asked), "rows": len(rows)}, whole)
    return expand_rows(table, KEYS, coverage)


def pairs_asked(pairs: PairSet) -> list[int]:
    """Returns the pairs that are asked: of a sample whole clusters, evenly by bias type, direction
    and task.
    """
    clusters: list[list[int]] = [[] for _ in pairs.templates]
    for place, pair in enumerate(pairs.pairs):
        clusters[pairs.template(pair)].append(place)
    strata, keys = [], []
    for places in clusters:
        members = [pairs.pairs[place] for place in places]
        strata.append((frozenset((pair.type, pair.direction, pair.task) for pair in members),))
        keys.append("\n".join(sorted(text for pair in members for text in (pair.more, pair.less))))
    chosen = units_of_sample(strata, keys, pairs.files.sample)
    return sorted(place for cluster in chosen for place in clusters[cluster])


def requests_of_pair(pairs: PairSet, place: int) -> list[dict[str, object]]:
    """Returns what is asked of a pair."""
    pair = pairs.pairs[place]
    keys = {
        "pair": place,
        "template": pairs.template(pair),
        **{name: getattr(pair, name) for name in OF_PAIR},
    }
    return [
        request_of(pair, role, pairs.files)
        | keys
        | {"role": role, "item_id": pair.sentence_id(role)}
        for role in pairs.roles(pair)
    ]


def request_of(pair: SentencePair, role: str, files: PairFiles) -> dict[str, object]:
    """Returns what a model reads: a sentence and what stands beside it, or a prompt in which the
    sentence comes first.

    Of its partner, `pair_place` says which of them is the first.
    """
    other = LESS if role == MORE else MORE
    if files.variant == CHOICE:
        candidates = {f"candidate{place + 1}": option_letter(place) for place in range(2)}
        return {
            "system": files.system,
            "text": choice_of(files.prompt, pair, (role, other)),
            **candidates,
        }
    beside: dict[str, object] = {}
    if files.variant == PARTNER:
        beside = {"text_pair": pair.sentence(other), "pair_place": int(role != pair.first)}
    elif files.variant == CONTEXT:
        beside = {"text_pair": pair.context}
    return {"text": pair.sentence(role), **beside}


def choice_of(prompt: str, pair: SentencePair, order: tuple[str, str]) -> str:
    """Returns the prompt with both sentences in an order."""
    one, other = (pair.sentence(role) or "" for role in order)
    before, behind = prompt.split(FIRST)
    # A sentence may hold what stands in the prompt for the other one.
    return f"{before.replace(SECOND, other)}{one}{behind.replace(SECOND, other)}"
