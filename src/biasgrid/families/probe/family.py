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
from biasgrid.tables.claims.marks import MarkSection
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
        """Says what a model is asked: those of the dataset's task are, in the variant that its
        section asks for.
        """
        entry, section = grid.models[model], section_of(ProbeDataset, grid, dataset)
        if entry.task != section.task:
            return None
        loaded = load_probe_of_dataset(grid, dataset)
        variant = section.answers or default_variant(loaded, section, grid.word_lists)
        asked = {
            "probe": str(probe_path(grid, dataset)),
            "digest": loaded.digest,
            "mode": section.mode,
        }
        options = {**asked, **section.language_option(grid.word_lists)}
        scorer = loaded.probe.head.evaluator.scorer if loaded.probe else None
        return Question(
            variant,
            VARIANT_ANSWERS[variant],
            options=options,
            scorers={scorer: "score"} if scorer else {},
        )

    def english(self, grid: Grid, dataset: str) -> Iterator[tuple[str, str]]:
        """Yields the evaluator, where it lacks the words of the language."""
        probe = load_probe_of_dataset(grid, dataset).probe
        language = language_words(
            section_of(ProbeDataset, grid, dataset).language_reference(grid.word_lists)
        )
        if probe and not probe.head.evaluator.knows(language):
            what = (
                f"the evaluator `{probe.head.evaluator.name}` looks for "
                f"English words: {probe.head.evaluator.LOOKS_FOR}"
            )
            instead = (
                "`language_file` with these words, an evaluator with your own words (`one-of`, "
                "`phrases`, `words`)"
            )
            yield what, f"{instead}, or `scorer`"

    def files(self, grid: Grid, dataset: str, variant: str) -> ProbeFiles:
        """Returns the file of a dataset, and how it is asked."""
        section = section_of(ProbeDataset, grid, dataset)
        sample = sample_unless_all(section.sample)
        language = section.language_reference(grid.word_lists)
        return ProbeFiles(probe_path(grid, dataset), variant, section.repetitions, sample, language)

    def measures(self, grid: Grid, dataset: str) -> Mapping[str, Measure]:
        """Declares the metrics of the probe, with their marks, and what is measured of all
        probes.
        """
        declared = measures_of_probe(load_probe_of_dataset(grid, dataset).probe)
        if not section_of(ProbeDataset, grid, dataset).mode:
            return declared
        # Numbers and marks are given as the original gives them.
        return {name: as_published(name, one) for name, one in declared.items()}

    def list_faults(
        self, grid: Grid, source: str, dataset: str, variant: str, lists: ProbeRequests
    ) -> Iterator[Fault]:
        """Yields a sample that is none or too large."""
        section, key = section_of(ProbeDataset, grid, dataset), f"datasets.{dataset}.sample"
        yield from size_faults(source, key, section.sample, lists.count, "items")
        yield from sample_faults(source, key, section.sample, len(lists.probe.items), "items")

    def section(self, grid: Grid, dataset: str) -> MarkSection | None:
        """Says together with what other probes of the same mode one is judged."""
        probe, title = (
            load_probe_of_dataset(grid, dataset).probe,
            ProbeMode.of(section_of(ProbeDataset, grid, dataset).mode).title,
        )
        if probe is None or probe.head.section is None:
            return None
        return MarkSection(
            f"{probe.head.section} ({title})" if title else probe.head.section, bool(title)
        )

    def teaches(self, grid: Grid, dataset: str, model: str) -> bool:
        """Says whether a model that learns all datasets that it is asked is asked this one, and its
        options scored.
        """
        train, question = grid.models[model].train, self.question(grid, dataset, model)
        return (
            train is not None
            and not train.dataset
            and question is not None
            and question.variant == SCORED
        )

    def synthetic_options(self, grid: Grid, dataset: str) -> Mapping[str, Any]:
        """Names the probe, of whose answers metrics are put in."""
        section, digest = (
            section_of(ProbeDataset, grid, dataset),
            load_probe_of_dataset(grid, dataset).digest,
        )
        return {
            "probe": str(probe_path(grid, dataset)),
            "digest": digest,
            **section.language_option(grid.word_lists),
        }

    def figures(self, dataset: ProbeDataset) -> Sequence[str]:
        """Names the figure of metrics and marks."""
        return PROBE_FIGURES

    def about(self, grid: Grid, dataset: str) -> Sequence[str]:
        """Tells of probes, and what the author says of this one, a warning first."""
        probe = load_probe_of_dataset(grid, dataset).probe
        if probe is None:
            return (DEFINITIONS.about,)
        head = probe.head
        sources = " ".join(f"{name}: {source}" for name, source in head.sources.items())
        evidence = f"Evidence that these are stereotypes. {sources}" if sources else None
        return (DEFINITIONS.about, *filter(None, (head.warning, head.about, head.harm, evidence)))


def measures_of_probe(probe: Probe | None) -> Mapping[str, Measure]:
    """Returns the measures of a probe, those with marks first; without one, those of all."""
    own = (
        {name: metric_definition(name, metric, probe) for name, metric in probe.head.metric.items()}
        if probe
        else {}
    )
    placebos = {mark.placebo for measure in own.values() for mark in measure.marks}
    own = {
        name: replace(measure, counted=None if name in placebos else "")
        for name, measure in own.items()
    }
    marked_first = sorted(own, key=lambda name: not own[name].marks)
    return {**{name: own[name] for name in marked_first}, **DEFINITIONS.of("measures", "flags")}


def as_published(name: str, measure: Measure) -> Measure:
    """Returns a measure with its original marks; a flag that otherwise leaves a cell no marks
    withholds nothing.
    """
    if name in WITHHOLD_MARKS:
        return measure.without_withholding()
    return replace(measure, marks=tuple(replace(mark, original=True) for mark in measure.marks))


def metric_definition(name: str, metric: Metric, probe: Probe) -> Measure:
    """Returns the definition of a metric of a probe: that of its kind, with the probe's words and
    marks.
    """
    is_of_two = len(getattr(metric, "groups", None) or ()) == 2
    kind = DEFINITIONS.of("metrics", "pairs" if is_of_two else "metrics")[metric.kind]
    meaning = kind.meaning.format(**metric.model_dump())
    if isinstance(metric, ObservationMetric) and metric.where:
        meaning += (
            f", where {' and '.join(f'{key} is {value!r}' for key, value in metric.where.items())}"
        )
    title = name.replace("_", " ")
    marks = next((marks.marks() for marks in probe.head.marks if marks.measure == name), ())
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
    """Returns how a probe is asked where its dataset does not say."""
    head = loaded.probe.head if loaded.probe else None
    language = language_words(section.language_reference(word_lists))
    can_be = head is not None and bool(head.evaluator.candidates(list(head.options), language))
    return SCORED if can_be and section.repetitions == 1 else WRITTEN


def probe_path(grid: Grid, dataset: str) -> Path:
    """Returns the file of a probe."""
    return Path(grid.word_lists) / section_of(ProbeDataset, grid, dataset).probe


def load_probe_of_dataset(grid: Grid, dataset: str) -> LoadedProbe:
    """Returns what the file of a probe holds."""
    return load_probe(probe_path(grid, dataset))


FAMILY = Probes()
