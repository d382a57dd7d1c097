"""Finds out the capabilities of a server by trial.

Servers are not believed: some take a parameter and ignore it, others give every option the same
score.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from biasgrid.inference.engine.settings import ModelSettings
from biasgrid.inference.models.generation.section import Generation
from biasgrid.inference.models.prerequisites import CapabilityProbe
from biasgrid.inference.models.servers.client import Client
from biasgrid.inference.models.servers.connection import (
    TOKEN_LIMITS,
    Access,
    quiet_libraries,
    server_access,
)
from biasgrid.inference.models.servers.identity import answering_server, server_digest
from biasgrid.inference.models.servers.methods import (
    METHODS,
    Choice,
    OptionTexts,
    ParsedText,
    ScoringMethod,
    SentPrompt,
)
from biasgrid.inference.models.servers.queue import ask_patiently, open_client, refusal_advice
from biasgrid.inference.models.servers.requests import Answer, RefusedRequest, Request

logger = logging.getLogger(__name__)

LETTERS: OptionTexts = ("A", "B")
QUESTIONS = (
    "Which of the two is an animal? Reply with one letter.\nA. a cat\nB. a stone\nAnswer:",
    "Which of the two can be eaten? Reply with one letter.\nA. a hammer\nB. an apple\nAnswer:",
)
"""Their right answers differ, so that a server with constant scores is noticed."""
UNEXPECTED_OPTIONS: tuple[OptionTexts, OptionTexts] = (("quartz", "basalt"), ("violet", "clover"))
"""No server answers `QUESTIONS` with these of its own accord."""
LONG_QUESTION = "Count from one to fifty, in words."
CUT_LENGTH = 16
"""The number of tokens at which the answer to `LONG_QUESTION` is to be cut off; some servers refuse
a smaller one.
"""
LARGEST_MASS = 1.001
"""Probabilities may be rounded."""


def probed_server(
    record: Mapping[str, Any], settings: ModelSettings, _answers: Collection[str] = ()
) -> str:
    """Digests a server and its weights; the arguments are those of `find_capabilities`."""
    return answering_server(server_digest(settings.section), record)


def find_capabilities(
    record: Mapping[str, Any], settings: ModelSettings, _answers: Collection[str] = ()
) -> dict[str, Any]:
    """Finds out how a model behind a server can be asked to choose among options.

    Args:
        record: the model's record.
        settings: settings of the model.
        _answers: not used: only choices need capabilities of a server.

    Returns:
        `scored_by`, the first of `METHODS` that works; `tried`, for each method before it the
        reason why it does not; `served_by`, the server's name of the model; and `token_limit`, its
        name of the parameter that limits the length of answers.

    Raises:
        UserError: the server cannot be reached, or does not answer.
    """
    quiet_libraries()
    writing = Generation.model_validate(settings.section.get("generation", {})).model_dump(
        include={"max_tokens", "temperature"}
    )
    with server_access(record, settings.section, settings.log) as access:
        return asyncio.run(try_methods(access, writing))


async def try_methods(access: Access, writing: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the capabilities of a server; see `find_capabilities`.

    Args:
        access: the access to the server.
        writing: the parameters of requests for a text.

    Raises:
        ModelError: the server does not answer.
    """
    access, answer = await find_token_limit(access, writing)
    api = access.server_settings.api
    client = open_client(access)
    try:
        reasons: dict[str, str] = {}
        for method in METHODS:
            if api not in method.apis:
                continue
            problem = await method_problem(client, method(writing), api)
            if problem is None:
                logger.info("%s: options are scored by %s", access.public_url, method.name)
                return {
                    "scored_by": method.name,
                    "tried": reasons,
                    "served_by": answer.model,
                    "token_limit": access.token_limit,
                }
            reason = access.without_key(problem)
            reasons[method.name] = reason
            logger.info("%s: cannot be scored by %s: %s", access.public_url, method.name, reason)
    finally:
        await client.close()
    raise access.error("it gives no readable answers", "a server with OpenAI's protocol")


async def find_token_limit(access: Access, writing: Mapping[str, Any]) -> tuple[Access, Answer]:
    """Finds the name of the parameter that limits the length of a server's answers.

    Some servers take a name and ignore it. If no name limits answers, the first one that is not
    refused is taken, with a warning.

    Returns:
        The access with this name, and an answer of the server.

    Raises:
        ModelError: the server does not answer.
    """
    accepted: list[tuple[Access, Answer]] = []
    api = access.server_settings.api
    for name in TOKEN_LIMITS if api == "chat" else TOKEN_LIMITS[:1]:
        client = open_client(replace(access, token_limit=name))
        question = question_prompt(QUESTIONS[0], api)
        try:
            (answer,) = await send_requests(client, ParsedText(writing), question, LETTERS)
            # The client changes to the other name if the server refuses this one.
            accepted.append((replace(access, token_limit=client.token_limit), answer))
            if await limits_length(client, api):
                return accepted[-1]
            logger.info(
                "%s: answers are longer than %s allows", access.public_url, client.token_limit
            )
        except RefusedRequest as error:
            if not accepted:
                raise access.error(error.problem, refusal_advice(error)) from None
        finally:
            await client.close()
    logger.warning("%s: nothing limits its answers to `max_tokens`", access.public_url)
    return accepted[0]


async def limits_length(client: Client, api: str) -> bool:
    """Whether a server cuts off an answer that would be long, or refuses to."""
    method = ParsedText({"max_tokens": CUT_LENGTH, "temperature": 1.0})
    question = question_prompt(LONG_QUESTION, api)
    try:
        (answer,) = await send_requests(client, method, question, LETTERS)
    except RefusedRequest:
        return True
    # A token has at most one word, nearly always.
    has_few_words = len(answer.text.split()) <= 2 * CUT_LENGTH
    return (answer.tokens_out or 0) <= CUT_LENGTH and has_few_words


def question_prompt(question: str, api: str) -> SentPrompt:
    """Returns a question as it is sent: a text for completions, else a chat of one message."""
    return question if api == "completions" else [{"role": "user", "content": question}]


async def send_requests(
    client: Client, method: ScoringMethod, prompt: SentPrompt, options: OptionTexts
) -> list[Answer]:
    """Sends the requests of a method, one after the other, and returns their answers.

    Raises:
        RefusedRequest: there is no answer.
    """
    answers = []
    for messages, parameters in method.build_requests(prompt, options):
        request = Request("", "", 0, messages, parameters)
        # An answer that does not follow the protocol will not do so the next time.
        answer = await ask_patiently(
            client, request, lambda error, _: error.status == HTTPStatus.OK
        )
        answers.append(answer)
    return answers


async def method_problem(client: Client, method: ScoringMethod, api: str) -> str | None:
    """Returns the reason why a method does not work, None if it does."""
    try:
        if isinstance(method, Choice):
            return await choice_problem(client, method, api)
        if isinstance(method, ParsedText):
            return None
        return await scores_problem(client, method, api)
    except RefusedRequest as error:
        return error.problem


async def choice_problem(client: Client, method: Choice, api: str) -> str | None:
    """Returns the reason why a server cannot be held to options, None if it can.

    It must give answers that it would not give otherwise.
    """
    question = question_prompt(QUESTIONS[0], api)
    for options in UNEXPECTED_OPTIONS:
        (answer,) = await send_requests(client, method, question, options)
        if answer.text.strip() not in options:
            return f"it was told to answer {options[0]} or {options[1]}, but did not"
    return None


async def scores_problem(client: Client, method: ScoringMethod, api: str) -> str | None:
    """Returns the reason why the probabilities of a server cannot be right, None if they can."""
    probabilities = []
    for question in QUESTIONS:
        prompt = question_prompt(question, api)
        answers = await send_requests(client, method, prompt, LETTERS)
        scores = method.read_answers(prompt, LETTERS, answers)
        if None in scores.probabilities or scores.mass is None:
            return "it gives no log-probabilities"
        values = [float(value or 0) for value in scores.probabilities]
        if problem := values_problem(values, scores.mass):
            return problem
        probabilities.append(values)
    if probabilities[0] == probabilities[1]:
        return "it gives different questions the same scores"
    return None


def values_problem(values: Sequence[float], mass: float) -> str | None:
    """Returns the reason why probabilities of two options cannot be right, None if they can.

    Args:
        values: the probability of each option.
        mass: the probability of both together.
    """
    if values[0] == values[1]:
        return f"it gives two options the same score ({values[0]:.3g})"
    return f"its probabilities add up to {mass:.3g}" if mass > LARGEST_MASS else None


PROBE = CapabilityProbe(subject=probed_server, find=find_capabilities)
