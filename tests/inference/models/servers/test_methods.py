"""How answers of a server are read, without a server."""

import math

import pytest

from biasgrid.inference.models.servers.methods import Echo, OptionScores
from biasgrid.inference.models.servers.requests import Answer
from biasgrid.inference.surface_forms import sent_forms

OPTIONS = ("Yes", "No")
PROMPT = "Is it so?"


def echoed(*unread: str, finish: str = "stop") -> OptionScores:
    """Reads echoes of a prompt with each form; some forms are not among what is read back."""
    answers = []
    for forms, own in zip(sent_forms(OPTIONS), (-3.0, -4.0), strict=True):
        for form in forms:
            scores = [("Is", 0.0), (" it", -3.0), (" so?", -4.0), (form, own)]
            is_read = form not in unread
            answers.append(
                Answer(
                    "",
                    "stop" if is_read else finish,  # type: ignore[arg-type]
                    4,
                    1,
                    "small",
                    scores if is_read else None,
                )
            )
    return Echo({}).read_answers(PROMPT, OPTIONS, answers)


def test_echoed_options_have_the_probability_of_their_forms_alone() -> None:
    scores = echoed()
    assert scores.probabilities == pytest.approx([6 * math.exp(-3), 6 * math.exp(-4)])
    assert scores.status == "ok"


@pytest.mark.parametrize(("finish", "status"), [("stop", "unclear"), ("refusal", "refused")])
def test_without_the_echo_of_a_plain_form_nothing_is_known(finish: str, status: str) -> None:
    """It is unknown where options begin, so the prompt's probability cannot be left out."""
    scores = echoed(" Yes", finish=finish)
    assert scores.probabilities == [None, None]
    assert (scores.mass, scores.status) == (None, status)
