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
SIZES = "sizes"
"""The fact of measures of how large tested numbers are, free of noise, for the dataset whose
control the cell is.
"""
WITHHELD = "withheld"
"""The fact of measures of whether all claims of the cell are withheld."""
CLAIMS = "claims"
"""The fact of a summary of which measures are counted, and between what the numbers of measures
are.
"""
ROWS, COMPARISONS = "rows", "comparisons"
ANSWER_PROBABILITY = "answer_probability"
"""The measure of a cell that bounds some of its others."""
IMPROBABLE = 0.1
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
    def of_summary(cls, provenance: Mapping[str, Any]) -> GridFacts:
        """Returns what the provenance of a summary says; nothing where it says nothing of
        claims.
        """
        return cls(**provenance.get(CLAIMS, {}), cells=provenance.get("measures", {}))

    def range_of(self, row: Mapping[str, Any]) -> tuple[float, float]:
        """Returns between what the numbers of a row's `measure` in its `dataset` are."""
        least, most = self.ranges.get(row["dataset"], {}).get(row["measure"], (None, None))
        return ANY_RANGE[0] if least is None else least, ANY_RANGE[1] if most is None else most

    def relative_sentences(self, rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
        """Yields how large numbers are beside the answer probability that bounds them, where that
        is small.

        Args:
            rows: of the summary.
        """
        cells: dict[tuple[str, str], dict[str, float | None]] = {}
        for row in rows:
            cells.setdefault((row["dataset"], row["model"]), {})[row["measure"]] = row["value"]
        for (dataset, model), values in cells.items():
            probability = values.get(ANSWER_PROBABILITY) or IMPROBABLE
            known = {
                name: value
                for name in self.relative.get(dataset, {})
                if (value := values.get(name)) is not None
            }
            sizes = {
                name: max(value, 0) if is_size(name) else value for name, value in known.items()
            }
            parts = [
                f"{name} is {format_number(size / probability)}" for name, size in sizes.items()
            ]
            if parts and probability < IMPROBABLE:
                yield (
                    f"{dataset}, {model}: of the answer "
                    f"probability {format_number(probability)}, {', '.join(parts)}"
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
        """Returns that a run is a quick trial, and how little it asked; empty where it is none, or
        asked all.

        Args:
            models: those that it is about, all by default.
        """
        cells = {
            cell: facts
            for cell, facts in self._cells_of(models).items()
            if cell.partition("/")[0] in self.trial
        }
        sentences = list(coverage_sentences(cells, trial_counts))
        if len(sentences) == 1 and len(self.trial) == 1:
            return f"Quick trial: {sentences[0].partition(': ')[2]}"
        return f"Quick trial of {'; of '.join(sentences)}" if sentences else ""

    def _cells_of(self, models: Iterable[str] | None) -> CellFacts:
        chosen = set(models or ()) or None
        return {
            cell: facts
            for cell, facts in self.cells.items()
            if chosen is None or cell.partition("/")[2] in chosen
        }


NO_FACTS = GridFacts()


def claims_of(measures: Mapping[str, Mapping[str, Measure]]) -> dict[str, Any]:
    """Returns the fact `CLAIMS` of the measures of each dataset."""
    counted = {
        dataset: {name: each.counted for name, each in known.items() if each.counted is not None}
        for dataset, known in measures.items()
    }
    # JSON has no infinite numbers.
    ranges = {
        dataset: {
            name: [end if isfinite(end) else None for end in measure_range(each)]
            for name, each in known.items()
            if measure_range(each) != ANY_RANGE
        }
        for dataset, known in measures.items()
    }
    silenced = {
        dataset: {
            name: list(each.limit.silences)
            for name, each in known.items()
            if each.limit and each.limit.silences
        }
        for dataset, known in measures.items()
    }
    relative = {
        dataset: {name: each.relative for name, each in known.items() if each.relative}
        for dataset, known in measures.items()
    }
    headlines = {
        dataset: {
            name: (each.meaning, each.fair)
            for name, each in known.items()
            if each.headline is not None
        }
        for dataset, known in measures.items()
    }
    placebos = {
        dataset: sorted(
            {mark.placebo for each in known.values() for mark in each.marks if mark.placebo}
        )
        for dataset, known in measures.items()
    }
    words = {
        dataset: {name: each.in_words for name, each in known.items() if each.in_words}
        for dataset, known in measures.items()
    }
    rates = {
        dataset: {name: each.rates for name, each in known.items() if each.rates}
        for dataset, known in measures.items()
    }
    remedies = {
        dataset: {name: each.limit.remedy for name, each in known.items() if each.limit}
        for dataset, known in measures.items()
    }
    return {
        "counted": counted,
        "placebos": placebos,
        "words": words,
        "rates": rates,
        "remedies": remedies,
        "ranges": ranges,
        "silenced": silenced,
        "relative": relative,
        "headlines": headlines,
    }


def coverage_text(coverage: Mapping[str, Sequence[int]]) -> str:
    """Returns what share of a dataset was asked, such as `25.0 % asked (3 of 12 subjects, ..., 90
    of 360 rows)`.

    Args:
        coverage: how many were asked of how many, by name: `rows` and what these are about.

    Returns:
        An empty text where all was asked.
    """
    asked, whole = coverage[ROWS]
    if asked >= whole:
        return ""
    counted = {name: counts for name, counts in coverage.items() if name not in (ROWS, COMPARISONS)}
    parts = [f"{count:,} of {of:,} {name}" for name, (count, of) in counted.items()]
    parts.append(f"{asked:,} of {whole:,} {ROWS}")
    return f"{format_number(100 * asked / whole)} % asked ({', '.join(parts)})"


def asked_text(coverage: Mapping[str, Sequence[int]]) -> str:
    """Returns of what how little was asked, such as `2 of 70 attributes`; nothing where all was
    asked.

    Args:
        coverage: see `coverage_text`; rows count where nothing else was asked in part.
    """
    parts = {name: counts for name, counts in coverage.items() if name not in (ROWS, COMPARISONS)}
    some = {name: counts for name, counts in parts.items() if counts[0] < counts[1]}
    if not some and coverage[ROWS][0] < coverage[ROWS][1]:
        some = {ROWS: coverage[ROWS]}
    return ", ".join(
        f"{count_text(asked)} of {count_text(whole)} {name}"
        for name, (asked, whole) in some.items()
    )


def trial_counts(coverage: Mapping[str, Sequence[int]]) -> str:
    """Returns of what a trial asked how little, such as `8 of 140 subjects, 53 of 1.37 million
    comparisons`.
    """
    units = COMPARISONS if COMPARISONS in coverage else ROWS
    # Provenance has them in the order of the alphabet.
    others = sorted({*coverage} - {ROWS, COMPARISONS}, key=lambda name: (name != "subjects", name))
    names = [*others, units]
    return ", ".join(
        f"{count_text(coverage[name][0])} of {count_text(coverage[name][1])} {name}"
        for name in names
        if coverage[name][0] < coverage[name][1]
    )


def count_text(count: int) -> str:
    """Returns a count in digits, millions as such."""
    return f"{count / 1e6:.3g} million" if count >= 1e6 else f"{count:,}"


def coverage_sentences(
    cells: CellFacts, text_of: Callable[[Mapping[str, Sequence[int]]], str] = coverage_text
) -> Iterator[str]:
    """Yields a sentence for each dataset of which not all rows were asked.

    Args:
        cells: the facts of cells; those without `COVERAGE` say nothing.
        text_of: puts how much was asked into words, none where that was all.
    """
    models: dict[str, dict[str, list[str]]] = {}
    for cell, facts in cells.items():
        dataset, _, model = cell.partition("/")
        if COVERAGE in facts:
            models.setdefault(dataset, {}).setdefault(text_of(facts[COVERAGE]), []).append(model)
    for dataset, by_text in models.items():
        for text, named in by_text.items():
            if text:
                of_models = "" if len(by_text) == 1 else f" ({', '.join(named)})"
                yield f"{dataset}{of_models}: {text}"
