"""The real harnesses, each in an environment of its own, write logs like the kept ones, and run
exported tasks.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import needs
import pytest
import torch
from real_logs import (
    INSPECT,
    KEPT,
    LM_EVAL,
    environment,
    leaks,
    make_inspect_logs,
    make_lm_eval_logs,
    write_world,
)
from tiny_writers import PlainWriter

from biasgrid.formats.logs.inspect_ai import read_inspect_log
from biasgrid.formats.logs.lm_eval import read_logs
from biasgrid.formats.logs.samples import Log

pytestmark = pytest.mark.long


def programs_of(folder: Path, package: str) -> Path:
    """Returns the programs of an environment with a package, or skips where it cannot be had."""
    try:
        return environment(folder, package)
    except subprocess.CalledProcessError as error:
        needs.harnesses.skip(str(error.stderr).strip().splitlines()[-1])


def by_prompt(logs: list[Log]) -> dict[tuple[str, str, int], tuple[str | None, dict[str, float]]]:
    """What the samples of logs say, by task, prompt and place."""
    return {
        (log.task, sample.prompts[0], place): (sample.response, dict(sample.scores))
        for log in logs
        for place, sample in enumerate(log.samples)
    }


def test_lm_evaluation_harness_writes_what_is_kept_and_scores_as_a_plain_model(
    tmp_path: Path,
) -> None:
    world = tmp_path / "world"
    programs = programs_of(tmp_path, LM_EVAL)
    write_world(world)
    make_lm_eval_logs(programs, world, tmp_path / "made")
    made, kept = (by_prompt(read_logs(folder)) for folder in (tmp_path / "made", KEPT / "lm-eval"))
    # Texts of tasks whose answers are drawn differ from run to run.
    assert made.keys() == kept.keys()
    for key, (_, scores) in kept.items():
        assert made[key][1] == pytest.approx(scores, abs=1e-2)
    writer = PlainWriter(world / "model")
    scored = [
        (prompt, scores)
        for (task, prompt, _), (_, scores) in made.items()
        if task == "biasgrid_kind"
    ]
    for prompt, scores in scored[:4]:
        for option, likelihood in scores.items():
            assert plain_likelihood(writer, prompt, f" {option}") == pytest.approx(
                likelihood, abs=1e-3
            )
    assert leaks(tmp_path / "made") == []


def plain_likelihood(writer: PlainWriter, prompt: str, option: str) -> float:
    """The log-likelihood of a text behind a prompt, token by token, in the library that everybody
    uses.
    """
    encode = writer.tokenizer.backend_tokenizer.encode
    begin, whole = (
        encode(prompt, add_special_tokens=False).ids,
        encode(prompt + option, add_special_tokens=False).ids,
    )
    with torch.inference_mode():
        logs = writer.model(torch.tensor([whole])).logits[0].log_softmax(dim=-1)
    return sum(float(logs[place - 1, whole[place]]) for place in range(len(begin), len(whole)))


def test_inspect_writes_what_is_kept(tmp_path: Path) -> None:
    world, tasks = tmp_path / "world", tmp_path / "world/tasks"
    programs = programs_of(tmp_path, INSPECT)
    write_world(world)
    tasks.mkdir()
    (kept,) = KEPT.glob("lm-eval/*/samples_biasgrid_loans_*.jsonl")
    documents = [json.loads(line)["doc"] for line in kept.read_text().splitlines()]
    (tasks / "biasgrid_loans.jsonl").write_text(
        "".join(f"{json.dumps(one)}\n" for one in documents)
    )
    make_inspect_logs(programs, world, tmp_path / "made")
    for name in ("bbq_own_items.eval", "loans.json"):
        made, before = (
            by_prompt([read_inspect_log(folder / name)])
            for folder in (tmp_path / "made", KEPT / "inspect")
        )
        assert made == before
    assert leaks(tmp_path / "made") == []
