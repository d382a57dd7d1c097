"""Whole jobs with a large language model, beside lm-evaluation-harness and plain loops:

    python benchmarks/real_llm.py [bbq] [prompts] [texts] [ask]

Each part can be run alone, and keeps its tables in a file of its own:

bbq      items of BBQ with the prompt of lm-evaluation-harness and three options, scored by both
prompts  `biasgrid try` on built-in datasets; their prompts and options beside padded batches of 32, of
         which the logits of the options' first tokens are read
texts    texts of up to 80 tokens at temperature 0, beside `generate` with padded batches of 32
ask      the first and the second `biasgrid ask` of a model, beside a script that loads it and reads
         one prompt

All ways take turns. `llm_ways.py` says how they are timed.

The model is the one that tests/helpers/real_llm.py makes in the folder `BIASGRID_LLM`. The harness'
environment is the folder `lm-eval` of `BIASGRID_HARNESSES`, or of the temporary folder. Where it is
not there it is made from PyPI, but for torch and transformers, which are those of this environment.
"""

from __future__ import annotations

import argparse
import math
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from operator import eq
from pathlib import Path
from typing import Any

import polars as pl
from llm_ways import (
    BENCHMARKS,
    HARNESS,
    Benchmark,
    Outcome,
    answers_in,
    asked_in,
    choose,
    generate,
    make_harness,
    results_of,
    run_again,
    run_biasgrid,
    run_harness,
    run_items,
    run_try,
    run_work,
)
from stopwatch import print_table

CHECKPOINT = "qwen2.5-coder-0.5b-instruct"
ITEMS = BENCHMARKS.parent / "word_lists/benchmarks/Age.jsonl"
OURS = "biasgrid"
ON = ("gender", "gender-statements")
"""The datasets of `prompts`: one of each family in config/llm.yaml."""
LOOPS = {"loop": False, "loop, logits of last tokens": True}
"""Plain loops, and whether they compute logits only where these are read."""
EXPLAIN = "{context}\n{question}\nAnswer in three sentences, and say why."
MAX_TOKENS = 80
TYPED = "Nurses are kind. Agree or Disagree?"
LARGEST_DIFFERENCE = 2e-4
"""Allowed between log-probabilities in float32: over 152,000 logits, `log_softmax` of torch is up to
1e-4 away from what it is in float64, `logsumexp`, which biasgrid takes, less than 1e-5.
"""
SMALLEST_LOG = -85
"""Below it, probabilities in float32 have few digits, and end."""


def spelling_logs(answer: Mapping[str, Any], beginning: str) -> Iterator[tuple[int, str, float]]:
    """Yields place, text and log-probability of the plain spelling of each option of an answer.

    Args:
        answer: a row of instances and predictions.
        beginning: what is before the option.
    """
    ways = zip(answer["surface_forms"], answer["form_probabilities"], strict=True)
    for place, (forms, probabilities) in enumerate(ways):
        text = f"{beginning}{answer[f'candidate{place + 1}']}"
        if forms and text in forms:
            probability = probabilities[forms.index(text)]
            yield place, text, math.log(probability) if probability else -math.inf


def difference_cell(precision: str, differences: Sequence[float]) -> str:
    """Returns the cell of the largest difference of log-probabilities, small in float32."""
    largest = max(differences)
    assert precision != "float32" or largest < LARGEST_DIFFERENCE, largest
    return f"{largest:.1e}"


# Items of BBQ


def differences_from_harness(
    results: Path, scores: Sequence[tuple[str, str, float]]
) -> list[float]:
    """Returns how far log-probabilities of plain options by biasgrid and by the harness differ."""
    logs = {
        (answer["text"], option): log
        for answer in answers_in(results, "bbq").iter_rows(named=True)
        for _, option, log in spelling_logs(answer, " ")
    }
    return [
        abs(logs[prompt, option] - score)
        for prompt, option, score in scores
        if score > SMALLEST_LOG
    ]


def print_bbq(benchmark: Benchmark) -> None:
    """Prints seconds of the harness and of biasgrid for items of BBQ."""
    given, python = benchmark.given, make_harness()
    harness = f"{HARNESS.replace('[hf]==', ' ')}, batches of {given.batch_size}"
    keys: dict[str, Any] = {
        "model": {"chat_template": False},
        "dataset": {"prompt": "lm-eval"},
    }
    rows = []
    for precision in given.precisions:
        ways = {
            harness: partial(run_harness, benchmark, python, precision),
            OURS: partial(run_items, benchmark, precision, given.count, **keys),
        }
        outcomes = benchmark.in_turns(ways)
        (harness_whole, harness_alone, _), scores = outcomes[harness]
        for name, ((whole, alone, peak_mb), result) in outcomes.items():
            numbers = [f"{peak_mb:,.0f}", f"{whole:.0f}", f"{harness_whole / whole:.2f}"]
            numbers += [f"{alone:.1f}", f"{harness_alone / alone:.2f}"]
            difference = ""
            if name == OURS:
                difference = difference_cell(precision, differences_from_harness(result, scores))
            rows.append([precision, name, *numbers, difference])
    items = f"{len(scores) // 3} items of {given.items.name} by"
    header = [benchmark.model.name, items, "peak MB", "whole job, s", "job, times as fast"]
    header += ["scoring alone, s", "alone, times as fast"]
    print_table([*header, "largest difference of log-probabilities"], rows, "bbq")


# Prompts of built-in datasets


def differences_from_loop(
    answers: pl.DataFrame, sample: pl.DataFrame, scores: Sequence[Sequence[float]]
) -> list[float]:
    """Returns how far log-probabilities of options differ; NaN of the loop is left out.

    Args:
        answers: answers of biasgrid.
        sample: the rows that a loop scored.
        scores: the log-probabilities by the loop, for each row and option.
    """
    rows = sample.select("dataset", "instance").join(
        answers, on=["dataset", "instance"], maintain_order="left"
    )
    differences = []
    for answer, logs in zip(rows.iter_rows(named=True), scores, strict=True):
        for place, _, log in spelling_logs(answer, ""):
            if not math.isnan(logs[place]):
                differences.append(abs(log - logs[place]))
    return differences


def print_prompts(benchmark: Benchmark) -> None:
    """Prints rows a second of `biasgrid try`, and of answering alone beside plain loops."""
    (asked, whole, alone), tried = run_try(benchmark, ON)
    header = [f"`biasgrid try {benchmark.model.name}`", "whole job, s", "rows/s", "alone, rows/s"]
    cells = [f"{asked:.0f} rows", f"{whole:.0f}", f"{asked / whole:.2f}", f"{asked / alone:.2f}"]
    print_table(header, [cells], "prompts")
    print()
    sample = save_sample(benchmark, tried)
    rows = []
    for precision in benchmark.given.precisions:
        ways = {
            name: partial(choose, benchmark, sample, precision, last_only)
            for name, last_only in LOOPS.items()
        }
        ways[OURS] = partial(run_again, tried, precision, ON)
        outcomes = benchmark.in_turns(ways)
        (plain,), scores = outcomes["loop"]
        for name, ((rate,), result) in outcomes.items():
            difference = ""
            if name == OURS:
                differences = differences_from_loop(result, pl.read_parquet(sample), scores)
                difference = difference_cell(precision, differences)
            rows.append([precision, name, f"{rate:.2f}", f"{rate / plain:.2f}", difference])
    header = [benchmark.model.name, "scoring alone by", "rows/s", "times the loop"]
    print_table([*header, "largest difference of log-probabilities"], rows, "prompts")


def save_sample(benchmark: Benchmark, tried: Path) -> Path:
    """Writes some instances of a `biasgrid try`, at even distances; returns their file."""
    results = results_of(tried)
    asked = pl.concat([asked_in(results, name) for name in ON], how="diagonal_relaxed")
    file = benchmark.folder / "rows.parquet"
    asked.gather_every(max(1, len(asked) // benchmark.given.rows)).write_parquet(file)
    return file


# Texts


def print_texts(benchmark: Benchmark) -> None:
    """Prints tokens a second of texts by `generate` and by biasgrid."""
    given = benchmark.given
    keys: dict[str, Any] = {
        "model": {"generation": {"max_tokens": MAX_TOKENS, "temperature": 0}},
        "dataset": {"prompt": EXPLAIN, "answers": "written"},
    }
    rows = []
    for precision in given.precisions:
        ways = {
            "generate": partial(generate, benchmark, precision, EXPLAIN, MAX_TOKENS),
            OURS: partial(run_items, benchmark, precision, given.texts, **keys),
        }
        outcomes = benchmark.in_turns(ways)
        (_, generate_alone, _), generated = outcomes["generate"]
        expected = [text.strip() for text in generated["texts"]]
        for name, ((whole, alone, peak_mb), result) in outcomes.items():
            tokens, texts = generated["tokens"], expected
            if name == OURS:
                answers = answers_in(result, "bbq")
                tokens, texts = int(answers["tokens_out"].sum()), answers["response"].to_list()
            same = sum(map(eq, texts, expected))
            ratio = tokens / alone * generate_alone / generated["tokens"]
            numbers = [f"{peak_mb:,.0f}", f"{whole:.0f}", f"{tokens / alone:.1f}", f"{ratio:.2f}"]
            rows.append([precision, name, *numbers, f"{same} of {len(expected)}"])
    written_by = f"texts of up to {MAX_TOKENS} tokens by"
    header = [benchmark.model.name, written_by, "peak MB", "whole job, s"]
    print_table([*header, "alone, tokens/s", "ratio", "same texts"], rows, "texts")


# Single questions


def ask(benchmark: Benchmark) -> Outcome:
    """Asks a model twice; returns the seconds of both by the clock and of the processor."""
    folder = benchmark.new_folder()
    command = ["ask", str(benchmark.model), f"{TYPED} | Agree | Disagree"]
    first, second = (run_biasgrid(command, folder) for _ in range(2))
    return Outcome([first.clock, first.processor, second.clock, second.processor], None)


def read_once(benchmark: Benchmark, precision: str) -> Outcome:
    """Has a script load the model and read a prompt; returns its seconds by the clock and of the
    processor.
    """
    folder, model = benchmark.new_folder(), benchmark.model
    _, used = run_work("read_once", folder, model=model, precision=precision, prompt=TYPED)
    return Outcome([used.clock, used.processor], None)


def print_ask(benchmark: Benchmark) -> None:
    """Prints the seconds of a first and a second `biasgrid ask`, in the default precision."""
    scripts = {
        f"script, {precision}": partial(read_once, benchmark, precision)
        for precision in benchmark.given.precisions
    }
    outcomes = benchmark.in_turns({**scripts, OURS: partial(ask, benchmark)})
    rows = []
    for name in scripts:
        rows.append([name, *(f"{seconds:.1f}" for seconds in outcomes[name].numbers)])
    seconds = [f"{number:.1f}" for number in outcomes[OURS].numbers]
    rows += [[f"{OURS}, first", *seconds[:2]], [f"{OURS}, second", *seconds[2:]]]
    print_table(
        [f"one question of {benchmark.model.name} by", "seconds by the clock", "of the processor"],
        rows,
        "ask",
    )


PARTS = {"bbq": print_bbq, "prompts": print_prompts, "texts": print_texts, "ask": print_ask}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="default: all")
    parser.add_argument("--model", type=Path, help="folder of another checkpoint")
    parser.add_argument("--items", type=Path, default=ITEMS, help="items in the layout of BBQ")
    parser.add_argument("--count", type=int, default=96, help="items of bbq at most")
    parser.add_argument("--texts", type=int, default=48, help="items of texts at most")
    parser.add_argument("--minutes", type=float, default=5, help="of `biasgrid try`")
    parser.add_argument("--rows", type=int, default=96, help="rows of the plain loops")
    parser.add_argument("--batch-size", type=int, default=8, help="of the harness")
    parser.add_argument("--precisions", nargs="+", default=["float32", "bfloat16"])
    parser.add_argument("--rounds", type=int, default=1)
    given = parser.parse_args()
    given.items = given.items.absolute()
    model = given.model or Path(os.environ.get("BIASGRID_LLM", ".llm"), CHECKPOINT)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        benchmark = Benchmark(folder, model.absolute(), given)
        for part in given.parts or PARTS:
            PARTS[part](benchmark)
            print()


if __name__ == "__main__":
    main()
