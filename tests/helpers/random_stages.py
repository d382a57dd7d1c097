"""The stages of a run of one random cell: all that its family and the core make of it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from random_answers import random_predictions
from random_draws import Draws

from biasgrid.base.faults import Fault, UserError
from biasgrid.base.references import exists, load, stage_module
from biasgrid.config import template_texts_digest, variant_clusters
from biasgrid.config.sections import Config
from biasgrid.families.cell import MeasuredCell, measure_cell, measured_values
from biasgrid.families.estimates import EstimatedCell, estimate_cell
from biasgrid.families.page import CellTables
from biasgrid.families.synthetic import SyntheticBias
from biasgrid.report.payload import cell_block, dataset_block, evidence_by_weight
from biasgrid.report.run import gather_dataset
from biasgrid.runs.inputs.grid import GridInputs
from biasgrid.runs.inputs.pages import PageInputs
from biasgrid.runs.layout import Layout
from biasgrid.stats.power import items_for_half_width
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.verdicts.summary import summarise
from biasgrid.tables.claims.facts import GridFacts
from biasgrid.tables.files import write_table, write_table_in_parts
from biasgrid.tables.instances import read_instances
from biasgrid.tables.metric import MetricDefinitions
from biasgrid.tables.schema import answer_schema
from biasgrid.tables.summary import ModelFacts, answer_counts
from biasgrid.training.strength import Strength

STRENGTHS: tuple[float | Strength, ...] = (0.0, 0.6, Strength(group=0.5, name=0.3))
Explained = Mapping[str, str]


class Part(NamedTuple):
    """Something that a stage makes, as a table of Python's values.

    Attributes:
        types: the type of each column, by name.
        columns: the values of each column, by name.
    """

    types: dict[str, str]
    columns: dict[str, list[Any]]


def table_part(table: pl.DataFrame) -> Part:
    """Returns a table as a part, with its categories as texts."""
    # The number of a category depends on what was read before, and means nothing.
    types = {name: str(dtype) for name, dtype in table.schema.items()}
    plain = table.with_columns(pl.col(pl.Categorical).cast(pl.String))
    return Part(types, plain.to_dict(as_series=False))


def texts_part(values: Iterable[Any]) -> Part:
    """Returns values as a part with one column."""
    return Part({"value": "any"}, {"value": list(values)})


def json_part(content: Any) -> Part:
    """Returns nested objects and lists as a part with a row for each number and text."""
    # Through JSON, since a page has nothing else; it refuses what a page cannot have.
    plain = json.loads(json.dumps(content, allow_nan=False))
    rows = list(leaves("", plain))
    places, values = [place for place, _ in rows], [value for _, value in rows]
    return Part({"where": "text", "value": "any"}, {"where": places, "value": values})


def leaves(where: str, content: Any) -> Iterator[tuple[str, Any]]:
    """Yields place and value of everything in nested objects and lists; empty ones are values."""
    if content and isinstance(content, dict):
        for name, value in content.items():
            yield from leaves(f"{where}.{name}", value)
    elif content and isinstance(content, list):
        for place, value in enumerate(content):
            yield from leaves(f"{where}.{place}", value)
    else:
        yield where, content


def fault_rows(faults: Iterable[Fault]) -> Part:
    """Returns faults as a part with their texts."""
    return texts_part(map(str, faults))


def error_text(error: Exception) -> str:
    """Returns the type of an exception and what it says."""
    return f"{type(error).__name__}: {error}"


def token_counts(texts: Iterable[str]) -> list[int]:
    """Returns numbers of tokens that a tokenizer might make of texts: of long ones two."""
    return [1 + (len(text) > 4) for text in texts]


class CellStages:
    """The stages of a run of one cell.

    Attributes:
        grid: the config.
        model: the name of the model.
        dataset: the name of the dataset.
        folder: a folder for its tables, which also has the word lists of the dataset.
        draws: decides the answers.
    """

    def __init__(self, grid: Config, model: str, dataset: str, folder: Path, draws: Draws) -> None:
        """Asks the family for its question."""
        self.grid, self.model, self.dataset = grid, model, dataset
        self.folder, self.draws = folder, draws
        self.question = grid.question(model, dataset)
        self.variant = self.question.variant
        self.family = grid.family(dataset)
        self.reference = grid.family_reference(dataset)
        self.lists: Any = None
        self.instances_path = folder / dataset / f"{self.variant}.parquet"
        self.paths: list[Path] = []
        self.scorer_predictions: dict[str, pl.DataFrame] = {}

    def module(self, name: str) -> Any:
        """Returns the module of a stage."""
        return load(stage_module(self.reference, name))

    @property
    def tokenizer(self) -> dict[str, Any]:
        """The counter of tokens, if the family asks for one."""
        return {"token_counts": token_counts} if self.question.tokenizer else {}

    def parts(self) -> Iterator[tuple[str, Part]]:
        """Yields everything that is made of the cell, by name; none is made of faulty lists."""
        yield "question", texts_part([repr(self.question)])
        files = self.grid.files(self.dataset, self.variant)
        self.lists, faults = self.module("reading").read(files)
        if not faults:
            arguments = (self.grid, "config.yaml", self.dataset, self.variant, self.lists)
            faults = list(self.family.list_faults(*arguments))
        yield "faults", fault_rows(faults)
        if faults:
            return
        yield "descriptions", texts_part(self.descriptions())
        yield from self.expanded()
        yield from self.synthetic()
        self.write_answers()
        yield from self.measured()

    def descriptions(self) -> Iterator[Any]:
        """Yields what the family says of lists and dataset."""
        grid, dataset, lists, family = self.grid, self.dataset, self.lists, self.family
        clusters = variant_clusters(grid, self.lists_of_variants, dataset, self.variant)
        yield lists.digest()
        yield template_texts_digest(grid, self.lists_of_variants, dataset, self.variant)
        yield clusters
        yield list(family.cluster_texts(lists))
        yield list(family.template_texts(lists))
        yield family.templates_asked(lists)
        yield family.sampled(lists, lambda: clusters)
        yield list(family.about(grid, dataset))
        yield list(family.english(grid, dataset))
        yield repr(family.section(grid, dataset))
        yield list(grid.dataset_figures(dataset))
        for measure in grid.dataset_measures(dataset).values():
            yield repr(measure)

    @property
    def lists_of_variants(self) -> dict[tuple[str, str], Any]:
        """The lists by dataset and variant."""
        return {(self.dataset, self.variant): self.lists}

    def expanded(self) -> Iterator[tuple[str, Part]]:
        """Expands the lists and writes the instances; yields them, their facts and their plan."""
        reading, expand = self.module("reading"), self.module("expand").expand
        if hasattr(reading, "planned_instances"):
            planned = reading.planned_instances(self.lists, **self.tokenizer)
            refusal = getattr(planned, "refusal", None)
            sample = [repr(request) for request in planned.sample(5)]
            yield "planned", texts_part([planned.instances, repr(refusal), *sample])
        expansion = expand(self.lists, **self.tokenizer)
        facts = {"word_lists": self.lists.digest(), **expansion.facts}
        self.instances_path.parent.mkdir(exist_ok=True)
        write_table_in_parts(expansion.parts, self.instances_path, expansion.schema, facts)
        yield "facts", json_part(facts)
        instances = self.instances
        yield "instances", table_part(instances)
        if len(instances):
            numbers = np.unique([0, len(instances) // 2, len(instances) - 1])
            again = expand(self.lists, **self.tokenizer)
            yield "requests", table_part(again.requests_at(numbers))

    @property
    def instances(self) -> pl.DataFrame:
        """The instances, read from their table."""
        return read_instances(self.instances_path, self.module("keys").KEYS)

    def synthetic(self) -> Iterator[tuple[str, Part]]:
        """Yields known effects and corpora, of families that have synthetic bias."""
        if not self.family.is_synthetic:
            return
        synthetic, instances = self.module("synthetic"), self.instances
        section, task = self.grid.datasets[self.dataset], self.grid.models[self.model].task
        options = self.family.synthetic_options(self.grid, self.dataset)
        yield "synthetic options", texts_part([repr(options), getattr(synthetic, "ANSWERS", None)])
        labels = getattr(section, "labels", ())
        for place, strength in enumerate(STRENGTHS):
            bias = SyntheticBias(
                *(self.dataset, "strong", strength, 3, place, 0.05 * place),
                labels=labels,
                measure_options=options,
            )
            # Not all kinds of models can learn a bias, and there is no message for the others.
            with contextlib.suppress(Exception):
                effects = synthetic.known_effects(instances, bias)
                yield f"effects {place}", table_part(effects)
            with contextlib.suppress(Exception):
                corpus = synthetic.corpus(instances, task, bias)
                yield f"corpus {place}", texts_part(corpus.split("\n"))

    def write_answers(self) -> None:
        """Writes random answers to all instances, in one file or two, and those of scorers."""
        kind, draws = self.question.answer, self.draws
        classes = len(getattr(self.grid.datasets[self.dataset], "labels", ()))
        writes = self.grid.models[self.model].task == "text-generation"
        predictions = random_predictions(kind, self.instances, draws, classes, writes)
        if draws.is_drawn(0.3):
            predictions = predictions.sample(fraction=1, shuffle=True, seed=1)
        half = len(predictions) // 2 if draws.is_drawn(0.3) else 0
        shards = [predictions[:half], predictions[half:]] if half else [predictions]
        for number, shard in enumerate(shards):
            path = self.folder / self.dataset / f"{self.model}-{number}.parquet"
            write_table(shard, path, answer_schema(kind), {})
            self.paths.append(path)
        if not self.question.scorers:
            return
        texts = predictions.select(text=pl.col("response").cast(pl.String)).unique().sort("text")
        texts = texts.filter(pl.col("text").str.strip_chars() != "")
        asked = texts.with_row_index("instance").with_columns(text_pair=pl.lit(None, pl.String))
        for scorer, answer in self.question.scorers.items():
            scores = random_predictions(answer, asked, draws).drop("instance")
            self.scorer_predictions[scorer] = pl.concat([texts, scores], how="horizontal")

    def measured(self) -> Iterator[tuple[str, Part]]:
        """Yields the tables of the stages `measure` and `statistics`, and what pages have."""
        yield "answered", json_part(answer_counts(self.paths))
        declared = MetricDefinitions.from_measures(self.grid.dataset_measures(self.dataset))
        clusters = variant_clusters(self.grid, self.lists_of_variants, self.dataset, self.variant)
        settings = self.settings._replace(clusters=clusters)
        recomputed = StatisticsSettings()
        if not self.family.yields_sums:
            recomputed = StatisticsSettings(clusters=clusters, units=settings.units)
        results = measure_cell(
            family=self.reference,
            instances_path=self.instances_path,
            prediction_paths=self.paths,
            answer=self.question.answer,
            measure_options=self.question.measure_options,
            names=list(declared.measure_names),
            model=self.model,
            dataset=self.dataset,
            scorer_predictions=self.scorer_predictions,
            settings=recomputed,
        )
        yield "sums", table_part(results.sums)
        yield "evidence", table_part(results.evidence)
        yield "evidence parts", table_part(results.parts)
        if results.sums.is_empty():
            return
        estimates = estimate_cell(
            self.reference, results.sums, self.question.measure_options, declared, settings
        )
        yield from parts_of_estimates(estimates)
        if estimates.sizes:
            # Its own sizes stand for those of a control.
            against = settings._replace(controls={"control": estimates.sizes})
            controlled = estimate_cell(
                self.reference, results.sums, self.question.measure_options, declared, against
            )
            yield "measures beside a control", table_part(controlled.measures)
        yield from self.explained(estimates.measures)
        yield from self.page(CellTables(estimates.measures, results.evidence, results.parts))

    @property
    def settings(self) -> StatisticsSettings:
        """The settings of the stage `statistics`, without clusters."""
        units, ranges = {}, {}
        for name, measure in self.grid.dataset_measures(self.dataset).items():
            if measure.limit is None:
                units[name] = measure.unit if measure.design else None
            if measure.range:
                ranges[name] = measure.range
        statistics = self.grid.statistics.model_dump()
        return StatisticsSettings(units=units, ranges=ranges, **statistics)

    def explained(self, measures: pl.DataFrame) -> Iterator[tuple[str, Part]]:
        """Yields the prompts and answers behind one number, and all numbers that are made of them."""
        reference = stage_module(self.reference, "evidence")
        sentences = getattr(load(reference), "SENTENCES", None) if exists(reference) else None
        if sentences is None:
            return
        keys = list(sentences.explained)
        names = measures.select(pl.col(keys).cast(pl.String)).drop_nulls()
        refusals = []
        candidates = names.unique(maintain_order=True).to_dicts()
        for place in self.draws.random.permutation(len(candidates)):
            try:
                numbers, units = self.explain(sentences, candidates[place])
            except UserError as error:
                refusals.append(error_text(error))
                continue
            yield "explained numbers", table_part(numbers)
            yield "explained", table_part(units)
            break
        yield "explanations refused", texts_part(refusals)

    def explain(self, sentences: Any, about: Explained) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Returns the numbers of the instances that are behind one, and these instances."""
        options = self.question.measure_options
        measure = sentences.explained_measure(about, options, self.dataset)
        prompts = sentences.instances(self.instances_path, about)
        is_relevant = pl.col("instance").is_in(prompts["instance"].implode())
        responses = pl.scan_parquet(self.paths).filter(is_relevant).collect()
        scorers = [self.scorer_predictions] if self.scorer_predictions else []
        observations = self.module("observe").observe(prompts, responses, options, *scorers)
        measure_cell = self.module("measures").measure
        numbers = measured_values(measure_cell, observations, {**options, "measures": []})
        named = pl.lit(repr((measure, sentences.measure_options(options))))
        cell = MeasuredCell(prompts.lazy(), responses.lazy(), observations, numbers, options)
        return numbers.with_columns(explained=named), sentences.explain(cell, about)

    def page(self, cell: CellTables) -> Iterator[tuple[str, Part]]:
        """Yields summary and verdicts, and what the page of the cell has."""
        inputs = GridInputs(self.grid, Layout(self.grid), self.lists_of_variants, ".")
        pages = PageInputs(inputs, "config.yaml")
        models = pages.models([self.dataset])
        summary, verdicts = summarise(
            cell.measures,
            {name: ModelFacts(**facts) for name, facts in models.items()},
            pages.headlines(),
            pages.marks([self.dataset]),
            facts=GridFacts(**pages.claims()),
            plan_items=partial(items_for_half_width, alpha=1 - self.grid.statistics.level),
        )
        yield "summary", table_part(summary)
        yield "verdicts", table_part(verdicts)
        described = pages.report_params(None)["datasets"][self.dataset]  # type: ignore[arg-type]
        dataset = gather_dataset(self.dataset, described, [self.instances_path], [], [])
        shared = dataset_block(dataset, {(self.model, self.dataset): cell})
        yield "page of dataset", json_part(shared)
        yield "page", json_part(cell_block(cell, dataset, shared, summary))
        yield "examples", json_part(list(evidence_by_weight(cell, dataset, shared)))


def parts_of_estimates(estimates: EstimatedCell) -> Iterator[tuple[str, Part]]:
    """Yields the tables of the stage `statistics`."""
    yield "measures", table_part(estimates.measures)
    yield "intervals", table_part(estimates.intervals)
    yield "design", table_part(estimates.design)
    yield "sizes", texts_part([repr(estimates.is_withheld), *map(repr, estimates.sizes)])
