"""A server that speaks OpenAI's protocol, and Anthropic's, and misbehaves as it is told: for tests
and benchmarks.

Run as a program it serves until it is killed: `python model_server.py PORT`.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

Fault = str | None
TOKENS = re.compile(r"\s*\w+|\s*[^\w\s]|\s+")
LISTED = [
    "Yes",
    "No",
    " Yes",
    " No",
    "A",
    "B",
    " A",
    " B",
    "yes",
    "no",
    "I",
    "The",
    "It",
    "Maybe",
    "Well",
    "So",
]


def share(*parts: Any) -> float:
    """A number between 0 and 1 that looks drawn, and hangs on what is given alone."""
    return (int(sha256(repr(parts).encode()).hexdigest()[:12], 16) + 1) / 16**12


@dataclass
class ModelServer:
    """What a server does, and what it has seen.

    Attributes:
        fault: what goes wrong with the n-th attempt (from 0) of a prompt: `429`, `429 in 1`, `500`,
            `400`, `drop`, `slow`, `no json`, `other json`, `empty`, `filtered`, `refused`,
            `length`.
        knows: what it can do: `logprobs`, `echo`, `choice`; `false logprobs` gives zeros, `constant
            logprobs` the same to all, `false echo` scores what is written alone.
        model: what it calls itself; None for what it is asked for. `only` refuses all other names.
        key: the key it wants, None for none.
        seconds: how long an answer takes; a test that lowers it frees those who wait.
        says: changes the body of an answer to a prompt, the n-th attempt from 0: what it returns is
            sent.
        unknown: a parameter that it refuses with 422.
        listed_models: the names in its list of models, None for no list.
        listings: how often the list was got.
        limit: the parameter that limits its answers, of which only those that shall count are long.
    """

    fault: Callable[[str, int], Fault] = lambda prompt, attempt: None
    knows: set[str] = field(default_factory=lambda: {"logprobs", "echo", "choice"})
    model: str | None = None
    only: str | None = None
    key: str | None = None
    seconds: float = 0
    says: Callable[[dict[str, Any], str, int], Any] = lambda body, prompt, attempt: body
    unknown: str | None = None
    limit: str | None = None
    listed_models: list[str] | None = None
    listings: int = 0
    port: int = 0
    tries: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    now: int = 0
    most: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers the requests of a connection."""
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                headers = {
                    name.lower(): value.strip()
                    for name, _, value in (line.partition(":") for line in head[1:])
                }
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                self.now, self.most = self.now + 1, max(self.most, self.now + 1)
                try:
                    answer = await self.answer(head[0].split()[1], headers, body)
                finally:
                    self.now -= 1
                if answer is None:
                    break
                await self.send(answer, writer)
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            pass
        finally:
            writer.close()

    async def send(self, answer: bytes, writer: asyncio.StreamWriter) -> None:
        """Sends a response as a whole, or as slowly or as long as it says that it wants."""
        if b"DRIP" in answer:
            for place in range(len(answer)):
                writer.write(answer[place : place + 1])
                await writer.drain()
                await asyncio.sleep(0.05)
        while b"ENDLESS" in answer:
            writer.write(b"HTTP/1.1 200 X\r\n\r\n" if answer.startswith(b"HTTP") else answer * 9999)
            answer = b"ENDLESS"
            await writer.drain()
        if b"DRIP" not in answer:
            writer.write(answer)
            await writer.drain()

    async def answer(self, path: str, headers: dict[str, str], content: bytes) -> bytes | None:
        """The bytes of a response; None drops the connection."""
        if not content:
            return self.list_of_models(path, headers)
        body = json.loads(content)
        self.bodies.append(body)
        self.paths.append(path)
        self.headers.append(headers)
        given = (
            headers.get("authorization", "").removeprefix("Bearer ")
            or headers.get("x-api-key")
            or ""
        )
        given = headers.get("api-key", given)
        if self.key is not None and given != self.key:
            return error(401, f"Incorrect API key provided: {given}", "invalid_api_key")
        if self.only is not None and body["model"] != self.only:
            return error(404, f"The model {body['model']} does not exist", "model_not_found")
        prompt = prompt_of(body)
        attempt, self.tries[prompt] = self.tries[prompt], self.tries[prompt] + 1
        fault = self.fault(prompt, attempt)
        if self.unknown in body:
            detail = [{"loc": ["body", self.unknown], "msg": "this field is not known here"}]
            return response(
                422, json.dumps({"object": "error", "message": {"detail": detail}}).encode()
            )
        if fault is not None and fault.startswith("to "):
            return response(307, b"", {"location": fault.removeprefix("to ")})
        if fault == "slow":
            await asyncio.sleep(30)
        asked = time.monotonic()
        while (left := asked + self.seconds - time.monotonic()) > 0:
            await asyncio.sleep(min(left, 0.05))
        broken = self.broken(fault)
        if broken is not None or fault == "drop":
            return broken
        self.answered[prompt] += 1
        said = self.says(self.said(path, body, prompt, fault), prompt, attempt)
        return response(200, said if isinstance(said, bytes) else json.dumps(said).encode())

    def list_of_models(self, path: str, headers: dict[str, str]) -> bytes:
        """The list of models, as far as it has one; whatever else is got is empty."""
        if self.listed_models is None or not path.endswith("/models"):
            return response(200, b"{}")
        self.listings += 1
        if self.key is not None and headers.get("authorization") != f"Bearer {self.key}":
            return error(401, "No key was given", "no_api_key")
        return response(
            200, json.dumps({"data": [{"id": name} for name in self.listed_models]}).encode()
        )

    def broken(self, fault: Fault) -> bytes | None:
        """The response where there is no answer."""
        if fault is not None and fault.startswith("429"):
            wait = fault.partition(" in ")[2]
            return error(
                429, "Rate limit", "rate_limit_exceeded", {"retry-after": wait} if wait else {}
            )
        if fault in ("500", "400"):
            return error(int(fault), "Something is wrong", "wrong")
        if fault == "filtered request":
            return error(400, "The prompt was filtered", "content_filter")
        if fault == "no json":
            return response(200, b"<html>Bad gateway</html>")
        return response(200, b'{"object": "list", "data": []}') if fault == "other json" else None

    def said(self, path: str, body: dict[str, Any], prompt: str, fault: Fault) -> dict[str, Any]:
        """The answer."""
        text = "Yes." if share(prompt, body.get("seed")) < 0.5 else "No."
        allowed = (body.get("structured_outputs") or {}).get("choice")
        if allowed and "choice" in self.knows:
            text = allowed[int(share(prompt) * len(allowed))]
        finish = {"filtered": "content_filter", "length": "length"}.get(str(fault), "stop")
        text = "" if fault in ("empty", "filtered") else text
        if self.limit and "Count from" in prompt:
            text = " ".join(["one"] * min(body.get(self.limit, 99), 99))
        name = self.model or body["model"]
        used = {
            "prompt_tokens": len(TOKENS.findall(prompt)),
            "completion_tokens": len(TOKENS.findall(text)),
        }
        if "/messages" in path:
            return as_anthropic(text, finish, name, used)
        choice: dict[str, Any] = {"index": 0, "finish_reason": finish}
        if "/chat/" in path:
            refusal = "I cannot." if fault == "refused" else None
            choice["message"] = {
                "role": "assistant",
                "content": None if refusal else text,
                "refusal": refusal,
            }
            choice["logprobs"] = self.chat_scores(prompt) if body.get("logprobs") else None
        else:
            choice["text"] = text
            choice["logprobs"] = self.scores(prompt, body) if body.get("logprobs") else None
        usage = {**used, "total_tokens": sum(used.values())}
        return {
            "id": "1",
            "object": "x",
            "created": 0,
            "model": name,
            "choices": [choice],
            "usage": usage,
        }

    def listed(self, prompt: str) -> list[tuple[str, float]] | None:
        """The most probable first tokens with their log-probabilities."""
        if "false logprobs" in self.knows:
            return [(token, 0.0) for token in LISTED]
        if "constant logprobs" in self.knows:
            prompt = ""
        elif "logprobs" not in self.knows:
            return None
        weights = {token: share(prompt, token) ** 4 for token in LISTED}
        whole = sum(weights.values()) / 0.95
        return sorted(
            ((token, math.log(each / whole)) for token, each in weights.items()),
            key=lambda item: -item[1],
        )

    def chat_scores(self, prompt: str) -> dict[str, Any] | None:
        listed = self.listed(prompt)
        if listed is None:
            return None
        entries = [{"token": token, "logprob": score, "bytes": None} for token, score in listed]
        return {"content": [{**entries[0], "top_logprobs": entries}], "refusal": None}

    def scores(self, prompt: str, body: dict[str, Any]) -> dict[str, Any] | None:
        """Those of completions; with `echo` of the prompt too."""
        if body.get("echo") and "false echo" not in self.knows:
            if "echo" not in self.knows:
                return None
            tokens = [*TOKENS.findall(prompt), " and"]
            values = [
                None,
                *(math.log(share(tokens[: place + 1]) / 16) for place in range(1, len(tokens))),
            ]
            return {
                "tokens": tokens,
                "token_logprobs": values,
                "top_logprobs": None,
                "text_offset": [],
            }
        listed = self.listed(prompt)
        if listed is None:
            return None
        token, score = listed[0]
        return {
            "tokens": [token],
            "token_logprobs": [score],
            "top_logprobs": [dict(listed)],
            "text_offset": [0],
        }


def prompt_of(body: dict[str, Any]) -> str:
    """All that is read, as one text."""
    if "prompt" in body:
        return str(body["prompt"])
    return "\n".join(
        filter(None, [body.get("system"), *(message["content"] for message in body["messages"])])
    )


def as_anthropic(text: str, finish: str, name: str, used: dict[str, int]) -> dict[str, Any]:
    reasons = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}
    return {
        "id": "1",
        "type": "message",
        "role": "assistant",
        "model": name,
        "stop_reason": reasons[finish],
        "stop_sequence": None,
        "content": [{"type": "text", "text": text}],
        "usage": {
            "input_tokens": used["prompt_tokens"],
            "output_tokens": used["completion_tokens"],
        },
    }


def response(status: int, content: bytes, headers: dict[str, str] | None = None) -> bytes:
    lines = {
        "content-type": "application/json",
        "content-length": str(len(content)),
        **(headers or {}),
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {status} X\r\n{head}\r\n".encode() + content


def error(status: int, message: str, code: str, headers: dict[str, str] | None = None) -> bytes:
    return response(
        status,
        json.dumps({"error": {"message": message, "code": code, "type": "x"}}).encode(),
        headers,
    )


@contextmanager
def serving(**does: Any) -> Iterator[ModelServer]:
    """Serves in a thread of its own, for as long as the context lasts."""
    server, started = ModelServer(**does), threading.Event()
    running: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def serve() -> None:
        listening = await asyncio.start_server(server.connected, "127.0.0.1", server.port)
        server.port = listening.sockets[0].getsockname()[1]
        running.append((asyncio.get_running_loop(), asyncio.Event()))
        started.set()
        await running[0][1].wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert started.wait(10)
    try:
        yield server
    finally:
        loop, ended = running[0]
        loop.call_soon_threadsafe(ended.set)
        thread.join(10)


if __name__ == "__main__":
    with serving(port=int(sys.argv[1])):
        threading.Event().wait()
