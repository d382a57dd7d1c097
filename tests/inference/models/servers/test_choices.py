"""Options through a server, in each of the ways in which one may be asked."""

import math
from collections.abc import Callable

import pytest
from model_server import LISTED, ModelServer, share
from servers import ServerCell

from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.tables.files import read_provenance

Servers = Callable[..., ModelServer]
Cells = Callable[..., ServerCell]
LETTERED = [
    {"system": None, "text": f"{number}. Who?\nA. Ann\nB. Bob", "candidates": ["A", "B"]}
    for number in range(6)
]


def test_top_sums_the_spellings_that_are_listed(serve: Servers, cell: Cells) -> None:
    server = serve()
    ours = cell(server, LETTERED, capabilities={"scored_by": "top"})
    said = ours.ask(answer="choice")
    weights = {token: share(LETTERED[0]["text"], token) ** 4 for token in LISTED}
    whole = sum(weights.values()) / 0.95
    expected = [(weights[letter] + weights[f" {letter}"]) / whole for letter in "AB"]
    assert said["probabilities"].to_list()[0] == pytest.approx(expected, abs=1e-6)
    assert said["mass"].to_list()[0] == pytest.approx(sum(expected), abs=1e-6)
    assert set(said["scored_by"]) == {"top"}
    assert set(said["status"]) == {"ok"}
    assert server.bodies[0]["top_logprobs"] == 20
    assert server.bodies[0]["max_completion_tokens"] == 1
    assert "seed" not in server.bodies[0]
    assert read_provenance(ours.out)["scored_by"] == "top"


def test_an_option_that_is_not_listed_has_a_bound(serve: Servers, cell: Cells) -> None:
    rows = [{**row, "candidates": ["A", "Q"]} for row in LETTERED]
    said = cell(serve(), rows, capabilities={"scored_by": "top"}).ask(answer="choice")
    found, bound = said["probabilities"].to_list()[0]
    weights = [share(rows[0]["text"], token) ** 4 for token in LISTED]
    assert bound == pytest.approx(min(weights) * 0.95 / sum(weights), abs=1e-7)
    assert said["mass"].to_list()[0] == pytest.approx(found, abs=1e-6)
    assert set(said["status"]) == {"bounded"}


def test_echo_gives_what_all_spellings_of_options_have(serve: Servers, cell: Cells) -> None:
    row = {"system": None, "text": "Is it so? Answer:", "candidates": ["A", "No"]}
    server = serve()
    said = cell(server, [row], api="completions", capabilities={"scored_by": "echo"}).ask(
        answer="choice"
    )
    begun = ["Is", " it", " so", "?", " Answer", ":"]
    spelled = [["A", " A"], [lead + word for word in ("No", "no", "NO") for lead in ("", " ")]]
    expected = [sum(share([*begun, word]) / 16 for word in words) for words in spelled]
    assert said["probabilities"].to_list()[0] == pytest.approx(expected, abs=1e-6)
    assert len(server.bodies) == 8
    assert all(body["echo"] and body["logprobs"] == 1 for body in server.bodies)


def test_a_constrained_choice_has_no_probability(serve: Servers, cell: Cells) -> None:
    server = serve()
    said = cell(server, LETTERED, capabilities={"scored_by": "choice"}).ask(answer="choice")
    assert server.bodies[0]["structured_outputs"] == {"choice": ["A", "B"]}
    for row, chosen_one in zip(
        said["probabilities"].to_list(), said["response"].to_list(), strict=True
    ):
        assert row == ([1, 0] if chosen_one == "A" else [0, 1])
    assert said["mass"].null_count() == len(said)


def test_texts_are_parsed_and_keep_their_status(serve: Servers, cell: Cells) -> None:
    faults = dict(enumerate(["empty", "filtered", "length", "refused"]))
    server = serve(fault=lambda prompt, _: faults.get(int(prompt.split("Is ")[1].split()[0])))
    said = cell(server, 8).ask(answer="choice")
    assert said["status"].to_list() == [
        "empty",
        "filtered",
        "ok",
        "refused",
        "ok",
        "ok",
        "ok",
        "ok",
    ]
    rows = said["probabilities"].to_list()
    assert rows[0] == rows[1] == rows[3] == [None, None]
    for response, row in zip(said["response"].to_list()[4:], rows[4:], strict=True):
        assert row == ([1, 0] if response == "Yes." else [0, 1])


def test_prompts_longer_than_the_context_are_not_sent(serve: Servers, cell: Cells) -> None:
    server = serve()
    rows = [*LETTERED, {"system": None, "text": "Who? " * 100, "candidates": ["A", "B"]}]
    with pytest.raises(
        ModelError, match=r"hosted: the prompt of instance 6 has 12\d tokens; expected at most 100"
    ):
        cell(server, rows, context=100).ask(answer="choice")
    assert not server.bodies
    assert math.isclose(len(cell(server, LETTERED, context=100).ask(answer="choice")), 6)
