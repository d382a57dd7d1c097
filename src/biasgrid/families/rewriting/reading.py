"""Reads the prompts of a dataset, the words of groups, and words that are counted in the answers.

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
from biasgrid.base.records import list_words
from biasgrid.base.rows import read_rows
from biasgrid.base.text import read_text
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
        template: the question, with `PROMPT_PLACE`.
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
        The prompts that differ, in the file's order, and the faults of the file.
    """
    prompts: dict[str, None] = {}
    faults: list[Fault] = []
    try:
        for where, value in prompt_values(path, column):
            if not isinstance(value, str) or not value.strip():
                faults.append(Fault(str(path), where, value_text(value), "a prompt"))
                continue
            hidden = hidden_character(value)
            if hidden:
                faults.append(Fault(str(path), where, f"contains {hidden}", VISIBLE_CHARACTERS))
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
        lines = read_text(path, EXPECTED_FILE).split("\n")
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield f"line {number}", line
        return
    for row in read_rows(path, [column], EXPECTED_FILE):
        yield row.where, row.values[column]


def read_layout(path: Path, name: LayoutName) -> tuple[list[str], list[Fault]]:
    """Reads the prompts of a set.

    Invisible characters are left out, and so are prompts without visible ones.

    Args:
        path: the folder, or one of the files in it.
        name: a key of `LAYOUTS`.

    Returns:
        The prompts that differ, in the file's order, and the faults of the file.
    """
    layout = LAYOUTS[name]
    expected = f"{' or '.join(layout.files)} of {name}"
    files = [path]
    if path.is_dir():
        files = [path / file for file in layout.files if (path / file).is_file()]
    if not files:
        return [], [Fault(str(path), "", "contains none of the files", expected)]
    file = files[0]
    try:
        rows = list(read_rows(file, [layout.column], expected))
    except InputError as error:
        return [], error.faults
    prompts: dict[str, None] = {}
    for row in rows:
        value = row.values[layout.column]
        # One fault is enough: a file of another set has no text in any row.
        if not isinstance(value, str):
            place = f"{row.where}, {layout.column}"
            return [], [Fault(str(file), place, "is not text", expected)]
        visible = HIDDEN.sub("", value).strip()
        if visible:
            prompts[visible] = None
    if not prompts:
        return [], [Fault(str(file), "", "contains no prompts", expected)]
    return list(prompts), []


def read_targets(folder: Path, section: RewritingDataset) -> tuple[list[str], list[Fault]]:
    """Returns the target words of a dataset in lower case, and the faults of their file.

    There are no words, and no faults, if the dataset names no file.
    """
    if section.targets is None:
        return [], []
    return read_word_file(folder / section.targets)


def read_stop_words(
    folder: Path, section: RewritingDataset
) -> tuple[list[str] | None, list[Fault]]:
    """Returns the stop words of a dataset and the faults of their file.

    The words are None if the dataset uses biasgrid's own ones, or needs none.
    """
    source = section.stop_words or RewritingMode.of(section.mode).stop_words
    if source is None or section.targets is None:
        return None, []
    return nltk_stop_words() if source == NLTK else read_word_file(folder / source)


@cache
def read_word_file(path: Path) -> tuple[list[str], list[Fault]]:
    """Returns the words of a file and its faults."""
    faults: list[Fault] = []
    return list_words(path, WORDS_EXPECTED, faults), faults


def nltk_stop_words() -> tuple[list[str], list[Fault]]:
    """Reads the English stop words of the user's NLTK data."""
    import nltk.data

    try:
        with nltk.data.find(OF_NLTK).open() as file:
            text = file.read().decode("utf-8")
    except (LookupError, OSError, ValueError) as error:
        is_missing = isinstance(error, LookupError)
        problem = "does not exist" if is_missing else f"cannot be read ({error})"
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
        layout: the set of prompts as which their folder is read, None for a file.
        template: the question about each prompt, None for the prompt itself or the layout's.
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
        original: the text that was rewritten.
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
        """The prompts that can be rewritten: those with a word of a group.

        If the system text is rewritten, all or none.
        """
        if self.files.rewrite == "system":
            has_word = self.rewriter.words(self.files.system or "")
            return list(range(len(self.prompts))) if has_word else []
        return [number for number, prompt in enumerate(self.prompts) if self.rewriter.words(prompt)]

    @cached_property
    def sampled(self) -> list[int]:
        """The prompts of the sample."""
        from biasgrid.families.sampler import units_of_sample  # needs numpy, which plans do without

        texts = [self.prompts[number] for number in self.usable]
        # Prompts have no strata: any of them may be left out.
        places = units_of_sample([()] * len(texts), texts, self.files.sample)
        return [self.usable[place] for place in places]

    @cached_property
    def neutral_numbers(self) -> list[int]:
        """The prompts asked with neutral words: all that name no group, and those of the sample."""
        if not self.files.neutral:
            return []
        left_out = {*self.usable} - {*self.sampled}
        return [number for number in range(len(self.prompts)) if number not in left_out]

    @property
    def count(self) -> int:
        """How many instances all prompts have that can be asked."""
        neutral = len(self.prompts) if self.files.neutral else 0
        return (len(self.usable) * len(self.groups.names) + neutral) * self.files.repetitions

    def rewritten_prompts(self) -> Iterator[RewrittenPrompt]:
        """Yields the prompts that are asked, rewritten for every group, then the neutral ones."""
        names = self.groups.names
        for number in self.sampled:
            yield self.rewritten_prompt(number, names, range(len(names)))
        for number in self.neutral_numbers:
            yield self.rewritten_prompt(number, (NEUTRAL_GROUP,), (len(names),))

    def rewritten_prompt(
        self, number: int, groups: tuple[str, ...], places: Sequence[int]
    ) -> RewrittenPrompt:
        """Returns a prompt, rewritten for some groups.

        Args:
            number: the prompt.
            groups: their names.
            places: the places of their words in rows of words.
        """
        prompt, system = self.prompts[number], self.files.system
        is_prompt = self.files.rewrite == "prompt"
        original = prompt if is_prompt else system or ""
        words = self.rewriter.words(original)
        rewritten = [self.rewriter.rewrite(original, place) for place in places]
        if is_prompt:
            systems = [system] * len(places)
            return RewrittenPrompt(number, original, words, groups, rewritten, systems)
        texts = [prompt] * len(places)
        return RewrittenPrompt(number, original, words, groups, texts, [*rewritten])

    def pairs(self) -> list[tuple[str, str]]:
        """Returns each prompt as it is in the file, with each group that it is asked about."""
        pairs = []
        for number in self.sampled:
            pairs += [(self.prompts[number], group) for group in self.groups.names]
        for number in self.neutral_numbers:
            pairs.append((self.prompts[number], NEUTRAL_GROUP))
        return pairs

    def digest(self) -> str:
        """Returns a digest of all that decides the instances."""
        files = self.files
        sample = files.sample.model_dump() if files.sample else None
        settings = [
            files.repetitions,
            sample,
            files.system,
            files.rewrite,
            files.mode is not None,
            files.neutral,
        ]
        content = json.dumps([settings, self.prompts, self.groups.deciding_words()])
        return sha256(content.encode()).hexdigest()[:16]


def read(files: RewritingFiles) -> tuple[RewritingRequests | None, list[Fault]]:
    """Reads prompts and groups, and returns them with every fault of their files.

    The requests are None without prompts or groups.
    """
    template = PROMPT_PLACE
    if files.layout:
        prompts, faults = read_layout(files.prompts, files.layout)
        template = LAYOUTS[files.layout].template
    else:
        prompts, faults = read_prompts(files.prompts, files.column)
    template = files.template or template
    texts = [template.replace(PROMPT_PLACE, prompt) for prompt in prompts]
    groups, of_groups = read_group_words(files.groups)
    faults += of_groups
    if groups is None or not texts:
        return None, faults
    requests = RewritingRequests(files, tuple(texts), groups)
    return requests, faults or list(nothing_to_rewrite(requests))


def nothing_to_rewrite(requests: RewritingRequests) -> Iterator[Fault]:
    """Yields that no text has a word of a group, so that there is nothing to compare."""
    if requests.usable:
        return
    files, groups = requests.files, requests.groups
    sought = [word for row in groups.rows for words in row.sought for word in words]
    example = sought[0] if sought else ""
    expected = f"words of {', '.join(groups.names)} in {files.groups}, such as {example!r}"
    if files.rewrite == "system":
        problem = f"there is no word of a group in {files.system!r}"
        yield Fault("the config", "system", problem, expected)
    else:
        problem = f"none of the {len(requests.prompts):,} prompts contains a word of a group"
        yield Fault(str(files.prompts), "", problem, expected)


def about_prompts(files: RewritingFiles) -> Iterator[str]:
    """Yields the report's paragraphs on a dataset's prompts; nothing if they cannot be read."""
    requests, faults = read(files)
    if requests is None or faults:
        return
    if requests.groups.warning:
        yield requests.groups.warning
    yield unawareness_text(requests)
    ambiguous: Counter[str] = Counter()
    for text in texts_to_rewrite(requests):
        ambiguous.update(requests.rewriter.ambiguous_words(text))
    if ambiguous:
        yield (
            "Words with two readings, of which the one that the file marks "
            f"is used: {commonest_words(ambiguous)}."
        )


def texts_to_rewrite(requests: RewritingRequests) -> list[str]:
    """Returns the texts that are rewritten: the system text, or prompts with words of groups."""
    if requests.files.rewrite == "system":
        return [str(requests.files.system)]
    return [requests.prompts[number] for number in requests.usable]


def unawareness_text(requests: RewritingRequests) -> str:
    """Returns a sentence on how many prompts name a group.

    If none does, the model treats groups alike because it does not learn of them: fairness through
    unawareness.
    """
    count = len(requests.prompts)
    if requests.files.rewrite == "system":
        return f"The system text names the groups, so the {count:,} prompts are asked unchanged."
    words: Counter[str] = Counter()
    for text in texts_to_rewrite(requests):
        words.update(word.lower() for word in requests.rewriter.words(text))
    named = len(requests.usable)
    counts = f"{named:,} of {count:,} prompts contain words of groups ({commonest_words(words)})"
    if named == count:
        return f"{counts}."
    rest = f"the other {count - named:,} are not asked, because nothing in them can be rewritten"
    return f"{counts}; {rest}."


def commonest_words(words: Counter[str]) -> str:
    """Lists the commonest words with their counts."""
    return ", ".join(f"{word} {count}" for word, count in words.most_common(WORDS_SHOWN))
