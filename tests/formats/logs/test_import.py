"""Logs of real harnesses are scored again without a model: the numbers are those by hand; what is
wrong is told.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from cells_of_logs import cell_of, imported
from jsonschema import Draft7Validator
from real_logs import KEPT, TEMPLATES, letter_of, write_world

import biasgrid
from biasgrid.config import Config
from biasgrid.formats.logs.matching import ImportedDatasets, LoggedQuestion, log_responses
from biasgrid.formats.logs.samples import Log, LogSample
from biasgrid.tables.files import read_provenance

LM_EVAL, INSPECT = KEPT / "lm-eval/tiny-gpt2", KEPT / "inspect"
(BBQ,), (KIND,), (LOANS,) = (
    list(LM_EVAL.glob(f"samples_{name}*")) for name in ("bbq", "biasgrid_kind", "biasgrid_loans")
)
SCHEMAS = Path(__file__).parent / "schemas"


@pytest.fixture
def world(tmp_path: Path) -> Path:
    return write_world(tmp_path / "world")


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def share_by_hand(chosen: list[tuple[dict[str, Any], int]]) -> float:
    """BBQ's bias in ambiguous contexts of the items' own options, in percent of all answers that
    are there.
    """
    ambiguous = [(item, place) for item, place in chosen if item["context_condition"] == "ambig"]
    leaning = 0
    for item, place in ambiguous:
        target = "old" if item["question_polarity"] == "neg" else "nonOld"
        group = item["answer_info"][f"ans{place}"][1]
        leaning += 0 if group == "unknown" else 1 if group == target else -1
    return leaning / len(ambiguous)


def test_log_likelihoods_of_lm_eval_give_the_bias_of_bbq(world: Path) -> None:
    cell = cell_of(world, "lm-eval", BBQ, "scored")
    chosen = []
    for line in lines_of(BBQ):
        item, requests = line["doc"], [one["arg_1"].strip() for one in line["arguments"].values()]
        likelihoods = dict(
            zip(requests, [float(said[0][0]) for said in line["resps"]], strict=True)
        )
        own = [likelihoods[item[f"ans{place}"]] for place in range(3)]
        chosen.append((item, own.index(max(own))))
    # Of eight items nothing shows that the model is better than chance, so its bias is withheld;
    # its sums are not.
    is_whole = pl.all_horizontal(pl.col("group", "template").is_null())
    sums = (
        biasgrid.open(cell.config["results"])
        .sums()
        .filter(is_whole, measure="bias_ambiguous", factor="templates")
    )
    (leaning,) = sums.filter(options="mode=templates")["sums"].to_list()
    assert sum(leaning[0::2]) / sum(leaning[1::2]) == pytest.approx(share_by_hand(chosen))
    assert len(leaning) == 2 * len(TEMPLATES)
    assert cell.row("coverage", bias_type="Age", options="")["value"] == 1
    predictions = pl.read_parquet(next(cell.layout.results.glob("predictions/**/*.parquet")))
    assert predictions["scored_by"].cast(pl.String).unique().to_list() == ["imported"]


def test_options_too_long_for_float32_keep_their_shares(world: Path) -> None:
    """Log-likelihoods of lm-eval go down to -127; a probability in float32 ends at -87."""
    cell = cell_of(world, "lm-eval", BBQ, "scored")
    assert min(min(row["scores"].values()) for row in lines_of(world.parent / "scored.jsonl")) < -90
    predictions = pl.read_parquet(next(cell.layout.results.glob("predictions/**/*.parquet")))
    assert predictions["probabilities"].list.max().min() > 0


def test_answers_to_inspect_give_the_bias_that_they_were_made_with(world: Path) -> None:
    cell = cell_of(world, "inspect", INSPECT / "bbq_own_items.eval", "written")
    items = lines_of(world.parent / "Age.jsonl")
    chosen = [
        (item, "ABC".index(text[-1]))
        for item in items
        if (text := letter_of(item)).startswith("ANSWER")
    ]
    row = cell.row("bias_ambiguous", bias_type="Age", options="")
    assert row["value"] == pytest.approx(share_by_hand(chosen)) == pytest.approx(2 / 3)
    assert cell.row("coverage", bias_type="Age", options="")["value"] == pytest.approx(
        1 - 1 / len(TEMPLATES)
    )


def test_exported_statements_are_found_by_their_prompts(world: Path) -> None:
    cell = cell_of(world, "lm-eval", KIND, "kind")
    likelihoods = {
        line["doc"]["prompt"]: [float(said[0][0]) for said in line["resps"]]
        for line in lines_of(KIND)
    }
    yes = {prompt: first > second for prompt, (first, second) in likelihoods.items()}
    assert cell.row("yes_rate")["value"] == pytest.approx(sum(yes.values()) / len(yes))


def gap_of(rows: list[tuple[str, str]]) -> float:
    """The difference of Yes between men and women, among all answers."""
    rates = {}
    for group in ("man", "woman"):
        said = [text.startswith("Yes") for one, text in rows if one == group]
        rates[group] = sum(said) / len(said)
    return rates["man"] - rates["woman"]


def test_epochs_of_inspect_are_repetitions(world: Path) -> None:
    log = INSPECT / "loans.json"
    cell = cell_of(world, "inspect", log, "loans")
    samples = json.loads(log.read_text())["samples"]
    rows = [
        (one["metadata"]["group"], one["output"]["choices"][0]["message"]["content"])
        for one in samples
    ]
    assert cell.row("gap", options="")["value"] == pytest.approx(gap_of(rows))
    assert {row["repetition"] for row in lines_of(world.parent / "loans.jsonl")} == {0, 1}


def test_texts_of_lm_eval_match_the_log(world: Path) -> None:
    assert imported(world, "lm-eval", LOANS, "loans")[0] == 0
    rows = {
        (row["prompt"], row["group"], row["repetition"]): row
        for row in lines_of(world.parent / "loans.jsonl")
    }
    for line in lines_of(LOANS):
        row = rows[tuple(line["doc"][name] for name in ("prompt", "group", "repetition"))]
        assert row["response"] == line["resps"][0][0]


def test_the_provenance_says_where_answers_are_from(world: Path) -> None:
    cell = cell_of(world, "lm-eval", BBQ, "scored")
    (log,) = read_provenance(next(cell.layout.results.glob("predictions/**/*.parquet")))["logs"]
    assert (log["harness"], log["model"], log["task"]) == (
        "lm-evaluation-harness",
        "tiny-gpt2",
        "bbq_of_own_items",
    )
    assert log["version"].startswith("0.4.")
    assert len(log["date"]) == len("2026-01-31")


def instance_of(item: dict[str, Any], letter: str, **changes: Any) -> dict[str, Any]:
    """An instance as Every Eval Ever has it; the test makes sure that it is one."""
    made = {
        "schema_version": "0.3.0",
        "evaluation_id": "age/m/1",
        "model_id": "someone/m",
        "evaluation_name": "age",
        "sample_id": f"Age_{item['example_id']}",
        "interaction_type": "single_turn",
        "input": {
            "raw": item["context"],
            "reference": [item[f"ans{item['label']}"]],
            "choices": [item[f"ans{place}"] for place in range(3)],
        },
        "output": {"raw": [f"It is {letter}."]},
        "answer_attribution": [
            {
                "turn_idx": 0,
                "source": "output.raw",
                "extracted_value": letter,
                "extraction_method": "regex",
                "is_terminal": True,
            },
        ],
        "evaluation": {"score": 0.0, "is_correct": False},
        "metadata": {"category": "Age", "example_id": str(item["example_id"])},
    } | changes
    Draft7Validator(json.loads((SCHEMAS / "instance_level_eval.schema.json").read_text())).validate(
        made
    )
    return made


def test_instances_of_every_eval_ever_are_read_once_for_all_their_measures(world: Path) -> None:
    items = lines_of(world.parent / "Age.jsonl")
    rows = [
        instance_of(item, "ABC"[item["label"]], evaluation={"score": 1.0, "is_correct": True})
        for item in items
    ]
    log = world.parent / "run_samples.jsonl"
    log.write_text(
        "".join(
            f"{json.dumps(row | {'evaluation_result_id': number})}\n"
            for row in rows
            for number in "12"
        )
    )
    record = {
        "eval_library": {"name": "inspect_ai", "version": "0.3"},
        "evaluation_timestamp": "2026-03-01T00:00:00",
    }
    (world.parent / "run.json").write_text(json.dumps(record))
    cell = cell_of(world, "eee", log, "written")
    assert cell.row("accuracy_ambiguous", bias_type="Age", options="")["value"] == 1
    assert cell.row("bias_ambiguous", bias_type="Age", options="")["value"] is None
    (source,) = {json.dumps(row["source"]) for row in lines_of(world.parent / "written.jsonl")}
    assert json.loads(source) == {
        "harness": "inspect_ai",
        "version": "0.3",
        "model": "someone/m",
        "task": "age",
        "date": "2026-03-01",
    }


Change = Callable[[Path], Path]


def changed_copy(change: Callable[[list[str]], list[str]], log: Path = BBQ) -> Change:
    """Returns what copies a log, and changes its lines."""

    def copy(folder: Path) -> Path:
        path = folder / log.name
        path.write_text("".join(change(log.read_text().splitlines(keepends=True))))
        return path

    return copy


def two_models(folder: Path) -> Path:
    for name in ("one", "other"):
        (folder / "logs" / name).mkdir(parents=True)
        shutil.copy(BBQ, folder / "logs" / name)
    return folder / "logs"


def two_runs(folder: Path) -> Path:
    (folder / "logs").mkdir()
    shutil.copy(BBQ, folder / "logs")
    shutil.copy(BBQ, folder / "logs/samples_bbq_of_own_items_2026-12-01T00-00-00.000000.jsonl")
    return folder / "logs"


def without_samples(folder: Path) -> Path:
    (folder / "logs").mkdir()
    return folder / "logs"


FAULTS: dict[str, tuple[str, str, Change, str]] = {
    "a folder without samples": (
        "lm-eval",
        "scored",
        without_samples,
        (
            "logs: no samples; expected samples_TASK_DATE.jsonl, as lm-evaluation-harness writes "
            "it with --log_samples"
        ),
    ),
    "the log of another task": (
        "lm-eval",
        "scored",
        lambda folder: LOANS,
        (
            "line 1: none of the 16 samples of the task biasgrid_loans ask the questions of "
            "scored; the first one that does not: 'Emil asks for a loan for a shop. Answer Yes or "
            "No.'; expected a log of scored"
        ),
    ),
    "an item that the dataset has not": (
        "lm-eval",
        "scored",
        changed_copy(
            lambda lines: [
                lines[0].replace('_id": 0', '_id": 99').replace("lift", "bus"),
                *lines[1:],
            ]
        ),
        (
            "line 1: 15 of the 16 samples of the task bbq_of_own_items ask the questions of "
            "scored; the first one that does not"
        ),
    ),
    "items that nobody answered": (
        "lm-eval",
        "scored",
        changed_copy(lambda lines: lines[:-1]),
        "scored: 1 of 16 prompts have no answer; the first one is",
    ),
    "other options than those of the dataset": (
        "lm-eval",
        "scored",
        changed_copy(lambda lines: [line.replace(" The grandson", " The son") for line in lines]),
        "line 1, scores: scored: no log-likelihood of the option 'The grandson'",
    ),
    "a line that is half written": (
        "lm-eval",
        "scored",
        changed_copy(lambda lines: [*lines[:-1], lines[-1][:200]]),
        "line 16: not JSON (",
    ),
    "a line that is no sample": (
        "lm-eval",
        "scored",
        changed_copy(lambda lines: ['{"doc_id": 0}\n', *lines]),
        (
            "line 1, doc: missing; expected a sample of lm-evaluation-harness, "
            "written with --log_samples"
        ),
    ),
    "two models": (
        "lm-eval",
        "scored",
        two_models,
        "logs of 2 models: one and other; expected logs of one model: give its folder or file",
    ),
    "two runs of a task": (
        "lm-eval",
        "scored",
        two_runs,
        "two runs of the task bbq_of_own_items: samples_",
    ),
    "scores for a dataset that reads texts": (
        "lm-eval",
        "written",
        lambda folder: BBQ,
        (
            "written: log-likelihoods of options, but the dataset needs written answers; expected "
            "a `response`, or `answers: scored`"
        ),
    ),
    "texts for a dataset that reads scores": (
        "inspect",
        "scored",
        lambda folder: INSPECT / "bbq_own_items.eval",
        (
            "scored: no probabilities of options, which the dataset needs; expected a probability "
            "or a log-likelihood (`scores`) for each option, or `answers: written`"
        ),
    ),
    "a file that is no log": (
        "inspect",
        "written",
        lambda folder: BBQ.with_name("nothing.eval"),
        (
            "nothing.eval: cannot be read (No such file or directory); expected a log of Inspect, "
            ".eval or .json"
        ),
    ),
}
"""The format, the dataset, the log and what is said of it."""


@pytest.mark.parametrize(("name", "dataset", "change", "message"), FAULTS.values(), ids=FAULTS)
def test_a_log_that_does_not_fit_is_refused_in_one_message(
    world: Path, name: str, dataset: str, change: Change, message: str
) -> None:
    code, output = imported(world, name, change(world.parent), dataset)
    assert code == 2
    assert message in output
    assert not (world.parent / f"{dataset}.jsonl").exists()


BROKEN: list[tuple[dict[str, Any], str]] = [
    (
        {"status": "started"},
        "status: the status 'started'; expected 'success': finish the run first",
    ),
    ({"samples": []}, "log.json: contains no samples; expected a log that contains its samples"),
    (
        {"samples": [{"input": "a", "output": {}, "error": {"message": "x"}}]},
        "samples[0]: ended with an error",
    ),
    ({"samples": [3]}, "samples[0]: 3; expected a log of Inspect, .eval or .json"),
    (
        {"samples": [{"input": "a", "output": {"choices": [3]}}]},
        "samples[0].output.choices[0]: 3; expected a log of",
    ),
    ({"eval": {"model": "m"}}, "eval.task: missing; expected a log of Inspect"),
]


@pytest.mark.parametrize(("change", "message"), BROKEN)
def test_a_log_of_inspect_that_is_not_whole_is_refused(
    world: Path, change: dict[str, Any], message: str
) -> None:
    log = world.parent / "log.json"
    log.write_text(json.dumps(json.loads((INSPECT / "loans.json").read_text()) | change))
    code, output = imported(world, "inspect", log, "loans")
    assert (code, message in output) == (2, True), output


def test_an_item_asked_in_all_orders_cannot_be_answered_by_one_sample(world: Path) -> None:
    content = yaml.safe_load(world.read_text())
    content["datasets"]["written"]["orders"] = "all"
    world.write_text(yaml.safe_dump(content))
    code, output = imported(world, "inspect", INSPECT / "bbq_own_items.eval", "written")
    assert code == 2
    assert (
        "the item Age 0 is asked in 6 orders of written, and once in the log; expected "
        "`orders: file`"
    ) in output


def test_a_prompt_that_equals_the_id_of_an_item_is_matched_as_a_prompt() -> None:
    # Both instances of the prompt are answered: they differ in the order of their options alone.
    question = LoggedQuestion("written", "written", 0)
    questions = {"Age 0": [question, question]}
    no_tables: dict[str, pl.DataFrame] = {}
    imported = ImportedDatasets(Config.model_construct(), no_tables, {}, questions, questions)
    sample = LogSample("line 1", {}, ["Age 0"], "A", {})
    log = Log(Path("log.json"), {"task": "ages"}, [sample])
    match = imported.match(sample)
    assert match is not None
    assert match.by == "prompt"
    assert [response.prompt for response in log_responses(log, imported)] == ["Age 0"]


def test_the_kept_logs_name_no_machine() -> None:
    from real_logs import leaks

    assert leaks(KEPT) == []
