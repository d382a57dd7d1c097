"""Models behind servers: sentences are read back with the log-probability of each token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import polars as pl

from biasgrid.base.faults import one_of
from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.inference.engine.settings import InferenceSettings
from biasgrid.inference.models.likelihood.sentences import COLUMNS
from biasgrid.inference.models.servers.back_end import Server
from biasgrid.inference.models.servers.methods import (
    ECHO_PARAMETERS,
    Echo,
    PreparedRequest,
    echoed_tokens,
)
from biasgrid.inference.models.servers.requests import Answer, Request
from biasgrid.inference.scorings import CAUSAL, SCORINGS, scoring_names


class EchoedScore(NamedTuple):
    """What a server says of a sentence.

    Attributes:
        total: the sum of the log-probabilities.
        tokens_scored: the number of tokens that it is over: without the first one, which no server
            scores without a token before it.
        tokens: the number of tokens in the sentence; 0 if the server did not read it back.
    """

    total: float
    tokens_scored: int
    tokens: int


class ServerLikelihood(Server):
    """Scores sentences with a model behind a server that gives the log-probabilities of prompts."""

    @classmethod
    def open(
        cls, record: Mapping[str, Any], settings: InferenceSettings, prompts: pl.DataFrame
    ) -> Self:
        """Looks for the key or starts the server; see `Server.open`.

        Raises:
            ModelError: the server does not score what it reads, or the formula is for weights.
        """
        name, known = settings.choices["scoring"], scoring_names(CAUSAL, is_served=True)
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
        return super().open(record, settings, prompts)

    def build_requests(self, prompts: pl.DataFrame) -> list[list[Request]]:
        """Returns the request of each sentence."""
        sentences = prompts["text"].cast(pl.String)
        return self.add_seeds(
            prompts, [[PreparedRequest(text, dict(ECHO_PARAMETERS))] for text in sentences]
        )

    def answer_columns(
        self, prompts: pl.DataFrame, answers: Sequence[Sequence[Answer]]
    ) -> pl.DataFrame:
        """Scores sentences: answers of the kind `likelihood`.

        `score` is null if nothing is scored: the server did not read the sentence back (`tokens`
        is 0), or the sentence has only a first token.
        """
        sentences = zip(prompts["text"].cast(pl.String), answers, strict=True)
        echoes = [echoed_score(sentence, answer) for sentence, (answer,) in sentences]
        name = str(self.settings.choices["scoring"])
        is_total = SCORINGS[name].total
        scores: list[float | None] = []
        for echo in echoes:
            if not echo.tokens_scored:
                scores.append(None)
            else:
                scores.append(echo.total if is_total else echo.total / echo.tokens_scored)
        columns = {
            "score": scores,
            "score_without_start": [None] * len(echoes),
            "tokens_scored": [echo.tokens_scored for echo in echoes],
            "tokens": [echo.tokens for echo in echoes],
            "unknown_tokens": [None] * len(echoes),
            "truncated": [False] * len(echoes),
            "scoring": [name] * len(echoes),
        }
        return pl.DataFrame(columns, schema=COLUMNS)


def echoed_score(sentence: str, answer: Answer) -> EchoedScore:
    """Returns the score of a sentence that a server has read back.

    The very first token of a text has no probability: it is left out if it is the sentence's own,
    and not a start token of the server.
    """
    own = echoed_tokens(sentence, answer) or []
    whole = answer.scores or []
    begin = "".join(token for token, _ in whole).find(sentence)
    scored = own[1:] if own and begin < len(whole[0][0]) else own
    return EchoedScore(sum(score for _, score in scored), len(scored), len(own))
