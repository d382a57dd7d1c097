"""Turns items into instances: each in every order of its options, or in the order of its file."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import polars as pl

from biasgrid.families.expansion import Expansion, coverage_of_design, expand_rows
from biasgrid.families.multiple_choice.items import OPTIONS, SCORED, SPANS, TEXTS, Item, QuestionSet
from biasgrid.families.multiple_choice.keys import KEYS
from biasgrid.families.multiple_choice.prompts import ItemPrompt, prompt_of
from biasgrid.families.sampler import Strata, units_of_sample
from biasgrid.inference.surface_forms import option_letter


def expand(questions: QuestionSet) -> Expansion:
    """Expands items: item by item, in each order of its options."""
    items, orders = items_asked(questions), questions.orders
    table = item_table(questions, items)
    rows = pl.concat([asked_in_order(table, places, questions) for places in orders])
    system = pl.lit(questions.files.system, pl.String)
    rows = rows.sort("item", maintain_order=True).with_columns(system=system)
    coverage = coverage_of_design(
        {"items": len(items), "rows": len(rows)},
        {"items": len(questions.items), "rows": len(questions.items) * len(orders)},
    )
    return expand_rows(rows, KEYS, coverage)


def items_asked(questions: QuestionSet) -> list[int]:
    """Returns the places of the items that are asked.

    A unit of a sample has all items of a template about two people: both contexts and questions,
    and whichever of the two each context is about. Samples are even by category and by `make_up` of
    their units, and within these by template. They end before the first unit with which they would
    have too many items.
    """
    units: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for place, item in enumerate(questions.items):
        people = sorted(item.spoken[option] for option in item.known)
        units[item.row, item.category, item.template, *people].append(place)
    strata: list[Strata] = []
    for (row, category, template, *_), places in units.items():
        kinds = make_up([questions.items[place] for place in places])
        strata.append(((row, kinds), (category, template)))
    keys = ["\n".join(unit) for unit in units]
    sizes = [len(places) for places in units.values()]
    sampled = units_of_sample(strata, keys, questions.files.sample, sizes)
    places_of_units = list(units.values())
    return sorted(place for unit in sampled for place in places_of_units[unit])


def make_up(items: Sequence[Item]) -> frozenset[tuple[tuple[str, str, bool | None], int]]:
    """Counts the items of a unit by condition, polarity and whether the right option is the target.

    The last is null in ambiguous contexts, and where it is not known which option agrees.
    """
    kinds: Counter[tuple[str, str, bool | None]] = Counter()
    for item in items:
        says_who = item.target is not None and item.label != item.unknown
        agrees = item.label == item.target if says_who else None
        kinds[item.condition, item.polarity, agrees] += 1
    return frozenset(kinds.items())


def item_table(questions: QuestionSet, items: Sequence[int]) -> pl.DataFrame:
    """Returns the items that are asked: the family's columns but `places`, and parts of prompts."""
    chosen = [questions.items[place] for place in items]
    columns: dict[str, list[Any]] = {}
    for name in COPIED:
        columns[name] = [getattr(item, name) for item in chosen]
    for place in range(OPTIONS):
        columns[f"option{place}"] = [item.options[place] for item in chosen]
    columns["item"] = list(items)
    columns["item_id"] = [item.name for item in chosen]
    columns["template"] = [questions.templates[item.category, item.template] for item in chosen]
    columns["unknown_option"] = [item.unknown for item in chosen]
    columns["about"] = [item.group for item in chosen]
    return pl.DataFrame(columns, schema_overrides=NULLABLE_TYPES)


COPIED = (
    "context",
    "question",
    "row",
    "condition",
    "polarity",
    "options",
    "spoken",
    "label",
    "target",
    "is_excluded",
    "crossed",
    "value",
)
"""What items and instances, or what fills prompts, call by the same name."""
NULLABLE_TYPES = {
    "crossed": pl.String,
    "about": pl.String,
    "value": pl.String,
    "target": pl.UInt8,
}
"""Types of columns that may be null in all rows, and then would have none."""


def asked_in_order(
    table: pl.DataFrame, places: Sequence[int], questions: QuestionSet
) -> pl.DataFrame:
    """Returns the instances of items with their options in one order.

    Args:
        table: from `item_table`.
        places: the options in the order asked, by their numbers in the file.
        questions: says how models are asked.
    """
    variant = questions.files.variant
    options = [f"option{place}" for place in range(OPTIONS)]
    if variant == SPANS:
        rows = with_mentions(table).with_columns(text="question", text_pair="context")
    elif variant == TEXTS:
        candidates = {f"candidate{number}": name for number, name in enumerate(options, start=1)}
        rows = table.with_columns(text="question", text_pair="context", **candidates)
    else:
        rows = with_prompts(table, places, prompt_of(questions.files.prompt), variant == SCORED)
    rows = rows.with_columns(places=pl.lit(pl.Series([list(places)])).first())
    return rows.drop("context", "question", *options)


def with_mentions(table: pl.DataFrame) -> pl.DataFrame:
    """Adds the first mentions of the two people in the context, and where these begin.

    `candidate1` and `candidate2` are the mentions, `position1` and `position2` their places; null
    for people whom the context does not name.
    """
    mentions: list[list[tuple[str | None, int | None]]] = [[], []]
    for row in table.iter_rows(named=True):
        people = [place for place in range(OPTIONS) if place != row["unknown_option"]]
        for place, of_person in zip(people, mentions, strict=True):
            mention = mention_in(row["context"], row["spoken"][place], row["options"][place])
            of_person.append(mention)
    columns = []
    for number, of_person in enumerate(mentions, start=1):
        texts = [text for text, _ in of_person]
        starts = [start for _, start in of_person]
        columns.append(pl.Series(f"candidate{number}", texts, dtype=pl.String))
        columns.append(pl.Series(f"position{number}", starts, dtype=pl.UInt16))
    return table.with_columns(columns)


def mention_in(context: str, *names: str) -> tuple[str | None, int | None]:
    """Returns the first mention of a person, by the first name that there is, and its start.

    Two times None if the context has none of the names.
    """
    for name in names:
        mention = re.search(rf"(?i)(?<!\w){re.escape(name)}(?!\w)", context)
        if mention:
            return mention[0], mention.start()
    return None, None


def with_prompts(
    table: pl.DataFrame, places: Sequence[int], prompt: ItemPrompt, scored: bool
) -> pl.DataFrame:
    """Adds the texts that models read, with the options in an order, and the texts that are scored.

    Args:
        table: from `item_table`.
        places: the options in the order asked, by their numbers in the file.
        prompt: the prompt.
        scored: whether answers are scored; without it there are no candidates.
    """
    options = [pl.col(f"option{place}") for place in places]
    letters = [option_letter(place) for place in range(OPTIONS)]
    lettered = []
    for letter, option in zip(letters, options, strict=True):
        lettered.append(pl.concat_str(pl.lit(f"({letter}) "), option))
    filling = {
        "context": pl.col("context"),
        "question": pl.col("question"),
        "options": pl.concat_str(lettered, separator=prompt.separator),
    }
    parts = []
    for number, part in enumerate(prompt.parts):
        is_placeholder = number % 2 == 1
        parts.append(filling[part] if is_placeholder else pl.lit(part))
    columns = {"text": pl.concat_str(parts)}
    if scored:
        answers = [pl.lit(letter) for letter in letters] if prompt.is_lettered else options
        for number, answer in enumerate(answers, start=1):
            columns[f"candidate{number}"] = answer
    return table.with_columns(**columns)
