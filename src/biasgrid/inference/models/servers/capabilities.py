"""What a server can do is tried, not believed: some take a parameter and ignore it, others score
every option alike.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import Any

from biasgrid.base.files import read_run_json
from biasgrid.inference.models.generation.section import Generation
from biasgrid.inference.models.servers.client import Client
from biasgrid.inference.models.servers.connection import (
    TOKEN_LIMITS,
    Access,
    quiet_libraries,
    server_access,
)
from biasgrid.inference.models.servers.identity import answering_server, server_of
from biasgrid.inference.models.servers.methods import (
    WAYS,
    Choice,
    OptionTexts,
    ParsedText,
    PromptContent,
    ScoringMethod,
)
from biasgrid.inference.models.servers.queue import advice_on, ask_patiently, client_of
from biasgrid.inference.models.servers.requests import Answer, RefusedRequest, Request

logger = logging.getLogger(__name__)

LETTERS: OptionTexts = ("A", "B")
QUESTIONS = (
    "Which of the two is an animal? Reply with one letter.\nA. a cat\nB. a stone\nAnswer:",
    "Which of the two can be eaten? Reply with one letter.\nA. a hammer\nB. an apple\nAnswer:",
)
STRANGE: tuple[OptionTexts, OptionTexts] = (("quartz", "basalt"), ("violet", "clover"))
"""No server answers with these of its own accord."""
LONG_QUESTION = "Count from one to fifty, in words."
FEW_TOKENS = 16
"""To which the answer is to be cut; some servers refuse fewer."""
MOST = 1.001
"""Probabilities may be rounded."""


def find_capabilities(
    record: Mapping[str, Any], section: Mapping[str, Any], log: Path | None
) -> dict[str, Any]:
    """Finds out how a model behind a server can be asked to choose among options.

    Args:
        record: the model's record.
        section: its section of the config.
        log: the log of the job.

    Returns:
        `scored_by`, the first way that works; `tried`, by the ways before it why they do not;
        `served_by`, what the server calls the model that answers; `token_limit`, what it calls the
        most tokens that may be written; and `answered_by`, see `identity`.

    Raises:
        UserError: it cannot be reached, or gives no answer.
    """
    quiet_libraries()
    writing = Generation.model_validate(section.get("generation", {})).model_dump(
        include={"max_tokens", "temperature"}
    )
    with server_access(record, section, log) as access:
        found = asyncio.run(tried(access, writing))
    return {**found, "answered_by": answering_server(server_of(section), record)}


def known_capabilities(
    path: Path, record: Mapping[str, Any], section: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Returns what was found out before, if it was of the server that answers now; else None.

    Args:
        path: the file that says it, if there is one; see `keep_capabilities`.
        record: the model's record.
        section: its section of the config.
    """
    if not path.exists() or not section.keys() & {"endpoint", "serve"}:
        return None
    known: dict[str, Any] = read_run_json(path, "what a model can do")
    is_of_server = known.get("answered_by") == answering_server(server_of(section), record)
    return known if is_of_server and "scored_by" in known else None


async def tried(access: Access, writing: Mapping[str, Any]) -> dict[str, Any]:
    """Tries all ways, from the one that says most; see `look`."""
    access, answer = await with_token_limit(access, writing)
    client = client_of(access)
    try:
        reasons: dict[str, str] = {}
        for kind in WAYS:
            if access.asking.api not in kind.apis:
                continue
            problem = await problem_of(client, kind(writing), access.asking.api)
            if problem is None:
                logger.info("%s: options are scored by %s", access.shown, kind.name)
                return {
                    "scored_by": kind.name,
                    "tried": reasons,
                    "served_by": answer.model,
                    "token_limit": access.token_limit,
                }
            reasons[kind.name] = access.without_key(problem)
            logger.info(
                "%s: cannot be scored by %s: %s", access.shown, kind.name, reasons[kind.name]
            )
    finally:
        await client.close()
    raise access.error("it gives no readable answers", "a server with OpenAI's protocol")


async def with_token_limit(access: Access, writing: Mapping[str, Any]) -> tuple[Access, Answer]:
    """Finds what a server calls the most tokens that may be written: some take a name and ignore
    it.

    Returns:
        The access with this name, and an answer; where no name keeps answers short, the first that
        is not refused.

    Raises:
        ModelError: the server gives no answer.
    """
    answered: list[tuple[Access, Answer]] = []
    for name in TOKEN_LIMITS if access.asking.api == "chat" else TOKEN_LIMITS[:1]:
        client = client_of(replace(access, token_limit=name))
        try:
            answer = await plain_answer(client, access, writing)
            answered.append((replace(access, token_limit=client.token_limit), answer))
            if await keeps_limit(client, access.asking.api):
                return answered[-1]
            logger.info("%s: answers are longer than %s allows", access.shown, client.token_limit)
        except RefusedRequest as error:
            if not answered:
                raise access.error(error.problem, advice_on(error)) from None
        finally:
            await client.close()
    logger.warning("%s: nothing limits its answers to `max_tokens`", access.shown)
    return answered[0]


async def plain_answer(client: Client, access: Access, writing: Mapping[str, Any]) -> Answer:
    """Asks for a text, to see whether there is a server that takes key and model.

    Raises:
        RefusedRequest: there is none.
    """
    return (
        await answers_to(
            client, ParsedText(writing), as_requests(QUESTIONS[0], access.asking.api), LETTERS
        )
    )[0]


async def keeps_limit(client: Client, api: str) -> bool:
    """Says whether an answer that would be long is as short as it was to be; so does a server that
    refuses to cut.
    """
    text = ParsedText({"max_tokens": FEW_TOKENS, "temperature": 1.0})
    try:
        (answer,) = await answers_to(client, text, as_requests(LONG_QUESTION, api), LETTERS)
    except RefusedRequest:
        return True
    # A token has at most one word, nearly always.
    return (answer.tokens_out or 0) <= FEW_TOKENS and len(answer.text.split()) <= 2 * FEW_TOKENS


def as_requests(question: str, api: str) -> PromptContent:
    """Returns what is sent of a question."""
    return question if api == "completions" else [{"role": "user", "content": question}]


async def answers_to(
    client: Client, way: ScoringMethod, asked: PromptContent, options: OptionTexts
) -> list[Answer]:
    """Asks what a way sends.

    Raises:
        RefusedRequest: there is no answer.
    """
    # What answers, but not as the protocol wants, will not do so the next time.
    requests = (Request("", "", 0, *sent) for sent in way.requests(asked, options))
    return [
        await ask_patiently(client, request, lambda error, _: error.status == HTTPStatus.OK)
        for request in requests
    ]


async def problem_of(client: Client, way: ScoringMethod, api: str) -> str | None:
    """Says why a way does not work, None where it does."""
    try:
        if isinstance(way, Choice):
            return await problem_of_choice(client, way, api)
        return None if isinstance(way, ParsedText) else await problem_of_scores(client, way, api)
    except RefusedRequest as error:
        return error.problem


async def problem_of_choice(client: Client, way: Choice, api: str) -> str | None:
    """Says why a server cannot be told what it may answer: it must say what it otherwise would
    not.
    """
    for options in STRANGE:
        (answer,) = await answers_to(client, way, as_requests(QUESTIONS[0], api), options)
        if answer.text.strip() not in options:
            return f"it was told to answer {options[0]} or {options[1]}, but did not"
    return None


async def problem_of_scores(client: Client, way: ScoringMethod, api: str) -> str | None:
    """Says why the scores of a server cannot be believed."""
    found = []
    for question in QUESTIONS:
        asked = as_requests(question, api)
        said = way.scores(asked, LETTERS, await answers_to(client, way, asked, LETTERS))
        if None in said.probabilities or said.mass is None:
            return "it gives no log-probabilities"
        found.append([float(value or 0) for value in said.probabilities])
        if problem := problem_of_values(found[-1], said.mass):
            return problem
    return "it gives different questions the same scores" if found[0] == found[1] else None


def problem_of_values(values: Sequence[float], mass: float) -> str | None:
    """Says why probabilities of two options cannot be right; None if they can be.

    Args:
        values: the probability of each option.
        mass: the probability of all options; above `MOST`, it is no rounding.
    """
    if values[0] == values[1]:
        return f"it gives two options the same score ({values[0]:.3g})"
    return f"its probabilities add up to {mass:.3g}" if mass > MOST else None
