"""Texts that are written at once are those that are written alone, whatever the batches, their
order and a kill.
"""

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from shards import Cell, asked, hook_model, interrupt
from tiny_writers import CHAT_TEMPLATE, STATEMENTS, save_writer
from transformers import AutoModelForCausalLM, AutoTokenizer

from biasgrid.inference.models.generation.next_tokens import OpenText
from biasgrid.inference.models.generation.prefix import Prefix
from biasgrid.inference.models.generation.section import Generation
from biasgrid.inference.models.generation.texts import NO_PADDING, Writer
from biasgrid.tables.files import read_provenance

Cells = Callable[..., Cell]
Writers = Callable[..., Path]
WORDS = " ".join(STATEMENTS).split()
BUDGETS = (1, 200, 2000)


def prompts_of(count: int) -> list[str]:
    """Prompts of 2 to 21 words, all different."""
    draw = np.random.default_rng(1)
    return [
        f"{place} {' '.join(draw.choice(WORDS, draw.integers(1, 21)))}" for place in range(count)
    ]


def opened(checkpoint: Path, **keys: Any) -> Writer:
    model = AutoModelForCausalLM.from_pretrained(checkpoint).eval()
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    return Writer.from_checkpoint(
        model, tokenizer, Generation(**({"max_tokens": 10} | keys)).model_dump()
    )


def fit(
    writer: Writer,
    prompts: Sequence[list[int]],
    prefix_of: Callable[..., Prefix],
    *,
    exact: bool = True,
) -> Writer:
    return writer.fit(writer.measure_padding(prompts, prefix_of), exact=exact)


def tokens_of(writer: Writer, prompts: Sequence[str]) -> list[list[int]]:
    return [writer.tokenizer(prompt, add_special_tokens=False).input_ids for prompt in prompts]


def written(
    writer: Writer, prompts: Sequence[list[int]], token_budget: int, prefix: Prefix
) -> dict[int, list[int]]:
    texts = [
        OpenText(place, [*ids], len(ids), 10, 1000 * place) for place, ids in enumerate(prompts)
    ]
    return {text.number: text.written for text in writer.write(texts, prefix, token_budget)}


def whole(_prompts: Sequence[list[int]]) -> Prefix:
    """Has every prompt read whole."""
    return Prefix()


def alone(writer: Writer) -> Writer:
    """A writer all of whose tokens are decided by a pass over their text alone."""
    return replace(
        writer, next_tokens=replace(writer.next_tokens, bound=math.inf), padding=NO_PADDING
    )


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["gpt2", "llama", "gemma3_text"])
def test_texts_do_not_hang_on_order_batches_or_a_kill(
    tmp_path: Path, writer: Writers, monkeypatch: pytest.MonkeyPatch, architecture: str
) -> None:
    rows = asked([{"text": text} for text in prompts_of(500)])
    ours = Cell(tmp_path / "cell", "text-generation", rows, writer(architecture))
    keys = {"answer": "text", "generation": Generation(max_tokens=6).model_dump()}
    expected = dict(
        zip(rows["text"], ours.predict(token_budget=4096, **keys)["response"], strict=True)
    )
    numbers = pl.int_range(len(rows), dtype=pl.UInt32)
    for place, order in enumerate((rows.reverse(), rows.sample(fraction=1, shuffle=True, seed=2))):
        other = Cell(
            tmp_path / f"{place}", ours.task, order.with_columns(instance=numbers), ours.checkpoint
        )
        said = other.predict_all(2, token_budget=(150, 1000)[place], **keys)["response"]
        assert dict(zip(order["text"], said, strict=True)) == expected
    monkeypatch.setattr("biasgrid.inference.models.predict.ROWS_A_PART", 200)
    interrupt(ours, 1, monkeypatch, token_budget=700, **keys)
    said = ours.predict(token_budget=700, **keys)["response"]
    assert ours.timing["found"] == 0
    assert dict(zip(rows["text"], said, strict=True)) == expected


@pytest.mark.parametrize("architecture", ["llama", "gemma3_text", "mamba", "jamba"])
@pytest.mark.parametrize(
    "keys", [{"temperature": 0}, {}, {"top_p": 0.8}], ids=["greedy", "drawn", "nucleus"]
)
def test_texts_match_every_token_alone(
    writer: Writers, architecture: str, keys: dict[str, Any]
) -> None:
    ours = opened(writer(architecture), **keys)
    prompts = tokens_of(ours, [f"A cook lies. {prompt}" for prompt in prompts_of(12)])
    for prefix_of in (
        whole,
        *([] if architecture == "jamba" else [partial(Prefix.from_prompts, ours.model)]),
    ):
        fitted, prefix = fit(ours, prompts[:4], prefix_of), prefix_of(prompts)
        expected = written(alone(fitted), prompts, 1, Prefix())
        assert all(written(fitted, prompts, budget, prefix) == expected for budget in BUDGETS)
        assert fitted.next_tokens.largest < fitted.next_tokens.bound
        assert fitted.padding.joins is (architecture not in ("mamba", "jamba"))


@pytest.mark.parametrize("temperature", [0, 1])
def test_tokens_that_rounding_could_decide_are_decided_alone(
    writer: Writers, temperature: float
) -> None:
    ours = opened(writer("llama"), temperature=temperature)
    weights = ours.model.get_output_embeddings().weight.data
    # Every second token is as probable as the one before it, but for rounding.
    weights[3::2] = weights[2:-1:2] * (1 + 1e-7)
    prompts = tokens_of(ours, prompts_of(40))
    fitted = fit(ours, prompts[:4], whole)
    expected = written(alone(fitted), prompts, 1, Prefix())
    assert all(written(fitted, prompts, budget, Prefix()) == expected for budget in BUDGETS)
    assert fitted.next_tokens.alone > 0
    if not temperature:
        careless = replace(fitted, next_tokens=replace(fitted.next_tokens, bound=0.0))
        assert any(written(careless, prompts, budget, Prefix()) != expected for budget in BUDGETS)


def test_no_text_is_computed_on_behind_its_end(tmp_path: Path) -> None:
    ours = opened(save_writer(tmp_path, ends=10))
    prompts = tokens_of(ours, prompts_of(40))
    fitted = fit(ours, prompts[:4], whole, exact=False)
    sizes: list[tuple[int, int]] = []
    hook = lambda _model, _args, inputs: sizes.append(tuple(inputs["input_ids"].shape))  # noqa: E731
    ours.model.register_forward_pre_hook(hook, with_kwargs=True)
    budget = 8 * max(len(ids) + 10 for ids in prompts)
    texts = written(fitted, prompts, budget, Prefix())
    assert sum(rows for rows, columns in sizes if columns == 1) == sum(
        len(text) - 1 for text in texts.values()
    )
    assert min(map(len, texts.values())) < max(map(len, texts.values())) == 10
    # Others take the places of those that have ended.
    assert max(rows for rows, _ in sizes) >= 8
    assert len(sizes) < 40 / 8 * 10 + 20


def test_texts_stay_within_the_token_budget(
    written_cell: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = written_cell([{"text": text} for text in prompts_of(30)], "llama", CHAT_TEMPLATE)
    sizes: list[int] = []
    hook_model(monkeypatch, lambda ids: sizes.append(len(ids)))
    said = ours.predict(
        answer="text", token_budget=256, generation=Generation(max_tokens=8).model_dump()
    )
    assert 1 < max(sizes) <= 256 // (int(said["tokens_in"].min()) + 8)  # type: ignore[arg-type]


def test_texts_that_do_not_fit_into_memory_are_written_in_smaller_batches(
    written_cell: Cells, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ours = written_cell([{"text": text} for text in prompts_of(20)])
    keys: dict[str, Any] = {"answer": "text", "generation": Generation(max_tokens=6).model_dump()}
    expected = ours.predict(**keys)

    def small_memory(ids: torch.Tensor) -> None:
        if len(ids) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory")

    hook_model(monkeypatch, small_memory)
    assert ours.predict_anew(**keys).equals(expected)
    assert "texts do not fit into memory; trying 256 tokens at once" in caplog.text


def test_the_audit_says_how_far_batches_may_be_and_were(written_cell: Cells) -> None:
    ours = written_cell([{"text": text} for text in prompts_of(20)])
    keys: dict[str, Any] = {"answer": "text", "generation": Generation(max_tokens=6).model_dump()}
    ours.predict(**keys)
    (audit,) = read_provenance(ours.out)["audits"].values()
    assert audit["largest_drift"] <= audit["bound"]
    assert 1e-5 <= audit["bound"] < 1e-2
    ours.predict(precision="bfloat16", **keys)
    assert not read_provenance(ours.out)["audits"]


def test_models_without_padding_write_texts_of_one_length_at_once(
    written_cell: Cells, caplog: pytest.LogCaptureFixture
) -> None:
    ours = written_cell([{"text": text} for text in STATEMENTS], "mamba")
    with caplog.at_level(logging.WARNING):
        ours.predict(answer="text", generation=Generation(max_tokens=4).model_dump())
    assert "does not know padding" in caplog.text
