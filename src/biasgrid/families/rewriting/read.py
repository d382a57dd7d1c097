"""Reads the prompts of a dataset, and words that are counted in the answers.

Prompts are the lines of a text file, a column of JSON lines, CSV or Parquet, or those of a public
set in its folder. Planning a grid imports this module, so it must not import polars.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from biasgrid.base.digests import digest_fields
from biasgrid.base.faults import Fault, InputError, value_text
from biasgrid.base.names import HIDDEN, VISIBLE_CHARACTERS, hidden_character
from biasgrid.base.records import list_lines, list_words
from biasgrid.base.rows import Columns, read_file_rows
from biasgrid.families.rewriting.group_words import (
    NEUTRAL_GROUP,
    GroupWords,
    RewritingMode,
    TextRewriter,
    read_group_words,
)
from biasgrid.families.sampling import Sample, sample_content

# Prompts

PROMPT_PLACE = "{prompt}"
"""Placeholder of the prompt in a request."""
PROMPTS_EXPECTED = "prompts; in a .txt file, one per line"


class PromptLayout(NamedTuple):
    """The layout of a public set of prompts in its folder.

    Attributes:
        files: names of its files; the first that exists is read.
        column: the column with the prompts.
        template: the request for each prompt, with `PROMPT_PLACE`.
    """

    files: tuple[str, ...]
    column: str
    template: str = PROMPT_PLACE


LAYOUTS = {
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

if TYPE_CHECKING:
    LayoutName = str
else:
    LayoutName = Literal[tuple(LAYOUTS)]


def read_prompt_file(path: Path, column: str, faults: list[Fault]) -> list[str]:
    """Returns the distinct prompts of a file, in its order.

    Blank lines of a text file and lines that begin with `#` are no prompts. In a file with columns,
    a value that is blank or no text is a fault, and so are invisible characters.

    Args:
        path: the file.
        column: the column with the prompts, in a file that has columns.
        faults: list to which the faults of the file are added.
    """
    faults_before = len(faults)
    prompts: dict[str, None] = {}
    if path.suffix == ".txt":
        prompts |= dict.fromkeys(line.text for line in list_lines(path, PROMPTS_EXPECTED, faults))
    else:
        try:
            # Read row by row: public sets are larger than texts that are read at once.
            for row in read_file_rows(path, Columns([column]), PROMPTS_EXPECTED):
                value = row.values[column]
                fault = prompt_fault(path, row.where, value)
                if fault is None:
                    prompts[value] = None
                else:
                    faults.append(fault)
        except InputError as error:
            # Faults of rows before are of no use for a file that cannot be read.
            faults[faults_before:] = error.faults
            return []
    if not prompts and len(faults) == faults_before:
        faults.append(Fault(str(path), "", "contains no prompts", PROMPTS_EXPECTED))
    return list(prompts)


def prompt_fault(path: Path, where: str, value: object) -> Fault | None:
    """Returns the fault of a value that is no prompt, None for a prompt."""
    if not isinstance(value, str) or not value.strip():
        return Fault(str(path), where, value_text(value), "a prompt")
    hidden = hidden_character(value)
    if hidden:
        return Fault(str(path), where, f"contains {hidden}", VISIBLE_CHARACTERS)
    return None


def read_layout(path: Path, name: LayoutName, faults: list[Fault]) -> list[str]:
    """Returns the distinct prompts of a public set, in the order of its file.

    Invisible characters are left out, and so are prompts without visible ones. A value that is no
    text is a fault, after which nothing more is read: in a file of another set, all values are.

    Args:
        path: the folder, or one of the files in it.
        name: the set.
        faults: list to which a fault is added if the set cannot be read; there are then no prompts.
    """
    layout = LAYOUTS[name]
    expected = f"{' or '.join(layout.files)} of {name}"
    files = [path]
    if path.is_dir():
        files = [path / file for file in layout.files if (path / file).is_file()]
    if not files:
        faults.append(Fault(str(path), "", "contains none of the files", expected))
        return []
    prompts: dict[str, None] = {}
    try:
        for row in read_file_rows(files[0], Columns([layout.column]), expected):
            value = row.values[layout.column]
            if not isinstance(value, str):
                place = f"{row.where}, {layout.column}"
                raise InputError([Fault(str(files[0]), place, "is not text", expected)])
            prompts[HIDDEN.sub("", value).strip()] = None
    except InputError as error:
        faults += error.faults
        return []
    prompts.pop("", None)
    if not prompts:
        faults.append(Fault(str(files[0]), "", "contains no prompts", expected))
    return list(prompts)


# Words that are counted in the answers

WORDS_EXPECTED = "one word per line"
NLTK = "nltk"
"""Stands for NLTK's stop words in place of a file's name."""
STOP_WORDS_OF_NLTK = "corpora/stopwords/english"
"""The place of the stop words in NLTK's data."""
DOWNLOAD = "python -m nltk.downloader stopwords"


class CountedWords(NamedTuple):
    """Words that are counted in answers, and words that are not.

    Attributes:
        targets: words in lower case whose nearness to words of groups is measured; empty if the
            dataset asks for none.
        stop_words: words that co-occurrence ignores; None for biasgrid's own, or without targets.
        faults: the faults of their files.
    """

    targets: list[str]
    stop_words: list[str] | None
    faults: list[Fault]


def read_counted_words(folder: Path, targets: str | None, stop_words: str | None) -> CountedWords:
    """Reads target words and stop words.

    Args:
        folder: the folder of word lists.
        targets: the file of target words, None without any.
        stop_words: the file of stop words, or `NLTK`; None for biasgrid's own. Without targets it
            is not read.
    """
    if targets is None:
        return CountedWords([], None, [])
    words, faults = read_word_file(folder / targets)
    if stop_words is None:
        return CountedWords(words, None, faults)
    if stop_words == NLTK:
        stop_list, further_faults = nltk_stop_words()
    else:
        stop_list, further_faults = read_word_file(folder / stop_words)
    return CountedWords(words, stop_list, [*faults, *further_faults])


@cache
def read_word_file(path: Path) -> tuple[list[str], list[Fault]]:
    """Returns the words of a file and its faults."""
    # Each cell of a grid asks for them.
    faults: list[Fault] = []
    return list_words(path, WORDS_EXPECTED, faults), faults


def nltk_stop_words() -> tuple[list[str], list[Fault]]:
    """Returns the English stop words in the user's NLTK data, and a fault without them."""
    import nltk.data

    try:
        with nltk.data.find(STOP_WORDS_OF_NLTK).open() as file:
            text = file.read().decode("utf-8")
    except (LookupError, OSError, ValueError) as error:
        is_missing = isinstance(error, LookupError)
        problem = "does not exist" if is_missing else f"cannot be read ({error})"
        expected = (
            f"the stop words of NLTK (`{DOWNLOAD}`), or `stop_words` with a file that has one "
            "word per line"
        )
        return [], [Fault("your NLTK data", STOP_WORDS_OF_NLTK, problem, expected)]
    return sorted(set(text.split())), []


# Prompts and groups together


@dataclass(frozen=True)
class RewritingFiles:
    """The files of a dataset and the options that determine its instances.

    Attributes:
        prompts: the file of prompts, or the folder of a public set.
        column: the column with the prompts, in a file that has columns.
        groups: the file of groups.
        repetitions: how often each text is asked.
        sample: the sample of prompts, None for all that can be rewritten.
        system: the system text, None without one.
        rewrite: `prompt` or `system`: the text that is rewritten.
        mode: the project whose rewriting is repeated, None for biasgrid's own.
        neutral: whether all prompts are asked with neutral words, too.
        layout: the public set that lies in the folder, None for a file of your own.
        template: the request for each prompt, with `PROMPT_PLACE`; None for that of the layout, or
            the prompt itself.
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
    """A prompt as a model reads it about one group.

    Attributes:
        prompt: its number.
        group: the group.
        text: the prompt, rewritten unless the system text is.
        system: the system text, None without one.
        original: the text before it was rewritten: the prompt or the system text.
        words: the words of groups in `original`, in order.
    """

    prompt: int
    group: str
    text: str
    system: str | None
    original: str
    words: list[str]


@dataclass(frozen=True)
class RewritingRequests:
    """The prompts and groups of a dataset.

    Attributes:
        files: their files and the options of the dataset.
        prompts: the distinct prompts, each in the template.
        groups: the groups.
    """

    files: RewritingFiles
    prompts: tuple[str, ...]
    groups: GroupWords

    @property
    def rewrites_system(self) -> bool:
        """Whether the system text is rewritten, and prompts are asked unchanged."""
        return self.files.rewrite == "system"

    @cached_property
    def rewriter(self) -> TextRewriter:
        """The rewriter of texts."""
        return RewritingMode.of(self.files.mode).rewriter(self.groups)

    @cached_property
    def words(self) -> list[list[str]]:
        """For each prompt, the words of groups in the text that is rewritten, in order."""
        if self.rewrites_system:
            return [self.rewriter.words(self.files.system or "")] * len(self.prompts)
        return [self.rewriter.words(prompt) for prompt in self.prompts]

    @cached_property
    def usable(self) -> list[int]:
        """The numbers of prompts that can be rewritten: those with a word of a group.

        If the system text is rewritten, these are all prompts or none.
        """
        return [number for number, words in enumerate(self.words) if words]

    @cached_property
    def sampled(self) -> list[int]:
        """The numbers of the sampled prompts, a subset of `usable`."""
        from biasgrid.families.sampler import units_of_sample  # needs numpy, which plans do without

        texts = [self.prompts[number] for number in self.usable]
        # Prompts have no strata: any of them may be left out.
        places = units_of_sample([()] * len(texts), texts, self.files.sample)
        return [self.usable[place] for place in places]

    @cached_property
    def neutral_numbers(self) -> list[int]:
        """The numbers of prompts asked with neutral words: the sample, and all without words."""
        if not self.files.neutral:
            return []
        left_out = set(self.usable) - set(self.sampled)
        return [number for number in range(len(self.prompts)) if number not in left_out]

    @property
    def count(self) -> int:
        """The number of instances without a sample."""
        neutral = len(self.prompts) if self.files.neutral else 0
        return (len(self.usable) * len(self.groups.names) + neutral) * self.files.repetitions

    def rewritten_prompts(self) -> Iterator[RewrittenPrompt]:
        """Yields each prompt for every group, then those with neutral words."""
        names = self.groups.names
        for number in self.sampled:
            for target, group in enumerate(names):
                yield self.rewrite_prompt(number, group, target)
        for number in self.neutral_numbers:
            # Neutral words come after the words of all groups.
            yield self.rewrite_prompt(number, NEUTRAL_GROUP, len(names))

    def rewrite_prompt(self, prompt_number: int, group: str, target: int) -> RewrittenPrompt:
        """Returns a prompt, rewritten for a group.

        Args:
            prompt_number: the number of the prompt.
            group: the group.
            target: the place of its words in rows of words.
        """
        text, system = self.prompts[prompt_number], self.files.system
        words = self.words[prompt_number]
        if self.rewrites_system:
            original = system or ""
            new_text = self.rewriter.rewrite(original, target)
            return RewrittenPrompt(prompt_number, group, text, new_text, original, words)
        new_text = self.rewriter.rewrite(text, target)
        return RewrittenPrompt(prompt_number, group, new_text, system, text, words)

    def pairs(self) -> list[tuple[str, str]]:
        """Returns the prompts before rewriting, each with the groups that it is asked about."""
        pairs = []
        for number in self.sampled:
            pairs += [(self.prompts[number], group) for group in self.groups.names]
        for number in self.neutral_numbers:
            pairs.append((self.prompts[number], NEUTRAL_GROUP))
        return pairs

    def digest(self) -> str:
        """Returns a digest of everything that determines the instances."""
        files = self.files
        fields: dict[str, object] = {"repetitions": files.repetitions, "rewrite": files.rewrite}
        optional = {
            "sample": files.sample and sample_content(files.sample),
            "system": files.system,
            "mode": files.mode,
            "neutral": files.neutral or None,
        }
        for name, value in optional.items():
            if value is not None:
                fields[name] = value
        return digest_fields(fields, self.prompts, self.groups)


def read(files: RewritingFiles) -> tuple[RewritingRequests | None, list[Fault]]:
    """Reads the prompts and groups of a dataset.

    Returns:
        The prompts with the groups, None if there are no prompts or the groups cannot be read; and
        the faults of both files.
    """
    faults: list[Fault] = []
    template = PROMPT_PLACE
    if files.layout:
        prompts = read_layout(files.prompts, files.layout, faults)
        template = LAYOUTS[files.layout].template
    else:
        prompts = read_prompt_file(files.prompts, files.column, faults)
    template = files.template or template
    texts = [template.replace(PROMPT_PLACE, prompt) for prompt in prompts]
    groups, group_faults = read_group_words(files.groups)
    faults += group_faults
    if groups is None or not texts:
        return None, faults
    requests = RewritingRequests(files, tuple(texts), groups)
    if not faults:
        faults += nothing_to_rewrite(requests)
    return requests, faults


def nothing_to_rewrite(requests: RewritingRequests) -> Iterator[Fault]:
    """Yields a fault if no text has a word of a group, so that there is nothing to compare."""
    if requests.usable:
        return
    files, groups = requests.files, requests.groups
    words = groups.sought_words()
    example = words[0] if words else ""
    expected = f"words of {', '.join(groups.names)} in {files.groups}, such as {example!r}"
    if requests.rewrites_system:
        problem = f"there is no word of a group in {files.system!r}"
        yield Fault("the config", "system", problem, expected)
    else:
        problem = f"none of the {len(requests.prompts):,} prompts contains a word of a group"
        yield Fault(str(files.prompts), "", problem, expected)
