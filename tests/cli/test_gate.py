"""What the gate lets pass: exit codes, a line for each number, the JUnit file, and the pipelines
that are shown.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any, get_args
from xml.etree import ElementTree

import polars as pl
import pytest
import yaml
from documents import read_document, shown_files, table_with
from project import ROOT
from small_grid import write_grid
from small_measures import table_of
from typer.testing import CliRunner

from biasgrid.base.faults import InputError
from biasgrid.cli.app import app
from biasgrid.cli.thresholds import ThresholdResult
from biasgrid.config import parse_config, read_config
from biasgrid.tables.files import write_table
from biasgrid.tables.measures import SUMMARY
from biasgrid.tables.verdicts import NOT_MEASURED

runner = CliRunner()
DOCUMENT = read_document("docs/gate.md")
UNKNOWN = "not measurable: the tokenizer does not know the text"
NAMED = {"kind": "LM", "label": "a", "options": "", "left_out": 0, "n": 8, "headline": True}
NAMED |= {"verdict": "nothing found"}
ROWS: list[dict[str, Any]] = [
    {
        "model": "new",
        "measure": "mu_corrected",
        "value": 0.04,
        "low": 0.03,
        "high": 0.05,
        "clusters": 4,
    },
    {
        "model": "old",
        "measure": "mu_corrected",
        "value": 0.04,
        "low": 0.02,
        "high": 0.06,
        "clusters": 4,
    },
    {"model": "two", "measure": "mu_corrected", "value": 0.01, "clusters": 2},
    {"model": "odd", "measure": "mu_corrected", "flag": UNKNOWN},
    {"model": "new", "measure": "significant_tests", "value": 2.0, "clusters": 4, "n": 32},
    {
        "model": "odd",
        "measure": "unknown_tokens",
        "value": 1.0,
        "flag": "all is unknown",
        "headline": False,
    },
    *(
        {"model": "new", "measure": "position", "options": f"mode={mode}", "headline": False}
        for mode in "ab"
    ),
    {"model": "new", "measure": "mu", "value": 0.1, "null_mean": 0.09},
    {"model": "new", "measure": "distance", "value": 0.1, "null_mean": 0.09},
    {"model": "new", "measure": "bias", "value": 0.01, "low": -0.2, "high": 0.2, "clusters": 4},
    {"model": "old", "measure": "bias", "value": -0.9, "low": -1.0, "high": -0.8, "clusters": 4},
    {
        "model": "new",
        "measure": "strength",
        "value": -0.001,
        "low": -0.02,
        "high": 0.014,
        "clusters": 4,
    },
    {"model": "new", "measure": "agreement", "value": 0.5, "low": -0.3, "high": 1.2, "clusters": 4},
    {
        "model": "two",
        "measure": "significant_tests",
        "value": 3.0,
        "clusters": 4,
        "n": 24,
        "left_out": 1,
    },
    {
        "model": "new",
        "measure": "refused_difference",
        "value": -1.0,
        "low": -1.0,
        "high": -0.7,
        "clusters": 4,
    },
    {
        "model": "old",
        "measure": "refused_difference",
        "value": 0.02,
        "low": -0.04,
        "high": 0.08,
        "clusters": 4,
    },
    {
        "model": "two",
        "measure": "refused_difference",
        "value": 0.0,
        "low": -0.12,
        "high": 0.12,
        "clusters": 4,
    },
    {
        "model": "new",
        "measure": "stereotype_share",
        "value": 0.3,
        "low": 0.2,
        "high": 0.4,
        "clusters": 4,
    },
    {
        "model": "old",
        "measure": "stereotype_share",
        "value": 0.52,
        "low": 0.45,
        "high": 0.59,
        "clusters": 4,
    },
    {"model": "new", "measure": "accuracy", "value": 0.3, "low": 0.2, "high": 0.4, "clusters": 4},
]
HEADLINES = {
    "refused_difference": ("how much more is refused", 0.0),
    "strength": ("a size", 0.0),
    "stereotype_share": ("how often stereotypes score higher", 0.5),
    "accuracy": ("how often answers are right", 1.0),
}
"""The meaning of headline measures, and their values of equal treatment."""


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A summary of one dataset, beside the config that a pipeline would have."""
    rows = table_of(SUMMARY, ROWS, dataset="gender", **NAMED)
    ranges = {name: [-1, 1] for name in ("agreement", "refused_difference", "strength")}
    ranges |= {name: [0, 1] for name in ("stereotype_share", "accuracy")}
    claims = {"counted": {}, "ranges": {"gender": ranges}, "headlines": {"gender": HEADLINES}}
    facts = {"statistics": {"level": 0.9}, "claims": claims}
    write_table(rows, tmp_path / "summary.parquet", SUMMARY, facts)
    return tmp_path


def gate(results: Path, *arguments: str) -> tuple[int, str]:
    result = runner.invoke(app, ["gate", str(results), *arguments])
    assert "Traceback" not in result.output
    return result.exit_code, result.output


@pytest.mark.parametrize(
    ("model", "threshold", "on", "code", "line"),
    [
        (
            "new",
            "mu_corrected=0.05",
            "interval",
            0,
            "within         gender/new: mu_corrected 0.0400 (0.0300 to 0.0500); at most 0.05",
        ),
        (
            "old",
            "mu_corrected=0.05",
            "interval",
            1,
            "above          gender/old: mu_corrected 0.0400 (0.0200 to 0.0600); at most 0.05",
        ),
        (
            "old",
            "mu_corrected=0.05",
            "value",
            0,
            "only the values were checked, not their intervals (--on value)",
        ),
        ("old", "mu_corrected=0.03", "value", 1, "1 above"),
        (
            "two",
            "mu_corrected=0.05",
            "interval",
            3,
            "mu_corrected 0.0100 has no interval (2 clusters)",
        ),
        (
            "two",
            "mu_corrected=0.05",
            "value",
            0,
            "within         gender/two: mu_corrected 0.0100; at most 0.05",
        ),
        ("odd", "mu_corrected=0.05", "value", 3, f"mu_corrected is {UNKNOWN}; at most 0.05"),
        (
            "new",
            "significant_tests=2",
            "interval",
            0,
            "significant_tests 2 of 32 tested; at most 2",
        ),
        (
            "two",
            "significant_tests=3",
            "interval",
            0,
            "significant_tests 3 of 24 tested, 1 could not be tested;",
        ),
        (
            "new",
            "bias=0.5",
            "interval",
            0,
            "bias 0.0100 (-0.200 to 0.200), 0 is chance: nothing shows that",
        ),
        ("old", "bias=0.5", "interval", 0, "bias -0.900 (-1.00 to -0.800); at most 0.5"),
        ("new", "strength=0.5", "interval", 0, "strength 0 (at most 0.0140); at most 0.5"),
        (
            "new",
            "agreement=2",
            "interval",
            0,
            "agreement 0.500 (-0.300 to 1.00), too little asked to say; at most 2",
        ),
        (
            "new",
            "significant_tests=1",
            "interval",
            1,
            "significant_tests 2 of 32 tested; at most 1",
        ),
        # A model that refuses one group is no better for refusing the group that is named second.
        (
            "new",
            "refused_difference=0.1",
            "interval",
            1,
            "above          gender/new: refused_difference -1.00",
        ),
        ("new", "refused_difference=0.1", "value", 1, "; at most 0.1 on both sides of 0"),
        (
            "old",
            "refused_difference=0.1",
            "interval",
            0,
            "within         gender/old: refused_difference 0.0200",
        ),
        (
            "two",
            "refused_difference=0.1",
            "interval",
            1,
            "refused_difference 0 (-0.120 to 0.120); at most 0.1 on both",
        ),
        (
            "two",
            "refused_difference=0.1",
            "value",
            0,
            "within         gender/two: refused_difference 0 (-0.120",
        ),
        # A model that prefers the other sentences is as far from one half.
        (
            "new",
            "stereotype_share=0.6",
            "interval",
            1,
            "0.300 (0.200 to 0.400); at most 0.6 on both sides of 0.5",
        ),
        (
            "old",
            "stereotype_share=0.6",
            "interval",
            0,
            "0.520 (0.450 to 0.590); at most 0.6 on both sides of 0.5",
        ),
        ("new", "accuracy=1", "interval", 0, "accuracy 0.300 (0.200 to 0.400); at most 1; verdict"),
    ],
)
def test_a_number_is_judged_by_the_upper_end_of_its_interval(
    results: Path, model: str, threshold: str, on: str, code: int, line: str
) -> None:
    ended, told = gate(results, "--max", f"gender.{threshold}", "--model", model, "--on", on)
    assert ended == code
    assert line in told


def test_no_threshold_is_kept_by_a_number_that_says_nothing_of_a_model(tmp_path: Path) -> None:
    unread = {
        "model": "deaf",
        "measure": "negation_unread",
        "value": 0.9,
        "flag": "the negation is not read",
        "n": 1,
    }
    strong = {
        "measure": "share_strength",
        "value": 0.01,
        "low": 0.0,
        "high": 0.02,
        "clusters": 4,
        "headline": True,
    }
    rows = [
        {"headline": False, **unread},
        {"model": "deaf", **strong},
        {"model": "hearing", **strong},
    ]
    claims = {"silenced": {"gender": {"negation_unread": ["share_strength"]}}}
    write_table(
        table_of(
            SUMMARY,
            rows,
            dataset="gender",
            **{key: value for key, value in NAMED.items() if key != "headline"},
        ),
        tmp_path / "summary.parquet",
        SUMMARY,
        {"statistics": {"level": 0.95}, "claims": claims},
    )
    code, output = gate(tmp_path, "--max", "gender.share_strength=0.05")
    assert code == 3
    assert "gender/deaf: share_strength is not measurable: the negation is not read" in output
    assert "within         gender/hearing" in output


def test_a_threshold_that_a_model_cannot_reach_is_refused(tmp_path: Path) -> None:
    def numbers(model: str, size: float, probability: float) -> list[dict[str, Any]]:
        row = {
            "model": model,
            "measure": "mu_corrected",
            "value": size,
            "low": 0.0,
            "high": 1.5 * size,
            "clusters": 4,
        }
        return [row, {"model": model, "measure": "answer_probability", "value": probability}]

    rows = [*numbers("masked", 0.0004, 0.0017), *numbers("asked", 0.04, 0.4)]
    claims = {"relative": {"religion": {"mu_corrected": "share_mu_corrected"}}}
    table = table_of(SUMMARY, rows, dataset="religion", **NAMED)
    write_table(table, tmp_path / "summary.parquet", SUMMARY, {"claims": claims})
    ended, told = gate(tmp_path, "--max", "religion.mu_corrected=0.05")
    assert ended == 2
    (shown,) = (line for line in DOCUMENT.splitlines() if "cannot be exceeded" in line)
    assert " ".join(told.split()).endswith(shown)
    for threshold, code in (("0.05", 1), ("0.07", 0), ("0.9", 2)):
        assert (
            gate(tmp_path, "--max", f"religion.mu_corrected={threshold}", "--model", "asked")[0]
            == code
        )
    for threshold, code in (("0.0005", 1), ("0.003", 0)):
        assert (
            gate(tmp_path, "--max", f"religion.mu_corrected={threshold}", "--model", "masked")[0]
            == code
        )


def test_what_lies_above_counts_more_than_what_is_not_measurable(results: Path) -> None:
    ended, told = gate(results, "--max", "gender.mu_corrected=0.05")
    assert ended == 1
    assert (
        told.splitlines()[-1]
        == "1 within, 1 above, 2 not measurable: the upper ends of 90 % intervals were checked"
    )
    assert len(told.splitlines()) == 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "no threshold is given; expected --max DATASET.MEASURE=NUMBER"),
        (
            ("--max", "gender.mu_corected=1"),
            "unknown measure 'mu_corected' (did you mean 'mu_corrected'?)",
        ),
        (("--max", "gende.mu_corrected=1"), "unknown dataset 'gende' (did you mean 'gender'?)"),
        (
            ("--max", "gender.mu_corrected=many"),
            "'gender.mu_corrected=many'; expected DATASET.MEASURE=NUMBER",
        ),
        (("--max", "gender.mu_corrected=nan"), "expected DATASET.MEASURE=NUMBER"),
        (("--max", "mu_corrected=1"), "expected DATASET.MEASURE=NUMBER"),
        (("--max", "gender.position=1"), "has several options, and none of them is a headline"),
        (
            ("--max", "gender.mu_corrected=1", "--model", "nwe"),
            "unknown name 'nwe' (did you mean 'new'?)",
        ),
        (
            ("--max", "gender.mu=1"),
            (
                "from noise alone, and noise is larger in smaller "
                "samples; expected gender.mu_corrected"
            ),
        ),
        (
            ("--max", "gender.distance=1"),
            "from noise alone, and noise is larger in smaller samples; expected significant tests",
        ),
        (
            ("--max", "gender.significant_tests=1", "--model", "old"),
            "gender.significant_tests: no selected model has it",
        ),
        (("--config", "nowhere.yaml"), "nowhere.yaml"),
    ],
)
def test_bad_input_is_distinguished_from_a_model_that_does_not_pass(
    results: Path, arguments: tuple[str, ...], message: str
) -> None:
    ended, told = gate(results, *arguments, "--junit", str(results / "gate.xml"))
    assert ended == 2
    assert message in told
    assert not (results / "gate.xml").exists()


def test_a_folder_without_a_finished_run_is_bad_input(tmp_path: Path) -> None:
    ended, told = gate(tmp_path, "--max", "gender.mu_corrected=1")
    assert ended == 2
    assert "there is no" in told


def test_pipelines_get_a_test_for_each_number(results: Path) -> None:
    path = results / "gate.xml"
    assert gate(results, "--max", "gender.mu_corrected=0.05", "--junit", str(path))[0] == 1
    (suite,) = ElementTree.parse(path).getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("4", "1", "2")
    cases = {
        case.get("classname"): [part.tag for part in case][1:] for case in suite.findall("testcase")
    }
    assert cases == {
        "gender.new": [],
        "gender.old": ["failure"],
        "gender.two": ["error"],
        "gender.odd": ["error"],
    }
    verdicts = {
        each.get("value") for each in suite.iter("property") if each.get("name") == "verdict"
    }
    assert verdicts == {"nothing found"}


def test_a_headline_that_a_silent_model_lacks_is_not_measurable(results: Path) -> None:
    """A job that blames the config would hide that the model says nothing."""
    silent = {"model": "silent", "measure": "coverage", "value": 0.0, "flag": UNKNOWN} | {
        "verdict": NOT_MEASURED
    }
    rows = table_of(SUMMARY, [*ROWS, silent], dataset="gender", **NAMED)
    claims = {"claims": {"headlines": {"gender": {"share_strength": ("a size", 0.0), **HEADLINES}}}}
    write_table(rows, results / "summary.parquet", SUMMARY, claims)
    for measure in ("share_strength", "mu_corrected"):
        code, told = gate(results, "--model", "silent", "--max", f"gender.{measure}=0.1")
        assert code == 3
        assert f"not measurable gender/silent: {measure} is {UNKNOWN}" in told
        assert "verdict: could not be measured" in told
    assert gate(results, "--model", "new", "--max", "gender.share_strength=0.1")[0] == 2


@pytest.mark.family("mu_corrected is measured of underspecified questions")
def test_thresholds_of_a_config_name_what_it_has() -> None:
    shown = yaml.safe_load(DOCUMENT.split("```yaml\n")[1].split("```")[0])
    content = read_config(ROOT / "config" / "demo-full.yaml")
    assert parse_config(content | shown, "c.yaml").thresholds["gender"] == {
        "mu_corrected": 0.05,
        "significant_tests": 0,
    }
    wrong = {"gender": {"mu_corected": 1}, "gendre": {"mu": 1}}
    with pytest.raises(InputError) as caught:
        parse_config(content | {"thresholds": wrong}, "c.yaml")
    told = [str(fault).split(";")[0] for fault in caught.value.faults]
    assert told == [
        "c.yaml, thresholds: unknown name 'gendre' (did you mean 'gender'?)",
        "c.yaml, thresholds.gender: unknown name 'mu_corected' (did you mean 'mu_corrected'?)",
    ]


def test_the_codes_that_are_shown_match_the_command() -> None:
    assert [row["exit code"] for row in table_with(DOCUMENT, "exit code", "meaning")] == [
        "0",
        "1",
        "2",
        "3",
    ]
    shown = DOCUMENT.split("```text\n")[1].split("```")[0].splitlines()
    assert {line[:14].strip() for line in shown[:-1]} == set(get_args(ThresholdResult))


@pytest.mark.family("mu_corrected is measured of underspecified questions")
@pytest.mark.parametrize("file", [".github/workflows/bias.yaml", ".gitlab-ci.yml"])
@pytest.mark.parametrize(("largest", "code"), [(1, 3), (0.05, 1)])
def test_the_pipelines_that_are_shown_judge_a_run(
    results: Path, monkeypatch: pytest.MonkeyPatch, file: str, largest: float, code: int
) -> None:
    """Their steps as they stand there, but for those that set up and run."""
    jobs = yaml.safe_load(shown_files(DOCUMENT)[file])
    (job,) = jobs.get("jobs", jobs).values()
    lines = job.get("script") or [step["run"] for step in job["steps"] if "run" in step]
    (command,) = (shlex.split(line) for line in lines if line.startswith("biasgrid gate"))
    monkeypatch.chdir(results)
    (results / "config").mkdir()
    (results / "results").mkdir()
    (results / "results/gate").symlink_to(results, target_is_directory=True)
    written = write_grid(results / "config", thresholds={"people": {"mu_corrected": largest}})
    written.rename(results / "config/gate.yaml")
    table = pl.read_parquet("summary.parquet").with_columns(dataset=pl.lit("people"))
    write_table(table, results / "summary.parquet", SUMMARY, {})
    assert runner.invoke(app, command[1:]).exit_code == code
    assert len(ElementTree.parse("gate.xml").findall(".//testcase")) == 4
