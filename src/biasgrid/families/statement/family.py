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
        """Returns the question to a model of the dataset's task, None for other models."""
        entry, section = grid.models[model], section_of(StatementDataset, grid, dataset)
        if entry.task != section.task:
            return None
        chosen = section.model_dump(include={"measures", "failure_threshold", "mode", "answers"})
        options = {**chosen, **section.language_option(grid.word_lists)}
        return Question(STATEMENTS, ANSWER_KIND_OF_TASK[section.answers], options=options)

    def english(self, grid: Grid, dataset: str) -> Iterator[tuple[str, str]]:
        """Yields Yes and No if the language lacks them, or a prompt that is the English default."""
        section = section_of(StatementDataset, grid, dataset)
        language = language_words(section.language_reference(grid.word_lists))
        if not language.answers:
            instead = (
                f"{one_of(known_languages())}, `language_file` with `yes` and `no`, or a "
                "probe whose evaluator has words of its own, such as `one-of`"
            )
            yield "statements are answered with the English words Yes and No", instead
        elif section.prompt == PROMPT and section.prompts is None:
            instead = "a `prompt`, or `prompts`, in the language of the dataset"
            yield "the prompt for statements is English", instead

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
        """Declares the measures of statements and of groups, and the flags against a cell."""
        section = section_of(StatementDataset, grid, dataset)
        own = DEFINITIONS.of("measures", "unanswered", "negations", *filter(None, [section.mode]))
        of_groups = measures_of_groups(OUTPUT_TYPE, section.failure_threshold, STATEMENT_DESIGN)
        return {**own, **of_groups, **DEFINITIONS.of("flags")}

    def about(self, grid: Grid, dataset: str) -> Sequence[str]:
        """Returns the texts about statements and about the comparison of groups."""
        return DEFINITIONS.about, about_groups()

    def cluster_texts(self, lists: StatementPack) -> Sequence[str]:
        """Returns the text of each template, and for a negation the text that it negates."""
        texts = [template.text for template in lists.templates]
        for place, negation in lists.negations.items():
            texts[negation] = lists.templates[place].text
        return texts

    def template_texts(self, lists: StatementPack) -> Sequence[str]:
        """Returns the text of each template, of negations their own."""
        return [template.text for template in lists.templates]

    def sampled(self, lists: StatementPack, clusters: Callable[[], Sequence[int]]) -> str | None:
        """Returns a text on the number of template clusters in a sample; None without a sample."""
        if lists.files.sample is None:
            return None
        from biasgrid.families.statement.expand import combinations_asked, combinations_of_pack

        cluster_of = clusters()
        present, sampled = set(), set()
        statements = 0
        for (place, *_), combinations in combinations_asked(lists, combinations_of_pack(lists)):
            present.add(cluster_of[place])
            if len(combinations):
                sampled.add(cluster_of[place])
            statements += len(combinations)
        return f"{statements:,} statements: {len(sampled)} of {len(present)} clusters of templates"

    def figures(self, dataset: StatementDataset) -> Sequence[str]:
        """Names the family's figures and those of groups."""
        return (*STATEMENT_FIGURES, *GROUP_FIGURES)

    def measure_faults(self, grid: Grid, source: str) -> Iterator[Fault]:
        """Yields comparisons of classes that cannot be computed of selected datasets."""
        for name in grid.run.datasets:
            section = grid.datasets[name]
            if isinstance(section, StatementDataset):
                measures = section.measures or ()
                yield from combination_faults(source, name, OUTPUT_TYPE, measures, classes=2)

    def list_faults(
        self, grid: Grid, source: str, dataset: str, variant: str, lists: StatementPack
    ) -> Iterator[Fault]:
        """Yields a missing sample of many instances, or one larger than the pack.

        Statements with the texts of others count here: their texts are not filled yet.
        """
        section, key = section_of(StatementDataset, grid, dataset), f"datasets.{dataset}.sample"
        unit = "statements with their negations"
        statements = instances = 0
        for places in lists.statements:
            count = len(allowed_combinations(lists, lists.templates[places[0]]))
            statements += count
            instances += count * len(places)
        requests = section.repetitions * len(lists.prompts) * instances
        yield from size_faults(source, key, section.sample, requests, unit)
        yield from sample_faults(source, key, section.sample, statements, unit)


FAMILY = Statements()
