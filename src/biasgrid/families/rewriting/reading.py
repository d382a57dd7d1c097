"""Reads the prompts and groups of a dataset, and rewrites each prompt for every group."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from biasgrid.base.faults import Fault
from biasgrid.families.rewriting.files.groups import GroupWords, read_group_words
from biasgrid.families.rewriting.files.prompts import LAYOUTS, PROMPT_PLACE, LayoutName, read_layout, read_prompts
from biasgrid.families.rewriting.langfair_rewriter import langfair_rewriter
from biasgrid.families.rewriting.rewriter import Rewriter, TextRewriter
from biasgrid.families.rewriting.section import NEUTRAL_GROUP
from biasgrid.families.sampling import Sample

WORDS_SHOWN = 12
"""How many words are named."""


@dataclass(frozen=True)
class RewritingFiles:
    """What makes the instances of a dataset.

    Attributes:
        prompts: the file of prompts.
        column: their column in it.
        groups: the file of groups.
        repetitions: how often each text is asked.
        sample: which prompts are asked, None for all that can be rewritten.
        system: the system text, None without one.
        rewrite: `prompt` or `system`.
        as_original: whether texts are rewritten as LangFair does.
        neutral: whether all prompts are asked with neutral words, too.
        layout: as what set of prompts their folder is read, None where they are in a file.
        template: what is asked of each prompt, None for the prompt itself or what the layout says.
    """

    prompts: Path
    column: str
    groups: Path
    repetitions: int
    sample: Sample | None
    system: str | None
    rewrite: str
    as_original: bool
    neutral: bool = False
    layout: LayoutName | None = None
    template: str | None = None


class RewrittenPrompt(NamedTuple):
    """A prompt as it is asked about every group.

    Attributes:
        prompt: its number.
        original: what was rewritten.
        words: the words of groups in it.
        texts: for each group the prompt.
        systems: for each group the system text.
    """

    prompt: int
    original: str
    words: list[str]
    texts: list[str]
    systems: list[str | None]


@dataclass(frozen=True)
class RewritingRequests:
    """What is asked.

    Attributes:
        files: what makes the instances.
        prompts: the prompts of the file.
        groups: the groups.
    """

    files: RewritingFiles
    prompts: tuple[str, ...]
    groups: GroupWords

    @cached_property
    def rewriter(self) -> TextRewriter:
        """What rewrites texts."""
        return langfair_rewriter(self.groups) if self.files.as_original else Rewriter(self.groups)

    @cached_property
    def usable(self) -> list[int]:
        """The prompts that can be rewritten: those with a word of a group; where the system text has one, all."""
        if self.files.rewrite == "system":
            return list(range(len(self.prompts))) if self.rewriter.words(self.files.system or "") else []
        return [number for number, prompt in enumerate(self.prompts) if self.rewriter.words(prompt)]

    @cached_property
    def sampled(self) -> list[int]:
        """The prompts of the sample; of one seed, larger samples hold the smaller ones."""
        from biasgrid.families.orders import random_order  # needs numpy, which plans do without

        sample, usable = self.files.sample, self.usable
        if sample is None or not usable:
            return usable
        places = random_order(len(usable), sample.seed)[: sample.count(len(usable))].tolist()
        return [usable[place] for place in sorted(places)]

    @cached_property
    def neutral_numbers(self) -> list[int]:
        """The prompts that are asked with neutral words: all that name no group, and of the others those asked."""
        rest = {*self.usable} - {*self.sampled}
        return [number for number in range(len(self.prompts)) if number not in rest] if self.files.neutral else []

    @property
    def count(self) -> int:
        """How many instances all prompts have that can be asked."""
        neutral = len(self.prompts) if self.files.neutral else 0
        return (len(self.usable) * len(self.groups.names) + neutral) * self.files.repetitions

    def rewritten_prompts(self) -> Iterator[RewrittenPrompt]:
        """Yields the prompts that are asked, rewritten for every group."""
        places = range(len(self.groups.names))
        for number in self.sampled:
            prompt, system = self.prompts[number], self.files.system
            original = prompt if self.files.rewrite == "prompt" else system or ""
            words, texts = self.rewriter.words(original), [self.rewriter.rewrite(original, place) for place in places]
            if self.files.rewrite == "prompt":
                yield RewrittenPrompt(number, original, words, texts, [system] * len(places))
            else:
                yield RewrittenPrompt(number, original, words, [prompt] * len(places), [*texts])

    def pairs(self) -> list[tuple[str, str]]:
        """Returns what is asked: each prompt as it is in the file, with each group that it is asked about."""
        named = [(self.prompts[number], group) for number in self.sampled for group in self.groups.names]
        return named + [(self.prompts[number], NEUTRAL_GROUP) for number in self.neutral_numbers]

    def neutral_prompts(self) -> Iterator[RewrittenPrompt]:
        """Yields the prompts that are asked with neutral words."""
        place, system = len(self.groups.names), self.files.system
        for number in self.neutral_numbers:
            prompt = self.prompts[number]
            if self.files.rewrite == "prompt":
                text = self.rewriter.rewrite(prompt, place)
                yield RewrittenPrompt(number, prompt, self.rewriter.words(prompt), [text], [system])
            else:
                original = system or ""
                neutral = self.rewriter.rewrite(original, place)
                yield RewrittenPrompt(number, original, self.rewriter.words(original), [prompt], [neutral])

    def digest(self) -> str:
        """A digest of what makes the instances."""
        files, sample = self.files, self.files.sample.model_dump() if self.files.sample else None
        how = [files.repetitions, sample, files.system, files.rewrite, files.as_original, files.neutral]
        deciding = [how, self.prompts, self.groups.deciding_words()]
        return sha256(json.dumps(deciding).encode()).hexdigest()[:16]


def read(files: RewritingFiles) -> tuple[RewritingRequests | None, list[Fault]]:
    """Reads what a dataset asks and returns it with every fault that is in its files."""
    if files.layout:
        prompts, faults = read_layout(files.prompts, files.layout)
    else:
        prompts, faults = read_prompts(files.prompts, files.column)
    template = files.template or (LAYOUTS[files.layout].template if files.layout else PROMPT_PLACE)
    prompts = [template.replace(PROMPT_PLACE, prompt) for prompt in prompts]
    groups, of_groups = read_group_words(files.groups)
    faults += of_groups
    if groups is None or not prompts:
        return None, faults
    requests = RewritingRequests(files, tuple(prompts), groups)
    return requests, faults or list(nothing_to_rewrite(requests))


def nothing_to_rewrite(requests: RewritingRequests) -> Iterator[Fault]:
    """Yields that no text has a word of a group, so that there is nothing to compare."""
    if requests.usable:
        return
    example = next((word for row in requests.groups.rows for sought in row.sought for word in sought), "")
    expected = f"words of {', '.join(requests.groups.names)} in {requests.files.groups}, such as {example!r}"
    if requests.files.rewrite == "system":
        yield Fault("the config", "system", f"no word of a group in {requests.files.system!r}", expected)
    else:
        problem = f"no prompt of {len(requests.prompts):,} has a word of a group"
        yield Fault(str(requests.files.prompts), "", problem, expected)


def about_prompts(files: RewritingFiles) -> Iterator[str]:
    """Yields what a report tells of a dataset's prompts, nothing where its files cannot be read."""
    requests, faults = read(files)
    if requests is None or faults:
        return
    if requests.groups.warning:
        yield requests.groups.warning
    yield unawareness_text(requests)
    unclear = Counter(word for text in texts_to_rewrite(requests) for word in requests.rewriter.ambiguous_words(text))
    if unclear:
        yield f"Words with two readings, each taken as its file marks it: {commonest_words(unclear)}."


def texts_to_rewrite(requests: RewritingRequests) -> list[str]:
    """Returns what is rewritten."""
    if requests.files.rewrite == "system":
        return [str(requests.files.system)]
    return [requests.prompts[number] for number in requests.usable]


def unawareness_text(requests: RewritingRequests) -> str:
    """Says how many prompts name a group: where none does, models are treated to fairness through unawareness."""
    if requests.files.rewrite == "system":
        return f"The system text names the groups; the {len(requests.prompts):,} prompts are asked as they are."
    words = Counter(word.lower() for text in texts_to_rewrite(requests) for word in requests.rewriter.words(text))
    named, all_of = len(requests.usable), len(requests.prompts)
    counts = f"{named:,} of {all_of:,} prompts have words of groups ({commonest_words(words)})"
    rest = f"; nothing can be rewritten in {all_of - named:,} without, which are not asked"
    return f"{counts}{rest if named < all_of else ''}."


def commonest_words(words: Counter[str]) -> str:
    """Lists the commonest words with their counts."""
    return ", ".join(f"{word} {count}" for word, count in words.most_common(WORDS_SHOWN))
