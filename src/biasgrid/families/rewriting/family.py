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
        """Says what a model is asked: those of the dataset's task are."""
        entry, section = grid.models[model], section_of(RewritingDataset, grid, dataset)
        if entry.task != section.task:
            return None
        folder = Path(grid.word_lists)
        groups = folder / section.groups
        chosen = section.model_dump(
            include={"neutralise", "threshold", "mode", "harms", "lists", "embeddings"}
        )
        scorers = list(dict.fromkeys([*section.scorers, *section.harms]))
        words = {
            "targets": read_targets(folder, section)[0],
            "stop_words": read_stop_words(folder, section)[0],
        }
        options = {
            "groups": str(groups),
            "digest": groups_digest(groups),
            "scorers": scorers,
            **words,
            **chosen,
        }
        asked = {scorer: "score" for scorer in scorers if scorer not in VADER_SCORERS}
        asked |= {section.embeddings: "vector"} if section.embeddings else {}
        return Question(PROMPTS_VARIANT, "text", options=options, row_bytes=400, scorers=asked)

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
        """Declares the family's measures, and what speaks against a cell."""
        section = section_of(RewritingDataset, grid, dataset)
        optional = {"harms": section.harms, "targets": section.targets, "lists": section.lists}
        measures = DEFINITIONS.of("measures", *(key for key, asked in optional.items() if asked))
        headlines = {
            "similarity_corrected": main_similarity(by_vectors=section.embeddings is not None)
        }
        for score, threshold in list(section.harms.items())[:1]:
            headlines |= dict.fromkeys(
                DEFINITIONS.of("harms"), options_text(score=score, threshold=threshold)
            )
        measures |= {
            name: replace(measures[name], headline=headline) for name, headline in headlines.items()
        }
        return measures | DEFINITIONS.of("flags")

    def figures(self, dataset: Any) -> Sequence[str]:
        """Names the figure of pairs of groups."""
        return REWRITING_FIGURES

    def faults(self, grid: Grid, source: str) -> Iterator[Fault]:
        """Yields a system text that is to be rewritten and is not there, and stop words that
        nothing needs.
        """
        for name, section in grid.datasets.items():
            if not isinstance(section, RewritingDataset):
                continue
            key = f"datasets.{name}"
            if section.rewrite == "system" and section.system is None:
                yield Fault(
                    source,
                    f"{key}.rewrite",
                    "`system`, but there is no system text",
                    "a text in `system`",
                )
            if section.stop_words is not None and section.targets is None:
                problem = (
                    f"{section.stop_words!r}, but there are no `targets`, near which "
                    "words are counted"
                )
                yield Fault(
                    source,
                    f"{key}.stop_words",
                    problem,
                    "`targets` with a file of words, or no `stop_words`",
                )

    def list_faults(
        self, grid: Grid, source: str, dataset: str, variant: str, lists: RewritingRequests
    ) -> Iterator[Fault]:
        """Yields a sample that is none or too large, and neutral words that are missing."""
        section, key = section_of(RewritingDataset, grid, dataset), f"datasets.{dataset}"
        yield from size_faults(source, f"{key}.sample", section.sample, lists.count, "prompts")
        usable, unit = len(lists.usable), "prompts that contain words of groups"
        yield from sample_faults(source, f"{key}.sample", section.sample, usable, unit)
        yield from read_targets(Path(grid.word_lists), section)[1]
        yield from read_stop_words(Path(grid.word_lists), section)[1]
        yield from response_faults(grid, dataset, lists)
        if section.neutral and not lists.groups.has_neutral:
            problem = f"true, but the rows of {section.groups} have no neutral word"
            yield Fault(
                source,
                f"{key}.neutral",
                problem,
                "`neutral: false`, or a neutral word at the end of each row",
            )
        if section.neutralise and not lists.groups.has_neutral:
            problem = f"true, but the rows of {section.groups} have no neutral word"
            yield Fault(
                source,
                f"{key}.neutralise",
                problem,
                "`neutralise: false`, or a neutral word at the end of each row",
            )

    def about(self, grid: Grid, dataset: str) -> Sequence[str]:
        """Tells of rewriting, with a warning first, and which words were found in the prompts."""
        return (*about_prompts(self.files(grid, dataset, PROMPTS_VARIANT)), DEFINITIONS.about)


def response_faults(grid: Grid, dataset: str, lists: RewritingRequests) -> Iterator[Fault]:
    """Yields what is wrong with answers that are there, of selected models that have them in place
    of a checkpoint.
    """
    repetitions = section_of(RewritingDataset, grid, dataset).repetitions
    asked = [name for name in grid.run.models if grid.fits(name, dataset)]
    for name in asked:
        # Rows of what it is asked of other datasets are no faults.
        others = [
            other for other in grid.run.datasets if other != dataset and grid.fits(name, other)
        ]
        source = grid.models[name].source
        yield from source.prompt_faults(lists.prompts, lists.pairs(), repetitions, not others)


FAMILY = Rewriting()
