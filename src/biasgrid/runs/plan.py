"""What a grid will cost, cell by cell, and what of it is done: told without running or loading anything."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING

from biasgrid.checkpoints.cost import Text, load_backend, parameters, tokens_per_instance, words_per_instance
from biasgrid.config import Config
from biasgrid.engine.findings import found_on_processors, words_of
from biasgrid.families.family import Lists
from biasgrid.model_section import Charge
from biasgrid.runs.charges import asked_of_servers, charges
from biasgrid.runs.counts import checkpoint_folder, count_instances, table_facts
from biasgrid.runs.estimates import UNKNOWN, Figure, total
from biasgrid.runs.layout import Layout

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SAMPLE = 128
"""How many instances are tokenized; on the standard grid their mean is within 1 % of that of all."""
TABLE_BYTES = 6000


@dataclass(frozen=True)
class Rate:
    """How fast the machine is, one of the two.

    Attributes:
        tflops: 10^12 floating-point operations per second that inference reaches.
        rows_per_second: instances per second, whatever the model.
    """

    tflops: float | None = None
    rows_per_second: float | None = None

    def seconds(self, instances: Figure, flop: Figure) -> Figure:
        """Returns how long that many instances, or operations, take."""
        if self.rows_per_second is not None:
            return instances.times(1 / self.rows_per_second)
        return flop.times(None if self.tflops is None else 1e-12 / self.tflops)


@dataclass(frozen=True)
class CellPlan:
    """What a cell costs, and what of it is done.

    Attributes:
        dataset, model, variant: the cell, and which variant of the dataset the model answers.
        instances_table: the instances table that it answers, which it may share with other cells.
        instances: how many instances it has.
        tokens: tokens of all inputs, special tokens included (words of several tokens need several inputs, and so do
            the spellings of options that a server reads back); without the model's tokenizer `about`, from the words of
            the texts.
        requests: requests to a server, where there is one; `at most` while it is not known how it scores options.
        tokens_out: tokens that the server writes, at most.
        cost: what it charges for all instances, by the prices of the config.
        spent: what was spent on answers that are there, those included that are no longer used.
        parameters: parameters that every token passes through (see `biasgrid.checkpoints.cost.parameters`).
        flop: floating-point operations of a forward pass over all tokens, 2 x parameters x tokens (Kaplan et al. 2020,
            Scaling Laws for Neural Language Models, section 2.1).
        instances_bytes: size of the instances table.
        predictions_bytes: size of the cell's predictions.
        seconds: how long all instances take at the given rate.
        shards: how many shards the cell has.
        shards_done: how many of them are predicted.
        measured: whether its measures are there.
    """

    dataset: str
    model: str
    variant: str
    instances_table: str
    instances: Figure
    tokens: Figure
    requests: Figure
    tokens_out: Figure
    cost: Figure
    spent: Figure
    parameters: int | None
    flop: Figure
    instances_bytes: Figure
    predictions_bytes: Figure
    seconds: Figure
    shards: int
    shards_done: int
    measured: bool

    @property
    def seconds_left(self) -> Figure:
        """How long the shards take that are not predicted."""
        return self.seconds.times(1 - self.shards_done / self.shards)


@dataclass(frozen=True)
class Totals:
    """Sums over all cells, as in `CellPlan`; a table that several cells share counts once.

    Attributes:
        cells: how many cells there are.
        measured: how many of them are measured.
        seconds_left: how long the shards take that are not predicted.
    """

    cells: int
    instances: Figure
    tokens: Figure
    requests: Figure
    tokens_out: Figure
    cost: Figure
    spent: Figure
    flop: Figure
    instances_bytes: Figure
    predictions_bytes: Figure
    seconds: Figure
    seconds_left: Figure
    shards: int
    shards_done: int
    measured: int

    @property
    def bytes(self) -> Figure:
        """The size of all tables."""
        return total([self.instances_bytes, self.predictions_bytes])


@dataclass(frozen=True)
class Plan:
    """What a grid costs.

    Attributes:
        cells: its cells, dataset by dataset.
        totals: their sums.
        faster: by model what `precision: auto` would do, where a job has found that it is at least twice as fast.
    """

    cells: list[CellPlan]
    totals: Totals
    faster: dict[str, str]


def make_plan(config: Config, lists: Mapping[tuple[str, str], Lists], rate: Rate) -> Plan:
    """Plans a grid.

    Args:
        config: the config.
        lists: the word lists of all selected datasets and variants.
        rate: how fast the machine is; times are unknown where it does not say.
    """
    planner = Planner(config, lists, rate)
    cells = [planner.cell(dataset, model) for model, dataset in config.cells()]
    return Plan(cells, totals_of(cells), faster_models(config))


def faster_models(config: Config) -> dict[str, str]:
    """Returns what `precision: auto` would do of the models that are at least twice as fast with it."""
    if config.inference.precision != "float32":
        return {}
    layout = Layout(config)
    found = [
        (each["auto_is_faster"], model, words_of(each))
        for model, dataset in config.cells()
        for each in found_on_processors(layout.answers(dataset, model))
        if "drift" in each
    ]
    # Of several cells the one with the largest gain stands for the model.
    return {model: words for _, model, words in sorted(found)}


class Planner:
    """Plans cells; what several of them share is told once."""

    def __init__(self, config: Config, lists: Mapping[tuple[str, str], Lists], rate: Rate):
        """Counts the instances of all variants and takes samples of them."""
        self.config, self.rate = config, rate
        self.layout = Layout(config)
        counts = count_instances(self.layout, lists)
        self.instances = {variant: count for variant, (_, count) in counts.items()}
        self.texts = {variant: list(starmap(Text, asked.sample(SAMPLE))) for variant, (asked, _) in counts.items()}
        self.folders = {
            name: checkpoint_folder(self.layout.record("models", name), config.models[name].folder)
            for name in config.run.models
        }
        self.parameters = {name: parameters(folder) if folder else None for name, folder in self.folders.items()}
        self.backends: dict[str, Tokenizer | None] = {}
        self.lengths: dict[tuple[str, str, str], float] = {}

    def cell(self, dataset: str, model: str) -> CellPlan:
        """Plans one cell."""
        entry, count = self.config.models[model], self.parameters[model]
        instances = self.instances_of_cell(dataset, model)
        # Predictions that are imported are there already.
        tokens = Figure(0) if entry.predictions else self.tokens(dataset, model)
        charge = self.charge(dataset, model)
        if charge is not None:
            tokens = asked_of_servers(charge, tokens)
        flop = tokens if entry.predictions else tokens.times(None if count is None else 2 * count)
        question = self.config.question(model, dataset)
        asked, tables = self.layout.instances_of_cell(dataset, model), self.layout.predictions_of_cell(dataset, model)
        return CellPlan(
            dataset=dataset,
            model=model,
            variant=question.variant,
            instances_table=str(asked),
            instances=instances,
            tokens=tokens,
            **charges(charge, self.layout.answers(dataset, model), instances, tokens),
            parameters=count,
            flop=flop,
            instances_bytes=size_of([asked], instances, self.config.family(dataset).instance_bytes),
            predictions_bytes=size_of(tables, instances, question.row_bytes),
            seconds=Figure(0) if entry.predictions else self.rate.seconds(instances, flop),
            shards=len(tables),
            shards_done=sum(table.exists() for table in tables),
            measured=self.layout.measures(dataset, model).exists(),
        )

    def charge(self, dataset: str, model: str) -> Charge | None:
        """Says what an instance of a cell costs; None where no server is asked."""
        question, able = self.config.question(model, dataset), self.layout.able(model)
        scored_by = json.loads(able.read_text())["scored_by"] if able.exists() else None
        options = [text.words for text in self.texts.get((dataset, question.variant), []) if text.words]
        return self.config.models[model].charge(question.answer, scored_by, options)

    def instances_of_cell(self, dataset: str, model: str) -> Figure:
        """Returns how many instances a model answers; those of predictions to be imported are not known before."""
        if not self.config.models[model].predictions:
            return self.instances[dataset, self.config.question(model, dataset).variant]
        facts = table_facts(self.layout.instances_of_cell(dataset, model))
        return UNKNOWN if facts is None else Figure(facts.rows)

    def tokens(self, dataset: str, model: str) -> Figure:
        """Tokenizes a sample of a cell's instances, or counts its words where the model's tokenizer is not at hand."""
        folder, joined = self.folders[model], self.config.back_end_of(model).joined
        asked = dataset, self.config.question(model, dataset).variant
        instances, texts = self.instances[asked], self.texts[asked]
        if not texts:
            return instances
        length = self.tokenized(folder / "tokenizer.json", asked, joined) if folder else None
        if length is None:
            return instances.times(words_per_instance(texts, joined), "about")
        return instances.times(length, "sampled")

    def tokenized(self, file: Path, key: tuple[str, str], joined: bool) -> float | None:
        """Returns the mean number of tokens that a tokenizer makes of a variant's instance; None without one."""
        if not file.exists():
            return None
        # Models share tokenizers, whose files lie in a folder per model.
        digest = sha256(file.read_bytes()).hexdigest()
        if digest not in self.backends:
            self.backends[digest] = load_backend(file)
        backend = self.backends[digest]
        if backend is not None and (digest, *key) not in self.lengths:
            self.lengths[digest, *key] = tokens_per_instance(backend, self.texts[key], joined)
        return self.lengths.get((digest, *key))


def size_of(tables: Sequence[Path], instances: Figure, row_bytes: float) -> Figure:
    """Returns the size of tables together: as they are if all are there, else estimated from their rows."""
    if all(table.exists() for table in tables):
        return Figure(sum(table.stat().st_size for table in tables))
    if instances.value is None:
        return UNKNOWN
    return Figure(instances.value * row_bytes + TABLE_BYTES * len(tables), "about")


def totals_of(cells: Sequence[CellPlan]) -> Totals:
    """Sums cells up."""
    instances_tables = {cell.instances_table: cell.instances_bytes for cell in cells}
    return Totals(
        cells=len(cells),
        instances=total(cell.instances for cell in cells),
        tokens=total(cell.tokens for cell in cells),
        requests=total(cell.requests for cell in cells),
        tokens_out=total(cell.tokens_out for cell in cells),
        cost=total(cell.cost for cell in cells),
        spent=total(cell.spent for cell in cells),
        flop=total(cell.flop for cell in cells),
        instances_bytes=total(instances_tables.values()),
        predictions_bytes=total(cell.predictions_bytes for cell in cells),
        seconds=total(cell.seconds for cell in cells),
        seconds_left=total(cell.seconds_left for cell in cells),
        shards=sum(cell.shards for cell in cells),
        shards_done=sum(cell.shards_done for cell in cells),
        measured=sum(cell.measured for cell in cells),
    )
