"""Turns prompts into the table of what is asked about each group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import polars as pl

from biasgrid.families.expansion import Expansion, expand_rows
from biasgrid.families.rewriting.keys import KEYS
from biasgrid.families.rewriting.reading import RewritingFiles, RewritingRequests, read
from biasgrid.families.rewriting.section import NEUTRAL

WORDS_SHOWN = 12
"""How many words are named."""


def paragraphs(files: RewritingFiles) -> Iterator[str]:
    """Yields what a report tells of a dataset's prompts, nothing where its files cannot be read."""
    asking, faults = read(files)
    if asking is None or faults:
        return
    if asking.groups.warning:
        yield asking.groups.warning
    yield unawareness(asking)
    unclear = Counter(word for text in originals(asking) for word in asking.rewriter.unclear(text))
    if unclear:
        yield f"Words with two readings, each taken as its file marks it: {commonest_words(unclear)}."


def originals(asking: RewritingRequests) -> list[str]:
    """Returns what is rewritten."""
    if asking.files.rewrite == "system":
        return [str(asking.files.system)]
    return [asking.prompts[number] for number in asking.usable]


def unawareness(asking: RewritingRequests) -> str:
    """Says how many prompts name a group: where none does, models are treated to fairness through unawareness."""
    if asking.files.rewrite == "system":
        return f"The system text names the groups; the {len(asking.prompts):,} prompts are asked as they are."
    words = Counter(word.lower() for text in originals(asking) for word in asking.rewriter.words(text))
    named, all_of = len(asking.usable), len(asking.prompts)
    told = f"{named:,} of {all_of:,} prompts have words of groups ({commonest_words(words)})"
    rest = f"; nothing can be rewritten in {all_of - named:,} without, which are not asked"
    return f"{told}{rest if named < all_of else ''}."


def commonest_words(words: Counter[str]) -> str:
    """Names the commonest words with how often each stands there."""
    return ", ".join(f"{word} {count}" for word, count in words.most_common(WORDS_SHOWN))


SCHEMA = {
    "text": pl.Categorical,
    "system": pl.Categorical,
    **{name: key.dtype.type for name, key in KEYS.items() if name != "repetition"},
}


def expand(asking: RewritingRequests) -> Expansion:
    """Expands prompts: one after another, for every group, as often as each is repeated."""
    named = ((one, asking.groups.names) for one in asking.rewritten())
    rows = [
        (text, system, one.prompt, asking.groups.bias_type, group, one.original, one.words)
        for one, groups in (*named, *((one, (NEUTRAL,)) for one in asking.neutral()))
        for group, text, system in zip(groups, one.texts, one.systems, strict=True)
    ]
    table = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    times = asking.files.repetitions
    repeated = table.select(pl.all().repeat_by(times).explode()) if times > 1 else table
    facts = {"prompts": len(asking.prompts), "prompts_with_words_of_groups": len(asking.usable)}
    return expand_rows(repeated.with_columns(repetition=pl.int_range(pl.len()) % times), KEYS, facts)
