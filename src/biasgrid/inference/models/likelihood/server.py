"""Models behind servers: sentences are read back with the log-probability of each token."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import polars as pl

from biasgrid.base.faults import one_of
from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.inference.engine.settings import InferenceSettings
from biasgrid.inference.models.likelihood.sentences import COLUMNS
from biasgrid.inference.models.servers.back_end import Server
from biasgrid.inference.models.servers.methods import ECHOED, Echo, SentRequests, scores_of
from biasgrid.inference.models.servers.requests import Answer
from biasgrid.inference.scorings import CAUSAL, SCORINGS, scorings_of
from biasgrid.jobs.progress import Progress


class EchoedScore(NamedTuple):
    """What a server says of a sentence.

    Attributes:
        total: the sum of the log-probabilities.
        scored: over how many tokens.
        tokens: how many tokens the sentence has.
    """

    total: float
    scored: int
    tokens: int


class ServerLikelihood(Server):
    """Scores sentences with a model behind a server that gives the log-probabilities of prompts."""

    @classmethod
    def open(
        cls, record: Mapping[str, Any], settings: InferenceSettings, instances: pl.DataFrame
    ) -> Self:
        """Looks for the key or starts the server; see `Server.open`.

        Raises:
            ModelError: the server does not score what it reads, or the formula is for weights.
        """
        name, known = settings.choices["scoring"], scorings_of(CAUSAL, served=True)
        if name not in known:
            raise ModelError(
                f"there is no scoring {name!r} for models behind servers; expected {one_of(known)}"
            )
        method, tried = (settings.capabilities.get(key) for key in ("scored_by", "tried"))
        if method != Echo.name:
            reason = (tried or {}).get(Echo.name, "only `api: completions` reads prompts back")
            raise ModelError(
                f"model {settings.model}: its server gives no log-probabilities of prompts "
                f"({reason}); expected one that does, or a dataset that has the model choose "
                "between the two sentences"
            )
        return super().open(record, settings, instances)

    def answer(self, instances: pl.DataFrame, progress: Progress) -> pl.DataFrame:
        """Scores some instances: answers of the kind `likelihood`.

        Raises:
            UserError: not all were answered.
        """
        sentences = instances["text"].cast(pl.String).to_list()
        requests = self.requests(
            instances, [[SentRequests(text, dict(ECHOED))] for text in sentences]
        )
        self.send(requests, progress)
        answers = [self.store[request] for (request,) in requests]
        read = [echoed_score(text, answer) for text, answer in zip(sentences, answers, strict=True)]
        name = str(self.settings.choices["scoring"])
        scores = [
            each.total / (1 if SCORINGS[name].total else each.scored) if each.scored else None
            for each in read
        ]
        columns = {
            "score": scores,
            "score_without_start": [None] * len(read),
            "tokens_scored": [each.scored for each in read],
            "tokens": [each.tokens for each in read],
            "unknown_tokens": [None] * len(read),
            "truncated": [False] * len(read),
            "scoring": [name] * len(read),
        }
        return pl.DataFrame(columns, schema=COLUMNS)


def echoed_score(sentence: str, answer: Answer) -> EchoedScore:
    """Returns what a server says of a sentence that it has read back.

    The first token of all that is read has no probability: it is left out where it is the
    sentence's own.
    """
    own, whole = scores_of(sentence, answer), answer.scores or []
    begin = "".join(token for token, _ in whole).find(sentence)
    scored = own[1:] if own and begin < len(whole[0][0]) else own
    return EchoedScore(sum(score for _, score in scored), len(scored), len(own))
