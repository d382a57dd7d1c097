"""The engine against Hugging Face's own code on the same rows, with random weights of bert-base's size, on one core.

Masked language model: the `fill-mask` pipeline. Question answering: transformers 5 has no such pipeline any more; the
baseline is what it did: padded batches through the model, softmax, and the best span. Both in batches of 32.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import torch
from stopwatch import print_table, seconds_of
from tokenizers import BertWordPieceTokenizer
from transformers import BertConfig, BertForMaskedLM, BertForQuestionAnswering, BertTokenizerFast, pipeline

from biasgrid.config import parse_config, read_config
from biasgrid.families.underspecified.expansion import expand
from biasgrid.families.underspecified.word_lists import read_word_lists
from biasgrid.models.fill_mask import FillMask
from biasgrid.models.one_token import are_one_token
from biasgrid.models.predict import predict_rows
from biasgrid.models.question_answering import QuestionAnswering
from biasgrid.progress import Progress

ROWS = 768
BATCH = 32


def make_tokenizer() -> BertTokenizerFast:
    texts = [path.read_text() for path in sorted(Path("word_lists").glob("*/*.txt"))]
    trained = BertWordPieceTokenizer(lowercase=True)
    trained.train_from_iterator(texts, vocab_size=8000, min_frequency=1, show_progress=False)
    with tempfile.TemporaryDirectory() as folder:
        trained.save_model(folder)
        return BertTokenizerFast.from_pretrained(folder)


def instances(variant: str, tokenizer: BertTokenizerFast) -> pl.DataFrame:
    config = parse_config(read_config("config/config.yaml"), "config/config.yaml")
    lists, _ = read_word_lists(config.files("gender", variant))
    keep = (lambda words: are_one_token(tokenizer, words)) if variant.startswith("lm") else None
    return expand(lists, keep)[0].head(ROWS)


def run_engine(back_end: Any, frame: pl.DataFrame) -> None:
    with Progress("engine", len(frame)) as progress:
        predict_rows(back_end, frame, 16384, progress)


def run_fill_mask_pipeline(model: Any, tokenizer: Any, frame: pl.DataFrame) -> None:
    texts = [f"{context} {question}" for context, question in frame.select("context", "question").iter_rows()]
    filler = pipeline("fill-mask", model=model, tokenizer=tokenizer, device="cpu", dtype=model.dtype)
    filler(texts, batch_size=BATCH, top_k=10)


def run_padded_batches(model: Any, tokenizer: Any, frame: pl.DataFrame) -> None:
    with torch.inference_mode():
        for start in range(0, len(frame), BATCH):
            batch = frame.slice(start, BATCH)
            inputs = tokenizer(
                batch["question"].cast(pl.String).to_list(),
                batch["context"].cast(pl.String).to_list(),
                padding=True,
                return_tensors="pt",
            )
            output = model(**inputs)
            starts, ends = output.start_logits.float().softmax(1), output.end_logits.float().softmax(1)
            spans = (starts[:, :, None] * ends[:, None, :]).triu().flatten(1).argmax(1)
            length = starts.shape[1]
            for ids, span in zip(inputs["input_ids"], spans, strict=True):
                tokenizer.decode(ids[span // length : span % length + 1])


def compare(
    task: str, baseline: str, engine: Callable[[], None], other: Callable[[], None], precision: str
) -> list[str]:
    other_seconds, engine_seconds = (min(seconds_of(work) for _ in range(2)) for work in (other, engine))
    return [
        task, precision, baseline, f"{ROWS / other_seconds:.0f}", f"{ROWS / engine_seconds:.0f}",
        f"{other_seconds / engine_seconds:.2f}",
    ]  # fmt: skip


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    tokenizer = make_tokenizer()
    masked, answering = BertForMaskedLM(BertConfig()).eval(), BertForQuestionAnswering(BertConfig()).eval()
    statements, questions = instances("lm-bert", tokenizer), instances("qa", tokenizer)
    back_ends = FillMask(masked, tokenizer, "exact", {}), QuestionAnswering(answering, tokenizer, "exact", {})
    table, baseline_seconds = [], {}
    works = {
        "fill-mask": (
            "fill-mask pipeline",
            lambda: run_engine(back_ends[0], statements),
            lambda: run_fill_mask_pipeline(masked, tokenizer, statements),
        ),
        "question-answering": (
            "padded batches",
            lambda: run_engine(back_ends[1], questions),
            lambda: run_padded_batches(answering, tokenizer, questions),
        ),
    }
    for task, (baseline, engine, other) in works.items():
        table.append(compare(task, baseline, engine, other, "float32"))
        baseline_seconds[task] = ROWS / float(table[-1][3])
    masked.to(torch.bfloat16), answering.to(torch.bfloat16)
    for task, (baseline, engine, _) in works.items():
        seconds = min(seconds_of(engine) for _ in range(2))
        row = [
            task,
            "bfloat16",
            f"{baseline}, float32",
            f"{ROWS / baseline_seconds[task]:.0f}",
            f"{ROWS / seconds:.0f}",
        ]
        table.append([*row, f"{baseline_seconds[task] / seconds:.2f}"])
    print_table(["task", "precision", "against", "its rows/s", "engine rows/s", "ratio"], table)


if __name__ == "__main__":
    main()
