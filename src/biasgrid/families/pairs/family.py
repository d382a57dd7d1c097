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
"""The scoring of scores that others published, whatever it is."""
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
        """Says how the sentences are scored for a model."""
        scoring = scoring_for_model(grid, dataset, model)
        if scoring is None:
            return None
        options = {"scoring": scoring}
        if scoring == PUBLISHED:
            return Question(ALONE, ANSWER_KIND, settings=options, options=options, row_bytes=12)
        if scoring == FORCED_CHOICE:
            return Question(CHOICE, "choice", options=options)
        return Question(
            SCORINGS[scoring].needs or ALONE,
            ANSWER_KIND,
            settings=options,
            options=options,
            row_bytes=12,
        )

    def english(self, grid: Grid, dataset: str) -> Iterator[tuple[str, str]]:
        """Yields the prompt of a forced choice, where a selected model is asked it in its English
        words.
        """
        models = [name for name in grid.run.models if name in grid.models]
        is_asked = any(scoring_for_model(grid, dataset, name) == FORCED_CHOICE for name in models)
        if is_asked and section_of(PairsDataset, grid, dataset).prompt == PROMPT:
            yield (
                "`forced-choice` asks its question in English",
                "a `prompt` in the language of the dataset",
            )

    def unfit(self, grid: Grid, dataset: str, model: str) -> str:
        """Says that models are asked one task of StereoSet at a time, and those behind servers only
        one of them.
        """
        if grid.models[model].task not in (MASKED, CAUSAL):
            return ""
        task = section_of(PairsDataset, grid, dataset).only_task
        if task is None:
            return "no scoring of both `tasks` at once: models need a dataset for each"
        return (
            f"no scoring of {task} for models behind servers"
            if grid.models[model].source.asks_server
            else ""
        )

    def files(self, grid: Grid, dataset: str, variant: str) -> PairFiles:
        """Returns the files of a dataset, and how they are asked."""
        folder, section = Path(grid.word_lists), section_of(PairsDataset, grid, dataset)
        return PairFiles(
            files=tuple(folder / name for name in section.files),
            layout=section.layout,
            tasks=tuple(section.tasks) if section.layout == STEREOSET_LAYOUT else (),
            variant=variant,
            prompt=section.prompt if variant == CHOICE else "",
            system=section.system if variant == CHOICE else None,
            sample=sample_unless_all(section.sample),
        )

    def measures(self, grid: Grid, dataset: str) -> Mapping[str, Measure]:
        """Declares the measures of pairs and, of StereoSet, those of target terms, which are its
        headlines.

        There the share of pairs is evidence, no second finding.
        """
        of_pairs = DEFINITIONS.of("pairs")
        if section_of(PairsDataset, grid, dataset).layout != STEREOSET_LAYOUT:
            return {**of_pairs, **self.flags}
        plain = {
            name: replace(measure, headline=None, counted=None)
            for name, measure in of_pairs.items()
        }
        return {**DEFINITIONS.of("terms"), **plain, **self.flags}

    def about(self, grid: Grid, dataset: str) -> Sequence[str]:
        """Tells of the pairs and, of published ones, what is known against them."""
        is_published = section_of(PairsDataset, grid, dataset).layout != "plain"
        return (DEFINITIONS.about, *((WARNING,) if is_published else ()))

    def cluster_texts(self, lists: PairSet) -> Sequence[str]:
        """Returns the first sentence of each cluster of pairs."""
        first: dict[int, str] = {}
        for pair in lists.pairs:
            first.setdefault(lists.template(pair), pair.more)
        return list(first.values())

    def list_faults(
        self, grid: Grid, source: str, dataset: str, variant: str, lists: PairSet
    ) -> Iterator[Fault]:
        """Yields a sample that is none or too large."""
        sample, key = section_of(PairsDataset, grid, dataset).sample, f"datasets.{dataset}.sample"
        yield from size_faults(source, key, sample, lists.count, "clusters of pairs")
        yield from sample_faults(source, key, sample, len(lists.templates), "clusters of pairs")

    def figures(self, dataset: PairsDataset) -> Sequence[str]:
        """Names the figure of shares by bias type."""
        return PAIR_FIGURES

    def teaches(self, grid: Grid, dataset: str, model: str) -> bool:
        """Says whether a model that learns all datasets that it is asked is asked this one."""
        train, scoring = grid.models[model].train, scoring_for_model(grid, dataset, model)
        return train is not None and not train.dataset and scoring in SCORINGS


def scoring_for_model(grid: Grid, dataset: str, model: str) -> str | None:
    """Returns how the sentences of a dataset are scored for a model, None where they are not."""
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
