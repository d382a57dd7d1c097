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
from biasgrid.inference.engine.back_end import columns_with_prefix

LOADER = '''"""Loads the documents of the tasks in this folder, wherever it is."""

from pathlib import Path

import datasets


def load(file, **_):
    """Returns the documents of a task as its split `test`."""
    return {"test": datasets.Dataset.from_json(str(Path(__file__).parent / file))}
'''
LOAD = "!function documents.load"
LONGEST_TEXT = 256
"""Maximum number of tokens that a model may write."""
TASK = "biasgrid_{}"


def export_tasks(requests: Requests, out: Path) -> list[str]:
    """Writes a task for each dataset; its logs are matched by prompt, group and repetition.

    The task has no score: `biasgrid import lm-eval` reads the samples, which `--log_samples` keeps.

    Returns:
        Lines for the terminal.
    """
    write_text(out / "documents.py", LOADER)
    lines, tasks = [], []
    for dataset, table in requests.tables.items():
        task = TASK.format(dataset)
        is_scored = requests.answers[dataset] == "choice"
        documents = documents_of(table, is_scored)
        is_repeated = any(document.get("repetition") for document in documents)
        document_lines = [json.dumps(document, ensure_ascii=False) for document in documents]
        write_text(out / f"{task}.jsonl", "".join(f"{line}\n" for line in document_lines))
        write_text(out / f"{task}.yaml", task_text(task, is_scored, is_repeated))
        lines.append(f"{out / task}.yaml: {len(documents):,} documents")
        tasks.append(task)
    command = (
        f"lm_eval run --include_path {out} --tasks {','.join(tasks)} --log_samples --output_path "
        "LOGS --model ..."
    )
    return [*lines, command]


def documents_of(table: pl.DataFrame, is_scored: bool) -> list[dict[str, Any]]:
    """Converts instances to documents: the whole prompt, its options, its group and repetition.

    Args:
        table: instances, with their whole prompts in `with_system`.
        is_scored: whether options are scored, or a text is written.
    """
    options = columns_with_prefix(table, "candidate") if is_scored else []
    names = [name for name in ("group", "repetition") if name in table.columns]
    rows = table.select(pl.col("with_system").alias("prompt"), *names, *options)
    rows = rows.cast({pl.Categorical: pl.String})
    documents = []
    for row in rows.iter_rows(named=True):
        document = {name: row[name] for name in ("prompt", *names) if row[name] is not None}
        if is_scored:
            # Instances may have fewer options than others of their table.
            document["options"] = [row[name] for name in options if row[name] is not None]
        documents.append(document)
    return documents


def task_text(task: str, is_scored: bool, is_repeated: bool) -> str:
    """Returns the YAML of a task.

    Args:
        task: its name.
        is_scored: whether options are scored, or a text is written.
        is_repeated: whether the same is asked several times, so that answers must be drawn.
    """
    output: dict[str, Any]
    if is_scored:
        output = {"output_type": "multiple_choice", "doc_to_choice": "options", "doc_to_target": 0}
    else:
        drawing: dict[str, Any] = {"do_sample": False}
        if is_repeated:
            drawing = {"do_sample": True, "temperature": 1.0}
        output = {
            "output_type": "generate_until",
            "doc_to_target": "",
            "generation_kwargs": {"until": [], "max_gen_toks": LONGEST_TEXT, **drawing},
        }
    content = {
        "task": task,
        "custom_dataset": LOAD,
        "dataset_kwargs": {"file": f"{task}.jsonl"},
        "test_split": "test",
        "doc_to_text": "prompt",
        **output,
        "metric_list": [{"metric": "bypass"}],
        "metadata": {"version": 1.0, "biasgrid": package_version()},
    }
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
    # The harness reads a function from a YAML tag; a quoted one would be text.
    return text.replace(f"'{LOAD}'", LOAD)
