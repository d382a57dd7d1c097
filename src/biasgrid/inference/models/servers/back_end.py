"""A model behind a server: what is asked becomes requests, and their answers the columns of predictions."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl

from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.inference.engine.back_end import BackEnd
from biasgrid.inference.engine.lists import lists_of, numbered
from biasgrid.inference.engine.settings import Settings
from biasgrid.inference.models.generation.prompts import as_messages, as_text, texts_of
from biasgrid.inference.models.generation.section import Generation
from biasgrid.inference.models.generation.thoughts import Thoughts, tell_of_strange_marks
from biasgrid.inference.models.servers.budget import Budget
from biasgrid.inference.models.servers.connection import Access, quiet_libraries, reached
from biasgrid.inference.models.servers.identity import (
    MANIFEST,
    answered_by,
    former_model,
    former_serve,
    owner_before,
    server_of,
)
from biasgrid.inference.models.servers.lengths import refuse_longer, warn_of_date
from biasgrid.inference.models.servers.methods import Asked, Options, Sent, Text, Way, text_of, way_named
from biasgrid.inference.models.servers.queue import Desk
from biasgrid.inference.models.servers.requests import Request, asked_with
from biasgrid.inference.models.servers.section import Serve
from biasgrid.inference.models.servers.store import RequestStore
from biasgrid.inference.models.servers.usage import bill_of
from biasgrid.jobs.lock import one_job
from biasgrid.jobs.progress import Progress
from biasgrid.tables.keys import STEP, mix_bits

logger = logging.getLogger(__name__)

ANSWER_BYTES = 4096
TOKEN_BYTES = 64
"""How much room an answer may take in the store, and each of its tokens."""
LONGEST_FOR_LOCK = 60
"""Seconds for which a job that a killed run has left behind is waited for; those of a run have their turns."""


@dataclass(frozen=True)
class ServerChoices:
    """What decides the answers of a server that is started for a job; for others their record has it.

    Attributes:
        generation: the keys of `generation.section.Generation`.
        serve: those keys of `section.Serve` that decide answers.
    """

    generation: Mapping[str, Any] | None = None
    serve: Mapping[str, Any] | None = None


class Server(BackEnd):
    """Asks a model behind a server.

    Attributes:
        access: how it is reached.
        settings: how to answer.
        generation: the keys of `generation.section.Generation`.
        answered_by: the digest of who answers, see `identity`.
        former_model: what version 0.1.0 had in its place.
        asked_with: the digest of what is the same in all requests.
        desk: what sends requests.
    """

    Choices: ClassVar[type[Any]] = ServerChoices

    def __init__(self, access: Access, settings: Settings, record: Mapping[str, Any], held: ExitStack):
        """Opens the store.

        Args:
            access: how the server is reached.
            settings: how to answer.
            record: the model's record.
            held: what must be let go of at the end.
        """
        self.access, self.settings, self.held = access, settings, held
        self.generation = generation_of(settings)
        self.answered_by = answered_by(server_of(settings.section), record)
        self.former_model = former_model(settings.section, record, former_serve(settings.choices.get("serve")))
        self.asked_with = asked_with_of(settings)
        longest = min(LONGEST_FOR_LOCK, settings.seconds_without_progress / 2)
        held.enter_context(one_job(cell_of(settings) / "requests.lock", longest))
        manifest = cell_of(settings).parents[2] / MANIFEST
        owner = partial(owner_before, manifest, settings.model, settings.section, record)
        self.store = held.enter_context(RequestStore(cell_of(settings), self.reserve, owner))
        self.desk = Desk(access, self.store, self.budget())

    @classmethod
    def decisive(cls, settings: Settings) -> dict[str, Any]:
        """Returns what decides the answers, and where options are chosen the way in which they are."""
        way = {"scored_by": way_of(settings)} if settings.answer == "choice" else {}
        choices = {name: value for name, value in super().decisive(settings).items() if value is not None}
        return {**choices, **way, "asked_with": asked_with_of(settings), "server": server_of(settings.section)}

    @classmethod
    def runs_on(cls, settings: Settings) -> str:
        """Says that it computes nothing in this process."""
        return "server"

    @classmethod
    def open(cls, record: Mapping[str, Any], settings: Settings, instances: pl.DataFrame) -> Self:
        """Looks for the key or starts the server, and refuses what is longer than the model takes."""
        quiet_libraries()
        with ExitStack() as held:
            access = held.enter_context(reached(record, settings.section, settings.log))
            if limit := settings.capabilities.get("token_limit"):
                access = replace(access, token_limit=limit)
            back_end = cls(access, settings, record, held)
            most = back_end.generation["max_tokens"] if settings.answer == "text" else 0
            if isinstance(access.asking, Serve):
                warn_of_date(record, access.asking, settings.model)
            refuse_longer(record, instances, access.asking, most, settings.model)
            # What comes of it ends it, see `release`.
            back_end.held = held.pop_all()
        return back_end

    def release(self) -> None:
        """Closes the store, and ends the server if it is ours."""
        self.held.close()

    @property
    def reserve(self) -> int:
        """How many bytes the answers under way may take."""
        most = ANSWER_BYTES + TOKEN_BYTES * int(self.generation["max_tokens"])
        return self.access.asking.concurrency * most

    def budget(self) -> Budget:
        """Returns what may be spent, less what all cells of the model have cost."""
        asking = self.access.asking
        budget = Budget(getattr(asking, "price", None), getattr(asking, "max_cost", None))
        for folder in cell_of(self.settings).parents[1].glob(f"*/{self.settings.model}"):
            budget.add(bill_of(folder))
        return budget

    @property
    def way(self) -> Way:
        """How options are chosen."""
        return way_named(way_of(self.settings))(self.writing, self.thoughts)

    @property
    def thoughts(self) -> Thoughts:
        """What the model puts around thoughts."""
        return Thoughts.of(self.generation["thinking"])

    @property
    def writing(self) -> dict[str, Any]:
        """The parameters of texts."""
        return writing_of(self.generation)

    def answer(self, instances: pl.DataFrame, progress: Progress) -> pl.DataFrame:
        """Answers some instances, many at a time."""
        ask = self.choose if self.settings.answer == "choice" else self.write
        return ask(instances, progress)

    def asked(self, instances: pl.DataFrame) -> list[Asked]:
        """Returns what is sent of each instance: messages, or of completions a text."""
        write = as_text if self.access.asking.api == "completions" else as_messages
        return [write(system, text) for system, text in texts_of(instances)]

    def choose(self, instances: pl.DataFrame, progress: Progress) -> pl.DataFrame:
        """Has options chosen: answers of the kind `choice`.

        Raises:
            UserError: not all were answered.
        """
        names = numbered(instances, "candidate")
        options: list[Options] = instances.select(pl.col(names).cast(pl.String)).rows()
        way, asked = self.way, self.asked(instances)
        requests = self.requests(instances, [way.sent(*row) for row in zip(asked, options, strict=True)])
        self.send(requests, progress)
        answers = ([self.store[request] for request in row] for row in requests)
        said = [way.said(*row) for row in zip(asked, options, answers, strict=True)]
        known = np.array([[value is not None for value in row.probabilities] for row in said])
        values = np.array([[value or 0.0 for value in row.probabilities] for row in said])
        return pl.DataFrame(
            [
                lists_of("probabilities", values, known, pl.Float32),
                pl.Series("mass", [None if row.mass is None else min(row.mass, 1.0) for row in said], pl.Float32),
                pl.repeat(way.name, len(said), eager=True).cast(pl.Categorical).alias("scored_by"),
                pl.Series("status", [row.status for row in said], pl.Categorical),
                pl.Series("response", [row.response for row in said], pl.String),
            ]
        )

    def write(self, instances: pl.DataFrame, progress: Progress) -> pl.DataFrame:
        """Has texts written: answers of the kind `text`.

        Raises:
            UserError: not all were answered.
        """
        requests = self.requests(instances, [[Sent(asked, self.writing)] for asked in self.asked(instances)])
        self.send(requests, progress)
        answers = [self.store[request] for (request,) in requests]
        rows = [(*text_of(answer, self.thoughts), answer.tokens_in, answer.tokens_out) for answer in answers]
        tell_of_strange_marks(self.settings.model, [response for response, *_ in rows])
        return pl.DataFrame(rows, schema=OF_TEXTS, orient="row").with_columns(
            over_limit=pl.col("tokens_out") > self.generation["max_tokens"]
        )

    def requests(self, instances: pl.DataFrame, sent: Sequence[Sequence[Sent]]) -> list[list[Request]]:
        """Makes the requests of each instance: what is drawn has a seed of its own."""
        keys = instances["key"].to_numpy()
        seeds = mix_bits(keys + np.uint64(self.generation["seed"] * int(STEP) % 2**64)) % np.uint64(2**31)
        return [
            [
                Request(
                    self.answered_by,
                    self.asked_with,
                    int(key),
                    each.messages,
                    self.with_seed(each.parameters, int(seed)),
                    self.former_model,
                )
                for each in row
            ]
            for key, seed, row in zip(keys, seeds, sent, strict=True)
        ]

    def with_seed(self, parameters: Mapping[str, Any], seed: int) -> dict[str, Any]:
        """Adds a seed where something is drawn that counts."""
        drawn = parameters["max_tokens"] > 1 and parameters["temperature"] > 0 and self.access.asking.api != "anthropic"
        return {**parameters, "seed": seed} if drawn else dict(parameters)

    def send(self, requests: Sequence[Sequence[Request]], progress: Progress) -> None:
        """Asks what was never asked, and counts instances as their last answers arrive."""
        left = {request.digest: place for place, row in enumerate(requests) for request in row}
        missing = [sum(request not in self.store for request in row) for row in requests]
        progress.advance(sum(not count for count in missing))

        def arrived(request: Request) -> None:
            place = left[request.digest]
            missing[place] -= 1
            progress.advance(int(not missing[place]))

        self.desk.arrived = arrived
        self.desk.ask([request for row in requests for request in row])

    def close(self, answers: pl.DataFrame) -> dict[str, Any]:
        """Tells which models have answered, and how many texts are longer than they were to be."""
        names = sorted(filter(None, self.desk.names))
        strange = [name for name in names if self.access.model not in name and name not in self.access.model]
        if strange:
            logger.warning(
                "%s was asked for %s, and %s has answered: check that they are the same",
                self.access.shown, self.access.model, ", ".join(strange),
            )  # fmt: skip
        if "over_limit" in answers.columns and (longer := answers["over_limit"].sum()):
            logger.warning(
                "%s: %s of %s answers are longer than max_tokens %s (the longest: %s tokens), and charged as they are",
                self.access.shown, longer, len(answers), self.generation["max_tokens"], answers["tokens_out"].max(),
            )  # fmt: skip
        return {}


OF_TEXTS = {"response": pl.String, "status": pl.Categorical, "tokens_in": pl.UInt32, "tokens_out": pl.UInt32}


def generation_of(settings: Settings) -> dict[str, Any]:
    """Returns the keys of `generation.section.Generation`."""
    return Generation.model_validate(settings.section.get("generation", {})).model_dump()


def way_of(settings: Settings) -> str:
    """Names how options are chosen: as the server can, or in texts where the config says so."""
    if generation_of(settings)["options"] == Text.name:
        return Text.name
    return str(settings.capabilities["scored_by"])


def writing_of(generation: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the parameters of texts; top_p where it cuts something off alone, as services take one of both."""
    keys = ("max_tokens", "temperature", *(["top_p"] if generation["top_p"] < 1 else []))
    return {key: generation[key] for key in keys}


def asked_with_of(settings: Settings) -> str:
    """Digests what is the same in all requests of a cell; see `requests.asked_with`."""
    generation = generation_of(settings)
    sent = writing_of(generation)
    if settings.answer == "choice":
        sent = way_named(way_of(settings))(sent).sent("", ("A",))[0].parameters
    asked = settings.section.get("endpoint") or settings.section["serve"]
    # Of one token nothing is drawn.
    drawn = {"drawn": generation["seed"]} if sent["max_tokens"] > 1 else {}
    return asked_with(
        [asked.get("model"), former_serve(settings.choices.get("serve"))], asked.get("api", "chat"), sent | drawn
    )


def cell_of(settings: Settings) -> Any:
    """Returns the folder of the cell's store."""
    if settings.cell is None:
        raise ModelError("there is no folder for the answers of the server; expected the one of the cell")
    return settings.cell
