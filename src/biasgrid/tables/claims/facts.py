"""What is known of the cells of a grid beside their numbers, and what sentences and tables need of
it.
"""

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
"""The fact of instances, and of what is made of them, of how many of all rows, subjects, ... were
asked.
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
"""The parts of the fact `CLAIMS`, which are attributes of `GridFacts`."""
SIZES_FACT = "sizes"
"""The fact of measures of how large tested numbers are, free of noise, for the dataset whose
control the cell is.
"""
WITHHELD = "withheld"
"""The fact of measures of whether all claims of the cell are withheld."""
CLAIMS = "claims"
"""The fact of a summary of which measures are counted, and between what the numbers of measures
are.
"""
ROW_COUNT, COMPARISON_COUNT = "rows", "comparisons"
ANSWER_PROBABILITY = "answer_probability"
"""The measure of a cell that bounds some of its others."""
SMALL_ANSWER_PROBABILITY = 0.1
"""With a smaller answer probability, numbers that it bounds are small whatever a model prefers."""

CountedMeasures = Mapping[str, Mapping[str, str]]
"""Of each dataset the measures whose tests are counted: by name, empty or a flag that puts them in
place of others.
"""
CellFacts = Mapping[str, Mapping[str, Any]]
"""Facts by `DATASET/MODEL`, `COVERAGE` among them."""


class GridFacts(NamedTuple):
    """What is known of a grid beside its numbers.

    Attributes:
        counted: of each dataset the measures whose tests are counted.
        ranges: of each dataset between what the numbers of its measures are; None where there is no
            end.
        silenced: of each dataset, by flag, the measures that say nothing where it speaks against a
            cell.
        relative: of each dataset the measures that the answer probability bounds, with those that
            it does not.
        placebos: of each dataset the measures of differences where none can be.
        words: of each dataset how a number of a measure is put into words, see `Measure.in_words`.
        rates: of each dataset, by measure of differences, the measure of the rate that differs, see
            `Measure.rates`.
        remedies: of each dataset, by flag, what to do where it speaks against a cell.
        cells: the facts of its cells.
        headlines: of each dataset the meaning of its headline measures, with the value of equal
            treatment, if any.
        units: of each dataset what `n` counts, in words.
        trial: of a quick trial the datasets that it is about, without controls; empty of any other
            run.
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
        """Returns what the provenance of a summary says; nothing where it says nothing of
        claims.
        """
        return cls(**provenance.get(CLAIMS, {}), cells=provenance.get("measures", {}))

    def measure_limits(self, row: Mapping[str, Any]) -> tuple[float, float]:
        """Returns the range of a row's `measure` in its `dataset`; an open end is infinite."""
        ranges = self.ranges.get(row["dataset"], {})
        least, most = ranges.get(row["measure"], (None, None))
        low, high = ANY_RANGE
        return low if least is None else least, high if most is None else most

    def relative_sentences(self, rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
        """Yields a sentence for each cell whose answer probability is small.

        It gives the size of each number that is bounded by this probability as a multiple of it.

        Args:
            rows: of the summary.
        """
        cells: dict[tuple[str, str], dict[str, float | None]] = {}
        for row in rows:
            cell = row["dataset"], row["model"]
            cells.setdefault(cell, {})[row["measure"]] = row["value"]
        for (dataset, model), values in cells.items():
            # Without an answer probability, or with one of 0, there is nothing to divide by.
            probability = values.get(ANSWER_PROBABILITY) or SMALL_ANSWER_PROBABILITY
            ratios = []
            for name in self.relative.get(dataset, {}):
                value = values.get(name)
                if value is None:
                    continue
                size = max(value, 0) if is_size(name) else value
                ratios.append(f"{name} is {format_number(size / probability)}")
            if ratios and probability < SMALL_ANSWER_PROBABILITY:
                yield (
                    f"{dataset}, {model}: of the answer "
                    f"probability {format_number(probability)}, {', '.join(ratios)}"
                )

    def asked_text(self, model: str, dataset: str) -> str:
        """Returns how little of a dataset a model was asked, see `asked_text`; nothing where it was
        asked all.
        """
        coverage = self.cells.get(f"{dataset}/{model}", {}).get(COVERAGE)
        return asked_text(coverage) if coverage else ""

    def coverage_sentences(self, models: Iterable[str] | None = None) -> list[str]:
        """Returns of which datasets not all was asked, a sentence each; see
        `coverage_sentences`.
        """
        return list(coverage_sentences(self._cells_of(models)))

    def trial_text(self, models: Iterable[str] | None = None) -> str:
        """Describes how little a quick trial asked.

        Args:
            models: the models that the text is about, all by default.

        Returns:
            An empty text if the run is no quick trial, or if it asked everything.
        """
        cells = {
            cell: facts
            for cell, facts in self._cells_of(models).items()
            if cell.partition("/")[0] in self.trial
        }
        sentences = list(coverage_sentences(cells, trial_counts))
        if len(sentences) == 1 and len(self.trial) == 1:
            _, _, counts = sentences[0].partition(": ")
            return f"Quick trial: {counts}"
        return f"Quick trial of {'; of '.join(sentences)}" if sentences else ""

    def _cells_of(self, models: Iterable[str] | None) -> CellFacts:
        chosen = set(models or ()) or None
        return {
            cell: facts
            for cell, facts in self.cells.items()
            if chosen is None or cell.partition("/")[2] in chosen
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
        definitions: the dataset's measures, by name. A measure stands only in the facts that its
            definition has.
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
        limits = measure_range(measure)
        if limits != ANY_RANGE:
            claims["ranges"][name] = finite_ends(limits)
    return {**claims, "placebos": placebo_names(definitions.values())}


def placebo_names(measures: Iterable[Measure]) -> list[str]:
    """Returns the sorted names of the placebos that marks of some measures refer to."""
    names = {mark.placebo for measure in measures for mark in measure.marks}
    return sorted(names - {""})


def finite_ends(limits: tuple[float, float]) -> list[float | None]:
    """Returns both ends of a range, None for an infinite one, which JSON does not have."""
    return [end if isfinite(end) else None for end in limits]


def coverage_text(coverage: Mapping[str, Sequence[int]]) -> str:
    """Describes which share of a dataset was asked.

    Args:
        coverage: how many were asked of how many, by name: `rows` and what these are about.

    Returns:
        A text such as `25.0 % asked (3 of 12 subjects, ..., 90 of 360 rows)`; an empty one if
        all was asked.
    """
    asked, total = coverage[ROW_COUNT]
    if asked >= total:
        return ""
    parts = [
        f"{count:,} of {of:,} {name}"
        for name, (count, of) in coverage.items()
        if name not in (ROW_COUNT, COMPARISON_COUNT)
    ]
    parts.append(f"{asked:,} of {total:,} {ROW_COUNT}")
    return f"{format_number(100 * asked / total)} % asked ({', '.join(parts)})"


def asked_text(coverage: Mapping[str, Sequence[int]]) -> str:
    """Describes which parts of a dataset were not asked in full, such as `2 of 70 attributes`.

    Args:
        coverage: see `coverage_text`; rows count where nothing else was asked in part.

    Returns:
        An empty text if all was asked.
    """
    partial = {
        name: (asked, total)
        for name, (asked, total) in coverage.items()
        if name not in (ROW_COUNT, COMPARISON_COUNT) and asked < total
    }
    if not partial:
        asked_rows, all_rows = coverage[ROW_COUNT]
        if asked_rows < all_rows:
            partial[ROW_COUNT] = asked_rows, all_rows
    return join_counts(partial)


def trial_counts(coverage: Mapping[str, Sequence[int]]) -> str:
    """Describes how little a trial asked, such as `8 of 140 subjects, 53 of 1.37 million ...`."""
    units = COMPARISON_COUNT if COMPARISON_COUNT in coverage else ROW_COUNT
    # Provenance sorts names by the alphabet; subjects come first all the same.
    others = sorted(coverage.keys() - {ROW_COUNT, COMPARISON_COUNT, "subjects"})
    subjects = ["subjects"] if "subjects" in coverage else []
    partial = {}
    for name in [*subjects, *others, units]:
        asked, total = coverage[name]
        if asked < total:
            partial[name] = asked, total
    return join_counts(partial)


def join_counts(counts: Mapping[str, tuple[int, int]]) -> str:
    """Joins counts of asked things, each as a part of all, such as `2 of 70 attributes`."""
    return ", ".join(
        f"{count_text(asked)} of {count_text(total)} {name}"
        for name, (asked, total) in counts.items()
    )


def count_text(count: int) -> str:
    """Returns a count in digits, millions as such."""
    return f"{count / 1e6:.3g} million" if count >= 1e6 else f"{count:,}"


def coverage_sentences(
    cells: CellFacts, text_of: Callable[[Mapping[str, Sequence[int]]], str] = coverage_text
) -> Iterator[str]:
    """Yields a sentence for each dataset that was not asked in full.

    Models of which the same parts were asked share a sentence.

    Args:
        cells: the facts of cells; those without `COVERAGE` say nothing.
        text_of: puts how much was asked into words, none where that was all.
    """
    datasets: dict[str, dict[str, list[str]]] = {}
    for cell, facts in cells.items():
        dataset, _, model = cell.partition("/")
        if COVERAGE in facts:
            models_by_text = datasets.setdefault(dataset, {})
            models_by_text.setdefault(text_of(facts[COVERAGE]), []).append(model)
    for dataset, models_by_text in datasets.items():
        for text, models in models_by_text.items():
            if text:
                # Models need names only if they were asked different parts.
                of_models = "" if len(models_by_text) == 1 else f" ({', '.join(models)})"
                yield f"{dataset}{of_models}: {text}"
