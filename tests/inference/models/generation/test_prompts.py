"""What reaches a model of what is asked: in every form of chat template, on any day, or not at
all.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from shards import Cell
from tiny_writers import CHAT_TEMPLATE, STATEMENTS, make_tokenizer
from transformers.utils import chat_template_utils

from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.inference.models.generation.prompts import Prompter
from biasgrid.inference.models.generation.section import Generation
from biasgrid.tables.files import read_provenance

Cells = Callable[..., Cell]
OPTIONS = ["Yes", "No"]
HEAD = "{% for message in messages %}<|{{ message.role }}|>\n"
END = "</s>\n{% endfor %}<|assistant|>"
PARTS = (
    f"{HEAD}{{% for part in message.content %}}{{% if part.type == 'text' %}}{{{{ part.text "
    f"}}}}{{% endif %}}{{% endfor %}}{END}"
)
FIRST_PART = f"{HEAD}{{{{ message.content[0].text | trim }}}}{END}"
PARTS_OF_USERS = (
    f"{HEAD}{{% if message.role == 'system' %}}{{{{ message.content + '.' }}}}{{% else %}}"
    f"{{% for part in message.content %}}{{{{ part['text'] }}}}{{% endfor %}}{{% endif %}}{END}"
)
DROPS = f"{HEAD}{{{{ message.text }}}}{END}"
FIRST_WORDS = f"{HEAD}{{{{ message.content[:17] }}}}{END}"
TRIMS = f"{HEAD}{{{{ message.content | trim }}}}{END}"
ESCAPES = f"{HEAD}{{{{ message.content | tojson }}}}{END}"
HTML = f"{HEAD}{{{{ message.content | e }}}}{END}"
DATED = "Today: {{ strftime_now('%d %b %Y') }}. {{ date_string }}.\n" + CHAT_TEMPLATE


def scored(cell: Cell, **keys: Any) -> list[Any]:
    return cell.predict_anew(**keys)["probabilities"].to_list()


def rows(*texts: str, system: str | None = None) -> list[dict[str, Any]]:
    return [{"system": system, "text": text, "candidates": OPTIONS} for text in texts]


@pytest.mark.parametrize("system", [None, "Be short."])
@pytest.mark.parametrize("template", [PARTS, FIRST_PART, PARTS_OF_USERS])
def test_a_template_that_wants_parts_is_given_parts(system: str | None, template: str) -> None:
    prompt = Prompter(make_tokenizer(template), thinking=False).prompt(system, "Is it true?")
    dot = "." if template == PARTS_OF_USERS else ""
    before = f"<|system|>\n{system}{dot}</s>\n" if system else ""
    assert prompt == f"{before}<|user|>\nIs it true?</s>\n<|assistant|>"


def test_questions_in_parts_are_asked_like_those_in_texts(written_cell: Cells) -> None:
    parts = scored(written_cell(rows(*STATEMENTS), "llama", PARTS))
    assert parts == scored(written_cell(rows(*STATEMENTS), "llama", TRIMS))
    assert len({tuple(each) for each in parts}) == len(STATEMENTS)


@pytest.mark.parametrize("template", [TRIMS, ESCAPES, HTML])
def test_what_a_template_trims_or_escapes_has_arrived(template: str) -> None:
    text = ' It\'s "true" & <b>\n\n that Zoë lies?\n'
    assert "true" in Prompter(make_tokenizer(template), thinking=False).prompt("Be <short>.", text)


@pytest.mark.parametrize("answer", ["choice", "text"])
@pytest.mark.parametrize(
    ("template", "text"), [(DROPS, "Is it true?"), (FIRST_WORDS, "Is it true that Ann lies?")]
)
def test_a_template_that_drops_what_is_asked_is_refused(
    written_cell: Cells, template: str, text: str, answer: str
) -> None:
    cell = written_cell(rows(text), "llama", template)
    message = (
        rf"leaves out the question: '{text[:-1]}.' is not in the prompt "
        r".*set `chat_template: false`"
    )
    with pytest.raises(ModelError, match=message):
        cell.predict(answer=answer)
    assert len(cell.predict(answer=answer, chat_template=False)) == 1


def test_texts_that_become_one_prompt_are_refused_with_both(written_cell: Cells) -> None:
    texts = ["Who lies? ", *(f"Who lies, {number}?" for number in range(3)), "Who lies?"]
    with pytest.raises(
        ModelError,
        match=r"texts 'Who lies\? ' and 'Who lies\?' have the same prompt, '<\|user\|>.*Who lies",
    ):
        written_cell(rows(*texts), "llama", TRIMS).predict()
    # What is asked twice may have one prompt.
    assert len(written_cell(rows("Who lies?", "Who lies?"), "llama", TRIMS).predict()) == 2


def test_no_prompt_depends_on_the_day(written_cell: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = written_cell(rows(*STATEMENTS), "llama", DATED)
    today = scored(cell)
    assert read_provenance(cell.out)["date"] == "2024-07-26"
    clock = SimpleNamespace(now=lambda: datetime.now() + timedelta(days=40))
    monkeypatch.setattr(chat_template_utils, "datetime", clock)
    assert scored(cell) == today
    assert scored(cell, date="2026-03-04") != today
    assert read_provenance(cell.out)["date"] == "2026-03-04"


def test_a_date_is_written_as_the_template_wants() -> None:
    tokenizer = make_tokenizer(
        "  {% if true %}\n"
        "x{% endif %}{{ strftime_now('%-d.%m.%y, %A %H:%M') }} {{ messages[0].content }}"
    )
    assert (
        Prompter(tokenizer, False, day="2026-03-04").prompt(None, "Hm?")
        == "x4.03.26, Wednesday 00:00 Hm?"
    )


def test_a_base_model_is_asked_plainly_though_it_has_a_template(written_cell: Cells) -> None:
    plain = scored(written_cell(rows(*STATEMENTS), "llama", None))
    templated = written_cell(rows(*STATEMENTS), "llama", CHAT_TEMPLATE)
    assert scored(templated) != plain
    assert read_provenance(templated.out)["prompt"] == "chat template"
    assert scored(templated, chat_template=False) == plain
    assert read_provenance(templated.out)["prompt"] == "plain"


def test_a_prompt_that_is_too_long_is_refused_before_anything_is_asked(written_cell: Cells) -> None:
    """Not when its own part of the shard comes."""
    texts = [f"Who lies, {number}?" for number in range(30)] + ["Nobody can tell. " * 70]
    cell = written_cell(rows(*texts))
    for answer in ("choice", "text"):
        with pytest.raises(ModelError, match="the prompt of instance 30 has"):
            cell.predict(answer=answer, generation=Generation(max_tokens=4).model_dump())
    assert not cell.parts


def test_prompts_are_made_of_all_that_is_asked(written_cell: Cells) -> None:
    cell = written_cell(
        [{"system": None, "text_pair": "Ann met Bob.", "text": "Who lies?", "candidates": OPTIONS}]
    )
    assert isinstance(cell.predict(), pl.DataFrame)
