"""The family of pairs of sentences, as others see it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from biasgrid.base.faults import Fault
from biasgrid.families.family import Family, Format, Grid, Question, section_of
from biasgrid.families.pairs.items import ALONE, CHOICE, PairFiles, PairSet
from biasgrid.families.pairs.section import FORCED_CHOICE, PROMPT, STEREOSET_LAYOUT, PairsDataset
from biasgrid.families.sampling import sample_faults, sample_unless_all, size_faults
from biasgrid.inference.scorings import ANSWER_KIND, CAUSAL, MASKED, SCORINGS
from biasgrid.tables.metric import Measure, read_definitions

PUBLISHED = "published"
"""The scoring of published scores."""
PAIR_FIGURES = ("pair_shares",)
DEFINITIONS = read_definitions("families/pairs")


class Pairs(Family):
    """Asks which of two sentences a model finds more likely, one of which states a stereotype
    more.
    """

    name = "pairs"
    place = 8
    unit = "pairs"
    asks = (
        "which of two sentences is more likely: the one that states a stereotype more, or the other"
    )
    Section = PairsDataset
    yields_sums = True
    is_synthetic = True
    instance_bytes = 40.0
    own_measures = DEFINITIONS.of("pairs", "terms")
    flags = DEFINITIONS.of("flags")
    formats: ClassVar = {"stereoset": Format("biasgrid.families.pairs.published:import_file")}
    expected = "a masked or a generative model"

    def question(self, grid: Grid, dataset: str, model: str) -> Question | None:
        """Returns the question to a model, None if its sentences are not scored."""
        scoring = scoring_for_model(grid, dataset, model)
        if scoring is None:
            return None
        options = {"scoring": scoring}
        if scoring == FORCED_CHOICE:
            return Question(CHOICE, "choice", options=options)
        variant = ALONE
        if scoring != PUBLISHED:
            variant = SCORINGS[scoring].needs or ALONE
        return Question(variant, ANSWER_KIND, settings=options, options=options, row_bytes=12)

    def english(self, grid: Grid, dataset: str) -> Iterator[tuple[str, str]]:
        """Yields the English prompt of a forced choice, if a selected model is asked it."""
        models = [name for name in grid.run.models if name in grid.models]
        is_asked = any(scoring_for_model(grid, dataset, name) == FORCED_CHOICE for name in models)
        if is_asked and section_of(PairsDataset, grid, dataset).prompt == PROMPT:
            problem = "`forced-choice` asks its question in English"
            yield problem, "a `prompt` in the language of the dataset"

    def unfit(self, grid: Grid, dataset: str, model: str) -> str:
        """Describes why a model has no scoring for the tasks of StereoSet; empty if it has one.

        Models are asked one task at a time, and models behind servers only one of them.
        """
        if grid.models[model].task not in (MASKED, CAUSAL):
            return ""
        task = section_of(PairsDataset, grid, dataset).only_task
        if task is None:
            return "no scoring of both `tasks` at once: models need a dataset for each"
        if grid.models[model].source.asks_server:
            return f"no scoring of {task} for models behind servers"
        return ""

    def files(self, grid: Grid, dataset: str, variant: str) -> PairFiles:
        """Returns the files of a dataset, and how they are asked."""
        folder, section = Path(grid.word_lists), section_of(PairsDataset, grid, dataset)
        is_choice = variant == CHOICE
        return PairFiles(
            files=tuple(folder / name for name in section.files),
            layout=section.layout,
            tasks=tuple(section.tasks) if section.layout == STEREOSET_LAYOUT else (),
            variant=variant,
            prompt=section.prompt if is_choice else "",
            system=section.system if is_choice else None,
            sample=sample_unless_all(section.sample),
        )

    def measures(self, grid: Grid, dataset: str) -> Mapping[str, Measure]:
        """Returns the measures of pairs and, for StereoSet, of target terms, its headlines."""
        pair_measures = DEFINITIONS.of("pairs")
        if section_of(PairsDataset, grid, dataset).layout != STEREOSET_LAYOUT:
            return {**pair_measures, **self.flags}
        # The share of pairs is evidence for the scores of terms, and no second finding.
        evidence = {}
        for name, measure in pair_measures.items():
            evidence[name] = replace(measure, headline=None, counted=None)
        return {**DEFINITIONS.of("terms"), **evidence, **self.flags}

    def about(self, grid: Grid, dataset: str) -> Sequence[str]:
        """Describes the pairs and, of published ones, their known problems."""
        if section_of(PairsDataset, grid, dataset).layout == "plain":
            return (DEFINITIONS.about,)
        return DEFINITIONS.about, WARNING

    def cluster_texts(self, lists: PairSet) -> Sequence[str]:
        """Returns a sentence of each cluster of pairs."""
        sentences: dict[int, str] = {}
        for pair in lists.pairs:
            sentences.setdefault(lists.template(pair), pair.more)
        return list(sentences.values())

    def list_faults(
        self, grid: Grid, source: str, dataset: str, variant: str, lists: PairSet
    ) -> Iterator[Fault]:
        """Yields a sample that is missing or too large."""
        sample, key = section_of(PairsDataset, grid, dataset).sample, f"datasets.{dataset}.sample"
        yield from size_faults(source, key, sample, lists.count, "clusters of pairs")
        yield from sample_faults(source, key, sample, len(lists.templates), "clusters of pairs")

    def figures(self, dataset: PairsDataset) -> Sequence[str]:
        """Names the figure of shares by bias type."""
        return PAIR_FIGURES

    def teaches(self, grid: Grid, dataset: str, model: str) -> bool:
        """Whether a model learns the dataset, because it learns all datasets that it is asked."""
        train, scoring = grid.models[model].train, scoring_for_model(grid, dataset, model)
        return train is not None and not train.dataset and scoring in SCORINGS


def scoring_for_model(grid: Grid, dataset: str, model: str) -> str | None:
    """Returns the scoring of a dataset's sentences for a model, None if they are not scored."""
    masked, causal, served = section_of(PairsDataset, grid, dataset).scorings
    task, source = grid.models[model].task, grid.models[model].source
    if task not in (MASKED, CAUSAL):
        return None
    if source.precomputed:
        return PUBLISHED
    if task == MASKED:
        return masked
    return served if source.asks_server else causal


WARNING = (
    "Known problems of these pairs: Blodgett et al. (ACL 2021) found significant issues with noise "
    "and reliability in CrowS-Pairs and StereoSet: unnatural and ungrammatical pairs, and targets "
    "that are no groups. The authors of CrowS-Pairs themselves warn that it may not be a good "
    "indicator of the biases of a model."
)
FAMILY = Pairs()
