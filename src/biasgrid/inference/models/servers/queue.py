"""Many requests at a time, within the limits of a server; answers are stored as they arrive."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
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
"""Seconds for which tokens may be saved up; limiters begin full, so a longer time would begin with
a flood.
"""
POLLING_SECONDS = 0.01
SECONDS_A_STEP = 0.5
Arrived = Callable[[Request, Answer], None]
LONGEST_PAUSE = 900.0
LEAST_FAILURES = 16
"""After so many requests in a row without an answer, and as many as are under way, none more is
sent.
"""


class RateLimits:
    """How many requests and tokens a server takes in a minute."""

    def __init__(self, requests: int | None, tokens: int | None):
        # One at a time: requests are spread over the minute.
        self.requests = None if requests is None else AsyncLimiter(1, 60 / requests)
        self.tokens = (
            None
            if tokens is None
            else AsyncLimiter(max(1.0, tokens * RATE_WINDOW / 60), RATE_WINDOW)
        )

    async def wait(self, request: Request) -> None:
        """Waits until a request may be sent."""
        if self.requests is not None:
            await self.requests.acquire()
        if self.tokens is not None:
            await self.tokens.acquire(
                min(request.tokens_in + request.most.tokens_out, self.tokens.max_rate)
            )


@dataclass
class Dispatcher:
    """Sends requests and stores what is answered.

    Attributes:
        access: how the server is reached.
        store: where answers go.
        budget: what they may cost.
        names: what the server calls the models that have answered.
    """

    access: Access
    store: RequestStore
    budget: Budget
    names: set[str] = field(default_factory=set)

    def ask(self, missing: Sequence[Request], arrived: Arrived) -> Iterator[None]:
        """Asks requests that the store lacks, and stores the answers; nothing is asked between two
        steps.

        Args:
            missing: the requests.
            arrived: is given each request and its answer, which is stored.

        Yields:
            At least every `SECONDS_A_STEP`, until all are answered.

        Raises:
            UserError: not all were answered; the answers that came are stored. Or the disk is full,
                and everything that was paid is stored.
        """
        if not missing:
            return
        with asyncio.Runner() as runner:
            asking = runner.get_loop().create_task(RequestBatch(self, missing, arrived).run())
            while not asking.done():
                runner.run(step_of_asking(asking))
                yield
            asking.result()


async def step_of_asking(asking: asyncio.Task[None]) -> None:
    """Waits for the end of a task, `SECONDS_A_STEP` at most."""
    await asyncio.wait([asking], timeout=SECONDS_A_STEP)


class RequestBatch:
    """Requests that are asked together."""

    def __init__(self, dispatcher: Dispatcher, missing: Sequence[Request], arrived: Arrived):
        self.dispatcher, self.missing, self.arrived = dispatcher, missing, arrived
        self.waiting: Iterator[Request] = iter(missing)
        self.failures: list[RefusedRequest] = []
        self.in_a_row = 0
        self.answered = 0
        self.stop: Exception | None = None

    async def run(self) -> None:
        """Asks all.

        Raises:
            UserError: see `Dispatcher.ask`.
        """
        asking = self.dispatcher.access.asking
        limited = asking if isinstance(asking, Endpoint) else None
        limits = RateLimits(
            *(limited.requests_per_minute, limited.tokens_per_minute) if limited else (None, None)
        )
        client = client_of(self.dispatcher.access)
        try:
            count = min(asking.concurrency, len(self.missing))
            await asyncio.gather(*(self.work(client, limits) for _ in range(count)))
        finally:
            await client.close()
        if self.stop is not None:
            raise self.stop
        if self.failures:
            raise self.unanswered()

    async def work(self, client: Client, limits: RateLimits) -> None:
        """Asks one request after the other, until none waits or none more shall be sent."""
        for request in self.waiting:
            await limits.wait(request)
            await self.find_means(request)
            if self.stop is not None:
                return
            try:
                self.keep(request, await ask_patiently(client, request, self.gives_up))
            except RefusedRequest as error:
                self.count_failure(error)
            except UserError as error:
                # The disk is full: what is under way arrives in the room that was kept free.
                self.stop = error
            finally:
                self.dispatcher.budget.commit(request)

    async def find_means(self, request: Request) -> None:
        """Sets aside what a request may cost, as soon as those under way have cost less than they
        might.
        """
        budget = self.dispatcher.budget
        while self.stop is None and not budget.reserve(request):
            if not budget.under_way:
                self.stop = self.too_expensive()
            await asyncio.sleep(POLLING_SECONDS)

    def gives_up(self, error: RefusedRequest, request: Request) -> bool:
        """Keeps what a request without an answer was charged, and says whether it is not to be sent
        again.
        """
        if error.usage is not None:
            self.dispatcher.budget.spend(self.dispatcher.store.charge(request, error.usage))
        return self.stop is not None or not self.dispatcher.budget.is_kept

    def keep(self, request: Request, answer: Answer) -> None:
        """Stores an answer."""
        self.in_a_row = 0
        self.answered += 1
        self.dispatcher.names.add(answer.model)
        self.dispatcher.budget.spend(self.dispatcher.store.add(request, answer))
        self.arrived(request, answer)

    def count_failure(self, error: RefusedRequest) -> None:
        """Remembers that a request was not answered, and sees whether any will be."""
        self.failures.append(error)
        self.in_a_row += 1
        if error.is_final:
            self.stop = self.stop or self.dispatcher.access.error(error.problem, advice_on(error))
        elif self.in_a_row >= min(
            len(self.missing), max(LEAST_FAILURES, self.dispatcher.access.asking.concurrency)
        ):
            self.stop = self.stop or self.unanswered()

    def unanswered(self) -> UserError:
        """Words that not all requests were answered."""
        left = len(self.missing) - self.answered
        problem = (
            f"{left} of {len(self.missing)} requests have no answer (the "
            f"last problem: {self.failures[-1].problem})"
        )
        return self.dispatcher.access.error(problem, f"answers to all; {ANSWERS_KEPT}")

    def too_expensive(self) -> UserError:
        """Words that what is missing would cost more than it may."""
        budget = self.dispatcher.budget
        left = [request for request in self.missing if request not in self.dispatcher.store]
        more = sum(map(budget.about, left))
        problem = (
            f"max_cost {budget.limit:g}: {budget.used:.4g} is spent, and the remaining {len(left)} "
            f"requests would cost about {more:.4g}"
        )
        return self.dispatcher.access.error(
            problem, f"a `max_cost` of about {budget.used + more:.3g}, or fewer questions"
        )


async def ask_patiently(
    client: Client, request: Request, gives_up: Callable[[RefusedRequest, Request], bool]
) -> Answer:
    """Sends a request until there is an answer, as often as it may be sent.

    Args:
        client: what sends it.
        request: the request.
        gives_up: told of every attempt without an answer; says whether there shall be no other.

    Raises:
        RefusedRequest: there is no answer.
    """
    asking = client.access.asking
    for attempt in range(asking.attempts):
        try:
            return await client.ask(request)
        except RefusedRequest as error:
            error.problem = client.access.without_key(error.problem)
            if gives_up(error, request) or not error.again or attempt + 1 == asking.attempts:
                raise
            await asyncio.sleep(pause(attempt, error.seconds))
    raise AssertionError


def client_of(access: Access) -> Client:
    """Returns the client that a server needs.

    Raises:
        ModelError: its library is not installed.
        InputError: the environment names a proxy that is none.
    """
    if access.asking.api == "anthropic":
        from biasgrid.inference.models.servers.anthropic_client import AnthropicClient

        return AnthropicClient(access)
    return OpenAIClient(access)


ANSWERS_KEPT = "finished answers are kept, and the next run asks the rest"
ENDPOINT_EXPECTED = (
    "a key, an address and a model that the server accepts; see `endpoint` in the config"
)


def advice_on(error: RefusedRequest) -> str:
    """Says what to do about a refusal: one of a request is the server's own to explain."""
    is_of_request = error.status not in (None, HTTPStatus.OK, *FINAL)
    return (
        "a request that the server accepts; see its message" if is_of_request else ENDPOINT_EXPECTED
    )


def pause(attempt: int, seconds: float | None) -> float:
    """Returns how long to wait before another attempt: as long as the server says, else longer from
    time to time.
    """
    if seconds is not None:
        return min(seconds, LONGEST_PAUSE)
    return float(min(2**attempt, 60) * (0.25 + random.random() / 4))
