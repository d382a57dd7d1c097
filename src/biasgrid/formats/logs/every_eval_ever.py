"""Instance files of Every Eval Ever: a sample in each line, beside a record of the run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from biasgrid.base.faults import Fault, InputError, value_text
from biasgrid.base.text import read_json
from biasgrid.formats.logs.samples import Log, LogSample, known_facts, objects_in_lines, option_of_letter

EXPECTED = "an instance of Every Eval Ever: schema_version, model_id, evaluation_name, sample_id, input, output"
NEEDED = ("model_id", "evaluation_name", "sample_id", "input")
SINGLE_TURN = "single_turn"


def read_instance_files(path: Path) -> list[Log]:
    """Reads an instance file: a log for each model and evaluation in it.

    A sample that counts for several measures is there several times, and is taken once.

    Raises:
        InputError: a line is no instance, or a conversation of several turns.
    """
    record = instance_record(path)
    library = record.get("eval_library") or {}
    found: dict[tuple[str, str], dict[str, LogSample]] = {}
    for where, content in objects_in_lines(path):
        problem = next((name for name in NEEDED if name not in content), None)
        if problem is not None or not isinstance(content["input"], dict):
            raise InputError([Fault(str(path), where, value_text(content), EXPECTED)])
        if content.get("interaction_type", SINGLE_TURN) != SINGLE_TURN or not isinstance(content.get("output"), dict):
            shown = f"the interaction {content.get('interaction_type')!r}"
            raise InputError([Fault(str(path), where, shown, f"{SINGLE_TURN!r} with `output`")])
        key = str(content["model_id"]), str(content["evaluation_name"])
        found.setdefault(key, {}).setdefault(str(content["sample_id"]), logged_sample(where, content))
    return [
        Log(
            path,
            known_facts(
                harness=library.get("name") or "Every Eval Ever",
                version=library.get("version"),
                model=model,
                task=task,
                date=str(record.get("evaluation_timestamp") or "")[:10],
            ),
            list(samples.values()),
        )
        for (model, task), samples in found.items()
    ]


def instance_record(path: Path) -> Mapping[str, Any]:
    """Returns the record of the run, which lies beside its instances where it is kept; empty without one."""
    record = path.with_name(f"{path.stem.removesuffix('_samples')}.json")
    content = read_json(record, "a record of Every Eval Ever") if record.is_file() else {}
    return content if isinstance(content, dict) else {}


def logged_sample(where: str, content: Mapping[str, Any]) -> LogSample:
    """Returns a sample; its answer is what the harness has extracted, where that is one of the options."""
    given, options = content["input"], content["input"].get("choices")
    extracted = [one.get("extracted_value") for one in content.get("answer_attribution") or [] if isinstance(one, dict)]
    chosen = [option_of_letter(value, options) or (value if value in (options or []) else None) for value in extracted]
    written = content["output"].get("raw") or [""]
    fields = content.get("metadata") or {"sample_id": content["sample_id"]}
    response = next(filter(None, reversed(chosen)), str(written[0]))
    prompts = [str(text) for name in ("formatted", "raw") if (text := given.get(name))]
    return LogSample(where, fields, prompts, response, {})
