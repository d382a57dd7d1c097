"""Ways of `real_llm.py` to ask a large language model: biasgrid, lm-evaluation-harness, plain loops.

Each runs in processes of its own. Seconds of a whole job are those of the processor, of a process
and all that it starts and waits for. Those "alone" are of scoring or writing alone, on one thread:
the model is loaded and checked before, tables and reports are made after it. Of biasgrid, they are
those of the clock that its job reports, and so no fewer than those of the processor.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import yaml
from stopwatch import medians_in_turns

BENCHMARKS = Path(__file__).parent
SOURCES = str(BENCHMARKS.parent / "src")
HARNESS = "lm-eval[hf]==0.4.13"
TASK = {
    "task": "bbq_three_options",
    "dataset_path": "json",
    "test_split": "test",
    "output_type": "multiple_choice",
    "doc_to_text": "{{context}}\n\nQ: {{question}}\nA:",
    "doc_to_choice": "{{[ans0, ans1, ans2]}}",
    "doc_to_target": "label",
    "metric_list": [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}],
    "metadata": {"version": 1.0},
}
"""The harness' task `bbq`, version 1.0, with the three options of each item: `bbq` adds nine other
wordings of `unknown` to them.
"""
BLOCK = 4
"""Items of BBQ that follow each other about the same people: two contexts, two questions."""
ONE_CORE = dict.fromkeys(("OMP_NUM_THREADS", "POLARS_MAX_THREADS", "RAYON_NUM_THREADS"), "1")
OFFLINE = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}


class Outcome(NamedTuple):
    """What a way found.

    Attributes:
        numbers: its seconds, or rates.
        result: what it computed, or where that is.
    """

    numbers: Sequence[float]
    result: Any


Way = Callable[[], Outcome]


@dataclass
class Benchmark:
    """What is run, and where.

    Attributes:
        folder: a temporary folder, in which each run has a folder of its own.
        model: the folder of the checkpoint.
        given: the options of the command line.
        runs: the number of runs so far.
    """

    folder: Path
    model: Path
    given: argparse.Namespace
    runs: int = 0

    def new_folder(self) -> Path:
        """Makes the folder of a run."""
        self.runs += 1
        folder = self.folder / str(self.runs)
        folder.mkdir()
        return folder

    def in_turns(self, ways: Mapping[str, Way]) -> dict[str, Outcome]:
        """Runs ways in turns; returns of each the medians of its numbers, and its last result."""
        results = {}

        def numbers_of(name: str) -> Sequence[float]:
            outcome = ways[name]()
            results[name] = outcome.result
            return outcome.numbers

        timed = {name: partial(numbers_of, name) for name in ways}
        medians = medians_in_turns(timed, self.given.rounds)
        return {name: Outcome(numbers, results[name]) for name, numbers in medians.items()}


class Used(NamedTuple):
    """What a process used, with all that it started and waited for.

    Attributes:
        clock: seconds by the clock.
        processor: seconds of the processor, over all processes and threads.
        peak_mb: the most memory of one process, in MB.
    """

    clock: float
    processor: float
    peak_mb: float


def run_command(command: Sequence[str], folder: Path, **environment: str) -> Used:
    """Runs a command in a folder, in which also the cache of biasgrid is.

    Raises:
        RuntimeError: it failed; with all that it printed.
    """
    own = {**os.environ, **OFFLINE, "BIASGRID_CACHE": str(folder / "cache"), **environment}
    log = folder / "log.txt"
    with log.open("w") as printed:
        start = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=folder, env=own, stdout=printed, stderr=subprocess.STDOUT
        )
        _, status, used = os.wait4(process.pid, 0)
        clock = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(log.read_text())
    # In kB on Linux.
    return Used(clock, used.ru_utime + used.ru_stime, used.ru_maxrss / 1e3)


def run_biasgrid(arguments: Sequence[str], folder: Path) -> Used:
    """Runs a command of biasgrid in a folder."""
    command = [str(Path(sys.executable).with_name("biasgrid")), *arguments]
    # Python keeps what it compiles, as it does where biasgrid is installed.
    return run_command(command, folder, PYTHONPATH=SOURCES, PYTHONDONTWRITEBYTECODE="")


def seconds_alone(results: Path) -> float:
    """Returns how long the jobs of a run took to answer, loading and checks left out."""
    return float(sum(timing["seconds"] for timing in timings_in(results)))


def timings_in(results: Path) -> list[dict[str, Any]]:
    """Returns what the jobs of a run say of themselves."""
    return [json.loads(file.read_text()) for file in results.glob("timings/**/*.json")]


def run_work(name: str, folder: Path, **keys: Any) -> tuple[dict[str, Any], Used]:
    """Returns what a function of `llm_work` returns in a process of one thread, and what the
    process used.
    """
    out = folder / "out.json"
    script = str(BENCHMARKS / "llm_work.py")
    command = [sys.executable, script, name, json.dumps(keys, default=str), str(out)]
    used = run_command(command, folder, PYTHONPATH=SOURCES, **ONE_CORE)
    return json.loads(out.read_text()), used


# Items of BBQ


def save_items(file: Path, count: int, out: Path) -> None:
    """Writes whole blocks of items of a file, at even distances, `count` at most."""
    lines = file.read_text(encoding="utf-8").splitlines()
    blocks = [lines[start : start + BLOCK] for start in range(0, len(lines), BLOCK)]
    wanted = min(count // BLOCK, len(blocks))
    chosen = [blocks[number * len(blocks) // wanted] for number in range(wanted)]
    out.write_text("".join(f"{line}\n" for block in chosen for line in block))


def run_items(
    benchmark: Benchmark,
    precision: str,
    count: int,
    model: Mapping[str, Any],
    dataset: Mapping[str, Any],
) -> Outcome:
    """Runs a config that asks about items of BBQ, on one core.

    Args:
        benchmark: what is run.
        precision: the precision.
        count: how many items at most.
        model: keys of the model's section.
        dataset: keys of the dataset's section.

    Returns:
        Seconds of the whole job, those of answering alone, and the most memory in MB; the folder of
        results.
    """
    folder = benchmark.new_folder()
    save_items(benchmark.given.items, count, folder / "items.jsonl")
    generative = {"task": "text-generation", "kind": "LLM", "label": "LLM"}
    bbq = {"family": "multiple_choice", "title": "BBQ", "layout": "bbq", "files": ["items.jsonl"]}
    content = {
        "title": "BBQ",
        "results": "results",
        "word_lists": ".",
        "inference": {"device": "cpu", "precision": precision},
        "models": {"llm": {**generative, "folder": str(benchmark.model), **model}},
        "datasets": {"bbq": {**bbq, **dataset}},
        "run": {"models": ["llm"], "datasets": ["bbq"]},
    }
    (folder / "bbq.yaml").write_text(yaml.safe_dump(content))
    used = run_biasgrid(["run", "bbq.yaml", "--cores", "1"], folder)
    results = folder / "results"
    return Outcome([used.processor, seconds_alone(results), used.peak_mb], results)


def make_harness() -> Path:
    """Returns the Python of the harness' environment, which is made if it is not there."""
    parent = os.environ.get("BIASGRID_HARNESSES", tempfile.gettempdir())
    folder = Path(parent, "lm-eval")
    if not (folder / "bin/lm_eval").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        (packages,) = folder.glob("lib/python3*/site-packages")
        # pip does not install again what is there, such as torch and transformers.
        (packages / "shared.pth").write_text(str(Path(sysconfig.get_path("purelib")).resolve()))
        subprocess.run([folder / "bin/pip", "install", "--quiet", HARNESS], check=True)
    return folder / "bin/python"


def run_harness(benchmark: Benchmark, python: Path, precision: str) -> Outcome:
    """Runs the harness on items of BBQ, on one thread.

    Returns:
        Seconds of the whole job, those of scoring alone, and the most memory in MB; `scores` of
        `harness.py`.
    """
    folder, given = benchmark.new_folder(), benchmark.given
    items, out = folder / "items.jsonl", folder / "out.json"
    save_items(given.items, given.count, items)
    task = {**TASK, "dataset_kwargs": {"data_files": {"test": str(items)}}}
    (folder / "task.yaml").write_text(yaml.safe_dump(task))
    model = f"pretrained={benchmark.model},dtype={precision},add_bos_token=False"
    command = [str(python), str(BENCHMARKS / "harness.py"), str(out), "run"]
    command += ["--model", "hf", "--model_args", model, "--device", "cpu"]
    command += ["--batch_size", str(given.batch_size), "--tasks", str(TASK["task"])]
    command += ["--include_path", str(folder), "--output_path", str(folder), "--log_samples"]
    used = run_command(command, folder, PYTHONPATH="", HF_HOME=str(folder), **ONE_CORE)
    scored = json.loads(out.read_text())
    return Outcome([used.processor, scored["seconds"], used.peak_mb], scored["scores"])


def generate(benchmark: Benchmark, precision: str, prompt: str, max_tokens: int) -> Outcome:
    """Has transformers write texts about items of BBQ in padded batches, on one thread.

    Returns:
        Seconds of the process, those of writing alone, and the most memory in MB; what
        `llm_work.write` returns.
    """
    folder, given = benchmark.new_folder(), benchmark.given
    save_items(given.items, given.texts, folder / "items.jsonl")
    keys: dict[str, Any] = {
        "model": benchmark.model,
        "precision": precision,
        "items": folder / "items.jsonl",
    }
    written, used = run_work("write", folder, prompt=prompt, max_tokens=max_tokens, **keys)
    return Outcome([used.processor, written["seconds"], used.peak_mb], written)


# Prompts of built-in datasets


def run_try(benchmark: Benchmark, datasets: Sequence[str]) -> Outcome:
    """Runs `biasgrid try`.

    Returns:
        The number of rows with those of controls, seconds of the processor, and seconds of
        answering alone; the path of the config that was written.
    """
    folder = benchmark.new_folder()
    keys = ["--on", ",".join(datasets), "--minutes", f"{benchmark.given.minutes:g}"]
    used = run_biasgrid(["try", str(benchmark.model), *keys], folder)
    (config,) = folder.glob("try-*.yaml")
    results = results_of(config)
    rows = sum(timing["rows"] for timing in timings_in(results))
    return Outcome([rows, used.processor, seconds_alone(results)], config)


def run_again(tried: Path, precision: str, datasets: Sequence[str]) -> Outcome:
    """Runs the config of a `biasgrid try` in a precision; returns rows a second, and the answers."""
    content = yaml.safe_load(tried.read_text())
    results = f"{content['results']}-{precision}"
    content |= {"results": results, "inference": {"device": "cpu", "precision": precision}}
    config = tried.with_name(f"{precision}.yaml")
    config.write_text(yaml.safe_dump(content))
    run_biasgrid(["run", config.name, "--cores", "1"], tried.parent)
    folder = results_of(config)
    answers = [answers_in(folder, name) for name in datasets]
    rows = sum(timing["rows"] for timing in timings_in(folder))
    return Outcome([rows / seconds_alone(folder)], pl.concat(answers, how="diagonal_relaxed"))


def results_of(config: Path) -> Path:
    """Returns the folder of results of a config."""
    return config.parent / str(yaml.safe_load(config.read_text())["results"])


def asked_in(results: Path, dataset: str) -> pl.DataFrame:
    """Returns `dataset`, `instance`, the texts and the candidates of the instances of a run."""
    (instances,) = results.glob(f"instances/{dataset}/*.parquet")
    texts = pl.col("system", "text_pair", "text", "^candidate[0-9]+$").cast(pl.String)
    return pl.read_parquet(instances).select(pl.lit(dataset).alias("dataset"), "instance", texts)


def answers_in(results: Path, dataset: str) -> pl.DataFrame:
    """Returns the answers of a run with what was asked, in the order of instances."""
    tables = sorted(results.glob(f"predictions/{dataset}/**/*.parquet"))
    answers = pl.concat([pl.read_parquet(table) for table in tables])
    return asked_in(results, dataset).join(answers, on="instance").sort("instance")


def choose(benchmark: Benchmark, instances: Path, precision: str, last_only: bool) -> Outcome:
    """Has a plain loop score options; returns rows a second, and its log-probabilities."""
    keys: dict[str, Any] = {
        "model": benchmark.model,
        "precision": precision,
        "instances": instances,
    }
    chosen, _ = run_work("choose", benchmark.new_folder(), last_only=last_only, **keys)
    return Outcome([len(chosen["scores"]) / chosen["seconds"]], chosen["scores"])
