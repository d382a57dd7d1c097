"""Plans cells one by one, and what models are asked of their texts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING

from biasgrid.base.model_section import Charge
from biasgrid.config import Config
from biasgrid.families.family import Lists
from biasgrid.inference.checkpoints.cost import Text, load_backend, parameters, tokens_per_instance, words_per_instance
from biasgrid.runs.counts import Expanded, checkpoint_folder, count_instances, table_facts
from biasgrid.runs.estimates import UNKNOWN, Figure
from biasgrid.runs.layout import FOLLOW_UPS, Layout
from biasgrid.runs.plan.charges import asked_of_servers, charges
from biasgrid.runs.plan.numbers import CellPlan, Rate, size_of

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SAMPLE = 128
"""How many instances are tokenized; on the standard grid their mean is within 1 % of that of all."""
TEXT_BYTES = 100.0
"""About how many bytes a text takes in a table of instances, which is compressed."""


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
            for name in dict.fromkeys([*config.run.models, *config.readers])
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
            writer=None,
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

    def follow_up(self, dataset: str, writer: str, model: str) -> CellPlan:
        """Plans what a model is asked of the texts that another writes in a cell."""
        texts, shard = self.layout.texts(dataset, writer), self.layout.follow_up(dataset, writer, model)
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
                [shard.predictions], instances, self.config.question(model, dataset, writer).row_bytes
            ),
            seconds=self.rate.seconds(instances, flop),
            shards=1,
            shards_done=int(shard.predictions.exists()),
            measured=self.layout.measures(dataset, writer).exists(),
        )

    def texts_of_cell(self, dataset: str, writer: str) -> Figure:
        """Counts the distinct texts of a cell: before they are written, there are at most as many as instances."""
        facts = table_facts(self.layout.texts(dataset, writer))
        return self.instances_of_cell(dataset, writer).times(1, "at most") if facts is None else Figure(facts.rows)

    def tokens_of_texts(self, dataset: str, writer: str, model: str) -> Figure:
        """Counts the tokens of a cell's texts: a sample of them or, before they are written, of the longest ones."""
        instances, table = self.texts_of_cell(dataset, writer), self.layout.texts(dataset, writer)
        if table_facts(table) is None:
            generation = self.config.models[writer].deciding_keys().get("generation")
            return instances.times(generation["max_tokens"] if generation else None, "about")
        key = dataset, f"{FOLLOW_UPS}/{writer}"
        if key not in self.texts:
            # Tables are imported where there is one: most plans need none.
            from biasgrid.tables.instances import read_instances

            self.texts[key] = list(starmap(Text, Expanded(read_instances(table, {})).sample(SAMPLE)))
        return self.tokens_of(model, instances, key)

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
        """Counts the tokens of a cell's instances."""
        asked = dataset, self.config.question(model, dataset).variant
        return self.tokens_of(model, self.instances[asked], asked)

    def tokens_of(self, model: str, instances: Figure, asked: tuple[str, str]) -> Figure:
        """Tokenizes a sample of what is asked, or counts its words where the model's tokenizer is not at hand."""
        folder, joined, texts = self.folders[model], self.config.back_end_of(model).joined, self.texts[asked]
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
