"""Files of answers computed elsewhere, made of what a cell was asked and answered here."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from biasgrid.inference.engine.back_end import columns_with_prefix

ANSWERS_BY_OPTION = {"choice": ("probabilities",), "span": ("starts", "ends")}
PLAIN_ANSWERS = {
    "text": ("response",),
    "score": ("score",),
    "likelihood": ("score",),
    "vector": ("vector",),
}


def answer_rows(
    kind: str, instances: pl.DataFrame, predictions: pl.DataFrame, classes: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """The rows of a file, one for each distinct request.

    Args:
        kind: the kind of the answers.
        instances: what was asked.
        predictions: the answers, one for each instance.
        classes: the names of the classes of a classifier, in the order of its probabilities.
    """
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    texts = instances.with_columns(pl.col(pl.Categorical).cast(pl.String))
    answers = predictions.with_columns(pl.col(pl.Categorical).cast(pl.String)).drop("instance")
    names = [columns_with_prefix(texts, what) for what in ("candidate", "position")]
    for asked, said in zip(texts.iter_rows(named=True), answers.iter_rows(named=True), strict=True):
        row = request_of(asked)
        first = rows.setdefault(tuple(row.values()), row)
        for name in ANSWERS_BY_OPTION.get(kind, ()):
            options = [asked[candidate] for candidate in names[0]] or list(classes)
            given = {text: value for text, value in zip(options, said[name]) if value is not None}  # noqa: B905
            first[name] = first.get(name, {}) | given
        first |= {name: said[name] for name in PLAIN_ANSWERS.get(kind, ())}
        if kind == "span":
            first |= {"response": said["answer"], "probability": said["probability"]}
    return list(rows.values())


def request_of(asked: Mapping[str, Any]) -> dict[str, Any]:
    """What identifies a request: the prompt before it was rewritten, or text and second text."""
    row = {"prompt": asked.get("original") or asked["text"]}
    if "original" not in asked and asked["text_pair"] is not None:
        row["text_pair"] = asked["text_pair"]
    return row | {
        name: asked[name] for name in ("group", "repetition") if asked.get(name) is not None
    }


def write_answers(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Writes rows in the format of the path's ending; tables of text have objects and lists as
    JSON.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".jsonl":
        path.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows))
    else:
        table = pl.DataFrame([dict(packed(row)) for row in rows], infer_schema_length=None)
        table.write_csv(path) if path.suffix == ".csv" else table.write_parquet(
            path, compression="zstd"
        )
    return path


def packed(row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """A row whose objects and lists are JSON."""
    for name, value in row.items():
        is_packed = isinstance(value, dict | list)
        yield name, json.dumps(value, ensure_ascii=False) if is_packed else value
