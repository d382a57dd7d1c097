"""Logs that are damaged, cut off or of another form are refused in words; what is odd and whole is
read.
"""

from __future__ import annotations

import copy
import json
import random
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cells_of_logs import imported
from real_logs import KEPT, write_world

from biasgrid.base.faults import InputError
from biasgrid.formats.logs.every_eval_ever import read_instance_files
from biasgrid.formats.logs.inspect_ai import eval_members, read_inspect_log
from biasgrid.formats.logs.lm_eval import read_logs
from biasgrid.formats.logs.samples import Log, LogSample

EVAL = KEPT / "inspect/bbq_own_items.eval"
BBQ, LOANS = (
    next((KEPT / "lm-eval").rglob(f"samples_{name}*")) for name in ("bbq", "biasgrid_loans")
)
INSTANCE = {
    "model_id": "someone/m",
    "evaluation_name": "age",
    "sample_id": "Age_0",
    "interaction_type": "single_turn",
    "input": {"raw": "Who?", "formatted": "Q: Who?", "choices": ["He", "She", "Unknown"]},
    "output": {"raw": ["It is A."]},
    "answer_attribution": [{"extracted_value": "A"}],
    "metadata": {"category": "Age", "example_id": "0"},
}
BAD = (None, 3, "x", [], [[]], [None], {"a": 1}, float("nan"))


@pytest.fixture
def world(tmp_path: Path) -> Path:
    return write_world(tmp_path / "world")


def places(content: Any, around: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yields the places of all values in nested objects and lists; of lists the first ones."""
    keys = (
        list(content)
        if isinstance(content, dict)
        else range(min(len(content), 2) if type(content) is list else 0)
    )
    for key in keys:
        yield (*around, key)
        yield from places(content[key], (*around, key))


def changed(content: Any, place: tuple[Any, ...], value: Any) -> Any:
    whole = inner = copy.deepcopy(content)
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return whole


def read_all(logs: list[Log]) -> list[LogSample]:
    return [sample for log in logs for sample in log.samples]


def first_line(path: Path) -> dict[str, Any]:
    line: dict[str, Any] = json.loads(path.read_text().splitlines()[0])
    return line


def small_inspect_log() -> dict[str, Any]:
    log: dict[str, Any] = json.loads((KEPT / "inspect/loans.json").read_text())
    return {key: log[key] for key in ("version", "status", "eval")} | {
        "samples": log["samples"][:1]
    }


FORMS: dict[str, tuple[Callable[[], Any], str, Callable[[Path], list[Log]]]] = {
    "options of lm-eval": (lambda: first_line(BBQ), "samples_age.jsonl", read_logs),
    "texts of lm-eval": (lambda: first_line(LOANS), "samples_loans.jsonl", read_logs),
    "Inspect": (small_inspect_log, "log.json", lambda path: [read_inspect_log(path)]),
    "Every Eval Ever": (lambda: INSTANCE, "run_samples.jsonl", read_instance_files),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_log_with_any_value_of_another_kind_is_read_or_refused(form: str, tmp_path: Path) -> None:
    make, name, read = FORMS[form]
    whole, path, refused = make(), tmp_path / name, 0
    for place in places(whole):
        for value in BAD:
            path.write_text(json.dumps(changed(whole, place, value)))
            try:
                read_all(read(path))
            except InputError as error:
                refused += str(path) in str(error)
    assert refused > len(BAD)


@pytest.mark.parametrize(
    "content", [None, 3, [], {"date": "soon"}, {"date": 1e30}, {"model_name": []}]
)
def test_results_next_to_invalid_samples_are_refused(content: Any, tmp_path: Path) -> None:
    path = tmp_path / BBQ.name
    path.write_text(BBQ.read_text())
    path.with_name(f"results_{BBQ.stem.rpartition('_')[2]}.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match="expected results of lm-evaluation-harness"):
        read_logs(path)


def deflated(path: Path) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in eval_members(EVAL, ("",)):
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize("compression", ["Zstandard", "deflate"])
def test_a_damaged_archive_is_refused_and_never_read_as_something_else(
    compression: str, tmp_path: Path
) -> None:
    source = EVAL if compression == "Zstandard" else deflated(tmp_path / "whole.eval")
    whole, path, refused = source.read_bytes(), tmp_path / "log.eval", 0
    expected = read_all([read_inspect_log(source)])
    assert expected == read_all([read_inspect_log(EVAL)])
    for seed in range(60):
        numbers, data = random.Random(seed), bytearray(whole)
        if seed % 4:
            data[numbers.randrange(len(data))] = numbers.randrange(256)
        else:
            del data[numbers.randrange(len(data)) :]
        path.write_bytes(data)
        try:
            samples = read_all([read_inspect_log(path)])
        except InputError:
            refused += 1
        else:
            assert [one for one in expected if one in samples] == samples
    assert refused > 15


def test_options_behind_nothing_do_not_replace_those_behind_the_prompt(world: Path) -> None:
    """As a task with the metric `acc_mutual_info` asks them."""
    log = world.parent / BBQ.name
    lines = [json.loads(line) for line in BBQ.read_text().splitlines()]
    for line in lines:
        count = len(line["arguments"])
        again = [line["arguments"][f"gen_args_{place}"] | {"arg_0": ""} for place in range(count)]
        line["arguments"] |= {f"gen_args_{count + place}": one for place, one in enumerate(again)}
        line["resps"] += [[[f"-{place}.0", "False"]] for place in range(count)]
    log.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    answers = []
    for path in (BBQ, log):
        code, output = imported(world, "lm-eval", path, "scored")
        assert code == 0, output
        rows = [json.loads(row) for row in (world.parent / "scored.jsonl").read_text().splitlines()]
        answers.append([(row["prompt"], row["scores"]) for row in rows])
    assert answers[0] == answers[1]


def with_response(folder: Path, text: str) -> Path:
    lines = [json.loads(line) for line in LOANS.read_text().splitlines()]
    lines[0]["resps"][0][0] = text
    log = folder / "samples_biasgrid_loans.jsonl"
    log.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return log


def test_what_a_model_wrote_may_hold_what_cannot_be_seen(world: Path) -> None:
    text = "Yes \u200b\N{WOMAN}\u200d\N{STAFF OF AESCULAPIUS}\x1b[31m"
    code, output = imported(world, "lm-eval", with_response(world.parent, text), "loans")
    assert code == 0, output
    responses = [
        json.loads(line)["response"]
        for line in (world.parent / "loans.jsonl").read_text().splitlines()
    ]
    assert responses[0] == text


def test_half_of_a_character_is_refused(world: Path) -> None:
    code, output = imported(world, "lm-eval", with_response(world.parent, "Yes \ud83d"), "loans")
    assert (code, "line 1: holds half of a character; expected whole characters" in output) == (
        2,
        True,
    ), output
    assert not (world.parent / "loans.jsonl").exists()


def test_a_file_of_instances_without_lines_is_refused(world: Path) -> None:
    (world.parent / "run_samples.jsonl").write_text("\n")
    code, output = imported(world, "eee", world.parent / "run_samples.jsonl", "written")
    assert (code, "holds no samples; expected an instance of Every Eval Ever" in output) == (
        2,
        True,
    ), output


def test_two_answers_to_one_sample_of_every_eval_ever_are_refused(world: Path) -> None:
    log = world.parent / "run_samples.jsonl"
    rows = [
        INSTANCE,
        INSTANCE
        | {"output": {"raw": ["It is B."]}, "answer_attribution": [{"extracted_value": "B"}]},
    ]
    log.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    code, output = imported(world, "eee", log, "written")
    assert code == 2
    assert (
        "line 2: 'Age 0' has another answer in run_samples.jsonl, line 1; expected one answer "
        "for each"
    ) in output


@pytest.mark.parametrize("change", ["models: 3", "run: [1]", "datasets: 3"])
def test_a_config_whose_sections_are_none_gives_no_traceback(world: Path, change: str) -> None:
    world.write_text(f"{change}\n")
    code, output = imported(world, "lm-eval", BBQ, "scored")
    assert (code, "fault in the input" in output) == (2, True), output
