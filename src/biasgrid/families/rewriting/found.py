"""Tells which words of groups stand in the prompts of a dataset, and how words with two readings were read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from biasgrid.families.rewriting.asking import Asking, RewritingFiles
from biasgrid.families.rewriting.reading import read

SHOWN = 12
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
        yield f"Words with two readings, each taken as its file marks it: {counted(unclear)}."


def originals(asking: Asking) -> list[str]:
    """Returns what is rewritten."""
    if asking.files.rewrite == "system":
        return [str(asking.files.system)]
    return [asking.prompts[number] for number in asking.usable]


def unawareness(asking: Asking) -> str:
    """Says how many prompts name a group: where none does, models are treated to fairness through unawareness."""
    if asking.files.rewrite == "system":
        return f"The system text names the groups; the {len(asking.prompts):,} prompts are asked as they are."
    words = Counter(word.lower() for text in originals(asking) for word in asking.rewriter.words(text))
    named, all_of = len(asking.usable), len(asking.prompts)
    told = f"{named:,} of {all_of:,} prompts have words of groups ({counted(words)})"
    rest = f"; nothing can be rewritten in {all_of - named:,} without, which are not asked"
    return f"{told}{rest if named < all_of else ''}."


def counted(words: Counter[str]) -> str:
    """Names the commonest words with how often each stands there."""
    return ", ".join(f"{word} {count}" for word, count in words.most_common(SHOWN))
