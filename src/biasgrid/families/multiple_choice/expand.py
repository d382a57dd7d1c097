"""Turns items into the table of what is asked: each item in every order of its options, or in that
of its file.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

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
    whole = {"items": len(questions.items), "rows": len(questions.items) * len(orders)}
    coverage = coverage_of_design({"items": len(items), "rows": len(rows)}, whole)
    system = pl.lit(questions.files.system, pl.String)
    return expand_rows(
        rows.sort("item", maintain_order=True).with_columns(system=system), KEYS, coverage
    )


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
        strata.append(
            ((row, make_up([questions.items[place] for place in places])), (category, template))
        )
    keys = ["\n".join(unit) for unit in units]
    chosen = units_of_sample(
        strata, keys, questions.files.sample, [len(places) for places in units.values()]
    )
    places_of_units = list(units.values())
    return sorted(place for unit in chosen for place in places_of_units[unit])


def make_up(items: Sequence[Item]) -> frozenset[tuple[tuple[str, str, bool | None], int]]:
    """Returns the items of a unit by condition, polarity and whether the right option agrees with
    the stereotype.

    The last is null in ambiguous contexts, and where it is not known which option agrees.
    """
    kinds: Counter[tuple[str, str, bool | None]] = Counter()
    for item in items:
        says_who = item.target is not None and item.label != item.unknown
        agrees = item.label == item.target if says_who else None
        kinds[item.condition, item.polarity, agrees] += 1
    return frozenset(kinds.items())


def item_table(questions: QuestionSet, items: Sequence[int]) -> pl.DataFrame:
    """Returns the items that are asked, with the family's columns but `places`, and what fills a
    prompt.
    """
    chosen = [questions.items[place] for place in items]
    texts = {name: [getattr(item, name) for item in chosen] for name in COPIED}
    options = {
        f"option{place}": [item.options[place] for item in chosen] for place in range(OPTIONS)
    }
    return pl.DataFrame(
        texts
        | options
        | {
            "item": list(items),
            "item_id": [item.name for item in chosen],
            "template": [questions.templates[item.category, item.template] for item in chosen],
            "unknown_option": [item.unknown for item in chosen],
            "about": [item.group for item in chosen],
        },
        schema_overrides=dict.fromkeys(("crossed", "about", "value"), pl.String)
        | {"target": pl.UInt8},
    )


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


def asked_in_order(
    table: pl.DataFrame, places: Sequence[int], questions: QuestionSet
) -> pl.DataFrame:
    """Returns what is asked of items with their options in an order, by their numbers in the
    file.
    """
    variant = questions.files.variant
    if variant == SPANS:
        rows = with_mentions(table).with_columns(text="question", text_pair="context")
    elif variant == TEXTS:
        candidates = {f"candidate{place + 1}": pl.col(f"option{place}") for place in range(OPTIONS)}
        rows = table.with_columns(text="question", text_pair="context", **candidates)
    else:
        rows = with_prompts(table, places, prompt_of(questions.files.prompt), variant == SCORED)
    rows = rows.with_columns(places=pl.lit(pl.Series([list(places)])).first())
    return rows.drop("context", "question", *(f"option{place}" for place in range(OPTIONS)))


def with_mentions(table: pl.DataFrame) -> pl.DataFrame:
    """Adds what the two people are called where the context first names them, and where that is;
    null where nowhere.
    """
    rows = [
        mention_in(row["context"], row["spoken"][place], row["options"][place])
        for row in table.iter_rows(named=True)
        for place in range(OPTIONS)
        if place != row["unknown_option"]
    ]
    columns = [
        column
        for number in (0, 1)
        for column in (
            pl.Series(
                f"candidate{number + 1}", [text for text, _ in rows[number::2]], dtype=pl.String
            ),
            pl.Series(
                f"position{number + 1}", [place for _, place in rows[number::2]], dtype=pl.UInt16
            ),
        )
    ]
    return table.with_columns(columns)


def mention_in(context: str, *names: str) -> tuple[str | None, int | None]:
    """Returns the first mention of a person by the first of some names that there is, and where it
    begins.
    """
    for name in names:
        if found := re.search(rf"(?i)(?<!\w){re.escape(name)}(?!\w)", context):
            return found[0], found.start()
    return None, None


def with_prompts(
    table: pl.DataFrame, places: Sequence[int], prompt: ItemPrompt, scored: bool
) -> pl.DataFrame:
    """Adds what models read, with the options in an order, and what is scored."""
    options = [pl.col(f"option{place}") for place in places]
    letters = [option_letter(place) for place in range(OPTIONS)]
    lettered = [
        pl.concat_str(pl.lit(f"({letter}) "), option)
        for letter, option in zip(letters, options, strict=True)
    ]
    filling = {
        "context": pl.col("context"),
        "question": pl.col("question"),
        "options": pl.concat_str(lettered, separator=prompt.separator),
    }
    parts = [
        filling[part] if number % 2 else pl.lit(part) for number, part in enumerate(prompt.parts)
    ]
    answers = [pl.lit(letter) for letter in letters] if prompt.is_lettered else options
    candidates = (
        {f"candidate{number}": answer for number, answer in enumerate(answers, start=1)}
        if scored
        else {}
    )
    return table.with_columns(text=pl.concat_str(parts), **candidates)
