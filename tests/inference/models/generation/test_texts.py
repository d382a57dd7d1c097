"""Texts against plain decoding, and draws that depend on nothing but seed and key."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from shards import Cell
from tiny_writers import (
    CHAT_TEMPLATE,
    STATEMENTS,
    THINKS,
    THINKS_IF_ASKED,
    PlainWriter,
    make_tokenizer,
)
from transformers import AutoModelForCausalLM

from biasgrid.inference.models.generation.noise import mixed_tensor, request_seeds, with_noise
from biasgrid.inference.models.generation.prompts import Prompter
from biasgrid.inference.models.generation.section import Generation
from biasgrid.inference.models.generation.texts import Writer
from biasgrid.inference.models.generation.thoughts import KNOWN, Thoughts, warn_about_marks
from biasgrid.tables.files import read_provenance
from biasgrid.tables.keys import mix_bits

Cells = Callable[..., Cell]
ROWS = [{"system": "Be short.", "text": text} for text in STATEMENTS * 2]


def written(cell: Cell, shards: int = 1, token_budget: int = 512, **keys: Any) -> pl.DataFrame:
    generation = Generation(**({"max_tokens": 12} | keys)).model_dump()
    return cell.predict_all(shards, answer="text", token_budget=token_budget, generation=generation)


def said(cell: Cell, **options: Any) -> list[str]:
    return written(cell, **options)["response"].to_list()


@pytest.mark.parametrize(
    ("architecture", "template"), [("gpt2", None), ("llama", None), ("llama", CHAT_TEMPLATE)]
)
def test_greedy_texts_match_plain_decoding(
    written_cell: Cells, architecture: str, template: str | None
) -> None:
    ours = written_cell(ROWS, architecture, template)
    table = written(ours, temperature=0)
    plain = PlainWriter(ours.checkpoint)
    for row, answer in zip(
        ours.instances.iter_rows(named=True), table.iter_rows(named=True), strict=True
    ):
        ids = plain.ids(plain.prompt(row["system"], row["text"]))
        begin = len(ids)
        with torch.inference_mode():
            while len(ids) < begin + 12 and ids[-1] != 1:
                ids.append(int(plain.model(input_ids=torch.tensor([ids])).logits[0, -1].argmax()))
        assert (
            answer["response"]
            == plain.tokenizer.decode(ids[begin:], skip_special_tokens=True).strip()
        )
        assert (answer["tokens_in"], answer["tokens_out"]) == (begin, len(ids) - begin)
        assert answer["status"] == (
            "length" if ids[-1] != 1 else "ok" if answer["response"] else "empty"
        )


def test_drawn_texts_hang_on_seed_and_instance_alone(written_cell: Cells) -> None:
    ours = written_cell(ROWS, "llama", CHAT_TEMPLATE)
    whole = said(ours)
    assert said(ours) == whole
    assert said(ours, token_budget=1) == whole
    assert said(ours, shards=5) == whole
    reverse = ours.with_instances(
        ours.instances.reverse().with_columns(instance=pl.int_range(len(ROWS), dtype=pl.UInt32))
    )
    assert said(reverse) == whole[::-1]
    # What is asked twice is drawn twice.
    assert len(set(whole)) == len(ROWS)
    assert not set(said(ours, seed=2)) & set(whole)


def test_how_texts_are_drawn_is_in_their_provenance_and_asks_again(written_cell: Cells) -> None:
    ours = written_cell(ROWS[:2])
    written(ours)
    assert read_provenance(ours.out)["generation"]["max_tokens"] == 12
    ours.predict(answer="text", generation=Generation(max_tokens=12, seed=3).model_dump())
    assert ours.timing["found"] == 0


def test_top_p_draws_among_the_most_probable_tokens(written_cell: Cells) -> None:
    ours = written_cell(ROWS)
    assert said(ours, top_p=1e-6) == said(ours, temperature=0)
    assert said(ours, temperature=1e-6) == said(ours, temperature=0)
    assert said(ours, top_p=0.5) != said(ours)


def test_frequencies_of_draws_are_probabilities() -> None:
    probabilities = torch.tensor([0.6, 0.25, 0.1, 0.05])
    seeds = request_seeds(7, np.arange(20_000, dtype=np.uint64))
    scores, places = probabilities.log().expand(20_000, 4), torch.ones(20_000, dtype=torch.long)
    drawn = with_noise(scores, seeds, places).argmax(dim=1)
    frequencies = torch.bincount(drawn, minlength=4) / 20_000
    assert frequencies.tolist() == pytest.approx(probabilities.tolist(), abs=0.012)
    later = with_noise(scores, seeds, places + 1)
    # Another place of the text is another draw.
    assert float((later.argmax(dim=1) == drawn).float().mean()) == pytest.approx(
        float((probabilities**2).sum()), abs=0.02
    )


def test_numbers_are_mixed_as_keys_are() -> None:
    numbers = np.array([0, 1, 2**63 + 5, 2**64 - 1], dtype=np.uint64)
    assert (
        mixed_tensor(torch.from_numpy(numbers.view(np.int64))).numpy().view(np.uint64).tolist()
        == mix_bits(numbers).tolist()
    )


@pytest.fixture(scope="module")
def thinker(tmp_path_factory: pytest.TempPathFactory) -> Writer:
    tokenizer = make_tokenizer(THINKS)
    config = {
        "model_type": "gpt2",
        "vocab_size": len(tokenizer),
        "n_embd": 8,
        "n_layer": 1,
        "n_head": 1,
    }
    from transformers import AutoConfig

    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(**config))
    return Writer.from_checkpoint(model, tokenizer, Generation().model_dump())


@pytest.mark.parametrize(
    ("prompt", "text", "response", "status"),
    [
        ("Who?", "Ann.</s>", "Ann.", "ok"),
        ("Who?", "Ann", "Ann", "length"),
        ("Who?", "</s>", "", "empty"),
        ("Who?", "<think> The old man? No </think>\n\nAnn.</s>", "Ann.", "ok"),
        ("Who?<think>\n", "The old man? No </think>\n\nAnn.</s>", "Ann.", "ok"),
        ("Who?<think>\n", "The old man? No. It is A", "", "length"),
        ("Who?", "<think> The answer is A", "", "length"),
        ("Who?<think>\n", "The answer is A</s>", "", "length"),
        ("Who?<think>\n", "No </think> The old", "The old", "length"),
    ],
)
def test_thoughts_are_no_part_of_an_answer(
    thinker: Writer, prompt: str, text: str, response: str, status: str
) -> None:
    tokens = thinker.tokenizer(text, add_special_tokens=False).input_ids
    assert thinker.finish_text(prompt, tokens) == (response, status, len(tokens))


MARKS = [*KNOWN, ("<mull>", "</mull>")]


@pytest.mark.parametrize("special", [False, True], ids=["words", "special tokens"])
@pytest.mark.parametrize(("begin", "end"), MARKS, ids=[begin for begin, _ in MARKS])
def test_thoughts_between_any_marks_are_no_part_of_an_answer(
    thinker: Writer, begin: str, end: str, special: bool
) -> None:
    tokenizer = make_tokenizer()
    if special:
        tokenizer.add_special_tokens({"additional_special_tokens": [begin, end]})
    thinking = {"begin": begin, "end": end} if (begin, end) not in KNOWN else False
    writer = replace(thinker, tokenizer=tokenizer, thoughts=Thoughts.from_setting(thinking))
    for prompt, text, answer in (
        ("Who?", f"{begin} The old man? {end} Ann.</s>", ("Ann.", "ok")),
        ("Who?", f"{begin} A {end} B {begin} C {end} Ann.</s>", ("Ann.", "ok")),
        ("Who?", f"{begin} The old man? {end}</s>", ("", "empty")),
        ("Who?", f"{begin} The old man? {end} An", ("An", "length")),
        ("Who?", f"{begin} The old man? No. It is A", ("", "length")),
        ("Who?", f"{begin} The old man?</s>", ("", "length")),
        ("Who?", f"Sure. {begin} The old man", ("", "length")),
        ("Who?", f"{begin} A {end} Sure. {begin} The old man", ("", "length")),
        (f"Who?{begin}\n", "The old man", ("", "length")),
        (f"Who?{begin}\n", f"The old man {end} Ann.</s>", ("Ann.", "ok")),
    ):
        tokens = tokenizer(text, add_special_tokens=False).input_ids
        assert writer.finish_text(prompt, tokens)[:2] == answer, text


@pytest.mark.parametrize(("begin", "end"), MARKS, ids=[begin for begin, _ in MARKS])
def test_options_are_read_behind_thoughts_that_a_template_opens(begin: str, end: str) -> None:
    tokenizer = make_tokenizer(CHAT_TEMPLATE.replace("<|assistant|>", f"<|assistant|>{begin}"))
    thoughts = Thoughts.from_setting({"begin": begin, "end": end})
    asked = Prompter(tokenizer, thinking=False, thoughts=thoughts).prompt(None, "Who?")
    assert asked.endswith(f"{begin}\n\n{end}\n\n")
    assert (
        Prompter(tokenizer, thinking=True, thoughts=thoughts)
        .prompt(None, "Who?")
        .rstrip()
        .endswith(begin)
    )


def test_marks_that_nobody_has_named_are_reported(caplog: pytest.LogCaptureFixture) -> None:
    warn_about_marks(
        "tiny", ["<mull> Ann?", "<reasoning> Ann?", "[Thinking] Bob? [/Thinking] Ann", "Ann", ""]
    )
    assert (
        "tiny: 2 of 5 responses begin with '<reasoning>' and are treated as answers" in caplog.text
    )
    caplog.clear()
    warn_about_marks("tiny", ["<Ann> thinks", "Ann reasons"])
    assert not caplog.text


@pytest.mark.parametrize("template", [THINKS, THINKS_IF_ASKED])
def test_thinking_is_switched_off_unless_it_is_asked_for(
    written_cell: Cells, template: str
) -> None:
    ours = written_cell(ROWS, "llama", template)
    off, on = (written(ours, thinking=thinking, temperature=0) for thinking in (False, True))
    assert off["response"].to_list() != on["response"].to_list()
    # With thoughts that never end there is no answer.
    if template == THINKS:
        assert set(on.filter(status="length")["response"]) == {""}
