"""Logs of lm-evaluation-harness: `samples_TASK_DATE.jsonl` of `--log_samples`, and beside them `results_DATE.json`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from biasgrid.base.faults import Fault, InputError, value_text
from biasgrid.base.text import read_json
from biasgrid.formats.logs.samples import Log, LogSample, known_facts, objects_in_lines

SAMPLES_FILE = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d\-.]+)\.jsonl")
EXPECTED = "a sample of lm-evaluation-harness, written with --log_samples"


def read_logs(folder: Path) -> list[Log]:
    """Reads the samples of a folder, of the folders in it, or of one file.

    Raises:
        InputError: there are none, or a file cannot be read.
    """
    paths = [folder] if folder.is_file() else sorted(folder.rglob("samples_*.jsonl"))
    if not paths:
        expected = "samples_TASK_DATE.jsonl, as lm-evaluation-harness writes it with --log_samples"
        raise InputError([Fault(str(folder), "", "no samples", expected)])
    return [read_samples(path) for path in paths]


def read_samples(path: Path) -> Log:
    """Reads the samples of a task; of several filters the first one's."""
    named = SAMPLES_FILE.fullmatch(path.name)
    results = path.with_name(f"results_{named['date']}.json") if named else path
    run = read_json(results, "results of lm-evaluation-harness") if named and results.is_file() else {}
    source = known_facts(
        harness="lm-evaluation-harness",
        version=run.get("lm_eval_version"),
        model=run.get("model_name") or path.parent.name,
        task=named["task"] if named else path.stem.removeprefix("samples_"),
        date=day_of(run.get("date")) or (named["date"][:10] if named else None),
    )
    samples: dict[Any, LogSample] = {}
    for where, content in objects_in_lines(path):
        for place, sample in enumerate(samples_of(path, where, content)):
            samples.setdefault((content.get("doc_id"), place), sample)
    return Log(path, source, list(samples.values()))


def day_of(seconds: Any) -> str | None:
    """Returns the day of a time in seconds since 1970."""
    return datetime.fromtimestamp(seconds, UTC).date().isoformat() if isinstance(seconds, int | float) else None


def samples_of(path: Path, where: str, content: Mapping[str, Any]) -> Iterator[LogSample]:
    """Yields the samples of a line: several where an item was asked repeatedly.

    Raises:
        InputError: the line is no sample.
    """
    doc, requests, responses = (content.get(name) for name in ("doc", "arguments", "resps"))
    if isinstance(requests, dict):
        requests = [[one.get("arg_0"), one.get("arg_1")] for one in requests.values()]
    if not isinstance(doc, dict) or not is_list_of_lists(requests) or not is_list_of_lists(responses):
        shown = {name: content[name] for name in ("doc_id", "doc", "arguments", "resps") if name in content}
        raise InputError([Fault(str(path), where, value_text(shown or content), EXPECTED)])
    assert isinstance(requests, list)
    assert isinstance(responses, list)
    prompts = [str(requests[0][0])]
    first = responses[0][0]
    if isinstance(first, str) and len(responses) == 1:
        for epoch, text in enumerate(responses[0]):
            yield LogSample(where, doc, prompts, str(text), {}, epoch)
        return
    scores = {
        str(asked[1]).removeprefix(" "): score_of(said[0]) for asked, said in zip(requests, responses, strict=False)
    }
    if None in scores.values() or len(requests) != len(responses):
        raise InputError([Fault(str(path), where, value_text(responses), "a log-likelihood for each option")])
    yield LogSample(where, doc, prompts, None, {text: score for text, score in scores.items() if score is not None})


def is_list_of_lists(value: Any) -> bool:
    """Says whether a value is a list of lists that are not empty, and not empty itself."""
    return isinstance(value, list) and bool(value) and all(isinstance(one, list) and one for one in value)


def score_of(response: Sequence[Any] | str) -> float | None:
    """Returns the log-likelihood of a response, which newer versions write as texts; None where it has none."""
    value = response[0] if isinstance(response, list) and response else response
    try:
        return min(float(value), 0.0) if isinstance(value, str | int | float) else None
    except ValueError:
        return None
