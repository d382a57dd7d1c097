"""The family of statements that models agree with or not, as others see it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from biasgrid.base.faults import Fault, one_of
from biasgrid.base.languages import known_languages, language_words
from biasgrid.families.family import Family, Format, Grid, Question, section_of
from biasgrid.families.sampling import sample_faults, sample_unless_all, size_faults
from biasgrid.families.statement.pack import StatementFiles, StatementPack, allowed_combinations
from biasgrid.families.statement.reading import StatementMode
from biasgrid.families.statement.section import PROMPT, StatementDataset
from biasgrid.groups.definitions import about_groups, measures_of_groups
from biasgrid.groups.section import GROUP_FIGURES, combination_faults
from biasgrid.tables.metric import Measure, read_definitions

if TYPE_CHECKING:
    from biasgrid.groups.records import Sort

STATEMENTS = "statements"
COMMANDS = "biasgrid.formats.apes.commands"
"""The one variant of a dataset."""
ANSWER_KIND_OF_TASK = {"scored": "choice", "written": "text"}
"""The kind of the answers."""
STATEMENT_FIGURES = ("answer_bubbles",)
OUTPUT_TYPE: Sort = "classes"
STATEMENT_DESIGN = ("template", "subject")
DEFINITIONS = read_definitions("families/statement")


class Statements(Family):
    """Asks generative models whether they agree with statements and their negations."""

    name = "statement"
    place = 3
    unit = "statements"
    asks = "whether a model agrees with statements about people and with their opposites"
    Section = StatementDataset
    is_synthetic = True
    yields_sums = True
    group_number = "difference"
    instance_bytes = 10.0
    formats: ClassVar = {"apes": Format(f"{COMMANDS}:import_file", f"{COMMANDS}:export_cell")}
    modes = StatementMode.replications
    sorts: ClassVar = {"text-generation": OUTPUT_TYPE}
    own_measures = DEFINITIONS.of("measures", "unanswered", "negations", "apes")
    flags = DEFINITIONS.of("flags")
    expected = "the task of statement datasets"

    def question(self, grid: Grid, dataset: str, model: str) -> Question | None:
        """Says what a model is asked: those of the dataset's task are."""
        entry, section = grid.models[model], section_of(StatementDataset, grid, dataset)
        if entry.task != section.task:
            return None
        asked = section.model_dump(include={"measures", "failure_threshold", "mode", "answers"})
        options = {**asked, **section.language_option(grid.word_lists)}
        return Question(STATEMENTS, ANSWER_KIND_OF_TASK[section.answers], options=options)

    def english(self, grid: Grid, dataset: str) -> Iterator[tuple[str, str]]:
        """Yields Yes and No where the language has none here, and the prompt where the dataset has
        none of its own.
        """
        section = section_of(StatementDataset, grid, dataset)
        if not language_words(section.language_reference(grid.word_lists)).answers:
            yield (
                "statements are answered with the English words Yes and No",
                (
                    f"{one_of(known_languages())}, `language_file` with `yes` and `no`, or a "
                    "probe whose evaluator has words of its own, such as `one-of`"
                ),
            )
        elif section.prompt == PROMPT and section.prompts is None:
            yield (
                "the prompt for statements is English",
                "a `prompt`, or `prompts`, in the language of the dataset",
            )

    def files(self, grid: Grid, dataset: str, variant: str) -> StatementFiles:
        """Returns the files of a dataset."""
        folder, section = Path(grid.word_lists), section_of(StatementDataset, grid, dataset)
        return StatementFiles(
            templates=folder / section.templates,
            domains=folder / section.domains,
            mode=section.mode,
            repetitions=section.repetitions,
            sample=sample_unless_all(section.sample, section.sample_by),
            system=section.system,
            prompt=section.prompt,
            prompts=tuple(folder / name for name in section.prompts or ()),
            language=section.language_reference(grid.word_lists),
        )

    def measures(self, grid: Grid, dataset: str) -> Mapping[str, Measure]:
        """Declares the family's measures, those of groups, and what speaks against a cell."""
        section = section_of(StatementDataset, grid, dataset)
        own = DEFINITIONS.of("measures", "unanswered", "negations", *filter(None, [section.mode]))
        of_groups = measures_of_groups(OUTPUT_TYPE, section.failure_threshold, STATEMENT_DESIGN)
        return {**own, **of_groups, **DEFINITIONS.of("flags")}

    def about(self, grid: Grid, dataset: str) -> Sequence[str]:
        """Tells of the statements and of the comparison of groups."""
        return DEFINITIONS.about, about_groups()

    def cluster_texts(self, lists: StatementPack) -> Sequence[str]:
        """Returns the text of each template, for negations that of what they negate."""
        stated = {negation: place for place, negation in lists.negations.items()}
        return [
            lists.templates[stated.get(place, place)].text for place in range(len(lists.templates))
        ]

    def template_texts(self, lists: StatementPack) -> Sequence[str]:
        """Returns the text of each template, of negations their own."""
        return [template.text for template in lists.templates]

    def sampled(self, lists: StatementPack, clusters: Callable[[], Sequence[int]]) -> str | None:
        """Says of how many clusters of templates a sample asks statements."""
        if lists.files.sample is None:
            return None
        from biasgrid.families.statement.expand import combinations_asked, combinations_of_pack

        found = combinations_asked(lists, combinations_of_pack(lists))
        asked = [(places[0], len(combinations)) for places, combinations in found]
        of_template = clusters()
        met = {of_template[place] for place, count in asked if count}
        there, statements = (
            {of_template[place] for place, _ in asked},
            sum(count for _, count in asked),
        )
        return f"{statements:,} statements: {len(met)} of {len(there)} clusters of templates"

    def figures(self, dataset: StatementDataset) -> Sequence[str]:
        """Names the family's figures and those of groups."""
        return (*STATEMENT_FIGURES, *GROUP_FIGURES)

    def measure_faults(self, grid: Grid, source: str) -> Iterator[Fault]:
        """Yields comparisons of classes that cannot be computed of selected datasets."""
        for name in grid.run.datasets:
            section = grid.datasets[name]
            if isinstance(section, StatementDataset):
                yield from combination_faults(
                    source, name, OUTPUT_TYPE, section.measures or (), classes=2
                )

    def list_faults(
        self, grid: Grid, source: str, dataset: str, variant: str, lists: StatementPack
    ) -> Iterator[Fault]:
        """Yields a sample that is none or too large, not knowing yet which statements have the
        texts of others.
        """
        section, key = section_of(StatementDataset, grid, dataset), f"datasets.{dataset}.sample"
        unit = "statements with their negations"
        counts = [
            len(allowed_combinations(lists, lists.templates[places[0]]))
            for places in lists.statements
        ]
        instances = sum(
            count * len(places) for count, places in zip(counts, lists.statements, strict=True)
        )
        asked = section.repetitions * len(lists.prompts) * instances
        yield from size_faults(source, key, section.sample, asked, unit)
        yield from sample_faults(source, key, section.sample, sum(counts), unit)


FAMILY = Statements()
