"""Sends many requests at a time, within the limits of a server and of the budget.

Answers are stored as they arrive.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus

from aiolimiter import AsyncLimiter

from biasgrid.base.faults import UserError
from biasgrid.inference.models.servers.client import Client
from biasgrid.inference.models.servers.connection import Access
from biasgrid.inference.models.servers.openai_client import OpenAIClient
from biasgrid.inference.models.servers.requests import FINAL, Answer, RefusedRequest, Request
from biasgrid.inference.models.servers.section import Endpoint
from biasgrid.inference.models.servers.store import RequestStore
from biasgrid.inference.models.servers.usage import Budget

logger = logging.getLogger(__name__)

RATE_WINDOW = 10
"""Seconds over which tokens may be saved up. Limiters begin full, so that a longer time would begin
with a flood of requests.
"""
POLLING_SECONDS = 0.01
SECONDS_A_STEP = 0.5
AnswerHandler = Callable[[Request, Answer], None]
LONGEST_PAUSE = 900.0
"""Seconds between two attempts, whatever the server asks for."""
FEWEST_FAILURES = 16
"""Sending stops after so many requests in a row without an answer, or as many as are sent at a time
if that is more.
"""


class RateLimits:
    """The requests and tokens that a server takes per minute."""

    def __init__(self, requests: int | None, tokens: int | None):
        """Begins with all of them free.

        Args:
            requests: requests per minute; None without a limit.
            tokens: tokens per minute; None without a limit.
        """
        # One at a time: requests are spread over the minute.
        self.requests = None if requests is None else AsyncLimiter(1, 60 / requests)
        self.tokens = None
        if tokens is not None:
            window_tokens = max(1.0, tokens * RATE_WINDOW / 60)
            self.tokens = AsyncLimiter(window_tokens, RATE_WINDOW)

    async def wait(self, request: Request) -> None:
        """Waits until a request may be sent."""
        if self.requests is not None:
            await self.requests.acquire()
        if self.tokens is not None:
            most_tokens = request.tokens_in + request.most.tokens_out
            # A limiter never lets through more than its rate at once.
            await self.tokens.acquire(min(most_tokens, self.tokens.max_rate))


@dataclass
class Dispatcher:
    """Sends requests and stores their answers.

    Attributes:
        access: the access to the server.
        store: the store.
        budget: the limit on the cost of answers.
    """

    access: Access
    store: RequestStore
    budget: Budget

    def ask(self, requests: Sequence[Request], on_answer: AnswerHandler) -> Iterator[None]:
        """Sends requests and stores the answers; nothing happens between two steps.

        Args:
            requests: requests that the store lacks, each once.
            on_answer: called with each request and its answer, after the answer was stored.

        Yields:
            At least every `SECONDS_A_STEP`, until all requests are answered.

        Raises:
            UserError: a request was not answered, the budget is too small, or the disk is full.
                All answers that came are stored.
        """
        if not requests:
            return
        with asyncio.Runner() as runner:
            task = runner.get_loop().create_task(RequestBatch(self, requests, on_answer).run())
            while not task.done():
                runner.run(wait_a_step(task))
                yield
            task.result()


async def wait_a_step(task: asyncio.Task[None]) -> None:
    """Waits for the end of a task, `SECONDS_A_STEP` at most."""
    await asyncio.wait([task], timeout=SECONDS_A_STEP)


class RequestBatch:
    """Requests that are sent together.

    Attributes:
        requests: all of them.
        unsent: the requests that no worker has taken yet.
        failures: the errors of requests without an answer.
        failures_in_a_row: how many there were since the last answer.
        answer_count: how many requests were answered.
        stop: why no more requests are sent; None as long as they are.
    """

    def __init__(
        self, dispatcher: Dispatcher, requests: Sequence[Request], on_answer: AnswerHandler
    ):
        self.dispatcher, self.requests, self.on_answer = dispatcher, requests, on_answer
        self.unsent: Iterator[Request] = iter(requests)
        self.failures: list[RefusedRequest] = []
        self.failures_in_a_row = 0
        self.answer_count = 0
        self.stop: Exception | None = None

    async def run(self) -> None:
        """Sends all requests.

        Raises:
            UserError: see `Dispatcher.ask`.
        """
        settings = self.dispatcher.access.server_settings
        limits = RateLimits(None, None)
        if isinstance(settings, Endpoint):
            limits = RateLimits(settings.requests_per_minute, settings.tokens_per_minute)
        client = open_client(self.dispatcher.access)
        try:
            worker_count = min(settings.concurrency, len(self.requests))
            await asyncio.gather(*(self.work(client, limits) for _ in range(worker_count)))
        finally:
            await client.close()
        if self.stop is not None:
            raise self.stop
        if self.failures:
            raise self.unanswered_error()

    async def work(self, client: Client, limits: RateLimits) -> None:
        """Sends one request after the other, until none is left or sending stops."""
        for request in self.unsent:
            await limits.wait(request)
            await self.reserve(request)
            if self.stop is not None:
                return
            try:
                self.keep(request, await ask_patiently(client, request, self.gives_up))
            except RefusedRequest as error:
                self.count_failure(error)
            except UserError as error:
                # The disk is full. Answers under way still fit into the reserved space.
                self.stop = error
            finally:
                self.dispatcher.budget.commit(request)

    async def reserve(self, request: Request) -> None:
        """Reserves the most that a request may cost; waits as long as others may cost less than
        was reserved for them. Stops the batch if there is not enough left.
        """
        budget = self.dispatcher.budget
        while self.stop is None and not budget.reserve(request):
            if not budget.under_way:
                self.stop = self.cost_error()
            await asyncio.sleep(POLLING_SECONDS)

    def gives_up(self, error: RefusedRequest, request: Request) -> bool:
        """Stores the charge for an attempt without an answer; returns whether it was the last."""
        if error.usage is not None:
            self.dispatcher.budget.spend(self.dispatcher.store.charge(request, error.usage))
        return self.stop is not None or not self.dispatcher.budget.is_kept

    def keep(self, request: Request, answer: Answer) -> None:
        """Stores an answer and hands it on.

        Raises:
            UserError: the disk is full. The answer is stored all the same, but not handed on.
        """
        self.failures_in_a_row = 0
        self.answer_count += 1
        self.dispatcher.budget.spend(self.dispatcher.store.add(request, answer))
        self.on_answer(request, answer)

    def count_failure(self, error: RefusedRequest) -> None:
        """Counts a request without an answer; stops the batch if no request will have one."""
        self.failures.append(error)
        self.failures_in_a_row += 1
        access = self.dispatcher.access
        most_failures = max(FEWEST_FAILURES, access.server_settings.concurrency)
        if error.is_final:
            self.stop = self.stop or access.error(error.problem, refusal_advice(error))
        elif self.failures_in_a_row >= min(len(self.requests), most_failures):
            self.stop = self.stop or self.unanswered_error()

    def unanswered_error(self) -> UserError:
        """Returns the error that requests have no answer, with the last problem."""
        open_count = len(self.requests) - self.answer_count
        problem = (
            f"{open_count} of {len(self.requests)} requests have no answer (the "
            f"last problem: {self.failures[-1].problem})"
        )
        return self.dispatcher.access.error(problem, f"answers to all; {ANSWERS_KEPT}")

    def cost_error(self) -> UserError:
        """Returns the error that the open requests would cost more than the budget has."""
        budget = self.dispatcher.budget
        open_requests = [
            request for request in self.requests if request not in self.dispatcher.store
        ]
        cost = sum(map(budget.about, open_requests))
        problem = (
            f"max_cost {budget.limit:g}: {budget.spent:.4g} is spent, and the remaining "
            f"{len(open_requests)} requests would cost about {cost:.4g}"
        )
        return self.dispatcher.access.error(
            problem, f"a `max_cost` of about {budget.spent + cost:.3g}, or fewer questions"
        )


async def ask_patiently(
    client: Client, request: Request, gives_up: Callable[[RefusedRequest, Request], bool]
) -> Answer:
    """Sends a request until there is an answer, at most as often as the config allows.

    Args:
        client: sends it.
        request: the request.
        gives_up: called after every attempt without an answer; returns whether it was the last.

    Raises:
        RefusedRequest: there is no answer.
    """
    attempts = client.access.server_settings.attempts
    for attempt in range(attempts):
        try:
            return await client.ask(request)
        except RefusedRequest as error:
            error.problem = client.access.without_key(error.problem)
            # `gives_up` first: it stores what the attempt was charged.
            if gives_up(error, request) or not error.may_retry or attempt + 1 == attempts:
                raise
            await asyncio.sleep(pause_seconds(attempt, error.seconds))
    raise AssertionError("a request has at least one attempt")


def open_client(access: Access) -> Client:
    """Returns the client for a server's protocol.

    Raises:
        ModelError: its library is not installed.
        InputError: the environment names an invalid proxy.
    """
    if access.server_settings.api == "anthropic":
        from biasgrid.inference.models.servers.anthropic_client import AnthropicClient

        return AnthropicClient(access)
    return OpenAIClient(access)


ANSWERS_KEPT = "finished answers are kept, and the next run asks the rest"
ENDPOINT_EXPECTED = (
    "a key, an address and a model that the server accepts; see `endpoint` in the config"
)


def refusal_advice(error: RefusedRequest) -> str:
    """Returns the advice for a refusal; the server's message explains a refused single request."""
    if error.status in (None, HTTPStatus.OK, *FINAL):
        return ENDPOINT_EXPECTED
    return "a request that the server accepts; see its message"


def pause_seconds(attempt: int, retry_after: float | None) -> float:
    """Returns how long to wait before another attempt.

    Args:
        attempt: the attempt that failed, from 0.
        retry_after: the seconds that the server asks for; None lets the pauses double.
    """
    if retry_after is not None:
        return min(retry_after, LONGEST_PAUSE)
    # Random, so that requests that failed together are not sent together again.
    return float(min(2**attempt, 60) * (0.25 + random.random() / 4))
