"""What the engine does on the host: rows per second and core with a forward pass that costs
nothing.

The model returns a view of one number, whatever it is given; what normalises over the vocabulary
counts to the forward pass. One core: one thread of torch, of the tokenizers and of polars; seconds
are those of the processor, over all threads. With the path of another checkout's `src` both take
turns in one run:

    python benchmarks/host.py [--against ../before/src] [--rounds 3]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any

from stopwatch import peak_mb, print_table

ONE_CORE = dict.fromkeys(("POLARS_MAX_THREADS", "RAYON_NUM_THREADS", "OMP_NUM_THREADS"), "1")
TASKS = {
    "masked LM, one token": "fill-mask",
    "classification": "text-classification",
    "QA": "question-answering",
}
PACKS = ("sentiment-2", "sentiment-3", "entailment")
WORDS = Path("word_lists")
CONFIG = "config/config.yaml"
TOKEN_BUDGET, PART_ROWS = 16384, 8192
DEVICE_ROWS_PER_SECOND = (85_000, 170_000)
"""What a large GPU answers of bert-base and of a model of half its depth, at half of its peak."""
QUEUED = 4
"""Batches that such a device takes ahead."""
FULL = "full gender shard"


def instances_files(folder: Path, wanted: Collection[str]) -> dict[str, Path]:
    """Writes a tokenizer, and the instances of some tasks: a quarter of the gender dataset (a shard
    of the standard grid), all of it for `FULL`, and packs for classifiers.
    """
    import polars as pl
    from counterfactual import instances as instances_of_pack
    from inference import make_tokenizer

    from biasgrid.config import parse_config, read_config
    from biasgrid.families.underspecified.ask import expand
    from biasgrid.families.underspecified.read import read
    from biasgrid.inference.models.masked.one_token import token_counts
    from biasgrid.tables.files import write_table
    from biasgrid.tables.instances import instances_schema

    pronouns = folder / "pronouns.txt"
    pronouns.write_text("he she")
    texts = [path for path in WORDS.rglob("*") if path.suffix in (".json", ".txt")]
    tokenizer = make_tokenizer([*texts, pronouns])
    tokenizer.save_pretrained(folder / "tokenizer")
    config = parse_config(read_config(CONFIG), CONFIG)
    files = {}
    for task, variant in (
        ("fill-mask", "lm-bert"),
        ("question-answering", "qa"),
        (FULL, "lm-bert"),
    ):
        if task not in wanted:
            continue
        lists = read(replace(config.files("gender", variant)))[0]
        keep = (lambda words: token_counts(tokenizer, words)) if variant == "lm-bert" else None
        every = pl.concat(expand(lists, keep).parts)
        files[task] = folder / f"{task}.parquet"
        rows = every if task == FULL else every.head(len(every) // 4)
        schema = instances_schema({}, rows.schema)
        write_table(rows.select(list(schema.columns)), files[task], schema, {})
    if "text-classification" not in wanted:
        return files
    packs = pl.concat([instances_of_pack(pack) for pack in PACKS], how="diagonal")
    number = pl.int_range(pl.len(), dtype=pl.UInt32)
    packs = packs.with_columns(instance=number, key=number.cast(pl.UInt64))
    files["text-classification"] = folder / "text-classification.parquet"
    schema = instances_schema({}, packs.schema)
    write_table(packs.select(list(schema.columns)), files["text-classification"], schema, {})
    return files


def stub(task: str, vocabulary: int, rows_per_second: float | None) -> Any:
    """Returns a model that costs nothing but, with a rate, the seconds that a device of that rate
    takes.
    """
    import torch

    class Base(torch.nn.Module):
        free = 0.0

        def forward(
            self, input_ids: torch.Tensor, token_type_ids: Any = None
        ) -> dict[str, torch.Tensor]:
            if rows_per_second:
                work = len(input_ids) / rows_per_second
                self.free = max(self.free, time.perf_counter()) + work
                # Like a GPU, it takes some batches before it has computed the first.
                time.sleep(max(0.0, self.free - time.perf_counter() - QUEUED * work))
            return {"last_hidden_state": torch.zeros(1, 1, 1).expand(*input_ids.shape, 1)}

    class Stub(torch.nn.Module):
        device = torch.device("cpu")
        config = SimpleNamespace(
            model_type="bert",
            max_position_embeddings=512,
            vocab_size=vocabulary,
            num_labels=3,
            problem_type=None,
            id2label={0: "a", 1: "b", 2: "c"},
        )
        config.get_text_config = lambda: Stub.config

        def __init__(self) -> None:
            super().__init__()
            self.base_model = Base()
            self.weight = torch.nn.Parameter(torch.zeros(1))

        def get_input_embeddings(self) -> Any:
            return SimpleNamespace(weight=torch.empty(vocabulary, 0))

        def forward(self, input_ids: torch.Tensor, token_type_ids: Any = None) -> Any:
            hidden = self.base_model(input_ids, token_type_ids=token_type_ids)["last_hidden_state"]
            if task == "question-answering":
                return SimpleNamespace(start_logits=hidden[..., 0], end_logits=hidden[..., 0])
            if task == "text-classification":
                return SimpleNamespace(logits=hidden[:, 0].expand(-1, 3))
            return SimpleNamespace(logits=hidden.expand(-1, -1, vocabulary))

    tensors: Any = torch.Tensor
    tensors.logsumexp = lambda logits, dim, keepdim=False: logits.new_zeros(len(logits), 1)
    return Stub().eval()


def opened(task: str, folder: Path, file: Path, rows_per_second: float | None) -> tuple[Any, Any]:
    """Returns what is called to open a back end, and the instances."""
    import torch
    from transformers import BertTokenizerFast

    from biasgrid.base.references import load_reference
    from biasgrid.inference.engine import local
    from biasgrid.inference.engine.settings import InferenceSettings
    from biasgrid.inference.models.predict import with_keys
    from biasgrid.inference.models.registry import BACK_ENDS
    from biasgrid.tables.instances import read_requests

    torch.set_num_threads(1)
    tokenizer = BertTokenizerFast.from_pretrained(folder / "tokenizer")
    choices = {"labels": ["a", "b", "c"]} if task == "text-classification" else {}
    entry = BACK_ENDS[task, "weights"]
    settings = InferenceSettings(
        model="stub",
        task=task,
        precision="float32",
        token_budget=TOKEN_BUDGET,
        device="cpu",
        seconds_without_progress=3600,
        answer=entry.answers[0],
        threads=1,
        choices=choices,
    )
    patched: Any = local
    # Earlier checkouts load models in `local`.
    with suppress(ImportError):
        from biasgrid.inference.engine import loading

        patched = loading
    patched.load_recorded_tokenizer = lambda _: tokenizer
    patched.load_recorded_model = lambda *_: stub(task, len(tokenizer), rows_per_second)
    if rows_per_second:
        from biasgrid.inference.engine import chunks

        # A device that sleeps leaves the processor free, as a GPU does.
        chunks.chunk_beginnings = partial(on_a_gpu, chunks.chunk_beginnings)
    asked = with_keys(read_requests(file))
    return lambda: load_reference(entry.path).open({}, settings, asked), asked


def on_a_gpu(begins_of_pieces: Any, count: int, _device: Any) -> list[int]:
    """Divides instances as for a GPU."""
    import torch

    begins: list[int] = begins_of_pieces(count, torch.device("cuda"))
    return begins


def answers(back_end: Any, asked: Any, progress: Any) -> Iterator[Any]:
    """Answers the instances part by part; earlier checkouts count them themselves."""
    parts = (asked.slice(start, PART_ROWS) for start in range(0, len(asked), PART_ROWS))
    if hasattr(back_end, "answer_parts"):
        return iter(back_end.answer_parts(parts, progress))
    from biasgrid.inference.engine.back_end import PromptPart

    return iter(back_end.answer(map(PromptPart.without_answers, parts)))


def once(task: str, folder: str, file: str, rows_per_second: float | None) -> dict[str, float]:
    """Opens a back end and answers all instances, in this process."""
    from biasgrid.jobs.progress import Progress

    open_it, asked = opened(task, Path(folder), Path(file), rows_per_second)
    cpu, wall = time.process_time(), time.perf_counter()
    back_end = open_it()
    opening = time.process_time() - cpu
    with Progress("stub", len(asked), 3600) as progress:
        rows = sum(len(said) for said in answers(back_end, asked, progress))
    seconds = {
        "cpu": time.process_time() - cpu,
        "wall": time.perf_counter() - wall,
        "open": opening,
    }
    return {"rows": rows, **seconds, "peak_mb": peak_mb()}


def in_process(source: str, what: str, *arguments: Any) -> dict[str, float]:
    """Runs `once` or `shard` in a process of its own, with the package of a checkout."""
    path = os.pathsep.join([source, str(Path(__file__).parent)])
    command = [sys.executable, __file__, what, json.dumps(arguments)]
    environment = os.environ | ONE_CORE | {"PYTHONPATH": path, "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def shard(task: str, folder: str, file: str) -> dict[str, float]:
    """Answers a whole shard as the rule does: with reading, look-up, parts, checks, digests, table
    and kept keys.
    """
    from biasgrid.inference.engine.settings import InferenceSettings
    from biasgrid.inference.models import predict
    from biasgrid.inference.models.registry import BACK_ENDS

    _, asked = opened(task, Path(folder), Path(file), None)
    rows = len(asked)
    del asked
    with tempfile.TemporaryDirectory() as out:
        record = Path(out, "model.json")
        record.write_text("{}")
        entry = BACK_ENDS[task, "weights"]
        choices = {"labels": ["a", "b", "c"]} if task == "text-classification" else {}
        answer = entry.answers[0]
        settings = InferenceSettings(
            model="stub",
            task=task,
            precision="float32",
            token_budget=TOKEN_BUDGET,
            device="cpu",
            seconds_without_progress=3600,
            answer=answer,
            threads=1,
            choices=choices,
        )
        files = predict.ShardFiles(
            Path(file),
            record,
            Path(out, "out.parquet"),
            Path(out, "timing.json"),
            Path(out, "answers"),
            Path(out, "progress.json"),
        )
        cpu = time.process_time()
        predict.predict_shard(files, 1, 1, entry.path, settings, {})
        return {"rows": rows, "cpu": time.process_time() - cpu, "peak_mb": peak_mb()}


def print_shards(
    sources: dict[str, str], folder: Path, files: dict[str, Path], rounds: int
) -> None:
    """Prints rows per second and core of whole shards, and the peak memory of a large one."""
    shards = [(name, task, files[task]) for name, task in TASKS.items()] + [
        (FULL, "fill-mask", files[FULL])
    ]
    table = []
    for name, task, file in shards:
        found: dict[str, list[dict[str, float]]] = defaultdict(list)
        for _ in range(1 if name == FULL else rounds):
            for which, source in sources.items():
                found[which].append(in_process(source, "--shard", task, str(folder), str(file)))
        seconds = {which: median(each["cpu"] for each in runs) for which, runs in found.items()}
        for which, runs in found.items():
            rows, ratio = runs[0]["rows"], next(iter(seconds.values())) / seconds[which]
            figures = (
                f"{rows:,.0f}",
                f"{seconds[which]:.2f}",
                f"{rows / seconds[which]:,.0f}",
                f"{ratio:.2f}",
            )
            table.append([name, which, *figures, f"{max(each['peak_mb'] for each in runs):,.0f}"])
    print_table(
        [
            "whole shard of",
            "code",
            "rows",
            "seconds of one core",
            "rows/s and core",
            "ratio",
            "peak MB",
        ],
        table,
    )


def print_rates(sources: dict[str, str], folder: Path, files: dict[str, Path], rounds: int) -> None:
    """Prints rows per second and core of every task."""
    table = []
    for name, task in TASKS.items():
        found: dict[str, list[dict[str, float]]] = defaultdict(list)
        for _ in range(rounds):
            for which, source in sources.items():
                found[which].append(
                    in_process(source, "--once", task, str(folder), str(files[task]), None)
                )
        seconds = {which: median(each["cpu"] for each in runs) for which, runs in found.items()}
        for which, runs in found.items():
            rows, opening = runs[0]["rows"], median(each["open"] for each in runs)
            ratio = next(iter(seconds.values())) / seconds[which]
            peak = max(each["peak_mb"] for each in runs)
            figures = (
                f"{rows:,.0f}",
                f"{seconds[which]:.2f}",
                f"{opening:.2f}",
                f"{rows / seconds[which]:,.0f}",
            )
            table.append([name, which, *figures, f"{ratio:.1f}", f"{peak:,.0f}"])
    header = [
        "task",
        "engine",
        "rows",
        "seconds of one core",
        "of these, opening",
        "rows/s and core",
        "ratio",
    ]
    print_table([*header, "peak MB"], table)


def print_overlap(source: str, folder: Path, files: dict[str, Path]) -> None:
    """Prints how long a device takes with the engine around it that sleeps as long as its work
    would take.
    """
    table = []
    for name, task in TASKS.items():
        for rate in DEVICE_ROWS_PER_SECOND:
            run = in_process(source, "--once", task, str(folder), str(files[task]), rate)
            device = run["rows"] / rate
            figures = (f"{each:.2f}" for each in (device, run["cpu"], run["wall"]))
            table.append(
                [name, f"{rate:,}", *figures, f"{run['wall'] / max(device, run['cpu']):.2f}"]
            )
    header = ["task", "device, rows/s", "device, s", "host, s", "together, s", "against the longer"]
    print_table(header, table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", help="`src` of the checkout to compare with")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--once", help=argparse.SUPPRESS)
    parser.add_argument("--shard", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.once:
        print(json.dumps(once(*json.loads(given.once))))
        return
    if given.shard:
        print(json.dumps(shard(*json.loads(given.shard))))
        return
    here = str(Path(__file__).parents[1] / "src")
    sources = ({"before": given.against} if given.against else {}) | {"now": here}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = instances_files(folder, [*TASKS.values(), FULL])
        print_rates(sources, folder, files, given.rounds)
        print()
        print_overlap(here, folder, files)
        print()
        print_shards(sources, folder, files, given.rounds)


if __name__ == "__main__":
    main()
