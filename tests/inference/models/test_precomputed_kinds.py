"""Answers of every kind from a file: those of a checkpoint come back as they were, bad ones are
refused.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from answer_files import answer_rows, write_answers
from sentences import PAIRS, pairs_of
from shards import Cell, asked
from tiny_checkpoints import LABELS
from tiny_writers import LETTERS, STATEMENTS, save_writer
from transformers import AutoModelForMultipleChoice, AutoTokenizer

from biasgrid.base.faults import InputError
from biasgrid.inference.models.registry import BACK_ENDS

Checkpoints = Callable[[str, str], Path]
TEXTS = [{"text": text} for text in ("The cook lied.", "The old man sat by the sea.", "Zoë")]
OPTIONS = [
    {
        "text": f"Who {did}?",
        "text_pair": "The cook sat by Ann.",
        "candidates": ["Ann", "the cook", "not known"],
    }
    for did in ("lied", "sat by Ann")
]
PROMPTS = [
    {"text_pair": text, "text": LETTERS, "candidates": ["A", "B"], "system": "Be brief."}
    for text in STATEMENTS
]
FORMATS = ("jsonl", "csv", "parquet")
WITHOUT = {
    "choice": ["tokens", "ranks", "unknown", "scored_by", "surface_forms", "form_probabilities"],
    "span": ["unknown"],
    "text": ["tokens_in", "tokens_out"],
}
"""Columns that no file has."""
WITHOUT |= {
    "likelihood": ["tokens_scored", "tokens", "unknown_tokens", "unknown"],
    "score": ["unknown"],
}
WITHOUT |= {"vector": ["unknown"]}
WITHOUT["choice"] += ["first_tokens", "first_probabilities"]


@pytest.fixture
def cells(
    tmp_path: Path, tiny_checkpoint: Checkpoints, cell: Callable[[str, str], Cell]
) -> Callable[[str], Cell]:
    """Gives a cell of a tiny checkpoint by its name in `CELLS`."""

    def several(folder: Path) -> Path:
        AutoModelForMultipleChoice.from_pretrained(
            tiny_checkpoint("bert", "feature-extraction")
        ).save_pretrained(folder)
        AutoTokenizer.from_pretrained(
            tiny_checkpoint("bert", "feature-extraction")
        ).save_pretrained(folder)
        return folder

    def make(name: str) -> Cell:
        task = CELLS[name][0]
        if name in ("masks", "spans"):
            return cell("bert", task)
        rows, source = asked(TEXTS), "weights"
        if name == "sentences":
            rows = pairs_of(PAIRS, "aul")
        elif name == "options":
            rows = asked(OPTIONS)
        elif task == "text-generation":
            rows = asked(PROMPTS)
        if task == "text-generation":
            checkpoint = save_writer(tmp_path / "writer")
        else:
            checkpoint = (
                several(tmp_path / "options")
                if name == "options"
                else tiny_checkpoint("bert", task)
            )
        source = "scorer" if name == "scores" else source
        return Cell(tmp_path / "cell", task, rows, checkpoint, source)

    return make


SCORER = {"labels": LABELS[1:], "activation": "sigmoid", "join": "sum"}
GENERATION = {
    "max_tokens": 4,
    "temperature": 1.0,
    "top_p": 1.0,
    "seed": 1,
    "thinking": False,
    "options": "scored",
}
WRITER = {"generation": GENERATION, "chat_template": True, "date": "2024-07-26"}
CELLS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "masks": ("fill-mask", "choice", {"scoring": "exact"}),
    "sentences": ("fill-mask", "likelihood", {"scoring": "aul"}),
    "spans": ("question-answering", "span", {"scoring": "exact"}),
    "options": ("multiple-choice", "choice", {}),
    "classes": ("text-classification", "choice", {"labels": LABELS}),
    "scores": ("text-classification", "score", {"scorer": SCORER}),
    "vectors": ("feature-extraction", "vector", {"max_tokens": None}),
    "letters": ("text-generation", "choice", WRITER),
    "texts": ("text-generation", "text", WRITER),
}
"""By name the task, the kind of its answers, and what decides them."""


def from_file(
    folder: Path,
    task: str,
    kind: str,
    instances: pl.DataFrame,
    rows: Sequence[Any],
    ending: str = "jsonl",
    **choices: Any,
) -> pl.DataFrame:
    """What instances are answered by a file with these rows."""
    path = write_answers(folder / f"answers.{ending}", rows)
    source = "scorer-answers" if kind == "score" else "answers"
    cell = Cell(folder / "there", task, instances, Path(), source, {"answers": str(path)})
    return cell.predict_anew(answer=kind, **choices)


@pytest.mark.parametrize("name", CELLS)
def test_answers_of_a_checkpoint_come_back_from_a_file(
    tmp_path: Path, cells: Callable[[str], Cell], name: str
) -> None:
    task, kind, choices = CELLS[name]
    here = cells(name)
    said = here.predict(answer=kind, **choices)
    assert len(said) == len(here.instances) >= 2
    rows = answer_rows(kind, here.instances, said, choices.get("labels", ()))
    decisive = {key: value for key, value in choices.items() if key in ("labels", "scoring")}
    for ending in FORMATS:
        found = from_file(tmp_path / ending, task, kind, here.instances, rows, ending, **decisive)
        same = [
            column for column in said.columns if column not in (*WITHOUT[kind], "mass", "status")
        ]
        assert len(same) >= 2
        assert found.select(same).equals(said.select(same)), ending
        if kind == "choice" and task == "text-generation":
            assert found["mass"].to_list() == pytest.approx(said["mass"].to_list(), abs=1e-6)


def test_every_kind_that_a_file_may_have_comes_back() -> None:
    given = {
        (task, kind)
        for (task, source), entry in BACK_ENDS.items()
        if "answers" in source
        for kind in entry.answers
    }
    # Sentences are scored alike for both tasks.
    assert given == {(task, kind) for task, kind, _ in CELLS.values()} | {
        ("text-generation", "likelihood")
    }


TWO = [
    {"text": "Ann [MASK].", "candidates": ["lied", "sat"]},
    {"text": "Carl [MASK].", "candidates": ["lied"]},
]
SHARES = [{"prompt": "Ann [MASK].", "probabilities": {"lied": 0.25, "sat": 0.5}}]
SHARES += [{"prompt": "Carl [MASK].", "probabilities": {"lied": 0.125}}]


def test_parquet_may_have_structures_and_lists(tmp_path: Path) -> None:
    path = tmp_path / "answers.parquet"
    pl.DataFrame(SHARES).write_parquet(path)
    assert isinstance(pl.read_parquet_schema(path)["probabilities"], pl.Struct)
    cell = Cell(
        tmp_path / "cell", "fill-mask", asked(TWO), Path(), "answers", {"answers": str(path)}
    )
    assert cell.predict(answer="choice")["probabilities"].to_list() == [[0.25, 0.5], [0.125, None]]
    maps = [
        [{"key": key, "value": value} for key, value in row["probabilities"].items()]
        for row in SHARES
    ]
    pl.DataFrame(
        {"prompt": [row["prompt"] for row in SHARES], "probabilities": maps}
    ).write_parquet(path)
    assert cell.predict_anew(answer="choice")["probabilities"].to_list() == [
        [0.25, 0.5],
        [0.125, None],
    ]


def test_equal_requests_have_equal_answers_and_a_text_may_have_two_contexts(
    tmp_path: Path,
) -> None:
    questions = [
        {"text": "Who?", "text_pair": pair, "candidates": ["a", "b"]}
        for pair in ("a, b", "b, a", "a, b")
    ]
    rows = [
        {"prompt": "Who?", "text_pair": pair, "probabilities": {"a": share, "b": 1 - share}}
        for pair, share in (("a, b", 0.75), ("b, a", 0.25))
    ]
    found = from_file(tmp_path, "multiple-choice", "choice", asked(questions), rows)
    assert found["probabilities"].list.first().to_list() == [0.75, 0.25, 0.75]
    assert found["mass"].null_count() == found["scored_by"].null_count() == 3


def test_vectors_are_scaled_to_length_1(tmp_path: Path) -> None:
    rows = [
        {"prompt": row["text"], "vector": [3 * place + 3, 4 * place + 4]}
        for place, row in enumerate(TEXTS)
    ]
    found = from_file(tmp_path, "feature-extraction", "vector", asked(TEXTS), rows)
    assert found["vector"].to_list() == [pytest.approx([0.6, 0.8])] * 3


def test_a_sentence_without_a_score_has_none(tmp_path: Path) -> None:
    rows = [
        {"prompt": row["text"], "score": score}
        for row, score in zip(TEXTS, (-2.5, None, -1), strict=True)
    ]
    found = from_file(tmp_path, "fill-mask", "likelihood", asked(TEXTS), rows, scoring="published")
    assert found["score"].to_list() == [-2.5, None, -1.0]
    assert set(found["scoring"]) == {"published"}


SPAN = {"prompt": "Who lied?", "text_pair": "Ann, Carl.", "response": "Ann"}
SPAN |= {"starts": {"Ann": 0.5, "Carl": 0.25}, "ends": {"Ann": 0.5, "Carl": 0.25}}
ONE_SPAN = {"text": "Who lied?", "text_pair": "Ann, Carl.", "candidates": ["Ann", "Carl"]}
BAD: list[tuple[str, str, dict[str, Any], str]] = [
    (
        "fill-mask",
        "choice",
        {"probabilities": {"lied": 1.5, "sat": 0.1}},
        "line 1, probabilities: 'lied' has 1.5; expected a number between 0 and 1",
    ),
    (
        "fill-mask",
        "choice",
        {"probabilities": {"lied": math.nan, "sat": 0.1}},
        "line 1, probabilities: 'lied' has nan; expected a number between 0 and 1",
    ),
    (
        "text-generation",
        "choice",
        {"probabilities": {"lied": 0.75, "sat": 0.5}},
        "line 1, probabilities: those of the options add up to 1.25; expected at most 1 together",
    ),
    (
        "fill-mask",
        "choice",
        {"probabilities": {"lied": 0.75}},
        (
            "line 1, probabilities: no probability of the option 'sat'; expected the options of "
            "the dataset; it has 'lied'"
        ),
    ),
    (
        "fill-mask",
        "choice",
        {"probabilities": ["lied"]},
        (
            "line 1, probabilities: ['lied']; expected an object with the probability of each "
            "option or class, such as {"
        ),
    ),
    (
        "fill-mask",
        "choice",
        {"probabilities": {"lied": "0.5", "sat": 0.25}},
        "line 1, probabilities: {'lied': '0.5', 'sat': 0.25}; expected an object",
    ),
    (
        "fill-mask",
        "choice",
        {"scores": {"lied": -1, "sat": -1}, "probabilities": {"lied": 0.5, "sat": 0.5}},
        "line 1, scores: both `scores` and `probabilities`; expected one of them",
    ),
    (
        "fill-mask",
        "choice",
        {"score": -1.5},
        (
            "line 1, probabilities: no probabilities of options, which the dataset needs; expected "
            "a probability or a log-"
        ),
    ),
    (
        "fill-mask",
        "likelihood",
        {"probabilities": {"lied": 0.5, "sat": 0.5}},
        "line 1, score: no scores, which the dataset needs; expected a number for each sentence",
    ),
    (
        "fill-mask",
        "likelihood",
        {"score": math.inf},
        "line 1, score: inf; expected a finite number",
    ),
    (
        "fill-mask",
        "likelihood",
        {"score": "high"},
        "line 1, score: 'high'; expected a finite number",
    ),
    (
        "feature-extraction",
        "vector",
        {"vector": [0.5, math.nan]},
        "line 1, vector: nan in place 1; expected finite numbers",
    ),
    (
        "feature-extraction",
        "vector",
        {"vector": [0, 0.0]},
        "line 1, vector: only zeros; expected a vector with a direction",
    ),
    (
        "feature-extraction",
        "vector",
        {"vector": []},
        "line 1, vector: []; expected a list of finite numbers",
    ),
    (
        "feature-extraction",
        "vector",
        {"response": "x"},
        "line 1, vector: no vectors, which the dataset needs",
    ),
    (
        "text-classification",
        "score",
        {"score": True},
        "line 1, score: true; expected a finite number",
    ),
    (
        "text-classification",
        "score",
        {"vector": [1]},
        "line 1, score: no scores, which the dataset needs",
    ),
    (
        "text-generation",
        "text",
        {"vector": [1]},
        (
            "line 1, vector: vectors, but the dataset needs written answers; expected a "
            "`response`, or `answers: scored`"
        ),
    ),
]


@pytest.mark.parametrize(("task", "kind", "answer", "message"), BAD)
def test_bad_numbers_are_refused_with_their_place(
    tmp_path: Path, task: str, kind: str, answer: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError) as refused:
        from_file(
            tmp_path,
            task,
            kind,
            asked(TWO[:1]),
            [{"prompt": "Ann [MASK].", **answer}],
            scoring="aul",
        )
    assert f"answers.jsonl, {message}" in str(refused.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"starts": {"Ann": 0.5}},
            "line 1, starts: no probability of the option 'Carl'; expected the options of",
        ),
        (
            {"ends": None},
            (
                "line 1, ends: no probabilities of ends, which the dataset needs; expected "
                "`starts` and"
            ),
        ),
        ({"probability": -0.5}, "line 1, probability: -0.5; expected a number between 0 and 1"),
        ({"text_pair": 3}, "line 1, text_pair: 3; expected text, or null for none"),
        (
            {"text_pair": "Carl, Ann."},
            "1 of 1 prompts have no answer; the first one is 'Ann, Carl.\\nWho lied?'",
        ),
    ],
)
def test_bad_spans_are_refused_with_their_place(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    instances = asked([ONE_SPAN]).with_columns(
        position1=pl.lit(0, pl.UInt16), position2=pl.lit(5, pl.UInt16)
    )
    of_spans = ("question-answering", "span", instances)
    assert from_file(tmp_path, *of_spans, [SPAN])["answer"].to_list() == ["Ann"]
    with pytest.raises(InputError) as refused:
        from_file(tmp_path, *of_spans, [SPAN | changes])
    assert message in str(refused.value)


def test_vectors_have_one_length_and_classifiers_all_classes(tmp_path: Path) -> None:
    rows = [
        {"prompt": row["text"], "vector": [1] * (2 + place // 2)} for place, row in enumerate(TEXTS)
    ]
    with pytest.raises(
        InputError, match="line 3, vector: 3 numbers; expected 2 numbers, as in line 1"
    ):
        from_file(tmp_path, "feature-extraction", "vector", asked(TEXTS), rows)
    classified = [{"prompt": row["text"], "probabilities": {"NEG": 1}} for row in TEXTS]
    with pytest.raises(
        InputError, match="line 1, probabilities: no probability of the option 'POS'; expected"
    ):
        from_file(
            tmp_path,
            "text-classification",
            "choice",
            asked(TEXTS),
            classified,
            labels=["NEG", "POS"],
        )


def test_half_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"1 of 2 prompts have no answer; the first one is 'Carl \[MASK\]\.'"
    ):
        from_file(tmp_path, "fill-mask", "choice", asked(TWO), SHARES[:1])
    assert json.loads((tmp_path / "answers.jsonl").read_text())["prompt"] == "Ann [MASK]."
