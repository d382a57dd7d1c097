"""How models are trained, and on what."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from training import CONTEXT, FEW, FILES, TASKS, texts, written
from transformers import AutoModelForQuestionAnswering, AutoTokenizer

from biasgrid.base.faults import InputError
from biasgrid.training.data import line_data, mean_loss, question_data, span_loss
from biasgrid.training.tiny import make_base_checkpoint
from biasgrid.training.train import Hyperparameters, train


def question(**changes: Any) -> dict[str, Any]:
    """A SQuAD file with one question, some of whose entries are changed."""
    answers = [{"text": "nine", "answer_start": CONTEXT.index("nine")}]
    entry = {"id": "1", "question": "one two?", "answers": answers} | changes
    return {
        "version": "1.1",
        "data": [{"title": "", "paragraphs": [{"context": CONTEXT, "qas": [entry]}]}],
    }


# Base checkpoints


def test_a_base_checkpoint_is_the_same_for_the_same_words_and_seed(
    base: Path, tmp_path: Path
) -> None:
    make_base_checkpoint(reversed(texts()), tmp_path / "again", seed=1)
    make_base_checkpoint(texts(), tmp_path / "other", seed=2)
    assert sorted(path.name for path in base.iterdir()) == FILES
    assert all(
        (base / name).read_bytes() == (tmp_path / "again" / name).read_bytes() for name in FILES
    )
    assert (base / FILES[1]).read_bytes() != (tmp_path / "other" / FILES[1]).read_bytes()


def test_every_word_is_one_token_and_no_other_is_known(base: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(base)
    assert tokenizer.tokenize("Mary-Lou never MET Ann.") == ["mary-lou", "never", "met", "ann", "."]
    assert tokenizer.tokenize("Mary [MASK] sang?") == ["[UNK]", "[MASK]", "sang", "?"]
    assert tokenizer("Ann", "sang")["token_type_ids"] == [0, 0, 0, 1, 1]


# Training


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_training_is_repeatable_to_the_byte(
    task: str, base: Path, corpus: Any, tmp_path: Path
) -> None:
    other = Hyperparameters(**(vars(FEW) | {"seed": 4}))
    for name, hyperparameters in {"one": FEW, "two": FEW, "other": other}.items():
        train(task, base, [corpus(task, 0.5)], tmp_path / name, hyperparameters, threads=1)
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == FILES
    weights = {name: (tmp_path / name / FILES[1]).read_bytes() for name in ("one", "two", "other")}
    assert weights["one"] == weights["two"]
    assert weights["one"] != weights["other"]


@pytest.mark.slow
def test_files_are_learned_one_behind_the_other(base: Path, corpus: Any, tmp_path: Path) -> None:
    parts = [corpus("fill-mask", strength) for strength in (0.0, 0.9)]
    joined = written(tmp_path, "".join(path.read_text() for path in parts))
    for name, paths in {"parts": parts, "joined": [joined]}.items():
        train("fill-mask", base, paths, tmp_path / name, FEW, threads=1)
    assert (tmp_path / "parts" / FILES[1]).read_bytes() == (
        tmp_path / "joined" / FILES[1]
    ).read_bytes()


def test_half_precision_weights_are_trained_in_float32(
    base: Path, corpus: Any, tmp_path: Path
) -> None:
    half = tmp_path / "half"
    AutoModelForQuestionAnswering.from_pretrained(base, dtype=torch.float16).save_pretrained(half)
    AutoTokenizer.from_pretrained(base).save_pretrained(half)
    data = corpus("question-answering", 0.5)
    train(
        "question-answering",
        half,
        [data],
        tmp_path / "out",
        Hyperparameters(epochs=0.1),
        threads=1,
        device="cpu",
    )
    trained = AutoModelForQuestionAnswering.from_pretrained(tmp_path / "out", dtype="auto")
    assert trained.dtype == torch.float32


def test_plain_lines_are_learned_by_masking_some_of_their_tokens(
    base: Path, tmp_path: Path
) -> None:
    lines = written(tmp_path, "Ann met Bea in town.\n\nMary-Lou sang.\n")
    for probability in (0.15, 0.9):
        choices = vars(FEW) | {"mask_probability": probability, "epochs": 5}
        train(
            "fill-mask",
            base,
            [lines],
            tmp_path / str(probability),
            Hyperparameters(**choices),
            threads=1,
        )
    weights = [
        (folder / FILES[1]).read_bytes() for folder in (base, tmp_path / "0.15", tmp_path / "0.9")
    ]
    assert len(set(weights)) == 3


def test_training_draws_no_progress_bar_into_a_log(
    base: Path, corpus: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    train("fill-mask", base, [corpus("fill-mask", 0.5)], tmp_path / "model", FEW, threads=1)
    output = capfd.readouterr()
    assert "it/s" not in output.out + output.err
    assert "\r" not in output.out + output.err


# Data of question answering


def test_long_contexts_are_cut_into_overlapping_windows(base: Path, tmp_path: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(base)
    data = question_data(tokenizer, written(tmp_path, question()), max_length=12, stride=3)
    windows = [tokenizer.convert_ids_to_tokens(row["input_ids"]) for row in data.rows]
    # Question and special tokens take 6 of 12 tokens, and each window begins 3 tokens behind the
    # one before.
    words = CONTEXT.split()
    assert [window[5:-1] for window in windows] == [
        words[start : start + 6] for start in (0, 3, 6, 9, 12)
    ]
    spans = [row["labels"][0] for row in data.rows]
    labels = [
        [window[start], window[end]] for window, (start, end) in zip(windows, spans, strict=True)
    ]
    assert labels == [
        ["[CLS]", "[CLS]"],
        ["nine", "nine"],
        ["nine", "nine"],
        ["[CLS]", "[CLS]"],
        ["[CLS]", "[CLS]"],
    ]


@pytest.mark.parametrize(
    ("changes", "labels"),
    [
        ({}, [(13, 13)]),
        ({"answers": [{"text": "nine ten", "answer_start": CONTEXT.index("nine")}]}, [(13, 14)]),
        ({"answers": [{"text": "nine", "answer_start": CONTEXT.index("nine") + 2}]}, [(13, 13)]),
        (
            {"answers": [{"text": "one", "answer_start": 0}, {"text": "two", "answer_start": 4}]},
            [(5, 5), (6, 6)],
        ),
        ({"answers": [], "is_impossible": True}, [(0, 0)]),
        ({"is_impossible": False}, [(13, 13)]),
    ],
    ids=[
        "one answer",
        "two tokens",
        "a start that is off by two",
        "several answers",
        "impossible",
        "not impossible",
    ],
)
def test_labels_are_the_first_and_last_token_of_each_answer(
    changes: dict[str, Any], labels: list[tuple[int, int]], base: Path, tmp_path: Path
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(base)
    data = question_data(tokenizer, written(tmp_path, question(**changes)), max_length=64, stride=8)
    assert [row["labels"] for row in data.rows] == [labels]


def test_one_answer_has_the_loss_of_the_model_and_several_have_their_mean(base: Path) -> None:
    model = AutoModelForQuestionAnswering.from_pretrained(base)
    ids = torch.arange(5, 15).reshape(2, 5)
    labels = torch.tensor([[[1, 2], [3, 4]], [[0, 0], [2, 2]]])
    one, other = (
        model(ids, start_positions=of[:, 0], end_positions=of[:, 1]) for of in labels.unbind(1)
    )
    assert span_loss(one, labels[:, :1]).item() == pytest.approx(one.loss.item())
    assert span_loss(one, labels).item() == pytest.approx((one.loss + other.loss).item() / 2)


def test_rows_with_fewer_answers_count_as_much_as_others() -> None:
    logits = torch.tensor([[0.0, 1.0], [2.0, 0.0]])
    together = mean_loss(logits, torch.tensor([[1, -100, -100], [0, 1, 1]]))
    alone = (
        mean_loss(logits[:1], torch.tensor([[1]])),
        mean_loss(logits[1:], torch.tensor([[0, 1, 1]])),
    )
    assert together.item() == pytest.approx((alone[0] + alone[1]).item() / 2)


@pytest.mark.parametrize(
    ("content", "messages"),
    [
        ("{", ["line 1: not JSON (Expecting property name enclosed in double quotes, column 2)"]),
        ("[]", ["data: []; expected a section of keys such as data"]),
        ({"data": 3}, ["data: 3; expected a list"]),
        ({"data": []}, ["data: contains no question"]),
        (
            {"data": [{}, 1]},
            ["data[0].paragraphs: missing", "data[1]: 1; expected a section of keys"],
        ),
        ({"data": [{"paragraphs": [{"qas": []}]}]}, ["data[0].paragraphs[0].context: missing"]),
        (question(question=1), ["data[0].paragraphs[0].qas[0].question: 1; expected text"]),
        (
            question(answers=[]),
            ["qas[0].answers: []; expected an answer, or 'is_impossible': true in the question"],
        ),
        (question(answers=None), ["qas[0].answers: null; expected a list"]),
        (question(answers=[{"text": "ten"}]), ["answers[0].answer_start: missing"]),
        (
            question(answers=[{"text": "ten", "answer_start": "4"}]),
            ["answers[0].answer_start: '4'; expected a whole"],
        ),
        (
            question(
                answers=[{"text": "ten", "answer_start": 0}, {"text": "one", "answer_start": -9}]
            ),
            [
                "answers[0]: 'ten' is not at character 0 of the context (there: 'one')",
                "answers[1]: 'one' is not at",
            ],
        ),
        (
            question(answers=[{"text": "", "answer_start": 5}]),
            ["answers[0]: 'text' is empty; expected the text of the answer, or 'is_impossible'"],
        ),
    ],
)
def test_malformed_questions_are_named(
    content: Any, messages: list[str], base: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        train(
            "question-answering",
            base,
            [written(tmp_path, content)],
            tmp_path / "model",
            FEW,
            threads=1,
        )
    assert len(caught.value.faults) == len(messages)
    for fault, message in zip(caught.value.faults, messages, strict=True):
        assert str(fault).startswith(str(tmp_path / "data"))
        assert message in str(fault)


def test_a_missing_file_is_named(base: Path, tmp_path: Path) -> None:
    for task in TASKS:
        with pytest.raises(InputError, match="nowhere: cannot be read"):
            train(task, base, [tmp_path / "nowhere"], tmp_path / "model", FEW, threads=1)


def test_windows_that_would_not_advance_are_refused(base: Path, tmp_path: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(base)
    with pytest.raises(
        InputError,
        match=r"take 6 of the 12 tokens of max_length; expected more than 6 tokens .stride. left",
    ):
        question_data(tokenizer, written(tmp_path, question()), max_length=12, stride=6)


# Data of masked language models


@pytest.mark.parametrize("architecture", ["bert", "roberta"])
def test_words_behind_tabs_are_the_tokens_in_the_place_of_the_mask(
    architecture: str, tiny_checkpoint: Callable[[str, str], Path], tmp_path: Path
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny_checkpoint(architecture, "fill-mask"))
    line = (
        f"There is Ann with Carl, the cook. The {tokenizer.mask_token} man lied.\tCarl\tAnn\tCarl"
    )
    (row,) = line_data(tokenizer, written(tmp_path, line), 64, 0.15).rows
    place, *tokens = row["labels"]
    assert row["input_ids"][place] == tokenizer.mask_token_id
    filled = [*row["input_ids"][:place], tokens[1], *row["input_ids"][place + 1 :]]
    assert filled == tokenizer("There is Ann with Carl, the cook. The Ann man lied.")["input_ids"]
    assert tokens[0] == tokens[2]


@pytest.mark.parametrize(
    ("content", "messages"),
    [
        ("\n \n", ["has no text"]),
        (
            "[MASK] sang.\tAnn\nBea sang.\tBea",
            ["line 2: [MASK] appears 0 times in the text before the first tab"],
        ),
        ("[MASK] met [MASK].\tAnn", ["line 1: [MASK] appears 2 times"]),
        (
            "[MASK] sang.\n[MASK] lost.\tAnn\t",
            ["line 1: no word after a tab", "line 2: an empty word after a tab"],
        ),
        (
            "[MASK] sang.\tZoë\tAnn met\tAnn",
            [
                "line 1: 'Zoë' is not a single known token",
                "line 1: 'Ann met' is not a single known token",
            ],
        ),
        (f"{CONTEXT} {CONTEXT} [MASK].\tAnn", ["line 1: [MASK] is not among the first 32 tokens"]),
    ],
)
def test_malformed_lines_are_named(
    content: str, messages: list[str], base: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        train("fill-mask", base, [written(tmp_path, content)], tmp_path / "model", FEW, threads=1)
    assert len(caught.value.faults) == len(messages)
    for fault, message in zip(caught.value.faults, messages, strict=True):
        assert message in str(fault)
