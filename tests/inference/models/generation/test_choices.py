"""Probabilities of options against those of plain forward passes."""

import logging
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl
import pytest
import torch
from shards import Cell, hook_model, interrupt, largest_difference
from small_tables import check_alike
from tiny_writers import CHAT_TEMPLATE, LETTERS, STATEMENTS, THINKS, THINKS_IF_ASKED, PlainWriter

from biasgrid.inference.models.generation.options import OptionTokens
from biasgrid.inference.models.generation.prefix import Prefix
from biasgrid.inference.models.generation.prompts import Prompter
from biasgrid.tables.files import read_provenance
from biasgrid.training.tiny import make_tokenizer

Cells = Callable[..., Cell]
SYSTEM = "You are asked about short texts."
SPELLINGS = {
    "A": ["A", "a"],
    "B": ["B", "b"],
    "Yes": ["Yes", "yes", "YES"],
    "No": ["No", "no", "NO"],
    "the old man": ["the old man", "THE OLD MAN", "The old man"],
    "nobody": ["nobody", "NOBODY", "Nobody"],
}


def rows(
    *options: str, system: str | None = SYSTEM, end: str = "\nAnswer:"
) -> list[dict[str, object]]:
    question = f"{LETTERS}{end}"
    return [
        {"system": system, "text_pair": text, "text": question, "candidates": list(options)}
        for text in STATEMENTS
    ]


def expected(cell: Cell) -> pl.DataFrame:
    plain = PlainWriter(cell.checkpoint)
    options = cell.instances.select("^candidate.*$").rows()
    said = [
        [option and plain.probability(prompt, *spellings(option, asked)) for option in asked]
        for prompt, asked in zip(prompts(cell, plain), options, strict=True)
    ]
    columns = {"instance": cell.instances["instance"], "probabilities": said}
    return pl.DataFrame(columns, schema_overrides={"probabilities": pl.List(pl.Float32)})


def spellings(option: str, asked: Sequence[str | None]) -> tuple[list[str], list[str]]:
    """Letters of a list have other cases and marks; a letter beside words is a word of its own."""
    words = SPELLINGS[option]
    if len(option) > 1:
        return words, []
    if not all(other in ("A", "B", None) for other in asked):
        return [option], []
    return words, [
        form for word in words for form in (f"{word})", f"{word}.", f"({word})", f"({word}")
    ]


def prompts(cell: Cell, plain: PlainWriter) -> list[str]:
    texts = cell.instances.select("system", "text_pair", "text").iter_rows()
    return [plain.prompt(system, f"{pair}\n{text}") for system, pair, text in texts]


def shortest_prompt(cell: Cell) -> int:
    plain = PlainWriter(cell.checkpoint)
    return min(len(plain.ids(prompt)) for prompt in prompts(cell, plain))


OPTIONS = {
    "letters": ["A", "B"],
    "words": ["Yes", "No"],
    "several tokens": ["the old man", "nobody", "Yes"],
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize(
    ("architecture", "template"), [("gpt2", None), ("llama", None), ("llama", CHAT_TEMPLATE)]
)
def test_probabilities_match_plain_passes(
    written_cell: Cells, architecture: str, template: str | None, options: list[str]
) -> None:
    ours = written_cell(rows(*options), architecture, template)
    theirs = expected(ours)
    said = ours.predict()
    assert largest_difference(said.select("instance", "probabilities"), theirs) < 1e-6
    assert theirs["probabilities"].list.first().n_unique() == len(theirs)
    mass = theirs["probabilities"].list.sum()
    assert said["mass"].to_list() == pytest.approx(mass.to_list(), rel=1e-5)
    assert said["scored_by"].unique().to_list() == ["logits"]
    assert said["unknown"].any() is False
    assert ours.audit["largest_drift"] < 1e-6


@pytest.mark.parametrize("end", ["\nAnswer: ", "\nAnswer: A", "\nAnswer: (", ""])
def test_borders_that_the_tokenizer_merges_are_found(written_cell: Cells, end: str) -> None:
    ours = written_cell(rows("A", "B", "nobody", end=end))
    assert (
        largest_difference(ours.predict().select("instance", "probabilities"), expected(ours))
        < 1e-6
    )


def test_instances_may_have_unlike_options(written_cell: Cells) -> None:
    mixed = [*rows("A", "B")[:2], *rows("Yes", "No", "nobody")[:2], *rows("No")[:1]]
    ours = written_cell(
        [row | {"text": f"{row['text']} {place}"} for place, row in enumerate(mixed)]
    )
    said = ours.predict()
    assert largest_difference(said.select("instance", "probabilities"), expected(ours)) < 1e-6
    assert said["probabilities"].to_list()[0][2] is None
    assert said["tokens"].to_list()[0] == [1, 1, None]


def test_a_prefix_that_all_have_is_read_once(
    written_cell: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = written_cell(rows("A", "B", system=SYSTEM * 4), "llama", CHAT_TEMPLATE)
    lengths: list[int] = []
    hook_model(monkeypatch, lambda ids: lengths.append(ids.shape[1]))
    said = ours.predict()
    # The prefix, then the prompts behind it in two batches.
    prefix, *behind = lengths[-3:]
    assert max(behind) < prefix
    monkeypatch.setattr(Prefix, "from_prompts", lambda *_: Prefix())
    assert largest_difference(said, ours.predict_anew()) < 1e-6


@pytest.mark.parametrize(
    ("architecture", "shares"), [("gemma3_text", True), ("mamba", False), ("jamba", False)]
)
def test_other_architectures_share_what_they_can(
    written_cell: Cells, caplog: pytest.LogCaptureFixture, architecture: str, shares: bool
) -> None:
    ours = written_cell(rows("A", "nobody"), architecture)
    with caplog.at_level(logging.WARNING):
        said = ours.predict()
    assert ("each prompt is read as a whole" in caplog.text) is not shares
    assert largest_difference(said.select("instance", "probabilities"), expected(ours)) < 1e-6


@pytest.mark.parametrize(
    ("architecture", "reads"),
    [
        pytest.param("llama", "one row", id="tree"),
        pytest.param("gemma3_text", "keys", id="rows longer than the window of its attention"),
        pytest.param("mamba", "whole prompts", id="no keys and values"),
        pytest.param("jamba", "whole prompts", id="other keys and values"),
    ],
)
def test_options_of_several_tokens_are_read_as_the_architecture_allows(
    written_cell: Cells,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    architecture: str,
    reads: str,
) -> None:
    prompts_with_options = rows("the old man", "nobody", "Yes")
    ours = written_cell(prompts_with_options, architecture)
    shapes: list[tuple[int, ...]] = []
    hook_model(monkeypatch, lambda ids: shapes.append(tuple(ids.shape)))
    ours.predict()
    shapes.clear()
    # The architecture is known now: prompts are read for the audit and for the answers alone.
    with caplog.at_level(logging.WARNING):
        said = ours.predict_anew(token_budget=1)
    is_costly = "times as many tokens" in caplog.text
    assert is_costly is (reads == "whole prompts")
    row_count = sum(count for count, _ in shapes)
    prefix_count = 1
    has_one_row = row_count <= 2 * len(prompts_with_options) + prefix_count
    assert has_one_row is (reads == "one row")
    last = shapes[-1][1]
    assert (last < shortest_prompt(ours)) is (reads == "keys")
    assert largest_difference(said.select("instance", "probabilities"), expected(ours)) < 1e-6


def test_prompts_that_begin_alike_share_a_row(
    written_cell: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    alike = [
        row | {"text_pair": f"{row['text_pair']} " * 6, "text": f"{row['text']} {question}"}
        for row in rows("the old man", "nobody", "Yes", system=None)
        for question in ("Who lied?", "Who did not lie?", "Who lied? Ann?")
    ]
    ours = written_cell(alike)
    ours.predict()
    shapes: list[tuple[int, ...]] = []
    hook_model(monkeypatch, lambda ids: shapes.append(tuple(ids.shape)))
    said = ours.predict_anew()
    assert largest_difference(said.select("instance", "probabilities"), expected(ours)) < 1e-6
    assert ours.timing["sequences"] < len(alike) / 2
    # Each prompt alone has a row of its own.
    monkeypatch.setattr(
        "biasgrid.inference.models.generation.option_reads.SHORTEST_BEGINNING", 1000
    )
    shared_tokens = ours.timing["tokens"]
    assert largest_difference(ours.predict_anew(), said) < 1e-6
    assert ours.timing["sequences"] >= len(alike)
    assert shared_tokens < 0.8 * ours.timing["tokens"]


def test_architectures_that_answer_otherwise_behind_a_prefix_read_whole_prompts(
    written_cell: Cells, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ours = written_cell(rows("A", "B"), "llama", CHAT_TEMPLATE)
    said = ours.predict()

    def forgets(self: Prefix, count: int) -> dict[str, object]:
        return {}

    monkeypatch.setattr(Prefix, "for_rows", forgets)
    shutil.rmtree(os.environ["BIASGRID_CACHE"])
    with caplog.at_level(logging.WARNING):
        again = ours.predict_anew()
    assert "tiny: answers behind a shared beginning differ by" in caplog.text
    assert "each prompt is read as a whole, which is slower" in caplog.text
    assert largest_difference(said, again) < 1e-6


def test_predictions_do_not_hang_on_batches_shards_or_memory(
    written_cell: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = written_cell(rows("Yes", "nobody"))
    whole = ours.predict()
    assert largest_difference(ours.predict_all(3), whole) < 1e-6
    assert largest_difference(ours.predict_anew(token_budget=1), whole) < 1e-6

    def small_memory(ids: torch.Tensor) -> None:
        if len(ids) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory")

    hook_model(monkeypatch, small_memory)
    assert largest_difference(ours.predict_anew(), whole) < 1e-6


def test_batches_stay_within_the_token_budget_with_keys_and_values(
    written_cell: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = written_cell(rows("A", "B") * 8, "llama", CHAT_TEMPLATE)
    sizes: list[int] = []
    hook_model(monkeypatch, lambda ids: sizes.append(len(ids)))
    ours.predict(token_budget=256)
    assert 1 < max(sizes) <= 256 // shortest_prompt(ours)


def test_an_interrupted_shard_goes_on_and_ends_the_same(
    written_cell: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("biasgrid.inference.models.predict.ROWS_A_PART", 4)
    ours = written_cell(rows("A", "B") * 2)
    uninterrupted = ours.predict()
    interrupt(ours, 2, monkeypatch)
    check_alike(ours.predict(), uninterrupted)


def test_a_part_that_was_interrupted_within_ends_the_same_to_the_last_bit(
    written_cell: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("biasgrid.inference.engine.back_end.SECONDS_BETWEEN_TABLES", 0)
    ours = written_cell(rows("A", "B") * 4, "llama", CHAT_TEMPLATE)
    uninterrupted = ours.predict(token_budget=256)
    interrupt(ours, 2, monkeypatch, token_budget=256)
    kept = sum(len(pl.read_parquet(part)) for part in ours.parts)
    assert 0 < kept < len(uninterrupted)
    strings = {pl.Categorical: pl.String}
    assert ours.predict(token_budget=256).cast(strings).equals(uninterrupted.cast(strings))


def test_options_of_models_that_think_are_read_behind_the_thoughts(written_cell: Cells) -> None:
    closed = [
        written_cell(rows("A", "B"), "llama", template).predict_anew()
        for template in (THINKS, THINKS_IF_ASKED)
    ]
    assert largest_difference(*closed) < 1e-6


def test_how_texts_are_written_decides_nothing_of_options(
    written_cell: Cells, writer: Callable[..., Path]
) -> None:
    ours = written_cell(rows("A", "B"))
    ours.predict()
    other = {
        "max_tokens": 5,
        "temperature": 0.0,
        "top_p": 1.0,
        "options": "scored",
        "seed": 4,
        "thinking": True,
    }
    ours.predict(generation=other)
    assert ours.timing["found"] == len(ours.instances)
    assert "generation" not in read_provenance(ours.out)


def test_half_precision_is_near_and_its_drift_is_recorded(written_cell: Cells) -> None:
    ours = written_cell(rows("A", "B"))
    exact, rounded = ours.predict(), ours.predict(precision="bfloat16")
    assert 0 < largest_difference(exact, rounded) < 0.1
    assert 0 < ours.audit["largest_drift"] < 0.1


def test_an_option_that_begins_another_has_what_that_one_leaves(written_cell: Cells) -> None:
    options = ["1", "10", "100", "2"]
    ours = written_cell(rows(*options))
    said = ours.predict()
    assert said["tokens"].to_list() == [[1, 2, 3, 1]] * len(said)
    plain = PlainWriter(ours.checkpoint)
    for found, prompt in zip(said["probabilities"], prompts(ours, plain), strict=True):
        begins = [plain.probability(prompt, [option]) for option in options]
        own = [begins[0] - begins[1], begins[1] - begins[2], *begins[2:]]
        assert found.to_list() == pytest.approx(own, rel=1e-4, abs=1e-7)
    assert said["mass"].to_list() == pytest.approx(
        said["probabilities"].list.sum().to_list(), rel=1e-5
    )


def test_behind_a_word_a_tokenizer_of_whole_words_needs_the_space() -> None:
    tokenizer = make_tokenizer(["Who? (a) a man, (b) a woman"])
    (request,) = OptionTokens(Prompter(tokenizer, thinking=False)).requests(
        ["Who? (a) a man, (b) a woman"], [("a", "b")]
    )
    # `womana` is unknown; scored from before it, both options would have next to nothing.
    assert tokenizer.convert_ids_to_tokens(request.context[-1:]) == ["woman"]
    assert [tokenizer.convert_ids_to_tokens(list(forms[0])) for forms in request.options] == [
        ["a"],
        ["b"],
    ]
