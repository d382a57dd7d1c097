"""What a server gives is looked at before it is kept: what is no answer is asked again, and never
stays.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from model_server import ModelServer
from servers import ServerCell

from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.inference.models.servers.requests import refusal_error

Servers = Callable[..., ModelServer]
Cells = Callable[..., ServerCell]
Body = dict[str, Any]


def content(value: Any) -> Callable[[Body], Any]:
    return lambda body: body["choices"][0]["message"].update(content=value)


def choice(**keys: Any) -> Callable[[Body], Any]:
    return lambda body: body["choices"][0].update(keys)


def whole(**keys: Any) -> Callable[[Body], Any]:
    return lambda body: body.update(keys)


def thinking(text: str) -> Body:
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}]}


NO_ANSWERS = {
    "number": content(3),
    "boolean": content(True),
    "mapping": content({"text": "Yes."}),
    "list of texts": content(["Yes."]),
    "part of no known type": content([{"type": "image_url", "image_url": "x"}]),
    "part without text": content([{"type": "text"}]),
    "part that is not text": content([{"type": "text", "text": 3}]),
    "lone surrogate": content("Yes \ud83d"),
    "lone surrogate in a part": content([{"type": "text", "text": "\udc00"}]),
    "half an answer": choice(finish_reason="error"),
    "half an answer with its error": choice(
        finish_reason="stop", error={"code": 502, "message": "upstream"}
    ),
    "aborted": choice(finish_reason="abort"),
    "a tool": choice(finish_reason="tool_calls"),
    "a finish that is a number": choice(finish_reason=3),
    "a message that is none": choice(message="Yes."),
    "a model that is a number": whole(model=3),
    "no choices": whole(choices=[]),
    "choices of nothing": whole(choices=[None]),
    "choices that are none": whole(choices=3),
    "an error of its own": whole(choices=None, error={"message": "overloaded"}),
}


@pytest.mark.parametrize("name", NO_ANSWERS)
def test_what_is_no_answer_is_asked_again_and_not_kept(
    serve: Servers, cell: Cells, name: str
) -> None:
    broken = [True]

    def says(body: Body, prompt: str, attempt: int) -> Body:
        if "Is 2 a" in prompt and broken:
            NO_ANSWERS[name](body)
        return body

    server = serve(says=says)
    ours = cell(server, 4, attempts=2)
    with pytest.raises(
        ModelError,
        match=r"1 of 4 requests have no answer .* does not follow OpenAI's protocol \(.+\)",
    ):
        ours.ask()
    assert server.answered.total() == 5
    assert len([line for line in ours.lines if "text" in line]) == 3
    # The fault has passed: only what has no answer is asked.
    broken.clear()
    server.answered.clear()
    assert set(ours.ask()["status"]) == {"ok"}
    assert server.answered.total() == 1


def test_a_fault_that_passes_is_waited_for(serve: Servers, cell: Cells) -> None:
    kinds = list(NO_ANSWERS.values())

    def says(body: Body, prompt: str, attempt: int) -> Body:
        number = int(prompt.split("Is ")[1].split()[0])
        if not attempt:
            kinds[number](body)
        return body

    server = serve(says=says)
    ours = cell(server, len(kinds))
    assert set(ours.ask()["status"]) == {"ok"}
    assert set(server.answered.values()) == {2}


def test_the_servers_own_words_are_shown(serve: Servers, cell: Cells) -> None:
    def says(body: Body, prompt: str, attempt: int) -> Body:
        NO_ANSWERS["an error of its own"](body)
        return body

    with pytest.raises(ModelError, match="overloaded"):
        cell(serve(says=says), 1, attempts=1).ask()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (
            [thinking("No, no."), {"type": "text", "text": "Yes"}, {"type": "text", "text": "."}],
            "Yes.",
        ),
        (
            [{"type": "output_text", "text": "Yes."}, {"type": "reference", "reference_ids": [1]}],
            "Yes.",
        ),
        ([{"type": "refusal", "refusal": "I cannot."}], "I cannot."),
    ],
)
def test_parts_are_joined_without_thoughts(
    serve: Servers, cell: Cells, value: Any, text: str
) -> None:
    def says(body: Body, prompt: str, attempt: int) -> Body:
        content(value)(body)
        return body

    ours = cell(serve(says=says), 2)
    assert set(ours.ask()["response"]) == {text}
    assert {line["text"] for line in ours.lines} == {text}


@pytest.mark.parametrize("finish", ["eos_token", "STOP", "end_turn", None])
def test_other_words_for_an_end_are_known(serve: Servers, cell: Cells, finish: str | None) -> None:
    def says(body: Body, prompt: str, attempt: int) -> Body:
        choice(finish_reason=finish)(body)
        return body

    assert set(cell(serve(says=says), 2).ask()["status"]) == {"ok"}


NO_USAGES = [
    None,
    [],
    "12",
    {},
    *({"prompt_tokens": one} for one in ("7", -3, 2**40, 1.5, None, True, float("nan"))),
]


@pytest.mark.parametrize("usage", NO_USAGES, ids=str)
def test_a_usage_that_is_none_costs_the_most_it_may_be(
    serve: Servers, cell: Cells, usage: Any
) -> None:
    def says(body: Body, prompt: str, attempt: int) -> Body:
        return {**body, "usage": usage}

    ours = cell(serve(says=says), 2, generation={"max_tokens": 9})
    said = ours.ask()
    assert said["tokens_in"].to_list() == said["tokens_out"].to_list() == [None, None]
    assert all(line["charged"][0] > 20 and line["charged"][1] == 9 for line in ours.lines)


BAD_SCORES = ["-1", None, float("nan"), float("inf"), 0.7, 710.0, True, [], {}]


@pytest.mark.parametrize("score", BAD_SCORES, ids=str)
@pytest.mark.parametrize("api", ["chat", "completions"])
def test_a_score_that_is_no_log_probability_is_not_kept(
    serve: Servers, cell: Cells, api: str, score: Any
) -> None:
    def says(body: Body, prompt: str, attempt: int) -> Body:
        logprobs = body["choices"][0]["logprobs"]
        if api == "chat":
            logprobs["content"][0]["top_logprobs"][1]["logprob"] = score
        else:
            logprobs["top_logprobs"][0]["No"] = score
        return body

    ours = cell(serve(says=says), 2, api=api, attempts=1, capabilities={"scored_by": "top"})
    with pytest.raises(ModelError, match="2 of 2 requests have no answer"):
        ours.ask(answer="choice")
    assert not [line for line in ours.lines if "text" in line]


@pytest.mark.parametrize(
    "body", [b"[" * 99_999, b"\xff\xfe", b"{}", b"[]", b"3", b'"Yes."', b"null", b"", b"NaN"]
)
def test_bodies_that_are_none(serve: Servers, cell: Cells, body: bytes) -> None:
    ours = cell(serve(says=lambda *_: body), 2, attempts=1)
    with pytest.raises(ModelError, match="2 of 2 requests have no answer"):
        ours.ask()
    assert ours.lines == []


LINES: dict[str, tuple[dict[str, Any], bool]] = {
    "as it should be": ({}, True),
    "parts": ({"text": [{"type": "text", "text": "Yes."}]}, False),
    "usage as a text": ({"tokens_in": "12"}, False),
    "negative usage": ({"tokens_out": -4}, False),
    "huge usage": ({"tokens_in": 2**40}, False),
    "no charge": ({"charged": None}, False),
    "half a charge": ({"charged": [12]}, False),
    "no server": ({"answered_by": ...}, False),
    "a number": ({"text": 3}, False),
    "a surrogate": ({"text": "\ud83d"}, False),
    "half an answer": ({"finish": "error"}, False),
    "a key that is none": ({"key": -1}, False),
    "a key that is a text": ({"key": "1"}, False),
    "scores that are none": ({"scores": 3}, False),
    "a score above 709": ({"scores": [["A", 710.0]]}, False),
    "a score that is a text": ({"scores": [["A", "b"]]}, False),
    "a score that is no number": ({"scores": [["A", float("nan")]]}, False),
    "a score alone": ({"scores": [["A"]]}, False),
}


@pytest.mark.parametrize("name", LINES)
def test_lines_of_a_store_are_looked_at_too(
    serve: Servers, cell: Cells, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    """Somebody may have edited the file, or a disk may have damaged it."""
    server = serve()
    ours = cell(server, 3)
    before = ours.ask()
    lines = ours.lines
    change, is_kept = LINES[name]
    lines[1] = {key: value for key, value in (lines[1] | change).items() if value is not ...}
    ours.store.write_text(
        "\n".join(json.dumps(line) for line in [{"biasgrid_answers": 2}, *lines]) + "\n"
    )
    server.answered.clear()
    assert ours.ask()["status"].to_list() == before["status"].to_list()
    assert server.answered.total() == (0 if is_kept else 1)
    assert ("line 3: damaged; its answers are asked again" in caplog.text) == (not is_kept)
    aside = ours.folder / "requests.damaged.jsonl"
    assert aside.exists() == (not is_kept)
    # It is said once.
    caplog.clear()
    ours.ask()
    assert "damaged" not in caplog.text


@pytest.mark.parametrize(
    "line", [b"3", b"[]", b'"x"', b"null", b"{", b"5" * 5000, b"[" * 99_999, b'{"owner": 3', b"x"]
)
def test_lines_that_are_none(
    serve: Servers, cell: Cells, caplog: pytest.LogCaptureFixture, line: bytes
) -> None:
    server = serve()
    ours = cell(server, 2)
    ours.ask()
    content = ours.store.read_bytes()
    ours.store.write_bytes(content + line + b"\n")
    server.answered.clear()
    ours.ask()
    assert "line 4: damaged" in caplog.text
    caplog.clear()
    ours.ask()
    assert "damaged" not in caplog.text
    assert server.answered.total() == 0


def test_a_store_that_is_no_file(serve: Servers, cell: Cells) -> None:
    ours = cell(serve(), 2)
    ours.folder.mkdir(parents=True, exist_ok=True)
    ours.store.symlink_to("/dev/full")
    with pytest.raises(
        Exception, match=r"requests.jsonl: is not a file; expected a store of answers"
    ):
        ours.ask()


def test_a_key_that_a_server_writes_into_its_answer(
    serve: Servers, cell: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY_OF_TESTS", "sk-a-secret-of-the-tests")

    def says(body: Body, prompt: str, attempt: int) -> Body:
        content("Your key is sk-a-secret-of-the-tests.")(body)
        return body

    ours = cell(serve(says=says), 2, key="${KEY_OF_TESTS}")
    assert set(ours.ask()["response"]) == {"Your key is ***."}
    assert b"secret" not in ours.store.read_bytes()


def test_an_end_that_is_none_is_named(serve: Servers, cell: Cells) -> None:
    def says(body: Body, prompt: str, attempt: int) -> Body:
        NO_ANSWERS["half an answer"](body)
        return body

    with pytest.raises(ModelError, match="it ended with 'error', so the answer is not complete"):
        cell(serve(says=says), 1, attempts=1).ask()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"error": {"message": "no such model", "code": 3}}', "422 no such model"),
        (
            b'{"object": "error", "message": {"detail": [{"msg": "odd"}]}}',
            '422 {"detail": [{"msg": "odd"}]}',
        ),
        (b'{"detail": "not here"}', "422 not here"),
        (b"<html>\n <b>Bad</b> gateway</html>", "422 <html> <b>Bad</b> gateway</html>"),
        (b'{"error": {"message": "\\ud83d"}}', "422 ?"),
        (b"", "422 without a message"),
        (b"\xff" * 9999, "422 " + "\ufffd" * 500),
    ],
)
def test_refusals_are_in_the_servers_words(content: bytes, words: str) -> None:
    assert refusal_error(422, content, {}).problem == words


ANTHROPIC_BLOCKS: dict[str, tuple[Any, str | None]] = {
    "text": ([{"type": "text", "text": "Yes."}], "Yes."),
    "thoughts before it": (
        [{"type": "thinking", "thinking": "No."}, {"type": "text", "text": "Yes."}],
        "Yes.",
    ),
    "hidden thoughts": (
        [{"type": "redacted_thinking", "data": "x"}, {"type": "text", "text": "Yes."}],
        "Yes.",
    ),
    "a tool": ([{"type": "tool_use", "id": "1", "name": "x", "input": {}}], None),
    "a number": ([{"type": "text", "text": 3}], None),
    "a surrogate": ([{"type": "text", "text": "\ud800"}], None),
    "no list": (3, None),
}


@pytest.mark.parametrize("name", ANTHROPIC_BLOCKS)
def test_blocks_of_anthropics_protocol(serve: Servers, cell: Cells, name: str) -> None:
    value, text = ANTHROPIC_BLOCKS[name]
    ours = cell(
        serve(says=lambda body, *_: {**body, "content": value}), 2, api="anthropic", attempts=1
    )
    if text is not None:
        assert set(ours.ask()["response"]) == {text}
        return
    with pytest.raises(ModelError, match="an answer that does not follow Anthropic's protocol"):
        ours.ask()
    assert not [line for line in ours.lines if "text" in line]


@pytest.mark.parametrize("reason", ["tool_use", "pause_turn", "error", 3])
def test_ends_of_anthropics_protocol_that_are_none(
    serve: Servers, cell: Cells, reason: Any
) -> None:
    ours = cell(
        serve(says=lambda body, *_: {**body, "stop_reason": reason}), 1, api="anthropic", attempts=1
    )
    with pytest.raises(ModelError, match="so the answer is not complete"):
        ours.ask()
