"""Turns pairs into the table of what is asked: a row for each sentence, or for each order of both to choose from."""

from __future__ import annotations

import polars as pl

from biasgrid.families.expansion import Expansion, coverage_of_design, expand_rows
from biasgrid.families.orders import units_of_sample
from biasgrid.families.pairs.items import CHOICE, CONTEXT, LESS, MORE, PARTNER, ROLES, PairSet, SentencePair
from biasgrid.families.pairs.keys import KEYS
from biasgrid.families.pairs.section import FIRST, SECOND

LETTERS = ("(a)", "(b)")
OF_PAIR = ("type", "direction", "writer", "target", "task", "is_doubted")
"""What pairs and instances call by the same name."""


def expand(pairs: PairSet) -> Expansion:
    """Expands pairs in the order of their files; a sample has whole clusters of pairs that reword each other."""
    chosen = {*units_of_sample(len(pairs.templates), pairs.files.sample)}
    asked = [place for place, pair in enumerate(pairs.pairs) if pairs.template(pair) in chosen]
    rows = [row for place in asked for row in requests_of_pair(pairs, place)]
    types = {name: column.dtype.type for name, column in KEYS.items()}
    texts = dict.fromkeys(("text", "text_pair", "system", "candidate1", "candidate2"), pl.String)
    schema = {name: (types | texts | {"pair_place": pl.UInt8})[name] for name in rows[0]}
    table = pl.DataFrame(rows, schema=schema, orient="row")
    of_all = len(pairs.pairs) * len(rows) // len(asked)
    coverage = coverage_of_design({"pairs": len(asked), "rows": len(rows)}, {"pairs": len(pairs.pairs), "rows": of_all})
    return expand_rows(table, KEYS, coverage)


def requests_of_pair(pairs: PairSet, place: int) -> list[dict[str, object]]:
    """Returns what is asked of a pair."""
    pair, files = pairs.pairs[place], pairs.files
    keys = {"pair": place, "template": pairs.template(pair), **{name: getattr(pair, name) for name in OF_PAIR}}
    if files.variant == CHOICE:
        orders = (MORE, LESS), (LESS, MORE)
        return [
            {
                "system": files.system,
                "text": choice_of(files.prompt, pair, order),
                **{f"candidate{number}": letter for number, letter in enumerate(LETTERS, start=1)},
                **keys,
                "role": order[0],
                "item_id": pair.sentence_id(order[0]),
            }
            for order in orders
        ]
    roles = [role for role in ROLES if pair.sentence(role) is not None]
    if files.variant == PARTNER:
        roles = [role for role in roles if role in (MORE, LESS)]
    return [
        request_of(pair, role, files.variant) | keys | {"role": role, "item_id": pair.sentence_id(role)}
        for role in roles
    ]


def request_of(pair: SentencePair, role: str, variant: str) -> dict[str, object]:
    """Returns the text of a sentence and what is read beside it; of its partner, which of them is the first."""
    if variant == PARTNER:
        other = LESS if role == MORE else MORE
        beside = {"text_pair": pair.sentence(other), "pair_place": int(role != pair.first)}
    else:
        beside = {"text_pair": pair.context} if variant == CONTEXT else {}
    return {"text": pair.sentence(role), **beside}


def choice_of(prompt: str, pair: SentencePair, order: tuple[str, str]) -> str:
    """Returns the prompt with both sentences in an order."""
    one, other = (pair.sentence(role) or "" for role in order)
    before, behind = prompt.split(FIRST)
    # A sentence may hold what stands in the prompt for the other one.
    return f"{before.replace(SECOND, other)}{one}{behind.replace(SECOND, other)}"
