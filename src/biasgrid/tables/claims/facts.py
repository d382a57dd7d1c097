"""Facts about a grid besides its numbers, and the sentences that follow from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import isfinite
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from biasgrid.tables.claims.numbers import ANY_RANGE, format_number, is_size, measure_range

if TYPE_CHECKING:
    # It imports `numbers` of this folder.
    from biasgrid.tables.metric import Measure

COVERAGE = "coverage_of_design"
"""The fact of instances, and of all tables made from them, that counts the rows, subjects and the
like that were asked: (asked, all) by name.
"""


CLAIM_FACTS = (
    "counted",
    "placebos",
    "words",
    "rates",
    "remedies",
    "ranges",
    "silenced",
    "relative",
    "headlines",
)
"""The keys of the fact `CLAIMS`, which are attributes of `GridFacts`."""
SIZES_FACT = "sizes"
"""The fact of measures with the sizes of a control's tested numbers, free of noise, for its
dataset.
"""
WITHHELD = "withheld"
"""The fact of measures whether all claims of the cell are withheld."""
CLAIMS = "claims"
"""The fact of a summary with the parts of measure definitions that sentences and counts need."""
ROW_COUNT, COMPARISON_COUNT = "rows", "comparisons"
ANSWER_PROBABILITY = "answer_probability"
"""The measure that bounds some other measures of a cell, see `Measure.relative`."""
SMALL_ANSWER_PROBABILITY = 0.1
"""Below it, numbers that the answer probability bounds are small whatever a model prefers."""

CountedMeasures = Mapping[str, Mapping[str, str]]
"""By dataset and measure `Measure.counted` of the measures that have it: "" or a flag."""
CellFacts = Mapping[str, Mapping[str, Any]]
"""Facts by `DATASET/MODEL`, `COVERAGE` among them."""


class GridFacts(NamedTuple):
    """Facts about a grid besides its numbers. All but `cells` have datasets as their outer keys.

    Attributes:
        counted: the measures whose tests are counted as findings.
        ranges: the least and the largest value of each measure, None for an open end. Measures
            whose numbers may be any are absent.
        silenced: by flag, the measures that say nothing about a cell in which it is raised.
        relative: by measure that the answer probability bounds, the measure that it does not bound.
        placebos: the measures of differences that would be 0 but for noise.
        words: the template that puts a number of a measure into words, see `Measure.in_words`.
        rates: by measure of differences, the measure of the rate that differs.
        remedies: by flag, what to do if it is raised.
        cells: facts of cells, by `DATASET/MODEL`.
        headlines: by headline measure, its meaning and its value of equal treatment, None if it has
            none.
        units: the plural noun of the things that `n` counts.
        trial: the datasets of a quick trial, without controls; empty for any other run.
    """

    counted: CountedMeasures = MappingProxyType({})
    ranges: Mapping[str, Mapping[str, Sequence[float | None]]] = MappingProxyType({})
    silenced: Mapping[str, Mapping[str, Sequence[str]]] = MappingProxyType({})
    relative: Mapping[str, Mapping[str, str]] = MappingProxyType({})
    placebos: Mapping[str, Sequence[str]] = MappingProxyType({})
    words: Mapping[str, Mapping[str, str]] = MappingProxyType({})
    rates: Mapping[str, Mapping[str, str]] = MappingProxyType({})
    remedies: Mapping[str, Mapping[str, str]] = MappingProxyType({})
    cells: CellFacts = MappingProxyType({})
    headlines: Mapping[str, Mapping[str, tuple[str, float | None]]] = MappingProxyType({})
    units: Mapping[str, str] = MappingProxyType({})
    trial: Sequence[str] = ()

    @classmethod
    def from_provenance(cls, provenance: Mapping[str, Any]) -> GridFacts:
        """Takes the facts from the provenance of a summary; facts that it lacks are empty."""
        return cls(**provenance.get(CLAIMS, {}), cells=provenance.get("measures", {}))

    def value_range(self, *, dataset: str, measure: str) -> tuple[float, float]:
        """Returns the range of a measure's values in a dataset; an open end is infinite."""
        ranges = self.ranges.get(dataset, {})
        least, most = ranges.get(measure, (None, None))
        low, high = ANY_RANGE
        return low if least is None else least, high if most is None else most

    def relative_sentences(self, rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
        """Yields a sentence for each cell whose answer probability is small.

        It gives each number that this probability bounds as a multiple of it.

        Args:
            rows: rows of the summary, one per cell and measure: of several (bias types, options)
                the last one counts. Cells without an answer probability above 0 are left out.
        """
        cells: dict[tuple[str, str], dict[str, float | None]] = {}
        for row in rows:
            cell = row["dataset"], row["model"]
            cells.setdefault(cell, {})[row["measure"]] = row["value"]
        for (dataset, model), values in cells.items():
            probability = values.get(ANSWER_PROBABILITY)
            if not probability or probability >= SMALL_ANSWER_PROBABILITY:
                continue
            ratios = []
            for name in self.relative.get(dataset, {}):
                value = values.get(name)
                if value is None:
                    continue
                size = max(value, 0) if is_size(name) else value
                ratios.append(f"{name} is {format_number(size / probability)}")
            if ratios:
                yield (
                    f"{dataset}, {model}: of the answer "
                    f"probability {format_number(probability)}, {', '.join(ratios)}"
                )

    def asked_text(self, model: str, dataset: str) -> str:
        """Returns which part of a dataset a model was asked; "" if it was asked all."""
        coverage = self.cells.get(f"{dataset}/{model}", {}).get(COVERAGE)
        return asked_text(coverage) if coverage else ""

    def coverage_sentences(self, models: Iterable[str] | None = None) -> list[str]:
        """Returns a sentence for each dataset that was not asked in full.

        Args:
            models: the models that the sentences are about, all by default.
        """
        return list(coverage_sentences(self._model_cells(models)))

    def trial_text(self, models: Iterable[str] | None = None) -> str:
        """Describes how little a quick trial asked.

        Args:
            models: the models that the text is about, all by default.

        Returns:
            An empty text if the run is no quick trial, or if it asked everything.
        """
        cells = {
            cell: facts
            for cell, facts in self._model_cells(models).items()
            if cell.partition("/")[0] in self.trial
        }
        sentences = list(coverage_sentences(cells, trial_counts))
        if len(sentences) == 1 and len(self.trial) == 1:
            _, _, counts = sentences[0].partition(": ")
            return f"Quick trial: {counts}"
        return f"Quick trial of {'; of '.join(sentences)}" if sentences else ""

    def predictions(self, models: Iterable[str] | None = None) -> list[Mapping[str, Any]]:
        """Returns the provenance of the predictions of each cell of models, all by default."""
        return [facts.get("predictions", {}) for facts in self._model_cells(models).values()]

    def _model_cells(self, models: Iterable[str] | None) -> CellFacts:
        names = set(models or ()) or None
        return {
            cell: facts
            for cell, facts in self.cells.items()
            if names is None or cell.partition("/")[2] in names
        }


NO_FACTS = GridFacts()


def claim_facts(measures: Mapping[str, Mapping[str, Measure]]) -> dict[str, Any]:
    """Returns the fact `CLAIMS`: the definitions of measures that sentences and counts need.

    Args:
        measures: the definitions of each dataset's measures, by name.

    Returns:
        Each of `CLAIM_FACTS` by dataset, as JSON can hold it.
    """
    claims: dict[str, dict[str, Any]] = {fact: {} for fact in CLAIM_FACTS}
    for dataset, definitions in measures.items():
        for fact, content in dataset_claim_facts(definitions).items():
            claims[fact][dataset] = content
    return claims


def dataset_claim_facts(definitions: Mapping[str, Measure]) -> dict[str, Any]:
    """Returns each of `CLAIM_FACTS` for one dataset: mostly by measure, placebos as a list.

    Args:
        definitions: the dataset's measures, by name. A fact has only the measures whose definition
            has the corresponding field.
    """
    claims: dict[str, dict[str, Any]] = {fact: {} for fact in CLAIM_FACTS}
    for name, measure in definitions.items():
        if measure.counted is not None:
            claims["counted"][name] = measure.counted
        if measure.in_words:
            claims["words"][name] = measure.in_words
        if measure.rates:
            claims["rates"][name] = measure.rates
        if measure.relative:
            claims["relative"][name] = measure.relative
        if measure.headline is not None:
            claims["headlines"][name] = (measure.meaning, measure.fair)
        if measure.limit:
            claims["remedies"][name] = measure.limit.remedy
        if measure.limit and measure.limit.silences:
            claims["silenced"][name] = list(measure.limit.silences)
        value_range = measure_range(measure)
        if value_range != ANY_RANGE:
            claims["ranges"][name] = finite_ends(value_range)
    return {**claims, "placebos": placebo_names(definitions.values())}


def placebo_names(measures: Iterable[Measure]) -> list[str]:
    """Returns the names of the placebos that marks of some measures refer to, sorted."""
    names = {mark.placebo for measure in measures for mark in measure.marks}
    return sorted(names - {""})


def finite_ends(value_range: tuple[float, float]) -> list[float | None]:
    """Returns both ends of a range, None for an infinite one, which JSON does not have."""
    return [end if isfinite(end) else None for end in value_range]


def coverage_text(coverage: Mapping[str, Sequence[int]]) -> str:
    """Describes which share of a dataset was asked.

    Args:
        coverage: (asked, all) by name: `rows`, and the things that rows are about.

    Returns:
        A text such as `25.0 % asked (3 of 12 subjects, ..., 90 of 360 rows)`; an empty one if
        all was asked.
    """
    asked_rows, all_rows = coverage[ROW_COUNT]
    if asked_rows >= all_rows:
        return ""
    parts = [
        f"{asked_count:,} of {total:,} {name}"
        for name, (asked_count, total) in coverage.items()
        if name not in (ROW_COUNT, COMPARISON_COUNT)
    ]
    parts.append(f"{asked_rows:,} of {all_rows:,} {ROW_COUNT}")
    return f"{format_number(100 * asked_rows / all_rows)} % asked ({', '.join(parts)})"


def asked_text(coverage: Mapping[str, Sequence[int]]) -> str:
    """Describes which parts of a dataset were not asked in full, such as `2 of 70 attributes`.

    Args:
        coverage: see `coverage_text`. Rows are described only if all else was asked in full.

    Returns:
        An empty text if all was asked.
    """
    partial = {
        name: (asked_count, total)
        for name, (asked_count, total) in coverage.items()
        if name not in (ROW_COUNT, COMPARISON_COUNT) and asked_count < total
    }
    if not partial:
        asked_rows, all_rows = coverage[ROW_COUNT]
        if asked_rows < all_rows:
            partial[ROW_COUNT] = asked_rows, all_rows
    return join_counts(partial)


def trial_counts(coverage: Mapping[str, Sequence[int]]) -> str:
    """Describes how little a trial asked, such as `8 of 140 subjects, 53 of 1.37 million ...`."""
    units = COMPARISON_COUNT if COMPARISON_COUNT in coverage else ROW_COUNT
    # Provenance sorts names by the alphabet; subjects shall come first.
    other_names = sorted(coverage.keys() - {ROW_COUNT, COMPARISON_COUNT, "subjects"})
    subjects = ["subjects"] if "subjects" in coverage else []
    partial = {}
    for name in [*subjects, *other_names, units]:
        asked_count, total = coverage[name]
        if asked_count < total:
            partial[name] = asked_count, total
    return join_counts(partial)


def join_counts(counts: Mapping[str, tuple[int, int]]) -> str:
    """Joins (asked, all) counts to a text such as `8 of 140 subjects, 2 of 70 attributes`."""
    return ", ".join(
        f"{count_text(asked_count)} of {count_text(total)} {name}"
        for name, (asked_count, total) in counts.items()
    )


def count_text(amount: int) -> str:
    """Returns an amount in digits, such as `53` or `1.37 million`."""
    return f"{amount / 1e6:.3g} million" if amount >= 1e6 else f"{amount:,}"


def coverage_sentences(
    cells: CellFacts, describe: Callable[[Mapping[str, Sequence[int]]], str] = coverage_text
) -> Iterator[str]:
    """Yields a sentence for each dataset that was not asked in full.

    Models of which the same parts were asked share a sentence.

    Args:
        cells: facts of cells; those without `COVERAGE` are left out.
        describe: describes a coverage, "" if all was asked.
    """
    datasets: dict[str, dict[str, list[str]]] = {}
    for cell, facts in cells.items():
        dataset, _, model = cell.partition("/")
        if COVERAGE in facts:
            models_by_text = datasets.setdefault(dataset, {})
            models_by_text.setdefault(describe(facts[COVERAGE]), []).append(model)
    for dataset, models_by_text in datasets.items():
        for text, models in models_by_text.items():
            if text:
                # Models need names only if they were asked different parts.
                of_models = "" if len(models_by_text) == 1 else f" ({', '.join(models)})"
                yield f"{dataset}{of_models}: {text}"
