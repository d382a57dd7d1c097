"""Datasets as tasks of lm-evaluation-harness: a YAML file and its documents, for
`--include_path`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from biasgrid.base.files import write_text
from biasgrid.base.version import package_version
from biasgrid.formats.logs.matching import Requests
from biasgrid.inference.engine.back_end import numbered_values

LOADER = '''"""Loads the documents of the tasks in this folder, wherever it is."""

from pathlib import Path

import datasets


def load(file, **_):
    """Returns the documents of a task as its split `test`."""
    return {"test": datasets.Dataset.from_json(str(Path(__file__).parent / file))}
'''
LOAD = "!function documents.load"
LONGEST_TEXT = 256
"""How many tokens a model may write."""
TASK = "biasgrid_{}"


def export_tasks(requests: Requests, out: Path) -> list[str]:
    """Writes a task for each of some datasets; logs of it are found again by prompt, group and
    repetition.

    The task has no score: `biasgrid import lm-eval` reads the samples, which `--log_samples` keeps.

    Returns:
        Lines for the terminal.
    """
    lines = []
    write_text(out / "documents.py", LOADER)
    for dataset, table in requests.tables.items():
        task = TASK.format(dataset)
        scored = requests.answers[dataset] == "choice"
        documents = documents_of(table, scored)
        write_text(
            out / f"{task}.jsonl",
            "".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in documents),
        )
        write_text(
            out / f"{task}.yaml",
            task_text(task, scored, any(one.get("repetition") for one in documents)),
        )
        lines.append(f"{out / task}.yaml: {len(documents):,} documents")
    names = ",".join(TASK.format(name) for name in requests.tables)
    return [
        *lines,
        (
            f"lm_eval run --include_path {out} --tasks {names} --log_samples --output_path LOGS "
            "--model ..."
        ),
    ]


def documents_of(table: pl.DataFrame, scored: bool) -> list[dict[str, Any]]:
    """Returns what is asked as documents: the whole prompt, its options, its group and its
    repetition.
    """
    options = numbered_values(table, "candidate") if scored else []
    names = [name for name in ("group", "repetition") if name in table.columns]
    rows = table.select(pl.col("with_system").alias("prompt"), *names, *options).cast(
        {pl.Categorical: pl.String}
    )
    found: list[dict[str, Any]] = []
    for row in rows.iter_rows(named=True):
        document = {name: row[name] for name in ("prompt", *names) if row[name] is not None}
        candidates = [row[name] for name in options if row[name] is not None]
        found.append(document | ({"options": candidates} if scored else {}))
    return found


def task_text(task: str, scored: bool, repeated: bool) -> str:
    """Returns the YAML of a task.

    Args:
        task: its name.
        scored: whether options are scored, or a text is written.
        repeated: whether the same is asked several times, so that answers must be drawn.
    """
    drawn = {"do_sample": True, "temperature": 1.0} if repeated else {"do_sample": False}
    asked: dict[str, Any] = (
        {"output_type": "multiple_choice", "doc_to_choice": "options", "doc_to_target": 0}
        if scored
        else {
            "output_type": "generate_until",
            "doc_to_target": "",
            "generation_kwargs": {"until": [], "max_gen_toks": LONGEST_TEXT, **drawn},
        }
    )
    content = {
        "task": task,
        "custom_dataset": LOAD,
        "dataset_kwargs": {"file": f"{task}.jsonl"},
        "test_split": "test",
        "doc_to_text": "prompt",
        **asked,
        "metric_list": [{"metric": "bypass"}],
        "metadata": {"version": 1.0, "biasgrid": package_version()},
    }
    # A function stands there as a tag, not as text.
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True).replace(f"'{LOAD}'", LOAD)
