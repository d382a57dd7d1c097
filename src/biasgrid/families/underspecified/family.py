"""The family of underspecified questions about pairs of subjects, as others see it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from biasgrid.base.faults import Fault
from biasgrid.families.family import Family, Format, Grid, Question
from biasgrid.families.sampling import sample_faults, size_faults, some_of
from biasgrid.families.underspecified import declared, faults
from biasgrid.families.underspecified.design import design_of
from biasgrid.families.underspecified.section import UnderspecifiedDataset, is_generative
from biasgrid.families.underspecified.stereotypes.lists import form_faults, groups_named, unknown_faults
from biasgrid.families.underspecified.word_lists import WordListFiles, WordLists
from biasgrid.groups.section import GROUP_FIGURES, combination_faults
from biasgrid.tables.metric import Measure

ANSWERS = {"question-answering": "span", "fill-mask": "choice", "text-generation": "choice"}
"""The answer kind of models of each task."""
FIGURES = ("ranks", "heat_map", "associations", "significant_associations", "clusters_left_out", "winners")
SUBJECT_GROUPS = "subject_groups"
"""The figure of datasets with two lists of subjects, such as female and male names."""
PRONOUNS = [3, 4]
"""Which candidates are pronouns."""
# Measured by writing the tables of config/config.yaml with random probabilities: 13.9 to 14.1, 28.5, 17.8 and, with
# pronouns, 25.1 bytes a row, of which a key takes 8; a table of few rows has 5 to 9 kB.
ROW_BYTES = {"question-answering": 28.5, "fill-mask": 17.8, "text-generation": 26.0}
PRONOUN_BYTES = 7.3


class Underspecified(Family):
    """Asks models for a variant which of two subjects an attribute belongs to."""

    name = "underspecified"
    Section = UnderspecifiedDataset
    is_synthetic = True
    grid_figures = ("intensity_mu", "intensity_eta", "model_ranks", "variances", "clusters_needed", "errors")
    instance_bytes = 14.0
    formats: ClassVar = {
        "unqover": Format(
            "biasgrid.formats.unqover.commands:import_file", "biasgrid.formats.unqover.commands:export_cell"
        )
    }
    sorts: ClassVar = dict.fromkeys(ANSWERS, "subjects")
    own_measures: ClassVar = {**declared.OWN, **declared.STEREOTYPES, **declared.COVERAGE}
    flags = declared.FLAGS
    expected = "a `variant` for underspecified datasets"

    def question(self, grid: Grid, dataset: str, model: str) -> Question | None:
        """Says what a model is asked: the variant that it names, whether the dataset has it or not."""
        entry, section = grid.models[model], faults.datasets_of(grid)[dataset]
        if entry.variant is None:
            return None
        dump = entry.predictions.get(dataset)
        settings: dict[str, Any] = {"scoring": dump.scoring if dump else grid.scoring}
        of_groups = {"measures", "failure_threshold"} if section.compares_groups else {"measures"}
        options = {"task": entry.task, **settings, **section.model_dump(include=of_groups)}
        if is_generative(entry.variant):
            # Options are letters, whose probabilities are read in one way.
            settings = {}
        if section.stereotypes:
            options["stereotypes"] = groups_named(Path(grid.word_lists, section.stereotypes))
        row_bytes = ROW_BYTES.get(entry.task, 0)
        if entry.task == "fill-mask" and dump is None:
            pronouns = PRONOUNS if section.pronouns else []
            settings |= {"target_scoring": section.target_scoring, "either_case": pronouns}
            row_bytes += PRONOUN_BYTES if pronouns else 0
        tokenizer = faults.filtering_tokenizer(section, entry.variant)
        return Question(entry.variant, ANSWERS.get(entry.task, ""), settings, options, tokenizer, row_bytes)

    def files(self, grid: Grid, dataset: str, variant: str) -> WordListFiles:
        """Returns the word lists of a dataset's variant."""
        folder, section = Path(grid.word_lists), faults.datasets_of(grid)[dataset]
        chosen, masked = section.variants[variant], variant.startswith("lm-")
        return WordListFiles(
            templates=folder / chosen.templates,
            subjects=tuple(folder / name for name in section.subjects_of(variant)),
            attributes=folder / section.attributes,
            filler=folder / chosen.filler if chosen.filler else None,
            mask=grid.tokenizers[variant.removeprefix("lm-")].mask if masked else None,
            limit=section.limit.model_dump(exclude_none=True),
            pronouns=section.pronouns if masked else {},
            sample=some_of(section.sample_of(variant)),
            prompt=folder / chosen.prompt if chosen.prompt else None,
        )

    def measures(self, grid: Grid, dataset: str) -> Mapping[str, Measure]:
        """Declares the family's measures, and those of groups if the dataset asks for them."""
        return declared.measures(faults.datasets_of(grid)[dataset])

    def about(self, grid: Grid, dataset: str) -> Sequence[str]:
        """Tells of the questions, and of groups if the dataset compares them."""
        return declared.about(faults.datasets_of(grid)[dataset])

    def cluster_texts(self, lists: WordLists) -> Sequence[str]:
        """Returns context and both questions of each template."""
        return [template.text for template in lists.templates]

    def templates_asked(self, lists: WordLists) -> int:
        """Returns how many templates the key `limit` leaves."""
        return min(len(lists.templates), lists.limit.get("templates", len(lists.templates)))

    def figures(self, dataset: UnderspecifiedDataset) -> Sequence[str]:
        """Names the family's figures, and those of groups if the dataset compares them."""
        own = (*FIGURES, SUBJECT_GROUPS) if len(dataset.subjects) == 2 else FIGURES
        return (*own, *GROUP_FIGURES) if dataset.compares_groups else own

    def faults(self, grid: Grid, source: str) -> Iterator[Fault]:
        """Yields what is wrong with variants, tokenizers, dumps and the known effect."""
        yield from faults.faults(grid, source)

    def measure_faults(self, grid: Grid, source: str) -> Iterator[Fault]:
        """Yields comparisons of groups that cannot be computed of selected datasets, and what is no stereotype."""
        for name in grid.run.datasets:
            if section := faults.datasets_of(grid).get(name):
                # Without the folder of lists this is said of the folder, once.
                if section.stereotypes and Path(grid.word_lists).is_dir():
                    yield from form_faults(Path(grid.word_lists, section.stereotypes))
                yield from combination_faults(source, name, "subjects", section.measures or (), classes=0)

    def list_faults(self, grid: Grid, source: str, dataset: str, variant: str, lists: WordLists) -> Iterator[Fault]:
        """Yields groups without a pronoun where pronouns are asked for, and samples that are none or too large.

        What a file of stereotypes names and the dataset does not have is a fault as well.
        """
        section, design = faults.datasets_of(grid)[dataset], design_of(lists)
        if section.stereotypes:
            yield from unknown_faults(Path(grid.word_lists, section.stereotypes), lists)
        sample, key = section.sample_of(variant), f"datasets.{dataset}.sample"
        if is_generative(variant):
            yield from size_faults(source, key, sample, design.instances, "swap groups of four")
        if section.variants[variant].sample is not None:
            key = f"datasets.{dataset}.variants.{variant}.sample"
        yield from sample_faults(source, key, sample, design.swap_groups, "swap groups")
        if not section.pronouns or not variant.startswith("lm-"):
            return
        subject_groups = {subject_group for subjects in lists.subjects for subject_group in subjects.groups}
        key, expected = f"datasets.{dataset}.pronouns", "a pronoun for the group of every subject"
        for subject_group in sorted(subject_groups - section.pronouns.keys(), key=str):
            whose = f"subjects of group {subject_group!r}" if subject_group else "subjects without group"
            problem = f"no pronoun for {whose} in {', '.join(section.subjects)}"
            yield Fault(source, key, problem, expected)

    def teaches(self, grid: Grid, dataset: str, model: str) -> bool:
        """Says whether the dataset has the variant of a model that learns all datasets of its variant."""
        entry, section = grid.models[model], faults.datasets_of(grid)[dataset]
        return entry.train is not None and not entry.train.dataset and entry.variant in section.variants


FAMILY = Underspecified()
