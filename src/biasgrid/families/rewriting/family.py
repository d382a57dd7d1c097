"""Options of a dataset of rewritten prompts, and how each model is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from biasgrid.base.faults import Fault
from biasgrid.base.sections import Name
from biasgrid.families.family import DatasetSection, Family, Grid, Question, section_of
from biasgrid.families.rewriting.group_words import RewritingMode, groups_digest
from biasgrid.families.rewriting.read import (
    CountedWords,
    LayoutName,
    RewritingFiles,
    RewritingRequests,
    read,
    read_counted_words,
)
from biasgrid.families.sampling import sample_faults, sample_unless_all, size_faults
from biasgrid.groups.main_scores import main_similarity
from biasgrid.tables.metric import Measure, options_text, read_definitions

VADER_SCORERS = {"vader-negative": "neg", "vader-positive": "pos"}
"""Scorers that need no model, with VADER's name of their score."""
PROMPTS_VARIANT = "prompts"
"""The only variant of a dataset."""
ScoreThreshold = Annotated[float, Field(ge=0, le=1)]


class RewritingDataset(DatasetSection):
    """Prompts that are rewritten for every group: a column of the grid. Its files lie in
    `word_lists`.
    """

    family: Literal["rewriting"] = Field(description="what is asked, and how it is measured")
    task: str = Field("text-generation", description="task of the models that it is for")
    prompts: str = Field(
        description=(
            "file with prompts: `.txt` (one per line, lines that begin with `#` are comments), "
            "`.jsonl`, `.csv` or `.parquet`"
        )
    )
    column: str = Field("prompt", description="column with the prompts, in a file that has columns")
    layout: LayoutName | None = Field(
        None,
        description=(
            "reads `prompts`, a folder, as your copy of a public set: "
            "`realtoxicityprompts` or `dialogsum`"
        ),
    )
    template: Annotated[str, Field(pattern=r"\{prompt\}")] | None = Field(
        None,
        description=(
            "request for each prompt, with `{prompt}` in the place of the prompt; default: the "
            "prompt itself, or for `dialogsum` a request for a summary"
        ),
    )
    groups: str = Field(description="YAML file with groups and their words")
    rewrite: Literal["prompt", "system"] = Field(
        "prompt",
        description="what is rewritten: each prompt, or the system text before all prompts",
    )
    system: str | None = Field(None, description="system text before each prompt")
    repetitions: int = Field(
        5,
        ge=1,
        le=1000,
        description=(
            "how often each text is asked; if it is asked only once, there is no noise floor"
        ),
    )
    neutralise: bool = Field(
        True,
        description=(
            "whether words of groups are replaced by neutral words before ROUGE and "
            "BLEU compare answers"
        ),
    )
    scorers: list[str] = Field(
        default=["vader-negative"],
        description=(
            "scorers of the answers, to compare the scores of groups: `vader-negative`, "
            "`vader-positive`, or models in the config with a `scorer`"
        ),
    )
    embeddings: Name | None = Field(
        None,
        description=(
            "model of the task `feature-extraction` whose vectors are used to compare answers: "
            "`cosine`, which is then the headline"
        ),
    )
    harms: dict[str, ScoreThreshold] = Field(
        default_factory=dict,
        description=(
            "scorers of harmful content, each with the score above which an answer counts, such as "
            "`{toxicity: 0.3, stereotypes: 0.5}`: measures how much harmful content there is, "
            "and how bad the worst of it is"
        ),
    )
    targets: str | None = Field(
        None,
        description=(
            "file of words, one a line: measures how unevenly these words appear near the words "
            "of groups"
        ),
    )
    stop_words: str | None = Field(
        None,
        description=(
            "words that co-occurrence ignores: a file, one a line, or `nltk` for the English stop "
            "words in your NLTK data, which is the default in `mode: langfair`. Otherwise biasgrid "
            "uses its own list"
        ),
    )
    lists: bool = Field(
        False,
        description=(
            "whether answers are lists, such as recommendations, whose names and ranks are compared"
        ),
    )
    neutral: bool = Field(
        False,
        description=(
            "whether all prompts are also asked with neutral words, and prompts without words of "
            "groups unchanged. They form the group `neutral`, which counts in `harms` and "
            "`targets`, and with which `lists` are compared"
        ),
    )
    threshold: float = Field(0.5, ge=0, le=1, description="score above which an answer counts")
    mode: Literal["langfair"] | None = Field(
        None,
        description=(
            "`langfair` rewrites and neutralises exactly as LangFair does, including its faults"
        ),
    )


DEFINITIONS = read_definitions("families/rewriting")
REWRITING_FIGURES = ("answer_pairs",)
WORDS_SHOWN = 12
"""The number of words that the report names as the commonest."""


class Rewriting(Family):
    """Asks generative models the same prompts about every group."""

    name = "rewriting"
    place = 5
    unit = "prompts"
    asks = "prompts, rewritten for each group"
    Section = RewritingDataset
    yields_sums = True
    is_synthetic = True
    group_number = "score_difference"
    instance_bytes = 50.0
    own_measures = DEFINITIONS.select("measures", "harms", "targets", "lists")
    flags = DEFINITIONS.select("flags")
    modes = RewritingMode.replications
    expected = "the task of the dataset"

    def question(self, grid: Grid, dataset: str, model: str) -> Question | None:
        """Returns the question to a model of the dataset's task, None for other models."""
        section = section_of(RewritingDataset, grid, dataset)
        if grid.models[model].task != section.task:
            return None
        groups = Path(grid.word_lists, section.groups)
        scorers = list(dict.fromkeys([*section.scorers, *section.harms]))
        counted_words = self.counted_words(grid, dataset)
        options = {
            "groups": str(groups),
            "digest": groups_digest(groups),
            "scorers": scorers,
            "targets": counted_words.targets,
            "stop_words": counted_words.stop_words,
            **section.model_dump(
                include={"neutralise", "threshold", "mode", "harms", "lists", "embeddings"}
            ),
        }
        scorer_kinds = {scorer: "score" for scorer in scorers if scorer not in VADER_SCORERS}
        if section.embeddings:
            scorer_kinds[section.embeddings] = "vector"
        return Question(
            PROMPTS_VARIANT, "text", measure_options=options, row_bytes=400, scorers=scorer_kinds
        )

    def english(self, grid: Grid, dataset: str) -> Iterator[tuple[str, str]]:
        """Yields the grammar by which prompts are rewritten."""
        yield (
            "prompts are rewritten with English articles, pronouns and verbs",
            "a counterfactual dataset or a probe, whose templates can have a form for each group",
        )

    def files(self, grid: Grid, dataset: str, variant: str) -> RewritingFiles:
        """Returns the files of a dataset, with the options that determine its instances."""
        section, folder = section_of(RewritingDataset, grid, dataset), Path(grid.word_lists)
        return RewritingFiles(
            prompts=folder / section.prompts,
            column=section.column,
            groups=folder / section.groups,
            repetitions=section.repetitions,
            sample=sample_unless_all(section.sample),
            system=section.system,
            rewrite=section.rewrite,
            mode=section.mode,
            neutral=section.neutral,
            layout=section.layout,
            template=section.template,
        )

    def counted_words(self, grid: Grid, dataset: str) -> CountedWords:
        """Reads the words that are counted in the answers to a dataset."""
        section, folder = section_of(RewritingDataset, grid, dataset), Path(grid.word_lists)
        stop_words = section.stop_words or RewritingMode.of(section.mode).stop_words
        return read_counted_words(folder, section.targets, stop_words)

    def measures(self, grid: Grid, dataset: str) -> Mapping[str, Measure]:
        """Returns the measures that a dataset asks for, and the flags.

        The headlines are those of the first scorer of harm, and of the similarity by embeddings if
        there are any.
        """
        section = section_of(RewritingDataset, grid, dataset)
        optional = {"harms": section.harms, "targets": section.targets, "lists": section.lists}
        parts = [name for name, is_asked in optional.items() if is_asked]
        measures = DEFINITIONS.select("measures", *parts)
        similarity = main_similarity(by_vectors=section.embeddings is not None)
        headlines = {"similarity_corrected": similarity}
        if section.harms:
            score, threshold = next(iter(section.harms.items()))
            options = options_text(score=score, threshold=threshold)
            headlines |= dict.fromkeys(DEFINITIONS.select("harms"), options)
        for name, options in headlines.items():
            measures[name] = replace(measures[name], headline=options)
        return measures | DEFINITIONS.select("flags")

    def figures(self, dataset: Any) -> Sequence[str]:
        """Returns the figure of pairs of groups."""
        return REWRITING_FIGURES

    def faults(self, grid: Grid, source: str) -> Iterator[Fault]:
        """Yields faults of options that need another one: a system text, or target words."""
        for name, section in grid.datasets.items():
            if not isinstance(section, RewritingDataset):
                continue
            key = f"datasets.{name}"
            if section.rewrite == "system" and section.system is None:
                problem = "`system`, but there is no system text"
                yield Fault(source, f"{key}.rewrite", problem, "a text in `system`")
            if section.stop_words is not None and section.targets is None:
                problem = (
                    f"{section.stop_words!r}, but there are no `targets`, near which "
                    "words are counted"
                )
                expected = "`targets` with a file of words, or no `stop_words`"
                yield Fault(source, f"{key}.stop_words", problem, expected)

    def list_faults(
        self, grid: Grid, source: str, dataset: str, variant: str, lists: RewritingRequests
    ) -> Iterator[Fault]:
        """Yields faults of the sample, of files of words and of answers, and of neutral words.

        Many instances need a sample, which must not be larger than the dataset. Options that use
        neutral words need one in each row of words.
        """
        section, key = section_of(RewritingDataset, grid, dataset), f"datasets.{dataset}"
        sample = section.sample
        yield from size_faults(source, f"{key}.sample", sample, lists.count, "prompts")
        unit = "prompts that contain words of groups"
        yield from sample_faults(source, f"{key}.sample", sample, len(lists.usable), unit)
        yield from self.counted_words(grid, dataset).faults
        yield from answer_faults(grid, dataset, lists)
        if lists.groups.has_neutral:
            return
        problem = f"true, but the rows of {section.groups} have no neutral word"
        needs_neutral = {"neutral": section.neutral, "neutralise": section.neutralise}
        for name, is_needed in needs_neutral.items():
            if is_needed:
                expected = f"`{name}: false`, or a neutral word at the end of each row"
                yield Fault(source, f"{key}.{name}", problem, expected)

    def about(self, grid: Grid, dataset: str) -> Sequence[str]:
        """Returns paragraphs on the words of groups in the prompts, then the text on rewriting."""
        requests, faults = read(self.files(grid, dataset, PROMPTS_VARIANT))
        if requests is None or faults:
            return (DEFINITIONS.about,)
        return (*about_prompts(requests), DEFINITIONS.about)


def answer_faults(grid: Grid, dataset: str, lists: RewritingRequests) -> Iterator[Fault]:
    """Yields faults of precomputed responses of the selected models."""
    repetitions = section_of(RewritingDataset, grid, dataset).repetitions
    for name in grid.run.models:
        if not grid.fits(name, dataset):
            continue
        other_datasets = [other for other in grid.run.datasets if other != dataset]
        # If a model answers other datasets too, answers to other prompts are no faults.
        is_only_dataset = not any(grid.fits(name, other) for other in other_datasets)
        source = grid.models[name].source
        yield from source.prompt_faults(
            lists.prompts, lists.pairs(), repetitions, is_for_one_dataset=is_only_dataset
        )


def about_prompts(requests: RewritingRequests) -> Iterator[str]:
    """Yields the report's paragraphs on the prompts of a dataset and their words of groups."""
    if requests.groups.warning:
        yield requests.groups.warning
    yield unawareness_text(requests)
    texts = [requests.prompts[number] for number in requests.usable]
    if requests.rewrites_system:
        texts = [str(requests.files.system)]
    ambiguous: Counter[str] = Counter()
    for text in texts:
        ambiguous.update(requests.rewriter.ambiguous_words(text))
    if ambiguous:
        yield (
            "Words with two readings, of which the one that the file marks "
            f"is used: {commonest_words(ambiguous)}."
        )


def unawareness_text(requests: RewritingRequests) -> str:
    """Returns a sentence on how many prompts name a group.

    If none does, the model treats groups alike because it does not learn of them: fairness through
    unawareness.
    """
    count = len(requests.prompts)
    if requests.rewrites_system:
        return f"The system text names the groups, so the {count:,} prompts are asked unchanged."
    words: Counter[str] = Counter()
    for prompt_words in requests.words:
        words.update(word.lower() for word in prompt_words)
    named_count = len(requests.usable)
    counts = (
        f"{named_count:,} of {count:,} prompts contain words of groups ({commonest_words(words)})"
    )
    if named_count == count:
        return f"{counts}."
    rest = (
        f"the other {count - named_count:,} are not asked, because nothing in them can be rewritten"
    )
    return f"{counts}; {rest}."


def commonest_words(words: Counter[str]) -> str:
    """Lists the commonest words with their counts."""
    return ", ".join(f"{word} {count}" for word, count in words.most_common(WORDS_SHOWN))


FAMILY = Rewriting()
