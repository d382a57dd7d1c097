"""What a grid will cost, cell by cell, and what of it is done, without running or loading
anything.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from hashlib import sha256
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING

from biasgrid.base.sections import Charge
from biasgrid.config import Config
from biasgrid.families.family import Lists
from biasgrid.inference.checkpoints.cost import (
    ReadingMethod,
    RequestText,
    load_backend,
    parameters,
    tokens_per_instance,
    words_per_instance,
)
from biasgrid.inference.engine.processor_findings import found_on_processors, precision_note
from biasgrid.inference.models.servers.usage import holdings_of
from biasgrid.inference.scorings import ANSWER_KIND as SENTENCES
from biasgrid.runs.counts import (
    UNKNOWN_NUMBER,
    Estimate,
    InstancesToAsk,
    checkpoint_folder,
    count_instances,
    table_facts,
    total,
)
from biasgrid.runs.layout import SCORERS, Layout

if TYPE_CHECKING:
    from tokenizers import Tokenizer

TABLE_BYTES = 6000
"""About how many bytes a table has without its rows."""
TEXT_BYTES = 100.0
"""About how many bytes a text takes in a table of instances, which is compressed."""
INSTANCES_TOKENIZED = 128
"""How many instances are tokenized; on the standard grid their mean is within 1 % of that of
all.
"""


@dataclass(frozen=True)
class MachineRate:
    """How fast the machine is, one of the two.

    Attributes:
        tflops: 10^12 floating-point operations per second that inference reaches.
        rows_per_second: instances per second, whatever the model.
    """

    tflops: float | None = None
    rows_per_second: float | None = None

    def seconds(self, instances: Estimate, flop: Estimate) -> Estimate:
        """Returns how long that many instances, or operations, take."""
        if self.rows_per_second is not None:
            return instances.times(1 / self.rows_per_second)
        return flop.times(None if self.tflops is None else 1e-12 / self.tflops)


@dataclass(frozen=True)
class Costs:
    """What is asked and what that costs, of a cell or of several together.

    Attributes:
        instances: how many instances there are; of a scorer at most those of the writer, as long as
            its texts are not there.
        tokens: tokens of all inputs, special tokens included (words of several tokens need several
            inputs, and so do the spellings of options that a server reads back); estimated from a
            sample, or without the model's tokenizer from the words of the texts.
        requests: requests to a server, where there is one; at most so many while it is not known
            how it scores options.
        tokens_out: tokens that the server writes, at most.
        cost: what it charges for all instances, by the prices of the config.
        spent: what was spent on answers that are there, those included that are no longer used.
        flop: floating-point operations of a forward pass over all tokens, 2 x parameters x tokens
            (Kaplan et al. 2020, Scaling Laws for Neural Language Models, section 2.1).
        instances_bytes: size of the instances tables.
        predictions_bytes: size of the predictions.
        seconds: how long all instances take at the given rate.
    """

    instances: Estimate
    tokens: Estimate
    requests: Estimate
    tokens_out: Estimate
    cost: Estimate
    spent: Estimate
    flop: Estimate
    instances_bytes: Estimate
    predictions_bytes: Estimate
    seconds: Estimate


@dataclass(frozen=True)
class CellPlan(Costs):
    """What a cell costs, and what of it is done.

    Attributes:
        dataset, model, variant: the cell, and which variant of the dataset the model answers.
        writer: of a scorer the model whose texts it reads, None of a cell; in place of questions it
            has the distinct texts of the writer's cell, and its measures are those of that cell.
        instances_table: the instances table that it answers, which it may share with other cells.
        parameters: parameters that every token passes through (see
            `biasgrid.inference.checkpoints.cost.parameters`).
        shards: how many shards the cell has.
        shards_done: how many of them are predicted.
        measured: whether its measures are there.
    """

    dataset: str
    model: str
    variant: str
    writer: str | None
    instances_table: str
    parameters: int | None
    shards: int
    shards_done: int
    measured: bool

    @property
    def seconds_left(self) -> Estimate:
        """How long the shards take that are not predicted."""
        return self.seconds.times(1 - self.shards_done / self.shards)


@dataclass(frozen=True)
class Totals(Costs):
    """Sums over all cells and scorers; a table that several of them share counts once.

    Attributes:
        cells: how many cells there are.
        seconds_left: how long the shards take that are not predicted.
        shards: how many shards there are.
        shards_done: how many of them are predicted.
        measured: how many of the cells are measured.
    """

    cells: int
    seconds_left: Estimate
    shards: int
    shards_done: int
    measured: int

    @property
    def bytes(self) -> Estimate:
        """The size of all tables."""
        return total([self.instances_bytes, self.predictions_bytes])


@dataclass(frozen=True)
class Plan:
    """What a grid costs.

    Attributes:
        cells: its cells, dataset by dataset.
        scorers: the scorers of the texts of cells, dataset by dataset.
        totals: the sums of both.
        faster: by model what `precision: auto` would do, where a job has found that it is at least
            twice as fast.
    """

    cells: list[CellPlan]
    scorers: list[CellPlan]
    totals: Totals
    faster: dict[str, str]


def size_of(tables: Sequence[Path], instances: Estimate, row_bytes: float) -> Estimate:
    """Returns the size of tables together: as they are if all are there, else estimated from their
    rows.
    """
    if all(table.exists() for table in tables):
        return Estimate(sum(table.stat().st_size for table in tables))
    if instances.value is None:
        return UNKNOWN_NUMBER
    return Estimate(instances.value * row_bytes + TABLE_BYTES * len(tables), exact=False)


def totals_of(cells: Sequence[CellPlan], scorers: Sequence[CellPlan] = ()) -> Totals:
    """Returns sums over cells and scorers."""
    planned = [*cells, *scorers]
    costs = {
        field.name: total(getattr(each, field.name) for each in planned) for field in fields(Costs)
    }
    costs["instances_bytes"] = total(
        {each.instances_table: each.instances_bytes for each in planned}.values()
    )
    return Totals(
        **costs,
        cells=len(cells),
        seconds_left=total(each.seconds_left for each in planned),
        shards=sum(each.shards for each in planned),
        shards_done=sum(each.shards_done for each in planned),
        measured=sum(each.measured for each in cells),
    )


def charges(
    charge: Charge | None, answers: Path, instances: Estimate, tokens: Estimate
) -> dict[str, Estimate]:
    """Returns the requests to a cell's server and what they cost.

    Args:
        charge: what an instance costs; None where no server is asked.
        answers: the folder of the cell's answers.
        instances: how many instances the cell has.
        tokens: how many tokens all requests have it read.

    Returns:
        `requests`, `tokens_out`, `cost` and `spent`, as in `Costs`; zeros where no server is asked.
    """
    if charge is None:
        return dict.fromkeys(("requests", "tokens_out", "cost", "spent"), Estimate(0))
    written = instances.times(charge.tokens_out, exact=False)
    cost = Estimate(charge.cost(tokens.value, written.value), exact=False)
    held = holdings_of(answers, [])
    spent = Estimate(charge.cost(held.tokens_in, held.tokens_out)) if held else Estimate(0)
    return {
        "requests": server_requests(charge, instances),
        "tokens_out": written,
        "cost": cost,
        "spent": spent,
    }


def server_requests(charge: Charge, estimate: Estimate) -> Estimate:
    """Multiplies what is asked once of each instance with the requests that each takes."""
    return estimate.times(charge.requests, charge.is_known)


class Planner:
    """Plans cells; what several of them share is computed once."""

    def __init__(self, config: Config, lists: Mapping[tuple[str, str], Lists], rate: MachineRate):
        """Counts the instances of all variants and takes samples of them."""
        self.config, self.rate = config, rate
        self.layout = Layout(config)
        counts = count_instances(self.layout, lists)
        self.instances = {variant: count for variant, (_, count) in counts.items()}
        self.texts = {
            variant: list(starmap(RequestText, asked.sample(INSTANCES_TOKENIZED)))
            for variant, (asked, _) in counts.items()
        }
        self.folders = {
            name: checkpoint_folder(self.layout.record("models", name), config.models[name].folder)
            for name in dict.fromkeys([*config.run.models, *config.readers])
        }
        self.parameters = {
            name: parameters(folder) if folder else None for name, folder in self.folders.items()
        }
        self.backends: dict[str, Tokenizer | None] = {}
        self.lengths: dict[tuple[str, tuple[str, str], ReadingMethod], float] = {}

    def cell(self, dataset: str, model: str) -> CellPlan:
        """Plans one cell."""
        entry, count = self.config.models[model], self.parameters[model]
        instances = self.instances_of_cell(dataset, model)
        # Predictions that are imported are there already.
        tokens = Estimate(0) if entry.source.brings_instances else self.tokens(dataset, model)
        charge = self.charge(dataset, model)
        if charge is not None:
            tokens = server_requests(charge, tokens)
        flop = (
            tokens
            if entry.source.brings_instances
            else tokens.times(None if count is None else 2 * count)
        )
        question = self.config.question(model, dataset)
        instances_table, tables = (
            self.layout.instances_of_cell(dataset, model),
            self.layout.predictions_of_cell(dataset, model),
        )
        return CellPlan(
            dataset=dataset,
            model=model,
            variant=question.variant,
            writer=None,
            instances_table=str(instances_table),
            instances=instances,
            tokens=tokens,
            **charges(charge, self.layout.answers(dataset, model), instances, tokens),
            parameters=count,
            flop=flop,
            instances_bytes=size_of(
                [instances_table], instances, self.config.family(dataset).instance_bytes
            ),
            predictions_bytes=size_of(tables, instances, question.row_bytes),
            seconds=Estimate(0)
            if entry.source.brings_instances
            else self.rate.seconds(instances, flop),
            shards=len(tables),
            shards_done=sum(table.exists() for table in tables),
            measured=self.layout.measures(dataset, model).exists(),
        )

    def scorer(self, dataset: str, writer: str, model: str) -> CellPlan:
        """Plans a scorer that reads the texts of a cell."""
        texts, shard = (
            self.layout.texts(dataset, writer),
            self.layout.scorer(dataset, writer, model),
        )
        instances, count = self.texts_of_cell(dataset, writer), self.parameters[model]
        tokens = self.tokens_of_texts(dataset, writer, model)
        flop = tokens.times(None if count is None else 2 * count)
        return CellPlan(
            dataset=dataset,
            model=model,
            variant=writer,
            writer=writer,
            instances_table=str(texts),
            instances=instances,
            tokens=tokens,
            **charges(None, shard.progress.parent, instances, tokens),
            parameters=count,
            flop=flop,
            instances_bytes=size_of([texts], instances, TEXT_BYTES),
            predictions_bytes=size_of(
                [shard.predictions],
                instances,
                self.config.question(model, dataset, writer).row_bytes,
            ),
            seconds=self.rate.seconds(instances, flop),
            shards=1,
            shards_done=int(shard.predictions.exists()),
            measured=self.layout.measures(dataset, writer).exists(),
        )

    def texts_of_cell(self, dataset: str, writer: str) -> Estimate:
        """Counts the distinct texts of a cell: before they are written, there are at most as many
        as instances.
        """
        facts = table_facts(self.layout.texts(dataset, writer))
        return (
            self.instances_of_cell(dataset, writer).times(1, exact=False)
            if facts is None
            else Estimate(facts.rows)
        )

    def tokens_of_texts(self, dataset: str, writer: str, model: str) -> Estimate:
        """Counts the tokens of a cell's texts: a sample of them or, before they are written, of the
        longest ones.
        """
        instances, table = self.texts_of_cell(dataset, writer), self.layout.texts(dataset, writer)
        if table_facts(table) is None:
            generation = self.config.models[writer].source.deciding_keys().get("generation")
            return instances.times(generation["max_tokens"] if generation else None, exact=False)
        key = dataset, f"{SCORERS}/{writer}"
        if key not in self.texts:
            # Tables are imported where there is one: most plans need none.
            from biasgrid.tables.instances import read_instances

            self.texts[key] = list(
                starmap(
                    RequestText,
                    InstancesToAsk(read_instances(table, {})).sample(INSTANCES_TOKENIZED),
                )
            )
        return self.tokens_of(model, instances, key)

    def charge(self, dataset: str, model: str) -> Charge | None:
        """Returns what an instance of a cell costs; None where no server is asked."""
        question, capabilities = (
            self.config.question(model, dataset),
            self.layout.capabilities(model),
        )
        scored_by = (
            json.loads(capabilities.read_text())["scored_by"] if capabilities.exists() else None
        )
        options = [
            text.words for text in self.texts.get((dataset, question.variant), []) if text.words
        ]
        return self.config.models[model].source.charge(question.answer, scored_by, options)

    def instances_of_cell(self, dataset: str, model: str) -> Estimate:
        """Returns how many instances a model answers; those of predictions to be imported are not
        known before.
        """
        if not self.config.models[model].source.brings_instances:
            return self.instances[dataset, self.config.question(model, dataset).variant]
        facts = table_facts(self.layout.instances_of_cell(dataset, model))
        return UNKNOWN_NUMBER if facts is None else Estimate(facts.rows)

    def tokens(self, dataset: str, model: str) -> Estimate:
        """Counts the tokens of a cell's instances."""
        question = self.config.question(model, dataset)
        variant = dataset, question.variant
        scoring = str(question.settings["scoring"]) if question.answer == SENTENCES else ""
        return self.tokens_of(model, self.instances[variant], variant, scoring)

    def tokens_of(
        self, model: str, instances: Estimate, asked: tuple[str, str], scoring: str = ""
    ) -> Estimate:
        """Tokenizes a sample of what is asked, or counts its words where the model's tokenizer is
        not at hand.

        Args:
            model: the model.
            instances: how many instances there are.
            asked: what is asked, a key of `texts`.
            scoring: the formula by which sentences are scored; empty where none are.
        """
        method = ReadingMethod(self.config.back_end_of(model).joined and not scoring, scoring)
        folder, texts = self.folders[model], self.texts[asked]
        if not texts:
            return instances
        length = self.mean_tokens(folder / "tokenizer.json", asked, method) if folder else None
        if length is None:
            return instances.times(words_per_instance(texts, method), exact=False)
        return instances.times(length, exact=False)

    def mean_tokens(
        self, file: Path, asked: tuple[str, str], method: ReadingMethod
    ) -> float | None:
        """Returns the mean number of tokens that a tokenizer makes of a variant's instance; None
        without one.
        """
        if not file.exists():
            return None
        # Models share tokenizers, whose files lie in a folder per model.
        digest = sha256(file.read_bytes()).hexdigest()
        if digest not in self.backends:
            self.backends[digest] = load_backend(file)
        backend = self.backends[digest]
        key = digest, asked, method
        if backend is not None and key not in self.lengths:
            self.lengths[key] = tokens_per_instance(backend, self.texts[asked], method)
        return self.lengths.get(key)


def make_plan(config: Config, lists: Mapping[tuple[str, str], Lists], rate: MachineRate) -> Plan:
    """Plans a grid.

    Args:
        config: the config.
        lists: the word lists of all selected datasets and variants.
        rate: how fast the machine is; times are unknown without one.
    """
    planner = Planner(config, lists, rate)
    cells = [planner.cell(dataset, model) for model, dataset in config.cells()]
    scorers = [planner.scorer(*scorer) for scorer in planner.layout.scorers()]
    return Plan(cells, scorers, totals_of(cells, scorers), faster_models(config))


def faster_models(config: Config) -> dict[str, str]:
    """Returns what `precision: auto` would do of the models that are at least twice as fast with
    it.
    """
    if config.inference.precision != "float32":
        return {}
    layout = Layout(config)
    found = [
        (each["auto_is_faster"], model, precision_note(each))
        for model, dataset in config.cells()
        for each in found_on_processors(layout.answers(dataset, model))
        if "drift" in each
    ]
    # The cell with the largest gain counts for its model.
    return {model: words for _, model, words in sorted(found)}
