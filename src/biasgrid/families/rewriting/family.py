"""The family of rewritten prompts, as others see it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from biasgrid.base.faults import Fault
from biasgrid.families.family import Family, Format, Grid, Question, section_of
from biasgrid.families.rewriting.group_words import RewritingMode, groups_digest
from biasgrid.families.rewriting.reading import (
    RewritingFiles,
    RewritingRequests,
    about_prompts,
    read_stop_words,
    read_targets,
)
from biasgrid.families.rewriting.section import VADER_SCORERS, RewritingDataset
from biasgrid.families.sampling import sample_faults, sample_unless_all, size_faults
from biasgrid.groups.main_scores import main_similarity
from biasgrid.tables.metric import Measure, options_text, read_definitions

PROMPTS_VARIANT = "prompts"
"""The one variant of a dataset."""
REWRITING_FIGURES = ("answer_pairs",)
DEFINITIONS = read_definitions("families/rewriting")


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
    own_measures = DEFINITIONS.of("measures", "harms", "targets", "lists")
    flags = DEFINITIONS.of("flags")
    formats: ClassVar = {"langfair": Format("biasgrid.formats.langfair.commands:import_words")}
    modes = RewritingMode.replications
    expected = "the task of the dataset"

    def question(self, grid: Grid, dataset: str, model: str) -> Question | None:
        """Returns the question to a model of the dataset's task, None for other models."""
        section = section_of(RewritingDataset, grid, dataset)
        if grid.models[model].task != section.task:
            return None
        folder = Path(grid.word_lists)
        groups = folder / section.groups
        scorers = list(dict.fromkeys([*section.scorers, *section.harms]))
        targets, _ = read_targets(folder, section)
        stop_words, _ = read_stop_words(folder, section)
        options = {
            "groups": str(groups),
            "digest": groups_digest(groups),
            "scorers": scorers,
            "targets": targets,
            "stop_words": stop_words,
            **section.model_dump(
                include={"neutralise", "threshold", "mode", "harms", "lists", "embeddings"}
            ),
        }
        scorer_kinds = {scorer: "score" for scorer in scorers if scorer not in VADER_SCORERS}
        if section.embeddings:
            scorer_kinds[section.embeddings] = "vector"
        return Question(
            PROMPTS_VARIANT, "text", options=options, row_bytes=400, scorers=scorer_kinds
        )

    def english(self, grid: Grid, dataset: str) -> Iterator[tuple[str, str]]:
        """Yields the grammar that prompts are rewritten by."""
        yield (
            "prompts are rewritten with English articles, pronouns and verbs",
            "a counterfactual dataset or a probe, whose templates can have a form for each group",
        )

    def files(self, grid: Grid, dataset: str, variant: str) -> RewritingFiles:
        """Returns the files of a dataset, and how they are asked."""
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

    def measures(self, grid: Grid, dataset: str) -> Mapping[str, Measure]:
        """Declares the measures of a dataset, and the flags against a cell."""
        section = section_of(RewritingDataset, grid, dataset)
        optional = {"harms": section.harms, "targets": section.targets, "lists": section.lists}
        parts = [name for name, chosen in optional.items() if chosen]
        measures = DEFINITIONS.of("measures", *parts)
        similarity = main_similarity(by_vectors=section.embeddings is not None)
        headlines = {"similarity_corrected": similarity}
        # The headline is the first scorer's.
        for score, threshold in list(section.harms.items())[:1]:
            options = options_text(score=score, threshold=threshold)
            headlines |= dict.fromkeys(DEFINITIONS.of("harms"), options)
        for name, options in headlines.items():
            measures[name] = replace(measures[name], headline=options)
        return measures | DEFINITIONS.of("flags")

    def figures(self, dataset: Any) -> Sequence[str]:
        """Names the figure of pairs of groups."""
        return REWRITING_FIGURES

    def faults(self, grid: Grid, source: str) -> Iterator[Fault]:
        """Yields missing system texts that are to be rewritten, and needless stop words."""
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
        """Yields faults of the sample, of files of words and of answers, and missing neutral words.

        A sample may be missing although there are many instances, or larger than the dataset.
        """
        section, key = section_of(RewritingDataset, grid, dataset), f"datasets.{dataset}"
        folder, sample = Path(grid.word_lists), section.sample
        yield from size_faults(source, f"{key}.sample", sample, lists.count, "prompts")
        unit = "prompts that contain words of groups"
        yield from sample_faults(source, f"{key}.sample", sample, len(lists.usable), unit)
        _, of_targets = read_targets(folder, section)
        yield from of_targets
        _, of_stop_words = read_stop_words(folder, section)
        yield from of_stop_words
        yield from response_faults(grid, dataset, lists)
        if lists.groups.has_neutral:
            return
        problem = f"true, but the rows of {section.groups} have no neutral word"
        for name, needs_neutral in (
            ("neutral", section.neutral),
            ("neutralise", section.neutralise),
        ):
            if needs_neutral:
                expected = f"`{name}: false`, or a neutral word at the end of each row"
                yield Fault(source, f"{key}.{name}", problem, expected)

    def about(self, grid: Grid, dataset: str) -> Sequence[str]:
        """Returns a warning, the words of groups in the prompts, and the text about rewriting."""
        return (*about_prompts(self.files(grid, dataset, PROMPTS_VARIANT)), DEFINITIONS.about)


def response_faults(grid: Grid, dataset: str, lists: RewritingRequests) -> Iterator[Fault]:
    """Yields faults of precomputed responses of the selected models."""
    repetitions = section_of(RewritingDataset, grid, dataset).repetitions
    for name in grid.run.models:
        if not grid.fits(name, dataset):
            continue
        # Rows of what it is asked of other datasets are no faults.
        other_datasets = [
            other for other in grid.run.datasets if other != dataset and grid.fits(name, other)
        ]
        source = grid.models[name].source
        yield from source.prompt_faults(
            lists.prompts, lists.pairs(), repetitions, not other_datasets
        )


FAMILY = Rewriting()
