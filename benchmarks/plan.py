"""`biasgrid plan` and `biasgrid status` on the full grid: at first, while all shards run, and when
all is done.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
import yaml
from safetensors.numpy import save_file
from stopwatch import print_table, seconds_of
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.pre_tokenizers import BertPreTokenizer

from biasgrid.config import Config, parse_config, read_config
from biasgrid.jobs.progress import Beat
from biasgrid.runs.layout import Layout
from biasgrid.tables.instances import REQUEST_COLUMNS
from biasgrid.tables.schema import answer_schema

COMMIT = "0" * 40
VOCABULARY = 30_000
TENSORS = 200
ROW_GROUPS = 20
LOG_LINES = 1000


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def write_rows(path: Path, columns: list[str]) -> None:
    """Writes a small table with as many columns and row groups as a large one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = pl.DataFrame({name: range(10 * ROW_GROUPS) for name in columns})
    rows.write_parquet(path, row_group_size=10, metadata={"biasgrid": "{}"})


def write_checkpoint(cache: Path, layout: Layout, model: str, seed: int) -> None:
    """Writes a checkpoint of its own for each model into the cache of the hub, and its record."""
    folder = cache / "hub" / f"models--grid--{model}" / "snapshots" / COMMIT
    folder.mkdir(parents=True)
    tensors = {f"layer.{row}.weight": np.zeros((8, 8), np.float32) for row in range(TENSORS)}
    save_file(tensors, folder / "model.safetensors")
    texts = " ".join(path.read_text() for path in sorted(Path("word_lists").rglob("*.txt")))
    words = dict.fromkeys(
        ["[UNK]", *re.findall(r"\w+", texts), *(f"{seed}word{row}" for row in range(VOCABULARY))]
    )
    tokenizer = Tokenizer(
        WordPiece({word: row for row, word in enumerate(words)}, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.add_special_tokens(["[MASK]", "<mask>"])
    tokenizer.save(str(folder / "tokenizer.json"))
    files = dict.fromkeys(("model.safetensors", "tokenizer.json"), "")
    record = {"checkpoint": f"grid/{model}", "folder": None, "revision": COMMIT, "files": files}
    write(layout.record("models", model), json.dumps(record))
    for tokenizer_name in layout.config.tokenizers:
        write(layout.record("tokenizers", tokenizer_name), json.dumps(record))


def write_run(config: Config, cache: Path) -> None:
    """Writes what a run leaves while every shard is at work, with its log."""
    layout = Layout(config)
    for seed, model in enumerate(config.run.models):
        write_checkpoint(cache, layout, model, seed)
    for cell in config.selected_variants:
        write_rows(layout.instances(*cell), list(REQUEST_COLUMNS))
    beat = Beat(
        rows=1000,
        saved_rows=1000,
        all_rows=100_000,
        rows_per_second=10,
        at=time.time(),
        host="here",
        pid=1,
    )
    for model, dataset in config.cells():
        for shard in layout.shards(dataset, model):
            write(shard.progress, json.dumps(beat._asdict()))
            write(shard.log, "2026-01-01 00:00:00,000 INFO 1 of 100 rows\n" * LOG_LINES)


def finish_run(config: Config) -> None:
    """Writes what a run leaves when it is done."""
    layout = Layout(config)
    for model, dataset in config.cells():
        for shard in layout.shards(dataset, model):
            write_rows(shard.predictions, list(answer_schema("span").columns))
            write(shard.timing, json.dumps({"rows": 1, "found": 0, "seconds": 1}))
        write_rows(layout.measures(dataset, model), ["value"])
        write(layout.logs / "measure" / dataset / f"{model}.log", "")


def main() -> None:
    program = str(Path(sys.executable).parent / "biasgrid")
    rows = []

    def clock(when: str, folder: Path) -> None:
        for command in ("plan", "status"):
            line = [program, command, str(folder / "config.yaml")]
            environment = os.environ | {"HF_HOME": str(folder / "cache")}
            run = lambda: subprocess.run(line, check=True, capture_output=True, env=environment)  # noqa: E731
            times = [seconds_of(run) for _ in range(3)]
            rows.append(
                [f"`{command}`, {when}", f"{min(times):.2f}", f"{statistics.median(times):.2f}"]
            )

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        content = read_config("config/config.yaml") | {"results": str(folder / "results")}
        write(folder / "config.yaml", yaml.safe_dump(content))
        config = parse_config(content, "config.yaml")
        clock("nothing is there", folder)
        write_run(config, folder / "cache")
        clock("all shards run", folder)
        finish_run(config)
        clock("all is done", folder)
    print_table(["what", "fastest of 3, s", "median, s"], rows)


if __name__ == "__main__":
    main()
