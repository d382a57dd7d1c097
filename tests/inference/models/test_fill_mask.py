"""Candidates against the plain way to ask a masked language model."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from plain import Plain
from shards import Cell, count_rows, hook_model, interrupt, largest_difference, refuse_batches
from small_tables import check_alike
from transformers import AutoTokenizer

from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.inference.models.masked.candidate_tokens import tokens_in_place
from biasgrid.tables.files import read_provenance

Cells = Callable[..., Cell]
TASK = "fill-mask"
SCORINGS = ["joint", "pll", "pll-l2r"]
WORDS = ["cook", "liar", "no good", "African-American"]
"""One token in the middle of a sentence, several of one word, several words."""
TEXTS = [
    "The [MASK] man was a good cook.",
    "Ann sat by the [MASK] cook and the man.",
    "[MASK] is who lied.",
    "Carl, who lied, is [MASK] of Ann.",
]
ROWS = [{"text": text, "candidates": WORDS[place:]} for text in TEXTS for place in (0, 2)]
JOINT = {"target_scoring": "joint", "ranks": True}


def expected(cell: Cell, scoring: str) -> dict[str, list[Any]]:
    plain = Plain(cell.checkpoint, TASK)
    words = cell.instances.select(
        "text", pl.concat_list("^candidate.*$").list.drop_nulls().alias("candidates")
    )
    scores = [
        plain.word(text.replace("[MASK]", plain.mask), word, scoring)
        for text, candidates in words.iter_rows()
        for word in candidates
    ]
    return dict(
        zip(("probabilities", "ranks", "tokens"), map(list, zip(*scores, strict=True)), strict=True)
    )


def said(predictions: pl.DataFrame, name: str) -> list[Any]:
    """What is said of all candidates, one after the other."""
    return predictions[name].explode().drop_nulls().to_list()


@pytest.mark.parametrize("scoring", SCORINGS)
@pytest.mark.parametrize("architecture", ["bert", "roberta", "albert"])
def test_candidates_are_scored_as_by_the_book(
    case_cell: Cells, architecture: str, scoring: str
) -> None:
    ours = case_cell(architecture, TASK, ROWS)
    theirs = expected(ours, scoring)
    predicted = ours.predict(target_scoring=scoring, ranks=True)
    for name in ("probabilities", "ranks", "tokens"):
        assert predicted[name].list.eval(pl.element().is_not_null()).list.sum().to_list() == [
            4,
            2,
        ] * len(TEXTS)
        assert predicted[name].list.get(0).null_count() == 0
    assert said(predicted, "probabilities") == pytest.approx(theirs["probabilities"], rel=1e-4)
    assert {name: said(predicted, name) for name in ("ranks", "tokens")} == {
        name: theirs[name] for name in ("ranks", "tokens")
    }
    assert min(said(predicted, "tokens")) == 1
    assert max(said(predicted, "tokens")) > 2
    assert read_provenance(ours.out)["target_scoring"] == scoring


def test_ranks_are_null_where_they_are_not_asked_for(case_cell: Cells) -> None:
    ours = case_cell("bert", TASK, ROWS)
    with_ranks, without = ours.predict(**JOINT), ours.predict(target_scoring="joint")
    assert without["ranks"].null_count() == len(without)
    check_alike(without.drop("ranks"), with_ranks.drop("ranks"))


def test_scorings_differ_in_candidates_of_several_pieces_alone(case_cell: Cells) -> None:
    ours = case_cell("bert", TASK, ROWS)
    words = pl.Series([word for row in ROWS for word in row["candidates"]])
    joint, pll, pll_l2r = (
        ours.predict(target_scoring=scoring)
        .select("probabilities", "tokens")
        .explode("probabilities", "tokens")
        .drop_nulls()
        for scoring in SCORINGS
    )
    one, word = joint["tokens"] == 1, words.is_in(["cook", "liar"])
    assert one.sum() == len(TEXTS)
    # Kauf and Ivanova mask what follows in the same word: in a target of one word, all that
    # follows.
    for other, same in ((pll, one), (pll_l2r, word)):
        difference = (joint["probabilities"].log() - other["probabilities"].log()).abs()
        assert difference.filter(same).max() < 1e-4
        # Of random weights a few may differ by next to nothing.
        assert difference.filter(~same).median() > 1e-2


def test_candidates_that_need_the_same_input_share_it(
    case_cell: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = case_cell(
        "bert",
        TASK,
        [{"text": TEXTS[0], "candidates": ["cook", "good", "never", "no good", "no cook"]}],
    )
    counts = count_rows(monkeypatch)
    ours.predict(**JOINT)
    # One mask; two masks; `no` and a mask. All once more for the audit.
    assert sum(counts) == 2 * 3


def test_the_mask_matches_the_tokenizer(case_cell: Cells) -> None:
    text, candidates = "The [MASK] man lied.", ["cook", "liar"]
    predicted = case_cell("roberta", TASK, [{"text": text, "candidates": candidates}]).predict(
        **JOINT
    )
    own = {"text": text.replace("[MASK]", "<mask>"), "candidates": candidates}
    check_alike(case_cell("roberta", TASK, [own]).predict(**JOINT), predicted)


@pytest.mark.parametrize(
    ("text", "masks"), [("The man lied.", 0), ("The [MASK] man is [MASK].", 2)]
)
@pytest.mark.parametrize("architecture", ["bert", "roberta"])
def test_texts_with_another_number_of_masks_are_refused(
    case_cell: Cells, architecture: str, text: str, masks: int
) -> None:
    ours = case_cell(architecture, TASK, [*ROWS, {"text": text, "candidates": ["cook"]}])
    with pytest.raises(
        ModelError,
        match=rf"instance 8, '.*', has {masks} masks for this tokenizer; expected one \[MASK\]",
    ):
        ours.predict(**JOINT)


@pytest.mark.parametrize("rows", [ROWS, []])
def test_instances_without_candidates_are_refused(
    case_cell: Cells, rows: Sequence[dict[str, Any]]
) -> None:
    with pytest.raises(
        ModelError, match=f"instance {len(rows)} has no candidates; expected one or more"
    ):
        case_cell("bert", TASK, [*rows, {"text": TEXTS[0]}]).predict(**JOINT)


def test_unknown_candidates_are_refused(case_cell: Cells) -> None:
    with pytest.raises(
        ModelError, match="'愛' has letters that this model's tokenizer does not know"
    ):
        case_cell("bert", TASK, [{"text": TEXTS[0], "candidates": ["cook", "愛"]}]).predict(**JOINT)


@pytest.mark.parametrize(
    ("text", "word"), [("The ma[MASK] lied.", "n"), ("Ann [MASK]d.", "lie"), (TEXTS[0], "")]
)
def test_candidates_that_run_into_the_text_are_refused(
    case_cell: Cells, text: str, word: str
) -> None:
    with pytest.raises(ModelError, match=f"'{word}' is not a separate word at the mask"):
        case_cell("bert", TASK, [{"text": text, "candidates": [word]}]).predict(**JOINT)


def test_pieces_depend_on_the_place_of_the_mask(
    tiny_checkpoint: Callable[[str, str], Path],
) -> None:
    def tokens(architecture: str, text: str) -> list[str]:
        tokenizer = AutoTokenizer.from_pretrained(tiny_checkpoint(architecture, TASK))
        pieces = tokens_in_place(
            tokenizer, text.replace("[MASK]", tokenizer.mask_token), "good"
        ).ids
        return list(tokenizer.convert_ids_to_tokens(pieces))

    assert tokens("roberta", "The [MASK] man") == tokens("roberta", "He is [MASK].") == ["Ġgood"]
    assert tokens("roberta", "[MASK] is who lied.") == ["goo", "d"]
    # This kind of tokenizer writes the full stop in another way behind a mask than behind a word.
    assert tokens("albert", "He is [MASK].") == ["▁", "g", "oo", "d"]


def test_texts_with_the_mask_in_the_same_words_are_tokenized_alike(case_cell: Cells) -> None:
    rows = [
        {"text": f"{who} [MASK]{mark}", "candidates": ["cook", "good"]}
        for who in ("Ann is", "Carl,")
        for mark in ("", ".")
    ]
    ours = case_cell("roberta", TASK, [*rows, {"text": "[MASK]", "candidates": ["cook"]}])
    probabilities = said(ours.predict(**JOINT), "probabilities")
    assert probabilities == pytest.approx(expected(ours, "joint")["probabilities"], rel=1e-4)


def test_rows_that_are_too_long_are_refused_with_their_instance(case_cell: Cells) -> None:
    ours = case_cell(
        "bert",
        TASK,
        [*ROWS, {"text": TEXTS[0] + " cook" * 115, "candidates": ["cook", "liar " * 5]}],
    )
    with pytest.raises(ModelError, match=r"instance 8 has 1\d\d tokens; expected at most 128"):
        ours.predict(**JOINT)


def test_an_interrupted_shard_goes_on_and_ends_the_same(
    case_cell: Cells, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("biasgrid.inference.models.predict.ROWS_A_PART", 3)
    ours = case_cell("roberta", TASK, ROWS)
    uninterrupted = ours.predict(**JOINT)
    interrupt(ours, 2, monkeypatch, **JOINT)
    with caplog.at_level("INFO"):
        check_alike(ours.predict(**JOINT), uninterrupted)
    assert "6 rows come from an earlier run" in caplog.text
    assert f"{len(ROWS)} of {len(ROWS)} rows" in caplog.text
    assert ours.timing["rows"] == len(ROWS)


def test_parts_of_another_scoring_are_not_taken(
    case_cell: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("biasgrid.inference.models.predict.ROWS_A_PART", 3)
    ours = case_cell("bert", TASK, ROWS)
    interrupt(ours, 2, monkeypatch, **JOINT)
    resumed = ours.predict(target_scoring="pll")
    check_alike(resumed, ours.predict_anew(target_scoring="pll"))


def test_a_prediction_does_not_depend_on_its_shard_or_batch(
    case_cell: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = case_cell("bert", TASK, ROWS)
    whole = ours.predict(token_budget=100_000, **JOINT)
    assert largest_difference(ours.predict_all(3, **JOINT), whole) < 1e-6

    hook_model(monkeypatch, refuse_batches)
    assert largest_difference(ours.predict_anew(**JOINT), whole) < 1e-6


def test_a_shard_without_instances_is_an_empty_table(case_cell: Cells) -> None:
    ours = case_cell("bert", TASK, ROWS[:1])
    assert ours.predict(1, 2, **JOINT).schema == ours.predict(2, 2, **JOINT).schema
