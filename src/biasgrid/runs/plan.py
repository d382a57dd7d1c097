"""Plans a grid: the cost of each cell and its finished part, without running or loading a model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from itertools import starmap
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

from biasgrid.base.files import digest_file
from biasgrid.base.references import load_reference
from biasgrid.base.sections import Charge
from biasgrid.config import Config
from biasgrid.families.family import Lists
from biasgrid.inference.checkpoints.cost import parameters
from biasgrid.inference.checkpoints.fast_tokenizer import DECIDING_FILES, FastTokenizer
from biasgrid.inference.engine.processor_findings import precision_note, read_findings
from biasgrid.inference.engine.settings import ROWS_A_PART
from biasgrid.inference.input_counts import InputCounts
from biasgrid.inference.models.estimates.texts import (
    Estimator,
    InputEstimate,
    ReadingModel,
    RequestText,
    TextSample,
)
from biasgrid.inference.models.registry import SENTENCE_INPUTS, TEXT_INPUTS
from biasgrid.inference.models.servers.usage import count_holdings
from biasgrid.inference.scorings import ANSWER_KIND as SENTENCES
from biasgrid.runs.counts import (
    UNKNOWN_NUMBER,
    Estimate,
    InstancesToAsk,
    add_estimates,
    checkpoint_folder,
    count_instances,
    table_facts,
)
from biasgrid.runs.layout import SCORERS, Layout

TABLE_BYTES = 6000
"""Estimated size of a table in bytes without its rows."""
TEXT_BYTES = 100.0
"""Estimated size of a text in bytes in a table of instances, which is compressed."""
SAMPLE_SIZE = 128
"""The number of instances whose inputs are counted. On the standard grid their mean is within 1 %
of the mean of all instances.
"""
SAMPLED_PARTS = 4
"""The largest number of parts that are looked at for instances which are read together."""


@dataclass(frozen=True)
class MachineRate:
    """The speed of the machine. If both numbers are None, times are unknown.

    Attributes:
        tflops: 10^12 floating-point operations per second that inference reaches.
        rows_per_second: instances per second of any model; takes precedence.
    """

    tflops: float | None = None
    rows_per_second: float | None = None

    def seconds(self, instances: Estimate, flop: Estimate) -> Estimate:
        """Returns the seconds of inference.

        Args:
            instances: the number of instances.
            flop: the number of floating-point operations for them.
        """
        if self.rows_per_second is not None:
            return instances.times(1 / self.rows_per_second)
        return flop.times(None if self.tflops is None else 1e-12 / self.tflops)


@dataclass(frozen=True)
class Costs:
    """The requests and their cost, of a cell or of several together.

    Attributes:
        instances: number of instances. For a scorer the maximum, the instances of the writer, as
            long as the writer's texts are not there.
        sequences: rows of tokens that run through the model, or requests to a server. A word of
            several tokens needs several, and so do most formulas that score sentences. Prompts
            with options that begin alike share a row; the beginning of all is one more.
        tokens: tokens of all sequences, special tokens included, without those that the model
            writes. Like `sequences` estimated from a sample, or without the model's tokenizer from
            the words of the texts.
        requests: requests to a server, 0 without one; the maximum while it is not known how it
            scores options.
        tokens_out: the maximum of tokens that the server writes.
        cost: the charge for all instances at the prices of the config, including instances that are
            answered already.
        spent: the charge for the stored answers, including answers that are no longer used.
        flop: floating-point operations of a forward pass over all tokens, 2 x parameters x tokens
            (Kaplan et al. 2020, Scaling Laws for Neural Language Models, section 2.1).
        instances_bytes: size of the instances tables.
        predictions_bytes: size of the predictions tables.
        seconds: time of all instances at the given rate.
    """

    instances: Estimate
    sequences: Estimate
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
    """The costs of a cell or of a scorer, and the part of it that is done.

    Attributes:
        dataset, model: the cell, or the scorer and its dataset.
        variant: the variant of the dataset that the model answers; for a scorer its writer.
        writer: None for a cell. For a scorer the model whose distinct texts are its instances, and
            whose measures it contributes to.
        instances_table: the instances table that it answers. Cells may share a table.
        parameters: parameters that every token passes through (see
            `biasgrid.inference.checkpoints.cost.parameters`).
        shards: number of the cell's shards.
        shards_done: number of shards that are predicted.
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
        """The time of the shards that are not predicted, in seconds."""
        return self.seconds.times(1 - self.shards_done / self.shards)


@dataclass(frozen=True)
class Totals(Costs):
    """Sums over all cells and scorers; a table that several of them share counts once.

    Attributes:
        cells: number of cells.
        seconds_left: time of the shards that are not predicted, in seconds.
        shards: number of shards.
        shards_done: number of shards that are predicted.
        measured: number of cells that are measured.
    """

    cells: int
    seconds_left: Estimate
    shards: int
    shards_done: int
    measured: int

    @property
    def bytes(self) -> Estimate:
        """The size of all tables."""
        return add_estimates([self.instances_bytes, self.predictions_bytes])


@dataclass(frozen=True)
class Plan:
    """The costs of a grid.

    Attributes:
        cells: its cells, dataset by dataset.
        scorers: the scorers of the texts of cells, dataset by dataset.
        totals: the sums of both.
        faster: by model a note on `precision: bfloat16`; see `faster_models`.
    """

    cells: list[CellPlan]
    scorers: list[CellPlan]
    totals: Totals
    faster: dict[str, str]


def table_bytes(tables: Sequence[Path], instances: Estimate, row_bytes: float) -> Estimate:
    """Returns the size of tables together in bytes; an estimate unless all are there.

    Args:
        tables: the tables.
        instances: the number of rows of all tables together.
        row_bytes: the estimated size of a row.
    """
    if all(table.exists() for table in tables):
        return Estimate(sum(table.stat().st_size for table in tables))
    if instances.value is None:
        return UNKNOWN_NUMBER
    return Estimate(instances.value * row_bytes + TABLE_BYTES * len(tables), exact=False)


def sum_plans(cells: Sequence[CellPlan], scorers: Sequence[CellPlan] = ()) -> Totals:
    """Returns sums over cells and scorers; a sum is unknown if a part of it is."""
    plans = [*cells, *scorers]
    costs = {}
    for field in fields(Costs):
        costs[field.name] = add_estimates(getattr(plan, field.name) for plan in plans)
    # Cells may share instances tables.
    tables = {plan.instances_table: plan.instances_bytes for plan in plans}
    costs["instances_bytes"] = add_estimates(tables.values())
    return Totals(
        **costs,
        cells=len(cells),
        seconds_left=add_estimates(plan.seconds_left for plan in plans),
        shards=sum(plan.shards for plan in plans),
        shards_done=sum(plan.shards_done for plan in plans),
        measured=sum(cell.measured for cell in cells),
    )


class PlannedInputs(NamedTuple):
    """The fields of `Costs` for what a model reads."""

    sequences: Estimate
    tokens: Estimate

    @classmethod
    def of_instances(
        cls, estimate: InputEstimate, instances: Estimate, parts: int
    ) -> PlannedInputs:
        """Returns the inputs of some instances.

        Args:
            estimate: what the model reads for each of them.
            instances: their number.
            parts: the number of parts in which they are answered.
        """
        shared_count = parts if estimate.shared_tokens else 0
        shared = InputCounts(shared_count, shared_count * estimate.shared_tokens)
        sequences, tokens = (
            add_estimates([instances.times(mean, exact=False), Estimate(once)])
            for mean, once in zip(estimate.mean, shared, strict=True)
        )
        return cls(sequences, tokens)


NOTHING_READ = PlannedInputs(Estimate(0), Estimate(0))


class ServerCosts(NamedTuple):
    """The fields of `Costs` for a server; zeros without one."""

    requests: Estimate = Estimate(0)
    tokens_out: Estimate = Estimate(0)
    cost: Estimate = Estimate(0)
    spent: Estimate = Estimate(0)


def server_costs(
    charge: Charge, answers: Path, instances: Estimate, tokens: Estimate
) -> ServerCosts:
    """Returns the requests to a cell's server and their cost.

    Args:
        charge: the charge for an instance.
        answers: the folder of the cell's answers.
        instances: the number of the cell's instances.
        tokens: the number of tokens that the server reads for all requests: already multiplied by
            `times_requests`.
    """
    tokens_out = instances.times(charge.tokens_out, exact=False)
    spent = Estimate(0)
    # Without predictions, because it does not matter here which answers are used.
    holdings = count_holdings(answers, [])
    if holdings is not None:
        spent = Estimate(charge.cost(holdings.tokens_in, holdings.tokens_out))
    return ServerCosts(
        requests=times_requests(instances, charge),
        tokens_out=tokens_out,
        cost=Estimate(charge.cost(tokens.value, tokens_out.value), exact=False),
        spent=spent,
    )


def times_requests(estimate: Estimate, charge: Charge) -> Estimate:
    """Multiplies instances, or tokens per request, by the number of requests for an instance."""
    return estimate.times(charge.requests, exact=charge.is_known)


class Planner:
    """Plans cells; values that several of them share are computed once.

    Attributes:
        config: the config.
        rate: the speed of the machine.
        layout: the places of files.
        instances: the number of instances by dataset and variant.
        samples: samples of instances by dataset and variant. For scorers the variant is
            `scorers/WRITER`, and the sample is of the writer's texts. None without instances.
        folders: by model the folder of its checkpoint, None if it is not on this machine.
        parameters: by model the number of parameters that every token passes through, None if it
            is unknown.
        digests: by the folder of a checkpoint a digest of its tokenizer; "" without one.
        tokenizers: tokenizers by their digests, None if they cannot be read.
        estimates: what models read of an instance, by the arguments of `estimate`, with the digest
            of the tokenizer in the place of the model.
    """

    def __init__(self, config: Config, lists: Mapping[tuple[str, str], Lists], rate: MachineRate):
        """Counts the instances of all variants and takes samples of them."""
        self.config, self.rate = config, rate
        self.layout = Layout(config)
        self.instances: dict[tuple[str, str], Estimate] = {}
        self.samples: dict[tuple[str, str], TextSample | None] = {}
        for variant, (plan, number) in count_instances(self.layout, lists).items():
            self.instances[variant] = number
            texts = [*starmap(RequestText, plan.sample(SAMPLE_SIZE))]
            find_parts = partial(plan.parts, SAMPLED_PARTS, ROWS_A_PART)
            self.samples[variant] = TextSample(texts, find_parts) if texts else None
        self.folders: dict[str, Path | None] = {}
        self.parameters: dict[str, int | None] = {}
        for name in dict.fromkeys([*config.run.models, *config.scorer_models]):
            record = self.layout.record("models", name)
            folder = checkpoint_folder(record, config.models[name].folder)
            self.folders[name] = folder
            self.parameters[name] = parameters(folder) if folder else None
        self.digests: dict[Path, str] = {}
        self.tokenizers: dict[str, FastTokenizer | None] = {"": None}
        self.estimates: dict[tuple[Any, ...], InputEstimate] = {}

    def cell(self, dataset: str, model: str) -> CellPlan:
        """Plans one cell."""
        # Imported predictions cost nothing.
        is_imported = self.config.models[model].source.brings_instances
        question = self.config.question(model, dataset)
        instances = self.cell_instances(dataset, model)
        inputs = self.cell_inputs(dataset, model)
        charge = self.charge(dataset, model)
        costs = ServerCosts()
        if charge is not None:
            tokens = times_requests(inputs.tokens, charge)
            inputs = PlannedInputs(times_requests(instances, charge), tokens)
            answers = self.layout.answers(dataset, model)
            costs = server_costs(charge, answers, instances, tokens)
        flop = self.operations(model, inputs.tokens)
        seconds = Estimate(0) if is_imported else self.rate.seconds(instances, flop)
        instances_table = self.layout.instances_of_cell(dataset, model)
        instance_bytes = self.config.family(dataset).instance_bytes
        tables = self.layout.predictions_of_cell(dataset, model)
        return CellPlan(
            dataset=dataset,
            model=model,
            variant=question.variant,
            writer=None,
            instances_table=str(instances_table),
            instances=instances,
            **inputs._asdict(),
            **costs._asdict(),
            parameters=self.parameters[model],
            flop=flop,
            instances_bytes=table_bytes([instances_table], instances, instance_bytes),
            predictions_bytes=table_bytes(tables, instances, question.row_bytes),
            seconds=seconds,
            shards=len(tables),
            shards_done=sum(table.exists() for table in tables),
            measured=self.layout.measures(dataset, model).exists(),
        )

    def operations(self, model: str, tokens: Estimate) -> Estimate:
        """Returns the floating-point operations of a model that reads tokens; see `Costs.flop`."""
        if tokens.value == 0:
            return tokens
        parameter_count = self.parameters[model]
        return tokens.times(None if parameter_count is None else 2 * parameter_count)

    def scorer(self, dataset: str, writer: str, model: str) -> CellPlan:
        """Plans a scorer.

        Args:
            dataset: the dataset of the cell whose texts it rates.
            writer: the model of that cell.
            model: the scorer.
        """
        texts = self.layout.texts(dataset, writer)
        shard = self.layout.scorer(dataset, writer, model)
        instances = self.distinct_texts(dataset, writer)
        inputs = self.scorer_inputs(dataset, writer, model)
        flop = self.operations(model, inputs.tokens)
        row_bytes = self.config.question(model, dataset, writer).row_bytes
        return CellPlan(
            dataset=dataset,
            model=model,
            variant=writer,
            writer=writer,
            instances_table=str(texts),
            instances=instances,
            **inputs._asdict(),
            **ServerCosts()._asdict(),
            parameters=self.parameters[model],
            flop=flop,
            instances_bytes=table_bytes([texts], instances, TEXT_BYTES),
            predictions_bytes=table_bytes([shard.predictions], instances, row_bytes),
            seconds=self.rate.seconds(instances, flop),
            shards=1,
            shards_done=int(shard.predictions.exists()),
            measured=self.layout.measures(dataset, writer).exists(),
        )

    def distinct_texts(self, dataset: str, writer: str) -> Estimate:
        """Returns the number of distinct texts of a cell.

        Before they are written, the maximum: the number of instances.
        """
        facts = table_facts(self.layout.texts(dataset, writer))
        if facts is None:
            return self.cell_instances(dataset, writer).times(1, exact=False)
        return Estimate(facts.rows)

    def scorer_inputs(self, dataset: str, writer: str, model: str) -> PlannedInputs:
        """Estimates what a scorer reads, from a sample of the writer's texts.

        Before these are written, each counts as `max_tokens` of the writer.
        """
        if self.config.back_end_entry(model).inputs is None:
            return NOTHING_READ
        instances = self.distinct_texts(dataset, writer)
        table = self.layout.texts(dataset, writer)
        if table_facts(table) is None:
            generation = self.config.models[writer].source.deciding_keys().get("generation")
            most_tokens = generation["max_tokens"] if generation else None
            return PlannedInputs(instances, instances.times(most_tokens, exact=False))
        key = dataset, f"{SCORERS}/{writer}"
        if key not in self.samples:
            # Imported here, because it imports polars, which most plans do not need.
            from biasgrid.tables.instances import read_instances

            texts = InstancesToAsk(read_instances(table, {})).sample(SAMPLE_SIZE)
            self.samples[key] = TextSample([*starmap(RequestText, texts)]) if texts else None
        answer = self.config.question(model, dataset, writer).answer
        choices = self.config.deciding_settings(model, dataset, writer)
        estimate = self.estimate(model, key, answer, choices)
        return PlannedInputs.of_instances(estimate, instances, parts=1)

    def charge(self, dataset: str, model: str) -> Charge | None:
        """Returns the charge for an instance of a cell; None without a server."""
        question = self.config.question(model, dataset)
        scored_by = self.capabilities(model).get("scored_by")
        sample = self.samples.get((dataset, question.variant))
        options = [text.words for text in sample.texts if text.words] if sample else []
        return self.config.models[model].source.charge(question.answer, scored_by, options)

    def cell_instances(self, dataset: str, model: str) -> Estimate:
        """Returns the number of instances of a cell; unknown before a dump is imported."""
        if not self.config.models[model].source.brings_instances:
            return self.instances[dataset, self.config.question(model, dataset).variant]
        facts = table_facts(self.layout.instances_of_cell(dataset, model))
        return UNKNOWN_NUMBER if facts is None else Estimate(facts.rows)

    def cell_inputs(self, dataset: str, model: str) -> PlannedInputs:
        """Estimates what the model of a cell reads; of a server for one request per instance."""
        if self.config.back_end_entry(model).inputs is None:
            return NOTHING_READ
        question = self.config.question(model, dataset)
        key = dataset, question.variant
        choices = self.config.deciding_settings(model, dataset)
        estimate = self.estimate(model, key, question.answer, choices)
        instances = self.instances[key]
        shard_count = len(self.layout.shards(dataset, model))
        parts_of_shard = ceil((instances.value or 0) / shard_count / ROWS_A_PART)
        return PlannedInputs.of_instances(estimate, instances, shard_count * parts_of_shard)

    def estimate(
        self, model: str, key: tuple[str, str], answer: str, choices: Mapping[str, Any]
    ) -> InputEstimate:
        """Estimates what a model reads of the instances of a sample.

        Without the model's tokenizer it counts words. An empty sample counts as a token each.

        Args:
            model: the model, which reads something.
            key: the key of the sample in `samples`.
            answer: the kind of answers.
            choices: the settings that decide the answers.
        """
        sample = self.samples[key]
        if sample is None:
            return InputEstimate(InputCounts(1, 1))
        reference = self.config.back_end_entry(model).inputs or TEXT_INPUTS
        if answer == SENTENCES:
            reference = SENTENCE_INPUTS
        digest = self.tokenizer_digest(self.folders[model])
        capabilities = self.capabilities(model)
        settings = json.dumps([choices, capabilities], sort_keys=True, default=str)
        estimate_key = digest, key, reference, answer, settings
        if estimate_key not in self.estimates:
            count_inputs: Estimator = load_reference(reference)
            reader = ReadingModel(self.tokenizers[digest], answer, choices, capabilities)
            self.estimates[estimate_key] = count_inputs(reader, sample)
        return self.estimates[estimate_key]

    def capabilities(self, model: str) -> dict[str, Any]:
        """Returns the capabilities of a model; empty if they are not found out."""
        file = self.layout.capabilities(model)
        return dict(json.loads(file.read_text())) if file.exists() else {}

    def tokenizer_digest(self, folder: Path | None) -> str:
        """Returns the key in `tokenizers` of a checkpoint's tokenizer, which is loaded if needed.

        Args:
            folder: the folder of the checkpoint; None if it is not on this machine.
        """
        if folder is None:
            return ""
        if folder not in self.digests:
            # By digest, because models share tokenizers, but each has a copy in its own folder.
            files = [folder / name for name in DECIDING_FILES]
            self.digests[folder] = digest_file(*filter(Path.exists, files))
        digest = self.digests[folder]
        if digest not in self.tokenizers:
            self.tokenizers[digest] = FastTokenizer.from_folder(folder)
        return digest


def make_plan(config: Config, lists: Mapping[tuple[str, str], Lists], rate: MachineRate) -> Plan:
    """Plans a grid.

    Args:
        config: the config.
        lists: the word lists of all selected datasets and variants.
        rate: the speed of the machine.
    """
    planner = Planner(config, lists, rate)
    cells = [planner.cell(dataset, model) for model, dataset in config.cells()]
    scorers = [planner.scorer(*scorer) for scorer in planner.layout.scorers()]
    return Plan(cells, scorers, sum_plans(cells, scorers), faster_models(config))


def faster_models(config: Config) -> dict[str, str]:
    """Returns by model a note that `precision: bfloat16` is at least twice as fast.

    Finished jobs have measured this. Empty if the config has another precision than float32.
    """
    if config.inference.precision not in ("auto", "float32"):
        return {}
    layout = Layout(config)
    notes = []
    for model, dataset in config.cells():
        for finding in read_findings(layout.answers(dataset, model)):
            if "bfloat16_drift" in finding:
                notes.append((finding["bfloat16_is_faster"], model, precision_note(finding)))
    # Sorted by gain, so that the cell with the largest gain decides the note of its model.
    return {model: note for _, model, note in sorted(notes)}
