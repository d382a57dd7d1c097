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
from biasgrid.formats.logs.matching import ImportedDatasets
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


def export_tasks(datasets: ImportedDatasets, out: Path) -> list[str]:
    """Writes a task for each dataset.

    The task has no score: `biasgrid import lm-eval` reads the samples that `--log_samples` writes,
    and matches them by prompt, group and repetition.

    Args:
        datasets: the datasets.
        out: the folder to write.

    Returns:
        Lines for the terminal: the files, and the command that runs the tasks.
    """
    write_text(out / "documents.py", LOADER)
    lines, tasks = [], []
    for dataset, table in datasets.tables.items():
        task = TASK.format(dataset)
        scores_options = datasets.answer_kinds[dataset] == "choice"
        documents = task_documents(table, scores_options=scores_options)
        has_repetitions = any(document.get("repetition") for document in documents)
        document_lines = [json.dumps(document, ensure_ascii=False) for document in documents]
        write_text(out / f"{task}.jsonl", "".join(f"{line}\n" for line in document_lines))
        task_yaml = task_text(task, scores_options=scores_options, has_repetitions=has_repetitions)
        write_text(out / f"{task}.yaml", task_yaml)
        lines.append(f"{out / task}.yaml: {len(documents):,} documents")
        tasks.append(task)
    command = (
        f"lm_eval run --include_path {out} --tasks {','.join(tasks)} --log_samples --output_path "
        "LOGS --model ..."
    )
    return [*lines, command]


def task_documents(table: pl.DataFrame, *, scores_options: bool) -> list[dict[str, Any]]:
    """Converts instances to documents: the whole prompt, its options, its group and repetition.

    Args:
        table: instances, from `with_whole_prompts`.
        scores_options: whether options are scored; otherwise the model writes, and documents have
            no options.
    """
    option_columns = columns_with_prefix(table, "candidate") if scores_options else []
    key_columns = [name for name in ("group", "repetition") if name in table.columns]
    rows = table.select(pl.col("with_system").alias("prompt"), *key_columns, *option_columns)
    rows = rows.cast({pl.Categorical: pl.String})
    documents = []
    for row in rows.iter_rows(named=True):
        document = {name: row[name] for name in ("prompt", *key_columns) if row[name] is not None}
        if scores_options:
            # Questions with fewer options than others of their table have nulls.
            options = [row[name] for name in option_columns if row[name] is not None]
            document["options"] = options
        documents.append(document)
    return documents


def task_text(task: str, *, scores_options: bool, has_repetitions: bool) -> str:
    """Returns the YAML of a task.

    Args:
        task: its name.
        scores_options: whether options are scored; otherwise the model writes.
        has_repetitions: whether prompts are repeated, so that responses must be sampled.
    """
    output: dict[str, Any]
    if scores_options:
        output = {"output_type": "multiple_choice", "doc_to_choice": "options", "doc_to_target": 0}
    else:
        sampling: dict[str, Any] = {"do_sample": False}
        if has_repetitions:
            sampling = {"do_sample": True, "temperature": 1.0}
        output = {
            "output_type": "generate_until",
            "doc_to_target": "",
            "generation_kwargs": {"until": [], "max_gen_toks": LONGEST_TEXT, **sampling},
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
