"""Reads what a dataset asks: prompts, which are rewritten for every group, and words that are
sought in the answers.

Prompts are those of a file (lines, or a column of JSON lines, CSV or Parquet), or of a folder of a
known set.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, get_args

from biasgrid.base.faults import Fault, InputError, value_text
from biasgrid.base.names import HIDDEN, VISIBLE_CHARACTERS, hidden_character
from biasgrid.base.rows import read_rows
from biasgrid.base.text import read_text, read_words
from biasgrid.families.rewriting.group_words import (
    GroupWords,
    RewritingMode,
    TextRewriter,
    read_group_words,
)
from biasgrid.families.rewriting.section import NEUTRAL_GROUP, LayoutName, RewritingDataset
from biasgrid.families.sampling import Sample

EXPECTED_FILE = "prompts; in a .txt file, one per line"
PROMPT_PLACE = "{prompt}"
"""Where a template has the prompt."""
WORDS_EXPECTED = "one word per line"
NLTK = "nltk"
"""Stands for NLTK's stop words in place of a file's name."""
OF_NLTK = "corpora/stopwords/english"
"""Where NLTK's data have them."""
DOWNLOAD = "python -m nltk.downloader stopwords"
WORDS_SHOWN = 12
"""How many words are named."""


class PromptLayout(NamedTuple):
    """How a set of prompts lies in its folder.

    Attributes:
        files: the names of its files, of which the first that is there is read.
        column: the column of the prompts.
        template: what is asked.
    """

    files: tuple[str, ...]
    column: str
    template: str = PROMPT_PLACE


LAYOUTS: Mapping[LayoutName, PromptLayout] = {
    "realtoxicityprompts": PromptLayout(("prompts.jsonl", "prompts.parquet"), "prompt.text"),
    "dialogsum": PromptLayout(
        (
            "dialogsum.test.jsonl",
            "dialogsum.dev.jsonl",
            "dialogsum.train.jsonl",
            "test.csv",
            "validation.csv",
            "train.csv",
        ),
        "dialogue",
        f"Summarise this conversation in a few sentences.\n\n{PROMPT_PLACE}",
    ),
}
"""By name."""
assert set(LAYOUTS) == set(get_args(LayoutName))


def read_prompts(path: Path, column: str) -> tuple[list[str], list[Fault]]:
    """Reads prompts.

    Args:
        path: the file.
        column: the column of the prompts, in a file that has columns.

    Returns:
        The prompts that differ, in the file's order, and what is wrong with it.
    """
    prompts: dict[str, None] = {}
    faults: list[Fault] = []
    try:
        for where, value in prompt_values(path, column):
            if not isinstance(value, str) or not value.strip():
                faults.append(Fault(str(path), where, value_text(value), "a prompt"))
            elif name := hidden_character(value):
                faults.append(Fault(str(path), where, f"contains {name}", VISIBLE_CHARACTERS))
            else:
                prompts[value] = None
    except InputError as error:
        return [], error.faults
    if not prompts and not faults:
        faults.append(Fault(str(path), "", "contains no prompts", EXPECTED_FILE))
    return list(prompts), faults


def prompt_values(path: Path, column: str) -> Iterator[tuple[str, Any]]:
    """Yields prompts with their places.

    Raises:
        InputError: the file cannot be read, is of another format, or lacks the column.
    """
    if path.suffix == ".txt":
        lines = enumerate(read_text(path, EXPECTED_FILE).split("\n"), start=1)
        yield from ((f"line {number}", line) for number, line in lines if line.strip())
    else:
        yield from (
            (row.where, row.values[column]) for row in read_rows(path, [column], EXPECTED_FILE)
        )


def read_layout(path: Path, name: LayoutName) -> tuple[list[str], list[Fault]]:
    """Reads the prompts of a set; characters that cannot be seen are left out, and so are prompts
    without others.

    Args:
        path: the folder, or one of the files in it.
        name: a key of `LAYOUTS`.

    Returns:
        The prompts that differ, in the file's order, and what is wrong with it.
    """
    layout = LAYOUTS[name]
    file = (
        next((path / each for each in layout.files if (path / each).is_file()), None)
        if path.is_dir()
        else path
    )
    expected = f"{' or '.join(layout.files)} of {name}"
    if file is None:
        return [], [Fault(str(path), "", "contains none of the files", expected)]
    try:
        values = [
            (row.where, row.values[layout.column])
            for row in read_rows(file, [layout.column], expected)
        ]
    except InputError as error:
        return [], error.faults
    wrong = next((where for where, value in values if not isinstance(value, str)), None)
    if wrong is not None:
        return [], [Fault(str(file), f"{wrong}, {layout.column}", "is not text", expected)]
    prompts = list(
        dict.fromkeys(filter(None, (HIDDEN.sub("", value).strip() for _, value in values)))
    )
    return prompts, [] if prompts else [Fault(str(file), "", "contains no prompts", expected)]


def read_targets(folder: Path, section: RewritingDataset) -> tuple[list[str], list[Fault]]:
    """Returns the words of a dataset in lower case, none where it names no file, and what is wrong
    with the file.
    """
    return ([], []) if section.targets is None else read_word_file(folder / section.targets)


def read_stop_words(
    folder: Path, section: RewritingDataset
) -> tuple[list[str] | None, list[Fault]]:
    """Returns the stop words of a dataset, None for our own or where none are needed, and what is
    wrong with them.
    """
    source = section.stop_words or RewritingMode.of(section.mode).stop_words
    if source is None or section.targets is None:
        return None, []
    return nltk_stop_words() if source == NLTK else read_word_file(folder / source)


@cache
def read_word_file(path: Path) -> tuple[list[str], list[Fault]]:
    """Returns the words of a file with what is wrong with it."""
    try:
        return read_words(path, WORDS_EXPECTED), []
    except InputError as error:
        return [], error.faults


def nltk_stop_words() -> tuple[list[str], list[Fault]]:
    """Reads the English stop words of the user's NLTK data."""
    import nltk.data

    try:
        with nltk.data.find(OF_NLTK).open() as file:
            text = file.read().decode("utf-8")
    except (LookupError, OSError, ValueError) as error:
        problem = (
            "does not exist" if isinstance(error, LookupError) else f"cannot be read ({error})"
        )
        expected = (
            f"the stop words of NLTK (`{DOWNLOAD}`), or `stop_words` with a file that has one "
            "word per line"
        )
        return [], [Fault("your NLTK data", OF_NLTK, problem, expected)]
    return sorted({*text.split()}), []


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
        mode: as whose texts are rewritten, None for ours.
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
    mode: str | None
    neutral: bool = False
    layout: LayoutName | None = None
    template: str | None = None


class RewrittenPrompt(NamedTuple):
    """A prompt as it is asked about groups.

    Attributes:
        prompt: its number.
        original: what was rewritten.
        words: the words of groups in it.
        groups: the groups.
        texts: for each group the prompt.
        systems: for each group the system text.
    """

    prompt: int
    original: str
    words: list[str]
    groups: tuple[str, ...]
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
        return RewritingMode.of(self.files.mode).rewriter(self.groups)

    @cached_property
    def usable(self) -> list[int]:
        """The prompts that can be rewritten: those with a word of a group; where the system text
        has one, all.
        """
        if self.files.rewrite == "system":
            return (
                list(range(len(self.prompts)))
                if self.rewriter.words(self.files.system or "")
                else []
            )
        return [number for number, prompt in enumerate(self.prompts) if self.rewriter.words(prompt)]

    @cached_property
    def sampled(self) -> list[int]:
        """The prompts of the sample."""
        from biasgrid.families.sampler import units_of_sample  # needs numpy, which plans do without

        texts = [self.prompts[number] for number in self.usable]
        return [
            self.usable[place]
            for place in units_of_sample([()] * len(texts), texts, self.files.sample)
        ]

    @cached_property
    def neutral_numbers(self) -> list[int]:
        """The prompts that are asked with neutral words: all that name no group, and of the others
        those asked.
        """
        rest = {*self.usable} - {*self.sampled}
        return (
            [number for number in range(len(self.prompts)) if number not in rest]
            if self.files.neutral
            else []
        )

    @property
    def count(self) -> int:
        """How many instances all prompts have that can be asked."""
        neutral = len(self.prompts) if self.files.neutral else 0
        return (len(self.usable) * len(self.groups.names) + neutral) * self.files.repetitions

    def rewritten_prompts(self) -> Iterator[RewrittenPrompt]:
        """Yields the prompts that are asked, rewritten for every group, and behind them those in
        neutral words.
        """
        names = self.groups.names
        yield from (
            self.rewritten_prompt(number, names, range(len(names))) for number in self.sampled
        )
        for number in self.neutral_numbers:
            yield self.rewritten_prompt(number, (NEUTRAL_GROUP,), (len(names),))

    def rewritten_prompt(
        self, number: int, groups: tuple[str, ...], places: Sequence[int]
    ) -> RewrittenPrompt:
        """Returns a prompt, rewritten for groups whose words have some places."""
        prompt, system = self.prompts[number], self.files.system
        original = prompt if self.files.rewrite == "prompt" else system or ""
        words, texts = (
            self.rewriter.words(original),
            [self.rewriter.rewrite(original, place) for place in places],
        )
        if self.files.rewrite == "prompt":
            return RewrittenPrompt(number, original, words, groups, texts, [system] * len(places))
        return RewrittenPrompt(number, original, words, groups, [prompt] * len(places), [*texts])

    def pairs(self) -> list[tuple[str, str]]:
        """Returns what is asked: each prompt as it is in the file, with each group that it is asked
        about.
        """
        named = [
            (self.prompts[number], group) for number in self.sampled for group in self.groups.names
        ]
        return named + [(self.prompts[number], NEUTRAL_GROUP) for number in self.neutral_numbers]

    def digest(self) -> str:
        """A digest of what makes the instances."""
        files, sample = self.files, self.files.sample.model_dump() if self.files.sample else None
        how = [
            files.repetitions,
            sample,
            files.system,
            files.rewrite,
            files.mode is not None,
            files.neutral,
        ]
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
    example = next(
        (word for row in requests.groups.rows for sought in row.sought for word in sought), ""
    )
    expected = (
        f"words of {', '.join(requests.groups.names)} in {requests.files.groups}, "
        f"such as {example!r}"
    )
    if requests.files.rewrite == "system":
        yield Fault(
            "the config",
            "system",
            f"there is no word of a group in {requests.files.system!r}",
            expected,
        )
    else:
        problem = f"none of the {len(requests.prompts):,} prompts contains a word of a group"
        yield Fault(str(requests.files.prompts), "", problem, expected)


def about_prompts(files: RewritingFiles) -> Iterator[str]:
    """Yields what a report tells of a dataset's prompts, nothing where its files cannot be read."""
    requests, faults = read(files)
    if requests is None or faults:
        return
    if requests.groups.warning:
        yield requests.groups.warning
    yield unawareness_text(requests)
    unclear = Counter(
        word
        for text in texts_to_rewrite(requests)
        for word in requests.rewriter.ambiguous_words(text)
    )
    if unclear:
        yield (
            "Words with two readings, of which the one that the file marks "
            f"is used: {commonest_words(unclear)}."
        )


def texts_to_rewrite(requests: RewritingRequests) -> list[str]:
    """Returns what is rewritten."""
    if requests.files.rewrite == "system":
        return [str(requests.files.system)]
    return [requests.prompts[number] for number in requests.usable]


def unawareness_text(requests: RewritingRequests) -> str:
    """Says how many prompts name a group: where none does, models are treated to fairness through
    unawareness.
    """
    if requests.files.rewrite == "system":
        return (
            f"The system text names the groups, so the {len(requests.prompts):,} prompts are "
            "asked unchanged."
        )
    words = Counter(
        word.lower()
        for text in texts_to_rewrite(requests)
        for word in requests.rewriter.words(text)
    )
    named, all_of = len(requests.usable), len(requests.prompts)
    counts = f"{named:,} of {all_of:,} prompts contain words of groups ({commonest_words(words)})"
    rest = f"; the other {all_of - named:,} are not asked, because nothing in them can be rewritten"
    return f"{counts}{rest if named < all_of else ''}."


def commonest_words(words: Counter[str]) -> str:
    """Lists the commonest words with their counts."""
    return ", ".join(f"{word} {count}" for word, count in words.most_common(WORDS_SHOWN))
