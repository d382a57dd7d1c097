"""Engines against Hugging Face's own code on the same rows, with random weights of bert-base's
size, on one core.

All ways take turns in each round; rates are medians by seconds of the processor. It prints the
processor and the load.

Masked language model: the `fill-mask` pipeline. Question answering: transformers 5 has no such
pipeline any more; the baseline is what it did: padded batches through the model, softmax, and the
best span. Batches of 1 are the default of pipelines.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl
import torch
from stopwatch import print_table, processor_seconds_of
from tokenizers import BertWordPieceTokenizer
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForQuestionAnswering,
    BertTokenizerFast,
    pipeline,
)

from biasgrid.config import parse_config, read_config
from biasgrid.families.underspecified.ask import expand
from biasgrid.families.underspecified.read import read
from biasgrid.inference.engine.autotune import time_kernels
from biasgrid.inference.engine.back_end import PromptPart
from biasgrid.inference.engine.local import LocalBackEnd
from biasgrid.inference.engine.one_dnn import untimed_products, use_one_dnn
from biasgrid.inference.engine.settings import InferenceSettings
from biasgrid.inference.models.extractive.back_end import QuestionAnswering, SpanChoices
from biasgrid.inference.models.masked.back_end import FillMask, MaskChoices
from biasgrid.inference.models.masked.one_token import token_counts
from biasgrid.inference.models.predict import with_keys

ROWS = 64
ROUNDS, PACKED_ROUNDS = 3, 21
BATCH = 32
SETTINGS = InferenceSettings(
    model="engine",
    task="",
    precision="float32",
    token_budget=16384,
    device="cpu",
    seconds_without_progress=600,
    answer="",
)


def make_tokenizer(files: Iterable[Path]) -> BertTokenizerFast:
    """Trains a tokenizer that knows the words of some files."""
    trained = BertWordPieceTokenizer(lowercase=True)
    trained.train_from_iterator(
        [path.read_text() for path in sorted(files)],
        vocab_size=8000,
        min_frequency=1,
        show_progress=False,
    )
    with tempfile.TemporaryDirectory() as folder:
        trained.save_model(folder)
        return BertTokenizerFast.from_pretrained(folder)


def instances(variant: str, tokenizer: BertTokenizerFast) -> pl.DataFrame:
    config = parse_config(read_config("config/config.yaml"), "config/config.yaml")
    lists, _ = read(replace(config.files("gender", variant), pronouns={}))
    keep = (lambda words: token_counts(tokenizer, words)) if variant.startswith("lm") else None
    return with_keys(pl.concat(expand(lists, keep).parts).head(ROWS))


def engine_of(
    kind: type[LocalBackEnd], model: Any, tokenizer: Any, choices: Any, precision: str
) -> LocalBackEnd:
    """Returns a back end of a copy of a model by torch, with the products that a job would take."""
    back_end = kind(deepcopy(model).to(getattr(torch, precision)), tokenizer, choices)
    take_faster_products(back_end.model, precision)
    return back_end


def take_faster_products(model: Any, precision: str) -> None:
    products = untimed_products(precision, model.device)
    if precision == "float32":
        products = time_kernels(model)["products"]
    if products == "oneDNN":
        use_one_dnn(model)


def run_engine(
    back_end: Any, frame: pl.DataFrame, settings: InferenceSettings = SETTINGS
) -> pl.DataFrame:
    back_end.prepare_instances(frame, settings)
    tables: list[pl.DataFrame] = list(back_end.answer([PromptPart.without_answers(frame)]))
    return pl.concat(tables)


def run_fill_mask_pipeline(model: Any, tokenizer: Any, frame: pl.DataFrame, batch: int) -> None:
    texts = [
        f"{context} {statement}"
        for context, statement in frame.select("text_pair", "text").iter_rows()
    ]
    filler = pipeline(
        "fill-mask", model=model, tokenizer=tokenizer, device="cpu", dtype=model.dtype
    )
    filler(texts, batch_size=batch, top_k=10)


def run_padded_batches(model: Any, tokenizer: Any, frame: pl.DataFrame, batch: int) -> None:
    with torch.inference_mode():
        for start in range(0, len(frame), batch):
            rows = frame.slice(start, batch).select(pl.col("text", "text_pair").cast(pl.String))
            inputs = tokenizer(
                *(column.to_list() for column in rows), padding=True, return_tensors="pt"
            )
            output = model(**inputs)
            starts, ends = (
                output.start_logits.float().softmax(1),
                output.end_logits.float().softmax(1),
            )
            spans = (starts[:, :, None] * ends[:, None, :]).triu().flatten(1).argmax(1)
            length = starts.shape[1]
            for ids, span in zip(inputs["input_ids"], spans, strict=True):
                tokenizer.decode(ids[span // length : span % length + 1])


def packed_rates(plain: LocalBackEnd, packed: LocalBackEnd, frame: pl.DataFrame) -> list[str]:
    """Returns the rows per second of two back ends in turns, and the median of their ratios."""
    turns = []
    for _ in range(PACKED_ROUNDS):
        turns.append(
            [processor_seconds_of(lambda: run_engine(end, frame)) for end in (plain, packed)]
        )
    rates = [f"{ROWS / median(seconds):.1f}" for seconds in zip(*turns, strict=True)]
    ratio = median(before / after for before, after in turns)
    return [*rates, f"{ratio:.2f}"]


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    tokenizer = make_tokenizer(Path("word_lists").glob("*/*.txt"))
    masked, answering = (
        BertForMaskedLM(BertConfig()).eval(),
        BertForQuestionAnswering(BertConfig()).eval(),
    )
    statements, questions = instances("lm-bert", tokenizer), instances("qa", tokenizer)
    tasks: dict[str, tuple[Any, pl.DataFrame, type[LocalBackEnd], Any, Callable[..., None]]] = {
        "fill-mask": (masked, statements, FillMask, MaskChoices(), run_fill_mask_pipeline),
        "question-answering": (
            answering,
            questions,
            QuestionAnswering,
            SpanChoices(),
            run_padded_batches,
        ),
    }
    table, packed_table = [], []
    for task, (model, cluster, kind, choices, baseline) in tasks.items():
        plain = kind(deepcopy(model), tokenizer, choices)
        plain_half = kind(deepcopy(model).bfloat16(), tokenizer, choices)
        engines = {"torch with MKL's products, float32": plain}
        for precision in ("float32", "bfloat16"):
            engines[f"torch, {precision}"] = engine_of(kind, model, tokenizer, choices, precision)
        packed_table.append([task, *packed_rates(plain_half, engines["torch, bfloat16"], cluster)])
        ways: dict[str, Callable[[], Any]] = {
            f"Hugging Face, batches of {size}": partial(baseline, model, tokenizer, cluster, size)
            for size in (1, BATCH)
        }
        ways |= {
            engine: partial(run_engine, back_end, cluster) for engine, back_end in engines.items()
        }
        seconds: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(ROUNDS):
            for way, work in ways.items():
                seconds[way].append(processor_seconds_of(work))
        rates = {way: ROWS / median(each) for way, each in seconds.items()}
        one, many = list(rates.values())[:2]
        table += [
            [task, way, f"{rate:.1f}", f"{rate / one:.2f}", f"{rate / many:.2f}"]
            for way, rate in rates.items()
        ]
    print_table(
        ["task", "way", "rows/s", "against batches of 1", f"against batches of {BATCH}"], table
    )
    print_table(
        ["bfloat16", "as torch does it, rows/s", "weights packed for oneDNN, rows/s", "ratio"],
        packed_table,
    )


if __name__ == "__main__":
    main()
