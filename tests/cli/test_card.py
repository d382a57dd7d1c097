"""The section of a model card: Markdown, and evaluation results as the hub reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from huggingface_hub import ModelCard, parse_eval_result_entries
from small_measures import table_of
from typer.testing import CliRunner

from biasgrid.cli.app import app
from biasgrid.tables.files import write_table
from biasgrid.tables.measures import SUMMARY
from biasgrid.tables.verdicts import VERDICTS

runner = CliRunner()
DASH = "\N{EN DASH}"
NAMED = {
    "kind": "LM",
    "label": "a",
    "options": "",
    "left_out": 0,
    "n": 32,
    "headline": True,
    "dataset": "gender",
}
NAMED |= {"verdict": "nothing found"}
JUDGED = {
    "dataset": "gender",
    "verdict": "nothing found",
    "p": 0.3,
    "tests": 1,
    "significant": 0,
    "untestable": 0,
}
LOUD = (
    "the control shows associations too (names: 1 of 8 significant): read the difference, "
    "not the value"
)
ROWS: list[dict[str, Any]] = [
    {"model": "new", "measure": "mu", "value": 0.2, "null_mean": 0.1, "clusters": 4},
    {
        "model": "new",
        "measure": "mu_corrected",
        "value": 0.17,
        "low": 0.1,
        "high": 0.24,
        "clusters": 4,
    },
    {"model": "new", "measure": "strength"},
    {
        "model": "new",
        "measure": "control",
        "options": "control=names",
        "value": 1.0,
        "flag": LOUD,
        "headline": False,
    },
    {
        "model": "new",
        "measure": "templates",
        "value": 4.0,
        "flag": "four templates only",
        "headline": False,
    },
    {"model": "old", "measure": "mu", "value": 0.1},
]
ASKED = {"title": "Gender", "about": ["Who does what."], "control_of": None}
MANIFEST = {
    "biasgrid": "0.2.0",
    "libraries": {"torch": "2"},
    "config": "c" * 64,
    "config_file": "config/c.yaml",
    "results": "results/c",
    "word_lists": {"gender/qa": "0123456789abcdef"},
    "datasets": {"gender": ASKED},
    "models": {"new": {"checkpoint": "someone/new", "revision": "abc123"}},
    "cells": [
        {
            "dataset": "gender",
            "model": name,
            "instances_made": 512,
            "task": "fill-mask",
            "precision": "float32",
        }
        for name in ("new", "old")
    ],
}


@pytest.fixture
def results(tmp_path: Path) -> Path:
    write_table(
        table_of(SUMMARY, ROWS, **NAMED),
        tmp_path / "summary.parquet",
        SUMMARY,
        {"statistics": {"level": 0.9}},
    )
    verdicts = table_of(
        VERDICTS, [{"model": name} for name in ("new", "old")], **JUDGED, is_control=False
    )
    write_table(verdicts, tmp_path / "verdicts.parquet", VERDICTS, {})
    (tmp_path / "manifest.json").write_text(json.dumps(MANIFEST))
    return tmp_path


def card(results: Path, *arguments: str) -> tuple[int, str]:
    result = runner.invoke(app, ["card", str(results), *arguments])
    return result.exit_code, result.output


def test_the_command_leaves_settings_to_the_reader(results: Path) -> None:
    (results / "manifest.json").write_text(
        json.dumps(MANIFEST | {"config_file": "config/c.yaml and --config"})
    )
    _, told = card(results, "--model", "new")
    assert "\nsnakemake --configfile config/c.yaml --config ... --cores all\n" in told
    assert "| config | config/c.yaml and settings on the command line, digest" in told


def test_the_hub_reads_what_was_measured(results: Path) -> None:
    code, _ = card(results, "--model", "new", "--out", str(results / "card.md"))
    assert code == 0
    data = ModelCard.load(results / "card.md").data
    assert data.model_name == "new"
    found = {one.metric_type: one for one in data.eval_results}
    assert [*found] == ["mu", "mu_corrected"]
    corrected = found["mu_corrected"]
    assert (corrected.metric_value, corrected.dataset_name, corrected.task_type) == (
        0.17,
        "Gender",
        "fill-mask",
    )
    assert corrected.metric_args == {"low": 0.1, "high": 0.24, "level": 0.9, "clusters": 4, "n": 32}
    assert found["mu"].metric_args == {"null_mean": 0.1, "clusters": 4, "n": 32}


def test_n_counts_the_measured_cases_of_any_average(results: Path) -> None:
    """`mu` is a mean over 8 subjects, of 192 swap groups: beside both stands what the summary
    says.
    """
    rows = [row | {"n": 8} for row in ROWS[:1]] + [row | {"n": 192} for row in ROWS[1:2]]
    rows += [{"model": "new", "measure": "significant_tests", "value": 3.0, "n": 60, "clusters": 4}]
    rows += [{"model": "new", "measure": "eta", "value": 0.1, "n": 192, "clusters": 4}]
    claims = {"claims": {"units": {"gender": "swap groups"}}}
    write_table(table_of(SUMMARY, rows, **NAMED), results / "summary.parquet", SUMMARY, claims)
    assert card(results, "--model", "new", "--out", str(results / "card.md"))[0] == 0
    found = {
        one.metric_type: one.metric_args
        for one in ModelCard.load(results / "card.md").data.eval_results
    }
    assert {(each["n"], each["n_counts"]) for each in found.values()} == {(192, "swap groups")}
    assert found["significant_tests"]["tested"] == 60
    assert (
        "| gender |  | mu | 0.200 | noise alone gives 0.100 | 4 | 192 |"
        in (results / "card.md").read_text()
    )


def test_numbers_of_a_registered_benchmark_are_entries_of_the_hub(results: Path) -> None:
    named = {"bias_type": "age", "generalises_to": "clusters"}
    write_table(
        table_of(SUMMARY, [row | named for row in ROWS], **NAMED),
        results / "summary.parquet",
        SUMMARY,
        {},
    )
    path = results / "repository/README.md"
    arguments = ("--out", str(path), "--benchmark", "gender=someone/set:{bias_type}:mu_corrected")
    assert card(results, "--model", "new", *arguments)[0] == 0
    content = yaml.safe_load((path.parent / ".eval_results/gender.yaml").read_text())
    assert content == [
        {
            "dataset": {"id": "someone/set", "task_id": "age"},
            "value": 0.17,
            "notes": (
                "mu_corrected of age, 95 % CI 0.100 to 0.240 over clusters (4 "
                "clusters); biasgrid 0.2.0"
            ),
        }
    ]
    (entry,) = parse_eval_result_entries(content)
    assert (entry.dataset_id, entry.task_id, entry.value) == ("someone/set", "age", 0.17)


def test_two_benchmarks_of_a_dataset_are_in_its_one_file(results: Path) -> None:
    arguments = [f"--benchmark=gender=someone/set:{task}:{task}" for task in ("mu", "mu_corrected")]
    assert card(results, "--model", "new", "--out", str(results / "card.md"), *arguments)[0] == 0
    content = yaml.safe_load((results / ".eval_results/gender.yaml").read_text())
    assert [(each["dataset"]["task_id"], each["value"]) for each in content] == [
        ("mu", 0.2),
        ("mu_corrected", 0.17),
    ]
    arguments[1] = arguments[1].replace(":mu_corrected:", ":mu:")
    code, told = card(results, "--model", "new", "--out", str(results / "other.md"), *arguments)
    assert (
        code,
        "several numbers for the task mu of someone/set; expected one number for each task" in told,
    ) == (2, 1)
    assert not (results / "other.md").exists()


def test_numbers_of_one_bias_type_with_several_options_have_no_common_task(
    results: Path,
) -> None:
    rows = [
        {
            "model": "new",
            "measure": "gap",
            "bias_type": "age",
            "options": f"metric={name}",
            "value": 0.1,
        }
        for name in ("rate", "ratio")
    ]
    write_table(table_of(SUMMARY, rows, **NAMED), results / "summary.parquet", SUMMARY, {})
    option = ("--out", str(results / "card.md"), "--benchmark", "gender=a/b:{bias_type}:gap")
    code, told = card(results, "--model", "new", *option)
    assert code == 2
    assert (
        "gap of gender has 2 numbers (age metric=rate, age metric=ratio) for one task"
        in " ".join(told.split())
    )


def test_a_number_without_a_bias_type_is_not_listed_by_bias_type(results: Path) -> None:
    option = ("--out", str(results / "card.md"), "--benchmark", "gender=a/b:{bias_type}:mu")
    code, told = card(results, "--model", "new", *option)
    assert (
        code,
        "mu of gender has no value of a bias type; expected a number" in " ".join(told.split()),
    ) == (2, True)


BENCHMARKS = {
    "gender": "expected DATASET=OWNER/NAME:TASK",
    "gendre=a/b:c": "unknown name 'gendre' (did you mean 'gender'?)",
    "gender=a/b:c:mo": "unknown name 'mo'; expected one of mu, mu_corrected, strength",
    "gender=a/b:c:strength": "strength of gender has no value",
    "gender=a/b:c:mu": (
        "mu of gender has 2 numbers (age, faith) for one task; expected a task "
        "that contains {bias_type}"
    ),
}


@pytest.mark.parametrize(("option", "message"), BENCHMARKS.items())
def test_a_benchmark_that_says_too_little_is_refused(
    results: Path, option: str, message: str
) -> None:
    rows = [row | {"bias_type": name} for name in ("age", "faith") for row in ROWS[:3]]
    write_table(table_of(SUMMARY, rows, **NAMED), results / "summary.parquet", SUMMARY, {})
    code, told = card(
        results, "--model", "new", "--out", str(results / "card.md"), "--benchmark", option
    )
    assert code == 2
    assert message in " ".join(told.split())
    assert not (results / "card.md").exists()
    assert card(results, "--model", "new", "--benchmark", "gender=a/b:c")[0] == 2


def test_the_text_says_what_was_asked_how_sure_it_is_and_how_to_repeat_it(results: Path) -> None:
    code, told = card(results, "--model", "new")
    assert code == 0
    for line in (
        "- **Gender** (`gender`, 512 instances). Who does what.",
        "| gender |  | mu_corrected | 0.170 | 0.100 to 0.240 | 4 | 32 |",
        "| gender |  | mu | 0.200 | noise alone gives 0.100 | 4 | 32 |",
        f"| gender |  | strength | {DASH} | {DASH} | {DASH} | 32 |",
        f"- `gender`, `names`: {LOUD}.",
        "- `gender`: four templates only.",
        "| revision or digest of the weights | abc123 |",
        "| word lists | gender/qa 0123456789abcdef |",
        "biasgrid run config/c.yaml",
        "biasgrid card results/c --model new",
    ):
        assert line in told.splitlines()
    assert "| dataset | bias type | measure | value | 90 % interval |" in told
    assert (
        "No control was measured, so the wording alone may explain the result."
        in card(results, "--model", "old")[1]
    )


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "nothing could be tested in the control"),
        (0.0, "the control is quiet (0 of 64 significant)"),
        (
            22.0,
            (
                "22 of 64 tests of the control are significant against 0, so numbers are tested "
                "against its size"
            ),
        ),
    ],
)
def test_a_control_is_quiet_only_if_nothing_in_it_is_significant(
    results: Path, value: float | None, said: str
) -> None:
    rows = [
        row | {"value": value, "flag": None, "n": 64} if row["measure"] == "control" else row
        for row in ROWS
    ]
    write_table(table_of(SUMMARY, rows, **NAMED), results / "summary.parquet", SUMMARY, {})
    assert f"- `gender`, `names`: {said}.\n" in card(results, "--model", "new")[1]


def test_the_verdicts_of_the_model_are_reported(results: Path) -> None:
    sentence = "nothing found in gender (p = 0.30)"
    assert f"- {sentence}" in card(results, "--model", "new")[1]
    told = runner.invoke(app, ["summary", str(results)])
    assert sentence in " ".join(told.output.split())


def test_the_precision_is_named_with_what_it_changed(results: Path) -> None:
    assert "| precision | float32 |" in card(results, "--model", "new")[1]
    audit = {"rows": 32, "largest_drift": 0.031, "mean_drift": 0.0006}
    cells = [{**cell, "precision": "bfloat16", "audit": audit} for cell in MANIFEST["cells"]]
    (results / "manifest.json").write_text(json.dumps({**MANIFEST, "cells": cells}))
    drift = {"model": "new", "measure": "precision_drift", "value": 0.031, "headline": False}
    rows = [*ROWS, drift | {"flag": "scores differ by up to 0.031"}]
    write_table(table_of(SUMMARY, rows, **NAMED), results / "summary.parquet", SUMMARY, {})
    told = card(results, "--model", "new")[1].replace("\\", "")
    assert (
        "| precision | bfloat16: the scores of 32 audited rows differ by up to 0.031 from those in "
        "float32 (0.0006 on average); `precision: float32` in the config's section `inference` "
        "asks in float32 |"
    ) in told
    assert "- `gender`: scores differ by up to 0.031." in told


HOSTILE = "1. <img src=x onerror=alert(1)> [a](http://b) **c** `d` | &lt; _e_\n# f \x1b[31m\u202eg"


def test_names_and_texts_are_shown_unchanged(results: Path) -> None:
    """No title makes a tag, a link, a heading, a column or a line of its own; a terminal is shown
    no sequences.
    """
    rows = [row | {"bias_type": "<b>|x"} for row in ROWS[:3]]
    write_table(table_of(SUMMARY, rows, **NAMED), results / "summary.parquet", SUMMARY, {})
    asked = {"title": HOSTILE, "about": [HOSTILE, "```"], "control_of": None}
    manifest = {
        "datasets": {"gender": asked},
        "results": "a b/$(c)",
        "models": {"new": {"folder": "m|`x`"}},
    }
    (results / "manifest.json").write_text(json.dumps(MANIFEST | manifest))
    code, told = card(results, "--model", "new")
    assert code == 0
    told = told.partition("## Social bias")[2]
    shown = (
        r"1\. &lt;img src=x onerror=alert(1)> \[a\](http://b) \*\*c\*\* \`d\` \| &amp;lt; "
        r"\_e\_ # f "
    )
    shown += r"\\u001b\[31m\\u202eg"
    assert f"- **{shown}** (`gender`, 512 instances). {shown} \\`\\`\\`" in told.splitlines()
    assert (
        r"| gender | &lt;b>\|x | mu | 0.200 | noise alone gives 0.100 | 4 | 32 |"
        in told.splitlines()
    )
    assert r"| model | new, m\|\`x\` |" in told.splitlines()
    assert "biasgrid card 'a b/$(c)' --model new" in told.splitlines()
    assert not any(character in told for character in "\x1b\u202e")


def test_bad_input_is_reported(results: Path) -> None:
    code, told = card(results, "--model", "nwe")
    assert code == 2
    assert "unknown name 'nwe' (did you mean 'new'?)" in told
    (results / "manifest.json").write_text(
        json.dumps({name: MANIFEST[name] for name in MANIFEST if name != "datasets"})
    )
    code, told = card(results, "--model", "new")
    assert code == 2
    assert (
        "manifest.json: does not record what was asked; expected a run of this version: run again"
        in told
    )
