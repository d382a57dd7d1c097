"""Whole jobs with a large language model, beside lm-evaluation-harness and plain loops:

    python benchmarks/real_llm.py [bbq] [prompts] [texts] [ask] [--against ../before/src]

Each part can be run alone, and keeps its tables in a file of its own:

bbq      items of BBQ with the prompt of lm-evaluation-harness and three options, scored by both
prompts  prompts and options of built-in datasets as `biasgrid try` asks them, beside padded batches
         of 32, of which the logits of the options' first tokens are read
texts    texts of up to 80 tokens at temperature 0, beside `generate` with padded batches of 32
ask      the first and the second `biasgrid ask` of a model, beside a script that loads it and reads
         one prompt

All ways take turns. `llm_ways.py` says how they are timed.

The model is the real one of tests/helpers/real_llm.py in the folder `BIASGRID_LLM`; where that is
not there, one of random weights with a vocabulary as large. The harness' environment is the folder
`lm-eval` of `BIASGRID_HARNESSES`, or of the temporary folder. Where it is not there it is made from
PyPI, but for torch and transformers, which are those of this environment.

With the path of another checkout's `src` its package takes turns with the others.
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
    answer_prompts,
    asked_in,
    choose,
    generate,
    make_harness,
    run_harness,
    run_items,
    run_package,
    run_try,
    run_work,
)
from llm_work import save_random_model
from stopwatch import print_table

CHECKPOINT = "qwen2.5-coder-0.5b-instruct"
ITEMS = BENCHMARKS.parent / "word_lists/benchmarks/Age.jsonl"
NOW, BEFORE = "biasgrid", "biasgrid before"
ON = ("gender", "gender-statements")
"""The datasets of `prompts`: one of each family in config/llm.yaml."""
EXPLAIN = "{context}\n{question}\nAnswer in three sentences, and say why."
MAX_TOKENS = 80
TYPED = "Nurses are kind. Agree or Disagree?"
LARGEST_DIFFERENCE = 1e-4
"""Allowed between log-probabilities in float32."""
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


def answers_in(folder: Path, dataset: str) -> pl.DataFrame:
    """Returns the answers of a run with what was asked."""
    tables = sorted(folder.glob(f"results/*/predictions/{dataset}/**/*.parquet"))
    answers = pl.concat([pl.read_parquet(table) for table in tables])
    return asked_in(folder, dataset).join(answers, on="instance").sort("instance")


# Items of BBQ


def differences_from_harness(folder: Path, scores: Sequence[tuple[str, str, float]]) -> list[float]:
    """Returns how far log-probabilities of plain options by biasgrid and by the harness differ."""
    logs = {
        (answer["text"], option): log
        for answer in answers_in(folder, "bbq").iter_rows(named=True)
        for _, option, log in spelling_logs(answer, " ")
    }
    return [
        abs(logs[prompt, option] - score)
        for prompt, option, score in scores
        if score > SMALLEST_LOG
    ]


def print_bbq(benchmark: Benchmark) -> None:
    """Prints seconds of the harness and of packages for items of BBQ."""
    given, python = benchmark.given, make_harness()
    harness = f"{HARNESS.replace('[hf]==', ' ')}, batches of {given.batch_size}"
    keys: dict[str, Any] = {
        "model": {"chat_template": False},
        "dataset": {"prompt": "lm-eval"},
    }
    rows = []
    for precision in given.precisions:
        ways = {harness: partial(run_harness, benchmark, python, precision)}
        for name, package in benchmark.packages.items():
            ways[name] = partial(run_items, benchmark, package, precision, given.count, **keys)
        outcomes = benchmark.in_turns(ways)
        (harness_whole, harness_alone, _), scores = outcomes[harness]
        for name, ((whole, alone, peak_mb), result) in outcomes.items():
            numbers = [f"{peak_mb:,.0f}", f"{whole:.0f}", f"{harness_whole / whole:.2f}"]
            numbers += [f"{alone:.1f}", f"{harness_alone / alone:.2f}"]
            difference = ""
            if name != harness:
                difference = difference_cell(precision, differences_from_harness(result, scores))
            rows.append([precision, name, *numbers, difference])
    items = f"{len(scores) // 3} items of {given.items.name} by"
    header = [benchmark.model.name, items, "peak MB", "whole job, s", "times as fast"]
    header += ["scoring alone, s", "times as fast"]
    print_table([*header, "largest difference of log-probabilities"], rows, "bbq")


# Prompts of built-in datasets


def differences_from_loop(
    answers: pl.DataFrame, sample: pl.DataFrame, scores: Sequence[Sequence[float]]
) -> list[float]:
    """Returns how far log-probabilities of options of one token differ.

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
            if answer["tokens"][place] == 1:
                differences.append(abs(log - logs[place]))
    return differences


def print_prompts(benchmark: Benchmark) -> None:
    """Prints rows a second of `biasgrid try`, and of answering alone beside plain loops."""
    given, packages = benchmark.given, benchmark.packages
    tried = benchmark.in_turns(
        {name: partial(run_try, benchmark, package, ON) for name, package in packages.items()}
    )
    rows = [
        [name, f"{asked:.0f}", f"{whole:.0f}", f"{asked / whole:.2f}"]
        for name, ((asked, whole), _) in tried.items()
    ]
    header = [f"`biasgrid try {benchmark.model.name}` by", "rows", "whole job, s", "rows/s"]
    print_table(header, rows, "prompts")
    print()
    asked = pl.concat([asked_in(tried[NOW].result, name) for name in ON], how="diagonal_relaxed")
    sample = asked.gather_every(max(1, len(asked) // given.rows))
    file = benchmark.folder / "rows.parquet"
    sample.write_parquet(file)
    rows = []
    for precision in given.precisions:
        all_logits, last_logits = (
            partial(choose, benchmark, file, precision, last_only) for last_only in (False, True)
        )
        ways = {"loop": all_logits, "loop, logits of last tokens": last_logits}
        for name, package in packages.items():
            folder = tried[name].result
            ways[name] = partial(answer_prompts, package, folder, precision, ON)
        outcomes = benchmark.in_turns(ways)
        (slow,), scores = outcomes["loop"]
        (fast,), _ = outcomes["loop, logits of last tokens"]
        for name, ((rate,), result) in outcomes.items():
            numbers = [f"{rate:.2f}", f"{rate / slow:.2f}", f"{rate / fast:.2f}"]
            difference = ""
            if name in packages:
                differences = differences_from_loop(result, sample, scores)
                difference = difference_cell(precision, differences)
            rows.append([precision, name, *numbers, difference])
    header = [
        benchmark.model.name,
        "scoring alone by",
        "rows/s",
        "times the loop",
        "times the loop of last tokens",
    ]
    print_table([*header, "largest difference of log-probabilities"], rows, "prompts")


# Texts


def print_texts(benchmark: Benchmark) -> None:
    """Prints tokens a second of texts by `generate` and by packages."""
    given = benchmark.given
    keys: dict[str, Any] = {
        "model": {"generation": {"max_tokens": MAX_TOKENS, "temperature": 0}},
        "dataset": {"prompt": EXPLAIN, "answers": "written"},
    }
    rows = []
    for precision in given.precisions:
        ways = {"generate": partial(generate, benchmark, precision, EXPLAIN, MAX_TOKENS)}
        for name, package in benchmark.packages.items():
            ways[name] = partial(run_items, benchmark, package, precision, given.texts, **keys)
        outcomes = benchmark.in_turns(ways)
        (_, generate_alone, _), generated = outcomes["generate"]
        expected = [text.strip() for text in generated["texts"]]
        for name, ((whole, alone, peak_mb), result) in outcomes.items():
            tokens, texts = generated["tokens"], expected
            if name != "generate":
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


def ask(benchmark: Benchmark, package: str) -> Outcome:
    """Asks a model twice; returns the seconds of both by the clock and of the processor."""
    folder = benchmark.new_folder()
    command = ["ask", str(benchmark.model), f"{TYPED} | Agree | Disagree"]
    first, second = (run_package(command, folder, package) for _ in range(2))
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
    asks = {name: partial(ask, benchmark, package) for name, package in benchmark.packages.items()}
    outcomes = benchmark.in_turns(scripts | asks)
    rows = []
    for name in scripts:
        rows.append([name, *(f"{seconds:.1f}" for seconds in outcomes[name].numbers)])
    for name in asks:
        seconds = [f"{number:.1f}" for number in outcomes[name].numbers]
        rows += [[f"{name}, first", *seconds[:2]], [f"{name}, second", *seconds[2:]]]
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
    parser.add_argument("--texts", type=int, default=300, help="items of texts at most")
    parser.add_argument("--minutes", type=float, default=1, help="of `biasgrid try`")
    parser.add_argument("--rows", type=int, default=192, help="rows of the plain loops")
    parser.add_argument("--batch-size", type=int, default=8, help="of the harness")
    parser.add_argument("--precisions", nargs="+", default=["float32", "bfloat16"])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--against", help="`src` of the checkout to compare with")
    given = parser.parse_args()
    given.items = given.items.absolute()
    packages = {BEFORE: str(Path(given.against).absolute())} if given.against else {}
    packages[NOW] = str(BENCHMARKS.parent / "src")
    model = given.model or Path(os.environ.get("BIASGRID_LLM", ".llm"), CHECKPOINT)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if not model.exists():
            model = folder / "random-llm"
            save_random_model(model)
        benchmark = Benchmark(folder, model.absolute(), packages, given)
        for part in given.parts or PARTS:
            PARTS[part](benchmark)
            print()


if __name__ == "__main__":
    main()
